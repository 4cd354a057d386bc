// Attention by an engine that has plain loops for what latchkey/engine.h says of the work, and
// nothing else, computes what native does.
#include <limits>

#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::Dims;
using lk::Value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Loops {
public:
  static inline int offers = 0, runs = 0;
  static inline lk_work last;

  static lk_engine table() {
    lk_engine made = {};
    made.struct_size = sizeof made;
    made.version = LK_ENGINE_VERSION;
    made.name = "loops";
    made.state = "1";
    made.offer = [](void *, const lk_work *work, uint32_t placed, lk_offer *) {
      if (work->kind != LK_WORK_ATTENTION) return 0;
      EXPECT_EQ(placed, work->roles) << "all of it lies already";
      offers++;
      last = *work;
      return 1;
    };
    made.build = [](void *, const lk_work *work, lk_engine_value *out, lk_error *) {
      out->value = new lk_work(*work);
      out->implementation = "loops";
      out->bytes = sizeof *work;
      return LK_OK;
    };
    made.destroy = [](void *, void *value) { delete static_cast<lk_work *>(value); };
    made.pack = [](void *, const void *, uint32_t, const void *, void *, lk_error *) {
      return LK_INTERNAL;
    };
    made.slot_open = [](void *, const void *, void **, lk_error *) { return LK_OK; };
    made.slot_close = [](void *, const void *, void *) {};
    made.run = [](void *, const void *value, void *, void *const *pointers, lk_error *) {
      runs++;
      Loops(*static_cast<const lk_work *>(value), pointers).compute();
      return LK_OK;
    };
    return made;
  }

private:
  Loops(const lk_work &work, void *const *pointers) : work_(work), of_(work.attention) {
    for (uint32_t role = 0; role < LK_ROLES; role++) {
      if (has(role)) at_[role] = *pointers++;
    }
  }
  bool has(uint32_t role) const { return (work_.roles >> role & 1) != 0; }
  float *row(uint32_t role, const lk_heads_place &place, int64_t b, int64_t h, int64_t i) const {
    return static_cast<float *>(at_[role]) + place.first + b * place.batch + h * place.head +
           i * place.row;
  }
  int64_t score_index(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return ((b * of_.heads + h) * of_.queries + i) * of_.keys + j;
  }
  // What a mask has for a score; without a dimension, or with one of 1, for all of them.
  double masked(uint32_t role, const int64_t (&index)[4]) const {
    const lk_tensor_desc &desc = work_.tensors[role];
    int64_t element = 0;
    for (uint32_t d = 0; d < desc.rank; d++) {
      const int64_t position = index[4 - desc.rank + d];
      const bool repeats = desc.dims[d] == 1 && d + 1 < desc.rank;
      element = element * desc.dims[d] + (repeats ? 0 : position);
    }
    if (desc.dtype == LK_BOOL)
      return static_cast<uint8_t *>(at_[role])[element] != 0 ? 0 : -kInfinity;
    EXPECT_EQ(desc.dtype, uint32_t(LK_F32));
    return static_cast<float *>(at_[role])[element];
  }
  int64_t masked_keys() const {
    const lk_tensor_desc &mask = work_.tensors[LK_ROLE_BIAS];
    return has(LK_ROLE_BIAS) ? mask.dims[mask.rank - 1] : of_.keys;
  }
  int64_t length_of(int64_t b) const {
    if (!has(LK_ROLE_LENGTHS)) return of_.keys;
    return std::clamp<int64_t>(static_cast<int64_t *>(at_[LK_ROLE_LENGTHS])[b], 0, of_.keys);
  }
  bool attends(int64_t b, int64_t i, int64_t j) const {
    const int64_t length = length_of(b);
    const bool from_end = has(LK_ROLE_LENGTHS) && of_.has_past == 0;
    const int64_t position = from_end ? length - of_.queries + i : of_.past + i;
    return j < length && j < masked_keys() && (of_.left < 0 || j >= position - of_.left) &&
           (of_.right < 0 || j <= position + of_.right);
  }
  void show(lk_attention_stage stage, int64_t index, double score) const {
    if (!has(LK_ROLE_SCORES) || of_.stage != uint32_t(stage)) return;
    static_cast<float *>(at_[LK_ROLE_SCORES])[index] = float(score);
  }
  double score_of(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const float *q = row(LK_ROLE_SRC, of_.q, b, h, i);
    const float *k = row(LK_ROLE_KEYS, of_.k, b, h / (of_.heads / of_.kv_heads), j);
    const int64_t index = score_index(b, h, i, j);
    double score = 0;
    for (int64_t e = 0; e < of_.size; e++) score += double(q[e]) * double(k[e]);
    score *= double(of_.scale);
    show(LK_ATTENTION_SCALED, index, score);
    if (of_.softcap != 0) score = double(of_.softcap) * std::tanh(score / double(of_.softcap));
    show(LK_ATTENTION_CAPPED, index, score);
    const bool is_attended = attends(b, i, j);
    if (is_attended && has(LK_ROLE_BIAS)) {
      const double mask = masked(LK_ROLE_BIAS, {b, h, i, j});
      score = of_.mask_replaces == 0 ? score + mask : mask != 0 ? mask : score;
    }
    if (is_attended && has(LK_ROLE_OPERAND)) score += masked(LK_ROLE_OPERAND, {b, h, i, j});
    show(LK_ATTENTION_MASKED, index, is_attended ? score : double(of_.hidden));
    return is_attended ? score : -kInfinity;
  }
  double sink_of(int64_t h) const {
    if (of_.sink == LK_SINK_ONE) return 0;
    return of_.sink == LK_SINK_NONE ? -kInfinity
                                    : double(static_cast<float *>(at_[LK_ROLE_SINKS])[h]);
  }
  // Softmax, of the sink too. NaN where it makes NaN.
  static void weigh(std::vector<double> *scores, double sink) {
    double most = sink, sum = 0;
    for (const double score : *scores) most = std::max(most, score);
    if (most == -kInfinity) most = 0;
    for (double &score : *scores) sum += score = std::exp(score - most);
    sum += std::exp(sink - most);
    for (double &score : *scores) score /= sum;
  }
  void compute_row(int64_t b, int64_t h, int64_t i) const {
    std::vector<double> weights;
    bool is_empty = true;
    for (int64_t j = 0; j < of_.keys; j++) {
      weights.push_back(score_of(b, h, i, j));
      is_empty = is_empty && weights.back() == -kInfinity;
    }
    weigh(&weights, sink_of(h));
    const bool is_nan = std::isnan(weights[0]); // as all of them then are
    const bool is_nothing = is_empty && of_.sink == LK_SINK_NONE;
    for (double &weight : weights) {
      if (is_nan && (of_.nan_is_zero != 0 || is_nothing)) weight = 0;
    }
    float *y = row(LK_ROLE_DST, of_.y, b, h, i);
    for (int64_t e = 0; e < of_.v_size; e++) {
      double sum = is_nothing && of_.empty_is_nan != 0 && of_.nan_is_zero == 0 ? NAN : 0;
      for (int64_t j = 0; j < of_.keys; j++) {
        const int64_t head = h / (of_.heads / of_.kv_heads);
        if (j >= length_of(b)) continue; // it may be anything
        sum += weights[size_t(j)] * double(row(LK_ROLE_VALUES, of_.v, b, head, j)[e]);
      }
      y[e] = float(sum);
    }
    for (int64_t j = 0; j < of_.keys; j++) {
      show(LK_ATTENTION_SOFTMAX, score_index(b, h, i, j), weights[size_t(j)]);
    }
  }
  void compute() const {
    for (int64_t b = 0; b < of_.batch; b++) {
      for (int64_t h = 0; h < of_.heads; h++) {
        for (int64_t i = 0; i < of_.queries; i++) compute_row(b, h, i);
      }
    }
  }
  const lk_work &work_;
  const lk_work_attention &of_;
  void *at_[LK_ROLES] = {};
};

// A node, with what goes in.
struct Case {
  lk::TestNode node;
  std::vector<Value> inputs;
  std::vector<lk_layout> layouts;
};

class Cases {
public:
  explicit Cases(unsigned seed) : random_(seed) {}

  Case make() {
    static Case (Cases::*const makers[])() = {&Cases::attention, &Cases::grouped, &Cases::multi,
                                              &Cases::projected, &Cases::fused};
    batch_ = small(), kv_heads_ = small(), size_ = small(), v_size_ = coin() ? size_ : small();
    heads_ = kv_heads_ * small(), queries_ = 1 + below(12), past_ = coin() ? below(3) : 0;
    keys_ = past_ + 1 + below(9);
    Case made = (this->*makers[below(5)])();
    while (!made.node.absent.empty() && made.node.absent.back() + 1 == made.inputs.size()) {
      made.node.absent.pop_back();
      made.inputs.pop_back();
    }
    made.node.n_inputs = uint32_t(made.inputs.size());
    made.layouts.resize(made.inputs.size(), LK_LAYOUT_PLAIN);
    for (uint32_t i = 0; i < 3 && i < made.inputs.size(); i++) {
      if (made.inputs[i].desc.rank == 4 && coin()) made.layouts[i] = LK_LAYOUT_HEADS_INSIDE;
    }
    return made;
  }

private:
  int64_t below(int64_t n) { return int64_t(random_() % uint64_t(n)); }
  bool coin() { return below(2) == 0; }
  int64_t small() { return 1 + below(3); }
  int64_t one_or(int64_t n) { return coin() ? 1 : n; }
  Value f32(const Dims &dims) { return lk::random(dims, random_(), -2, 2); }
  Value heads(int64_t heads, int64_t rows, int64_t size) {
    return coin() ? f32({batch_, heads, rows, size}) : f32({batch_, rows, heads * size});
  }
  void add(Case *made, bool is_there, const Value &value) {
    if (!is_there) made->node.absent.push_back(uint32_t(made->inputs.size()));
    made->inputs.push_back(value);
  }
  template <typename T> Value numbers(const Dims &dims, int64_t low, int64_t most, uint32_t dtype) {
    std::vector<T> values(size_t(lk::count_of(dims)));
    for (T &value : values) value = T(low + below(most - low + 1));
    return lk::tensor<T>(dims, values, dtype);
  }
  Value bools(const Dims &dims) { return numbers<uint8_t>(dims, 0, 1, LK_BOOL); }
  Value i32(const Dims &dims, int64_t low, int64_t most) {
    return numbers<int32_t>(dims, low, most, LK_I32);
  }
  Value mask(Dims dims, size_t least) {
    dims.erase(dims.begin(), dims.begin() + below(int64_t(dims.size() - least) + 1));
    return coin() ? bools(dims) : f32(dims);
  }
  Case attention() {
    Case made;
    const bool has_past = past_ > 0 || below(4) == 0;
    made.node.op = "Attention";
    made.node.opset = 25;
    made.node.ints = {{"q_num_heads", {heads_}}, {"kv_num_heads", {kv_heads_}}};
    if (coin()) made.node.floats = {{"scale", {0.5f}}, {"softcap", {2}}};
    if (coin()) {
      made.node.ints.insert(made.node.ints.end(), {{"left_window_size", {below(5) - 1}},
                                                   {"right_window_size", {below(5) - 1}}});
    }
    if (coin()) {
      made.node.n_outputs = 4;
      made.node.ints.push_back({"qk_matmul_output_mode", {below(4)}});
    }
    made.inputs = {heads(heads_, queries_, size_), heads(kv_heads_, keys_ - past_, size_),
                   heads(kv_heads_, keys_ - past_, v_size_)};
    const int64_t covered = 1 + below(keys_);
    add(&made, coin(), mask({one_or(batch_), one_or(heads_), one_or(queries_), covered}, 1));
    add(&made, has_past, f32({batch_, kv_heads_, past_, size_}));
    add(&made, has_past, f32({batch_, kv_heads_, past_, v_size_}));
    add(&made, !has_past && coin(), numbers<int64_t>({batch_}, -1, keys_ + 1, LK_I64));
    return made;
  }
  // Of a buffer that is as long as it has to be, or longer.
  Case grouped() {
    Case made;
    const int64_t rows = 1 + below(3), total = past_ + rows, buffer = total + below(2);
    made.node.op = "GroupQueryAttention";
    made.node.domain = "com.microsoft";
    made.node.opset = 1;
    made.node.n_outputs = coin() ? 3 : 4;
    made.node.ints = {
        {"num_heads", {heads_}}, {"kv_num_heads", {kv_heads_}}, {"smooth_softmax", {below(2)}}};
    if (made.node.n_outputs == 4) made.node.ints.push_back({"qk_output", {1 + below(2)}});
    if (coin()) made.node.ints.push_back({"local_window_size", {small()}});
    if (coin()) made.node.floats = {{"softcap", {2}}};
    const Value row = f32({batch_, rows, kv_heads_ * size_});
    const Value before = f32({batch_, kv_heads_, buffer, size_});
    made.inputs = {f32({batch_, rows, heads_ * size_}),
                   row,
                   row,
                   before,
                   before,
                   i32({batch_}, total - 1, total - 1),
                   i32({}, total, total)};
    for (int i = 0; i < 3; i++) add(&made, false, f32({}));
    add(&made, coin(), f32({one_or(batch_), one_or(heads_), rows, total}));
    add(&made, coin(), f32({heads_}));
    return made;
  }
  Case multi() {
    Case made;
    const bool has_past = past_ > 0;
    heads_ = kv_heads_;
    made.node.op = "MultiHeadAttention";
    made.node.domain = "com.microsoft";
    made.node.opset = 1;
    made.node.n_outputs = coin() ? 1 : 3;
    made.node.ints = {{"num_heads", {heads_}}, {"unidirectional", {below(2)}}};
    made.node.floats = {{"mask_filter_value", {-4}}}; // which leaves digits
    made.inputs = {f32({batch_, queries_, heads_ * size_}), heads(heads_, keys_ - past_, size_),
                   heads(heads_, keys_ - past_, v_size_)};
    if (coin()) {
      made.inputs = {f32({batch_, queries_, heads_ * size_}),
                     f32({batch_, keys_ - past_, heads_, 2, size_})};
      v_size_ = size_;
      add(&made, false, f32({}));
    }
    add(&made, false, f32({}));
    const Value lengths = i32({batch_}, 0, keys_), padding = i32({batch_, keys_}, 0, 1);
    add(&made, coin(), coin() ? lengths : padding);
    add(&made, coin(), f32({one_or(batch_), one_or(heads_), queries_, keys_}));
    add(&made, has_past, f32({batch_, heads_, past_, size_}));
    add(&made, has_past, f32({batch_, heads_, past_, v_size_}));
    return made;
  }
  Case projected() {
    Case made;
    const int64_t rows = keys_ - past_, width = 3 * kv_heads_ * size_;
    made.node.op = "Attention";
    made.node.domain = "com.microsoft";
    made.node.opset = 1;
    made.node.n_outputs = coin() ? 1 : 2;
    made.node.ints = {{"num_heads", {kv_heads_}}, {"unidirectional", {below(2)}}};
    made.node.floats = {{"mask_filter_value", {-4}}};
    made.inputs = {f32({batch_, rows, 3}), f32({3, width})};
    add(&made, coin(), f32({width}));
    add(&made, coin(), i32({batch_, keys_}, 0, 1));
    add(&made, past_ > 0, f32({2, batch_, kv_heads_, past_, size_}));
    add(&made, coin(), f32({one_or(batch_), one_or(kv_heads_), rows, keys_}));
    return made;
  }
  // With rows of which softmax makes NaN.
  Case fused() {
    Case made;
    made.node.op = "Attention";
    made.node.domain = "latchkey";
    made.node.opset = 1;
    made.node.ints = {{"zeros", {below(2)}}, {"hides", {below(2)}}};
    if (coin()) made.node.floats = {{"filter", {-3}}};
    made.inputs = {f32({batch_, kv_heads_, queries_, size_}),
                   f32({one_or(batch_), kv_heads_, keys_, size_}),
                   f32({batch_, one_or(kv_heads_), keys_, v_size_})};
    add(&made, coin(),
        mask({one_or(batch_), one_or(kv_heads_), one_or(queries_), one_or(keys_)}, 1));
    if (below(3) != 0) return made;
    const float special[] = {NAN, INFINITY, -INFINITY};
    std::memcpy(&made.inputs[0].bytes[0], &special[below(3)], sizeof(float));
    return made;
  }
  std::mt19937 random_;
  int64_t batch_ = 0, heads_ = 0, kv_heads_ = 0, queries_ = 0, keys_ = 0, past_ = 0, size_ = 0,
          v_size_ = 0;
};

// The outputs of a node.
std::vector<Value> outputs_of(lk_executor *executor, const Case &of) {
  lk::Op op;
  lk::Plan plan;
  std::vector<lk::Memory> memory, to;
  std::vector<lk_tensor> inputs;
  std::vector<void *> from, pointers;
  std::vector<Value> made;
  for (size_t i = 0; i < of.inputs.size(); i++) {
    memory.push_back(of.inputs[i].in(of.layouts[i]));
    inputs.push_back({of.inputs[i].desc, memory.back().data()});
    inputs.back().desc.layout = of.layouts[i];
    from.push_back(memory.back().data());
  }
  for (const uint32_t absent : of.node.absent) inputs[absent] = {};
  const std::vector<lk_layout> wishes(of.node.n_outputs, LK_LAYOUT_PLAIN);
  lk_bind_desc desc = host_bind(inputs.data(), uint32_t(inputs.size()));
  desc.n_outputs = of.node.n_outputs;
  desc.wishes = wishes.data();
  LK_EXPECT_OK(of.node.create(executor, &op, LK_ERR));
  LK_EXPECT_OK(lk::bind(op, desc, &plan, LK_ERR));
  if (::testing::Test::HasFailure()) return made;
  std::vector<lk_tensor_desc> descs(of.node.n_outputs);
  for (uint32_t i = 0; i < of.node.n_outputs; i++) {
    LK_EXPECT_OK(api()->plan_output(plan, i, &descs[i], LK_ERR));
    to.emplace_back(size_t(lk::count_of(lk::dims_of(descs[i]))) * lk::dtype_bytes(descs[i].dtype));
    pointers.push_back(to.back().data());
  }
  LK_EXPECT_OK(host_run(executor, plan, from.data(), pointers.data(), LK_ERR));
  for (uint32_t i = 0; i < of.node.n_outputs; i++) {
    made.push_back(Value::from(descs[i], pointers[i]));
  }
  return made;
}

class AttentionWorks : public ::testing::Test {
protected:
  AttentionWorks() {
    const lk_engine table = Loops::table();
    LK_EXPECT_OK(api()->engine_register(with_loops, &table, LK_ENGINE_CHOOSE, LK_ERR));
    loops = lk::executor_in(with_loops);
    native = lk::executor_in(without);
    Loops::offers = Loops::runs = 0;
  }
  lk::Context with_loops = lk::open(), without = lk::open();
  lk::Executor loops, native;
};

TEST_F(AttentionWorks, SayAllThatTheirNodesWant) {
  Cases cases(1);
  for (int i = 0; i < 2000; i++) {
    const Case of = cases.make();
    const int before = Loops::runs;
    const std::vector<Value> wanted = outputs_of(native, of), found = outputs_of(loops, of);
    ASSERT_EQ(wanted.size(), found.size());
    EXPECT_EQ(Loops::runs, before + 1);
    for (size_t k = 0; k < wanted.size(); k++) {
      EXPECT_TRUE(lk::all_close(wanted[k], found[k], {1e-4, 1e-5})) << "output " << k;
    }
    ASSERT_FALSE(HasFailure()) << i << ": " << of.node.domain << " " << of.node.op;
  }
}

// What is attended is of f32, whatever the node has. Masks and scores are the node's.
TEST_F(AttentionWorks, AreOfF32WhereNodesAreOfHalves) {
  const auto half = [](const Dims &dims) {
    return lk::tensor<uint16_t>(dims, std::vector<uint16_t>(size_t(lk::count_of(dims)), 0x3f80),
                                LK_BF16);
  };
  Case of;
  of.node.op = "Attention";
  of.node.opset = 23;
  of.node.n_inputs = of.node.n_outputs = 4;
  of.inputs = {half({1, 1, 2, 3}), half({1, 1, 2, 3}), half({1, 1, 2, 3}), half({2, 2})};
  of.layouts.resize(4, LK_LAYOUT_PLAIN);
  lk::Op op;
  lk::Plan plan;
  std::vector<lk_tensor> inputs;
  for (const Value &value : of.inputs) inputs.push_back({value.desc, nullptr});
  lk_bind_desc desc = host_bind(inputs.data(), 4);
  desc.n_outputs = 4;
  LK_ASSERT_OK(of.node.create(loops, &op, LK_ERR));
  LK_ASSERT_OK(lk::bind(op, desc, &plan, LK_ERR));
  ASSERT_EQ(Loops::offers, 1);
  for (const lk_role role : {LK_ROLE_SRC, LK_ROLE_KEYS, LK_ROLE_VALUES, LK_ROLE_DST}) {
    EXPECT_EQ(Loops::last.tensors[role].dtype, uint32_t(LK_F32)) << role;
  }
  EXPECT_EQ(Loops::last.tensors[LK_ROLE_BIAS].dtype, uint32_t(LK_BF16));
  EXPECT_EQ(Loops::last.tensors[LK_ROLE_SCORES].dtype, uint32_t(LK_BF16));
}

} // namespace
