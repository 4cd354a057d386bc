/* Depthwise convolutions of bytes. */
#include "ops/kernel/integer/depthwise_integer.h"

#include <string.h>

#include "base/team/look.h"
#include "base/tensor.h"
#include "ops/kernel/sizes.h"

bool lk_depthwise_integer_takes(const lk_conv_shape *conv, const lk_integer_loops *loops) {
  return conv->in_channels == 1 && conv->out_channels == 1 && conv->groups >= loops->lanes &&
         lk_conv_positions(conv) <= LK_DEPTHWISE_INTEGER_TAPS;
}

/* Whether the windows along a dimension are all inside. */
static bool are_inside(const lk_conv_shape *conv, int d) {
  const int64_t reach = (conv->kernel[d] - 1) * conv->dilation[d];
  const int64_t last = (conv->out[d] - 1) * conv->stride[d] - conv->pad[d] + reach;
  return conv->pad[d] <= 0 && last < conv->in[d];
}

/* Of zero points: a line where whole lines of windows are outside. */
static int64_t outside_pixels(const lk_conv_shape *conv) {
  return are_inside(conv, 0) && are_inside(conv, 1) ? 1 : conv->in[2];
}

static int64_t pairs_of(const lk_conv_shape *conv) {
  return lk_div_up(lk_conv_positions(conv), 2);
}

int64_t lk_depthwise_integer_scratch_size(const lk_depthwise_integer *self) {
  const int64_t channels = self->conv.groups;
  const int64_t bytes = outside_pixels(&self->conv) * channels;
  return (pairs_of(&self->conv) + 3) * channels + lk_div_up(bytes, (int64_t)sizeof(int32_t));
}

double lk_depthwise_integer_operations(const lk_conv_shape *conv) {
  return 2 * (double)conv->batch * (double)conv->groups * (double)lk_conv_positions(conv) *
         (double)conv->out[0] * (double)conv->out[1] * (double)conv->out[2];
}

lk_status lk_depthwise_integer_pack_kernel(const void *params, void *const *pointers,
                                           lk_error *error) {
  const lk_conv_shape *conv = params;
  const int64_t taps = lk_conv_positions(conv), channels = conv->groups;
  const uint8_t *from = pointers[0];
  uint8_t *to = pointers[1];
  (void)error;
  for (int64_t t = 0; t < taps; t++) {
    for (int64_t c = 0; c < channels; c++) to[t * channels + c] = from[c * taps + t];
  }
  return LK_OK;
}

/* ---- what all windows share ---- */

/* In the scratch memory. */
typedef struct shared {
  int32_t *weights, *add, *b_zero; /* weights: as lk_integer_window has them */
  float *scale;
  uint8_t *outside; /* a pixel of zero points, or a line */
} shared;

static shared find_shared(const lk_depthwise_integer *self, int32_t *scratch) {
  const int64_t channels = self->conv.groups;
  shared found = {.weights = scratch};
  found.add = found.weights + pairs_of(&self->conv) * channels;
  found.b_zero = found.add + channels;
  found.scale = (float *)(void *)(found.b_zero + channels);
  found.outside = (uint8_t *)(found.scale + channels);
  return found;
}

static int32_t read_byte(const uint8_t *bytes, int64_t at, bool is_signed) {
  return is_signed ? (int8_t)bytes[at] : bytes[at];
}

/* Takes a tap into the sums of weights, and into the lower or upper halves of lanes. */
static void add_tap(const uint8_t *tap, int64_t channels, bool is_signed, int shift,
                    const int32_t *zero, uint32_t *sums, uint32_t *to) {
  const int32_t sign = is_signed ? 0x80 : 0;
  for (int64_t c = 0; c < channels; c++) {
    const int32_t weight = (tap[c] ^ sign) - sign - zero[c];
    sums[c] += (uint32_t)weight;
    to[c] |= ((uint32_t)weight & 0xffff) << shift;
  }
}

/* Zero points of B are part of the weights, that of A of what is added. */
static void fill_shared(const lk_depthwise_integer *self, const lk_integer_operands *of,
                        const shared *to) {
  const int64_t channels = self->conv.groups, taps = lk_conv_positions(&self->conv);
  const uint8_t *a_zero = of->of[LK_INTEGER_A_ZERO], *b_zero = of->of[LK_INTEGER_B_ZERO];
  const uint8_t *b = of->of[LK_INTEGER_B];
  const int32_t *bias = of->of[LK_INTEGER_BIAS];
  const float *scale = of->of[LK_INTEGER_SCALE];
  const uint32_t zero = a_zero != NULL ? (uint32_t)read_byte(a_zero, 0, self->a_is_signed) : 0;
  for (int64_t c = 0; c < channels; c++) {
    to->b_zero[c] =
        b_zero != NULL ? read_byte(b_zero, c * self->b_zero_step, self->b_is_signed) : 0;
    to->scale[c] = scale != NULL ? scale[c * self->scale_step] : 0;
  }
  memset(to->outside, (int)zero, (size_t)(outside_pixels(&self->conv) * channels));
  memset(to->add, 0, (size_t)channels * sizeof *to->add);
  memset(to->weights, 0, (size_t)(pairs_of(&self->conv) * channels) * sizeof *to->weights);
  for (int64_t t = 0; t < taps; t++) {
    add_tap(b + t * channels, channels, self->b_is_signed, t % 2 == 0 ? 0 : 16, to->b_zero,
            (uint32_t *)to->add, (uint32_t *)to->weights + t / 2 * channels);
  }
  for (int64_t c = 0; c < channels; c++) {
    const uint32_t added = bias != NULL ? (uint32_t)bias[c * self->bias_step] : 0;
    to->add[c] = (int32_t)(added - zero * (uint32_t)to->add[c]);
  }
}

/* ---- lines ---- */

/* The taps of the window of a column. */
static void find_taps(const lk_conv_shape *conv, const uint8_t *const *lines, int64_t column,
                      const uint8_t *outside, const uint8_t **to) {
  const int64_t at = column * conv->stride[2] - conv->pad[2];
  for (int64_t i = 0; i < conv->kernel[0] * conv->kernel[1]; i++) {
    for (int64_t j = 0; j < conv->kernel[2]; j++) {
      const int64_t x = at + j * conv->dilation[2];
      *to++ = x >= 0 && x < conv->in[2] ? lines[i] + x * conv->groups : outside;
    }
  }
  *to = lines[0]; /* for an odd number of taps: by a weight of 0 */
}

/* A line of the output: windows that are outside along it one by one, the others together. */
static void run_line(const lk_depthwise_integer *self, const lk_integer_window *line,
                     const uint8_t *const *lines, const uint8_t *outside) {
  const uint8_t *taps[LK_DEPTHWISE_INTEGER_TAPS + 1] = {NULL};
  const lk_conv_shape *conv = &self->conv;
  const int64_t begins = conv->in[2] - lk_conv_extent(conv, 2) + 1; /* of windows inside */
  const lk_inside all = lk_find_inside(-conv->pad[2], conv->stride[2], conv->out[2], begins);
  const int64_t end = all.first + all.count;
  const int64_t size = line->channels * (int64_t)lk_dtype_size(line->c_dtype);
  const int64_t of_window = lk_max(1, line->taps * line->channels);
  const int64_t most = lk_look_steps(conv->out[2], of_window, LK_LOOK_BYTES); /* windows */
  lk_integer_window call = *line;
  int64_t done = 0;
  call.from = taps;
  for (int64_t i = 0; i < conv->out[2]; i += call.count) {
    call.count = i >= all.first && i < end ? lk_min(end - i, most) : 1;
    if (lk_look_more(&done, call.count * of_window, LK_LOOK_BYTES)) return;
    call.c = (char *)line->c + i * size;
    find_taps(conv, lines, i, outside, taps);
    self->loops->depthwise(&call);
  }
}

static void run_lines(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_depthwise_integer *self = loop->params;
  const lk_conv_shape *conv = &self->conv;
  const lk_integer_operands of = lk_integer_operands_of(self->has, loop->pointers);
  const shared all = find_shared(self, of.of[LK_INTEGER_SCRATCH]);
  const int64_t channels = conv->groups, image = conv->in[0] * conv->in[1] * conv->in[2] * channels;
  const int64_t bytes = conv->out[2] * channels * (int64_t)lk_dtype_size(self->c_dtype);
  const uint8_t *lines[LK_DEPTHWISE_INTEGER_TAPS] = {NULL};
  lk_integer_window line = {.taps = 2 * pairs_of(conv),
                            .channels = channels,
                            .step = conv->stride[2] * channels,
                            .is_signed = self->a_is_signed,
                            .weights = all.weights,
                            .add = all.add,
                            .scale = all.scale,
                            .c_dtype = self->c_dtype,
                            .c_zero = lk_integer_zero_of_c(self->c_dtype, &of)};
  for (int64_t i = begin; i < end; i++) {
    const int64_t height = i % conv->out[1], depth = i / conv->out[1] % conv->out[0];
    const int64_t n = i / conv->out[1] / conv->out[0];
    const uint8_t *from = (const uint8_t *)of.of[LK_INTEGER_A] + n * image;
    lk_integer_find_lines(conv, from, depth, height, all.outside, lines);
    line.c = (char *)of.of[LK_INTEGER_C] + i * bytes;
    run_line(self, &line, lines, all.outside);
  }
}

lk_status lk_depthwise_integer_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_depthwise_integer *self = params;
  const lk_conv_shape *conv = &self->conv;
  const lk_integer_operands of = lk_integer_operands_of(self->has, pointers);
  const shared all = find_shared(self, of.of[LK_INTEGER_SCRATCH]);
  (void)error;
  fill_shared(self, &of, &all);
  const bool is_shared = lk_sharing_pays(lk_depthwise_integer_operations(conv));
  return lk_kernel_turns(conv->batch * conv->out[0] * conv->out[1], is_shared, run_lines, self,
                         pointers);
}
