/* Regions of images, each as a few bins: RoiAlign. A bin is the mean or the largest of samples,
 * which lie evenly in it, between four elements each.
 *
 * Bound: reads of these elements, which lie where the regions say. */
#pragma once

#include <stdbool.h>

#include "ops/kernel/kernel.h"

/* Of a bin, along a dimension: more are refused. */
enum { LK_ROI_SAMPLES = 1 << 16 };

typedef struct lk_roi_align {
  bool is_wide;    /* images and regions are f64, else f32 */
  bool is_max;     /* else means */
  bool half_pixel; /* elements lie half an element before their coordinates */
  double scale;    /* from coordinates to elements */
  int64_t samples; /* of a bin, along a dimension; 0: as many as there are elements */
  int64_t batches, channels, regions;
  int64_t image[2], bins[2]; /* height, width */
} lk_roi_align;

/* Params: lk_roi_align. Pointers: images [batches][channels][height][width], regions [regions][4]
 * (left, top, right, bottom), batches of regions (int64_t), output [regions][channels][bins].
 * LK_OUT_OF_RANGE: a batch that is not there, or a region that is too large. */
lk_status lk_roi_align_kernel(const void *params, void *const *pointers, lk_error *error);
