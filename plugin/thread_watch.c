/* What a thread watches while it makes things, besides what frames watch while operators run. */
#include <assert.h>

#include "base/require.h"
#include "base/status.h"
#include "base/stop.h"
#include "base/struct.h"
#include "base/team/look.h"
#include "plugin/internal.h"
#include "plugin/table.h"

typedef struct thread_watch {
  lk_stop stop;
  lk_stop *before;
} thread_watch;
static_assert(sizeof(thread_watch) <= sizeof(lk_thread_watch), "the host's memory is enough");

lk_status lk_thread_watch_begin(lk_thread_watch *room, const lk_watch *given, lk_error *error) {
  LK_REQUIRE("thread_watch", error, room, given);
  lk_watch watch = {0};
  LK_RETURN_NOT_OK(lk_struct_read(&watch, sizeof watch, given, "a watch", error));
  const lk_wait_limit limit = {watch.cancel, watch.stop, watch.deadline_ns};
  thread_watch *self = (thread_watch *)room;
  lk_stop_init(&self->stop, &limit, watch.should_stop, watch.arg);
  /* one that has nothing to look at leaves what is around it */
  const bool is_set = lk_stop_is_set(&limit, watch.should_stop);
  self->before = lk_team_watch(NULL);
  (void)lk_team_watch(is_set ? &self->stop : self->before);
  return LK_OK;
}

void lk_thread_watch_end(lk_thread_watch *room) {
  (void)lk_team_watch(((thread_watch *)room)->before);
}

lk_status lk_thread_watch_look(lk_error *error) {
  return lk_look_check("finish", error);
}
