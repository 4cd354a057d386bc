/* Planes of strided copies, compiled for AVX-512. */
#define LK_VEC_BYTES 64
#define PLANES lk_copy_planes_avx512

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "ops/kernel/move/copy_plane.h"

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/vec/lanes.h"

#include "ops/kernel/move/copy_plane.inc"

#include "ops/kernel/vec/vec_end.h"
