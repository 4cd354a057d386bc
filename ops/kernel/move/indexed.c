/* Blocks of a tensor that indices pick. */
#include "ops/kernel/move/indexed.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/status.h"
#include "ops/kernel/copy_long.h"
#include "ops/kernel/sizes.h"

enum { NONE = -1 };

/* ---- plan ---- */

static bool uses_shift(const lk_indexed *self) {
  return self->rule >= LK_INDEX_SHIFTED;
}

/* Dimension `i` goes on where the next one ends, in all tensors. */
static bool continues(const lk_indexed *self, uint32_t i) {
  const int64_t n = self->dims[i + 1];
  return self->data[i] == self->data[i + 1] * n && self->values[i] == self->values[i + 1] * n &&
         self->index[i] == self->index[i + 1] * n;
}

static void move_dim(lk_indexed *self, uint32_t to, uint32_t from) {
  self->dims[to] = self->dims[from];
  self->data[to] = self->data[from];
  self->values[to] = self->values[from];
  self->index[to] = self->index[from];
}

static void merge_dims(lk_indexed *self) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < self->rank; i++) {
    if (self->dims[i] == 1) continue;
    move_dim(self, rank++, i);
    if (rank < 2 || !continues(self, rank - 2)) continue;
    const int64_t together = self->dims[rank - 2] * self->dims[rank - 1];
    move_dim(self, rank - 2, rank - 1);
    self->dims[--rank - 1] = together;
  }
  if (rank == 0) self->dims[rank++] = 1;
  self->rank = rank;
}

void lk_indexed_plan(lk_indexed *self) {
  self->slots = 1;
  for (uint32_t i = 0; i < self->rank; i++) self->slots *= self->dims[i];
  if (!uses_shift(self)) merge_dims(self);
  const bool is_apart = self->data[0] != 0 && self->dims[0] > 0;
  self->turns = !self->scatters ? self->slots : is_apart ? self->dims[0] : 1;
  self->unit = self->slots / lk_max(1, self->turns);
}

/* ---- running ---- */

typedef struct indexing {
  const lk_indexed *self;
  char *data, *values;
  const void *indices;
  _Atomic int64_t bad; /* place and number of an index that is out of range; NONE */
} indexing;

static int64_t index_at(const lk_indexed *self, const void *indices, int64_t place) {
  return self->wide ? ((const int64_t *)indices)[place]
                    : (int64_t)((const int32_t *)indices)[place];
}

/* The least and the largest index that is in range. */
static void limits(const lk_indexed *self, uint32_t k, int64_t *low, int64_t *high) {
  const int64_t size = self->sizes[k];
  *low = self->rule <= LK_INDEX_CHECKED ? -size : self->rule == LK_INDEX_CIRCULAR ? INT64_MIN : 0;
  *high = self->rule <= LK_INDEX_CHECKED    ? size - 1
          : self->rule == LK_INDEX_SHIFTED  ? size - self->dims[self->shift]
          : self->rule == LK_INDEX_REVERSED ? size
                                            : INT64_MAX;
}

/* An index that is in range, as a place along its axis. */
static int64_t place_of(const lk_indexed *self, int64_t index, int64_t size, int64_t shift) {
  switch (self->rule) {
  case LK_INDEX_SHIFTED:
    return index + shift;
  case LK_INDEX_CIRCULAR:
    index = (index % size + shift) % size;
    break;
  case LK_INDEX_REVERSED:
    return shift < index ? index - 1 - shift : shift;
  default:
    break;
  }
  return index < 0 ? index + size : index;
}

/* The block that the indices at `place` pick; NONE: one is out of range. */
static int64_t find_block(indexing *loop, int64_t place, int64_t shift) {
  const lk_indexed *self = loop->self;
  int64_t offset = 0, low, high;
  for (uint32_t k = 0; k < self->n_axes; k++) {
    const int64_t index = index_at(self, loop->indices, place + k);
    limits(self, k, &low, &high);
    if (index < low || index > high) {
      if (self->rule != LK_INDEX_DROPPED) {
        atomic_store_explicit(&loop->bad, place * LK_MAX_RANK + k, memory_order_relaxed);
      }
      return NONE;
    }
    offset += place_of(self, index, self->sizes[k], shift) * self->strides[k];
  }
  return offset;
}

/* A slot, and where its parts lie. */
typedef struct position {
  int64_t at[LK_MAX_RANK], data, values, index;
} position;

static position find_slot(const lk_indexed *self, int64_t slot) {
  position p = {.data = 0};
  if (slot == 0) return p;
  for (uint32_t i = self->rank; i-- > 0; slot /= self->dims[i]) {
    p.at[i] = slot % self->dims[i];
    p.data += p.at[i] * self->data[i];
    p.values += p.at[i] * self->values[i];
    p.index += p.at[i] * self->index[i];
  }
  return p;
}

/* Forward by `count` slots of the last dimension, which ends there at most. */
static void step(const lk_indexed *self, position *p, int64_t count) {
  for (uint32_t i = self->rank; i-- > 0; count = 1) {
    p->at[i] += count;
    p->data += count * self->data[i];
    p->values += count * self->values[i];
    p->index += count * self->index[i];
    if (p->at[i] < self->dims[i]) return;
    p->data -= p->at[i] * self->data[i];
    p->values -= p->at[i] * self->values[i];
    p->index -= p->at[i] * self->index[i];
    p->at[i] = 0;
  }
}

/* Slots side by side, of indices that are along the last dimension of the data. */
static bool is_along_line(const lk_indexed *self) {
  const uint32_t last = self->rank - 1;
  const int64_t block = (int64_t)self->block;
  return self->index[last] == 1 && self->values[last] == block && self->data[last] == 0 &&
         self->strides[0] == block;
}

static void combine_block(const lk_indexed *self, char *data, const char *value) {
  const int64_t size = (int64_t)self->block / lk_max(1, self->elements);
  for (int64_t i = 0, end; i < self->elements && !lk_look_after(i, LK_LOOK_EACH); i = end) {
    end = lk_look_part(i, self->elements, LK_LOOK_EACH);
    self->combine(data + i * size, value + i * size, end - i);
  }
}

/* One index each, of blocks that are elements: some of them are found before they are combined. */
static void combine_elements(indexing *loop, const position *p, int64_t count) {
  enum { AT_ONCE = 64 };
  const lk_indexed *self = loop->self;
  const uint32_t last = self->rank - 1;
  const char *values = loop->values + p->values;
  int64_t at[AT_ONCE], found = 0;
  for (int64_t i = 0, first = 0; i < count; i++) {
    const int64_t place = p->index + i * self->index[last], size = self->sizes[0];
    const int64_t given = index_at(self, loop->indices, place);
    const int64_t index = given < 0 ? given + size : given;
    const bool is_inside = (uint64_t)index < (uint64_t)size;
    if (is_inside) at[found++] = i * self->data[last] + index * self->strides[0];
    if (is_inside && found < AT_ONCE && i + 1 < count) continue;
    self->combine_each(loop->data + p->data, at, values + first * self->values[last],
                       self->values[last], found);
    if (!is_inside) (void)find_block(loop, place, 0); /* notes it */
    first = i + 1;
    found = 0;
  }
}

/* The most usual: one index each, of `block` bytes, which replace what is there. `is_line`: as
 * is_along_line says. Where arguments are constants, so is what depends on them in the loop. */
static inline __attribute__((always_inline)) void move_blocks(indexing *loop, const position *p,
                                                              int64_t count, size_t block,
                                                              bool wide, bool is_line,
                                                              bool scatters) {
  const lk_indexed *self = loop->self;
  const uint32_t last = self->rank - 1;
  const int64_t size = self->sizes[0], stride = is_line ? (int64_t)block : self->strides[0];
  const int64_t index_step = is_line ? 1 : self->index[last];
  const int64_t data_step = is_line ? 0 : self->data[last];
  const int64_t value_step = is_line ? (int64_t)block : self->values[last];
  const void *indices = loop->indices;
  const int64_t first = p->index; /* what is written may be anything, also `p`, for the compiler */
  char *data = loop->data + p->data, *values = loop->values + p->values;
  for (int64_t i = 0; i < count; i++, data += data_step) {
    const int64_t place = first + i * index_step;
    const int64_t given =
        wide ? ((const int64_t *)indices)[place] : (int64_t)((const int32_t *)indices)[place];
    const int64_t index = given < 0 ? given + size : given;
    char *value = values + i * value_step;
    if (__builtin_expect((uint64_t)index >= (uint64_t)size, 0)) {
      (void)find_block(loop, place, 0); /* notes it */
    } else {
      char *at = data + index * stride;
      lk_copy_long(scatters ? at : value, scatters ? value : at, block);
    }
  }
}

/* Sizes for which a call is dear have a loop of their own: elements, and boxes. */
static inline __attribute__((always_inline)) void move_whole(indexing *loop, const position *p,
                                                             int64_t count, bool scatters) {
  const lk_indexed *self = loop->self;
  switch (self->wide ? self->block : 0) {
  case 2:
    move_blocks(loop, p, count, 2, true, false, scatters);
    break;
  case 4:
    move_blocks(loop, p, count, 4, true, false, scatters);
    break;
  case 8:
    move_blocks(loop, p, count, 8, true, false, scatters);
    break;
  case 16:
    move_blocks(loop, p, count, 16, true, false, scatters);
    break;
  default:
    move_blocks(loop, p, count, self->block, self->wide, false, scatters);
  }
}

/* A function of its own, so that all that the loop needs is in registers. */
static __attribute__((noinline)) void gather_line(indexing *loop, const position *p,
                                                  int64_t count) {
  move_blocks(loop, p, count, 4, true, true, false);
}

static void move_any(indexing *loop, const position *p, int64_t count) {
  const lk_indexed *self = loop->self;
  const uint32_t last = self->rank - 1;
  for (int64_t i = 0; i < count; i++) {
    const int64_t shift = p->at[self->shift] + (self->shift == last ? i : 0);
    const int64_t block = find_block(loop, p->index + i * self->index[last], shift);
    if (block == NONE) continue;
    char *data = loop->data + p->data + i * self->data[last] + block;
    char *value = loop->values + p->values + i * self->values[last];
    if (self->combine != NULL) {
      combine_block(self, data, value);
    } else {
      lk_copy_long(self->scatters ? data : value, self->scatters ? value : data, self->block);
    }
  }
}

static void move_run(indexing *loop, const position *p, int64_t count) {
  const lk_indexed *self = loop->self;
  if (self->n_axes != 1 || uses_shift(self) || (self->combine != NULL && self->elements != 1)) {
    move_any(loop, p, count);
  } else if (self->combine != NULL) {
    combine_elements(loop, p, count);
  } else if (self->scatters) {
    move_whole(loop, p, count, true);
  } else if (self->block == 4 && self->wide && is_along_line(self)) {
    gather_line(loop, p, count);
  } else {
    move_whole(loop, p, count, false);
  }
}

static void move_slots(const void *arg, int64_t begin, int64_t end) {
  indexing *loop = *(indexing *const *)arg;
  const lk_indexed *self = loop->self;
  const uint32_t last = self->rank - 1;
  position p = find_slot(self, begin * self->unit);
  /* to find a block takes as long as to move some bytes, and more where memory has to come */
  const int64_t of_slot = 64 + (int64_t)self->block, slots = (end - begin) * self->unit;
  const int64_t most = lk_look_steps(slots, of_slot, LK_LOOK_BYTES / 8);
  int64_t done = 0;
  for (int64_t left = slots, run; left > 0; left -= run) {
    run = lk_min(lk_min(left, most), self->dims[last] - p.at[last]);
    move_run(loop, &p, run);
    step(self, &p, run);
    if (lk_look_more(&done, run, most)) return;
  }
}

lk_status lk_indexed_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_indexed *self = params;
  indexing loop = {.self = self,
                   .data = pointers[0],
                   .indices = pointers[1],
                   .values = (char *)pointers[2] + self->values_offset,
                   .bad = NONE};
  indexing *const arg = &loop;
  const int64_t bytes = self->slots * (int64_t)self->block;
  lk_team_for(self->turns, lk_sharing_pays_for(bytes, LK_SHARING_BYTE), move_slots, &arg);
  const int64_t bad = atomic_load_explicit(&loop.bad, memory_order_relaxed);
  if (bad == NONE) return LK_OK;
  const uint32_t k = (uint32_t)(bad % LK_MAX_RANK);
  int64_t low, high;
  limits(self, k, &low, &high);
  const bool reverses = self->rule == LK_INDEX_REVERSED;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to %s is %" PRId64 ", it must be %" PRId64 " to %" PRId64
                 " along axis %" PRIu32 " of size %" PRId64,
                 reverses         ? "reverse: a length"
                 : self->scatters ? "scatter: an index"
                                  : "gather: an index",
                 index_at(self, loop.indices, bad / LK_MAX_RANK + k), low, high, self->axis + k,
                 self->sizes[k]);
}
