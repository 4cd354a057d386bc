/* The negative log-likelihood loss. A turn is a place. */
#include "ops/kernel/reduce/loss.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/team/look.h"

enum { PLACE = 64 /* operations: it reads where its target says */ };

static int64_t target_at(const lk_nll *self, const void *targets, int64_t place) {
  return self->wide ? ((const int64_t *)targets)[place] : ((const int32_t *)targets)[place];
}

static bool is_ignored(const lk_nll *self, int64_t target) {
  return self->has_ignored && target == self->ignored;
}

/* A place that is ignored is 0 whatever stands there: 0 times NaN would not be. */
#define LOSSES(name, type)                                                                         \
  static void name(const void *arg, int64_t begin, int64_t end) {                                  \
    const lk_kernel_loop *loop = arg;                                                              \
    const lk_nll *self = loop->params;                                                             \
    void *const *next = loop->pointers + 2;                                                        \
    const type *from = loop->pointers[0];                                                          \
    const type *weights = self->has_weights ? *next++ : NULL;                                      \
    type *losses = *next++, *told = self->tells_weights ? *next : NULL;                            \
    for (int64_t i = begin; i < end; i++) {                                                        \
      const int64_t target = target_at(self, loop->pointers[1], i);                                \
      const bool counts = !is_ignored(self, target);                                               \
      const type weight = !counts ? 0 : weights != NULL ? weights[target] : 1;                     \
      const int64_t row = i / self->inner * self->classes;                                         \
      losses[i] = counts ? -weight * from[(row + target) * self->inner + i % self->inner] : 0;     \
      if (told != NULL) told[i] = weight;                                                          \
    }                                                                                              \
  }
LOSSES(losses_f32, float)
LOSSES(losses_f64, double)

lk_status lk_nll_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_nll *self = params;
  const int64_t places = self->outer * self->inner;
  for (int64_t i = 0; i < places; i++) {
    LK_RETURN_NOT_OK(lk_look_check_after(i, LK_LOOK_EACH, "check targets", error));
    const int64_t target = target_at(self, pointers[1], i);
    if (is_ignored(self, target) || (target >= 0 && target < self->classes)) continue;
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to find the loss of target %" PRId64 ": 0 to %" PRId64 " are allowed",
                   target, self->classes - 1);
  }
  return lk_kernel_turns(places, lk_sharing_pays_for(places, PLACE),
                         self->is_f64 ? losses_f64 : losses_f32, params, pointers);
}
