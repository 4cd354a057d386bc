/* Measures what this machine can do at the most. Each round takes a millisecond or two on all
 * threads, and the best one counts: whatever else runs on the machine only takes away. */
#include "ops/kernel/peak.h"

#include <immintrin.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/team/team.h"

/* ---- arithmetic: FMAs that depend on no other one ---- */

/* Two FMAs begin in each cycle and take four: eight chains are enough, and more of them hide what
 * the loop itself takes. All fit into the 16 registers of AVX2. */
enum { CHAINS = 12 };

/* Returns how many multiplications and additions it has done. `*out`: what came of them, so that a
 * compiler cannot leave them out. */
typedef double fma_fn(int64_t turns, float *out);

__attribute__((target("avx2,fma"))) static double fma_avx2(int64_t turns, float *out) {
  const __m256 factor = _mm256_set1_ps(0.999F), more = _mm256_set1_ps(0.001F);
  __m256 sums[CHAINS];
  for (int c = 0; c < CHAINS; c++) sums[c] = _mm256_set1_ps((float)c);
  for (int64_t i = 0; i < turns; i++) {
#pragma GCC unroll 12
    for (int c = 0; c < CHAINS; c++) sums[c] = _mm256_fmadd_ps(sums[c], factor, more);
  }
  for (int c = 1; c < CHAINS; c++) sums[0] = _mm256_add_ps(sums[0], sums[c]);
  _mm256_storeu_ps(out, sums[0]);
  return (double)turns * CHAINS * 8 * 2;
}

__attribute__((target("avx512f"))) static double fma_avx512(int64_t turns, float *out) {
  const __m512 factor = _mm512_set1_ps(0.999F), more = _mm512_set1_ps(0.001F);
  __m512 sums[CHAINS];
  for (int c = 0; c < CHAINS; c++) sums[c] = _mm512_set1_ps((float)c);
  for (int64_t i = 0; i < turns; i++) {
#pragma GCC unroll 12
    for (int c = 0; c < CHAINS; c++) sums[c] = _mm512_fmadd_ps(sums[c], factor, more);
  }
  for (int c = 1; c < CHAINS; c++) sums[0] = _mm512_add_ps(sums[0], sums[c]);
  _mm512_storeu_ps(out, sums[0]);
  return (double)turns * CHAINS * 16 * 2;
}

/* Without FMA. */
static double fma_plain(int64_t turns, float *out) {
  float sums[CHAINS] = {0};
  for (int64_t i = 0; i < turns; i++) {
    for (int c = 0; c < CHAINS; c++) sums[c] = sums[c] * 0.999F + 0.001F;
  }
  memcpy(out, sums, sizeof sums);
  return (double)turns * CHAINS * 2;
}

static fma_fn *best_fma(void) {
  if (__builtin_cpu_supports("avx512f")) return fma_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return fma_avx2;
  return fma_plain;
}

/* ---- memory ---- */

/* Larger than the last cache, of which little is left of the round before. */
static size_t bytes_to_read(void) {
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const size_t least = LK_PEAK_MAX_BYTES / 4;
  const size_t wanted = cache > 0 ? 2 * (size_t)cache : 0;
  if (wanted < least) return least;
  return wanted < LK_PEAK_MAX_BYTES ? wanted : LK_PEAK_MAX_BYTES;
}

/* A sum, so that everything is read. */
static uint64_t read_all(const uint64_t *data, size_t count) {
  uint64_t sums[8] = {0};
  for (size_t i = 0; i + 8 <= count; i += 8) {
    for (size_t k = 0; k < 8; k++) sums[k] += data[i + k];
  }
  for (size_t k = 1; k < 8; k++) sums[0] += sums[k];
  return sums[0];
}

/* ---- rounds: all threads at the same time ---- */

#define ROUND_NS (LK_SECOND_NS / 500) /* short enough to lie between two interruptions */
#define KIND_NS (LK_SECOND_NS / 15)   /* for all rounds of a kind */
#define LATE_NS (KIND_NS / 4)         /* a busy processor takes so long to turn to a thread */
enum { N_PARTS = 8 };                 /* of the memory: a round reads one of them */

/* What one thread has done in a round. */
typedef struct lane {
  _Alignas(64) float values[16];
  uint64_t sum, begin_ns, end_ns;
  double done;
} lane;

typedef struct rounds {
  fma_fn *fma;
  int64_t turns;
  unsigned char *data;
  size_t bytes, part;
  lane *lanes; /* [threads] */
  int size;    /* threads of the last round */
  atomic_int n_here;
  bool waits; /* a thread does nothing unless all of them are there */
} rounds;

static double compute(const rounds *self, lane *own) {
  return self->fma(self->turns, own->values);
}

static unsigned char *share_of(const rounds *self, size_t *out_bytes) {
  *out_bytes = self->bytes / (size_t)lk_team_size() / (N_PARTS * 64) * (N_PARTS * 64);
  return self->data + *out_bytes * (size_t)lk_team_rank();
}

static double read_part(const rounds *self, lane *own) {
  size_t bytes = 0;
  const unsigned char *share = share_of(self, &bytes);
  bytes /= N_PARTS;
  const void *part = share + self->part * bytes;
  own->sum = read_all(part, bytes / sizeof(uint64_t));
  return (double)bytes;
}

/* By the thread that reads it later, on whose side of the machine it then lies. */
static void touch(void *arg) {
  size_t bytes = 0;
  unsigned char *share = share_of(arg, &bytes);
  memset(share, 1, bytes);
}

/* A thread that comes late may find its share done by another one, one share after the other: that
 * says nothing of both at the same time. */
static bool all_are_here(rounds *self) {
  const uint64_t end = lk_now_ns() + LATE_NS;
  atomic_fetch_add(&self->n_here, 1);
  while (atomic_load(&self->n_here) < lk_team_size()) {
    if (lk_now_ns() > end) return false;
  }
  return true;
}

static void run_share(rounds *self, double (*work)(const rounds *, lane *)) {
  lane *own = &self->lanes[lk_team_rank()];
  own->done = 0;
  if (lk_team_rank() == 0) self->size = lk_team_size();
  if (self->waits && !all_are_here(self)) return;
  own->begin_ns = lk_now_ns();
  own->done = work(self, own);
  own->end_ns = lk_now_ns();
}

static void compute_share(void *arg) {
  run_share(arg, compute);
}

static void read_share(void *arg) {
  run_share(arg, read_part);
}

/* How much all threads have done in a nanosecond; 0: one of them did not come. */
static double round_of(rounds *self, void (*share)(void *), int threads) {
  double done = 0;
  uint64_t begin_ns = UINT64_MAX, end_ns = 0;
  atomic_store(&self->n_here, 0);
  lk_team_run(share, self, threads);
  for (int i = 0; i < self->size; i++) {
    const lane *one = &self->lanes[i];
    if (one->done == 0) return 0;
    if (one->begin_ns < begin_ns) begin_ns = one->begin_ns;
    if (one->end_ns > end_ns) end_ns = one->end_ns;
    done += one->done;
  }
  return end_ns > begin_ns ? done / (double)(end_ns - begin_ns) : 0;
}

static double best_of(rounds *self, void (*share)(void *), int threads) {
  double best = 0;
  const uint64_t end = lk_now_ns() + KIND_NS;
  self->waits = true;
  do {
    const double speed = round_of(self, share, threads);
    self->part = (self->part + 1) % N_PARTS;
    if (speed > best) best = speed;
  } while (lk_now_ns() < end);
  self->waits = false; /* where there are never so many processors free */
  return best > 0 ? best : round_of(self, share, threads);
}

static void measure(rounds *self, int threads, lk_peak *out) {
  uint64_t begin = 0;
  self->turns = 1 << 12;
  do {
    self->turns *= 2;
    begin = lk_now_ns();
    (void)compute(self, self->lanes);
  } while (lk_now_ns() - begin < ROUND_NS / 2);
  out->gflops = best_of(self, compute_share, threads);
  lk_team_run(touch, self, threads);
  out->gbytes = best_of(self, read_share, threads);
  out->threads = self->size;
}

lk_status lk_peak_measure(const lk_allocator *allocator, int32_t threads, lk_peak *out,
                          lk_error *error) {
  lk_status status = LK_OK;
  rounds self = {.fma = best_fma(), .bytes = bytes_to_read()};
  const size_t lane_bytes = (size_t)threads * sizeof *self.lanes;
  self.lanes = lk_alloc_aligned(allocator, lane_bytes, _Alignof(lane));
  if (self.lanes == NULL) LK_TRY(lk_fail_memory(error, "results of a measurement", lane_bytes));
  self.data = lk_alloc_aligned(allocator, self.bytes, LK_DATA_ALIGNMENT);
  if (self.data == NULL) LK_TRY(lk_fail_memory(error, "a measurement", self.bytes));
  const int before = lk_team_begin(threads); /* the same team for all rounds */
  measure(&self, threads, out);
  lk_team_end(before);
cleanup:
  lk_free(allocator, self.data);
  lk_free(allocator, self.lanes);
  return status;
}
