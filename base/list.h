/* Lists whose nodes link themselves: each has `next`, and `link`, the pointer that points to it. So
 * a node leaves its list without a search, and without knowing which one it is in. */
#pragma once

#include <stddef.h>

/* Puts `node` in front. `next` and `link` are the names of its two members. */
#define LK_LIST_ADD(first, node, next, link)                                                       \
  do {                                                                                             \
    (node)->next = (first);                                                                        \
    (node)->link = &(first);                                                                       \
    if ((node)->next != NULL) (node)->next->link = &(node)->next;                                  \
    (first) = (node);                                                                              \
  } while (0)

#define LK_LIST_REMOVE(node, next, link)                                                           \
  do {                                                                                             \
    *(node)->link = (node)->next;                                                                  \
    if ((node)->next != NULL) (node)->next->link = (node)->link;                                   \
  } while (0)
