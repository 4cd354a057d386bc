// What do works of bf16 take by oneDNN beside the native engine, but for convolutions and products?
//
// Nodes of several sizes, each bound once by both engines, run by turns on one thread; outputs are
// compared. The ratio is that of the best times. Estimates by which `auto` chooses come from these
// (ops/engine/onednn/estimate.c). benchmarks/run halves has convolutions and products.
//
// half_nodes [--json] [--quick | --long]
#include "benchmarks/arguments.h"
#include "benchmarks/engine_node.h"

using namespace beside;

namespace {

constexpr int32_t OPSET = 23;

// A tensor of bf16, or of others as they come.
struct Tensor {
  lk_tensor_desc desc;
  Lines memory; // any bytes
  bool is_constant = false;

  void *data() const { return const_cast<float *>(memory.data()); }
};

lk_tensor_desc desc_of(uint32_t dtype, const Dims &dims, lk_layout layout) {
  lk_tensor_desc made = {};
  made.dtype = dtype;
  made.rank = uint32_t(dims.size());
  made.layout = layout;
  std::copy(dims.begin(), dims.end(), made.dims);
  return made;
}

// A node while it is put together.
class Node {
public:
  Node(const char *op, lk_layout layout = LK_LAYOUT_PLAIN) : op_(op), layout_(layout) {}

  // Between 0.5 and 2.
  Node &bf16(const Dims &dims, bool is_constant = false) {
    std::uniform_real_distribution<float> number(0.5F, 2);
    const bool has_layout = inputs_.empty();
    inputs_.push_back({desc_of(LK_BF16, dims, has_layout ? layout_ : lk_layout(LK_LAYOUT_PLAIN)),
                       {},
                       is_constant});
    inputs_.back().memory = Lines(size_t(count_of(dims)) / 2 + 1);
    auto *to = static_cast<char *>(inputs_.back().data());
    for (int64_t i = 0; i < count_of(dims); i++) {
      const float drawn = number(random_);
      std::memcpy(to + 2 * i, reinterpret_cast<const char *>(&drawn) + 2, 2); // the high bits
    }
    return *this;
  }
  Node &numbers(const std::vector<int64_t> &values) { // a constant of i64
    inputs_.push_back({desc_of(LK_I64, {int64_t(values.size())}, LK_LAYOUT_PLAIN), {}, true});
    inputs_.back().memory = Lines(values.size() * 2);
    std::memcpy(inputs_.back().data(), values.data(), values.size() * sizeof(int64_t));
    return *this;
  }
  Node &nothing() { // a constant of f32
    inputs_.push_back({desc_of(LK_F32, {0}, LK_LAYOUT_PLAIN), {}, true});
    inputs_.back().memory = Lines(1);
    return *this;
  }
  Node &attr(const char *name, int64_t value) {
    name_ = name;
    number_ = value;
    return *this;
  }
  Node &mode(const char *text) {
    mode_ = text;
    return *this;
  }
  Node &output(const Dims &dims) {
    out_ = dims;
    return *this;
  }

  std::string name() const {
    const lk_tensor_desc &x = inputs_[0].desc;
    const char *last = layout_ == LK_LAYOUT_CHANNELS_LAST ? " last" : "";
    const bool has_row =
        inputs_.size() == 2 && !inputs_[1].is_constant && inputs_[1].desc.rank == 1;
    const std::string mode = mode_ != nullptr ? std::string(" ") + mode_ : "";
    return op_ + mode + " " + text_of(Dims(x.dims, x.dims + x.rank)) + (has_row ? ", a row" : last);
  }
  // Into as many elements as `to` has room for.
  std::unique_ptr<EngineNode> in(const EngineContext &context, uint16_t *to) const {
    std::vector<NodeInput> inputs;
    for (const Tensor &each : inputs_) inputs.push_back({each.desc, each.data(), each.is_constant});
    std::vector<lk_attr> attrs;
    if (name_ != nullptr) attrs.push_back({name_, LK_ATTR_INTS, 1, &number_});
    if (mode_ != nullptr) {
      attrs.push_back({"mode", LK_ATTR_STRING, uint32_t(std::strlen(mode_)), mode_});
    }
    return std::make_unique<EngineNode>(context, op_.c_str(), inputs, attrs,
                                        std::vector<lk_post_op>{}, layout_, to, OPSET);
  }
  int64_t elements() const { return count_of(out_); }

private:
  std::string op_;
  lk_layout layout_;
  std::vector<Tensor> inputs_;
  const char *name_ = nullptr, *mode_ = nullptr; // attributes
  int64_t number_ = 0;
  Dims out_;
  std::mt19937 random_{1};
};

struct Times {
  std::string name;
  double native = INFINITY, onednn = INFINITY; // seconds: the best
  double ratio() const { return onednn / native; }
};

float number_of(uint16_t bits) {
  const uint32_t wide = uint32_t(bits) << 16;
  float made;
  std::memcpy(&made, &wide, sizeof made);
  return made;
}

Times measure(const EngineContext &native, const EngineContext &onednn, const Node &node,
              int rounds) {
  const size_t count = size_t(node.elements());
  std::vector<uint16_t> ours(count), theirs(count);
  const auto a = node.in(native, ours.data()), b = node.in(onednn, theirs.data());
  Times times = {node.name()};
  a->run(), b->run();
  for (size_t i = 0; i < count; i++) { // neighbours, and what is left of numbers that cancel
    const float x = number_of(ours[i]), y = number_of(theirs[i]);
    if (x == y || std::fabs(x - y) <= std::fabs(x) / 128 + 1e-5F) continue;
    std::fprintf(stderr, "%s: element %zu is %g, oneDNN's %g\n", times.name.c_str(), i, double(x),
                 double(y));
    std::exit(1);
  }
  const int repeats = int(1e-3 / std::max(1e-7, seconds(3, [&] { a->run(); }))) + 1;
  for (int i = 0; i < rounds; i++) {
    times.native = std::min(times.native, seconds(repeats, [&] { a->run(); }));
    times.onednn = std::min(times.onednn, seconds(repeats, [&] { b->run(); }));
  }
  return times;
}

// ---- nodes ----

void add_rows(std::vector<Node> *to) {
  for (const Dims &dims : {Dims{16, 64}, Dims{32, 768}, Dims{128, 768}, Dims{512, 768},
                           Dims{8, 4096}, Dims{128, 4096}}) {
    const Dims row = {dims[1]};
    to->push_back(Node("LayerNormalization").bf16(dims).bf16(row, true).bf16(row, true));
    to->back().output(dims);
    to->push_back(Node("RMSNormalization").bf16(dims).bf16(row, true).output(dims));
    for (const char *op : {"ReduceSum", "ReduceMean", "ReduceProd"}) {
      to->push_back(Node(op).bf16(dims).numbers({-1}).output({dims[0]}));
    }
  }
}

void add_elements(std::vector<Node> *to) {
  for (const Dims &dims : {Dims{2, 1024}, Dims{8, 1024}, Dims{32, 1024}, Dims{64, 1024},
                           Dims{512, 1024}, Dims{2048, 1024}}) {
    for (const char *op : {"Add", "Mul", "Div"}) {
      to->push_back(Node(op).bf16(dims).bf16(dims).output(dims));
      to->push_back(Node(op).bf16(dims).bf16({dims[1]}).output(dims));
    }
    for (const char *op :
         {"Abs", "HardSwish", "LeakyRelu", "Reciprocal", "Sigmoid", "Sqrt", "Tanh"}) {
      to->push_back(Node(op).bf16(dims).output(dims));
    }
  }
}

void add_images(std::vector<Node> *to) {
  const lk_layout last = LK_LAYOUT_CHANNELS_LAST;
  for (const int64_t channels : {16, 64, 128, 256, 512}) {
    for (const int64_t size : {14, 28, 56}) {
      const Dims dims = {1, channels, size, size}, twice = {1, channels, 2 * size, 2 * size},
                 row = {channels};
      to->push_back(Node("InstanceNormalization", last).bf16(dims).bf16(row, true).bf16(row, true));
      to->back().output(dims);
      to->push_back(Node("GroupNormalization", last).bf16(dims).bf16(row, true).bf16(row, true));
      to->back().attr("num_groups", int64_t(8)).output(dims);
      to->push_back(Node("BatchNormalization", last).bf16(dims).bf16(row, true).bf16(row, true));
      to->back().bf16(row, true).bf16(row, true).output(dims);
      to->push_back(Node("PRelu").bf16(dims).bf16({channels, 1, 1}, true).output(dims));
      to->push_back(Node("LRN", last).bf16(dims).attr("size", int64_t(5)).output(dims));
      for (const char *mode : {"nearest", "linear"}) {
        to->push_back(Node("Resize", last).bf16(dims).nothing().nothing());
        to->back().numbers(twice).mode(mode).output(twice);
      }
    }
  }
}

void print(const std::vector<Times> &all, bool json) {
  if (json) std::printf("{\"nodes\": [");
  for (size_t i = 0; i < all.size(); i++) {
    const Times &each = all[i];
    if (json) {
      std::printf("%s{\"node\": \"%s\", \"native_us\": %.3f, \"onednn_us\": %.3f}",
                  i > 0 ? ", " : "", each.name.c_str(), each.native * 1e6, each.onednn * 1e6);
    } else {
      std::printf("  %-44s native %9.2f us, onednn %9.2f us: %.2f\n", each.name.c_str(),
                  each.native * 1e6, each.onednn * 1e6, each.ratio());
    }
  }
  if (json) std::printf("]}\n");
}

} // namespace

int main(int argc, char **argv) {
  const Arguments arguments("half_nodes", argc, argv, {.usual = 15, .quick = 1, .longer = 61});
  const EngineContext native(1, "native"), onednn(1);
  std::vector<Node> nodes;
  add_rows(&nodes);
  add_elements(&nodes);
  add_images(&nodes);
  std::vector<Times> all;
  for (const Node &node : nodes) all.push_back(measure(native, onednn, node, arguments.rounds));
  print(all, arguments.json);
}
