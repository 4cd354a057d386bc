/* A hash table of nodes that lie inside the caller's objects. They are found by a key's precomputed
 * hash and a comparison of all its bytes. Not thread-safe: whoever owns the table locks it.
 */
#pragma once

#include "keys/key.h"

/* The first member of what is kept. uthash's handle lies in it, which only table.c knows. */
typedef struct lk_table_node {
  alignas(8) unsigned char handle[56];
} lk_table_node;

typedef struct lk_table {
  const lk_allocator *allocator;
  lk_table_node *first;
} lk_table;

/* An empty table owns no memory, so emptying it is enough to end it. */
void lk_table_init(lk_table *table, const lk_allocator *allocator);
lk_table_node *lk_table_find(const lk_table *table, const lk_key *key); /* NULL: not there */
/* `key` is not there yet; its bytes must stay valid and unchanged while the node is in the table.
 * False: no memory, and nothing has changed. */
bool lk_table_insert(lk_table *table, const lk_key *key, lk_table_node *node);
void lk_table_remove(lk_table *table, lk_table_node *node); /* must be in this table */
size_t lk_table_count(const lk_table *table);
/* All nodes in the order of insertion; NULL ends. Take `next` before removing a node. */
lk_table_node *lk_table_first(const lk_table *table);
lk_table_node *lk_table_next(const lk_table_node *node);
