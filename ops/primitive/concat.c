/* Concatenation from a value key: SRC 0 .. n-1, DST; AXIS. */
#include "ops/layout.h"
#include "ops/primitive/builders.h"
#include "plugin/base/status.h"

enum { MAX_SOURCES = 64 };

lk_status lk_build_concat(const lk_primitive_build *build, dnnl_primitive_desc_t *out_desc,
                          lk_error *error) {
  lk_status status = LK_OK;
  dnnl_memory_desc_t sources[MAX_SOURCES] = {NULL};
  const_dnnl_memory_desc_t lent[MAX_SOURCES];
  int count = 0;
  for (; count < MAX_SOURCES; count++) {
    LK_TRY(lk_build_tensor(build, LK_WORD_SRC, (uint32_t)count, &sources[count], error));
    if (sources[count] == NULL) break;
    lent[count] = sources[count];
  }
  LK_TRY(lk_dnnl_check(error,
                       dnnl_concat_primitive_desc_create(
                           out_desc, build->env->engine, build->dst, count,
                           (int)lk_build_number(build, LK_WORD_AXIS, 0), lent, build->attr),
                       "describe a concatenation"));
cleanup:
  for (int i = 0; i < MAX_SOURCES; i++) {
    if (sources[i] != NULL) dnnl_memory_desc_destroy(sources[i]);
  }
  return status;
}
