/* Keys that a host builds for values of its own; the library builds name and value keys itself.
 *
 * A key is a sequence of bytes: a fixed header and counted, typed records. Two keys are equal when
 * all their bytes are; equal hashes mean nothing. The string form names every field, and printing
 * and parsing round-trip: `user:out=...;tensor=...`. Bytes hold numbers of names interned in one
 * context, so a key must not be used in another context; its string may be.
 */
#ifndef LATCHKEY_KEY_H
#define LATCHKEY_KEY_H

#include <latchkey/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_key lk_key; /* immutable; made by key_create or key_parse; any thread */

/* Two attributes are equal when their names, types and counts are, and all their values: integers
 * and bytes by their bits, floats too, but that all NaNs are one (0.0 and -0.0 are two). */
typedef enum lk_key_attr_type {
  LK_KEY_ATTR_INTS = 0,   /* values: const int64_t[count] */
  LK_KEY_ATTR_FLOATS = 1, /* const float[count] */
  LK_KEY_ATTR_BYTES = 2,  /* const uint8_t[count], such as a struct without padding */
  LK_KEY_ATTR_STRING = 3  /* const char[count], not necessarily NUL-terminated; any bytes */
} lk_key_attr_type;

typedef struct lk_key_attr {
  const char *name;   /* NULL = "" */
  const void *values; /* NULL only with a count of 0 */
  uint32_t count;
  uint32_t type; /* lk_key_attr_type */
} lk_key_attr;

typedef enum lk_key_kind {
  LK_KEY_USER = 0, /* a value of the host's own: charged as LK_KIND_USER */
  LK_KEY_RUN = 1   /* a run plan, charged as LK_KIND_RUN */
} lk_key_kind;

typedef enum lk_key_flags {
  /* The value is the calling thread's in a shared context, too: the thread's identity is in the
   * key, so other threads' keys differ. Its entry is kept as in per-thread mode: only the thread
   * that has built it finds it, and it goes when that thread ends, if it was not evicted or dropped
   * before. In a per-thread context all keys are so. */
  LK_KEY_OF_THREAD = 1
} lk_key_flags;

/* What a key is made of. The executor's identity is added when one is given, and the thread's in
 * per-thread mode or by LK_KEY_OF_THREAD. Everything is copied. */
typedef struct lk_key_desc {
  size_t struct_size;
  uint32_t kind;     /* lk_key_kind */
  uint32_t flags;    /* lk_key_flags */
  const char *scope; /* NULL = "" */
  const char *name;  /* required: what it is, e.g. the output tensor's name */
  const char *tag;   /* in-place attribute or what else tells equal names apart; NULL = "" */
  uint64_t generation;
  uint32_t n_tensors; /* shapes, types and layouts that it depends on */
  uint32_t n_attrs;
  uint32_t n_values; /* tensors that it depends on by value: desc and data are in the key */
  uint32_t reserved2;
  const lk_tensor_desc *tensors;
  const lk_key_attr *attrs;
  const lk_tensor *values; /* plain layout */
} lk_key_desc;

#ifdef __cplusplus
}
#endif

#endif
