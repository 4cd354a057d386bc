/* Transposed convolutions as phases. */
#include "ops/kernel/conv/conv_transposed.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/team/look.h"
#include "ops/kernel/conv/conv.h"
#include "ops/kernel/conv/conv_phases.h"
#include "ops/kernel/conv/conv_rows.h"
#include "ops/kernel/sizes.h"

enum { MOST_FOLDED_COLUMNS = 256 };

/* ---- a phase ---- */

/* The phase as a convolution. */
static lk_conv convolution(const lk_conv_transposed *self, const lk_conv_phase *phase) {
  lk_conv conv = {.shape = phase->shape,
                  .isa = self->isa,
                  .product = {.low = self->low, .high = self->high},
                  .has_bias = self->has_bias,
                  .has_residual = self->has_residual,
                  .has_chain = self->has_chain,
                  .is_phase = true};
  lk_conv_plan(&conv);
  conv.product.c_rows = self->shape.stride[2];
  return conv;
}

/* ---- sizes ---- */

static lk_product product_of(const lk_conv_transposed *self, int64_t number) {
  const lk_conv_phase found = lk_conv_phase_find(&self->shape, number);
  return convolution(self, &found).product;
}

static bool can_fold(const lk_conv_transposed *self) {
  const lk_conv_shape *shape = &self->shape;
  return shape->groups == 1 && shape->stride[2] > 1 && shape->kernel[2] == shape->stride[2] &&
         shape->dilation[2] == 1 && shape->pad[2] == 0 &&
         shape->out[2] == shape->in[2] * shape->stride[2] &&
         shape->out_channels * shape->stride[2] <= MOST_FOLDED_COLUMNS && !self->has_chain_operands;
}

void lk_conv_transposed_plan(lk_conv_transposed *self) {
  lk_conv_shape *shape = &self->shape;
  self->fold = can_fold(self) ? shape->stride[2] : 1;
  if (self->fold > 1) {
    shape->out_channels *= self->fold;
    shape->kernel[2] = shape->stride[2] = 1;
    shape->out[2] = shape->in[2];
  }
  const lk_product product = product_of(self, 0);
  self->blocks = lk_max(1, lk_product_tasks(&product));
}

double lk_conv_transposed_operations(const lk_conv_transposed *self) {
  const lk_conv_shape *shape = &self->shape;
  return 2.0 * (double)(shape->batch * shape->in[0] * shape->in[1] * shape->in[2]) *
         (double)(shape->groups * shape->in_channels * shape->out_channels *
                  lk_conv_positions(shape));
}

void lk_conv_transposed_describe(const lk_conv_transposed *self, char *text, size_t capacity) {
  const lk_product product = product_of(self, 0);
  lk_product_describe(&product, text, capacity);
}

/* ---- weights ---- */

void lk_conv_transposed_layout(const lk_conv_transposed *self,
                               int64_t numbers[LK_CONV_TRANSPOSED_LAYOUT_NUMBERS]) {
  const lk_conv_shape *shape = &self->shape;
  *numbers++ = shape->groups;
  *numbers++ = shape->out_channels;
  *numbers++ = shape->in_channels;
  *numbers++ = product_of(self, 0).panel;
  *numbers++ = self->fold;
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    *numbers++ = shape->kernel[d];
    *numbers++ = shape->stride[d];
    *numbers++ = shape->dilation[d];
  }
}

int64_t lk_conv_transposed_packed_size(const lk_conv_transposed *self) {
  const lk_product product = product_of(self, 0);
  return self->shape.groups * product.panels * product.panel * lk_conv_positions(&self->shape) *
         self->shape.in_channels;
}

/* Of a tap: [k][panel] in panel `number` of `product`. */
static void move_tap(const lk_conv_transposed *self, const lk_product *product, int64_t number,
                     float *plain, float *to, bool packs) {
  const lk_conv_shape *shape = &self->shape;
  const int64_t all = lk_conv_positions(shape) * self->fold,
                channels = shape->out_channels / self->fold;
  for (int64_t i = 0; i < shape->in_channels * product->panel; i++) {
    if (lk_look_after(i, LK_LOOK_EACH)) return;
    const int64_t n = number * product->panel + i % product->panel;
    float *at = plain + (i / product->panel * channels + n % channels) * all + n / channels;
    if (packs) {
      to[i] = 0;
      if (n < shape->out_channels) memcpy(&to[i], at, sizeof *to); /* at any address */
    } else if (n < shape->out_channels) {
      *at = to[i];
    }
  }
}

/* Panel `number` of a phase: `plain` and `packed` are those of a group. */
static void move_panel(const lk_conv_transposed *self, const lk_conv_phase *phase,
                       const lk_product *product, int64_t number, float *plain, float *packed,
                       bool packs) {
  const int64_t taps = lk_conv_positions(&phase->shape);
  const int64_t tap = self->shape.in_channels * product->panel;
  float *to = packed + (phase->taps_before * product->panels + number * taps) * tap;
  for (int64_t t = 0, done = 0; t < taps; t++, to += tap) {
    if (lk_look_more(&done, tap, LK_LOOK_EACH)) return;
    const int64_t position = lk_conv_phase_position(&self->shape, phase, t) * self->fold;
    move_tap(self, product, number, plain + position, to, packs);
  }
}

/* The panels `begin` to `end` - 1 of all phases of all groups. */
static void move_panels(const lk_conv_transposed *self, int64_t begin, int64_t end, float *plain,
                        float *packed, bool packs) {
  const lk_conv_shape *shape = &self->shape;
  const lk_product product = product_of(self, 0);
  const int64_t phases = lk_conv_phases(shape);
  const int64_t of_plain = shape->in_channels * shape->out_channels * lk_conv_positions(shape);
  const int64_t of_packed = lk_conv_transposed_packed_size(self) / shape->groups;
  for (int64_t i = begin; i < end; i++) {
    const int64_t panel = i % product.panels, phase = i / product.panels % phases,
                  group = i / product.panels / phases;
    const lk_conv_phase found = lk_conv_phase_find(shape, phase);
    move_panel(self, &found, &product, panel, plain + group * of_plain, packed + group * of_packed,
               packs);
  }
}

static int64_t panels_of(const lk_conv_transposed *self) {
  return self->shape.groups * lk_conv_phases(&self->shape) * product_of(self, 0).panels;
}

static void pack_panels(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  move_panels(loop->params, begin, end, loop->pointers[0], loop->pointers[1], true);
}

void lk_conv_transposed_pack(const lk_conv_transposed *self, const float *weights, float *packed) {
  void *const pointers[] = {(void *)(uintptr_t)weights, packed};
  const int64_t elements = lk_conv_transposed_packed_size(self);
  (void)lk_kernel_turns(panels_of(self), lk_sharing_pays_for(elements, LK_SHARING_ELEMENT),
                        pack_panels, self, pointers);
}

void lk_conv_transposed_unpack(const lk_conv_transposed *self, const float *packed,
                               float *weights) {
  move_panels(self, 0, panels_of(self), weights, (float *)(uintptr_t)packed, false);
}

/* ---- running ---- */

/* The rows of a phase, which do not cross lines, and where they lie in the output. */
typedef struct phase_source {
  lk_conv_padded rows;
  const lk_conv_shape *shape;
  const int64_t *first; /* pixel of the output */
  float bias[MOST_FOLDED_COLUMNS];
} phase_source;

/* The bias once for each pixel of a line. */
static const float *repeat_bias(const lk_conv_transposed *self, const float *bias,
                                float *repeated) {
  if (bias == NULL || self->fold == 1) return bias;
  const int64_t channels = self->shape.out_channels / self->fold;
  for (int64_t n = 0; n < self->shape.out_channels; n++) repeated[n] = bias[n % channels];
  return repeated;
}

static void next(lk_product_source *source, int64_t left, int64_t tap, int64_t tap_end, int64_t k,
                 lk_product_tiles *out) {
  phase_source *self = (phase_source *)source;
  const lk_conv_cursor *cursor = &self->rows.rows.cursor;
  int64_t place = cursor->image;
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    place =
        place * self->shape->out[d] + self->first[d] + cursor->pixel[d] * self->shape->stride[d];
  }
  const int64_t of_line = self->rows.rows.conv->shape.out[2] - cursor->pixel[2];
  lk_conv_source_next(&self->rows, lk_min(left, of_line), tap, tap_end, k, out);
  out->place = place;
}

/* The blocks `begin` to `end` - 1 of a phase of a group. */
static void run_phase(const lk_conv_transposed *self, void *const *pointers, int64_t group,
                      int64_t number, int64_t begin, int64_t end) {
  const lk_conv_shape *shape = &self->shape;
  const lk_conv_phase found = lk_conv_phase_find(shape, number);
  const lk_conv conv = convolution(self, &found);
  const lk_product *product = &conv.product;
  const int64_t first_tap = found.taps_before + group * lk_conv_positions(shape);
  lk_product_operands operands =
      lk_conv_operands(&conv, pointers, group, self->has_chain ? (const void *)(self + 1) : NULL);
  operands.b = (const float *)pointers[1] +
               first_tap * shape->in_channels * product->panels * product->panel;
  phase_source source;
  source.shape = shape;
  operands.bias = repeat_bias(self, operands.bias, source.bias);
  lk_conv_source_init(&source.rows, &conv, (const float *)pointers[0] + group * shape->in_channels);
  source.rows.rows.source.next = next;
  source.first = found.first;
  const int64_t tasks = lk_product_tasks(product), last_task = tasks * end / self->blocks;
  for (int64_t i = tasks * begin / self->blocks; i < last_task; i++) {
    lk_product_run(product, &operands, &source.rows.rows.source, i);
  }
}

static void do_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_conv_transposed *self = loop->params;
  const int64_t phases = lk_conv_phases(&self->shape);
  for (int64_t i = begin, next_phase; i < end; i = next_phase) {
    const int64_t number = i / self->blocks, first = number * self->blocks;
    next_phase = lk_min(end, first + self->blocks);
    run_phase(self, loop->pointers, number / phases, number % phases, i - first,
              next_phase - first);
  }
}

lk_status lk_conv_transposed_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_conv_transposed *self = params;
  const int64_t turns = self->shape.groups * lk_conv_phases(&self->shape) * self->blocks;
  (void)error;
  return lk_kernel_turns(turns, lk_sharing_pays(lk_conv_transposed_operations(self)), do_turns,
                         self, pointers);
}
