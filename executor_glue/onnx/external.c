/* The files beside a model that hold tensors' data: found, checked, mapped once each. */
#include "executor_glue/onnx/external.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/status.h"
#include "executor_glue/onnx/folders.h"
#include "executor_glue/onnx/map.h"
#include "executor_glue/onnx/signature.h"

/* Files are looked up one after the other; some exporters write one for each tensor. */
#define MAX_FILES 16384

typedef struct external_file {
  char *location; /* as the model writes it */
  lk_onnx_map map;
} external_file;

struct lk_onnx_external {
  const lk_allocator *allocator;
  lk_onnx_folders folders;
  bool copies;           /* files are read into memory, not mapped */
  pthread_mutex_t mutex; /* guards the list: several graphs may be read from one model at once */
  external_file *files;
  size_t n_files, capacity;
};

lk_status lk_onnx_external_create(const lk_allocator *allocator, const char *model_path,
                                  bool copies, lk_onnx_external **out_external, lk_error *error) {
  *out_external = NULL;
  lk_onnx_external *external = lk_calloc(allocator, 1, sizeof *external);
  if (external == NULL) {
    return lk_fail_memory(error, "the list of external files", sizeof *external);
  }
  external->allocator = allocator;
  external->copies = copies;
  (void)pthread_mutex_init(&external->mutex, NULL); /* cannot fail on glibc */
  const lk_status status = lk_onnx_folders_create(allocator, model_path, &external->folders, error);
  if (status != LK_OK) {
    lk_onnx_external_destroy(external);
    return status;
  }
  *out_external = external;
  return LK_OK;
}

void lk_onnx_external_destroy(lk_onnx_external *external) {
  if (external == NULL) return;
  const lk_allocator *allocator = external->allocator;
  for (size_t i = 0; i < external->n_files; i++) {
    lk_onnx_map_destroy(&external->files[i].map);
    lk_free(allocator, external->files[i].location);
  }
  pthread_mutex_destroy(&external->mutex);
  lk_onnx_folders_destroy(&external->folders);
  lk_free(allocator, external->files);
  lk_free(allocator, external);
}

void lk_onnx_external_drop_pages(lk_onnx_external *external) {
  pthread_mutex_lock(&external->mutex);
  for (size_t i = 0; i < external->n_files; i++) lk_onnx_map_drop_pages(&external->files[i].map);
  pthread_mutex_unlock(&external->mutex);
}

lk_status lk_onnx_external_check(lk_onnx_external *external, lk_error *error) {
  lk_status status = LK_OK;
  pthread_mutex_lock(&external->mutex);
  for (size_t i = 0; status == LK_OK && i < external->n_files; i++) {
    const external_file *file = &external->files[i];
    status = lk_onnx_map_check(&file->map, file->location, error);
  }
  pthread_mutex_unlock(&external->mutex);
  return status;
}

/* Any bytes may be weights; the text that git leaves in the place of a large file is none. */
static lk_status check_content(const lk_onnx_map *map, const char *location, lk_error *error) {
  const lk_onnx_signature *found = lk_onnx_signature_find(map->bytes, map->size);
  if (found == NULL || !found->stands_for_data) return LK_OK;
  return lk_fail(error, LK_MALFORMED, "failed to read external data '%s': it is %s; %s", location,
                 found->what, found->advice);
}

/* The list is locked. */
static lk_status find_file(lk_onnx_external *external, const char *location, lk_onnx_map *out_map,
                           lk_error *error) {
  const lk_allocator *allocator = external->allocator;
  lk_onnx_map map = {0};
  lk_status status = LK_OK;
  char *copy = NULL;
  int file = -1;
  /* From the newest: tensors of one file stand together. */
  for (size_t i = external->n_files; i-- > 0;) {
    if (strcmp(external->files[i].location, location) == 0) {
      *out_map = external->files[i].map;
      return LK_OK;
    }
  }
  if (external->n_files >= MAX_FILES) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to open external data '%s': the model has more than the %d files that "
                   "are supported; onnx.save_model(..., all_tensors_to_one_file=True) writes one",
                   location, MAX_FILES);
  }
  LK_TRY(lk_onnx_folders_open(&external->folders, location, &file, error));
  LK_TRY(lk_onnx_map_file(allocator, file, location, external->copies, &map, error));
  LK_TRY(check_content(&map, location, error));
  copy = lk_strdup(allocator, location);
  if (copy == NULL || !LK_GROW(allocator, external->files, external->n_files, external->capacity)) {
    LK_TRY(lk_fail_memory(error, "the list of external files", sizeof *external->files));
  }
  external->files[external->n_files++] = (external_file){copy, map};
  *out_map = map;
  copy = NULL;
  map = (lk_onnx_map){0};

cleanup:
  lk_free(allocator, copy);
  lk_onnx_map_destroy(&map);
  if (file >= 0) (void)close(file);
  return status;
}

lk_status lk_onnx_external_find(lk_onnx_external *external, const Onnx__TensorProto *tensor,
                                uint64_t size, const uint8_t **out_bytes,
                                const lk_owner **out_owner, lk_error *error) {
  const char *location = NULL;
  uint64_t offset = 0, length = size;
  *out_bytes = NULL;
  for (size_t i = 0; i < tensor->n_external_data; i++) {
    const char *key = tensor->external_data[i]->key, *value = tensor->external_data[i]->value;
    if (key == NULL || value == NULL) continue;
    uint64_t *number = NULL;
    if (strcmp(key, "location") == 0) location = value;
    if (strcmp(key, "offset") == 0) number = &offset;
    if (strcmp(key, "length") == 0) number = &length;
    if (number != NULL && !lk_parse_number(value, false, number)) {
      return lk_fail(error, LK_MALFORMED,
                     "failed to read external data: %s '%s' is not a number of bytes", key, value);
    }
  }
  if (location == NULL) {
    return lk_fail(error, LK_MALFORMED,
                   "failed to read external data: it has no location, which is required");
  }
  if (length != size) {
    return lk_fail(error, LK_MALFORMED,
                   "failed to read external data '%s': its length is %" PRIu64
                   ", the shape requires %" PRIu64 " bytes",
                   location, length, size);
  }
  lk_onnx_map map = {0};
  pthread_mutex_lock(&external->mutex);
  const lk_status status = find_file(external, location, &map, error);
  pthread_mutex_unlock(&external->mutex);
  LK_RETURN_NOT_OK(status);
  if (offset > map.size || size > map.size - offset) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read external data '%s': %" PRIu64 " bytes at offset %" PRIu64
                   " leave the file, which has %zu: it was cut off, or is that of another model",
                   location, size, offset, map.size);
  }
  *out_bytes = map.bytes + offset;
  *out_owner = map.owner;
  return LK_OK;
}
