/* NumPy's .npy files: tensors in, tensors out. */
#include "executor_glue/cli/common/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"

/* NumPy itself refuses to read longer headers unless told otherwise. */
enum { MAX_HEADER = 10000, MAGIC_BYTES = 6, HEADER_ALIGNMENT = 64 };
static const unsigned char magic[MAGIC_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* The kind and size of NumPy's type, without the byte order in front. */
static const struct {
  uint32_t dtype;
  const char *code;
} types[] = {
    {LK_F32, "f4"}, {LK_U8, "u1"},   {LK_I8, "i1"},  {LK_U16, "u2"}, {LK_I16, "i2"}, {LK_I32, "i4"},
    {LK_I64, "i8"}, {LK_BOOL, "b1"}, {LK_F16, "f2"}, {LK_F64, "f8"}, {LK_U32, "u4"}, {LK_U64, "u8"},
};

/* ---- the header: a literal of a Python dictionary -------------------------------------------- */

typedef struct header_reader {
  const char *at, *end, *path;
  lk_error *error;
} header_reader;

static lk_status malformed(const header_reader *reader, const char *rule) {
  return lk_fail(reader->error, LK_MALFORMED, "failed to read '%s': %s", reader->path, rule);
}

static void skip_blanks(header_reader *reader) {
  while (reader->at < reader->end && strchr(" \t\n", *reader->at) != NULL && *reader->at != '\0') {
    reader->at++;
  }
}

/* Takes `c` if it comes next. */
static bool take(header_reader *reader, char c) {
  skip_blanks(reader);
  if (reader->at == reader->end || *reader->at != c) return false;
  reader->at++;
  return true;
}

static bool take_word(header_reader *reader, const char *word) {
  size_t length = strlen(word);
  skip_blanks(reader);
  if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) {
    return false;
  }
  reader->at += length;
  return true;
}

/* A string in single or double quotes, without escapes: there are none in what NumPy writes. */
static bool take_string(header_reader *reader, const char **out_text, size_t *out_length) {
  skip_blanks(reader);
  if (reader->at == reader->end || (*reader->at != '\'' && *reader->at != '"')) return false;
  char quote = *reader->at++;
  const char *close = memchr(reader->at, quote, (size_t)(reader->end - reader->at));
  if (close == NULL) return false;
  *out_text = reader->at;
  *out_length = (size_t)(close - reader->at);
  reader->at = close + 1;
  return true;
}

static lk_status read_type(header_reader *reader, uint32_t *out_dtype) {
  const char *text = NULL;
  size_t length = 0;
  if (!take_string(reader, &text, &length)) {
    return lk_fail(reader->error, LK_UNSUPPORTED,
                   "failed to read '%s': its elements are records, a plain type is needed",
                   reader->path);
  }
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (length != 3 || memcmp(text + 1, types[i].code, 2) != 0) continue;
    if (text[0] == '<' || (text[0] == '|' && text[2] == '1')) {
      *out_dtype = types[i].dtype;
      return LK_OK;
    }
    if (text[0] == '>') {
      return lk_fail(reader->error, LK_UNSUPPORTED,
                     "failed to read '%s': it is big-endian ('%.*s'), save it little-endian",
                     reader->path, (int)length, text);
    }
  }
  return lk_fail(reader->error, LK_UNSUPPORTED,
                 "failed to read '%s': element type '%.*s', a number or bool is needed",
                 reader->path, (int)(length < 40 ? length : 40), text);
}

static lk_status read_shape(header_reader *reader, lk_tensor_desc *desc) {
  if (!take(reader, '(')) return malformed(reader, "the shape in its header is not a tuple");
  while (!take(reader, ')')) {
    skip_blanks(reader);
    int64_t dim = 0;
    const char *begin = reader->at;
    for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; reader->at++) {
      if (__builtin_mul_overflow(dim, 10, &dim) ||
          __builtin_add_overflow(dim, *reader->at - '0', &dim)) {
        return malformed(reader, "a dimension in its header is larger than 2^63");
      }
    }
    if (reader->at == begin) return malformed(reader, "a dimension in its header is not a number");
    if (desc->rank == LK_MAX_RANK) {
      return lk_fail(reader->error, LK_OUT_OF_RANGE,
                     "failed to read '%s': it has more than %d dimensions", reader->path,
                     LK_MAX_RANK);
    }
    desc->dims[desc->rank++] = dim;
    if (!take(reader, ',')) {
      if (!take(reader, ')')) return malformed(reader, "the shape in its header does not end");
      break;
    }
  }
  return LK_OK;
}

static lk_status read_order(header_reader *reader) {
  if (take_word(reader, "False")) return LK_OK;
  if (!take_word(reader, "True")) {
    return malformed(reader, "fortran_order in its header is neither True nor False");
  }
  return lk_fail(
      reader->error, LK_UNSUPPORTED,
      "failed to read '%s': it is in Fortran order, save it through numpy.ascontiguousarray",
      reader->path);
}

static lk_status read_header(header_reader *reader, lk_tensor_desc *out) {
  enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
  int seen = 0;
  if (!take(reader, '{')) return malformed(reader, "its header is not a dictionary");
  while (!take(reader, '}')) {
    const char *name = NULL;
    size_t length = 0;
    if (!take_string(reader, &name, &length) || !take(reader, ':')) {
      return malformed(reader, "its header is not a dictionary");
    }
    int field = 0;
    if (length == 5 && memcmp(name, "descr", 5) == 0) {
      field = DESCR;
      LK_RETURN_NOT_OK(read_type(reader, &out->dtype));
    } else if (length == 5 && memcmp(name, "shape", 5) == 0) {
      field = SHAPE;
      out->rank = 0;
      LK_RETURN_NOT_OK(read_shape(reader, out));
    } else if (length == 13 && memcmp(name, "fortran_order", 13) == 0) {
      field = ORDER;
      LK_RETURN_NOT_OK(read_order(reader));
    } else {
      return malformed(reader, "its header has a field besides descr, fortran_order and shape");
    }
    if ((seen & field) != 0) return malformed(reader, "its header has a field twice");
    seen |= field;
    if (!take(reader, ',')) {
      if (!take(reader, '}')) return malformed(reader, "its header does not end");
      break;
    }
  }
  skip_blanks(reader);
  if (reader->at != reader->end) return malformed(reader, "something follows in its header");
  if (seen != (DESCR | ORDER | SHAPE)) return malformed(reader, "its header lacks a field");
  return LK_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static lk_status open_file(const char *path, FILE **out_file, uint64_t *out_size, lk_error *error) {
  lk_status status = LK_OK;
  struct stat info;
  *out_file = NULL;
  /* Not blocking: opening a FIFO that nobody writes to would wait for ever. */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &info) != 0) {
    LK_TRY(lk_fail(error, errno == ENOENT ? LK_NOT_FOUND : LK_IO, "failed to open '%s': %s", path,
                   strerror(errno)));
  }
  if (!S_ISREG(info.st_mode)) {
    LK_TRY(lk_fail(error, LK_IO, "failed to read '%s': it is not a regular file", path));
  }
  *out_size = (uint64_t)info.st_size;
  *out_file = fdopen(fd, "rb");
  if (*out_file == NULL) LK_TRY(lk_fail_memory(error, "an open file", sizeof **out_file));
cleanup:
  if (status != LK_OK && fd >= 0) (void)close(fd);
  return status;
}

lk_status npy_read(const lk_allocator *allocator, const char *path, lk_tensor *out,
                   lk_error *error) {
  lk_status status = LK_OK;
  FILE *file = NULL;
  uint64_t size = 0;
  void *data = NULL;
  lk_tensor_desc desc = {0};
  char header[MAX_HEADER];
  *out = (lk_tensor){0};
  header_reader reader = {.path = path, .error = error};

  LK_TRY(open_file(path, &file, &size, error));
  unsigned char front[MAGIC_BYTES + 2 + 4] = {0};
  if (fread(front, 1, MAGIC_BYTES + 2, file) != MAGIC_BYTES + 2 ||
      memcmp(front, magic, MAGIC_BYTES) != 0) {
    LK_TRY(malformed(&reader, "it is not a .npy file"));
  }
  int version = front[MAGIC_BYTES];
  if (version != 1 && version != 2) {
    LK_TRY(lk_fail(error, LK_UNSUPPORTED, "failed to read '%s': .npy version %d, 1 or 2 is needed",
                   path, version));
  }
  size_t length_bytes = version == 1 ? 2 : 4;
  unsigned char *length = front + MAGIC_BYTES + 2;
  if (fread(length, 1, length_bytes, file) != length_bytes) {
    LK_TRY(malformed(&reader, "it ends in the header"));
  }
  uint64_t header_bytes = 0;
  for (size_t i = 0; i < length_bytes; i++) header_bytes |= (uint64_t)length[i] << (8 * i);
  if (header_bytes > sizeof header) {
    LK_TRY(lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read '%s': header of %" PRIu64 " bytes, at most %d", path,
                   header_bytes, MAX_HEADER));
  }
  if (fread(header, 1, header_bytes, file) != header_bytes) {
    LK_TRY(malformed(&reader, "it ends in the header"));
  }
  reader.at = header;
  reader.end = header + header_bytes;
  LK_TRY(read_header(&reader, &desc));

  int64_t bytes = 0;
  LK_TRY(lk_tensor_size(&desc, path, NULL, &bytes, error));
  uint64_t before = MAGIC_BYTES + 2 + length_bytes + header_bytes;
  /* Before anything is allocated: the header may promise more than there is. */
  if (size < before || size - before != (uint64_t)bytes) {
    char text[LK_TENSOR_TEXT_CAPACITY];
    LK_TRY(lk_fail(error, LK_MALFORMED,
                   "failed to read '%s': %" PRIu64 " bytes of data, %s has %" PRId64, path,
                   size < before ? 0 : size - before, lk_tensor_text(&desc, text), bytes));
  }
  data = lk_alloc_aligned(allocator, (size_t)bytes, LK_DATA_ALIGNMENT);
  if (data == NULL) LK_TRY(lk_fail_memory(error, path, (size_t)bytes));
  if (fread(data, 1, (size_t)bytes, file) != (size_t)bytes) {
    LK_TRY(lk_fail(error, LK_IO, "failed to read '%s': it ended while it was read", path));
  }
  *out = (lk_tensor){.desc = desc, .data = data};
  data = NULL;

cleanup:
  if (file != NULL) (void)fclose(file);
  lk_free(allocator, data);
  return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The header as NumPy writes it: padded with blanks so that the data is aligned. Returns its bytes,
 * or 0 for a type that NumPy does not have. */
static size_t make_header(const lk_tensor_desc *desc, char *header, size_t capacity) {
  const char *code = NULL;
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (types[i].dtype == desc->dtype) code = types[i].code;
  }
  if (code == NULL) return 0;
  const size_t front = MAGIC_BYTES + 2 + 2;
  size_t used = front;
  used += (size_t)snprintf(header + used, capacity - used,
                           "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                           code[1] == '1' ? '|' : '<', code);
  for (uint32_t i = 0; i < desc->rank; i++) {
    used += (size_t)snprintf(header + used, capacity - used, "%s%" PRId64, i > 0 ? ", " : "",
                             desc->dims[i]);
  }
  used += (size_t)snprintf(header + used, capacity - used, "%s), }", desc->rank == 1 ? "," : "");
  while ((used + 1) % HEADER_ALIGNMENT != 0) header[used++] = ' ';
  header[used++] = '\n';
  memcpy(header, magic, MAGIC_BYTES);
  header[MAGIC_BYTES] = 1;
  header[MAGIC_BYTES + 1] = 0;
  header[MAGIC_BYTES + 2] = (char)((used - front) & 0xff);
  header[MAGIC_BYTES + 3] = (char)((used - front) >> 8);
  return used;
}

lk_status npy_prepare(const lk_allocator *allocator, const char *path, const lk_tensor *tensor,
                      lk_whole_file *out, lk_error *error) {
  lk_status status = LK_OK;
  lk_whole_file file = {0};
  int64_t bytes = 0;
  char header[512]; /* 8 dimensions of 20 digits, and the words */
  *out = (lk_whole_file){0};

  LK_TRY(lk_tensor_size(&tensor->desc, path, NULL, &bytes, error));
  size_t header_bytes = make_header(&tensor->desc, header, sizeof header);
  if (header_bytes == 0) {
    LK_TRY(lk_fail(error, LK_UNSUPPORTED, "failed to write '%s': NumPy has no type %s", path,
                   lk_dtype_name(tensor->desc.dtype)));
  }
  LK_TRY(lk_whole_file_begin(allocator, "an output", path, &file, error));
  (void)fwrite(header, 1, header_bytes, file.stream);
  if (bytes > 0) (void)fwrite(tensor->data, 1, (size_t)bytes, file.stream);
  LK_TRY(lk_whole_file_end(&file, error));
  *out = file;
  file = (lk_whole_file){0};

cleanup:
  lk_whole_file_discard(&file);
  return status;
}
