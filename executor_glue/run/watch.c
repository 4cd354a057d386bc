#include "executor_glue/run/watch.h"

static bool is_set(const lk_stop *stop) {
  return lk_stop_is_set(&stop->limit, stop->ask);
}

static lk_watch watch_of(const lk_stop *stop) {
  return (lk_watch){.struct_size = sizeof(lk_watch),
                    .cancel = stop->limit.cancel,
                    .stop = stop->limit.stop,
                    .deadline_ns = stop->limit.deadline_ns,
                    .should_stop = stop->ask,
                    .arg = stop->arg};
}

lk_status lk_watch_begin(const lk_api *api, lk_frame *frame, const lk_stop *stop, lk_error *error) {
  if (!is_set(stop)) return LK_OK;
  const lk_watch watch = watch_of(stop);
  return api->frame_watch(frame, &watch, error);
}

void lk_watch_end(const lk_api *api, lk_frame *frame, const lk_stop *stop) {
  if (is_set(stop)) (void)api->frame_watch(frame, NULL, NULL);
}

lk_status lk_watch_thread_begin(const lk_api *api, lk_thread_watch *room, const lk_stop *stop,
                                lk_error *error) {
  const lk_watch watch = watch_of(stop);
  return api->thread_watch(room, &watch, error);
}
