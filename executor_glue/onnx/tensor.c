/* A TensorProto's elements: found in the file where they lie, or decoded. */
#include "executor_glue/onnx/tensor.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "base/tensor.h"
#include "executor_glue/graph/advice.h"
#include "executor_glue/graph/step.h"
#include "executor_glue/onnx/scan.h"
#include "executor_glue/onnx/wire.h"

enum {
  SEGMENT = 3,
  FLOAT_DATA = 4,
  INT32_DATA = 5,
  STRING_DATA = 6,
  INT64_DATA = 7,
  RAW_DATA = 9,
  DOUBLE_DATA = 10,
  UINT64_DATA = 11
};

lk_status lk_onnx_source_forgive(const lk_onnx_source *source, lk_status status,
                                 const lk_error *error) {
  if (status != LK_UNSUPPORTED || source->lenience == NULL) return status;
  source->lenience->tell(source->lenience->arg, error->message);
  return LK_OK;
}

lk_status lk_onnx_source_charge(const lk_onnx_source *source, uint64_t bytes, const char *what,
                                lk_error *error) {
  if (source->copies_left == NULL) return LK_OK;
  if (bytes > *source->copies_left) {
    return lk_fail(error, LK_OUT_OF_RANGE,
                   "failed to read '%s': %" PRIu64 " bytes to copy, %" PRIu64
                   " are left of the %" PRIu64 " MB allowed for this file",
                   what, bytes, *source->copies_left, LK_ONNX_COPIES(source->size) >> 20);
  }
  *source->copies_left -= bytes;
  return LK_OK;
}

void lk_onnx_source_give_back(const lk_onnx_source *source, uint64_t bytes) {
  if (source->copies_left != NULL) *source->copies_left += bytes;
}

/* The field that holds elements of a type when raw_data does not. */
static uint32_t typed_field(uint32_t dtype) {
  switch (dtype) {
  case LK_F32:
    return FLOAT_DATA;
  case LK_F64:
    return DOUBLE_DATA;
  case LK_I64:
    return INT64_DATA;
  case LK_U32:
  case LK_U64:
    return UINT64_DATA;
  default:
    return INT32_DATA;
  }
}

static uint32_t element_wire_type(uint32_t field) {
  if (field == FLOAT_DATA) return LK_WIRE_FIXED32;
  return field == DOUBLE_DATA ? LK_WIRE_FIXED64 : LK_WIRE_VARINT;
}

/* Elements in one occurrence of a typed field; false when it is coded wrongly. */
static bool count_elements(const lk_wire_field *field, size_t *out) {
  uint32_t wire_type = element_wire_type(field->number);
  *out = 1;
  if (field->type == wire_type) return true;
  if (field->type != LK_WIRE_LENGTH) return false;
  if (wire_type != LK_WIRE_VARINT) {
    size_t size = wire_type == LK_WIRE_FIXED32 ? 4 : 8;
    *out = field->length / size;
    return field->length % size == 0;
  }
  lk_wire list = {field->data, field->data + field->length};
  uint64_t ignored = 0;
  for (*out = 0; list.next < list.end; ++*out) {
    if (!lk_wire_varint(&list, &ignored)) return false;
    if (lk_step(NULL) != LK_OK) return false;
  }
  return true;
}

static lk_status find_payload(lk_onnx_tensor *tensor, const char *name, lk_error *error) {
  lk_wire wire = {tensor->message, tensor->message + tensor->message_size};
  lk_wire_field field;
  const char *problem = "";
  size_t n_elements = 0, n_parts = 0;
  const uint8_t *data = NULL;
  int found;
  while ((found = lk_wire_next(&wire, &field, &problem)) > 0) {
    if (field.number == SEGMENT) {
      return lk_fail(
          error, LK_UNSUPPORTED,
          "failed to read tensor '%s': it is stored in segments, whole tensors are supported",
          name);
    }
    if (field.number < FLOAT_DATA || field.number > UINT64_DATA || field.number == 8) continue;
    if (field.type == LK_WIRE_LENGTH && field.length == 0) continue;
    size_t count = 0;
    if (field.number == RAW_DATA) {
      if (field.type != LK_WIRE_LENGTH || n_parts > 0) goto malformed;
      if (field.length != tensor->n_bytes) {
        return lk_fail(error, LK_MALFORMED,
                       "failed to read tensor '%s': raw_data has %zu bytes, the shape requires %zu",
                       name, field.length, tensor->n_bytes);
      }
      count = tensor->n_elements;
    } else if (field.number != typed_field(tensor->desc.dtype)) {
      return lk_fail(error, LK_MALFORMED,
                     "failed to read tensor '%s': its data is in field %" PRIu32
                     ", which does not hold %s",
                     name, field.number, lk_dtype_name(tensor->desc.dtype));
    } else if ((n_parts > 0 && tensor->field != field.number) || !count_elements(&field, &count)) {
      goto malformed;
    }
    tensor->field = field.number;
    n_elements += count;
    n_parts++;
    data = field.data;
  }
  if (found < 0) goto malformed;
  if (n_elements != tensor->n_elements) {
    return lk_fail(error, LK_MALFORMED,
                   "failed to read tensor '%s': it has %zu elements, the shape requires %zu", name,
                   n_elements, tensor->n_elements);
  }
  /* Packed floats are laid out as raw ones. An element alone has its bytes there too. */
  bool dense =
      tensor->field == RAW_DATA || tensor->field == FLOAT_DATA || tensor->field == DOUBLE_DATA;
  if (dense && n_parts == 1) tensor->direct = data;
  return LK_OK;

malformed:
  LK_RETURN_NOT_OK(lk_step_look(error));
  return lk_fail(error, LK_MALFORMED,
                 "failed to read tensor '%s': its data is not well-formed, or given in two fields; "
                 "one is allowed",
                 name);
}

lk_status lk_onnx_tensor_find(const lk_onnx_source *source, const Onnx__TensorProto *proto,
                              const char *what, lk_onnx_tensor *out, lk_error *error) {
  const char *name = proto->name != NULL && proto->name[0] != '\0' ? proto->name : what;
  int64_t n_elements = 0, n_bytes = 0;
  *out = (lk_onnx_tensor){0};

  uint32_t dtype = proto->data_type > 0 ? (uint32_t)proto->data_type : 0;
  if (!proto->has_data_type || dtype == 0) {
    return lk_fail(error, LK_MALFORMED,
                   "failed to read tensor '%s': it has no element type, it is required", name);
  }
  if (lk_dtype_size(dtype) == 0) {
    char type[LK_DTYPE_TEXT_CAPACITY];
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to read tensor '%s': it is of type %s, numbers and bool are supported%s",
                   name, lk_dtype_text(dtype, type), lk_advice_on_type(dtype));
  }
  if (proto->n_dims > LK_MAX_RANK) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "failed to read tensor '%s': it has rank %zu, at most %d is "
                   "supported; give it fewer dimensions in the model" LK_ADVICE_PROVIDER,
                   name, proto->n_dims, LK_MAX_RANK);
  }
  for (size_t i = 0; i < proto->n_dims; i++) {
    if (proto->dims[i] >= 0) continue;
    return lk_fail(error, LK_MALFORMED,
                   "failed to read tensor '%s': dimension %zu is %" PRId64
                   ", it must be at least 0",
                   name, i, proto->dims[i]);
  }
  out->desc = lk_tensor_desc_make(dtype, (uint32_t)proto->n_dims, proto->dims);
  LK_RETURN_NOT_OK(lk_tensor_size(&out->desc, name, &n_elements, &n_bytes, error));
  out->n_elements = (size_t)n_elements;
  out->n_bytes = (size_t)n_bytes;

  if (proto->has_data_location &&
      proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
    if (source->external == NULL) {
      return lk_fail(error, LK_UNSUPPORTED,
                     "failed to read tensor '%s': its data is in another file, and a model in "
                     "memory has no folder; open the model by its path",
                     name);
    }
    if (n_bytes == 0) return LK_OK;
    const lk_status status = lk_onnx_external_find(source->external, proto, (uint64_t)n_bytes,
                                                   &out->direct, &out->owner, error);
    return status == LK_OK ? LK_OK : lk_error_prefix(error, status, "tensor '%s'", name);
  }

  lk_onnx_place place = {0};
  if (proto->raw_data.len != sizeof place) {
    return lk_fail(error, LK_INTERNAL, "failed to read tensor '%s': it is not of a skeleton", name);
  }
  memcpy(&place, proto->raw_data.data, sizeof place);
  if (place.offset > source->size || place.length > source->size - place.offset) {
    return lk_fail(error, LK_INTERNAL, "failed to read tensor '%s': its place leaves the file",
                   name);
  }
  out->owner = source->owner;
  out->message = source->bytes + place.offset;
  out->message_size = (size_t)place.length;
  return find_payload(out, name, error);
}

/* Stores a varint as one element; false when its value does not fit. Numbers of int32_data and
 * int64_data are sign-extended to 64 bits on the wire. */
static bool store(uint32_t dtype, uint64_t varint, uint8_t *data) {
  const size_t size = lk_dtype_size(dtype);
  const int64_t value = (int64_t)varint;
  bool fits = true;
  switch (dtype) {
  case LK_I64:
  case LK_U64:
  case LK_I32: /* writers that take 5 bytes for a negative number are read as protobuf reads them */
    break;
  case LK_I16:
    fits = value == (int16_t)value;
    break;
  case LK_I8:
    fits = value == (int8_t)value;
    break;
  case LK_BOOL:
    fits = varint <= 1;
    break;
  default: /* u8, u16, u32, and the bits of f16 and bf16 */
    fits = size < sizeof varint && varint >> (8 * size) == 0;
  }
  if (fits) memcpy(data, &varint, size); /* x86-64 is little-endian */
  return fits;
}

lk_status lk_onnx_tensor_copy(const lk_onnx_tensor *tensor, void *data, lk_error *error) {
  if (tensor->n_bytes == 0) return LK_OK;
  if (tensor->direct != NULL) {
    memcpy(data, tensor->direct, tensor->n_bytes);
    return LK_OK;
  }
  const size_t size = lk_dtype_size(tensor->desc.dtype);
  lk_wire wire = {tensor->message, tensor->message + tensor->message_size};
  lk_wire_field field;
  const char *problem = "";
  uint8_t *next = data;
  size_t left = tensor->n_elements;
  while (left > 0 && lk_wire_next(&wire, &field, &problem) > 0) {
    LK_RETURN_NOT_OK(lk_step(error));
    if (field.number != tensor->field) continue;
    if (field.type != LK_WIRE_VARINT && element_wire_type(field.number) != LK_WIRE_VARINT) {
      size_t count = field.length / size < left ? field.length / size : left;
      memcpy(next, field.data, count * size);
      next += count * size;
      left -= count;
      continue;
    }
    lk_wire list = {field.data, field.data == NULL ? NULL : field.data + field.length};
    bool more = field.type == LK_WIRE_VARINT || list.next < list.end;
    while (more && left > 0) {
      uint64_t value = field.varint;
      if (field.type != LK_WIRE_VARINT && !lk_wire_varint(&list, &value)) break;
      if (!store(tensor->desc.dtype, value, next)) {
        return lk_fail(
            error, LK_MALFORMED,
            "failed to read a tensor: element %zu is %" PRId64 ", which %s does not hold",
            tensor->n_elements - left, (int64_t)value, lk_dtype_name(tensor->desc.dtype));
      }
      next += size;
      left--;
      LK_RETURN_NOT_OK(lk_step(error));
      more = list.next < list.end;
    }
  }
  if (left > 0) {
    /* The elements were counted before: the file has changed under the mapping. */
    return lk_fail(error, LK_IO, "failed to read a tensor: the file changed while it was read");
  }
  return LK_OK;
}
