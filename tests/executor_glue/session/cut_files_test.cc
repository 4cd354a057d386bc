// Files of a model that are cut while it is open, as by a copy onto them: a sentence, and no end of
// the process; once they are back, the session works on. And files that several sessions read.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/executor_glue/session/small_model.h"
#include "tests/harness/folder.h"

using namespace lk::small;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace {

constexpr int64_t kWords = 4096, kWidth = 80; // 1.25 MiB: read where it lies
constexpr int64_t kOut = 8;

const Floats table = spread(kWords * kWidth, 1), weights = spread(kWidth * kOut, 0.3f);

// y = table[i] w, with the table in a file beside the model, and `others` more files.
std::string embedding(int others) {
  proto::Graph g;
  g.in("i", LK_I64, {"N"}).out("y", LK_F32, {"N", std::to_string(kOut)});
  std::string rows = "rows";
  for (int i = 0; i < others; i++) {
    const std::string name = "bias" + std::to_string(i);
    g.init(proto::external(name, LK_F32, {kWidth}, {{"location", name}}));
  }
  g.init(proto::external("table", LK_F32, {kWords, kWidth}, {{"location", "table.bin"}}));
  g.init(proto::tensor("w", LK_F32, {kWidth, kOut}, proto::kRawData, proto::raw(weights)));
  g.node(proto::node("Gather", {"table", "i"}, {"rows"}));
  for (int i = 0; i < others; i++) {
    const std::string next = "rows" + std::to_string(i);
    g.node(proto::node("Add", {rows, "bias" + std::to_string(i)}, {next}));
    rows = next;
  }
  g.node(proto::node("MatMul", {rows, "w"}, {"y"}));
  return proto::model(g).bytes;
}

class CutFiles : public Session {
protected:
  void open_embedding(int others = 0, int32_t run_plans = 0) {
    for (int i = 0; i < others; i++) {
      folder.write("bias" + std::to_string(i), proto::raw(Floats(kWidth, 0)));
    }
    restore();
    model = folder.write("m.onnx", embedding(others));
    if (context == nullptr) open_context();
    lk_session_options options = LK_SESSION_OPTIONS_INIT;
    options.run_plans = run_plans;
    LK_ASSERT_OK(level2()->open(context, model.c_str(), &options, &session, LK_ERR));
  }
  void restore() { data = folder.write("table.bin", proto::raw(table)); }
  // A session does not look at its files each time, but every 10 ms.
  static void cut(const std::string &path, size_t size = 0) {
    ASSERT_EQ(truncate(path.c_str(), off_t(size)), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(11));
  }
  lk_status run_embedding(lk_session *which, std::vector<int64_t> indices, Floats *out = nullptr) {
    std::vector<lk_named_tensor> outputs = {{"y", {}}};
    const lk_status status =
        run_in(which, {named("i", {int64_t(indices.size())}, indices.data(), LK_I64)}, outputs);
    if (status == LK_OK && out != nullptr) *out = elements(outputs[0]);
    level2()->outputs_release(which, outputs.data(), 1);
    return status;
  }
  void check_embedding(lk_session *which, const std::vector<int64_t> &indices) {
    Floats got, wanted;
    LK_ASSERT_OK(run_embedding(which, indices, &got));
    for (const int64_t i : indices) {
      for (int64_t c = 0; c < kOut; c++) {
        double sum = 0;
        for (int64_t k = 0; k < kWidth; k++) {
          sum += double(table[size_t(i * kWidth + k)]) * double(weights[size_t(k * kOut + c)]);
        }
        wanted.push_back(float(sum));
      }
    }
    EXPECT_TRUE(lk::all_close(wanted, got, {1e-5, 1e-5}));
  }

  lk::Folder folder;
  std::string model, data;
};

TEST_F(CutFiles, BeforeTheFirstRun) {
  const std::string path = folder.write("m.onnx", bytes);
  open_context();
  LK_ASSERT_OK(level2()->open(context, path.c_str(), nullptr, &session, LK_ERR));
  cut(path);
  Floats x = numbers(2, 0);
  for (int i = 0; i < 2; i++) {
    std::vector<lk_named_tensor> outputs = {{"y", {}}};
    LK_EXPECT_STATUS(LK_IO, run({x_of(x)}, outputs));
    EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr(path), HasSubstr("was cut")));
    EXPECT_EQ(outputs[0].tensor.data, nullptr);
  }
  folder.write("m.onnx", bytes);
  check(x);
}

// What was packed, or copied since it is small, needs the file no more.
TEST_F(CutFiles, OfWhichAllWasPackedAreNotMissed) {
  const std::string path = folder.write("m.onnx", bytes);
  open_context();
  LK_ASSERT_OK(level2()->open(context, path.c_str(), nullptr, &session, LK_ERR));
  check(numbers(2, 0));
  cut(path);
  check(numbers(2, 1));
  check(numbers(7, 0));
}

TEST_F(CutFiles, OfWhichEachRunReads) {
  open_embedding();
  check_embedding(session, {0, 5, kWords - 1});
  EXPECT_EQ(stats().weights_lent_bytes, uint64_t(kWords * kWidth) * 4);
  for (const size_t left : {size_t(0), size_t(4096), table.size() * 4 / 2}) {
    cut(data, left);
    for (const std::vector<int64_t> &indices :
         {std::vector<int64_t>{0, 5, kWords - 1}, std::vector<int64_t>{1}}) {
      LK_EXPECT_STATUS(LK_IO, run_embedding(session, indices));
      EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("table.bin"), HasSubstr("was cut")));
    }
    restore();
    check_embedding(session, {7, 0, kWords - 1});
  }
}

TEST_F(CutFiles, BeforeARunThatWouldReadFromThemWhereTheyLie) {
  open_embedding();
  cut(data);
  LK_EXPECT_STATUS(LK_IO, run_embedding(session, {0}));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr(model), HasSubstr("was cut")));
  EXPECT_EQ(stats().weights_lent_bytes, 0u);
  restore();
  check_embedding(session, {0});
}

// Also after a run that failed, and where no run plans are kept.
TEST_F(CutFiles, OfWhichEachRunReadsWhateverCameBefore) {
  for (const int32_t run_plans : {0, -1}) {
    open_embedding(0, run_plans);
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, run_embedding(session, {kWords}));
    cut(data);
    LK_EXPECT_STATUS(LK_IO, run_embedding(session, {0}));
    restore();
    check_embedding(session, {0});
    check_embedding(session, {0});
    cut(data);
    LK_EXPECT_STATUS(LK_IO, run_embedding(session, {0}));
    LK_EXPECT_STATUS(LK_IO, run_embedding(session, {0, 5}));
    restore();
    check_embedding(session, {0, 5});
    level2()->close(session);
    session = nullptr;
  }
}

TEST_F(CutFiles, AmongMany) {
  constexpr int kOthers = 3;
  open_embedding(kOthers);
  check_embedding(session, {3, 4});
  cut(folder.path() + "/bias2");
  LK_EXPECT_STATUS(LK_IO, run_embedding(session, {3, 4}));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("'bias2'"), HasSubstr("was cut")));
}

// Where the model as it was opened reads nothing of the file, a run that gives a default may.
TEST_F(CutFiles, OfWhichOnlyAVariantReads) {
  proto::Graph g, none, some;
  none.node(
      proto::node("Cast", {"i"}, {"v"}, {proto::attribute("to", proto::kInt).num(3, LK_F32)}));
  none.out("v");
  some.node(proto::node("Gather", {"table", "i"}, {"v"})).out("v");
  g.in("i", LK_I64, {"N"}).in("plain", LK_BOOL, {}).out("y", LK_F32, {});
  g.init(proto::tensor("plain", LK_BOOL, {}, proto::kInt32Data, proto::varint(1)));
  g.init(proto::external("table", LK_F32, {kWords, kWidth}, {{"location", "table.bin"}}));
  g.node(proto::node("If", {"plain"}, {"y"},
                     {proto::attribute("then_branch", proto::kGraph).add(6, none.m),
                      proto::attribute("else_branch", proto::kGraph).add(6, some.m)}));
  restore();
  model = folder.write("m.onnx", proto::model(g).bytes);
  open_context();
  LK_ASSERT_OK(level2()->open(context, model.c_str(), nullptr, &session, LK_ERR));
  std::vector<int64_t> i = {3};
  uint8_t plain = 0;
  const lk_named_tensor indices = named("i", {1}, i.data(), LK_I64);
  const auto row = [&](const std::vector<lk_named_tensor> &inputs, Floats *out) {
    std::vector<lk_named_tensor> outputs = {{"y", {}}};
    const lk_status status = run_in(session, inputs, outputs);
    if (status == LK_OK) *out = elements(outputs[0]);
    level2()->outputs_release(session, outputs.data(), 1);
    return status;
  };
  Floats got;
  LK_ASSERT_OK(row({indices}, &got));
  EXPECT_EQ(got, Floats{3});
  const std::vector<lk_named_tensor> given = {indices, named("plain", {}, &plain, LK_BOOL)};
  LK_ASSERT_OK(row(given, &got));
  EXPECT_EQ(got, Floats(&table[3 * kWidth], &table[4 * kWidth]));
  EXPECT_EQ(stats().weights_lent_bytes, uint64_t(kWords * kWidth) * 4);
  cut(data);
  LK_EXPECT_STATUS(LK_IO, row(given, &got));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("table.bin"), HasSubstr("was cut")));
  restore();
  LK_ASSERT_OK(row(given, &got));
  EXPECT_EQ(got, Floats(&table[3 * kWidth], &table[4 * kWidth]));
}

// A clone reads the model anew; closing reads nothing that is gone.
TEST_F(CutFiles, BeforeAClone) {
  open_embedding();
  check_embedding(session, {1});
  lk_session *clone = nullptr, *none = nullptr;
  LK_ASSERT_OK(level2()->clone(session, &clone, LK_ERR));
  check_embedding(clone, {1});
  cut(model);
  LK_EXPECT_STATUS(LK_IO, level2()->clone(session, &none, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr(model), HasSubstr("was cut")));
  EXPECT_EQ(none, nullptr);
  cut(data);
  LK_EXPECT_STATUS(LK_IO, run_embedding(clone, {1}));
  level2()->close(clone);
  LK_EXPECT_STATUS(LK_IO, run_embedding(session, {1}));
}

// Two sessions of equal content, each in a file of its own: one file is as good as the other where
// both are open, and what stays when a session closes is not read from a file that is gone.
TEST_F(CutFiles, OfOneOfTwoThatAreEqual) {
  open_embedding();
  check_embedding(session, {1});
  lk::Folder other;
  other.write("table.bin", proto::raw(table));
  const std::string same = other.write("m.onnx", embedding(0));
  lk_session *second = nullptr;
  LK_ASSERT_OK(level2()->open(context, same.c_str(), nullptr, &second, LK_ERR));
  check_embedding(second, {1});
  cut(data);
  cut(model);
  check_embedding(second, {1, 2});
  LK_EXPECT_STATUS(LK_IO, run_embedding(session, {1}));
  level2()->close(session);
  session = second;
  check_embedding(second, {5});
}

// Sessions of one file, which read it where it lies: one mapping serves both while it is needed,
// and goes with the last plan that reads it.
class TwoSessions : public CutFiles {
protected:
  lk_session *open_another(uint32_t copies = 0) {
    lk_session *another = nullptr;
    lk_session_options options = LK_SESSION_OPTIONS_INIT;
    options.copy_model = copies;
    LK_EXPECT_OK(level2()->open(context, model.c_str(), &options, &another, LK_ERR));
    return another;
  }
  static constexpr uint64_t kTable = uint64_t(kWords * kWidth) * 4;
};

TEST_F(TwoSessions, OfOneFileReadOneMapping) {
  open_embedding();
  lk_session *second = open_another();
  check_embedding(session, {1});
  check_embedding(second, {1, 2});
  check_embedding(session, {3, 4, 5});
  EXPECT_EQ(stats().weights_lent_bytes, kTable);
  level2()->close(second);
  EXPECT_EQ(stats().weights_lent_bytes, kTable);
}

TEST_F(TwoSessions, MayBeClosedInEitherOrder) {
  for (const bool closes_first : {false, true}) {
    for (const bool runs_first : {false, true}) {
      open_embedding();
      if (runs_first) check_embedding(session, {1, 5});
      lk_session *second = open_another();
      check_embedding(runs_first ? second : session, {1, 5, 7});
      check_embedding(session, {1, 5, 7, kWords - 1}); // in a plan made after the second came
      check_embedding(second, {0});
      level2()->close(closes_first ? session : second);
      session = closes_first ? second : session;
      check_embedding(session, {1, 5});
      check_embedding(session, {1, 5, 7, kWords - 1});
      check_embedding(session, {2, 3, 4, 5, 6});
      level2()->close(session);
      session = nullptr;
      EXPECT_EQ(stats().weights_lent_bytes, 0u);
    }
  }
}

// A file that no session has any more may be written over and cut: sessions of other files with
// the same content, and of copies, do not read it.
TEST_F(TwoSessions, OfEqualFilesReadEachItsOwn) {
  open_embedding();
  lk_session *copied = open_another(1), *other = nullptr;
  lk::Folder elsewhere;
  elsewhere.write("table.bin", proto::raw(table));
  const std::string same = elsewhere.write("m.onnx", embedding(0));
  LK_ASSERT_OK(level2()->open(context, same.c_str(), nullptr, &other, LK_ERR));
  for (lk_session *each : {session, copied, other}) check_embedding(each, {1});
  for (lk_session *each : {session, copied, other}) check_embedding(each, {1, 2});
  level2()->close(other);
  elsewhere.write("table.bin", proto::raw(Floats(table.size(), 7)));
  for (lk_session *each : {session, copied}) check_embedding(each, {1, 2});
  cut(elsewhere.path() + "/table.bin");
  for (lk_session *each : {session, copied}) check_embedding(each, {1, 2, 3});
  level2()->close(session);
  session = copied;
  cut(data);
  for (const int64_t row : {1, 2}) check_embedding(session, {row});
  check_embedding(session, {1, 2});
}

} // namespace
