// Should a host's thread run a model itself, when there is a processor for it, or hand the run to a
// thread of the library and sleep until it is done?
//
// Three ways, in one process, by turns in rounds of some tens of milliseconds:
//   own      each host thread asks for processors (threads_enter), runs, gives them back
//   handed   as many workers as processors take runs from a queue; the host's threads sleep
//   free     no thread asks: all host threads run at the same time, each with all threads
// with 1, 2 and 8 host threads that do nothing else. Ratios are medians over the rounds of what was
// measured side by side; more runs in a second are better.
//
// hand_over [--json] [--quick | --long]
#include <latchkey/latchkey.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/arguments.h"

namespace {

using Clock = std::chrono::steady_clock;

const lk_api *api() {
  return lk_get_api(LK_API_VERSION);
}

void check(lk_status status, const lk_error &error) {
  if (status == LK_OK) return;
  std::fprintf(stderr, "hand_over: %s\n", error.message);
  std::exit(1);
}

struct Size {
  const char *name;
  int64_t rows, width;
  int layers, round_ms;
};

constexpr Size SIZES[] = {
    {"1x64, 3 layers", 1, 64, 3, 40},
    {"64x512, 3 layers", 64, 512, 3, 60},
    {"256x1024, 3 layers", 256, 1024, 3, 250},
};

lk_tensor_desc matrix(int64_t rows, int64_t columns) {
  return {LK_F32, 2, LK_LAYOUT_PLAIN, 0, {rows, columns}};
}

// Layers of MatMul and Relu in one.
class Model {
public:
  Model(lk_context *context, const Size &size) : size(size) {
    lk_error error;
    check(api()->executor_create(context, size.name, &executor_, &error), error);
    std::vector<float> weights(size_t(size.width * size.width));
    for (int layer = 0; layer < size.layers; layer++) {
      for (size_t i = 0; i < weights.size(); i++) {
        weights[i] = (float((i + size_t(layer)) * 7919 % 1009) / 1009 - 0.5f) / 16;
      }
      const lk_tensor constant = {matrix(size.width, size.width), weights.data()};
      const lk_node_input inputs[] = {{nullptr, 0, 0}, {&constant, LK_INPUT_COPY, 0}};
      const lk_post_op relu = {LK_POST_RELU, -1, 0, 0};
      const std::string name = "h" + std::to_string(layer);
      lk_node_desc node = {};
      node.struct_size = sizeof node;
      node.op_type = "MatMul";
      node.output_name = name.c_str();
      node.opset = 13;
      node.n_inputs = 2;
      node.n_outputs = 1;
      node.n_post_ops = 1;
      node.inputs = inputs;
      node.post_ops = &relu;
      lk_op *op = nullptr;
      check(api()->op_create(executor_, &node, &op, &error), error);
      ops_.push_back(op);
    }
  }
  ~Model() {
    for (lk_op *op : ops_) api()->op_destroy(op);
    api()->executor_destroy(executor_);
  }
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  lk_frame *frame() const {
    lk_error error;
    lk_frame *out = nullptr;
    check(api()->frame_create(executor_, &out, &error), error);
    return out;
  }
  uint32_t attach(lk_frame *frame, int layer) const {
    lk_error error;
    const lk_tensor inputs[] = {{matrix(size.rows, size.width), nullptr},
                                {matrix(size.width, size.width), nullptr}};
    lk_bind_desc bind = {};
    bind.struct_size = sizeof bind;
    bind.inputs = inputs;
    bind.n_inputs = 2;
    bind.n_outputs = 1;
    bind.in_place_input = -1;
    lk_plan *plan = nullptr;
    const lk_layout plain = LK_LAYOUT_PLAIN;
    bind.wishes = &plain;
    check(api()->op_bind(ops_[size_t(layer)], &bind, &plan, &error), error);
    uint32_t slot = 0;
    check(api()->frame_attach(frame, plan, &slot, &error), error);
    api()->plan_release(plan);
    return slot;
  }

  const Size size;

private:
  lk_executor *executor_ = nullptr;
  std::vector<lk_op *> ops_;
};

// What a run needs.
class Runner {
public:
  explicit Runner(const Model &model) : model_(model), frame_(model.frame()) {
    const size_t elements = size_t(model.size.rows * model.size.width);
    for (auto &buffer : buffers_) buffer.assign(elements, 0.01f);
    for (int layer = 0; layer < model.size.layers; layer++) {
      slots_.push_back(model.attach(frame_, layer));
    }
  }
  ~Runner() { api()->frame_destroy(frame_); }
  Runner(const Runner &) = delete;
  Runner &operator=(const Runner &) = delete;

  void run(int32_t threads) {
    lk_error error;
    api()->frame_begin(frame_, threads);
    for (int layer = 0; layer < model_.size.layers; layer++) {
      void *const in[] = {buffers_[layer % 2].data(), nullptr};
      void *const out[] = {buffers_[1 - layer % 2].data()};
      check(api()->op_run(frame_, slots_[size_t(layer)], in, out, &error), error);
    }
    api()->frame_end(frame_);
  }

private:
  const Model &model_;
  lk_frame *frame_;
  std::vector<float> buffers_[2];
  std::vector<uint32_t> slots_;
};

// Runners that are free: the last one given back is taken first, as the executor does with its
// frames. So no way has warmer memory than another.
class Pool {
public:
  Pool(lk_context *context, const Model &model, size_t n)
      : context_(context), all_(api()->context_threads(context)) {
    for (size_t i = 0; i < n; i++) idle_.push_back(std::make_unique<Runner>(model));
  }
  void run() { run_with(all_); }
  void run_admitted() {
    lk_error error;
    lk_threads_ask ask = {};
    ask.struct_size = sizeof ask;
    int32_t threads = 0;
    check(api()->threads_enter(context_, &ask, &threads, &error), error);
    run_with(threads);
    api()->threads_leave(context_);
  }

private:
  void run_with(int32_t threads) {
    std::unique_lock<std::mutex> lock(mutex_);
    std::unique_ptr<Runner> runner = std::move(idle_.back());
    idle_.pop_back();
    lock.unlock();
    runner->run(threads);
    lock.lock();
    idle_.push_back(std::move(runner));
  }

  lk_context *const context_;
  const int32_t all_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Runner>> idle_;
};

// As many threads as processors, and a queue of runs.
class Workers {
public:
  Workers(Pool &pool, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
      threads_.emplace_back([this, &pool] {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
          work_.wait(lock, [this] { return ends_ || !queue_.empty(); });
          if (queue_.empty()) return;
          Run *run = queue_.front();
          queue_.pop_front();
          lock.unlock();
          pool.run_admitted(); // alone it has all processors, as a host's thread would
          {
            const std::lock_guard<std::mutex> done(run->mutex);
            run->is_done = true;
            run->done.notify_one();
          }
          lock.lock();
        }
      });
    }
  }
  ~Workers() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    work_.notify_all();
    for (std::thread &t : threads_) t.join();
  }

  void run() {
    Run mine;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(&mine);
    }
    work_.notify_one();
    std::unique_lock<std::mutex> lock(mine.mutex);
    mine.done.wait(lock, [&] { return mine.is_done; });
  }

private:
  struct Run {
    std::mutex mutex;
    std::condition_variable done;
    bool is_done = false;
  };
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Run *> queue_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

enum Way { OWN, HANDED, FREE, WAYS };
constexpr const char *WAY_NAMES[] = {"own", "handed", "free"};

struct Round {
  double per_second = 0;
  std::vector<double> us;
};

Round measure(Way way, Pool &pool, Workers &workers, size_t n_hosts, int ms) {
  std::vector<Round> each(n_hosts);
  std::vector<std::thread> threads;
  const Clock::time_point start = Clock::now(), end = start + std::chrono::milliseconds(ms);
  for (size_t h = 0; h < n_hosts; h++) {
    threads.emplace_back([&, h] {
      for (Clock::time_point began = Clock::now(); began < end;) {
        if (way == OWN) pool.run_admitted();
        if (way == HANDED) workers.run();
        if (way == FREE) pool.run();
        const Clock::time_point now = Clock::now();
        each[h].us.push_back(std::chrono::duration<double, std::micro>(now - began).count());
        began = now;
      }
    });
  }
  for (std::thread &t : threads) t.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  Round out;
  for (const Round &r : each) out.us.insert(out.us.end(), r.us.begin(), r.us.end());
  out.per_second = double(out.us.size()) / seconds;
  return out;
}

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

struct Figures {
  double per_second[WAYS], ratio[WAYS], p50[WAYS], p99[WAYS];
};

Figures compare(lk_context *context, const Model &model, size_t n_hosts, int rounds) {
  const int32_t processors = api()->processors_get();
  Pool pool(context, model, std::max(n_hosts, size_t(processors)));
  Workers workers(pool, processors);
  std::vector<double> per_second[WAYS], ratio[WAYS], us[WAYS];
  for (int round = -1; round < rounds; round++) { // the first one is for nothing
    double of_round[WAYS];
    for (int turn = 0; turn < WAYS; turn++) {
      const int way = (round + 1 + turn) % WAYS;
      const Round r = measure(Way(way), pool, workers, n_hosts, model.size.round_ms);
      of_round[way] = r.per_second;
      if (round >= 0) us[way].insert(us[way].end(), r.us.begin(), r.us.end());
    }
    for (int way = 0; way < WAYS && round >= 0; way++) {
      per_second[way].push_back(of_round[way]);
      ratio[way].push_back(of_round[way] / of_round[OWN]);
    }
  }
  Figures out;
  for (int way = 0; way < WAYS; way++) {
    out.per_second[way] = quantile(per_second[way], 0.5);
    out.ratio[way] = quantile(ratio[way], 0.5);
    out.p50[way] = quantile(us[way], 0.5);
    out.p99[way] = quantile(us[way], 0.99);
  }
  return out;
}

void print(bool json, bool first, const Size &size, size_t n_hosts, const Figures &f) {
  if (!json) {
    std::printf("  %-20s %5zu", size.name, n_hosts);
    for (int way = 0; way < WAYS; way++) std::printf(" %10.0f", f.per_second[way]);
    std::printf("   %6.2f %6.2f", f.ratio[HANDED], f.ratio[FREE]);
    for (int way = 0; way < WAYS; way++) std::printf("  %7.0f/%-7.0f", f.p50[way], f.p99[way]);
    std::printf("\n");
    std::fflush(stdout);
    return;
  }
  std::printf("%s{\"model\": \"%s\", \"hosts\": %zu", first ? "" : ", ", size.name, n_hosts);
  for (int way = 0; way < WAYS; way++) {
    std::printf(", \"%s\": {\"runs_per_second\": %.1f, \"ratio_to_own\": %.3f, \"p50_us\": %.1f, "
                "\"p99_us\": %.1f}",
                WAY_NAMES[way], f.per_second[way], f.ratio[way], f.p50[way], f.p99[way]);
  }
  std::printf("}");
}

} // namespace

int main(int argc, char **argv) {
  const Arguments arguments("hand_over", argc, argv, {15, 2, 101});
  const bool json = arguments.json;
  lk_error error;
  lk_context *context = nullptr;
  check(api()->context_create(nullptr, &context, &error), error);
  if (json) {
    std::printf("{\"processors\": %d, \"cases\": [", api()->processors_get());
  } else {
    std::printf(
        "Should a host's thread run a model itself, or hand it to a thread of the library?\n"
        "%d processors\n"
        "  %-20s %5s %10s %10s %10s   %13s  %s\n"
        "  %-20s %5s %10s %10s %10s   %6s %6s  %-15s  %-15s  %-15s\n",
        api()->processors_get(), "", "", "", "runs/s", "", "ratio to own",
        "us of a run, median/p99", "", "hosts", "own", "handed", "free", "handed", "free", "own",
        "handed", "free");
  }
  bool first = true;
  for (const Size &size : SIZES) {
    const Model model(context, size);
    for (const size_t n_hosts : {1, 2, 8}) {
      print(json, first, size, n_hosts, compare(context, model, n_hosts, arguments.rounds));
      first = false;
    }
  }
  if (json) std::printf("]}\n");
  api()->context_destroy(context);
  return 0;
}
