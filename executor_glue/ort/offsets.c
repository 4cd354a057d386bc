/* Finds two fields of opaque objects by setting them. */
#include "executor_glue/ort/offsets.h"

#include <malloc.h>
#include <string.h>

#include "base/alloc.h"

/* The bytes of an object of ONNX Runtime's, and a copy from before a change. The object comes from
 * C++'s new, which calls malloc; malloc knows its size. */
typedef struct snapshot {
  const uint8_t *object;
  uint8_t *before;
  size_t bytes;
} snapshot;

static snapshot snapshot_create(const void *object) {
  snapshot s = {.object = object, .bytes = malloc_usable_size((void *)(uintptr_t)object)};
  s.before = lk_alloc(lk_allocator_default(), s.bytes);
  if (s.before == NULL) s.bytes = 0;
  if (s.bytes > 0) memcpy(s.before, object, s.bytes);
  return s;
}

static void snapshot_destroy(snapshot *s) {
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

static bool worked(const OrtApi *api, OrtStatus *result) {
  if (result == NULL) return true;
  ort_ReleaseStatus(api)(result);
  return false;
}

static size_t find_threads(const OrtApi *api) {
  /* Numbers that nothing else in there has. */
  static const int first = 0x51a7, second = 0x2b3d;
  OrtSessionOptions *options = NULL;
  size_t offset = SIZE_MAX;
  if (!worked(api, ort_CreateSessionOptions(api)(&options))) return offset;
  if (worked(api, ort_SetIntraOpNumThreads(api)(options, first))) {
    snapshot s = snapshot_create(options);
    if (worked(api, ort_SetIntraOpNumThreads(api)(options, second))) {
      offset = find_change(&s, &first, &second, sizeof first);
    }
    snapshot_destroy(&s);
  }
  ort_ReleaseSessionOptions(api)(options);
  return offset;
}

static size_t find_terminate(const OrtApi *api) {
  static const uint8_t off = 0, on = 1;
  OrtRunOptions *options = NULL;
  size_t set = SIZE_MAX, unset = SIZE_MAX;
  if (!worked(api, ort_CreateRunOptions(api)(&options))) return SIZE_MAX;
  snapshot s = snapshot_create(options);
  if (worked(api, ort_RunOptionsSetTerminate(api)(options))) set = find_change(&s, &off, &on, 1);
  snapshot_destroy(&s);
  s = snapshot_create(options);
  if (worked(api, ort_RunOptionsUnsetTerminate(api)(options))) {
    unset = find_change(&s, &on, &off, 1);
  }
  snapshot_destroy(&s);
  ort_ReleaseRunOptions(api)(options);
  return set == unset ? set : SIZE_MAX;
}

lk_ort_offsets lk_ort_offsets_find(const OrtApi *api) {
  return (lk_ort_offsets){.threads = find_threads(api), .terminate = find_terminate(api)};
}

int32_t lk_ort_session_threads(const lk_ort_offsets *offsets, const OrtSessionOptions *options) {
  int threads = 0;
  if (offsets->threads == SIZE_MAX) return 0;
  memcpy(&threads, (const uint8_t *)(const void *)options + offsets->threads, sizeof threads);
  return threads > 0 ? threads : 0;
}

const volatile uint8_t *lk_ort_run_terminate(const lk_ort_offsets *offsets,
                                             const OrtRunOptions *options) {
  if (offsets->terminate == SIZE_MAX || options == NULL) return NULL;
  return (const uint8_t *)(const void *)options + offsets->terminate;
}
