/* Faults and limits of oneDNN 3.14.1: works for which it has primitives that compute wrongly, write
 * beyond their output, take minutes to build, or do so much in one piece that a run that is
 * cancelled would wait for it. Those are left. */
#pragma once

#include "ops/engine/onednn/shapes.h"

enum {
  /* of a window, in each direction; and how many times larger an image becomes, in pixels. oneDNN
   * keeps what a window has in 32 bits, and multiplies it */
  LK_MOST_OF_WINDOW = 1 << 14,
  /* oneDNN does a line in one piece, and a run that is to end would wait for it */
  LK_MOST_OF_LINE = 1 << 20,
  /* oneDNN adds one element after the other: of 4,096 equal ones, the sum is 2e-6 off, and of 2^20
   * of them 6e-4 */
  LK_MOST_OF_SUM = 4096,
  /* oneDNN writes code for each channel of an instance norm: minutes and gigabytes, where there are
   * millions */
  LK_MOST_CHANNELS = 1 << 14
};

/* Of convolutions and poolings. */
bool lk_onednn_has_small_window(const lk_work *work);
/* Whether a transposed convolution has a small kernel; true of all others. */
bool lk_onednn_has_small_kernel(const lk_work *work);
/* Whether windows leave as much of src behind them as there is padding before it, and that is more
 * than there are windows. Of bytes and of bf16, oneDNN writes beyond dst then. */
bool lk_onednn_has_shifted_windows(const lk_work *work);
/* Whether windows reach beyond the declared padding: oneDNN divides by the whole window there. */
bool lk_onednn_has_excess(const lk_work *work);
/* Of means: whether oneDNN does little in one piece. */
bool lk_onednn_has_short_rows(const lk_work *work);
/* Of products: whether a block of results reads little. */
bool lk_onednn_has_short_sums(const lk_work *work);
/* Elements of what is summed or normed together. */
int64_t lk_onednn_line_of(const lk_work *work);
/* Of a softmax whose src lies so: whether oneDNN does little in one piece. */
bool lk_onednn_has_short_lines(const lk_work *work, lk_layout layout);
