// Nodes of every row of the operator table with one name in one context, in histories at random:
// they are alike but for one thing each, be it a dimension, a type, an attribute, an opset, a
// post-op, a bit of a constant, or that an input is one. They come, are bound, run and go in two
// executors, whatever generation their host gives them, and each has the result that it has alone.
#include <memory>

#include "tests/harness/environment.h"
#include "tests/isolation/node_model.h"
#include "tests/ops/infer/made.h"

namespace {

using namespace lk::infer;
using lk::api;

// Of plans in the cache, and of plans of a node's own.
uint32_t any_flags(std::mt19937 &random) {
  return random() % 2 == 0 ? LK_BIND_OWN : 0;
}

// What a node is, and what comes of it alone.
struct Subject {
  Node node;
  uint32_t numbers = 1; // which
  uint64_t constants = 0;
  std::unique_ptr<Operands> operands;
  lk_status status = LK_OK; // of making, else of running it
  Bits bits;

  void compute() {
    const lk::Context context = lk::open(LK_CACHE_OFF, 1);
    const lk::Executor executor = lk::executor_in(context);
    operands = std::make_unique<Operands>(node, numbers);
    Made made(executor, node, *operands, constants);
    status = made.make(nullptr);
    if (status == LK_OK) status = made.run(&bits, nullptr);
  }
};

constexpr uint64_t MOST_BYTES = 1 << 16;

// How many histories: more by `make nightly`.
unsigned count_of(double count) {
#if defined(__SANITIZE_THREAD__)
  count = 1; // what it finds does not depend on numbers
#endif
  return unsigned(count * lk::number_of_variable("LK_TEST_EVERY_ROW_TIMES", 1));
}

// The same but for one thing, if there is such a thing.
void change(std::mt19937 &random, Subject *subject) {
  Node &node = subject->node;
  const auto any = [&](size_t count) { return random() % count; };
  switch (any(8)) {
  case 0:
    if (node.inputs.empty()) return;
    if (Input &input = node.inputs[any(node.inputs.size())];
        input.bytes.empty() && !input.shape.empty()) {
      Dim &dim = input.shape[any(input.shape.size())];
      dim = Draw::number(dim.number + (any(2) == 0 ? 1 : -1));
      if (dim.number < 0) dim = Draw::number(1);
    }
    return;
  case 1:
    subject->numbers += 100;
    return;
  case 2:
    subject->constants ^= all_but_first(node);
    return;
  case 3:
    if (!node.ints.empty()) {
      auto &values = std::next(node.ints.begin(), long(any(node.ints.size())))->second;
      if (!values.empty()) values[any(values.size())] += any(2) == 0 ? 1 : -1;
    }
    return;
  case 4:
    if (!node.floats.empty()) {
      auto &values = std::next(node.floats.begin(), long(any(node.floats.size())))->second;
      if (!values.empty()) values[any(values.size())] *= 1.25F;
    }
    return;
  case 5:
    if (node.inputs.empty()) return;
    if (Input &input = node.inputs[any(node.inputs.size())]; !input.bytes.empty()) {
      input.bytes[any(input.bytes.size() / 8 + 1) * 8 % input.bytes.size()] ^= 1; // little endian
    }
    return;
  case 6:
    node.post_ops.push_back({LK_POST_LINEAR, -1, 1 + float(any(3)), 0.5F});
    return;
  default:
    constexpr uint32_t types[] = {LK_F64, LK_F16, LK_BF16, LK_I32, LK_U8};
    node = any(2) == 0 ? as_type(node, types[any(5)]) : node;
    if (any(2) == 0) node.opset = std::min(node.opset + 1, int32_t(LK_MAX_OPSET));
  }
}

class RowsOfOneName : public ::testing::TestWithParam<lk_op_row> {
protected:
  std::vector<Subject> draw(std::mt19937 &random) {
    std::vector<Subject> subjects;
    const auto rule = rules().find(GetParam().op_type);
    EXPECT_NE(rule, rules().end());
    for (unsigned seed = unsigned(random()), n = 0; subjects.size() < 8 && n < 60; n++) {
      Subject next;
      if (subjects.size() % 4 == 0) {
        next.node = huge_node(GetParam(), rule->second, seed++, 5);
        next.constants = all_but_first(next.node);
      } else {
        const Subject &like = subjects[subjects.size() / 4 * 4];
        next.node = like.node;
        next.numbers = like.numbers;
        next.constants = like.constants;
        change(random, &next);
      }
      if (input_bytes(next.node) > MOST_BYTES) continue;
      next.compute();
      if (next.status != LK_OK && n % 4 != 0) continue; // a few that are refused
      subjects.push_back(std::move(next));
    }
    return subjects;
  }

  void live(uint32_t mode, std::mt19937 &random, const std::vector<Subject> &subjects) {
    const lk::Context context = lk::open(mode, 1);
    const lk::Executor executors[] = {lk::executor_in(context), lk::executor_in(context)};
    struct Living {
      const Subject *subject;
      std::unique_ptr<Made> made;
    };
    std::vector<Living> living;
    for (int step = 0; step < 60 && !HasFailure(); step++) {
      const unsigned dice = unsigned(random() % 20);
      if (dice < 8 || living.empty()) {
        const Subject &subject = subjects[random() % subjects.size()];
        const uint64_t generation = random() % 4 == 0 ? 1 : 0;
        living.push_back(
            {&subject, std::make_unique<Made>(executors[random() % 2], subject.node,
                                              *subject.operands, subject.constants, generation)});
        Made &made = *living.back().made;
        // the plan of the last call may be that of another
        if (living.size() > 1 && random() % 3 == 0) {
          made.plan = std::move((living.end() - 2)->made->plan);
        }
        check(subject, made, made.make(nullptr));
        if (made.op.get() == nullptr || made.plan.get() == nullptr) living.pop_back();
      } else if (dice < 15) {
        Living &one = living[random() % living.size()];
        check(*one.subject, *one.made, one.made->bind(nullptr, any_flags(random)));
      } else if (dice < 18) {
        std::swap(living[random() % living.size()], living.back());
        living.pop_back();
      } else if (dice < 19) {
        LK_EXPECT_OK(
            api()->cache_clear(context, random() % 2 == 0 ? executors[0].get() : nullptr, LK_ERR));
      } else {
        const uint64_t entries = random() % 2 == 0 ? 2 : LK_UNLIMITED;
        LK_EXPECT_OK(api()->cache_set_capacity(context, nullptr, entries, LK_UNSET, LK_ERR));
      }
    }
  }

  void check(const Subject &subject, Made &made, lk_status status) {
    Bits bits;
    if (status == LK_OK) status = made.run(&bits, nullptr);
    EXPECT_EQ(status, subject.status) << describe(subject.node);
    EXPECT_TRUE(bits == subject.bits) << describe(subject.node);
  }
};

// One node at sizes that come in any order, each of which may come of the plan of another.
class RowsOfManySizes : public RowsOfOneName {
protected:
  // What a rule draws at several sizes, as far as nothing else differs.
  std::vector<Subject> draw_sizes(unsigned seed) {
    std::vector<Subject> subjects;
    const auto rule = rules().find(GetParam().op_type);
    EXPECT_NE(rule, rules().end());
    for (const int64_t size : {5, 3, 9, 1, 18, 33}) {
      Subject next;
      next.node = huge_node(GetParam(), rule->second, seed, size);
      if ((GetParam().flags & LK_OP_POST_OPS) != 0 && seed % 2 != 0) {
        next.node = with_post_ops(next.node);
      }
      if (input_bytes(next.node) > MOST_BYTES) continue;
      if (!subjects.empty() && !is_like(next.node, subjects[0].node)) continue;
      subjects.push_back(std::move(next));
    }
    const uint64_t constants = subjects.empty() ? 0 : constants_of(subjects);
    for (Subject &subject : subjects) {
      subject.constants = constants;
      subject.compute();
    }
    return subjects;
  }

private:
  static bool is_like(const Node &a, const Node &b) {
    if (a.ints != b.ints || a.texts != b.texts || a.floats != b.floats || a.opset != b.opset ||
        a.n_outputs != b.n_outputs || a.inputs.size() != b.inputs.size()) {
      return false;
    }
    for (size_t i = 0; i < a.inputs.size(); i++) {
      if (a.inputs[i].absent != b.inputs[i].absent) return false;
    }
    return true;
  }
  // What is the same at each size may be a constant; half of the nodes have none.
  static uint64_t constants_of(const std::vector<Subject> &subjects) {
    const Node &first = subjects[0].node;
    uint64_t constants = all_but_first(first);
    for (const Subject &subject : subjects) {
      for (size_t i = 0; i < first.inputs.size(); i++) {
        const Input &a = first.inputs[i], &b = subject.node.inputs[i];
        bool is_same = a.dtype == b.dtype && a.bytes == b.bytes && a.shape.size() == b.shape.size();
        for (size_t d = 0; is_same && d < a.shape.size(); d++) {
          is_same = a.shape[d].number == b.shape[d].number;
        }
        if (!is_same) constants &= ~(uint64_t{1} << i);
      }
    }
    return constants;
  }
};

TEST_P(RowsOfManySizes, GiveWhatTheyGiveAloneInAnyOrder) {
  if ((GetParam().flags & LK_OP_RANDOM) != 0) return;
  const lk::Context context = lk::open(LK_CACHE_SHARED, 1);
  const lk::Executor executor = lk::executor_in(context);
  for (unsigned seed = 0; seed < count_of(10) && !HasFailure(); seed++) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::vector<Subject> subjects = draw_sizes(seed);
    if (subjects.size() < 2) continue;
    Made made(executor, subjects[0].node, *subjects[0].operands, subjects[0].constants);
    if (made.make(nullptr) != LK_OK && made.op.get() == nullptr) continue;
    for (int i = 0; i < 20; i++) {
      const Subject &subject = subjects[random() % subjects.size()];
      if (random() % 4 == 0) made.plan.reset();
      check(subject, made, made.resize(*subject.operands, nullptr, any_flags(random)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, RowsOfManySizes, ::testing::ValuesIn(lk::op_rows()),
                         [](const auto &info) { return row_name(info.param); });

TEST_P(RowsOfOneName, GiveWhatTheyGiveAloneInAnyHistory) {
  if ((GetParam().flags & LK_OP_RANDOM) != 0) return;
  for (unsigned seed = 0; seed < count_of(3); seed++) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::vector<Subject> subjects = draw(random);
    ASSERT_FALSE(subjects.empty());
    for (const uint32_t mode : {LK_CACHE_SHARED, LK_CACHE_THREAD}) live(mode, random, subjects);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, RowsOfOneName, ::testing::ValuesIn(lk::op_rows()),
                         [](const auto &info) { return row_name(info.param); });

} // namespace
