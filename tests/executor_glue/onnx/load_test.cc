// What the loader makes of well-formed models, and what it says about those that it cannot read.
#include "tests/executor_glue/onnx/proto_writer.h"
#include "tests/harness/folder.h"

using namespace proto;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace {

TEST(OnnxLoad, SmallModelIsReadWhole) {
  Loaded m;
  LK_ASSERT_OK(m.memory(small_model().bytes));
  const lk_graph *g = m.graph;
  EXPECT_EQ(g->n_nodes_in_file, 7u);
  ASSERT_EQ(g->n_nodes, 5u);
  ASSERT_EQ(g->n_inputs, 1u);
  ASSERT_EQ(g->n_outputs, 1u);
  EXPECT_STREQ(g->values[g->inputs[0]].name, "x");
  EXPECT_STREQ(g->values[g->outputs[0]].name, "y");
  ASSERT_EQ(g->n_metadata, 1u);
  EXPECT_STREQ(g->metadata[0].key, "author");
  EXPECT_STREQ(g->metadata[0].value, "test");

  const lk_value &x = m.value("x");
  EXPECT_TRUE(x.is_input);
  ASSERT_NE(x.declared, nullptr);
  EXPECT_EQ(x.declared->dtype, LK_F32);
  ASSERT_EQ(x.declared->rank, 2);
  EXPECT_EQ(x.declared->dims[0], -1);
  EXPECT_STREQ(x.declared->symbols[0], "N");
  EXPECT_EQ(x.declared->dims[1], 4);
  EXPECT_EQ(x.declared->symbols[1], nullptr);
  EXPECT_EQ(m.value("h").declared, nullptr) << "nobody believes value_info";

  EXPECT_EQ(m.constant<float>("w"), std::vector<float>(16, 0.5f));
  EXPECT_EQ(m.value("w").constant_kind, LK_CONSTANT_MAPPED);
  EXPECT_EQ(m.constant<float>("b"), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(m.value("b").constant_kind, LK_CONSTANT_MAPPED) << "packed floats lie as raw ones do";
  EXPECT_EQ(m.constant<int64_t>("shape"), (std::vector<int64_t>{-1, 4}));
  EXPECT_EQ(m.value("shape").constant_kind, LK_CONSTANT_OWNED);
  EXPECT_EQ(m.constant<int32_t>("c"), (std::vector<int32_t>{7, -8, 9}));
  EXPECT_EQ(m.constant<float>("f"), std::vector<float>{2.5f});
  EXPECT_EQ(m.value("f").constant.desc.rank, 0u);

  const lk_node *clip = m.node("Clip");
  ASSERT_EQ(clip->n_inputs, 3u);
  EXPECT_EQ(clip->inputs[1], LK_NO_VALUE);
  EXPECT_EQ(clip->opset, 13);
  EXPECT_STREQ(clip->domain, "");
  const lk_node *first = m.node("MatMul"), *last = m.node("LeakyRelu");
  EXPECT_STREQ(first->name, "first");
  EXPECT_EQ(m.value("y").producer, last - m.graph->nodes);
  ASSERT_EQ(last->n_attrs, 1u);
  EXPECT_STREQ(last->attrs[0].name, "alpha");
  EXPECT_EQ(last->attrs[0].type, uint32_t{LK_ATTR_FLOATS});
  EXPECT_EQ(lk_node_attr_float(last, "alpha", 0), 0.25f);
}

TEST(OnnxLoad, NodesMayStandInAnyOrder) {
  Graph g;
  g.in("x").out("y").node(node("Relu", {"h"}, {"y"})).node(node("Sqrt", {"x"}, {"h"}));
  Loaded m;
  LK_ASSERT_OK(m.memory(model(g).bytes));
  EXPECT_STREQ(m.graph->nodes[0].op_type, "Sqrt");
}

TEST(OnnxLoad, AttributesOfEveryKind) {
  const auto ints = attribute("ints", kInts).num(8, 1).num(8, -2).num(8, 3);
  const auto packed = attribute("packed", kInts).text(8, varints(std::vector<int>{4, -5}));
  const auto floats = attribute("floats", kFloats).flt(7, 1.5f).flt(7, -2.5f);
  const auto text = attribute("mode", kString).text(4, std::string("lin\0ear", 7));
  const auto t =
      attribute("t", kTensor)
          .add(5, tensor("", LK_F16, {2}, kInt32Data, varints(std::vector<int>{0x3c00, 0xc000})));
  const auto none = attribute("none", kInts);
  Graph g;
  g.in("x").out("y").node(node("Op", {"x"}, {"y"}, {ints, packed, floats, text, t, none}));
  Loaded m;
  LK_ASSERT_OK(m.memory(model(g).bytes));
  const lk_node *n = m.node("Op");
  ASSERT_EQ(n->n_attrs, 6u);
  const auto *i = static_cast<const int64_t *>(n->attrs[0].data);
  EXPECT_EQ(std::vector<int64_t>(i, i + n->attrs[0].count), (std::vector<int64_t>{1, -2, 3}));
  i = static_cast<const int64_t *>(n->attrs[1].data);
  EXPECT_EQ(std::vector<int64_t>(i, i + n->attrs[1].count), (std::vector<int64_t>{4, -5}));
  const auto *f = static_cast<const float *>(n->attrs[2].data);
  EXPECT_EQ(std::vector<float>(f, f + n->attrs[2].count), (std::vector<float>{1.5f, -2.5f}));
  EXPECT_EQ(n->attrs[3].type, uint32_t{LK_ATTR_STRING});
  EXPECT_EQ(std::string(static_cast<const char *>(n->attrs[3].data), n->attrs[3].count),
            std::string("lin\0ear", 7));
  ASSERT_EQ(n->attrs[4].type, uint32_t{LK_ATTR_TENSOR});
  const auto *tensors = static_cast<const lk_tensor *>(n->attrs[4].data);
  EXPECT_EQ(tensors[0].desc.dtype, uint32_t{LK_F16});
  EXPECT_EQ(static_cast<const uint16_t *>(tensors[0].data)[1], 0xc000);
  EXPECT_EQ(n->attrs[5].count, 0u);
}

TEST(OnnxLoad, NodesWithoutANamedOutputAreLeftOut) {
  Graph g;
  g.in("x").out("y").node(node("Neg", {"x"}, {""})).node(node("NoSuchThing", {"x"}, {}));
  g.node(node("Relu", {"x"}, {"y"}));
  Loaded m;
  LK_ASSERT_OK(m.memory(model(g).bytes));
  ASSERT_EQ(m.graph->n_nodes, 1u);
  EXPECT_STREQ(m.graph->nodes[0].op_type, "Relu");
}

TEST(OnnxLoad, ConstantNodesOfEveryKind) {
  Graph g;
  g.out("i").out("is").out("fs");
  g.node(node("Constant", {}, {"i"}, {attribute("value_int", kInt).num(3, -7)}));
  g.node(node("Constant", {}, {"is"}, {attribute("value_ints", kInts).num(8, 5).num(8, 6)}));
  g.node(node("Constant", {}, {"fs"}, {attribute("value_floats", kFloats).flt(7, 1.f)}));
  g.node(node("Constant", {}, {"e"}, {attribute("value_ints", kInts)}));
  Loaded m;
  LK_ASSERT_OK(m.memory(model(g).bytes));
  EXPECT_EQ(m.graph->n_nodes, 0u);
  EXPECT_EQ(m.graph->n_nodes_in_file, 4u);
  EXPECT_EQ(m.constant<int64_t>("i"), std::vector<int64_t>{-7});
  EXPECT_EQ(m.value("i").constant.desc.rank, 0u);
  EXPECT_EQ(m.constant<int64_t>("is"), (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(m.value("is").constant.desc.rank, 1u);
  EXPECT_EQ(m.constant<float>("fs"), std::vector<float>{1.f});
  EXPECT_TRUE(m.constant<int64_t>("e").empty());
}

TEST(OnnxLoad, InputsWithInitializersAreConstants) {
  Graph g;
  g.in("w").in("x").out("y").node(node("Add", {"x", "w"}, {"y"}));
  g.init(tensor("w", LK_F32, {1, 4}, kRawData, raw(std::vector<float>{1, 2, 3, 4})));
  Loaded m;
  LK_ASSERT_OK(m.memory(model(g).bytes));
  ASSERT_EQ(m.graph->n_inputs, 1u);
  EXPECT_STREQ(m.graph->values[m.graph->inputs[0]].name, "x");
  EXPECT_FALSE(m.value("w").is_input);
  EXPECT_EQ(m.value("w").constant.desc.dims[0], 1) << "its own shape, not the declared one";
  EXPECT_EQ(m.value("w").declared, nullptr);
}

TEST(OnnxLoad, UnknownDimensions) {
  Graph g;
  g.in("x", LK_F32, {"-1", "?", "0", "H"}).out("y").node(node("Relu", {"x"}, {"y"}));
  Loaded m;
  LK_ASSERT_OK(m.memory(model(g).bytes));
  const lk_declaration *x = m.value("x").declared;
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(x->dims[0], -1);
  EXPECT_EQ(x->dims[1], -1);
  EXPECT_EQ(x->symbols[1], nullptr) << "? is no name";
  EXPECT_EQ(x->dims[2], 0);
  EXPECT_STREQ(x->symbols[3], "H");
}

TEST(OnnxLoad, OpsetsPerDomain) {
  Graph g;
  g.in("x").out("y").node(node("Relu", {"x"}, {"h"}));
  g.node(node("FusedGelu", {"h"}, {"y"}).text(7, "com.example"));
  Message m = Message().num(1, 8).add(7, g.m);
  Loaded loaded;
  Message both = m;
  both.add(8, Message().text(1, "ai.onnx").num(2, 17));
  LK_EXPECT_STATUS(LK_MALFORMED, loaded.memory(both.bytes));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("com.example"), HasSubstr("FusedGelu")));
  both.add(8, Message().text(1, "com.example").num(2, 3));
  LK_ASSERT_OK(loaded.memory(both.bytes));
  EXPECT_EQ(loaded.node("Relu")->opset, 17);
  EXPECT_EQ(loaded.node("FusedGelu")->opset, 3);
  EXPECT_STREQ(loaded.node("FusedGelu")->domain, "com.example");
  const lk_model_info *info = &loaded.graph->model;
  EXPECT_EQ(info->ir_version, 8);
  ASSERT_EQ(info->n_opsets, 2u);
  EXPECT_STREQ(info->opsets[0].domain, "");
  EXPECT_EQ(info->opsets[0].version, 17);
  EXPECT_STREQ(info->opsets[1].domain, "com.example");
  EXPECT_EQ(info->opsets[1].version, 3);
  EXPECT_STREQ(info->producer_name, "");
  both.text(2, "exporter").text(3, "1.2");
  LK_ASSERT_OK(loaded.memory(both.bytes));
  EXPECT_STREQ(loaded.graph->model.producer_name, "exporter");
  EXPECT_STREQ(loaded.graph->model.producer_version, "1.2");
}

TEST(OnnxLoad, OpsetsOutOfRangeAreNamed) {
  Graph g;
  g.in("x").out("y").node(node("Relu", {"x"}, {"y"}));
  Loaded m;
  for (int64_t good : {7, LK_MAX_OPSET}) LK_EXPECT_OK(m.memory(model(g, good).bytes));
  for (int64_t bad : {6, LK_MAX_OPSET + 1, 0, -1}) {
    LK_EXPECT_STATUS(LK_UNSUPPORTED, m.memory(model(g, bad).bytes));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("opset " + std::to_string(bad)));
  }
}

struct BadModel {
  const char *name;
  lk_status status;
  std::vector<std::string> words;
  Graph graph;
};

void PrintTo(const BadModel &m, std::ostream *out) {
  *out << m.name;
}

class OnnxBadModel : public ::testing::TestWithParam<BadModel> {};

TEST_P(OnnxBadModel, IsRefusedWithASentence) {
  Loaded m;
  const std::string bytes = model(GetParam().graph).bytes;
  const lk_status status = m.memory_with_unread(bytes);
  EXPECT_EQ(m.graph == nullptr, status != LK_OK);
  EXPECT_EQ(m.model == nullptr, status != LK_OK);
  LK_EXPECT_STATUS(GetParam().status, m.memory(bytes));
  for (const std::string &word : GetParam().words) EXPECT_THAT(LK_MESSAGE, HasSubstr(word));
}

Graph xy() {
  return Graph().in("x").out("y");
}
Message w(const std::string &data, uint32_t dtype = LK_F32, std::vector<int64_t> dims = {2}) {
  return tensor("w", dtype, dims, kRawData, data);
}
const std::string two(8, 'a');

std::vector<BadModel> bad_models() {
  Message sequence = Message().text(1, "x").add(2, Message().add(4, Message()));
  return {
      {.name = "AttributeWithoutType",
       .status = LK_MALFORMED,
       .words = {"axis", "no type"},
       .graph = xy().node(node("Softmax", {"x"}, {"y"}, {Message().text(1, "axis").num(3, 1)}))},
      {.name = "AttributeTwice",
       .status = LK_MALFORMED,
       .words = {"axis", "twice"},
       .graph =
           xy().node(node("Softmax", {"x"}, {"y"},
                          {attribute("axis", kInt).num(3, 1), attribute("axis", kInt).num(3, 2)}))},
      {.name = "NoOperator",
       .status = LK_MALFORMED,
       .words = {"no op_type", "lost"},
       .graph = xy().node(Message().text(1, "x").text(2, "y").text(3, "lost"))},
      {.name = "InputNeverMade",
       .status = LK_MALFORMED,
       .words = {"input 'ghost' is not an input, an initializer, or made by", "Relu"},
       .graph = xy().node(node("Relu", {"ghost"}, {"y"}))},
      {.name = "OutputNeverMade",
       .status = LK_MALFORMED,
       .words = {"output 'y' is not an input, an initializer, or made by"},
       .graph = xy()},
      {.name = "InputTwice",
       .status = LK_MALFORMED,
       .words = {"'x'", "twice"},
       .graph = xy().in("x").node(node("Relu", {"x"}, {"y"}))},
      {.name = "MadeTwice",
       .status = LK_MALFORMED,
       .words = {"'y'", "twice"},
       .graph = xy().node(node("Relu", {"x"}, {"y"})).node(node("Sqrt", {"x"}, {"y"}))},
      {.name = "NodeMakesInput",
       .status = LK_MALFORMED,
       .words = {"'x'", "twice"},
       .graph = xy().node(node("Relu", {"x"}, {"x"}))},
      {.name = "NodeMakesInitializer",
       .status = LK_MALFORMED,
       .words = {"'w'", "twice"},
       .graph = xy().init(w(two)).node(node("Relu", {"x"}, {"w"}))},
      {.name = "Cycle",
       .status = LK_MALFORMED,
       .words = {"cycle"},
       .graph = xy().node(node("Add", {"x", "b"}, {"y"})).node(node("Relu", {"y"}, {"b"}))},
      {.name = "InitializerTwice",
       .status = LK_MALFORMED,
       .words = {"'w'", "twice"},
       .graph = xy().init(w(two)).init(w(two))},
      {.name = "InitializerWithoutName",
       .status = LK_MALFORMED,
       .words = {"no name"},
       .graph = xy().init(tensor("", LK_F32, {2}, kRawData, two))},
      {.name = "InputIsSequence",
       .status = LK_UNSUPPORTED,
       .words = {"'x'", "it is a sequence"},
       .graph = Graph{Message().add(11, sequence)}},
      {.name = "InputOfStrings",
       .status = LK_UNSUPPORTED,
       .words = {"'x'", "a tensor of type string"},
       .graph = Graph().in("x", 8)},
      {.name = "InputOfRank9",
       .status = LK_OUT_OF_RANGE,
       .words = {"'x'", "rank 9"},
       .graph = Graph().in("x", LK_F32, std::vector<std::string>(9, "1"))},
      {.name = "ConstantWithInput",
       .status = LK_MALFORMED,
       .words = {"Constant"},
       .graph = xy().node(node("Constant", {"x"}, {"y"}))},
      {.name = "ConstantWithoutValue",
       .status = LK_MALFORMED,
       .words = {"Constant", "'y'"},
       .graph = xy().node(node("Constant", {}, {"y"}))},
      {.name = "ConstantString",
       .status = LK_UNSUPPORTED,
       .words = {"value_string"},
       .graph = xy().node(
           node("Constant", {}, {"y"}, {attribute("value_string", kString).text(4, "a")}))},
  };
}
INSTANTIATE_TEST_SUITE_P(All, OnnxBadModel, ::testing::ValuesIn(bad_models()),
                         [](const auto &p) { return p.param.name; });

// What is wrong with initializer "w".
struct BadTensor {
  const char *name;
  lk_status status;
  std::vector<std::string> words;
  Message tensor;
};

void PrintTo(const BadTensor &t, std::ostream *out) {
  *out << t.name;
}

class OnnxBadTensor : public ::testing::TestWithParam<BadTensor> {};

TEST_P(OnnxBadTensor, IsRefusedWhereSomethingReadsIt) {
  Loaded m;
  const BadTensor &bad = GetParam();
  const Graph reads = xy().init(bad.tensor).node(node("Add", {"x", "w"}, {"y"}));
  LK_EXPECT_STATUS(bad.status, m.memory(model(reads).bytes));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to load a model from memory: "));
  for (const std::string &word : bad.words) EXPECT_THAT(LK_MESSAGE, HasSubstr(word));
  const Graph leaves = xy().init(bad.tensor).node(node("Relu", {"x"}, {"y"}));
  LK_EXPECT_OK(m.memory(model(leaves).bytes));
  EXPECT_EQ(m.graph->n_nodes, 1u);
}

std::vector<BadTensor> bad_tensors() {
  const Message mixed = w(two).text(kFloatData, two);
  const Message rank9 = tensor("w", LK_F32, std::vector<int64_t>(9, 1), kRawData, "abcd");
  const Message strings = Message().num(1, 1).num(2, 8).text(8, "w").text(6, "text");
  return {
      {.name = "TensorTooShort",
       .status = LK_MALFORMED,
       .words = {"'w'", "4 bytes", "requires 8"},
       .tensor = w("abcd")},
      {.name = "TensorTooLong",
       .status = LK_MALFORMED,
       .words = {"'w'", "12 bytes"},
       .tensor = w("abcdabcdabcd")},
      {.name = "TensorWithoutData",
       .status = LK_MALFORMED,
       .words = {"'w'", "0 elements"},
       .tensor = w("")},
      {.name = "TensorWithoutType",
       .status = LK_MALFORMED,
       .words = {"'w'", "no element type"},
       .tensor = Message().num(1, 2).text(8, "w").text(9, two)},
      {.name = "TensorOfStrings",
       .status = LK_UNSUPPORTED,
       .words = {"'w'", "type string"},
       .tensor = strings},
      {.name = "TensorOfComplex",
       .status = LK_UNSUPPORTED,
       .words = {"complex64"},
       .tensor = w(two, 14, {1})},
      {.name = "TensorOfNoKnownType",
       .status = LK_UNSUPPORTED,
       .words = {"999"},
       .tensor = w(two, 999)},
      {.name = "TensorOfRank9",
       .status = LK_UNSUPPORTED,
       .words = {"'w'", "rank 9"},
       .tensor = rank9},
      {.name = "NegativeDimension",
       .status = LK_MALFORMED,
       .words = {"'w'", "-2"},
       .tensor = w(two, LK_F32, {-2})},
      {.name = "SizeOverflow",
       .status = LK_OUT_OF_RANGE,
       .words = {"size w", "2^47"},
       .tensor = w(two, LK_F32, {int64_t{1} << 32, int64_t{1} << 32})},
      {.name = "HugeDimension",
       .status = LK_MALFORMED,
       .words = {"'w'"},
       .tensor = w(two, LK_F32, {int64_t{1} << 45})},
      {.name = "DimensionThatNothingHas",
       .status = LK_OUT_OF_RANGE,
       .words = {"size w", "2^47"},
       .tensor = w(two, LK_F32, {int64_t{1} << 50})},
      {.name = "TwoPayloads",
       .status = LK_MALFORMED,
       .words = {"'w'", "two fields"},
       .tensor = mixed},
      {.name = "RawTwice",
       .status = LK_MALFORMED,
       .words = {"'w'", "two fields"},
       .tensor = w(two).text(kRawData, two)},
      {.name = "WrongTypedField",
       .status = LK_MALFORMED,
       .words = {"'w'", "field 4", "i64"},
       .tensor = tensor("w", LK_I64, {2}, kFloatData, two)},
      {.name = "PackedFloatsCut",
       .status = LK_MALFORMED,
       .words = {"'w'"},
       .tensor = tensor("w", LK_F32, {2}, kFloatData, "abcdefg")},
      {.name = "Segment",
       .status = LK_UNSUPPORTED,
       .words = {"'w'", "segments"},
       .tensor = w(two).add(3, Message())},
      {.name = "ByteOutOfRange",
       .status = LK_MALFORMED,
       .words = {"'w'", "element 1 is 256", "u8"},
       .tensor = tensor("w", LK_U8, {2}, kInt32Data, varints(std::vector<int>{255, 256}))},
      {.name = "ExternalInMemory",
       .status = LK_UNSUPPORTED,
       .words = {"'w'", "no folder"},
       .tensor = external("w", LK_F32, {2}, {{"location", "w.bin"}})},
  };
}
INSTANTIATE_TEST_SUITE_P(All, OnnxBadTensor, ::testing::ValuesIn(bad_tensors()),
                         [](const auto &p) { return p.param.name; });

TEST(OnnxLoad, NotAModel) {
  Loaded m;
  LK_EXPECT_STATUS(LK_MALFORMED, m.memory("this is not an ONNX model at all"));
  LK_EXPECT_STATUS(LK_MALFORMED, m.memory(Message().num(1, 8).bytes));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("no graph"));
  LK_EXPECT_STATUS(LK_MALFORMED, m.memory(Message().add(7, Message()).bytes));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("no ir_version"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, m.memory(""));
}

TEST(OnnxLoad, EveryAllocationMayFail) {
  const std::string bytes = small_model().bytes;
  lk::fail_every_allocation([&](lk::FailingAllocator &allocator) {
    Loaded m;
    return m.memory(bytes, allocator.get());
  });
}

TEST(OnnxLoad, EveryAllocationMayFailWithFiles) {
  lk::Folder folder;
  folder.write("w.bin", two);
  const auto t = external("w", LK_F32, {2}, {{"location", "w.bin"}});
  const auto path =
      folder.write("m.onnx", model(xy().init(t).node(node("Add", {"x", "w"}, {"y"}))).bytes);
  lk::fail_every_allocation([&](lk::FailingAllocator &allocator) {
    Loaded m;
    return m.file(path, allocator.get());
  });
}

// Types that Latchkey lacks, in every place where a tensor may stand.
TEST(OnnxUnread, WhatNobodyReadsRefusesNothing) {
  Message strings = Message().num(1, 1).num(2, 8).text(8, "w").text(6, "text");
  Message value = Message().num(1, 1).num(2, 8).text(6, "text");
  const auto constant = [&](const std::string &to) {
    return node("Constant", {}, {to}, {attribute("value", kTensor).add(5, value)});
  };
  Graph g = xy().init(strings).init(tensor("e", 17, {2}, kRawData, "ab"));
  g.m.add(15, Message().add(1, tensor("s", LK_F32, {2}, kRawData, two)));
  g.node(constant("c"));
  g.node(node("Constant", {}, {"t"}, {attribute("value_string", kString).text(4, "a")}));
  g.node(node("Unknown", {"x", "w"}, {"u"}, {attribute("table", kTensor).add(5, value)}));
  g.node(node("Relu", {"x"}, {"y"}));
  Loaded m;
  LK_ASSERT_OK(m.memory_with_unread(model(g).bytes));
  LK_EXPECT_STATUS(LK_UNSUPPORTED, lk_graph_refuse_unread(m.graph, LK_ERR)) << "u reads w";
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'w'"));
  for (size_t n = m.graph->n_nodes; n-- > 0;) { // as the pass on dead nodes does
    if (m.graph->nodes[n].n_inputs == 2) lk_graph_remove_node(m.graph, static_cast<int32_t>(n));
  }
  LK_ASSERT_OK(lk_graph_resolve(m.graph, LK_ERR));
  LK_ASSERT_OK(lk_graph_refuse_unread(m.graph, LK_ERR));
  EXPECT_EQ(m.graph->n_nodes, 1u);
}

TEST(OnnxOutputs, AreListedOnce) {
  Loaded m;
  LK_ASSERT_OK(m.memory(model(xy().out("y").node(node("Relu", {"x"}, {"y"}))).bytes));
  EXPECT_EQ(m.graph->n_outputs, 1u);
}

TEST(OnnxDefaults, AreInitializersThatAreInputsToo) {
  Graph g = Graph().in("x").in("w", LK_F32, {"n"}).out("y").init(w(two));
  g.node(node("Add", {"x", "w"}, {"y"}));
  Loaded m;
  LK_ASSERT_OK(m.memory(model(g).bytes));
  ASSERT_EQ(m.graph->n_defaults, 1u);
  EXPECT_EQ(m.graph->n_inputs, 1u);
  EXPECT_EQ(m.graph->defaults[0].name, std::string("w"));
  EXPECT_EQ(m.graph->defaults[0].declared->symbols[0], std::string("n"));
  EXPECT_EQ(m.graph->defaults[0].input, -1);
  const char *const given[] = {"w"};
  lk_graph *variant = nullptr;
  LK_ASSERT_OK(lk_onnx_model_read_variant(m.model, nullptr, given, 1, &variant, LK_ERR));
  ASSERT_EQ(variant->n_inputs, 2u);
  EXPECT_EQ(variant->defaults[0].input, 1);
  EXPECT_EQ(memcmp(variant->defaults[0].tensor.data, two.data(), two.size()), 0);
  EXPECT_FALSE(lk_value_is_constant(variant, variant->inputs[1]));
  lk_graph_destroy(variant);
}

} // namespace
