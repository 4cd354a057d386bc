/* Planes of strided copies, compiled for each instruction set. */
#define PLANES LK_OF_ISA(lk_copy_planes)

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "ops/kernel/move/copy_plane.h"

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/vec/lanes.h"

#include "ops/kernel/move/copy_plane.inc"

#include "ops/kernel/vec/vec_end.h"
