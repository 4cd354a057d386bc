/* Planes of strided copies, compiled for any x86-64. */
#define LK_VEC_BYTES 16
#define PLANES lk_copy_planes_base

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "ops/kernel/move/copy_plane.h"

#include "ops/kernel/vec/lanes.h"

#include "ops/kernel/move/copy_plane.inc"
