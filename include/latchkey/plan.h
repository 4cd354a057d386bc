/* Plans: nodes bound to shapes, what they consist of, and the frames that they run in. */
#ifndef LATCHKEY_PLAN_H
#define LATCHKEY_PLAN_H

#include <latchkey/node.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_plan lk_plan;   /* a node bound to shapes: kernels, packed weights */
typedef struct lk_frame lk_frame; /* everything that changes while a plan runs */

typedef enum lk_bind_flags {
  LK_BIND_OWN = 1, /* the plan is the caller's own: it is made without a look-up, takes less memory,
                     and the cache neither keeps nor counts it. For hosts that keep plans by a key
                     of their own, such as one for a whole graph. With an engine that builds
                     values for plans, plans are looked up anyway, because making one is dear */
  LK_BIND_ONCE = 2, /* nobody asks for the plan again: it is the caller's own with any engine */
  /* The sizes are fixed or have come several times. What takes time to build is worth it: engine
   * `auto` asks for offers. No effect with other engines */
  LK_BIND_RECURS = 4,
  /* With engine `auto`: the engine that it asks computes all that it takes, also with
   * LK_BIND_RECURS. For measuring, whose result plan_note_times takes */
  LK_BIND_ENGINE = 8
} lk_bind_flags;

typedef struct lk_bind_desc {
  size_t struct_size;
  const lk_tensor *inputs; /* [n_inputs]: descriptions; data of shape inputs that are known now;
                              the op has its constants, whose entries are not read */
  const lk_layout *wishes; /* [n_outputs]: the layout wanted, LK_LAYOUT_ANY: the operator chooses;
                              NULL: it chooses all */
  uint32_t n_inputs;
  uint32_t n_outputs;
  int32_t in_place_input; /* input that output 0 will be written over, or -1 */
  uint32_t flags;         /* lk_bind_flags */
} lk_bind_desc;

typedef struct lk_plan_info {
  size_t struct_size;
  uint64_t bytes;         /* of the plan itself */
  uint64_t scratch_bytes; /* temporaries that a frame lends it */
  int32_t alias_input;    /* output 0 has the bytes of this input: same pointer allowed; or -1 */
  uint32_t n_steps;
  uint32_t n_reorders;        /* of these, steps that bring an operand into another layout */
  uint32_t known_when_run;    /* 1: a shape input had no data; only op_run_alloc can run the node */
  const char *implementation; /* the kernel of the step with the most work; "": no step */
  double flops; /* multiplications and additions; 0: a few for each element, or known when run */
  uint32_t n_blocks;  /* the plan only moves so many blocks of bytes, see lk_block; 0: it does more,
                        or there is nothing to move */
  uint32_t is_cached; /* 1: the cache has it, and charges its bytes; 0: it is the caller's own */
  /* What a run takes as far as it is known from a choice between engines, all steps of works
   * together (lk_step_info): nanoseconds, as measured, or else an estimate of no machine in
   * particular. 0: there was no such choice, or not for all works of the node. */
  double expected_ns;
  uint32_t is_expected_measured; /* 1: as measured */
  uint32_t n_values;             /* steps by what an engine besides native has built */
} lk_plan_info;

/* What a plan does that only moves blocks of bytes: these of an input to these of an output. All
 * blocks together are the outputs, each byte once. A host that places an output within an input, or
 * inputs within an output, so that each block lies where it goes, need not run the plan. */
typedef struct lk_block {
  size_t struct_size;
  uint32_t input, output;
  uint64_t input_offset, output_offset; /* bytes */
  uint64_t bytes;
} lk_block;

/* A step of a plan: what it runs, and how much work that is. Texts are borrowed from the plan,
 * `tiles` until this thread asks again. */
typedef struct lk_step_info {
  size_t struct_size;
  const char *kind;  /* the name of its kernel: "conv", "copy" */
  const char *tiles; /* how the kernel cuts its work; "": it does not say */
  /* Multiplications and additions of a convolution or matrix product, without those of post-ops; of
   * other arithmetic one for each element of the largest operand; 0: elements only move. */
  double flops;
  double bytes; /* of all operands, each counted once */
  /* Of which work of the node (engine.h) it is a step, from 1: it computes the work, or brings
   * tensors to it and from it. 0: of none; it is the operator's own, whoever computes the works. */
  uint32_t work;
  uint32_t reserved;
  /* Who computes it: "native", "host" (the code of an operator of the host's own), or the name of
   * the engine whose value it runs. It lives as long as the context. */
  const char *engine;
} lk_step_info;

/* What a step took. */
typedef struct lk_step_time {
  uint64_t ns;         /* from its beginning to its end */
  uint64_t compute_ns; /* in which threads computed, the sum over all of them */
  uint64_t begin_ns;   /* when it began: CLOCK_MONOTONIC */
} lk_step_time;

/* In what plan_output says of a plan that is known_when_run, and in op_infer. */
#define LK_DIM_UNKNOWN INT64_C(-1)
#define LK_RANK_UNKNOWN UINT32_MAX
/* Elements of a tensor that op_infer_values knows the values of. */
#define LK_MAX_VALUES 16

/* An output that op_run_alloc wants memory for. */
typedef struct lk_output_request {
  size_t struct_size;
  lk_tensor_desc desc; /* all known */
  uint64_t bytes;      /* may be 0 */
  uint64_t alignment;  /* of the memory, for speed; that of the elements is enough */
  uint32_t index;      /* which output */
  int32_t alias_input; /* this input's pointer may be given: the bytes are the same; or -1 */
} lk_output_request;

/* Gives memory for an output; NULL: there is none. `request` is valid during the call. The function
 * must not use the frame of the run. */
typedef void *(*lk_output_alloc_fn)(void *arg, const lk_output_request *request);

#ifdef __cplusplus
}
#endif

#endif
