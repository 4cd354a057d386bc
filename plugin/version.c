/* The version as text. */
#include "ops/kernel/isa.h"
#include "plugin/table.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define VERSION TEXT(LK_VERSION_MAJOR) "." TEXT(LK_VERSION_MINOR) "." TEXT(LK_VERSION_PATCH)

const char *lk_version_text(void) {
  static const char *const texts[LK_ISA_COUNT] = {
      [LK_ISA_BASE] = VERSION " (SSE2)",
      [LK_ISA_AVX2] = VERSION " (AVX2)",
      [LK_ISA_AVX512] = VERSION " (AVX-512)",
  };
  return texts[lk_isa_get()];
}
