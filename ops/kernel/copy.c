/* Moves of bytes: strided copies, fills, and slices picked by indices. The dimensions of a copy are
 * merged once, when the plan is made, so that the run is one loop nest over blocks. */
#include "ops/kernel/copy.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "ops/kernel/strides.h"

/* Two dimensions are walked in squares of this many elements when reading and writing run along
 * different ones, so that both sides use the cache lines that they touch. */
enum { TILE = 16 };

lk_copy lk_copy_between(const lk_tensor_desc *from, const lk_tensor_desc *to) {
  const int64_t size = (int64_t)lk_dtype_size(to->dtype);
  lk_copy copy = {.block = (size_t)size, .rank = to->rank};
  memcpy(copy.dims, to->dims, sizeof copy.dims);
  lk_strides(from, size, copy.from);
  lk_strides(to, size, copy.to);
  return copy;
}

static void swap_numbers(int64_t *a, int64_t *b) {
  const int64_t kept = *a;
  *a = *b;
  *b = kept;
}

/* Moves dimension `at` to `place`, past those in between. */
static void move_dim(lk_copy *copy, uint32_t at, uint32_t place) {
  while (at != place) {
    const uint32_t next = at < place ? at + 1 : at - 1;
    swap_numbers(&copy->dims[at], &copy->dims[next]);
    swap_numbers(&copy->from[at], &copy->from[next]);
    swap_numbers(&copy->to[at], &copy->to[next]);
    at = next;
  }
}

/* Orders dimensions by their distance in the destination, so that neighbours can be merged. Those
 * of size 1 end up behind the others, and are left out. */
static void sort_dims(lk_copy *copy) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < copy->rank; i++) {
    if (copy->dims[i] == 1) continue;
    uint32_t place = rank;
    while (place > 0 && copy->to[place - 1] < copy->to[i]) place--;
    move_dim(copy, i, place);
    rank++;
  }
  copy->rank = rank;
}

static int64_t magnitude(int64_t value) {
  return value < 0 ? -value : value;
}

/* Brings the dimensions of the plane to the end: the one that is innermost in the destination, and
 * before it, of the others, the one that is innermost in the source. */
static void choose_plane(lk_copy *copy) {
  if (copy->rank == 0) return;
  if (copy->rank == 1) {
    copy->rank = 2;
    copy->dims[1] = 1;
    move_dim(copy, 1, 0);
    return;
  }
  const uint32_t place = copy->rank - 2;
  uint32_t best = place;
  for (uint32_t i = 0; i < place; i++) {
    if (magnitude(copy->from[i]) < magnitude(copy->from[best])) best = i;
  }
  move_dim(copy, best, place);
}

void lk_copy_simplify(lk_copy *copy) {
  sort_dims(copy);
  copy->rank = lk_merge_dims(copy->rank, copy->dims, copy->from, copy->to);
  const int64_t block = (int64_t)copy->block;
  const uint32_t last = copy->rank - 1;
  if (copy->rank > 0 && copy->from[last] == block && copy->to[last] == block) {
    copy->block *= (size_t)copy->dims[last];
    copy->rank--;
  }
  choose_plane(copy);
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
  static plane_fn *const planes[] = {[1] = plane_1, [2] = plane_2, [4] = plane_4, [8] = plane_8};
  const bool has_own = block < sizeof planes / sizeof planes[0] && planes[block] != NULL;
  return has_own ? planes[block] : plane_any;
}

lk_status lk_copy_kernel(const void *params, void *const *pointers, lk_error *error) {
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

lk_status lk_fill_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_fill *fill = params;
  char *to = pointers[0];
  const size_t bytes = (size_t)fill->count * fill->size;
  if (bytes == 0) return LK_OK;
  memcpy(to, fill->value, fill->size);
  /* Doubles what is filled. */
  for (size_t done = fill->size; done < bytes;) {
    const size_t more = done < bytes - done ? done : bytes - done;
    memcpy(to + done, to, more);
    done += more;
  }
  return LK_OK;
}

lk_status lk_gather_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_gather *step = params;
  const char *data = pointers[0];
  char *to = pointers[2];
  for (int64_t i = 0; i < step->outer; i++) {
    for (int64_t k = 0; k < step->count; k++) {
      int64_t index = step->wide ? ((const int64_t *)pointers[1])[k]
                                 : (int64_t)((const int32_t *)pointers[1])[k];
      if (index < -step->axis || index >= step->axis) {
        return lk_fail(error, LK_OUT_OF_RANGE,
                       "failed to gather: index %" PRId64 ", must be -%" PRId64 " to %" PRId64,
                       index, step->axis, step->axis - 1);
      }
      if (index < 0) index += step->axis;
      memcpy(to, data + (size_t)index * step->block, step->block);
      to += step->block;
    }
    data += (size_t)step->axis * step->block;
  }
  return LK_OK;
}
