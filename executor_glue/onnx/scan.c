/* Checks a file's wire format before anything is unpacked, and cuts a skeleton out of it. */
#include "executor_glue/onnx/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/onnx/wire.h"

/* Each allocation of the C library takes a header and is rounded up. */
#define ALLOC_BYTES(size) (((uint64_t)(size) + 8 + 15) / 16 * 16 + 16)
/* protobuf-c notes each field of a message that it unpacks (40 bytes) in slabs that double, until
 * the message is done. So the notes that exist at one time are at most the largest of each
 * depth. */
#define NOTE_BYTES 80
/* Field number and length of a message, whose length is only known once it is written. */
#define LENGTH_BYTES 5
#define PLACE_FIELD 9

/* One walk over the message. The first only measures; the second, with `out` set, writes. */
typedef struct scan {
  const uint8_t *bytes;
  uint64_t budget;
  uint64_t cost;  /* estimate of what unpacking and building take, without the notes */
  uint64_t graph; /* the part of it that is of the graph */
  uint64_t notes[LK_ONNX_MAX_DEPTH + 1]; /* by depth */
  uint8_t *out;
  size_t capacity, written; /* bytes that `out` has; bytes that the walk gives */
  lk_error *error;
} scan;

static lk_status fail_at(const scan *s, lk_status status, const uint8_t *at,
                         const lk_onnx_schema *schema, const char *problem) {
  return lk_fail(s->error, status, "failed to scan the %s at byte %zu: %s", schema->name,
                 (size_t)(at - s->bytes), problem);
}

/* Bytes that are no fields. */
static lk_status fail_damaged(const scan *s, const uint8_t *at, const lk_onnx_schema *schema,
                              const char *problem) {
  char text[128];
  (void)snprintf(text, sizeof text, "%s: the file is damaged, or it is not an ONNX file", problem);
  return fail_at(s, LK_MALFORMED, at, schema, text);
}

/* The outermost message ends where the file does: what is missing of it is missing of the file. */
static lk_status fail_cut(const scan *s, const uint8_t *at, const lk_onnx_schema *schema,
                          const lk_wire_field *field) {
  const lk_onnx_field *rule = schema->fields;
  char problem[192];
  while (rule->number != 0 && rule->number != field->number) rule++;
  (void)snprintf(problem, sizeof problem,
                 "the file ends within field %" PRIu32 " (%s), at least %" PRIu64
                 " bytes are missing: a download or a copy was cut off, or it is not an ONNX file",
                 field->number, rule->number != 0 ? rule->name : "unknown", field->missing);
  return fail_at(s, LK_MALFORMED, at, schema, problem);
}

static void emit(scan *s, const void *bytes, size_t size) {
  /* A file that changes under the mapping may give more in the second walk than in the first. */
  bool fits = s->written <= s->capacity && size <= s->capacity - s->written;
  if (fits && size > 0) memcpy(s->out + s->written, bytes, size);
  s->written += size;
}

static void emit_varint(scan *s, uint64_t value) {
  uint8_t bytes[10];
  size_t size = 0;
  do {
    bytes[size++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>= 7;
  } while (value != 0);
  emit(s, bytes, size);
}

static void emit_tag(scan *s, uint32_t number, uint32_t type) {
  emit_varint(s, (uint64_t)number << 3 | type);
}

/* Fields are written anew rather than copied, so that no odd encoding reaches protobuf-c. */
static void emit_field(scan *s, const lk_wire_field *field) {
  emit_tag(s, field->number, field->type);
  if (field->type == LK_WIRE_VARINT) {
    emit_varint(s, field->varint);
    return;
  }
  if (field->type == LK_WIRE_LENGTH) emit_varint(s, field->length);
  emit(s, field->data, field->length);
}

/* Fills in the length of a message whose content began at `begin`, as a varint padded to five
 * bytes. The budget keeps it far under 2^35. */
static void patch_length(scan *s, size_t begin) {
  if (begin > s->capacity) return;
  uint64_t length = s->written - begin;
  for (size_t i = 0; i < LENGTH_BYTES; i++) {
    s->out[begin - LENGTH_BYTES + i] =
        (uint8_t)((length >> (7 * i) & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
  }
}

static uint64_t total_cost(const scan *s) {
  uint64_t total = s->cost + s->written;
  for (size_t i = 0; i <= LK_ONNX_MAX_DEPTH; i++) total += s->notes[i];
  return total;
}

static lk_status charge(scan *s, uint64_t bytes, const uint8_t *at, const lk_onnx_schema *schema) {
  /* No overflow: every charge is at most a small multiple of bytes that are in memory. */
  s->cost += bytes;
  if (total_cost(s) <= s->budget) return LK_OK;
  char problem[96];
  (void)snprintf(problem, sizeof problem,
                 "what is read up to here takes more than the %" PRIu64 " MB allowed for this file",
                 s->budget >> 20);
  return fail_at(s, LK_OUT_OF_RANGE, at, schema, problem);
}

/* The wire type that a field of this kind must have; packed ones may also be alone. */
static bool type_fits(lk_onnx_field_kind kind, uint32_t type) {
  switch (kind) {
  case LK_ONNX_INT:
    return type == LK_WIRE_VARINT;
  case LK_ONNX_FLOAT:
    return type == LK_WIRE_FIXED32;
  case LK_ONNX_INTS:
    return type == LK_WIRE_VARINT || type == LK_WIRE_LENGTH;
  case LK_ONNX_FLOATS:
    return type == LK_WIRE_FIXED32 || type == LK_WIRE_LENGTH;
  case LK_ONNX_TEXT:
  case LK_ONNX_BYTES:
  case LK_ONNX_NESTED:
  case LK_ONNX_CHECKED:
    return type == LK_WIRE_LENGTH;
  case LK_ONNX_PAYLOAD: /* checked when the tensor is read, against its element type */
    return true;
  }
  return false;
}

/* Checks the content of a field that is not a message. `*out_bytes`: what it takes unpacked. */
static const char *check_content(lk_onnx_field_kind kind, const lk_wire_field *field,
                                 uint64_t *out_bytes) {
  *out_bytes = 0;
  switch (kind) {
  case LK_ONNX_TEXT:
    if (memchr(field->data, 0, field->length) != NULL) return "a text with a NUL byte in it";
    *out_bytes = ALLOC_BYTES(field->length + 1) + sizeof(char *) + field->length + 17;
    return NULL;
  case LK_ONNX_BYTES:
    *out_bytes = ALLOC_BYTES(field->length) + field->length;
    return NULL;
  case LK_ONNX_FLOATS:
    if (field->length % 4 != 0) return "a list of floats whose length is not a multiple of 4";
    *out_bytes = 2 * (uint64_t)field->length;
    return NULL;
  case LK_ONNX_INTS: {
    uint64_t count = 1;
    if (field->type == LK_WIRE_LENGTH) {
      lk_wire list = {field->data, field->data + field->length};
      uint64_t ignored = 0;
      for (count = 0; list.next < list.end; count++) {
        if (!lk_wire_varint(&list, &ignored)) return "a list of numbers that is cut off";
        if (lk_step(NULL) != LK_OK) break; /* the next one says so */
      }
    }
    *out_bytes = count * 2 * sizeof(int64_t);
    return NULL;
  }
  default:
    return NULL;
  }
}

static lk_status walk(scan *s, lk_onnx_message message, lk_wire wire, unsigned depth, bool keep);

static lk_status take_field(scan *s, const lk_onnx_schema *schema, const lk_onnx_field *rule,
                            const lk_wire_field *field, const uint8_t *at, unsigned depth,
                            bool keep) {
  char problem[96];
  if (!type_fits(rule->kind, field->type)) {
    (void)snprintf(problem, sizeof problem, "%s has wire type %" PRIu32, rule->name, field->type);
    return fail_at(s, LK_MALFORMED, at, schema, problem);
  }
  if (rule->kind == LK_ONNX_NESTED || rule->kind == LK_ONNX_CHECKED) {
    lk_wire content = {field->data, field->data + field->length};
    keep = keep && rule->kind == LK_ONNX_NESTED;
    if (keep) {
      s->graph += rule->graph_bytes;
      LK_RETURN_NOT_OK(charge(s, rule->graph_bytes, at, schema));
      emit_tag(s, rule->number, LK_WIRE_LENGTH);
      s->written += LENGTH_BYTES;
    }
    size_t begin = s->written;
    LK_RETURN_NOT_OK(walk(s, rule->message, content, depth + 1, keep));
    if (keep) patch_length(s, begin);
    return LK_OK;
  }
  uint64_t bytes = 0;
  const char *wrong = check_content(rule->kind, field, &bytes);
  if (wrong != NULL) return fail_at(s, LK_MALFORMED, at, schema, wrong);
  if (keep && rule->kind != LK_ONNX_PAYLOAD) {
    s->graph += rule->graph_bytes + bytes / 2; /* unpacked, and again in the graph */
    LK_RETURN_NOT_OK(charge(s, bytes + rule->graph_bytes, at, schema));
    emit_field(s, field);
  }
  return LK_OK;
}

/* A tensor's place stands for its elements. */
static void emit_place(scan *s, const lk_wire *tensor) {
  lk_onnx_place place = {(uint64_t)(tensor->next - s->bytes),
                         (uint64_t)(tensor->end - tensor->next)};
  emit_tag(s, PLACE_FIELD, LK_WIRE_LENGTH);
  emit_varint(s, sizeof place);
  emit(s, &place, sizeof place);
}

static lk_status walk(scan *s, lk_onnx_message message, lk_wire wire, unsigned depth, bool keep) {
  const lk_onnx_schema *schema = &lk_onnx_schemas[message];
  const lk_wire whole = wire;
  uint32_t seen[LK_ONNX_MAX_FIELDS] = {0};
  uint64_t n_notes = 1;

  if (depth > LK_ONNX_MAX_DEPTH) {
    char problem[64];
    (void)snprintf(problem, sizeof problem, "nested deeper than %d messages", LK_ONNX_MAX_DEPTH);
    return fail_at(s, LK_OUT_OF_RANGE, wire.next, schema, problem);
  }
  if (keep) {
    uint64_t place_bytes = message == LK_ONNX_TENSOR ? ALLOC_BYTES(sizeof(lk_onnx_place)) : 0;
    uint64_t bytes = ALLOC_BYTES(schema->struct_bytes) + sizeof(void *) + place_bytes;
    LK_RETURN_NOT_OK(charge(s, bytes, wire.next, schema));
  }
  for (;;) {
    const uint8_t *at = wire.next;
    lk_wire_field field;
    const char *problem = NULL;
    int found = lk_wire_next(&wire, &field, &problem);
    if (found == 0) break;
    if (found < 0 && depth == 1 && field.missing > 0) return fail_cut(s, at, schema, &field);
    if (found < 0) return fail_damaged(s, at, schema, problem);
    LK_RETURN_NOT_OK(lk_step(s->error));

    const lk_onnx_field *rule = schema->fields;
    while (rule->number != 0 && rule->number != field.number) rule++;
    if (rule->number == 0) continue;
    if (rule->limit > 0 && ++seen[rule - schema->fields] > rule->limit) {
      char text[96];
      (void)snprintf(text, sizeof text, "more than %" PRIu32 " of '%s'", rule->limit, rule->name);
      return fail_at(s, rule->limit == 1 ? LK_MALFORMED : LK_OUT_OF_RANGE, at, schema, text);
    }
    if (keep && rule->kind != LK_ONNX_PAYLOAD && rule->kind != LK_ONNX_CHECKED) {
      n_notes++;
      if (n_notes * NOTE_BYTES > s->notes[depth]) s->notes[depth] = n_notes * NOTE_BYTES;
    }
    LK_RETURN_NOT_OK(take_field(s, schema, rule, &field, at, depth, keep));
  }
  if (keep && message == LK_ONNX_TENSOR) emit_place(s, &whole);
  return LK_OK;
}

lk_status lk_onnx_scan(const lk_allocator *allocator, lk_onnx_message root, const uint8_t *bytes,
                       size_t size, uint64_t budget, lk_onnx_skeleton *out, lk_error *error) {
  lk_status status = LK_OK;
  *out = (lk_onnx_skeleton){0};
  const lk_wire wire = {bytes, bytes + size};
  scan measure = {.bytes = bytes, .budget = budget, .error = error};
  LK_RETURN_NOT_OK(walk(&measure, root, wire, 1, true));

  scan write = {.bytes = bytes, .budget = UINT64_MAX, .capacity = measure.written, .error = error};
  write.out = lk_alloc(allocator, measure.written);
  if (write.out == NULL) return lk_fail_memory(error, "the skeleton of a model", measure.written);
  LK_TRY(walk(&write, root, wire, 1, true));
  if (write.written != measure.written) {
    LK_TRY(lk_fail(error, LK_IO, "failed to scan the %s: it changed while it was read",
                   lk_onnx_schemas[root].name));
  }
  *out =
      (lk_onnx_skeleton){write.out, write.written, budget - (total_cost(&measure) - measure.graph)};
  write.out = NULL;

cleanup:
  lk_free(allocator, write.out);
  return status;
}
