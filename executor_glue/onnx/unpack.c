/* Unpacks a message of ONNX with protobuf-c, in memory that is given back all at once. */
#include "executor_glue/onnx/unpack.h"

#include <stdalign.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/step.h"

/* Before each piece that protobuf-c gets. */
typedef struct piece {
  alignas(max_align_t) size_t bytes; /* behind this */
  struct piece *next;                /* while it is free */
} piece;

/* Chunks are about as large as the skeleton, which takes less than what it is unpacked to: there
 * are a few, and a small model takes little more than it needs. */
enum { LEAST_CHUNK = 4 << 10, MOST_CHUNK = 1 << 20 };

/* Where protobuf-c gets memory. It gives back while it unpacks what it has noted of the fields of a
 * message, in lists of sizes that double: the next message takes them. */
typedef struct room {
  lk_bump memory;
  piece *free[64]; /* by the logarithm of their bytes, to the base of 2 */
  size_t failed;   /* bytes of the allocation that failed */
} room;

static piece **free_pieces(room *self, size_t bytes) {
  return &self->free[63 - __builtin_clzl(bytes | 1)];
}

static void *take(void *data, size_t bytes) {
  room *self = data;
  piece **free = free_pieces(self, bytes), *taken = *free;
  if (lk_step(NULL) != LK_OK) return NULL; /* nothing else of protobuf-c may fail */
  if (taken != NULL && taken->bytes >= bytes) {
    *free = taken->next;
    return taken + 1;
  }
  taken =
      bytes < SIZE_MAX - sizeof *taken ? lk_bump_alloc(&self->memory, sizeof *taken + bytes) : NULL;
  if (taken == NULL) {
    self->failed = bytes;
    return NULL;
  }
  taken->bytes = bytes;
  return taken + 1;
}

static void give_back(void *data, void *pointer) {
  room *self = data;
  if (pointer == NULL) return;
  piece *given = (piece *)pointer - 1, **free = free_pieces(self, given->bytes);
  given->next = *free;
  *free = given;
}

lk_status lk_onnx_unpack(const lk_allocator *allocator, lk_onnx_source *source,
                         lk_onnx_message root, const ProtobufCMessageDescriptor *descriptor,
                         lk_onnx_unpacked *out, lk_error *error) {
  lk_onnx_skeleton skeleton;
  *out = (lk_onnx_unpacked){0};
  LK_RETURN_NOT_OK(lk_onnx_scan(allocator, root, source->bytes, source->size,
                                LK_ONNX_BUDGET(source->size), &skeleton, error));
  source->graph_budget = skeleton.graph_budget;
  const size_t chunk = skeleton.size < LEAST_CHUNK  ? LEAST_CHUNK
                       : skeleton.size > MOST_CHUNK ? MOST_CHUNK
                                                    : skeleton.size;
  room r = {.memory = lk_bump_begin(allocator, NULL, 0, chunk)};
  ProtobufCAllocator hooks = {take, give_back, &r};
  const ProtobufCMessage *message =
      protobuf_c_message_unpack(descriptor, &hooks, skeleton.size, skeleton.bytes);
  lk_free(allocator, skeleton.bytes);
  if (message != NULL) {
    *out = (lk_onnx_unpacked){message, r.memory};
    return LK_OK;
  }
  lk_bump_end(&r.memory);
  /* protobuf-c does not say why it fails. */
  LK_RETURN_NOT_OK(lk_step_look(error));
  if (r.failed > 0) return lk_fail_memory(error, "an unpacked ONNX file", r.failed);
  return lk_fail(error, LK_MALFORMED, "failed to unpack a %s: protobuf does not accept it",
                 lk_onnx_schemas[root].name);
}

void lk_onnx_unpacked_destroy(lk_onnx_unpacked *unpacked) {
  lk_bump_end(&unpacked->memory);
  *unpacked = (lk_onnx_unpacked){0};
}
