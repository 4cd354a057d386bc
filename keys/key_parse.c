/* Keys as text: parsing what key_text.c prints. It is strict, so that what is parsed is what was
 * meant: names come in the order of the lists, each at most once, and nothing unknown is
 * skipped. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/names.h"
#include "base/status.h"
#include "base/tensor.h"
#include "keys/key_build.h"
#include "keys/key_fields.h"
#include "keys/key_scan.h"

typedef union lk_any_record {
#define LK_RECORD_MEMBER(symbol, value, name, record) record name;
  LK_RECORD_LIST(LK_RECORD_MEMBER)
#undef LK_RECORD_MEMBER
} lk_any_record;

/* The field, of those from `*from` on, whose name stands here; NULL: none. */
static const lk_field *accept_field(lk_parser *parser, const lk_record_fields *record,
                                    uint32_t *from) {
  for (uint32_t i = *from; i < record->count; i++) {
    const lk_field *field = &record->fields[i];
    if (!lk_form_is_named(field->form) || !lk_scan_accept_name(parser, field->name)) continue;
    *from = i + 1;
    return field;
  }
  return NULL;
}

/* The rest of a value record, and the record: "data:[1,2]" when it has elements. */
static lk_status add_value(lk_parser *parser, lk_key_builder *builder, const lk_key_value *value,
                           const lk_tensor_desc *desc, bool has_data) {
  lk_status status = LK_OK;
  lk_tensor tensor = {.desc = *desc};
  int64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_tensor_size(desc, "a value in a key", NULL, &bytes, parser->error));
  if (has_data != (bytes > 0)) {
    return lk_scan_expected(parser, bytes > 0 ? "',data:'" : "no data, the shape has no elements,");
  }
  if (bytes > LK_KEY_MAX_BYTES) {
    return lk_fail(parser->error, LK_OUT_OF_RANGE,
                   "failed to parse a key: a value has %" PRId64 " bytes, at most %u are allowed",
                   bytes, LK_KEY_MAX_BYTES);
  }
  if (bytes > 0) {
    tensor.data = lk_alloc(parser->allocator, (size_t)bytes);
    if (tensor.data == NULL) LK_TRY(lk_fail_memory(parser->error, "a value", (size_t)bytes));
    LK_TRY(lk_scan_data(parser, desc->dtype, tensor.data, (size_t)bytes));
  }
  lk_key_add_value(builder, value->role, value->index, &tensor);

cleanup:
  lk_free(parser->allocator, tensor.data);
  return status;
}

/* ---- attributes that are no integers ---- */

static lk_status add_floats(lk_parser *parser, lk_key_builder *builder, uint32_t name) {
  LK_RETURN_NOT_OK(lk_scan_values(parser, LK_SCAN_FLOATS));
  /* in place: each is half as long as what it is read from */
  for (size_t i = 0; i < parser->n_values; i++) {
    const uint32_t bits = (uint32_t)parser->values[i];
    memcpy((uint8_t *)parser->values + i * sizeof bits, &bits, sizeof bits);
  }
  lk_key_add_floats(builder, name, (const float *)(const void *)parser->values,
                    (uint32_t)parser->n_values);
  return LK_OK;
}

static lk_status add_bytes(lk_parser *parser, lk_key_builder *builder, uint32_t name) {
  const size_t count = (strspn(parser->at, "0123456789abcdef") + 1) / 2;
  uint8_t *data = lk_alloc(parser->allocator, count + 1);
  if (data == NULL) return lk_fail_memory(parser->error, "bytes in a key", count + 1);
  const lk_status status =
      lk_scan_bytes(parser, "two digits (0-9, a-f) for each byte", data, count);
  if (status == LK_OK) lk_key_add_bytes(builder, name, data, (uint32_t)count);
  lk_free(parser->allocator, data);
  return status;
}

static lk_status add_text(lk_parser *parser, lk_key_builder *builder, uint32_t name) {
  const char *begin = parser->at;
  size_t escapes = 0;
  LK_RETURN_NOT_OK(lk_scan_skip_escaped(parser, true, &escapes));
  const size_t size = (size_t)(parser->at - begin) + 1;
  char *decoded = lk_alloc(parser->allocator, size);
  if (decoded == NULL) return lk_fail_memory(parser->error, "a text in a key", size);
  const size_t length = lk_scan_decode_escaped(begin, parser->at, decoded);
  lk_key_add_text(builder, name, decoded, (uint32_t)length);
  lk_free(parser->allocator, decoded);
  return LK_OK;
}

typedef lk_status add_fn(lk_parser *parser, lk_key_builder *builder, uint32_t name);

/* NULL: it is a record of another kind. */
static add_fn *attribute_of(const lk_record_fields *record) {
  switch (record->type) {
  case LK_RECORD_FLOATS:
    return add_floats;
  case LK_RECORD_BYTES:
    return add_bytes;
  case LK_RECORD_TEXT:
    return add_text;
  default:
    return NULL;
  }
}

/* Behind "<type>" of "<type>.<label>=<payload>,<field>:<value>,..." */
static lk_status read_record(lk_parser *parser, const lk_record_fields *record,
                             lk_key_builder *builder) {
  lk_any_record any;
  memset(&any, 0, sizeof any);
  lk_tensor_desc desc = {0};
  bool has_data = false, first = true;
  uint32_t word = LK_WORD_NONE;
  if (*parser->at == '.') {
    if (record->fields[0].form != LK_FORM_label) return lk_scan_expected(parser, "'='");
    parser->at++;
    LK_RETURN_NOT_OK(lk_scan_word(parser, &word));
    lk_field_write(&record->fields[0], &any, word);
  }
  if (!lk_scan_accept(parser, '=')) return lk_scan_expected(parser, "'='");
  add_fn *const add_attribute = attribute_of(record);
  if (add_attribute != NULL) return add_attribute(parser, builder, word);
  parser->n_values = 0;
  if (record->type == LK_RECORD_TENSOR || record->type == LK_RECORD_VALUE) {
    LK_RETURN_NOT_OK(lk_scan_shape(parser, &desc));
    first = false;
  } else if (record->type == LK_RECORD_ATTR) {
    LK_RETURN_NOT_OK(lk_scan_values(parser, LK_SCAN_I64));
    first = false;
  }
  for (uint32_t from = 0; *parser->at != ';' && *parser->at != '\0'; first = false) {
    if (!first && !lk_scan_accept(parser, ',')) {
      return lk_scan_expected(parser, "',', ';' or the end");
    }
    has_data = record->type == LK_RECORD_VALUE && strncmp(parser->at, "data:", 5) == 0;
    if (has_data) {
      parser->at += 5;
      break;
    }
    const lk_field *field = accept_field(parser, record, &from);
    if (field == NULL) {
      return lk_scan_expected(parser, "a field of the record, each once and in order,");
    }
    if (!lk_scan_accept(parser, ':')) return lk_scan_expected(parser, "':'");
    LK_RETURN_NOT_OK(lk_scan_field(parser, field, &any));
  }
  switch (record->type) {
  case LK_RECORD_CALL:
    lk_key_add_call(builder, &any.call);
    break;
  case LK_RECORD_TENSOR:
    desc.layout = any.tensor.layout;
    lk_key_add_tensor(builder, any.tensor.role, any.tensor.index, &desc);
    break;
  case LK_RECORD_ATTR:
    lk_key_add_attr(builder, any.attr.name, parser->values, (uint32_t)parser->n_values);
    break;
  case LK_RECORD_POST_OP:
    lk_key_add_post_op(builder, &any.post_op);
    break;
  case LK_RECORD_CONTENT:
    lk_key_add_content(builder, any.content.role, any.content.index, any.content.id);
    break;
  case LK_RECORD_ENGINE:
    lk_key_add_engine(builder, &any.engine);
    break;
  case LK_RECORD_FLOAT:
    lk_key_add_float(builder, any.number.name, any.number.value);
    break;
  default:
    LK_RETURN_NOT_OK(add_value(parser, builder, &any.value, &desc, has_data));
  }
  return LK_OK;
}

/* "out=conv1" and the like, up to the first record or the end. */
static lk_status read_head(lk_parser *parser, lk_key_head *head, const char **out_fixed_at) {
  const lk_record_fields *record = lk_record_fields_get(LK_RECORD_HEAD);
  uint64_t kind = 0;
  LK_RETURN_NOT_OK(lk_scan_enum(parser, lk_kind_name, &kind, "name, run, user or value"));
  head->kind = (uint32_t)kind;
  if (!lk_scan_accept(parser, ':')) return lk_scan_expected(parser, "':'");
  for (uint32_t from = 0; *parser->at != '\0';) {
    const lk_field *field = accept_field(parser, record, &from);
    if (field == NULL) return LK_OK;
    if (!lk_scan_accept(parser, '=')) return lk_scan_expected(parser, "'='");
    if (field->form == LK_FORM_fixed) *out_fixed_at = parser->at;
    LK_RETURN_NOT_OK(lk_scan_field(parser, field, head));
    if (*parser->at == '\0') return LK_OK;
    if (!lk_scan_accept(parser, ';')) return lk_scan_expected(parser, "';' or the end");
    if (*parser->at == '\0') return lk_scan_expected(parser, "a field or a record");
  }
  return LK_OK;
}

static lk_status read_records(lk_parser *parser, lk_key_builder *builder, uint32_t fixed) {
  while (*parser->at != '\0') {
    if (builder->size == fixed) lk_key_seal(builder);
    const lk_record_fields *record = NULL;
    uint32_t type = LK_RECORD_HEAD;
    do {
      record = lk_record_fields_get(++type);
    } while (record != NULL && !lk_scan_accept_name(parser, record->name));
    if (record == NULL) {
      return lk_scan_expected(parser, "a field of the head, each once and in order, or a record");
    }
    LK_RETURN_NOT_OK(read_record(parser, record, builder));
    if (builder->status != LK_OK) return LK_OK; /* finish tells */
    if (*parser->at == '\0') return LK_OK;
    if (!lk_scan_accept(parser, ';')) return lk_scan_expected(parser, "';' or the end");
    if (*parser->at == '\0') return lk_scan_expected(parser, "a record");
  }
  return LK_OK;
}

static lk_status read_key(lk_parser *parser, lk_key **out_key) {
  lk_status status = LK_OK;
  lk_key_builder builder;
  lk_key key;
  lk_key_head head = {0};
  const char *fixed_at = NULL;
  LK_RETURN_NOT_OK(read_head(parser, &head, &fixed_at));
  const uint32_t fixed = head.fixed;
  head.fixed = 0;
  lk_key_begin(&builder, parser->allocator, &head);
  LK_TRY(read_records(parser, &builder, fixed));
  if (builder.status == LK_OK && builder.size == fixed) lk_key_seal(&builder);
  if (builder.status == LK_OK && fixed_at != NULL && (fixed == 0 || builder.fixed != fixed)) {
    LK_TRY(lk_scan_expected_at(parser, fixed_at, "a number of bytes at which a record ends"));
  }
  LK_TRY(lk_key_finish(&builder, &key, parser->error));
  LK_TRY(lk_key_keep(parser->allocator, parser->words.intern, &key, out_key, parser->error));
  if (head.kind == LK_KIND_USER) (*out_key)->names = lk_intern_serial(parser->words.intern);

cleanup:
  lk_key_builder_destroy(&builder);
  return status;
}

lk_status lk_key_parse(lk_intern *intern, const lk_allocator *allocator, const char *text,
                       lk_key **out_key, lk_error *error) {
  lk_parser parser = {.allocator = allocator, .text = text, .at = text, .error = error};
  *out_key = NULL;
  if (strnlen(text, LK_KEY_MAX_TEXT + 1) > LK_KEY_MAX_TEXT) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to parse a key: its text is longer than the %zu bytes that are allowed",
                   LK_KEY_MAX_TEXT);
  }
  lk_words_begin(&parser.words, intern);
  const lk_status status = read_key(&parser, out_key);
  lk_words_end(&parser.words);
  lk_free(allocator, parser.values);
  return status;
}
