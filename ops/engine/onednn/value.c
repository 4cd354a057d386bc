/* Primitives as values of an engine: building them, packing their weights, and running them. */
#include <stdlib.h>
#include <string.h>

#include "ops/engine/onednn/bytes.h"
#include "ops/engine/onednn/counted.h"
#include "ops/engine/onednn/describe.h"
#include "ops/engine/onednn/exceptions.h"
#include "ops/engine/onednn/layout.h"
#include "ops/engine/onednn/past_cache.h"
#include "ops/engine/onednn/recurrent_value.h"
#include "ops/engine/onednn/shares.h"
#include "ops/engine/onednn/status.h"
#include "ops/engine/onednn/widened.h"

enum {
  MOST_ARGS = LK_ROLES + LK_BYTES_NUMBERS + 1,
  SLOT_BYTES = 256 /* of each argument, about */
};

/* An argument of the primitive, and where it lies: so many bytes behind one of a run's pointers. */
typedef struct argument {
  int arg;
  const_dnnl_memory_desc_t desc; /* of the primitive's descriptor, or of `numbers` */
  uint32_t pointer;
  uint64_t offset;
} argument;

typedef struct onednn_value {
  lk_onednn_pool *pool; /* of as many threads as the work is cut for */
  dnnl_primitive_desc_t desc;
  dnnl_primitive_t primitive;
  dnnl_memory_desc_t plain_weights;             /* NULL: they are not packed */
  const_dnnl_memory_desc_t want_weights;        /* of the primitive's descriptor */
  dnnl_primitive_desc_t reorder;                /* of these into what the primitive wants */
  unsigned char *layout;                        /* of packed weights, see lk_onednn_write_layout */
  lk_recurrent_value *recurrent;                /* NULL: it is no recurrent layer */
  lk_bytes bytes;                               /* of other works, it has no numbers */
  lk_widened widened;                           /* of other works, it has none */
  lk_past_cache past_cache;                     /* of other works, dst may lie anywhere */
  dnnl_memory_desc_t numbers[LK_BYTES_NUMBERS]; /* those that are attributes; or NULL */
  uint32_t n_args;
  argument args[MOST_ARGS];
} onednn_value;

/* What a run needs for itself. */
typedef struct onednn_slot {
  dnnl_stream_t stream;
  int n_args;
  dnnl_exec_arg_t args[MOST_ARGS];
} onednn_slot;

/* ---- building ---- */

static void destroy(onednn_value *self) {
  if (self == NULL) return;
  if (self->reorder != NULL) (void)dnnl_primitive_desc_destroy(self->reorder);
  if (self->plain_weights != NULL) (void)dnnl_memory_desc_destroy(self->plain_weights);
  if (self->primitive != NULL) (void)dnnl_primitive_destroy(self->primitive);
  if (self->desc != NULL) (void)dnnl_primitive_desc_destroy(self->desc);
  for (int i = 0; i < LK_BYTES_NUMBERS; i++) {
    if (self->numbers[i] != NULL) (void)dnnl_memory_desc_destroy(self->numbers[i]);
  }
  lk_onednn_pool_destroy(self->pool);
  lk_onednn_recurrent_destroy(self->recurrent);
  free(self->layout);
  free(self);
}

/* An argument that lies `offset` bytes behind pointer `pointer` of a run. */
static lk_status add_arg(onednn_value *self, int arg, uint32_t pointer, uint64_t offset,
                         lk_error *error) {
  const_dnnl_memory_desc_t desc = NULL;
  LK_ONEDNN_RETURN(lk_onednn_query_arg(self->desc, arg, &desc, error));
  self->args[self->n_args++] = (argument){arg, desc, pointer, offset};
  return LK_OK;
}

/* One of the work's. */
static lk_status add_role(onednn_value *self, const lk_work *work, uint32_t role, lk_error *error) {
  const int arg = lk_onednn_arg(work, role);
  const bool is_widened = (self->widened.roles >> role & 1) != 0;
  return is_widened ? add_arg(self, arg, self->bytes.n_roles,
                              lk_widened_offset(&self->widened, role), error)
                    : add_arg(self, arg, self->bytes.pointers[role], 0, error);
}

/* Those that a run makes. */
static lk_status find_numbers(onednn_value *self, const lk_work *work, lk_error *error) {
  const lk_bytes *bytes = &self->bytes;
  for (int i = 0; i < LK_BYTES_NUMBERS; i++) {
    const lk_bytes_number which = (lk_bytes_number)i;
    const_dnnl_memory_desc_t desc = NULL;
    if (!bytes->has[i]) continue;
    const int arg = lk_bytes_arg(work, which);
    if (lk_bytes_is_attr(bytes, which)) {
      const lk_strided number = lk_bytes_attr(bytes, which);
      LK_ONEDNN_RETURN(lk_onednn_check(error, lk_strided_describe(&number, &self->numbers[i]),
                                       "describe zero points and scales"));
      desc = self->numbers[i];
    } else {
      LK_ONEDNN_RETURN(lk_onednn_query_arg(self->desc, arg, &desc, error));
    }
    self->args[self->n_args++] = (argument){arg, desc, bytes->n_roles, bytes->offsets[i]};
  }
  return LK_OK;
}

static lk_status find_args(onednn_value *self, const lk_work *work, lk_engine_value *out,
                           lk_error *error) {
  const_dnnl_memory_desc_t desc = NULL;
  const lk_bytes *bytes = &self->bytes;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (!lk_onednn_has(work, role) || lk_bytes_hides(work, role)) continue;
    LK_ONEDNN_RETURN(add_role(self, work, role, error));
  }
  LK_ONEDNN_RETURN(find_numbers(self, work, error));
  LK_ONEDNN_RETURN(lk_onednn_query(self->desc, dnnl_query_scratchpad_md, 0, &desc, error));
  const size_t scratchpad = dnnl_memory_desc_get_size(desc);
  const uint64_t made = bytes->size + self->widened.bytes; /* one of them is 0 */
  out->scratch_bytes = made + scratchpad;
  if (scratchpad > 0) {
    self->args[self->n_args++] = (argument){DNNL_ARG_SCRATCHPAD, desc, bytes->n_roles, made};
  }
  return LK_OK;
}

/* And roles that the work lacks, behind those that it has. */
static lk_status find_recurrent(const lk_onednn *engine, onednn_value *self, const lk_work *work,
                                lk_engine_value *out, lk_error *error) {
  LK_ONEDNN_RETURN(
      lk_onednn_recurrent_create(engine, work, self->desc, out, &self->recurrent, error));
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (lk_onednn_has(work, role) || !lk_onednn_recurrent_wants(work, role)) continue;
    LK_ONEDNN_RETURN(add_arg(self, lk_onednn_arg(work, role), self->n_args, 0, error));
  }
  return LK_OK;
}

/* How the primitive wants its weights, where they are a constant. Plain ones need no packing. */
static lk_status find_layout(const lk_onednn *engine, onednn_value *self, const lk_work *work,
                             lk_engine_value *out, lk_error *error) {
  lk_strided plain = lk_onednn_plain_weights(work);
  const bool is_shifted = lk_bytes_shifts(&self->bytes);
  uint64_t bytes = 0;
  LK_ONEDNN_RETURN(
      lk_onednn_query(self->desc, dnnl_query_weights_md, 0, &self->want_weights, error));
  LK_ONEDNN_RETURN(lk_onednn_check(error, lk_strided_describe(&plain, &self->plain_weights),
                                   "describe weights"));
  if (!is_shifted && dnnl_memory_desc_equal(self->plain_weights, self->want_weights) != 0) {
    return LK_OK;
  }
  LK_ONEDNN_RETURN(lk_onednn_check(
      error,
      dnnl_reorder_primitive_desc_create(&self->reorder, self->plain_weights, engine->engine,
                                         self->want_weights, engine->engine, NULL),
      "describe a reorder of weights"));
  if (is_shifted) plain.type = dnnl_u8; /* equal bytes are other numbers */
  LK_ONEDNN_RETURN(
      lk_onednn_write_layout(self->want_weights, &plain, &self->layout, &bytes, error));
  out->packed[LK_ROLE_WEIGHTS] =
      (lk_packed_layout){.layout = self->layout,
                         .layout_bytes = bytes,
                         .bytes = dnnl_memory_desc_get_size(self->want_weights)};
  return LK_OK;
}

/* Of resampling and reorders, "simple" is a loop that computes each position anew, and of recurrent
 * layers "ref" is one of reference products. */
static bool is_reference(const lk_work *work, const char *implementation) {
  if (implementation == NULL) return false;
  if (work->kind == LK_WORK_RECURRENT) return strcmp(implementation, "ref") == 0;
  const bool is_simple = strstr(implementation, "simple:") != NULL;
  return strstr(implementation, "ref:") != NULL ||
         (is_simple && (work->kind == LK_WORK_RESIZE || work->kind == LK_WORK_REORDER));
}

/* Where a primitive is described and created, any failure but one of memory is oneDNN's word on the
 * work: of some sizes it finds out late that it cannot count them, and says that something is wrong
 * (dnnl_runtime_error: a softmax whose elements lie 2^30 apart). */
static lk_status create(const lk_onednn *engine, const lk_work *work, onednn_value *self,
                        lk_error *error) {
  lk_status status = lk_onednn_describe(engine, work, &self->desc, error);
  if (status == LK_OK) {
    status = lk_onednn_check(error, dnnl_primitive_create(&self->primitive, self->desc),
                             "create a primitive");
  }
  return status == LK_INTERNAL ? LK_UNSUPPORTED : status;
}

typedef struct build_call {
  const lk_onednn *engine;
  const lk_work *work;
  onednn_value *self;
  lk_engine_value *out;
  lk_error *error;
} build_call;

static lk_status build(void *arg) {
  const build_call *call = arg;
  const lk_onednn *engine = call->engine;
  const lk_work seen = lk_bytes_seen(call->work), *work = &seen;
  onednn_value *self = call->self;
  lk_engine_value *out = call->out;
  lk_error *error = call->error;
  const bool has_weights = lk_onednn_has(work, LK_ROLE_WEIGHTS) &&
                           work->tensors[LK_ROLE_WEIGHTS].layout == LK_LAYOUT_ANY;
  const int shares = lk_onednn_shares(engine, work);
  self->bytes = lk_bytes_of(call->work);
  self->widened = lk_widened_of(call->work);
  self->pool = lk_onednn_pool_create(engine->team, shares);
  if (self->pool == NULL) {
    return lk_onednn_fail(error, LK_OUT_OF_MEMORY, "failed to make a pool: no memory for it");
  }
  LK_ONEDNN_RETURN(
      lk_onednn_check(error, lk_onednn_set_threads(shares), "set a number of threads"));
  LK_ONEDNN_RETURN(create(engine, work, self, error));
  LK_ONEDNN_RETURN(find_args(self, work, out, error));
  self->past_cache = lk_past_cache_of(work, self->bytes.n_roles, out->scratch_bytes);
  if (self->past_cache.bytes > 0) {
    out->scratch_bytes = self->past_cache.offset + self->past_cache.bytes;
  }
  if (work->kind == LK_WORK_RECURRENT) {
    LK_ONEDNN_RETURN(find_recurrent(engine, self, work, out, error));
  } else if (has_weights) {
    LK_ONEDNN_RETURN(find_layout(engine, self, work, out, error));
  }
  LK_ONEDNN_RETURN(lk_onednn_check(error,
                                   dnnl_primitive_desc_query(self->desc, dnnl_query_impl_info_str,
                                                             0, (void *)&out->implementation),
                                   "name an implementation"));
  out->is_reference = is_reference(work, out->implementation);
  out->slot_bytes = sizeof(onednn_slot) + (uint64_t)self->n_args * SLOT_BYTES;
  return LK_OK;
}

lk_status lk_onednn_build(void *of, const lk_work *work, lk_engine_value *out, lk_error *error) {
  lk_status status = LK_OK;
  const int threads = lk_onednn_threads();
  lk_counted counted;
  lk_counted_begin(&counted);
  onednn_value *self = calloc(1, sizeof *self);
  if (self == NULL) {
    status =
        lk_onednn_fail(error, LK_OUT_OF_MEMORY, "failed to build a primitive: no memory for it");
  } else {
    build_call call = {of, work, self, out, error};
    status = lk_onednn_try(build, &call, "build a primitive", error);
  }
  if (status != LK_OK) {
    destroy(self);
    self = NULL;
  }
  out->bytes = lk_counted_end(work);
  lk_onednn_reset_threads(threads);
  out->value = self;
  return status;
}

void lk_onednn_destroy(void *of, void *value) {
  (void)of;
  destroy(value);
}

/* ---- packing ---- */

typedef struct pack_call {
  const lk_onednn *engine;
  const onednn_value *value;
  void *plain, *packed;
  void *shifted; /* weights of u8 as i8; or NULL */
  lk_error *error;
  lk_onednn_reorder reorder;
  uint32_t role;
} pack_call;

static lk_status pack(void *arg) {
  pack_call *call = arg;
  const onednn_value *value = call->value;
  lk_error *error = call->error;
  if (value->recurrent != NULL) {
    return lk_onednn_recurrent_pack(value->recurrent, call->engine, value->pool, call->role,
                                    call->plain, call->packed, &call->reorder, error);
  }
  if (lk_bytes_shifts(&value->bytes)) {
    const size_t bytes = dnnl_memory_desc_get_size(value->plain_weights);
    call->shifted = malloc(bytes);
    if (call->shifted == NULL) {
      return lk_onednn_fail(error, LK_OUT_OF_MEMORY, "failed to pack weights: no memory for it");
    }
    lk_bytes_shift(call->plain, call->shifted, bytes);
    call->plain = call->shifted;
  }
  LK_ONEDNN_RETURN(lk_onednn_reorder_open(&call->reorder, call->engine, value->pool, value->reorder,
                                          value->plain_weights, value->want_weights, error));
  return lk_onednn_reorder_run(&call->reorder, call->plain, call->packed, error);
}

lk_status lk_onednn_pack(void *of, const void *value, uint32_t role, const void *plain,
                         void *packed, lk_error *error) {
  pack_call call = {.engine = of,
                    .value = value,
                    .plain = (void *)(uintptr_t)plain,
                    .packed = packed,
                    .error = error,
                    .role = role};
  const lk_status status = lk_onednn_try(pack, &call, "pack weights", error);
  lk_onednn_reorder_end(&call.reorder);
  free(call.shifted);
  return status;
}

/* ---- running ---- */

void lk_onednn_slot_close(void *of, const void *value, void *slot) {
  onednn_slot *self = slot;
  (void)of;
  (void)value;
  if (self == NULL) return;
  for (int i = 0; i < self->n_args; i++) (void)dnnl_memory_destroy(self->args[i].memory);
  if (self->stream != NULL) (void)dnnl_stream_destroy(self->stream);
  free(self);
}

typedef struct slot_call {
  const lk_onednn *engine;
  const onednn_value *value;
  onednn_slot *slot;
  lk_error *error;
} slot_call;

static lk_status open_slot(void *arg) {
  const slot_call *call = arg;
  dnnl_engine_t engine = call->engine->engine;
  const onednn_value *from = call->value;
  onednn_slot *slot = call->slot;
  LK_ONEDNN_RETURN(lk_onednn_check(
      call->error, lk_onednn_stream_create(engine, from->pool, &slot->stream), "make a stream"));
  for (uint32_t i = 0; i < from->n_args; i++) {
    dnnl_exec_arg_t *made = &slot->args[i];
    made->arg = from->args[i].arg;
    LK_ONEDNN_RETURN(lk_onednn_check(
        call->error,
        dnnl_memory_create(&made->memory, from->args[i].desc, engine, DNNL_MEMORY_NONE),
        "make a handle of an argument"));
    slot->n_args++;
  }
  return LK_OK;
}

lk_status lk_onednn_slot_open(void *of, const void *value, void **out_slot, lk_error *error) {
  *out_slot = NULL;
  onednn_slot *self = calloc(1, sizeof *self);
  if (self == NULL) {
    return lk_onednn_fail(error, LK_OUT_OF_MEMORY,
                          "failed to open a slot of a primitive: no memory for its arguments");
  }
  slot_call call = {of, value, self, error};
  const lk_status status = lk_onednn_try(open_slot, &call, "open a slot of a primitive", error);
  if (status != LK_OK) {
    lk_onednn_slot_close(of, value, self);
    return status;
  }
  *out_slot = self;
  return LK_OK;
}

typedef struct run_call {
  const lk_onednn *engine;
  const onednn_value *value;
  const onednn_slot *slot;
  void *const *pointers;
  lk_error *error;
} run_call;

static lk_status run(void *arg) {
  const run_call *call = arg;
  const onednn_slot *slot = call->slot;
  void *const *pointers = call->pointers;
  void *own[MOST_ARGS];
  void *dst = NULL, *written = NULL; /* of the work, where the primitive writes elsewhere */
  if (call->value->recurrent != NULL) {
    lk_onednn_recurrent_prepare(call->value->recurrent, pointers, own);
    pointers = own;
  } else {
    const onednn_value *value = call->value;
    lk_bytes_make(&value->bytes, pointers);
    if (value->widened.n_tensors > 0) {
      lk_widened_make(&value->widened, pointers, pointers[value->bytes.n_roles]);
    }
  }
  for (int i = 0; i < slot->n_args; i++) {
    const argument *from = &call->value->args[i];
    void *at = (unsigned char *)pointers[from->pointer] + from->offset;
    if (from->arg == DNNL_ARG_DST && lk_past_cache_turns(&call->value->past_cache, at)) {
      dst = at;
      at = written = lk_past_cache_place(&call->value->past_cache, pointers);
    }
    const dnnl_status_t set = dnnl_memory_set_data_handle(slot->args[i].memory, at);
    if (set != dnnl_success) {
      return lk_onednn_check(call->error, set, "set the memory of an argument");
    }
  }
  const dnnl_status_t done =
      lk_onednn_execute(call->value->primitive, slot->stream, slot->n_args, slot->args);
  LK_ONEDNN_RETURN(lk_onednn_check(call->error, done, "execute a primitive"));
  if (dst != NULL) lk_past_cache_copy(&call->value->past_cache, call->engine, dst, written);
  return LK_OK;
}

lk_status lk_onednn_run(void *of, const void *value, void *slot, void *const *pointers,
                        lk_error *error) {
  run_call call = {of, value, slot, pointers, error};
  return lk_onednn_try(run, &call, "execute a primitive", error);
}
