/* A TensorProto in a file of its own. */
#include <string.h>

#include "base/alloc.h"
#include "base/tensor.h"
#include "executor_glue/onnx/load.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory = {.limit = 4 << 20};
  const lk_allocator allocator = fuzz_allocator(&memory);
  lk_tensor tensor = {0};
  char *name = NULL;
  lk_error error;
  if (lk_onnx_read_tensor(&allocator, fuzz_file(data, size), &tensor, &name, &error) == LK_OK) {
    int64_t bytes = 0;
    unsigned sum = 0;
    FUZZ_CHECK(lk_tensor_size(&tensor.desc, "it", NULL, &bytes, NULL) == LK_OK);
    for (int64_t i = 0; i < bytes; i++) sum += ((const uint8_t *)tensor.data)[i]; /* all is there */
    FUZZ_CHECK(name != NULL && strlen(name) <= size && sum <= 255U * (unsigned)bytes);
    lk_free(&allocator, tensor.data);
    lk_free(&allocator, name);
  } else {
    fuzz_check_sentence(&error);
  }
  FUZZ_CHECK(memory.used == 0);
  return 0;
}
