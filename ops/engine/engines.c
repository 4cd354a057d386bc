/* The engines of a context. */
#include "ops/engine/engines.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/given.h"
#include "base/status.h"
#include "base/struct.h"
#include "ops/engine/choices.h"
#include "ops/engine/guard.h"
#include "ops/engine/left.h"
#include "ops/engine/value_key.h"

enum { MOST_NAME = 32, MOST_STATE = 128 };

struct lk_engines {
  const lk_allocator *allocator;
  lk_intern *intern;
  _Atomic(const lk_engine_entry *) chosen; /* NULL: native */
  bool is_auto;  /* `chosen` is asked where sizes recur; there may be none */
  lk_left *left; /* there is one where an engine was chosen or may be, as of the next one */
  lk_choices *choices;
  /* Who is chosen at the first bind for a size that recurs. */
  lk_engines_open_fn *open;
  void *open_arg;
  pthread_mutex_t opening;
  atomic_bool may_open;
  lk_tuning *tuning;
  uint32_t count;
  lk_engine_entry entries[LK_MAX_ENGINES];
  char names[LK_MAX_ENGINES][MOST_NAME], states[LK_MAX_ENGINES][MOST_STATE];
  /* as lk_engines_stats has them */
  _Atomic uint64_t works, works_left, references, measured, of_class, estimated;
};

/* ---- which there are ---- */

lk_status lk_engines_create(const lk_allocator *allocator, lk_intern *intern,
                            lk_engines **out_engines, lk_error *error) {
  *out_engines = lk_calloc(allocator, 1, sizeof **out_engines);
  if (*out_engines == NULL) return lk_fail_memory(error, "engines", sizeof **out_engines);
  (*out_engines)->allocator = allocator;
  (*out_engines)->intern = intern;
  (void)pthread_mutex_init(&(*out_engines)->opening, NULL); /* cannot fail on glibc */
  return lk_tuning_create(allocator, intern, &(*out_engines)->tuning, error);
}

static void free_value_keys(const lk_engines *engines, lk_engine_entry *entry) {
  for (uint32_t kind = 0; kind < LK_WORK_KINDS; kind++) {
    lk_key_destroy(engines->allocator, entry->value_keys[kind]);
    entry->value_keys[kind] = NULL;
  }
}

static lk_status make_value_keys(const lk_engines *engines, lk_engine_entry *entry,
                                 lk_error *error) {
  lk_status status = LK_OK;
  for (uint32_t kind = 0; status == LK_OK && kind < LK_WORK_KINDS; kind++) {
    status =
        lk_value_key_fix(engines->allocator, &entry->key, kind, &entry->value_keys[kind], error);
  }
  if (status != LK_OK) free_value_keys(engines, entry);
  return status;
}

static void leave(lk_engines *engines, lk_engine_entry *entry) {
  const uint32_t ids[] = {entry->key.name, entry->key.state};
  free_value_keys(engines, entry);
  lk_intern_release(engines->intern, ids, 2);
  if (entry->engine.close == NULL) return;
  lk_guard_begin();
  entry->engine.close(entry->engine.self);
  lk_guard_end();
}

void lk_engines_destroy(lk_engines *engines) {
  if (engines == NULL) return;
  for (uint32_t i = 0; i < engines->count; i++) leave(engines, &engines->entries[i]);
  lk_left_destroy(engines->left);
  lk_choices_destroy(engines->choices);
  lk_tuning_destroy(engines->tuning);
  pthread_mutex_destroy(&engines->opening);
  lk_free(engines->allocator, engines);
}

static const lk_engine_entry *find(const lk_engines *engines, const char *name) {
  for (uint32_t i = 0; i < engines->count; i++) {
    if (strcmp(engines->names[i], name) == 0) return &engines->entries[i];
  }
  return NULL;
}

/* Names that mean something else where engines are chosen, or where a step says who computes it. */
static bool is_reserved(const char *name) {
  return strcmp(name, "native") == 0 || strcmp(name, "auto") == 0 || strcmp(name, "host") == 0;
}

static lk_status check(const lk_engines *engines, const lk_engine *engine, lk_error *error) {
  if (engine->version != LK_ENGINE_VERSION) {
    return lk_fail(
        error, LK_VERSION,
        "failed to register an engine: it is of version %u of latchkey/engine.h, version "
        "%u is supported",
        engine->version, LK_ENGINE_VERSION);
  }
  if (engines->count == LK_MAX_ENGINES) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to register an engine: the context has %d, more are not supported",
                   LK_MAX_ENGINES);
  }
  if (!lk_is_name(engine->name, MOST_NAME - 1, "_")) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register an engine: its name is '%.64s', 1 to %d letters, digits and "
                   "'_' are allowed",
                   engine->name != NULL ? engine->name : "NULL", MOST_NAME - 1);
  }
  if (is_reserved(engine->name) || find(engines, engine->name) != NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register engine '%s': the name is taken, give it another one",
                   engine->name);
  }
  if (engine->state == NULL || strlen(engine->state) >= MOST_STATE) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register engine '%s': its state is %s, a text of at most %d bytes is "
                   "allowed",
                   engine->name, engine->state == NULL ? "NULL" : "longer", MOST_STATE - 1);
  }
  if (engine->offer == NULL || engine->build == NULL || engine->destroy == NULL ||
      engine->pack == NULL || engine->slot_open == NULL || engine->slot_close == NULL ||
      engine->run == NULL) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register engine '%s': a function is NULL, only close may be",
                   engine->name);
  }
  return LK_OK;
}

lk_status lk_engines_add(lk_engines *engines, const lk_engine *given, lk_error *error) {
  lk_status status = LK_OK;
  lk_engine engine = {0};
  lk_words words;
  LK_RETURN_NOT_OK(lk_struct_read(&engine, sizeof engine, given, "an engine", error));
  LK_RETURN_NOT_OK(check(engines, &engine, error));
  lk_engine_entry *entry = &engines->entries[engines->count];
  char *name = engines->names[engines->count], *state = engines->states[engines->count];
  memcpy(name, engine.name, strlen(engine.name) + 1);
  memcpy(state, engine.state, strlen(engine.state) + 1);
  *entry = (lk_engine_entry){
      .engine = engine,
      .key = {.device_kind = engine.device_kind, .device_index = engine.device_index}};
  entry->engine.name = name;
  entry->engine.state = state;
  lk_words_begin(&words, engines->intern);
  LK_TRY(lk_words_get(&words, name, strlen(name), &entry->key.name, error));
  LK_TRY(lk_words_get(&words, state, strlen(state), &entry->key.state, error));
  LK_TRY(make_value_keys(engines, entry, error));
  const uint32_t ids[] = {entry->key.name, entry->key.state};
  lk_intern_retain(engines->intern, ids, 2);
  engines->count++;
cleanup:
  lk_words_end(&words);
  return status;
}

/* ---- which is chosen ---- */

static lk_status make_notes(lk_engines *engines, lk_error *error) {
  if (engines->left == NULL) {
    LK_RETURN_NOT_OK(lk_left_create(engines->allocator, &engines->left, error));
  }
  if (engines->choices != NULL) return LK_OK;
  return lk_choices_create(engines->allocator, &engines->choices, error);
}

lk_status lk_engines_choose(lk_engines *engines, const char *name, bool is_auto, lk_error *error) {
  const lk_engine_entry *found = find(engines, name);
  if (found == NULL && strcmp(name, "native") != 0) {
    return lk_fail(error, LK_NOT_FOUND,
                   "failed to choose engine '%.64s': there is none of that name", name);
  }
  if (found != NULL) LK_RETURN_NOT_OK(make_notes(engines, error));
  if (engines->is_auto != is_auto) engines->is_auto = is_auto; /* others read it in open_now() */
  /* behind what it has, and before nobody may open it: whoever asks meanwhile finds one of both */
  atomic_store(&engines->chosen, found);
  atomic_store(&engines->may_open, false);
  return LK_OK;
}

lk_status lk_engines_choose_later(lk_engines *engines, lk_engines_open_fn *open, void *arg,
                                  lk_error *error) {
  LK_RETURN_NOT_OK(make_notes(engines, error));
  engines->open = open;
  engines->open_arg = arg;
  engines->is_auto = true;
  atomic_store(&engines->may_open, true);
  return LK_OK;
}

/* One thread opens it, and those that would, too, wait. */
static void open_now(lk_engines *engines) {
  lk_guard_lock(&engines->opening);
  if (atomic_load(&engines->may_open) && engines->open(engines->open_arg) != LK_OUT_OF_MEMORY) {
    atomic_store(&engines->may_open, false);
  }
  lk_guard_unlock(&engines->opening);
}

const char *lk_engines_chosen(const lk_engines *engines) {
  const lk_engine_entry *chosen = engines->chosen;
  if (engines->is_auto && (chosen != NULL || atomic_load(&engines->may_open))) return "auto";
  return chosen != NULL ? chosen->engine.name : "native";
}

lk_plan_asks lk_engines_asks(lk_engines *engines, uint32_t bind_flags) {
  const bool asks = (bind_flags & (LK_BIND_RECURS | LK_BIND_ENGINE)) != 0;
  if (asks && engines->chosen == NULL && atomic_load(&engines->may_open)) open_now(engines);
  if (engines->chosen == NULL) return LK_ASKS_NATIVE;
  if (!engines->is_auto || (bind_flags & LK_BIND_ENGINE) != 0) return LK_ASKS_ENGINE;
  return (bind_flags & LK_BIND_RECURS) != 0 ? LK_ASKS_CHEAPER : LK_ASKS_NATIVE;
}

bool lk_engines_has_own_plans(const lk_engines *engines) {
  return engines->chosen == NULL || engines->is_auto;
}

void lk_engines_add_to_key(const lk_engines *engines, lk_plan_asks asks, lk_key_builder *key) {
  if (asks == LK_ASKS_NATIVE) return;
  const lk_engine_entry *chosen = engines->chosen;
  lk_key_add_engine(key, &chosen->key);
  const int64_t choice = asks;
  if (engines->is_auto) lk_key_add_attr(key, LK_WORD_CHOICE, &choice, 1);
}

lk_tuning *lk_engines_tuning(const lk_engines *engines) {
  return engines->tuning;
}

bool lk_engines_is_auto(const lk_engines *engines) {
  return engines->is_auto;
}

const lk_engine_entry *lk_engines_asked(const lk_engines *engines, lk_plan_asks asks) {
  return asks != LK_ASKS_NATIVE ? engines->chosen : NULL;
}

static void count(_Atomic uint64_t *counter, uint64_t more) {
  atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

bool lk_engines_notes(const lk_engines *engines, lk_plan_asks asks) {
  return asks == LK_ASKS_CHEAPER || (asks == LK_ASKS_ENGINE && !engines->is_auto);
}

static lk_choice_rule rule_of(const lk_engine_answer *answer, lk_plan_asks asks) {
  const lk_choice *choice = &answer->choice;
  if (asks == LK_ASKS_ENGINE) return answer->is_planned ? LK_CHOICE_OPTION : LK_CHOICE_NONE;
  if (!answer->is_offered || choice->is_engine != answer->is_planned) return LK_CHOICE_NONE;
  if (choice->is_measured) return LK_CHOICE_MEASURED;
  return choice->is_of_class ? LK_CHOICE_OF_CLASS : LK_CHOICE_ESTIMATES;
}

static _Atomic uint64_t *counter_of(lk_engines *engines, const lk_choice *choice) {
  if (choice->is_measured) return &engines->measured;
  return choice->is_of_class ? &engines->of_class : &engines->estimated;
}

bool lk_engines_note(lk_engines *engines, uint32_t kind, uint32_t index, lk_plan_asks asks,
                     const lk_engine_answer *answer, const char *node) {
  const lk_choice *choice = &answer->choice;
  const lk_engine_choice_info numbers = {.native_ns = choice->native_ns,
                                         .engine_ns = choice->engine_ns,
                                         .build_ns = choice->build_ns,
                                         .is_engine = answer->is_planned,
                                         .is_measured = choice->is_measured,
                                         .is_of_class = choice->is_of_class,
                                         .estimated_native_ns = choice->estimated_native_ns,
                                         .estimated_engine_ns = choice->estimated_engine_ns,
                                         .reorder_ns = choice->reorder_ns,
                                         .tensor_bytes = answer->tensor_bytes,
                                         .built_bytes = answer->built_bytes,
                                         .index = index,
                                         .rule = rule_of(answer, asks),
                                         .n_post_ops = answer->n_post_ops,
                                         .taken_post_ops = answer->taken_post_ops};
  if (answer->is_offered && asks == LK_ASKS_CHEAPER) count(counter_of(engines, choice), 1);
  const lk_engine_entry *chosen = engines->chosen;
  return lk_choices_note(engines->choices, node, lk_work_kind_name(kind), chosen->engine.name,
                         answer->is_planned ? NULL : answer->reason, &numbers,
                         answer->is_reference && asks == LK_ASKS_ENGINE);
}

void lk_engines_count(lk_engines *engines, uint32_t kind, const lk_engine_answer *answer,
                      const char *node) {
  count(answer->is_planned ? &engines->works : &engines->works_left, 1);
  count(&engines->references, answer->references);
  if (answer->is_planned && !answer->leaves_part) return;
  lk_left_note(engines->left, lk_work_kind_name(kind), answer->is_planned, answer->reason, node);
}

bool lk_engines_choice(const lk_engines *engines, uint32_t index, lk_engine_choice_info *out_info) {
  return engines->choices != NULL && lk_choices_get(engines->choices, index, out_info);
}

bool lk_engines_left(const lk_engines *engines, uint32_t index, lk_engine_left_info *out_info) {
  return engines->left != NULL && lk_left_get(engines->left, index, out_info);
}

lk_engines_stats lk_engines_stats_get(const lk_engines *engines) {
  const lk_engine_entry *chosen = engines->chosen;
  return (lk_engines_stats){
      .works = atomic_load_explicit(&engines->works, memory_order_relaxed),
      .left = atomic_load_explicit(&engines->works_left, memory_order_relaxed),
      .references = atomic_load_explicit(&engines->references, memory_order_relaxed),
      .measured = atomic_load_explicit(&engines->measured, memory_order_relaxed),
      .of_class = atomic_load_explicit(&engines->of_class, memory_order_relaxed),
      .estimated = atomic_load_explicit(&engines->estimated, memory_order_relaxed),
      .fitting = chosen != NULL ? lk_tuning_fitting(engines->tuning, &chosen->key) : 0};
}
