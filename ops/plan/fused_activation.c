/* Activations of fused operators. */
#include "ops/plan/fused_activation.h"

#include <inttypes.h>
#include <math.h>

enum { NAMES = 6, MOST_NUMBERS = 2 };

static const char *const names[NAMES] = {"Clip", "HardSigmoid", "LeakyRelu",
                                         "Relu", "Sigmoid",     "Tanh"};
/* In the order of the names. The numbers are those that the operators have by default. */
static const struct {
  uint32_t kind, n_numbers;
  float numbers[MOST_NUMBERS];
} activations[NAMES] = {
    {LK_POST_CLIP, 2, {-INFINITY, INFINITY}},
    {LK_POST_HARDSIGMOID, 2, {0.2F, 0.5F}},
    {LK_POST_RELU, 1, {0.01F, 0}},
    {LK_POST_RELU, 0, {0, 0}},
    {LK_POST_SIGMOID, 0, {0, 0}},
    {LK_POST_TANH, 0, {0, 0}},
};

bool lk_attrs_activation(lk_attrs *attrs, lk_post_op *out_post_op) {
  const uint32_t index = lk_attrs_choice(attrs, "activation", names, NAMES, NAMES);
  if (index == NAMES) return false;
  const uint32_t wanted = activations[index].n_numbers;
  float numbers[MOST_NUMBERS] = {activations[index].numbers[0], activations[index].numbers[1]};
  const uint32_t given = lk_attrs_floats(attrs, "activation_params", numbers, MOST_NUMBERS);
  if (given != 0 && given != wanted) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'activation_params' has %" PRIu32 " numbers, %s has %" PRIu32, given,
                  names[index], wanted);
    return false;
  }
  if (given == 0 && wanted > 0) {
    numbers[0] = lk_attrs_float(attrs, "activation_alpha", numbers[0]);
    numbers[1] = lk_attrs_float(attrs, "activation_beta", numbers[1]);
  }
  *out_post_op = (lk_post_op){activations[index].kind, -1, numbers[0], numbers[1]};
  return true;
}
