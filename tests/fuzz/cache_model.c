/* See cache_model.h. */
#include "tests/fuzz/cache_model.h"

#include <string.h>

/* What a value is charged at the most, besides its key and its entry (keys/cache/entry.c). */
#define MOST_BYTES (LK_UNLIMITED / 4)
#define MOST_OVERHEAD 4096u

bool model_same_key(const model_key *a, const model_key *b) {
  return memcmp(a, b, sizeof *a) == 0;
}

model_account *model_executor(model_context *context, uint32_t serial) {
  for (int i = 0; serial != 0 && i < MODEL_EXECUTORS; i++) {
    if (context->executors[i].serial == serial) return &context->executors[i];
  }
  return NULL;
}

model_value *model_find(model *m, const model_key *key, uint32_t place) {
  model_value *found = NULL;
  for (uint32_t i = 0; i < m->n_values; i++) {
    model_value *value = &m->values[i];
    if (!value->linked || value->place != place || !model_same_key(&value->key, key)) continue;
    FUZZ_CHECK(found == NULL);
    found = value;
  }
  return found;
}

/* ---- limits ---- */

static bool fits(const model_account *account, uint64_t entries, uint64_t bytes, uint64_t more,
                 uint64_t more_bytes) {
  return entries <= account->limit_entries && more <= account->limit_entries - entries &&
         bytes <= account->limit_bytes && more_bytes <= account->limit_bytes - bytes;
}

bool model_fits_alone(model_context *context, uint32_t owner, uint64_t charge) {
  const model_account *executor = model_executor(context, owner);
  return fits(&context->account, 0, 0, 1, charge) &&
         (executor == NULL || fits(executor, 0, 0, 1, charge));
}

bool model_keeps(model_context *context, uint32_t owner) {
  return context->mode != LK_CACHE_OFF && model_fits_alone(context, owner, 1);
}

model_call *model_begin(model *m, uint32_t context, uint32_t owner) {
  FUZZ_CHECK(m->n_calls < sizeof m->calls / sizeof m->calls[0]);
  model_call *call = &m->calls[m->n_calls++];
  call->context = context;
  call->owner = owner;
  call->adds = call->charge = 0;
  call->empties = call->faulty = false;
  call->n_evicted = call->n_dropped = 0;
  return call;
}

void model_end(model *m) {
  const model_call *call = &m->calls[--m->n_calls];
  model_context *context = &m->contexts[call->context];
  const model_account *executor = model_executor(context, call->owner);
  if (call->empties || call->faulty) return;
  for (uint32_t i = 0; i < call->n_evicted; i++) {
    const model_eviction *one = &call->evicted[i];
    const bool is_of_executor = executor != NULL && one->owner == call->owner;
    FUZZ_CHECK(!fits(&context->account, one->entries, one->bytes, call->adds, call->charge) ||
               (is_of_executor &&
                !fits(executor, one->owner_entries, one->owner_bytes, call->adds, call->charge)));
  }
}

/* ---- values ---- */

static void add_bytes(model_account *account, uint64_t bytes, uint64_t unlinked) {
  if (account == NULL) return;
  account->bytes += bytes;
  account->unlinked_bytes += unlinked;
  if (account->bytes > account->peak_bytes) account->peak_bytes = account->bytes;
}

/* Unsigned differences wrap around and come out right. */
static void move_bytes(const model_value *value, uint64_t linked, uint64_t unlinked) {
  model_context *context = &value->of->contexts[value->key.context];
  add_bytes(&context->account, linked, unlinked);
  add_bytes(model_executor(context, value->owner), linked, unlinked);
}

static void move_entry(const model_value *value, uint64_t change) {
  model_context *context = &value->of->contexts[value->key.context];
  model_account *executor = model_executor(context, value->owner);
  context->account.entries += change;
  if (executor != NULL) executor->entries += change;
}

model_value *model_add(model *m, const model_key *key, uint32_t place, uint32_t owner,
                       uint64_t size) {
  FUZZ_CHECK(m->n_values < MODEL_VALUES);
  model_value *value = &m->values[m->n_values++];
  memset(value, 0, sizeof *value);
  value->of = m;
  value->key = *key;
  value->place = place;
  value->owner = owner;
  value->size = size;
  return value;
}

void model_retain(model_value *value) {
  FUZZ_CHECK(!value->destroyed);
  value->refs++;
}

/* Before the cache's own release: the last one destroys the value. */
void model_release(model_value *value) {
  FUZZ_CHECK(!value->destroyed && value->refs > 0);
  value->refs--;
}

void model_link(model_value *value) {
  FUZZ_CHECK(value->charged && !value->linked && !value->destroyed);
  value->linked = true;
  move_entry(value, 1);
  move_bytes(value, value->charge, 0 - value->charge);
}

void model_unlink(model_value *value) {
  FUZZ_CHECK(value->linked && !value->destroyed);
  value->linked = false;
  move_entry(value, 0 - UINT64_C(1));
  move_bytes(value, 0 - value->charge, value->charge);
}

static uint64_t charge_of(uint64_t size, uint64_t overhead) {
  return (size < MOST_BYTES ? size : MOST_BYTES) + overhead;
}

void model_charge(model_value *value, uint64_t size) {
  const uint64_t overhead = value->charge - charge_of(value->size, 0);
  const uint64_t change = charge_of(size, overhead) - value->charge;
  value->size = size;
  value->charge += change;
  move_bytes(value, value->linked ? change : 0, value->linked ? 0 : change);
}

uint64_t model_drop(model *m, uint32_t context, const model_key *key, uint32_t owner,
                    uint32_t place) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < m->n_values; i++) {
    model_value *value = &m->values[i];
    if (!value->linked || value->key.context != context) continue;
    if (key != NULL && !model_same_key(&value->key, key)) continue;
    if (owner != 0 && value->owner != owner) continue;
    if (place != 0 && value->place != place) continue;
    model_unlink(value);
    count++;
  }
  return count;
}

void model_count(model_context *context, uint32_t owner, uint32_t kind, model_counter counter) {
  model_account *executor = model_executor(context, owner);
  context->account.counts[counter][kind]++;
  if (executor != NULL) executor->counts[counter][kind]++;
}

/* ---- callbacks ---- */

static void print_key(const model_context *context, const lk_key *key, char text[MODEL_TEXT]) {
  size_t length = 0;
  FUZZ_CHECK(context->of->api->key_print(context->handle, key, text, MODEL_TEXT, &length, NULL) ==
             LK_OK);
  FUZZ_CHECK(length < MODEL_TEXT);
}

/* The build that has just ended says what its value is charged. */
static void on_build(model_context *context, const lk_event_info *event) {
  model *m = context->of;
  model_value *value = &m->values[m->n_values - 1];
  FUZZ_CHECK(m->n_values > 0 && !value->charged && value->key.kind == event->kind);
  value->charged = true;
  value->charge = event->bytes;
  const uint64_t overhead = value->charge - charge_of(value->size, 0);
  FUZZ_CHECK(overhead > 0 && overhead < MOST_OVERHEAD);
  print_key(context, event->key, value->text);
  for (uint32_t i = 0; i + 1 < m->n_values; i++) {
    const model_value *other = &m->values[i];
    const bool same = other->charged && model_same_key(&other->key, &value->key);
    if (same) FUZZ_CHECK(strcmp(other->text, value->text) == 0);
    if (same) FUZZ_CHECK(other->charge - charge_of(other->size, 0) == overhead);
    if (!same && other->charged && other->key.context == value->key.context)
      FUZZ_CHECK(strcmp(other->text, value->text) != 0);
  }
  move_bytes(value, 0, value->charge);
  model_call *call = &m->calls[m->n_calls - 1];
  call->charge = value->charge;
}

/* Nobody's entry goes before all that nobody uses and that the same limits are for. */
static void check_is_next(const model *m, const model_value *value) {
  if (value->refs == 0) return;
  for (uint32_t i = 0; i < m->n_values; i++) {
    const model_value *other = &m->values[i];
    FUZZ_CHECK(!other->linked || other->refs > 0 || other->owner != value->owner ||
               other->key.context != value->key.context);
  }
}

static void on_evict(model_context *context, const lk_event_info *event) {
  model *m = context->of;
  model_value *value = NULL;
  char text[MODEL_TEXT];
  print_key(context, event->key, text);
  for (uint32_t i = 0; i < m->n_values; i++) {
    model_value *one = &m->values[i];
    if (!one->linked || one->key.context != context->index || strcmp(one->text, text) != 0)
      continue;
    FUZZ_CHECK(value == NULL);
    value = one;
  }
  FUZZ_CHECK(value != NULL && m->n_calls > 0 && event->bytes == value->charge);
  model_call *call = &m->calls[m->n_calls - 1];
  FUZZ_CHECK(call->context == context->index);
  if (!call->empties) check_is_next(m, value);
  if (call->n_evicted < MODEL_EVICTED) {
    const model_account *executor = model_executor(context, value->owner);
    call->evicted[call->n_evicted++] = (model_eviction){
        value->owner, context->account.entries, context->account.bytes,
        executor != NULL ? executor->entries : 0, executor != NULL ? executor->bytes : 0};
  }
  model_unlink(value);
  model_count(context, value->owner, value->key.kind, MODEL_EVICTIONS);
}

void model_on_event(void *user, const lk_event_info *event) {
  model_context *context = user;
  FUZZ_CHECK(event->event < LK_EVENT_COUNT);
  context->events[event->event]++;
  if (event->event == LK_EVENT_BUILD) on_build(context, event);
  if (event->event == LK_EVENT_EVICT) on_evict(context, event);
  model *m = context->of;
  if (event->event == LK_EVENT_DROP && m->n_calls > 0) m->calls[m->n_calls - 1].n_dropped++;
}

void model_on_destroy(void *user_value, void *user) {
  model_value *value = user_value;
  FUZZ_CHECK(user == value->of && !value->destroyed && value->refs == 0 && !value->linked);
  value->destroyed = true;
  if (value->charged) move_bytes(value, 0, 0 - value->charge);
}

/* ---- what can be seen ---- */

static void check_account(model_account *account, const lk_stats *stats, bool learn) {
  uint64_t entries = 0, bytes = 0;
  for (int kind = 0; kind < LK_KIND_COUNT; kind++) {
    const lk_kind_stats *of = &stats->kind[kind];
    const uint64_t found[MODEL_COUNTERS] = {of->hits, of->misses, of->builds, of->failed_builds,
                                            of->evictions};
    for (int i = 0; i < MODEL_COUNTERS; i++) {
      FUZZ_CHECK(found[i] >= account->counts[i][kind]);
      if (learn) account->counts[i][kind] = found[i];
      FUZZ_CHECK(found[i] == account->counts[i][kind]);
    }
    FUZZ_CHECK(of->waits == 0);
    entries += of->entries;
    bytes += of->bytes;
  }
  FUZZ_CHECK(stats->entries == entries && stats->bytes == bytes);
  FUZZ_CHECK(stats->entries == account->entries && stats->bytes == account->bytes);
  FUZZ_CHECK(stats->unlinked_bytes == account->unlinked_bytes);
  FUZZ_CHECK(stats->peak_bytes == account->peak_bytes);
  FUZZ_CHECK(stats->capacity_entries == account->limit_entries);
  FUZZ_CHECK(stats->capacity_bytes == account->limit_bytes);
  FUZZ_CHECK(stats->entries <= account->limit_entries && stats->bytes <= account->limit_bytes);
}

/* For each event there is a counter, which counts as many. */
static void check_events(const model_context *context, const lk_stats *stats) {
  uint64_t sums[LK_EVENT_DROP] = {0};
  for (int kind = 0; kind < LK_KIND_COUNT; kind++) {
    const lk_kind_stats *of = &stats->kind[kind];
    sums[LK_EVENT_HIT] += of->hits;
    sums[LK_EVENT_MISS] += of->misses;
    sums[LK_EVENT_WAIT] += of->waits;
    sums[LK_EVENT_BUILD] += of->builds;
    sums[LK_EVENT_FAILED] += of->failed_builds;
    sums[LK_EVENT_EVICT] += of->evictions;
  }
  for (int i = 0; i < LK_EVENT_DROP; i++) FUZZ_CHECK(sums[i] == context->events[i]);
}

void model_check(model_context *context, lk_executor *const handles[MODEL_EXECUTORS], bool learn) {
  model *m = context->of;
  lk_stats stats = {.struct_size = sizeof stats};
  FUZZ_CHECK(m->api->cache_stats(context->handle, NULL, &stats, NULL) == LK_OK);
  check_account(&context->account, &stats, learn);
  check_events(context, &stats);
  for (int i = 0; i < MODEL_EXECUTORS; i++) {
    if (context->executors[i].serial == 0) continue;
    FUZZ_CHECK(m->api->cache_stats(context->handle, handles[i], &stats, NULL) == LK_OK);
    check_account(&context->executors[i], &stats, learn);
  }
  for (uint32_t i = 0; i < m->n_values; i++) {
    const model_value *value = &m->values[i];
    FUZZ_CHECK(value->destroyed == (!value->linked && value->refs == 0));
  }
}

typedef struct visit {
  model_context *context;
  uint64_t count;
} visit;

static void show(void *arg, const lk_entry_info *entry) {
  visit *of = arg;
  model *m = of->context->of;
  char text[MODEL_TEXT];
  print_key(of->context, entry->key, text);
  FUZZ_CHECK(entry->age == of->count++);
  for (uint32_t i = 0; i < m->n_values; i++) {
    model_value *value = &m->values[i];
    if (!value->linked || value->seen || value->key.context != of->context->index) continue;
    if (strcmp(value->text, text) != 0 || value->refs != entry->in_use) continue;
    if (value->hits != entry->hits || value->charge != entry->bytes) continue;
    FUZZ_CHECK(value->key.kind == entry->kind);
    value->seen = true;
    return;
  }
  FUZZ_CHECK(false); /* it is not linked, or otherwise */
}

bool model_visit(model_context *context) {
  model *m = context->of;
  visit of = {.context = context};
  for (uint32_t i = 0; i < m->n_values; i++) m->values[i].seen = false;
  const lk_status status = m->api->cache_visit(context->handle, show, &of, NULL);
  FUZZ_CHECK(status == LK_OK || status == LK_OUT_OF_MEMORY);
  if (status == LK_OK) FUZZ_CHECK(of.count == context->account.entries);
  return status == LK_OK;
}
