/* Loops whose turns any thread may do.
 *
 * Each thread begins with an equal part of the turns, in a row: from loop to loop that is about the
 * same part of the data, which its caches have. It does its part piece by piece, and then takes
 * pieces from the ends of the parts of others. So a loop ends at about the same time for all, also
 * where turns take different times, or where a thread comes late or has to give up its processor.
 */
#include "base/team/team_for.h"

#include <stdatomic.h>

#include "base/team/team.h"

/* More threads than this have no part of their own, and help others. */
enum { MAX_PARTS = 64 };

/* A piece is so much of what is left of a part, at least one turn. */
enum { PIECES = 3 };

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
} loop;

static uint64_t pack(uint64_t begin, uint64_t end) {
  return begin | end << 32;
}

static void do_turns(const loop *self, uint64_t begin, uint64_t end) {
  const int64_t last = (int64_t)end * self->unit;
  self->turns(self->arg, (int64_t)begin * self->unit, last < self->count ? last : self->count);
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
      do_turns(self, end - size, end);
    } else {
      do_turns(self, begin, begin + size);
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

void lk_team_for(int64_t count, bool shared, lk_team_for_fn *turns, const void *arg) {
  loop self = {.turns = turns, .arg = arg, .count = count};
  if (count <= 0) return;
  if (shared && count > 1 && lk_team_threads() > 1) {
    do_shared(&self);
  } else {
    turns(arg, 0, count);
  }
}
