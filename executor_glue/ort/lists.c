/* Reads lists: how many items there are, then all of them. */
#include "executor_glue/ort/lists.h"

#include "base/alloc.h"
#include "base/status.h"

#define DEFINE_LIST(name, owner, list, Owner, Things, what)                                        \
  lk_status lk_ort_##name(const lk_ort *ort, const lk_allocator *allocator, const owner *from,     \
                          list *out, lk_error *error) {                                            \
    *out = (list){0};                                                                              \
    LK_RETURN_NOT_OK(lk_ort_check(ort, ort_##Owner##_GetNum##Things(ort->api)(from, &out->count),  \
                                  "count " what, error));                                          \
    out->items = lk_calloc(allocator, out->count, sizeof *out->items);                             \
    if (out->items == NULL) {                                                                      \
      return lk_fail_memory(error, what, out->count * sizeof *out->items);                         \
    }                                                                                              \
    if (out->count == 0) return LK_OK;                                                             \
    return lk_ort_check(ort, ort_##Owner##_Get##Things(ort->api)(from, out->items, out->count),    \
                        "read " what, error);                                                      \
  }
LK_ORT_LISTS(DEFINE_LIST)
