/* What a file is that is not an ONNX model: told by its first bytes. */
#include "executor_glue/onnx/signature.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* How a row is recognized, but for the bytes at its place. */
typedef enum how {
  BYTES,      /* they are there */
  AFTER_SPACE /* in large or small letters, behind blanks and the mark of some editors */
} how;

typedef struct row {
  how how;
  size_t offset, length; /* of `bytes` */
  const char *bytes;
  const char *within; /* a text that follows in the first bytes; NULL: none is needed */
  lk_onnx_signature found;
} row;

/* Where a text of a row may follow. */
#define HEAD_BYTES ((size_t)1024)

#define AT(offset, bytes) BYTES, offset, sizeof(bytes) - 1, bytes, NULL
#define BEGINS(bytes) AT(0, bytes)
#define LINE(text) AFTER_SPACE, 0, sizeof(text) - 1, text, NULL
#define WITH(bytes, within) BYTES, 0, sizeof(bytes) - 1, bytes, within

#define EXPORT_TORCH "export the model to ONNX with torch.onnx.export"
#define EXPORT_KERAS "convert the model to ONNX with tf2onnx"
#define UNPACK "unpack it first, the model may be in it"
#define NO_MODEL "an .onnx file is needed"

/* The first that fits is right. */
static const row ROWS[] = {
    {BEGINS("version https://git-lfs.github.com/spec/"),
     {"a Git LFS pointer, a text that stands for the file",
      "run `git lfs pull` in its repository to fetch the file", true}},
    {LINE("<!doctype html"),
     {"an HTML page", "the address that it came from shows a page: take that of the file itself",
      true}},
    {LINE("<html"),
     {"an HTML page", "the address that it came from shows a page: take that of the file itself",
      true}},
    {LINE("<?xml"), {"an XML text, as OpenVINO and web servers write them", NO_MODEL, true}},
    {AT(4, "ORTM"),
     {"a model in ONNX Runtime's own format (ORT)", "take the ONNX file that it was made from",
      false}},
    {AT(4, "TFL3"), {"a TensorFlow Lite model", "convert it to ONNX with tf2onnx --tflite", false}},
    {BEGINS("GGUF"), {"a GGUF file of llama.cpp", "take the model's ONNX export instead", false}},
    {AT(8, "{\""),
     {"a safetensors file: weights without a graph", "export the model to ONNX", false}},
    {WITH("PK\3\4", "data.pkl"), {"a PyTorch file", EXPORT_TORCH, false}},
    {WITH("PK\3\4", "/version"), {"a PyTorch file", EXPORT_TORCH, false}},
    {WITH("PK\3\4", "config.json"), {"a Keras file", EXPORT_KERAS, false}},
    {WITH("PK\3\4", ".npy"), {"an archive of NumPy arrays", NO_MODEL, false}},
    {BEGINS("PK\3\4"), {"a zip archive", UNPACK, false}},
    {BEGINS("PK\5\6"), {"an empty zip archive", NO_MODEL, false}},
    {BEGINS("\x80\2"), {"a Python pickle, maybe a PyTorch file", EXPORT_TORCH, false}},
    {BEGINS("\x80\3"), {"a Python pickle, maybe a PyTorch file", EXPORT_TORCH, false}},
    {BEGINS("\x80\4"), {"a Python pickle, maybe a PyTorch file", EXPORT_TORCH, false}},
    {BEGINS("\x80\5"), {"a Python pickle, maybe a PyTorch file", EXPORT_TORCH, false}},
    {BEGINS("\x89HDF\r\n\x1a\n"), {"an HDF5 file, maybe a Keras model", EXPORT_KERAS, false}},
    {BEGINS("\x1f\x8b"), {"compressed by gzip", UNPACK, false}},
    {BEGINS("\xfd"
            "7zXZ"),
     {"compressed by xz", UNPACK, false}},
    {BEGINS("\x28\xb5\x2f\xfd"), {"compressed by zstd", UNPACK, false}},
    {BEGINS("BZh"), {"compressed by bzip2", UNPACK, false}},
    {BEGINS("7z\xbc\xaf\x27\x1c"), {"a 7-Zip archive", UNPACK, false}},
    {BEGINS("Rar!"), {"a RAR archive", UNPACK, false}},
    {AT(257, "ustar"), {"a tar archive", UNPACK, false}},
    {BEGINS("\x93NUMPY"), {"a NumPy array", NO_MODEL, false}},
    {BEGINS("ftrt"), {"a TensorRT engine", "take the ONNX file that it was made from", false}},
    {BEGINS("ptrt"), {"a TensorRT engine", "take the ONNX file that it was made from", false}},
    {BEGINS("\x7f"
            "ELF"),
     {"a program or library (ELF)", NO_MODEL, false}},
    {BEGINS("%PDF"), {"a PDF document", NO_MODEL, false}},
    {BEGINS("\x89PNG"), {"a PNG picture", NO_MODEL, false}},
    {BEGINS("\xff\xd8\xff"), {"a JPEG picture", NO_MODEL, false}},
    {LINE("{"), {"a JSON text", NO_MODEL, false}},
    {LINE("["), {"a JSON text", NO_MODEL, false}},
};

static const lk_onnx_signature A_TEXT = {"a text", NO_MODEL, false};
static const lk_onnx_signature ZEROS = {
    "zeros only, as a download or a copy that was interrupted leaves them", "fetch it again",
    false};

static bool is_within(const uint8_t *bytes, size_t size, const char *text) {
  if (size > HEAD_BYTES) size = HEAD_BYTES;
  return memmem(bytes, size, text, strlen(text)) != NULL;
}

/* The bytes behind blanks and a byte order mark. */
static size_t count_blanks(const uint8_t *bytes, size_t size) {
  size_t at = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  while (at < size && at < HEAD_BYTES && isspace(bytes[at])) at++;
  return at;
}

static bool fits(const row *it, const uint8_t *bytes, size_t size) {
  const size_t at = it->how == AFTER_SPACE ? count_blanks(bytes, size) : it->offset;
  if (at > size || size - at < it->length) return false;
  const bool is_same = it->how == BYTES
                           ? memcmp(bytes + at, it->bytes, it->length) == 0
                           : strncasecmp((const char *)bytes + at, it->bytes, it->length) == 0;
  return is_same && (it->within == NULL || is_within(bytes, size, it->within));
}

/* ASCII, with some letters of others among it. */
static bool is_text(const uint8_t *bytes, size_t size) {
  enum { FEWEST = 4 };
  size_t count = size < HEAD_BYTES ? size : HEAD_BYTES, n_ascii = 0;
  for (size_t i = 0; i < count; i++) {
    const bool is_end = bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\t';
    if (bytes[i] < 128 && !is_end && !isprint(bytes[i])) return false;
    n_ascii += bytes[i] < 128;
  }
  return count >= FEWEST && n_ascii > count / 4 * 3;
}

static bool is_zero(const uint8_t *bytes, size_t size) {
  size_t count = size < HEAD_BYTES ? size : HEAD_BYTES;
  for (size_t i = 0; i < count; i++) {
    if (bytes[i] != 0) return false;
  }
  return count > 0;
}

const lk_onnx_signature *lk_onnx_signature_find(const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
    if (fits(&ROWS[i], bytes, size)) return &ROWS[i].found;
  }
  if (is_zero(bytes, size)) return &ZEROS;
  return is_text(bytes, size) ? &A_TEXT : NULL;
}
