/* Constants of the host's own, which it packs by code of its own, in the weights store. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "base/tensor.h"
#include "ops/plan/packing.h"
#include "plugin/internal.h"
#include "plugin/table.h"

struct lk_constant {
  const lk_allocator *allocator;
  lk_content *content;
  const void *lent; /* NULL: the store has a copy */
};

static lk_status check_bytes(const char *doing, uint64_t bytes, lk_error *error) {
  if (bytes > 0 && bytes <= (uint64_t)LK_TENSOR_MAX_BYTES) return LK_OK;
  return lk_fail(error, LK_OUT_OF_RANGE,
                 "failed to %s of %" PRIu64 " bytes: 1 to %" PRId64 " are allowed", doing, bytes,
                 LK_TENSOR_MAX_BYTES);
}

lk_status lk_constant_create(lk_context *context, const void *data, uint64_t bytes, uint32_t flags,
                             lk_constant **out_constant, lk_error *error) {
  LK_REQUIRE_AS("constant_create", "context, data, out_constant", error, context, data,
                out_constant);
  *out_constant = NULL;
  lk_status status = LK_OK;
  const bool copy = (flags & LK_INPUT_COPY) != 0;
  if ((flags & ~(uint32_t)LK_INPUT_COPY) != 0) {
    return lk_fail(
        error, LK_INVALID_ARGUMENT,
        "failed to make a constant with the flags %#" PRIx32 ": LK_INPUT_COPY is allowed", flags);
  }
  LK_RETURN_NOT_OK(check_bytes("make a constant", bytes, error));
  lk_constant *self = lk_calloc(&context->allocator, 1, sizeof *self);
  if (self == NULL) return lk_fail_memory(error, "a constant", sizeof *self);
  LK_TRY(lk_weights_intern(context->env.weights, data, (size_t)bytes, copy, &self->content, error));
  self->allocator = &context->allocator;
  self->lent = copy ? NULL : data;
  *out_constant = self;
  self = NULL;
cleanup:
  lk_free(&context->allocator, self);
  return status;
}

void lk_constant_release(lk_constant *constant) {
  if (constant == NULL) return;
  lk_content_release(constant->content, constant->lent);
  lk_free(constant->allocator, constant);
}

/* What the store gives to pack, and what it may keep of that. */
typedef struct host_packer {
  lk_pack_fn pack;
  void *arg;
} host_packer;

/* A host that fails may forget to say why. */
static lk_status pack(const void *params, const void *plain, void *to, lk_error *error) {
  const host_packer *self = params;
  if (error != NULL) error->message[0] = '\0';
  const lk_status status = self->pack(self->arg, plain, to, error);
  if (status == LK_OK || error == NULL) return status;
  if (error->message[0] == '\0') {
    return lk_fail(error, status, "failed to pack a constant: %s", lk_status_text(status));
  }
  error->status = status;
  return status;
}

lk_status lk_constant_pack(lk_constant *constant, const lk_packing *given, lk_packed **out_packed,
                           lk_error *error) {
  LK_REQUIRE_AS("constant_pack", "constant, packing, out_packed", error, constant, given,
                out_packed);
  *out_packed = NULL;
  lk_packing packing = {0};
  LK_RETURN_NOT_OK(lk_struct_read(&packing, sizeof packing, given, "a packing", error));
  LK_REQUIRE_AS("constant_pack", "packing.layout, packing.pack", error, packing.layout,
                packing.pack);
  LK_RETURN_NOT_OK(check_bytes("pack a constant into a copy", packing.bytes, error));
  LK_RETURN_NOT_OK(check_bytes("pack a constant by a layout", packing.layout_bytes, error));
  const host_packer params = {packing.pack, packing.arg};
  const lk_packer packer = {pack, NULL, &params, sizeof params};
  const lk_weights_layout layout = {.numbers = {LK_PACKED_BY_HOST},
                                    .bytes = packing.layout,
                                    .n_bytes = (size_t)packing.layout_bytes};
  return lk_content_pack(constant->content, &layout, (size_t)packing.bytes, &packer, out_packed,
                         error);
}
