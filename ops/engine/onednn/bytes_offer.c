/* Which products and convolutions of bytes oneDNN computes as `native` does, and how long that
 * takes. */
#include "ops/engine/onednn/bytes.h"

static bool is_number(const lk_work *work, uint32_t role) {
  return !lk_onednn_has(work, role) || lk_onednn_elements(&work->tensors[role]) == 1;
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

/* Whether oneDNN stores sums as they are. Else it converts them to f32, subtracts what zero points
 * make, and converts the result to i32. */
static bool stay_whole(const lk_work *work) {
  return work->kind == LK_WORK_PRODUCT && work->tensors[LK_ROLE_SRC].dtype == LK_U8 &&
         work->tensors[LK_ROLE_WEIGHTS].dtype == LK_I8 && !lk_onednn_has(work, LK_ROLE_SRC_ZERO) &&
         !lk_onednn_has(work, LK_ROLE_WEIGHTS_ZERO);
}

static const char *left_numbers(const lk_work *work) {
  const int64_t channels = lk_bytes_channels(work);
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

/* oneDNN 3.14.1 packs what makes up for zero points to wrong places, of groups of one channel and
 * of one channel without groups, where the outputs take more than one block. */
enum { OUTPUTS_OF_BLOCK = 16 };

static const char *left_single_channels(const lk_work *work) {
  const int64_t *dims = work->tensors[LK_ROLE_WEIGHTS].dims;
  if (work->kind != LK_WORK_CONV || dims[1] != 1) return NULL;
  if (work->groups > 1) {
    return dims[0] > work->groups ? "groups of one channel have several outputs" : NULL;
  }
  const bool has_zero =
      work->tensors[LK_ROLE_SRC].dtype == LK_I8 && lk_onednn_has(work, LK_ROLE_SRC_ZERO);
  return has_zero && dims[0] > OUTPUTS_OF_BLOCK
             ? "one channel of i8 with a zero point has more than 16 outputs"
             : NULL;
}

/* Whether a window lies in the padding along dimension `i`, all of it: between two taps there may
 * be all of src. oneDNN 3.14.1 makes such an element of memory that nobody has written. More than
 * MOST_BEFORE windows that begin before src are not looked at: one may. */
enum { MOST_BEFORE = 64 };

static bool lies_outside(const lk_work *work, uint32_t i) {
  const lk_window_shape *window = &work->window;
  const int64_t size = work->tensors[LK_ROLE_SRC].dims[2 + i], step = window->dilations[i];
  if ((window->out[i] - 1) * window->strides[i] - window->begin[i] >= size) return true;
  for (int64_t at = 0; at < window->out[i]; at++) {
    const int64_t before = window->begin[i] - at * window->strides[i]; /* of src */
    if (before <= 0) return false;
    const int64_t taps = (before + step - 1) / step;
    if (at == MOST_BEFORE || taps >= window->kernel[i] || taps * step - before >= size) return true;
  }
  return false;
}

bool lk_bytes_has_window_outside(const lk_work *work) {
  if (!lk_work_is_of_bytes(work)) return false;
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
  const char *why = left_single_channels(work);
  if (why != NULL || is_signed) return why;
  if (work->kind == LK_WORK_CONV) return "weights of the convolution are of u8";
  return is_packed ? NULL : "weights of u8 come with a run";
}

const char *lk_bytes_left(const lk_onednn *self, const lk_work *work) {
  const uint32_t dtype = work->tensors[LK_ROLE_DST].dtype;
  if (!lk_work_is_of_bytes(work) || !lk_onednn_has(work, LK_ROLE_WEIGHTS) ||
      !lk_dtype_is_byte(work->tensors[LK_ROLE_WEIGHTS].dtype)) {
    return "it is of 8-bit numbers";
  }
  if (!self->has_vnni) return "the processor has no instructions for exact sums of bytes";
  if (dtype != LK_I32 && dtype != LK_F32 && !lk_dtype_is_byte(dtype))
    return "its sums are of another type";
  const char *why = left_weights(work);
  return why != NULL ? why : left_numbers(work);
}

/* ---- estimates ---- */

/* Rounded medians of works of 15 products and 36 convolutions, on one thread of an AMD EPYC with
 * AVX-512 VNNI. */
#define OF_SMALL_GROUPS 0.6                                       /* 0.28 to 0.71 */
#define OF_FEW_CHANNELS 0.65                                      /* of i8, 0.35 to 0.8 */
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
  /* Native reads images of u8 as words: oneDNN takes 0.65 to 2.6 of its time there. */
  const bool is_i8 = work->tensors[LK_ROLE_SRC].dtype == LK_I8;
  const bool has_few = dims[1] < 4 && outputs <= 32;
  return is_i8 && has_few && elements >= LARGE_IMAGE_DST ? OF_FEW_CHANNELS : OF_OTHERS;
}
