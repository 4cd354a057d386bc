/* Which code is Latchkey's: of the libraries whose names begin with liblatchkey, but for the one
 * that makes faults. A host that dies of its own want of memory shows nothing. */
#pragma once

#ifndef __USE_GNU
#error "dl_iterate_phdr needs _GNU_SOURCE"
#endif
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { OURS_MOST = 4 };

/* Each file that includes it has a list of its own. */
static struct { uintptr_t begin, end; } ours_code[OURS_MOST];
static int ours_n_code;

static int ours_add(struct dl_phdr_info *object, size_t size, void *user) {
  (void)size, (void)user;
  const char *name = strrchr(object->dlpi_name, '/');
  if (name == NULL || strncmp(name, "/liblatchkey", 12) != 0) return 0;
  if (strncmp(name, "/liblatchkey_faults", 19) == 0) return 0;
  for (int i = 0; i < object->dlpi_phnum && ours_n_code < OURS_MOST; i++) {
    if (object->dlpi_phdr[i].p_type != PT_LOAD || (object->dlpi_phdr[i].p_flags & PF_X) == 0)
      continue;
    ours_code[ours_n_code].begin = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    ours_code[ours_n_code].end = ours_code[ours_n_code].begin + object->dlpi_phdr[i].p_memsz;
    ours_n_code++;
  }
  return 0;
}

/* Of the libraries that are loaded now. False: none is. */
static inline bool ours_find(void) {
  ours_n_code = 0;
  (void)dl_iterate_phdr(ours_add, NULL);
  return ours_n_code > 0;
}

static inline bool ours_has(const void *address) {
  for (int i = 0; i < ours_n_code; i++) {
    if ((uintptr_t)address >= ours_code[i].begin && (uintptr_t)address < ours_code[i].end)
      return true;
  }
  return false;
}
