/* The six functions of an OpenMP runtime that oneDNN calls. tools/setup gives them these names in
 * the copy in .deps, so that no other OpenMP runtime of the process is called in their place. The
 * names are as long as those of libgomp (in brackets). The versions are in cmake/team.map. Source:
 * the interface between GCC and libgomp as in its manual, and the OpenMP specification 5.2, chapter
 * 18. */
#include "base/team/team.h"

void LKTM_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags);
void LKTM_barrier(void);
int lkt_get_max_threads(void);
int lkt_get_num_threads(void);
int lkt_get_thread_num(void);
int lkt_in_parallel(void);

/* [GOMP_parallel] */
void LKTM_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags) {
  (void)flags; /* how threads are bound to processors: they are not */
  lk_team_run(fn, data, (int)threads);
}

/* [GOMP_barrier] */
void LKTM_barrier(void) {
  lk_team_barrier();
}

/* [omp_get_max_threads] */
int lkt_get_max_threads(void) {
  return lk_team_threads();
}

/* [omp_get_num_threads] */
int lkt_get_num_threads(void) {
  return lk_team_size();
}

/* [omp_get_thread_num] */
int lkt_get_thread_num(void) {
  return lk_team_rank();
}

/* [omp_in_parallel] */
int lkt_in_parallel(void) {
  return lk_team_size() > 1;
}
