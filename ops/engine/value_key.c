/* Value keys: a work and an engine's state as a key, and back. */
#include "ops/engine/value_key.h"

#include <inttypes.h>

#include "base/status.h"

/* ---- the fields of a work ---- */

/* What a work has besides kind, tensors and post-ops, which have records of their own.
 * I(member, name, number of elements of it, type of one): whole numbers, or doubles by their bits;
 * F(member, name): a float; N(member): always 0. A member that is missing here does not compile. */
#define LK_WORK_FIELD_LIST(I, F, N)                                                                \
  I(constants, CONSTANTS, 1, uint32_t)                                                             \
  I(window.rank, SPATIAL, 1, uint32_t)                                                             \
  N(window.reserved)                                                                               \
  I(window.kernel, KERNEL, LK_MAX_SPATIAL, int64_t)                                                \
  I(window.strides, STRIDES, LK_MAX_SPATIAL, int64_t)                                              \
  I(window.dilations, DILATIONS, LK_MAX_SPATIAL, int64_t)                                          \
  I(window.begin, PADS_BEGIN, LK_MAX_SPATIAL, int64_t)                                             \
  I(window.out, POSITIONS, LK_MAX_SPATIAL, int64_t)                                                \
  I(window.end, PADS_END, LK_MAX_SPATIAL, int64_t)                                                 \
  I(groups, GROUPS, 1, int64_t)                                                                    \
  I(lrn.size, SIZE, 1, int64_t)                                                                    \
  F(lrn.alpha, ALPHA)                                                                              \
  F(lrn.beta, BETA)                                                                                \
  F(lrn.bias, BIAS)                                                                                \
  N(lrn.reserved)                                                                                  \
  I(axes, AXES, 1, uint32_t)                                                                       \
  I(pooling, POOLING, 1, uint32_t)                                                                 \
  I(column_major, COLUMN_MAJOR, 1, uint32_t)                                                       \
  I(is_centered, CENTERED, 1, uint32_t)                                                            \
  F(epsilon, EPSILON)                                                                              \
  I(reducing, REDUCING, 1, uint32_t)                                                               \
  I(orders, ORDERS, 4, uint16_t)                                                                   \
  I(resize.interpolation, INTERPOLATION, 1, uint32_t)                                              \
  I(resize.coordinates, COORDINATES, 1, uint32_t)                                                  \
  I(resize.nearest, NEAREST, 1, uint32_t)                                                          \
  I(resize.antialias, ANTIALIAS, 1, uint32_t)                                                      \
  I(resize.exclude_outside, EXCLUDE_OUTSIDE, 1, uint32_t)                                          \
  I(resize.rounded, ROUNDED, 1, uint32_t)                                                          \
  F(resize.cubic, CUBIC)                                                                           \
  F(resize.extrapolation, EXTRAPOLATION)                                                           \
  I(resize.up, UP, LK_MAX_RANK, double)                                                            \
  I(resize.down, DOWN, LK_MAX_RANK, double)                                                        \
  I(resize.start, START, LK_MAX_RANK, double)                                                      \
  I(resize.end, END, LK_MAX_RANK, double)

#define SIZE_I(member, name, count, type) +(count) * sizeof(type)
#define SIZE_F(member, name) +sizeof(float)
#define SIZE_N(member) +sizeof(uint32_t)
#define SIZE_OF(member) sizeof(((lk_work *)0)->member)
_Static_assert(SIZE_OF(kind) + SIZE_OF(roles) + SIZE_OF(n_post_ops) + SIZE_OF(tensors) +
                       SIZE_OF(post_ops) LK_WORK_FIELD_LIST(SIZE_I, SIZE_F, SIZE_N) ==
                   sizeof(lk_work),
               "each member of a work is in its key");

typedef struct field {
  uint32_t name;
  uint16_t offset, count;
  uint8_t size; /* of an element */
  bool is_float;
  bool is_spatial; /* elements from the window's rank on mean nothing */
} field;

#define ROW_I(member, name, count, type)                                                           \
  {LK_WORD_##name, offsetof(lk_work, member), count, sizeof(type),                                 \
   false,          (count) == LK_MAX_SPATIAL},
#define ROW_F(member, name) {LK_WORD_##name, offsetof(lk_work, member), 1, 4, true, false},
#define ROW_N(member)
static const field fields[] = {LK_WORK_FIELD_LIST(ROW_I, ROW_F, ROW_N)};
enum { N_FIELDS = sizeof fields / sizeof *fields, MOST_ELEMENTS = LK_MAX_RANK };

/* ---- names of kinds and roles ---- */

static const uint32_t kinds[LK_WORK_KINDS] = {
    [LK_WORK_CONV] = LK_WORD_CONV,
    [LK_WORK_CONV_TRANSPOSED] = LK_WORD_CONV_TRANSPOSED,
    [LK_WORK_PRODUCT] = LK_WORD_PRODUCT,
    [LK_WORK_SOFTMAX] = LK_WORD_SOFTMAX,
    [LK_WORK_LOG_SOFTMAX] = LK_WORD_LOG_SOFTMAX,
    [LK_WORK_HARDMAX] = LK_WORD_HARDMAX,
    [LK_WORK_POOL] = LK_WORD_POOL,
    [LK_WORK_LRN] = LK_WORD_LRN,
    [LK_WORK_LAYER_NORM] = LK_WORD_LAYER_NORM,
    [LK_WORK_GROUP_NORM] = LK_WORD_GROUP_NORM,
    [LK_WORK_ELEMENT] = LK_WORD_ELEMENT,
    [LK_WORK_REDUCE] = LK_WORD_REDUCE,
    [LK_WORK_RESIZE] = LK_WORD_RESIZE,
};

static const uint32_t roles[LK_ROLE_OPERAND + 1] = {
    [LK_ROLE_SRC] = LK_WORD_SRC,
    [LK_ROLE_WEIGHTS] = LK_WORD_WEIGHTS,
    [LK_ROLE_BIAS] = LK_WORD_BIAS,
    [LK_ROLE_DST] = LK_WORD_DST,
    [LK_ROLE_INDICES] = LK_WORD_INDICES,
    [LK_ROLE_SCALE] = LK_WORD_SCALE,
    [LK_ROLE_SHIFT] = LK_WORD_SHIFT,
    [LK_ROLE_MEAN] = LK_WORD_MEAN,
    [LK_ROLE_DEVIATION] = LK_WORD_DEVIATION,
    [LK_ROLE_SRC_ZERO] = LK_WORD_SRC_ZERO,
    [LK_ROLE_WEIGHTS_ZERO] = LK_WORD_WEIGHTS_ZERO,
    [LK_ROLE_DST_ZERO] = LK_WORD_DST_ZERO,
    [LK_ROLE_SRC_SCALE] = LK_WORD_SRC_SCALE,
    [LK_ROLE_WEIGHTS_SCALE] = LK_WORD_WEIGHTS_SCALE,
    [LK_ROLE_DST_SCALE] = LK_WORD_DST_SCALE,
    [LK_ROLE_OPERAND] = LK_WORD_OPERAND,
};

/* ---- making one ---- */

static void add_field(lk_key_builder *builder, const field *of, const lk_work *work) {
  const unsigned char *at = (const unsigned char *)work + of->offset;
  const uint32_t count = of->is_spatial ? work->window.rank : of->count;
  int64_t values[MOST_ELEMENTS] = {0};
  bool any = false;
  for (uint32_t i = 0; i < count && i < of->count; i++) {
    memcpy(&values[i], at + (size_t)i * of->size, of->size);
    any = any || values[i] != 0;
  }
  if (!any) return; /* reads as 0 */
  if (of->is_float) {
    lk_key_add_float(builder, of->name, (uint32_t)values[0]);
  } else {
    lk_key_add_attr(builder, of->name, values, count);
  }
}

void lk_value_key_begin(lk_key_builder *builder, const lk_allocator *allocator,
                        const lk_key_engine *engine, const lk_work *work) {
  const lk_key_head head = {.kind = LK_KIND_VALUE, .op = kinds[work->kind], .precision = LK_F32};
  lk_key_begin(builder, allocator, &head);
  lk_key_add_engine(builder, engine);
  for (uint32_t left = work->roles; left != 0; left &= left - 1) {
    const uint32_t role = (uint32_t)__builtin_ctz(left);
    const bool is_operand = role >= LK_ROLE_OPERAND;
    lk_key_add_tensor(builder, roles[is_operand ? LK_ROLE_OPERAND : role],
                      is_operand ? role - LK_ROLE_OPERAND : 0, &work->tensors[role]);
  }
  for (uint32_t i = 0; i < N_FIELDS; i++) add_field(builder, &fields[i], work);
  for (uint32_t i = 0; i < work->n_post_ops; i++) {
    const lk_work_post_op *post_op = &work->post_ops[i];
    const lk_key_post_op record = {.kind = post_op->kind,
                                   .input = post_op->operand != 0 ? (int32_t)post_op->operand : -1,
                                   .alpha = lk_key_float(post_op->alpha),
                                   .beta = lk_key_float(post_op->beta)};
    lk_key_add_post_op(builder, &record);
  }
}

/* ---- reading it ---- */

static lk_status fail_malformed(const char *what, lk_error *error) {
  return lk_fail(error, LK_MALFORMED, "failed to read a value key: it has %s, which no work is",
                 what);
}

/* `count`: what a name is not found among. */
static uint32_t find_word(const uint32_t *words, uint32_t count, uint32_t word) {
  uint32_t i = 0;
  while (i < count && words[i] != word) i++;
  return i;
}

static lk_status read_tensor(const lk_key_tensor *record, const int64_t *dims, lk_work *work,
                             lk_error *error) {
  const uint32_t found = find_word(roles, LK_ROLE_OPERAND + 1, record->role);
  const bool is_operand = found == LK_ROLE_OPERAND;
  if (found > LK_ROLE_OPERAND || record->rank > LK_MAX_RANK ||
      record->index >= (is_operand ? LK_WORK_OPERANDS : 1)) {
    return fail_malformed("a tensor of an unknown role, index or rank", error);
  }
  const uint32_t role = found + record->index;
  lk_tensor_desc *desc = &work->tensors[role];
  *desc = (lk_tensor_desc){
      .dtype = record->dtype, .rank = (uint32_t)record->rank, .layout = record->layout};
  memcpy(desc->dims, dims, record->rank * sizeof *dims);
  work->roles |= 1U << role;
  return LK_OK;
}

static lk_status read_numbers(uint32_t name, bool is_float, const int64_t *values, uint32_t count,
                              lk_work *work, lk_error *error) {
  for (uint32_t i = 0; i < N_FIELDS; i++) {
    const field *of = &fields[i];
    if (of->name != name || of->is_float != is_float || count > of->count) continue;
    unsigned char *at = (unsigned char *)work + of->offset;
    for (uint32_t k = 0; k < count; k++) memcpy(at + (size_t)k * of->size, &values[k], of->size);
    return LK_OK;
  }
  return fail_malformed("a number of an unknown name", error);
}

static lk_status read_post_op(const lk_key_post_op *record, lk_work *work, lk_error *error) {
  if (work->n_post_ops == LK_WORK_POST_OPS ||
      (record->input >= 0 && (record->input < LK_ROLE_OPERAND || record->input >= LK_ROLES))) {
    return fail_malformed("more post-ops, or an operand that is none", error);
  }
  lk_work_post_op *post_op = &work->post_ops[work->n_post_ops++];
  *post_op = (lk_work_post_op){.kind = record->kind,
                               .operand = record->input >= 0 ? (uint32_t)record->input : 0};
  memcpy(&post_op->alpha, &record->alpha, sizeof record->alpha);
  memcpy(&post_op->beta, &record->beta, sizeof record->beta);
  return LK_OK;
}

static lk_status read_record(const lk_key_reader *reader, lk_work *work, lk_error *error) {
  switch (reader->type) {
  case LK_RECORD_ENGINE:
    return LK_OK; /* who is asked to build knows itself */
  case LK_RECORD_TENSOR:
    return read_tensor(reader->record, reader->payload, work, error);
  case LK_RECORD_POST_OP:
    return read_post_op(reader->record, work, error);
  case LK_RECORD_ATTR: {
    const lk_key_attr_record *attr = reader->record;
    return read_numbers(attr->name, false, reader->payload, attr->count, work, error);
  }
  case LK_RECORD_FLOAT: {
    const lk_key_float_record *number = reader->record;
    const int64_t bits = number->value;
    return read_numbers(number->name, true, &bits, 1, work, error);
  }
  default:
    return fail_malformed("a record of an unknown type", error);
  }
}

lk_status lk_value_key_read(const lk_key *key, lk_work *out_work, lk_error *error) {
  const lk_key_head *head = lk_key_get_head(key);
  const uint32_t kind = find_word(kinds, LK_WORK_KINDS, head->op);
  memset(out_work, 0, sizeof *out_work);
  out_work->kind = kind;
  if (head->kind != LK_KIND_VALUE || kind == LK_WORK_KINDS) {
    return fail_malformed("another kind", error);
  }
  for (lk_key_reader reader = lk_key_read(key); lk_key_next(&reader);) {
    LK_RETURN_NOT_OK(read_record(&reader, out_work, error));
  }
  if (out_work->window.rank > LK_MAX_SPATIAL) {
    return fail_malformed("a window of many dimensions", error);
  }
  for (uint32_t i = 0; i < out_work->n_post_ops; i++) {
    const uint32_t operand = out_work->post_ops[i].operand;
    if (operand != 0 && (out_work->roles >> operand & 1) == 0) {
      return fail_malformed("a post-op without its operand", error);
    }
  }
  return LK_OK;
}
