/* Functions of works as oneDNN has them. */
#pragma once

#include <latchkey/engine.h>
#include <oneapi/dnnl/dnnl.h>

/* Of an element, or of two. */
typedef struct lk_onednn_function {
  dnnl_alg_kind_t kind; /* dnnl_alg_kind_undef: oneDNN does not have it */
  float alpha, beta;
} lk_onednn_function;

/* Not of LK_FUNCTION_PRELU, which is a primitive of its own. */
lk_onednn_function lk_onednn_function_of(const lk_work_post_op *of);

/* A function of the work. NULL: it comes to what ONNX says, also of zeros with a sign, infinities
 * and NaN, and of numbers so small that others cancel them. Else why it does not, for people. */
const char *lk_onednn_inexact(const lk_work *work, const lk_work_post_op *of);
