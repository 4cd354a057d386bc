// Options of a context: the struct, then the environment, then the default; what is refused, and
// how it is said. Also the log, the version, and structs of other sizes.
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::Context;
using ::testing::HasSubstr;

// An environment variable for the time of a test.
class Variable {
public:
  Variable(const char *name, const char *value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

private:
  const char *name_;
};

lk_status create(const lk_context_options *options, Context *out) {
  return api()->context_create(options, out->out(), LK_ERR);
}

class Options : public ::testing::Test {
protected:
  void SetUp() override {
    for (const char *name :
         {"LATCHKEY_CACHE", "LATCHKEY_THREADS", "LATCHKEY_CACHE_ENTRIES", "LATCHKEY_CACHE_BYTES",
          "LATCHKEY_MEMORY_BYTES", "LATCHKEY_VERBOSE", "LATCHKEY_PROCESSORS", "LATCHKEY_SOCKET"}) {
      unsetenv(name);
    }
  }
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  Context context;
};

TEST_F(Options, HaveDefaults) {
  for (const lk_context_options *given : {static_cast<const lk_context_options *>(nullptr),
                                          static_cast<const lk_context_options *>(&options)}) {
    LK_ASSERT_OK(create(given, &context));
    EXPECT_EQ(api()->context_cache_mode(context), uint32_t(LK_CACHE_SHARED));
    EXPECT_GE(api()->context_threads(context), 1);
    EXPECT_NE(api()->context_allocator(context)->alloc, nullptr);
    const lk_stats now = lk::stats(context);
    EXPECT_EQ(now.capacity_entries, 65536u);
    EXPECT_EQ(now.capacity_bytes, uint64_t{20} << 20);
    EXPECT_EQ(now.weights_capacity_bytes, LK_UNLIMITED);
    EXPECT_EQ(now.entries, 0u);
  }
}

TEST_F(Options, OfZeroesAreTheDefaults) {
  LK_ASSERT_OK(create(nullptr, &context));
  const lk_stats expected = lk::stats(context);
  options = {};
  options.struct_size = sizeof options;
  LK_ASSERT_OK(create(&options, &context));
  EXPECT_EQ(api()->context_cache_mode(context), uint32_t(LK_CACHE_SHARED));
  const lk_stats now = lk::stats(context);
  EXPECT_EQ(now.capacity_entries, expected.capacity_entries);
  EXPECT_EQ(now.capacity_bytes, expected.capacity_bytes);
  EXPECT_EQ(now.weights_capacity_bytes, expected.weights_capacity_bytes);
  EXPECT_EQ(now.memory_limit_bytes, expected.memory_limit_bytes);
}

TEST_F(Options, MayKeepNothing) {
  const Variable entries("LATCHKEY_CACHE_ENTRIES", "7");
  options.cache_entries = options.cache_bytes = options.weights_bytes = LK_NONE;
  LK_ASSERT_OK(create(&options, &context));
  const lk_stats now = lk::stats(context);
  EXPECT_EQ(now.capacity_entries, 0u);
  EXPECT_EQ(now.capacity_bytes, 0u);
  EXPECT_EQ(now.weights_capacity_bytes, 0u);
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 5, 6, LK_ERR));
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, LK_NONE, LK_UNSET, LK_ERR));
  EXPECT_EQ(lk::stats(context).capacity_entries, 0u);
  EXPECT_EQ(lk::stats(context).capacity_bytes, 6u);
}

TEST_F(Options, ComeFromTheStruct) {
  options.cache_mode = LK_CACHE_THREAD;
  options.threads = 3;
  options.cache_entries = 17;
  options.cache_bytes = 4242;
  options.weights_bytes = 99;
  options.memory_bytes = 12345678;
  const Variable mode("LATCHKEY_CACHE", "off"), threads("LATCHKEY_THREADS", "5"),
      entries("LATCHKEY_CACHE_ENTRIES", "5"), bytes("LATCHKEY_CACHE_BYTES", "5m"),
      memory("LATCHKEY_MEMORY_BYTES", "1g");
  LK_ASSERT_OK(create(&options, &context));
  EXPECT_EQ(api()->context_cache_mode(context), uint32_t(LK_CACHE_THREAD));
  EXPECT_EQ(api()->context_threads(context), 3);
  const lk_stats now = lk::stats(context);
  EXPECT_EQ(now.capacity_entries, 17u);
  EXPECT_EQ(now.capacity_bytes, 4242u);
  EXPECT_EQ(now.weights_capacity_bytes, 99u);
  EXPECT_EQ(now.memory_limit_bytes, 12345678u);
}

TEST_F(Options, ComeFromTheEnvironment) {
  const Variable mode("LATCHKEY_CACHE", "thread"), threads("LATCHKEY_THREADS", "5"),
      entries("LATCHKEY_CACHE_ENTRIES", "0"), memory("LATCHKEY_MEMORY_BYTES", "64m");
  const std::pair<const char *, uint64_t> sizes[] = {
      {"0", 0}, {"7", 7}, {"3k", 3u << 10}, {"5M", 5u << 20}, {"2g", uint64_t{2} << 30}};
  for (const auto &size : sizes) {
    const Variable bytes("LATCHKEY_CACHE_BYTES", size.first);
    LK_ASSERT_OK(create(nullptr, &context));
    EXPECT_EQ(lk::stats(context).capacity_bytes, size.second) << size.first;
  }
  EXPECT_EQ(api()->context_cache_mode(context), uint32_t(LK_CACHE_THREAD));
  EXPECT_EQ(api()->context_threads(context), 5);
  EXPECT_EQ(lk::stats(context).capacity_entries, 0u);
  EXPECT_EQ(lk::stats(context).memory_limit_bytes, uint64_t{64} << 20);
  const Variable empty("LATCHKEY_THREADS", ""); // as if it were not set
  LK_ASSERT_OK(create(nullptr, &context));
}

TEST_F(Options, OfTheEnvironmentAreChecked) {
  const std::pair<const char *, const char *> wrong[] = {
      {"LATCHKEY_CACHE", "on"},
      {"LATCHKEY_CACHE", "Shared"},
      {"LATCHKEY_THREADS", "0"},
      {"LATCHKEY_THREADS", "1025"},
      {"LATCHKEY_THREADS", "2k"},
      {"LATCHKEY_THREADS", "-1"},
      {"LATCHKEY_THREADS", "two"},
      {"LATCHKEY_THREADS", " 2"},
      {"LATCHKEY_CACHE_ENTRIES", "1k"},
      {"LATCHKEY_CACHE_ENTRIES", "99999999999999999999"},
      {"LATCHKEY_CACHE_BYTES", "1t"},
      {"LATCHKEY_CACHE_BYTES", "1mb"},
      {"LATCHKEY_CACHE_BYTES", "-1"},
      {"LATCHKEY_CACHE_BYTES", "18446744073709551615"},
      {"LATCHKEY_CACHE_BYTES", "18446744073709551615g"},
      {"LATCHKEY_MEMORY_BYTES", "0"},
      {"LATCHKEY_MEMORY_BYTES", "1t"},
      {"LATCHKEY_VERBOSE", "4"},
      {"LATCHKEY_PROCESSORS", "0"},
      {"LATCHKEY_PROCESSORS", "1025"},
  };
  for (const auto &one : wrong) {
    SCOPED_TRACE(std::string(one.first) + "=" + one.second);
    const Variable variable(one.first, one.second);
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, create(nullptr, &context));
    EXPECT_EQ(context.get(), nullptr);
    EXPECT_THAT(LK_MESSAGE, HasSubstr(one.first));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(one.second));
  }
}

TEST_F(Options, OfTheStructAreChecked) {
  options.cache_mode = 4;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, create(&options, &context));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'cache_mode': it is 4"));
  options = LK_CONTEXT_OPTIONS_INIT;
  for (int32_t threads : {-1, 1025}) {
    options.threads = threads;
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, create(&options, &context));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("'threads'"));
  }
  options = LK_CONTEXT_OPTIONS_INIT;
  options.verbose = 4;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, create(&options, &context));
  options = LK_CONTEXT_OPTIONS_INIT;
  options.allocator.alloc = [](void *, size_t, size_t) -> void * { return nullptr; };
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, create(&options, &context));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("'allocator'"));
}

TEST_F(Options, MayBeOfAnotherSize) {
  struct Longer {
    lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
    uint64_t more = 0;
  } longer;
  longer.options.struct_size = sizeof longer;
  longer.options.threads = 2;
  LK_EXPECT_OK(create(&longer.options, &context));
  longer.more = 1;
  const lk_status status = create(&longer.options, &context);
  EXPECT_NE(status, LK_OK) << "an option that this library does not know";
  options.struct_size = 0;
  EXPECT_NE(create(&options, &context), LK_OK);
  EXPECT_EQ(context.get(), nullptr);
}

TEST_F(Options, ChooseWhatIsLogged) {
  std::vector<std::string> lines;
  options.log = [](void *user, lk_log_level, const char *line) {
    static_cast<std::vector<std::string> *>(user)->push_back(line);
  };
  options.log_user = &lines;
  options.verbose = LK_LOG_INFO;
  LK_ASSERT_OK(create(&options, &context));
  api()->context_log(context, LK_LOG_WARNING, "warning");
  api()->context_log(context, LK_LOG_INFO, "info");
  api()->context_log(context, LK_LOG_DEBUG, "debug");
  EXPECT_THAT(lines, ::testing::ElementsAre(HasSubstr("context of 0.1.0"), "warning", "info"));
}

TEST_F(Options, SetCapacitiesLater) {
  LK_ASSERT_OK(create(nullptr, &context));
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 12, LK_UNSET, LK_ERR));
  EXPECT_EQ(lk::stats(context).capacity_entries, 12u);
  EXPECT_EQ(lk::stats(context).capacity_bytes, uint64_t{20} << 20);
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, LK_UNSET, LK_UNLIMITED, LK_ERR));
  EXPECT_EQ(lk::stats(context).capacity_entries, 12u);
  EXPECT_EQ(lk::stats(context).capacity_bytes, LK_UNLIMITED);
  LK_ASSERT_OK(api()->cache_set_weights_capacity(context, 77, LK_ERR));
  EXPECT_EQ(lk::stats(context).weights_capacity_bytes, 77u);
}

TEST(Version, IsTold) {
  EXPECT_NE(lk_get_api(LK_API_VERSION), nullptr);
  EXPECT_EQ(lk_get_api(LK_API_VERSION + 1), nullptr);
  EXPECT_EQ(api()->version, LK_API_VERSION);
  EXPECT_EQ(api()->struct_size, sizeof(lk_api));
  EXPECT_THAT(std::string(api()->version_text()),
              ::testing::AnyOf("0.1.0 (SSE2)", "0.1.0 (AVX2)", "0.1.0 (AVX-512)"));
  EXPECT_STREQ(api()->status_text(LK_OUT_OF_MEMORY), "out of memory");
  EXPECT_NE(api()->status_text(static_cast<lk_status>(999)), nullptr);
}

std::map<std::string, std::pair<std::string, uint32_t>> told(lk_context *context) {
  std::map<std::string, std::pair<std::string, uint32_t>> all;
  lk_option_info info = {};
  info.struct_size = sizeof info;
  for (uint32_t i = 0; api()->option_info(context, i, &info, nullptr) == LK_OK; i++) {
    all[info.name] = {info.text, info.source};
  }
  return all;
}

using Told = std::pair<std::string, uint32_t>;

TEST_F(Options, SayWhereTheyComeFrom) {
  const Variable variable("LATCHKEY_CACHE_BYTES", "3m");
  const Variable empty("LATCHKEY_CACHE_ENTRIES", ""); // as if it was not set
  options.threads = 3;
  options.cache_mode = LK_CACHE_THREAD;
  options.verbose = LK_LOG_OFF;
  Context silent;
  LK_ASSERT_OK(create(&options, &silent));
  EXPECT_EQ(told(silent)["verbose"], Told("0", LK_FROM_ARGUMENT)) << "as the variable has it";
  options.verbose = LK_LOG_INFO;
  LK_ASSERT_OK(create(&options, &context));
  auto all = told(context);
  EXPECT_EQ(all.size(), 12u);
  EXPECT_EQ(all["engine"].second, uint32_t(LK_FROM_DEFAULT));
  EXPECT_THAT(all["engine"].first, ::testing::AnyOf("auto", "native")); // with and without oneDNN
  EXPECT_EQ(all["tuning"], Told("none", LK_FROM_DEFAULT));
  EXPECT_EQ(all["socket"], Told("off", LK_FROM_DEFAULT));
  EXPECT_EQ(all["cache_mode"], Told("thread", LK_FROM_ARGUMENT));
  EXPECT_EQ(all["threads"], Told("3", LK_FROM_ARGUMENT));
  EXPECT_EQ(all["verbose"], Told("2", LK_FROM_ARGUMENT));
  EXPECT_EQ(all["cache_bytes"], Told("3145728", LK_FROM_ENVIRONMENT));
  EXPECT_EQ(all["cache_entries"], Told("65536", LK_FROM_DEFAULT));
  EXPECT_EQ(all["weights_bytes"], Told("unlimited", LK_FROM_DEFAULT));
  EXPECT_THAT(all["memory_bytes"].second, ::testing::AnyOf(LK_FROM_MACHINE, LK_FROM_CGROUP));
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 7, LK_UNSET, LK_ERR));
  LK_ASSERT_OK(api()->memory_set_limit(context, uint64_t{1} << 30, LK_ERR));
  all = told(context);
  EXPECT_EQ(all["cache_entries"], Told("7", LK_FROM_CALL));
  EXPECT_EQ(all["cache_bytes"], Told("3145728", LK_FROM_ENVIRONMENT));
  EXPECT_EQ(all["memory_bytes"], Told("1073741824", LK_FROM_CALL));
}

TEST_F(Options, SayWhichVariablesThereAre) {
  LK_ASSERT_OK(create(nullptr, &context));
  std::set<std::string> variables;
  lk_option_info info = {};
  info.struct_size = sizeof info;
  for (uint32_t i = 0; api()->option_info(context, i, &info, nullptr) == LK_OK; i++) {
    const std::string variable = info.variable;
    if (variable.empty()) continue;
    EXPECT_TRUE(variables.insert(variable).second) << variable;
  }
  EXPECT_EQ(variables.size(), 11u);
  for (const auto &[name, value] : told(context)) EXPECT_NE(value.first, "") << name;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->option_info(context, 12, &info, LK_ERR));
  EXPECT_EQ(LK_MESSAGE, "failed to describe option 12: there are 12, numbered from 0");
  info.struct_size = 0;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->option_info(context, 0, &info, LK_ERR));
}

TEST_F(Options, ThreadsFollowTheProcessors) {
  LK_ASSERT_OK(create(nullptr, &context));
  auto all = told(context);
  EXPECT_EQ(all["threads"].second, all["processors"].second);
  LK_ASSERT_OK(api()->processors_set(2, LK_ERR));
  all = told(context);
  EXPECT_EQ(all["processors"], Told("2", LK_FROM_CALL));
}

TEST(Rows, EndWithNull) {
  EXPECT_NE(api()->op_row(0), nullptr);
  EXPECT_EQ(api()->op_row(100000), nullptr);
}

} // namespace
