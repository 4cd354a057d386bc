/* Recurrent layers as oneDNN has them: one layer of its primitives of RNN, GRU and LSTM. */
#pragma once

#include "ops/engine/onednn/shapes.h"

enum { LK_RECURRENT_GATES = 4 }; /* that a cell has at most */

typedef struct lk_recurrent_sizes {
  int64_t steps, batch, width, hidden, directions, gates;
  int64_t biases;      /* of each hidden unit: one for each gate, or one more */
  bool is_batch_first; /* in memory, where that makes a difference */
} lk_recurrent_sizes;

lk_recurrent_sizes lk_onednn_recurrent_sizes_of(const lk_work *work);

/* Which of ONNX's gates each of oneDNN's is. */
const uint32_t *lk_onednn_recurrent_order(const lk_work *work);

/* NULL: oneDNN has it. Else why it does not, for people. */
const char *lk_onednn_recurrent_left(const lk_work *work);

/* Whether the primitive has the tensor of `role`, which the work may lack: LSTM has states and
 * cells both or none, and all have biases. */
bool lk_onednn_recurrent_wants(const lk_work *work, uint32_t role);

/* As the primitive has it; of weights, as one gate of them lies plain. */
lk_strided lk_onednn_recurrent_strided(const lk_work *work, uint32_t role);

/* `of` gets the descriptors of the tensors, which the caller destroys. */
dnnl_status_t lk_onednn_recurrent_describe(const lk_work *work, dnnl_engine_t engine,
                                           const_dnnl_primitive_attr_t attr,
                                           dnnl_memory_desc_t of[LK_ROLES],
                                           dnnl_primitive_desc_t *out_desc);

/* Multiplications and additions that are done at a time: of a step, or of the product of all inputs
 * by the weights. And of all steps. */
double lk_onednn_recurrent_step_flops(const lk_work *work);
double lk_onednn_recurrent_flops(const lk_work *work);
