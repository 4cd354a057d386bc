/* What a primitive of the host's own oneDNN is made of, as the records of a key.
 *
 * A spec is a builder of fixed capacity, on the host's stack: it is begun for a kind of
 * primitive, and then gets descriptors, attributes, post-ops and parameters, each of which becomes
 * a record of numbers. The records are the key, and a primitive is made of the same records
 * (onednn.h): what is not in a spec cannot get into the primitive, and what differs in a spec
 * is another primitive. No record has an address in it.
 *
 * Attributes are part of the spec because oneDNN can set the masks of scales and zero points,
 * but does not tell them: of a dnnl_primitive_attr_t of the host's, no key would be complete.
 * Scales, zero points, slopes and operands of post-ops themselves are memory that a run gets, so
 * they are not in the key. The bounds of an eltwise clip are numbers of the primitive; bounds that
 * are known at run time only are two binary post-ops (max, min) with an operand of one element.
 *
 * Records are compared in their order, so a host adds them in one order. A failure is remembered,
 * and told when the primitive is asked for. A spec is one thread's at a time.
 *
 * This header is not included by latchkey.h. It takes any oneDNN 3.x, by the oneapi/dnnl/dnnl.h of
 * the host; what came after 3.0 is there where the host's header has it. C11 and C++17, by GCC or
 * Clang.
 */
#ifndef LATCHKEY_ONEDNN_KEY_H
#define LATCHKEY_ONEDNN_KEY_H

#include <latchkey/key.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if DNNL_VERSION_MAJOR != 3
#error "latchkey/onednn_key.h is for oneDNN 3.x"
#endif

enum {
  LK_DNNL_NUMBERS = 768, /* of all records of a spec */
  LK_DNNL_RECORDS = 48,
  LK_DNNL_POST_OPS = 32, /* of a primitive, as oneDNN has it */
  LK_DNNL_WHY = 160      /* of a sentence */
};

typedef enum lk_dnnl_record_kind {
  LK_DNNL_PRIMITIVE = 0, /* kind, recipe, engine's kind and index, threads */
  LK_DNNL_MODES = 1,     /* scratchpad, fpmath mode, apply to int, accumulation, deterministic */
  LK_DNNL_DESC = 2,      /* argument, descriptor */
  LK_DNNL_SCALES = 3,    /* argument, mask, type, dimensions of groups */
  LK_DNNL_ZERO_POINTS = 4,
  LK_DNNL_ROUNDING = 5,        /* argument, mode */
  LK_DNNL_POST_SUM = 6,        /* scale, zero point, type */
  LK_DNNL_POST_ELTWISE = 7,    /* algorithm, alpha, beta */
  LK_DNNL_POST_BINARY = 8,     /* algorithm, descriptor */
  LK_DNNL_POST_PRELU = 9,      /* mask */
  LK_DNNL_POST_DEPTHWISE = 10, /* types of weights, bias, dst; kernel, stride, padding */
  LK_DNNL_PARAMETER = 11       /* the host's own numbers, by a name of the host's */
} lk_dnnl_record_kind;

/* The first two records, which every spec begins with. */
enum { LK_DNNL_PRIMITIVE_COUNT = 5, LK_DNNL_MODES_AT = 5 };

/* What the numbers of a record do not say. */
typedef struct lk_dnnl_note {
  lk_dnnl_record_kind kind;
  uint32_t desc_at;              /* number of the record where a descriptor begins */
  const_dnnl_memory_desc_t desc; /* the host's; NULL: it is made of the numbers */
  dnnl_memory_desc_t made;       /* so, while the primitive is built */
} lk_dnnl_note;

/* Begun by lk_dnnl_begin (onednn.h). Members are read by these headers only. */
typedef struct lk_dnnl_spec {
  lk_status status; /* of the first failure, and its reason */
  uint32_t n_records, n_numbers;
  char why[LK_DNNL_WHY];
  char lacks[LK_DNNL_WHY]; /* what `make` has asked for in vain; "": nothing */
  lk_key_attr records[LK_DNNL_RECORDS];
  lk_dnnl_note notes[LK_DNNL_RECORDS];
  int64_t numbers[LK_DNNL_NUMBERS];
} lk_dnnl_spec;

/* ---- writing records ---- */

#ifdef __GNUC__
__attribute__((format(printf, 3, 4)))
#endif
static inline void
lk_dnnl_reject(lk_dnnl_spec *spec, lk_status status, const char *format, ...) {
  va_list arguments;
  if (spec->status != LK_OK) return;
  spec->status = status;
  va_start(arguments, format);
  (void)vsnprintf(spec->why, sizeof spec->why, format, arguments);
  va_end(arguments);
}

/* Begins a record; what is put next belongs to it. */
static inline void lk_dnnl_open_record(lk_dnnl_spec *spec, lk_dnnl_record_kind kind,
                                       const char *name) {
  lk_key_attr *record = NULL;
  lk_dnnl_note *note = NULL;
  if (spec->status != LK_OK) return;
  if (spec->n_records == LK_DNNL_RECORDS) {
    lk_dnnl_reject(spec, LK_OUT_OF_RANGE, "it has more than 48 records");
    return;
  }
  record = &spec->records[spec->n_records];
  note = &spec->notes[spec->n_records++];
  record->name = name;
  record->values = spec->numbers + spec->n_numbers;
  record->count = 0;
  record->type = LK_KEY_ATTR_INTS;
  note->kind = kind;
  note->desc_at = 0;
  note->desc = NULL;
  note->made = NULL;
}

static inline void lk_dnnl_put_all(lk_dnnl_spec *spec, const int64_t *numbers, int count) {
  if (spec->status != LK_OK || count < 1) return;
  if ((uint32_t)count > LK_DNNL_NUMBERS - spec->n_numbers) {
    lk_dnnl_reject(spec, LK_OUT_OF_RANGE, "it has more than 768 numbers");
    return;
  }
  memcpy(spec->numbers + spec->n_numbers, numbers, (size_t)count * sizeof *numbers);
  spec->n_numbers += (uint32_t)count;
  spec->records[spec->n_records - 1].count += (uint32_t)count;
}

static inline void lk_dnnl_put(lk_dnnl_spec *spec, int64_t number) {
  lk_dnnl_put_all(spec, &number, 1);
}

/* The numbers of a record. Of a float that the host has added, they are its bits. */
static inline const int64_t *lk_dnnl_numbers(const lk_key_attr *record) {
  return (const int64_t *)record->values;
}

/* Begins a record of an argument, of which a primitive has one of each kind: of two, a run could
 * give one only. */
static inline void lk_dnnl_open_argument(lk_dnnl_spec *spec, lk_dnnl_record_kind kind,
                                         const char *name, int arg) {
  uint32_t i = 0;
  for (i = 0; i < spec->n_records && spec->status == LK_OK; i++) {
    if (spec->notes[i].kind == kind && lk_dnnl_numbers(&spec->records[i])[0] == arg) {
      lk_dnnl_reject(spec, LK_INVALID_ARGUMENT, "argument %d has two records \"%s\": add one", arg,
                     name);
    }
  }
  lk_dnnl_open_record(spec, kind, name);
  lk_dnnl_put(spec, arg);
}

/* A float as its bits, as keys have it: 0.0 and -0.0 are different, and all NaNs are one. */
static inline void lk_dnnl_put_float(lk_dnnl_spec *spec, float number) {
  uint32_t bits = 0;
  memcpy(&bits, &number, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000) bits = 0x7fc00000;
  lk_dnnl_put(spec, (int64_t)bits);
}

static inline float lk_dnnl_read_float(int64_t number) {
  const uint32_t bits = (uint32_t)number;
  float value = 0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* ---- descriptors ---- */

/* Bytes from the first element to behind the last one, as oneDNN counts them. `blocks` (NULL: all
 * are 1): elements of a dimension that are in one block. `*out` is DNNL_RUNTIME_SIZE_VAL where a
 * number is known at run time only. False: they are too many. */
static inline bool lk_dnnl_count_bytes(dnnl_data_type_t type, int n_dims, const int64_t *dims,
                                       const int64_t *strides, const int64_t *blocks,
                                       int64_t *out) {
  int64_t elements = 0, in_block = 1, count = 0, reach = 0;
  bool is_known = true;
  int i = 0;
  *out = 0;
  for (i = 0; i < n_dims; i++) {
    if (dims[i] == 0) return true;
    if (dims[i] == DNNL_RUNTIME_DIM_VAL || strides[i] == DNNL_RUNTIME_DIM_VAL) is_known = false;
  }
  if (!is_known) {
    *out = (int64_t)DNNL_RUNTIME_SIZE_VAL;
    return true;
  }
  for (i = 0; i < n_dims; i++) {
    count = blocks != NULL ? dims[i] / blocks[i] : dims[i];
    if (blocks != NULL) in_block *= blocks[i];
    if (__builtin_mul_overflow(count, count == 1 ? 1 : strides[i], &reach)) return false;
    if (reach > elements) elements = reach;
  }
  if (elements == 1) elements = in_block;
  return !__builtin_mul_overflow(elements, (int64_t)dnnl_data_type_size(type), out);
}

/* A descriptor that queries do not tell, or not all of, as its bytes. oneDNN copies its descriptors
 * whole, so copies of one have equal bytes; two that were made apart may not, and are then built
 * twice. */
static inline void lk_dnnl_put_opaque(lk_dnnl_spec *spec, const_dnnl_memory_desc_t desc) {
#if DNNL_VERSION_MINOR >= 5
  enum { MOST = 256 };
  size_t bytes = 0;
  int64_t blob[MOST];
  memset(blob, 0, sizeof blob);
  if (dnnl_memory_desc_get_blob(NULL, &bytes, desc) != dnnl_success || bytes > sizeof blob ||
      dnnl_memory_desc_get_blob((uint8_t *)blob, &bytes, desc) != dnnl_success) {
    lk_dnnl_reject(spec, LK_UNSUPPORTED, "oneDNN does not tell the bytes of a descriptor");
    return;
  }
  lk_dnnl_put_all(spec, blob, (int)((bytes + sizeof *blob - 1) / sizeof *blob));
#else
  (void)desc;
  lk_dnnl_reject(spec, LK_UNSUPPORTED,
                 "a descriptor has an opaque layout, or sums behind weights, and oneDNN tells the "
                 "bytes of descriptors from 3.5 on");
#endif
}

/* What queries tell of a blocked layout, and the bytes of the descriptor where they do not tell
 * all. They do not tell of the sums that oneDNN keeps behind weights of 8 bits, for sources of s8,
 * for zero points of the source, or for both; but such a descriptor is larger than its elements.
 * Nor do they tell of s8 weights of an RNN that they are for a source of s8, which takes no bytes:
 * they have blocks. `bytes`: of the descriptor. */
static inline void lk_dnnl_put_blocked(lk_dnnl_spec *spec, const_dnnl_memory_desc_t desc,
                                       dnnl_data_type_t type, int n_dims, int64_t bytes) {
  const dnnl_dims_t *padded = NULL, *offsets = NULL, *strides = NULL, *sizes = NULL,
                    *indices = NULL;
  dnnl_dim_t offset = 0;
  dnnl_dims_t blocks;
  int64_t told = 0;
  int32_t n_blocks = 0;
  bool is_all = true;
  int i = 0;
  if (dnnl_memory_desc_query(desc, dnnl_query_padded_dims, (void *)&padded) != dnnl_success ||
      dnnl_memory_desc_query(desc, dnnl_query_padded_offsets, (void *)&offsets) != dnnl_success ||
      dnnl_memory_desc_query(desc, dnnl_query_strides, (void *)&strides) != dnnl_success ||
      dnnl_memory_desc_query(desc, dnnl_query_inner_blks, (void *)&sizes) != dnnl_success ||
      dnnl_memory_desc_query(desc, dnnl_query_inner_idxs, (void *)&indices) != dnnl_success ||
      dnnl_memory_desc_query(desc, dnnl_query_submemory_offset_s64, &offset) != dnnl_success ||
      dnnl_memory_desc_query(desc, dnnl_query_inner_nblks_s32, &n_blocks) != dnnl_success) {
    lk_dnnl_reject(spec, LK_UNSUPPORTED, "oneDNN does not tell the layout of a descriptor");
    return;
  }
  lk_dnnl_put_all(spec, *padded, n_dims);
  lk_dnnl_put_all(spec, *offsets, n_dims);
  lk_dnnl_put(spec, offset);
  lk_dnnl_put_all(spec, *strides, n_dims);
  lk_dnnl_put(spec, n_blocks);
  lk_dnnl_put_all(spec, *sizes, n_blocks);
  lk_dnnl_put_all(spec, *indices, n_blocks);
  for (i = 0; i < n_dims; i++) blocks[i] = 1;
  for (i = 0; i < n_blocks; i++) blocks[(*indices)[i]] *= (*sizes)[i];
  if (!lk_dnnl_count_bytes(type, n_dims, *padded, *strides, blocks, &told)) {
    lk_dnnl_reject(spec, LK_OUT_OF_RANGE, "a descriptor has more than 2^63 bytes");
    return;
  }
  is_all = told == bytes;
#if DNNL_VERSION_MINOR >= 5
  if (type == dnnl_s8 && n_blocks > 0) is_all = false;
#endif
  if (!is_all) lk_dnnl_put_opaque(spec, desc);
}

/* Rank, type, format kind, bytes, dimensions, and the layout. */
static inline void lk_dnnl_put_desc(lk_dnnl_spec *spec, const_dnnl_memory_desc_t desc) {
  int32_t n_dims = 0;
  dnnl_data_type_t type = dnnl_data_type_undef;
  dnnl_format_kind_t kind = dnnl_format_kind_undef;
  const dnnl_dims_t *dims = NULL;
  int64_t bytes = 0;
  if (desc == NULL) {
    lk_dnnl_reject(spec, LK_INVALID_ARGUMENT, "a descriptor is NULL");
    return;
  }
  if (dnnl_memory_desc_query(desc, dnnl_query_ndims_s32, &n_dims) != dnnl_success ||
      dnnl_memory_desc_query(desc, dnnl_query_data_type, &type) != dnnl_success ||
      dnnl_memory_desc_query(desc, dnnl_query_format_kind, &kind) != dnnl_success ||
      dnnl_memory_desc_query(desc, dnnl_query_dims, (void *)&dims) != dnnl_success) {
    lk_dnnl_reject(spec, LK_UNSUPPORTED, "oneDNN does not tell what a descriptor is");
    return;
  }
  if (n_dims == 0) {
    lk_dnnl_reject(spec, LK_INVALID_ARGUMENT,
                   "a descriptor has no dimensions: leave out an argument that is absent");
    return;
  }
  bytes = (int64_t)dnnl_memory_desc_get_size(desc);
  lk_dnnl_put(spec, n_dims);
  lk_dnnl_put(spec, (int64_t)type);
  lk_dnnl_put(spec, (int64_t)kind);
  lk_dnnl_put(spec, bytes);
  lk_dnnl_put_all(spec, *dims, n_dims);
  if (kind == dnnl_blocked) {
    lk_dnnl_put_blocked(spec, desc, type, n_dims, bytes);
  } else if (kind != dnnl_format_kind_any) {
    lk_dnnl_put_opaque(spec, desc);
  }
}

/* Strides of rows that lie one behind the other. False: they are too large. */
static inline bool lk_dnnl_make_dense(int n_dims, const int64_t *dims, int64_t *out_strides) {
  int64_t step = 1;
  int i = 0;
  for (i = n_dims - 1; i >= 0; i--) {
    out_strides[i] = step;
    if (dims[i] == DNNL_RUNTIME_DIM_VAL || step == DNNL_RUNTIME_DIM_VAL) {
      step = DNNL_RUNTIME_DIM_VAL;
    } else if (__builtin_mul_overflow(step, dims[i] > 1 ? dims[i] : 1, &step)) {
      return false;
    }
  }
  return true;
}

/* The same of dense or strided tensors, of which no descriptor is made before a primitive is built.
 * `strides` NULL: rows lie one behind the other. */
static inline void lk_dnnl_put_strided(lk_dnnl_spec *spec, dnnl_data_type_t type, int n_dims,
                                       const int64_t *dims, const int64_t *strides) {
  int64_t dense[DNNL_MAX_NDIMS];
  int64_t bytes = 0;
  bool fits = true;
  int i = 0;
  if (n_dims < 1 || n_dims > DNNL_MAX_NDIMS) {
    lk_dnnl_reject(spec, LK_OUT_OF_RANGE, "a tensor has %d dimensions, and 1 to 12 are possible",
                   n_dims);
    return;
  }
  if (strides == NULL) {
    fits = lk_dnnl_make_dense(n_dims, dims, dense);
    strides = dense;
  }
  if (!fits || !lk_dnnl_count_bytes(type, n_dims, dims, strides, NULL, &bytes)) {
    lk_dnnl_reject(spec, LK_OUT_OF_RANGE, "a tensor has more than 2^63 bytes");
    return;
  }
  lk_dnnl_put(spec, n_dims);
  lk_dnnl_put(spec, (int64_t)type);
  lk_dnnl_put(spec, (int64_t)dnnl_blocked);
  lk_dnnl_put(spec, bytes);
  lk_dnnl_put_all(spec, dims, n_dims);
  lk_dnnl_put_all(spec, dims, n_dims); /* padded */
  for (i = 0; i < n_dims + 1; i++) lk_dnnl_put(spec, 0);
  lk_dnnl_put_all(spec, strides, n_dims);
  lk_dnnl_put(spec, 0);
}

static inline void lk_dnnl_open_desc(lk_dnnl_spec *spec, int arg) {
  lk_dnnl_open_argument(spec, LK_DNNL_DESC, "dnnl.desc", arg);
  if (spec->status == LK_OK) spec->notes[spec->n_records - 1].desc_at = 1;
}

/* Adds the argument `arg` (DNNL_ARG_SRC, ...) as a descriptor has it, which must stay until the
 * primitive was got. An argument is added once; one that is absent, such as a bias, is left out. */
static inline void lk_dnnl_add_desc(lk_dnnl_spec *spec, int arg, const_dnnl_memory_desc_t desc) {
  lk_dnnl_open_desc(spec, arg);
  lk_dnnl_put_desc(spec, desc);
  if (spec->status == LK_OK) spec->notes[spec->n_records - 1].desc = desc;
}

/* The same as type, dimensions and strides in elements (NULL: dense). No descriptor is made before
 * the primitive is built; the key is that of the descriptor which is made of them then, for types
 * of 8 bits and more. A dimension or stride may be DNNL_RUNTIME_DIM_VAL. */
static inline void lk_dnnl_add_tensor(lk_dnnl_spec *spec, int arg, dnnl_data_type_t type,
                                      int n_dims, const int64_t *dims, const int64_t *strides) {
  lk_dnnl_open_desc(spec, arg);
  lk_dnnl_put_strided(spec, type, n_dims, dims, strides);
}

/* The same in the layout that the primitive likes best (dnnl_format_tag_any). */
static inline void lk_dnnl_add_any(lk_dnnl_spec *spec, int arg, dnnl_data_type_t type, int n_dims,
                                   const int64_t *dims) {
  lk_dnnl_open_desc(spec, arg);
  if (n_dims < 1 || n_dims > DNNL_MAX_NDIMS) {
    lk_dnnl_reject(spec, LK_OUT_OF_RANGE, "a tensor has %d dimensions, and 1 to 12 are possible",
                   n_dims);
    return;
  }
  lk_dnnl_put(spec, n_dims);
  lk_dnnl_put(spec, (int64_t)type);
  lk_dnnl_put(spec, (int64_t)dnnl_format_kind_any);
  lk_dnnl_put(spec, 0);
  lk_dnnl_put_all(spec, dims, n_dims);
}

/* ---- the host's own parameters ---- */

static inline void lk_dnnl_open_parameter(lk_dnnl_spec *spec, const char *name) {
  if (name == NULL) {
    lk_dnnl_reject(spec, LK_INVALID_ARGUMENT, "a parameter has no name: it is NULL");
  } else if (strncmp(name, "dnnl.", 5) == 0) {
    lk_dnnl_reject(spec, LK_INVALID_ARGUMENT,
                   "a parameter is named \"%.64s\": take a name that does not begin with \"dnnl.\"",
                   name);
  }
  lk_dnnl_open_record(spec, LK_DNNL_PARAMETER, name);
}

/* Numbers that the host's code makes the primitive of: strides, axes, algorithm, epsilon. `name` is
 * a text that stays, and does not begin with "dnnl."; `count` is 1 or more. */
static inline void lk_dnnl_add_ints(lk_dnnl_spec *spec, const char *name, const int64_t *numbers,
                                    int count) {
  lk_dnnl_open_parameter(spec, name);
  if (numbers == NULL || count < 1) {
    lk_dnnl_reject(spec, LK_INVALID_ARGUMENT,
                   "parameter \"%.64s\" has no numbers: %d at %s, give 1 or more", name, count,
                   numbers == NULL ? "NULL" : "an address");
  }
  lk_dnnl_put_all(spec, numbers, count);
}
static inline void lk_dnnl_add_int(lk_dnnl_spec *spec, const char *name, int64_t number) {
  lk_dnnl_add_ints(spec, name, &number, 1);
}
/* Read by lk_dnnl_float. */
static inline void lk_dnnl_add_float(lk_dnnl_spec *spec, const char *name, float number) {
  lk_dnnl_open_parameter(spec, name);
  lk_dnnl_put_float(spec, number);
  /* The library runs on little-endian machines only: the float is the first half of its number. */
  if (spec->status == LK_OK) spec->records[spec->n_records - 1].type = LK_KEY_ATTR_FLOATS;
}

/* ---- attributes ---- */

static inline void lk_dnnl_set_mode(lk_dnnl_spec *spec, int which, int64_t mode) {
  if (spec->status == LK_OK) spec->numbers[LK_DNNL_MODES_AT + which] = mode;
}

/* A spec begins with `dnnl_scratchpad_mode_user`: leases have the scratchpads. With
 * `dnnl_scratchpad_mode_library`, a primitive may run on the thread that has built it only, or, of
 * a oneDNN with ONEDNN_ENABLE_CONCURRENT_EXEC, on one thread at a time: that is for contexts whose
 * cache is per thread (LK_CACHE_THREAD). */
static inline void lk_dnnl_set_scratchpad(lk_dnnl_spec *spec, dnnl_scratchpad_mode_t mode) {
  lk_dnnl_set_mode(spec, 0, (int64_t)mode);
}
/* Which types f32 may be rounded to. A spec begins with oneDNN's default mode of this moment
 * (dnnl_set_default_fpmath_mode). */
static inline void lk_dnnl_set_fpmath_mode(lk_dnnl_spec *spec, dnnl_fpmath_mode_t mode) {
  lk_dnnl_set_mode(spec, 1, (int64_t)mode);
}
#if DNNL_VERSION_MINOR >= 4
/* Whether the fpmath mode is for primitives of integers, too, as weights of integers beside a
 * source of f32 need it. A spec begins with false. */
static inline void lk_dnnl_set_fpmath_apply_to_int(lk_dnnl_spec *spec, bool is_applied) {
  lk_dnnl_set_mode(spec, 2, is_applied ? 1 : 0);
}
/* In which type sums are kept. A spec begins with `dnnl_accumulation_mode_strict`. */
static inline void lk_dnnl_set_accumulation(lk_dnnl_spec *spec, dnnl_accumulation_mode_t mode) {
  lk_dnnl_set_mode(spec, 3, (int64_t)mode);
}
/* Whether runs must give equal bits for equal data. A spec begins with false. */
static inline void lk_dnnl_set_deterministic(lk_dnnl_spec *spec, bool is_deterministic) {
  lk_dnnl_set_mode(spec, 4, is_deterministic ? 1 : 0);
}
#endif

static inline void lk_dnnl_put_quantization(lk_dnnl_spec *spec, int mask, dnnl_data_type_t type,
                                            int n_groups, const int64_t *groups) {
  lk_dnnl_put(spec, mask);
  lk_dnnl_put(spec, (int64_t)type);
  lk_dnnl_put_all(spec, groups, n_groups);
}

/* The argument `arg` has scales of f32, one for each index of the dimensions in `mask`; a run gives
 * them as DNNL_ARG_ATTR_SCALES | arg. */
static inline void lk_dnnl_add_scales(lk_dnnl_spec *spec, int arg, int mask) {
  lk_dnnl_open_argument(spec, LK_DNNL_SCALES, "dnnl.scales", arg);
  lk_dnnl_put_quantization(spec, mask, dnnl_f32, 0, NULL);
}
/* Zero points of s32, in the same way: DNNL_ARG_ATTR_ZERO_POINTS | arg. */
static inline void lk_dnnl_add_zero_points(lk_dnnl_spec *spec, int arg, int mask) {
  lk_dnnl_open_argument(spec, LK_DNNL_ZERO_POINTS, "dnnl.zero_points", arg);
  lk_dnnl_put_quantization(spec, mask, dnnl_s32, 0, NULL);
}
#if DNNL_VERSION_MINOR >= 4
/* Scales of another type, or one for each group of `groups` elements along the last `n_groups`
 * dimensions. */
static inline void lk_dnnl_add_scales_of(lk_dnnl_spec *spec, int arg, int mask,
                                         dnnl_data_type_t type, int n_groups,
                                         const int64_t *groups) {
  lk_dnnl_open_argument(spec, LK_DNNL_SCALES, "dnnl.scales", arg);
  lk_dnnl_put_quantization(spec, mask, type, n_groups, groups);
}
/* Zero points of another type, or of groups, in the same way. */
static inline void lk_dnnl_add_zero_points_of(lk_dnnl_spec *spec, int arg, int mask,
                                              dnnl_data_type_t type, int n_groups,
                                              const int64_t *groups) {
  lk_dnnl_open_argument(spec, LK_DNNL_ZERO_POINTS, "dnnl.zero_points", arg);
  lk_dnnl_put_quantization(spec, mask, type, n_groups, groups);
}
#endif
#if DNNL_VERSION_MINOR >= 6
/* How the argument `arg`, such as DNNL_ARG_DST, is rounded to its type. */
static inline void lk_dnnl_add_rounding(lk_dnnl_spec *spec, int arg, dnnl_rounding_mode_t mode) {
  lk_dnnl_open_argument(spec, LK_DNNL_ROUNDING, "dnnl.rounding", arg);
  lk_dnnl_put(spec, (int64_t)mode);
}
#endif

/* ---- post-ops, in their order; a run gives what they need as oneDNN has it ---- */

static inline bool lk_dnnl_is_post_op(lk_dnnl_record_kind kind) {
  return kind >= LK_DNNL_POST_SUM && kind <= LK_DNNL_POST_DEPTHWISE;
}

/* Of more, oneDNN says that it has no memory, and not why. */
static inline void lk_dnnl_open_post_op(lk_dnnl_spec *spec, lk_dnnl_record_kind kind,
                                        const char *name) {
  uint32_t i = 0;
  int count = 0;
  for (i = 0; i < spec->n_records; i++) count += lk_dnnl_is_post_op(spec->notes[i].kind) ? 1 : 0;
  if (count == LK_DNNL_POST_OPS) {
    lk_dnnl_reject(spec, LK_OUT_OF_RANGE, "it has more than 32 post-ops, and oneDNN takes no more");
  }
  lk_dnnl_open_record(spec, kind, name);
}

/* dst = result + `scale` * (dst - `zero_point`): a run reads what is in its dst. `type`
 * dnnl_data_type_undef: dst is read in its own type, and otherwise as `type`, of as many bytes. */
static inline void lk_dnnl_add_post_sum(lk_dnnl_spec *spec, float scale, int32_t zero_point,
                                        dnnl_data_type_t type) {
  lk_dnnl_open_post_op(spec, LK_DNNL_POST_SUM, "dnnl.post_sum");
  lk_dnnl_put_float(spec, scale);
  lk_dnnl_put(spec, zero_point);
  lk_dnnl_put(spec, (int64_t)type);
}

/* dst = `algorithm` of the result (dnnl_eltwise_relu, ...), which says what `alpha` and `beta`
 * are. */
static inline void lk_dnnl_add_post_eltwise(lk_dnnl_spec *spec, dnnl_alg_kind_t algorithm,
                                            float alpha, float beta) {
  lk_dnnl_open_post_op(spec, LK_DNNL_POST_ELTWISE, "dnnl.post_eltwise");
  lk_dnnl_put(spec, (int64_t)algorithm);
  lk_dnnl_put_float(spec, alpha);
  lk_dnnl_put_float(spec, beta);
}

static inline void lk_dnnl_open_post_binary(lk_dnnl_spec *spec, dnnl_alg_kind_t algorithm) {
  lk_dnnl_open_post_op(spec, LK_DNNL_POST_BINARY, "dnnl.post_binary");
  lk_dnnl_put(spec, (int64_t)algorithm);
  if (spec->status == LK_OK) spec->notes[spec->n_records - 1].desc_at = 1;
}
/* The operand is DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1 of a run, dense or strided
 * as for lk_dnnl_add_tensor. */
static inline void lk_dnnl_add_post_binary(lk_dnnl_spec *spec, dnnl_alg_kind_t algorithm,
                                           dnnl_data_type_t type, int n_dims, const int64_t *dims,
                                           const int64_t *strides) {
  lk_dnnl_open_post_binary(spec, algorithm);
  lk_dnnl_put_strided(spec, type, n_dims, dims, strides);
}
/* The same as a descriptor has it, which must stay until the primitive was got. */
static inline void lk_dnnl_add_post_binary_desc(lk_dnnl_spec *spec, dnnl_alg_kind_t algorithm,
                                                const_dnnl_memory_desc_t desc) {
  lk_dnnl_open_post_binary(spec, algorithm);
  lk_dnnl_put_desc(spec, desc);
  if (spec->status == LK_OK) spec->notes[spec->n_records - 1].desc = desc;
}

/* The slopes are DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_WEIGHTS of a run: of f32, one for
 * each index of the dimensions of dst in `mask`. They lie in the order of these dimensions, but
 * with channels, dimension 1, innermost, also where dst has its channels outside of others: slopes
 * of channels and columns of an nchw dst, mask 10, lie as [column][channel]. */
static inline void lk_dnnl_add_post_prelu(lk_dnnl_spec *spec, int mask) {
  lk_dnnl_open_post_op(spec, LK_DNNL_POST_PRELU, "dnnl.post_prelu");
  lk_dnnl_put(spec, mask);
}

/* A depthwise convolution of the result. A run gives its weights and bias as
 * DNNL_ARG_ATTR_POST_OP_DW | DNNL_ARG_WEIGHTS and | DNNL_ARG_BIAS; `bias` dnnl_data_type_undef:
 * there is none. */
static inline void lk_dnnl_add_post_depthwise(lk_dnnl_spec *spec, dnnl_data_type_t weights,
                                              dnnl_data_type_t bias, dnnl_data_type_t dst,
                                              int64_t kernel, int64_t stride, int64_t padding) {
  lk_dnnl_open_post_op(spec, LK_DNNL_POST_DEPTHWISE, "dnnl.post_depthwise");
  lk_dnnl_put(spec, (int64_t)weights);
  lk_dnnl_put(spec, (int64_t)bias);
  lk_dnnl_put(spec, (int64_t)dst);
  lk_dnnl_put(spec, kernel);
  lk_dnnl_put(spec, stride);
  lk_dnnl_put(spec, padding);
}

static inline void lk_dnnl_read_binary(lk_dnnl_spec *spec, const_dnnl_post_ops_t from, int index) {
  dnnl_alg_kind_t algorithm = dnnl_alg_kind_undef;
  const_dnnl_memory_desc_t desc = NULL;
  if (dnnl_post_ops_get_params_binary(from, index, &algorithm, &desc) != dnnl_success) {
    lk_dnnl_reject(spec, LK_UNSUPPORTED, "oneDNN does not tell a binary post-op");
    return;
  }
#if DNNL_VERSION_MINOR >= 9
  if (algorithm == dnnl_binary_select) {
    lk_dnnl_reject(spec, LK_UNSUPPORTED, "a binary post-op selects: it has two operands");
    return;
  }
#endif
  lk_dnnl_add_post_binary_desc(spec, algorithm, desc);
}

static inline void lk_dnnl_read_post_op(lk_dnnl_spec *spec, const_dnnl_post_ops_t from, int index) {
  dnnl_status_t status = dnnl_unimplemented;
  dnnl_alg_kind_t algorithm = dnnl_alg_kind_undef;
  dnnl_data_type_t types[3] = {dnnl_data_type_undef, dnnl_data_type_undef, dnnl_data_type_undef};
  dnnl_dim_t sizes[3] = {0, 0, 0};
  float alpha = 0, beta = 0;
  int32_t zero_point = 0;
  int mask = 0;
  switch ((int)dnnl_post_ops_get_kind(from, index)) {
  case dnnl_sum:
    status = dnnl_post_ops_get_params_sum(from, index, &alpha, &zero_point, types);
    if (status == dnnl_success) lk_dnnl_add_post_sum(spec, alpha, zero_point, types[0]);
    break;
  case dnnl_eltwise:
    status = dnnl_post_ops_get_params_eltwise(from, index, &algorithm, &alpha, &beta);
    if (status == dnnl_success) lk_dnnl_add_post_eltwise(spec, algorithm, alpha, beta);
    break;
  case dnnl_binary:
    status = dnnl_success;
    lk_dnnl_read_binary(spec, from, index);
    break;
  case dnnl_prelu:
    status = dnnl_post_ops_get_params_prelu(from, index, &mask);
    if (status == dnnl_success) lk_dnnl_add_post_prelu(spec, mask);
    break;
  case dnnl_convolution:
    status = dnnl_post_ops_get_params_dw(from, index, &types[0], &types[1], &types[2], &sizes[0],
                                         &sizes[1], &sizes[2]);
    if (status == dnnl_success) {
      lk_dnnl_add_post_depthwise(spec, types[0], types[1], types[2], sizes[0], sizes[1], sizes[2]);
    }
    break;
  default:
    break;
  }
  if (status != dnnl_success) {
    lk_dnnl_reject(spec, LK_UNSUPPORTED, "oneDNN does not tell a post-op");
  }
}

/* All post-ops of an object of oneDNN's, which must stay until the primitive was got. */
static inline void lk_dnnl_add_post_ops(lk_dnnl_spec *spec, const_dnnl_post_ops_t from) {
  int i = 0;
  for (i = 0; i < dnnl_post_ops_len(from); i++) lk_dnnl_read_post_op(spec, from, i);
}

/* ---- reading, for the host's code that makes the primitive ---- */

/* Remembered for the sentence of a build that fails for it. Specs are the host's variables, and are
 * const where they are read only. */
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
static inline void
lk_dnnl_note_lack(const lk_dnnl_spec *spec, const char *format, ...) {
  lk_dnnl_spec *self = (lk_dnnl_spec *)(uintptr_t)spec;
  va_list arguments;
  if (self->lacks[0] != '\0') return;
  va_start(arguments, format);
  (void)vsnprintf(self->lacks, sizeof self->lacks, format, arguments);
  va_end(arguments);
}

/* The descriptor of an argument that may be absent, such as a bias; NULL: the spec has none. */
static inline const_dnnl_memory_desc_t lk_dnnl_find_desc(const lk_dnnl_spec *spec, int arg) {
  uint32_t i = 0;
  for (i = 0; i < spec->n_records; i++) {
    const lk_dnnl_note *note = &spec->notes[i];
    if (note->kind == LK_DNNL_DESC && lk_dnnl_numbers(&spec->records[i])[0] == arg) {
      return note->desc != NULL ? note->desc : note->made;
    }
  }
  return NULL;
}

/* The descriptor of an argument. Without one, NULL, and the build fails (lk_dnnl_get). */
static inline const_dnnl_memory_desc_t lk_dnnl_desc(const lk_dnnl_spec *spec, int arg) {
  const_dnnl_memory_desc_t found = lk_dnnl_find_desc(spec, arg);
  if (found == NULL) lk_dnnl_note_lack(spec, "argument %d", arg);
  return found;
}

/* Numbers that were added by that name, and how many (`out_count` may be NULL). NULL, and 0: there
 * are none, and the build goes on. A float is among them as its bits. */
static inline const int64_t *lk_dnnl_ints(const lk_dnnl_spec *spec, const char *name,
                                          int *out_count) {
  uint32_t i = 0;
  if (out_count != NULL) *out_count = 0;
  for (i = 0; i < spec->n_records && name != NULL; i++) {
    const lk_key_attr *record = &spec->records[i];
    if (spec->notes[i].kind == LK_DNNL_PARAMETER && strcmp(record->name, name) == 0) {
      if (out_count != NULL) *out_count = (int)record->count;
      return lk_dnnl_numbers(record);
    }
  }
  return NULL;
}
/* Those that must be there: without any by that name, the build fails (lk_dnnl_get), and this is
 * NULL. */
static inline const int64_t *lk_dnnl_need(const lk_dnnl_spec *spec, const char *name) {
  const int64_t *found = lk_dnnl_ints(spec, name, NULL);
  if (found == NULL) lk_dnnl_note_lack(spec, "number '%s'", name != NULL ? name : "NULL");
  return found;
}
/* The first number that lk_dnnl_add_int or lk_dnnl_add_ints has added by that name. Without one, 0,
 * and the build fails: ask lk_dnnl_ints for one that may be absent. */
static inline int64_t lk_dnnl_int(const lk_dnnl_spec *spec, const char *name) {
  const int64_t *found = lk_dnnl_need(spec, name);
  return found != NULL ? *found : 0;
}
/* What lk_dnnl_add_float has added by that name. Without it, 0, and the build fails. */
static inline float lk_dnnl_float(const lk_dnnl_spec *spec, const char *name) {
  const int64_t *found = lk_dnnl_need(spec, name);
  return found != NULL ? lk_dnnl_read_float(*found) : 0;
}

#ifdef __cplusplus
}
#endif

#endif
