// The recurrence against plain loops in double, on every instruction set, and its bits. What ONNX's
// layers make of it is tested by random nodes (tests/rows).
#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "ops/kernel/sequence/recurrent.h"
}

namespace {

using lk::Guarded;

// RNN of tanh, or GRU of h' = h z + x, where gates are not functions of anything: each has two
// products that differ in their operands.
struct Case {
  lk_recurrent_kind kind = LK_RECURRENT_RNN;
  int64_t directions = 1, length = 5, batch = 3, hidden = 7;
  bool is_reverse = false;
  std::vector<int32_t> lengths = {};
  Guarded gates{0}, r{0}, first{0};

  int64_t parts() const { return kind == LK_RECURRENT_RNN ? 1 : 2; }
  int64_t columns() const { return hidden * (kind == LK_RECURRENT_RNN ? 1 : 3); }
  size_t states() const { return size_t(directions * batch * hidden); }
  void fill() {
    std::mt19937 random(7);
    gates = lk::random_floats(size_t(length * batch * directions * columns()), random);
    r = lk::random_floats(size_t(directions * columns() * hidden), random);
    first = lk::random_floats(states(), random);
    for (size_t i = 0; i < r.size(); i++) r[i] /= float(hidden);
  }
};

struct Result {
  Guarded y, h;
};

struct Params {
  lk_recurrent step = {};
  lk_element programs[LK_RECURRENT_PHASES];
};

void plan_program(lk_isa isa, bool is_second, bool is_rnn, lk_element *out) {
  lk_element_program program = lk_element_begin();
  program.isa = uint8_t(isa);
  const uint8_t levels[] = {LK_ELEMENT_EACH, LK_ELEMENT_EACH, LK_ELEMENT_EACH};
  const lk_element_value a = lk_element_input(&program, LK_F32);
  if (is_rnn) {
    lk_element_output(&program, lk_element_unary(&program, LK_ELEMENT_TANH, a, 0, 0), LK_F32);
  } else {
    const lk_element_value b = lk_element_input(&program, LK_F32);
    const lk_element_value h = lk_element_input(&program, LK_F32);
    if (!is_second) lk_element_output(&program, a, LK_F32);
    const lk_element_value y = is_second ? lk_element_ternary(&program, LK_ELEMENT_FMA, b, h, a)
                                         : lk_element_binary(&program, LK_ELEMENT_MUL, b, h);
    lk_element_output(&program, y, LK_F32);
  }
  LK_ASSERT_OK(lk_element_end(&program, LK_ERR));
  LK_ASSERT_OK(lk_element_plan_tile(&program, levels, out, LK_ERR));
}

Params plan(const Case &of, lk_isa isa) {
  Params made;
  lk_recurrent &step = made.step;
  const int64_t all = of.directions * of.columns(), states = of.batch * of.hidden;
  step.kind = of.kind;
  step.is_reverse = of.is_reverse;
  step.has_lengths = !of.lengths.empty();
  step.has_h = true;
  step.length = of.length;
  step.batch = of.batch;
  step.gates_time = all * of.batch;
  step.gates_row = all;
  step.y_time = of.directions * states;
  step.y_direction = step.state_direction = states;
  step.y_row = step.state_row = of.hidden;
  step.weights.directions = of.directions;
  step.weights.hidden = of.hidden;
  step.weights.columns = of.columns();
  step.weights.n_parts = of.parts();
  for (int64_t i = 0; i < of.parts(); i++) {
    lk_product &part = step.weights.parts[i];
    part.micro = lk_micro_get(isa);
    part.rows = of.batch;
    part.columns = of.parts() == 2 && i == 0 ? 2 * of.hidden : of.hidden;
    part.taps = part.c_rows = part.groups = 1;
    part.k = of.hidden;
    part.c_step = all;
    part.low = -INFINITY;
    part.high = INFINITY;
    lk_product_plan(&part, of.hidden * 4);
  }
  for (int i = 0; i < of.parts(); i++) {
    plan_program(isa, i == 1, of.parts() == 1, &made.programs[i]);
    for (auto &programs : step.programs) {
      programs[i] = uint32_t(offsetof(Params, programs) + size_t(i) * sizeof(lk_element));
    }
  }
  return made;
}

Result run(const Case &of, lk_isa isa) {
  const Params params = plan(of, isa);
  Guarded gates = of.gates, packed(size_t(lk_recurrent_packed_size(&params.step.weights)));
  Guarded other(of.states());
  Result result = {Guarded(size_t(of.length) * of.states()), Guarded(of.states())};
  lk_recurrent_pack(&params.step.weights, of.r.get(), packed.get());
  std::vector<void *> pointers = {gates.get(), packed.get(), result.y.get(), result.h.get()};
  if (of.parts() == 2) pointers.push_back(other.get());
  if (!of.lengths.empty()) pointers.push_back(const_cast<int32_t *>(of.lengths.data()));
  pointers.push_back(const_cast<float *>(of.first.get()));
  LK_EXPECT_OK(lk_recurrent_kernel(&params, pointers.data(), LK_ERR));
  for (const Guarded *memory : {&gates, &packed, &other, &result.y, &result.h}) memory->check();
  return result;
}

// x plus row `row` of `state` times column `n` of R.
double sum(const Case &of, int64_t direction, const double *state, int64_t n, double x) {
  const float *r = of.r.get() + (direction * of.columns() + n) * of.hidden;
  for (int64_t k = 0; k < of.hidden; k++) x += state[k] * double(r[k]);
  return x;
}

void step(const Case &of, int64_t direction, const float *gates, std::vector<double> *state) {
  const std::vector<double> before = *state;
  std::vector<double> kept(before.size());
  const int64_t hidden = of.hidden;
  for (int64_t j = 0; j < hidden; j++) {
    const double g = sum(of, direction, before.data(), j, double(gates[j]));
    (*state)[size_t(j)] = of.parts() == 1 ? std::tanh(g) : g * before[size_t(j)];
    if (of.parts() == 1) continue;
    const double reset = double(gates[hidden + j]);
    kept[size_t(j)] = sum(of, direction, before.data(), hidden + j, reset) * before[size_t(j)];
  }
  for (int64_t j = 0; of.parts() == 2 && j < hidden; j++) {
    const double x = double(gates[2 * hidden + j]);
    (*state)[size_t(j)] += sum(of, direction, kept.data(), 2 * hidden + j, x);
  }
}

// States of a GRU without functions grow.
void expect_near(double found, double right) {
  ASSERT_NEAR(found, right, 1e-5 * (1 + std::fabs(right)));
}

void check(const Case &of, const Result &found) {
  for (int64_t i = 0; i < of.directions * of.batch; i++) {
    const int64_t direction = i / of.batch, row = i % of.batch, hidden = of.hidden;
    const int64_t length = of.lengths.empty() ? of.length : of.lengths[size_t(row)];
    const float *first = of.first.get() + i * hidden;
    std::vector<double> state(first, first + hidden);
    if (length == 0) std::fill(state.begin(), state.end(), 0.0);
    for (int64_t s = 0; s < of.length; s++) {
      const int64_t t = of.is_reverse || direction == 1 ? of.length - 1 - s : s;
      const int64_t place = (t * of.batch + row) * of.directions + direction;
      if (t < length) step(of, direction, of.gates.get() + place * of.columns(), &state);
      const float *y = found.y.get() + (t * of.directions * of.batch + i) * hidden;
      for (int64_t j = 0; j < hidden; j++) {
        expect_near(double(y[j]), t < length ? state[size_t(j)] : 0.0);
      }
    }
    for (int64_t j = 0; j < hidden; j++) {
      expect_near(double(found.h[size_t(i * hidden + j)]), state[size_t(j)]);
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const lk_recurrent_kind kind : {LK_RECURRENT_RNN, LK_RECURRENT_GRU}) {
    for (const int64_t hidden : {1, 7, 16, 70}) {
      Case of;
      of.kind = kind;
      of.hidden = hidden;
      all.push_back(of);
      of.batch = 1;
      of.is_reverse = true;
      all.push_back(of);
      of.is_reverse = false;
      of.batch = 11;
      of.directions = 2;
      all.push_back(of);
      of.lengths = {5, 0, 3, 3, 1, 5, 2, 0, 0, 4, 5};
      all.push_back(of);
    }
  }
  for (Case &of : all) of.fill();
  return all;
}

TEST(RecurrentKernel, StepsAsLoopsDo) {
  for (const Case &of : cases()) {
    for (const lk_isa isa : lk::instruction_sets()) check(of, run(of, isa));
    if (HasFatalFailure()) return;
  }
}

// A row depends on neither threads nor the rows beside it.
TEST(RecurrentKernel, HasTheSameBitsForAnyThreadsAndBatch) {
  for (Case of : cases()) {
    of.length = 40;
    of.batch = 19;
    of.lengths.clear();
    of.fill();
    const Result alone = run(of, lk_isa_get());
    for (const int threads : {2, 8}) {
      lk::with_threads(threads, [&] {
        const Result found = run(of, lk_isa_get());
        EXPECT_TRUE(found.y.has_bits_of(alone.y)) << threads << " threads";
        EXPECT_TRUE(found.h.has_bits_of(alone.h)) << threads << " threads";
      });
    }
    Case last = of;
    last.batch = last.directions = 1;
    last.fill();
    last.r = of.r;
    const size_t columns = size_t(of.columns()), hidden = size_t(of.hidden);
    const size_t row = size_t(of.batch - 1), rows = size_t(of.batch * of.directions);
    for (size_t t = 0; t < size_t(of.length); t++) {
      const size_t place = t * rows + row * size_t(of.directions);
      std::copy_n(of.gates.get() + place * columns, columns, last.gates.get() + t * columns);
    }
    std::copy_n(of.first.get() + row * hidden, hidden, last.first.get());
    const Result single = run(last, lk_isa_get());
    EXPECT_EQ(std::memcmp(single.h.get(), alone.h.get() + row * hidden, hidden * sizeof(float)), 0);
  }
}

TEST(RecurrentKernel, KeepsWeights) {
  for (const Case &of : cases()) {
    for (const lk_isa isa : lk::instruction_sets()) {
      const Params params = plan(of, isa);
      Guarded packed(size_t(lk_recurrent_packed_size(&params.step.weights))), back(of.r.size());
      lk_recurrent_pack(&params.step.weights, of.r.get(), packed.get());
      lk_recurrent_unpack(&params.step.weights, packed.get(), back.get());
      packed.check();
      EXPECT_TRUE(back.has_bits_of(of.r));
    }
  }
}

} // namespace
