/* The loops of element programs, compiled for each instruction set. */
#define LOOPS LK_OF_ISA(lk_element_loops)

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "base/team/float_state.h"
#include "ops/kernel/element/element_ops.h"
#include "ops/kernel/isa.h"
#include "ops/kernel/number.h"

#include "ops/kernel/vec/vec_begin.h"

#include "ops/kernel/vec/vec_arcs.h"
#include "ops/kernel/vec/vec_double.h"
#include "ops/kernel/vec/vec_wide.h"

#include "ops/kernel/element/element_loops.inc"
#include "ops/kernel/element/element_plain.inc"

#include "ops/kernel/element/element_division.inc"
#include "ops/kernel/element/element_narrow.inc"
#include "ops/kernel/element/element_wide.inc"

#include "ops/kernel/element/element_table.inc"

#include "ops/kernel/vec/vec_end.h"
