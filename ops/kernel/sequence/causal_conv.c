/* A depthwise convolution that sees the past alone. */
#include "ops/kernel/sequence/causal_conv.h"

#include "base/team/look.h"
#include "ops/kernel/sizes.h"

typedef struct line {
  const float *input, *past, *weights; /* past: NULL is zeros */
  float *output, *state;
  float bias;
} line;

/* Element `at` of the past, taps - 1 elements, with the input behind it. */
static float element(const lk_causal_conv *self, const line *of, int64_t at) {
  const int64_t past = self->taps - 1;
  if (at >= past) return of->input[at - past];
  return of->past != NULL ? of->past[at] : 0;
}

/* The first outputs reach into the past. */
static void do_first(const lk_causal_conv *self, const line *of, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    float sum = of->bias;
    for (int64_t t = 0; t < self->taps && !lk_look_after(t, LK_LOOK_EACH); t++) {
      sum += of->weights[t] * element(self, of, i + t);
    }
    of->output[i] = sum;
    if (self->taps > LK_LOOK_FEW && lk_team_is_stopped()) return;
  }
}

static void do_line(const lk_causal_conv *self, const line *of) {
  const int64_t first = lk_min(self->taps - 1, self->length), past = self->taps - 1;
  do_first(self, of, first);
  for (int64_t begin = first, end; begin < self->length; begin = end) {
    end = lk_look_part(begin, self->length, LK_LOOK_EACH);
    for (int64_t i = begin; i < end; i++) of->output[i] = of->bias;
    for (int64_t t = 0; t < self->taps && !lk_look_after(t, LK_LOOK_FEW); t++) {
      const float weight = of->weights[t];
      for (int64_t i = begin; i < end; i++) {
        of->output[i] += weight * of->input[i + t - past];
      }
    }
    if (end < self->length && lk_team_is_stopped()) return;
  }
  /* from the first one on: where the state is the past, what is read lies behind what is written */
  for (int64_t i = 0; i < past && !lk_look_after(i, LK_LOOK_EACH); i++)
    of->state[i] = element(self, of, self->length + i);
}

static void do_lines(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_causal_conv *self = loop->params;
  const int64_t past = self->taps - 1;
  const float *bias = self->has_bias ? loop->pointers[4] : NULL;
  const float *before = self->has_past ? loop->pointers[self->has_bias ? 5 : 4] : NULL;
  for (int64_t i = begin; i < end; i++) {
    const int64_t channel = i % self->channels;
    const line of = {.input = (const float *)loop->pointers[0] + i * self->length,
                     .past = before != NULL ? before + i * past : NULL,
                     .weights = (const float *)loop->pointers[1] + channel * self->taps,
                     .output = (float *)loop->pointers[2] + i * self->length,
                     .state = (float *)loop->pointers[3] + i * past,
                     .bias = bias != NULL ? bias[channel] : 0};
    do_line(self, &of);
  }
}

lk_status lk_causal_conv_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_causal_conv *self = params;
  const int64_t taps = self->lines * (self->length + 1) * self->taps;
  return lk_kernel_turns(self->lines, lk_sharing_pays_for(taps, LK_SHARING_ELEMENT), do_lines, self,
                         pointers);
}
