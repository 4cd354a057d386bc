/* Numbers, sizes and modes, as options and environment give them. */
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "executor_glue/cli/common/numbers.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size);
  uint64_t number = 0, sized = 0;
  uint32_t mode = 0;
  int32_t threads = 0;
  double fraction = 0;
  lk_error error;
  const bool is_number = lk_parse_number(text, false, &number);
  const bool is_size = lk_parse_number(text, true, &sized);
  if (is_number) {
    char printed[32];
    (void)snprintf(printed, sizeof printed, "%llu", (unsigned long long)number);
    FUZZ_CHECK(strspn(text, "0123456789") == strlen(text));
    FUZZ_CHECK(strcmp(text + strspn(text, "0"), printed + (number == 0)) == 0);
    FUZZ_CHECK(is_size && sized == number);
  }
  if (lk_parse_cache_mode(text, &mode)) FUZZ_CHECK(mode <= 3);
  if (parse_u64(text, "--n", 3, 1000, &number, &error) == LK_OK) {
    FUZZ_CHECK(number >= 3 && number <= 1000);
  }
  if (parse_threads(text, "--threads", &threads, &error) == LK_OK) {
    FUZZ_CHECK(threads >= 1 && threads <= LK_MAX_THREADS);
  }
  if (parse_decimal(text, "--rate", 0.5, 2, &fraction, &error) == LK_OK) {
    FUZZ_CHECK(fraction >= 0.5 && fraction <= 2);
  }
  if (parse_tolerance(text, "--rtol", &fraction, &error) == LK_OK) {
    FUZZ_CHECK(isfinite(fraction) && fraction >= 0);
  }
  if (parse_size(text, "--cache-bytes", &sized, &error) != LK_OK) {
    fuzz_check_sentence(&error);
  }
  free(text);
  return 0;
}
