// Settings that another thread, another context or the environment changes: the number of threads,
// the math mode, instruction set and engine. A value is built for what its key says; what a key
// does not say has no influence.
#include <oneapi/dnnl/dnnl.h>

#include <thread>

#include "tests/executor_glue/session/small_model.h"
#include "tests/isolation/node_model.h"

extern "C" {
#define _Atomic volatile // counters of a struct that is not looked at here
#include "ops/plan/primitive.h"
#undef _Atomic
}

namespace {

using lk::Context;
using lk::Executor;
using lk::Model;
using lk::Op;
using lk::Plan;
using lk::PrimitiveModel;

Context open(uint32_t mode, int32_t threads) {
  Context context;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.cache_mode = mode;
  options.threads = threads;
  LK_EXPECT_OK(lk::api()->context_create(&options, context.out(), LK_ERR));
  return context;
}

// What the cache has of one kind: the keys as text.
std::vector<std::string> keys_of(lk_context *context, uint32_t kind) {
  struct Arg {
    lk_context *context;
    uint32_t kind;
    std::vector<std::string> found;
  } arg{context, kind, {}};
  LK_EXPECT_OK(lk::api()->cache_visit(
      context,
      [](void *user, const lk_entry_info *entry) {
        auto *to = static_cast<Arg *>(user);
        char text[2048];
        if (entry->kind != to->kind) return;
        EXPECT_EQ(
            lk::api()->key_print(to->context, entry->key, text, sizeof text, nullptr, nullptr),
            LK_OK);
        to->found.push_back(text);
      },
      &arg, LK_ERR));
  return arg.found;
}

// The number behind `field` in a key's text, where a field stands once; -1: it is not there.
int64_t number_in(const std::string &text, const std::string &field) {
  const size_t at = text.find(field);
  return at == std::string::npos ? -1 : std::stoll(text.substr(at + field.size()), nullptr, 0);
}

class Settings : public ::testing::TestWithParam<uint32_t> {};
LK_IN_BOTH_MODES(Settings);

// ---- threads ----

class Run : public lk::small::Session {
public:
  using Session::check_in;
};

// Contexts for 1, 2 and 3 threads run one model at the same time, each from several threads.
TEST_P(Settings, ContextsForDifferentNumbersOfThreads) {
  const std::string bytes = lk::small::model_bytes();
  const int32_t counts[] = {1, 2, 3};
  Context contexts[3];
  lk_session *sessions[3] = {};
  for (int i = 0; i < 3; i++) {
    contexts[i] = open(GetParam(), counts[i]);
    LK_ASSERT_OK(lk::small::level2()->open_memory(contexts[i], bytes.data(), bytes.size(), nullptr,
                                                  &sessions[i], LK_ERR));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 12; i++) {
        lk::small::Floats x = lk::small::numbers(size_t(1 + i % 3), 0.5f);
        lk_named_tensor in = {"x", {lk::desc_of(LK_F32, {1 + i % 3, 4}), x.data()}};
        lk::small::Floats y(x.size());
        lk_named_tensor out = {"y", {in.tensor.desc, y.data()}};
        lk_session *const session = sessions[(i + t) % 3];
        LK_EXPECT_OK(lk::small::level2()->run(session, &in, 1, &out, 1, nullptr, LK_ERR));
        lk::small::expect_near(y, lk::small::expected_y(x));
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (int i = 0; i < 3; i++) {
    Run::check_in(sessions[i], lk::small::numbers(2, 0.5f)); // on this thread too
    lk::small::level2()->close(sessions[i]);
  }
}

// ---- what is oneDNN's, and the whole process's ----

lk_status build_nothing(void *, lk_built *out, lk_error *) {
  static int nothing;
  out->value = &nothing;
  return LK_OK;
}

// Whether the cache has the key with this text.
lk::Owned<lk_ref, lk_ref_release> find(lk_context *context, const std::string &text,
                                       bool *out_hit) {
  lk::Owned<lk_ref, lk_ref_release> ref;
  lk_key *key = nullptr;
  int hit = -1;
  LK_EXPECT_OK(lk::api()->key_parse(context, text.c_str(), &key, LK_ERR)) << text;
  LK_EXPECT_OK(lk::api()->get_or_create(context, nullptr, key, build_nothing, nullptr, ref.out(),
                                        &hit, LK_ERR));
  lk::api()->key_destroy(context, key);
  *out_hit = hit == 1;
  return ref;
}

dnnl_fpmath_mode_t math_mode(const_dnnl_primitive_attr_t attr) {
  dnnl_fpmath_mode_t mode = dnnl_fpmath_mode_any;
  EXPECT_EQ(dnnl_primitive_attr_get_fpmath_mode(attr, &mode), dnnl_success);
  return mode;
}

// Another thread changes the math mode that oneDNN gives to attributes that do not say one.
// (Whether that changes a result depends on the processor; so the primitives themselves are asked.)
TEST_P(Settings, DefaultMathModeOfTheProcessIsNotTaken) {
  const Context context = open(GetParam(), 1);
  const PrimitiveModel before(context);
  before.check(3);
  std::thread([] {
    EXPECT_EQ(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_bf16), dnnl_success);
  }).join();
  dnnl_primitive_attr_t attr = nullptr;
  EXPECT_EQ(dnnl_primitive_attr_create(&attr), dnnl_success);
  EXPECT_EQ(math_mode(attr), dnnl_fpmath_mode_bf16) << "else nothing is shown";
  dnnl_primitive_attr_destroy(attr);
  const uint64_t built = lk::stats(context).kind[LK_KIND_VALUE].builds;
  EXPECT_GT(built, 0u);
  const PrimitiveModel after(context);
  for (int64_t rows : {3, 5}) after.check(rows);
  EXPECT_EQ(lk::stats(context).kind[LK_KIND_VALUE].builds, built + 1) << "that of the new shape";
  for (const std::string &text : keys_of(context, LK_KIND_VALUE)) {
    bool hit = false;
    const auto ref = find(context, text, &hit);
    ASSERT_TRUE(hit) << text;
    const_dnnl_primitive_attr_t of_primitive = nullptr;
    const auto *primitive = static_cast<const lk_primitive *>(lk::api()->ref_value(ref));
    EXPECT_EQ(dnnl_primitive_desc_get_attr(primitive->desc, &of_primitive), dnnl_success);
    EXPECT_EQ(math_mode(of_primitive), dnnl_fpmath_mode_strict) << text;
  }
  EXPECT_EQ(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_strict), dnnl_success);
}

// oneDNN's own cache would keep alive what ours evicts.
TEST_P(Settings, OneDnnCachesNothing) {
  EXPECT_EQ(dnnl_set_primitive_cache_capacity(77), dnnl_success);
  const Context context = open(GetParam(), 1);
  int capacity = -1;
  EXPECT_EQ(dnnl_get_primitive_cache_capacity(&capacity), dnnl_success);
  EXPECT_EQ(capacity, 0);
}

// ---- what a key says of where it holds ----

// Primitives are found by their engine, instruction set, library and math mode too: a key that
// differs in one of them finds nothing.
TEST_P(Settings, EngineLibraryAndMathModeAreInValueKeys) {
  const Context context = open(GetParam(), 1);
  const PrimitiveModel model(context);
  model.check(3);
  const std::vector<std::string> values = keys_of(context, LK_KIND_VALUE);
  ASSERT_FALSE(values.empty());
  const dnnl_version_t *version = dnnl_version();
  const auto asks = [&](const std::string &text) {
    bool hit = false;
    find(context, text, &hit);
    return hit;
  };
  for (const std::string &text : values) {
    EXPECT_EQ(number_in(text, ";engine="), 0x10000);
    EXPECT_EQ(number_in(text, ";isa="), dnnl_get_effective_cpu_isa());
    EXPECT_EQ(number_in(text, ";library="),
              version->major << 16 | version->minor << 8 | version->patch);
    EXPECT_EQ(number_in(text, ";math_mode="), -1) << "strict is 0, and left out";
    EXPECT_TRUE(asks(text));
    const std::pair<const char *, const char *> changes[] = {{";engine=", ";engine=0x10001;was="},
                                                             {";isa=", ";isa=0x3;was="},
                                                             {";library=", ";library=0x30c00;was="},
                                                             {";engine=", ";math_mode=1;engine="}};
    for (const auto &change : changes) {
      std::string other = text;
      other.replace(other.find(change.first), std::strlen(change.first), change.second);
      const size_t was = other.find(";was=");
      if (was != std::string::npos) other.erase(was, other.find(';', was + 1) - was);
      EXPECT_NE(other, text);
      EXPECT_FALSE(asks(other)) << other;
      EXPECT_TRUE(asks(other)) << other;
    }
    EXPECT_TRUE(asks(text));
  }
}

} // namespace
