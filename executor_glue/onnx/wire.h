/* Reads the protobuf wire format, field by field, within given bounds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LK_WIRE_VARINT = 0, LK_WIRE_FIXED64 = 1, LK_WIRE_LENGTH = 2, LK_WIRE_FIXED32 = 5 };

/* What is left to read. */
typedef struct lk_wire {
  const uint8_t *next, *end;
} lk_wire;

typedef struct lk_wire_field {
  uint32_t number, type;
  uint64_t varint;     /* of LK_WIRE_VARINT */
  const uint8_t *data; /* of the other types: the content, `length` bytes */
  size_t length;
  uint64_t missing; /* when its length leaves the message: by how many bytes; else 0 */
} lk_wire_field;

/* Reads one varint of at most 10 bytes; false when it is longer or cut off. */
bool lk_wire_varint(lk_wire *wire, uint64_t *out);
/* Reads the next field: 1; 0 at the end; -1 when the bytes are not a field: `wire` then stands
 * where the field began, `*out_problem` says what is wrong, and `out` has what was read. */
int lk_wire_next(lk_wire *wire, lk_wire_field *out, const char **out_problem);
