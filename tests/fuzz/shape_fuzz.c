/* Arguments of --shape, a line each: what is taken can be drawn. */
#include <string.h>

#include "executor_glue/cli/common/shape_arg.h"
#include "tests/fuzz/fuzz.h"

static void draw(shape_set *set) {
  uint64_t state = 1;
  for (int i = 0; i < 3; i++) {
    shape_set_draw(set, &state);
    for (uint32_t k = 0; k < shape_set_count(set); k++) {
      lk_tensor_desc desc = {.dtype = LK_F32};
      shape_set_get(set, k, &desc);
      FUZZ_CHECK(desc.rank <= LK_MAX_RANK && shape_set_name(set, k) != NULL);
      for (uint32_t d = 0; d < desc.rank; d++) FUZZ_CHECK(desc.dims[d] >= 0);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory = {.limit = 1 << 20};
  const lk_allocator allocator = fuzz_allocator(&memory);
  char *text = fuzz_text(data, size), *rest = text;
  shape_set *set = NULL;
  lk_error error;
  bool fits = shape_set_create(&allocator, &set, &error) == LK_OK;
  for (char *line; fits && (line = strsep(&rest, "\n")) != NULL;) {
    fits = shape_set_add(set, line, &error) == LK_OK;
  }
  fits = fits && shape_set_check(set, &error) == LK_OK;
  if (fits) draw(set);
  if (!fits) fuzz_check_sentence(&error);
  shape_set_destroy(set);
  free(text);
  FUZZ_CHECK(memory.used == 0);
  return 0;
}
