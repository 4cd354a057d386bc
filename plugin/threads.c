/* Threads for runs, as the table has them: the process's budget, regions, loans, and what threads
 * can do at the most. */
#include <assert.h>
#include <inttypes.h>

#include "base/parse.h"
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "base/team/budget.h"
#include "base/team/float_state.h"
#include "base/team/team.h"
#include "ops/kernel/peak.h"
#include "plugin/internal.h"
#include "plugin/table.h"

lk_status lk_threads_enter(lk_context *context, const lk_threads_ask *given, int32_t *out_threads,
                           lk_error *error) {
  LK_REQUIRE_AS("threads_enter", "context, ask, out_threads", error, context, given, out_threads);
  lk_threads_ask read; /* set only where it is needed */
  *out_threads = 0;
  if (given->struct_size != sizeof *given) { /* from another header */
    read = (lk_threads_ask){0};
    LK_RETURN_NOT_OK(lk_struct_read(&read, sizeof read, given, "an ask for threads", error));
    given = &read;
  }
  const lk_budget_ask ask = {.least = given->least != 0 ? given->least : 1,
                             .most = given->most != 0 ? given->most : context->env.threads,
                             .limit = {given->cancel, given->stop, given->deadline_ns}};
  if (ask.least < 1 || ask.most < ask.least || ask.most > LK_MAX_THREADS) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to ask for threads: %" PRId32 " to %" PRId32
                   " are asked for, they must be in order and 1 to %d",
                   ask.least, ask.most, LK_MAX_THREADS);
  }
  const int granted = lk_budget_enter(&ask);
  if (granted < 0) {
    return lk_fail(error, lk_wait_limit_status(granted),
                   "failed to run: %s while other runs had the %" PRId32 " processors",
                   lk_wait_limit_text(granted), lk_processors_get());
  }
  *out_threads = granted;
  return LK_OK;
}

void lk_threads_leave(lk_context *context) {
  (void)context;
  lk_budget_leave();
}

lk_status lk_threads_stats_get(lk_threads_stats *out, lk_error *error) {
  const lk_budget_state now = lk_budget_state_get();
  const lk_threads_stats stats = {.struct_size = sizeof stats,
                                  .processors = now.processors,
                                  .running = now.running,
                                  .peak = now.peak,
                                  .waiting = now.waiting,
                                  .waits = now.waits};
  return lk_struct_write(out, &stats, sizeof stats, "statistics of threads", error);
}

lk_status lk_processors_set(int32_t processors, lk_error *error) {
  if (processors < 1 || processors > LK_MAX_THREADS) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to set the processors: %" PRId32 " are asked for, 1 to %d are allowed",
                   processors, LK_MAX_THREADS);
  }
  lk_budget_set_processors(processors);
  return LK_OK;
}

int32_t lk_processors_get(void) {
  (void)lk_processors_read(NULL); /* a wrong variable is for context_create to refuse */
  return lk_budget_processors();
}

typedef struct parallel {
  lk_parallel_fn fn;
  void *arg;
} parallel;

static void run_share(void *arg) {
  const parallel *self = arg;
  self->fn(self->arg, lk_team_rank(), lk_team_size());
}

void lk_parallel_run(lk_context *context, int32_t threads, lk_parallel_fn fn, void *arg) {
  parallel self = {fn, arg};
  if (threads <= 0) threads = context->env.threads;
  lk_team_run(run_share, &self, threads < LK_MAX_THREADS ? threads : LK_MAX_THREADS);
}

static_assert(sizeof(lk_loan) == sizeof(lk_team_loan), "the host's memory is a loan of team.h");

void lk_loan_open(lk_context *context, lk_loan *loan, int32_t threads) {
  (void)context;
  lk_team_loan_open((lk_team_loan *)loan, threads < LK_MAX_THREADS ? threads : LK_MAX_THREADS);
}

void lk_loan_close(lk_context *context, lk_loan *loan) {
  (void)context;
  lk_team_loan_close((lk_team_loan *)loan);
}

uint64_t lk_loan_assist(lk_context *context, lk_loan *loan) {
  (void)context;
  return lk_team_assist((lk_team_loan *)loan);
}

lk_status lk_machine_peak_measure(lk_context *context, int32_t threads, lk_machine_peak *out,
                                  lk_error *error) {
  LK_REQUIRE("machine_peak", error, context, out);
  if (threads < 0 || threads > LK_MAX_THREADS) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to measure the machine with %" PRId32 " threads: 0 to %d are allowed",
                   threads, LK_MAX_THREADS);
  }
  if (threads == 0) threads = context->env.threads;
  lk_peak peak = {0};
  const lk_float_state host_float = lk_float_begin();
  const lk_status status = lk_peak_measure(&context->allocator, threads, &peak, error);
  lk_float_end(host_float);
  LK_RETURN_NOT_OK(status);
  const lk_machine_peak found = {.struct_size = sizeof found,
                                 .threads = peak.threads,
                                 .gflops = peak.gflops,
                                 .gbytes = peak.gbytes};
  return lk_struct_write(out, &found, sizeof found, "lk_machine_peak", error);
}
