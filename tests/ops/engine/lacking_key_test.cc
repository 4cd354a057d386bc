// Each field of a value key is needed: without it, works and nodes at random get values that were
// built for others, and these tests would notice.
#include <map>
#include <memory>
#include <set>

#include "tests/keys/lacking_key.h"
#include "tests/keys/random_key.h"
#include "tests/ops/engine/random_work.h"
#include "tests/plugin/handles.h"

extern "C" {
#include "keys/cache/cache.h"

// The linker puts it in front of the cache's look-up.
lk_status __real_lk_cache_get(lk_cache *cache, lk_quota *quota, const lk_key *key,
                              lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                              lk_error *error);
lk_status __wrap_lk_cache_get(lk_cache *cache, lk_quota *quota, const lk_key *key,
                              lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                              lk_error *error);
}

namespace {

using lk::api;
using lk::Lack;

const Lack *lack = nullptr; // of all value keys; NULL: they are whole

struct Built {
  lk_build_fn build;
  void *arg;
  const lk_key *whole;
};
// A value is built from the whole key.
lk_status build_from_whole(void *of, const lk_key *, lk_built *out, lk_error *error) {
  const auto *self = static_cast<Built *>(of);
  return self->build(self->arg, self->whole, out, error);
}

Lack fields_of(uint32_t record, const std::vector<std::string> &fields) {
  return {record, fields, false};
}
Lack all_of(uint32_t record, uint32_t label) {
  return {record, {}, false, label, true};
}

// What a value key has, by the names that its text has.
std::map<std::string, Lack> all_lacks() {
  std::map<std::string, Lack> all = {{"op", fields_of(LK_RECORD_HEAD, {"op"})},
                                     {"dims", {LK_RECORD_TENSOR, {}, true}},
                                     {"post_op", all_of(LK_RECORD_POST_OP, 0)}};
  for (const char *field : {"name", "state", "device_kind", "device_index"}) {
    all["engine." + std::string(field)] = fields_of(LK_RECORD_ENGINE, {field});
  }
  for (const char *field : {"role", "index", "dtype", "layout"}) {
    all["tensor." + std::string(field)] = fields_of(LK_RECORD_TENSOR, {field});
  }
  for (const char *field : {"kind", "input", "alpha", "beta"}) {
    all["post_op." + std::string(field)] = fields_of(LK_RECORD_POST_OP, {field});
  }
#define ROLE(word) all["tensor " #word] = all_of(LK_RECORD_TENSOR, LK_WORD_##word)
  ROLE(SRC), ROLE(WEIGHTS), ROLE(BIAS), ROLE(DST), ROLE(INDICES), ROLE(SCALE), ROLE(SHIFT);
  ROLE(MEAN), ROLE(DEVIATION), ROLE(SRC_ZERO), ROLE(WEIGHTS_ZERO), ROLE(DST_ZERO);
  ROLE(SRC_SCALE), ROLE(WEIGHTS_SCALE), ROLE(DST_SCALE), ROLE(OPERAND);
  ROLE(RECURRENT_WEIGHTS), ROLE(RECURRENT_ZERO), ROLE(RECURRENT_SCALE), ROLE(LENGTHS);
  ROLE(STATE), ROLE(CELL), ROLE(PEEPHOLES), ROLE(DST_STATE), ROLE(DST_CELL);
  ROLE(KEYS), ROLE(VALUES), ROLE(SINKS), ROLE(SCORES);
#undef ROLE
#define ATTR(word) all["attr " #word] = all_of(LK_RECORD_ATTR, LK_WORD_##word)
  ATTR(CONSTANTS), ATTR(KERNEL), ATTR(STRIDES), ATTR(DILATIONS), ATTR(PADS_BEGIN);
  ATTR(POSITIONS), ATTR(PADS_END), ATTR(GROUPS), ATTR(SIZE), ATTR(AXES), ATTR(POOLING);
  ATTR(COLUMN_MAJOR), ATTR(CENTERED), ATTR(ORDERS), ATTR(REDUCING), ATTR(INTERPOLATION);
  ATTR(COORDINATES), ATTR(NEAREST), ATTR(ANTIALIAS), ATTR(EXCLUDE_OUTSIDE), ATTR(ROUNDED);
  ATTR(UP), ATTR(DOWN), ATTR(START), ATTR(END), ATTR(BLOCK), ATTR(WIDTH), ATTR(TAKES_BYTES);
  ATTR(CELL), ATTR(DIRECTION), ATTR(BATCH_FIRST), ATTR(COUPLES_FORGET), ATTR(ACTIVATIONS);
  ATTR(ALPHAS), ATTR(BETAS), ATTR(ORDER);
  ATTR(BATCH), ATTR(HEADS), ATTR(KV_HEADS), ATTR(QUERIES), ATTR(KEYS), ATTR(HEAD_SIZE);
  ATTR(V_SIZE), ATTR(Q_PLACE), ATTR(K_PLACE), ATTR(V_PLACE), ATTR(Y_PLACE), ATTR(PAST);
  ATTR(LEFT), ATTR(RIGHT), ATTR(HAS_PAST), ATTR(SINK), ATTR(STAGE), ATTR(MASK_REPLACES);
  ATTR(EMPTY_IS_NAN), ATTR(NAN_IS_ZERO), ATTR(POSITIVE);
#undef ATTR
#define NUMBER(word) all["number " #word] = all_of(LK_RECORD_FLOAT, LK_WORD_##word)
  NUMBER(ALPHA), NUMBER(BETA), NUMBER(BIAS), NUMBER(EPSILON), NUMBER(CUBIC);
  NUMBER(EXTRAPOLATION), NUMBER(FACTOR), NUMBER(CLIP), NUMBER(SCALE), NUMBER(SOFTCAP);
  NUMBER(HIDDEN);
#undef NUMBER
  return all;
}

// As far as a work means anything.
lk_work meaning_of(lk_work work) {
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    if ((work.roles >> role & 1) == 0) work.tensors[role] = {};
  }
  for (uint32_t i = work.n_post_ops; i < LK_WORK_POST_OPS; i++) work.post_ops[i] = {};
  return work;
}
std::string bytes_of(const lk_work &work) {
  const lk_work meant = meaning_of(work);
  return std::string(reinterpret_cast<const char *>(&meant), sizeof meant);
}

// ---- works that differ in one member ----

// Values that remember their work and their engine.
class Works {
public:
  Works() {
    LK_EXPECT_OK(lk_cache_create(lk_allocator_default(), LK_CACHE_SHARED, 1000, LK_UNLIMITED,
                                 &cache_, LK_ERR));
    for (uint32_t i = 0; i < 5; i++) {
      const lk_key_engine engine = {i == 1 ? 8u : 7u, i == 2 ? 10u : 9u, i == 3, i == 4};
      for (uint32_t kind = 0; kind < LK_WORK_KINDS; kind++) {
        LK_EXPECT_OK(
            lk_value_key_fix(lk_allocator_default(), &engine, kind, &engines_[i][kind], LK_ERR));
      }
    }
  }
  ~Works() {
    lk_cache_destroy(cache_);
    for (auto &engine : engines_) {
      for (lk_key *key : engine) lk_key_destroy(lk_allocator_default(), key);
    }
  }
  // Whether a value was found that was built for something else.
  bool notices(int pairs) {
    lk::RandomWorks random(1);
    for (int i = 0; i < pairs; i++) {
      const lk_work work = random.make();
      const uint32_t engine = uint32_t(random.below(5));
      if (!is_right(work, 0) || !is_right(random.change(work), 0)) return true;
      if (!is_right(work, engine)) return true;
    }
    return false;
  }

private:
  static lk_status build(void *arg, const lk_key *, lk_built *out, lk_error *) {
    *out = {new std::string(*static_cast<const std::string *>(arg)), 2000,
            [](void *value, void *) { delete static_cast<std::string *>(value); }, nullptr};
    return LK_OK;
  }
  bool is_right(const lk_work &work, uint32_t engine) {
    std::string wanted = bytes_of(work) + std::to_string(engine);
    lk_key_builder builder;
    lk_key key;
    lk_ref *ref = nullptr;
    lk_value_key_begin(&builder, lk_allocator_default(), engines_[engine], &work);
    LK_EXPECT_OK(lk_key_finish_partial(&builder, &key, LK_ERR));
    LK_EXPECT_OK(lk_cache_get(cache_, nullptr, &key, build, &wanted, &ref, nullptr, LK_ERR));
    const bool is_same = *static_cast<std::string *>(lk_ref_value(ref)) == wanted;
    lk_ref_release(ref);
    lk_key_builder_destroy(&builder);
    return is_same;
  }
  lk_cache *cache_ = nullptr;
  lk_key *engines_[5][LK_WORK_KINDS] = {};
};

// ---- nodes, whose works go through the whole library ----

// An engine that takes everything, and whose values tell by their names what they were built for.
class Mirror {
public:
  static std::vector<std::string> asked; // the works that were offered, as they were taken

  static lk_engine table() {
    lk_engine made = {};
    made.struct_size = sizeof made;
    made.version = LK_ENGINE_VERSION;
    made.name = "mirror";
    made.state = "1";
    made.offer = offer;
    made.build = build;
    made.destroy = [](void *, void *value) { delete static_cast<std::string *>(value); };
    made.pack = [](void *, const void *, uint32_t, const void *, void *, lk_error *) {
      return LK_OK;
    };
    made.slot_open = [](void *, const void *, void **, lk_error *) { return LK_OK; };
    made.slot_close = [](void *, const void *, void *) {};
    made.run = [](void *, const void *, void *, void *const *, lk_error *) { return LK_OK; };
    return made;
  }

private:
  static std::string text_of(const lk_work &work) {
    std::string text;
    for (const char byte : bytes_of(work)) {
      text += char('a' + (byte & 15));
      text += char('a' + (byte >> 4 & 15));
    }
    return text;
  }
  static int offer(void *, const lk_work *work, uint32_t placed, lk_offer *inout) {
    lk_work taken = *work;
    for (uint32_t role = 0; role < LK_ROLES; role++) {
      if ((work->roles >> role & 1) == 0) continue;
      const bool is_constant = (work->constants >> role & 1) != 0;
      const bool is_open = inout->layouts[role] == LK_LAYOUT_ANY && !is_constant;
      if ((placed >> role & 1) == 0 && is_open) inout->layouts[role] = LK_LAYOUT_PLAIN;
      // Plain, and so that nothing but the bit says that it is constant.
      if (is_constant) inout->layouts[role] = LK_LAYOUT_PLAIN;
      taken.tensors[role].layout = inout->layouts[role];
    }
    asked.push_back(text_of(taken));
    return 1;
  }
  static lk_status build(void *, const lk_work *work, lk_engine_value *out, lk_error *) {
    auto *value = new std::string(text_of(*work));
    out->value = value;
    out->implementation = value->c_str();
    out->bytes = 2000;
    return LK_OK;
  }
};
std::vector<std::string> Mirror::asked;

// Nodes of few sizes, so that many differ in one thing alone.
class SmallNodes {
public:
  explicit SmallNodes(unsigned seed) : random_(seed) {}
  struct Node {
    lk::TestNode node;
    std::vector<lk_tensor_desc> inputs;
    lk_layout wish;
  };

  Node make() {
    Node made;
    switch (below(28)) {
    case 0:
      made = conv();
      break;
    case 1:
      made = product();
      break;
    case 2:
      made = softmax();
      break;
    case 3:
      made = pool();
      break;
    case 4:
      made = lrn();
      break;
    case 5:
      made = layer_norm();
      break;
    case 6:
      made = group_norm();
      break;
    case 7:
      made = integer_conv();
      break;
    case 8:
      made = quantized_conv();
      break;
    case 9:
      made = element();
      break;
    case 10:
      made = reduce();
      break;
    case 11:
      made = resize();
      break;
    case 12:
      made = integer_product();
      break;
    case 13:
      made = quantized_product();
      break;
    case 14:
      made = quantized_gemm();
      break;
    case 15:
      made = product_by_bits();
      break;
    case 16:
    case 26: // so often that some differ in one output alone
      made = recurrent();
      break;
    case 17:
      made = quantized_recurrent();
      break;
    case 18:
      made = attention();
      break;
    case 19:
      made = cached_attention();
      break;
    case 20:
    case 21: // so often that some follow each other
      made = like_attention();
      break;
    case 22:
      made = reorder();
      break;
    case 23:
      made = concat();
      break;
    case 24:
      made = batch_norm();
      break;
    case 25:
      made = prelu();
      break;
    default:
      made = fused_product();
    }
    made.node.n_inputs = uint32_t(made.inputs.size());
    made.node.name = "y" + std::to_string(count_++);
    made.wish = coin() ? LK_LAYOUT_PLAIN : LK_LAYOUT_CHANNELS_LAST;
    return made;
  }

private:
  int64_t below(int64_t n) { return int64_t(random_() % uint64_t(n)); }
  int64_t one_or_two() { return 1 + below(2); }
  bool coin() { return below(2) == 0; }
  static lk_tensor_desc f32(const lk::Dims &dims) {
    return lk_tensor_desc_make(LK_F32, uint32_t(dims.size()), dims.data());
  }
  void lay(Node *made) {
    if (coin()) made->inputs[0].layout = LK_LAYOUT_CHANNELS_LAST;
  }
  // Of an output of so many elements in each dimension.
  void add_post_ops(Node *made, const lk::Dims &dims) {
    const int64_t count = below(3);
    for (int64_t i = 0; i < count; i++) {
      if (coin()) {
        made->node.post_ops.push_back({uint32_t(coin() ? LK_POST_CLIP : LK_POST_HARDSIGMOID), -1,
                                       0.25f * float(below(2)), 1 + float(below(2))});
      } else {
        made->node.post_ops.push_back(
            {uint32_t(coin() ? LK_POST_ADD : LK_POST_MUL), int32_t(made->inputs.size()), 0, 0});
        made->inputs.push_back(f32(coin() ? dims : lk::Dims(dims.size(), 1)));
      }
    }
  }
  Node conv() {
    Node made;
    const int64_t rank = one_or_two(), groups = coin() ? 1 : 2;
    const bool is_transposed = below(4) == 0;
    lk::Dims x = {1, 4}, w = {4, 4 / groups}, y = {1, is_transposed ? 4 / groups * groups : 4};
    std::vector<int64_t> strides, dilations, pads;
    for (int64_t i = 0; i < rank; i++) {
      x.push_back(3 + below(2)), w.push_back(one_or_two());
      strides.push_back(one_or_two()), dilations.push_back(one_or_two());
    }
    for (int64_t i = 0; i < 2 * rank; i++) pads.push_back(below(2));
    for (size_t i = 0; i < size_t(rank); i++) {
      const int64_t reach = (w[2 + i] - 1) * dilations[i] + 1,
                    pad = pads[i] + pads[size_t(rank) + i];
      y.push_back(is_transposed ? (x[2 + i] - 1) * strides[i] + reach - pad
                                : (x[2 + i] + pad - reach) / strides[i] + 1);
    }
    made.node.op = is_transposed ? "ConvTranspose" : "Conv";
    made.node.ints = {
        {"group", {groups}}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
    made.inputs = {f32(x), f32(w)};
    const bool has_bias = coin();
    if (has_bias) made.inputs.push_back(f32({4}));
    if (coin()) {
      made.node.constants = {lk::random(w, 1)};
      if (has_bias) made.node.constants.push_back(lk::random({4}, 1));
    } else {
      add_post_ops(&made, y);
    }
    lay(&made);
    return made;
  }
  Node product() {
    Node made;
    const int64_t m = 2, k = 2, n = one_or_two();
    made.node.op = "MatMul";
    if (coin()) {
      made.inputs = {f32({m, k}), f32({k, n})};
    } else {
      made.inputs = {f32({2, m, k}), f32({2, k, n})};
    }
    if (coin()) {
      made.node.constants = {lk::random({k, n}, 1)};
      made.inputs[1] = f32({k, n});
    } else {
      add_post_ops(&made, made.inputs[0].rank == 2 ? lk::Dims{m, n} : lk::Dims{2, m, n});
      if (below(4) == 0 && made.node.post_ops.empty()) {
        for (lk_tensor_desc &input : made.inputs) input.dtype = LK_F64;
      }
    }
    return made;
  }
  Node fused_product() {
    Node made;
    made.node.op = "FusedMatMul";
    made.node.domain = "com.microsoft";
    made.node.opset = 1;
    for (const char *name : {"transA", "transB", "transBatchA", "transBatchB"}) {
      made.node.ints.push_back({name, {below(2)}});
    }
    made.inputs = {f32({2, 2, 2}), f32({2, 2, 2})};
    return made;
  }
  Node softmax() {
    static const char *const ops[] = {"Softmax", "LogSoftmax", "Hardmax"};
    Node made;
    made.node.op = ops[below(3)];
    made.node.ints = {{"axis", {below(3)}}};
    if (coin()) made.node.opset = 11;
    made.inputs = {f32({2, one_or_two(), 2})};
    lay(&made);
    return made;
  }
  Node pool() {
    Node made;
    const int64_t kernel = one_or_two();
    made.node.op = coin() ? "MaxPool" : "AveragePool";
    made.node.opset = 19;
    made.node.ints = {{"kernel_shape", {kernel, 2}},
                      {"strides", {one_or_two(), 1}},
                      {"dilations", {one_or_two(), 1}},
                      {"pads", {kernel == 2 ? below(2) : 0, 0, kernel == 2 ? below(2) : 0, 0}},
                      {"ceil_mode", {below(2)}}};
    if (made.node.op == "AveragePool") {
      made.node.ints.push_back({"count_include_pad", {below(2)}});
    } else {
      made.node.n_outputs = uint32_t(one_or_two());
      made.node.ints.push_back({"storage_order", {below(2)}});
    }
    made.inputs = {f32({1, 2, 3 + below(2), 3})};
    lay(&made);
    return made;
  }
  Node lrn() {
    Node made;
    made.node.op = "LRN";
    made.node.ints = {{"size", {1 + 2 * below(2)}}};
    made.node.floats = {{"alpha", {0.5f + 0.5f * float(below(2))}},
                        {"beta", {0.5f + 0.5f * float(below(2))}},
                        {"bias", {1 + float(below(2))}}};
    made.inputs = {f32({1, 4, 2, 2})};
    lay(&made);
    return made;
  }
  Node layer_norm() {
    Node made;
    const bool is_centered = coin();
    const int64_t axis = one_or_two();
    made.node.op = is_centered ? "LayerNormalization" : "RMSNormalization";
    made.node.opset = is_centered ? 17 : 23;
    made.node.ints = {{"axis", {axis}}};
    made.node.floats = {{"epsilon", {0.25f + 0.25f * float(below(2))}}};
    made.inputs = {f32({2, 2, 2}), axis == 1 && coin() ? f32({2, 2}) : f32({2})};
    if (is_centered && coin()) made.inputs.push_back(made.inputs[1]);
    if (is_centered) made.node.n_outputs = uint32_t(1 + below(3));
    return made;
  }
  Node group_norm() {
    Node made;
    const int64_t groups = one_or_two();
    made.node.op = "GroupNormalization";
    made.node.opset = coin() ? 18 : 21; // a scale for each group, or each channel
    const int64_t scales = made.node.opset == 18 ? groups : 4;
    made.node.ints = {{"num_groups", {groups}}};
    made.node.floats = {{"epsilon", {0.25f + 0.25f * float(below(2))}}};
    made.inputs = {f32({1, 4, 2, 2}), f32({scales}), f32({scales})};
    lay(&made);
    return made;
  }
  Node batch_norm() {
    Node made;
    made.node.op = "BatchNormalization";
    made.node.opset = 15;
    made.node.floats = {{"epsilon", {0.25f + 0.25f * float(below(2))}}};
    made.inputs = {f32({1, 2, 2, one_or_two()}), f32({2}), f32({2}), f32({2}), f32({2})};
    lay(&made);
    return made;
  }
  // Of slopes that come with a run, or that are constants, above 0 or not.
  Node prelu() {
    Node made;
    made.node.op = "PRelu";
    made.node.opset = 16;
    made.inputs = {f32({2, one_or_two(), 2}), f32({2})};
    if (coin()) made.node.constants = {lk::tensor<float>({2}, {0.5f, coin() ? 0.25f : 0.0f})};
    lay(&made);
    return made;
  }
  // Of one tensor, or of two that may repeat.
  Node element() {
    Node made;
    const lk::Dims dims = {2, one_or_two(), 2};
    if (coin()) {
      static const char *const ops[] = {"Relu", "Tanh", "Sqrt", "LeakyRelu", "Elu"};
      const int64_t op = below(5);
      made.node.op = ops[op];
      if (op >= 3) made.node.floats = {{"alpha", {0.25f + 0.25f * float(below(2))}}};
      made.inputs = {f32(dims)};
    } else {
      made.node.op = coin() ? "Add" : "Mul";
      made.inputs = {f32(dims), f32(coin() ? dims : lk::Dims{2})};
    }
    lay(&made);
    return made;
  }
  Node reorder() {
    static const std::vector<int64_t> orders[] = {{2, 1, 0}, {0, 2, 1}, {1, 0, 2}};
    Node made;
    made.node.op = "Transpose";
    made.node.ints = {{"perm", orders[below(3)]}};
    made.inputs = {f32({2, 2, 2 + below(2)})};
    lay(&made);
    return made;
  }
  Node concat() {
    Node made;
    made.node.op = "Concat";
    made.node.ints = {{"axis", {below(3)}}};
    for (int64_t count = 2 + below(2); count > 0; count--) made.inputs.push_back(f32({2, 2, 2}));
    if (coin()) {
      for (lk_tensor_desc &input : made.inputs) input.layout = LK_LAYOUT_CHANNELS_LAST;
    }
    return made;
  }
  Node reduce() {
    static const char *const ops[] = {"ReduceSum", "ReduceMean", "ReduceMax"};
    Node made;
    made.node.op = ops[below(3)];
    made.node.opset = 11;
    made.node.ints = {{"axes", {below(3)}}, {"keepdims", {below(2)}}};
    made.inputs = {f32({2, 2, 2})};
    return made;
  }
  // By scales that give the same sizes, too, or of a part of the input.
  Node resize() {
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const coordinates[] = {"half_pixel", "asymmetric", "tf_crop_and_resize"};
    static const char *const nearest[] = {"round_prefer_floor", "ceil"};
    Node made;
    const int64_t mode = below(3), way = below(3);
    const float from = coin() ? 0.0f : 0.25f, to = coin() ? 0.75f : 1.0f;
    made.node.op = "Resize";
    made.node.opset = 18;
    made.node.texts = {{"mode", modes[mode]}, {"coordinate_transformation_mode", coordinates[way]}};
    if (mode == 0) made.node.texts.push_back({"nearest_mode", nearest[below(2)]});
    if (mode == 2) {
      made.node.floats = {{"cubic_coeff_a", {coin() ? -0.75f : -0.5f}}};
      made.node.ints = {{"exclude_outside", {below(2)}}};
    }
    if (mode != 0 && way != 2) made.node.ints.push_back({"antialias", {below(2)}});
    if (way == 2) made.node.floats.push_back({"extrapolation_value", {float(below(2))}});
    made.node.constants = {lk::tensor<float>({6}, {0, 0, from, 1, 1, to}),
                           lk::tensor<float>({3}, {1, 1, 1.5f + 0.0625f * float(below(4))})};
    made.inputs = {f32({1, 1, 4}), made.node.constants[0].desc, made.node.constants[1].desc};
    return made;
  }
  static lk_tensor_desc i32(const lk::Dims &dims) {
    return lk_tensor_desc_make(LK_I32, uint32_t(dims.size()), dims.data());
  }
  // Of 2 inputs and 1 hidden unit, for 2 sequences of 2 steps. Each differs in one way.
  Node recurrent() {
    static const char *const ops[] = {"RNN", "GRU", "LSTM"};
    static const char *const directions[] = {"forward", "reverse", "bidirectional"};
    Node made;
    const int64_t cell = below(3), direction = below(3), batch_first = below(2);
    const int64_t gates = cell == 0 ? 1 : 2 + cell, layers = direction == 2 ? 2 : 1;
    const lk::Dims state = batch_first == 1 ? lk::Dims{2, layers, 1} : lk::Dims{layers, 2, 1};
    made.node.op = ops[cell];
    made.node.opset = 14;
    made.node.texts = {{"direction", directions[direction]}};
    made.node.ints = {{"layout", {batch_first}}};
    made.inputs = {f32({2, 2, 2}), f32({layers, gates, 2}), f32({layers, gates, 1})};
    switch (below(4)) {
    case 0:
      add_functions(&made, size_t((cell + 1) * layers));
      break;
    case 1:
      made.node.floats = {{"clip", {1 + float(below(2))}}};
      break;
    case 2:
      made.inputs.insert(made.inputs.end(), {f32({layers, 2 * gates}), i32({2}), f32(state)});
      if (cell == 2) made.inputs.insert(made.inputs.end(), {f32(state), f32({layers, 3})});
      leave_out(&made, 3, uint32_t(made.inputs.size()));
      break;
    default:
      made.node.n_outputs = uint32_t(1 + below(cell == 2 ? 3 : 2));
      if (cell == 1) made.node.ints.push_back({"linear_before_reset", {below(2)}});
      if (cell == 2) made.node.ints.push_back({"input_forget", {below(2)}});
      if (coin()) made.inputs[2].layout = LK_LAYOUT_CHANNELS_LAST;
    }
    return made;
  }
  void add_functions(Node *made, size_t count) {
    static const char *const names[] = {"Tanh", "Sigmoid", "ScaledTanh"};
    const int64_t name = below(3);
    made->node.lists = {{"activations", std::vector<const char *>(count, names[name])}};
    if (name != 2) return;
    made->node.floats = {{"activation_alpha", {0.25f + 0.25f * float(below(2))}},
                         {"activation_beta", {0.25f + 0.25f * float(below(2))}}};
  }
  // Some of the inputs from `first` on.
  void leave_out(Node *made, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
      if (coin()) made->node.absent.push_back(i);
    }
  }
  Node quantized_recurrent() {
    Node made;
    const lk_tensor_desc w = bytes({1, 2, 4}), r = lk_tensor_desc_make(w.dtype, 3, w.dims);
    const lk::Dims sizes[] = {{1}, {1, 4}};
    made.node.op = "DynamicQuantizeLSTM";
    made.node.domain = "com.microsoft";
    made.node.opset = 1;
    made.inputs = {f32({2, 2, 2}), w,          r, f32({1, 8}), i32({2}), f32({1, 2, 1}),
                   f32({1, 2, 1}), f32({1, 3})};
    made.inputs[2].dims[1] = 1;
    leave_out(&made, 3, 8);
    for (int i = 0; i < 4; i++) {
      made.inputs.push_back(f32(sizes[below(2)]));
      if (i % 2 != 0) made.inputs.back().dtype = w.dtype;
    }
    return made;
  }
  lk_tensor_desc bytes(const lk::Dims &dims) {
    return lk_tensor_desc_make(coin() ? LK_U8 : LK_I8, uint32_t(dims.size()), dims.data());
  }
  static lk_tensor_desc scalar_like(lk_tensor_desc desc) {
    desc.rank = 0;
    return desc;
  }
  // Of bytes, with and without zero points.
  Node integer_conv() {
    Node made;
    made.node.op = "ConvInteger";
    made.node.opset = 10;
    made.inputs = {bytes({1, 2, 3}), bytes({2, 2, 1})};
    made.inputs.push_back(scalar_like(made.inputs[0]));
    made.inputs.push_back(coin() ? scalar_like(made.inputs[1]) : made.inputs[1]);
    made.inputs.back().rank = made.inputs.back().rank != 0 ? 1 : 0;
    for (const uint32_t zero : {2, 3}) {
      if (coin()) made.node.absent.push_back(zero);
    }
    return made;
  }
  // And scales.
  Node quantized_conv() {
    Node made;
    made.node.op = "QLinearConv";
    made.node.opset = 10;
    const lk_tensor_desc x = bytes({1, 2, 3}), w = bytes({2, 2, 1}), y = bytes({1, 2, 3});
    lk_tensor_desc w_zero = scalar_like(w);
    if (coin()) w_zero.rank = 1;
    made.inputs = {x,      f32({}), scalar_like(x), w, coin() ? f32({2}) : f32({}),
                   w_zero, f32({}), scalar_like(y)};
    return made;
  }
  Node integer_product() {
    Node made;
    made.node.op = "MatMulInteger";
    made.node.opset = 10;
    made.inputs = {bytes({2, 2}), bytes({2, 2})};
    for (const uint32_t zero : {2, 3}) {
      made.inputs.push_back(scalar_like(made.inputs[zero - 2]));
      if (coin()) made.node.absent.push_back(zero);
    }
    return made;
  }
  // With a scale for each row, or each column.
  Node quantized_product() {
    Node made;
    made.node.op = "QLinearMatMul";
    made.node.opset = 10;
    const lk_tensor_desc a = bytes({2, 2}), b = bytes({2, 2}), y = bytes({});
    made.inputs = {a,
                   coin() ? f32({2}) : f32({}),
                   scalar_like(a),
                   b,
                   coin() ? f32({2}) : f32({}),
                   scalar_like(b),
                   f32({}),
                   y};
    return made;
  }
  // In f32 or bytes, times a number.
  Node quantized_gemm() {
    Node made;
    made.node.op = "QGemm";
    made.node.domain = "com.microsoft";
    made.node.opset = 1;
    made.node.ints = {{"transA", {below(2)}}, {"transB", {below(2)}}};
    made.node.floats = {{"alpha", {1 + float(below(2))}}};
    const lk_tensor_desc a = bytes({2, 2}), b = bytes({2, 2}), y = bytes({});
    lk_tensor_desc c = f32(coin() ? lk::Dims{2} : lk::Dims{2, 2});
    c.dtype = LK_I32;
    made.inputs = {a, f32({}), scalar_like(a), b, f32({}), scalar_like(b), c, f32({}), y};
    if (coin()) made.node.absent.push_back(6);
    if (coin()) {
      made.node.absent.push_back(7);
      made.node.absent.push_back(8);
    }
    return made;
  }
  Node product_by_bits() {
    Node made;
    const int64_t k = 32, n = 2, block = coin() ? 16 : 32, bits = coin() ? 4 : 8;
    made.node.op = "MatMulNBits";
    made.node.domain = "com.microsoft";
    made.node.opset = 1;
    made.node.ints = {{"K", {k}},
                      {"N", {n}},
                      {"block_size", {block}},
                      {"bits", {bits}},
                      {"accuracy_level", {coin() ? 4 : 0}}};
    lk_tensor_desc numbers = f32({n, k / block, block * bits / 8}), zeros = f32({n, k / block});
    numbers.dtype = LK_U8;
    made.inputs = {f32({one_or_two(), k}), numbers, f32({n, k / block}), zeros};
    if (coin()) made.node.absent.push_back(3);
    return made;
  }
  // Of one batch. Rows of one head may have a dimension for it, or not.
  lk_tensor_desc heads(int64_t rows, uint32_t dtype) {
    const lk::Dims apart = {1, 1, rows, 2}, inside = {1, rows, 2};
    lk_tensor_desc made = f32(coin() ? apart : inside);
    made.dtype = dtype;
    return made;
  }
  // Each differs in one way.
  Node attention() {
    Node made;
    const uint32_t dtype = coin() ? uint32_t(LK_F32) : uint32_t(LK_F16);
    const int64_t keys = 1 + below(2);
    made.node.op = "Attention";
    made.node.opset = 25;
    made.node.ints = {{"q_num_heads", {1}}, {"kv_num_heads", {1}}};
    made.inputs = {heads(one_or_two(), dtype), heads(keys, dtype), heads(keys, dtype)};
    switch (below(6)) {
    case 0: {
      const lk::Dims past = {1, 1, below(3), 2};
      made.inputs.insert(made.inputs.end(), {f32({1}), f32(past), f32(past)});
      made.node.absent = {3};
      for (uint32_t i = 3; i < 6; i++) made.inputs[i].dtype = dtype;
      break;
    }
    case 1:
      made.node.floats = {{"scale", {1 + float(below(2))}}, {"softcap", {float(below(2))}}};
      break;
    case 2:
      made.node.ints.insert(made.node.ints.end(), {{"left_window_size", {below(2)}},
                                                   {"right_window_size", {below(2) - 1}}});
      break;
    case 3:
      made.node.n_outputs = 4;
      made.node.ints.push_back({"qk_matmul_output_mode", {below(4)}});
      break;
    case 4: { // bool, or numbers
      lk_tensor_desc mask = f32({keys});
      mask.dtype = coin() ? uint32_t(LK_BOOL) : uint32_t(LK_F32);
      made.inputs.push_back(mask);
      break;
    }
    default:
      made.node.floats = {{"scale", {1}}};
    }
    return made;
  }
  // Of two operators, which do otherwise with NaN and with nothing.
  Node like_attention() {
    Node made;
    const lk_tensor_desc rows = f32({2, 2, 2, 2}), past = f32({2, 2, 0, 2});
    made.node.op = "Attention";
    made.node.opset = 23;
    made.node.floats = {{"scale", {1}}};
    made.inputs = {rows, rows, rows, rows};
    if (coin()) {
      made.node.domain = "latchkey";
      made.node.opset = 1;
      made.node.ints = {{"zeros", {below(2)}}};
    } else if (coin()) {
      made.inputs.insert(made.inputs.end(), {past, past});
      made.node.absent = {3};
    }
    if (coin()) made.node.absent = {3};
    if (coin()) made.inputs[3].dtype = LK_BOOL;
    return made;
  }
  // Of a row, behind one or none, in a buffer of two.
  Node cached_attention() {
    Node made;
    const lk_tensor_desc row = f32({1, 1, 2}), past = f32({1, 1, 2, 2});
    made.node.op = "GroupQueryAttention";
    made.node.domain = "com.microsoft";
    made.node.opset = 1;
    made.node.n_outputs = 3;
    made.node.ints = {{"num_heads", {1}}, {"kv_num_heads", {1}}, {"smooth_softmax", {below(2)}}};
    made.node.constants = {lk::tensor<int32_t>({}, {2})};
    made.inputs = {row, row, row, past, past, i32({1}), i32({})};
    return made;
  }
  std::mt19937 random_;
  int count_ = 0;
};

class Nodes {
public:
  Nodes() : context(lk::open()) {
    const lk_engine table = Mirror::table();
    LK_EXPECT_OK(api()->engine_register(context, &table, LK_ENGINE_CHOOSE, LK_ERR));
    executor = lk::executor_in(context);
    LK_EXPECT_OK(api()->cache_set_capacity(context, nullptr, 3000, LK_UNSET, LK_ERR));
  }
  bool notices(int count) {
    SmallNodes random(2);
    for (int i = 0; i < count; i++) {
      const SmallNodes::Node made = random.make();
      lk::Op op;
      lk::Plan plan;
      Mirror::asked.clear();
      if (made.node.create(executor, &op, LK_ERR) != LK_OK || bind(op, made, &plan) != LK_OK) {
        refused.insert(LK_MESSAGE);
        continue;
      }
      for (const std::string &work : Mirror::asked) {
        if (!has_step(plan, work)) return true;
      }
      works.insert(made.node.op);
    }
    return false;
  }
  std::set<std::string> refused; // sentences: none is expected
  std::set<std::string> works;   // the operators that have had some

private:
  // Steps of others bring tensors to where some values want them.
  static bool has_step(lk_plan *plan, const std::string &kind) {
    bool has = false;
    for (uint32_t i = 0; i < host_plan_info(plan).n_steps; i++) {
      lk_step_info step = {};
      step.struct_size = sizeof step;
      LK_EXPECT_OK(api()->plan_step(plan, i, &step, LK_ERR));
      has = has || step.kind == kind;
    }
    return has;
  }
  static lk_status bind(lk_op *op, const SmallNodes::Node &made, lk::Plan *plan) {
    const std::vector<lk_layout> wishes(made.node.n_outputs, made.wish);
    std::vector<lk_tensor> inputs;
    for (const lk_tensor_desc &desc : made.inputs) inputs.push_back({desc, nullptr});
    lk_bind_desc desc = host_bind(inputs.data(), uint32_t(inputs.size()));
    desc.n_outputs = made.node.n_outputs;
    desc.wishes = wishes.data();
    return lk::bind(op, desc, plan, LK_ERR);
  }
  lk::Context context;
  lk::Executor executor;
};

constexpr int kPairs = 20000, kNodes = 24000;

TEST(LackingKey, NothingIsNoticedWhereNothingLacks) {
  lack = nullptr;
  EXPECT_FALSE(Works().notices(kPairs));
  Nodes nodes;
  EXPECT_FALSE(nodes.notices(kNodes));
  EXPECT_THAT(nodes.refused, ::testing::IsEmpty());
  EXPECT_GE(nodes.works.size(), 15u) << "operators";
}

TEST(LackingKey, EachFieldIsMissedByWorks) {
  for (const auto &each : all_lacks()) {
    lack = &each.second;
    EXPECT_TRUE(Works().notices(kPairs)) << each.first;
  }
  lack = nullptr;
}

// What nodes cannot differ in alone, so that works have to show it.
bool is_implied(const std::string &name) {
  static const std::set<std::string> implied = {
      "attr POSITIONS",                // dst's dimensions
      "attr DOWN", "attr ROUNDED",     // with a scale that is given, 1, and what that gives
      "post_op.input", "tensor.index", // operands are numbered in order
      "tensor DST_SCALE",              // one number, if dst is bytes
      "tensor DST_ZERO",               // of dst's type
      "attr BLOCK", "attr WIDTH",      // either with the other, and the size of weights
      // tensors' dimensions, and with these each of the others
      "attr BATCH", "attr HEADS", "attr KV_HEADS", "attr QUERIES", "attr KEYS", "attr HEAD_SIZE",
      "attr V_SIZE", "attr Q_PLACE", "attr K_PLACE", "attr V_PLACE", "attr Y_PLACE",
      "tensor SINKS",  // the kind of sink
      "number HIDDEN", // the operator, and whether there are scores
  };
  return implied.count(name) != 0 || name.rfind("engine.", 0) == 0; // a context asks one
}

TEST(LackingKey, EachFieldIsMissedByNodes) {
  for (const auto &each : all_lacks()) {
    if (is_implied(each.first)) continue;
    lack = &each.second;
    EXPECT_TRUE(Nodes().notices(kNodes)) << each.first;
  }
  lack = nullptr;
}

} // namespace

lk_status __wrap_lk_cache_get(lk_cache *cache, lk_quota *quota, const lk_key *key,
                              lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                              lk_error *error) {
  lk_key whole = *key;
  lk_key_complete(&whole);
  if (lack == nullptr || lk_key_get_head(&whole)->kind != LK_KIND_VALUE) {
    return __real_lk_cache_get(cache, quota, key, build, arg, out_ref, out_hit, error);
  }
  const lk::LackingKey lacking(whole, *lack);
  Built built = {build, arg, &whole};
  return __real_lk_cache_get(cache, quota, lacking.get(), build_from_whole, &built, out_ref,
                             out_hit, error);
}
