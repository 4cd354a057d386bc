/* Unpacks a skeleton with protobuf-c, in memory from our allocator. */
#include "executor_glue/onnx/unpack.h"

#include "base/alloc.h"
#include "base/status.h"

typedef struct hook {
  const lk_allocator *allocator;
  size_t failed; /* bytes of the allocation that failed */
} hook;

static void *hook_alloc(void *data, size_t size) {
  hook *h = data;
  void *pointer = lk_alloc(h->allocator, size);
  if (pointer == NULL) h->failed = size;
  return pointer;
}

static void hook_free(void *data, void *pointer) {
  const hook *h = data;
  lk_free(h->allocator, pointer);
}

lk_status lk_onnx_unpack(const lk_allocator *allocator, lk_onnx_message root,
                         const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                         size_t size, ProtobufCMessage **out_message, lk_error *error) {
  lk_onnx_skeleton skeleton;
  *out_message = NULL;
  LK_RETURN_NOT_OK(
      lk_onnx_scan(allocator, root, bytes, size, LK_ONNX_BUDGET(size), &skeleton, error));

  hook h = {allocator, 0};
  ProtobufCAllocator hooks = {hook_alloc, hook_free, &h};
  *out_message = protobuf_c_message_unpack(descriptor, &hooks, skeleton.size, skeleton.bytes);
  lk_free(allocator, skeleton.bytes);
  if (*out_message != NULL) return LK_OK;
  /* protobuf-c does not say why it fails. */
  if (h.failed > 0) return lk_fail_memory(error, "an unpacked ONNX file", h.failed);
  return lk_fail(error, LK_MALFORMED, "failed to unpack a %s: protobuf does not accept it",
                 lk_onnx_schemas[root].name);
}

void lk_onnx_unpacked_destroy(const lk_allocator *allocator, ProtobufCMessage *message) {
  hook h = {allocator, 0};
  ProtobufCAllocator hooks = {hook_alloc, hook_free, &h};
  if (message != NULL) protobuf_c_message_free_unpacked(message, &hooks);
}
