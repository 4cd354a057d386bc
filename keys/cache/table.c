/* A hash table of nodes that lie inside the caller's objects: uthash, told to take memory from the
 * library's allocator and to report its failure. The only file that includes uthash.h.
 */
#include "keys/cache/table.h"

#include <string.h>

#include "base/alloc.h"

/* Each function that may allocate or free has a local `allocator`. */
#define uthash_malloc(size) lk_alloc(allocator, (size))
#define uthash_free(pointer, size) lk_free(allocator, (pointer))
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(node) ((void)(node))

/* uthash's macros mix signed and unsigned, and shadow; its code is not ours to change. */
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <uthash.h>

/* A chain is walked through memory that is not in the cache: grow before chains grow long. */
#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 6U

typedef struct table_item {
  UT_hash_handle hh;
} table_item;

_Static_assert(sizeof(table_item) == sizeof(lk_table_node), "uthash's handle fills a node");
_Static_assert(alignof(table_item) <= alignof(lk_table_node), "and is aligned in it");

static table_item *item_of(lk_table_node *node) {
  return (table_item *)(void *)node;
}

/* uthash takes 32 bits: its low ones choose the bucket, so both halves must reach them. */
static unsigned hash_of(const lk_key *key) {
  return (unsigned)(key->hash ^ (key->hash >> 32));
}

void lk_table_init(lk_table *table, const lk_allocator *allocator) {
  table->allocator = allocator;
  table->first = NULL;
}

lk_table_node *lk_table_find(const lk_table *table, const lk_key *key) {
  table_item *head = item_of(table->first);
  table_item *found = NULL;
  HASH_FIND_BYHASHVALUE(hh, head, key->bytes, key->size, hash_of(key), found);
  return (lk_table_node *)(void *)found;
}

bool lk_table_insert(lk_table *table, const lk_key *key, lk_table_node *node) {
  const lk_allocator *allocator = table->allocator;
  table_item *head = item_of(table->first);
  table_item *item = item_of(node);
  HASH_ADD_KEYPTR_BYHASHVALUE(hh, head, key->bytes, key->size, hash_of(key), item);
  if (item->hh.tbl == NULL) return false;
  table->first = (lk_table_node *)(void *)head;
  return true;
}

void lk_table_remove(lk_table *table, lk_table_node *node) {
  const lk_allocator *allocator = table->allocator;
  table_item *head = item_of(table->first);
  HASH_DELETE(hh, head, item_of(node));
  table->first = (lk_table_node *)(void *)head;
}

size_t lk_table_count(const lk_table *table) {
  table_item *head = item_of(table->first);
  return HASH_COUNT(head);
}

lk_table_node *lk_table_first(const lk_table *table) {
  return table->first;
}

lk_table_node *lk_table_next(const lk_table_node *node) {
  return ((const table_item *)(const void *)node)->hh.next;
}
