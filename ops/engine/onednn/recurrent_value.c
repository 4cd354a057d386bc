#include "ops/engine/onednn/recurrent_value.h"

#include <stdlib.h>
#include <string.h>

#include "ops/engine/onednn/describe.h"
#include "ops/engine/onednn/layout.h"
#include "ops/engine/onednn/status.h"

/* One gate of a direction after the other: in plain weights their order is ONNX's. Of both
 * directions at once, reorders of oneDNN 3.14.1 write some layouts wrongly. */
typedef struct packing {
  uint32_t role;
  dnnl_memory_desc_t from, to; /* of one gate, the first one */
  dnnl_primitive_desc_t reorder;
  uint64_t from_gate, to_gate; /* bytes from gate to gate */
  uint64_t from_direction, to_direction;
  unsigned char *layout;
} packing;

/* A tensor in scratch memory. */
typedef struct area {
  uint32_t role;
  uint32_t index; /* of the pointer that a run is given for it; NOT_GIVEN */
  uint64_t at, elements;
} area;

enum { NOT_GIVEN = UINT32_MAX, MOST_AREAS = 6, ALIGNMENT = 64 };

struct lk_recurrent_value {
  lk_recurrent_sizes sizes;
  const uint32_t *order;
  packing packings[2];
  area areas[MOST_AREAS];
  uint32_t n_areas, n_given;
  bool has_scratch; /* of the primitive */
};

void lk_onednn_recurrent_destroy(lk_recurrent_value *self) {
  if (self == NULL) return;
  for (size_t i = 0; i < 2; i++) {
    packing *of = &self->packings[i];
    if (of->reorder != NULL) (void)dnnl_primitive_desc_destroy(of->reorder);
    if (of->to != NULL) (void)dnnl_memory_desc_destroy(of->to);
    if (of->from != NULL) (void)dnnl_memory_desc_destroy(of->from);
    free(of->layout);
  }
  free(self);
}

/* ---- weights ---- */

/* The first gate of the weights that the primitive wants, and how far apart gates lie there. */
static lk_status find_gate(packing *self, const lk_strided *gate, const_dnnl_memory_desc_t wanted,
                           lk_error *error) {
  static const dnnl_dims_t first = {0};
  const dnnl_dims_t *strides = NULL;
  LK_ONEDNN_RETURN(
      lk_onednn_check(error, dnnl_memory_desc_query(wanted, dnnl_query_strides, (void *)&strides),
                      "find the gates of weights"));
  self->from_direction = (uint64_t)gate->strides[1] * sizeof(float);
  self->from_gate = (uint64_t)gate->strides[3] * sizeof(float);
  self->to_direction = (uint64_t)(*strides)[1] * sizeof(float);
  self->to_gate = (uint64_t)(*strides)[3] * sizeof(float);
  return lk_onednn_check(error,
                         dnnl_memory_desc_create_submemory(&self->to, wanted, gate->dims, first),
                         "describe a gate of weights");
}

static lk_status find_packing(packing *self, const lk_onednn *engine, const lk_work *work,
                              const_dnnl_primitive_desc_t desc, lk_engine_value *out,
                              lk_error *error) {
  const lk_strided gate = lk_onednn_recurrent_strided(work, self->role);
  const_dnnl_memory_desc_t wanted = NULL;
  uint64_t bytes = 0;
  LK_ONEDNN_RETURN(lk_onednn_query_arg(desc, lk_onednn_arg(work, self->role), &wanted, error));
  LK_ONEDNN_RETURN(
      lk_onednn_check(error, lk_strided_describe(&gate, &self->from), "describe weights"));
  LK_ONEDNN_RETURN(find_gate(self, &gate, wanted, error));
  LK_ONEDNN_RETURN(
      lk_onednn_check(error,
                      dnnl_reorder_primitive_desc_create(&self->reorder, self->from, engine->engine,
                                                         self->to, engine->engine, NULL),
                      "describe a reorder of weights"));
  LK_ONEDNN_RETURN(lk_onednn_write_layout(wanted, &gate, &self->layout, &bytes, error));
  out->packed[self->role] = (lk_packed_layout){
      .layout = self->layout, .layout_bytes = bytes, .bytes = dnnl_memory_desc_get_size(wanted)};
  return LK_OK;
}

lk_status lk_onednn_recurrent_pack(const lk_recurrent_value *self, const lk_onednn *engine,
                                   lk_onednn_pool *pool, uint32_t role, void *plain, void *packed,
                                   lk_onednn_reorder *reorder, lk_error *error) {
  const packing *of = &self->packings[role == LK_ROLE_WEIGHTS ? 0 : 1];
  unsigned char *from = plain, *to = packed;
  const uint64_t gates = (uint64_t)self->sizes.gates;
  LK_ONEDNN_RETURN(
      lk_onednn_reorder_open(reorder, engine, pool, of->reorder, of->from, of->to, error));
  for (uint64_t i = 0; i < gates * (uint64_t)self->sizes.directions; i++) {
    const uint64_t direction = i / gates, gate = i % gates;
    LK_ONEDNN_RETURN(lk_onednn_reorder_run(
        reorder, from + direction * of->from_direction + self->order[gate] * of->from_gate,
        to + direction * of->to_direction + gate * of->to_gate, error));
  }
  return LK_OK;
}

/* ---- what a run makes ---- */

static bool is_made(const lk_work *work, uint32_t role) {
  return role == LK_ROLE_BIAS || (role == LK_ROLE_PEEPHOLES && lk_onednn_has(work, role)) ||
         (lk_onednn_recurrent_wants(work, role) && !lk_onednn_has(work, role));
}

static void find_areas(lk_recurrent_value *self, const lk_work *work, lk_engine_value *out) {
  self->has_scratch = out->scratch_bytes > 0;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    const bool is_given = lk_onednn_has(work, role);
    if (is_made(work, role)) {
      const lk_strided of = lk_onednn_recurrent_strided(work, role);
      const uint64_t elements = (uint64_t)(of.dims[1] * of.dims[2] * of.dims[3]);
      const uint64_t at = (out->scratch_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
      self->areas[self->n_areas++] = (area){.role = role,
                                            .index = is_given ? self->n_given : NOT_GIVEN,
                                            .at = at,
                                            .elements = elements};
      out->scratch_bytes = at + elements * sizeof(float);
    }
    if (is_given) self->n_given++;
  }
}

lk_status lk_onednn_recurrent_create(const lk_onednn *engine, const lk_work *work,
                                     const_dnnl_primitive_desc_t desc, lk_engine_value *out,
                                     lk_recurrent_value **out_value, lk_error *error) {
  lk_recurrent_value *self = *out_value = calloc(1, sizeof *self);
  if (self == NULL) {
    return lk_onednn_fail(error, LK_OUT_OF_MEMORY,
                          "failed to build a recurrent layer: no memory for it");
  }
  self->sizes = lk_onednn_recurrent_sizes_of(work);
  self->order = lk_onednn_recurrent_order(work);
  self->packings[0].role = LK_ROLE_WEIGHTS;
  self->packings[1].role = LK_ROLE_RECURRENT_WEIGHTS;
  for (size_t i = 0; i < 2; i++) {
    LK_ONEDNN_RETURN(find_packing(&self->packings[i], engine, work, desc, out, error));
  }
  find_areas(self, work, out);
  return LK_OK;
}

/* ONNX has a bias beside each of both weights. Where the reset gate is applied to the product by
 * recurrent weights, the candidate keeps both. */
static void sum_biases(const lk_recurrent_value *self, const float *given, float *out) {
  const lk_recurrent_sizes *of = &self->sizes;
  const int64_t hidden = of->hidden, gates = of->gates;
  const int64_t summed = of->biases > gates ? gates - 1 : gates;
  for (int64_t d = 0; d < of->directions; d++) {
    const float *first = given + d * 2 * gates * hidden, *second = first + gates * hidden;
    for (int64_t gate = 0; gate < summed; gate++, out += hidden) {
      const int64_t at = self->order[gate] * hidden;
      for (int64_t i = 0; i < hidden; i++) out[i] = first[at + i] + second[at + i];
    }
    if (summed == gates) continue;
    memcpy(out, first + summed * hidden, (size_t)hidden * sizeof *out);
    memcpy(out + hidden, second + summed * hidden, (size_t)hidden * sizeof *out);
    out += 2 * hidden;
  }
}

/* Of the input, forget and output gate. */
static void order_peepholes(const lk_recurrent_value *self, const float *given, float *out) {
  static const int64_t order[] = {0, 2, 1};
  const int64_t hidden = self->sizes.hidden;
  for (int64_t i = 0; i < 3 * self->sizes.directions; i++) {
    memcpy(out + i * hidden, given + (i / 3 * 3 + order[i % 3]) * hidden,
           (size_t)hidden * sizeof *out);
  }
}

/* `given` is NULL where the work has no such tensor: then it is 0, or one that nobody reads. */
static void fill(const lk_recurrent_value *self, const area *of, const void *given, float *out) {
  const bool is_written = of->role == LK_ROLE_DST_STATE || of->role == LK_ROLE_DST_CELL;
  if (given == NULL) {
    if (!is_written) memset(out, 0, of->elements * sizeof *out);
  } else if (of->role == LK_ROLE_PEEPHOLES) {
    order_peepholes(self, given, out);
  } else {
    sum_biases(self, given, out);
  }
}

void lk_onednn_recurrent_prepare(const lk_recurrent_value *self, void *const *given,
                                 void **out_own) {
  unsigned char *scratch = given[self->n_given];
  uint32_t next = self->n_given + (self->has_scratch ? 1 : 0);
  memcpy(out_own, given, next * sizeof *out_own);
  for (uint32_t i = 0; i < self->n_areas; i++) {
    const area *of = &self->areas[i];
    float *at = (float *)(void *)(scratch + of->at);
    const bool is_given = of->index != NOT_GIVEN;
    fill(self, of, is_given ? given[of->index] : NULL, at);
    out_own[is_given ? of->index : next++] = at;
  }
}
