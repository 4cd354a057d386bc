/* The module's one door: an engine of oneDNN for a context. */
#include "ops/engine/onednn/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/engine/onednn/exceptions.h"
#include "ops/engine/onednn/library.h"
#include "ops/engine/onednn/status.h"

LK_EXPORT lk_status lk_engine_open(uint32_t version, const lk_engine_team *team, int threads,
                                   lk_engine *out_engine, lk_error *error);

/* The limit that LATCHKEY_MAX_ISA sets for kernels is oneDNN's too. It can be set before oneDNN is
 * used for the first time; where it was used, it stays as it is, and the state says so. */
static void limit_isa(void) {
  static const struct {
    const char *name;
    dnnl_cpu_isa_t isa;
  } limits[] = {{"sse2", dnnl_cpu_isa_sse41},
                {"avx2", dnnl_cpu_isa_avx2},
                {"avx512_core", dnnl_cpu_isa_avx512_core},
                {"avx512", dnnl_cpu_isa_avx512_core_fp16}};
  const char *text = getenv("LATCHKEY_MAX_ISA");
  for (size_t i = 0; text != NULL && i < sizeof limits / sizeof *limits; i++) {
    if (strcmp(text, limits[i].name) == 0) (void)dnnl_set_max_cpu_isa(limits[i].isa);
  }
}

/* Errors are told by statuses, and not on standard output, unless the user asks for that. */
static lk_status switch_off_printing(lk_error *error) {
  if (getenv("ONEDNN_VERBOSE") != NULL || getenv("DNNL_VERBOSE") != NULL) return LK_OK;
  return lk_onednn_check(error, dnnl_set_verbose(0), "switch off its printing");
}

/* What the library's cache evicts is to be gone, unless the user has said how large oneDNN's is to
 * be. */
static lk_status switch_off_cache(lk_error *error) {
  if (getenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY") != NULL ||
      getenv("DNNL_PRIMITIVE_CACHE_CAPACITY") != NULL) {
    return LK_OK;
  }
  return lk_onednn_check(error, dnnl_set_primitive_cache_capacity(0), "switch off its own cache");
}

static void close_engine(void *of) {
  lk_onednn *self = of;
  if (self == NULL) return;
  if (self->engine != NULL) (void)dnnl_engine_destroy(self->engine);
  free(self);
}

typedef struct open_call {
  lk_onednn *self;
  lk_error *error;
} open_call;

static lk_status make_engine(void *arg) {
  const open_call *call = arg;
  const bool is_ours = lk_onednn_library_is_ours();
  if (is_ours) LK_ONEDNN_RETURN(switch_off_printing(call->error));
  LK_ONEDNN_RETURN(lk_onednn_check(
      call->error, dnnl_engine_create(&call->self->engine, dnnl_cpu, 0), "make an engine"));
  return is_ours ? switch_off_cache(call->error) : LK_OK;
}

/* Without such instructions, tensors of these types are converted on the way, or there are only
 * reference implementations. */
static bool has_isa(dnnl_cpu_isa_t wanted) {
  return (dnnl_get_effective_cpu_isa() & wanted) == wanted;
}

/* Intel's processors multiply bf16 at twice the rate of f32 by AMX alone. */
static bool is_bf16_twice(void) {
  __builtin_cpu_init();
  return has_isa(dnnl_cpu_isa_avx512_core_amx) ||
         (has_isa(dnnl_cpu_isa_avx512_core_bf16) && __builtin_cpu_is("amd"));
}

/* Everything that a primitive depends on besides its work. The math mode is what describe.c gives
 * to every primitive. */
static void write_state(lk_onednn *self) {
  const dnnl_version_t *version = dnnl_version();
  (void)snprintf(
      self->state, sizeof self->state, "%d.%d.%d %.12s isa=%x hints=%x math=strict threads=%d",
      version->major, version->minor, version->patch, version->hash,
      (unsigned)dnnl_get_effective_cpu_isa(), (unsigned)dnnl_get_cpu_isa_hints(), self->threads);
}

lk_status lk_engine_open(uint32_t version, const lk_engine_team *team, int threads,
                         lk_engine *out_engine, lk_error *error) {
  lk_status status = LK_OK;
  lk_onednn *self = NULL;
  if (version != LK_ENGINE_VERSION || team->struct_size < sizeof *team) {
    return lk_onednn_fail(error, LK_VERSION,
                          "failed to open the engine of oneDNN: it is of version %u of the "
                          "interface with a team of %zu bytes, the library of version %u with %zu",
                          LK_ENGINE_VERSION, sizeof *team, version, team->struct_size);
  }
  LK_ONEDNN_RETURN(lk_onednn_library_check(error));
  self = calloc(1, sizeof *self);
  if (self == NULL) {
    return lk_onednn_fail(error, LK_OUT_OF_MEMORY,
                          "failed to open the engine of oneDNN: no memory for it");
  }
  limit_isa();
  self->threads = threads;
  self->team = team;
  open_call call = {self, error};
  LK_ONEDNN_TRY(lk_onednn_try(make_engine, &call, "make an engine", error));
  self->has_avx2 = has_isa(dnnl_cpu_isa_avx2);
  self->has_bf16 = has_isa(dnnl_cpu_isa_avx512_core_bf16);
  self->has_f16 = has_isa(dnnl_cpu_isa_avx512_core_fp16);
  self->is_bf16_twice = is_bf16_twice();
  self->has_vnni = has_isa(dnnl_cpu_isa_avx512_core_vnni);
  write_state(self);
  *out_engine = (lk_engine){.struct_size = sizeof *out_engine,
                            .version = LK_ENGINE_VERSION,
                            .name = "onednn",
                            .state = self->state,
                            .self = self,
                            .offer = lk_onednn_offer,
                            .build = lk_onednn_build,
                            .destroy = lk_onednn_destroy,
                            .pack = lk_onednn_pack,
                            .slot_open = lk_onednn_slot_open,
                            .slot_close = lk_onednn_slot_close,
                            .run = lk_onednn_run,
                            .close = close_engine};
  self = NULL;
cleanup:
  close_engine(self);
  return status;
}
