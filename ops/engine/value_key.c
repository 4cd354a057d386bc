/* Value keys: a work and an engine's state as a key, and back. */
#include "ops/engine/value_key.h"

#include <inttypes.h>

#include "base/status.h"

/* ---- the fields of a work ---- */

/* What a work has besides kind, tensors and post-ops, which have records of their own.
 * I(member, name, type): a whole number; A(member, name, count, type): so many numbers, by their
 * bits; F(member, name): a float; N(member): always 0. A member that is missing here does not
 * compile. */
#define LK_WORK_FIELD_LIST(I, A, F, N)                                                             \
  I(constants, CONSTANTS, uint32_t)                                                                \
  N(window.reserved)                                                                               \
  I(groups, GROUPS, int64_t)                                                                       \
  I(lrn.size, SIZE, int64_t)                                                                       \
  F(lrn.alpha, ALPHA)                                                                              \
  F(lrn.beta, BETA)                                                                                \
  F(lrn.bias, BIAS)                                                                                \
  N(lrn.reserved)                                                                                  \
  I(axes, AXES, uint32_t)                                                                          \
  I(pooling, POOLING, uint32_t)                                                                    \
  I(column_major, COLUMN_MAJOR, uint32_t)                                                          \
  I(is_centered, CENTERED, uint32_t)                                                               \
  F(epsilon, EPSILON)                                                                              \
  I(reducing, REDUCING, uint32_t)                                                                  \
  A(orders, ORDERS, LK_SHORTS, uint16_t)                                                           \
  F(factor, FACTOR)                                                                                \
  I(positive, POSITIVE, uint32_t)                                                                  \
  A(order, ORDER, LK_MAX_RANK, uint8_t)                                                            \
  I(bits.block, BLOCK, int64_t)                                                                    \
  I(bits.width, WIDTH, uint32_t)                                                                   \
  I(bits.takes_bytes, TAKES_BYTES, uint32_t)

/* Of one kind of works each, which others are not asked for one by one. */
#define LK_RECURRENT_FIELD_LIST(I, A, F, N)                                                        \
  I(recurrent.cell, CELL, uint32_t)                                                                \
  I(recurrent.direction, DIRECTION, uint32_t)                                                      \
  I(recurrent.batch_first, BATCH_FIRST, uint32_t)                                                  \
  I(recurrent.couples_forget, COUPLES_FORGET, uint32_t)                                            \
  F(recurrent.clip, CLIP)                                                                          \
  N(recurrent.reserved)                                                                            \
  A(recurrent.activations, ACTIVATIONS, LK_WORDS, uint32_t)                                        \
  A(recurrent.alphas, ALPHAS, LK_WORDS, uint32_t)                                                  \
  A(recurrent.betas, BETAS, LK_WORDS, uint32_t)
#define LK_RESIZE_FIELD_LIST(I, A, F, N)                                                           \
  I(resize.interpolation, INTERPOLATION, uint32_t)                                                 \
  I(resize.coordinates, COORDINATES, uint32_t)                                                     \
  I(resize.nearest, NEAREST, uint32_t)                                                             \
  I(resize.antialias, ANTIALIAS, uint32_t)                                                         \
  I(resize.exclude_outside, EXCLUDE_OUTSIDE, uint32_t)                                             \
  I(resize.rounded, ROUNDED, uint32_t)                                                             \
  F(resize.cubic, CUBIC)                                                                           \
  F(resize.extrapolation, EXTRAPOLATION)                                                           \
  A(resize.up, UP, LK_MAX_RANK, double)                                                            \
  A(resize.down, DOWN, LK_MAX_RANK, double)                                                        \
  A(resize.start, START, LK_MAX_RANK, double)                                                      \
  A(resize.end, END, LK_MAX_RANK, double)
#define LK_ATTENTION_FIELD_LIST(I, A, F, N)                                                        \
  I(attention.batch, BATCH, int64_t)                                                               \
  I(attention.heads, HEADS, int64_t)                                                               \
  I(attention.kv_heads, KV_HEADS, int64_t)                                                         \
  I(attention.queries, QUERIES, int64_t)                                                           \
  I(attention.keys, KEYS, int64_t)                                                                 \
  I(attention.size, HEAD_SIZE, int64_t)                                                            \
  I(attention.v_size, V_SIZE, int64_t)                                                             \
  A(attention.q, Q_PLACE, LK_PLACES, int64_t)                                                      \
  A(attention.k, K_PLACE, LK_PLACES, int64_t)                                                      \
  A(attention.v, V_PLACE, LK_PLACES, int64_t)                                                      \
  A(attention.y, Y_PLACE, LK_PLACES, int64_t)                                                      \
  I(attention.past, PAST, int64_t)                                                                 \
  I(attention.left, LEFT, int64_t)                                                                 \
  I(attention.right, RIGHT, int64_t)                                                               \
  I(attention.has_past, HAS_PAST, uint32_t)                                                        \
  F(attention.scale, SCALE)                                                                        \
  F(attention.softcap, SOFTCAP)                                                                    \
  I(attention.sink, SINK, uint32_t)                                                                \
  I(attention.stage, STAGE, uint32_t)                                                              \
  F(attention.hidden, HIDDEN)                                                                      \
  I(attention.mask_replaces, MASK_REPLACES, uint32_t)                                              \
  I(attention.empty_is_nan, EMPTY_IS_NAN, uint32_t)                                                \
  I(attention.nan_is_zero, NAN_IS_ZERO, uint32_t)                                                  \
  N(attention.reserved)

/* V(member, name): as many numbers as the window's rank, which their count tells. */
#define LK_WINDOW_FIELD_LIST(V)                                                                    \
  V(kernel, KERNEL)                                                                                \
  V(strides, STRIDES)                                                                              \
  V(dilations, DILATIONS)                                                                          \
  V(begin, PADS_BEGIN)                                                                             \
  V(out, POSITIONS)                                                                                \
  V(end, PADS_END)

enum { LK_SHORTS = 4, LK_WORDS = LK_WORK_DIRECTIONS * LK_WORK_ACTIVATIONS, LK_PLACES = 4 };

#define SIZE_I(member, name, type) +sizeof(type)
#define SIZE_V(member, name) +LK_MAX_SPATIAL * sizeof(int64_t)
#define SIZE_A(member, name, count, type) +(count) * sizeof(type)
#define SIZE_F(member, name) +sizeof(float)
#define SIZE_N(member) +sizeof(uint32_t)
#define SIZE_OF(member) sizeof(((lk_work *)0)->member)
_Static_assert(SIZE_OF(kind) + SIZE_OF(roles) + SIZE_OF(n_post_ops) + SIZE_OF(tensors) +
                       SIZE_OF(post_ops) +
                       SIZE_OF(window.rank) LK_WINDOW_FIELD_LIST(SIZE_V)
                           LK_WORK_FIELD_LIST(SIZE_I, SIZE_A, SIZE_F, SIZE_N)
                               LK_RECURRENT_FIELD_LIST(SIZE_I, SIZE_A, SIZE_F, SIZE_N)
                                   LK_RESIZE_FIELD_LIST(SIZE_I, SIZE_A, SIZE_F, SIZE_N)
                                       LK_ATTENTION_FIELD_LIST(SIZE_I, SIZE_A, SIZE_F, SIZE_N) ==
                   sizeof(lk_work),
               "each member of a work is in its key");

typedef enum form { FORM_INTEGERS, FORM_SPATIAL, FORM_FLOAT } form;

typedef struct field {
  uint32_t name;
  uint16_t offset, count;
  uint8_t size; /* of an element */
  form form;
} field;

#define ROW_I(member, name, type)                                                                  \
  {LK_WORD_##name, offsetof(lk_work, member), 1, sizeof(type), FORM_INTEGERS},
#define ROW_V(member, name)                                                                        \
  {LK_WORD_##name, offsetof(lk_work, window.member), LK_MAX_SPATIAL, sizeof(int64_t), FORM_SPATIAL},
#define ROW_A(member, name, count, type)                                                           \
  {LK_WORD_##name, offsetof(lk_work, member), count, sizeof(type), FORM_INTEGERS},
#define ROW_F(member, name)                                                                        \
  {LK_WORD_##name, offsetof(lk_work, member), 1, sizeof(float), FORM_FLOAT},
#define ROW_N(member)
static const field fields[] = {LK_WORK_FIELD_LIST(ROW_I, ROW_A, ROW_F, ROW_N)
                                   LK_RECURRENT_FIELD_LIST(ROW_I, ROW_A, ROW_F, ROW_N)
                                       LK_RESIZE_FIELD_LIST(ROW_I, ROW_A, ROW_F, ROW_N)
                                           LK_ATTENTION_FIELD_LIST(ROW_I, ROW_A, ROW_F, ROW_N)
                                               LK_WINDOW_FIELD_LIST(ROW_V)};
enum { N_FIELDS = sizeof fields / sizeof *fields };

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
    [LK_WORK_PRODUCT_BITS] = LK_WORD_PRODUCT_BITS,
    [LK_WORK_RECURRENT] = LK_WORD_RECURRENT,
    [LK_WORK_ATTENTION] = LK_WORD_ATTENTION,
    [LK_WORK_REORDER] = LK_WORD_REORDER,
    [LK_WORK_CONCAT] = LK_WORD_CONCAT,
    [LK_WORK_BATCH_NORM] = LK_WORD_BATCH_NORM,
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
    [LK_ROLE_RECURRENT_WEIGHTS] = LK_WORD_RECURRENT_WEIGHTS,
    [LK_ROLE_RECURRENT_ZERO] = LK_WORD_RECURRENT_ZERO,
    [LK_ROLE_RECURRENT_SCALE] = LK_WORD_RECURRENT_SCALE,
    [LK_ROLE_LENGTHS] = LK_WORD_LENGTHS,
    [LK_ROLE_STATE] = LK_WORD_STATE,
    [LK_ROLE_CELL] = LK_WORD_CELL,
    [LK_ROLE_PEEPHOLES] = LK_WORD_PEEPHOLES,
    [LK_ROLE_DST_STATE] = LK_WORD_DST_STATE,
    [LK_ROLE_DST_CELL] = LK_WORD_DST_CELL,
    [LK_ROLE_KEYS] = LK_WORD_KEYS,
    [LK_ROLE_VALUES] = LK_WORD_VALUES,
    [LK_ROLE_SINKS] = LK_WORD_SINKS,
    [LK_ROLE_SCORES] = LK_WORD_SCORES,
    [LK_ROLE_OPERAND] = LK_WORD_OPERAND,
};

const char *lk_work_kind_name(uint32_t kind) {
  return lk_word_text((lk_word)kinds[kind]);
}

/* ---- making one ---- */

/* What is 0 is left out, and reads as 0. All of this is in line, and no number goes through memory
 * that is narrower or wider than it: a key is made before every look-up. */

static inline void add_integer(lk_key_builder *builder, uint32_t name, int64_t value) {
  if (value != 0) lk_key_add_attr(builder, name, &value, 1);
}

typedef uint64_t pair __attribute__((vector_size(16)));

/* Whether all bytes are 0, of which there are a multiple of 8. Four pairs of words at a time, which
 * do not wait for each other. */
static inline bool is_zero(const void *bytes, size_t size) {
  const unsigned char *from = bytes;
  pair any[4] = {{0}};
  uint64_t rest = 0;
  size_t at = 0;
  for (; at + sizeof any <= size; at += sizeof any) {
    for (size_t i = 0; i < 4; i++) {
      pair words;
      memcpy(&words, from + at + i * sizeof words, sizeof words);
      any[i] |= words;
    }
  }
  for (; at < size; at += sizeof rest) {
    uint64_t word;
    memcpy(&word, from + at, sizeof word);
    rest |= word;
  }
  const pair all = (any[0] | any[1]) | (any[2] | any[3]);
  return (all[0] | all[1] | rest) == 0;
}

__attribute__((noinline)) static void add_some(lk_key_builder *builder, uint32_t name,
                                               const void *from, uint32_t count, size_t size) {
  int64_t values[LK_MAX_RANK] = {0};
  for (uint32_t i = 0; i < count; i++) {
    memcpy(&values[i], (const unsigned char *)from + i * size, size);
  }
  lk_key_add_attr(builder, name, values, count);
}
_Static_assert(LK_SHORTS <= LK_MAX_RANK && LK_WORDS <= LK_MAX_RANK && LK_PLACES <= LK_MAX_RANK,
               "add_some has room for them");

/* All of them together are a multiple of 8 bytes. */
static inline void add_array(lk_key_builder *builder, uint32_t name, const void *from,
                             uint32_t count, size_t size) {
  if (!is_zero(from, count * size)) add_some(builder, name, from, count, size);
}

#define COUNT_V(member, name) +1
#define PUT_V(member, name)                                                                        \
  lk_key_store(to, LK_RECORD_ATTR, used);                                                          \
  lk_key_store(to + sizeof(lk_record_prefix), LK_WORD_##name, rank);                               \
  memcpy(to + sizeof(lk_record_prefix) + sizeof(lk_key_attr_record), work->window.member,          \
         sizeof work->window.member);                                                              \
  to += used;
enum { N_SPATIAL = LK_WINDOW_FIELD_LIST(COUNT_V) };

/* All numbers of a window, with one look for room. */
static inline void add_window(lk_key_builder *builder, const lk_work *work) {
  const uint32_t rank = work->window.rank;
  const uint32_t record = sizeof(lk_record_prefix) + sizeof(lk_key_attr_record);
  const uint32_t used = record + rank * (uint32_t)sizeof(int64_t);
  const uint32_t room = N_SPATIAL * (record + LK_MAX_SPATIAL * (uint32_t)sizeof(int64_t));
  if (room > builder->capacity - builder->size && !lk_key_grow(builder, room)) return;
  uint8_t *to = builder->bytes + builder->size;
  LK_WINDOW_FIELD_LIST(PUT_V)
  builder->size += N_SPATIAL * used;
}

static inline void add_float(lk_key_builder *builder, uint32_t name, float value) {
  const uint32_t bits = lk_key_float(value);
  if (bits != 0) lk_key_add_float(builder, name, bits);
}

static void add_post_ops(lk_key_builder *builder, const lk_work *work) {
  for (uint32_t i = 0; i < work->n_post_ops; i++) {
    const lk_work_post_op *post_op = &work->post_ops[i];
    const lk_key_post_op record = {.kind = post_op->kind,
                                   .input = post_op->operand != 0 ? (int32_t)post_op->operand : -1,
                                   .alpha = lk_key_float(post_op->alpha),
                                   .beta = lk_key_float(post_op->beta)};
    lk_key_add_post_op(builder, &record);
  }
}

/* What keys of one kind of works begin with. */
static void begin_fixed(lk_key_builder *builder, const lk_allocator *allocator,
                        const lk_key_engine *engine, uint32_t kind) {
  const lk_key_head head = {.kind = LK_KIND_VALUE, .op = kinds[kind], .precision = LK_F32};
  lk_key_begin(builder, allocator, &head);
  lk_key_add_engine(builder, engine);
}

lk_status lk_value_key_fix(const lk_allocator *allocator, const lk_key_engine *engine,
                           uint32_t kind, lk_key **out_fixed, lk_error *error) {
  lk_key_builder builder;
  lk_key key;
  *out_fixed = NULL;
  begin_fixed(&builder, allocator, engine, kind);
  lk_status status = lk_key_finish(&builder, &key, error);
  if (status == LK_OK) status = lk_key_copy(allocator, &key, out_fixed, error);
  lk_key_builder_destroy(&builder);
  return status;
}

#define ADD_I(member, name, type) add_integer(builder, LK_WORD_##name, work->member);
#define ADD_A(member, name, count, type)                                                           \
  add_array(builder, LK_WORD_##name, &work->member, count, sizeof(type));
#define ADD_F(member, name) add_float(builder, LK_WORD_##name, work->member);
#define ADD_N(member)

__attribute__((noinline)) static void add_recurrent(lk_key_builder *builder, const lk_work *work) {
  LK_RECURRENT_FIELD_LIST(ADD_I, ADD_A, ADD_F, ADD_N)
}

__attribute__((noinline)) static void add_resize(lk_key_builder *builder, const lk_work *work) {
  LK_RESIZE_FIELD_LIST(ADD_I, ADD_A, ADD_F, ADD_N)
}

__attribute__((noinline)) static void add_attention(lk_key_builder *builder, const lk_work *work) {
  LK_ATTENTION_FIELD_LIST(ADD_I, ADD_A, ADD_F, ADD_N)
}

_Static_assert(SIZE_OF(recurrent) % 8 == 0 && SIZE_OF(resize) % 8 == 0 &&
                   SIZE_OF(attention) % 8 == 0,
               "is_zero takes them");
/* What only these kinds of works have is at the end. */
enum { END_BYTES = SIZE_OF(recurrent) + SIZE_OF(resize) + SIZE_OF(attention) };
_Static_assert(offsetof(lk_work, recurrent) + END_BYTES == sizeof(lk_work),
               "one look finds that there is none of it");

__attribute__((noinline)) static void add_end(lk_key_builder *builder, const lk_work *work) {
  if (!is_zero(&work->recurrent, sizeof work->recurrent)) add_recurrent(builder, work);
  if (!is_zero(&work->resize, sizeof work->resize)) add_resize(builder, work);
  if (!is_zero(&work->attention, sizeof work->attention)) add_attention(builder, work);
}

__attribute__((always_inline)) static inline void add_work(lk_key_builder *builder,
                                                           const lk_work *work) {
  for (uint32_t left = work->roles; left != 0; left &= left - 1) {
    const uint32_t role = (uint32_t)__builtin_ctz(left);
    const bool is_operand = role >= LK_ROLE_OPERAND;
    lk_key_add_tensor(builder, roles[is_operand ? LK_ROLE_OPERAND : role],
                      is_operand ? role - LK_ROLE_OPERAND : 0, &work->tensors[role]);
  }
  if (work->window.rank != 0) add_window(builder, work);
  LK_WORK_FIELD_LIST(ADD_I, ADD_A, ADD_F, ADD_N)
  if (!is_zero(&work->recurrent, END_BYTES)) add_end(builder, work);
  add_post_ops(builder, work);
}

void lk_value_key_begin(lk_key_builder *builder, const lk_allocator *allocator,
                        lk_key *const fixed[LK_WORK_KINDS], const lk_work *work) {
  lk_key_begin_from(builder, allocator, fixed[work->kind]);
  add_work(builder, work);
}

void lk_value_key_begin_anew(lk_key_builder *builder, const lk_allocator *allocator,
                             const lk_key_engine *engine, const lk_work *work) {
  begin_fixed(builder, allocator, engine, work->kind);
  lk_key_seal(builder);
  add_work(builder, work);
}

/* ---- reading it ---- */

bool lk_value_key_engine(const lk_key *key, lk_key_engine *out_engine) {
  lk_key_reader reader = lk_key_read(key);
  if (!lk_key_next(&reader) || reader.type != LK_RECORD_ENGINE) return false;
  *out_engine = *(const lk_key_engine *)reader.record;
  return true;
}

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
    if (of->name != name || (of->form == FORM_FLOAT) != is_float || count > of->count) continue;
    unsigned char *at = (unsigned char *)work + of->offset;
    for (uint32_t k = 0; k < count; k++) {
      if (of->size < sizeof *values && (uint64_t)values[k] >> (8 * of->size) != 0) {
        return fail_malformed("a number out of its range", error);
      }
      memcpy(at + (size_t)k * of->size, &values[k], of->size);
    }
    if (of->form == FORM_SPATIAL) {
      if (work->window.rank != 0 && work->window.rank != count) break;
      work->window.rank = count;
    }
    return LK_OK;
  }
  return fail_malformed("a number of an unknown name or count", error);
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
  for (uint32_t i = 0; i < out_work->n_post_ops; i++) {
    const uint32_t operand = out_work->post_ops[i].operand;
    if (operand != 0 && (out_work->roles >> operand & 1) == 0) {
      return fail_malformed("a post-op without its operand", error);
    }
  }
  return LK_OK;
}
