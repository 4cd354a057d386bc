/* Size classes: what a work has in common with others that differ from it in free dimensions. */
#pragma once

#include <latchkey/engine.h>

/* `*out_class` is the work with its free sizes, which may be others in another run, replaced by
 * their class: the power of two that is not less. So 1 is a class of its own, and every other class
 * ends at twice its beginning. Two works have equal classes only if all else of them is equal.
 *
 * Free are the dimensions of tensors that come with a run, but for channels, and what depends on
 * these: positions of windows, windows of poolings of all of a dimension, quotients that are scales
 * of Resize, and of attention the batch, queries, keys, the keys before and where
 * heads lie. Sizes of parameters, such as weights, stay as they are: works whose weights differ in
 * size are of different classes, though what other tensors have of these sizes is rounded. The
 * class is for finding: it need be no work that can be computed.
 *
 * A pure function. */
void lk_size_class(const lk_work *work, lk_work *out_class);
