/* Finds two fields of opaque objects by setting them. */
#include "executor_glue/ort/peek.h"

#include <malloc.h>
#include <string.h>

#include "base/alloc.h"

/* Bytes of an object that ONNX Runtime has allocated, and what they were before a change. The object
 * comes from C++'s new, and that from malloc, which knows how large it is. */
typedef struct snapshot {
  const uint8_t *object;
  uint8_t *before;
  size_t bytes;
} snapshot;

static snapshot take(const void *object) {
  snapshot s = {.object = object, .bytes = malloc_usable_size((void *)(uintptr_t)object)};
  s.before = lk_alloc(lk_allocator_default(), s.bytes);
  if (s.before == NULL) s.bytes = 0;
  if (s.bytes > 0) memcpy(s.before, object, s.bytes);
  return s;
}

static void drop(snapshot *s) {
  lk_free(lk_allocator_default(), s->before);
}

/* The only place where `width` bytes were `from` and are `to`, and nothing else has changed. */
static size_t find_change(const snapshot *s, const void *from, const void *to, size_t width) {
  size_t found = SIZE_MAX;
  for (size_t at = 0; at + width <= s->bytes; at += width) {
    if (memcmp(s->before + at, s->object + at, width) == 0) continue;
    const bool as_set =
        memcmp(s->before + at, from, width) == 0 && memcmp(s->object + at, to, width) == 0;
    if (!as_set || found != SIZE_MAX) return SIZE_MAX;
    found = at;
  }
  return found;
}

static bool worked(const lk_ort *ort, OrtStatus *result) {
  if (result == NULL) return true;
  ort_ReleaseStatus(ort->api)(result);
  return false;
}

static size_t find_threads(const lk_ort *ort) {
  const OrtApi *api = ort->api;
  /* Numbers that nothing else in there has. */
  static const int first = 0x51a7, second = 0x2b3d;
  OrtSessionOptions *options = NULL;
  size_t offset = SIZE_MAX;
  if (!worked(ort, ort_CreateSessionOptions(api)(&options))) return offset;
  if (worked(ort, ort_SetIntraOpNumThreads(api)(options, first))) {
    snapshot s = take(options);
    if (worked(ort, ort_SetIntraOpNumThreads(api)(options, second))) {
      offset = find_change(&s, &first, &second, sizeof first);
    }
    drop(&s);
  }
  ort_ReleaseSessionOptions(api)(options);
  return offset;
}

static size_t find_terminate(const lk_ort *ort) {
  const OrtApi *api = ort->api;
  static const uint8_t off = 0, on = 1;
  OrtRunOptions *options = NULL;
  size_t set = SIZE_MAX, unset = SIZE_MAX;
  if (!worked(ort, ort_CreateRunOptions(api)(&options))) return SIZE_MAX;
  snapshot s = take(options);
  if (worked(ort, ort_RunOptionsSetTerminate(api)(options))) set = find_change(&s, &off, &on, 1);
  drop(&s);
  s = take(options);
  if (worked(ort, ort_RunOptionsUnsetTerminate(api)(options))) {
    unset = find_change(&s, &on, &off, 1);
  }
  drop(&s);
  ort_ReleaseRunOptions(api)(options);
  return set == unset ? set : SIZE_MAX;
}

void lk_ort_peek_find(const lk_ort *ort, lk_ort_peek *out) {
  out->threads_offset = find_threads(ort);
  out->terminate_offset = find_terminate(ort);
}

int32_t lk_ort_peek_threads(const lk_ort_peek *peek, const OrtSessionOptions *options) {
  int threads = 0;
  if (peek->threads_offset == SIZE_MAX) return 0;
  memcpy(&threads, (const uint8_t *)(const void *)options + peek->threads_offset, sizeof threads);
  return threads > 0 ? threads : 0;
}

const volatile uint8_t *lk_ort_peek_terminate(const lk_ort_peek *peek,
                                              const OrtRunOptions *options) {
  if (peek->terminate_offset == SIZE_MAX || options == NULL) return NULL;
  return (const uint8_t *)(const void *)options + peek->terminate_offset;
}
