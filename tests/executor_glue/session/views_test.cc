// Values that lie within each other: which nodes take no step then, and that nothing is written
// over which is still read.
#include <latchkey/session.h>

#include <cstring>
#include <random>

#include "tests/executor_glue/session/small_model.h"

namespace {

using lk::small::api;
using lk::small::Floats;
using lk::small::level2;

// A graph of values of `width` columns, in plain loops beside it.
class Model {
public:
  explicit Model(int64_t width) : width_(width) { graph_.in("x", LK_F32, dims("N")); }

  int64_t rows(const std::string &value) const { return rows_of(values_.at(value)); }
  const Floats &operator[](const std::string &value) const { return values_.at(value); }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto &value : values_) all.push_back(value.first);
    return all;
  }
  void input(Floats x) { values_["x"] = std::move(x); }
  void output(const std::string &value) {
    graph_.out(value, LK_F32, dims("M_" + value));
    outputs_.push_back(value);
  }
  const std::vector<std::string> &outputs() const { return outputs_; }

  std::string negate(const std::string &x) {
    Floats y = values_.at(x);
    for (float &v : y) v = -v;
    return add("Neg", {x}, y);
  }
  std::string sum(const std::string &a, const std::string &b) {
    Floats y = values_.at(a);
    for (size_t i = 0; i < y.size(); i++) y[i] += values_.at(b)[i];
    return add("Add", {a, b}, y);
  }
  std::string reshape(const std::string &x) {
    return add("Reshape", {x, list({-1, width_})}, values_.at(x));
  }
  std::string concat(const std::vector<std::string> &parts) {
    Floats y;
    for (const std::string &part : parts) {
      y.insert(y.end(), values_.at(part).begin(), values_.at(part).end());
    }
    return add("Concat", parts, y, {axis()});
  }
  std::string slice(const std::string &x, int64_t begin, int64_t end) {
    return add("Slice", {x, list({begin}), list({end}), list({0})}, part(x, begin, end));
  }
  // Without `wants_first`, output 0 has no name.
  std::vector<std::string> split(const std::string &x, const std::vector<int64_t> &sizes,
                                 bool wants_first = true) {
    std::vector<std::string> names;
    int64_t at = 0;
    for (const int64_t size : sizes) {
      const bool is_wanted = wants_first || !names.empty();
      names.push_back(is_wanted ? "v" + std::to_string(count_++) : "");
      if (is_wanted) values_[names.back()] = part(x, at, at + size);
      at += size;
    }
    graph_.node(proto::node("Split", {x, list(sizes)}, names, {axis()}));
    return names;
  }

  std::string bytes() const { return proto::model(graph_).bytes; }

private:
  std::vector<std::string> dims(const std::string &first) const {
    return {first, std::to_string(width_)};
  }
  int64_t rows_of(const Floats &value) const { return int64_t(value.size()) / width_; }
  static proto::Message axis() { return proto::attribute("axis", proto::kInt).num(3, 0); }
  Floats part(const std::string &x, int64_t begin, int64_t end) const {
    const Floats &from = values_.at(x);
    return {from.begin() + begin * width_, from.begin() + end * width_};
  }
  std::string list(const std::vector<int64_t> &numbers) {
    const std::string name = "list" + std::to_string(count_++);
    graph_.init(proto::tensor(name, LK_I64, {int64_t(numbers.size())}, proto::kInt64Data,
                              proto::varints(numbers)));
    return name;
  }
  std::string add(const char *op_type, const std::vector<std::string> &inputs, const Floats &value,
                  const std::vector<proto::Message> &attributes = {}) {
    const std::string name = "v" + std::to_string(count_++);
    values_[name] = value;
    graph_.node(proto::node(op_type, inputs, {name}, attributes));
    return name;
  }

  int64_t width_;
  int count_ = 0;
  proto::Graph graph_;
  std::map<std::string, Floats> values_;
  std::vector<std::string> outputs_;
};

Floats numbers(int64_t rows, int64_t width) {
  Floats x(size_t(rows * width));
  for (size_t i = 0; i < x.size(); i++) x[i] = float(i % 251) - 125;
  return x;
}

class Views : public lk::small::Session {
protected:
  // Runs the model once and compares its outputs, bit by bit; returns the kinds of the steps.
  std::vector<std::string> steps_of(const Model &model, uint32_t executor = LK_EXECUTOR_NAIVE,
                                    int32_t run_plans = 0) {
    bytes = model.bytes();
    level2()->close(session);
    session = nullptr;
    if (context == nullptr) open_context();
    lk_session_options options = LK_SESSION_OPTIONS_INIT;
    options.executor = executor;
    options.run_plans = run_plans;
    if (executor == LK_EXECUTOR_PARALLEL) options.inter = 2;
    LK_EXPECT_OK(
        level2()->open_memory(context, bytes.data(), bytes.size(), &options, &session, LK_ERR));
    if (session == nullptr) return {"not opened"};
    run_and_compare(model);
    return kinds_;
  }

private:
  void run_and_compare(const Model &model) {
    lk_profile *profile = nullptr;
    LK_ASSERT_OK(level2()->profile_create(nullptr, &profile, LK_ERR));
    Floats x = model["x"];
    lk_named_tensor input =
        named("x", {model.rows("x"), int64_t(x.size()) / model.rows("x")}, x.data());
    std::vector<lk_named_tensor> outputs;
    for (const std::string &name : model.outputs()) outputs.push_back({name.c_str(), {}});
    lk_run_options run_options = lk::run_options(nullptr, 0, profile);
    LK_ASSERT_OK(level2()->run(session, &input, 1, outputs.data(), uint32_t(outputs.size()),
                               &run_options, LK_ERR));
    for (size_t i = 0; i < outputs.size(); i++) {
      EXPECT_EQ(elements(outputs[i]), model[model.outputs()[i]]) << model.outputs()[i];
    }
    EXPECT_EQ(x, model["x"]) << "the caller's input was written over";
    level2()->outputs_release(session, outputs.data(), uint32_t(outputs.size()));
    kinds_.clear();
    lk_profile_info info = {};
    info.struct_size = sizeof info;
    LK_ASSERT_OK(level2()->profile_info(profile, &info, LK_ERR));
    for (uint32_t i = 0; i < info.n_entries; i++) {
      lk_profile_entry entry = {};
      entry.struct_size = sizeof entry;
      LK_ASSERT_OK(level2()->profile_entry(profile, i, &entry, LK_ERR));
      kinds_.push_back(entry.kind);
    }
    level2()->profile_destroy(profile);
  }

  std::vector<std::string> kinds_;
};

using Kinds = std::vector<std::string>;

TEST_F(Views, PartsOfASplitAreWhereTheyAre) {
  Model model(16);
  model.input(numbers(8, 16));
  const auto parts = model.split("x", {3, 0, 5});
  model.output(model.negate(parts[0]));
  model.output(model.sum(parts[2], parts[2]));
  model.output(model.concat({parts[1], model.slice(parts[2], 1, 2)}));
  EXPECT_EQ(steps_of(model), (Kinds{"element", "element"})); // a Concat of one part is that part
}

TEST_F(Views, APartWithoutElementsIsThereBehindOneThatNobodyWants) {
  Model model(16);
  model.input(numbers(8, 16));
  const auto parts = model.split("x", {8, 0}, false);
  model.output(model.concat({parts[1], model.negate("x")}));
  model.output(parts[1]);
  EXPECT_EQ(steps_of(model), (Kinds{"element"}));
}

TEST_F(Views, PartsThatAreGraphOutputsAreWrittenThere) {
  Model model(16);
  model.input(numbers(8, 16));
  for (const std::string &part : model.split(model.negate("x"), {3, 5})) model.output(part);
  EXPECT_EQ(steps_of(model), (Kinds{"element", "copy", "copy"}));
}

TEST_F(Views, WhatIsConcatenatedIsWrittenWhereItBelongs) {
  Model model(16);
  model.input(numbers(8, 16));
  const std::string a = model.negate("x"), b = model.sum("x", "x");
  model.output(model.concat({b, a}));
  EXPECT_EQ(steps_of(model), (Kinds{"element", "element"}));
}

TEST_F(Views, TheSameInputTwiceIsCopied) {
  Model model(16);
  model.input(numbers(8, 16));
  const std::string a = model.negate("x");
  model.output(model.concat({a, a}));
  EXPECT_EQ(steps_of(model), (Kinds{"element", "concat"}));
}

TEST_F(Views, WhatIsNotAlignedIsCopied) {
  Model model(3);
  model.input(numbers(8, 3));
  const auto parts = model.split("x", {3, 5});
  model.output(model.concat({model.negate(parts[0]), model.negate(parts[1])}));
  EXPECT_EQ(steps_of(model), (Kinds{"copy", "copy", "element", "element", "concat"}));
}

// 64 KiB and more.
TEST_F(Views, ASmallPartDoesNotKeepALargeValue) {
  for (const int64_t rows : {16, 400}) {
    Model model(1024);
    model.input(numbers(3200, 1024));
    const std::string large = model.negate("x");
    model.output(model.negate(model.slice(large, 0, rows)));
    EXPECT_EQ(steps_of(model).size(), rows == 16 ? 3u : 2u);
  }
}

// In-place operators behind views, parts that are read again, values in several concatenations.
TEST_F(Views, OfRandomGraphsGiveWhatPlainLoopsGive) {
  size_t moved = 0, moving = 0;
  for (uint32_t seed = 0; seed < 300; seed++) {
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return size_t(random() % n); };
    Model model(seed % 4 == 0 ? 5 : 16);
    model.input(numbers(int64_t(1 + below(12)), seed % 4 == 0 ? 5 : 16));
    const auto any = [&] {
      const auto names = model.names();
      return names[below(names.size())];
    };
    for (int i = 0; i < 14; i++) {
      const std::string a = any(), b = any();
      const int64_t rows = model.rows(a);
      const int64_t cut = int64_t(below(size_t(rows) + 1));
      switch (below(6)) {
      case 0:
        model.negate(a);
        break;
      case 1:
        model.rows(b) == rows ? model.sum(a, b) : model.negate(b);
        break;
      case 2:
        model.reshape(a);
        break;
      case 3:
        model.split(a, {cut, rows - cut}), moving += 2;
        break;
      case 4:
        model.slice(a, cut / 2, cut), moving++;
        break;
      default:
        moving++;
        model.concat(below(2) == 0 ? std::vector<std::string>{a, b}
                                   : std::vector<std::string>{b, any(), a});
      }
    }
    for (const std::string &name : model.names()) {
      if (name != "x" && below(4) == 0) model.output(name);
    }
    model.output(model.negate(any()));
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const std::string &kind : steps_of(model)) moved += kind == "copy" || kind == "concat";
    (void)steps_of(model, LK_EXECUTOR_NAIVE, 0);
    (void)steps_of(model, LK_EXECUTOR_PARALLEL);
    if (HasFailure()) return;
  }
  EXPECT_GT(moved, 100u);
  EXPECT_LT(moved, moving / 2) << "hardly anything is a view";
}

} // namespace
