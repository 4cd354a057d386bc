/* The shapes of a request as text, in the words of --shape. */
#include "executor_glue/cli/common/shape_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"

static lk_status write_name(const char *name, FILE *stream, lk_error *error) {
  const size_t capacity = LK_TEXT_ESCAPED_BYTES(strlen(name));
  char *shown = lk_alloc(lk_allocator_default(), capacity);
  if (shown == NULL) return lk_fail_memory(error, "a name", capacity);
  (void)lk_text_escape(name, shown, capacity);
  (void)fputs(shown, stream);
  lk_free(lk_allocator_default(), shown);
  return LK_OK;
}

lk_status shape_text_write(const lk_named_tensor *inputs, uint32_t count, FILE *stream,
                           lk_error *error) {
  for (uint32_t i = 0; i < count; i++) {
    const lk_tensor_desc *desc = &inputs[i].tensor.desc;
    if (i > 0) (void)putc(' ', stream);
    LK_RETURN_NOT_OK(write_name(inputs[i].name, stream, error));
    (void)putc('=', stream);
    for (uint32_t d = 0; d < desc->rank; d++) {
      (void)fprintf(stream, "%s%" PRId64, d > 0 ? "x" : "", desc->dims[d]);
    }
    if (desc->rank == 0) (void)fputs("scalar", stream);
  }
  return LK_OK;
}

lk_status shape_text_create(const lk_named_tensor *inputs, uint32_t count, char **out_text,
                            lk_error *error) {
  size_t length = 0;
  *out_text = NULL;
  FILE *stream = open_memstream(out_text, &length);
  if (stream == NULL) return lk_fail_memory(error, "a shape", 0);
  lk_status status = shape_text_write(inputs, count, stream, error);
  const bool lost = ferror(stream) != 0;
  /* where closing finds no memory for the text, it does not tell */
  if ((fclose(stream) != 0 || lost || *out_text == NULL) && status == LK_OK) {
    status = lk_fail_memory(error, "a shape", length);
  }
  if (status == LK_OK) return LK_OK;
  free(*out_text);
  *out_text = NULL;
  return status;
}
