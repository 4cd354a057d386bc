/* Strided copies: dimensions are merged when the plan is made, so that the run is one loop nest
 * over blocks. */
#include "ops/plan/copy.h"

#include <string.h>

#include "base/tensor.h"

/* Two dimensions are walked in squares of this many elements when reading and writing run along
 * different ones, so that both sides use the cache lines that they touch. */
enum { TILE = 16 };

void lk_copy_strides(const lk_tensor_desc *desc, int64_t strides[LK_MAX_RANK]) {
  int64_t stride = (int64_t)lk_dtype_size(desc->dtype);
  bool channels_last = desc->layout == LK_LAYOUT_CHANNELS_LAST && desc->rank >= 3;
  if (channels_last) {
    strides[1] = stride;
    stride *= desc->dims[1];
  }
  for (uint32_t i = desc->rank; i-- > 0;) {
    if (channels_last && i == 1) continue;
    strides[i] = stride;
    stride *= desc->dims[i];
  }
}

lk_layout lk_copy_input_layout(lk_planner *planner, uint32_t index) {
  const lk_tensor_desc *desc = &lk_planner_input_tensor(planner, index)->desc;
  return desc->layout == LK_LAYOUT_CHANNELS_LAST ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
}

lk_layout lk_copy_output_layout(lk_planner *planner, uint32_t index, lk_layout natural) {
  lk_layout wish = lk_planner_wish(planner, index, natural);
  bool can = wish == LK_LAYOUT_CHANNELS_LAST && lk_planner_output_desc(planner, index)->rank >= 3;
  return can ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
}

/* Orders dimensions by their distance in the destination, drops those of size 1, and merges
 * neighbours; what is dense on both sides becomes the block. */
static void simplify(lk_copy *copy) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < copy->rank; i++) {
    if (copy->dims[i] == 1) continue;
    uint32_t at = rank++;
    int64_t dim = copy->dims[i], from = copy->from[i], to = copy->to[i];
    for (; at > 0 && copy->to[at - 1] < to; at--) {
      copy->dims[at] = copy->dims[at - 1];
      copy->from[at] = copy->from[at - 1];
      copy->to[at] = copy->to[at - 1];
    }
    copy->dims[at] = dim;
    copy->from[at] = from;
    copy->to[at] = to;
  }
  uint32_t merged = 0;
  for (uint32_t i = 0; i < rank; i++) {
    uint32_t last = merged - 1;
    if (merged > 0 && copy->from[last] == copy->from[i] * copy->dims[i] &&
        copy->to[last] == copy->to[i] * copy->dims[i]) {
      copy->dims[last] *= copy->dims[i];
    } else {
      last = merged++;
      copy->dims[last] = copy->dims[i];
    }
    copy->from[last] = copy->from[i];
    copy->to[last] = copy->to[i];
  }
  if (merged > 0) {
    uint32_t last = merged - 1;
    int64_t block = (int64_t)copy->block;
    if (copy->from[last] == block && copy->to[last] == block) {
      copy->block *= (size_t)copy->dims[last];
      merged--;
    }
  }
  copy->rank = merged;
}

typedef void plane_fn(const char *from, char *to, const int64_t dims[2], const int64_t from_step[2],
                      const int64_t to_step[2], size_t block);

/* memcpy of a constant size is one load and one store, at any alignment. */
#define PLANE(name, size)                                                                          \
  static void name(const char *from, char *to, const int64_t dims[2], const int64_t from_step[2],  \
                   const int64_t to_step[2], size_t block) {                                       \
    (void)block;                                                                                   \
    for (int64_t y = 0; y < dims[0]; y += TILE) {                                                  \
      int64_t y_end = y + TILE < dims[0] ? y + TILE : dims[0];                                     \
      for (int64_t x = 0; x < dims[1]; x += TILE) {                                                \
        int64_t x_end = x + TILE < dims[1] ? x + TILE : dims[1];                                   \
        for (int64_t i = y; i < y_end; i++) {                                                      \
          for (int64_t j = x; j < x_end; j++) {                                                    \
            memcpy(to + i * to_step[0] + j * to_step[1],                                           \
                   from + i * from_step[0] + j * from_step[1], (size));                            \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }
PLANE(plane_1, 1)
PLANE(plane_2, 2)
PLANE(plane_4, 4)
PLANE(plane_8, 8)
PLANE(plane_any, block)
#undef PLANE

static plane_fn *plane_for(size_t block) {
  switch (block) {
  case 1:
    return plane_1;
  case 2:
    return plane_2;
  case 4:
    return plane_4;
  case 8:
    return plane_8;
  default:
    return plane_any;
  }
}

static int64_t magnitude(int64_t value) {
  return value < 0 ? -value : value;
}

/* Brings the dimensions of the plane to the end: the one that is innermost in the destination, and
 * before it, of the others, the one that is innermost in the source. */
static void choose_plane(lk_copy *copy) {
  if (copy->rank == 0) return;
  if (copy->rank == 1) {
    copy->dims[1] = copy->dims[0];
    copy->from[1] = copy->from[0];
    copy->to[1] = copy->to[0];
    copy->dims[0] = 1;
    copy->rank = 2;
    return;
  }
  uint32_t place = copy->rank - 2, best = place;
  for (uint32_t i = 0; i < place; i++) {
    if (magnitude(copy->from[i]) < magnitude(copy->from[best])) best = i;
  }
  int64_t dim = copy->dims[best], from = copy->from[best], to = copy->to[best];
  for (uint32_t i = best; i < place; i++) {
    copy->dims[i] = copy->dims[i + 1];
    copy->from[i] = copy->from[i + 1];
    copy->to[i] = copy->to[i + 1];
  }
  copy->dims[place] = dim;
  copy->from[place] = from;
  copy->to[place] = to;
}

static lk_status copy_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_copy *copy = params;
  const char *from = (const char *)pointers[0] + copy->from_offset;
  char *to = (char *)pointers[1] + copy->to_offset;
  if (copy->rank == 0) {
    if (from != to) memcpy(to, from, copy->block);
    return LK_OK;
  }
  uint32_t plane_at = copy->rank - 2;
  plane_fn *plane = plane_for(copy->block);
  int64_t at[LK_MAX_RANK] = {0};
  for (;;) {
    plane(from, to, copy->dims + plane_at, copy->from + plane_at, copy->to + plane_at, copy->block);
    uint32_t i = plane_at;
    for (; i > 0; i--) {
      from += copy->from[i - 1];
      to += copy->to[i - 1];
      if (++at[i - 1] < copy->dims[i - 1]) break;
      from -= copy->from[i - 1] * copy->dims[i - 1];
      to -= copy->to[i - 1] * copy->dims[i - 1];
      at[i - 1] = 0;
    }
    if (i == 0) return LK_OK;
  }
}

lk_status lk_plan_copy(lk_planner *planner, const lk_copy *copy, const lk_operand *from,
                       const lk_operand *to, lk_error *error) {
  for (uint32_t i = 0; i < copy->rank; i++) {
    if (copy->dims[i] == 0) return LK_OK;
  }
  lk_copy simple = *copy;
  simplify(&simple);
  choose_plane(&simple);
  lk_operand operands[2] = {*from, *to};
  return lk_planner_kernel(planner, copy_kernel, &simple, sizeof simple, operands, 2, error);
}

lk_status lk_plan_same(lk_planner *planner, uint32_t index, lk_error *error) {
  lk_layout layout = lk_copy_input_layout(planner, index);
  if (layout == LK_LAYOUT_PLAIN) return lk_planner_view(planner, index, layout, error);
  lk_operand from, to;
  lk_status status = lk_planner_input(planner, index, layout, &from, error);
  if (status != LK_OK) return status;
  status = lk_planner_output(planner, 0, layout, &to, error);
  if (status != LK_OK) return status;
  lk_copy copy = {.block = lk_dtype_size(from.desc.dtype), .rank = from.desc.rank};
  memcpy(copy.dims, from.desc.dims, sizeof copy.dims);
  lk_copy_strides(&from.desc, copy.from);
  lk_copy_strides(&from.desc, copy.to);
  return lk_plan_copy(planner, &copy, &from, &to, error);
}

typedef struct fill_params {
  int64_t count;
  size_t size;
  uint8_t value[8];
} fill_params;

static lk_status fill_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const fill_params *fill = params;
  char *to = pointers[0];
  size_t bytes = (size_t)fill->count * fill->size;
  if (bytes == 0) return LK_OK;
  memcpy(to, fill->value, fill->size);
  /* Doubles what is filled. */
  for (size_t done = fill->size; done < bytes;) {
    size_t more = done < bytes - done ? done : bytes - done;
    memcpy(to + done, to, more);
    done += more;
  }
  return LK_OK;
}

lk_status lk_plan_fill(lk_planner *planner, const lk_operand *to, int64_t count, size_t size,
                       const void *value, lk_error *error) {
  fill_params fill = {.count = count, .size = size};
  memcpy(fill.value, value, size);
  return lk_planner_kernel(planner, fill_kernel, &fill, sizeof fill, to, 1, error);
}
