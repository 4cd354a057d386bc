/* The clocks of the accounts: three circles of entries each. */
#include "keys/cache/clock.h"

#include <stddef.h>

static lk_clock_node *node_of(const lk_clock *clock, lk_entry *entry) {
  return &entry->in_clock[clock->owner];
}

static lk_entry *entry_of(const lk_clock *clock, lk_clock_node *node) {
  lk_clock_node *first = node - clock->owner;
  return (lk_entry *)(void *)((char *)first - offsetof(lk_entry, in_clock));
}

static void insert_before(lk_clock_node *place, lk_clock_node *node) {
  node->next = place;
  node->prev = place->prev;
  place->prev->next = node;
  place->prev = node;
}

static void take_out(lk_clock_node *node) {
  node->prev->next = node->next;
  node->next->prev = node->prev;
}

void lk_clock_init(lk_clock *clock, lk_clock_owner owner) {
  clock->fresh = (lk_clock_node){&clock->fresh, &clock->fresh};
  clock->again = (lk_clock_node){&clock->again, &clock->again};
  clock->parked = (lk_clock_node){&clock->parked, &clock->parked};
  clock->owner = owner;
  clock->steps = 0;
  clock->credit = 0;
}

void lk_clock_add(lk_clock *clock, lk_entry *entry) {
  insert_before(&clock->fresh, node_of(clock, entry));
}

void lk_clock_remove(const lk_clock *clock, lk_entry *entry) {
  take_out(node_of(clock, entry));
}

void lk_clock_park(lk_clock *clock, lk_entry *entry) {
  take_out(node_of(clock, entry));
  insert_before(&clock->parked, node_of(clock, entry));
}

void lk_clock_unpark(lk_clock *clock, lk_entry *entry) {
  take_out(node_of(clock, entry));
  insert_before(clock->again.next, node_of(clock, entry));
}

static lk_entry *first_of(const lk_clock *clock, const lk_clock_node *circle) {
  return circle->next != circle ? entry_of(clock, circle->next) : NULL;
}

static lk_entry *oldest(const lk_clock *clock) {
  lk_entry *fresh = first_of(clock, &clock->fresh);
  lk_entry *again = first_of(clock, &clock->again);
  if (fresh == NULL || again == NULL) return fresh != NULL ? fresh : again;
  return fresh->seen_tick < again->seen_tick ? fresh : again;
}

/* How far an entry goes before those that were left later, but used earlier. They were looked at a
 * moment ago, so they are in a processor's cache. */
#define ORDER_STEPS 16u

static void insert_in_order(lk_clock *clock, lk_entry *entry) {
  lk_clock_node *place = &clock->again;
  for (uint32_t i = 0; i < ORDER_STEPS && place->prev != &clock->again; i++) {
    if (entry_of(clock, place->prev)->seen_tick <= entry->seen_tick) break;
    place = place->prev;
  }
  insert_before(place, node_of(clock, entry));
}

void lk_clock_leave(lk_clock *clock, lk_entry *const *entries, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) take_out(node_of(clock, entries[i]));
  for (uint32_t i = 0; i < count; i++) insert_in_order(clock, entries[i]);
}

/* What the hand may come to next: mostly in no processor's cache, in a large clock. */
static void prefetch(const lk_entry *entry) {
  if (entry == NULL) return;
  __builtin_prefetch(&entry->self.tick);
  __builtin_prefetch(&entry->handles);
  __builtin_prefetch(&entry->seen_tick);
}

lk_entry *lk_clock_step(lk_clock *clock, bool parked) {
  lk_entry *entry = parked ? first_of(clock, &clock->parked) : oldest(clock);
  if (entry == NULL) return NULL;
  clock->steps++;
  take_out(node_of(clock, entry));
  insert_before(parked ? &clock->parked : &clock->again, node_of(clock, entry));
  prefetch(first_of(clock, parked ? &clock->parked : &clock->fresh));
  if (!parked) prefetch(first_of(clock, &clock->again));
  return entry;
}
