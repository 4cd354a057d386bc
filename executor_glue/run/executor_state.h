/* What a graph executor is: executor.c makes and ends it, executor_run.c runs it. */
#ifndef LK_RUN_EXECUTOR_STATE_H
#define LK_RUN_EXECUTOR_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/fork.h"
#include "executor_glue/run/executor.h"
#include "executor_glue/run/frame_pool.h"
#include "executor_glue/run/run_limit.h"

/* Names of implementations, kept because a plan's own may end with it. */
typedef struct lk_kept_name {
  struct lk_kept_name *next;
  char text[];
} lk_kept_name;

/* The run plans that one request can have. */
typedef enum lk_run_form {
  LK_RUN_SHARED = 0,  /* steps in order, on the context's threads where that helps */
  LK_RUN_ALONE = 1,   /* steps in order, on the thread that runs */
  LK_RUN_AT_ONCE = 2, /* steps at once on one thread each; as SHARED where there is no width */
  LK_RUN_FORMS = 3
} lk_run_form;

struct lk_graph_executor {
  lk_program *program;
  lk_run_pool *pool;
  lk_run_limit gate;
  bool run_plans;
  int32_t threads;               /* the context's */
  uint32_t workers;              /* 1: steps run in their order */
  lk_key *run_key[LK_RUN_FORMS]; /* what the keys of its run plans have in common */
  atomic_bool had_width; /* the last run plan with workers: the next one is probably alike */
  atomic_uint_least64_t runs, hits, builds, at_once;
  lk_fork_entry fork;
  pthread_mutex_t names_mutex; /* guards `names` */
  lk_kept_name *names;
  const char *_Atomic *implementations; /* [n_nodes] */
};

/* For lk_run_request.bound. A name that finds no memory is not noted. */
void lk_graph_executor_note(void *executor, int32_t node, const char *implementation);

#endif
