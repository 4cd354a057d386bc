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
  lk_stop stop; /* looks at what the thread watched before, too */
} thread_watch;
static_assert(sizeof(thread_watch) <= sizeof(lk_thread_watch), "the host's memory is enough");

lk_status lk_thread_watch_begin(lk_thread_watch *room, const lk_watch *given, lk_error *error) {
  LK_REQUIRE("thread_watch", error, room, given);
  lk_watch watch = {0};
  LK_RETURN_NOT_OK(lk_struct_read(&watch, sizeof watch, given, "a watch", error));
  const lk_wait_limit limit = {watch.cancel, watch.stop, watch.deadline_ns};
  thread_watch *self = (thread_watch *)room;
  lk_stop_init(&self->stop, &limit, watch.should_stop, watch.arg);
  self->stop.outer = lk_team_watch(NULL);
  /* with nothing to look at, it costs nothing */
  const bool is_set = lk_stop_is_set(&limit, watch.should_stop);
  (void)lk_team_watch(is_set ? &self->stop : self->stop.outer);
  return LK_OK;
}

void lk_thread_watch_end(lk_thread_watch *room) {
  (void)lk_team_watch(((thread_watch *)room)->stop.outer);
}

lk_status lk_thread_watch_look(lk_error *error) {
  return lk_look_check("finish what this thread makes", error);
}
