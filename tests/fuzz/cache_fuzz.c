/* A history of calls of two caches, on three threads, one after the other: each answer is what the
 * model (cache_model.h) says. Builds make calls too. */
#include <latchkey/latchkey.h>
#include <string.h>

#include "tests/fuzz/cache_model.h"
#include "tests/fuzz/cache_worker.h"

enum { KEYS = 8, REFS = 16, THREADS = 3, MOST_STEPS = 600 };

typedef struct key_slot {
  lk_key *key;
  model_key is;
} key_slot;

typedef struct held_ref {
  lk_ref *ref;
  model_value *value;
} held_ref;

typedef struct history {
  const uint8_t *data;
  size_t size, at;
  uint32_t steps, thread; /* the thread that is at work */
  uint32_t serials;       /* of threads and executors */
  uint32_t thread_serial[THREADS];
  cache_worker workers[THREADS]; /* the first is the fuzzer's thread */
  lk_executor *executors[MODEL_CONTEXTS][MODEL_EXECUTORS];
  key_slot keys[KEYS];
  held_ref refs[REFS];
  fuzz_memory memory;
  uint32_t fail_in;              /* allocations until one fails; 0: none does */
  uint64_t failures;             /* so far */
  bool squeezed[MODEL_CONTEXTS]; /* by a limit of memory */
  bool learns;                   /* memory has failed: see model_check */
  model m;
} history;

static history all;

static uint8_t next_byte(history *h) {
  return h->at < h->size ? h->data[h->at++] : 0;
}

/* ---- memory ---- */

static void *allocate(void *user, size_t size, size_t alignment) {
  history *h = user;
  if (h->fail_in > 0 && --h->fail_in == 0) {
    h->failures++;
    return NULL;
  }
  const lk_allocator limited = fuzz_allocator(&h->memory);
  return limited.alloc(limited.user, size, alignment);
}

static void release(void *user, void *pointer) {
  history *h = user;
  const lk_allocator limited = fuzz_allocator(&h->memory);
  limited.free(limited.user, pointer);
}

/* ---- what a call is about ---- */

typedef struct aim {
  uint32_t context, executor_index, owner; /* owner 0: no executor */
  uint32_t thread, slot;
} aim;

static aim read_aim(history *h) {
  const uint8_t byte = next_byte(h);
  aim to = {.thread = byte & 3, .slot = byte >> 4 & 7, .context = byte >> 7};
  if (to.thread >= THREADS) to.thread = 0;
  if (h->m.n_builds > 0) to.thread = h->thread;
  to.executor_index = byte >> 3 & 1;
  if ((byte >> 2 & 1) != 0)
    to.owner = h->m.contexts[to.context].executors[to.executor_index].serial;
  return to;
}

/* The aim at a key is in its context. */
static bool aim_at_key(history *h, aim *to) {
  const key_slot *slot = &h->keys[to->slot];
  const bool has_executor = to->owner != 0;
  to->context = slot->is.context;
  to->owner = has_executor ? h->m.contexts[to->context].executors[to->executor_index].serial : 0;
  return slot->key != NULL;
}

static lk_executor *executor_of(history *h, const aim *to) {
  return to->owner != 0 ? h->executors[to->context][to->executor_index] : NULL;
}

static model_context *context_of(history *h, const aim *to) {
  return &h->m.contexts[to->context];
}

static bool is_faulty(const history *h, const aim *to) {
  return h->fail_in > 0 || h->squeezed[to->context];
}

/* Whether what a key finds is a thread's. */
static bool is_of_thread(const model_context *context, const model_key *key) {
  return context->mode == LK_CACHE_THREAD || (context->mode == LK_CACHE_SHARED && key->maker != 0);
}

static uint32_t place_of(history *h, const aim *to, const model_key *key) {
  return is_of_thread(context_of(h, to), key) ? h->thread_serial[to->thread] : 0;
}

/* ---- references ---- */

static void let_go(history *h, held_ref *held) {
  if (held->ref == NULL) return;
  lk_ref *ref = held->ref;
  model_release(held->value);
  held->ref = NULL;
  h->m.api->ref_release(ref);
}

/* In the place of an older one, which ends. */
static void hold(history *h, lk_ref *ref, model_value *value) {
  held_ref *place = &h->refs[value->of->n_values % REFS];
  for (int i = 0; i < REFS; i++) {
    if (h->refs[i].ref == NULL) place = &h->refs[i];
  }
  let_go(h, place);
  *place = (held_ref){ref, value};
}

/* ---- look-ups ---- */

static void step(history *h);

typedef struct build_call {
  history *h;
  model_key key;
  uint32_t place, owner;
  uint32_t called;
  lk_status failure; /* that the build has returned */
  bool says_why;
  model_value *value;
  bool dropped;
} build_call;

static const uint64_t sizes[] = {0, 1, 64, 200, 1000, 3000, UINT64_C(1) << 40, UINT64_MAX};

static lk_status build(void *arg, const lk_key *key, lk_built *out, lk_error *error) {
  (void)key;
  build_call *call = arg;
  history *h = call->h;
  model *m = &h->m;
  const uint8_t what = next_byte(h);
  call->called++;
  if (m->n_builds < MODEL_DEPTH) {
    model_build *mine = &m->builds[m->n_builds++];
    *mine = (model_build){call->key, call->owner, false};
    for (int i = what >> 3 & 3; i > 0; i--) step(h);
    m->n_builds--;
    call->dropped = mine->dropped;
  }
  call->failure = (what & 7) == 0 || m->n_values == MODEL_VALUES ? LK_IO
                  : (what & 7) == 1                              ? LK_UNSUPPORTED
                                                                 : LK_OK;
  if (call->failure != LK_OK) {
    call->says_why = call->failure == LK_IO;
    if (call->says_why && error != NULL) (void)strcpy(error->message, "it is not to be");
    return call->failure;
  }
  if ((what & 7) == 2) {
    call->failure = LK_INTERNAL; /* no value */
    return LK_OK;
  }
  /* Four of the largest are more than can be counted, so that some are evicted. */
  const bool limited = m->contexts[call->key.context].limited;
  const uint64_t size = sizes[what >> 5 & (limited ? 7 : 3)];
  call->value = model_add(m, &call->key, call->place, call->owner, size);
  *out = (lk_built){call->value, call->value->size, model_on_destroy, m};
  return LK_OK;
}

static void check_hit(history *h, const aim *to, model_value *value, lk_ref *ref) {
  FUZZ_CHECK(h->m.api->ref_value(ref) == value);
  model_retain(value);
  value->hits++;
  model_count(context_of(h, to), value->owner, value->key.kind, MODEL_HITS);
  hold(h, ref, value);
}

static bool is_being_built(const model *m, const model_key *key) {
  for (uint32_t i = 0; i < m->n_builds; i++) {
    if (model_same_key(&m->builds[i].key, key)) return true;
  }
  return false;
}

/* Whether the cache has one entry more than the model. */
static bool has_one_more(const model_context *context) {
  lk_stats stats = {.struct_size = sizeof stats};
  FUZZ_CHECK(context->of->api->cache_stats(context->handle, NULL, &stats, NULL) == LK_OK);
  return stats.entries != context->account.entries;
}

/* A value was built, and the caller has it. */
static void check_built(history *h, const aim *to, const build_call *call, bool keeps, bool faulty,
                        lk_ref *ref) {
  model_context *context = context_of(h, to);
  model_value *value = call->value;
  FUZZ_CHECK(value != NULL && !value->destroyed && h->m.api->ref_value(ref) == value);
  const bool links = keeps && !call->dropped && model_fits_alone(context, to->owner, value->charge);
  if (faulty ? links && has_one_more(context) : links) model_link(value);
  model_retain(value);
  hold(h, ref, value);
}

typedef enum get_way { BY_KEY, BY_LIKE, BY_TEXT } get_way;

static lk_status call_get(history *h, const aim *to, get_way way, const lk_key *key,
                          const char *text, const lk_key_desc *desc, build_call *call,
                          lk_ref **out_ref, int *out_hit, lk_error *error) {
  const lk_api *api = h->m.api;
  lk_context *handle = context_of(h, to)->handle;
  lk_executor *executor = executor_of(h, to);
  if (way == BY_KEY) {
    return api->get_or_create(handle, executor, key, build, call, out_ref, out_hit, error);
  }
  if (way == BY_LIKE) {
    return api->get_or_create_like(handle, executor, key, desc, build, call, out_ref, out_hit,
                                   error);
  }
  return api->get_or_create_text(handle, executor, text, build, call, out_ref, out_hit, error);
}

/* The value, or the failure, that the model says. */
static void get(history *h, const aim *to, get_way way, const model_key *is, const lk_key *key,
                const char *text, const lk_key_desc *desc) {
  model *m = &h->m;
  model_context *context = context_of(h, to);
  build_call call = {.h = h, .key = *is, .place = place_of(h, to, is), .owner = to->owner};
  model_value *found = model_find(m, is, call.place);
  const bool keeps = model_keeps(context, to->owner), cycle = is_being_built(m, is);
  const uint64_t failures = h->failures;
  bool faulty = is_faulty(h, to);
  model_call *mine = model_begin(m, to->context, to->owner);
  mine->adds = 1;
  lk_ref *ref = NULL;
  lk_error error;
  int hit = -1;
  const lk_status status = call_get(h, to, way, key, text, desc, &call, &ref, &hit, &error);
  faulty = faulty || is_faulty(h, to) || h->failures != failures;
  mine->faulty = faulty;
  h->learns = h->learns || faulty;
  FUZZ_CHECK((status == LK_OK) == (ref != NULL));
  if (status != LK_OK) fuzz_check_sentence(&error);
  if (faulty && status == LK_OUT_OF_MEMORY) {
    FUZZ_CHECK(call.value == NULL || call.value->destroyed);
  } else if (found != NULL && call.called == 0 && !(cycle && status == LK_CYCLE)) {
    FUZZ_CHECK(status == LK_OK && hit == 1);
    check_hit(h, to, found, ref);
  } else if (cycle) { /* `found`: an executor that keeps nothing builds what others keep */
    FUZZ_CHECK(status == LK_CYCLE && call.called == 0 && ref == NULL);
  } else {
    FUZZ_CHECK(found == NULL || !keeps);
    FUZZ_CHECK(call.called == 1);
    model_count(context, to->owner, is->kind, MODEL_MISSES);
    model_count(context, to->owner, is->kind, call.failure == LK_OK ? MODEL_BUILDS : MODEL_FAILED);
    FUZZ_CHECK(status == call.failure);
    if (status == LK_OK) FUZZ_CHECK(hit == 0);
    if (call.says_why) FUZZ_CHECK(strcmp(error.message, "it is not to be") == 0);
    if (status == LK_OK) check_built(h, to, &call, keeps, faulty, ref);
  }
  model_end(m);
}

/* ---- keys ---- */

static const char *const names[] = {"a", "b", "a;b=c", "\xc3\xa9 \x01\""};
static const int64_t one = 1;
static const float zeros[] = {0.0F, -0.0F};
static const lk_key_attr attrs[] = {{"axis", &one, 1, LK_KEY_ATTR_INTS},
                                    {"alpha", zeros, 2, LK_KEY_ATTR_FLOATS},
                                    {"blob", zeros, 7, LK_KEY_ATTR_BYTES},
                                    {"act", "a;\0%", 4, LK_KEY_ATTR_STRING}};

/* Bits of a spec: 0, 1 name; 2 scope; 3 tag; 4 generation; 5, 6 tensors; 7 attributes. */
static lk_key_desc describe(uint32_t spec, lk_tensor_desc tensors[2]) {
  tensors[0] = (lk_tensor_desc){.dtype = LK_F32, .rank = 2, .dims = {2, 3}};
  tensors[1] = (lk_tensor_desc){.dtype = LK_F32, .rank = 2, .dims = {3, 2}};
  const uint32_t form = spec >> 5 & 3; /* none, [2,3], [3,2], both */
  return (lk_key_desc){.struct_size = sizeof(lk_key_desc),
                       .scope = (spec >> 2 & 1) != 0 ? "s" : NULL,
                       .name = names[spec & 3],
                       .tag = (spec >> 3 & 1) != 0 ? "t" : NULL,
                       .generation = spec >> 4 & 1,
                       .tensors = form == 2 ? tensors + 1 : tensors,
                       .n_tensors = form == 3 ? 2 : form != 0,
                       .attrs = attrs,
                       .n_attrs = (spec >> 7 & 1) * (uint32_t)(sizeof attrs / sizeof *attrs)};
}

/* `flags`: of the key's description. */
static uint32_t maker_of(history *h, const aim *to, uint32_t flags) {
  const bool is_named = context_of(h, to)->mode == LK_CACHE_THREAD || flags == LK_KEY_OF_THREAD;
  return is_named ? h->thread_serial[to->thread] : 0;
}

static void make_key(history *h, const aim *to) {
  key_slot *slot = &h->keys[to->slot];
  const uint32_t spec = next_byte(h), bits = next_byte(h), kind = bits & 1;
  if (slot->key != NULL && h->m.n_builds > 0) return; /* a call may be using it */
  lk_tensor_desc tensors[2];
  lk_key_desc desc = describe(spec, tensors);
  lk_key *key = NULL;
  lk_error error;
  const uint64_t failures = h->failures;
  const bool faulty = is_faulty(h, to);
  desc.kind = kind == 1 ? LK_KEY_RUN : LK_KEY_USER;
  desc.flags = (bits >> 1 & 1) != 0 ? LK_KEY_OF_THREAD : 0;
  const lk_status status =
      h->m.api->key_create(context_of(h, to)->handle, executor_of(h, to), &desc, &key, &error);
  FUZZ_CHECK((status == LK_OK) == (key != NULL));
  if (status != LK_OK) {
    FUZZ_CHECK(status == LK_OUT_OF_MEMORY && (faulty || h->failures != failures));
    return;
  }
  if (slot->key != NULL) {
    h->m.api->key_destroy(h->m.contexts[slot->is.context].handle, slot->key);
  }
  slot->key = key;
  slot->is = (model_key){to->context, kind == 1 ? LK_KIND_RUN : LK_KIND_USER, spec, to->owner,
                         maker_of(h, to, desc.flags)};
}

/* Where room is made, what is a thread's is asked for by keys that the thread has made. */
static bool may_use(history *h, const aim *to, const model_key *key) {
  const model_context *context = context_of(h, to);
  return !is_of_thread(context, key) || !context->limited ||
         key->maker == h->thread_serial[to->thread];
}

static void get_by_key(history *h, aim *to) {
  if (!aim_at_key(h, to) || !may_use(h, to, &h->keys[to->slot].is)) return;
  const model_key is = h->keys[to->slot].is;
  get(h, to, BY_KEY, &is, h->keys[to->slot].key, NULL, NULL);
}

/* Other shapes and attributes, for the executor of the key. */
static void get_like(history *h, aim *to) {
  const uint32_t bits = next_byte(h);
  if (!aim_at_key(h, to)) return;
  model_key is = h->keys[to->slot].is;
  model_context *context = context_of(h, to);
  const model_account *executor = model_executor(context, is.executor);
  if (is.executor != 0 && executor == NULL) return;
  to->owner = is.executor;
  if (executor != NULL) to->executor_index = (uint32_t)(executor - context->executors);
  is.spec = (is.spec & 0x1f) | (bits & 0xe0);
  lk_tensor_desc tensors[2];
  lk_key_desc desc = describe(is.spec, tensors);
  desc.flags = (bits & 1) != 0 ? LK_KEY_OF_THREAD : 0;
  is.maker = maker_of(h, to, desc.flags);
  get(h, to, BY_LIKE, &is, h->keys[to->slot].key, NULL, &desc);
}

/* The text of a key is the key. */
static void get_by_text(history *h, aim *to) {
  if (!aim_at_key(h, to) || !may_use(h, to, &h->keys[to->slot].is)) return;
  const model_key is = h->keys[to->slot].is;
  char text[MODEL_TEXT];
  FUZZ_CHECK(h->m.api->key_print(context_of(h, to)->handle, h->keys[to->slot].key, text,
                                 sizeof text, NULL, NULL) == LK_OK);
  if (is.kind == LK_KIND_USER) {
    get(h, to, BY_TEXT, &is, NULL, text, NULL);
    return;
  }
  lk_ref *ref = NULL;
  lk_error error;
  build_call call = {.h = h};
  const lk_status status = call_get(h, to, BY_TEXT, NULL, text, NULL, &call, &ref, NULL, &error);
  FUZZ_CHECK(status != LK_OK && ref == NULL && call.called == 0);
  fuzz_check_sentence(&error);
}

/* A text that the host has written equals no key of key_create. */
static void get_by_own_text(history *h, aim *to) {
  const model_context *context = context_of(h, to);
  const bool own = context->mode == LK_CACHE_THREAD && context->limited;
  const uint32_t serial = own ? h->thread_serial[to->thread] : 0, name = next_byte(h) & 3;
  const model_key is = {to->context, LK_KIND_USER, 0x100 + name, 0, serial};
  char text[64];
  (void)snprintf(text, sizeof text, "user:out=%c%u", "abcd"[name], serial);
  get(h, to, BY_TEXT, &is, NULL, text, NULL);
}

static void find(history *h, aim *to) {
  if (!aim_at_key(h, to) || !may_use(h, to, &h->keys[to->slot].is)) return;
  const model_key is = h->keys[to->slot].is;
  model_context *context = context_of(h, to);
  model_value *found = model_find(&h->m, &is, place_of(h, to, &is));
  const uint64_t failures = h->failures;
  bool faulty = is_faulty(h, to);
  lk_ref *ref = NULL;
  (void)model_begin(&h->m, to->context, to->owner);
  const lk_status status =
      h->m.api->cache_find(context->handle, executor_of(h, to), h->keys[to->slot].key, &ref, NULL);
  model_end(&h->m);
  faulty = faulty || is_faulty(h, to) || h->failures != failures;
  h->learns = h->learns || faulty;
  if (status != LK_OK) {
    FUZZ_CHECK(status == LK_OUT_OF_MEMORY && faulty && ref == NULL);
    return;
  }
  FUZZ_CHECK((ref != NULL) == (found != NULL));
  if (found != NULL) {
    check_hit(h, to, found, ref);
  } else {
    model_count(context, to->owner, is.kind, MODEL_MISSES);
  }
}

/* ---- what takes entries away ---- */

static void drop_key(history *h, aim *to) {
  if (!aim_at_key(h, to)) return;
  const model_key is = h->keys[to->slot].is;
  model *m = &h->m;
  uint64_t dropped = 99;
  const model_call *call = model_begin(m, to->context, to->owner);
  const uint64_t expected = model_drop(m, to->context, &is, to->owner, 0);
  for (uint32_t i = 0; i < m->n_builds; i++) {
    model_build *under_way = &m->builds[i];
    if (model_same_key(&under_way->key, &is) && (to->owner == 0 || under_way->owner == to->owner))
      under_way->dropped = true;
  }
  FUZZ_CHECK(m->api->cache_drop(context_of(h, to)->handle, executor_of(h, to),
                                h->keys[to->slot].key, &dropped, NULL) == LK_OK);
  FUZZ_CHECK(dropped == expected && call->n_dropped == expected);
  model_end(m);
}

static void clear(history *h, const aim *to) {
  model *m = &h->m;
  const model_call *call = model_begin(m, to->context, to->owner);
  const uint64_t expected = model_drop(m, to->context, NULL, to->owner, 0);
  FUZZ_CHECK(m->api->cache_clear(context_of(h, to)->handle, executor_of(h, to), NULL) == LK_OK);
  FUZZ_CHECK(call->n_dropped == expected);
  model_end(m);
}

static void set_capacity(history *h, const aim *to) {
  static const uint64_t entries[] = {LK_UNSET, 0, 1, 2, 3, 5, 8, LK_UNLIMITED};
  static const uint64_t bytes[] = {LK_UNSET, 0, 1, 1000, 2500, 6000, 20000, LK_UNLIMITED};
  const uint8_t byte = next_byte(h);
  const uint64_t most = entries[byte & 7], most_bytes = bytes[byte >> 3 & 7];
  model_context *context = context_of(h, to);
  if (!context->limited) return;
  model_account *executor = model_executor(context, to->owner);
  model_account *account = executor != NULL ? executor : &context->account;
  model_call *call = model_begin(&h->m, to->context, to->owner);
  call->empties = most == 0 || most_bytes == 0;
  if (most != LK_UNSET) account->limit_entries = most;
  if (most_bytes != LK_UNSET) account->limit_bytes = most_bytes;
  FUZZ_CHECK(h->m.api->cache_set_capacity(context->handle, executor_of(h, to), most, most_bytes,
                                          NULL) == LK_OK);
  model_end(&h->m);
}

/* An executor comes, or goes with its entries; the next one has the same name and may have the same
 * address. */
static void change_executor(history *h, const aim *to) {
  if (h->m.n_builds > 0) return;
  model_context *context = context_of(h, to);
  model_account *account = &context->executors[to->executor_index];
  lk_executor **handle = &h->executors[to->context][to->executor_index];
  if (*handle == NULL) {
    const bool faulty = is_faulty(h, to);
    const lk_status status = h->m.api->executor_create(context->handle, "same", handle, NULL);
    FUZZ_CHECK(status == LK_OK || (status == LK_OUT_OF_MEMORY && faulty && *handle == NULL));
    if (status != LK_OK) return;
    *account = (model_account){
        .serial = ++h->serials, .limit_entries = LK_UNLIMITED, .limit_bytes = LK_UNLIMITED};
    return;
  }
  const model_call *call = model_begin(&h->m, to->context, 0);
  const uint64_t expected = model_drop(&h->m, to->context, NULL, account->serial, 0);
  *account = (model_account){0};
  h->m.api->executor_destroy(*handle);
  *handle = NULL;
  FUZZ_CHECK(call->n_dropped == expected);
  model_end(&h->m);
}

/* What is its own goes with it. The next call there begins another thread. */
static void end_thread(history *h, const aim *to) {
  if (h->m.n_builds > 0 || to->thread == 0 || !h->workers[to->thread].alive) return;
  uint64_t expected = 0;
  const model_call *call = model_begin(&h->m, 0, 0);
  for (uint32_t i = 0; i < MODEL_CONTEXTS; i++) {
    expected += model_drop(&h->m, i, NULL, 0, h->thread_serial[to->thread]);
  }
  cache_worker_end(&h->workers[to->thread]);
  FUZZ_CHECK(call->n_dropped == expected);
  model_end(&h->m);
}

/* ---- the rest ---- */

static void retain(history *h, const held_ref *held) {
  if (held->ref == NULL) return;
  model_retain(held->value);
  h->m.api->ref_retain(held->ref);
  hold(h, held->ref, held->value);
}

static void charge(history *h, const held_ref *held) {
  const uint64_t size = sizes[next_byte(h) & 7];
  if (held->ref == NULL) return;
  model_value *value = held->value;
  if (!h->m.contexts[value->key.context].limited) return;
  (void)model_begin(&h->m, value->key.context, value->owner);
  model_charge(value, size);
  h->m.api->ref_charge(held->ref, size);
  model_end(&h->m);
}

/* A key of another context is refused, and so is an executor. */
static void ask_elsewhere(history *h, aim *to) {
  if (!aim_at_key(h, to)) return;
  const lk_api *api = h->m.api;
  lk_context *other = h->m.contexts[1 - to->context].handle;
  const lk_key *key = h->keys[to->slot].key;
  build_call call = {.h = h};
  lk_ref *ref = NULL;
  lk_error error;
  uint64_t dropped = 0;
  FUZZ_CHECK(api->get_or_create(other, NULL, key, build, &call, &ref, NULL, &error) ==
             LK_INVALID_ARGUMENT);
  FUZZ_CHECK(ref == NULL && call.called == 0);
  fuzz_check_sentence(&error);
  FUZZ_CHECK(api->cache_find(other, NULL, key, &ref, &error) == LK_INVALID_ARGUMENT);
  FUZZ_CHECK(api->cache_drop(other, NULL, key, &dropped, &error) == LK_INVALID_ARGUMENT);
  FUZZ_CHECK(ref == NULL && dropped == 0);
  lk_executor *stranger = h->executors[1 - to->context][to->executor_index];
  if (stranger == NULL) return;
  FUZZ_CHECK(api->get_or_create(context_of(h, to)->handle, stranger, key, build, &call, &ref, NULL,
                                &error) == LK_INVALID_ARGUMENT);
  FUZZ_CHECK(ref == NULL && call.called == 0);
}

/* One of the next allocations fails, or a context gets little memory, or enough again. */
static void limit_memory(history *h, const aim *to) {
  const uint8_t byte = next_byte(h);
  lk_context *handle = context_of(h, to)->handle;
  lk_stats stats = {.struct_size = sizeof stats};
  if ((byte & 1) != 0) {
    h->fail_in = 1 + (byte >> 2);
    return;
  }
  FUZZ_CHECK(h->m.api->cache_stats(handle, NULL, &stats, NULL) == LK_OK);
  h->squeezed[to->context] = (byte & 2) != 0;
  const uint64_t limit =
      (byte & 2) != 0 ? stats.memory_bytes + (byte >> 2) * 32U + 1 : UINT64_MAX - 1;
  FUZZ_CHECK(h->m.api->memory_set_limit(handle, limit, NULL) == LK_OK);
}

static void visit(history *h, const aim *to) {
  const uint64_t failures = h->failures;
  const bool faulty = is_faulty(h, to);
  FUZZ_CHECK(model_visit(context_of(h, to)) || faulty || h->failures != failures);
}

typedef struct step_call {
  history *h;
  uint8_t op;
  aim to;
} step_call;

static void take_step(void *arg) {
  step_call *call = arg;
  history *h = call->h;
  aim *to = &call->to;
  held_ref *held = &h->refs[(call->op >> 4) % REFS];
  switch (call->op & 15) {
  case 0:
  case 1:
    get_by_key(h, to);
    break;
  case 2:
    get_like(h, to);
    break;
  case 3:
    get_by_text(h, to);
    break;
  case 4:
    get_by_own_text(h, to);
    break;
  case 5:
    find(h, to);
    break;
  case 6:
    drop_key(h, to);
    break;
  case 7:
    clear(h, to);
    break;
  case 8:
    let_go(h, held);
    break;
  case 9:
    retain(h, held);
    break;
  case 10:
    charge(h, held);
    break;
  case 11:
    set_capacity(h, to);
    break;
  case 12:
    make_key(h, to);
    break;
  case 13:
    (call->op & 16) != 0 ? visit(h, to) : ask_elsewhere(h, to);
    break;
  case 14:
    limit_memory(h, to);
    break;
  default:
    break;
  }
}

static void check_all(history *h) {
  for (int i = 0; i < MODEL_CONTEXTS; i++)
    model_check(&h->m.contexts[i], h->executors[i], h->learns);
  h->learns = false;
}

static void step(history *h) {
  if (h->at >= h->size || h->steps++ >= MOST_STEPS) return;
  const uint8_t op = next_byte(h);
  step_call call = {h, op, read_aim(h)};
  const uint32_t thread = call.to.thread;
  if ((op & 15) == 15) {
    (op & 16) != 0 ? end_thread(h, &call.to) : change_executor(h, &call.to);
  } else if (thread == 0 || h->m.n_builds > 0) {
    take_step(&call);
  } else {
    if (!h->workers[thread].alive) {
      cache_worker_begin(&h->workers[thread]);
      h->thread_serial[thread] = ++h->serials;
    }
    h->thread = thread;
    cache_worker_do(&h->workers[thread], take_step, &call);
    h->thread = 0;
  }
  if (h->m.n_builds == 0) check_all(h);
}

/* ---- a history ---- */

/* Bits: 0, 1 mode; 2 whether limits change. */
static void begin_context(history *h, uint32_t index, uint8_t how) {
  static const uint32_t modes[] = {LK_CACHE_SHARED, LK_CACHE_THREAD, LK_CACHE_SHARED, LK_CACHE_OFF};
  model_context *context = &h->m.contexts[index];
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.allocator = (lk_allocator){h, allocate, release};
  options.threads = 1;
  options.memory_bytes = LK_UNLIMITED;
  options.cache_mode = modes[how & 3];
  options.cache_entries = options.cache_bytes = LK_UNLIMITED;
  options.event = model_on_event;
  options.event_user = context;
  *context = (model_context){.of = &h->m, .index = index, .mode = modes[how & 3]};
  context->limited = (how & 4) != 0;
  context->account.limit_entries = context->account.limit_bytes = LK_UNLIMITED;
  FUZZ_CHECK(h->m.api->context_create(&options, &context->handle, NULL) == LK_OK);
  FUZZ_CHECK(h->m.api->context_cache_mode(context->handle) == context->mode);
}

static void end_all(history *h) {
  const lk_api *api = h->m.api;
  h->fail_in = 0;
  for (int i = 0; i < REFS; i++) let_go(h, &h->refs[i]);
  for (uint32_t i = 1; i < THREADS; i++) {
    if (h->workers[i].alive) end_thread(h, &(aim){.thread = i});
  }
  for (uint32_t i = 0; i < MODEL_CONTEXTS * MODEL_EXECUTORS; i++) {
    const aim to = {.context = i / MODEL_EXECUTORS, .executor_index = i % MODEL_EXECUTORS};
    if (h->executors[to.context][to.executor_index] != NULL) change_executor(h, &to);
  }
  check_all(h);
  for (int i = 0; i < KEYS; i++) {
    if (h->keys[i].key != NULL)
      api->key_destroy(h->m.contexts[h->keys[i].is.context].handle, h->keys[i].key);
  }
  for (uint32_t i = 0; i < MODEL_CONTEXTS; i++) {
    const model_call *call = model_begin(&h->m, i, 0);
    const uint64_t expected = model_drop(&h->m, i, NULL, 0, 0);
    api->context_destroy(h->m.contexts[i].handle);
    FUZZ_CHECK(call->n_dropped == expected);
    model_end(&h->m);
  }
  for (uint32_t i = 0; i < h->m.n_values; i++) FUZZ_CHECK(h->m.values[i].destroyed);
  FUZZ_CHECK(h->memory.used == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  history *h = &all;
  memset(h, 0, offsetof(history, m));
  h->data = data;
  h->size = size;
  h->memory.limit = (size_t)64 << 20;
  h->m.api = lk_get_api(LK_API_VERSION);
  h->m.n_values = h->m.n_calls = h->m.n_builds = 0;
  h->thread_serial[0] = ++h->serials;
  const uint8_t how = next_byte(h);
  begin_context(h, 0, how & 15);
  begin_context(h, 1, how >> 4);
  while (h->at < h->size && h->steps < MOST_STEPS) step(h);
  end_all(h);
  return 0;
}
