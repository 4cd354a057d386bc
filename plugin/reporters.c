/* The list of reporters, and asking them: one that is asked cannot leave, the others can. */
#include "plugin/reporters.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/fork.h"
#include "base/list.h"
#include "plugin/internal.h"

/* What `opaque` of an lk_reporter has. */
typedef struct entry {
  struct entry *next, **link;
  lk_reporter *reporter;
  uint32_t number; /* in the order in which they have entered, from 1 */
  bool is_asked;
} entry;
_Static_assert(sizeof(entry) <= sizeof(((lk_reporter *)0)->opaque), "an entry has room");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static entry *first;
static uint32_t n_entered;

/* The thread that asked is not in the child. */
static void forget_asked(void *object) {
  (void)object;
  for (entry *each = first; each != NULL; each = each->next) each->is_asked = false;
  answered = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

static lk_fork_entry over_fork = {.level = LK_FORK_LEAF, .mutex = &mutex, .child = forget_asked};

static entry *entry_of(lk_reporter *reporter) {
  return (entry *)reporter->opaque;
}

void lk_reporter_enter(lk_reporter *reporter) {
  entry *self = entry_of(reporter);
  lk_fork_enter(&over_fork);
  pthread_mutex_lock(&mutex);
  *self = (entry){.reporter = reporter, .number = ++n_entered};
  LK_LIST_ADD(first, self, next, link);
  pthread_mutex_unlock(&mutex);
}

void lk_reporter_leave(lk_reporter *reporter) {
  entry *self = entry_of(reporter);
  pthread_mutex_lock(&mutex);
  if (self->link != NULL) {
    while (self->is_asked) pthread_cond_wait(&answered, &mutex);
    LK_LIST_REMOVE(self, next, link);
    self->link = NULL;
  }
  pthread_mutex_unlock(&mutex);
}

/* False: it has no memory to answer. */
static bool write_one(FILE *stream, const entry *self, bool is_first) {
  const lk_reporter *reporter = self->reporter;
  const uint64_t context = reporter->context->serial; /* which may end while it is asked */
  char *text = reporter->make(reporter->object);
  if (text == NULL) return false;
  (void)fprintf(stream, "%s{\"session\":%" PRIu32 ",\"context\":%" PRIu64 ",\"report\":%s}",
                is_first ? "" : ",", self->number, context, text);
  reporter->release(reporter->object, text);
  return true;
}

uint64_t lk_reporters_write(FILE *stream, long most_bytes) {
  uint64_t left_out = 0;
  bool is_first = true;
  pthread_mutex_lock(&mutex);
  for (entry *each = first; each != NULL; each = each->next) {
    each->is_asked = true; /* so that it stays in the list while the lock is free */
    pthread_mutex_unlock(&mutex);
    const bool has_room = ftell(stream) < most_bytes;
    const bool is_written = has_room && write_one(stream, each, is_first);
    is_first = is_first && !is_written;
    left_out += !is_written;
    pthread_mutex_lock(&mutex);
    each->is_asked = false;
    pthread_cond_broadcast(&answered);
  }
  pthread_mutex_unlock(&mutex);
  return left_out;
}
