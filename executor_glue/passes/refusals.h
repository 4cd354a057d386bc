/* Why passes have left nodes as they are, for whoever asks: of nodes whose operators fit a rule, of
 * which one condition does not hold.
 *
 * What a pass decides by says it: a predicate takes an `lk_miss *`, which is NULL when nobody
 * listens, and notes in it what does not hold. So asking runs the same code as rewriting does. */
#pragma once

#include <latchkey/session.h>

#include "executor_glue/graph/graph.h"

/* One node that was left. Texts are one line of UTF-8, names in `reason` included. */
typedef struct lk_refusal {
  struct lk_refusal *next;
  const lk_graph *graph; /* compared, and not read */
  int32_t output;        /* the value that the node makes first, or LK_NO_VALUE: no node */
  bool is_tree;
  const char *pass, *op_type, *domain, *node_name, *output_name;
  const char *reason; /* what does not hold */
  const char *advice; /* what helps; "": nothing is known to */
} lk_refusal;

typedef struct lk_refusals {
  lk_bump memory;
  lk_refusal *first, **end; /* in the order in which they were noted */
  const char *pass;         /* that is running */
  bool failed;              /* memory was short */
} lk_refusals;

/* `out` must stay where it is. lk_refusals_end frees all. */
void lk_refusals_begin(lk_refusals *out, const lk_allocator *allocator);
void lk_refusals_end(lk_refusals *self);
/* Forgets what pass `pass` has left of a graph, which is seen anew. */
void lk_refusals_forget(lk_refusals *self, const char *pass, const lk_graph *graph);
/* Forgets nodes that other passes have fused meanwhile. The graph is resolved. */
void lk_refusals_settle(lk_refusals *self, const lk_graph *graph);

/* Shows all that were noted, in their order. */
void lk_refusals_show(const lk_refusals *self, lk_refusal_fn visit, void *arg);

enum { LK_MISS_CAPACITY = 256 };

/* What did not hold of a node. */
typedef struct lk_miss {
  bool is_near;       /* something was noted: all else fits */
  bool is_tree;       /* of several nodes: it stays true when a pass takes one of them */
  const char *advice; /* as of lk_refusal; not copied before lk_refusals_add */
  char reason[LK_MISS_CAPACITY];
} lk_miss;

/* Empties `room` and returns it, or NULL where nobody listens: `self` is NULL. */
lk_miss *lk_refusals_listen(const lk_refusals *self, lk_miss *room);
/* Notes a reason, the first of them; `miss` may be NULL. False, so that failing is one statement.
 */
bool lk_miss_note(lk_miss *miss, const char *advice, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds what `miss` has of a node, once for each pass. Nothing where `miss` is NULL or empty. */
void lk_refusals_add(lk_refusals *self, const lk_graph *graph, int32_t node, const lk_miss *miss);
/* The same of a node that the graph may not have any more; NULL: of the graph as a whole. */
void lk_refusals_add_node(lk_refusals *self, const lk_graph *graph, const lk_node *node,
                          const lk_miss *miss);
