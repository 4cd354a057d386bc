/* Products and convolutions of bytes as oneDNN has them. A primitive computes what `native` does,
 * bit by bit: exact sums, to which a bias is added in two parts that f32 has exactly, times one
 * scale, which each run makes from those of the work, rounded before the zero point is added. */
#pragma once

#include "ops/engine/onednn/module.h"
#include "ops/engine/onednn/shapes.h"

/* What a primitive reads besides src, weights and the operands of post-ops. A run makes it from the
 * work's tensors, in its scratch memory. */
typedef enum lk_bytes_number {
  LK_BYTES_SRC_ZERO, /* i32, as the next one */
  LK_BYTES_WEIGHTS_ZERO,
  LK_BYTES_LOW,  /* the lowest 8 bits of the bias: f32, as all that follow. The primitive's bias */
  LK_BYTES_HIGH, /* the rest of it: an operand of a post-op, as is the zero point of dst */
  /* factor, scales of src and weights, over that of dst. With a bias an operand, else the
   * primitive's scale of weights, which would go before a bias */
  LK_BYTES_SCALE,
  LK_BYTES_DST_ZERO,
  LK_BYTES_NUMBERS
} lk_bytes_number;

/* Where these lie, and what they are made from. */
typedef struct lk_bytes {
  bool has[LK_BYTES_NUMBERS];
  int64_t counts[LK_BYTES_NUMBERS];     /* 1, or one for each channel */
  uint64_t offsets[LK_BYTES_NUMBERS];   /* in scratch memory; multiples of 64 */
  uint64_t size;                        /* of all of them, as such a multiple */
  uint32_t pointers[LK_ROLES], n_roles; /* of a run: scratch memory follows those of the roles */
  uint32_t roles, src_type, weights_type, dst_type;
  int64_t bias_step; /* 0: it is one number */
  float factor;
} lk_bytes;

static inline bool lk_dtype_is_byte(uint32_t dtype) {
  return dtype == LK_U8 || dtype == LK_I8;
}
/* Products and convolutions whose src is of bytes. */
bool lk_work_is_of_bytes(const lk_work *work);
/* Whether all post-ops are left: they are functions of bytes or of i32, which oneDNN does not have.
 */
bool lk_bytes_leaves_post_ops(const lk_work *work);

lk_bytes lk_bytes_of(const lk_work *work);
/* Of dst: columns of a product. */
int64_t lk_bytes_channels(const lk_work *work);
/* As the primitive gets the work: weights of i8, whose zero point is 128 less, and a bias of f32
 * for each channel. */
lk_work lk_bytes_seen(const lk_work *work);
/* Whether the tensor of `role` is no argument: numbers are made of it. */
bool lk_bytes_hides(const lk_work *work, uint32_t role);

/* The attributes that are numbers: zero points and scales; and post-ops before and behind those of
 * the work: lk_bytes_before(work) before them. */
dnnl_status_t lk_bytes_set_attr(const lk_work *work, dnnl_primitive_attr_t attr);
uint32_t lk_bytes_before(const lk_work *work);
/* They make descriptors in `descs`, which are the caller's to destroy, also if they fail. */
dnnl_status_t lk_bytes_append_before(const lk_work *work, dnnl_memory_desc_t *descs,
                                     dnnl_post_ops_t to);
dnnl_status_t lk_bytes_append_behind(const lk_work *work, dnnl_memory_desc_t *descs,
                                     dnnl_post_ops_t to);
/* The argument that a number is. */
int lk_bytes_arg(const lk_work *work, lk_bytes_number number);
/* How it lies, if it is an attribute, of which the primitive's descriptor has no description. */
static inline bool lk_bytes_is_attr(const lk_bytes *self, lk_bytes_number number) {
  return number <= LK_BYTES_WEIGHTS_ZERO || (number == LK_BYTES_SCALE && !self->has[LK_BYTES_LOW]);
}
lk_strided lk_bytes_attr(const lk_bytes *self, lk_bytes_number number);
/* The bias of a product, which has dst's dimensions; a convolution's is that of the work. */
lk_strided lk_bytes_bias(const lk_work *work);

/* Of a run, whose pointers these are. */
void lk_bytes_make(const lk_bytes *self, void *const *pointers);
/* Whether weights are of u8: they are packed as i8, from each of which 128 is subtracted. */
static inline bool lk_bytes_shifts(const lk_bytes *self) {
  return self->has[LK_BYTES_WEIGHTS_ZERO] && self->weights_type == LK_U8;
}
void lk_bytes_shift(const void *from, void *to, size_t count);

/* ---- bytes_offer.c ---- */

/* NULL: oneDNN computes it, but for post-ops. Else why not, for people. */
const char *lk_bytes_left(const lk_onednn *self, const lk_work *work);
/* Whether a convolution of bytes, of a small window, has one that lies in the padding alone. */
bool lk_bytes_has_window_outside(const lk_work *work);
/* The run_ratio of an offer. */
double lk_bytes_estimate(const lk_work *work);
