/* See cache_worker.h. */
#include "tests/fuzz/cache_worker.h"

#include "tests/fuzz/fuzz.h"

static void *live(void *arg) {
  cache_worker *worker = arg;
  for (;;) {
    while (sem_wait(&worker->asked) != 0) {
    }
    if (worker->work == NULL) return NULL;
    worker->work(worker->arg);
    (void)sem_post(&worker->done);
  }
}

void cache_worker_begin(cache_worker *worker) {
  FUZZ_CHECK(!worker->alive);
  FUZZ_CHECK(sem_init(&worker->asked, 0, 0) == 0 && sem_init(&worker->done, 0, 0) == 0);
  FUZZ_CHECK(pthread_create(&worker->thread, NULL, live, worker) == 0);
  worker->alive = true;
}

void cache_worker_do(cache_worker *worker, void (*work)(void *arg), void *arg) {
  worker->work = work;
  worker->arg = arg;
  (void)sem_post(&worker->asked);
  while (sem_wait(&worker->done) != 0) {
  }
}

void cache_worker_end(cache_worker *worker) {
  worker->work = NULL;
  (void)sem_post(&worker->asked);
  FUZZ_CHECK(pthread_join(worker->thread, NULL) == 0);
  (void)sem_destroy(&worker->asked);
  (void)sem_destroy(&worker->done);
  worker->alive = false;
}
