// Element programs against plain loops: every step on every class, types, broadcasts, sizes, and
// that nothing depends on how the work is split.
#include <array>
#include <functional>
#include <random>
#include <tuple>

#include "tests/harness/close.h"
#include "tests/harness/lk_test.h"
#include "tests/ops/kernel/element/element_reference.h"

extern "C" {
#include "base/team/team.h"
#include "base/tensor.h"
}

namespace {

using Random = std::mt19937_64;
using Value = lk_element_value;

constexpr const char *CLASS_NAMES[] = {"f32", "f64", "i32", "i64", "u64", "bool"};
constexpr uint32_t CLASS_TYPES[] = {LK_F32, LK_F64, LK_I32, LK_I64, LK_U64, LK_BOOL};
constexpr uint32_t TYPES[] = {LK_F32, LK_F64, LK_F16, LK_BF16, LK_I8,  LK_U8,  LK_I16,
                              LK_U16, LK_I32, LK_U32, LK_I64,  LK_U64, LK_BOOL};

int64_t pick(Random &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

// A tensor of the space, in memory of its own with room before and behind.
struct Operand {
  uint32_t dtype;
  lk_element_strides strides = {};
  std::vector<char> memory;
  int64_t first = 0; // byte of the element at 0, 0, ...

  size_t size() const { return lk_dtype_size(dtype); }
  char *at(const std::vector<int64_t> &dims, int64_t index) {
    int64_t offset = 0;
    for (size_t i = dims.size(); i-- > 0; index /= dims[i]) {
      offset += index % dims[i] * strides.strides[i];
    }
    return memory.data() + first + offset * int64_t(size());
  }
  void *data() { return memory.data() + first; }
};

int64_t elements_of(const std::vector<int64_t> &dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

// Dense strides, 0 for the dimensions in `broadcast`; `order`: which dimension is outermost.
lk_element_strides strides_for(const std::vector<int64_t> &dims, const std::vector<size_t> &order,
                               uint32_t broadcast, int64_t step) {
  lk_element_strides out = {};
  int64_t stride = step;
  for (size_t k = order.size(); k-- > 0;) {
    const size_t i = order[k];
    if ((broadcast >> i & 1) != 0) continue;
    out.strides[i] = stride;
    stride *= std::max<int64_t>(dims[i], 1);
  }
  return out;
}

void allocate(Operand &operand, const std::vector<int64_t> &dims, int64_t shift) {
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); i++) {
    last += std::max<int64_t>(dims[i] - 1, 0) * operand.strides.strides[i];
  }
  operand.first = 64 + shift * int64_t(operand.size());
  operand.memory.assign(size_t(operand.first + (last + 1) * int64_t(operand.size()) + 64), 0x55);
}

// Numbers that meet: small ones, equal ones, and the edges of the type.
void randomize(Operand &operand, Random &random, bool is_plain) {
  const int64_t size = int64_t(operand.size());
  const bool is_float = lk_element_class_of(operand.dtype) <= LK_ELEMENT_F64;
  constexpr double EDGES[] = {0.0,   -0.0,     INFINITY,     -INFINITY, NAN,  1e-40, -1e-40,
                              1e-45, 3.4e38,   -3.4e38,      0.5,       1.5,  -2.5,  1,
                              -1,    16777217, 2147483648.0, 65504,     1e-8, 88.5,  -103.5};
  for (int64_t at = operand.first; at + size <= int64_t(operand.memory.size()); at += size) {
    lk::Number x = {};
    const int64_t whole = pick(random, -9, 9);
    const bool is_edge = !is_plain && pick(random, 0, 7) == 0;
    const double value = is_plain  ? double(whole)
                         : is_edge ? EDGES[pick(random, 0, std::size(EDGES) - 1)]
                                   : std::ldexp(double(pick(random, -9999, 9999)), -10);
    if (operand.dtype == LK_F64) x.f64 = value;
    if (is_float && operand.dtype != LK_F64) x.f32 = float(value);
    if (!is_float) x.u64 = is_plain || !is_edge ? uint64_t(whole) : random();
    lk::write_element(operand.dtype, operand.memory.data() + at, x, size_t(size));
  }
}

// How operands lie: any way, or in rows without gaps, and one of them, if any, is one number.
enum Form { kAnyForm = -2, kRows = -1, kFirstIsOne = 0, kSecondIsOne = 1 };

struct Case {
  lk_element_program program;
  std::vector<int64_t> dims;
  std::vector<Operand> operands; // inputs, outputs
  uint32_t ulp = 0;              // of f32 results, for steps that are not exact
  Form form = kAnyForm;
};

bool is_same(uint32_t dtype, const void *found, const void *expected, double ulp) {
  const size_t size = lk_dtype_size(dtype);
  if (std::memcmp(found, expected, size) == 0) return true;
  const lk::Number x = lk::read_element(dtype, found), y = lk::read_element(dtype, expected);
  const uint32_t class_ = lk_element_class_of(dtype);
  if (class_ > LK_ELEMENT_F64) return false;
  const double a = lk::to_double(class_, x), b = lk::to_double(class_, y);
  if (lk::is_close(b, a, {class_ == LK_ELEMENT_F64 ? ulp * 1e-14 : 0, 0})) return true; // -0 is 0
  return class_ == LK_ELEMENT_F32 && ulp > 0 && lk::ulps(LK_ELEMENT_SWISH, x.f32, b) <= ulp;
}

// Runs it, and compares every element with the reference, and what lies beside with what was there.
void check(Case &test, const std::string &what) {
  const uint32_t n_inputs = test.program.n_inputs, n_outputs = test.program.n_outputs;
  const int64_t count = elements_of(test.dims);
  std::vector<lk_element_strides> strides;
  std::vector<void *> pointers;
  std::vector<Operand> expected(test.operands.begin() + n_inputs, test.operands.end());
  for (Operand &operand : test.operands) {
    strides.push_back(operand.strides);
    pointers.push_back(operand.data());
  }
  bool fault = false;
  for (int64_t i = 0; i < count; i++) {
    lk::Number inputs[LK_ELEMENT_INPUTS], outputs[LK_ELEMENT_OUTPUTS];
    for (uint32_t k = 0; k < n_inputs; k++) {
      inputs[k] = lk::read_element(test.operands[k].dtype, test.operands[k].at(test.dims, i));
    }
    lk::element_reference(test.program, inputs, outputs, &fault);
    for (uint32_t k = 0; k < n_outputs; k++) {
      lk::write_element(expected[k].dtype, expected[k].at(test.dims, i), outputs[k],
                        expected[k].size());
    }
  }
  lk_element plan;
  LK_ASSERT_OK(lk_element_plan(&test.program, uint32_t(test.dims.size()), test.dims.data(),
                               strides.data(), &plan, LK_ERR));
  ASSERT_LE(plan.memory, uint32_t(LK_ELEMENT_MEMORY)) << what;
  // only `size` bytes matter
  std::vector<uint64_t> copy((plan.size + 7) / 8);
  std::memcpy(copy.data(), &plan, plan.size);
  const lk_status status = lk_element_kernel(copy.data(), pointers.data(), nullptr);
  ASSERT_EQ(status, fault ? LK_INVALID_ARGUMENT : LK_OK) << what;
  if (fault) return;
  for (uint32_t k = 0; k < n_outputs; k++) {
    Operand &found = test.operands[n_inputs + k];
    for (int64_t i = 0; i < count; i++) {
      char *at = found.at(test.dims, i), *expected_at = expected[k].at(test.dims, i);
      ASSERT_TRUE(is_same(found.dtype, at, expected_at, test.ulp))
          << what << ", output " << k << ", element " << i << " of " << count << ": found "
          << lk::to_double(lk_element_class_of(found.dtype), lk::read_element(found.dtype, at))
          << ", expected "
          << lk::to_double(lk_element_class_of(found.dtype),
                           lk::read_element(found.dtype, expected_at));
      std::memcpy(at, expected_at, found.size());
    }
    ASSERT_EQ(found.memory, expected[k].memory) << what << ": wrote beside output " << k;
  }
}

std::vector<int64_t> random_dims(Random &random) {
  static constexpr int64_t SIZES[] = {1, 2, 3, 5, 7, 15, 16, 17, 31, 33, 64, 100};
  std::vector<int64_t> dims(size_t(pick(random, 0, 4)));
  for (int64_t &dim : dims) dim = SIZES[pick(random, 0, std::size(SIZES) - 1)];
  while (elements_of(dims) > 20000) dims[size_t(pick(random, 0, int64_t(dims.size()) - 1))] = 2;
  if (dims.size() == 1 && pick(random, 0, 1) == 0) dims[0] = pick(random, 0, 5000);
  if (!dims.empty() && pick(random, 0, 19) == 0) dims.back() = 0;
  return dims;
}

// Memory for all operands of the case's program over dimensions drawn here.
void draw(Case &test, Random &random, bool is_plain) {
  const lk_element_program &program = test.program;
  const bool is_any = test.form == kAnyForm;
  test.dims = is_any ? random_dims(random) : std::vector<int64_t>{3, 37};
  std::vector<size_t> order(test.dims.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  const std::vector<size_t> plain = order;
  std::shuffle(order.begin(), order.end(), random);
  test.operands.clear();
  for (uint32_t k = 0; k < uint32_t(program.n_inputs) + program.n_outputs; k++) {
    const bool is_output = k >= program.n_inputs;
    Operand operand;
    operand.dtype =
        is_output ? program.output_dtypes[k - program.n_inputs] : program.input_dtypes[k];
    uint32_t broadcast = is_output || pick(random, 0, 1) == 0 ? 0 : uint32_t(random());
    if (!is_any) broadcast = int(k) == test.form ? UINT32_MAX : 0;
    const bool is_permuted = is_any && pick(random, 0, 3) == 0;
    operand.strides = strides_for(test.dims, is_permuted ? order : plain, broadcast,
                                  is_any && pick(random, 0, 5) == 0 ? 2 : 1);
    allocate(operand, test.dims, pick(random, 0, 20));
    randomize(operand, random, is_plain);
    test.operands.push_back(std::move(operand));
  }
}

class ElementIsa : public ::testing::TestWithParam<uint32_t> {
protected:
  void SetUp() override {
    if (GetParam() > uint32_t(lk_isa_get())) GTEST_SKIP() << "this processor does not have it";
  }
  lk_element_program begin() const {
    lk_element_program program = lk_element_begin();
    program.isa = uint8_t(GetParam());
    return program;
  }
};

struct OpInfo {
  uint32_t op, operands;
  const char *name;
};
constexpr OpInfo OPS[] = {
#define ROW(symbol, operands, name) {symbol, operands, name},
    LK_ELEMENT_OP_LIST(ROW)
#undef ROW
};

lk::FunctionOfOne function_of(uint32_t op) {
  for (const lk::FunctionOfOne &f : lk::FUNCTIONS) {
    if (f.op == op) return f;
  }
  return {"", op, 1, 1, op == LK_ELEMENT_POW ? 1.0 : 0, 1};
}

// Zeros become 1, and of exponents what is negative.
void avoid_faults(Operand &operand, bool is_exponent) {
  const int64_t size = int64_t(operand.size());
  for (int64_t at = operand.first; at + size <= int64_t(operand.memory.size()); at += size) {
    lk::Number x = lk::read_element(operand.dtype, operand.memory.data() + at);
    const bool is_bad = is_exponent ? int64_t(x.u64 << 32) < 0 || int64_t(x.u64) < 0 : x.u64 == 0;
    if (is_bad) x.u64 = 1;
    lk::write_element(operand.dtype, operand.memory.data() + at, x, operand.size());
  }
}

TEST_P(ElementIsa, EveryStepOnEveryClassIsWhatLoopsCompute) {
  Random random(1);
  for (const OpInfo &info : OPS) {
    const lk::FunctionOfOne function = function_of(info.op);
    for (uint32_t class_ = 0; class_ < LK_ELEMENT_CLASSES; class_++) {
      if (lk_element_loops_for(GetParam())->ops[info.op][class_].all == nullptr) continue;
      for (int round = 0; round < lk::repeats(12); round++) {
        Case test = {begin(), {}, {}};
        if (round < 3 && info.operands == 2) test.form = Form(kRows + round);
        Value operands[3] = {};
        for (uint32_t i = 0; i < info.operands; i++) {
          const bool chooses = info.op == LK_ELEMENT_WHERE && i == 0;
          operands[i] =
              lk_element_input(&test.program, chooses ? uint32_t(LK_BOOL) : CLASS_TYPES[class_]);
        }
        const auto op = lk_element_op(info.op);
        const Value y =
            info.operands == 1
                ? lk_element_unary(&test.program, op, operands[0], function.p, function.q)
            : info.operands == 2
                ? lk_element_binary(&test.program, op, operands[0], operands[1])
                : lk_element_ternary(&test.program, op, operands[0], operands[1], operands[2]);
        lk_element_output(&test.program, y, CLASS_TYPES[test.program.classes[y]]);
        LK_ASSERT_OK(lk_element_end(&test.program, LK_ERR));
        const bool is_base = GetParam() == LK_ISA_BASE;
        test.ulp = uint32_t(std::ceil(is_base ? function.ulp_sse2 : function.ulp));
        if (class_ == LK_ELEMENT_F64 && test.ulp > 0) test.ulp = 200;
        const bool divides = info.op == LK_ELEMENT_DIV || info.op == LK_ELEMENT_MOD ||
                             info.op == LK_ELEMENT_FMOD || info.op == LK_ELEMENT_POW;
        // SSE2 rounds products on the way to sums: whole numbers have nothing to round
        draw(test, random,
             (info.op == LK_ELEMENT_POW && class_ >= LK_ELEMENT_I32) ||
                 (info.op == LK_ELEMENT_FMA && is_base));
        if (divides && class_ >= LK_ELEMENT_I32 && round < 10) {
          avoid_faults(test.operands[1], info.op == LK_ELEMENT_POW);
        }
        check(test, std::string(info.name) + " of " + CLASS_NAMES[class_] + ", round " +
                        std::to_string(round));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Every 65521st value, and those around what functions treat apart.
TEST_P(ElementIsa, FunctionsAreAsExactAsIsStated) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 65521) {
    x.push_back(lk::read_as<float>(&bits));
  }
  for (const float edge :
       {0.0F, 0.95F, 1.0F, 4.0F, 9.01F, 15.0F, 20.0F, 88.73F, 89.0F, 103.9F, 104.0F, 1048576.0F,
        8388608.0F, 3.4e38F, 1.1754944e-38F, 1e-45F, INFINITY}) {
    uint32_t bits;
    std::memcpy(&bits, &edge, sizeof bits);
    for (int32_t i = -3; i <= 3; i++) {
      const uint32_t near = bits + uint32_t(i), negative = near ^ 0x80000000U;
      x.push_back(lk::read_as<float>(&near));
      x.push_back(lk::read_as<float>(&negative));
    }
  }
  const int64_t count = int64_t(x.size());
  for (const lk::FunctionOfOne &function : lk::FUNCTIONS) {
    lk_element_program program = begin();
    const Value a = lk_element_input(&program, LK_F32);
    lk_element_output(
        &program, lk_element_unary(&program, lk_element_op(function.op), a, function.p, function.q),
        LK_F32);
    lk_element plan;
    const lk_element_strides dense[2] = {{{1}}, {{1}}};
    LK_ASSERT_OK(lk_element_plan(&program, 1, &count, dense, &plan, LK_ERR));
    std::vector<float> y(x.size());
    void *const pointers[] = {x.data(), y.data()};
    LK_ASSERT_OK(lk_element_kernel(&plan, pointers, LK_ERR));
    const double allowed = GetParam() == LK_ISA_BASE ? function.ulp_sse2 : function.ulp;
    for (size_t i = 0; i < x.size(); i++) {
      const double expected = lk::element_function(function.op, x[i], function.p, function.q);
      ASSERT_LE(lk::ulps(function.op, y[i], expected), allowed)
          << function.name << "(" << x[i] << ") = " << y[i] << ", expected " << expected;
    }
  }
}

// A product and a sum with numbers: rounded twice, whatever the magnitudes are; in one loop where
// denormals do not count.
TEST_P(ElementIsa, ProductAndSumAreRoundedOneByOne) {
  Random random(21);
  const auto draw_float = [&] {
    const uint32_t bits = uint32_t(random());
    return lk::read_as<float>(&bits);
  };
  const auto draw_number = [&](int64_t least, int64_t most) { // of magnitudes 2^least to 2^most
    return std::ldexp(float(pick(random, -16777215, 16777215)), int(pick(random, least, most)));
  };
  for (int round = 0; round < lk::repeats(400); round++) {
    const bool is_tiny = round % 2 == 0;
    const float p = is_tiny ? draw_number(-40, 10) : draw_number(-149, 90);
    float q = is_tiny ? draw_number(-149, -90) : draw_number(-149, 90);
    if (q == 0) q = 0x1p-149F;
    const float sign = pick(random, 0, 1) == 0 ? 1.0F : -1.0F;
    std::vector<float> x(size_t(pick(random, 1, 70))), y(x.size());
    for (float &value : x) value = is_tiny ? draw_number(-149, -90) : draw_float();
    x[0] = round % 3 == 0 ? INFINITY : round % 3 == 1 ? NAN : -0.0F;
    lk_element_program program = begin();
    Value value = lk_element_input(&program, LK_F32);
    value = lk_element_unary(&program, LK_ELEMENT_LINEAR, value, p, -0.0F);
    value = lk_element_unary(&program, LK_ELEMENT_LINEAR, value, sign, q);
    lk_element_output(&program, value, LK_F32);
    const int64_t count = int64_t(x.size());
    const lk_element_strides dense[2] = {{{1}}, {{1}}};
    lk_element plan;
    LK_ASSERT_OK(lk_element_plan(&program, 1, &count, dense, &plan, LK_ERR));
    const bool may_flush =
        std::isnormal(p) && std::fabs(q) >= 0x1p-100F && std::fabs(p) <= std::fabs(q) * 0x1p100F;
    EXPECT_EQ(plan.n_calls, may_flush ? 1U : 2U) << p << " * x + " << q;
    void *const pointers[] = {x.data(), y.data()};
    LK_ASSERT_OK(lk_element_kernel(&plan, pointers, LK_ERR));
    for (size_t i = 0; i < x.size(); i++) {
      const float product = p * x[i], expected = sign * product + q;
      ASSERT_TRUE(std::isnan(expected)
                      ? std::isnan(y[i])
                      : lk::read_as<uint32_t>(&y[i]) == lk::read_as<uint32_t>(&expected))
          << sign << " * (" << p << " * " << x[i] << ") + " << q << " = " << y[i] << ", expected "
          << expected;
    }
  }
}

TEST_P(ElementIsa, ConvertsEveryTypeToEveryOther) {
  Random random(2);
  for (const uint32_t from : TYPES) {
    for (const uint32_t to : TYPES) {
      for (int round = 0; round < 6; round++) {
        Case test = {begin(), {}, {}};
        const Value x = lk_element_input(&test.program, from);
        lk_element_output(&test.program, lk_element_cast(&test.program, x, to), to);
        draw(test, random, false);
        check(test, std::string(lk_dtype_name(from)) + " to " + lk_dtype_name(to));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(ElementIsa, HalvesAreReadAndWrittenExactly) {
  for (const uint32_t dtype : {LK_F16, LK_BF16}) {
    Case test = {begin(), {65536}, {}};
    const Value x = lk_element_input(&test.program, dtype);
    lk_element_output(&test.program, x, dtype);
    lk_element_output(&test.program, x, LK_F32);
    for (const uint32_t type : {dtype, dtype, uint32_t(LK_F32)}) {
      Operand operand = {type, {{1}}, {}, 0};
      allocate(operand, test.dims, 1);
      test.operands.push_back(operand);
    }
    for (uint32_t i = 0; i < 65536; i++) {
      const auto bits = uint16_t(i);
      std::memcpy(test.operands[0].at(test.dims, i), &bits, 2);
    }
    check(test, lk_dtype_name(dtype));
  }
}

// Steps on types as they lie in memory, beside the wider ones that the reference computes in.
TEST_P(ElementIsa, NarrowTypesAreWhatTheirClassComputes) {
  static constexpr uint32_t NARROW[] = {
#define TYPE(dtype, name) dtype,
      LK_ELEMENT_NARROW_LIST(TYPE)
#undef TYPE
  };
  Random random(5);
  for (const OpInfo &info : OPS) {
    for (uint32_t narrow = 0; narrow < LK_ELEMENT_NARROWS; narrow++) {
      if (lk_element_loops_for(GetParam())->narrow[info.op][narrow].all == nullptr) continue;
      const uint32_t dtype = NARROW[narrow];
      for (int round = 0; round < lk::repeats(12); round++) {
        Case test = {begin(), {}, {}};
        if (round < 3) test.form = Form(kRows + (info.operands == 2 ? round : 0));
        Value operands[3] = {};
        for (uint32_t i = 0; i < info.operands; i++) {
          const bool chooses = info.op == LK_ELEMENT_WHERE && i == 0;
          operands[i] = lk_element_input(&test.program, chooses ? uint32_t(LK_BOOL) : dtype);
        }
        const auto op = lk_element_op(info.op);
        const float p = float(round % 2), q = float(round / 2 % 2); // of is_inf
        const Value y =
            info.operands == 1 ? lk_element_unary(&test.program, op, operands[0], p, q)
            : info.operands == 2
                ? lk_element_binary(&test.program, op, operands[0], operands[1])
                : lk_element_ternary(&test.program, op, operands[0], operands[1], operands[2]);
        const bool is_logical = test.program.classes[y] == LK_ELEMENT_BOOL;
        lk_element_output(&test.program, y, is_logical ? uint32_t(LK_BOOL) : dtype);
        draw(test, random, false);
        const bool divides =
            info.op == LK_ELEMENT_DIV || info.op == LK_ELEMENT_MOD || info.op == LK_ELEMENT_FMOD;
        if (divides && round < 10) avoid_faults(test.operands[1], false);
        check(test, std::string(info.name) + " of " + lk_dtype_name(dtype) + ", round " +
                        std::to_string(round));
        if (HasFatalFailure()) return;
        if (round > 0) continue;
        lk_element plan; // nothing is loaded or stored beside the step
        const lk_element_strides dense[4] = {{{1}}, {{1}}, {{1}}, {{1}}};
        const int64_t count = 100;
        LK_ASSERT_OK(lk_element_plan(&test.program, 1, &count, dense, &plan, LK_ERR));
        EXPECT_EQ(plan.n_calls, 1U) << info.name << " of " << lk_dtype_name(dtype);
      }
    }
  }
}

// What leaves the range of a type is cut to it only at the end.
TEST_P(ElementIsa, ChainsOfNarrowTypes) {
  static constexpr lk_element_op STEPS[] = {LK_ELEMENT_ADD, LK_ELEMENT_SUB, LK_ELEMENT_MUL,
                                            LK_ELEMENT_MIN, LK_ELEMENT_MAX, LK_ELEMENT_MAX};
  Random random(6);
  for (int round = 0; round < lk::repeats(300); round++) {
    Case test = {begin(), {}, {}};
    const uint32_t dtype = TYPES[pick(random, 4, 9)];
    Value y = lk_element_input(&test.program, dtype);
    for (int64_t i = pick(random, 1, 4); i > 0; i--) {
      y = lk_element_binary(&test.program, STEPS[pick(random, 0, 5)], y,
                            lk_element_input(&test.program, dtype));
    }
    lk_element_output(&test.program, y, dtype);
    draw(test, random, false);
    check(test, std::string(lk_dtype_name(dtype)) + ", round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
}

// Runs a step on two rows of elements that lie side by side, or on one and a number.
template <typename T>
std::vector<T> run_binary(lk_element_program program, lk_element_op op, uint32_t dtype,
                          const std::vector<T> &a, const std::vector<T> &b) {
  const int64_t count = int64_t(a.size());
  const Value x = lk_element_input(&program, dtype), y = lk_element_input(&program, dtype);
  lk_element_output(&program, lk_element_binary(&program, op, x, y), dtype);
  lk_element plan;
  const lk_element_strides strides[3] = {{{1}}, {{b.size() > 1}}, {{1}}};
  EXPECT_EQ(lk_element_plan(&program, 1, &count, strides, &plan, nullptr), LK_OK);
  std::vector<T> to(a.size());
  void *const pointers[] = {(void *)a.data(), (void *)b.data(), to.data()};
  EXPECT_EQ(lk_element_kernel(&plan, pointers, nullptr), LK_OK);
  return to;
}

// Pairs of whole numbers where a quotient that is rounded wrongly shows: multiples, and what is
// next to them.
template <typename T> void check_quotients(const lk_element_program &program, uint32_t dtype) {
  Random random(7);
  std::vector<T> a, b;
  for (int i = 0; i < 20011; i++) {
    const T y = T(random() >> pick(random, 0, 31)), k = T(random() >> pick(random, 0, 31));
    b.push_back(y == 0 ? T(1) : y);
    a.push_back(T(uint32_t(k) * uint32_t(b.back()) + uint32_t(pick(random, -1, 1))));
  }
  const T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  for (const T x : {least, T(least + 1), T(-1), T(0), T(1), most}) {
    for (const T y : {least, T(-1), T(1), T(2), most}) {
      a.push_back(x);
      b.push_back(y == 0 ? T(3) : y);
    }
  }
  for (const lk_element_op op : {LK_ELEMENT_DIV, LK_ELEMENT_MOD, LK_ELEMENT_FMOD}) {
    const std::vector<T> found = run_binary(program, op, dtype, a, b);
    for (size_t i = 0; i < a.size(); i++) {
      bool fault = false;
      ASSERT_EQ(found[i], lk::wrapping<T>(op, a[i], b[i], &fault))
          << OPS[op].name << " of " << a[i] << " and " << b[i];
    }
  }
}
TEST_P(ElementIsa, QuotientsOfWholeNumbers) {
  check_quotients<int32_t>(begin(), LK_I32);
  check_quotients<uint32_t>(begin(), LK_U32);
}

// Bit for bit what C's fmod leaves: numbers of all sizes, multiples, and what is next to them.
template <typename T> void check_rests(const lk_element_program &program, uint32_t dtype) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  Random random(8);
  std::vector<T> a, b;
  const auto any = [&] {
    const auto bits = Bits(random());
    return lk::read_as<T>(&bits);
  };
  for (int i = 0; i < 20011; i++) {
    b.push_back(any());
    const T multiple =
        T(std::trunc(std::ldexp(1.0 + double(i), int(pick(random, -14, 38))))) * b.back();
    a.push_back(i % 3 == 0 ? any()
                : i % 3 == 1
                    ? multiple
                    : std::nextafter(multiple, pick(random, 0, 1) == 0 ? T(0) : T(INFINITY)));
  }
  constexpr T EDGES[] = {T(0),
                         T(-0.0),
                         T(1),
                         T(-1),
                         T(5.5),
                         T(INFINITY),
                         T(-INFINITY),
                         T(NAN),
                         std::numeric_limits<T>::denorm_min(),
                         -std::numeric_limits<T>::max()};
  for (const T x : EDGES) {
    for (const T y : EDGES) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const std::vector<T> rests = run_binary(program, LK_ELEMENT_FMOD, dtype, a, b);
  const std::vector<T> mods = run_binary(program, LK_ELEMENT_MOD, dtype, a, b);
  for (size_t i = 0; i < a.size(); i++) {
    const T rest = std::fmod(a[i], b[i]);
    const T mod = rest == 0                  ? std::copysign(T(0), b[i])
                  : (rest < 0) != (b[i] < 0) ? rest + b[i]
                                             : rest;
    if (std::isnan(rest)) {
      ASSERT_TRUE(std::isnan(rests[i]) && std::isnan(mods[i])) << a[i] << " by " << b[i];
      continue;
    }
    ASSERT_EQ(std::memcmp(&rests[i], &rest, sizeof rest), 0)
        << a[i] << " by " << b[i] << " leaves " << rest << ", found " << rests[i];
    ASSERT_EQ(std::memcmp(&mods[i], &mod, sizeof mod), 0)
        << a[i] << " mod " << b[i] << " is " << mod << ", found " << mods[i];
  }
}
TEST_P(ElementIsa, RestsOfDivisionsAreExact) {
  check_rests<float>(begin(), LK_F32);
  check_rests<double>(begin(), LK_F64);
}

// In units of the last place, beside long double; the limits of benchmarks/element_accuracy are of
// f32.
TEST_P(ElementIsa, FunctionsOfF64AreAsExactAsIsStated) {
  struct Function {
    lk_element_op op;
    long double (*right)(long double);
    double ulp;
  };
  static constexpr Function FUNCTIONS[] = {
      {LK_ELEMENT_EXP, [](long double x) { return std::exp(x); }, 1.5},
      {LK_ELEMENT_LOG, [](long double x) { return std::log(x); }, 1.5},
      {LK_ELEMENT_SIN, [](long double x) { return std::sin(x); }, 1.5},
      {LK_ELEMENT_COS, [](long double x) { return std::cos(x); }, 1.5},
      {LK_ELEMENT_TANH, [](long double x) { return std::tanh(x); }, 3},
      {LK_ELEMENT_SQRT, [](long double x) { return std::sqrt(x); }, 0.501},
      {LK_ELEMENT_SIGMOID, [](long double x) { return 1 / (1 + std::exp(-x)); }, 3},
      {LK_ELEMENT_SOFTPLUS,
       [](long double x) { return std::fmax(x, 0.0L) + std::log1p(std::exp(-std::fabs(x))); }, 3},
  };
  Random random(9);
  std::vector<double> x;
  for (int i = 0; i < 100000; i++) {
    const double size =
        std::ldexp(1 + double(random() >> 12) * 0x1p-52, int(pick(random, -30, 21)));
    x.push_back(pick(random, 0, 1) == 0 ? size : -size);
  }
  for (int i = 1; i < 5000; i++) { // where sine and cosine are near 0
    x.push_back(std::nearbyint(double(i) * 131) * 1.57079632679489661923);
    x.push_back(1 + std::ldexp(double(i), -40)); // where logarithms are
  }
  for (const double edge : {0.0, 1.0, 19.0, 22.0, 36.0, 709.78, 745.13, 746.0, 0x1p20, 1e300,
                            1e-310, 5e-324, double(INFINITY)}) {
    for (const double toward : {-1e308, 1e308}) {
      const double near = std::isinf(edge) ? edge : std::nextafter(edge, toward);
      for (const double value : {edge, near, -edge, -near}) x.push_back(value);
    }
  }
  for (const Function &function : FUNCTIONS) {
    lk_element_program program = begin();
    const int64_t count = int64_t(x.size());
    const Value a = lk_element_input(&program, LK_F64);
    lk_element_output(&program, lk_element_unary(&program, function.op, a, 0, 0), LK_F64);
    lk_element plan;
    const lk_element_strides dense[2] = {{{1}}, {{1}}};
    LK_ASSERT_OK(lk_element_plan(&program, 1, &count, dense, &plan, LK_ERR));
    std::vector<double> y(x.size());
    void *const pointers[] = {x.data(), y.data()};
    LK_ASSERT_OK(lk_element_kernel(&plan, pointers, LK_ERR));
    double worst = 0, at = 0;
    for (size_t i = 0; i < x.size(); i++) {
      const long double right = function.right(x[i]);
      const double rounded = double(right);
      if (!std::isfinite(rounded) || !std::isfinite(y[i])) {
        ASSERT_TRUE(std::isnan(rounded) ? std::isnan(y[i]) : rounded == y[i])
            << OPS[function.op].name << "(" << x[i] << ") = " << y[i] << ", expected " << rounded;
        continue;
      }
      const int exponent = right == 0 ? -1022 : std::max(std::ilogb(rounded), -1022);
      const double ulp = double(std::fabs(y[i] - right) / std::ldexp(1.0L, exponent - 52));
      if (ulp > worst) worst = ulp, at = x[i];
    }
    EXPECT_LE(worst, function.ulp) << OPS[function.op].name << "(" << at << ")";
  }
}

// What logical values have.
Value logical_step(lk_element_program &program, Random &random, Value a, Value b) {
  static constexpr lk_element_op BINARY[] = {LK_ELEMENT_AND, LK_ELEMENT_OR, LK_ELEMENT_XOR,
                                             LK_ELEMENT_EQUAL};
  const int64_t kind = pick(random, 0, 4);
  if (kind == 4) return lk_element_unary(&program, LK_ELEMENT_NOT, a, 0, 0);
  return lk_element_binary(&program, BINARY[kind], a, lk_element_cast(&program, b, LK_BOOL));
}

// Steps that are exact on small whole numbers, on all classes.
Value random_step(lk_element_program &program, Random &random, std::vector<Value> &values) {
  static constexpr lk_element_op UNARY[] = {LK_ELEMENT_ABS, LK_ELEMENT_NEG, LK_ELEMENT_SIGN,
                                            LK_ELEMENT_RELU, LK_ELEMENT_RELU};
  static constexpr lk_element_op BINARY[] = {
      LK_ELEMENT_ADD,   LK_ELEMENT_SUB,  LK_ELEMENT_MIN,       LK_ELEMENT_MAX,
      LK_ELEMENT_EQUAL, LK_ELEMENT_LESS, LK_ELEMENT_LESS_EQUAL};
  const auto any = [&] { return values[size_t(pick(random, 0, int64_t(values.size()) - 1))]; };
  const Value a = any(), b = any(), c = any();
  const uint32_t dtype = CLASS_TYPES[program.classes[a]];
  const int64_t kind = pick(random, 0, 9);
  if (dtype == LK_BOOL && kind != 7 && kind != 8) return logical_step(program, random, a, b);
  if (kind < 3)
    return lk_element_unary(&program, UNARY[pick(random, 0, std::size(UNARY) - 1)], a, 0, 0);
  if (kind < 7) {
    return lk_element_binary(&program, BINARY[pick(random, 0, 6)], a,
                             lk_element_cast(&program, b, dtype));
  }
  if (kind == 7) {
    return lk_element_cast(&program, a, TYPES[pick(random, 0, std::size(TYPES) - 1)]);
  }
  if (kind == 8) {
    return lk_element_ternary(&program, LK_ELEMENT_WHERE, lk_element_cast(&program, b, LK_BOOL), a,
                              lk_element_cast(&program, c, dtype));
  }
  return lk_element_ternary(
      &program, LK_ELEMENT_FMA, lk_element_unary(&program, LK_ELEMENT_SIGN, a, 0, 0),
      lk_element_cast(&program, b, dtype), lk_element_cast(&program, c, dtype));
}

TEST_P(ElementIsa, ChainsOfRandomSteps) {
  Random random(3);
  int done = 0;
  for (int round = 0; round < lk::repeats(1500); round++) {
    Case test = {begin(), {}, {}};
    std::vector<Value> values;
    const int64_t n_inputs = pick(random, 1, 5), n_steps = pick(random, 1, 10);
    for (int64_t i = 0; i < n_inputs; i++) {
      values.push_back(
          lk_element_input(&test.program, TYPES[pick(random, 0, std::size(TYPES) - 1)]));
    }
    values.push_back(lk_element_number(&test.program, CLASS_TYPES[pick(random, 0, 5)], 3));
    for (int64_t i = 0; i < n_steps; i++)
      values.push_back(random_step(test.program, random, values));
    const int64_t n_outputs = pick(random, 0, 2) == 0 ? pick(random, 1, 3) : 1;
    for (int64_t i = 0; i < n_outputs; i++) {
      const Value y =
          i == 0 ? values.back() : values[size_t(pick(random, 0, int64_t(values.size()) - 1))];
      lk_element_output(&test.program, y, CLASS_TYPES[test.program.classes[y]]);
    }
    if (lk_element_end(&test.program, nullptr) != LK_OK) continue; // too many steps
    done++;
    draw(test, random, true);
    check(test, "round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(done, lk::repeats(1000));
}

// max(a b + c, d) of f32, with c for each row and d in one number.
lk_element_program chain(lk_element_program program) {
  const Value a = lk_element_input(&program, LK_F32), b = lk_element_input(&program, LK_F32);
  const Value c = lk_element_input(&program, LK_F32), d = lk_element_input(&program, LK_F32);
  const Value sum = lk_element_ternary(&program, LK_ELEMENT_FMA, a, b, c);
  const Value e = lk_element_unary(&program, LK_ELEMENT_TANH, sum, 0, 0);
  lk_element_output(&program, lk_element_binary(&program, LK_ELEMENT_MAX, e, d), LK_F32);
  return program;
}

TEST_P(ElementIsa, BitsDoNotDependOnTilesThreadsAndPlaces) {
  const lk_element_program program = chain(begin());
  const std::vector<int64_t> dims = {137, 413};
  std::vector<char> first;
  for (const int64_t shift : {0, 1, 5, 15}) {
    Random random(4);
    std::vector<Operand> operands;
    std::vector<lk_element_strides> strides = {
        {{413, 1}}, {{0, 1}}, {{1, 0}}, {{0, 0}}, {{413, 1}}};
    std::vector<void *> pointers;
    for (const lk_element_strides &s : strides) {
      Operand operand = {LK_F32, s, {}, 0};
      allocate(operand, dims, shift);
      operands.push_back(operand);
    }
    for (Operand &operand : operands) {
      for (int64_t i = 0; i < elements_of(dims); i++) {
        const float x = float(random() % 1000) / 250 - 2;
        std::memcpy(operand.at(dims, i), &x, sizeof x);
      }
      random.seed(random());
      pointers.push_back(operand.data());
    }
    lk_element plan;
    LK_ASSERT_OK(lk_element_plan(&program, 2, dims.data(), strides.data(), &plan, LK_ERR));
    ASSERT_GT(plan.tiles, 3);
    const int before = lk_team_threads();
    for (const int threads : {1, 2, 3}) {
      lk_team_set_threads(threads);
      LK_ASSERT_OK(lk_element_kernel(&plan, pointers.data(), LK_ERR));
      std::vector<char> bytes(static_cast<char *>(pointers[4]),
                              static_cast<char *>(pointers[4]) + elements_of(dims) * 4);
      if (first.empty()) first = bytes;
      EXPECT_EQ(bytes, first) << threads << " threads";
    }
    lk_team_set_threads(before);
    for (const int64_t each : {int64_t(1), int64_t(2), plan.tiles}) {
      for (int64_t tile = 0; tile < plan.tiles; tile += each) {
        EXPECT_TRUE(
            lk_element_run(&plan, pointers.data(), tile, std::min(tile + each, plan.tiles)));
      }
      std::vector<char> bytes(static_cast<char *>(pointers[4]),
                              static_cast<char *>(pointers[4]) + elements_of(dims) * 4);
      if (first.empty()) first = bytes;
      EXPECT_EQ(bytes, first) << "shifted by " << shift << ", tiles by " << each;
    }
  }
}

// What comes from memory is cut into other blocks than what fits a cache.
TEST_P(ElementIsa, BitsDoNotDependOnSize) {
  constexpr int64_t COUNT = 6 << 20, PART = 1000000;
  const lk_element_program program = chain(begin());
  const lk_element_strides strides[] = {{{1}}, {{1}}, {{0}}, {{0}}, {{1}}};
  std::vector<float> x(COUNT), row(COUNT), whole(COUNT), parts(COUNT);
  for (int64_t i = 0; i < COUNT; i++) {
    x[size_t(i)] = float(i * 7919 % 1009) / 250 - 2;
    row[size_t(i)] = float(i * 104729 % 997) / 250 - 2;
  }
  float one = 0.75F, other = -1.25F;
  lk_element plan;
  LK_ASSERT_OK(lk_element_plan(&program, 1, &COUNT, strides, &plan, LK_ERR));
  void *const pointers[] = {x.data(), row.data(), &one, &other, whole.data()};
  LK_ASSERT_OK(lk_element_kernel(&plan, pointers, LK_ERR));
  const int32_t block_cols = plan.block_cols;
  for (int64_t first = 0; first < COUNT; first += PART) {
    const int64_t count = std::min(PART, COUNT - first);
    LK_ASSERT_OK(lk_element_plan(&program, 1, &count, strides, &plan, LK_ERR));
    EXPECT_NE(plan.block_cols, block_cols);
    void *const at[] = {x.data() + first, row.data() + first, &one, &other, parts.data() + first};
    LK_ASSERT_OK(lk_element_kernel(&plan, at, LK_ERR));
  }
  EXPECT_EQ(std::memcmp(whole.data(), parts.data(), COUNT * sizeof(float)), 0);
}

TEST_P(ElementIsa, OutputsMayLieOverInputs) {
  Random random(5);
  for (const int64_t count : {1, 16, 1000, 100003}) {
    for (int outputs = 1; outputs <= 2; outputs++) {
      lk_element_program program = begin();
      const Value x = lk_element_input(&program, LK_F32), y = lk_element_input(&program, LK_F32);
      const Value sum = lk_element_binary(&program, LK_ELEMENT_ADD, x, y);
      const Value product = lk_element_binary(&program, LK_ELEMENT_MUL, sum, x);
      lk_element_output(&program, product, LK_F32);
      if (outputs == 2) lk_element_output(&program, x, LK_F32); // over y, while x is overwritten
      std::vector<float> a(static_cast<size_t>(count)), b(a.size());
      for (float &value : a) value = float(pick(random, -9, 9));
      for (float &value : b) value = float(pick(random, -9, 9));
      const std::vector<float> a_before = a, b_before = b;
      const lk_element_strides dense[4] = {{{1}}, {{1}}, {{1}}, {{1}}};
      lk_element plan;
      LK_ASSERT_OK(lk_element_plan(&program, 1, &count, dense, &plan, LK_ERR));
      void *const pointers[] = {a.data(), b.data(), a.data(), b.data()};
      LK_ASSERT_OK(lk_element_kernel(&plan, pointers, LK_ERR));
      for (size_t i = 0; i < a.size(); i++) {
        ASSERT_EQ(a[i], (a_before[i] + b_before[i]) * a_before[i]);
        ASSERT_EQ(b[i], outputs == 2 ? a_before[i] : b_before[i]);
      }
    }
  }
}

// What drivers of matrix products do with a tile: bias, residual, activation, in place.
TEST_P(ElementIsa, AppliesToATile) {
  Random random(6);
  lk_element_program program = begin();
  const Value tile = lk_element_input(&program, LK_F32), bias = lk_element_input(&program, LK_F32);
  const Value scale = lk_element_input(&program, LK_F32),
              more = lk_element_input(&program, LK_BF16);
  Value y = lk_element_binary(&program, LK_ELEMENT_MUL, tile, scale);
  y = lk_element_binary(&program, LK_ELEMENT_ADD, y, bias);
  y = lk_element_binary(&program, LK_ELEMENT_ADD, y, more);
  lk_element_output(&program, lk_element_unary(&program, LK_ELEMENT_RELU, y, 0, 0), LK_F32);
  const uint8_t levels[] = {LK_ELEMENT_EACH, LK_ELEMENT_EACH, LK_ELEMENT_ROW, LK_ELEMENT_EACH};
  lk_element plan;
  LK_ASSERT_OK(lk_element_plan_tile(&program, levels, &plan, LK_ERR));
  for (const auto &[rows, cols] : {std::pair<int64_t, int64_t>{1, 1},
                                   {14, 64},
                                   {6, 16},
                                   {200, 7},
                                   {3, 3000},
                                   {0, 5},
                                   {5, 0}}) {
    const int64_t stride = cols + 3;
    std::vector<float> c(size_t(rows * stride + 1)), b(size_t(cols + 1)), s(size_t(rows + 1));
    std::vector<uint16_t> r(c.size());
    for (float &x : c) x = float(pick(random, -9, 9));
    for (float &x : b) x = float(pick(random, -9, 9));
    for (float &x : s) x = float(pick(random, -9, 9));
    for (uint16_t &x : r) x = lk_f64_to_bf16(double(pick(random, -9, 9)));
    std::vector<float> expected = c;
    for (int64_t i = 0; i < rows; i++) {
      for (int64_t j = 0; j < cols; j++) {
        float &x = expected[size_t(i * stride + j)];
        x = std::max(x * s[size_t(i)] + b[size_t(j)] +
                         float(lk_bf16_to_f64(r[size_t(i * stride + j)])),
                     0.0F);
      }
    }
    const auto at = [](auto &v) { return reinterpret_cast<char *>(v.data()); };
    const lk_element_ref refs[] = {
        {at(c), stride * 4}, {at(b), 0}, {at(s), 4}, {at(r), stride * 2}, {at(c), stride * 4}};
    EXPECT_TRUE(lk_element_apply(&plan, rows, cols, refs));
    EXPECT_EQ(c, expected) << rows << " x " << cols;
  }
}

std::string name_of_isa(const ::testing::TestParamInfo<uint32_t> &info) {
  static constexpr const char *NAMES[] = {"sse2", "avx2", "avx512"};
  return NAMES[info.param];
}
INSTANTIATE_TEST_SUITE_P(All, ElementIsa, ::testing::Range(0U, uint32_t(LK_ISA_COUNT)),
                         name_of_isa);

TEST(ElementProgram, TellsWhatItCannotDo) {
  lk_element_program program = lk_element_begin();
  LK_EXPECT_STATUS(LK_UNSUPPORTED, lk_element_end(&program, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("no outputs"));
  const Value x = lk_element_input(&program, LK_I32);
  (void)lk_element_unary(&program, LK_ELEMENT_EXP, x, 0, 0);
  LK_EXPECT_STATUS(LK_UNSUPPORTED, lk_element_end(&program, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("operands of exp"));

  program = lk_element_begin();
  lk_element_output(&program, lk_element_input(&program, LK_F32), LK_I32);
  LK_EXPECT_STATUS(LK_UNSUPPORTED, lk_element_end(&program, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("another type"));

  program = lk_element_begin();
  Value y = lk_element_input(&program, LK_F32);
  for (int i = 0; i <= LK_ELEMENT_STEPS; i++)
    y = lk_element_unary(&program, LK_ELEMENT_NEG, y, 0, 0);
  LK_EXPECT_STATUS(LK_UNSUPPORTED, lk_element_end(&program, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("too long"));
}

TEST_P(ElementIsa, ReadsAsManyInputsAsThereMayBe) {
  constexpr int64_t COUNT = 40;
  lk_element_program program = begin();
  std::vector<std::vector<float>> inputs(LK_ELEMENT_INPUTS);
  std::vector<float> y(COUNT), expected(COUNT, 3);
  std::vector<void *> pointers;
  Value sum = 0;
  for (size_t i = 0; i < inputs.size(); i++) {
    const Value x = lk_element_input(&program, LK_F32);
    sum = i == 0 ? x : lk_element_binary(&program, LK_ELEMENT_ADD, sum, x);
    for (size_t k = 0; k < COUNT; k++) {
      inputs[i].push_back(float(i * 7 + k * (k + i) % 11));
      expected[k] += 2 * inputs[i][k];
    }
    pointers.push_back(inputs[i].data());
  }
  pointers.push_back(y.data());
  for (const auto &[op, number] : {std::pair{LK_ELEMENT_MUL, 2}, std::pair{LK_ELEMENT_ADD, 3}}) {
    sum = lk_element_binary(&program, op, sum, lk_element_number(&program, LK_F32, number));
  }
  lk_element_output(&program, sum, LK_F32);
  const std::vector<lk_element_strides> dense(pointers.size(), lk_element_strides{{1}});
  lk_element plan;
  LK_ASSERT_OK(lk_element_plan(&program, 1, &COUNT, dense.data(), &plan, LK_ERR));
  LK_ASSERT_OK(lk_element_kernel(&plan, pointers.data(), LK_ERR));
  EXPECT_EQ(y, expected);
}

// Halves are loaded into registers, which these programs keep to their ends.
TEST(ElementProgram, TellsWhereItTakesTooManyRegistersOrLoops) {
  const int64_t dims[] = {100};
  const std::vector<lk_element_strides> dense(LK_ELEMENT_INPUTS + 1, lk_element_strides{{1}});
  lk_element plan;
  for (const int inputs : {11, 12}) { // with what each becomes, and the number
    lk_element_program program = lk_element_begin();
    std::vector<Value> from, negated;
    for (int i = 0; i < inputs; i++) {
      from.push_back(lk_element_input(&program, LK_F16));
      negated.push_back(lk_element_unary(&program, LK_ELEMENT_NEG, from.back(), 0, 0));
    }
    Value sum = lk_element_number(&program, LK_F32, 1);
    for (size_t i = 0; i < from.size(); i++) {
      sum = lk_element_ternary(&program, LK_ELEMENT_FMA, from[i], negated[i], sum);
    }
    lk_element_output(&program, sum, LK_F16);
    const lk_status status = lk_element_plan(&program, 1, dims, dense.data(), &plan, LK_ERR);
    EXPECT_EQ(status, inputs == 11 ? LK_OK : LK_UNSUPPORTED) << inputs;
  }
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("more than 64 loops or 24 registers"));
  for (const int steps : {31, 32}) { // each two loops, for the number is copied; a load, a store
    lk_element_program program = lk_element_begin();
    const Value x = lk_element_input(&program, LK_F16);
    const Value number = lk_element_number(&program, LK_F32, 2);
    Value sum = x;
    for (int i = 0; i < steps; i++) {
      sum = lk_element_ternary(&program, LK_ELEMENT_FMA, number, x, sum);
    }
    lk_element_output(&program, sum, LK_F16);
    const lk_status status = lk_element_plan(&program, 1, dims, dense.data(), &plan, LK_ERR);
    EXPECT_EQ(status, steps == 31 ? LK_OK : LK_UNSUPPORTED) << steps;
  }
}

// A row that is too short to be read for each row is copied out.
TEST_P(ElementIsa, ShortRowsThatRepeat) {
  Random random(8);
  for (const uint32_t dtype : CLASS_TYPES) {
    for (const std::vector<int64_t> &dims : {std::vector<int64_t>{1000, 3},
                                             {7, 300, 1},
                                             {5, 9, 24},
                                             {4, 7, 24},
                                             {3, 40, 25},
                                             {1003, 48},
                                             {1, 8, 47}}) {
      Case test = {begin(), dims, {}};
      const Value x = lk_element_input(&test.program, dtype),
                  y = lk_element_input(&test.program, dtype);
      const bool is_bool = dtype == LK_BOOL;
      const Value sum =
          lk_element_binary(&test.program, is_bool ? LK_ELEMENT_XOR : LK_ELEMENT_ADD, x, y);
      const Value rest =
          lk_element_binary(&test.program, is_bool ? LK_ELEMENT_OR : LK_ELEMENT_SUB, y, sum);
      lk_element_output(&test.program, rest, dtype);
      std::vector<size_t> order(dims.size());
      for (size_t i = 0; i < order.size(); i++) order[i] = i;
      for (uint32_t k = 0; k < 3; k++) {
        Operand operand;
        operand.dtype = dtype;
        const uint32_t broadcast = k != 1 ? 0 : 1U << (dims.size() - 2);
        operand.strides = strides_for(dims, order, broadcast, 1);
        allocate(operand, dims, 0);
        randomize(operand, random, false);
        test.operands.push_back(std::move(operand));
      }
      check(test, "a row of " + std::to_string(dims.back()));
      if (HasFatalFailure()) return;
    }
  }
}

// Operands in the other layout.
TEST_P(ElementIsa, ElementsAlongColumns) {
  Random random(9);
  for (const uint32_t dtype : CLASS_TYPES) {
    for (const std::vector<int64_t> &dims : {std::vector<int64_t>{2, 48, 64},
                                             {3, 37, 53},
                                             {1, 500, 3},
                                             {1, 3, 500},
                                             {2, 5, 2100},
                                             {1, 2100, 5},
                                             {1, 16, 16}}) {
      Case test = {begin(), dims, {}};
      const Value x = lk_element_input(&test.program, dtype),
                  y = lk_element_input(&test.program, dtype);
      const lk_element_op op = dtype == LK_BOOL ? LK_ELEMENT_XOR : LK_ELEMENT_SUB;
      lk_element_output(&test.program, lk_element_binary(&test.program, op, x, y), dtype);
      for (uint32_t k = 0; k < 3; k++) {
        Operand operand;
        operand.dtype = dtype;
        operand.strides = strides_for(
            dims, k == 1 ? std::vector<size_t>{0, 2, 1} : std::vector<size_t>{0, 1, 2}, 0, 1);
        allocate(operand, dims, int64_t(k));
        randomize(operand, random, false);
        test.operands.push_back(std::move(operand));
      }
      check(test, std::to_string(dims[1]) + "x" + std::to_string(dims[2]));
      if (HasFatalFailure()) return;
    }
  }
}

// A row that is copied once for all blocks is in each of them as a whole.
TEST_P(ElementIsa, ElementsAlongColumnsBesideShortRows) {
  Random random(10);
  for (const int64_t cols : {1, 7, 24, 40, 41, 47, 48, 49, 96}) {
    const std::vector<int64_t> dims = {3, 49, cols};
    Case test = {begin(), dims, {}};
    const Value x = lk_element_input(&test.program, LK_F32),
                scale = lk_element_input(&test.program, LK_F32),
                shift = lk_element_input(&test.program, LK_F32);
    const Value product = lk_element_binary(&test.program, LK_ELEMENT_MUL, x, scale);
    lk_element_output(&test.program,
                      lk_element_binary(&test.program, LK_ELEMENT_ADD, product, shift), LK_F32);
    for (uint32_t k = 0; k < 4; k++) {
      const std::vector<size_t> turned = {0, 2, 1}, plain = {0, 1, 2};
      const bool is_row = k == 1 || k == 2;
      Operand operand;
      operand.dtype = LK_F32;
      operand.strides = strides_for(dims, k == 0 ? turned : plain, is_row ? 3 : 0, 1);
      allocate(operand, dims, 0);
      randomize(operand, random, false);
      test.operands.push_back(std::move(operand));
    }
    check(test, "a row of " + std::to_string(cols));
    if (HasFatalFailure()) return;
  }
}

// One is kept for every size that a node has had.
TEST(ElementProgram, PlansAreSmall) {
  const int64_t dims[] = {8, 16, 20, 20};
  const lk_element_strides full = {{6400, 400, 20, 1}}, channels = {{0, 1, 0, 0}},
                           last = {{6400, 1, 320, 16}};
  lk_element plan;

  lk_element_program relu = lk_element_begin();
  const Value x = lk_element_input(&relu, LK_F32);
  lk_element_output(&relu, lk_element_unary(&relu, LK_ELEMENT_RELU, x, 0, 0), LK_F32);
  const lk_element_strides of_relu[] = {full, full};
  LK_ASSERT_OK(lk_element_plan(&relu, 4, dims, of_relu, &plan, LK_ERR));
  EXPECT_EQ(plan.rank, 1U);
  EXPECT_EQ(plan.n_calls, 1U);
  EXPECT_EQ(plan.n_registers, 0U);
  EXPECT_LE(plan.size, 128U);

  lk_element_program chain = lk_element_begin();
  Value y = lk_element_input(&chain, LK_F32);
  const Value scale = lk_element_input(&chain, LK_F32), shift = lk_element_input(&chain, LK_F32),
              residual = lk_element_input(&chain, LK_F32);
  y = lk_element_binary(&chain, LK_ELEMENT_MUL, y, scale);
  y = lk_element_binary(&chain, LK_ELEMENT_ADD, y, shift);
  y = lk_element_binary(&chain, LK_ELEMENT_ADD, y, residual);
  lk_element_output(&chain, lk_element_unary(&chain, LK_ELEMENT_SWISH, y, 1, 0), LK_F32);
  const lk_element_strides of_chain[] = {full, channels, channels, full, full};
  LK_ASSERT_OK(lk_element_plan(&chain, 4, dims, of_chain, &plan, LK_ERR));
  EXPECT_EQ(plan.rank, 3U);
  EXPECT_EQ(plan.n_calls, 4U);
  EXPECT_LE(plan.size, 400U);
  const lk_element_strides of_both_layouts[] = {full, channels, channels, last, last};
  LK_ASSERT_OK(lk_element_plan(&chain, 4, dims, of_both_layouts, &plan, LK_ERR));
  EXPECT_LE(plan.size, 400U);
}

} // namespace
