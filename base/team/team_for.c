/* Loops whose turns any thread may do.
 *
 * Each thread begins with an equal part of the turns, in a row: from loop to loop that is about the
 * same part of the data, which its caches have. It does its part piece by piece, and then takes
 * pieces from the ends of the parts of others. So a loop ends at about the same time for all, also
 * where turns take different times, or where a thread comes late or has to give up its processor.
 *
 * A loop that is watched does slices of a piece, by the clock as long as SLICE_NS.
 */
#include "base/team/team_for.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/team/team.h"

/* More threads than this have no part of their own, and help others. */
enum { MAX_PARTS = 64 };

/* A piece is so much of what is left of a part, at least one turn. */
enum { PIECES = 3 };

/* Between two looks at what may stop a loop. */
#define SLICE_NS UINT64_C(2000000)

/* What is left of a part: its first turn in the low half, behind its last one in the high half. */
typedef struct part {
  _Alignas(64) _Atomic uint64_t left;
} part;

typedef struct loop {
  lk_team_for_fn *turns;
  const void *arg;
  int64_t count;
  int64_t unit; /* turns that are counted as one, so that their number fits */
  int n_parts;
  part *parts;
  bool is_sliced;
} loop;

static uint64_t pack(uint64_t begin, uint64_t end) {
  return begin | end << 32;
}

/* In slices: the first is one turn, and each that was short is followed by one twice as large. */
static void do_slices(const loop *self, int64_t begin, int64_t end) {
  int64_t size = 1;
  uint64_t now = lk_now_ns();
  while (begin < end && !lk_team_is_stopped()) {
    const int64_t next = end - begin < size ? end : begin + size;
    const uint64_t from = now;
    self->turns(self->arg, begin, next);
    begin = next;
    now = lk_now_ns();
    if (now - from < SLICE_NS / 2) {
      size *= 2;
    } else if (now - from > SLICE_NS && size > 1) {
      size /= 2;
    }
  }
}

static void do_turns(const loop *self, int64_t begin, int64_t end) {
  if (self->is_sliced) {
    do_slices(self, begin, end);
  } else {
    self->turns(self->arg, begin, end);
  }
}

/* The same, in units. */
static void do_units(const loop *self, uint64_t begin, uint64_t end) {
  const int64_t last = (int64_t)end * self->unit;
  do_turns(self, (int64_t)begin * self->unit, last < self->count ? last : self->count);
}

/* Does a piece of a part, from its beginning or its end. False: nothing is left. What turns write
 * is published at the end of the region, so the order of memory does not matter here. */
static bool do_piece(const loop *self, part *of, bool from_end) {
  uint64_t left = atomic_load_explicit(&of->left, memory_order_relaxed);
  for (;;) {
    const uint64_t begin = left & UINT32_MAX, end = left >> 32;
    if (begin == end) return false;
    const uint64_t size = (end - begin + PIECES - 1) / PIECES;
    const uint64_t rest = from_end ? pack(begin, end - size) : pack(begin + size, end);
    if (!atomic_compare_exchange_weak_explicit(&of->left, &left, rest, memory_order_relaxed,
                                               memory_order_relaxed)) {
      continue;
    }
    if (from_end) {
      do_units(self, end - size, end);
    } else {
      do_units(self, begin, begin + size);
    }
    return true;
  }
}

static void do_share(void *arg) {
  const loop *self = arg;
  const int rank = lk_team_rank();
  for (int i = rank; i < rank + self->n_parts; i++) {
    const int whose = i % self->n_parts;
    while (do_piece(self, &self->parts[whose], whose != rank)) {
    }
  }
}

/* By as many threads as this one may use. */
static void do_shared(loop *self) {
  part parts[MAX_PARTS];
  const int64_t threads = lk_team_threads();
  self->unit = self->count / UINT32_MAX + 1;
  const int64_t units = (self->count + self->unit - 1) / self->unit;
  int64_t n_parts = threads < MAX_PARTS ? threads : MAX_PARTS;
  if (units < n_parts) n_parts = units;
  for (int64_t i = 0; i < n_parts; i++) {
    atomic_init(&parts[i].left,
                pack((uint64_t)(units * i / n_parts), (uint64_t)(units * (i + 1) / n_parts)));
  }
  self->n_parts = (int)n_parts;
  self->parts = parts;
  lk_team_run(do_share, self, 0);
}

static void run(loop *self, bool shared) {
  if (self->count <= 0) return;
  if (shared && self->count > 1 && lk_team_threads() > 1) {
    do_shared(self);
  } else {
    do_turns(self, 0, self->count);
  }
}

void lk_team_for(int64_t count, bool shared, lk_team_for_fn *turns, const void *arg) {
  loop self = {.turns = turns, .arg = arg, .count = count, .is_sliced = lk_team_is_watched()};
  run(&self, shared);
}

void lk_team_for_looking(int64_t count, bool shared, lk_team_for_fn *turns, const void *arg) {
  loop self = {.turns = turns, .arg = arg, .count = count};
  run(&self, shared);
}
