/* Products and convolutions of bytes as oneDNN has them. */
#include "ops/engine/onednn/bytes.h"

/* Weights of u8 become i8 where this is subtracted, and so does their zero point. */
enum { SHIFT = 128, ALIGNMENT = 64 };

bool lk_work_is_of_bytes(const lk_work *work) {
  return (work->kind == LK_WORK_PRODUCT || work->kind == LK_WORK_CONV) &&
         lk_dtype_is_byte(work->tensors[LK_ROLE_SRC].dtype);
}

bool lk_bytes_leaves_post_ops(const lk_work *work) {
  return lk_work_is_of_bytes(work) && work->tensors[LK_ROLE_DST].dtype != LK_F32;
}

bool lk_bytes_hides(const lk_work *work, uint32_t role) {
  return lk_work_is_of_bytes(work) &&
         (role == LK_ROLE_BIAS || (role >= LK_ROLE_SRC_ZERO && role <= LK_ROLE_DST_SCALE));
}

/* ---- which numbers there are ---- */

int64_t lk_bytes_channels(const lk_work *work) {
  if (work->kind == LK_WORK_CONV) return work->tensors[LK_ROLE_WEIGHTS].dims[0];
  const lk_strided weights = lk_matrices_of(work).weights;
  return weights.dims[weights.rank - 1];
}

lk_work lk_bytes_seen(const lk_work *work) {
  lk_work seen = *work;
  if (!lk_work_is_of_bytes(work)) return seen;
  if (lk_onednn_has(work, LK_ROLE_BIAS)) {
    seen.tensors[LK_ROLE_BIAS] =
        (lk_tensor_desc){.dtype = LK_F32, .rank = 1, .dims = {lk_bytes_channels(work)}};
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
  if (!lk_work_is_of_bytes(work)) return made;
  if (lk_onednn_has(work, LK_ROLE_SRC_ZERO)) add(&made, LK_BYTES_SRC_ZERO, 1);
  if (lk_onednn_has(work, LK_ROLE_WEIGHTS_ZERO) || made.weights_type == LK_U8) {
    add(&made, LK_BYTES_WEIGHTS_ZERO, 1);
  }
  if (lk_onednn_has(work, LK_ROLE_BIAS)) {
    const int64_t channels = lk_bytes_channels(work);
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
  return lk_work_is_of_bytes(work) && lk_onednn_has(work, LK_ROLE_BIAS) ? 2 : 0;
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
  return operand_of(work, lk_bytes_channels(work));
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

/* Without these, oneDNN would add the zero point first and round then: where that is odd, ties
 * would go to the other neighbour. And it would make the largest byte of NaN, where native makes
 * the least. */
dnnl_status_t lk_bytes_append_behind(const lk_work *work, dnnl_memory_desc_t *descs,
                                     dnnl_post_ops_t to) {
  const lk_bytes of = lk_bytes_of(work);
  dnnl_status_t status = dnnl_success;
  if (!lk_dtype_is_byte(of.dst_type)) return status;
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

/* f32 has a sum of products and `low` exactly. So adding `high` rounds once, as native does when
 * its sum of i32 becomes f32. A sum that is too large for i32 wraps around in native alone: ONNX
 * does not say what it is. */
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
        (self->weights_type == LK_U8 ? SHIFT : 0);
  }
  if (self->has[LK_BYTES_LOW]) make_bias(self, pointers);
  if (self->has[LK_BYTES_SCALE]) make_scale(self, pointers);
  if (self->has[LK_BYTES_DST_ZERO]) {
    *(float *)number_at(self, LK_BYTES_DST_ZERO, pointers) =
        (float)zero_of(self, LK_ROLE_DST_ZERO, self->dst_type, pointers);
  }
}

void lk_bytes_shift(const void *from, void *to, size_t count) {
  const unsigned char *read = from;
  unsigned char *written = to;
  for (size_t i = 0; i < count; i++) written[i] = read[i] ^ SHIFT;
}
