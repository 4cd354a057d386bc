// Contexts, models and sessions of the soak: how they are opened, limited and closed.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/soak/load.h"

namespace soak {
namespace {

const lk_session_api *sessions_api() {
  return lk_get_session_api(LK_SESSION_API_VERSION);
}

// Weights of 16 MB, as many as make 1 % of the process more than what malloc leaves in its arenas.
stress::Model wide() {
  constexpr int64_t kWide = 2048;
  stress::Model model;
  model.name = "wide";
  model.inputs = {{"x", LK_F32}};
  model.outputs = {"y"};
  model.constants = {{"w0", lk::random({kWide, kWide}, 61)}};
  model.nodes = {{"MatMul", {"x", "w0"}, "t0", {}, {}, {}}, {"Relu", {"t0"}, "y", {}, {}, {}}};
  for (const int64_t rows : {1, 2, 5}) {
    model.requests.push_back({{"x", lk::random({rows, kWide}, 62)}});
  }
  return model;
}

} // namespace

Models::Models(uint64_t seed) {
  char folder[] = "/tmp/latchkey_soak_XXXXXX";
  STRESS_CHECK(mkdtemp(folder) != nullptr, "failed to make a folder in /tmp");
  folder_ = folder;
  std::vector<stress::Model> models = stress::fixed_models();
  Random random(static_cast<unsigned>(seed));
  for (int i = 0; i < 4; i++) {
    models.push_back(stress::generated_model("generated" + std::to_string(i), random.seed()));
  }
  models.push_back(wide());
  for (const stress::Model &each : models) {
    all_.push_back({stress::prepare(each, false), folder_ + "/" + each.name + ".onnx"});
    std::ofstream(all_.back().path, std::ios::binary) << all_.back().model->bytes;
  }
}

Models::~Models() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Home::Home(const lk_context_options &options, Counts *counts) : counts_(counts) {
  lk_error error;
  STRESS_CHECK(lk::api()->context_create(&options, &context_, &error) == LK_OK,
               "making a context: %s", error.message);
}

Home::~Home() {
  lk::api()->context_destroy(context_);
}

void Home::set_limit(uint64_t bytes) {
  lk_error error;
  STRESS_CHECK(lk::api()->memory_set_limit(context_, bytes, &error) == LK_OK, "limiting memory: %s",
               error.message);
}

lk_stats Home::stats() const {
  lk_stats stats{};
  stats.struct_size = sizeof stats;
  lk_error error;
  STRESS_CHECK(lk::api()->cache_stats(context_, nullptr, &stats, &error) == LK_OK, "stats: %s",
               error.message);
  return stats;
}

void Home::limit_cache(uint64_t entries, uint64_t bytes, uint64_t weights) {
  lk_error error;
  lk_status status = lk::api()->cache_set_capacity(context_, nullptr, entries, bytes, &error);
  if (status == LK_OK) status = lk::api()->cache_set_weights_capacity(context_, weights, &error);
  STRESS_CHECK(status == LK_OK, "limiting the cache: %s", error.message);
}

void Home::settle() {
  limit_cache(65536, 20 << 20, 0); // packed weights are kept, or not, as limits came and went
  lk_error error;
  STRESS_CHECK(lk::api()->cache_clear(context_, nullptr, &error) == LK_OK, "clear: %s",
               error.message);
  limit_cache(65536, 20 << 20, LK_UNLIMITED);
  lk::api()->cache_trim(context_);
}

Session::Session(Home *home, std::shared_ptr<const PreparedModel> model,
                 std::shared_ptr<const std::string> bytes, lk_session *handle)
    : home(home), model(std::move(model)), bytes(std::move(bytes)), handle(handle) {
  home->counts()->opened++;
}

Session::~Session() {
  sessions_api()->close(handle);
  home->counts()->closed++;
}

namespace {

// The same model, whose values within it have names that no model before it had.
std::shared_ptr<const std::string> bytes_with_new_names(stress::Model model) {
  static std::atomic<uint64_t> count{0};
  const std::string prefix = std::to_string(1000000 + count++) + ".";
  const auto rename = [&](std::string *name) {
    const auto &outputs = model.outputs;
    if (name->empty() || model.inputs.count(*name) > 0) return;
    if (std::find(outputs.begin(), outputs.end(), *name) != outputs.end()) return;
    *name = prefix + *name;
  };
  for (stress::Node &node : model.nodes) {
    for (std::string &input : node.inputs) rename(&input);
    rename(&node.output);
  }
  stress::Values constants;
  for (auto &[name, value] : model.constants) {
    std::string renamed = name;
    rename(&renamed);
    constants.emplace(renamed, std::move(value));
  }
  model.constants = std::move(constants);
  return std::make_shared<const std::string>(stress::onnx_bytes(model));
}

bool refused(const Home::Call &call, Home *home, lk_status status, const lk_error &error,
             const std::string &what) {
  if (status == LK_OK) return false;
  STRESS_CHECK(status == LK_OUT_OF_MEMORY && call.may_be_refused(), "%s: %s", what.c_str(),
               error.message);
  home->counts()->refused++;
  return true;
}

} // namespace

std::shared_ptr<Session> Session::open(Home *home, const Models::Each &each, From from,
                                       int32_t inter, uint32_t max_runs) {
  lk_session_options options = LK_SESSION_OPTIONS_INIT;
  options.executor = inter > 0 ? LK_EXECUTOR_PARALLEL : LK_EXECUTOR_NAIVE;
  options.inter = inter;
  options.max_runs = max_runs;
  options.copy_model = from == From::kCopiedFile;
  lk_session *handle = nullptr;
  lk_error error;
  const Home::Call call(*home);
  std::shared_ptr<const std::string> bytes;
  if (from == From::kMemory) bytes = bytes_with_new_names(each.model->model);
  const lk_status status =
      bytes != nullptr
          ? sessions_api()->open_memory(home->context(), bytes->data(), bytes->size(), &options,
                                        &handle, &error)
          : sessions_api()->open(home->context(), each.path.c_str(), &options, &handle, &error);
  if (refused(call, home, status, error, "opening " + each.path)) return nullptr;
  return std::make_shared<Session>(home, each.model, bytes, handle);
}

std::shared_ptr<Session> Session::clone() const {
  lk_session *copy = nullptr;
  lk_error error;
  const Home::Call call(*home);
  const lk_status status = sessions_api()->clone(handle, &copy, &error);
  if (refused(call, home, status, error, "cloning " + model->model.name)) return nullptr;
  return std::make_shared<Session>(home, model, bytes, copy);
}

} // namespace soak
