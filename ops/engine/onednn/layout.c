/* How the tensors of a primitive lie. */
#include "ops/engine/onednn/layout.h"

#include <stdlib.h>
#include <string.h>

#include "ops/engine/onednn/status.h"

lk_status lk_onednn_query(const_dnnl_primitive_desc_t desc, dnnl_query_t what, int index,
                          const_dnnl_memory_desc_t *out_desc, lk_error *error) {
  *out_desc = dnnl_primitive_desc_query_md(desc, what, index);
  if (*out_desc != NULL) return LK_OK;
  return lk_onednn_fail(error, LK_INTERNAL,
                        "failed to build a primitive: oneDNN does not say how tensor %d of query "
                        "%d lies",
                        index, (int)what);
}

lk_status lk_onednn_query_arg(const_dnnl_primitive_desc_t desc, int arg,
                              const_dnnl_memory_desc_t *out_desc, lk_error *error) {
  return lk_onednn_query(desc, dnnl_query_exec_arg_md, arg, out_desc, error);
}

lk_status lk_onednn_write_layout(const_dnnl_memory_desc_t wanted, const lk_strided *plain,
                                 unsigned char **out_layout, uint64_t *out_bytes, lk_error *error) {
  size_t bytes = 0;
  LK_ONEDNN_RETURN(
      lk_onednn_check(error, dnnl_memory_desc_get_blob(NULL, &bytes, wanted), "size a layout"));
  unsigned char *layout = *out_layout = calloc(1, bytes + sizeof *plain);
  if (layout == NULL) {
    return lk_onednn_fail(error, LK_OUT_OF_MEMORY,
                          "failed to note a layout of weights: no memory for it");
  }
  memcpy(layout + bytes, plain, sizeof *plain);
  *out_bytes = bytes + sizeof *plain;
  return lk_onednn_check(error, dnnl_memory_desc_get_blob(layout, &bytes, wanted),
                         "write a layout");
}
