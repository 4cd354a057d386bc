#include "base/team/team_for.h"

#include "base/team/team.h"

typedef struct loop {
  int64_t count;
  lk_team_for_fn *turns;
  const void *arg;
} loop;

static void do_share(void *arg) {
  const loop *self = arg;
  const int64_t size = lk_team_size(), rank = lk_team_rank();
  const int64_t each = self->count / size, more = self->count % size;
  const int64_t begin = rank * each + (rank < more ? rank : more);
  const int64_t end = begin + each + (rank < more ? 1 : 0);
  if (begin < end) self->turns(self->arg, begin, end);
}

void lk_team_for(int64_t count, bool shared, lk_team_for_fn *turns, const void *arg) {
  loop self = {count, turns, arg};
  if (shared) {
    lk_team_run(do_share, &self, 0);
  } else if (count > 0) {
    turns(arg, 0, count);
  }
}
