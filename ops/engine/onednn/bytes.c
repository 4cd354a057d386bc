/* Products and convolutions of bytes as oneDNN has them. */
#include "ops/engine/onednn/bytes.h"

/* What weights of u8 are less as i8. */
enum { TURNED = 128, ALIGNMENT = 64 };

static bool is_byte(uint32_t dtype) {
  return dtype == LK_U8 || dtype == LK_I8;
}

bool lk_bytes_are(const lk_work *work) {
  return (work->kind == LK_WORK_PRODUCT || work->kind == LK_WORK_CONV) &&
         is_byte(work->tensors[LK_ROLE_SRC].dtype);
}

bool lk_bytes_end(const lk_work *work) {
  return lk_bytes_are(work) && work->tensors[LK_ROLE_DST].dtype != LK_F32;
}

bool lk_bytes_hides(const lk_work *work, uint32_t role) {
  return lk_bytes_are(work) &&
         (role == LK_ROLE_BIAS || (role >= LK_ROLE_SRC_ZERO && role <= LK_ROLE_DST_SCALE));
}

/* ---- what is taken ---- */

static bool is_number(const lk_work *work, uint32_t role) {
  return !lk_onednn_has(work, role) || lk_onednn_elements(&work->tensors[role]) == 1;
}

static int64_t channels_of(const lk_work *work) {
  if (work->kind == LK_WORK_CONV) return work->tensors[LK_ROLE_WEIGHTS].dims[0];
  const lk_strided weights = lk_matrices_of(work).weights;
  return weights.dims[weights.rank - 1];
}

/* One number, or one for each channel, which lie along the last dimension. */
static bool is_of_channels(const lk_work *work, uint32_t role, int64_t channels) {
  const lk_tensor_desc *desc = &work->tensors[role];
  if (is_number(work, role)) return true;
  return desc->dims[desc->rank - 1] == channels && lk_onednn_elements(desc) == channels;
}

/* Products that a sum is of. */
static int64_t products_of(const lk_work *work) {
  const lk_tensor_desc *weights = &work->tensors[LK_ROLE_WEIGHTS];
  if (work->kind == LK_WORK_CONV) return lk_onednn_elements(weights) / weights->dims[0];
  const lk_strided matrix = lk_matrices_of(work).weights;
  return matrix.dims[matrix.rank - 2];
}

/* The largest difference of a byte and its zero point. */
static int64_t largest_of(const lk_work *work, uint32_t role, uint32_t zero) {
  const bool is_whole = lk_onednn_has(work, zero) || work->tensors[role].dtype == LK_U8;
  return is_whole ? UINT8_MAX : -INT8_MIN;
}

/* Whether f32 has exactly the largest sum that there can be, and the bias' lowest bits with it. */
static bool has_small_sums(const lk_work *work) {
  enum { MOST = (1 << 24) - UINT8_MAX };
  return products_of(work) <= MOST / (largest_of(work, LK_ROLE_SRC, LK_ROLE_SRC_ZERO) *
                                      largest_of(work, LK_ROLE_WEIGHTS, LK_ROLE_WEIGHTS_ZERO));
}

/* Sums are stored as they are. oneDNN makes f32 of others, adds to them what there is besides, and
 * makes i32 of that. */
static bool stay_whole(const lk_work *work) {
  return work->kind == LK_WORK_PRODUCT && work->tensors[LK_ROLE_SRC].dtype == LK_U8 &&
         work->tensors[LK_ROLE_WEIGHTS].dtype == LK_I8 && !lk_onednn_has(work, LK_ROLE_SRC_ZERO) &&
         !lk_onednn_has(work, LK_ROLE_WEIGHTS_ZERO);
}

static const char *left_numbers(const lk_work *work) {
  const int64_t channels = channels_of(work);
  const bool is_scaled = work->tensors[LK_ROLE_DST].dtype != LK_I32;
  if (lk_onednn_has(work, LK_ROLE_SRC_SCALE) != is_scaled ||
      lk_onednn_has(work, LK_ROLE_WEIGHTS_SCALE) != is_scaled) {
    return "it has scales beside sums, or none beside others";
  }
  for (uint32_t role = LK_ROLE_SRC_SCALE; role <= LK_ROLE_DST_SCALE; role++) {
    if (lk_onednn_has(work, role) && work->tensors[role].dtype != LK_F32) {
      return "a scale is not of f32";
    }
  }
  if (!is_number(work, LK_ROLE_SRC_ZERO) || !is_number(work, LK_ROLE_SRC_SCALE)) {
    return "rows have zero points or scales of their own";
  }
  if (!is_number(work, LK_ROLE_WEIGHTS_ZERO)) return "columns have zero points of their own";
  if (!is_of_channels(work, LK_ROLE_WEIGHTS_SCALE, channels)) {
    return "matrices have scales of their own";
  }
  if (!is_scaled && !stay_whole(work) && !has_small_sums(work)) {
    return "sums of i32 go through f32, which may not have them exactly";
  }
  if (!lk_onednn_has(work, LK_ROLE_BIAS)) return NULL;
  if (!is_scaled) return "a bias is added to sums of i32";
  if (!is_of_channels(work, LK_ROLE_BIAS, channels)) return "the bias is not one of columns";
  return has_small_sums(work) ? NULL : "a bias is added to sums that f32 may not have exactly";
}

/* Of groups of one channel with more than 16 outputs, oneDNN 3.14.1 packs what makes up for zero
 * points to wrong places. */
static bool has_single_channels(const lk_work *work) {
  const int64_t *dims = work->tensors[LK_ROLE_WEIGHTS].dims;
  return work->kind == LK_WORK_CONV && work->groups > 1 && dims[1] == 1 && dims[0] > work->groups;
}

/* Whether a window lies in the padding along dimension `i`, all of it: between two taps there may be
 * all of src. oneDNN 3.14.1 makes such an element of memory that nobody has written. */
static bool lies_outside(const lk_work *work, uint32_t i) {
  const lk_window_shape *window = &work->window;
  const int64_t size = work->tensors[LK_ROLE_SRC].dims[2 + i], step = window->dilations[i];
  if ((window->out[i] - 1) * window->strides[i] - window->begin[i] >= size) return true;
  for (int64_t at = 0; at < window->out[i]; at++) {
    const int64_t before = window->begin[i] - at * window->strides[i]; /* of src */
    if (before <= 0) return false;
    const int64_t taps = (before + step - 1) / step;
    if (taps >= window->kernel[i] || taps * step - before >= size) return true;
  }
  return false;
}

static bool has_window_outside(const lk_work *work) {
  if (work->kind != LK_WORK_CONV) return false;
  for (uint32_t i = 0; i < work->window.rank; i++) {
    if (lies_outside(work, i)) return true;
  }
  return false;
}

static const char *left_weights(const lk_work *work) {
  const bool is_packed = (work->constants >> LK_ROLE_WEIGHTS & 1) != 0;
  const bool is_signed = work->tensors[LK_ROLE_WEIGHTS].dtype == LK_I8;
  if (work->kind == LK_WORK_CONV && lk_onednn_has(work, LK_ROLE_WEIGHTS_ZERO)) {
    return "weights of the convolution have a zero point that may not be 0";
  }
  if (has_window_outside(work)) return "a window lies in the padding alone";
  if (has_single_channels(work)) return "groups of one channel have several outputs";
  if (is_signed) return NULL;
  if (work->kind == LK_WORK_CONV) return "weights of the convolution are of u8";
  return is_packed ? NULL : "weights of u8 come with a run";
}

const char *lk_bytes_left(const lk_onednn *self, const lk_work *work) {
  const uint32_t dtype = work->tensors[LK_ROLE_DST].dtype;
  if (!lk_bytes_are(work) || !lk_onednn_has(work, LK_ROLE_WEIGHTS) ||
      !is_byte(work->tensors[LK_ROLE_WEIGHTS].dtype)) {
    return "it is of 8-bit numbers";
  }
  if (!self->has_vnni) return "the processor has no instructions for exact sums of bytes";
  if (dtype != LK_I32 && dtype != LK_F32 && !is_byte(dtype)) return "its sums are of another type";
  const char *why = left_weights(work);
  return why != NULL ? why : left_numbers(work);
}

/* ---- which numbers there are ---- */

lk_work lk_bytes_seen(const lk_work *work) {
  lk_work seen = *work;
  if (!lk_bytes_are(work)) return seen;
  if (lk_onednn_has(work, LK_ROLE_BIAS)) {
    seen.tensors[LK_ROLE_BIAS] =
        (lk_tensor_desc){.dtype = LK_F32, .rank = 1, .dims = {channels_of(work)}};
  }
  if (work->tensors[LK_ROLE_WEIGHTS].dtype == LK_U8) {
    seen.tensors[LK_ROLE_WEIGHTS].dtype = LK_I8;
    seen.roles |= 1U << LK_ROLE_WEIGHTS_ZERO;
  }
  return seen;
}

static void add(lk_bytes *self, lk_bytes_number number, int64_t count) {
  const uint64_t bytes = (uint64_t)count * sizeof(float);
  self->has[number] = true;
  self->counts[number] = count;
  self->offsets[number] = self->size;
  self->size += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

lk_bytes lk_bytes_of(const lk_work *work) {
  lk_bytes made = {.roles = work->roles,
                   .src_type = work->tensors[LK_ROLE_SRC].dtype,
                   .weights_type = work->tensors[LK_ROLE_WEIGHTS].dtype,
                   .dst_type = work->tensors[LK_ROLE_DST].dtype,
                   .factor = work->kind == LK_WORK_CONV ? 1 : work->factor};
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (lk_onednn_has(work, role)) made.pointers[role] = made.n_roles++;
  }
  if (!lk_bytes_are(work)) return made;
  if (lk_onednn_has(work, LK_ROLE_SRC_ZERO)) add(&made, LK_BYTES_SRC_ZERO, 1);
  if (lk_onednn_has(work, LK_ROLE_WEIGHTS_ZERO) || made.weights_type == LK_U8) {
    add(&made, LK_BYTES_WEIGHTS_ZERO, 1);
  }
  if (lk_onednn_has(work, LK_ROLE_BIAS)) {
    const int64_t channels = channels_of(work);
    made.bias_step = lk_onednn_elements(&work->tensors[LK_ROLE_BIAS]) == 1 ? 0 : 1;
    add(&made, LK_BYTES_LOW, channels);
    add(&made, LK_BYTES_HIGH, channels);
  }
  if (lk_onednn_has(work, LK_ROLE_WEIGHTS_SCALE)) {
    add(&made, LK_BYTES_SCALE, lk_onednn_elements(&work->tensors[LK_ROLE_WEIGHTS_SCALE]));
  }
  if (lk_onednn_has(work, LK_ROLE_DST_ZERO)) add(&made, LK_BYTES_DST_ZERO, 1);
  return made;
}

/* ---- what the primitive is told ---- */

lk_strided lk_bytes_attr(const lk_bytes *self, lk_bytes_number number) {
  return lk_strided_plain(number <= LK_BYTES_WEIGHTS_ZERO ? LK_I32 : LK_F32, 1,
                          &self->counts[number]);
}

/* The dimensions of weights along which channels go, as bits. */
static int channels_mask(const lk_work *work) {
  if (work->kind == LK_WORK_CONV) return work->groups > 1 ? 3 : 1;
  return 1 << (lk_matrices_of(work).weights.rank - 1);
}

dnnl_status_t lk_bytes_set_attr(const lk_work *work, dnnl_primitive_attr_t attr) {
  const lk_bytes of = lk_bytes_of(work);
  dnnl_status_t status = dnnl_success;
  if (of.has[LK_BYTES_SRC_ZERO]) {
    status = dnnl_primitive_attr_set_zero_points_mask(attr, DNNL_ARG_SRC, 0);
  }
  if (status == dnnl_success && of.has[LK_BYTES_WEIGHTS_ZERO]) {
    status = dnnl_primitive_attr_set_zero_points_mask(attr, DNNL_ARG_WEIGHTS, 0);
  }
  if (status == dnnl_success && of.has[LK_BYTES_SCALE] && lk_bytes_is_attr(&of, LK_BYTES_SCALE)) {
    const int mask = of.counts[LK_BYTES_SCALE] == 1 ? 0 : channels_mask(work);
    status = dnnl_primitive_attr_set_scales_mask(attr, DNNL_ARG_WEIGHTS, mask);
  }
  return status;
}

/* Where there is a bias: the rest of it, and the scale. */
uint32_t lk_bytes_before(const lk_work *work) {
  return lk_bytes_are(work) && lk_onednn_has(work, LK_ROLE_BIAS) ? 2 : 0;
}

/* The number as an operand of as many dimensions as dst. */
static lk_strided operand_of(const lk_work *work, int64_t count) {
  const bool is_product = work->kind == LK_WORK_PRODUCT;
  const int rank =
      is_product ? lk_matrices_of(work).dst.rank : (int)work->tensors[LK_ROLE_DST].rank;
  int64_t dims[LK_MAX_RANK];
  for (int i = 0; i < rank; i++) dims[i] = 1;
  dims[is_product ? rank - 1 : 1] = count;
  return lk_strided_plain(LK_F32, rank, dims);
}

lk_strided lk_bytes_bias(const lk_work *work) {
  return operand_of(work, channels_of(work));
}

static dnnl_status_t append(const lk_work *work, const lk_bytes *of, lk_bytes_number number,
                            dnnl_memory_desc_t *descs, dnnl_post_ops_t to) {
  const lk_strided operand = operand_of(work, of->counts[number]);
  const dnnl_status_t status = lk_strided_describe(&operand, &descs[number]);
  if (status != dnnl_success) return status;
  return dnnl_post_ops_append_binary(
      to, number == LK_BYTES_SCALE ? dnnl_binary_mul : dnnl_binary_add, descs[number]);
}

dnnl_status_t lk_bytes_append_before(const lk_work *work, dnnl_memory_desc_t *descs,
                                     dnnl_post_ops_t to) {
  const lk_bytes of = lk_bytes_of(work);
  if (lk_bytes_before(work) == 0) return dnnl_success;
  const dnnl_status_t status = append(work, &of, LK_BYTES_HIGH, descs, to);
  return status == dnnl_success ? append(work, &of, LK_BYTES_SCALE, descs, to) : status;
}

/* oneDNN would round behind the zero point: of an odd one, what lies in the middle of two numbers
 * would go the other way. And NaN would be the largest byte, which is the least one to native. */
dnnl_status_t lk_bytes_append_behind(const lk_work *work, dnnl_memory_desc_t *descs,
                                     dnnl_post_ops_t to) {
  const lk_bytes of = lk_bytes_of(work);
  dnnl_status_t status = dnnl_success;
  if (!is_byte(of.dst_type)) return status;
  if (of.has[LK_BYTES_DST_ZERO]) {
    status = dnnl_post_ops_append_eltwise(to, dnnl_eltwise_round, 0, 0);
    if (status == dnnl_success) status = append(work, &of, LK_BYTES_DST_ZERO, descs, to);
    if (status != dnnl_success) return status;
  }
  return of.dst_type == LK_I8
             ? dnnl_post_ops_append_eltwise(to, dnnl_eltwise_clip, INT8_MIN, INT8_MAX)
             : dnnl_post_ops_append_eltwise(to, dnnl_eltwise_clip, 0, UINT8_MAX);
}

int lk_bytes_arg(const lk_work *work, lk_bytes_number number) {
  const int before = (int)lk_bytes_before(work);
  switch (number) {
  case LK_BYTES_SRC_ZERO:
    return DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC;
  case LK_BYTES_WEIGHTS_ZERO:
    return DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_WEIGHTS;
  case LK_BYTES_LOW:
    return DNNL_ARG_BIAS;
  case LK_BYTES_HIGH:
    return DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;
  case LK_BYTES_SCALE:
    return before == 0 ? DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS
                       : DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1;
  default: /* behind the rounding */
    return DNNL_ARG_ATTR_MULTIPLE_POST_OP(before + 1) | DNNL_ARG_SRC_1;
  }
}

/* ---- runs ---- */

static const void *input_of(const lk_bytes *self, uint32_t role, void *const *pointers) {
  return (self->roles >> role & 1) != 0 ? pointers[self->pointers[role]] : NULL;
}

static int32_t zero_of(const lk_bytes *self, uint32_t role, uint32_t dtype, void *const *pointers) {
  const void *from = input_of(self, role, pointers);
  if (from == NULL) return 0;
  return dtype == LK_I8 ? *(const int8_t *)from : *(const uint8_t *)from;
}

static void *number_at(const lk_bytes *self, lk_bytes_number number, void *const *pointers) {
  return (unsigned char *)pointers[self->n_roles] + self->offsets[number];
}

static void make_bias(const lk_bytes *self, void *const *pointers) {
  const int32_t *from = input_of(self, LK_ROLE_BIAS, pointers);
  float *low = number_at(self, LK_BYTES_LOW, pointers);
  float *high = number_at(self, LK_BYTES_HIGH, pointers);
  for (int64_t i = 0; i < self->counts[LK_BYTES_LOW]; i++) {
    const int32_t whole = from[i * self->bias_step], bits = whole & UINT8_MAX;
    low[i] = (float)bits;
    high[i] = (float)(whole - bits);
  }
}

/* In the order of native's operations, each of which rounds. */
static void make_scale(const lk_bytes *self, void *const *pointers) {
  const float *of_dst = input_of(self, LK_ROLE_DST_SCALE, pointers);
  const float *of_weights = input_of(self, LK_ROLE_WEIGHTS_SCALE, pointers);
  const float *of_src = input_of(self, LK_ROLE_SRC_SCALE, pointers);
  const float first = *of_src * self->factor, last = of_dst != NULL ? *of_dst : 1;
  float *to = number_at(self, LK_BYTES_SCALE, pointers);
  for (int64_t i = 0; i < self->counts[LK_BYTES_SCALE]; i++) to[i] = first * of_weights[i] / last;
}

void lk_bytes_make(const lk_bytes *self, void *const *pointers) {
  if (self->has[LK_BYTES_SRC_ZERO]) {
    *(int32_t *)number_at(self, LK_BYTES_SRC_ZERO, pointers) =
        zero_of(self, LK_ROLE_SRC_ZERO, self->src_type, pointers);
  }
  if (self->has[LK_BYTES_WEIGHTS_ZERO]) {
    *(int32_t *)number_at(self, LK_BYTES_WEIGHTS_ZERO, pointers) =
        zero_of(self, LK_ROLE_WEIGHTS_ZERO, self->weights_type, pointers) -
        (self->weights_type == LK_U8 ? TURNED : 0);
  }
  if (self->has[LK_BYTES_LOW]) make_bias(self, pointers);
  if (self->has[LK_BYTES_SCALE]) make_scale(self, pointers);
  if (self->has[LK_BYTES_DST_ZERO]) {
    *(float *)number_at(self, LK_BYTES_DST_ZERO, pointers) =
        (float)zero_of(self, LK_ROLE_DST_ZERO, self->dst_type, pointers);
  }
}

void lk_bytes_turn(const void *from, void *to, size_t count) {
  const unsigned char *read = from;
  unsigned char *written = to;
  for (size_t i = 0; i < count; i++) written[i] = read[i] ^ TURNED;
}

/* ---- estimates ---- */

/* Rounded medians of works of 15 products and 36 convolutions, on one thread of an AMD EPYC with
 * AVX-512 VNNI. */
#define OF_SMALL_GROUPS 0.6                                       /* 0.28 to 0.71 */
#define OF_FEW_CHANNELS 0.6                                       /* 0.39 to 0.75 */
#define OF_OTHERS 1.2                                             /* 0.8 to 5 */
enum { LARGE_GROUPS_DST = 16 << 10, LARGE_IMAGE_DST = 64 << 10 }; /* elements */

static int64_t taps_of(const lk_work *work) {
  int64_t taps = 1;
  for (uint32_t i = 0; i < work->window.rank; i++) taps *= work->window.kernel[i];
  return taps;
}

double lk_bytes_estimate(const lk_work *work) {
  const int64_t *dims = work->tensors[LK_ROLE_WEIGHTS].dims;
  const int64_t elements = lk_onednn_elements(&work->tensors[LK_ROLE_DST]);
  if (work->kind != LK_WORK_CONV || taps_of(work) == 1) return OF_OTHERS;
  const int64_t outputs = dims[0] / work->groups;
  if (work->groups > 1) {
    const bool is_small = dims[1] >= 8 && outputs >= 8 && outputs <= 32;
    return is_small && elements >= LARGE_GROUPS_DST ? OF_SMALL_GROUPS : OF_OTHERS;
  }
  const bool has_few = dims[1] < 4 && outputs <= 32;
  return has_few && elements >= LARGE_IMAGE_DST ? OF_FEW_CHANNELS : OF_OTHERS;
}
