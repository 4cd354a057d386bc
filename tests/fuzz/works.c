/* Works out of bytes. */
#include "tests/fuzz/works.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

uint64_t fuzz_take(fuzz_bytes *from, size_t bytes) {
  uint64_t value = 0;
  const size_t taken = bytes < from->size ? bytes : from->size;
  if (taken > 0) memcpy(&value, from->data, taken);
  from->data += taken;
  from->size -= taken;
  return value;
}

uint32_t fuzz_take_up_to(fuzz_bytes *from, uint32_t most) {
  return (uint32_t)fuzz_take(from, most > UINT8_MAX ? 4 : 1) % (most + 1);
}

static float take_float(fuzz_bytes *from) {
  const uint32_t bits = (uint32_t)fuzz_take(from, 4);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* ---- with any numbers ---- */

static void add_any_tensor(fuzz_bytes *from, lk_work *work, uint32_t role) {
  lk_tensor_desc *desc = &work->tensors[role];
  work->roles |= 1U << role;
  desc->dtype = (uint32_t)fuzz_take(from, 1);
  desc->layout = (uint32_t)fuzz_take(from, 1) == 0 ? LK_LAYOUT_ANY : (uint32_t)fuzz_take(from, 4);
  desc->rank = fuzz_take_up_to(from, LK_MAX_RANK);
  for (uint32_t i = 0; i < desc->rank; i++) desc->dims[i] = (int64_t)fuzz_take(from, 8);
}

static void take_spatial(fuzz_bytes *from, const lk_work *work, int64_t values[LK_MAX_SPATIAL]) {
  for (uint32_t i = 0; i < work->window.rank; i++) values[i] = (int64_t)fuzz_take(from, 8);
}

static void take_doubles(fuzz_bytes *from, double values[LK_MAX_RANK]) {
  for (uint32_t i = 0; i < LK_MAX_RANK; i++) {
    const uint64_t bits = fuzz_take(from, 8);
    memcpy(&values[i], &bits, sizeof bits);
  }
}

static void take_any_resize(fuzz_bytes *from, lk_work_resize *out) {
  out->interpolation = (uint32_t)fuzz_take(from, 4);
  out->coordinates = (uint32_t)fuzz_take(from, 4);
  out->nearest = (uint32_t)fuzz_take(from, 4);
  out->antialias = (uint32_t)fuzz_take(from, 4);
  out->exclude_outside = (uint32_t)fuzz_take(from, 4);
  out->rounded = (uint32_t)fuzz_take(from, 4);
  out->cubic = take_float(from);
  out->extrapolation = take_float(from);
  take_doubles(from, out->up);
  take_doubles(from, out->down);
  take_doubles(from, out->start);
  take_doubles(from, out->end);
}

static void take_any_recurrent(fuzz_bytes *from, lk_work_recurrent *out) {
  out->cell = (uint32_t)fuzz_take(from, 4);
  out->direction = (uint32_t)fuzz_take(from, 4);
  out->batch_first = (uint32_t)fuzz_take(from, 4);
  out->couples_forget = (uint32_t)fuzz_take(from, 4);
  out->clip = take_float(from);
  for (uint32_t d = 0; d < LK_WORK_DIRECTIONS; d++) {
    for (uint32_t i = 0; i < LK_WORK_ACTIVATIONS; i++) {
      out->activations[d][i] = (uint32_t)fuzz_take(from, 4);
      out->alphas[d][i] = take_float(from);
      out->betas[d][i] = take_float(from);
    }
  }
}

static void take_any_place(fuzz_bytes *from, lk_heads_place *out) {
  out->first = (int64_t)fuzz_take(from, 8);
  out->batch = (int64_t)fuzz_take(from, 8);
  out->head = (int64_t)fuzz_take(from, 8);
  out->row = (int64_t)fuzz_take(from, 8);
}

static void take_any_attention(fuzz_bytes *from, lk_work_attention *out) {
  out->batch = (int64_t)fuzz_take(from, 8);
  out->heads = (int64_t)fuzz_take(from, 8);
  out->kv_heads = (int64_t)fuzz_take(from, 8);
  out->queries = (int64_t)fuzz_take(from, 8);
  out->keys = (int64_t)fuzz_take(from, 8);
  out->size = (int64_t)fuzz_take(from, 8);
  out->v_size = (int64_t)fuzz_take(from, 8);
  take_any_place(from, &out->q);
  take_any_place(from, &out->k);
  take_any_place(from, &out->v);
  take_any_place(from, &out->y);
  out->past = (int64_t)fuzz_take(from, 8);
  out->left = (int64_t)fuzz_take(from, 8);
  out->right = (int64_t)fuzz_take(from, 8);
  out->has_past = (uint32_t)fuzz_take(from, 4);
  out->scale = take_float(from);
  out->softcap = take_float(from);
  out->sink = (uint32_t)fuzz_take(from, 4);
  out->stage = (uint32_t)fuzz_take(from, 4);
  out->hidden = take_float(from);
  out->mask_replaces = (uint32_t)fuzz_take(from, 4);
  out->empty_is_nan = (uint32_t)fuzz_take(from, 4);
  out->nan_is_zero = (uint32_t)fuzz_take(from, 4);
}

lk_work fuzz_any_work(fuzz_bytes *from) {
  lk_work work;
  memset(&work, 0, sizeof work);
  work.kind = fuzz_take_up_to(from, LK_WORK_KINDS - 1);
  const uint32_t roles = (uint32_t)fuzz_take(from, 4);
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if ((roles >> role & 1) != 0) add_any_tensor(from, &work, role);
  }
  work.constants = (uint32_t)fuzz_take(from, 4);
  work.n_post_ops = fuzz_take_up_to(from, LK_WORK_POST_OPS);
  for (uint32_t i = 0; i < work.n_post_ops; i++) {
    lk_work_post_op *post_op = &work.post_ops[i];
    const uint32_t operand = LK_ROLE_OPERAND + fuzz_take_up_to(from, LK_WORK_OPERANDS - 1);
    post_op->kind = (uint32_t)fuzz_take(from, 1);
    post_op->operand = (work.roles >> operand & 1) != 0 ? operand : 0;
    post_op->alpha = take_float(from);
    post_op->beta = take_float(from);
  }
  work.window.rank = fuzz_take_up_to(from, LK_MAX_SPATIAL);
  take_spatial(from, &work, work.window.kernel);
  take_spatial(from, &work, work.window.strides);
  take_spatial(from, &work, work.window.dilations);
  take_spatial(from, &work, work.window.begin);
  take_spatial(from, &work, work.window.out);
  take_spatial(from, &work, work.window.end);
  work.groups = (int64_t)fuzz_take(from, 8);
  work.lrn.size = (int64_t)fuzz_take(from, 8);
  work.lrn.alpha = take_float(from);
  work.lrn.beta = take_float(from);
  work.lrn.bias = take_float(from);
  work.axes = (uint32_t)fuzz_take(from, 4);
  work.pooling = (uint32_t)fuzz_take(from, 4);
  work.column_major = (uint32_t)fuzz_take(from, 4);
  work.is_centered = (uint32_t)fuzz_take(from, 4);
  work.epsilon = take_float(from);
  for (size_t i = 0; i < 2; i++) {
    work.orders[i].swaps = (uint16_t)fuzz_take(from, 2);
    work.orders[i].batch_inside = (uint16_t)fuzz_take(from, 2);
  }
  work.reducing = (uint32_t)fuzz_take(from, 4);
  work.factor = take_float(from);
  work.positive = (uint32_t)fuzz_take(from, 4);
  for (uint32_t i = 0; i < LK_MAX_RANK; i++) work.order[i] = (uint8_t)fuzz_take(from, 1);
  work.bits.block = (int64_t)fuzz_take(from, 8);
  work.bits.width = (uint32_t)fuzz_take(from, 4);
  work.bits.takes_bytes = (uint32_t)fuzz_take(from, 4);
  take_any_recurrent(from, &work.recurrent);
  take_any_resize(from, &work.resize);
  take_any_attention(from, &work.attention);
  return work;
}

/* ---- that fit ---- */

/* Mostly small, seldom as large as sizes may be. */
static int64_t take_size(fuzz_bytes *from) {
  const uint32_t how = fuzz_take_up_to(from, 255);
  if (how < 200) return 1 + how % 20;
  if (how < 240) return 1 + (int64_t)fuzz_take_up_to(from, 1000);
  return (int64_t)1 << (how - 240) * 2 | (int64_t)fuzz_take_up_to(from, 7);
}

/* Most are of f32. */
static lk_tensor_desc take_desc(fuzz_bytes *from, uint32_t rank, const int64_t *dims) {
  static const lk_dtype others[] = {LK_F16, LK_BF16, LK_F64, LK_U8, LK_I8, LK_I32, LK_I64};
  const uint32_t how = fuzz_take_up_to(from, 255);
  lk_tensor_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.dtype = how < 240 ? LK_F32 : others[how % (sizeof others / sizeof *others)];
  desc.rank = rank;
  desc.layout = how % 3 == 1 && rank >= 3   ? LK_LAYOUT_CHANNELS_LAST
                : how % 7 == 2 && rank == 4 ? LK_LAYOUT_HEADS_INSIDE
                                            : LK_LAYOUT_PLAIN;
  memcpy(desc.dims, dims, rank * sizeof *dims);
  return desc;
}

static void add(lk_work *work, uint32_t role, const lk_tensor_desc *desc) {
  work->roles |= 1U << role;
  work->tensors[role] = *desc;
}

static void add_dims(fuzz_bytes *from, lk_work *work, uint32_t role, uint32_t rank,
                     const int64_t *dims) {
  const lk_tensor_desc desc = take_desc(from, rank, dims);
  add(work, role, &desc);
}

static bool take_bool(fuzz_bytes *from) {
  return fuzz_take_up_to(from, 1) != 0;
}

/* Of so many spatial dimensions of src; gives those of dst. */
static void take_window(fuzz_bytes *from, lk_work *work, uint32_t rank, const int64_t *in,
                        int64_t *out) {
  const bool is_transposed = work->kind == LK_WORK_CONV_TRANSPOSED;
  lk_window_shape *window = &work->window;
  window->rank = rank;
  for (uint32_t i = 0; i < rank; i++) {
    window->kernel[i] = take_size(from) % INT32_MAX + 1;
    window->strides[i] = take_bool(from) ? 1 : take_size(from) % INT32_MAX + 1;
    window->dilations[i] =
        take_bool(from) ? 1 : take_size(from) % (INT32_MAX / window->kernel[i]) + 1;
    window->begin[i] = take_bool(from) ? 0 : take_size(from) % INT32_MAX;
    window->end[i] = take_bool(from) ? 0 : take_size(from) % INT32_MAX;
    const int64_t reach = (window->kernel[i] - 1) * window->dilations[i] + 1;
    const int64_t room = in[i] + window->begin[i] + window->end[i] - reach;
    const int64_t full = (in[i] - 1) * window->strides[i] + reach;
    window->out[i] = is_transposed ? full - window->begin[i] - window->end[i]
                     : room >= 0   ? room / window->strides[i] + 1
                                   : 1;
    /* too small, which an operator refuses: as large as it has to be */
    if (!is_transposed && room < 0) window->end[i] += -room;
    if (window->out[i] < 1) {
      window->begin[i] = window->end[i] = 0;
      window->out[i] = full;
    }
    if (work->kind == LK_WORK_POOL && room >= 0 && room % window->strides[i] != 0 &&
        take_bool(from)) {
      window->out[i]++; /* the last one lies partly beyond the padding */
    }
    out[i] = window->out[i];
  }
}

static void make_conv(fuzz_bytes *from, lk_work *work) {
  const uint32_t rank = 1 + fuzz_take_up_to(from, LK_MAX_SPATIAL - 1);
  const int64_t groups = take_bool(from) ? 1 : take_size(from);
  const int64_t in = groups * take_size(from), of_group = take_size(from), out = groups * of_group;
  int64_t x[LK_MAX_RANK] = {take_size(from), in}, y[LK_MAX_RANK] = {x[0], out};
  int64_t w[LK_MAX_RANK] = {out, in / groups};
  work->groups = groups;
  if (work->kind == LK_WORK_CONV_TRANSPOSED) {
    w[0] = in;
    w[1] = of_group;
  }
  for (uint32_t i = 0; i < rank; i++) x[2 + i] = take_size(from);
  take_window(from, work, rank, x + 2, y + 2);
  memcpy(w + 2, work->window.kernel, rank * sizeof *w);
  add_dims(from, work, LK_ROLE_SRC, rank + 2, x);
  add_dims(from, work, LK_ROLE_WEIGHTS, rank + 2, w);
  work->tensors[LK_ROLE_WEIGHTS].layout = LK_LAYOUT_PLAIN;
  if (take_bool(from)) add_dims(from, work, LK_ROLE_BIAS, 1, &out);
  add_dims(from, work, LK_ROLE_DST, rank + 2, y);
}

static uint32_t take_dims(fuzz_bytes *from, uint32_t least, int64_t dims[LK_MAX_RANK]) {
  const uint32_t rank = least + fuzz_take_up_to(from, LK_MAX_RANK - least);
  for (uint32_t i = 0; i < rank; i++) dims[i] = take_size(from);
  return rank;
}

/* From the order of numpy.matmul to that of memory. */
static void put_in_memory(int64_t *dims, uint32_t rank, lk_matmul_order order) {
  if (order.swaps != 0) {
    const int64_t kept = dims[rank - 1];
    dims[rank - 1] = dims[rank - 2];
    dims[rank - 2] = kept;
  }
  if (order.batch_inside != 0) {
    const int64_t rows = dims[rank - 2];
    memmove(dims + 1, dims, (rank - 2) * sizeof *dims);
    dims[0] = rows;
  }
}

static void take_order(fuzz_bytes *from, uint32_t rank, lk_matmul_order *out) {
  if (rank >= 2) out->swaps = (uint16_t)take_bool(from);
  if (rank >= 3) out->batch_inside = (uint16_t)take_bool(from);
}

static void add_number(lk_work *work, uint32_t role, lk_dtype dtype) {
  const lk_tensor_desc desc = {.dtype = dtype};
  add(work, role, &desc);
}

static lk_dtype take_byte_type(fuzz_bytes *from) {
  return take_bool(from) ? LK_U8 : LK_I8;
}

/* A product of bytes, with what they may stand for. */
static void make_bytes(fuzz_bytes *from, lk_work *work) {
  const lk_dtype a = take_byte_type(from), b = take_byte_type(from), y = take_byte_type(from);
  lk_tensor_desc *dst = &work->tensors[LK_ROLE_DST];
  work->tensors[LK_ROLE_SRC].dtype = a;
  work->tensors[LK_ROLE_WEIGHTS].dtype = b;
  dst->dtype = LK_I32;
  if (take_bool(from)) add_number(work, LK_ROLE_SRC_ZERO, a);
  if (take_bool(from)) add_number(work, LK_ROLE_WEIGHTS_ZERO, b);
  if (take_bool(from)) return;
  dst->dtype = LK_F32;
  work->factor = take_float(from);
  add_number(work, LK_ROLE_SRC_SCALE, LK_F32);
  add_number(work, LK_ROLE_WEIGHTS_SCALE, LK_F32);
  if (dst->rank > 0 && take_bool(from)) {
    add_dims(from, work, LK_ROLE_BIAS, 1, &dst->dims[dst->rank - 1]);
    work->tensors[LK_ROLE_BIAS].dtype = LK_I32;
  }
  if (take_bool(from)) return;
  dst->dtype = y;
  add_number(work, LK_ROLE_DST_SCALE, LK_F32);
  add_number(work, LK_ROLE_DST_ZERO, y);
}

/* Of real numbers, or of bytes. */
static void make_any_conv(fuzz_bytes *from, lk_work *work) {
  make_conv(from, work);
  if (fuzz_take_up_to(from, 7) != 1) return;
  const lk_dtype x = take_byte_type(from), w = take_byte_type(from), y = take_byte_type(from);
  lk_tensor_desc *of = work->tensors;
  of[LK_ROLE_SRC].dtype = x;
  of[LK_ROLE_WEIGHTS].dtype = w;
  of[LK_ROLE_DST].dtype = LK_I32;
  if ((work->roles >> LK_ROLE_BIAS & 1) != 0) of[LK_ROLE_BIAS].dtype = LK_I32;
  if (take_bool(from)) add_number(work, LK_ROLE_SRC_ZERO, x);
  if (take_bool(from)) add_number(work, LK_ROLE_WEIGHTS_ZERO, w);
  if (take_bool(from)) return;
  of[LK_ROLE_DST].dtype = y;
  add_number(work, LK_ROLE_SRC_SCALE, LK_F32);
  add_dims(from, work, LK_ROLE_WEIGHTS_SCALE, 1, &of[LK_ROLE_WEIGHTS].dims[0]);
  add_number(work, LK_ROLE_DST_SCALE, LK_F32);
  if (take_bool(from)) add_number(work, LK_ROLE_DST_ZERO, y);
}

static void make_product(fuzz_bytes *from, lk_work *work) {
  const uint32_t a_rank = 1 + fuzz_take_up_to(from, 5), b_rank = 1 + fuzz_take_up_to(from, 5);
  const uint32_t rank = a_rank > b_rank ? a_rank : b_rank;
  const int64_t m = take_size(from), k = take_size(from), n = take_size(from);
  int64_t a[LK_MAX_RANK], b[LK_MAX_RANK], y[LK_MAX_RANK];
  uint32_t n_y = 0;
  for (uint32_t i = 0; i + 2 < rank; i++) {
    const int64_t size = take_size(from);
    const bool a_has = a_rank > 2 && i + a_rank >= rank, b_has = b_rank > 2 && i + b_rank >= rank;
    const bool a_is_1 = a_has && take_bool(from), b_is_1 = b_has && take_bool(from);
    if (a_has) a[i + a_rank - rank] = a_is_1 ? 1 : size;
    if (b_has) b[i + b_rank - rank] = b_is_1 ? 1 : size;
    y[n_y++] = (a_has && !a_is_1) || (b_has && !b_is_1) ? size : 1;
  }
  a[a_rank - 1] = k;
  if (a_rank > 1) a[a_rank - 2] = y[n_y++] = m;
  b[b_rank > 1 ? b_rank - 2 : 0] = k;
  if (b_rank > 1) b[b_rank - 1] = y[n_y++] = n;
  take_order(from, a_rank, &work->orders[0]);
  take_order(from, b_rank, &work->orders[1]);
  if (a_rank > 1) put_in_memory(a, a_rank, work->orders[0]);
  if (b_rank > 1) put_in_memory(b, b_rank, work->orders[1]);
  add_dims(from, work, LK_ROLE_SRC, a_rank, a);
  add_dims(from, work, LK_ROLE_WEIGHTS, b_rank, b);
  add_dims(from, work, LK_ROLE_DST, n_y, y);
  work->tensors[LK_ROLE_DST].layout = LK_LAYOUT_PLAIN;
  for (uint32_t role = LK_ROLE_SRC; role <= LK_ROLE_WEIGHTS; role++) {
    lk_tensor_desc *desc = &work->tensors[role];
    const lk_matmul_order order = work->orders[role];
    const bool is_ordered = order.swaps != 0 || order.batch_inside != 0;
    if (desc->layout == LK_LAYOUT_CHANNELS_LAST || is_ordered) desc->layout = LK_LAYOUT_PLAIN;
  }
  if (fuzz_take_up_to(from, 7) == 1) make_bytes(from, work);
}

static void make_product_bits(fuzz_bytes *from, lk_work *work) {
  int64_t x[LK_MAX_RANK], y[LK_MAX_RANK];
  const uint32_t rank = take_dims(from, 1, x);
  memcpy(y, x, rank * sizeof *y);
  y[rank - 1] = take_size(from);
  work->bits.block = (int64_t)16 << fuzz_take_up_to(from, 4);
  work->bits.width = 2U << fuzz_take_up_to(from, 2);
  work->bits.takes_bytes = (uint32_t)take_bool(from);
  const int64_t blocks = (x[rank - 1] + work->bits.block - 1) / work->bits.block;
  const int64_t w[] = {y[rank - 1], blocks, work->bits.block * work->bits.width / 8};
  add_dims(from, work, LK_ROLE_SRC, rank, x);
  add_dims(from, work, LK_ROLE_DST, rank, y);
  add_dims(from, work, LK_ROLE_WEIGHTS, 3, w);
  add_dims(from, work, LK_ROLE_WEIGHTS_SCALE, 2, w);
  if (take_bool(from)) add_dims(from, work, LK_ROLE_WEIGHTS_ZERO, 2, w); /* of src's type */
  work->tensors[LK_ROLE_WEIGHTS].dtype = LK_U8;
  work->tensors[LK_ROLE_WEIGHTS].layout = LK_LAYOUT_PLAIN;
}

/* The same size. */
static uint32_t make_both(fuzz_bytes *from, lk_work *work, uint32_t least) {
  int64_t dims[LK_MAX_RANK];
  const uint32_t rank = take_dims(from, least, dims);
  add_dims(from, work, LK_ROLE_SRC, rank, dims);
  add_dims(from, work, LK_ROLE_DST, rank, dims);
  return rank;
}

static void make_softmax(fuzz_bytes *from, lk_work *work) {
  const uint32_t rank = make_both(from, work, 1), first = fuzz_take_up_to(from, rank - 1);
  const uint32_t count = 1 + fuzz_take_up_to(from, rank - 1 - first);
  work->axes = ((1U << count) - 1) << first;
}

static void make_pool(fuzz_bytes *from, lk_work *work) {
  const uint32_t rank = 1 + fuzz_take_up_to(from, LK_MAX_SPATIAL - 1);
  int64_t x[LK_MAX_RANK] = {take_size(from), take_size(from)}, y[LK_MAX_RANK] = {x[0], x[1]};
  for (uint32_t i = 0; i < rank; i++) x[2 + i] = take_size(from);
  work->pooling = fuzz_take_up_to(from, LK_POOLING_TOTAL);
  take_window(from, work, rank, x + 2, y + 2);
  add_dims(from, work, LK_ROLE_SRC, rank + 2, x);
  add_dims(from, work, LK_ROLE_DST, rank + 2, y);
  if (work->pooling == LK_POOLING_MAX && take_bool(from)) {
    add_dims(from, work, LK_ROLE_INDICES, rank + 2, y);
    work->tensors[LK_ROLE_INDICES].dtype = LK_I64;
    work->column_major = (uint32_t)take_bool(from);
  }
}

static void make_lrn(fuzz_bytes *from, lk_work *work) {
  (void)make_both(from, work, 3);
  work->lrn.size = take_size(from);
  work->lrn.alpha = take_float(from);
  work->lrn.beta = take_float(from);
  work->lrn.bias = take_float(from);
}

/* That broadcasts to the dimensions [rank]. */
static void add_broadcast(fuzz_bytes *from, lk_work *work, uint32_t role, uint32_t rank,
                          const int64_t *dims) {
  int64_t of[LK_MAX_RANK];
  const uint32_t left = fuzz_take_up_to(from, rank);
  for (uint32_t i = left; i < rank; i++) of[i - left] = take_bool(from) ? dims[i] : 1;
  add_dims(from, work, role, rank - left, of);
  work->tensors[role].layout = LK_LAYOUT_PLAIN;
}

static void make_layer_norm(fuzz_bytes *from, lk_work *work) {
  const uint32_t rank = make_both(from, work, 1), first = fuzz_take_up_to(from, rank - 1);
  const int64_t *dims = work->tensors[LK_ROLE_SRC].dims;
  work->axes = ((1U << (rank - first)) - 1) << first;
  work->is_centered = (uint32_t)take_bool(from);
  work->epsilon = take_float(from);
  if (take_bool(from)) {
    add_dims(from, work, LK_ROLE_SCALE, rank - first, dims + first);
    if (take_bool(from)) add_dims(from, work, LK_ROLE_SHIFT, rank - first, dims + first);
  } else {
    if (take_bool(from)) add_broadcast(from, work, LK_ROLE_SCALE, rank, dims);
    if (take_bool(from)) add_broadcast(from, work, LK_ROLE_SHIFT, rank, dims);
  }
  int64_t lines[LK_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) lines[i] = i < first ? dims[i] : 1;
  if (take_bool(from)) add_dims(from, work, LK_ROLE_MEAN, rank, lines);
  if (take_bool(from)) add_dims(from, work, LK_ROLE_DEVIATION, rank, lines);
}

static void make_group_norm(fuzz_bytes *from, lk_work *work) {
  int64_t dims[LK_MAX_RANK];
  const uint32_t rank = take_dims(from, 3, dims);
  work->groups = take_bool(from) ? 1 : take_size(from);
  dims[1] *= work->groups;
  const int64_t scales = take_bool(from) ? dims[1] : work->groups;
  add_dims(from, work, LK_ROLE_SRC, rank, dims);
  add_dims(from, work, LK_ROLE_DST, rank, dims);
  work->is_centered = (uint32_t)take_bool(from);
  work->epsilon = take_float(from);
  if (take_bool(from)) add_dims(from, work, LK_ROLE_SCALE, 1, &scales);
  if (take_bool(from)) add_dims(from, work, LK_ROLE_SHIFT, 1, &scales);
}

/* Mostly of whole vectors of channels. */
static void make_batch_norm(fuzz_bytes *from, lk_work *work) {
  static const lk_role given[] = {LK_ROLE_SCALE, LK_ROLE_SHIFT, LK_ROLE_MEAN, LK_ROLE_VARIANCE};
  int64_t dims[LK_MAX_RANK];
  const uint32_t rank = take_dims(from, 2, dims);
  if (fuzz_take_up_to(from, 3) > 0 && dims[1] < 1000) dims[1] *= 16;
  add_dims(from, work, LK_ROLE_SRC, rank, dims);
  add_dims(from, work, LK_ROLE_DST, rank, dims);
  work->epsilon = take_float(from);
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    add_dims(from, work, given[i], 1, &dims[1]);
  }
}

static void make_element(fuzz_bytes *from, lk_work *work) {
  int64_t dims[LK_MAX_RANK];
  const uint32_t rank = take_dims(from, 0, dims);
  add_dims(from, work, LK_ROLE_DST, rank, dims);
  if (take_bool(from)) {
    add_dims(from, work, LK_ROLE_SRC, rank, dims);
  } else {
    add_broadcast(from, work, LK_ROLE_SRC, rank, dims);
  }
}

static void make_reduce(fuzz_bytes *from, lk_work *work) {
  int64_t dims[LK_MAX_RANK], left[LK_MAX_RANK];
  const uint32_t rank = take_dims(from, 1, dims);
  const bool keeps = take_bool(from);
  uint32_t n_left = 0;
  work->axes = fuzz_take_up_to(from, (1U << rank) - 1);
  work->reducing = fuzz_take_up_to(from, LK_REDUCING_LOG_SUM_EXP);
  for (uint32_t i = 0; i < rank; i++) {
    const bool is_reduced = (work->axes >> i & 1) != 0;
    if (!is_reduced || keeps) left[n_left++] = is_reduced ? 1 : dims[i];
  }
  add_dims(from, work, LK_ROLE_SRC, rank, dims);
  add_dims(from, work, LK_ROLE_DST, n_left, left);
}

static void make_resize(fuzz_bytes *from, lk_work *work) {
  int64_t in[LK_MAX_RANK], out[LK_MAX_RANK];
  lk_work_resize *resize = &work->resize;
  const uint32_t rank = take_dims(from, 1, in);
  resize->interpolation = fuzz_take_up_to(from, LK_INTERPOLATION_CUBIC);
  resize->coordinates = fuzz_take_up_to(from, LK_COORDINATES_TF_HALF_PIXEL_FOR_NN);
  resize->nearest = fuzz_take_up_to(from, LK_NEAREST_FLOOR_UP_CEIL_DOWN);
  resize->antialias = (uint32_t)take_bool(from);
  resize->exclude_outside = (uint32_t)take_bool(from);
  resize->cubic = take_float(from);
  resize->extrapolation = take_float(from);
  for (uint32_t i = 0; i < rank; i++) {
    const uint32_t factor = fuzz_take_up_to(from, 5);
    out[i] = factor == 0 ? take_size(from) : in[i] * factor;
    resize->up[i] = (double)out[i];
    resize->down[i] = (double)in[i];
    resize->end[i] = 1;
    if (take_bool(from)) continue;
    resize->up[i] += 0.25; /* a scale that gives this size, too */
    resize->rounded |= 1U << i;
  }
  add_dims(from, work, LK_ROLE_SRC, rank, in);
  add_dims(from, work, LK_ROLE_DST, rank, out);
}

/* ONNX's defaults. */
static void be_usual(lk_work_recurrent *layer) {
  static const uint32_t functions[] = {LK_ACTIVATION_SIGMOID, LK_ACTIVATION_TANH,
                                       LK_ACTIVATION_TANH};
  layer->couples_forget = 0;
  layer->clip = INFINITY;
  for (uint32_t d = 0; d < LK_WORK_DIRECTIONS; d++) {
    memcpy(layer->activations[d], functions, sizeof functions);
  }
}

static void take_recurrent(fuzz_bytes *from, lk_work_recurrent *layer) {
  layer->cell = fuzz_take_up_to(from, LK_CELL_LSTM);
  layer->direction = fuzz_take_up_to(from, LK_DIRECTION_BOTH);
  layer->batch_first = (uint32_t)take_bool(from);
  layer->couples_forget = (uint32_t)take_bool(from);
  layer->clip = take_float(from);
  for (uint32_t d = 0; d < LK_WORK_DIRECTIONS; d++) {
    for (uint32_t i = 0; i < LK_WORK_ACTIVATIONS; i++) {
      layer->activations[d][i] = fuzz_take_up_to(from, LK_ACTIVATION_SOFTPLUS);
      layer->alphas[d][i] = take_float(from);
      layer->betas[d][i] = take_float(from);
    }
  }
  if (take_bool(from)) be_usual(layer);
}

/* Of each direction, or of each of its columns. */
static void add_quantizer(fuzz_bytes *from, lk_work *work, uint32_t role, uint32_t dtype,
                          const int64_t dims[2]) {
  add_dims(from, work, role, take_bool(from) ? 1 : 2, dims);
  work->tensors[role].dtype = dtype;
}

/* Makes the layer one of bytes. */
static void add_quantizers(fuzz_bytes *from, lk_work *work, int64_t directions, int64_t columns) {
  const int64_t dims[] = {directions, columns};
  const uint32_t dtype = take_bool(from) ? LK_U8 : LK_I8;
  work->tensors[LK_ROLE_WEIGHTS].dtype = dtype;
  work->tensors[LK_ROLE_RECURRENT_WEIGHTS].dtype = dtype;
  add_quantizer(from, work, LK_ROLE_WEIGHTS_SCALE, LK_F32, dims);
  add_quantizer(from, work, LK_ROLE_WEIGHTS_ZERO, dtype, dims);
  add_quantizer(from, work, LK_ROLE_RECURRENT_SCALE, LK_F32, dims);
  add_quantizer(from, work, LK_ROLE_RECURRENT_ZERO, dtype, dims);
}

static void swap(bool swaps, int64_t *a, int64_t *b) {
  const int64_t kept = *a;
  if (!swaps) return;
  *a = *b;
  *b = kept;
}

static void make_recurrent(fuzz_bytes *from, lk_work *work) {
  static const int64_t gates[] = {1, 3, 3, 4}; /* by lk_cell */
  take_recurrent(from, &work->recurrent);
  const bool is_first = work->recurrent.batch_first != 0, is_of_bytes = take_bool(from);
  const int64_t directions = work->recurrent.direction == LK_DIRECTION_BOTH ? 2 : 1;
  const int64_t length = take_size(from), batch = take_size(from);
  const int64_t width = take_size(from), hidden = take_size(from);
  const int64_t columns = gates[work->recurrent.cell] * hidden;
  const int64_t bias[] = {directions, 2 * columns}, peepholes[] = {directions, 3 * hidden};
  const int64_t y[2][4] = {{length, directions, batch, hidden},
                           {batch, length, directions, hidden}};
  int64_t x[] = {length, batch, width}, state[] = {directions, batch, hidden};
  int64_t w[] = {directions, columns, width}, r[] = {directions, columns, hidden};
  swap(is_first, &x[0], &x[1]);
  swap(is_first, &state[0], &state[1]);
  swap(is_of_bytes, &w[1], &w[2]);
  swap(is_of_bytes, &r[1], &r[2]);
  add_dims(from, work, LK_ROLE_SRC, 3, x);
  add_dims(from, work, LK_ROLE_WEIGHTS, 3, w);
  add_dims(from, work, LK_ROLE_RECURRENT_WEIGHTS, 3, r);
  add_dims(from, work, LK_ROLE_DST, 4, y[is_first]);
  if (take_bool(from)) add_dims(from, work, LK_ROLE_BIAS, 2, bias);
  if (take_bool(from)) add_dims(from, work, LK_ROLE_LENGTHS, 1, &batch);
  if (take_bool(from)) add_dims(from, work, LK_ROLE_STATE, 3, state);
  if (take_bool(from)) add_dims(from, work, LK_ROLE_DST_STATE, 3, state);
  if (is_of_bytes) add_quantizers(from, work, directions, columns);
  if (work->recurrent.cell != LK_CELL_LSTM) return;
  if (take_bool(from)) add_dims(from, work, LK_ROLE_CELL, 3, state);
  if (take_bool(from)) add_dims(from, work, LK_ROLE_PEEPHOLES, 2, peepholes);
  if (take_bool(from)) add_dims(from, work, LK_ROLE_DST_CELL, 3, state);
}

/* Heads in rows, or rows in heads. */
static void add_heads(fuzz_bytes *from, lk_work *work, uint32_t role, const int64_t dims[4],
                      lk_heads_place *out) {
  const int64_t inside[] = {dims[0], dims[2], dims[1] * dims[3]};
  const bool is_inside = take_bool(from);
  add_dims(from, work, role, is_inside ? 3 : 4, is_inside ? inside : dims);
  work->tensors[role].layout = LK_LAYOUT_PLAIN;
  out->batch = dims[1] * dims[2] * dims[3];
  out->head = is_inside ? dims[3] : dims[2] * dims[3];
  out->row = is_inside ? dims[1] * dims[3] : dims[3];
}

static void add_mask(fuzz_bytes *from, lk_work *work, uint32_t role, const int64_t scores[4]) {
  const int64_t dims[] = {take_bool(from) ? 1 : scores[0], take_bool(from) ? 1 : scores[1],
                          take_bool(from) ? 1 : scores[2], scores[3]};
  add_dims(from, work, role, 4, dims);
  if (take_bool(from)) work->tensors[role].dtype = LK_BOOL;
}

/* Of which the product of four is a number. */
static int64_t take_head_size(fuzz_bytes *from) {
  return take_size(from) % (1 << 14) + 1;
}

static void make_attention(fuzz_bytes *from, lk_work *work) {
  lk_work_attention *of = &work->attention;
  of->batch = take_head_size(from);
  of->kv_heads = take_head_size(from);
  of->heads = of->kv_heads * (take_bool(from) ? 1 : take_head_size(from));
  of->queries = take_head_size(from);
  of->keys = take_head_size(from);
  of->size = take_head_size(from);
  of->v_size = take_bool(from) ? of->size : take_head_size(from);
  of->past = fuzz_take_up_to(from, 7);
  of->left = (int64_t)fuzz_take_up_to(from, 7) - 1;
  of->right = (int64_t)fuzz_take_up_to(from, 7) - 1;
  of->has_past = (uint32_t)take_bool(from);
  of->scale = take_float(from);
  of->softcap = take_bool(from) ? 0 : take_float(from);
  of->sink = fuzz_take_up_to(from, LK_SINK_OF_HEADS);
  const int64_t q[] = {of->batch, of->heads, of->queries, of->size};
  const int64_t k[] = {of->batch, of->kv_heads, of->keys, of->size};
  const int64_t v[] = {of->batch, of->kv_heads, of->keys, of->v_size};
  const int64_t y[] = {of->batch, of->heads, of->queries, of->v_size};
  const int64_t scores[] = {of->batch, of->heads, of->queries, of->keys};
  add_heads(from, work, LK_ROLE_SRC, q, &of->q);
  add_heads(from, work, LK_ROLE_KEYS, k, &of->k);
  add_heads(from, work, LK_ROLE_VALUES, v, &of->v);
  add_heads(from, work, LK_ROLE_DST, y, &of->y);
  if (of->sink == LK_SINK_OF_HEADS) add_dims(from, work, LK_ROLE_SINKS, 1, &of->heads);
  if (take_bool(from)) add_mask(from, work, LK_ROLE_BIAS, scores);
  if (take_bool(from)) add_mask(from, work, LK_ROLE_OPERAND, scores);
  if (take_bool(from)) {
    add_dims(from, work, LK_ROLE_LENGTHS, 1, &of->batch);
    work->tensors[LK_ROLE_LENGTHS].dtype = LK_I64;
  }
  if (take_bool(from)) {
    add_dims(from, work, LK_ROLE_SCORES, 4, scores);
    of->stage = fuzz_take_up_to(from, LK_ATTENTION_SOFTMAX);
    of->hidden = take_float(from);
    return;
  }
  const bool has_numbers = work->tensors[LK_ROLE_BIAS].dtype == LK_F32;
  const bool attends_all =
      of->left < 0 && of->right < 0 && (work->roles >> LK_ROLE_LENGTHS & 1) == 0;
  of->mask_replaces = has_numbers && of->softcap == 0 && work->roles >> LK_ROLE_OPERAND == 0;
  of->empty_is_nan = (uint32_t)take_bool(from);
  of->nan_is_zero = attends_all && take_bool(from);
}

static void make_reorder(fuzz_bytes *from, lk_work *work) {
  int64_t dims[LK_MAX_RANK], ordered[LK_MAX_RANK];
  const uint32_t rank = take_dims(from, 0, dims);
  for (uint32_t i = 0; i < rank; i++) work->order[i] = (uint8_t)i;
  for (uint32_t i = rank; i > 1; i--) {
    const uint32_t other = fuzz_take_up_to(from, i - 1);
    const uint8_t kept = work->order[i - 1];
    work->order[i - 1] = work->order[other];
    work->order[other] = kept;
  }
  for (uint32_t i = 0; i < rank; i++) ordered[i] = dims[work->order[i]];
  add_dims(from, work, LK_ROLE_SRC, rank, dims);
  add_dims(from, work, LK_ROLE_DST, rank, ordered);
  work->tensors[LK_ROLE_DST].dtype = work->tensors[LK_ROLE_SRC].dtype;
}

static void make_concat(fuzz_bytes *from, lk_work *work) {
  int64_t dims[LK_MAX_RANK];
  const uint32_t rank = take_dims(from, 1, dims), axis = fuzz_take_up_to(from, rank - 1);
  const uint32_t n_operands = 1 + fuzz_take_up_to(from, LK_WORK_OPERANDS - 1);
  add_dims(from, work, LK_ROLE_SRC, rank, dims);
  const lk_tensor_desc src = work->tensors[LK_ROLE_SRC];
  for (uint32_t i = 0; i < n_operands; i++) {
    lk_tensor_desc next = src;
    next.dims[axis] = take_size(from);
    dims[axis] += next.dims[axis];
    add(work, LK_ROLE_OPERAND + i, &next);
  }
  lk_tensor_desc dst = src;
  dst.dims[axis] = dims[axis];
  add(work, LK_ROLE_DST, &dst);
  work->axes = 1U << axis;
}

/* Of element-wise works, also functions that others do not have. */
static uint32_t take_function(fuzz_bytes *from, const lk_work *work) {
  if (work->kind == LK_WORK_ELEMENT && take_bool(from)) {
    return LK_FUNCTION_ABS + fuzz_take_up_to(from, LK_FUNCTION_PRELU - LK_FUNCTION_ABS);
  }
  return fuzz_take_up_to(from, 24);
}

/* Functions that have an operand always, and PRelu, which may have one. */
static bool takes_operand(fuzz_bytes *from, uint32_t kind) {
  return LK_POST_OP_IS_BINARY(kind) || (kind == LK_FUNCTION_PRELU && take_bool(from));
}

static void add_post_ops(fuzz_bytes *from, lk_work *work) {
  const lk_tensor_desc *dst = &work->tensors[LK_ROLE_DST];
  uint32_t n_operands = (uint32_t)__builtin_popcount(work->roles >> LK_ROLE_OPERAND);
  work->n_post_ops = fuzz_take_up_to(from, LK_WORK_POST_OPS);
  for (uint32_t i = 0; i < work->n_post_ops; i++) {
    lk_work_post_op *post_op = &work->post_ops[i];
    post_op->kind = take_function(from, work);
    if (LK_POST_OP_IS_BINARY(post_op->kind) && n_operands == LK_WORK_OPERANDS) post_op->kind = 1;
    if (n_operands < LK_WORK_OPERANDS && takes_operand(from, post_op->kind)) {
      const uint32_t role = post_op->operand = LK_ROLE_OPERAND + n_operands++;
      if (take_bool(from)) {
        const lk_tensor_desc same = *dst;
        add(work, role, &same);
      } else {
        add_broadcast(from, work, role, dst->rank, dst->dims);
      }
    }
    if (post_op->kind == LK_FUNCTION_PRELU && post_op->operand != 0 && take_bool(from)) {
      work->positive |= 1U << post_op->operand;
    }
    post_op->alpha = take_float(from);
    post_op->beta = take_float(from);
  }
}

lk_work fuzz_fitting_work(fuzz_bytes *from) {
  static void (*const makers[LK_WORK_KINDS])(fuzz_bytes *, lk_work *) = {
      [LK_WORK_CONV] = make_any_conv,
      [LK_WORK_CONV_TRANSPOSED] = make_conv,
      [LK_WORK_PRODUCT] = make_product,
      [LK_WORK_SOFTMAX] = make_softmax,
      [LK_WORK_LOG_SOFTMAX] = make_softmax,
      [LK_WORK_HARDMAX] = make_softmax,
      [LK_WORK_POOL] = make_pool,
      [LK_WORK_LRN] = make_lrn,
      [LK_WORK_LAYER_NORM] = make_layer_norm,
      [LK_WORK_GROUP_NORM] = make_group_norm,
      [LK_WORK_ELEMENT] = make_element,
      [LK_WORK_REDUCE] = make_reduce,
      [LK_WORK_RESIZE] = make_resize,
      [LK_WORK_PRODUCT_BITS] = make_product_bits,
      [LK_WORK_RECURRENT] = make_recurrent,
      [LK_WORK_ATTENTION] = make_attention,
      [LK_WORK_REORDER] = make_reorder,
      [LK_WORK_CONCAT] = make_concat,
      [LK_WORK_BATCH_NORM] = make_batch_norm,
  };
  lk_work work;
  memset(&work, 0, sizeof work);
  work.kind = fuzz_take_up_to(from, LK_WORK_KINDS - 1);
  makers[work.kind](from, &work);
  if (take_bool(from) && (work.roles >> LK_ROLE_WEIGHTS & 1) != 0) {
    work.constants = work.roles & (1U << LK_ROLE_WEIGHTS | 1U << LK_ROLE_RECURRENT_WEIGHTS);
  }
  const bool is_move = work.kind == LK_WORK_REORDER || work.kind == LK_WORK_CONCAT;
  if (take_bool(from) && !is_move) add_post_ops(from, &work);
  const uint32_t half = fuzz_take_up_to(from, 7);
  for (uint32_t role = 0; half < 2 && role < LK_ROLES; role++) {
    uint32_t *dtype = &work.tensors[role].dtype;
    if (*dtype == LK_F32) *dtype = half == 0 ? LK_F16 : LK_BF16;
  }
  return work;
}
