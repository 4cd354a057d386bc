/* Activations of fused operators. */
#include "ops/plan/fused_activation.h"

#include <inttypes.h>
#include <math.h>

enum { MOST_NUMBERS = 2 };

/* In the order of LK_ACTIVATION_ATTR. The numbers are those that the operators have by default. */
static const struct {
  uint32_t kind, n_numbers;
  float numbers[MOST_NUMBERS];
} activations[] = {
    {LK_POST_CLIP, 2, {-INFINITY, INFINITY}},
    {LK_POST_HARDSIGMOID, 2, {0.2F, 0.5F}},
    {LK_POST_RELU, 1, {0.01F, 0}},
    {LK_POST_RELU, 0, {0, 0}},
    {LK_POST_SIGMOID, 0, {0, 0}},
    {LK_POST_TANH, 0, {0, 0}},
};

/* Returns how many there are of a convolution, whose row lists them all together; FusedGemm's lists
 * each. */
static uint32_t read_numbers(lk_attrs *attrs, uint32_t wanted, float *numbers) {
  static const char *const names[MOST_NUMBERS] = {"activation_alpha", "activation_beta"};
  if (lk_attrs_lists(attrs, "activation_params")) {
    return lk_attrs_floats(attrs, "activation_params", numbers, MOST_NUMBERS);
  }
  for (uint32_t i = 0; i < wanted && i < MOST_NUMBERS; i++) {
    if (lk_attrs_has(attrs, names[i])) numbers[i] = lk_attrs_float(attrs, names[i]);
  }
  return 0;
}

bool lk_attrs_activation(lk_attrs *attrs, lk_post_op *out_post_op) {
  if (!lk_attrs_has(attrs, "activation")) return false;
  const uint32_t index = lk_attrs_choice(attrs, "activation");
  const uint32_t wanted = activations[index].n_numbers;
  float numbers[MOST_NUMBERS] = {activations[index].numbers[0], activations[index].numbers[1]};
  const uint32_t given = read_numbers(attrs, wanted, numbers);
  if (given != 0 && given != wanted) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'activation_params' has %" PRIu32
                  " numbers, this activation has %" PRIu32,
                  given, wanted);
    return false;
  }
  *out_post_op = (lk_post_op){activations[index].kind, -1, numbers[0], numbers[1]};
  return true;
}
