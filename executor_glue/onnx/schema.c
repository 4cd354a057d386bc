/* The part of ONNX's message definitions that the loader keeps, with what each field costs. */
#include "executor_glue/onnx/schema.h"

#include "executor_glue/graph/graph.h"
#include "onnx.pb-c.h"

/* Arrays grow by doubling, old and new at once: three times the elements at the worst. */
#define GROWN(type) (3 * (uint32_t)sizeof(type))
/* A named value, and its place in the index of names, which is at most a quarter full. */
#define VALUE_BYTES (GROWN(lk_value) + 16)
#define DECLARATION_BYTES ((uint32_t)sizeof(lk_declaration))

/* A node, and its three lists, which begin at multiples of 16 bytes. */
#define NODE_BYTES (GROWN(lk_node) + 3 * 16)

/* A graph of its own, with the index of its names. */
#define GRAPH_BYTES ((uint32_t)(LK_GRAPH_BYTES + sizeof(lk_body)))

#define MANY_PER_NODE 65536
#define ATTRIBUTES_PER_NODE 256
#define FUNCTIONS 1024
#define DOMAINS 256

const lk_onnx_schema lk_onnx_schemas[LK_ONNX_MESSAGE_COUNT] = {
    [LK_ONNX_MODEL] =
        {"model",
         sizeof(Onnx__ModelProto),
         {{1, LK_ONNX_INT, 0, 0, 0, "ir_version"},
          {2, LK_ONNX_TEXT, 0, 0, 0, "producer_name"},
          {3, LK_ONNX_TEXT, 0, 0, 0, "producer_version"},
          {7, LK_ONNX_NESTED, LK_ONNX_GRAPH, 1, 0, "graph"},
          {8, LK_ONNX_NESTED, LK_ONNX_OPSET, DOMAINS, sizeof(lk_opset), "opset_import"},
          {14, LK_ONNX_NESTED, LK_ONNX_ENTRY, 0, GROWN(lk_metadata), "metadata_props"},
          {25, LK_ONNX_NESTED, LK_ONNX_FUNCTION, FUNCTIONS, 0, "functions"}}},
    [LK_ONNX_OPSET] = {"opset_import",
                       sizeof(Onnx__OperatorSetIdProto),
                       {{1, LK_ONNX_TEXT, 0, 0, 0, "domain"},
                        {2, LK_ONNX_INT, 0, 0, 0, "version"}}},
    [LK_ONNX_ENTRY] = {"entry",
                       sizeof(Onnx__StringStringEntryProto),
                       {{1, LK_ONNX_TEXT, 0, 0, 0, "key"}, {2, LK_ONNX_TEXT, 0, 0, 0, "value"}}},
    [LK_ONNX_FUNCTION] = {"function",
                          sizeof(Onnx__FunctionProto),
                          {{1, LK_ONNX_TEXT, 0, 0, 0, "name"},
                           {4, LK_ONNX_TEXT, 0, MANY_PER_NODE, 0, "input"},
                           {5, LK_ONNX_TEXT, 0, MANY_PER_NODE, 0, "output"},
                           {6, LK_ONNX_TEXT, 0, ATTRIBUTES_PER_NODE, 0, "attribute"},
                           {7, LK_ONNX_NESTED, LK_ONNX_NODE, 0, NODE_BYTES, "node"},
                           {9, LK_ONNX_NESTED, LK_ONNX_OPSET, DOMAINS, 0, "opset_import"},
                           {10, LK_ONNX_TEXT, 0, 0, 0, "domain"},
                           {11, LK_ONNX_NESTED, LK_ONNX_ATTRIBUTE, ATTRIBUTES_PER_NODE, 0,
                            "attribute_proto"},
                           {13, LK_ONNX_TEXT, 0, 0, 0, "overload"}}},
    [LK_ONNX_GRAPH] =
        {"graph",
         sizeof(Onnx__GraphProto),
         {{1, LK_ONNX_NESTED, LK_ONNX_NODE, 0, NODE_BYTES, "node"},
          {5, LK_ONNX_NESTED, LK_ONNX_TENSOR, 0, VALUE_BYTES, "initializer"},
          {11, LK_ONNX_NESTED, LK_ONNX_VALUE_INFO, 0, VALUE_BYTES + DECLARATION_BYTES, "input"},
          {12, LK_ONNX_NESTED, LK_ONNX_VALUE_INFO, 0, GROWN(int32_t) + DECLARATION_BYTES, "output"},
          {13, LK_ONNX_CHECKED, LK_ONNX_VALUE_INFO, 0, 0, "value_info"},
          {15, LK_ONNX_NESTED, LK_ONNX_SPARSE_TENSOR, 0, 0, "sparse_initializer"}}},
    [LK_ONNX_NODE] = {"node",
                      sizeof(Onnx__NodeProto),
                      {{1, LK_ONNX_TEXT, 0, MANY_PER_NODE, sizeof(int32_t), "input"},
                       {2, LK_ONNX_TEXT, 0, MANY_PER_NODE, VALUE_BYTES, "output"},
                       {3, LK_ONNX_TEXT, 0, 0, 0, "name"},
                       {4, LK_ONNX_TEXT, 0, 0, 0, "op_type"},
                       {5, LK_ONNX_NESTED, LK_ONNX_ATTRIBUTE, ATTRIBUTES_PER_NODE, sizeof(lk_attr),
                        "attribute"},
                       {7, LK_ONNX_TEXT, 0, 0, 0, "domain"},
                       {8, LK_ONNX_TEXT, 0, 0, 0, "overload"}}},
    [LK_ONNX_ATTRIBUTE] = {"attribute",
                           sizeof(Onnx__AttributeProto),
                           {{1, LK_ONNX_TEXT, 0, 0, 0, "name"},
                            {2, LK_ONNX_FLOAT, 0, 0, sizeof(int64_t), "f"},
                            {3, LK_ONNX_INT, 0, 0, sizeof(int64_t), "i"},
                            {4, LK_ONNX_BYTES, 0, 0, 0, "s"},
                            {5, LK_ONNX_NESTED, LK_ONNX_TENSOR, 1, sizeof(lk_tensor), "t"},
                            {6, LK_ONNX_NESTED, LK_ONNX_GRAPH, 1, GRAPH_BYTES, "g"},
                            {7, LK_ONNX_FLOATS, 0, 0, sizeof(float), "floats"},
                            {8, LK_ONNX_INTS, 0, 0, sizeof(int64_t), "ints"},
                            {9, LK_ONNX_BYTES, 0, 0, sizeof(char *), "strings"},
                            {10, LK_ONNX_NESTED, LK_ONNX_TENSOR, 0, sizeof(lk_tensor), "tensors"},
                            {11, LK_ONNX_CHECKED, LK_ONNX_GRAPH, 0, 0, "graphs"},
                            {14, LK_ONNX_CHECKED, LK_ONNX_TYPE, 0, 0, "tp"},
                            {15, LK_ONNX_CHECKED, LK_ONNX_TYPE, 0, 0, "type_protos"},
                            {20, LK_ONNX_INT, 0, 0, 0, "type"},
                            {21, LK_ONNX_TEXT, 0, 0, 0, "ref_attr_name"},
                            {22, LK_ONNX_CHECKED, LK_ONNX_SPARSE_TENSOR, 0, 0, "sparse_tensor"},
                            {23, LK_ONNX_CHECKED, LK_ONNX_SPARSE_TENSOR, 0, 0, "sparse_tensors"}}},
    /* raw_data (9) is a payload in the file, and the reference to the tensor in the skeleton. */
    [LK_ONNX_TENSOR] = {"tensor",
                        sizeof(Onnx__TensorProto),
                        {{1, LK_ONNX_INTS, 0, 0, 0, "dims"},
                         {2, LK_ONNX_INT, 0, 0, 0, "data_type"},
                         {4, LK_ONNX_PAYLOAD, 0, 0, 0, "float_data"},
                         {5, LK_ONNX_PAYLOAD, 0, 0, 0, "int32_data"},
                         {7, LK_ONNX_PAYLOAD, 0, 0, 0, "int64_data"},
                         {8, LK_ONNX_TEXT, 0, 0, 0, "name"},
                         {9, LK_ONNX_PAYLOAD, 0, 0, 0, "raw_data"},
                         {10, LK_ONNX_PAYLOAD, 0, 0, 0, "double_data"},
                         {11, LK_ONNX_PAYLOAD, 0, 0, 0, "uint64_data"},
                         {13, LK_ONNX_NESTED, LK_ONNX_ENTRY, 64, 0, "external_data"},
                         {14, LK_ONNX_INT, 0, 0, 0, "data_location"}}},
    [LK_ONNX_SPARSE_TENSOR] = {"sparse tensor",
                               sizeof(Onnx__SparseTensorProto),
                               {{1, LK_ONNX_NESTED, LK_ONNX_TENSOR, 1, 0, "values"}}},
    [LK_ONNX_VALUE_INFO] = {"value_info",
                            sizeof(Onnx__ValueInfoProto),
                            {{1, LK_ONNX_TEXT, 0, 0, 0, "name"},
                             {2, LK_ONNX_NESTED, LK_ONNX_TYPE, 1, 0, "type"}}},
    [LK_ONNX_TYPE] = {"type",
                      sizeof(Onnx__TypeProto),
                      {{1, LK_ONNX_NESTED, LK_ONNX_TENSOR_TYPE, 1, 0, "tensor_type"},
                       {4, LK_ONNX_NESTED, LK_ONNX_SEQUENCE_TYPE, 1, 0, "sequence_type"},
                       {5, LK_ONNX_NESTED, LK_ONNX_MAP_TYPE, 1, 0, "map_type"},
                       {9, LK_ONNX_NESTED, LK_ONNX_SEQUENCE_TYPE, 1, 0, "optional_type"}}},
    [LK_ONNX_TENSOR_TYPE] = {"tensor type",
                             sizeof(Onnx__TypeProto__Tensor),
                             {{1, LK_ONNX_INT, 0, 0, 0, "elem_type"},
                              {2, LK_ONNX_NESTED, LK_ONNX_SHAPE, 1, 0, "shape"}}},
    [LK_ONNX_SEQUENCE_TYPE] = {"sequence type",
                               sizeof(Onnx__TypeProto__Sequence),
                               {{1, LK_ONNX_CHECKED, LK_ONNX_TYPE, 0, 0, "elem_type"}}},
    [LK_ONNX_MAP_TYPE] = {"map type",
                          sizeof(Onnx__TypeProto__Map),
                          {{2, LK_ONNX_CHECKED, LK_ONNX_TYPE, 0, 0, "value_type"}}},
    [LK_ONNX_SHAPE] = {"shape",
                       sizeof(Onnx__TensorShapeProto),
                       {{1, LK_ONNX_NESTED, LK_ONNX_DIMENSION, 0, 0, "dim"}}},
    [LK_ONNX_DIMENSION] = {"dimension",
                           sizeof(Onnx__TensorShapeProto__Dimension),
                           {{1, LK_ONNX_INT, 0, 0, 0, "dim_value"},
                            {2, LK_ONNX_TEXT, 0, 0, 0, "dim_param"}}},
};
