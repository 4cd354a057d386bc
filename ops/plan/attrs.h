/* The attributes of a node while it is created, read by way of the list of its row. */
#pragma once

#include <stddef.h>

#include "base/attrs.h"

typedef struct lk_op_class lk_op_class;

/* What `parse` sees of a node. Its attributes are those that the row lists, with the right types
 * and counts: others have been refused. The functions return the list's default where an attribute
 * is not given or not of the node's opset, and note what else is wrong, which fails the creation:
 * also that the row does not list what is asked for. */
typedef struct lk_attrs {
  const lk_op_class *class_;
  const lk_op_row *row;
  int32_t opset;
  uint32_t n_inputs, n_outputs;
  lk_status status;
  lk_error *error;
  const lk_node_desc *desc; /* for these functions alone */
} lk_attrs;

/* Of a node of the class, whose attributes have been checked. */
lk_attrs lk_attrs_of(const lk_op_class *class_, const lk_op_row *row, const lk_node_desc *desc,
                     lk_error *error);
/* Checks them: "failed to create ...". */
void lk_attrs_check(lk_attrs *attrs);

/* The row lists it, at any opset. For functions that serve several rows. */
bool lk_attrs_lists(const lk_attrs *attrs, const char *name);
/* The node has it. */
bool lk_attrs_has(lk_attrs *attrs, const char *name);
int64_t lk_attrs_int(lk_attrs *attrs, const char *name);
/* The same of a size; what is below `least` or over 2^40 is LK_OUT_OF_RANGE, but for a default. So
 * a few of them, and of dimensions, can be added. */
int64_t lk_attrs_int_from(lk_attrs *attrs, const char *name, int64_t least);
bool lk_attrs_bool(lk_attrs *attrs, const char *name); /* a flag */
float lk_attrs_float(lk_attrs *attrs, const char *name);
/* Copies up to `capacity` values and returns how many; 0: not there, and without a default. */
uint32_t lk_attrs_ints(lk_attrs *attrs, const char *name, int64_t *out, uint32_t capacity);
uint32_t lk_attrs_floats(lk_attrs *attrs, const char *name, float *out, uint32_t capacity);
/* Index of the string in the list's texts; 0 where it is not given. */
uint32_t lk_attrs_choice(lk_attrs *attrs, const char *name);
/* Borrowed from the node, without a 0 behind it; NULL: not there. */
const char *lk_attrs_string(lk_attrs *attrs, const char *name, uint32_t *out_length);
/* Borrowed from the node; NULL: not there. */
const char *const *lk_attrs_strings(lk_attrs *attrs, const char *name, uint32_t *out_count);
/* One of `types`, a bit for each; LK_TYPES_ANY: any that tensors can have. LK_DTYPE_NONE: none is
 * given. */
uint32_t lk_attrs_dtype(lk_attrs *attrs, const char *name, uint32_t types);
const lk_tensor *lk_attrs_tensor(lk_attrs *attrs, const char *name); /* NULL: not there */
/* Notes a failure of the operator's own, with the node's name put before it. */
void lk_attrs_fail(lk_attrs *attrs, lk_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A list that older opsets have as an attribute and newer ones as an input. */
typedef struct lk_list {
  bool given;
  uint32_t count;
  int64_t values[64];
} lk_list;

/* From the attribute, if it is there. */
void lk_attrs_list(lk_attrs *attrs, const char *name, lk_list *list);

/* ---- parameters that are attributes as they are ---- */

typedef enum lk_param_kind {
  LK_PARAM_INT,
  LK_PARAM_FLOAT,
  LK_PARAM_BOOL,  /* a flag; of texts, whether it is another one than the first */
  LK_PARAM_INDEX, /* of texts; an integer is any element type */
  LK_PARAM_LIST
} lk_param_kind;

typedef struct lk_param {
  const char *attr; /* NULL: the end */
  size_t offset;    /* in the parameters */
  lk_param_kind kind;
  int64_t least; /* of an integer that is a size, as of lk_attrs_int_from; 0: any integer */
} lk_param;

#define LK_PARAM_KIND(x)                                                                           \
  _Generic((x), int64_t                                                                            \
           : LK_PARAM_INT, float                                                                   \
           : LK_PARAM_FLOAT, bool                                                                  \
           : LK_PARAM_BOOL, uint32_t                                                               \
           : LK_PARAM_INDEX, lk_list                                                               \
           : LK_PARAM_LIST)
/* A member of parameters of `type`; .least may follow. */
#define LK_PARAM(type, member, attr_, ...)                                                         \
  {                                                                                                \
    .attr = (attr_), .offset = offsetof(type, member),                                             \
    .kind = LK_PARAM_KIND(((type *)NULL)->member), __VA_ARGS__                                     \
  }

/* Sets those of a list, which may be NULL. */
void lk_attrs_fill(lk_attrs *attrs, const lk_param *list, void *params);
