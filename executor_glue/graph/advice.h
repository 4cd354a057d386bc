/* What a sentence tells users to do, where several say the same. */
#pragma once

#include "executor_glue/graph/graph.h"

/* Where the own executor does not support something: the provider leaves it to ONNX Runtime. */
#define LK_ADVICE_PROVIDER "; ONNX Runtime may run the model, with latchkey.ort as its provider"

/* The same where ONNX Runtime has operators of the node's domain, and the model's opset is not what
 * is wrong; else "". */
const char *lk_advice_on_node(const lk_node *node);
/* The same where ONNX Runtime has tensors of an element type of ONNX, else "". */
const char *lk_advice_on_type(int64_t dtype);
