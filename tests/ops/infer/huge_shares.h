// Nodes with one share of work that is huge, which rules seldom draw: one line, one window, one
// sum, one list of indices, one sequence.
#pragma once

#include "tests/ops/infer/huge.h"

namespace lk::infer {

struct Builder {
  Node node;
  explicit Builder(const char *op, int32_t opset = 17, const char *domain = "") {
    node.op = op;
    node.opset = opset;
    node.domain = domain;
  }
  Builder &tensor(const std::vector<int64_t> &dims, uint32_t dtype = LK_F32) {
    Input input;
    input.dtype = dtype;
    for (const int64_t dim : dims) input.shape.push_back({dim, dim});
    node.inputs.push_back(input);
    return *this;
  }
  template <typename T> Builder &values(const std::vector<T> &list, uint32_t dtype) {
    tensor({int64_t(list.size())}, dtype);
    node.inputs.back().bytes.resize(list.size() * sizeof(T));
    std::memcpy(node.inputs.back().bytes.data(), list.data(), list.size() * sizeof(T));
    return *this;
  }
  Builder &absent(int count = 1) {
    node.inputs.resize(node.inputs.size() + size_t(count));
    for (int i = 1; i <= count; i++) node.inputs.end()[-i].absent = true;
    return *this;
  }
  // A scale and a zero point.
  Builder &quantizer(uint32_t dtype = LK_U8) { return tensor({}).tensor({}, dtype); }
  Builder &ints(const char *name, const std::vector<int64_t> &list) {
    node.ints[name] = list;
    return *this;
  }
  Builder &text(const char *name, const char *value) {
    node.texts[name] = value;
    return *this;
  }
  Builder &outputs(uint32_t n) {
    node.n_outputs = n;
    return *this;
  }
};

constexpr int64_t HUGE_LINE = 12000000;

inline Builder resize(const std::vector<int64_t> &from, const std::vector<int64_t> &to,
                      const char *mode) {
  return Builder("Resize", 19)
      .tensor(from)
      .absent(2)
      .values<int64_t>(to, LK_I64)
      .text("mode", mode);
}

// One line, row or sum.
inline void add_lines(std::vector<Node> *all) {
  const int64_t n = HUGE_LINE;
  for (const char *op :
       {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
        "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "ArgMax", "ArgMin"}) {
    const bool is_arg = std::strncmp(op, "Arg", 3) == 0;
    const char *name = is_arg ? "axis" : "axes";
    const bool has_bytes =
        is_arg || op == std::string("ReduceMax") || op == std::string("ReduceMin");
    for (const uint32_t dtype : {LK_F32, LK_F64, LK_F16, LK_BF16, LK_I32, LK_I64, LK_U8, LK_I8}) {
      if ((dtype == LK_U8 || dtype == LK_I8) && !has_bytes) continue;
      all->push_back(Builder(op, 11).tensor({1, n}, dtype).ints(name, {1}).node);
      all->push_back(Builder(op, 11).tensor({n / 3, 3}, dtype).ints(name, {0}).node);
      if (is_arg) continue;
      all->push_back(Builder(op, 11).tensor({n / 6, 2, 3}, dtype).ints(name, {0, 2}).node);
    }
  }
  for (const uint32_t dtype : {LK_F32, LK_F64, LK_F16, LK_BF16}) {
    for (const char *op : {"Softmax", "LogSoftmax", "Hardmax"}) {
      all->push_back(Builder(op).tensor({1, n}, dtype).node);
      all->push_back(Builder(op).tensor({n / 3, 3}, dtype).ints("axis", {0}).node);
    }
    all->push_back(Builder("LpNormalization", 22).tensor({1, n}, dtype).node);
    all->push_back(Builder("LpNormalization", 22)
                       .tensor({n / 3, 3}, dtype)
                       .ints("axis", {0})
                       .ints("p", {1})
                       .node);
    all->push_back(
        Builder("MeanVarianceNormalization", 13).tensor({1, 1, n}, dtype).ints("axes", {2}).node);
  }
  for (const uint32_t dtype : {LK_F32, LK_F16, LK_BF16}) {
    for (const char *op : {"LayerNormalization", "RMSNormalization"}) {
      const int32_t opset = op[0] == 'R' ? 23 : 17;
      all->push_back(Builder(op, opset).tensor({n}, dtype).tensor({n}, dtype).node);
      all->push_back(
          Builder(op, opset).tensor({2, n / 2}, dtype).tensor({1}, dtype).ints("axis", {0}).node);
    }
    all->push_back(Builder("InstanceNormalization")
                       .tensor({1, 1, n}, dtype)
                       .tensor({1}, dtype)
                       .tensor({1}, dtype)
                       .node);
    all->push_back(Builder("GroupNormalization", 21)
                       .tensor({1, 4, n / 4}, dtype)
                       .tensor({4}, dtype)
                       .tensor({4}, dtype)
                       .ints("num_groups", {1})
                       .node);
  }
  all->push_back(Builder("SkipLayerNormalization", 1, "com.microsoft")
                     .tensor({1, 1, n})
                     .tensor({1, 1, n})
                     .tensor({n})
                     .node);
  for (const uint32_t dtype : {LK_F32, LK_F64, LK_I32, LK_I64}) {
    all->push_back(Builder("CumSum", 14).tensor({1, n}, dtype).values<int64_t>({1}, LK_I64).node);
    all->push_back(
        Builder("CumSum", 14).tensor({n / 3, 3}, dtype).values<int64_t>({0}, LK_I64).node);
  }
  all->push_back(Builder("CumProd", 26).tensor({n}).values<int64_t>({0}, LK_I64).node);
  all->push_back(Builder("LRN").tensor({1, n / 60, 5}).ints("size", {99999}).node);
  all->push_back(Builder("DynamicQuantizeLinear").tensor({4 * n}).outputs(3).node);
  all->push_back(Builder("QLinearSoftmax", 1, "com.microsoft")
                     .tensor({1, n}, LK_U8)
                     .quantizer()
                     .quantizer()
                     .ints("opset", {13})
                     .node);
  all->push_back(Builder("SoftmaxCrossEntropyLoss").tensor({1, n}).tensor({1}, LK_I64).node);
  all->push_back(
      Builder("NegativeLogLikelihoodLoss").tensor({1, 2, n}).tensor({1, n}, LK_I64).node);
  all->push_back(Builder("Multinomial").tensor({1, n}).ints("sample_size", {9}).node);
  all->push_back(Builder("Multinomial").tensor({1, 9}).ints("sample_size", {n}).node);
}

// Products with one result, or few.
inline void add_products(std::vector<Node> *all) {
  const int64_t n = 4 * HUGE_LINE / 3;
  for (const uint32_t dtype : {LK_F32, LK_F64, LK_F16, LK_BF16, LK_I32, LK_I64}) {
    for (const int64_t columns : {1, 2}) {
      const int64_t k = n / columns;
      all->push_back(
          Builder("MatMul").tensor({columns, k}, dtype).tensor({k, columns}, dtype).node);
      if (dtype == LK_I32 || dtype == LK_I64) continue;
      all->push_back(Builder("Gemm")
                         .tensor({k, columns}, dtype)
                         .tensor({columns, k}, dtype)
                         .ints("transA", {1})
                         .ints("transB", {1})
                         .node);
    }
  }
  for (const char *equation : {"i,i->", "i,i", "ij,ij->", "ij,ij->j"}) {
    const bool is_line = equation[1] == ',';
    for (const uint32_t dtype : {LK_F32, LK_F64, LK_I64}) {
      const std::vector<int64_t> shape = is_line ? std::vector{n} : std::vector{n / 2, int64_t{2}};
      all->push_back(Builder("Einsum")
                         .tensor(shape, dtype)
                         .tensor(shape, dtype)
                         .text("equation", equation)
                         .node);
    }
  }
  all->push_back(Builder("Einsum").tensor({n}).text("equation", "i->").node);
  all->push_back(Builder("Einsum").tensor({2, n}).text("equation", "ij->ji").node);
  all->push_back(Builder("Einsum").tensor({5000, 5000}).text("equation", "ii->").node);
  all->push_back(Builder("Einsum")
                     .tensor({n / 4})
                     .tensor({n / 4})
                     .tensor({n / 4})
                     .text("equation", "i,i,i->")
                     .node);
  for (const int64_t k : {2000000, 12000000}) {
    all->push_back(Builder("MatMulInteger").tensor({1, k}, LK_U8).tensor({k, 1}, LK_I8).node);
    all->push_back(Builder("MatMulInteger")
                       .tensor({3, k}, LK_U8)
                       .tensor({k, 3}, LK_U8)
                       .tensor({}, LK_U8)
                       .tensor({}, LK_U8)
                       .node);
    all->push_back(Builder("QLinearMatMul")
                       .tensor({2, k}, LK_U8)
                       .quantizer()
                       .tensor({k, 2}, LK_U8)
                       .quantizer()
                       .quantizer()
                       .node);
    all->push_back(Builder("MatMulIntegerToFloat", 1, "com.microsoft")
                       .tensor({2, k}, LK_U8)
                       .tensor({k, 2}, LK_U8)
                       .tensor({})
                       .tensor({})
                       .node);
    all->push_back(Builder("DynamicQuantizeMatMul", 1, "com.microsoft")
                       .tensor({1, k / 2})
                       .tensor({k / 2, 1}, LK_U8)
                       .tensor({})
                       .node);
    all->push_back(Builder("QGemm", 1, "com.microsoft")
                       .tensor({1, k}, LK_U8)
                       .quantizer()
                       .tensor({k, 1}, LK_U8)
                       .quantizer()
                       .absent()
                       .quantizer()
                       .node);
  }
  for (const int64_t bits : {4, 8}) {
    all->push_back(Builder("MatMulNBits", 1, "com.microsoft")
                       .tensor({1, n})
                       .tensor({2, n / 128, 16 * bits}, LK_U8)
                       .tensor({2 * n / 128})
                       .ints("K", {n})
                       .ints("N", {2})
                       .ints("bits", {bits})
                       .ints("block_size", {128})
                       .node);
  }
  all->push_back(Builder("FusedMatMul", 1, "com.microsoft").tensor({1, n}).tensor({n, 1}).node);
  all->push_back(Builder("Attention", 23)
                     .tensor({1, 1, 1, 8})
                     .tensor({1, 1, n / 8, 8})
                     .tensor({1, 1, n / 8, 8})
                     .node);
  all->push_back(Builder("Attention", 23)
                     .tensor({1, 1, 2, n / 2})
                     .tensor({1, 1, 2, n / 2})
                     .tensor({1, 1, 2, n / 2})
                     .node);
  all->push_back(Builder("RotaryEmbedding", 23)
                     .tensor({1, 1, 1, n})
                     .tensor({1, 1, n / 2})
                     .tensor({1, 1, n / 2})
                     .node);
}

// One window, or one kernel.
inline void add_windows(std::vector<Node> *all) {
  const int64_t n = HUGE_LINE;
  for (const uint32_t dtype : {LK_F32, LK_F64, LK_F16, LK_BF16}) {
    for (const char *op : {"MaxPool", "AveragePool", "LpPool"}) {
      const auto pool = [&](const std::vector<int64_t> &shape, int64_t kernel) {
        return Builder(op, 22)
            .tensor(shape, dtype)
            .ints("kernel_shape", std::vector<int64_t>(shape.size() - 2, kernel));
      };
      all->push_back(pool({1, 1, n}, n).node);
      all->push_back(pool({1, 1, n}, n / 2).ints("strides", {n}).node);
      all->push_back(pool({1, 1, n}, n / 3).ints("dilations", {3}).node);
      all->push_back(pool({1, 1, 3000, 3000}, 3000).node);
      all->push_back(pool({1, 1, 3000, 3000}, 1500).ints("dilations", {2, 2}).node);
      all->push_back(pool({1, 1, 200, 200, 200}, 200).node);
      all->push_back(pool({1, 1, 200, 200, 200}, 99).ints("dilations", {2, 2, 2}).node);
      all->push_back(pool({1, 1, n / 8}, 2001).ints("pads", {1000, 1000}).node);
      all->push_back(pool({1, 16, 700, 700}, 601).ints("strides", {300, 300}).node);
    }
    for (const char *op : {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"}) {
      all->push_back(Builder(op, 22).tensor({1, 1, n}, dtype).node);
      all->push_back(Builder(op, 22).tensor({1, 1, 200, 200, 200}, dtype).node);
    }
  }
  all->push_back(Builder("MaxPool").tensor({1, 1, n}).ints("kernel_shape", {n}).outputs(2).node);
  all->push_back(
      Builder("MaxPool").tensor({1, 1, 4000, 4000}, LK_U8).ints("kernel_shape", {4000, 4000}).node);
  all->push_back(Builder("NhwcMaxPool", 1, "com.microsoft")
                     .tensor({1, 4000, 4000, 1}, LK_U8)
                     .ints("kernel_shape", {4000, 4000})
                     .node);
  all->push_back(Builder("QLinearAveragePool", 1, "com.microsoft")
                     .tensor({1, 1, 4000, 4000}, LK_U8)
                     .quantizer()
                     .quantizer()
                     .ints("kernel_shape", {4000, 4000})
                     .node);
  all->push_back(Builder("QLinearGlobalAveragePool", 1, "com.microsoft")
                     .tensor({1, 1, 4000, 8000}, LK_U8)
                     .quantizer()
                     .quantizer()
                     .node);
  for (const uint32_t dtype : {LK_F32, LK_F16, LK_BF16}) {
    const auto conv = [&](const char *op, const std::vector<int64_t> &x,
                          const std::vector<int64_t> &w) {
      return Builder(op).tensor(x, dtype).tensor(w, dtype);
    };
    all->push_back(conv("Conv", {1, 1, n}, {1, 1, n}).node);
    all->push_back(conv("Conv", {1, 1, 3000, 3000}, {1, 1, 3000, 3000}).node);
    all->push_back(conv("Conv", {1, 1, 200, 200, 200}, {2, 1, 200, 200, 200}).node);
    all->push_back(
        conv("Conv", {1, 1, n}, {1, 1, n / 3}).ints("dilations", {3}).ints("strides", {9}).node);
    all->push_back(conv("Conv", {1, 2, n}, {2, 1, n}).ints("group", {2}).node);
    all->push_back(conv("Conv", {1, n, 1, 1}, {1, n, 1, 1}).node);
    all->push_back(conv("Conv", {1, n, 1}, {3, n, 1}).node);
    all->push_back(conv("Conv", {1, 1, 4 * n}, {1, 1, 9}).node);
    all->push_back(conv("Conv", {1, 2, n}, {2, 1, 9}).ints("group", {2}).node);
    all->push_back(conv("Conv", {1, 64, n / 64}, {64, 1, 9}).ints("group", {64}).node);
    all->push_back(conv("Conv", {1, 2, n / 2}, {2, 1, 60001}).ints("group", {2}).node);
    all->push_back(conv("ConvTranspose", {1, 2, n / 9}, {2, 1, 9}).ints("group", {2}).node);
    all->push_back(conv("ConvTranspose", {1, 1, n / 9}, {1, 1, 9}).node);
    all->push_back(conv("ConvTranspose", {1, 1, 1}, {1, 1, n}).node);
    all->push_back(conv("ConvTranspose", {1, n, 1}, {n, 1, 1}).node);
    all->push_back(conv("ConvTranspose", {1, 1, 2, 2}, {1, 1, 3000, 3000}).node);
  }
  all->push_back(Builder("ConvInteger", 10).tensor({1, 1, n}, LK_U8).tensor({1, 1, n}, LK_U8).node);
  all->push_back(Builder("ConvInteger", 10).tensor({1, n, 1}, LK_U8).tensor({3, n, 1}, LK_U8).node);
  all->push_back(Builder("ConvInteger", 10)
                     .tensor({1, 64, n / 32}, LK_U8)
                     .tensor({64, 1, 9}, LK_U8)
                     .ints("group", {64})
                     .node);
  all->push_back(Builder("QLinearConv")
                     .tensor({1, 1, 4000, 4000}, LK_U8)
                     .quantizer()
                     .tensor({1, 1, 4000, 4000}, LK_U8)
                     .quantizer()
                     .quantizer()
                     .node);
  all->push_back(Builder("DeformConv", 19)
                     .tensor({1, 1, 700, 700})
                     .tensor({1, 1, 700, 700})
                     .tensor({1, 2 * 700 * 700, 1, 1})
                     .node);
  all->push_back(
      Builder("CausalConvWithState", 27).tensor({1, 1, n / 2}).tensor({1, 1, n / 2}).node);
  all->push_back(Builder("Col2Im", 18)
                     .tensor({1, n, 1})
                     .values<int64_t>({n}, LK_I64)
                     .values<int64_t>({n}, LK_I64)
                     .node);
}

// One sequence, one transform, one region, one list.
inline void add_sequences(std::vector<Node> *all) {
  const int64_t n = HUGE_LINE;
  const struct {
    const char *op;
    int64_t gates;
  } layers[] = {{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}};
  for (const auto &[op, gates] : layers) {
    for (const uint32_t dtype : {LK_F32, LK_F16}) {
      for (const int64_t hidden : {1, 900}) {
        const int64_t length = hidden == 1 ? 300000 : 9, width = hidden == 1 ? 1 : 2000;
        all->push_back(Builder(op)
                           .tensor({length, 1, width}, dtype)
                           .tensor({1, gates * hidden, width}, dtype)
                           .tensor({1, gates * hidden, hidden}, dtype)
                           .ints("hidden_size", {hidden})
                           .node);
      }
    }
    all->push_back(Builder(op)
                       .tensor({1, 1, n / 4})
                       .tensor({1, gates, n / 4})
                       .tensor({1, gates, 1})
                       .ints("hidden_size", {1})
                       .node);
    all->push_back(Builder(op)
                       .tensor({1, 1, 1})
                       .tensor({1, gates * 1500, 1})
                       .tensor({1, gates * 1500, 1500})
                       .ints("hidden_size", {1500})
                       .node);
  }
  for (const uint32_t dtype : {LK_F32, LK_F64}) {
    for (const int64_t length : {1000003, 32771, 1 << 21, 3 * 5 * 7 * 11 * 13 * 64}) {
      all->push_back(Builder("DFT").tensor({1, length, 1}, dtype).node);
      all->push_back(Builder("DFT").tensor({1, length, 2}, dtype).ints("inverse", {1}).node);
    }
    all->push_back(Builder("STFT")
                       .tensor({1, 1000003, 1}, dtype)
                       .values<int64_t>({1}, LK_I64)
                       .absent()
                       .values<int64_t>({1000003}, LK_I64)
                       .node);
  }
  for (const char *mode : {"linear", "cubic"}) {
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{n}, {1, 1, 3000, 3000}, {1, 1, 200, 200, 200}}) {
      if (mode[0] == 'c' && shape.size() == 5) continue;
      std::vector<int64_t> sizes = shape;
      for (int64_t &size : sizes) size = size > 1 ? 2 : 1;
      all->push_back(resize(shape, sizes, mode).ints("antialias", {1}).node);
      for (int64_t &size : sizes) size = size > 1 ? (shape.size() == 1 ? n : 1500) : 1;
      if (shape.size() == 5) continue;
      std::vector<int64_t> from = shape;
      for (int64_t &size : from) size = size > 1 ? 2 : 1;
      all->push_back(resize(from, sizes, mode).node);
    }
  }
  all->push_back(Builder("Resize", 19).tensor({2}).absent(2).values<int64_t>({n}, LK_I64).node);
  for (const int64_t ratio : {1500, 0}) {
    Builder align("RoiAlign", 16);
    align.tensor({1, 1, 3000, 3000}).values<float>({0, 0, 2999, 2999}, LK_F32);
    align.node.inputs.back().shape = {{1, 1}, {4, 4}};
    align.tensor({1}, LK_I64).ints("sampling_ratio", {ratio});
    all->push_back(align.node);
    align.text("mode", "max");
    all->push_back(align.node);
    align.node.inputs[0].shape[1] = {9, 9};
    align.node.inputs[0].shape[2] = align.node.inputs[0].shape[3] = {900, 900};
    all->push_back(align.node);
  }
  Builder pool("MaxRoiPool");
  pool.tensor({1, 1, 4000, 4000}).values<float>({0, 0, 0, 3999, 3999}, LK_F32);
  pool.node.inputs.back().shape = {{1, 1}, {5, 5}};
  all->push_back(pool.ints("pooled_shape", {1, 1}).node);
  for (const char *mode : {"linear", "nearest", "cubic"}) {
    all->push_back(Builder("GridSample", 20)
                       .tensor({1, 1, 9, 9})
                       .tensor({1, 1, n / 4, 2})
                       .text("mode", mode)
                       .node);
    all->push_back(Builder("GridSample", 20)
                       .tensor({1, 500000, 2, 2})
                       .tensor({1, 1, 4, 2})
                       .text("mode", mode)
                       .text("padding_mode", "reflection")
                       .node);
  }
  all->push_back(
      Builder("GridSample", 20).tensor({1, 1, 9, 9, 9}).tensor({1, 1, 1, n / 4, 3}).node);
  for (const int64_t boxes : {3000, 100000}) {
    all->push_back(Builder("NonMaxSuppression", 11)
                       .tensor({1, boxes, 4})
                       .tensor({1, 1, boxes})
                       .values<int64_t>({boxes}, LK_I64)
                       .values<float>({1}, LK_F32)
                       .node);
  }
  for (const uint32_t dtype : {LK_F32, LK_F16, LK_I64, LK_U8}) {
    all->push_back(Builder("Unique").tensor({n / 4}, dtype).outputs(4).node);
    all->push_back(
        Builder("TopK").tensor({n / 3}, dtype).values<int64_t>({n / 3}, LK_I64).outputs(2).node);
    all->push_back(Builder("TopK").tensor({n}, dtype).values<int64_t>({1}, LK_I64).outputs(2).node);
    all->push_back(Builder("NonZero", 13).tensor({n}, dtype).node);
  }
  all->push_back(
      Builder("OneHot").tensor({1}, LK_I64).values<int64_t>({n}, LK_I64).tensor({2}).node);
  all->push_back(Builder("ReverseSequence").tensor({n, 1}).values<int64_t>({n}, LK_I64).node);
  all->push_back(Builder("Trilu").tensor({5000, 5000}).node);
  all->push_back(Builder("EyeLike").tensor({5000, 5000}).node);
  all->push_back(Builder("Det").tensor({1100, 1100}, LK_F64).node);
  all->push_back(Builder("HannWindow").values<int64_t>({n}, LK_I64).node);
  all->push_back(Builder("RandomNormal").ints("shape", {n}).node);
}

// Those of before, of all kinds.
inline void add_others(std::vector<Node> *all) {
  const int64_t n = HUGE_LINE;
  const std::vector<uint8_t> every(size_t{n}, 1);
  const std::vector<Node> more = {
      Builder("TopK").tensor({n / 4}).values<int64_t>({n / 8}, LK_I64).outputs(2).node,
      Builder("TopK").tensor({n / 4}, LK_I64).values<int64_t>({n / 16}, LK_I64).outputs(2).node,
      Builder("TopK")
          .tensor({n / 4, 2})
          .values<int64_t>({9}, LK_I64)
          .ints("axis", {0})
          .outputs(2)
          .node,
      Builder("Unique").tensor({n / 16}).outputs(4).node,
      Builder("Unique").tensor({n / 16}).ints("sorted", {0}).node,
      Builder("Unique").tensor({n, 2}).ints("axis", {1}).node,
      Builder("Unique").tensor({2, n}).ints("axis", {0}).node,
      Builder("NonZero", 13).tensor({n}).node,
      Builder("Compress").tensor({n}).values(every, LK_BOOL).node,
      Builder("Conv").tensor({1, 1, 600, 600}).tensor({1, 1, 255, 255}).node,
      Builder("Conv").tensor({1, 16, 600, 600}).tensor({16, 1, 65, 65}).ints("group", {16}).node,
      Builder("ConvTranspose").tensor({1, 1, 99, 99}).tensor({1, 1, 99, 99}).node,
      Builder("ConvInteger", 10).tensor({1, 1, 400, 400}, LK_U8).tensor({1, 1, 99, 99}, LK_U8).node,
      Builder("MaxPool").tensor({1, 1, 1200, 1200}).ints("kernel_shape", {999, 999}).node,
      Builder("MaxPool").tensor({1, 1, 4 * n}).ints("kernel_shape", {3}).outputs(2).node,
      Builder("AveragePool").tensor({1, 1, 1200, 1200}).ints("kernel_shape", {999, 999}).node,
      Builder("LpPool").tensor({1, 1, 500, 500}).ints("kernel_shape", {399, 399}).node,
      Builder("Softmax").tensor({4 * n}).node,
      Builder("Softmax").tensor({n, 4}).ints("axis", {0}).node,
      Builder("LogSoftmax").tensor({4 * n}).node,
      Builder("Hardmax").tensor({1, 4 * n}).node,
      Builder("LayerNormalization").tensor({4 * n}).tensor({1}).node,
      Builder("InstanceNormalization").tensor({1, 1, 4 * n}).tensor({1}).tensor({1}).node,
      Builder("LpNormalization").tensor({1, 4 * n}).node,
      Builder("MeanVarianceNormalization").tensor({1, 1, 1, 4 * n}).node,
      Builder("ReduceSum", 13).tensor({4 * n}).node,
      Builder("ReduceMax", 13).tensor({4 * n}, LK_I64).node,
      Builder("ReduceLogSumExp", 13).tensor({4 * n}).node,
      Builder("ArgMax", 13).tensor({4 * n}).node,
      Builder("CumSum", 14).tensor({4 * n}).values<int64_t>({0}, LK_I64).node,
      Builder("MaxUnpool")
          .tensor({1, 1, n})
          .tensor({1, 1, n}, LK_I64)
          .ints("kernel_shape", {2})
          .node,
      Builder("ScatterND").tensor({n}).tensor({n, 1}, LK_I64).tensor({n}).node,
      Builder("ScatterElements").tensor({n}).tensor({n}, LK_I64).tensor({n}).node,
      Builder("GatherElements").tensor({n}).tensor({n}, LK_I64).node,
      Builder("Gather").tensor({n}).tensor({n}, LK_I64).node,
      Builder("Gather").tensor({1, 2 * n}).tensor({1}, LK_I64).node,
      Builder("GatherND").tensor({n}).tensor({n, 1}, LK_I64).node,
      Builder("DFT").tensor({1, 10007, 1}).node,
      Builder("DFT").tensor({1, 1 << 20, 2}).node,
      Builder("MatMul").tensor({1, n}).tensor({n, 3}).node,
      Builder("MatMul").tensor({n, 3}).tensor({3, 2}).node,
      Builder("MatMul").tensor({1, 9}).tensor({9, n / 3}).node,
      Builder("MatMul").tensor({700, 700}, LK_F64).tensor({700, 700}, LK_F64).node,
      Builder("Pad", 13).tensor({2}).values<int64_t>({2 * n, 2 * n}, LK_I64).node,
      Builder("Concat").tensor({2 * n}).tensor({2 * n}).ints("axis", {0}).node,
      Builder("Transpose").tensor({2, n}).node,
      Builder("Tile", 13).tensor({3}).values<int64_t>({n}, LK_I64).node,
      Builder("Det").tensor({700, 700}).node,
  };
  all->insert(all->end(), more.begin(), more.end());
}

inline std::vector<Node> huge_shares() {
  std::vector<Node> all;
  for (const auto add : {add_lines, add_products, add_windows, add_sequences, add_others})
    add(&all);
  return all;
}

} // namespace lk::infer
