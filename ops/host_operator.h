/* One operator of a host's: what the files about them share. */
#pragma once

#include <latchkey/operator.h>

#include "ops/plan/op.h"

/* A class whose functions ask the host's. */
typedef struct lk_host_class {
  lk_op_class class_; /* first: nodes have its address */
  lk_operator op;     /* a copy, as are its texts and lists */
  const char *kind;   /* "host:Foo": of its steps */
} lk_host_class;

static inline const lk_host_class *lk_host_class_of(const lk_op_node *node) {
  return (const lk_host_class *)(const void *)node->class_;
}

/* The parameters of a node: its attributes, and behind them what they point to. */
typedef struct lk_host_params {
  uint32_t n_attrs, reserved;
  lk_attr attrs[];
} lk_host_params;

/* As lk_op_class has them. */
size_t lk_host_params_behind(const lk_node_desc *desc);
void lk_host_params_parse(lk_attrs *attrs, void *params);

/* What `infer` leaves for `plan`. */
typedef struct lk_host_found {
  uint64_t scratch_bytes;
  uint32_t params_bytes, reserved;
  uint64_t params[LK_OPERATOR_PARAMS / sizeof(uint64_t)];
} lk_host_found;

/* Sets what is alike of all such classes, and the row, from `op`. */
void lk_host_class_fill(lk_host_class *self);

/* A node for the host's functions. `inputs` as an lk_inference or an lk_planner has them; `room`
 * lives as long as the description. */
typedef struct lk_host_node {
  lk_operator_node node;
  lk_tensor inputs[LK_OPERATOR_MOST_TENSORS];
} lk_host_node;
/* Plans bring what lies otherwise into this layout. */
lk_tensor_desc lk_host_plain(const lk_tensor_desc *desc);
void lk_host_node_describe(const lk_op_node *node, const lk_tensor *inputs, lk_host_node *out);

/* Steps of the work that the host describes, if it makes sense. */
lk_status lk_host_plan_work(lk_planner *planner, lk_error *error);
