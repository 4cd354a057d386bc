/* A host's own oneDNN, with Latchkey as the cache of its objects: primitives by key, arguments that
 * concurrent runs do not share, and weights that are packed once for each content.
 *
 *     lk_dnnl_spec spec;                       // on the stack
 *     lk_dnnl_begin(&cache, &spec, dnnl_matmul, 0);
 *     lk_dnnl_add_tensor(&spec, DNNL_ARG_SRC, ...); // descriptors, attributes, parameters
 *     lk_dnnl_get(&cache, &spec, make_matmul, &ref, NULL, &error);     // found, or built
 *     lk_dnnl_lease_begin(&cache, ref, &lease, &error);                   // arguments of this run
 *     lk_dnnl_set(&lease, DNNL_ARG_SRC, data, &error);
 *     lk_dnnl_run(&lease, stream, &error);
 *     lk_dnnl_lease_end(&lease);
 *     api->ref_release(ref);
 *
 * A program that includes this links the oneDNN whose header it includes. docs/onednn.md says more.
 *
 * Threads: an lk_dnnl is used by any number of threads at once, a spec and a lease by one. An
 * lk_dnnl outlives its leases.
 * Lifetime: lk_dnnl_close comes before the context is destroyed, and the executor that lk_dnnl_open
 * was given lives as long as lk_dnnl_get is used. The engine lives until the context was destroyed,
 * or its cache cleared and all references released, since primitives are of it.
 * Exceptions: of a C++ host that is compiled with them, what its functions and oneDNN throw in a
 * build or a packing is a failure of lk_dnnl_get or lk_dnnl_pack. Hosts in C, and C++ without
 * exceptions, cannot catch any, so nothing may be thrown there.
 */
#ifndef LATCHKEY_ONEDNN_H
#define LATCHKEY_ONEDNN_H

#include <latchkey/latchkey.h>
#include <latchkey/onednn_key.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <stdarg.h>
#include <stdio.h>
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL
#include <oneapi/dnnl/dnnl_threadpool.h>
#endif

#ifdef __cplusplus
#ifdef __cpp_exceptions
#include <exception>
#include <new>
#endif
extern "C" {
#endif

enum {
  LK_DNNL_ARGS = 32,          /* of a primitive */
  LK_DNNL_IDLE = 32,          /* sets of arguments that a primitive keeps for the next runs */
  LK_DNNL_MEMORY_BYTES = 256, /* of a memory object, about */
  LK_DNNL_STATE = 160,
  /* What a primitive is charged: no query of oneDNN tells what it allocates and how much code it
   * generates. On AVX-512, 3.14 takes 50 to 90 KiB for convolutions, softmax and activations, and
   * 640 for products, which have a kernel for each size of their blocks. */
  LK_DNNL_PRIMITIVE_BYTES = 96 * 1024,
  LK_DNNL_PRODUCT_BYTES = 640 * 1024 /* of matmul, inner product and rnn */
};

/* A host's oneDNN in a context. */
typedef struct lk_dnnl {
  const lk_api *api;
  lk_context *context;
  lk_executor *executor; /* whose primitives they are; NULL: the context's, for all of its users */
  dnnl_engine_t engine;
  int32_t engine_index;
  int32_t threads;           /* that primitives are made for */
  uint64_t primitive_bytes;  /* that each primitive is charged; 0: as above, by its kind */
  char state[LK_DNNL_STATE]; /* version, hash, instruction set, hints, runtime: in every key */
  lk_key *like;              /* the part of keys that is the same for all */
} lk_dnnl;

/* ---- errors ---- */

#ifdef __GNUC__
__attribute__((format(printf, 3, 4)))
#endif
static inline lk_status
lk_dnnl_fail(lk_error *error, lk_status status, const char *format, ...) {
  va_list arguments;
  if (error == NULL) return status;
  error->status = status;
  va_start(arguments, format);
  (void)vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return status;
}

/* A status of oneDNN's as one of the library's, with the sentence "failed to <what>: ...".
 * LK_UNSUPPORTED: there is no implementation; LK_INVALID_ARGUMENT: oneDNN refuses the arguments. */
static inline lk_status lk_dnnl_check(lk_error *error, dnnl_status_t status, const char *what) {
  switch (status) {
  case dnnl_success:
    return LK_OK;
  case dnnl_out_of_memory:
    return lk_dnnl_fail(error, LK_OUT_OF_MEMORY, "failed to %s: oneDNN is out of memory", what);
  case dnnl_unimplemented:
    return lk_dnnl_fail(error, LK_UNSUPPORTED,
                        "failed to %s: oneDNN has no implementation for these types and layouts",
                        what);
  case dnnl_invalid_arguments:
    return lk_dnnl_fail(error, LK_INVALID_ARGUMENT,
                        "failed to %s: oneDNN does not take these arguments", what);
  default:
    return lk_dnnl_fail(error, LK_INTERNAL, "failed to %s: oneDNN's status is %d (%s)", what,
                        (int)status, dnnl_status2str(status));
  }
}

/* Calls `fn`, and gives what it returns. What is thrown in it ends it, in between too, so what is
 * to be freed belongs into `arg`. It must not get into the library: who waits for a build or a
 * packing would wait for ever.
 * LK_OUT_OF_MEMORY: std::bad_alloc; LK_INTERNAL: anything else, with what() in the sentence
 * "failed to <what>: ...". */
static inline lk_status lk_dnnl_try(lk_status (*fn)(void *arg, lk_error *error), void *arg,
                                    const char *what, lk_error *error) {
#ifdef __cpp_exceptions
  try {
    return fn(arg, error);
  } catch (const std::bad_alloc &) {
    return lk_dnnl_fail(error, LK_OUT_OF_MEMORY, "failed to %s: std::bad_alloc was thrown", what);
  } catch (const std::exception &thrown) {
    return lk_dnnl_fail(error, LK_INTERNAL, "failed to %s: an exception was thrown: %s", what,
                        thrown.what());
  } catch (...) {
    return lk_dnnl_fail(error, LK_INTERNAL,
                        "failed to %s: something was thrown that is no std::exception", what);
  }
#else
  (void)what;
  return fn(arg, error);
#endif
}

/* ---- opening ---- */

/* What is the same in all keys. */
static inline void lk_dnnl_begin_desc(const lk_dnnl *self, lk_key_desc *out) {
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  out->scope = "latchkey/onednn.h";
  out->name = "primitive";
  out->tag = self->state;
}

/* Opens a host's oneDNN. `executor` may be NULL; `engine_index` is what the engine was created
 * with: a context has one engine of each kind and index, since oneDNN runs a primitive on streams
 * of its own engine only. `threads`, from 1, is how many threads runs will have: of a oneDNN on
 * OpenMP, the number that is in force where primitives are built and run; of one on a thread pool,
 * that of the pools. It may be changed (`self->threads`) while no other thread uses `self`. All
 * else that primitives depend on is asked for here: version and hash of oneDNN, its runtime, the
 * instruction set in force and the hints (which cannot be changed once oneDNN was asked for them).
 * LK_INVALID_ARGUMENT: a NULL, or no thread; LK_OUT_OF_MEMORY. */
static inline lk_status lk_dnnl_open(const lk_api *api, lk_context *context, lk_executor *executor,
                                     dnnl_engine_t engine, int32_t engine_index, int32_t threads,
                                     lk_dnnl *out, lk_error *error) {
  const dnnl_version_t *version = dnnl_version();
  lk_key_desc desc;
  memset(out, 0, sizeof *out);
  if (api == NULL || context == NULL || engine == NULL || threads < 1) {
    return lk_dnnl_fail(error, LK_INVALID_ARGUMENT,
                        "failed to open oneDNN: the table, context or engine is NULL or threads is "
                        "%d, all of them and 1 thread or more are required",
                        (int)threads);
  }
  out->api = api;
  out->context = context;
  out->executor = executor;
  out->engine = engine;
  out->engine_index = engine_index;
  out->threads = threads;
  (void)snprintf(out->state, sizeof out->state, "%d.%d.%d %.64s isa=%x hints=%x runtime=%x",
                 version->major, version->minor, version->patch, version->hash,
                 (unsigned)dnnl_get_effective_cpu_isa(), (unsigned)dnnl_get_cpu_isa_hints(),
                 version->cpu_runtime);
  lk_dnnl_begin_desc(out, &desc);
  return api->key_create(context, executor, &desc, &out->like, error);
}

/* Ends what open began, before the context is destroyed: `self` has a key of it. `self->executor`
 * lives as long as lk_dnnl_get is used. Primitives stay in the cache for those who open the same
 * oneDNN again, until the limits, cache_clear or the end of the executor or context ends them. */
static inline void lk_dnnl_close(lk_dnnl *self) {
  if (self->api != NULL) self->api->key_destroy(self->context, self->like);
  self->like = NULL;
}

/* ---- specs ---- */

/* Begins a spec for a primitive. A host that has several functions which make primitives of one
 * kind gives each a number, `recipe`. */
static inline void lk_dnnl_begin(const lk_dnnl *self, lk_dnnl_spec *spec,
                                 dnnl_primitive_kind_t kind, int32_t recipe) {
  dnnl_fpmath_mode_t math = dnnl_fpmath_mode_strict;
  dnnl_engine_kind_t engine_kind = dnnl_any_engine;
  (void)dnnl_get_default_fpmath_mode(&math);
  (void)dnnl_engine_get_kind(self->engine, &engine_kind);
  spec->status = LK_OK;
  spec->why[0] = '\0';
  spec->lacks[0] = '\0';
  spec->n_records = 0;
  spec->n_numbers = 0;
  lk_dnnl_open_record(spec, LK_DNNL_PRIMITIVE, "dnnl.primitive");
  lk_dnnl_put(spec, (int64_t)kind);
  lk_dnnl_put(spec, recipe);
  lk_dnnl_put(spec, (int64_t)engine_kind);
  lk_dnnl_put(spec, self->engine_index);
  lk_dnnl_put(spec, self->threads);
  lk_dnnl_open_record(spec, LK_DNNL_MODES, "dnnl.modes");
  lk_dnnl_put(spec, (int64_t)dnnl_scratchpad_mode_user);
  lk_dnnl_put(spec, (int64_t)math);
  lk_dnnl_put(spec, 0);
  lk_dnnl_put(spec, 0);
  lk_dnnl_put(spec, 0);
}

/* The key of a spec as key_create takes it, with `self->executor`, for hosts that print, find or
 * drop it. Valid as long as `self` and the spec stay as they are. A failure is the first that the
 * spec remembers. LK_INVALID_ARGUMENT: a descriptor is NULL or has no dimensions, an argument was
 * added twice, a parameter has no name or number or begins with "dnnl."; LK_UNSUPPORTED: oneDNN
 * does not tell what a descriptor or post-op is; LK_OUT_OF_RANGE: too many dimensions, bytes,
 * post-ops, records or numbers. */
static inline lk_status lk_dnnl_describe(const lk_dnnl *self, const lk_dnnl_spec *spec,
                                         lk_key_desc *out, lk_error *error) {
  lk_dnnl_begin_desc(self, out);
  if (spec->status != LK_OK) {
    return lk_dnnl_fail(error, spec->status, "failed to make the key of a primitive: %s",
                        spec->why);
  }
  out->n_attrs = spec->n_records;
  out->attrs = spec->records;
  return LK_OK;
}

/* ---- attributes and descriptors, made of the records ---- */

/* All of a primitive's modes are set, so that oneDNN's defaults of the moment do not matter. */
static inline dnnl_status_t lk_dnnl_make_modes(const int64_t *modes, dnnl_primitive_attr_t attr) {
  dnnl_status_t status =
      dnnl_primitive_attr_set_scratchpad_mode(attr, (dnnl_scratchpad_mode_t)modes[0]);
#if DNNL_VERSION_MINOR >= 4
  if (status == dnnl_success) {
    status =
        dnnl_primitive_attr_set_fpmath_mode_v2(attr, (dnnl_fpmath_mode_t)modes[1], (int)modes[2]);
  }
  if (status == dnnl_success) {
    status = dnnl_primitive_attr_set_accumulation_mode(attr, (dnnl_accumulation_mode_t)modes[3]);
  }
  if (status == dnnl_success) status = dnnl_primitive_attr_set_deterministic(attr, (int)modes[4]);
#else
  if (status == dnnl_success) {
    status = dnnl_primitive_attr_set_fpmath_mode(attr, (dnnl_fpmath_mode_t)modes[1]);
  }
#endif
  return status;
}

static inline dnnl_status_t lk_dnnl_make_quantization(const lk_key_attr *record, bool is_scales,
                                                      dnnl_primitive_attr_t attr) {
  const int64_t *v = lk_dnnl_numbers(record);
  const int arg = (int)v[0], mask = (int)v[1];
  const dnnl_data_type_t type = (dnnl_data_type_t)v[2];
  const int n_groups = (int)record->count - 3;
#if DNNL_VERSION_MINOR >= 4
  const int64_t *groups = n_groups > 0 ? v + 3 : NULL;
  if (is_scales && (n_groups > 0 || type != dnnl_f32)) {
    return dnnl_primitive_attr_set_scales(attr, arg, mask, n_groups, groups, type);
  }
  if (!is_scales && (n_groups > 0 || type != dnnl_s32)) {
    return dnnl_primitive_attr_set_zero_points(attr, arg, mask, n_groups, groups, type);
  }
#else
  (void)type;
  (void)n_groups;
#endif
  return is_scales ? dnnl_primitive_attr_set_scales_mask(attr, arg, mask)
                   : dnnl_primitive_attr_set_zero_points_mask(attr, arg, mask);
}

static inline dnnl_status_t lk_dnnl_make_post_op(const lk_key_attr *record,
                                                 const lk_dnnl_note *note, dnnl_post_ops_t to) {
  const int64_t *v = lk_dnnl_numbers(record);
  switch (note->kind) {
  case LK_DNNL_POST_SUM:
    return dnnl_post_ops_append_sum(to, lk_dnnl_read_float(v[0]), (int32_t)v[1],
                                    (dnnl_data_type_t)v[2]);
  case LK_DNNL_POST_ELTWISE:
    return dnnl_post_ops_append_eltwise(to, (dnnl_alg_kind_t)v[0], lk_dnnl_read_float(v[1]),
                                        lk_dnnl_read_float(v[2]));
  case LK_DNNL_POST_BINARY:
    return dnnl_post_ops_append_binary(to, (dnnl_alg_kind_t)v[0],
                                       note->desc != NULL ? note->desc : note->made);
  case LK_DNNL_POST_PRELU:
    return dnnl_post_ops_append_prelu(to, (int)v[0]);
  case LK_DNNL_POST_DEPTHWISE:
    return dnnl_post_ops_append_dw(to, (dnnl_data_type_t)v[0], (dnnl_data_type_t)v[1],
                                   (dnnl_data_type_t)v[2], v[3], v[4], v[5]);
  default:
    return dnnl_success;
  }
}

static inline dnnl_status_t lk_dnnl_make_record(const lk_key_attr *record, const lk_dnnl_note *note,
                                                dnnl_primitive_attr_t attr, dnnl_post_ops_t ops) {
  switch (note->kind) {
  case LK_DNNL_MODES:
    return lk_dnnl_make_modes(lk_dnnl_numbers(record), attr);
  case LK_DNNL_SCALES:
  case LK_DNNL_ZERO_POINTS:
    return lk_dnnl_make_quantization(record, note->kind == LK_DNNL_SCALES, attr);
#if DNNL_VERSION_MINOR >= 6
  case LK_DNNL_ROUNDING:
    return dnnl_primitive_attr_set_rounding(attr, (int)lk_dnnl_numbers(record)[0],
                                            (dnnl_rounding_mode_t)lk_dnnl_numbers(record)[1]);
#endif
  default:
    return lk_dnnl_make_post_op(record, note, ops);
  }
}

/* The attributes of a spec whose descriptors were made, and its post-ops, of which they have a
 * copy. Both are ended by the caller, also on failure. */
static inline dnnl_status_t lk_dnnl_make_attr(const lk_dnnl_spec *spec, dnnl_primitive_attr_t *attr,
                                              dnnl_post_ops_t *ops) {
  uint32_t i = 0;
  dnnl_status_t status = dnnl_primitive_attr_create(attr);
  if (status == dnnl_success) status = dnnl_post_ops_create(ops);
  for (i = 0; i < spec->n_records && status == dnnl_success; i++) {
    status = lk_dnnl_make_record(&spec->records[i], &spec->notes[i], *attr, *ops);
  }
  if (status == dnnl_success && dnnl_post_ops_len(*ops) > 0) {
    status = dnnl_primitive_attr_set_post_ops(*attr, *ops);
  }
  return status;
}

static inline void lk_dnnl_end_descs(lk_dnnl_spec *spec) {
  uint32_t i = 0;
  for (i = 0; i < spec->n_records; i++) {
    if (spec->notes[i].made != NULL) (void)dnnl_memory_desc_destroy(spec->notes[i].made);
    spec->notes[i].made = NULL;
  }
}

/* Those that are not the host's. Ended by lk_dnnl_end_descs, also on failure. */
static inline dnnl_status_t lk_dnnl_make_descs(lk_dnnl_spec *spec) {
  dnnl_status_t status = dnnl_success;
  uint32_t i = 0;
  for (i = 0; i < spec->n_records && status == dnnl_success; i++) {
    lk_dnnl_note *note = &spec->notes[i];
    const int64_t *v = lk_dnnl_numbers(&spec->records[i]) + note->desc_at;
    if (note->desc_at == 0 || note->desc != NULL) continue;
    status = v[2] == (int64_t)dnnl_format_kind_any
                 ? dnnl_memory_desc_create_with_tag(&note->made, (int)v[0], v + 4,
                                                    (dnnl_data_type_t)v[1], dnnl_format_tag_any)
                 : dnnl_memory_desc_create_with_strides(&note->made, (int)v[0], v + 4,
                                                        (dnnl_data_type_t)v[1], v + 5 + 3 * v[0]);
  }
  return status;
}

/* ---- values: a primitive with the arguments of its runs ---- */

/* An argument of runs. */
typedef struct lk_dnnl_argument {
  int arg;
  const_dnnl_memory_desc_t desc; /* of the primitive's descriptor, or `own` */
  dnnl_memory_desc_t own;
} lk_dnnl_argument;

/* The arguments of one run at a time. */
typedef struct lk_dnnl_slot {
  int n_args;
  uint32_t is_set; /* bit i: argument i has its data, or needs none */
  dnnl_exec_arg_t args[LK_DNNL_ARGS];
} lk_dnnl_slot;

typedef struct lk_dnnl_value {
  const lk_allocator *allocator;
  dnnl_engine_t engine;
  dnnl_primitive_desc_t desc;
  dnnl_primitive_t primitive;
  uint64_t bytes, slot_bytes; /* that it is charged, and for each slot in addition */
  uint64_t n_slots;
  lk_dnnl_slot *idle[LK_DNNL_IDLE];
  int n_args;
  lk_dnnl_argument args[LK_DNNL_ARGS];
} lk_dnnl_value;

static inline void lk_dnnl_destroy_slot(const lk_allocator *allocator, lk_dnnl_slot *slot) {
  int i = 0;
  if (slot == NULL) return;
  for (i = 0; i < slot->n_args; i++) (void)dnnl_memory_destroy(slot->args[i].memory);
  allocator->free(allocator->user, slot);
}

static inline void lk_dnnl_destroy_value(void *of, void *user) {
  lk_dnnl_value *self = (lk_dnnl_value *)of;
  int i = 0;
  (void)user;
  for (i = 0; i < LK_DNNL_IDLE; i++) lk_dnnl_destroy_slot(self->allocator, self->idle[i]);
  for (i = 0; i < self->n_args; i++) {
    if (self->args[i].own != NULL) (void)dnnl_memory_desc_destroy(self->args[i].own);
  }
  if (self->primitive != NULL) (void)dnnl_primitive_destroy(self->primitive);
  if (self->desc != NULL) (void)dnnl_primitive_desc_destroy(self->desc);
  self->allocator->free(self->allocator->user, self);
}

/* How oneDNN reads scales, zero points or slopes. */
typedef enum lk_dnnl_order {
  LK_DNNL_LINE = 0,         /* one dimension */
  LK_DNNL_ROWS = 1,         /* the last dimension innermost */
  LK_DNNL_CHANNELS_LAST = 2 /* dimension 1 innermost */
} lk_dnnl_order;

/* Of scales, zero points or slopes: for each index of the dimensions of `of` in `mask`, or of
 * groups of them along the last `n_groups` dimensions. */
static inline dnnl_status_t lk_dnnl_make_factors(const_dnnl_memory_desc_t of, int mask,
                                                 dnnl_data_type_t type, const int64_t *groups,
                                                 int n_groups, lk_dnnl_order order,
                                                 dnnl_memory_desc_t *out) {
  const dnnl_dims_t *dims = NULL;
  int64_t sizes[DNNL_MAX_NDIMS], strides[DNNL_MAX_NDIMS], count = 1;
  int32_t n_dims = 0;
  int i = 0;
  if (of == NULL) return dnnl_invalid_arguments;
  if (dnnl_memory_desc_query(of, dnnl_query_ndims_s32, &n_dims) != dnnl_success ||
      dnnl_memory_desc_query(of, dnnl_query_dims, (void *)&dims) != dnnl_success ||
      n_groups > n_dims) {
    return dnnl_invalid_arguments;
  }
  if (order == LK_DNNL_CHANNELS_LAST && n_dims > 1 && (mask >> 1 & 1) != 0) count = (*dims)[1];
  for (i = n_dims - 1; i >= 0; i--) {
    sizes[i] = (mask >> i & 1) != 0 ? (*dims)[i] : 1;
    if (i >= n_dims - n_groups && groups[i - (n_dims - n_groups)] > 0 && sizes[i] > 1) {
      sizes[i] /= groups[i - (n_dims - n_groups)];
    }
    if (order == LK_DNNL_CHANNELS_LAST && i == 1) {
      strides[i] = 1;
      continue;
    }
    strides[i] = count;
    if (__builtin_mul_overflow(count, sizes[i], &count)) return dnnl_invalid_arguments;
  }
  if (order == LK_DNNL_LINE) {
    n_dims = 1;
    sizes[0] = count;
    strides[0] = 1;
  }
  return dnnl_memory_desc_create_with_strides(out, n_dims, sizes, type, strides);
}

/* Adds an argument as the primitive has it, or as `own`, which is taken over, also on failure. */
static inline lk_status lk_dnnl_add_argument(lk_dnnl_value *self, int arg, dnnl_memory_desc_t own,
                                             lk_error *error) {
  const_dnnl_memory_desc_t found =
      own != NULL ? own : dnnl_primitive_desc_query_md(self->desc, dnnl_query_exec_arg_md, arg);
  lk_dnnl_argument *to = &self->args[self->n_args];
  int32_t n_dims = 0;
  if (found != NULL) (void)dnnl_memory_desc_query(found, dnnl_query_ndims_s32, &n_dims);
  if (self->n_args == LK_DNNL_ARGS || n_dims == 0) {
    if (own != NULL) (void)dnnl_memory_desc_destroy(own);
    return lk_dnnl_fail(error, LK_INVALID_ARGUMENT,
                        "failed to find argument %d of a primitive: it has %s", arg,
                        n_dims == 0 ? "none of that number" : "more than 32");
  }
  to->arg = arg;
  to->desc = found;
  to->own = own;
  self->n_args++;
  return LK_OK;
}

/* Whether the dimensions in `mask` are known before run time. */
static inline bool lk_dnnl_has_sizes(const_dnnl_memory_desc_t of, int mask) {
  const dnnl_dims_t *dims = NULL;
  int32_t n_dims = 0;
  int i = 0;
  if (of == NULL || dnnl_memory_desc_query(of, dnnl_query_ndims_s32, &n_dims) != dnnl_success ||
      dnnl_memory_desc_query(of, dnnl_query_dims, (void *)&dims) != dnnl_success) {
    return true; /* what is wrong is told where the factors are made */
  }
  for (i = 0; i < n_dims; i++) {
    if ((mask >> i & 1) != 0 && (*dims)[i] == DNNL_RUNTIME_DIM_VAL) return false;
  }
  return true;
}

static inline lk_status lk_dnnl_add_factors(lk_dnnl_value *self, int of, int mask,
                                            dnnl_data_type_t type, const int64_t *groups,
                                            int n_groups, lk_dnnl_order order, int arg,
                                            lk_error *error) {
  const_dnnl_memory_desc_t desc =
      dnnl_primitive_desc_query_md(self->desc, dnnl_query_exec_arg_md, of);
  dnnl_memory_desc_t own = NULL;
  lk_status status = LK_OK;
  if (!lk_dnnl_has_sizes(desc, mask)) {
    return lk_dnnl_fail(error, LK_INVALID_ARGUMENT,
                        "failed to describe scales, zero points or slopes: argument %d has a "
                        "dimension in mask %d that is known at run time only, and all of the mask "
                        "are needed before",
                        of, mask);
  }
  status =
      lk_dnnl_check(error, lk_dnnl_make_factors(desc, mask, type, groups, n_groups, order, &own),
                    "describe scales, zero points or slopes");
  return status == LK_OK ? lk_dnnl_add_argument(self, arg, own, error) : status;
}

/* The arguments that a record stands for. `index`: of the next post-op. */
static inline lk_status lk_dnnl_find_arguments(lk_dnnl_value *self, const lk_key_attr *record,
                                               lk_dnnl_record_kind kind, int index,
                                               lk_error *error) {
  const int64_t *v = lk_dnnl_numbers(record);
  const int n_groups =
      kind == LK_DNNL_SCALES || kind == LK_DNNL_ZERO_POINTS ? (int)record->count - 3 : 0;
  lk_status status = LK_OK;
  switch (kind) {
  case LK_DNNL_DESC:
    return lk_dnnl_add_argument(self, (int)v[0], NULL, error);
  case LK_DNNL_SCALES:
  case LK_DNNL_ZERO_POINTS:
    return lk_dnnl_add_factors(
        self, (int)v[0], (int)v[1], (dnnl_data_type_t)v[2], v + 3, n_groups,
        n_groups == 0 ? LK_DNNL_LINE : LK_DNNL_ROWS,
        (int)v[0] | (kind == LK_DNNL_SCALES ? DNNL_ARG_ATTR_SCALES : DNNL_ARG_ATTR_ZERO_POINTS),
        error);
  case LK_DNNL_POST_BINARY:
    return lk_dnnl_add_argument(self, DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1, NULL,
                                error);
  case LK_DNNL_POST_PRELU:
    return lk_dnnl_add_factors(self, DNNL_ARG_DST, (int)v[0], dnnl_f32, NULL, 0,
                               LK_DNNL_CHANNELS_LAST,
                               DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_WEIGHTS, error);
  case LK_DNNL_POST_DEPTHWISE:
    status = lk_dnnl_add_argument(self, DNNL_ARG_ATTR_POST_OP_DW | DNNL_ARG_WEIGHTS, NULL, error);
    if (status == LK_OK && v[1] != (int64_t)dnnl_data_type_undef) {
      status = lk_dnnl_add_argument(self, DNNL_ARG_ATTR_POST_OP_DW | DNNL_ARG_BIAS, NULL, error);
    }
    return status;
  default:
    return LK_OK;
  }
}

static inline lk_status lk_dnnl_find_all_arguments(lk_dnnl_value *self, const lk_dnnl_spec *spec,
                                                   lk_error *error) {
  const_dnnl_memory_desc_t scratch =
      dnnl_primitive_desc_query_md(self->desc, dnnl_query_scratchpad_md, 0);
  const size_t scratch_bytes = scratch != NULL ? dnnl_memory_desc_get_size(scratch) : 0;
  lk_status status = LK_OK;
  int n_post_ops = 0;
  uint32_t i = 0;
  for (i = 0; i < spec->n_records && status == LK_OK; i++) {
    const lk_dnnl_record_kind kind = spec->notes[i].kind;
    status = lk_dnnl_find_arguments(self, &spec->records[i], kind, n_post_ops, error);
    if (lk_dnnl_is_post_op(kind)) n_post_ops++;
  }
  if (status == LK_OK && scratch_bytes > 0) {
    status = lk_dnnl_add_argument(self, DNNL_ARG_SCRATCHPAD, NULL, error);
  }
  self->slot_bytes = sizeof(lk_dnnl_slot) + (uint64_t)self->n_args * LK_DNNL_MEMORY_BYTES +
                     (uint64_t)scratch_bytes;
  return status;
}

/* ---- get or create ---- */

/* Makes the descriptor of a primitive from a spec and the attributes in it, and from nothing
 * else: what it takes from elsewhere is not in the key. It may throw where lk_dnnl_get is called by
 * C++ with exceptions. */
typedef dnnl_status_t (*lk_dnnl_make_fn)(const lk_dnnl_spec *spec, dnnl_engine_t engine,
                                         const_dnnl_primitive_attr_t attr,
                                         dnnl_primitive_desc_t *out);

typedef struct lk_dnnl_build_arg {
  const lk_dnnl *self;
  lk_dnnl_spec *spec;
  lk_dnnl_make_fn make;
  lk_dnnl_value *value;       /* that is built */
  dnnl_primitive_attr_t attr; /* this and `ops`: ended by lk_dnnl_end_build */
  dnnl_post_ops_t ops;
} lk_dnnl_build_arg;

/* By the host's code. What that has asked for in vain may have come into a descriptor as 0. */
static inline lk_status lk_dnnl_describe_primitive(lk_dnnl_build_arg *from, lk_error *error) {
  dnnl_status_t status = dnnl_success;
  from->spec->lacks[0] = '\0';
  status = from->make(from->spec, from->value->engine, from->attr, &from->value->desc);
  if (from->spec->lacks[0] != '\0') {
    return lk_dnnl_fail(error, LK_INVALID_ARGUMENT,
                        "failed to describe a primitive: its spec has no %s, which is asked for "
                        "while it is made",
                        from->spec->lacks);
  }
  return lk_dnnl_check(error, status, "describe a primitive");
}

static inline lk_status lk_dnnl_fill_value(void *arg, lk_error *error) {
  lk_dnnl_build_arg *from = (lk_dnnl_build_arg *)arg;
  lk_dnnl_value *value = from->value;
  lk_status status =
      lk_dnnl_check(error, lk_dnnl_make_descs(from->spec), "make the descriptors of a primitive");
  if (status != LK_OK) return status;
  status = lk_dnnl_check(error, lk_dnnl_make_attr(from->spec, &from->attr, &from->ops),
                         "make the attributes of a primitive");
  if (status != LK_OK) return status;
  status = lk_dnnl_describe_primitive(from, error);
  if (status != LK_OK) return status;
  status = lk_dnnl_check(error, dnnl_primitive_create(&value->primitive, value->desc),
                         "create a primitive");
  if (status != LK_OK) return status;
  return lk_dnnl_find_all_arguments(value, from->spec, error);
}

static inline void lk_dnnl_end_build(lk_dnnl_build_arg *from) {
  if (from->ops != NULL) (void)dnnl_post_ops_destroy(from->ops);
  if (from->attr != NULL) (void)dnnl_primitive_attr_destroy(from->attr);
  from->ops = NULL;
  from->attr = NULL;
  lk_dnnl_end_descs(from->spec);
}

static inline uint64_t lk_dnnl_bytes_of(const lk_dnnl_build_arg *from) {
  const int64_t kind = from->spec->numbers[0];
  if (from->self->primitive_bytes != 0) return from->self->primitive_bytes;
  return kind == dnnl_matmul || kind == dnnl_inner_product || kind == dnnl_rnn
             ? LK_DNNL_PRODUCT_BYTES
             : LK_DNNL_PRIMITIVE_BYTES;
}

static inline lk_status lk_dnnl_build(void *arg, const lk_key *key, lk_built *out,
                                      lk_error *error) {
  lk_dnnl_build_arg *from = (lk_dnnl_build_arg *)arg;
  const lk_allocator *allocator = from->self->api->context_allocator(from->self->context);
  lk_dnnl_value *value = NULL;
  lk_status status = LK_OK;
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL
  int threads = 0;
  (void)dnnl_threadpool_interop_get_max_concurrency(&threads);
  (void)dnnl_threadpool_interop_set_max_concurrency(
      (int)from->spec->numbers[LK_DNNL_PRIMITIVE_COUNT - 1]);
#endif
  (void)key; /* its records are those of the spec */
  value = (lk_dnnl_value *)allocator->alloc(allocator->user, sizeof *value, 64);
  if (value == NULL) {
    status =
        lk_dnnl_fail(error, LK_OUT_OF_MEMORY, "failed to build a primitive: no memory for %u bytes",
                     (unsigned)sizeof *value);
  } else {
    memset(value, 0, sizeof *value);
    value->allocator = allocator;
    value->engine = from->self->engine;
    from->value = value;
    status = lk_dnnl_try(lk_dnnl_fill_value, from, "build a primitive", error);
    value->bytes = sizeof *value + lk_dnnl_bytes_of(from);
  }
  lk_dnnl_end_build(from);
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL
  (void)dnnl_threadpool_interop_set_max_concurrency(threads);
#endif
  if (status != LK_OK) {
    if (value != NULL) lk_dnnl_destroy_value(value, NULL);
    return status;
  }
  out->value = value;
  out->bytes = value->bytes;
  out->destroy = lk_dnnl_destroy_value;
  out->user = NULL;
  return LK_OK;
}

/* Finds the primitive of a spec, or builds it, once however many threads ask, and takes a
 * reference, to be released by ref_release. `out_hit` may be NULL. A failed build keeps nothing,
 * and is tried again by who asks next. Failures are those of lk_dnnl_describe, before anything is
 * built; those of get_or_create_like; and of a build: LK_INVALID_ARGUMENT: oneDNN does not take the
 * arguments, the primitive has not those that the spec has, or `make` has asked the spec for
 * something that it lacks (lk_dnnl_desc, lk_dnnl_int, lk_dnnl_float); LK_UNSUPPORTED: oneDNN has no
 * implementation; LK_INTERNAL: another status of oneDNN's, or what `make` has thrown in C++, which
 * the sentence tells; LK_OUT_OF_MEMORY, std::bad_alloc too. An exception of oneDNN's own,
 * dnnl::error, has its status, which a `make` that catches it can return.
 *
 * The entry is charged an estimate of what oneDNN allocates (`primitive_bytes`), and in addition
 * the arguments and scratchpads that leases have made of it. */
static inline lk_status lk_dnnl_get(const lk_dnnl *self, lk_dnnl_spec *spec, lk_dnnl_make_fn make,
                                    lk_ref **out_ref, int *out_hit, lk_error *error) {
  lk_dnnl_build_arg arg;
  lk_key_desc desc;
  lk_status status = lk_dnnl_describe(self, spec, &desc, error);
  *out_ref = NULL;
  if (status != LK_OK) return status;
  memset(&arg, 0, sizeof arg);
  arg.self = self;
  arg.spec = spec;
  arg.make = make;
  return self->api->get_or_create_like(self->context, self->executor, self->like, &desc,
                                       lk_dnnl_build, &arg, out_ref, out_hit, error);
}

static inline lk_dnnl_value *lk_dnnl_value_get(const lk_dnnl *self, const lk_ref *ref) {
  return (lk_dnnl_value *)self->api->ref_value(ref);
}
/* What lk_dnnl_get has got, borrowed as long as the reference. */
static inline const_dnnl_primitive_desc_t lk_dnnl_primitive_desc(const lk_dnnl *self,
                                                                 const lk_ref *ref) {
  return lk_dnnl_value_get(self, ref)->desc;
}
static inline const_dnnl_primitive_t lk_dnnl_primitive(const lk_dnnl *self, const lk_ref *ref) {
  return lk_dnnl_value_get(self, ref)->primitive;
}
/* The layout that the primitive wants of an argument. */
static inline const_dnnl_memory_desc_t lk_dnnl_wanted(const lk_dnnl *self, const lk_ref *ref,
                                                      int arg) {
  return dnnl_primitive_desc_query_md(lk_dnnl_value_get(self, ref)->desc, dnnl_query_exec_arg_md,
                                      arg);
}

/* ---- leases ---- */

/* The arguments of a run, which nobody else has until lk_dnnl_lease_end. */
typedef struct lk_dnnl_lease {
  const lk_dnnl *self;
  lk_ref *ref; /* of its own: the primitive stays, whatever is evicted */
  lk_dnnl_value *value;
  lk_dnnl_slot *slot;
} lk_dnnl_lease;

/* Memory objects of all arguments, without data but for the scratchpad. */
static inline lk_status lk_dnnl_create_slot(const lk_dnnl_value *value, lk_dnnl_slot **out_slot,
                                            lk_error *error) {
  const lk_allocator *allocator = value->allocator;
  lk_dnnl_slot *slot =
      (lk_dnnl_slot *)allocator->alloc(allocator->user, sizeof *slot, sizeof(void *));
  lk_status status = LK_OK;
  int i = 0;
  *out_slot = NULL;
  if (slot == NULL) {
    return lk_dnnl_fail(error, LK_OUT_OF_MEMORY,
                        "failed to lease a primitive: no memory for %u bytes",
                        (unsigned)sizeof *slot);
  }
  memset(slot, 0, sizeof *slot);
  for (i = 0; i < value->n_args && status == LK_OK; i++) {
    slot->args[i].arg = value->args[i].arg;
    status = lk_dnnl_check(
        error,
        dnnl_memory_create(&slot->args[i].memory, value->args[i].desc, value->engine,
                           value->args[i].arg == DNNL_ARG_SCRATCHPAD ? DNNL_MEMORY_ALLOCATE
                                                                     : DNNL_MEMORY_NONE),
        "make the memory of an argument");
    if (status == LK_OK) slot->n_args++;
  }
  if (status != LK_OK) {
    lk_dnnl_destroy_slot(allocator, slot);
    return status;
  }
  *out_slot = slot;
  return LK_OK;
}

/* Charges the value for the slots that it has now, also while others add some. */
static inline void lk_dnnl_charge(const lk_dnnl *self, lk_ref *ref, const lk_dnnl_value *value) {
  uint64_t n_slots = 0;
  do {
    n_slots = __atomic_load_n(&value->n_slots, __ATOMIC_ACQUIRE);
    self->api->ref_charge(ref, value->bytes + n_slots * value->slot_bytes);
  } while (n_slots != __atomic_load_n(&value->n_slots, __ATOMIC_ACQUIRE));
}

static inline lk_dnnl_slot *lk_dnnl_take_idle(lk_dnnl_value *value) {
  lk_dnnl_slot *slot = NULL;
  int i = 0;
  for (i = 0; i < LK_DNNL_IDLE && slot == NULL; i++) {
    if (__atomic_load_n(&value->idle[i], __ATOMIC_RELAXED) != NULL) {
      slot = __atomic_exchange_n(&value->idle[i], NULL, __ATOMIC_ACQUIRE);
    }
  }
  return slot;
}

/* False: there are enough. */
static inline bool lk_dnnl_put_idle(lk_dnnl_value *value, lk_dnnl_slot *slot) {
  int i = 0;
  for (i = 0; i < LK_DNNL_IDLE; i++) {
    lk_dnnl_slot *none = NULL;
    if (__atomic_compare_exchange_n(&value->idle[i], &none, slot, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED)) {
      return true;
    }
  }
  return false;
}

/* Takes arguments for a run of what lk_dnnl_get has got, and a reference to it. Those of a run that
 * has ended are taken again, so that a primitive has as many as were run at once, and nothing is
 * allocated from then on. LK_OUT_OF_MEMORY; LK_INVALID_ARGUMENT, LK_UNSUPPORTED: oneDNN makes no
 * memory of a descriptor, as of one with dimensions that are known at run time only; LK_INTERNAL:
 * another status of oneDNN's. */
static inline lk_status lk_dnnl_lease_begin(const lk_dnnl *self, lk_ref *ref, lk_dnnl_lease *out,
                                            lk_error *error) {
  lk_dnnl_value *value = lk_dnnl_value_get(self, ref);
  lk_dnnl_slot *slot = lk_dnnl_take_idle(value);
  lk_status status = LK_OK;
  int i = 0;
  memset(out, 0, sizeof *out);
  if (slot == NULL) {
    status = lk_dnnl_create_slot(value, &slot, error);
    if (slot == NULL) return status;
    (void)__atomic_add_fetch(&value->n_slots, 1, __ATOMIC_ACQ_REL);
    lk_dnnl_charge(self, ref, value);
  }
  slot->is_set = 0;
  for (i = 0; i < slot->n_args; i++) {
    if (slot->args[i].arg == DNNL_ARG_SCRATCHPAD) slot->is_set |= 1u << i;
  }
  self->api->ref_retain(ref);
  out->self = self;
  out->ref = ref;
  out->value = value;
  out->slot = slot;
  return LK_OK;
}

/* Gives the arguments back, after the run: of a stream that does not wait, after dnnl_stream_wait.
 * A lease that has not begun is allowed. */
static inline void lk_dnnl_lease_end(lk_dnnl_lease *lease) {
  if (lease->slot == NULL) return;
  if (!lk_dnnl_put_idle(lease->value, lease->slot)) {
    lk_dnnl_destroy_slot(lease->value->allocator, lease->slot);
    (void)__atomic_sub_fetch(&lease->value->n_slots, 1, __ATOMIC_ACQ_REL);
    lk_dnnl_charge(lease->self, lease->ref, lease->value);
  }
  lease->slot = NULL;
  lease->self->api->ref_release(lease->ref);
}

static inline lk_status lk_dnnl_fail_ended(lk_error *error) {
  return lk_dnnl_fail(error, LK_INVALID_ARGUMENT,
                      "failed to use a lease: it has not begun, or has ended");
}

/* Where the data of an argument is, for this run, which writes there only where it is an output.
 * LK_NOT_FOUND: the primitive has no such argument;
 * LK_INVALID_ARGUMENT: the lease has not begun, or the argument is DNNL_ARG_SCRATCHPAD, which
 * leases have and keep for the next runs; LK_INVALID_ARGUMENT, LK_UNSUPPORTED, LK_INTERNAL
 * and LK_OUT_OF_MEMORY: oneDNN refuses the address, and the argument is not set. */
static inline lk_status lk_dnnl_set(lk_dnnl_lease *lease, int arg, const void *data,
                                    lk_error *error) {
  lk_dnnl_slot *slot = lease->slot;
  lk_status status = LK_OK;
  int i = 0;
  if (slot == NULL) return lk_dnnl_fail_ended(error);
  if (arg == DNNL_ARG_SCRATCHPAD) {
    return lk_dnnl_fail(error, LK_INVALID_ARGUMENT,
                        "failed to set an argument: %d is the scratchpad, and the lease has one of "
                        "its own, so leave it out",
                        arg);
  }
  while (i < slot->n_args && slot->args[i].arg != arg) i++;
  if (i == slot->n_args) {
    return lk_dnnl_fail(error, LK_NOT_FOUND,
                        "failed to set an argument: the primitive has none of number %d", arg);
  }
  slot->is_set &= ~(1u << i);
  status = lk_dnnl_check(error,
                         dnnl_memory_set_data_handle(slot->args[i].memory, (void *)(uintptr_t)data),
                         "set the memory of an argument");
  if (status == LK_OK) slot->is_set |= 1u << i;
  return status;
}

/* dnnl_primitive_execute. Where an exception ends that, oneDNN has not let go of the stream's
 * thread pool: it would be that of all that this thread builds and runs from then on, also when it
 * is gone. Each of oneDNN's calls for single products lets go of a thread's pool at its end, also
 * one that is refused, since it has no matrices. */
static inline dnnl_status_t lk_dnnl_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                            int n_args, const dnnl_exec_arg_t *args) {
#if defined(__cpp_exceptions) && DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL
  try {
    return dnnl_primitive_execute(primitive, stream, n_args, args);
  } catch (...) {
    void *pool = NULL;
    (void)dnnl_threadpool_interop_stream_get_threadpool(stream, &pool);
    (void)dnnl_threadpool_interop_sgemm('N', 'N', 0, 0, 0, 0, NULL, 1, NULL, 1, 0, NULL, 1, pool);
    throw;
  }
#else
  return dnnl_primitive_execute(primitive, stream, n_args, args);
#endif
}

/* Runs the primitive with the arguments of the lease, all of which have been set since it began.
 * LK_INVALID_ARGUMENT names the first that was not, or the lease has not begun; otherwise what
 * oneDNN says (lk_dnnl_check). What is thrown meanwhile, in C++, goes on to the caller: the lease
 * may run again, and the stream and its thread pool may be destroyed. */
static inline lk_status lk_dnnl_run(lk_dnnl_lease *lease, dnnl_stream_t stream, lk_error *error) {
  const lk_dnnl_slot *slot = lease->slot;
  int i = 0;
  if (slot == NULL) return lk_dnnl_fail_ended(error);
  for (i = 0; i < slot->n_args; i++) {
    if ((slot->is_set >> i & 1u) == 0) {
      return lk_dnnl_fail(error, LK_INVALID_ARGUMENT,
                          "failed to run a primitive: its argument %d was not set",
                          slot->args[i].arg);
    }
  }
  return lk_dnnl_check(error,
                       lk_dnnl_execute(lease->value->primitive, stream, slot->n_args, slot->args),
                       "run a primitive");
}

/* ---- packed weights ---- */

typedef struct lk_dnnl_pack_arg {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  const_dnnl_memory_desc_t plain, wanted;
} lk_dnnl_pack_arg;

/* A reorder of one pair of memories. */
typedef struct lk_dnnl_reorder {
  const lk_dnnl_pack_arg *from;
  const void *plain;
  void *packed;
  dnnl_primitive_desc_t desc;
  dnnl_primitive_t primitive;
  dnnl_exec_arg_t args[2];
} lk_dnnl_reorder;

static inline lk_status lk_dnnl_run_reorder(void *arg, lk_error *error) {
  lk_dnnl_reorder *self = (lk_dnnl_reorder *)arg;
  const lk_dnnl_pack_arg *from = self->from;
  dnnl_status_t status = dnnl_reorder_primitive_desc_create(&self->desc, from->plain, from->engine,
                                                            from->wanted, from->engine, NULL);
  if (status == dnnl_success) status = dnnl_primitive_create(&self->primitive, self->desc);
  if (status == dnnl_success) {
    status = dnnl_memory_create(&self->args[0].memory, from->plain, from->engine,
                                (void *)(uintptr_t)self->plain);
  }
  if (status == dnnl_success) {
    status = dnnl_memory_create(&self->args[1].memory, from->wanted, from->engine, self->packed);
  }
  if (status == dnnl_success) {
    status = lk_dnnl_execute(self->primitive, from->stream, 2, self->args);
  }
  if (status == dnnl_success) status = dnnl_stream_wait(from->stream);
  return lk_dnnl_check(error, status, "reorder weights");
}

static inline lk_status lk_dnnl_pack_by_reorder(void *arg, const void *plain, void *packed,
                                                lk_error *error) {
  lk_dnnl_reorder self;
  lk_status status = LK_OK;
  memset(&self, 0, sizeof self);
  self.from = (const lk_dnnl_pack_arg *)arg;
  self.plain = plain;
  self.packed = packed;
  self.args[0].arg = DNNL_ARG_FROM;
  self.args[1].arg = DNNL_ARG_TO;
  status = lk_dnnl_try(lk_dnnl_run_reorder, &self, "reorder weights", error);
  if (self.args[0].memory != NULL) (void)dnnl_memory_destroy(self.args[0].memory);
  if (self.args[1].memory != NULL) (void)dnnl_memory_destroy(self.args[1].memory);
  if (self.primitive != NULL) (void)dnnl_primitive_destroy(self.primitive);
  if (self.desc != NULL) (void)dnnl_primitive_desc_destroy(self.desc);
  return status;
}

/* Weights in the layout that a primitive wants (lk_dnnl_wanted): found by content, and by all that
 * is told of both layouts, or reordered now, on `stream`. `weights` are bytes as `plain` describes
 * them, and `bytes` is how many constant_create was given: no function tells it. `*out_packed`
 * NULL: the layouts are equal, so the host's own bytes are what the primitive takes; otherwise
 * packed_data has them until packed_release.
 * LK_INVALID_ARGUMENT: `bytes` are fewer than `plain` takes; failures of constant_pack and
 * lk_dnnl_describe, and what oneDNN says to the reorder (lk_dnnl_check), or throws in C++. */
static inline lk_status lk_dnnl_pack(const lk_dnnl *self, lk_constant *weights, uint64_t bytes,
                                     const_dnnl_memory_desc_t plain,
                                     const_dnnl_memory_desc_t wanted, dnnl_stream_t stream,
                                     lk_packed **out_packed, lk_error *error) {
  lk_dnnl_spec layout;
  lk_dnnl_pack_arg arg;
  lk_packing packing;
  const dnnl_version_t *version = dnnl_version();
  const uint64_t needed = plain != NULL ? (uint64_t)dnnl_memory_desc_get_size(plain) : 0;
  *out_packed = NULL;
  if (bytes < needed) {
    return lk_dnnl_fail(error, LK_INVALID_ARGUMENT,
                        "failed to pack weights: the constant has %llu bytes, and its descriptor "
                        "takes %llu",
                        (unsigned long long)bytes, (unsigned long long)needed);
  }
  if (plain != NULL && wanted != NULL && dnnl_memory_desc_equal(plain, wanted) != 0) return LK_OK;
  lk_dnnl_begin(self, &layout, dnnl_reorder, 0);
  layout.numbers[LK_DNNL_PRIMITIVE_COUNT - 1] = 0; /* packed bytes do not depend on threads, */
  lk_dnnl_set_fpmath_mode(&layout, dnnl_fpmath_mode_strict); /* nor on the mode of the moment */
  lk_dnnl_put(&layout, version->major);
  lk_dnnl_put(&layout, version->minor);
  lk_dnnl_put(&layout, version->patch);
  lk_dnnl_add_desc(&layout, DNNL_ARG_FROM, plain);
  lk_dnnl_add_desc(&layout, DNNL_ARG_TO, wanted);
  if (layout.status != LK_OK) {
    return lk_dnnl_fail(error, layout.status, "failed to pack weights: %s", layout.why);
  }
  arg.engine = self->engine;
  arg.stream = stream;
  arg.plain = plain;
  arg.wanted = wanted;
  packing.struct_size = sizeof packing;
  packing.layout = layout.numbers;
  packing.layout_bytes = layout.n_numbers * sizeof *layout.numbers;
  packing.bytes = (uint64_t)dnnl_memory_desc_get_size(wanted);
  packing.pack = lk_dnnl_pack_by_reorder;
  packing.arg = &arg;
  return self->api->constant_pack(weights, &packing, out_packed, error);
}

#ifdef __cplusplus
}
#endif

#endif
