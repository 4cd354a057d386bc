// How many bytes does a primitive take? For each kind in ops/plan/primitive_list.inc: what the
// cache charges, and what RSS grows by, with oneDNN's own cache off. docs/design/memory.md says
// what for.
//
// Each operator is bound to many shapes in a context of its own, without being run. Of the growth,
// packed weights, plans, keys and primitives of other kinds (reorders) are taken off.
#include <latchkey/latchkey.h>
#include <malloc.h>
#include <oneapi/dnnl/dnnl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr int WARM_UP = 20, COUNT = 200;

const lk_api *api = lk_get_api(LK_API_VERSION);
lk_error error;

void check(lk_status status) {
  if (status == LK_OK) return;
  std::fprintf(stderr, "primitive_bytes: %s\n", error.message);
  std::exit(1);
}

int64_t rss() {
  long pages = 0;
  malloc_trim(0);
  FILE *file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%*s %ld", &pages) != 1) std::exit(1);
  std::fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

using Dims = std::vector<int64_t>;

lk_tensor_desc describe(const Dims &dims, lk_layout layout = LK_LAYOUT_PLAIN) {
  lk_tensor_desc desc{};
  desc.dtype = LK_F32;
  desc.rank = static_cast<uint32_t>(dims.size());
  desc.layout = layout;
  for (size_t i = 0; i < dims.size(); i++) desc.dims[i] = dims[i];
  return desc;
}

struct Case {
  const char *kind, *op_type;
  std::function<std::vector<Dims>(int)> inputs; // the i-th shapes; all of them come at run time
  lk_layout layout = LK_LAYOUT_PLAIN;           // of the first one
  std::vector<std::pair<const char *, Dims>> attrs = {};
};

std::vector<Dims> image_and_weights(int i) {
  return {{1, 32, 24, 17 + i}, {32, 32, 3, 3}};
}
std::vector<Dims> image_and_kinds_of_weights(int i) {
  return {{1, 32, 24, 17}, {16 + i, 32, 3, 3}};
}
std::vector<Dims> image_and_small_weights(int i) {
  return {{1, 32, 24, 17 + i}, {32, 32, 2, 2}};
}

const std::map<std::string, uint64_t> charged = {
#define K(symbol, name, bytes) {#name, bytes},
#include "ops/plan/primitive_list.inc"
#undef K
};

const std::vector<Case> cases = {
    {"convolution", "Conv", image_and_weights, LK_LAYOUT_CHANNELS_LAST},
    {"reorder", "Conv", image_and_kinds_of_weights},
    {"deconvolution",
     "ConvTranspose",
     image_and_small_weights,
     LK_LAYOUT_CHANNELS_LAST,
     {{"strides", {2, 2}}}},
};

struct Kinds {
  lk_context *context;
  std::map<std::string, int64_t> count;
};

void count_kind(void *arg, const lk_entry_info *entry) {
  auto *kinds = static_cast<Kinds *>(arg);
  char text[4096];
  if (entry->kind != LK_KIND_VALUE) return;
  check(api->key_print(kinds->context, entry->key, text, sizeof text, nullptr, &error));
  const char *name = std::strstr(text, "op=") + 3;
  kinds->count[std::string(name, std::strcspn(name, ";"))]++;
}

lk_op *make_op(lk_executor *executor, const Case &what) {
  const std::vector<lk_node_input> inputs(what.inputs(0).size());
  std::vector<lk_attr> attrs;
  for (const auto &attr : what.attrs) {
    attrs.push_back(
        {attr.first, LK_ATTR_INTS, static_cast<uint32_t>(attr.second.size()), attr.second.data()});
  }
  lk_node_desc desc{};
  desc.struct_size = sizeof desc;
  desc.op_type = what.op_type;
  desc.output_name = "out";
  desc.opset = 13;
  desc.n_inputs = static_cast<uint32_t>(inputs.size());
  desc.n_outputs = 1;
  desc.n_attrs = static_cast<uint32_t>(attrs.size());
  desc.inputs = inputs.data();
  desc.attrs = attrs.data();
  lk_op *op = nullptr;
  check(api->op_create(executor, &desc, &op, &error));
  return op;
}

void bind(lk_op *op, const Case &what, int number) {
  std::vector<lk_tensor> inputs;
  for (const Dims &dims : what.inputs(number)) {
    inputs.push_back({describe(dims, inputs.empty() ? what.layout : LK_LAYOUT_PLAIN), nullptr});
  }
  lk_bind_desc desc{};
  desc.struct_size = sizeof desc;
  desc.inputs = inputs.data();
  desc.n_inputs = static_cast<uint32_t>(inputs.size());
  desc.n_outputs = 1;
  desc.in_place_input = -1;
  lk_plan *plan = nullptr;
  check(api->op_bind(op, &desc, &plan, &error));
  api->plan_release(plan); // the cache keeps it
}

lk_stats stats(lk_context *context) {
  lk_stats now{};
  now.struct_size = sizeof now;
  check(api->cache_stats(context, nullptr, &now, &error));
  return now;
}

// Bytes of one primitive of the case's kind; `known`: of the kinds measured before.
int64_t measure(const Case &what, const std::map<std::string, int64_t> &known) {
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.cache_mode = LK_CACHE_SHARED;
  options.cache_entries = options.cache_bytes = LK_UNLIMITED;
  Kinds before{}, after{};
  lk_executor *executor = nullptr;
  check(api->context_create(&options, &before.context, &error));
  after.context = before.context;
  check(api->executor_create(before.context, "primitive_bytes", &executor, &error));
  lk_op *op = make_op(executor, what);

  for (int i = 0; i < WARM_UP; i++) bind(op, what, i);
  check(api->cache_visit(before.context, count_kind, &before, &error));
  const lk_stats first = stats(before.context);
  int64_t grown = -rss();
  for (int i = WARM_UP; i < WARM_UP + COUNT; i++) bind(op, what, i);
  grown += rss();
  const lk_stats last = stats(before.context);
  check(api->cache_visit(before.context, count_kind, &after, &error));

  // Everything that is charged for what it is: weights, plans, keys.
  int64_t list_price = 0, others = 0;
  for (const auto &kind : after.count) {
    const int64_t made = kind.second - before.count[kind.first];
    list_price += made * static_cast<int64_t>(charged.at(kind.first));
    if (kind.first == what.kind) continue;
    const auto measured = known.find(kind.first);
    others += made * (measured != known.end() ? measured->second
                                              : static_cast<int64_t>(charged.at(kind.first)));
  }
  grown -= static_cast<int64_t>(last.weights_bytes - first.weights_bytes) + others;
  grown -= static_cast<int64_t>(last.bytes - first.bytes) - list_price;
  const int64_t made = after.count[what.kind] - before.count[what.kind];

  api->op_destroy(op);
  api->executor_destroy(executor);
  api->context_destroy(before.context);
  if (made == 0) {
    std::fprintf(stderr, "primitive_bytes: %s made no %s\n", what.op_type, what.kind);
    std::exit(1);
  }
  return grown / made;
}

} // namespace

int main() {
  check(dnnl_set_primitive_cache_capacity(0) == dnnl_success ? LK_OK : LK_ONEDNN);
  std::map<std::string, int64_t> known;
  std::printf("%s: bytes of a primitive, by RSS over %d shapes\n\n%-14s %10s %10s %10s\n",
              api->version_text(), COUNT, "kind", "measured", "charged", "ratio");
  for (const Case &what : cases) {
    const int64_t bytes = measure(what, known);
    known[what.kind] = bytes;
    const auto price = static_cast<int64_t>(charged.at(what.kind));
    std::printf("%-14s %10lld %10lld %10.2f\n", what.kind, static_cast<long long>(bytes),
                static_cast<long long>(price), bytes > 0 ? double(price) / double(bytes) : 0.0);
  }
  return 0;
}
