/* The graph IR: what the loaders fill, the passes rewrite and the executors run.
 *
 * Values and nodes are numbered; numbers stay valid while a pass runs (removed nodes are marked
 * dead) until lk_graph_resolve, after each pass, sorts and compacts the nodes. Strings, attributes
 * and index lists live in memory of the graph's and are never freed one by one. A graph is built
 * by one thread; once it is finished it is read-only, and once its ops are made it is compacted.
 */
#pragma once

#include <latchkey/session.h>
#include <stdbool.h>

#include "base/bump.h"

#define LK_NO_VALUE (-1)
#define LK_NO_NODE (-1)

/* The operator of a node that a loader could not read: a constant of an unknown type, or a node
 * with such an attribute. Constant nodes that loaders read become constants, so no other node has
 * it. */
#define LK_GRAPH_UNREAD "Constant"

/* Where the bytes of a constant are. */
typedef enum lk_constant_kind {
  LK_CONSTANT_NONE = 0,   /* the value is computed, or an input */
  LK_CONSTANT_MAPPED = 1, /* borrowed: in the mapped model or external file, until the graph ends */
  LK_CONSTANT_OWNED = 2,  /* allocated by a pass or the loader; the graph frees it */
  LK_CONSTANT_BORROWED = 3 /* somebody else's, until a program has been made of the graph */
} lk_constant_kind;

/* What a model says about a graph input or output. */
typedef struct lk_declaration {
  uint32_t dtype;                   /* LK_DTYPE_NONE: not known */
  int32_t rank;                     /* -1: not known */
  int64_t dims[LK_MAX_RANK];        /* -1: not known */
  const char *symbols[LK_MAX_RANK]; /* names of unknown dimensions, or NULL */
} lk_declaration;

/* What a value is that is no tensor. */
typedef enum lk_value_kind {
  LK_VALUE_SEQUENCE = 1, /* of tensors */
  LK_VALUE_OPTIONAL = 2  /* it may be absent: a tensor, or with LK_VALUE_SEQUENCE a sequence */
} lk_value_kind;

typedef struct lk_value {
  const char *name; /* unique within the graph; never NULL */
  /* In the graph's memory. NULL: nothing is declared, or the value is a constant, which knows
   * better. */
  const lk_declaration *declared;
  lk_constant_kind constant_kind;
  lk_tensor constant;    /* when constant_kind is not NONE; may lie unaligned when MAPPED */
  const lk_owner *owner; /* of the bytes when MAPPED, there as long as they are; else NULL */
  int32_t producer;      /* node, or LK_NO_NODE */
  uint32_t n_uses;       /* input slots of live nodes, and one more for a graph output */
  bool is_input, is_output;
  uint8_t kind; /* lk_value_kind, once a flow has found it; 0: a tensor */
} lk_value;

typedef struct lk_graph lk_graph;

/* A graph within a node: a branch of If, what Loop and Scan repeat. It reads nothing but its own
 * inputs: values that it captured from around it have become inputs of the node, and of the body,
 * behind those that the operator gives it. */
typedef struct lk_body {
  const char *name; /* of the attribute: "then_branch" */
  lk_graph *graph;
  uint32_t n_captured; /* the last of the body's inputs */
} lk_body;

typedef struct lk_node {
  const char *op_type, *domain, *name; /* name may be ""; domain "" is ai.onnx */
  const char *fused;                   /* what passes put in: "batch_norm,relu"; "" */
  int32_t opset;
  int32_t source; /* how many nodes there were when it was added */
  uint32_t n_inputs, n_outputs, n_attrs, n_post_ops;
  int32_t *inputs;  /* values; LK_NO_VALUE: absent */
  int32_t *outputs; /* values; LK_NO_VALUE: not wanted */
  lk_attr *attrs;
  lk_post_op *post_ops; /* input numbers are positions in `inputs` */
  /* The last inputs are what bodies captured, in the order of the bodies. */
  lk_body *bodies;
  uint32_t n_bodies;
  bool dead;
} lk_node;

/* An initializer that is an input too: a run may give another value (from IR version 4 on). */
typedef struct lk_graph_default {
  const char *name; /* in the graph's memory, as `declared`: until the graph is compacted */
  const lk_declaration *declared;
  int32_t input; /* of the graph, which reads it from the run; -1: it is a constant of the graph */
  lk_tensor tensor; /* of an input: what it is where a run does not give it. The graph's */
} lk_graph_default;

typedef struct lk_metadata {
  const char *key, *value;
} lk_metadata;

/* What a loader lets a graph and its bodies take: a file may say in a few bytes that much is
 * wanted. */
typedef struct lk_graph_limit {
  uint64_t left;  /* bytes */
  bool is_passed; /* more was wanted: it was refused as if there were no memory */
} lk_graph_limit;

struct lk_graph {
  const lk_allocator *allocator;
  /* Whose registered operators its nodes may be; NULL: those of the library alone. */
  const lk_context *context;
  lk_graph_limit *limit; /* NULL, as after loading: none */
  lk_bump memory;        /* lk_graph_alloc's */
  lk_value *values;
  lk_node *nodes;
  int32_t *inputs, *outputs; /* values, in the order of the model */
  lk_metadata *metadata;
  lk_graph_default *defaults; /* of the main graph */
  const char *scope;          /* "": the main graph; of a body, a text that no other has */
  lk_model_info model;        /* of the file; in the graph's memory */
  size_t n_values, n_nodes, n_inputs, n_outputs, n_metadata, n_defaults;
  size_t values_capacity, nodes_capacity, inputs_capacity, outputs_capacity, metadata_capacity,
      defaults_capacity;
  size_t n_nodes_in_file;
};

/* Chunks of a graph's memory: those of a body or a stage, of which there may be many, are small. */
#define LK_GRAPH_FIRST_CHUNK 512
#define LK_GRAPH_MOST_CHUNK 65536
/* What a graph takes with next to nothing in it, but for an index of its names. */
#define LK_GRAPH_BYTES (sizeof(lk_graph) + LK_GRAPH_FIRST_CHUNK)

lk_status lk_graph_create(const lk_allocator *allocator, lk_graph **out_graph, lk_error *error);
void lk_graph_destroy(lk_graph *graph); /* and the bodies of its nodes; NULL is allowed */

/* Takes `bytes` of the limit. False: they are not left. */
bool lk_graph_charge(lk_graph *graph, size_t bytes);
/* Lifts the limit, of the bodies too. */
void lk_graph_lift_limit(lk_graph *graph);

/* Memory and strings that live as long as the graph; NULL when there is no memory. */
void *lk_graph_alloc(lk_graph *graph, size_t bytes);
const char *lk_graph_strndup(lk_graph *graph, const char *text, size_t length);

/* Adds a value; `name` is copied. The pointer to it is graph->values + *out_value, valid until the
 * next add. Names are not checked for being unique here: the loader keeps the index of names. */
lk_status lk_graph_add_value(lk_graph *graph, const char *name, size_t name_length,
                             int32_t *out_value, lk_error *error);
/* Adds a node with room for the given numbers of inputs, outputs (all LK_NO_VALUE) and attributes
 * (zeroed); op_type, domain, name and fused are "". Pointers to nodes are valid until the next
 * add. */
lk_status lk_graph_add_node(lk_graph *graph, uint32_t n_inputs, uint32_t n_outputs,
                            uint32_t n_attrs, int32_t *out_node, lk_error *error);
lk_status lk_graph_add_input(lk_graph *graph, int32_t value, lk_error *error);
lk_status lk_graph_add_output(lk_graph *graph, int32_t value, lk_error *error);

/* After loading: sets producers and uses, sorts nodes topologically (stable). LK_MALFORMED when a
 * value has two producers, is used but never made, or nodes form a cycle: the sentence names it. */
lk_status lk_graph_link(lk_graph *graph, lk_error *error);
/* After a pass: removes dead nodes, sorts and counts again, frees OWNED constants without a use.
 * Values keep their numbers, nodes do not. */
lk_status lk_graph_resolve(lk_graph *graph, lk_error *error);
/* After op_create of each node: drops attributes, post-ops, and values that no node, input or
 * output names, and takes exactly the memory for the rest. Values are numbered anew, in their
 * order; nodes stay. On failure nothing has changed. */
lk_status lk_graph_compact(lk_graph *graph, lk_error *error);

/* ---- what a loader could not read ---- */

/* Whether a failure tells of the part of a file that was to be read, and not of the machine or of
 * who wants no more of it: then the part may be left unread. */
bool lk_graph_may_leave_unread(lk_status status);
/* Makes `node`, whose outputs stay, one that was not read. `why`, which is copied, has the status
 * and the sentence with which it is refused where something reads it. */
lk_status lk_graph_leave_unread(lk_graph *graph, int32_t node, const lk_error *why,
                                lk_error *error);
typedef lk_status lk_unread_fn(void *arg, lk_status status, const char *sentence, lk_error *error);
/* Calls `visit` for each such node of a linked graph, and of its bodies, that something reads,
 * until it fails. */
lk_status lk_graph_visit_unread(const lk_graph *graph, lk_unread_fn *visit, void *arg,
                                lk_error *error);
/* The status and the sentence of the first such node that something reads. Those that nothing
 * reads are removed. */
lk_status lk_graph_refuse_unread(lk_graph *graph, lk_error *error);

/* Frees an OWNED constant that has no use. */
void lk_graph_free_unused(const lk_graph *graph, lk_value *value);

/* The node that makes `value`, which may be LK_NO_VALUE, or LK_NO_NODE. */
static inline int32_t lk_value_producer_index(const lk_graph *graph, int32_t value) {
  return value != LK_NO_VALUE ? graph->values[value].producer : LK_NO_NODE;
}
/* A constant that no run can replace. */
bool lk_value_is_constant(const lk_graph *graph, int32_t value);

/* The node as the ABI describes it, with its post-ops; `inputs` [n_inputs]. It is called after the
 * first output that is wanted: no other node writes that value. */
lk_node_desc lk_node_describe(const lk_graph *graph, const lk_node *node,
                              const lk_node_input *inputs);
/* What a sentence calls the node: its name, or that of its output when it has none. */
const char *lk_node_label(const lk_graph *graph, const lk_node *node);

/* ---- for passes ---- */

/* NULL: there is none of that name, or it is of another lk_attr_type. */
const lk_attr *lk_node_attr(const lk_node *node, const char *name, uint32_t type);
int64_t lk_node_attr_int(const lk_node *node, const char *name, int64_t fallback);
float lk_node_attr_float(const lk_node *node, const char *name, float fallback);
/* The attribute is there, and a string. */
bool lk_node_attr_is_text(const lk_node *node, const char *name, const char *text);
bool lk_node_is(const lk_node *node, const char *op_type); /* alive, in ai.onnx */

/* Nothing may run the bodies any more. */
void lk_node_destroy_bodies(lk_node *node);
/* Gives sizes to dimensions that inputs leave open: the first that makes no sense fails, as
 * lk_fixed_dim says. */
lk_status lk_graph_fix_dims(lk_graph *graph, const lk_fixed_dim *fixed, uint32_t n_fixed,
                            lk_error *error);

/* How many of the inputs were captured by bodies. */
uint32_t lk_node_captured(const lk_node *node);
/* How many inputs are the operator's own: those behind them belong to its post-ops only. */
uint32_t lk_node_own_inputs(const lk_node *node);

/* Node `node` reads `value` (or LK_NO_VALUE) from now on as its input `index`. */
void lk_node_set_input(lk_graph *graph, int32_t node, uint32_t index, int32_t value);
/* Replaces every use of a value v by a node with replacement[v] ([n_values]; itself: no change).
 * Graph outputs stay the values that they are. */
void lk_graph_replace_values(lk_graph *graph, const int32_t *replacement);
/* Marks a node dead and takes back its uses; outputs lose their producer. An OWNED constant that
 * loses its last use is freed, here and in lk_node_set_input: read it before. */
void lk_graph_remove_node(lk_graph *graph, int32_t node);
lk_status lk_node_append_input(lk_graph *graph, int32_t node, int32_t value, lk_error *error);
lk_status lk_node_append_post_op(lk_graph *graph, int32_t node, lk_post_op post_op,
                                 lk_error *error);
/* Notes in `fused` what went into the node. */
lk_status lk_node_note_fused(lk_graph *graph, int32_t node, const char *what, lk_error *error);
/* Node `node` writes `value` from now on as its output `index`. */
void lk_node_set_output(lk_graph *graph, int32_t node, uint32_t index, int32_t value);
/* Makes `value` a constant of the graph that takes over `data` (from the graph's allocator). */
void lk_value_set_constant(lk_graph *graph, int32_t value, const lk_tensor_desc *desc, void *data);
/* Makes `value` a constant of the graph with a copy of the elements of `from`. The errors are
 * lk_tensor_size's, and LK_OUT_OF_MEMORY. */
lk_status lk_value_copy_constant(lk_graph *graph, int32_t value, const lk_tensor *from,
                                 lk_error *error);
/* Makes `value` a constant whose bytes stay where they are, until a program has been made. */
void lk_value_lend_constant(lk_graph *graph, int32_t value, const lk_tensor *constant);
/* The element type: a constant's own, else the declared one; LK_DTYPE_NONE: not known. */
uint32_t lk_value_dtype(const lk_value *value);
/* Copies element `index` of a constant of a real or integer type as double; unaligned data too. */
double lk_constant_number(const lk_value *value, size_t index);
