/* The largest or smallest elements along an axis. A turn is a line along it, which is looked at in
 * pieces of the class of its type (element_ops.h), because elements are made keys (order.h) class
 * by class. The best elements so far are a heap, with the worst of them at its root: most elements
 * are compared with the root alone, many at a time. The heap has ranks, or pairs where keys have 64
 * bits. It lies on the stack, and where it is too large for that, in the outputs. Lines of a few
 * elements are sorted instead. */
#include "ops/kernel/reduce/top_k.h"

#include <string.h>

#include "base/status.h"
#include "base/team/look.h"
#include "base/tensor.h"
#include "ops/kernel/element/element_program.h"
#include "ops/kernel/reduce/order.h"
#include "ops/kernel/sizes.h"

enum {
  ELEMENT = 64, /* operations of one that is compared and, some, put in order */
  PIECE = 1024  /* elements that are looked at together, and of a heap on the stack */
};

/* A line of the data. */
typedef struct axis_line {
  const lk_top_k *self;
  const char *data;
  size_t step;        /* bytes */
  const char *loaded; /* its elements of their class side by side; NULL: they are elsewhere */
} axis_line;

/* ---- lines of any length: a heap of indices in the output ---- */

/* Larger is better. */
static uint64_t key_at(const axis_line *line, int64_t index) {
  const uint64_t key = lk_order_key(line->self->dtype, line->data + (size_t)index * line->step, 0);
  return line->self->smallest ? ~key : key;
}

static bool is_worse(const void *context, int64_t a, int64_t b) {
  const uint64_t key_a = key_at(context, a), key_b = key_at(context, b);
  return key_a != key_b ? key_a < key_b : a > b;
}

/* False: it is stopped, and the indices are any. */
static bool choose_indices(const axis_line *line, int64_t *indices) {
  const int64_t k = line->self->k, step = line->self->inner;
  const lk_heap heap = {indices, step, k, is_worse, line};
  for (int64_t i = 0; i < k; i++) indices[i * step] = i;
  lk_heap_make(&heap);
  uint64_t worst = key_at(line, indices[0]);
  for (int64_t i = k, end; i < line->self->count; i = end) {
    end = lk_look_part(i, line->self->count, LK_LOOK_FEW);
    for (; i < end; i++) {
      if (key_at(line, i) <= worst) continue; /* of equal ones, the first stays */
      lk_heap_sink(&heap, 0, i);
      worst = key_at(line, indices[0]);
    }
    if (end < line->self->count && lk_team_is_stopped()) return false;
  }
  lk_heap_sort(heap);
  return !lk_team_is_stopped();
}

/* ---- by class ---- */

/* Takes the elements from number `first` on into the heap, of which they are a part. The bits of
 * `turn` are those that differ in the keys where the smallest are looked for. */
typedef void fill_fn(const void *heap, const void *from, int64_t first, int64_t n, uint64_t turn);
/* Puts what is better than the root in its place. */
typedef void improve_fn(const void *heap, const void *from, int64_t first, int64_t n, uint64_t turn,
                        lk_skip_worse_fn *skip);

/* Of a class: the key of an element, and an element of a key, which is compared with others.
 * find_better gives the places of those that may be better than the worst that was chosen; NaN in
 * either may be. There are no branches, as nothing foretells where they are. */
#define CLASS(s, type, heap, KEY, VALUE)                                                           \
  static inline int64_t find_better_##s(const type *from, int64_t n, type worst, bool smallest,    \
                                        int8_t places[LK_SKIP_WORSE]) {                            \
    int64_t count = 0;                                                                             \
    for (int64_t i = 0; i < n; i++) {                                                              \
      places[count] = (int8_t)i;                                                                   \
      count += smallest ? !(from[i] >= worst) : !(from[i] <= worst);                               \
    }                                                                                              \
    return count;                                                                                  \
  }                                                                                                \
  static void fill_##s(const void *best, const void *from, int64_t first, int64_t n,               \
                       uint64_t turn) {                                                            \
    const type *x = from;                                                                          \
    for (int64_t i = 0; i < n; i++) heap##_put(best, first + i, KEY(x[i]) ^ turn, first + i);      \
  }                                                                                                \
  static void improve_##s(const void *best, const void *from, int64_t first, int64_t n,            \
                          uint64_t turn, lk_skip_worse_fn *skip) {                                 \
    const type *x = from;                                                                          \
    uint64_t worst = heap##_worst(best);                                                           \
    for (int64_t i = 0, some; i < n; i += some) {                                                  \
      int8_t places[LK_SKIP_WORSE] = {0};                                                          \
      const type limit = VALUE(worst ^ turn);                                                      \
      i += skip(x + i, n - i, &limit, turn != 0);                                                  \
      some = lk_min(LK_SKIP_WORSE, n - i);                                                         \
      const int64_t count = turn != 0 ? find_better_##s(x + i, some, limit, true, places)          \
                                      : find_better_##s(x + i, some, limit, false, places);        \
      for (int64_t k = 0; k < count; k++) {                                                        \
        const int64_t at = i + places[k];                                                          \
        const uint64_t key = KEY(x[at]) ^ turn;                                                    \
        if (key <= worst) continue; /* of equal ones, the first stays */                           \
        heap##_sink(best, 0, key, first + at);                                                     \
        worst = heap##_worst(best);                                                                \
      }                                                                                            \
    }                                                                                              \
  }

static void ranks_put(const lk_ranks *self, int64_t place, uint64_t key, int64_t index) {
  self->items[place * self->step] = (int64_t)lk_rank_of(key, index);
}
static void ranks_sink(const lk_ranks *self, int64_t place, uint64_t key, int64_t index) {
  lk_ranks_sink(self, place, lk_rank_of(key, index));
}
static uint64_t ranks_worst(const lk_ranks *self) {
  return lk_ranks_at(self, 0) >> 32;
}
static uint64_t pairs_worst(const lk_pairs *self) {
  return self->keys[0];
}
#define pairs_put lk_pairs_put
#define pairs_sink lk_pairs_sink
/* of integers whose sign is turned, of u32, and of u64 */
#define KEY_I32(x) ((uint64_t)((uint32_t)(x) ^ UINT32_C(1) << 31))
#define VALUE_I32(key) ((int32_t)((uint32_t)(key) ^ UINT32_C(1) << 31))
#define KEY_I64(x) ((uint64_t)(x) ^ UINT64_C(1) << 63)
#define VALUE_I64(key) ((int64_t)KEY_I64(key))
#define KEY_SAME(x) ((uint64_t)(x))
#define VALUE_U32(key) ((int64_t)(key))
CLASS(f32, float, ranks, lk_order_key_f32, lk_order_f32_of)
CLASS(i32, int32_t, ranks, KEY_I32, VALUE_I32)
CLASS(u32, int64_t, ranks, KEY_SAME, VALUE_U32)
CLASS(f64, double, pairs, lk_order_key_f64, lk_order_f64_of)
CLASS(i64, int64_t, pairs, KEY_I64, VALUE_I64)
CLASS(u64, uint64_t, pairs, KEY_SAME, KEY_SAME)

typedef struct class_loops {
  fill_fn *fill;
  improve_fn *improve;
} class_loops;

static class_loops loops_of(uint32_t dtype) {
  static const class_loops table[] = {[LK_ELEMENT_F32] = {fill_f32, improve_f32},
                                      [LK_ELEMENT_F64] = {fill_f64, improve_f64},
                                      [LK_ELEMENT_I32] = {fill_i32, improve_i32},
                                      [LK_ELEMENT_I64] = {fill_i64, improve_i64},
                                      [LK_ELEMENT_U64] = {fill_u64, improve_u64}};
  return dtype == LK_U32 ? (class_loops){fill_u32, improve_u32} : table[lk_element_class_of(dtype)];
}

/* ---- a line ---- */

/* Elements of a line, of their class: where they are, or in a piece. */
static const void *take(const axis_line *line, int64_t first, int64_t n, void *piece) {
  const uint32_t dtype = line->self->dtype;
  const char *from = line->data + (size_t)first * line->step;
  if (line->loaded != NULL) {
    return line->loaded + first * lk_element_class_bytes(lk_element_class_of(dtype));
  }
  if (line->step == lk_dtype_size(dtype) && lk_element_is_of_class(dtype)) return from;
  const lk_element_args args = {.to = {piece, 0},
                                .a = {(char *)(uintptr_t)from, 0},
                                .rows = 1,
                                .cols = n,
                                .stride = (int64_t)line->step};
  lk_element_loops_for((uint32_t)lk_isa_get())->load[dtype](&args);
  return piece;
}

/* Whether the best one is that of lk_largest_kernel. It finds NaN among the smallest, too, where
 * NaN is the last. */
static bool is_best(const axis_line *line, int64_t index) {
  const uint32_t dtype = line->self->dtype;
  const uint64_t nan = dtype == LK_F32 ? UINT32_MAX : UINT64_MAX;
  return !line->self->smallest ||
         lk_order_key(dtype, line->data + (size_t)index * line->step, 0) != nan;
}

static void make(lk_ranks *ranks, lk_pairs *pairs, bool has_pairs) {
  if (has_pairs) {
    lk_pairs_make(pairs);
  } else {
    lk_ranks_make(ranks);
  }
}

/* The index of the worst, which is taken away. */
static int64_t take_worst(lk_ranks *ranks, lk_pairs *pairs, bool has_pairs) {
  return has_pairs ? lk_pairs_take(pairs) : lk_rank_index(lk_ranks_take(ranks));
}

/* What was chosen becomes indices: the worst goes to the end. */
static void sort(lk_ranks *ranks, lk_pairs *pairs, bool has_pairs, int64_t *indices, int64_t step) {
  for (int64_t left = ranks->size, end; left > 0;) {
    end = left > LK_LOOK_FEW ? left - LK_LOOK_FEW : 0;
    while (left > end) {
      const int64_t worst = take_worst(ranks, pairs, has_pairs); /* the place may be its own */
      indices[--left * step] = worst;
    }
    if (end > 0 && lk_team_is_stopped()) return;
  }
}

/* Of up to LK_SORT_FEW elements. */
static void choose_few(const axis_line *line, int64_t *indices) {
  _Alignas(64) uint64_t piece[LK_SORT_FEW];
  int64_t places[LK_SORT_FEW];
  const lk_top_k *self = line->self;
  self->sort_few(take(line, 0, self->count, piece), self->count, self->smallest, places);
  for (int64_t i = 0; i < self->k; i++) indices[i * self->inner] = places[i];
}

/* `values`: memory for as many as `indices`, of 8 bytes where elements have so many. False: it is
 * stopped, and the indices are any. Not inlined: a stack that is large is a quarter of the time of
 * a short line. */
static __attribute__((noinline)) bool choose_by_heap(const axis_line *line, char *values,
                                                     int64_t *indices) {
  _Alignas(64) uint64_t piece[PIECE], near_keys[PIECE];
  int64_t near_indices[PIECE];
  const lk_top_k *self = line->self;
  const int64_t k = self->k, step = self->inner, count = self->count;
  const bool has_pairs = lk_dtype_size(self->dtype) == sizeof(uint64_t), is_near = k <= PIECE;
  uint64_t *keys = is_near ? near_keys : (uint64_t *)(void *)values;
  lk_ranks ranks = {is_near ? near_indices : indices, is_near ? 1 : step, k};
  lk_pairs pairs = {keys, ranks.items, ranks.step, k};
  const void *best = has_pairs ? (const void *)&pairs : &ranks;
  const class_loops loops = loops_of(self->dtype);
  const uint64_t turn = !self->smallest ? 0 : has_pairs ? UINT64_MAX : UINT32_MAX;
  int64_t first = 0;
  do { /* there are k at least */
    const int64_t n = lk_min(PIECE, (first < k ? k : count) - first);
    const void *from = take(line, first, n, piece);
    if (first < k) {
      loops.fill(best, from, first, n, turn);
    } else {
      loops.improve(best, from, first, n, turn, self->skip_worse);
    }
    first += n;
    if (first == k) make(&ranks, &pairs, has_pairs);
    if (first < count && lk_team_is_stopped()) return false;
  } while (first < count);
  sort(&ranks, &pairs, has_pairs, indices, step);
  return k <= LK_LOOK_FEW || !lk_team_is_stopped();
}

static bool choose(const axis_line *line, char *values, int64_t *indices) {
  if (line->self->k < 1) return true;
  if (line->self->count > LK_SORT_FEW) return choose_by_heap(line, values, indices);
  choose_few(line, indices);
  return true;
}

/* Short lines side by side that do not lie as their class: as many as a piece has, from `turn` on,
 * before `end`. */
static int64_t load_lines(const lk_kernel_loop *loop, int64_t turn, int64_t end, char *piece) {
  const lk_top_k *self = loop->params;
  const int64_t size = (int64_t)lk_dtype_size(self->dtype);
  const int64_t lines = lk_min(end - turn, PIECE / self->count);
  const lk_element_args args = {.to = {piece, 0},
                                .a = {(char *)loop->pointers[0] + turn * self->count * size, 0},
                                .rows = 1,
                                .cols = lines * self->count,
                                .stride = size};
  lk_element_loops_for((uint32_t)lk_isa_get())->load[self->dtype](&args);
  return lines;
}

static void choose_lines(const void *arg, int64_t begin, int64_t end) {
  _Alignas(64) char piece[PIECE * sizeof(uint64_t)];
  const lk_kernel_loop *loop = arg;
  const lk_top_k *self = loop->params;
  const size_t size = lk_dtype_size(self->dtype);
  const int64_t wide = lk_element_class_bytes(lk_element_class_of(self->dtype));
  /* others have no place for their keys, or ranks for their indices */
  const bool has_heap = size == sizeof(uint64_t) || self->count < UINT32_MAX;
  const bool is_loaded = self->k > 1 && self->inner == 1 && self->count <= PIECE / 2 &&
                         !lk_element_is_of_class(self->dtype);
  int64_t first = begin, last = begin; /* lines that are loaded */
  for (int64_t turn = begin; turn < end; turn++) {
    const int64_t outer = turn / self->inner, inner = turn % self->inner;
    const int64_t from = outer * self->count * self->inner + inner;
    const int64_t to = outer * self->k * self->inner + inner;
    axis_line line = {.self = self,
                      .data = (const char *)loop->pointers[0] + (size_t)from * size,
                      .step = (size_t)self->inner * size};
    char *values = (char *)loop->pointers[1] + (size_t)to * size;
    int64_t *indices = (int64_t *)loop->pointers[2] + to;
    if (is_loaded && turn == last) {
      first = turn;
      last += load_lines(loop, turn, end, piece);
    }
    if (is_loaded) line.loaded = piece + (turn - first) * self->count * wide;
    if (!(self->k == 1 && is_best(&line, *indices)) &&
        !(has_heap ? choose(&line, values, indices) : choose_indices(&line, indices))) {
      return;
    }
    for (int64_t i = 0, next; i < self->k; i = next) {
      next = lk_look_part(i, self->k, LK_LOOK_FEW);
      for (int64_t j = i; j < next; j++) {
        char *value = values + (size_t)j * line.step;
        const char *found = line.data + (size_t)indices[j * self->inner] * line.step;
        if (size == 8) { /* where a call is dear */
          memcpy(value, found, 8);
        } else if (size == 4) {
          memcpy(value, found, 4);
        } else {
          memcpy(value, found, size);
        }
      }
      if (next < self->k && lk_team_is_stopped()) return;
    }
  }
}

void lk_top_k_plan(lk_top_k *self) {
  const lk_isa isa = lk_isa_get();
  const lk_row_loops *loops = lk_row_loops_get(isa);
  self->skip_worse = loops->skip_worse[lk_element_class_of(self->dtype)];
  self->sort_few = loops->sort_few[lk_element_class_of(self->dtype)];
  if (self->k != 1) return;
  self->best = (lk_along){.dtype = self->dtype,
                          .is_smallest = self->smallest,
                          .outer = self->outer,
                          .n = self->count,
                          .inner = self->inner};
  lk_along_plan(&self->best, isa);
}

lk_status lk_top_k_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_top_k *self = params;
  const int64_t lines = self->outer * self->inner;
  if (self->k == 1) {
    void *const found[] = {pointers[0], pointers[2]};
    LK_RETURN_NOT_OK(lk_largest_kernel(&self->best, found, error));
    if (lk_team_is_stopped()) return LK_OK; /* places are any */
  }
  return lk_kernel_turns(lines, lk_sharing_pays_for(lines * self->count, ELEMENT), choose_lines,
                         params, pointers);
}
