/* Reads the protobuf wire format, field by field, within given bounds. */
#include "executor_glue/onnx/wire.h"

bool lk_wire_varint(lk_wire *wire, uint64_t *out) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70 && wire->next < wire->end; shift += 7) {
    uint8_t byte = *wire->next++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      *out = value;
      return true;
    }
  }
  return false;
}

static const char *read_field(lk_wire *wire, lk_wire_field *out) {
  uint64_t tag = 0;
  *out = (lk_wire_field){0};
  if (!lk_wire_varint(wire, &tag)) return "a field number that is cut off or longer than 10 bytes";
  /* Field numbers have 29 bits; 0 is not one. */
  if (tag >> 32 != 0 || tag >> 3 == 0) return "a field number out of range";
  *out = (lk_wire_field){.number = (uint32_t)(tag >> 3), .type = (uint32_t)(tag & 7)};

  uint64_t length = 0;
  switch (out->type) {
  case LK_WIRE_VARINT:
    return lk_wire_varint(wire, &out->varint) ? NULL : "a number that is cut off or too long";
  case LK_WIRE_FIXED64:
    length = 8;
    break;
  case LK_WIRE_FIXED32:
    length = 4;
    break;
  case LK_WIRE_LENGTH:
    if (!lk_wire_varint(wire, &length)) return "a length that is cut off or too long";
    break;
  default:
    return "a wire type that does not exist";
  }
  if (length > (uint64_t)(wire->end - wire->next)) {
    out->missing = length - (uint64_t)(wire->end - wire->next);
    return "a length that leaves the message";
  }
  out->data = wire->next;
  out->length = (size_t)length;
  wire->next += length;
  return NULL;
}

int lk_wire_next(lk_wire *wire, lk_wire_field *out, const char **out_problem) {
  if (wire->next == wire->end) return 0;
  const uint8_t *begin = wire->next;
  const char *problem = read_field(wire, out);
  if (problem == NULL) return 1;
  wire->next = begin;
  *out_problem = problem;
  return -1;
}
