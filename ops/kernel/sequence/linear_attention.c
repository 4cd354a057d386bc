/* Linear attention. */
#include "ops/kernel/sequence/linear_attention.h"

#include <math.h>
#include <string.h>

#include "base/team/team.h"

typedef struct operands {
  const float *q, *k, *v, *past, *decays, *rates;
  float *output, *state;
} operands;

static operands read_pointers(const lk_linear_attention *self, void *const *pointers) {
  operands read = {.q = pointers[0],
                   .k = pointers[1],
                   .v = pointers[2],
                   .output = pointers[3],
                   .state = pointers[4]};
  uint32_t n = 5;
  if (self->has_past) read.past = pointers[n++];
  if (self->decays > 0) read.decays = pointers[n++];
  if (self->rates > 0) read.rates = pointers[n++];
  return read;
}

static void add_product(float *to, const float *from, float factor, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] += factor * from[i];
}

/* S = e^g S: `decays` has one number, or one for each key element. */
static void decay(const lk_linear_attention *self, const float *decays, float *state) {
  const bool is_one = self->decays == self->kv_heads;
  float factor = is_one ? expf(decays[0]) : 0;
  for (int64_t i = 0; i < self->size; i++) {
    if (!is_one) factor = expf(decays[i]);
    for (int64_t m = 0; m < self->v_size; m++) state[i * self->v_size + m] *= factor;
  }
}

/* to = S'x */
static void read_state(const lk_linear_attention *self, const float *state, const float *x,
                       float *to) {
  memset(to, 0, (size_t)self->v_size * sizeof *to);
  for (int64_t i = 0; i < self->size; i++) {
    add_product(to, state + i * self->v_size, x[i], self->v_size);
  }
}

/* One row of one head. The first output of the group holds what is added to the state, until it is
 * computed itself. */
static void do_row(const lk_linear_attention *self, const operands *of, int64_t row, int64_t head,
                   float *state) {
  const int64_t group = self->heads / self->kv_heads, at = row * self->kv_heads + head;
  const float *k = of->k + at * self->size, *v = of->v + at * self->v_size;
  const float *q = of->q + at * group * self->size;
  float *output = of->output + at * group * self->v_size;
  if (of->decays != NULL) {
    decay(self, of->decays + row * self->decays + head * (self->decays / self->kv_heads), state);
  }
  if (of->rates != NULL) {
    const float rate = of->rates[row * self->rates + (self->rates > 1 ? head : 0)];
    read_state(self, state, k, output);
    for (int64_t m = 0; m < self->v_size; m++) output[m] = rate * (v[m] - output[m]);
    v = output;
  }
  for (int64_t i = 0; i < self->size; i++) {
    add_product(state + i * self->v_size, v, k[i], self->v_size);
  }
  for (int64_t g = 0; g < group; g++) {
    float *to = output + g * self->v_size;
    read_state(self, state, q + g * self->size, to);
    for (int64_t m = 0; m < self->v_size; m++) to[m] *= self->scale;
  }
}

/* A turn: a head of a batch. */
static void do_heads(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_linear_attention *self = loop->params;
  const operands of = read_pointers(self, loop->pointers);
  const int64_t elements = self->size * self->v_size;
  const size_t bytes = (size_t)elements * sizeof(float);
  for (int64_t i = begin; i < end; i++) {
    const int64_t batch = i / self->kv_heads, head = i % self->kv_heads;
    float *state = of.state + i * elements;
    if (of.past == NULL) memset(state, 0, bytes);
    if (of.past != NULL && of.past != of.state) memcpy(state, of.past + i * elements, bytes);
    for (int64_t row = 0; row < self->rows && !lk_team_is_stopped(); row++) {
      do_row(self, &of, batch * self->rows + row, head, state);
    }
  }
}

lk_status lk_linear_attention_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_linear_attention *self = params;
  const int64_t turns = self->batch * self->kv_heads;
  const int64_t elements = turns * self->rows * self->size * self->v_size; /* of states */
  return lk_kernel_turns_looking(turns, lk_sharing_pays_for(elements, LK_SHARING_ELEMENT), do_heads,
                                 self, pointers);
}
