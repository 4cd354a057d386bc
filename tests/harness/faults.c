/* An allocator that fails when it is told to: see faults.h. */
#include "tests/harness/faults.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

struct host_faults {
  lk_allocator allocator;
  _Atomic int64_t countdown; /* INT64_MAX: never */
  atomic_bool stays, has_failed;
  atomic_size_t allocations, live_blocks, live_bytes, peak_bytes;
};

/* Lies before each block, at the end of one unit of its alignment. */
typedef struct header {
  size_t size;
  void *block;
} header;

static bool is_to_fail(host_faults *self) {
  if (atomic_load(&self->countdown) == INT64_MAX) return false;
  const int64_t left = atomic_fetch_sub(&self->countdown, 1) - 1;
  return left == 0 || (left < 0 && atomic_load(&self->stays));
}

static void *allocate(void *user, size_t size, size_t alignment) {
  host_faults *self = user;
  atomic_fetch_add(&self->allocations, 1);
  if (is_to_fail(self)) {
    atomic_store(&self->has_failed, true);
    return NULL;
  }
  if (alignment < alignof(max_align_t)) alignment = alignof(max_align_t);
  const size_t before = alignment < sizeof(header) ? sizeof(header) : alignment;
  if (size > SIZE_MAX - before) return NULL;
  void *block = NULL;
  if (posix_memalign(&block, alignment, before + size) != 0) return NULL;
  unsigned char *data = (unsigned char *)block + before;
  ((header *)(void *)data)[-1] = (header){size, block};
  atomic_fetch_add(&self->live_blocks, 1);
  const size_t now = atomic_fetch_add(&self->live_bytes, size) + size;
  size_t peak = atomic_load(&self->peak_bytes);
  while (now > peak && !atomic_compare_exchange_weak(&self->peak_bytes, &peak, now)) {
  }
  return data;
}

static void release(void *user, void *pointer) {
  host_faults *self = user;
  if (pointer == NULL) return;
  const header before = ((header *)pointer)[-1];
  atomic_fetch_sub(&self->live_blocks, 1);
  atomic_fetch_sub(&self->live_bytes, before.size);
  free(before.block);
}

host_faults *host_faults_create(void) {
  host_faults *faults = calloc(1, sizeof *faults);
  if (faults == NULL) abort();
  faults->allocator = (lk_allocator){faults, allocate, release};
  host_faults_never(faults);
  return faults;
}

void host_faults_destroy(host_faults *faults) {
  free(faults);
}

const lk_allocator *host_faults_allocator(const host_faults *faults) {
  return &faults->allocator;
}

host_faults_state host_faults_state_get(const host_faults *faults) {
  return (host_faults_state){.allocations = atomic_load(&faults->allocations),
                             .live_blocks = atomic_load(&faults->live_blocks),
                             .live_bytes = atomic_load(&faults->live_bytes),
                             .peak_bytes = atomic_load(&faults->peak_bytes),
                             .has_failed = atomic_load(&faults->has_failed)};
}

void host_faults_at(host_faults *faults, size_t nth, bool on) {
  atomic_store(&faults->stays, on);
  atomic_store(&faults->has_failed, false);
  atomic_store(&faults->countdown, (int64_t)nth);
}

void host_faults_never(host_faults *faults) {
  atomic_store(&faults->countdown, INT64_MAX);
}
