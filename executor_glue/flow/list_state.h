/* What the operators on sequences and optional values are to each other. */
#pragma once

#include "executor_glue/flow/frame.h"
#include "executor_glue/flow/lists.h"

/* One run of one of them. */
typedef struct list_call {
  const lk_api *api;
  const lk_allocator *allocator;
  const lk_flow_value *inputs; /* then what a body has captured */
  uint32_t n_inputs;
  lk_list_attributes attributes;
} list_call;

struct lk_list_op {
  const char *name;
  uint32_t least, most; /* inputs */
  lk_list_result result;
  bool needs_list; /* as its first input */
  bool has_body;
  /* Makes the only output, which is released after a failure; NULL: it has a body. */
  lk_status (*run)(const list_call *call, lk_flow_value *out, lk_error *error);
};

/* SequenceMap: the body for each tensor of the first input. On failure there is no output. */
lk_status lk_flow_list_map(const lk_stage *stage, const lk_flow_call *call, const list_call *c,
                           lk_flow_stage_frame *frame, lk_flow_value *outputs, lk_error *error);
