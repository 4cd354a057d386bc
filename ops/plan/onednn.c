/* What every caller of oneDNN needs: its names for types, its statuses, and a guard against
 * forks. */
#include "ops/plan/onednn.h"

#include <pthread.h>

#include "base/fork.h"
#include "base/status.h"

dnnl_data_type_t lk_dnnl_type(uint32_t dtype) {
  /* undef, which is 0, for the others */
  static const dnnl_data_type_t types[] = {
      [LK_F32] = dnnl_f32, [LK_F16] = dnnl_f16, [LK_BF16] = dnnl_bf16,
      [LK_I32] = dnnl_s32, [LK_I8] = dnnl_s8,   [LK_U8] = dnnl_u8};
  return dtype < sizeof types / sizeof types[0] ? types[dtype] : dnnl_data_type_undef;
}

lk_status lk_dnnl_fail(lk_error *error, dnnl_status_t dnnl, const char *what) {
  switch (dnnl) {
  case dnnl_out_of_memory:
    return lk_fail(error, LK_OUT_OF_MEMORY, "failed to %s: oneDNN is out of memory", what);
  case dnnl_unimplemented:
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to %s: oneDNN has no implementation for these types and shapes", what);
  case dnnl_invalid_arguments:
    return lk_fail(error, LK_INVALID_ARGUMENT, "failed to %s: oneDNN says invalid arguments", what);
  default:
    return lk_fail(error, LK_ONEDNN, "failed to %s: oneDNN status %d", what, (int)dnnl);
  }
}

lk_status lk_dnnl_check(lk_error *error, dnnl_status_t dnnl, const char *what) {
  return dnnl == dnnl_success ? LK_OK : lk_dnnl_fail(error, dnnl, what);
}

/* ---- the guard: one lock of the process, shared by threads that create, exclusive for a fork
 * ---- */

/* Writers first: threads that create one primitive after another would keep a fork waiting. */
#define FREE PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_rwlock_t lock = FREE;

static void close_to_all(void *unused) {
  (void)unused;
  (void)pthread_rwlock_wrlock(&lock);
}

static void open_in_parent(void *unused) {
  (void)unused;
  (void)pthread_rwlock_unlock(&lock);
}

/* The lock still counts threads that waited in the parent; the child does not have them, and begins
 * with a new lock. */
static void open_in_child(void *unused) {
  static const pthread_rwlock_t is_free = FREE;
  (void)unused;
  lock = is_free;
}

static void start(void) {
  static lk_fork_entry entry = {.level = LK_FORK_ONEDNN,
                                .before = close_to_all,
                                .parent = open_in_parent,
                                .child = open_in_child};
  lk_fork_enter(&entry);
}

void lk_dnnl_create_begin(void) {
  (void)pthread_once(&once, start);
  (void)pthread_rwlock_rdlock(&lock);
}

void lk_dnnl_create_end(void) {
  (void)pthread_rwlock_unlock(&lock);
}
