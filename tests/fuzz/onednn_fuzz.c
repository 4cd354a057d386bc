/* Works for the engine of oneDNN: it takes one or leaves it, builds it or says why not, and runs
 * small ones within their memory. The module's sources are linked in. */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/tensor.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/works.h"

lk_status lk_engine_open(uint32_t version, const lk_engine_team *team, int threads,
                         lk_engine *out_engine, lk_error *error);

/* ---- the engine, and a team of one thread ---- */

static void run_alone(void (*fn)(void *arg), void *arg, int threads) {
  (void)threads;
  fn(arg);
}
static int get_one(void) {
  return 1;
}
static int get_zero(void) {
  return 0;
}

static const lk_engine *get_engine(void) {
  static const lk_engine_team team = {.struct_size = sizeof team,
                                      .run = run_alone,
                                      .threads = get_one,
                                      .rank = get_zero,
                                      .size = get_one,
                                      .is_stopped = get_zero};
  static lk_engine made;
  if (made.struct_size == 0) {
    FUZZ_CHECK(lk_engine_open(LK_ENGINE_VERSION, &team, 2, &made, NULL) == LK_OK);
  }
  return &made;
}

static bool has(const lk_work *work, uint32_t role) {
  return (work->roles >> role & 1) != 0;
}

/* ---- as the planner asks (ops/engine/value_steps.c) ---- */

/* Larger ones are built, too, but oneDNN looks for seconds how to cut some of them. */
#define MOST_ELEMENTS ((int64_t)1 << 32)

static bool is_sized(const lk_work *work) {
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    const lk_tensor_desc *desc = &work->tensors[role];
    int64_t elements = 0;
    if (!has(work, role)) continue;
    if (lk_tensor_size(desc, "a tensor", &elements, NULL, NULL) != LK_OK) return false;
    if (elements > MOST_ELEMENTS) return false;
  }
  return true;
}

static bool fits(const lk_tensor_desc *desc, lk_layout layout) {
  return layout == LK_LAYOUT_PLAIN || (layout == LK_LAYOUT_CHANNELS_LAST && desc->rank >= 3) ||
         (layout == LK_LAYOUT_HEADS_INSIDE && desc->rank == 4);
}

/* Asks for an offer, checks it, and makes it the work's. */
static bool take_offer(fuzz_bytes *from, lk_work *work) {
  const uint32_t bits = (uint32_t)fuzz_take(from, 4);
  uint32_t placed = 0;
  lk_offer offer = {.struct_size = sizeof offer, .n_post_ops = work->n_post_ops};
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (!has(work, role)) continue;
    const bool is_constant = (work->constants >> role & 1) != 0;
    const bool is_open = role == LK_ROLE_DST && (bits >> 31) != 0;
    if (is_constant || is_open) {
      work->tensors[role].layout = LK_LAYOUT_ANY;
    } else {
      placed |= bits & 1U << role;
    }
    offer.layouts[role] = work->tensors[role].layout;
  }
  const lk_engine *engine = get_engine();
  if (engine->offer(engine->self, work, placed, &offer) != 1) return false;
  FUZZ_CHECK(offer.n_post_ops <= work->n_post_ops);
  for (uint32_t i = offer.n_post_ops; i < work->n_post_ops; i++) {
    const uint32_t operand = work->post_ops[i].operand;
    if (operand != 0) work->tensors[operand] = (lk_tensor_desc){.rank = 0};
    if (operand != 0) work->roles &= ~(1U << operand);
    work->post_ops[i] = (lk_work_post_op){.kind = 0};
  }
  work->n_post_ops = offer.n_post_ops;
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (!has(work, role)) continue;
    lk_tensor_desc *desc = &work->tensors[role];
    if ((placed >> role & 1) != 0) FUZZ_CHECK(offer.layouts[role] == desc->layout);
    if (offer.layouts[role] == LK_LAYOUT_ANY) {
      FUZZ_CHECK((work->constants >> role & 1) != 0);
    } else {
      FUZZ_CHECK(fits(desc, offer.layouts[role]));
    }
    desc->layout = offer.layouts[role];
  }
  return true;
}

/* ---- running in memory that ends before a page which nobody may touch ---- */

#define MOST_BYTES ((uint64_t)1 << 20)
#define MOST_STEPS 1e8

typedef struct fenced {
  void *base;
  size_t size;
  void *data;
} fenced;

/* Aligned to 64, which the library's memory is: the last bytes may be nobody's. */
static fenced fence(uint64_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t rounded = (size_t)(bytes + 63) / 64 * 64, pages = (rounded + page - 1) / page * page;
  fenced made = {.size = pages + page};
  made.base = mmap(NULL, made.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  FUZZ_CHECK(made.base != MAP_FAILED);
  FUZZ_CHECK(mprotect((char *)made.base + pages, page, PROT_NONE) == 0);
  made.data = (char *)made.base + pages - rounded;
  memset(made.data, 0x3c, rounded); /* 0.0115 */
  return made;
}

static void unfence(const fenced *of) {
  if (of->base != NULL) FUZZ_CHECK(munmap(of->base, of->size) == 0);
}

static uint64_t bytes_of(const lk_work *work, const lk_engine_value *value, uint32_t role) {
  int64_t bytes = 0;
  FUZZ_CHECK(lk_tensor_size(&work->tensors[role], "a tensor", NULL, &bytes, NULL) == LK_OK);
  return value->packed[role].layout != NULL ? value->packed[role].bytes : (uint64_t)bytes;
}

static bool is_small(const lk_work *work, const lk_engine_value *value) {
  uint64_t bytes = value->scratch_bytes;
  double steps = 1;
  for (uint32_t role = 0; role < LK_ROLES && bytes <= MOST_BYTES; role++) {
    if (!has(work, role)) continue;
    const uint64_t more = bytes_of(work, value, role);
    bytes += more;
    if (role == LK_ROLE_DST || role == LK_ROLE_WEIGHTS) steps *= (double)more;
  }
  for (uint32_t i = 0; i < work->window.rank; i++) steps *= (double)work->window.kernel[i];
  return bytes <= MOST_BYTES && steps <= MOST_STEPS;
}

static void run_value(const lk_work *work, const lk_engine_value *value) {
  const lk_engine *engine = get_engine();
  fenced memory[LK_ROLES + 1];
  void *pointers[LK_ROLES + 1];
  uint32_t n = 0;
  lk_error error = {.status = LK_OK};
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if (!has(work, role)) continue;
    memory[n] = fence(bytes_of(work, value, role));
    pointers[n] = memory[n].data;
    if (value->packed[role].layout != NULL) {
      lk_engine_value plain = *value;
      plain.packed[role].layout = NULL;
      const fenced from = fence(bytes_of(work, &plain, role));
      FUZZ_CHECK(engine->pack(engine->self, value->value, role, from.data, memory[n].data,
                              &error) == LK_OK);
      unfence(&from);
    }
    n++;
  }
  if (value->scratch_bytes > 0) {
    memory[n] = fence(value->scratch_bytes);
    pointers[n] = memory[n].data;
    n++;
  }
  void *slot = NULL;
  FUZZ_CHECK(engine->slot_open(engine->self, value->value, &slot, &error) == LK_OK);
  FUZZ_CHECK(engine->run(engine->self, value->value, slot, pointers, &error) == LK_OK);
  engine->slot_close(engine->self, value->value, slot);
  for (uint32_t i = 0; i < n; i++) unfence(&memory[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const lk_engine *engine = get_engine();
  fuzz_bytes from = {data, size};
  lk_work work = fuzz_fitting_work(&from);
  if (!is_sized(&work) || !take_offer(&from, &work)) return 0;
  lk_engine_value value = {.struct_size = sizeof value};
  lk_error error = {.status = LK_OK};
  const lk_status status = engine->build(engine->self, &work, &value, &error);
  if (status != LK_OK) {
    FUZZ_CHECK(error.status == status || status == LK_UNSUPPORTED);
    FUZZ_CHECK(status == LK_UNSUPPORTED || status == LK_OUT_OF_MEMORY);
    fuzz_check_sentence(&error);
    return 0;
  }
  FUZZ_CHECK(value.value != NULL && value.implementation != NULL);
  if (value.is_reference == 0 && is_small(&work, &value)) run_value(&work, &value);
  engine->destroy(engine->self, value.value);
  return 0;
}
