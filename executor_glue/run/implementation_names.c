/* Names of implementations. They are copied, because the one that has the name (an operator's plan)
 * may end before the graph; and each is kept once. */
#include "executor_glue/run/implementation_names.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/status.h"

typedef struct lk_kept_name {
  struct lk_kept_name *next;
  char text[];
} lk_kept_name;

struct lk_implementation_names {
  const lk_allocator *allocator;
  lk_fork_entry fork;
  pthread_mutex_t mutex; /* guards `kept` */
  lk_kept_name *kept;
  const char *_Atomic of_node[]; /* [n_nodes] */
};

lk_status lk_implementation_names_create(const lk_allocator *allocator, size_t n_nodes,
                                         lk_implementation_names **out_names, lk_error *error) {
  *out_names = NULL;
  const size_t bytes = sizeof(lk_implementation_names) + n_nodes * sizeof(char *);
  lk_implementation_names *made = lk_calloc(allocator, 1, bytes);
  if (made == NULL) return lk_fail_memory(error, "names of implementations", bytes);
  for (size_t i = 0; i < n_nodes; i++) atomic_init(&made->of_node[i], "");
  made->allocator = allocator;
  (void)pthread_mutex_init(&made->mutex, NULL); /* cannot fail on glibc */
  made->fork = (lk_fork_entry){.level = LK_FORK_LEAF, .mutex = &made->mutex};
  lk_fork_enter(&made->fork);
  *out_names = made;
  return LK_OK;
}

void lk_implementation_names_destroy(lk_implementation_names *names) {
  if (names == NULL) return;
  lk_fork_leave(&names->fork);
  pthread_mutex_destroy(&names->mutex);
  while (names->kept != NULL) {
    lk_kept_name *next = names->kept->next;
    lk_free(names->allocator, names->kept);
    names->kept = next;
  }
  lk_free(names->allocator, names);
}

/* With the mutex. NULL: no memory. */
static const lk_kept_name *keep(lk_implementation_names *names, const char *text) {
  lk_kept_name *name = names->kept;
  while (name != NULL && strcmp(name->text, text) != 0) name = name->next;
  if (name != NULL) return name;
  const size_t bytes = strlen(text) + 1;
  name = lk_alloc(names->allocator, sizeof *name + bytes);
  if (name == NULL) return NULL;
  memcpy(name->text, text, bytes);
  name->next = names->kept;
  names->kept = name;
  return name;
}

void lk_implementation_names_note(lk_implementation_names *names, int32_t node,
                                  const char *implementation) {
  if (implementation == NULL) implementation = "";
  if (strcmp(atomic_load(&names->of_node[node]), implementation) == 0) return;
  pthread_mutex_lock(&names->mutex);
  const lk_kept_name *name = keep(names, implementation);
  if (name != NULL) atomic_store(&names->of_node[node], name->text);
  pthread_mutex_unlock(&names->mutex);
}

const char *lk_implementation_names_get(const lk_implementation_names *names, size_t node) {
  return atomic_load(&names->of_node[node]);
}
