// A process that runs one model as it is told: the part of a benchmark that must be alone in its
// process, because teams of threads and resident memory belong to a process.
//
// worker MODEL THREADS, then one command on each line of stdin, one line of JSON for each on stdout:
//   time N D0xD1x...     runs N times on one seeded input: {"ns": [...], "sum": ...}
//   shapes N S,S,...     runs once for each shape, N in all, cyclically: {"ns": [...], "worst_bytes": ...}
//   again                opens one more session of the model in the same context, then cache_trim
//   capacity BYTES       cache_set_capacity
//   clear                cache_clear, then cache_trim
//   stats                counters, bytes and resident memory
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <latchkey/session.h>

namespace {

const lk_api *const api = lk_get_api(LK_API_VERSION);
const lk_session_api *const sessions = lk_get_session_api(LK_SESSION_API_VERSION);

void Check(lk_status status, const lk_error &error) {
  if (status == LK_OK) return;
  std::fprintf(stderr, "worker: %s\n", error.message);
  std::exit(1);
}

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::vector<int64_t> ParseShape(const std::string &text) {
  std::vector<int64_t> dims;
  std::stringstream stream(text);
  for (std::string dim; std::getline(stream, dim, 'x');) dims.push_back(std::stoll(dim));
  return dims;
}

class Model {
public:
  Model(const char *path, int threads) : path_(path) {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    options.threads = threads;
    lk_error error = {};
    Check(api->context_create(&options, &context_, &error), error);
  }

  ~Model() {
    for (lk_session *session : sessions_) sessions->close(session);
    api->context_destroy(context_);
  }

  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  void Open() {
    lk_error error = {};
    lk_session *session = nullptr;
    Check(sessions->open(context_, path_, nullptr, &session, &error), error);
    sessions_.push_back(session);
  }

  // Nanoseconds of one run of the newest session; output 0 is looked at, so that it is not in vain.
  int64_t Run(const std::vector<int64_t> &dims) {
    if (dims != dims_) Draw(dims);
    lk_error error = {};
    lk_session *session = sessions_.back();
    lk_value_info input = {}, output = {};
    input.struct_size = output.struct_size = sizeof(lk_value_info);
    Check(sessions->input_info(session, 0, &input, &error), error);
    Check(sessions->output_info(session, 0, &output, &error), error);
    lk_named_tensor in = {}, out = {};
    in.name = input.name;
    in.tensor.desc.dtype = LK_F32;
    in.tensor.desc.rank = static_cast<decltype(in.tensor.desc.rank)>(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) in.tensor.desc.dims[i] = dims[i];
    in.tensor.data = values_.data();
    out.name = output.name;
    const auto start = std::chrono::steady_clock::now();
    Check(sessions->run(session, &in, 1, &out, 1, nullptr, &error), error);
    const auto end = std::chrono::steady_clock::now();
    sum_ += *static_cast<const float *>(out.tensor.data);
    sessions->outputs_release(session, &out, 1);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
  }

  lk_stats Stats() const {
    lk_error error = {};
    lk_stats stats = {};
    stats.struct_size = sizeof stats;
    Check(api->cache_stats(context_, nullptr, &stats, &error), error);
    return stats;
  }

  lk_session_stats SessionStats() const {
    lk_error error = {};
    lk_session_stats stats = {};
    stats.struct_size = sizeof stats;
    Check(sessions->stats(sessions_.back(), &stats, &error), error);
    return stats;
  }

  void SetCapacity(uint64_t bytes) {
    lk_error error = {};
    Check(api->cache_set_capacity(context_, nullptr, LK_UNSET, bytes, &error), error);
  }

  void Clear() {
    lk_error error = {};
    Check(api->cache_clear(context_, nullptr, &error), error);
    Trim();
  }

  void Trim() { api->cache_trim(context_); }

  double sum() const { return sum_; }

private:
  void Draw(const std::vector<int64_t> &dims) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    size_t count = 1;
    for (int64_t dim : dims) count *= static_cast<size_t>(dim);
    if (values_.size() < count) values_.resize(count);
    for (size_t i = 0; i < count; ++i) values_[i] = uniform(random);
    dims_ = dims;
  }

  const char *path_;
  lk_context *context_ = nullptr;
  std::vector<lk_session *> sessions_;
  std::vector<int64_t> dims_;
  std::vector<float> values_;
  double sum_ = 0;
};

void PrintTimes(const std::vector<int64_t> &times) {
  std::printf("{\"ns\": [");
  for (size_t i = 0; i < times.size(); ++i) {
    std::printf("%s%lld", i == 0 ? "" : ",", static_cast<long long>(times[i]));
  }
  std::printf("]");
}

void PrintStats(const Model &model) {
  const lk_stats stats = model.Stats();
  const lk_session_stats session = model.SessionStats();
  uint64_t builds = 0, hits = 0;
  for (const lk_kind_stats &kind : stats.kind) {
    builds += kind.builds;
    hits += kind.hits;
  }
  std::printf("{\"rss\": %llu, \"bytes\": %llu, \"unlinked\": %llu, \"peak\": %llu, "
              "\"builds\": %llu, \"hits\": %llu, \"value_builds\": %llu, \"packed\": %llu, "
              "\"packed_bytes\": %llu, \"constants\": %llu, \"ref\": %llu}\n",
              static_cast<unsigned long long>(ResidentBytes()),
              static_cast<unsigned long long>(stats.bytes),
              static_cast<unsigned long long>(stats.unlinked_bytes),
              static_cast<unsigned long long>(stats.peak_bytes),
              static_cast<unsigned long long>(builds), static_cast<unsigned long long>(hits),
              static_cast<unsigned long long>(stats.kind[LK_KIND_VALUE].builds),
              static_cast<unsigned long long>(stats.weights_packed),
              static_cast<unsigned long long>(stats.weights_bytes),
              static_cast<unsigned long long>(session.weights_bytes),
              static_cast<unsigned long long>(stats.ref_primitives));
}

void Obey(Model &model, const std::string &line) {
  std::stringstream words(line);
  std::string command, shape;
  size_t count = 0;
  words >> command;
  if (command == "time") {
    words >> count >> shape;
    const std::vector<int64_t> dims = ParseShape(shape);
    std::vector<int64_t> times;
    for (size_t i = 0; i < count; ++i) times.push_back(model.Run(dims));
    PrintTimes(times);
    std::printf(", \"sum\": %g}\n", model.sum());
  } else if (command == "shapes") {
    std::string list;
    words >> count >> list;
    std::vector<std::vector<int64_t>> shapes;
    std::stringstream stream(list);
    while (std::getline(stream, shape, ',')) shapes.push_back(ParseShape(shape));
    std::vector<int64_t> times;
    uint64_t worst = 0;
    for (size_t i = 0; i < count; ++i) {
      times.push_back(model.Run(shapes[i % shapes.size()]));
      worst = std::max(worst, model.Stats().bytes);
    }
    PrintTimes(times);
    std::printf(", \"worst_bytes\": %llu}\n", static_cast<unsigned long long>(worst));
  } else if (command == "again") {
    model.Open();
    model.Trim();
    std::printf("{}\n");
  } else if (command == "capacity") {
    uint64_t bytes = 0;
    words >> bytes;
    model.SetCapacity(bytes);
    std::printf("{}\n");
  } else if (command == "clear") {
    model.Clear();
    std::printf("{}\n");
  } else if (command == "stats") {
    PrintStats(model);
  } else {
    std::fprintf(stderr, "worker: unknown command: %s\n", line.c_str());
    std::exit(1);
  }
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: worker MODEL THREADS\n");
    return 2;
  }
  Model model(argv[1], std::atoi(argv[2]));
  model.Open();
  for (std::string line; std::getline(std::cin, line);) Obey(model, line);
  return 0;
}
