/* The functions of team.h on top of the OpenMP that the system's oneDNN calls. A loan has no takers
 * there: that OpenMP's threads cannot be replaced. */
#include <omp.h>

#include "base/team/team.h"

static _Thread_local uint64_t n_regions;

int lk_team_threads(void) {
  return omp_get_max_threads();
}

void lk_team_set_threads(int threads) {
  omp_set_num_threads(threads);
}

int lk_team_begin(int threads) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  return before;
}

void lk_team_end(int before) {
  omp_set_num_threads(before);
}

/* Threads are started when they are needed; where that fails, the process ends: libgomp's rule. */
int lk_team_use(int threads) {
  if (omp_get_max_threads() != threads) omp_set_num_threads(threads);
  return 0;
}

void lk_team_run(void (*fn)(void *), void *arg, int threads) {
  if (threads <= 0) threads = omp_get_max_threads();
  n_regions += threads > 1;
#pragma omp parallel num_threads(threads)
  fn(arg);
}

int lk_team_rank(void) {
  return omp_get_thread_num();
}

int lk_team_size(void) {
  return omp_get_num_threads();
}

void lk_team_barrier(void){
#pragma omp barrier
}

uint64_t lk_team_regions(void) {
  return n_regions;
}

void lk_team_loan_open(lk_team_loan *loan, int threads) {
  (void)loan, (void)threads;
}

void lk_team_loan_close(lk_team_loan *loan) {
  (void)loan;
}

uint64_t lk_team_assist(lk_team_loan *loan) {
  (void)loan;
  return 0;
}
