/* The form of every kernel: what a step of a plan calls. */
#pragma once

#include <latchkey/base.h>
#include <stddef.h>

#include "base/team/team_for.h"
#include "ops/kernel/sharing.h"

/* Computes on `pointers`, in the order that the kernel's header states. `params` is the struct that
 * belongs to the kernel, complete before the first run and never changed by one. Kernels allocate
 * nothing and may use the threads of the region that they run in (base/team/team_for.h). */
typedef lk_status (*lk_kernel_fn)(const void *params, void *const *pointers, lk_error *error);

/* What is read after a kernel has ended: the constants of the next one, which come from memory when
 * nobody has asked for them before. Only an address: nothing is read there, and nothing changes. */
typedef struct lk_kernel_ahead {
  const char *at; /* NULL: not known */
  size_t bytes;
} lk_kernel_ahead;

/* Of the kernels that this thread starts from now on; NULL: none. It must live until then. */
void lk_kernel_set_ahead(const lk_kernel_ahead *ahead);
lk_kernel_ahead lk_kernel_get_ahead(void);

/* What the turns of a kernel's loop get (lk_team_for_fn). */
typedef struct lk_kernel_loop {
  const void *params;
  void *const *pointers;
  lk_kernel_ahead ahead; /* of lk_kernel_turns_fetching */
} lk_kernel_loop;

/* The turns 0 to `count` - 1 of a kernel, which cannot fail: by all threads of the region with
 * `shared`, else by this one. */
static inline lk_status lk_kernel_turns(int64_t count, bool shared, lk_team_for_fn *turns,
                                        const void *params, void *const *pointers) {
  const lk_kernel_loop loop = {params, pointers, {NULL, 0}};
  lk_team_for(count, shared, turns, &loop);
  return LK_OK;
}

/* The same, of turns that are long and look whether to stop (base/team/team.h). */
static inline lk_status lk_kernel_turns_looking(int64_t count, bool shared, lk_team_for_fn *turns,
                                                const void *params, void *const *pointers) {
  const lk_kernel_loop loop = {params, pointers, {NULL, 0}};
  lk_team_for_looking(count, shared, turns, &loop);
  return LK_OK;
}

/* The same as lk_kernel_turns, of a kernel that fetches what is ahead. */
static inline lk_status lk_kernel_turns_fetching(int64_t count, bool shared, lk_team_for_fn *turns,
                                                 const void *params, void *const *pointers) {
  const lk_kernel_loop loop = {params, pointers, lk_kernel_get_ahead()};
  lk_team_for(count, shared, turns, &loop);
  return LK_OK;
}

/* What the last turn of each thread's part of the loop fetches, by the number of turns: the part of
 * what is ahead that this thread most likely reads. Other turns: nothing. */
lk_kernel_ahead lk_kernel_ahead_of(const lk_kernel_loop *loop, int64_t turn, int64_t count);
