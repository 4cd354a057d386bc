/* What stages hand to each other. */
#include "executor_glue/flow/value.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/flow/copy.h"

size_t lk_flow_value_bytes(const lk_tensor_desc *desc) {
  return (size_t)lk_elements(desc) * lk_dtype_size(desc->dtype);
}

lk_status lk_flow_value_own(const lk_allocator *allocator, const lk_tensor *tensor,
                            lk_flow_value *out, lk_error *error) {
  lk_flow_block *block = lk_alloc(allocator, sizeof *block);
  *out = (lk_flow_value){0};
  if (block == NULL) {
    lk_free(allocator, tensor->data);
    return lk_fail_memory(error, "a value", sizeof *block);
  }
  atomic_init(&block->refs, 1);
  block->data = tensor->data;
  block->bytes = lk_flow_value_bytes(&tensor->desc);
  *out = (lk_flow_value){.tensor = *tensor, .block = block};
  return LK_OK;
}

lk_status lk_flow_value_create(const lk_allocator *allocator, const lk_tensor_desc *desc,
                               lk_flow_value *out, lk_error *error) {
  int64_t bytes = 0;
  *out = (lk_flow_value){0};
  LK_RETURN_NOT_OK(lk_tensor_size(desc, "a value", NULL, &bytes, error));
  const lk_tensor tensor = {*desc, lk_alloc_pages(allocator, (size_t)bytes)};
  if (tensor.data == NULL) return lk_fail_memory(error, "a value", (size_t)bytes);
  return lk_flow_value_own(allocator, &tensor, out, error);
}

/* Takes back what the spare has of a block; gone if nobody else has it. */
static void drop_block(const lk_allocator *allocator, lk_flow_block **block) {
  lk_flow_value value = {.block = *block};
  *block = NULL;
  lk_flow_value_release(allocator, &value);
}

lk_status lk_flow_spare_take(const lk_allocator *allocator, lk_flow_spare *self,
                             const lk_tensor_desc *desc, lk_flow_value *out, lk_error *error) {
  const size_t bytes = lk_flow_value_bytes(desc);
  lk_flow_block **place = NULL;
  for (int i = 0; i < 2; i++) {
    lk_flow_block *block = self->blocks[i];
    if (block != NULL && atomic_load_explicit(&block->refs, memory_order_acquire) != 1) continue;
    if (block != NULL && block->bytes >= bytes) {
      *out = (lk_flow_value){.tensor = {*desc, block->data}, .block = block};
      (void)lk_flow_value_retain(out);
      return LK_OK;
    }
    place = &self->blocks[i];
  }
  if (place != NULL) drop_block(allocator, place); /* too small */
  LK_RETURN_NOT_OK(lk_flow_value_create(allocator, desc, out, error));
  if (place != NULL) *place = lk_flow_value_retain(out).block;
  return LK_OK;
}

void lk_flow_spare_end(const lk_allocator *allocator, lk_flow_spare *self) {
  drop_block(allocator, &self->blocks[0]);
  drop_block(allocator, &self->blocks[1]);
}

lk_flow_value lk_flow_value_retain(const lk_flow_value *value) {
  if (value->block != NULL) {
    atomic_fetch_add_explicit(&value->block->refs, 1, memory_order_relaxed);
  }
  if (value->list != NULL) {
    atomic_fetch_add_explicit(&value->list->refs, 1, memory_order_relaxed);
  }
  return *value;
}

lk_status lk_flow_list_create(const lk_allocator *allocator, size_t count, lk_flow_value *out,
                              lk_error *error) {
  *out = (lk_flow_value){0};
  if (count > LK_FLOW_LIST_MAX) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to make a sequence: it would have %zu tensors, at most %zu are "
                   "supported; split into larger pieces",
                   count, LK_FLOW_LIST_MAX);
  }
  const size_t bytes = sizeof(lk_flow_list) + count * sizeof(lk_flow_value);
  lk_flow_list *list = lk_calloc(allocator, 1, bytes);
  if (list == NULL) return lk_fail_memory(error, "a sequence", bytes);
  atomic_init(&list->refs, 1);
  list->count = count;
  out->list = list;
  return LK_OK;
}

static void release_list(const lk_allocator *allocator, lk_flow_list *list) {
  if (list == NULL) return;
  if (atomic_fetch_sub_explicit(&list->refs, 1, memory_order_acq_rel) != 1) return;
  for (size_t i = 0; i < list->count; i++) lk_flow_value_release(allocator, &list->values[i]);
  lk_free(allocator, list);
}

void lk_flow_value_release(const lk_allocator *allocator, lk_flow_value *value) {
  lk_flow_block *block = value->block;
  release_list(allocator, value->list);
  *value = (lk_flow_value){0};
  if (block == NULL) return;
  if (atomic_fetch_sub_explicit(&block->refs, 1, memory_order_acq_rel) != 1) return;
  lk_free(allocator, block->data);
  lk_free(allocator, block);
}

lk_status lk_flow_value_detach(const lk_api *api, const lk_allocator *allocator,
                               lk_flow_value *value, lk_tensor *out, lk_error *error) {
  *out = value->tensor;
  if (value->block != NULL && value->block->data == value->tensor.data &&
      atomic_load_explicit(&value->block->refs, memory_order_acquire) == 1) {
    lk_free(allocator, value->block);
    *value = (lk_flow_value){0};
    return LK_OK;
  }
  const size_t bytes = lk_flow_value_bytes(&value->tensor.desc);
  out->data = lk_alloc_pages(allocator, bytes);
  if (out->data == NULL) return lk_fail_memory(error, "a copy of a value", bytes);
  const lk_status status = lk_flow_copy_bytes(api, value->tensor.data, out->data, bytes, error);
  if (status != LK_OK) {
    lk_free(allocator, out->data);
    out->data = NULL;
    return status;
  }
  lk_flow_value_release(allocator, value);
  return LK_OK;
}

static lk_status fail_scalar(const lk_flow_value *value, const char *what, const char *rule,
                             lk_error *error) {
  char text[LK_TENSOR_TEXT_CAPACITY];
  return lk_fail(error, LK_INVALID_ARGUMENT, "failed to read %s: it is %s, it must be %s", what,
                 lk_tensor_text(&value->tensor.desc, text), rule);
}

lk_status lk_flow_value_int(const lk_flow_value *value, const char *what, int64_t *out,
                            lk_error *error) {
  if (value->tensor.desc.dtype != LK_I64 || lk_elements(&value->tensor.desc) != 1) {
    return fail_scalar(value, what, "one i64", error);
  }
  memcpy(out, value->tensor.data, sizeof *out);
  return LK_OK;
}

lk_status lk_flow_value_bool(const lk_flow_value *value, const char *what, bool *out,
                             lk_error *error) {
  if (value->tensor.desc.dtype != LK_BOOL || lk_elements(&value->tensor.desc) != 1) {
    return fail_scalar(value, what, "one bool", error);
  }
  *out = *(const uint8_t *)value->tensor.data != 0;
  return LK_OK;
}
