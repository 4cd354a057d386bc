/* What targets share: libFuzzer's entry, an allocator with a limit, checks. */
#pragma once

#include <latchkey/base.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* libFuzzer calls it, or replay.c. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process as a fault does, so that the bytes are kept. */
#define FUZZ_CHECK(condition)                                                                      \
  ((condition) ? (void)0                                                                           \
               : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

/* A failure has a sentence: one line that a terminal can show, whatever the bytes were. */
void fuzz_check_sentence(const lk_error *error);

/* Memory of the C library, up to `limit` bytes at a time. */
typedef struct fuzz_memory {
  size_t limit, used;
} fuzz_memory;

lk_allocator fuzz_allocator(fuzz_memory *memory);

/* A copy that ends with a 0, for what reads text; to be freed. */
char *fuzz_text(const uint8_t *data, size_t size);

/* Path of a file with these bytes, the same one for each call of a process. */
const char *fuzz_file(const uint8_t *data, size_t size);
