/* What targets share. */
#include "tests/fuzz/fuzz.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

void fuzz_check_sentence(const lk_error *error) {
  char shown[LK_TEXT_ESCAPED_BYTES(sizeof error->message)];
  FUZZ_CHECK(strlen(error->message) > 0);
  (void)lk_text_escape(error->message, shown, sizeof shown);
  FUZZ_CHECK(strcmp(error->message, shown) == 0);
}

/* In front of each block: its size, and where it begins. */
typedef struct block_head {
  size_t size;
  void *begin;
} block_head;

static void *limited_alloc(void *user, size_t size, size_t alignment) {
  fuzz_memory *memory = user;
  const size_t room = alignment > sizeof(block_head) ? alignment : sizeof(block_head);
  if (size > memory->limit) return NULL;
  if (__atomic_add_fetch(&memory->used, size, __ATOMIC_RELAXED) > memory->limit) {
    __atomic_sub_fetch(&memory->used, size, __ATOMIC_RELAXED);
    return NULL;
  }
  char *begin = aligned_alloc(room, (size + 2 * room - 1) / room * room);
  FUZZ_CHECK(begin != NULL);
  block_head *head = (block_head *)(void *)(begin + room) - 1;
  *head = (block_head){size, begin};
  return begin + room;
}

static void limited_free(void *user, void *pointer) {
  fuzz_memory *memory = user;
  if (pointer == NULL) return;
  const block_head *head = (const block_head *)pointer - 1;
  __atomic_sub_fetch(&memory->used, head->size, __ATOMIC_RELAXED);
  free(head->begin);
}

lk_allocator fuzz_allocator(fuzz_memory *memory) {
  return (lk_allocator){memory, limited_alloc, limited_free};
}

char *fuzz_text(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  FUZZ_CHECK(text != NULL);
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  return text;
}

static char path[64];

static void remove_file(void) {
  (void)unlink(path);
}

const char *fuzz_file(const uint8_t *data, size_t size) {
  if (path[0] == '\0') {
    (void)snprintf(path, sizeof path, "/tmp/latchkey-fuzz-%ld", (long)getpid());
    (void)atexit(remove_file);
  }
  FILE *file = fopen(path, "wb");
  FUZZ_CHECK(file != NULL);
  if (size > 0) FUZZ_CHECK(fwrite(data, 1, size, file) == size); /* else `data` may be NULL */
  FUZZ_CHECK(fclose(file) == 0);
  return path;
}
