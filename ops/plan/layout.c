/* Layouts by number, and their memory descriptors. */
#include "ops/plan/layout.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/strides.h"
#include "ops/plan/onednn.h"

struct lk_layouts {
  const lk_allocator *allocator;
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards the array; the descriptors in it never change */
  dnnl_memory_desc_t *descs;
  size_t count, capacity;
};

lk_status lk_layouts_create(const lk_allocator *allocator, lk_layouts **out_layouts,
                            lk_error *error) {
  *out_layouts = NULL;
  lk_layouts *layouts = lk_calloc(allocator, 1, sizeof *layouts);
  if (layouts == NULL) return lk_fail_memory(error, "the layout table", sizeof *layouts);
  layouts->allocator = allocator;
  pthread_mutex_init(&layouts->mutex, NULL);
  layouts->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &layouts->mutex};
  lk_fork_enter(&layouts->fork);
  *out_layouts = layouts;
  return LK_OK;
}

void lk_layouts_destroy(lk_layouts *layouts) {
  if (layouts == NULL) return;
  lk_fork_leave(&layouts->fork);
  for (size_t i = 0; i < layouts->count; i++) dnnl_memory_desc_destroy(layouts->descs[i]);
  lk_free(layouts->allocator, layouts->descs);
  pthread_mutex_destroy(&layouts->mutex);
  lk_free(layouts->allocator, layouts);
}

bool lk_layout_same_bytes(const lk_tensor_desc *desc, lk_layout a, lk_layout b) {
  if (a == b) return true;
  if (a >= LK_LAYOUT_FIRST_INTERNED || b >= LK_LAYOUT_FIRST_INTERNED) return false;
  if (desc->rank < 3 || desc->dims[1] == 1) return true;
  for (uint32_t i = 2; i < desc->rank; i++) {
    if (desc->dims[i] != 1) return false;
  }
  return true;
}

/* For the layouts that are not interned. */
static lk_status fixed_memory_desc(const lk_tensor_desc *desc, dnnl_memory_desc_t *out_md,
                                   lk_error *error) {
  dnnl_data_type_t type = lk_dnnl_type(desc->dtype);
  if (type == dnnl_data_type_undef) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to describe a tensor to oneDNN: it has no type %s",
                   lk_dtype_name(desc->dtype));
  }
  dnnl_dims_t dims = {1}, strides = {1};
  int rank = desc->rank > 0 ? (int)desc->rank : 1;
  for (uint32_t i = 0; i < desc->rank; i++) dims[i] = desc->dims[i];
  if (desc->layout == LK_LAYOUT_ANY) {
    return lk_dnnl_check(
        error, dnnl_memory_desc_create_with_tag(out_md, rank, dims, type, dnnl_format_tag_any),
        "describe a tensor of any layout");
  }
  if (desc->layout == LK_LAYOUT_CHANNELS_LAST && desc->rank < 3) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to describe a tensor: channels-last with rank %" PRIu32 ", at least 3",
                   desc->rank);
  }
  lk_strides(desc, 1, strides);
  return lk_dnnl_check(error,
                       dnnl_memory_desc_create_with_strides(out_md, rank, dims, type, strides),
                       "describe a tensor");
}

static lk_status find_interned(lk_layouts *layouts, lk_layout layout,
                               const_dnnl_memory_desc_t *out_md, lk_error *error) {
  /* too large for the layouts that are not interned */
  const size_t index = layout - LK_LAYOUT_FIRST_INTERNED;
  pthread_mutex_lock(&layouts->mutex);
  *out_md = index < layouts->count ? layouts->descs[index] : NULL;
  pthread_mutex_unlock(&layouts->mutex);
  if (*out_md != NULL) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to find layout %" PRIu32 ": it is not known in this context", layout);
}

lk_status lk_layouts_memory_desc(lk_layouts *layouts, const lk_tensor_desc *desc,
                                 dnnl_memory_desc_t *out_md, lk_error *error) {
  *out_md = NULL;
  if (desc->layout == LK_LAYOUT_ANY || desc->layout == LK_LAYOUT_PLAIN ||
      desc->layout == LK_LAYOUT_CHANNELS_LAST) {
    return fixed_memory_desc(desc, out_md, error);
  }
  const_dnnl_memory_desc_t md = NULL;
  LK_RETURN_NOT_OK(find_interned(layouts, desc->layout, &md, error));
  return lk_dnnl_check(error, dnnl_memory_desc_clone(out_md, md), "copy a tensor description");
}

static lk_status is_plain(const_dnnl_memory_desc_t md, bool *out_plain, lk_error *error) {
  *out_plain = false;
  int rank = 0;
  dnnl_dims_t *dims = NULL;
  dnnl_data_type_t type = dnnl_data_type_undef;
  dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &rank);
  dnnl_memory_desc_query(md, dnnl_query_dims, &dims);
  dnnl_memory_desc_query(md, dnnl_query_data_type, &type);
  if (rank < 1 || rank > LK_MAX_RANK || type == dnnl_data_type_undef) return LK_OK;
  lk_tensor_desc desc = {.rank = (uint32_t)rank};
  for (int i = 0; i < rank; i++) desc.dims[i] = (*dims)[i];
  dnnl_dims_t strides = {0};
  lk_strides(&desc, 1, strides);
  dnnl_memory_desc_t plain = NULL;
  LK_RETURN_NOT_OK(
      lk_dnnl_check(error, dnnl_memory_desc_create_with_strides(&plain, rank, *dims, type, strides),
                    "compare a layout"));
  *out_plain = dnnl_memory_desc_equal(plain, md);
  dnnl_memory_desc_destroy(plain);
  return LK_OK;
}

/* Finds `md` or adds it. The caller holds the mutex. */
static lk_status find_or_add(lk_layouts *layouts, const_dnnl_memory_desc_t md, size_t *out_index,
                             lk_error *error) {
  size_t found = 0;
  while (found < layouts->count && !dnnl_memory_desc_equal(layouts->descs[found], md)) found++;
  *out_index = found;
  if (found < layouts->count) return LK_OK;
  if (!LK_GROW(layouts->allocator, layouts->descs, layouts->count, layouts->capacity)) {
    return lk_fail_memory(error, "a layout", sizeof md);
  }
  LK_RETURN_NOT_OK(
      lk_dnnl_check(error, dnnl_memory_desc_clone(&layouts->descs[found], md), "keep a layout"));
  layouts->count++;
  return LK_OK;
}

lk_status lk_layouts_intern(lk_layouts *layouts, const_dnnl_memory_desc_t md, lk_layout *out_layout,
                            lk_error *error) {
  bool plain = false;
  size_t index = 0;
  *out_layout = LK_LAYOUT_PLAIN;
  LK_RETURN_NOT_OK(is_plain(md, &plain, error));
  if (plain) return LK_OK;
  pthread_mutex_lock(&layouts->mutex);
  const lk_status status = find_or_add(layouts, md, &index, error);
  pthread_mutex_unlock(&layouts->mutex);
  if (status == LK_OK) *out_layout = LK_LAYOUT_FIRST_INTERNED + (lk_layout)index;
  return status;
}

lk_status lk_layouts_bytes(lk_layouts *layouts, const lk_tensor_desc *desc, uint64_t *out_bytes,
                           lk_error *error) {
  *out_bytes = 0;
  int64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_tensor_size(desc, "a tensor", NULL, &bytes, error));
  if (desc->layout == LK_LAYOUT_PLAIN || desc->layout == LK_LAYOUT_CHANNELS_LAST) {
    *out_bytes = (uint64_t)bytes; /* both are dense */
    return LK_OK;
  }
  const_dnnl_memory_desc_t md = NULL;
  LK_RETURN_NOT_OK(find_interned(layouts, desc->layout, &md, error));
  *out_bytes = dnnl_memory_desc_get_size(md);
  return LK_OK;
}
