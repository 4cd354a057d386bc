/* Shapes on the command line: NAME=1x3x48x{32..320}.
 *
 * A dimension is a number; a range {a..b}, or {a..b..step}; or a list {a,b,c}. A choice may have a
 * name, {n:8..128}; {n} elsewhere, also in the shape of another input, is the same choice, so that
 * dimensions that must agree do. `NAME=scalar` is a tensor of rank 0. NAME ends at the last '='.
 */
#pragma once

#include <stdbool.h>

#include <latchkey/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
 * Returns the number for `state`; the next one is for state + SPLITMIX_STEP. */
#define SPLITMIX_STEP UINT64_C(0x9e3779b97f4a7c15)
uint64_t splitmix(uint64_t state);

typedef struct shape_set shape_set;

/* All shapes of one command line. */
lk_status shape_set_create(const lk_allocator *allocator, shape_set **out, lk_error *error);
void shape_set_destroy(shape_set *set); /* NULL is allowed */

/* Adds NAME=SHAPE. LK_INVALID_ARGUMENT says what is wrong with the text. */
lk_status shape_set_add(shape_set *set, const char *text, lk_error *error);
/* After the last: every {n} must have its {n:...}. */
lk_status shape_set_check(const shape_set *set, lk_error *error);

uint32_t shape_set_count(const shape_set *set);
const char *shape_set_name(const shape_set *set, uint32_t index);
/* Something is left to chance. */
bool shape_set_varies(const shape_set *set);

/* Makes all choices; `*state` moves on. The same state gives the same shapes everywhere. */
void shape_set_draw(shape_set *set, uint64_t *state);
/* Shape `index` as of the last draw; the type is left as it is. */
void shape_set_get(const shape_set *set, uint32_t index, lk_tensor_desc *desc);

#ifdef __cplusplus
}
#endif
