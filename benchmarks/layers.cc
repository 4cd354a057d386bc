// How long do the convolutions and products of whole models take on tiles that serve every size,
// beside oneDNN's primitives, each of which was made for its one layer? And how long by way of the
// library with the engine `onednn`, beside the primitives alone?
//
// Layers run one after the other as in the model, each with weights of its own, from one buffer to
// another: what a layer finds in the caches is about what it finds in the model. Passes of all run
// by turns, on one thread and on two; the sums are of each layer's best times. Nodes of the
// engine that add read another tensor, where the primitive alone adds to what is in its output.
// LATCHKEY_MAX_ISA=avx2 measures AVX2.
//
// layers [--json] [--quick | --long]
#include <functional>
#include <map>

#include "benchmarks/arguments.h"
#include "benchmarks/engine_node.h"
#include "benchmarks/model_layers.h"
#include "benchmarks/products_beside.h"

using namespace beside;
using namespace layers;

namespace {

constexpr size_t WORST = 5;             // layers that are printed
constexpr double MOST_BY_ENGINE = 1.02; // of the time of primitives alone

// ---- threads for primitives ----

struct Turns {
  int count;
  const std::function<void(int, int)> *turn;
};

void take_turns(void *arg) {
  const auto *self = static_cast<const Turns *>(arg);
  for (int i = lk_team_rank(); i < self->count; i += lk_team_size()) (*self->turn)(i, self->count);
}

class Team final : public dnnl::threadpool_interop::threadpool_iface {
public:
  int get_num_threads() const override { return lk_team_threads(); }
  bool get_in_parallel() const override { return false; }
  void parallel_for(int count, const std::function<void(int, int)> &turn) override {
    Turns turns = {count, &turn};
    lk_team_run(take_turns, &turns, std::min(count, lk_team_threads()));
  }
  uint64_t get_flags() const override { return 0; }
  void wait() override {}
};

// ---- layers ----

lk_conv_shape shape_of(const Layer &layer) {
  lk_conv_shape shape = {};
  const int64_t in[] = {1, layer.height, layer.width},
                kernel[] = {1, layer.kernel_h, layer.kernel_w},
                stride[] = {1, layer.stride_h, layer.stride_w};
  shape.batch = 1;
  shape.groups = layer.groups;
  shape.in_channels = layer.in / layer.groups;
  shape.out_channels = layer.out / layer.groups;
  for (int d = 0; d < LK_CONV_DIMS; d++) {
    shape.in[d] = in[d];
    shape.kernel[d] = kernel[d];
    shape.stride[d] = int32_t(stride[d]);
    shape.dilation[d] = 1;
    shape.pad[d] = int32_t((kernel[d] - 1) / 2);
    shape.out[d] = layer.what == What::TRANSPOSED
                       ? (in[d] - 1) * stride[d] - 2 * shape.pad[d] + kernel[d]
                       : (in[d] + 2 * shape.pad[d] - kernel[d]) / stride[d] + 1;
  }
  return shape;
}

std::string name_of(const Layer &layer) {
  char name[96];
  std::snprintf(name, sizeof name, "%d>%d/%d %dx%d s%dx%d %dx%d%s", int(layer.in), int(layer.out),
                int(layer.groups), int(layer.kernel_h), int(layer.kernel_w), int(layer.stride_h),
                int(layer.stride_w), int(layer.height), int(layer.width),
                layer.what == What::ADDS         ? " +"
                : layer.what == What::TRANSPOSED ? " transposed"
                : layer.what == What::MATMUL     ? " product"
                                                 : "");
  return name;
}

// What all layers of a model read and write.
struct Buffers {
  Buffer in, ours, theirs, engines, residual;
};

int64_t pixels(const int64_t sizes[LK_CONV_DIMS]) {
  return sizes[0] * sizes[1] * sizes[2];
}

lk_tensor_desc image(int64_t channels, int64_t height, int64_t width) {
  const int64_t dims[] = {1, channels, height, width};
  lk_tensor_desc desc = {LK_F32, 4, LK_LAYOUT_CHANNELS_LAST, 0, {}};
  std::copy(dims, dims + 4, desc.dims);
  return desc;
}

std::unique_ptr<EngineNode> node_of(const EngineContext &context, const Layer &layer,
                                    const Buffers &buffers, const Buffer &weights,
                                    const Buffer &bias) {
  if (layer.what == What::MATMUL) {
    const lk_tensor_desc a = {LK_F32, 2, LK_LAYOUT_PLAIN, 0, {layer.height, layer.in}},
                         b = {LK_F32, 2, LK_LAYOUT_PLAIN, 0, {layer.in, layer.out}};
    return std::make_unique<EngineNode>(
        context, "MatMul",
        std::vector<NodeInput>{{a, buffers.in.get(), false}, {b, weights.get(), true}},
        std::vector<lk_attr>{}, std::vector<lk_post_op>{}, LK_LAYOUT_PLAIN, buffers.engines.get());
  }
  const bool is_transposed = layer.what == What::TRANSPOSED;
  const lk_conv_shape shape = shape_of(layer);
  const int64_t of_group = (is_transposed ? layer.out : layer.in) / layer.groups;
  const lk_tensor_desc w = {LK_F32,
                            4,
                            LK_LAYOUT_PLAIN,
                            0,
                            {is_transposed ? layer.in : layer.out, of_group, layer.kernel_h,
                             layer.kernel_w}},
                       b = {LK_F32, 1, LK_LAYOUT_PLAIN, 0, {layer.out}};
  const int64_t strides[] = {layer.stride_h, layer.stride_w};
  const int64_t pads[] = {shape.pad[1], shape.pad[2], shape.pad[1], shape.pad[2]};
  std::vector<NodeInput> inputs = {
      {image(layer.in, layer.height, layer.width), buffers.in.get(), false},
      {w, weights.get(), true},
      {b, bias.get(), true}};
  std::vector<lk_post_op> post_ops;
  if (layer.what == What::ADDS) {
    inputs.push_back({image(layer.out, shape.out[1], shape.out[2]), buffers.residual.get(), false});
    post_ops.push_back({LK_POST_ADD, 3, 0, 0});
  }
  post_ops.push_back({LK_POST_RELU, -1, 0, 0});
  return std::make_unique<EngineNode>(
      context, is_transposed ? "ConvTranspose" : "Conv", inputs,
      std::vector<lk_attr>{{"group", LK_ATTR_INTS, 1, &layer.groups},
                           {"strides", LK_ATTR_INTS, 2, strides},
                           {"pads", LK_ATTR_INTS, 4, pads}},
      post_ops, LK_LAYOUT_CHANNELS_LAST, buffers.engines.get());
}

// A layer of the model, as all have it.
class Pair {
public:
  Pair(const Layer &layer, const EngineContext &context, const Buffers &buffers,
       std::mt19937 &random)
      : kind_(layer.what == What::TRANSPOSED ? Kind::TRANSPOSED : Kind::ORDINARY),
        shape_(shape_of(layer)), name_(name_of(layer)),
        weights_(layer.in * layer.out / layer.groups * layer.kernel_h * layer.kernel_w),
        bias_(layer.out) {
    weights_.fill(random), bias_.fill(random);
    const bool adds = layer.what == What::ADDS;
    if (layer.what == What::MATMUL) {
      const MatmulSize size = {layer.height, layer.in, layer.out};
      ours_ = plan_matmul(size, weights_);
      theirs_ = matmul_primitive(size, buffers.in, weights_, buffers.theirs);
    } else {
      ours_ = plan(kind_, shape_, weights_, adds);
      theirs_ = conv_primitive(kind_, shape_, buffers.in, weights_, bias_, buffers.theirs, adds);
    }
    engines_ = node_of(context, layer, buffers, weights_, bias_);
    pointers_ = {buffers.in.get(), ours_.packed->get(), buffers.ours.get(), bias_.get(),
                 buffers.ours.get()};
  }
  const std::string &name() const { return name_; }
  double operations() const {
    return 2.0 * double(weights_.size()) *
           double(pixels(kind_ == Kind::TRANSPOSED ? shape_.in : shape_.out));
  }
  // What follows is told of as a frame tells its slots.
  void run_ours(const Pair *next) const {
    lk_kernel_ahead ahead = {nullptr, 0};
    if (next != nullptr) {
      const Buffer &packed = *next->ours_.packed;
      ahead = {reinterpret_cast<const char *>(packed.get()), packed.size() * sizeof(float)};
    }
    lk_kernel_set_ahead(&ahead);
    ours_.run(pointers_.data());
    lk_kernel_set_ahead(nullptr);
  }
  void run_theirs() const { theirs_->run(); }
  void run_engines() const { engines_->run(); }
  // Once, both from the same output on.
  void compare(const Buffers &buffers) const {
    std::fill(buffers.ours.get(), buffers.ours.get() + buffers.ours.size(), 1.0f);
    std::fill(buffers.theirs.get(), buffers.theirs.get() + buffers.theirs.size(), 1.0f);
    std::fill(buffers.engines.get(), buffers.engines.get() + buffers.engines.size(), 1.0f);
    run_ours(nullptr);
    run_theirs();
    run_engines();
    const double window = double(weights_.size()) / double(bias_.size());
    beside::compare(name_, buffers.ours, buffers.theirs, 1e-5 + 1e-6 * window);
    beside::compare(name_, buffers.engines, buffers.theirs, 1e-5 + 1e-6 * window);
  }

private:
  Kind kind_;
  lk_conv_shape shape_;
  std::string name_;
  Buffer weights_, bias_;
  Kernel ours_;
  std::unique_ptr<Primitive> theirs_;
  std::unique_ptr<EngineNode> engines_;
  std::vector<void *> pointers_;
};

// ---- measuring ----

struct Times {
  double ours = 1e9, theirs = 1e9, engines = 1e9,
         operations = 0; // seconds: the best of a layer, or sums
  int count = 1;
  double lost() const { return ours - theirs; }
  void add(const Times &each) {
    ours += each.ours;
    theirs += each.theirs;
    engines += each.engines;
    operations += each.operations;
    count++;
  }
};

struct Result {
  std::string model;
  int threads;
  Times all;
  std::vector<std::pair<std::string, Times>> layers; // the ones that lose most first
};

Result summarize(const std::string &model, int threads,
                 const std::vector<std::unique_ptr<Pair>> &pairs, const std::vector<Times> &times) {
  std::map<std::string, Times> by_name;
  const Times none = {0, 0, 0, 0, 0};
  Result result = {model, threads, none, {}};
  for (size_t i = 0; i < pairs.size(); i++) {
    result.all.add(times[i]);
    by_name.emplace(pairs[i]->name(), none).first->second.add(times[i]);
  }
  result.layers.assign(by_name.begin(), by_name.end());
  std::sort(result.layers.begin(), result.layers.end(),
            [](const auto &a, const auto &b) { return a.second.lost() > b.second.lost(); });
  return result;
}

Result run_model(const Model &model, int threads, int rounds) {
  std::mt19937 random(11);
  int64_t in = 0, out = 0;
  for (const Layer &layer : model.layers) {
    const lk_conv_shape shape = shape_of(layer);
    in = std::max(in, layer.in * pixels(shape.in));
    out = std::max(out, layer.out * pixels(shape.out));
  }
  Buffers buffers = {Buffer(in), Buffer(out), Buffer(out), Buffer(out), Buffer(out)};
  buffers.in.fill(random);
  std::fill(buffers.residual.get(), buffers.residual.get() + out, 1.0f);
  const EngineContext context(threads);
  std::vector<std::unique_ptr<Pair>> pairs;
  for (const Layer &layer : model.layers) {
    for (int i = 0; i < layer.times; i++) {
      pairs.push_back(std::make_unique<Pair>(layer, context, buffers, random));
      pairs.back()->compare(buffers);
    }
  }
  std::vector<Times> times(pairs.size());
  const std::function<void()> passes[] = {
      [&] {
        for (size_t i = 0; i < pairs.size(); i++) {
          times[i].theirs = std::min(times[i].theirs, seconds(1, [&] { pairs[i]->run_theirs(); }));
        }
      },
      [&] {
        for (size_t i = 0; i < pairs.size(); i++) {
          times[i].engines =
              std::min(times[i].engines, seconds(1, [&] { pairs[i]->run_engines(); }));
        }
      },
      [&] {
        for (size_t i = 0; i < pairs.size(); i++) {
          const Pair *next = i + 1 < pairs.size() ? pairs[i + 1].get() : nullptr;
          times[i].ours = std::min(times[i].ours, seconds(1, [&] { pairs[i]->run_ours(next); }));
          times[i].operations = pairs[i]->operations();
        }
      }};
  // Each comes after each of the others: it finds in the caches what that has left there.
  const int orders[][3] = {{0, 1, 2}, {1, 0, 2}};
  for (int round = 0; round < rounds; round++) {
    for (const int pass : orders[round % 2]) passes[pass]();
  }
  return summarize(model.name, threads, pairs, times);
}

// ---- report ----

void print(const Result &result) {
  const Times &all = result.all;
  std::printf("%s, %d layers, threads %d: %.3f ms, %.0f GFLOP/s; primitives %.3f ms: %.3f\n",
              result.model.c_str(), all.count, result.threads, all.ours * 1e3,
              all.operations / all.ours / 1e9, all.theirs * 1e3, all.ours / all.theirs);
  const double by_engine = all.engines / all.theirs;
  std::printf("    by way of the library, engine onednn: %.3f ms: %.3f, target %g %s\n",
              all.engines * 1e3, by_engine, MOST_BY_ENGINE,
              by_engine <= MOST_BY_ENGINE ? "met" : "MISSED");
  for (size_t i = 0; i < std::min(WORST, result.layers.size()); i++) {
    const auto &[name, each] = result.layers[i];
    std::printf("    %2d of %-32s %8.1f us %5.0f GFLOP/s, primitives %8.1f us: %.3f\n", each.count,
                name.c_str(), each.ours * 1e6, each.operations / each.ours / 1e9, each.theirs * 1e6,
                each.ours / each.theirs);
  }
}

void print_json(const Result &result) {
  std::printf("\"%s, threads %d\": {\"ms\": %.4f, \"primitives_ms\": %.4f, \"engine_ms\": %.4f, "
              "\"layers\": [",
              result.model.c_str(), result.threads, result.all.ours * 1e3, result.all.theirs * 1e3,
              result.all.engines * 1e3);
  const char *separator = "";
  for (const auto &[name, each] : result.layers) {
    std::printf("%s{\"layer\": \"%s\", \"times\": %d, \"us\": %.3f, \"primitives_us\": %.3f, "
                "\"engine_us\": %.3f}",
                separator, name.c_str(), each.count, each.ours * 1e6, each.theirs * 1e6,
                each.engines * 1e6);
    separator = ", ";
  }
  std::printf("]}");
}

} // namespace

int main(int argc, char **argv) {
  const Arguments arguments("layers", argc, argv, {.usual = 31, .quick = 2, .longer = 101});
  const char *separator = "{";
  for (int threads : {1, 2}) {
    Team team;
    const Threads of_all(threads, &team);
    for (const Model &model : MODELS) {
      const Result result = run_model(model, threads, arguments.rounds);
      if (!arguments.json) {
        print(result);
        continue;
      }
      std::printf("%s", separator);
      print_json(result);
      separator = ", ";
    }
  }
  if (arguments.json) std::printf("}\n");
}
