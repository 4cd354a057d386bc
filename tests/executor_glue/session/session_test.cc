// Level 2 of the ABI on the real library: a small model, opened and run by name.
#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "tests/executor_glue/session/small_model.h"
#include "tests/harness/folder.h"

using ::testing::HasSubstr;

namespace {

using namespace lk::small;

TEST_F(Session, VersionsThatAreNotSpokenHaveNoTable) {
  EXPECT_EQ(lk_get_session_api(LK_SESSION_API_VERSION + 1), nullptr);
  ASSERT_NE(level2(), nullptr);
  EXPECT_EQ(level2()->struct_size, sizeof(lk_session_api));
}

TEST_F(Session, Describes) {
  open();
  EXPECT_EQ(level2()->input_count(session), 1u);
  EXPECT_EQ(level2()->output_count(session), 3u);
  lk_value_info info = {};
  info.struct_size = sizeof info;
  LK_ASSERT_OK(level2()->input_info(session, 0, &info, LK_ERR));
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.dtype, uint32_t(LK_F32));
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.dims[0], -1);
  EXPECT_STREQ(info.symbols[0], "N");
  EXPECT_EQ(info.dims[1], 4);
  EXPECT_STREQ(info.symbols[1], "");
  LK_ASSERT_OK(level2()->output_info(session, 2, &info, LK_ERR));
  EXPECT_STREQ(info.name, "t");
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, level2()->output_info(session, 3, &info, LK_ERR));
  lk_model_info model = {};
  model.struct_size = sizeof model;
  LK_ASSERT_OK(level2()->model_info(session, &model, LK_ERR));
  EXPECT_EQ(model.ir_version, 8);
  EXPECT_STREQ(model.producer_name, "");
  ASSERT_EQ(model.n_opsets, 1u);
  EXPECT_STREQ(model.opsets[0].domain, "");
  EXPECT_EQ(model.opsets[0].version, 13);
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, level2()->model_info(session, nullptr, LK_ERR));
  EXPECT_STREQ(level2()->metadata_key(session, 0), "author");
  EXPECT_EQ(level2()->metadata_key(session, 1), nullptr);
  EXPECT_STREQ(level2()->metadata_value(session, "author"), "test");
  EXPECT_EQ(level2()->metadata_value(session, "nobody"), nullptr);
  EXPECT_NE(level2()->executor(session), nullptr);

  const lk_session_stats s = session_stats();
  EXPECT_EQ(s.nodes_in_file, 11u);
  EXPECT_EQ(s.nodes, level2()->node_count(session));
  EXPECT_GE(s.weights_bytes, 16u * 4 + 16);
  EXPECT_EQ(s.runs, 0u);
  EXPECT_GT(s.load_ns, 0u);

  check(numbers(2, 0.1f));
  bool found = false;
  for (uint32_t i = 0; i < level2()->node_count(session); i++) {
    lk_session_node node = {};
    node.struct_size = sizeof node;
    LK_ASSERT_OK(level2()->node_info(session, i, &node, LK_ERR));
    if (std::string(node.op_type) != "MatMul") continue;
    found = true;
    EXPECT_STREQ(node.name, "multiply");
    EXPECT_STRNE(node.implementation, "");
    EXPECT_THAT(node.fused, HasSubstr("relu"));
  }
  EXPECT_TRUE(found);
  uint64_t changes = 0;
  for (const lk_session_pass &pass : passes()) {
    EXPECT_EQ(pass.enabled, 1);
    EXPECT_STRNE(pass.summary, "");
    changes += pass.changes;
  }
  EXPECT_GT(changes, 0u);
}

TEST_F(Session, PassInfoNeedsAnIndexAndASize) {
  open();
  lk_session_pass pass = {};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, level2()->pass_info(session, 0, &pass, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("struct_size"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, level2()->pass_info(session, 0, nullptr, LK_ERR));
  pass.struct_size = sizeof pass;
  const uint32_t count = level2()->pass_count(session);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, level2()->pass_info(session, count, &pass, LK_ERR));
  EXPECT_EQ(pass.name, nullptr);
  // As a caller with an older, shorter struct sees it.
  pass.struct_size = offsetof(lk_session_pass, changes);
  pass.changes = 77;
  LK_EXPECT_OK(level2()->pass_info(session, 0, &pass, LK_ERR));
  EXPECT_STREQ(pass.name, passes()[0].name);
  EXPECT_EQ(pass.changes, 77u);
}

TEST_F(Session, RunsManyShapes) {
  open();
  for (int round = 0; round < 2; round++) {
    for (size_t rows : {1, 3, 8, 2}) check(numbers(rows, 0.2f));
  }
  EXPECT_EQ(session_stats().run_plan_builds, 4u);
  EXPECT_EQ(session_stats().run_plan_hits, 4u);
}

TEST_F(Session, ZeroSizeBatchAndTheNextOne) {
  open();
  Floats none;
  lk_named_tensor x = named("x", {0, 4}, nullptr);
  std::vector<lk_named_tensor> outputs = {{"s", {}}};
  LK_ASSERT_OK(run({x}, outputs));
  EXPECT_EQ(outputs[0].tensor.desc.dims[0], 0);
  level2()->outputs_release(session, outputs.data(), 1);
  check(numbers(2, 0.3f));
}

// The result of a convolution is channels-last, and these types are written plain.
class SessionCast : public Session {
protected:
  template <typename T> void check_cast_of_convolution(uint32_t dtype) {
    proto::Graph g;
    g.in("x", LK_F32, {"1", "2", "2", "3"}).out("y", dtype, {"1", "3", "2", "3"});
    g.init(proto::tensor("w", LK_F32, {3, 2, 1, 1}, proto::kRawData,
                         proto::raw(Floats{1, 0, 0, 1, 2, 3})));
    g.node(proto::node("Conv", {"x", "w"}, {"c"}));
    g.node(proto::node("Cast", {"c"}, {"y"}, {proto::attribute("to", proto::kInt).num(3, dtype)}));
    bytes = proto::model(g).bytes;
    open();
    Floats x(12);
    for (size_t i = 0; i < x.size(); i++) x[i] = float(i);
    T y[18];
    std::vector<lk_named_tensor> outputs = {named("y", {1, 3, 2, 3}, y, dtype)};
    LK_ASSERT_OK(run({named("x", {1, 2, 2, 3}, x.data())}, outputs));
    for (size_t i = 0; i < 6; i++) {
      EXPECT_EQ(y[i], T(x[i])) << i;
      EXPECT_EQ(y[6 + i], T(x[6 + i])) << i;
      EXPECT_EQ(y[12 + i], T(2 * x[i] + 3 * x[6 + i])) << i;
    }
  }
};

TEST_F(SessionCast, OfAConvolutionToI64) {
  check_cast_of_convolution<int64_t>(LK_I64);
}
TEST_F(SessionCast, OfAConvolutionToF64) {
  check_cast_of_convolution<double>(LK_F64);
}
TEST_F(SessionCast, OfAConvolutionToU16) {
  check_cast_of_convolution<uint16_t>(LK_U16);
}
TEST_F(SessionCast, OfAConvolutionToBool) {
  check_cast_of_convolution<bool>(LK_BOOL);
}

TEST_F(Session, PassesCanBeSwitchedOff) {
  open_context();
  std::vector<const char *> names;
  open();
  for (const lk_session_pass &pass : passes()) names.push_back(pass.name);
  level2()->close(session);
  session = nullptr;
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  options.disabled_passes = names.data();
  options.n_disabled_passes = uint32_t(names.size());
  LK_ASSERT_OK(
      level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR));
  for (const lk_session_pass &pass : passes()) {
    EXPECT_EQ(pass.enabled, 0);
    EXPECT_EQ(pass.changes, 0u);
  }
  EXPECT_EQ(level2()->node_count(session), 9u) << "all but the constants";
  check(numbers(3, 0.4f));
}

TEST_F(Session, ResultsOfConstantsBeyondTheLimitAreComputedAtEachRun) {
  bytes = zeros_model_bytes();
  open_context();
  for (const uint64_t limit : {15, 16, 0}) {
    lk_session_options options = LK_SESSION_OPTIONS_INIT;
    options.max_folded_bytes = limit;
    LK_ASSERT_OK(
        level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR));
    EXPECT_EQ(level2()->node_count(session), limit == 15 ? 2u : 1u);
    Floats x = numbers(3, 0.5f);
    std::vector<lk_named_tensor> outputs = {{"y", {}}};
    LK_ASSERT_OK(run({x_of(x)}, outputs));
    expect_near(elements(outputs[0]), x);
    level2()->outputs_release(session, outputs.data(), 1);
    level2()->close(session);
    session = nullptr;
  }
}

TEST_F(Session, BadOptionsAreNamed) {
  open_context();
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  options.run_plans = 2;
  lk_session *none = reinterpret_cast<lk_session *>(1);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, level2()->open_memory(context, bytes.data(), bytes.size(),
                                                          &options, &none, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("run_plans"));
  EXPECT_EQ(none, nullptr);
  options.run_plans = 0;
  const char *unknown[] = {"no such pass"};
  options.disabled_passes = unknown;
  options.n_disabled_passes = 1;
  LK_EXPECT_STATUS(LK_NOT_FOUND, level2()->open_memory(context, bytes.data(), bytes.size(),
                                                       &options, &none, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("disable pass 'no such pass': there is no pass of that name"));
  LK_EXPECT_STATUS(LK_NOT_FOUND,
                   level2()->open(context, "/no/such/model.onnx", nullptr, &none, LK_ERR));
  LK_EXPECT_STATUS(LK_MALFORMED,
                   level2()->open_memory(context, "garbage", 7, nullptr, &none, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, level2()->open(context, nullptr, nullptr, &none, LK_ERR));
}

// What is NULL is named; what would have been returned is NULL then, if there is room for it.
TEST_F(Session, OptionsOfZeroesAreTheDefaults) {
  open_context();
  lk_session_options options = {};
  options.struct_size = sizeof options;
  LK_ASSERT_OK(
      level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR));
  check(numbers(2, 0.5f));
  check(numbers(2, 0.5f));
  EXPECT_EQ(stats().kind[LK_KIND_RUN].hits, 1u) << "run plans are kept";
}

TEST_F(Session, OpeningNeedsAContextAndASource) {
  open_context();
  lk_session *const stale = reinterpret_cast<lk_session *>(1);
  const std::pair<const char *, std::function<lk_status(lk_session **)>> ways[] = {
      {"context", [&](auto out) { return level2()->open(nullptr, "m", nullptr, out, LK_ERR); }},
      {"path", [&](auto out) { return level2()->open(context, nullptr, nullptr, out, LK_ERR); }},
      {"context",
       [&](auto out) { return level2()->open_memory(nullptr, "m", 1, nullptr, out, LK_ERR); }},
      {"data",
       [&](auto out) { return level2()->open_memory(context, nullptr, 1, nullptr, out, LK_ERR); }},
      {"clone", [&](auto out) { return level2()->clone(nullptr, out, LK_ERR); }},
  };
  for (const auto &[what, open] : ways) {
    lk_session *out = stale;
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, open(&out));
    EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr(what), HasSubstr("NULL, it is required")));
    EXPECT_EQ(out, nullptr) << what;
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, open(nullptr));
  }
}

// Writes other weights into the file, where they lie.
void overwrite_weights(const std::string &path, const std::string &model) {
  const float first = -0.7f; // of w
  std::string weights(reinterpret_cast<const char *>(&first), sizeof first);
  const size_t at = model.find(weights);
  ASSERT_NE(at, std::string::npos);
  FILE *file = fopen(path.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(fseek(file, long(at), SEEK_SET), 0);
  EXPECT_EQ(fwrite("\x7f\x7f\x7f\x3f", 1, 4, file), 4u);
  fclose(file);
}

// Weights are packed when a run needs them, from the mapped file: never others than were opened.
TEST_F(Session, WeightsThatWereWrittenOverAreNotPacked) {
  lk::Folder folder;
  const std::string path = folder.write("m.onnx", bytes);
  open_context();
  LK_ASSERT_OK(level2()->open(context, path.c_str(), nullptr, &session, LK_ERR));
  overwrite_weights(path, bytes);
  Floats x = numbers(2, 0);
  std::vector<lk_named_tensor> outputs = {{"y", {}}};
  LK_EXPECT_STATUS(LK_IO, run({x_of(x)}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr(path));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("was written over"));
  EXPECT_EQ(outputs[0].tensor.data, nullptr);
  // What was packed before the file has changed stays right.
  folder.write("m.onnx", bytes);
  check(x);
  overwrite_weights(path, bytes);
  check(x);
}

TEST_F(Session, ACopiedModelNeedsItsFileNoMore) {
  lk::Folder folder;
  const std::string path = folder.write("m.onnx", bytes);
  open_context();
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  options.copy_model = 2;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   level2()->open(context, path.c_str(), &options, &session, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("copy_model: it is 2"));
  options.copy_model = 1;
  LK_ASSERT_OK(level2()->open(context, path.c_str(), &options, &session, LK_ERR));
  ASSERT_EQ(truncate(path.c_str(), 0), 0);
  check(numbers(2, 0));
  check(numbers(5, 0));
  lk_session *clone = nullptr;
  LK_ASSERT_OK(level2()->clone(session, &clone, LK_ERR));
  check_in(clone, numbers(3, 0));
  level2()->close(clone);
}

TEST_F(Session, WrongNamesAreNamed) {
  open();
  Floats x = numbers(1, 1);
  std::vector<lk_named_tensor> outputs = {{"y", {}}};
  LK_EXPECT_STATUS(LK_NOT_FOUND, run({named("image", {1, 4}, x.data())}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'image'"));
  LK_EXPECT_STATUS(LK_NOT_FOUND, run({}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'x' is missing"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run({x_of(x), x_of(x)}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'x' is given twice"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run({named(nullptr, {1, 4}, x.data())}, outputs));
  outputs = {{"y", {}}, {"z", {}}};
  LK_EXPECT_STATUS(LK_NOT_FOUND, run({x_of(x)}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'z'"));
  outputs = {{"y", {}}, {"y", {}}};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run({x_of(x)}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'y' is given twice"));
  for (const auto &output : outputs) EXPECT_EQ(output.tensor.data, nullptr);
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run({named("x", {4}, x.data())}, outputs = {{"y", {}}}));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("?x4:f32"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   run({named("x", {1, 4}, x.data(), LK_I32)}, outputs = {{"y", {}}}));
  check(x);
}

// Names that no terminal should see: the session's own stay as they are, sentences escape them.
TEST_F(Session, OddNamesAreKeptAndSentencesEscapeThem) {
  const std::string input = "x\xff\x1b[2J", output = "y\n\xe2\x80\xae";
  proto::Graph g;
  g.in(input).out(output);
  g.node(proto::node("Relu", {input}, {output}));
  bytes = proto::model(g).add(14, proto::entry("key\xfe", "value\x07")).bytes;
  open();
  lk_value_info info = {};
  info.struct_size = sizeof info;
  LK_ASSERT_OK(level2()->input_info(session, 0, &info, LK_ERR));
  EXPECT_EQ(input, info.name);
  LK_ASSERT_OK(level2()->output_info(session, 0, &info, LK_ERR));
  EXPECT_EQ(output, info.name);
  EXPECT_STREQ("key\xfe", level2()->metadata_key(session, 0));
  EXPECT_STREQ("value\x07", level2()->metadata_value(session, "key\xfe"));

  Floats x = numbers(1, 1);
  std::vector<lk_named_tensor> outputs = {{output.c_str(), {}}};
  LK_EXPECT_STATUS(LK_NOT_FOUND, run({}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("input 'x\\xff\\x1b[2J' is missing"));
  LK_EXPECT_STATUS(LK_NOT_FOUND, run({named("\x80", {1, 4}, x.data())}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("no input '\\x80'"));
  LK_ASSERT_OK(run({named(input.c_str(), {1, 4}, x.data())}, outputs));
  EXPECT_EQ(4u, elements(outputs[0]).size());
  level2()->outputs_release(session, outputs.data(), 1);
}

TEST_F(Session, OfAFileKeepsNoneOpen) {
  lk::Folder folder;
  const std::string path = folder.write("m.onnx", bytes);
  const auto count_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  open_context();
  const auto before = count_files();
  for (int32_t copies = 0; copies < 2; copies++) {
    lk_session_options options = LK_SESSION_OPTIONS_INIT;
    options.copy_model = copies;
    LK_ASSERT_OK(level2()->open(context, path.c_str(), &options, &session, LK_ERR));
    EXPECT_EQ(count_files(), before) << "a model is mapped, or copied";
    level2()->close(session);
    session = nullptr;
  }
}

TEST_F(Session, ReleaseFreesWhatTheLibraryAllocatedAndNothingElse) {
  open();
  Floats x = numbers(2, 1), room(8, 9.0f);
  std::vector<lk_named_tensor> outputs = {named("y", {2, 4}, room.data()), {"s", {}}};
  LK_ASSERT_OK(run({x_of(x)}, outputs));
  expect_near(room, expected_y(x));
  void *given = outputs[1].tensor.data;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(given) % 64, 0u);
  // What the library made serves as the caller's room in a second run.
  x = numbers(2, 3);
  LK_ASSERT_OK(run({x_of(x)}, outputs));
  EXPECT_EQ(outputs[1].tensor.data, given);
  expect_near(elements(outputs[1]), expected_s(expected_y(x)));
  outputs.insert(outputs.begin(), {"none", {}}); // one that no run has written
  level2()->outputs_release(session, outputs.data(), 3);
  outputs.erase(outputs.begin());
  EXPECT_EQ(outputs[0].tensor.data, room.data());
  EXPECT_EQ(outputs[1].tensor.data, nullptr);
  level2()->outputs_release(session, outputs.data(), 2);
  // Not released before the session closes: it goes with the session.
  outputs = {{"s", {}}};
  LK_ASSERT_OK(run({x_of(x)}, outputs));
}

TEST_F(Session, RoomThatIsTooSmallIsLeftAlone) {
  open();
  Floats x = numbers(2, 1), room(12, 9.0f);
  std::vector<lk_named_tensor> outputs = {named("y", {1, 4}, room.data()), {"s", {}}};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, run({x_of(x)}, outputs));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'y'"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("1x4:f32"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("2x4:f32"));
  EXPECT_EQ(room, Floats(12, 9.0f));
  EXPECT_EQ(outputs[1].tensor.data, nullptr);
}

TEST_F(Session, RoomOfAnotherShapeIsTakenUnlessItMustBeExact) {
  open();
  Floats x = numbers(2, 1), room(8, 9.0f);
  lk_named_tensor input = x_of(x), output = named("y", {8}, room.data());
  lk_run_options options = lk::run_options(nullptr, 0);
  options.exact_outputs = 1;
  for (const std::vector<int64_t> &shape :
       std::vector<std::vector<int64_t>>{{8}, {4, 2}, {2, 4, 1}, {2, 2, 2}}) {
    output = named("y", shape, room.data());
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                     level2()->run(session, &input, 1, &output, 1, &options, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("the run makes 2x4:f32, the shapes must be equal"));
    EXPECT_EQ(room, Floats(8, 9.0f));
    LK_EXPECT_OK(level2()->run(session, &input, 1, &output, 1, nullptr, LK_ERR));
    expect_near(room, expected_y(x));
    room = Floats(8, 9.0f);
  }
  output = named("y", {2, 4}, room.data());
  LK_EXPECT_OK(level2()->run(session, &input, 1, &output, 1, &options, LK_ERR));
  expect_near(room, expected_y(x));
}

TEST_F(Session, RecurringShapesLookUpOneKey) {
  open();
  check(numbers(2, 0.5f));
  check(numbers(5, 0.5f));
  const lk_stats before = stats();
  for (int i = 0; i < 3; i++) {
    check(numbers(2, float(i)));
    check(numbers(5, float(i)));
  }
  const lk_stats after = stats();
  EXPECT_EQ(after.kind[LK_KIND_RUN].hits - before.kind[LK_KIND_RUN].hits, 6u);
  EXPECT_EQ(after.kind[LK_KIND_NAME].hits, before.kind[LK_KIND_NAME].hits);
  for (int kind = 0; kind < LK_KIND_COUNT; kind++) {
    EXPECT_EQ(after.kind[kind].misses, before.kind[kind].misses);
    EXPECT_EQ(after.kind[kind].builds, before.kind[kind].builds);
  }
}

TEST_F(Session, WithoutRunPlansEveryNodeIsFoundByName) {
  open(-1);
  const uint64_t n_nodes = level2()->node_count(session);
  check(numbers(2, 0.5f));
  check(numbers(5, 0.5f));
  const lk_stats first = stats();
  EXPECT_EQ(first.kind[LK_KIND_NAME].hits + first.kind[LK_KIND_NAME].misses, 2 * n_nodes);
  EXPECT_EQ(first.kind[LK_KIND_NAME].builds, first.kind[LK_KIND_NAME].misses);
  check(numbers(2, 0.6f));
  check(numbers(5, 0.6f));
  const lk_stats second = stats();
  EXPECT_EQ(second.kind[LK_KIND_NAME].hits - first.kind[LK_KIND_NAME].hits, 2 * n_nodes);
  EXPECT_EQ(second.kind[LK_KIND_NAME].misses, first.kind[LK_KIND_NAME].misses);
  EXPECT_EQ(second.kind[LK_KIND_RUN].entries, 0u);
  EXPECT_EQ(session_stats().run_plan_builds, 0u);
}

TEST_F(Session, SecondSessionPacksNothing) {
  open();
  check(numbers(3, 0.5f));
  const lk_stats before = stats();
  lk_session *first = session;
  open();
  check(numbers(3, 0.7f));
  const lk_stats after = stats();
  EXPECT_EQ(after.weights_packed, before.weights_packed);
  EXPECT_EQ(after.weights_bytes, before.weights_bytes);
  // The first one goes; the second keeps what it uses.
  level2()->close(first);
  check(numbers(3, 0.8f));
  EXPECT_EQ(stats().kind[LK_KIND_RUN].misses, after.kind[LK_KIND_RUN].misses);
}

TEST_F(Session, EqualNamesAndOtherWeightsStayApart) {
  open();
  const std::string other = model_bytes(3.0f);
  lk_session *second = nullptr;
  LK_ASSERT_OK(
      level2()->open_memory(context, other.data(), other.size(), nullptr, &second, LK_ERR));
  for (int i = 0; i < 3; i++) {
    check(numbers(2, float(i)));
    Floats x = numbers(2, float(i));
    lk_named_tensor input = x_of(x), output = {"y", {}};
    LK_ASSERT_OK(level2()->run(second, &input, 1, &output, 1, nullptr, LK_ERR));
    expect_near(elements(output), expected_y(x, 3.0f));
    level2()->outputs_release(second, &output, 1);
  }
  level2()->close(second);
}

TEST_F(Session, CacheOff) {
  open_context(LK_CACHE_OFF);
  open(1);
  for (size_t rows : {2, 5, 2}) check(numbers(rows, 0.5f));
  EXPECT_EQ(stats().entries, 0u);
  EXPECT_EQ(session_stats().run_plan_hits, 0u);
}

TEST_F(Session, TinyBudgetStillGivesRightResults) {
  open_context(LK_CACHE_SHARED, 20000);
  open();
  for (int round = 0; round < 3; round++) {
    for (size_t rows = 1; rows < 20; rows++) check(numbers(rows, 0.5f));
    EXPECT_LE(stats().bytes, 20000u);
  }
}

TEST_F(Session, ClearBetweenRuns) {
  open();
  for (int round = 0; round < 3; round++) {
    check(numbers(4, 0.5f));
    LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
    EXPECT_EQ(stats().entries, 0u);
    EXPECT_EQ(session_stats().frames, 0u);
  }
}

class SessionThreads : public Session, public ::testing::WithParamInterface<uint32_t> {};

TEST_P(SessionThreads, ConcurrentRunsOfOneSession) {
  open_context(GetParam());
  open();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; i++) {
        Floats x = numbers(size_t(1 + (i + t) % 4), float(t));
        lk_named_tensor input = x_of(x), output = {"y", {}};
        if (level2()->run(session, &input, 1, &output, 1, nullptr, nullptr) != LK_OK) {
          wrong++;
          continue;
        }
        const Floats got = elements(output), y = expected_y(x);
        wrong += !lk::all_close(y, got, {1e-5, 4e-6}); // as expect_near
        level2()->outputs_release(session, &output, 1);
      }
    });
  }
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(session_stats().runs, 100u);
}

INSTANTIATE_TEST_SUITE_P(Modes, SessionThreads,
                         ::testing::Values(LK_CACHE_SHARED, LK_CACHE_THREAD, LK_CACHE_OFF));

TEST_F(Session, CancelledBeforeTheFirstOperator) {
  open();
  Floats x = numbers(2, 1), room(8, 9.0f);
  lk_named_tensor input = x_of(x), output = named("y", {2, 4}, room.data());
  volatile int32_t cancel = 1;
  lk_run_options options = lk::run_options(&cancel, 0);
  LK_EXPECT_STATUS(LK_CANCELLED, level2()->run(session, &input, 1, &output, 1, &options, LK_ERR));
  EXPECT_EQ(room, Floats(8, 9.0f));
  options = lk::run_options(nullptr, 1);
  LK_EXPECT_STATUS(LK_DEADLINE, level2()->run(session, &input, 1, &output, 1, &options, LK_ERR));
  EXPECT_EQ(room, Floats(8, 9.0f));
  check(x);
}

TEST_F(Session, OpenSurvivesEveryFailedAllocation) {
  open_context();
  for (size_t n = 1;; n++) {
    allocator.fail_at(n);
    const lk_status status =
        level2()->open_memory(context, bytes.data(), bytes.size(), nullptr, &session, LK_ERR);
    allocator.fail_never();
    lk::test_error().passed = false;
    if (status == LK_OK) break;
    ASSERT_EQ(status, LK_OUT_OF_MEMORY) << "allocation " << n << ": " << LK_MESSAGE;
    ASSERT_EQ(session, nullptr);
    ASSERT_LT(n, 100000u);
  }
  check(numbers(2, 0.5f));
}

} // namespace
