// A process that runs one model on command: the part of a benchmark that must be alone in its
// process, because teams of threads and resident memory belong to a process.
//
// worker MODEL THREADS [INTER], then one command on each line of stdin, one line of JSON for each
// on stdout. With INTER, branches of the model run in parallel, on so many threads.
//   time N D0xD1x...     runs N times on one seeded input: {"ns": [...], "sum": ...}
//   bound N D0xD1x...    the same, into memory that stays
//   shapes N S,S,...     runs once for each shape, N in all, cyclically:
//                        {"ns": [...], "worst_bytes": ...}
//   again                opens one more session of the model in the same context, then cache_trim
//   capacity BYTES       cache_set_capacity
//   clear                cache_clear, then cache_trim
//   stats                counters, bytes and resident memory
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>

#include "benchmarks/session_run.h"

namespace {

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

class Model {
public:
  Model(const char *path, int threads, int inter)
      : path_(path), inter_(inter), context_(CreateContext(threads)) {}

  ~Model() {
    for (lk_session *session : sessions_) sessions->close(session);
    api->context_destroy(context_);
  }

  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  void Open() {
    sessions_.push_back(OpenSession(context_, path_, inter_));
    run_.reset();
  }

  // Nanoseconds of one run of the newest session; output 0 is looked at, so that it is not in vain.
  int64_t Run(const std::vector<int64_t> &dims) {
    if (dims != dims_) Draw(dims, values_);
    if (dims != dims_ || !run_) run_.emplace(sessions_.back(), dims, values_.data());
    dims_ = dims;
    return run_->Run(
        [this](const lk_tensor &output) { sum_ += *static_cast<const float *>(output.data); });
  }

  // The same, into memory of our own.
  int64_t RunBound(const std::vector<int64_t> &dims) {
    if (dims != bound_dims_) {
      lk_tensor_desc desc = {};
      Draw(dims, values_);
      bound_.emplace(sessions_.back(), dims, values_.data());
      bound_->Run([&desc](const lk_tensor &output) { desc = output.desc; });
      size_t count = 2; // no element has more bytes than two of f32
      for (uint32_t i = 0; i < desc.rank; ++i) count *= static_cast<size_t>(desc.dims[i]);
      bound_values_.resize(count);
      bound_->WriteTo(desc, bound_values_.data());
      bound_dims_ = dims;
    }
    return bound_->Run([](const lk_tensor &) {});
  }

  lk_stats Stats() const {
    lk_error error = {};
    lk_stats stats = {};
    stats.struct_size = sizeof stats;
    Check(api->cache_stats(context_, nullptr, &stats, &error), error);
    return stats;
  }

  lk_session_stats SessionStats() const { return StatsOf(sessions_.back()); }
  // How often nodes were bound to sizes, and what that took in all.
  lk_node_stats Binds() const {
    lk_session *session = sessions_.back();
    lk_error error = {};
    lk_node_stats sum = {};
    for (uint32_t i = 0; i < sessions->node_count(session); i++) {
      lk_node_stats each = {};
      each.struct_size = sizeof each;
      Check(sessions->node_stats(session, i, &each, &error), error);
      sum.binds += each.binds;
      sum.bind_ns += each.bind_ns;
    }
    return sum;
  }

  // Of the run plan that takes the most, for each node.
  double NodeBytes() const {
    lk_error error = {};
    uint64_t most = 0, lost = 0;
    const auto visit = [](void *arg, const lk_session_size *size) {
      auto *largest = static_cast<uint64_t *>(arg);
      *largest = std::max(*largest, size->bytes);
    };
    Check(sessions->sizes_visit(sessions_.back(), visit, &most, &lost, &error), error);
    return double(most) / double(std::max<uint64_t>(SessionStats().nodes, 1));
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
  const char *path_;
  int inter_;
  lk_context *context_;
  std::vector<lk_session *> sessions_;
  std::vector<int64_t> dims_;
  Values values_;
  std::optional<SessionRun> run_; // of the newest session, with `dims_`
  double sum_ = 0;
  std::vector<int64_t> bound_dims_;
  Values bound_values_;
  std::optional<SessionRun> bound_; // with `bound_dims_`, to `bound_values_`
};

void PrintAnswer(const std::vector<int64_t> &times) {
  std::printf("{\"ns\": ");
  PrintTimes(times);
}

void PrintStats(const Model &model) {
  const lk_stats stats = model.Stats();
  const lk_session_stats session = model.SessionStats();
  const lk_node_stats binds = model.Binds();
  uint64_t builds = 0, hits = 0;
  for (const lk_kind_stats &kind : stats.kind) {
    builds += kind.builds;
    hits += kind.hits;
  }
  std::printf("{\"rss\": %llu, \"bytes\": %llu, \"unlinked\": %llu, \"peak\": %llu, "
              "\"builds\": %llu, \"hits\": %llu, \"packed\": %llu, "
              "\"packed_bytes\": %llu, \"constants\": %llu, \"parallel_runs\": %llu, "
              "\"binds\": %llu, \"bind_ns\": %llu, \"node_bytes\": %.1f}\n",
              static_cast<unsigned long long>(ResidentBytes()),
              static_cast<unsigned long long>(stats.bytes),
              static_cast<unsigned long long>(stats.unlinked_bytes),
              static_cast<unsigned long long>(stats.peak_bytes),
              static_cast<unsigned long long>(builds), static_cast<unsigned long long>(hits),
              static_cast<unsigned long long>(stats.weights_packed),
              static_cast<unsigned long long>(stats.weights_bytes),
              static_cast<unsigned long long>(session.weights_bytes),
              static_cast<unsigned long long>(session.parallel_runs),
              static_cast<unsigned long long>(binds.binds),
              static_cast<unsigned long long>(binds.bind_ns), model.NodeBytes());
}

void Obey(Model &model, const std::string &line) {
  std::stringstream words(line);
  std::string command, shape;
  size_t count = 0;
  words >> command;
  if (command == "time" || command == "bound") {
    words >> count >> shape;
    const std::vector<int64_t> dims = ParseShape(shape);
    std::vector<int64_t> times;
    for (size_t i = 0; i < count; ++i) {
      times.push_back(command == "time" ? model.Run(dims) : model.RunBound(dims));
    }
    PrintAnswer(times);
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
    PrintAnswer(times);
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
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: worker MODEL THREADS [INTER]\n");
    return 2;
  }
  Model model(argv[1], std::atoi(argv[2]), argc > 3 ? std::atoi(argv[3]) : 0);
  model.Open();
  for (std::string line; std::getline(std::cin, line);) Obey(model, line);
  return 0;
}
