/* What stages hand to each other. */
#pragma once

#include <latchkey/latchkey.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Memory of a value that has been computed, counted by those who have it. */
typedef struct lk_flow_block {
  atomic_uint_least32_t refs;
  void *data;
  size_t bytes; /* at least */
} lk_flow_block;

typedef struct lk_flow_list lk_flow_list;

/* A tensor or a sequence; without both, an optional value that is absent. */
typedef struct lk_flow_value {
  lk_tensor tensor;     /* plain; zeroed: absent */
  lk_flow_block *block; /* NULL: the memory is somebody else's, and outlives the run */
  lk_flow_list *list;   /* NULL: it is no sequence */
} lk_flow_value;

/* A sequence, counted by those who have it. It is never changed: who changes it makes another. */
struct lk_flow_list {
  atomic_uint_least32_t refs;
  uint32_t dtype; /* of all its tensors; LK_DTYPE_NONE: there was none yet */
  size_t count;
  lk_flow_value values[];
};

/* More would take too long to give back: each has memory of its own. */
#define LK_FLOW_LIST_MAX ((size_t)1 << 19)

/* Room for `count` tensors, all of which are absent at first. LK_OUT_OF_RANGE: there would be more
 * than LK_FLOW_LIST_MAX. */
lk_status lk_flow_list_create(const lk_allocator *allocator, size_t count, lk_flow_value *out,
                              lk_error *error);

/* Takes over `tensor->data`, which came from the allocator; on failure it is freed. */
lk_status lk_flow_value_own(const lk_allocator *allocator, const lk_tensor *tensor,
                            lk_flow_value *out, lk_error *error);
/* A new value of `desc`, which is plain. */
lk_status lk_flow_value_create(const lk_allocator *allocator, const lk_tensor_desc *desc,
                               lk_flow_value *out, lk_error *error);
/* Another reference to the same value. */
lk_flow_value lk_flow_value_retain(const lk_flow_value *value);
/* Leaves `value` zeroed; so it may be called twice. */
void lk_flow_value_release(const lk_allocator *allocator, lk_flow_value *value);
/* The value's memory, which is the caller's from here on: its own, if nobody else has it, or a
 * copy. `value` is zeroed. */
lk_status lk_flow_value_detach(const lk_api *api, const lk_allocator *allocator,
                               lk_flow_value *value, lk_tensor *out, lk_error *error);
/* Memory for a value that is made again and again: one block may be in use as what the iteration
 * before made, while the other is written. Zeroed at first. */
typedef struct lk_flow_spare {
  lk_flow_block *blocks[2]; /* each with a reference of this one's; NULL: not yet */
} lk_flow_spare;

/* As lk_flow_value_create, in a block that nobody else has any more, if there is one. */
lk_status lk_flow_spare_take(const lk_allocator *allocator, lk_flow_spare *self,
                             const lk_tensor_desc *desc, lk_flow_value *out, lk_error *error);
void lk_flow_spare_end(const lk_allocator *allocator, lk_flow_spare *self);

/* Bytes of the elements. */
size_t lk_flow_value_bytes(const lk_tensor_desc *desc);

/* The one number or truth value that a scalar, or a tensor of one element, holds: of `what`, for
 * the sentence. LK_INVALID_ARGUMENT: it is of another size or type. */
lk_status lk_flow_value_int(const lk_flow_value *value, const char *what, int64_t *out,
                            lk_error *error);
lk_status lk_flow_value_bool(const lk_flow_value *value, const char *what, bool *out,
                             lk_error *error);
