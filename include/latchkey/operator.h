/* Operators of a host's own, which op_register adds to a context.
 *
 * A host describes an operator: its name, its inputs, outputs and attributes, a function that says
 * what shapes come out, and one that computes. Nodes of it are then nodes like all others of the
 * context: op_create makes ops of them, sessions run models that have them, their plans are found
 * by key, and reports list them by name. They take no post-ops, do not run in place, and their
 * tensors lie plain.
 *
 * Who computes: `run`, which is code of the host's; or the engine of the context, for which `work`
 * says what is wanted (latchkey/engine.h).
 *
 * What `infer` and `work` say is checked. A mistake, such as a dimension below 0 or a work that
 * does not fit its tensors, ends the bind with LK_INTERNAL, or LK_OUT_OF_RANGE for sizes that
 * overflow, and a sentence that names the node.
 *
 * Thread rule: all functions but `close` are called by any thread, several at once. `infer` and
 * `work` must be pure: equal questions have equal answers, since plans are kept and shared. None of
 * them may bind or run ops of the context, open its sessions, or destroy it.
 *
 * Errors: `error` is never NULL. A function that fails returns a status of lk_status, and writes
 * its sentence to `error->message`; `error->status` need not be set.
 */
#ifndef LATCHKEY_OPERATOR_H
#define LATCHKEY_OPERATOR_H

#include <latchkey/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Inputs and outputs that an operator of a host's has at most. */
#define LK_OPERATOR_MOST_TENSORS 64
/* Bytes that `infer` may leave for `work` and `run`. */
#define LK_OPERATOR_PARAMS 256

/* Any of them, or 0. */
typedef enum lk_operator_flags {
  /* Equal inputs may give other outputs. Without it, nodes whose inputs are all constants are
   * computed once, when a model is opened, by `run` too */
  LK_OPERATOR_RANDOM = 1,
  /* `infer` is also asked before sizes are known, as when a model is opened; see lk_operator_node.
   * Without it, only types are known then */
  LK_OPERATOR_INFERS_OPEN = 2
} lk_operator_flags;

/* A node, and what its inputs are. It lives during the call, with all that it points to. */
typedef struct lk_operator_node {
  size_t struct_size;
  int32_t opset; /* of the operator's domain */
  uint32_t n_inputs, n_outputs, n_attrs;
  /* [n_inputs]; of one that is absent the type is LK_DTYPE_NONE. `data`, plain and aligned: of
   * shape inputs that are there, NULL where they have no elements; of all others NULL.
   * With LK_OPERATOR_INFERS_OPEN it may be that not all is known: then a type is LK_DTYPE_NONE, a
   * rank LK_RANK_UNKNOWN, a dimension is below 0, and the data of a shape input is NULL. */
  const lk_tensor *inputs;
  const lk_attr *attrs; /* those that the node has, in its order; a default is not among them */
} lk_operator_node;

/* What `infer` fills in. It comes zeroed but for what is said here. */
typedef struct lk_operator_shapes {
  size_t struct_size;
  /* [n_outputs]: rank and dimensions, and the type where `output_types` leaves it open. A type that
   * is certain has been set, and the rank comes as LK_RANK_UNKNOWN. The layout stays
   * LK_LAYOUT_PLAIN.
   * With LK_OPERATOR_INFERS_OPEN, as long as not all is known of the inputs, type and rank may stay
   * as they come, and a dimension may be LK_DIM_UNKNOWN, or one of an input, copied as it is: so it
   * is known that both are equal. */
  lk_tensor_desc *outputs;
  uint64_t scratch_bytes; /* that `run` needs; the library lends them */
  uint32_t params_bytes;  /* of `params`: LK_OPERATOR_PARAMS at most */
  uint32_t reserved;
  /* Anything, such as attributes as numbers, copied into the plan: no pointers to what does not
   * live as long as the context. Aligned to 8 bytes. */
  unsigned char *params;
} lk_operator_shapes;

/* What `work` fills in. It comes zeroed. */
typedef struct lk_operator_work {
  size_t struct_size;
  /* `kind`, `roles` (bit i: role i is there), and the fields that are named here, which engine.h
   * describes. No other field is read: the library sets `tensors` and `constants` itself. All
   * tensors are of one floating-point type. Kinds:
   *   LK_WORK_ELEMENT: SRC, operands, DST. `n_post_ops`, one at least, and `post_ops`: functions of
   *     lk_post_op_kind, and those of lk_function that make real numbers of real numbers, which is
   *     none of bool, none of bits, and not LK_FUNCTION_MOD. The first function that has an operand
   *     has LK_ROLE_OPERAND, the second one LK_ROLE_OPERAND + 1, and so on; where two read the same
   *     input, it has two roles. Where `operand` is 0, such a function takes `alpha` in its place:
   *     an operand that was forgotten is no error
   *   LK_WORK_SOFTMAX, LK_WORK_LOG_SOFTMAX, LK_WORK_HARDMAX: SRC, DST. `axes`
   *   LK_WORK_LAYER_NORM: SRC, maybe SCALE and SHIFT, DST. `axes`, `is_centered`, which is 1 for
   *     the usual norm, and `epsilon`
   *   LK_WORK_GROUP_NORM: SRC, SCALE, SHIFT, DST. `groups`, `is_centered` and `epsilon`. Scale and
   *     shift are vectors, with one number for each channel, or for each group
   *   LK_WORK_BATCH_NORM: SRC, DST; SCALE, SHIFT, MEAN, VARIANCE: [channels]. `epsilon`, any
   *   LK_WORK_LRN: SRC, DST. `lrn`
   *   LK_WORK_PRODUCT: SRC, WEIGHTS, DST. `orders`, which are 0 for numpy.matmul's
   *   LK_WORK_CONV, LK_WORK_CONV_TRANSPOSED: SRC, WEIGHTS, maybe BIAS, DST. `groups`, and all of
   *     `window`. The sizes of dst, `out` of the window, are those of ONNX Conv; of a transposed
   *     one they are at least those of ConvTranspose without output_padding
   *   LK_WORK_POOL: SRC, DST. `pooling`, and all of `window`. The sizes of dst are those of ONNX
   *     AveragePool with or without ceil_mode, for each dimension as `out` says. The largest of a
   *     tensor without elements is refused
   *   LK_WORK_REDUCE: SRC, DST. `axes`, one at least, and `reducing`
   *   LK_WORK_RESIZE: SRC, DST. `resize`: `up` and `down` of each dimension, also of one that keeps
   *     its size, whose scale is 1. Dst has the size that the scale gives, rounded down or to the
   *     nearest. `start` and `end` are read with LK_COORDINATES_TF_CROP_AND_RESIZE
   * No norm over groups, LRN or convolution is of f64. Spatial dimensions are 1 to 3. Numbers of
   * `window` behind its rank, and of `resize` behind that of src, are not read.
   * Only LK_WORK_ELEMENT has post-ops. */
  lk_work work;
  /* Of each role that is there: which of the node's inputs it is. SRC must be input 0 and WEIGHTS
   * input 1; in LK_WORK_ELEMENT, SRC may be any input. It comes zeroed, so a role for which nothing
   * is set is input 0. DST is output 0, and the node has no other output. */
  uint32_t inputs[LK_ROLES];
} lk_operator_work;

/* What `run` gets. */
typedef struct lk_operator_run {
  size_t struct_size;
  void *user;         /* of the operator */
  const void *params; /* as `infer` has left them, aligned to 8 bytes */
  uint32_t n_inputs, n_outputs;
  const lk_tensor_desc *inputs, *outputs; /* as bound, and plain; absent: type LK_DTYPE_NONE */
  /* Aligned to the element size. NULL: the input is absent; of a tensor without elements anything.
   */
  const void *const *input_data;
  void *const *output_data;
  void *scratch; /* aligned to 64 bytes; NULL without scratch_bytes */
  uint64_t scratch_bytes;
} lk_operator_run;

/* An operator. op_register copies it, with its texts and lists. */
typedef struct lk_operator {
  size_t struct_size;
  /* 1 to 60 letters, digits, '_', '.', ':' and '-' each. Domain: NULL, "" and "ai.onnx" are
   * ai.onnx; not "latchkey". What the library has in this domain at any opset is refused. */
  const char *op_type, *domain;
  const char *summary; /* one line, for people; or NULL */
  /* The opset of the domain from which on this holds, 1 or more: up to where another one of the
   * same name begins. */
  int32_t since;
  uint32_t flags;                               /* lk_operator_flags */
  uint32_t min_inputs, max_inputs, max_outputs; /* outputs: 1 or more */
  uint32_t n_attrs;
  /* As in lk_op_row: letters from T to W, or '?'; types[0] are those of T. An output with '?', or
   * with a letter that no input of the node has and whose set is not one type, gets its type from
   * `infer`. */
  const char *input_types, *output_types;
  uint32_t types[LK_MAX_TYPE_GROUPS];
  const lk_op_attr *attrs; /* [n_attrs]: a node with any other attribute is refused */
  uint64_t shape_inputs;   /* bit i: `infer` reads input i, by value */
  /* Given to all functions. `run` gets nothing else from which it knows a context, so one that
   * calls parallel_run has it from here. */
  void *user;
  /* LK_OK, or a failure with its sentence, which ends the bind: the node cannot run with these
   * inputs. */
  lk_status (*infer)(void *user, const lk_operator_node *node, lk_operator_shapes *out_shapes,
                     lk_error *error);
  /* One of `work` and `run` is NULL. Neither is called when all outputs are empty.
   *
   * Says what is to be computed; `shapes` as `infer` has filled them in. Failures as of `infer`. */
  lk_status (*work)(void *user, const lk_operator_node *node, const lk_operator_shapes *shapes,
                    lk_operator_work *out_work, lk_error *error);
  /* Computes. Neither allocates from the context nor keeps pointers. It may share its work by
   * parallel_run, and one that takes long asks thread_look now and then, and returns what that
   * does. A failure, with its sentence, ends the run. */
  lk_status (*run)(const lk_operator_run *run, lk_error *error);
  void (*close)(void *user); /* when its context is destroyed, after all of its plans; or NULL */
} lk_operator;

#ifdef __cplusplus
}
#endif

#endif
