// Files made to break the loader: cut, altered, nested, and small ones that unpack to gigabytes.
#include <random>

#include "tests/executor_glue/onnx/proto_writer.h"
#include "tests/harness/folder.h"

extern "C" {
#include "base/tensor.h"
#include "executor_glue/onnx/scan.h"
}

using namespace proto;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace {

constexpr size_t kLimit = size_t{256} << 20;

std::string repeat(const std::string &text, size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (size_t i = 0; i < times; i++) out += text;
  return out;
}

// A model whose graph is these bytes.
std::string model_of(const std::string &graph) {
  return model(Graph{Message{graph}}).bytes;
}

TEST(OnnxHostile, EveryTruncation) {
  const std::string bytes = small_model().bytes;
  size_t loaded = 0;
  for (size_t size = 1; size < bytes.size(); size++) {
    lk::FailingAllocator allocator;
    Loaded m;
    const lk_status status = m.memory(bytes.substr(0, size), allocator.get());
    if (status == LK_OK) {
      loaded++; // only metadata or an opset of the end is missing
      EXPECT_NE(m.graph, nullptr);
    } else {
      EXPECT_NE(LK_MESSAGE, "");
      EXPECT_EQ(m.graph, nullptr);
    }
  }
  EXPECT_LT(loaded, 4u);
}

TEST(OnnxHostile, SeededMutations) {
  const std::string bytes = small_model().bytes;
  std::mt19937 random(20240607);
  size_t loaded = 0, refused = 0;
  for (int round = 0; round < 6000; round++) {
    std::string mutated = bytes;
    for (uint32_t n = random() % 4 + 1; n > 0; n--) {
      const size_t at = random() % mutated.size();
      switch (random() % 4) {
      case 0:
        mutated[at] = static_cast<char>(random());
        break;
      case 1:
        mutated[at] = static_cast<char>(mutated[at] ^ (1 << random() % 8));
        break;
      case 2:
        mutated.erase(at, random() % 8 + 1);
        break;
      default:
        mutated.insert(at, mutated.substr(random() % mutated.size(), random() % 16 + 1));
        break;
      }
      if (mutated.empty()) mutated = "x";
    }
    lk::FailingAllocator allocator;
    Loaded m;
    const lk_status status = m.memory(mutated, allocator.get());
    ASSERT_NE(status, LK_INTERNAL) << LK_MESSAGE;
    ASSERT_LT(allocator.peak_bytes(), size_t{4} << 20);
    if (status != LK_OK) {
      refused++;
      continue;
    }
    loaded++;
    // Every constant that was accepted can be read to its last byte.
    for (size_t i = 0; i < m.graph->n_values; i++) {
      const lk_value &v = m.graph->values[i];
      if (v.constant_kind == LK_CONSTANT_NONE || v.constant.data == nullptr) continue;
      int64_t sum = 0;
      for (int64_t j = 0; j < lk_elements(&v.constant.desc); j++) {
        sum += static_cast<const uint8_t *>(v.constant.data)[j];
      }
      ASSERT_GE(sum, 0);
    }
  }
  EXPECT_GT(loaded, 100u);
  EXPECT_GT(refused, 1000u);
}

TEST(OnnxHostile, Garbage) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; round++) {
    std::string bytes(random() % 200 + 1, '\0');
    for (char &c : bytes) c = static_cast<char>(random());
    Loaded m;
    ASSERT_NE(m.memory(bytes), LK_OK);
    ASSERT_NE(m.memory(model_of(bytes)), LK_INTERNAL);
  }
}

// Nested `levels` times in the fields of `path`, which is gone through again and again.
std::string nested(const std::vector<uint32_t> &path, size_t levels) {
  std::string inner;
  for (size_t i = 0; i < levels; i++) {
    for (size_t j = path.size(); j-- > 0;) inner = Message().text(path[j], inner).bytes;
  }
  return inner;
}

TEST(OnnxHostile, DeepNestingIsRefusedByName) {
  // A graph in a node in an attribute in a graph ...; types in sequences of types.
  const std::string graphs = nested({1, 5, 6}, 4000);
  EXPECT_GT(graphs.size(), 30000u);
  Loaded m;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, m.memory(model_of(graphs)));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("nested deeper than 32"), HasSubstr("byte")));
  const std::string type = nested({4, 1}, 4000);
  const std::string input = Message().add(11, Message().text(1, "x").text(2, type)).bytes;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, m.memory(model_of(input)));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("nested deeper than 32"));
  const std::string map = nested({5, 2}, 4000);
  LK_EXPECT_STATUS(
      LK_OUT_OF_RANGE,
      m.memory(model_of(Message().add(11, Message().text(1, "x").text(2, map)).bytes)));
}

TEST(OnnxHostile, DeepNestingOf350KB) {
  // As above with every length written once from the inside out: 350 KB.
  std::string tail;
  std::vector<std::string> heads;
  size_t size = 0;
  while (size < 350000) {
    const uint32_t field[] = {1, 5, 6};
    heads.push_back(varint(uint64_t{field[(heads.size() + 1) % 3]} << 3 | 2) + varint(size));
    size += heads.back().size();
  }
  std::string bytes;
  for (size_t i = heads.size(); i-- > 0;) bytes += heads[i];
  lk::FailingAllocator allocator;
  Loaded m;
  EXPECT_NE(m.memory(model_of(bytes), allocator.get()), LK_OK);
  EXPECT_LT(allocator.peak_bytes(), size_t{1} << 20);
  // Under what is not read at all, nesting costs nothing.
  Graph g;
  g.in("x").out("y").node(node("Relu", {"x"}, {"y"}));
  LK_EXPECT_OK(m.memory(model(g).text(20, bytes).bytes, allocator.get()));
}

// A file of about `size` bytes that repeats a part must be refused or loaded within the limit.
struct Flood {
  const char *name;
  bool refused;
  std::string bytes;
};

void PrintTo(const Flood &f, std::ostream *out) {
  *out << f.name;
}

class OnnxFlood : public ::testing::TestWithParam<Flood> {};

TEST_P(OnnxFlood, StaysUnderTheLimit) {
  lk::FailingAllocator allocator;
  {
    Loaded m;
    const lk_status status = m.memory(GetParam().bytes, allocator.get());
    if (GetParam().refused) {
      EXPECT_EQ(status, LK_OUT_OF_RANGE) << LK_MESSAGE;
      EXPECT_THAT(LK_MESSAGE, HasSubstr("byte"));
      EXPECT_LT(allocator.peak_bytes(), size_t{1} << 20) << "refused before anything is unpacked";
    }
  }
  RecordProperty("peak_mb", static_cast<int>(allocator.peak_bytes() >> 20));
  EXPECT_LT(allocator.peak_bytes(), kLimit);
}

std::vector<Flood> floods() {
  constexpr size_t kSize = 4 << 20;
  const auto fill = [](const std::string &part) { return repeat(part, kSize / part.size()); };
  const auto in_node = [&](const std::string &part) {
    return model_of(Message().text(1, fill(part)).bytes);
  };
  const auto in_attribute = [&](const std::string &part) {
    return model_of(Message().add(1, Message().text(4, "Op").add(5, Message{fill(part)})).bytes);
  };
  std::string named; // nodes that differ
  for (uint32_t i = 0; named.size() < kSize; i++) {
    const std::string name(reinterpret_cast<const char *>(&i), 4);
    std::string text;
    for (char c : name)
      text += static_cast<char>('A' + (c & 15)), text += char('A' + (c >> 4 & 15));
    named += Message().add(1, Message().text(2, text).text(4, "R")).bytes;
  }
  std::vector<Flood> all = {
      {.name = "EmptyNodes",
       .refused = true,
       .bytes = model_of(fill(Message().add(1, Message()).bytes))},
      {.name = "EmptyInitializers",
       .refused = true,
       .bytes = model_of(fill(Message().add(5, Message()).bytes))},
      {.name = "EmptyInputs",
       .refused = true,
       .bytes = model_of(fill(Message().add(11, Message()).bytes))},
      {.name = "EmptyValueInfos",
       .refused = false,
       .bytes = model_of(fill(Message().add(13, Message()).bytes))},
      {.name = "EmptySparse",
       .refused = true,
       .bytes = model_of(fill(Message().add(15, Message()).bytes))},
      {.name = "NamedNodes", .refused = true, .bytes = model_of(named)},
      {.name = "NodeInputs", .refused = true, .bytes = in_node(Message().text(1, "").bytes)},
      {.name = "NodeOutputs", .refused = true, .bytes = in_node(Message().text(2, "").bytes)},
      {.name = "Attributes", .refused = true, .bytes = in_node(Message().add(5, Message()).bytes)},
      {.name = "AttributeInts", .refused = false, .bytes = in_attribute(Message().num(8, 1).bytes)},
      {.name = "AttributeTensors",
       .refused = true,
       .bytes = in_attribute(Message().add(10, Message()).bytes)},
      {.name = "Metadata",
       .refused = true,
       .bytes = model(Graph{}).bytes + fill(Message().add(14, Message()).bytes)},
      {.name = "Opsets",
       .refused = true,
       .bytes = model(Graph{}).bytes + fill(Message().add(8, Message()).bytes)},
      {.name = "Functions",
       .refused = true,
       .bytes = model(Graph{}).bytes + fill(Message().add(25, Message()).bytes)},
      {.name = "PackedInts",
       .refused = false,
       .bytes = model_of(Message()
                             .add(1, Message().text(4, "Op").add(
                                         5, attribute("a", kInts).text(8, std::string(kSize, 1))))
                             .bytes)},
      {.name = "Dims",
       .refused = false,
       .bytes = model_of(Message().add(5, Message().text(1, std::string(kSize, 1))).bytes)},
      {.name = "ShapeDims",
       .refused = true,
       .bytes = model_of(
           Message()
               .add(11, Message().text(1, "x").add(
                            2, Message().add(
                                   1, Message().num(1, 1).add(
                                          2, Message{fill(Message().add(1, Message()).bytes)}))))
               .bytes)},
  };
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, OnnxFlood, ::testing::ValuesIn(floods()),
                         [](const auto &p) { return p.param.name; });

// One-byte numbers are decoded to eight times as many bytes.
TEST(OnnxHostile, DecodedElementsHaveALimit) {
  const auto with_numbers = [](size_t count) {
    Graph g;
    g.in("x").out("y").node(node("Add", {"x", "w"}, {"y"}));
    g.init(tensor("w", LK_I64, {int64_t(count)}, kInt64Data, std::string(count, 1)));
    return model(g).bytes;
  };
  lk::FailingAllocator allocator;
  {
    Loaded m;
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, m.memory(with_numbers(16 << 20), allocator.get()));
    EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("'w'"), HasSubstr("134217728 bytes to copy"),
                                  HasSubstr("80 MB allowed")));
    EXPECT_LT(allocator.peak_bytes(), size_t{1} << 20);
    LK_EXPECT_OK(m.memory(with_numbers(8 << 20), allocator.get()));
  }
}

// A tensor that cannot be decoded, and that nothing reads, takes nothing of it.
TEST(OnnxHostile, ElementsThatAreNotKeptDoNotCountForIt) {
  Graph g;
  constexpr int64_t kBad = 10 << 20, kGood = 8 << 20;
  std::string bad(kBad - 1, 1);
  bad += varint(1 << 16); // no i16
  g.in("x").out("y").node(node("Add", {"x", "w"}, {"y"}));
  g.init(tensor("bad", LK_I16, {kBad}, kInt32Data, bad));
  g.init(tensor("w", LK_I64, {kGood}, kInt64Data, std::string(kGood, 1)));
  lk::FailingAllocator allocator;
  {
    Loaded m; // of 64 MiB and the 18 of the file, w takes 64, and `bad` would take 20
    LK_EXPECT_OK(m.memory(model(g).bytes, allocator.get()));
  }
}

// Attributes are copied: each one what it finds in another file, each call of a function those of
// its nodes.
TEST(OnnxHostile, CopiedAttributesHaveALimit) {
  lk::Folder folder;
  folder.write("w.bin", std::string(8 << 20, 1));
  Graph g;
  g.in("x").out("y").node(node("Relu", {"x"}, {"y"}));
  for (int i = 0; i < 16; i++) {
    g.out("a" + std::to_string(i));
    g.node(node("Op", {"x"}, {"a" + std::to_string(i)},
                {attribute("t", kTensor)
                     .add(5, external("t", LK_U8, {8 << 20}, {{"location", "w.bin"}}))}));
  }
  const std::string path = folder.write("m.onnx", model(g).bytes);
  lk::FailingAllocator allocator;
  {
    Loaded m;
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, m.file(path, allocator.get()));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("'t': 8388608 bytes to copy"));
  }
  Message function =
      Message().text(1, "F").text(4, "a").text(5, "b").text(10, "own").add(9, Message().num(2, 13));
  function.add(7,
               node("Op", {"a"}, {"b"}, {attribute("i", kInts).text(8, std::string(1 << 20, 1))}));
  Graph calls;
  calls.in("x").out("y").node(node("Relu", {"x"}, {"y"}));
  for (int i = 0; i < 16; i++) {
    calls.out("a" + std::to_string(i));
    calls.node(node("F", {"x"}, {"a" + std::to_string(i)}).text(7, "own"));
  }
  {
    Loaded m;
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                     m.memory(model(calls).add(25, function).bytes, allocator.get()));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("'i': 8388608 bytes to copy"));
  }
  EXPECT_LT(allocator.peak_bytes(), size_t{128} << 20);
}

TEST(OnnxHostile, MostNodesThatTheBudgetAllows) {
  // The largest accepted file of nodes with values must also stay under the limit.
  lk::FailingAllocator allocator;
  size_t low = 20000, high = 300000;
  const auto build = [](size_t count) {
    Graph g;
    g.in("x").out("y0");
    for (size_t i = 0; i < count; i++) g.node(node("R", {"x"}, {"y" + std::to_string(i)}));
    return model(g).bytes;
  };
  while (high - low > 4000) { // the scan alone, which is quick
    const size_t middle = (low + high) / 2;
    const std::string bytes = build(middle);
    lk_onnx_skeleton skeleton;
    const lk_status status = lk_onnx_scan(
        allocator.get(), LK_ONNX_MODEL, reinterpret_cast<const uint8_t *>(bytes.data()),
        bytes.size(), LK_ONNX_BUDGET(bytes.size()), &skeleton, LK_ERR);
    lk_free(allocator.get(), skeleton.bytes);
    (status == LK_OK ? low : high) = middle;
  }
  EXPECT_GT(low, 60000u) << "real models have tens of thousands of nodes";
  Loaded m;
  LK_ASSERT_OK(m.memory(build(low), allocator.get()));
  EXPECT_EQ(m.graph->n_nodes, low);
  RecordProperty("nodes", static_cast<int>(low));
  RecordProperty("peak_mb", static_cast<int>(allocator.peak_bytes() >> 20));
  EXPECT_LT(allocator.peak_bytes(), kLimit);
  m.reset();
}

TEST(OnnxScan, SaysWhatIsWrongAndWhere) {
  struct {
    std::string bytes;
    const char *what;
    const char *where;
  } const cases[] = {
      {.bytes = std::string("\x08\x07\x3a\x05\x0a", 5),
       .what = "at least 4 bytes are missing",
       .where = "byte 2"},
      {.bytes = std::string("\x0b", 1), .what = "wire type that does not exist", .where = "byte 0"},
      {.bytes = std::string("\x08\x07\x02\x00", 4), .what = "field number", .where = "byte 2"},
      {.bytes = std::string("\x08\x07\x38\x00", 4),
       .what = "graph has wire type 0",
       .where = "byte 2"},
      {.bytes = std::string("\x08", 1), .what = "cut off", .where = "byte 0"},
      {.bytes = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
       .what = "too long",
       .where = "byte 0"},
      {.bytes = Message().num(1, 8).text(14, std::string("\x0a\x03\x61\x00\x62", 5)).bytes,
       .what = "NUL",
       .where = "byte 4"},
      {.bytes = Message().add(7, Message()).add(7, Message()).bytes,
       .what = "more than 1 of 'graph'",
       .where = "byte 2"},
  };
  for (const auto &c : cases) {
    Loaded m;
    LK_EXPECT_STATUS(LK_MALFORMED, m.memory(c.bytes));
    EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr(c.what), HasSubstr(c.where)));
  }
}

TEST(OnnxScan, SkeletonLeavesOutPayloads) {
  Graph g;
  g.in("x").out("y").node(node("Relu", {"x"}, {"y"}));
  g.init(tensor("w", LK_F32, {1 << 20}, kRawData, std::string(4 << 20, 'w')));
  g.node(node("Constant", {}, {"c"},
              {attribute("value", kTensor)
                   .add(5, tensor("", LK_F32, {1 << 20}, kFloatData, std::string(4 << 20, 'c')))}));
  const std::string bytes = model(g).text(6, std::string(1 << 20, 'd')).bytes;
  lk::FailingAllocator allocator;
  {
    Loaded m;
    LK_ASSERT_OK(m.memory(bytes, allocator.get()));
    EXPECT_EQ(m.value("w").constant_kind, LK_CONSTANT_MAPPED);
    EXPECT_EQ(m.value("c").constant_kind, LK_CONSTANT_MAPPED);
    EXPECT_EQ(static_cast<const char *>(m.value("w").constant.data)[(4 << 20) - 1], 'w');
    EXPECT_EQ(static_cast<const char *>(m.value("c").constant.data)[(4 << 20) - 1], 'c');
  }
  EXPECT_LT(allocator.peak_bytes(), size_t{100} << 10);
}

} // namespace
