/* What the iterations of a loop leave, one behind the other. */
#include "executor_glue/flow/stack.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/flow/copy.h"

/* The most iterations that room is made for before they have been. */
#define MOST_EXPECTED 4096

static lk_status make_room(const lk_api *api, const lk_allocator *allocator, lk_flow_stack *self,
                           size_t bytes, lk_error *error) {
  if (bytes <= self->capacity) return LK_OK;
  const size_t doubled = self->capacity * 2, capacity = bytes > doubled ? bytes : doubled;
  unsigned char *data = lk_alloc_pages(allocator, capacity);
  if (data == NULL) return lk_fail_memory(error, "a scan output", capacity);
  const lk_status status = lk_flow_copy_bytes(api, self->data, data, self->bytes, error);
  if (status != LK_OK) {
    lk_free(allocator, data);
    return status;
  }
  lk_free(allocator, self->data);
  self->data = data;
  self->capacity = capacity;
  return LK_OK;
}

lk_status lk_flow_stack_push(const lk_api *api, const lk_allocator *allocator, lk_flow_stack *self,
                             const lk_flow_value *value, int64_t expected, lk_error *error) {
  const lk_tensor *tensor = &value->tensor;
  const size_t bytes = lk_flow_value_bytes(&tensor->desc);
  size_t room = 0;
  if (tensor->data == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to collect a scan output: the body gives a sequence or an absent value, "
                   "a tensor is required");
  }
  if (self->count == 0) {
    self->each = tensor->desc;
    if (expected > MOST_EXPECTED) expected = MOST_EXPECTED;
    if (__builtin_mul_overflow(bytes, (size_t)(expected > 0 ? expected : 1), &room)) room = bytes;
  } else if (!lk_tensor_desc_same(&self->each, &tensor->desc)) {
    char was[LK_TENSOR_TEXT_CAPACITY], is[LK_TENSOR_TEXT_CAPACITY];
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to collect a scan output: one is %s and the first is %s, all must be of "
                   "one type and shape",
                   lk_tensor_text(&tensor->desc, is), lk_tensor_text(&self->each, was));
  }
  if (room < self->bytes + bytes) room = self->bytes + bytes;
  LK_RETURN_NOT_OK(make_room(api, allocator, self, room, error));
  LK_RETURN_NOT_OK(lk_flow_copy_bytes(api, tensor->data, self->data + self->bytes, bytes, error));
  self->bytes += bytes;
  self->count++;
  return LK_OK;
}

lk_status lk_flow_stack_finish(const lk_api *api, const lk_allocator *allocator,
                               lk_flow_stack *self, lk_flow_value *out, lk_error *error) {
  if (self->each.rank >= LK_MAX_RANK) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to collect a scan output: it has rank %u, at most %d is supported",
                   self->each.rank + 1, LK_MAX_RANK);
  }
  LK_RETURN_NOT_OK(make_room(api, allocator, self, 1, error)); /* also nothing has an address */
  int64_t dims[LK_MAX_RANK] = {self->count};
  for (uint32_t i = 0; i < self->each.rank; i++) dims[i + 1] = self->each.dims[i];
  const lk_tensor tensor = {lk_tensor_desc_make(self->each.dtype, self->each.rank + 1, dims),
                            self->data};
  *self = (lk_flow_stack){0};
  return lk_flow_value_own(allocator, &tensor, out, error);
}

void lk_flow_stack_end(const lk_allocator *allocator, lk_flow_stack *self) {
  lk_free(allocator, self->data);
  *self = (lk_flow_stack){0};
}
