#include "executor_glue/flow/copy.h"

#include <string.h>

#include "base/status.h"
#include "executor_glue/graph/look.h"

enum {
  MOST_BYTES = 1 << 20, /* between two looks: about 0.1 ms */
  STEP_BYTES = 64       /* that a step counts for, besides what it copies */
};

lk_status lk_flow_look(const lk_api *api, lk_error *error) {
  return lk_graph_look(api, "run the graph", error);
}

lk_status lk_flow_look_after(const lk_api *api, size_t bytes, size_t *done, lk_error *error) {
  *done += bytes + STEP_BYTES;
  if (*done < MOST_BYTES) return LK_OK;
  *done = 0;
  return lk_flow_look(api, error);
}

lk_status lk_flow_copy(const lk_api *api, const void *from, void *to, const lk_flow_pieces *pieces,
                       lk_error *error) {
  size_t done = 0;
  for (size_t i = 0; pieces->bytes > 0 && i < pieces->count; i++) {
    const unsigned char *source = (const unsigned char *)from + i * pieces->from_step;
    unsigned char *target = (unsigned char *)to + i * pieces->to_step;
    for (size_t at = 0, more; at < pieces->bytes; at += more) {
      more = pieces->bytes - at < MOST_BYTES ? pieces->bytes - at : MOST_BYTES;
      memcpy(target + at, source + at, more);
      LK_RETURN_NOT_OK(lk_flow_look_after(api, more, &done, error));
    }
  }
  return LK_OK;
}

lk_status lk_flow_copy_bytes(const lk_api *api, const void *from, void *to, size_t bytes,
                             lk_error *error) {
  const lk_flow_pieces whole = {.count = 1, .bytes = bytes};
  return lk_flow_copy(api, from, to, &whole, error);
}
