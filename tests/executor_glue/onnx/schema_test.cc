// The loader's table of ONNX's messages against what protobuf-c made of ONNX's own definitions.
#include <iterator>

#include "tests/harness/lk_test.h"

extern "C" {
#include "executor_glue/onnx/schema.h"
#include "onnx.pb-c.h"
}

namespace {

// By lk_onnx_message.
const ProtobufCMessageDescriptor *const kMessages[] = {
    &onnx__model_proto__descriptor,
    &onnx__operator_set_id_proto__descriptor,
    &onnx__string_string_entry_proto__descriptor,
    &onnx__function_proto__descriptor,
    &onnx__graph_proto__descriptor,
    &onnx__node_proto__descriptor,
    &onnx__attribute_proto__descriptor,
    &onnx__tensor_proto__descriptor,
    &onnx__sparse_tensor_proto__descriptor,
    &onnx__value_info_proto__descriptor,
    &onnx__type_proto__descriptor,
    &onnx__type_proto__tensor__descriptor,
    &onnx__type_proto__sequence__descriptor,
    &onnx__type_proto__map__descriptor,
    &onnx__tensor_shape_proto__descriptor,
    &onnx__tensor_shape_proto__dimension__descriptor,
};
static_assert(std::size(kMessages) == LK_ONNX_MESSAGE_COUNT, "a message is missing");

// What the scan does with a field must be what protobuf-c would do.
bool fits(const lk_onnx_field &field, const ProtobufCFieldDescriptor &theirs) {
  const bool repeated = theirs.label == PROTOBUF_C_LABEL_REPEATED;
  switch (field.kind) {
  case LK_ONNX_INT:
    return !repeated &&
           (theirs.type == PROTOBUF_C_TYPE_INT64 || theirs.type == PROTOBUF_C_TYPE_INT32 ||
            theirs.type == PROTOBUF_C_TYPE_ENUM);
  case LK_ONNX_FLOAT:
    return !repeated && theirs.type == PROTOBUF_C_TYPE_FLOAT;
  case LK_ONNX_TEXT:
    return theirs.type == PROTOBUF_C_TYPE_STRING;
  case LK_ONNX_BYTES:
    return theirs.type == PROTOBUF_C_TYPE_BYTES;
  case LK_ONNX_INTS:
    return repeated && theirs.type == PROTOBUF_C_TYPE_INT64;
  case LK_ONNX_FLOATS:
    return repeated && theirs.type == PROTOBUF_C_TYPE_FLOAT;
  case LK_ONNX_PAYLOAD:
    return repeated || theirs.type == PROTOBUF_C_TYPE_BYTES;
  case LK_ONNX_NESTED:
  case LK_ONNX_CHECKED:
    // of Optional there is as much as of Sequence
    return theirs.type == PROTOBUF_C_TYPE_MESSAGE &&
           (theirs.descriptor == kMessages[field.message] ||
            (theirs.descriptor == &onnx__type_proto__optional__descriptor &&
             field.message == LK_ONNX_SEQUENCE_TYPE));
  }
  return false;
}

TEST(OnnxSchema, IsThatOfOnnx) {
  for (size_t m = 0; m < LK_ONNX_MESSAGE_COUNT; m++) {
    const lk_onnx_schema &schema = lk_onnx_schemas[m];
    SCOPED_TRACE(schema.name);
    EXPECT_EQ(schema.struct_bytes, kMessages[m]->sizeof_message);
    ASSERT_GT(schema.fields[0].number, 0u);
    for (size_t f = 0; schema.fields[f].number != 0; f++) {
      const lk_onnx_field &field = schema.fields[f];
      SCOPED_TRACE(field.name);
      const ProtobufCFieldDescriptor *theirs =
          protobuf_c_message_descriptor_get_field(kMessages[m], field.number);
      ASSERT_NE(theirs, nullptr) << field.number;
      EXPECT_STREQ(field.name, theirs->name);
      EXPECT_TRUE(fits(field, *theirs)) << theirs->type;
      const bool repeated = theirs->label == PROTOBUF_C_LABEL_REPEATED;
      // Of a number or a text that comes again the last one counts, as protobuf has it. protobuf-c
      // would merge messages; such a file is refused.
      EXPECT_EQ(field.limit == 1, !repeated && field.kind == LK_ONNX_NESTED);
      // The length of a text is charged by itself.
      if (!repeated && field.kind == LK_ONNX_TEXT) {
        EXPECT_EQ(field.graph_bytes, 0u);
      }
    }
  }
}

} // namespace
