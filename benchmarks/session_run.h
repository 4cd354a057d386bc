// A session and one prepared run of it, for the processes that run models on command.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <latchkey/session.h>

#include "benchmarks/pages.h"

inline const lk_api *const api = lk_get_api(LK_API_VERSION);
inline const lk_session_api *const sessions = lk_get_session_api(LK_SESSION_API_VERSION);

inline void Check(lk_status status, const lk_error &error) {
  if (status == LK_OK) return;
  std::fprintf(stderr, "worker: %s\n", error.message);
  std::exit(1);
}

inline lk_context *CreateContext(int threads) {
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  lk_error error = {};
  lk_context *context = nullptr;
  Check(api->context_create(&options, &context, &error), error);
  return context;
}

// `inter` 0: operators one after the other; else branches in parallel, on at most so many threads.
inline lk_session *OpenSession(lk_context *context, const char *path, int inter) {
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  options.executor = inter > 0 ? LK_EXECUTOR_PARALLEL : LK_EXECUTOR_NAIVE;
  options.inter = inter;
  lk_error error = {};
  lk_session *session = nullptr;
  Check(sessions->open(context, path, &options, &session, &error), error);
  return session;
}

inline lk_session_stats StatsOf(lk_session *session) {
  lk_error error = {};
  lk_session_stats stats = {};
  stats.struct_size = sizeof stats;
  Check(sessions->stats(session, &stats, &error), error);
  return stats;
}

// "1x3x48x320"
inline std::vector<int64_t> ParseShape(const std::string &text) {
  std::vector<int64_t> dims;
  std::stringstream stream(text);
  for (std::string dim; std::getline(stream, dim, 'x');) dims.push_back(std::stoll(dim));
  return dims;
}

// Into `values`, which only grow: the same numbers each time, as many as a tensor of `dims` has.
inline void Draw(const std::vector<int64_t> &dims, Values &values) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  size_t count = 1;
  for (int64_t dim : dims) count *= static_cast<size_t>(dim);
  if (values.size() < count) values.resize(count);
  for (size_t i = 0; i < count; ++i) values[i] = uniform(random);
}

// The arguments of a run with one input and the first output, which `run` may be called with again
// and again. `values` must outlive it; any number of them may run one session at the same time.
class SessionRun {
public:
  SessionRun(lk_session *session, const std::vector<int64_t> &dims, const float *values)
      : session_(session) {
    lk_error error = {};
    lk_value_info input = {}, output = {};
    input.struct_size = output.struct_size = sizeof(lk_value_info);
    Check(sessions->input_info(session, 0, &input, &error), error);
    Check(sessions->output_info(session, 0, &output, &error), error);
    in_.name = input.name;
    in_.tensor.desc.dtype = LK_F32;
    in_.tensor.desc.rank = static_cast<decltype(in_.tensor.desc.rank)>(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) in_.tensor.desc.dims[i] = dims[i];
    in_.tensor.data = const_cast<float *>(values);
    out_.name = output.name;
  }

  // Into the caller's memory from now on, which has room for a tensor of `desc`.
  void WriteTo(const lk_tensor_desc &desc, float *place) { out_.tensor = {desc, place}; }

  // Gives the output to `use`; returns the nanoseconds that the run took.
  template <typename Use> int64_t Run(Use use) {
    lk_error error = {};
    const bool is_own = out_.tensor.data != nullptr;
    const auto start = std::chrono::steady_clock::now();
    Check(sessions->run(session_, &in_, 1, &out_, 1, nullptr, &error), error);
    const auto end = std::chrono::steady_clock::now();
    use(out_.tensor);
    if (!is_own) sessions->outputs_release(session_, &out_, 1);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count();
  }

private:
  lk_session *session_;
  lk_named_tensor in_ = {}, out_ = {};
};

// As a list of JSON.
inline void PrintTimes(const std::vector<int64_t> &times) {
  std::printf("[");
  for (size_t i = 0; i < times.size(); ++i) {
    std::printf("%s%lld", i == 0 ? "" : ",", static_cast<long long>(times[i]));
  }
  std::printf("]");
}
