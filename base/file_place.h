/* Where a path leads when a file is to be written there: links are followed by hand, each within
 * the folder that is open, so that nothing is swapped between looking and writing. */
#pragma once

#include <latchkey/base.h>
#include <sys/types.h>

typedef enum lk_place_kind {
  LK_PLACE_NEW,    /* nothing is there */
  LK_PLACE_FILE,   /* a regular file */
  LK_PLACE_OTHER,  /* something else, which is written to as it is */
  LK_PLACE_NUMBER, /* a file that this process has open */
} lk_place_kind;

typedef struct lk_file_place {
  lk_place_kind kind;
  int folder;       /* open, for the functions that take one; the caller closes it */
  const char *name; /* in it */
  int number;       /* of LK_PLACE_NUMBER */
  mode_t mode;      /* of what is there, with its owner */
  uid_t user;
  gid_t group;
  char link[4096]; /* has the name, if it is not the path's */
} lk_file_place;

/* 0, or an errno. `out->folder` is -1 then. `path` must stay as long as `out`. */
int lk_file_place_find(const char *path, lk_file_place *out);
