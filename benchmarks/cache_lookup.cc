// What does it cost to find out that something is built already?
//
// Medians of repeats that take turns in one run:
//   what op_bind does: a name key built from the call's tensors and found among 1,000 keys by
//   comparing all its bytes, a reference taken and released;
//   what a new node does: a value key made of a whole work, and the value found by it in the same
//   way;
//   the comparison that says that nothing has changed;
//   asking oneDNN's own cache by creating descriptor and primitive once more;
//   string keys as Paddle made them;
//   one lock around one table.
// Then each way with two threads, which both find everything, beside itself with one. At last, what
// evicting one entry costs, and what a hit costs while another thread evicts. Nanoseconds mean
// little from one machine to another: look at the ratios.
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "benchmarks/arguments.h"
#include "benchmarks/eviction.h"
#include "benchmarks/tables.h"
#include "benchmarks/value_hits.h"

extern "C" {
#include "base/alloc.h"
#include "base/tensor.h"
#include "keys/cache/cache.h"
#include "keys/cache/table.h"
#include "keys/key_build.h"
}

namespace {

constexpr int KEYS = 1000, NODES = 50, SHAPES = KEYS / NODES;
constexpr int REPEATS = 31;

void check(bool good, const char *what) {
  if (good) return;
  std::fprintf(stderr, "failed to %s\n", what);
  std::exit(1);
}

lk_tensor_desc shape(std::vector<int64_t> dims) {
  return lk_tensor_desc_make(LK_F32, static_cast<uint32_t>(dims.size()), dims.data());
}

// ---- operators: what their name keys are made of ----

enum class Op { matmul, convolution, softmax };

// The fixed part of a node's name key; `number` is the node.
lk_key *fixed_part(Op op, uint32_t number) {
  lk_key_head head;
  std::memset(&head, 0, sizeof head);
  head.kind = LK_KIND_NAME;
  head.op = 100 + static_cast<uint32_t>(op);
  head.out = 1000 + number;
  head.precision = LK_F32;
  head.generation = 1;
  head.executor = 0x7f0011223344;
  head.uuid_high = 0x1234567812345678;
  head.uuid_low = 0x8765432187654321;
  lk_key_builder builder;
  lk_key_begin(&builder, lk_allocator_default(), &head);
  const int64_t pairs[] = {1, 1};
  const int64_t one[] = {1};
  if (op == Op::convolution) {
    for (const uint32_t name :
         {LK_WORD_STRIDES, LK_WORD_DILATIONS, LK_WORD_PADS_BEGIN, LK_WORD_PADS_END}) {
      lk_key_add_attr(&builder, name, pairs, 2);
    }
    lk_key_add_attr(&builder, LK_WORD_FLAGS, one, 1);
    for (const uint32_t kind : {LK_POST_ADD, LK_POST_RELU, LK_POST_CLIP}) {
      const lk_key_post_op post_op = {kind, -1, 0, 0x3f800000};
      lk_key_add_post_op(&builder, &post_op);
    }
  } else if (op == Op::softmax) {
    lk_key_add_attr(&builder, LK_WORD_STRIDES, one, 1);
    lk_key_add_attr(&builder, LK_WORD_DILATIONS, one, 1);
  }
  lk_key_seal(&builder);
  lk_key key;
  lk_key *copy = nullptr;
  check(lk_key_finish(&builder, &key, nullptr) == LK_OK, "build a key");
  check(lk_key_copy(lk_allocator_default(), &key, &copy, nullptr) == LK_OK, "copy a key");
  lk_key_builder_destroy(&builder);
  return copy;
}

std::vector<lk_tensor_desc> inputs_of(Op op, int which) {
  const int64_t width = 32 + 8 * which;
  switch (op) {
  case Op::matmul:
    return {shape({1, width, 256}), shape({256, 256})};
  case Op::convolution:
    return {shape({1, 64, 28, width}), shape({64, 64, 3, 3}), shape({64})};
  default:
    return {shape({1, width, 256}), shape({256}), shape({256})};
  }
}

// 1,000 calls: nodes times shapes.
class Calls {
public:
  explicit Calls(Op op) {
    for (int node = 0; node < NODES; node++) fixed.push_back(fixed_part(op, node));
    for (int which = 0; which < SHAPES; which++) inputs.push_back(inputs_of(op, which));
  }
  ~Calls() {
    for (lk_key *key : fixed) lk_free(lk_allocator_default(), key);
  }

  // As op_bind does it, without the hash, which a look-up may not need. `use` gets the key.
  template <typename Use> void with_key(int node, int which, Use use) const {
    lk_key_builder builder;
    lk_key key;
    lk_key_begin_from(&builder, lk_allocator_default(), fixed[node]);
    const lk_key_call call = {-1, 0x1122334455667788, 1};
    lk_key_add_call(&builder, &call);
    const std::vector<lk_tensor_desc> &tensors = inputs[which];
    for (uint32_t i = 0; i < tensors.size(); i++) {
      lk_key_add_tensor(&builder, LK_WORD_INPUT, i, &tensors[i]);
    }
    (void)lk_key_finish_partial(&builder, &key, nullptr);
    use(key);
    lk_key_builder_destroy(&builder);
  }

  std::vector<lk_key *> fixed;
  std::vector<std::vector<lk_tensor_desc>> inputs;
};

// In which order 1,000 keys are asked for. Requests: all nodes of a graph for one shape, then for
// another; this is what executors do, and what the cache expects.
struct Order {
  std::vector<std::pair<int, int>> calls;
  explicit Order(uint32_t seed) {
    std::vector<int> shapes(SHAPES);
    for (int i = 0; i < SHAPES; i++) shapes[i] = i;
    std::shuffle(shapes.begin(), shapes.end(), std::mt19937(seed));
    for (const int which : shapes) {
      for (int node = 0; node < NODES; node++) calls.push_back({node, which});
    }
  }
  static Order random(uint32_t seed) {
    Order order(seed);
    std::shuffle(order.calls.begin(), order.calls.end(), std::mt19937(seed));
    return order;
  }
};

int the_value;
lk_status build(void *, const lk_key *, lk_built *out, lk_error *) {
  *out = {&the_value, 1000, nullptr, nullptr};
  return LK_OK;
}
lk_status build_nothing(void *, const lk_key *, lk_built *, lk_error *) {
  return LK_INTERNAL;
}

class KeyedCache {
public:
  KeyedCache(uint32_t mode, const Calls &calls) : calls_(calls) {
    check(lk_cache_create(lk_allocator_default(), mode, LK_UNLIMITED, LK_UNLIMITED, &own_,
                          nullptr) == LK_OK,
          "create a cache");
    cache_ = own_;
    fill(build);
  }
  // Among other entries.
  KeyedCache(lk_cache *cache, const Calls &calls) : calls_(calls), cache_(cache) { fill(build); }
  ~KeyedCache() { lk_cache_destroy(own_); }

  // Each thread finds everything once before it is measured.
  void fill(lk_build_fn how = build) const {
    const Order order(1);
    for (const auto &[node, which] : order.calls) get(node, which, how);
  }
  void get(int node, int which, lk_build_fn how = build_nothing) const {
    calls_.with_key(node, which, [&](const lk_key &key) {
      lk_ref *ref = nullptr;
      (void)lk_cache_get(cache_, nullptr, &key, how, nullptr, &ref, nullptr, nullptr);
      check(ref != nullptr, "find a key");
      sink += lk_ref_value(ref) == &the_value;
      lk_ref_release(ref);
    });
  }
  static thread_local uint64_t sink;

private:
  const Calls &calls_;
  lk_cache *own_ = nullptr, *cache_ = nullptr;
};
thread_local uint64_t KeyedCache::sink = 0;

// The same keys in one table behind one lock, references counted.
class LockedTable {
public:
  explicit LockedTable(const Calls &calls) : calls_(calls) {
    lk_table_init(&table_, lk_allocator_default());
    for (int node = 0; node < NODES; node++) {
      for (int which = 0; which < SHAPES; which++) {
        calls.with_key(node, which, [&](lk_key &key) {
          lk_key_complete(&key);
          auto *item = new Item;
          check(lk_key_copy(lk_allocator_default(), &key, &item->key, nullptr) == LK_OK, "copy");
          check(lk_table_insert(&table_, item->key, &item->node), "insert");
        });
      }
    }
  }
  ~LockedTable() {
    while (lk_table_node *node = lk_table_first(&table_)) {
      lk_table_remove(&table_, node);
      auto *item = reinterpret_cast<Item *>(node);
      lk_free(lk_allocator_default(), item->key);
      delete item;
    }
  }
  void get(int node, int which) {
    calls_.with_key(node, which, [&](lk_key &key) {
      lk_key_complete(&key);
      Item *item = nullptr;
      {
        const std::lock_guard<std::mutex> guard(lock_);
        item = reinterpret_cast<Item *>(lk_table_find(&table_, &key));
        check(item != nullptr, "find a key");
        item->refs.fetch_add(1, std::memory_order_relaxed);
      }
      item->refs.fetch_sub(1, std::memory_order_acq_rel);
    });
  }

private:
  struct Item {
    lk_table_node node;
    lk_key *key;
    std::atomic<int> refs{1};
  };
  const Calls &calls_;
  lk_table table_;
  std::mutex lock_;
};

// ---- Paddle-style: one string for all inputs, and a look-up for each object of the operator ----

class StringKeys {
public:
  explicit StringKeys(const Calls &calls) : calls_(calls) {
    for (int node = 0; node < NODES; node++) {
      names_.push_back("conv2d_" + std::to_string(node) + ".tmp_0");
      for (int which = 0; which < SHAPES; which++) {
        const std::string key = make(node, which);
        for (const char *suffix : SUFFIXES) blobs_[key + suffix] = &the_value;
      }
    }
  }
  std::string make(int node, int which) const {
    std::string key;
    key.reserve(256);
    key.append("conv2d");
    for (const lk_tensor_desc &tensor : calls_.inputs[which]) {
      for (uint32_t i = 0; i < tensor.rank; i++) {
        key.append(std::to_string(tensor.dims[i]));
        key.push_back('-');
      }
      key.append(std::to_string(tensor.dtype));
    }
    key.append(names_[node]);
    key.append("-t:140123456789");
    return key;
  }
  void get(int node, int which) const {
    const std::string key = make(node, which);
    for (const char *suffix : SUFFIXES) {
      check(blobs_.find(key + suffix) != blobs_.end(), "find a string");
    }
  }

private:
  static constexpr const char *SUFFIXES[] = {"@conv_pd", "@conv_p", "@src_mem_p", "@weights_mem_p",
                                             "@dst_mem_p"};
  const Calls &calls_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, void *> blobs_;
};

// ---- oneDNN's own cache ----

class OneDnn {
public:
  OneDnn() {
    check(dnnl_engine_create(&engine_, dnnl_cpu, 0) == dnnl_success, "create an engine");
    check(dnnl_primitive_attr_create(&plain_) == dnnl_success, "create attributes");
    check(dnnl_primitive_attr_create(&fused_) == dnnl_success, "create attributes");
    for (dnnl_primitive_attr_t attr : {plain_, fused_}) {
      (void)dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    }
    dnnl_post_ops_t post_ops;
    check(dnnl_post_ops_create(&post_ops) == dnnl_success, "create post-ops");
    (void)dnnl_post_ops_append_sum(post_ops, 1.f, 0, dnnl_data_type_undef);
    (void)dnnl_post_ops_append_eltwise(post_ops, dnnl_eltwise_relu, 0, 0);
    (void)dnnl_post_ops_append_eltwise(post_ops, dnnl_eltwise_clip, 0, 6);
    (void)dnnl_primitive_attr_set_post_ops(fused_, post_ops);
    (void)dnnl_post_ops_destroy(post_ops);
    rows_ = desc({1, 64, 256}, dnnl_abc);
    matrix_ = desc({1, 256, 256}, dnnl_format_tag_any);
    image_ = desc({1, 64, 28, 28}, dnnl_format_tag_any);
    filter_ = desc({64, 64, 3, 3}, dnnl_format_tag_any);
    bias_ = desc({64}, dnnl_a);
  }
  ~OneDnn() {
    for (dnnl_memory_desc_t each : {rows_, matrix_, image_, filter_, bias_}) {
      (void)dnnl_memory_desc_destroy(each);
    }
    (void)dnnl_primitive_attr_destroy(plain_);
    (void)dnnl_primitive_attr_destroy(fused_);
    (void)dnnl_engine_destroy(engine_);
  }
  // Creates descriptor and primitive, which the first call has left in oneDNN's cache.
  void ask(Op op) const {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_primitive_t primitive = nullptr;
    const dnnl_dims_t ones = {1, 1}, zeros = {0, 0};
    dnnl_status_t status = dnnl_success;
    switch (op) {
    case Op::matmul:
      status =
          dnnl_matmul_primitive_desc_create(&pd, engine_, rows_, matrix_, nullptr, rows_, plain_);
      break;
    case Op::convolution:
      status = dnnl_convolution_forward_primitive_desc_create(
          &pd, engine_, dnnl_forward_inference, dnnl_convolution_direct, image_, filter_, bias_,
          image_, ones, zeros, ones, ones, fused_);
      break;
    case Op::softmax:
      status = dnnl_softmax_forward_primitive_desc_create(
          &pd, engine_, dnnl_forward_inference, dnnl_softmax_accurate, rows_, rows_, 2, plain_);
      break;
    }
    check(status == dnnl_success, "create a descriptor");
    check(dnnl_primitive_create(&primitive, pd) == dnnl_success, "create a primitive");
    (void)dnnl_primitive_destroy(primitive);
    (void)dnnl_primitive_desc_destroy(pd);
  }

private:
  static dnnl_memory_desc_t desc(std::vector<dnnl_dim_t> dims, dnnl_format_tag_t tag) {
    dnnl_memory_desc_t result = nullptr;
    check(dnnl_memory_desc_create_with_tag(&result, static_cast<int>(dims.size()), dims.data(),
                                           dnnl_f32, tag) == dnnl_success,
          "create a memory descriptor");
    return result;
  }
  dnnl_engine_t engine_ = nullptr;
  dnnl_primitive_attr_t plain_ = nullptr, fused_ = nullptr;
  dnnl_memory_desc_t rows_, matrix_, image_, filter_, bias_;
};

// ---- measuring ----

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start, int count) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / count;
}

// Nanoseconds for each call of `work(thread, order)` by `threads` threads at the same time.
double timed(int threads, int rounds, const std::function<void(int, const Order &)> &work) {
  static const std::vector<Order> orders = {Order(11), Order(12)};
  if (threads == 1) {
    // Warms the processor's caches, as the others' turns have cooled them.
    for (int i = 0; i < 2; i++) work(0, orders[0]);
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < rounds; i++) work(0, orders[0]);
    return ns_since(start, rounds * KEYS);
  }
  std::atomic<int> ready{0};
  std::vector<double> results(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; t++) {
    all.emplace_back([&, t] {
      work(t, orders[t]);
      work(t, orders[t]);
      ready++;
      while (ready < threads) {
      }
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < rounds; i++) work(t, orders[t]);
      results[t] = ns_since(start, rounds * KEYS);
    });
  }
  for (std::thread &thread : all) thread.join();
  return *std::max_element(results.begin(), results.end());
}

struct Row {
  const char *name;
  double target; // at most; 0: none
  int threads;
  int rounds;
  std::function<void(int, const Order &)> work;
  std::vector<double> samples;
  double median() {
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
  }
  double best() { return *std::min_element(samples.begin(), samples.end()); }
};

template <typename Get> std::function<void(int, const Order &)> each_call(Get get) {
  return [get](int, const Order &order) {
    for (const auto &[node, which] : order.calls) get(node, which);
  };
}

// A call's shapes against those that the last plan was bound for, as op_bind compares them.
bool unchanged(const std::vector<lk_tensor_desc> &had, const std::vector<lk_tensor_desc> &has) {
  for (size_t i = 0; i < had.size(); i++) {
    if (!lk_tensor_desc_same(&had[i], &has[i])) return false;
  }
  return true;
}

// ---- eviction ----

constexpr int EVICT_REPEATS = 15, HIT_ROUNDS = 100;

// The 99th percentile of the time of one hit, in nanoseconds.
double p99_of_hits(const KeyedCache &cache) {
  static const Order order(11);
  static const eviction::Ticks ticks;
  std::vector<uint64_t> times;
  for (const auto &[node, which] : order.calls) cache.get(node, which, build);
  for (int round = 0; round < HIT_ROUNDS; round++) {
    for (const auto &[node, which] : order.calls) {
      const uint64_t start = eviction::Ticks::now();
      cache.get(node, which, build);
      times.push_back(eviction::Ticks::now() - start);
    }
  }
  const auto at = times.begin() + static_cast<long>(times.size() * 99 / 100);
  std::nth_element(times.begin(), at, times.end());
  return ticks.ns(*at);
}

void print_eviction(const Calls &calls, Tables *tables) {
  eviction::OneOf few(1024, false), many(65536, false);
  eviction::OneOf few_hit(1024, true), many_hit(65536, true);
  eviction::Numbers numbers(LK_CACHE_SHARED, 8192);
  for (uint64_t i = 0; i < 8192; i++) numbers.get(i);
  const KeyedCache hot(numbers.cache(), calls);
  std::vector<double> alone, beside, evicting;
  uint64_t evicted = 0;
  for (int repeat = 0; repeat < EVICT_REPEATS; repeat++) {
    for (eviction::OneOf *each : {&few, &many, &few_hit, &many_hit}) each->sample();
    alone.push_back(p99_of_hits(hot));
    {
      const eviction::Neighbour neighbour;
      beside.push_back(p99_of_hits(hot));
    }
    const eviction::Evictor evictor(&numbers);
    evicting.push_back(p99_of_hits(hot));
    evicted += evictor.count();
  }
  tables->begin("eviction of one entry, nanoseconds", {"median", "best"});
  const auto cost = [&](const char *name, const eviction::OneOf &one, double target) {
    tables->row(name, {one.ns(), one.best()}, 0, target, one.ns() <= target);
  };
  cost("of 1,024, none hit since", few, 0);
  cost("of 65,536, none hit since", many, 2000);
  cost("of 1,024, all hit since", few_hit, 0);
  cost("of 65,536, all hit since", many_hit, 2000);
  tables->begin("entries looked at for one that goes", {"1,024", "65,536"});
  const auto looks = [&](const char *name, const eviction::OneOf &less, const eviction::OneOf &more,
                         double target) {
    tables->row(name, {less.looks(), more.looks()}, 1, target,
                std::max(less.looks(), more.looks()) <= target);
  };
  looks("none hit since", few, many, 1);
  looks("all hit since", few_hit, many_hit, 8);
  using eviction::median;
  const double slower = median(evicting) / median(alone);
  tables->begin("a hit's 99th percentile", {"ns", "times"});
  tables->row("alone", {median(alone)}, 2);
  tables->row("while another thread computes", {median(beside), median(beside) / median(alone)}, 2);
  tables->row("while another thread evicts", {median(evicting), slower}, 2, 1.2, slower <= 1.2);
  const double per_round = static_cast<double>(evicted) / (EVICT_REPEATS * (HIT_ROUNDS + 1.0));
  tables->note("(" + std::to_string(std::lround(per_round)) +
               " entries evicted during 1,000 hits)");
}

} // namespace

int main(int argc, char **argv) {
  const Arguments arguments("cache_lookup", argc, argv, {REPEATS, 5, 2 * REPEATS});
  Tables tables(arguments.json);
  const Calls matmul(Op::matmul), convolution(Op::convolution), softmax(Op::softmax);
  const KeyedCache per_thread(LK_CACHE_THREAD, convolution), shared(LK_CACHE_SHARED, convolution);
  const KeyedCache matmul_cache(LK_CACHE_SHARED, matmul);
  const KeyedCache softmax_cache(LK_CACHE_SHARED, softmax);
  LockedTable locked(convolution);
  const StringKeys strings(convolution);
  const OneDnn onednn;
  const Calls same(Op::convolution);
  volatile bool sink = false;
  const auto ask = [&](Op op) {
    return [&onednn, op](int, const Order &) {
      for (int i = 0; i < KEYS; i++) onednn.ask(op);
    };
  };
  const auto shared_hits = each_call([&](int n, int w) { shared.get(n, w, build); });
  // Never the same order twice in a row: what the cache expects is wrong nearly every time.
  std::vector<Order> random_orders;
  for (uint32_t seed = 0; seed < 64; seed++) random_orders.push_back(Order::random(seed));
  size_t next_order = 0;
  const auto random_hits = [&](int, const Order &) {
    for (const auto &[node, which] : random_orders[next_order++ % 64].calls) {
      per_thread.get(node, which);
    }
  };
  value_hits::Values conv_values(value_hits::Kind::convolution);
  value_hits::Values product_values(value_hits::Kind::product);
  value_hits::Values pooling_values(value_hits::Kind::pooling);
  const auto value_hits_of = [](value_hits::Values *values) {
    return each_call([values](int n, int w) { values->get(n, w); });
  };
  const auto random_value_hits = [&](int, const Order &) {
    for (const auto &[node, which] : random_orders[next_order++ % 64].calls) {
      conv_values.get(node, which);
    }
  };
  std::vector<Row> rows = {
      {"convolution, per-thread cache",
       35,
       1,
       20,
       each_call([&](int n, int w) { per_thread.get(n, w); }),
       {}},
      {"the same in random order", 0, 1, 4, random_hits, {}},
      {"convolution, shared cache", 60, 1, 20, shared_hits, {}},
      {"convolution, shared cache, 2 threads", 40, 2, 20, shared_hits, {}},
      {"convolution, per-thread cache, 2 threads",
       0,
       2,
       20,
       each_call([&](int n, int w) { per_thread.get(n, w, build); }),
       {}},
      {"matmul, shared cache",
       0,
       1,
       4,
       each_call([&](int n, int w) { matmul_cache.get(n, w); }),
       {}},
      {"softmax, shared cache",
       0,
       1,
       4,
       each_call([&](int n, int w) { softmax_cache.get(n, w); }),
       {}},
      {"key of a convolution with its hash alone",
       0,
       1,
       4,
       each_call([&](int n, int w) {
         convolution.with_key(n, w, [&](lk_key &key) {
           lk_key_complete(&key);
           sink = key.hash == 0;
         });
       }),
       {}},
      {"value of a convolution", 60, 1, 20, value_hits_of(&conv_values), {}},
      {"the same in random order", 0, 1, 4, random_value_hits, {}},
      {"value of a product", 60, 1, 20, value_hits_of(&product_values), {}},
      {"value of a pooling", 60, 1, 20, value_hits_of(&pooling_values), {}},
      {"value key of a convolution, hash alone",
       0,
       1,
       4,
       each_call([&](int n, int w) {
         conv_values.with_key(n, w, [&](lk_key &key) {
           lk_key_complete(&key);
           sink = key.hash == 0;
         });
       }),
       {}},
      {"shapes unchanged",
       10,
       1,
       20,
       each_call([&](int, int w) { sink = unchanged(convolution.inputs[w], same.inputs[w]); }),
       {}},
      {"one lock around one table",
       0,
       1,
       4,
       each_call([&](int n, int w) { locked.get(n, w); }),
       {}},
      {"one lock around one table, 2 threads",
       0,
       2,
       20,
       each_call([&](int n, int w) { locked.get(n, w); }),
       {}},
      {"string key and five look-ups",
       0,
       1,
       2,
       each_call([&](int n, int w) { strings.get(n, w); }),
       {}},
      {"oneDNN's cache: matmul", 0, 1, 1, ask(Op::matmul), {}},
      {"oneDNN's cache: convolution", 0, 1, 1, ask(Op::convolution), {}},
      {"oneDNN's cache: softmax", 0, 1, 1, ask(Op::softmax), {}},
  };
  for (int repeat = 0; repeat < arguments.rounds; repeat++) {
    for (Row &row : rows) row.samples.push_back(timed(row.threads, row.rounds, row.work));
  }
  tables.note(std::to_string(KEYS) + " keys; " + std::to_string(arguments.rounds) +
              " repeats that take turns\n");
  tables.begin("nanoseconds", {"median", "best"});
  for (Row &row : rows) {
    tables.row(row.name, {row.median(), row.best()}, 1, row.target, row.median() <= row.target);
  }
  const auto of = [&](const char *name) {
    for (Row &row : rows) {
      if (std::strcmp(row.name, name) == 0) return row.median();
    }
    check(false, "find a row");
    return 0.0;
  };
  tables.begin("how many times cheaper than", {"times"});
  const auto ratio = [&](const char *what, const char *than, double target) {
    const double times = of(than) / of(what);
    tables.row(than, {times}, 1, target, times >= target);
  };
  ratio("matmul, shared cache", "oneDNN's cache: matmul", 40);
  ratio("convolution, shared cache", "oneDNN's cache: convolution", 40);
  ratio("softmax, shared cache", "oneDNN's cache: softmax", 40);
  ratio("convolution, shared cache", "string key and five look-ups", 0);
  ratio("convolution, shared cache", "one lock around one table", 0);
  ratio("convolution, shared cache, 2 threads", "one lock around one table, 2 threads", 0);
  tables.begin("two threads beside one", {"times"});
  const auto beside_one = [&](const char *what, double target) {
    const double times = of((std::string(what) + ", 2 threads").c_str()) / of(what);
    tables.row(what, {times}, 2, target, times <= target);
  };
  beside_one("convolution, shared cache", 1.5);
  beside_one("convolution, per-thread cache", 0);
  beside_one("one lock around one table", 0);
  print_eviction(convolution, &tables);
  tables.end();
  return 0;
}
