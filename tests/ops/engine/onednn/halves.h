// f16 and bf16 beside oneDNN: which of them the engine computes as they are, and how far apart two
// results are.
#pragma once

#include <fstream>

#include "tests/ops/engine/host.h"

extern "C" {
#include "ops/kernel/number.h"
}

namespace lk {

// By instructions of the processor. Those of f16 came after those of bf16; of the limits that tests
// set, "avx512" has both.
inline bool computes(uint32_t dtype) {
  if (dtype == LK_BF16) return lk_isa_has_bf16();
  std::string flags, line;
  for (std::ifstream file("/proc/cpuinfo"); std::getline(file, line);) {
    if (line.rfind("flags", 0) == 0) flags = line + " ";
  }
  return lk_isa_has_bf16() && flags.find(" avx512_fp16 ") != std::string::npos;
}

inline std::string name_of_half(uint32_t dtype) {
  return dtype == LK_F16 ? "F16" : "BF16";
}

// Numbers as ONNX's Cast rounds them, by `native`.
inline Value cast(Host *host, const Value &from, uint32_t dtype) {
  Case made;
  made.node.op = "Cast";
  made.node.opset = 13;
  made.node.ints = {{"to", {dtype == LK_F16 ? 10 : dtype == LK_BF16 ? 16 : 1}}}; // as ONNX has them
  made.inputs = {from};
  Value out;
  host->run(made, &out);
  return out;
}

// Of a plan: one where an engine computes f16 or bf16 as they are, in layouts that are there.
inline uint32_t steps_of(Host *host, const Case &given) {
  TestNode node = given.node;
  node.n_inputs = uint32_t(given.inputs.size());
  Op op;
  Plan plan;
  std::vector<lk_tensor_desc> descs;
  for (size_t i = 0; i < given.inputs.size(); i++) {
    descs.push_back(given.inputs[i].desc);
    descs.back().layout = given.layout_of(i);
  }
  LK_EXPECT_OK(node.create(host->executor, &op, LK_ERR));
  LK_EXPECT_OK(lk::bind(op, descs, &plan, LK_ERR, -1, given.wish));
  return host_plan_info(plan).n_steps;
}

inline double number_of(uint32_t dtype, uint16_t bits) {
  return dtype == LK_F16 ? lk_f16_to_f64(bits) : lk_bf16_to_f64(bits);
}
inline uint16_t bits_of(uint32_t dtype, double number) {
  return dtype == LK_F16 ? lk_f64_to_f16(number) : lk_f64_to_bf16(number);
}
// Numbers of a half type, each rounded once.
inline Value halves(uint32_t dtype, const Dims &dims, const std::vector<double> &numbers) {
  std::vector<uint16_t> bits;
  for (const double number : numbers) bits.push_back(bits_of(dtype, number));
  return tensor<uint16_t>(dims, bits, dtype);
}
inline std::vector<double> numbers_of_halves(const Value &of) {
  std::vector<double> numbers;
  for (const uint16_t bits : of.as<uint16_t>()) numbers.push_back(number_of(of.desc.dtype, bits));
  return numbers;
}
// All 65,536 of them, NaN and infinities too.
inline Value all_halves(uint32_t dtype) {
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); i++) bits[i] = uint16_t(i);
  return tensor<uint16_t>({int64_t(bits.size())}, bits, dtype);
}

// How many numbers of the type lie between the two, and one.
inline int steps_between(uint16_t a, uint16_t b) {
  const auto place = [](uint16_t bits) { return (bits & 0x8000) != 0 ? -(bits & 0x7fff) : +bits; };
  return std::abs(place(a) - place(b));
}

// Both are computed in f32 and rounded once: to neighbours at most, and where others have cancelled
// to what is small, within `atol`. The instruction that makes bf16 of f32 has no denormal numbers,
// and oneDNN's Sigmoid and Swish end a little above them: what is below 2^-120 may be 0.
inline ::testing::AssertionResult are_neighbours(const Value &right, const Value &found,
                                                 double atol = 0) {
  const uint32_t dtype = right.desc.dtype;
  if (dtype != found.desc.dtype || right.dims() != found.dims()) {
    return ::testing::AssertionFailure()
           << text_of(found.desc) << ", expected " << text_of(right.desc);
  }
  const std::vector<uint16_t> a = right.as<uint16_t>(), b = found.as<uint16_t>();
  for (size_t i = 0; i < a.size(); i++) {
    const double x = number_of(dtype, a[i]), y = number_of(dtype, b[i]);
    const bool is_tiny = dtype == LK_BF16 && std::fabs(x) < 0x1p-120 && y == 0;
    if (std::isnan(x) || std::isnan(y) ? std::isnan(x) && std::isnan(y)
        : std::isinf(x) || std::isinf(y)
            ? x == y
            : steps_between(a[i], b[i]) <= 1 || std::fabs(x - y) <= atol || is_tiny) {
      continue;
    }
    return ::testing::AssertionFailure() << "element " << index_text(right.dims(), int64_t(i))
                                         << " is " << y << ", expected " << x;
  }
  return ::testing::AssertionSuccess();
}

// Nodes of one of the two types, by both engines.
class HalvesByBoth : public ::testing::TestWithParam<uint32_t> {
protected:
  static uint32_t dtype() { return GetParam(); }
  static bool is_computed() { return computes(dtype()); }
  // From -most to most, so that sums cancel.
  static Value random(Draw *draw, const Dims &dims, int most) {
    std::vector<double> numbers(size_t(count_of(dims)));
    for (double &number : numbers) number = double(draw->in(-256, 256)) / 256 * most;
    return halves(dtype(), dims, numbers);
  }
  // `atol` as are_neighbours has it.
  void expect_right(const Case &each, const Value &right, double atol) {
    for (Host *host : {&native, &onednn}) {
      Value computed;
      host->run(each, &computed);
      if (HasFatalFailure()) return;
      ASSERT_TRUE(are_neighbours(right, computed, atol)) << (host == &native ? "native" : "onednn");
    }
  }
  // Why oneDNN has left the first work.
  std::string reason() const {
    lk_engine_left_info info = {};
    info.struct_size = sizeof info;
    LK_EXPECT_OK(api()->engine_left(onednn.context, 0, &info, LK_ERR));
    return info.reason;
  }
  Host native{"native"}, onednn{"onednn"};
};

} // namespace lk
