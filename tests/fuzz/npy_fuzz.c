/* A .npy file: what is read is written, and what is written is read as the same. */
#include <string.h>

#include "base/alloc.h"
#include "base/tensor.h"
#include "executor_glue/cli/common/npy.h"
#include "tests/fuzz/fuzz.h"

static void write_and_read(const lk_allocator *allocator, const lk_tensor *tensor) {
  const char *path = fuzz_file(NULL, 0);
  lk_whole_file file = {0};
  lk_tensor again = {0};
  lk_error error;
  const lk_status status = npy_prepare(allocator, path, tensor, &file, &error);
  FUZZ_CHECK(status == LK_OK || status == LK_OUT_OF_MEMORY);
  if (status != LK_OK) return;
  FUZZ_CHECK(lk_whole_file_commit(&file, &error) == LK_OK);
  lk_whole_file_discard(&file);
  if (npy_read(allocator, path, &again, &error) != LK_OK) return; /* no memory */
  FUZZ_CHECK(lk_tensor_desc_same(&tensor->desc, &again.desc));
  const size_t bytes = (size_t)lk_elements(&again.desc) * lk_dtype_size(again.desc.dtype);
  FUZZ_CHECK(bytes == 0 || memcmp(tensor->data, again.data, bytes) == 0);
  lk_free(allocator, again.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory = {.limit = 1 << 20};
  const lk_allocator allocator = fuzz_allocator(&memory);
  lk_tensor tensor = {0};
  lk_error error;
  if (npy_read(&allocator, fuzz_file(data, size), &tensor, &error) == LK_OK) {
    write_and_read(&allocator, &tensor);
    lk_free(&allocator, tensor.data);
  } else {
    fuzz_check_sentence(&error);
  }
  FUZZ_CHECK(memory.used == 0);
  return 0;
}
