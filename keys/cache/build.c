/* Builds: calling them, and telling a thread that would build what it is building already. */
#include "keys/cache/build.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/status.h"
#include "keys/cache/entry.h"
#include "keys/cache/thread_table.h"

/* A build that runs on this thread. */
typedef struct lk_build_frame {
  const struct lk_build_frame *outer;
  const lk_cache *cache;
  const lk_key *key;
} lk_build_frame;

#define KEY_NAME_CAPACITY 128

static void word_text(const lk_cache *cache, uint32_t id, char *buffer, size_t capacity) {
  const char *text = cache->words != NULL ? lk_intern_text(cache->words, id) : NULL;
  if (text != NULL) {
    (void)snprintf(buffer, capacity, "%s", text);
  } else {
    (void)snprintf(buffer, capacity, "#%u", id);
  }
}

/* "convolution of 'out'" */
static const char *key_name(const lk_cache *cache, const lk_key *key,
                            char buffer[KEY_NAME_CAPACITY]) {
  char op[KEY_NAME_CAPACITY / 2 - 8];
  char out[KEY_NAME_CAPACITY / 2];
  word_text(cache, lk_key_get_head(key)->op, op, sizeof op);
  word_text(cache, lk_key_get_head(key)->out, out, sizeof out);
  (void)snprintf(buffer, KEY_NAME_CAPACITY, out[0] != '\0' ? "%s of '%s'" : "%s",
                 op[0] != '\0' ? op : "value", out);
  return buffer;
}

lk_status lk_build(lk_cache *cache, lk_quota *quota, const lk_key *key, lk_build_fn build,
                   void *arg, lk_entry **out_entry, lk_looked *looked, lk_error *error) {
  *out_entry = NULL;
  const uint32_t kind = lk_key_get_head(key)->kind;
  lk_thread *self = &lk_thread_self;
  lk_build_frame frame = {.outer = self->building, .cache = cache, .key = key};
  lk_built built = {0};
  char name[KEY_NAME_CAPACITY];

  if (error != NULL) {
    error->status = LK_OK;
    error->message[0] = '\0';
  }
  self->building = &frame;
  const uint64_t start = lk_now_ns();
  lk_status status = build(arg, key, &built, error);
  const uint64_t build_ns = lk_now_ns() - start;

  if (status != LK_OK) {
    if (error != NULL && error->message[0] == '\0') {
      status = lk_fail(error, status, "failed to build %s: %s", key_name(cache, key, name),
                       lk_status_text(status));
    }
    if (error != NULL) error->status = status;
  } else if (built.value == NULL) {
    status =
        lk_fail(error, LK_INTERNAL, "failed to build %s: the build gave no value, it must give one",
                key_name(cache, key, name));
  } else {
    /* Still a part of the build: a value that cannot be kept ends here, and may ask for `key`. */
    status = lk_entry_create(cache, quota, key, &built, out_entry, error);
  }
  self->building = frame.outer;
  lk_count(cache, quota, kind, status == LK_OK ? LK_EVENT_BUILD : LK_EVENT_FAILED, build_ns,
           looked);
  return status;
}

lk_status lk_build_fail_cycle(const lk_cache *cache, const lk_key *key, lk_error *error) {
  const lk_build_frame *innermost = lk_thread_self.building;
  char name[KEY_NAME_CAPACITY];
  char outer_name[KEY_NAME_CAPACITY];
  return lk_fail(
      error, LK_CYCLE, "failed to build %s: its build asks for %s, which would wait for it",
      key_name(innermost->cache, innermost->key, outer_name), key_name(cache, key, name));
}

lk_status lk_build_check(const lk_cache *cache, const lk_key *key, lk_error *error) {
  for (const lk_build_frame *frame = lk_thread_self.building; frame != NULL; frame = frame->outer) {
    if (frame->cache == cache && lk_key_equal(frame->key, key)) {
      return lk_build_fail_cycle(cache, key, error);
    }
  }
  return LK_OK;
}
