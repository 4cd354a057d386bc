// The cache as hosts use it for values of their own: keys by struct and by string, builds,
// references, limits; and tensors from layout to layout.
#include <atomic>
#include <future>
#include <thread>

#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::desc_of;
using ::testing::HasSubstr;

struct Build {
  std::atomic<int> builds{0}, destroyed{0};
  lk_status result = LK_OK;
  bool empty = false;

  static lk_status run(void *arg, const lk_key *, lk_built *out, lk_error *error) {
    auto *self = static_cast<Build *>(arg);
    self->builds++;
    if (self->result != LK_OK) {
      error->status = self->result;
      std::strcpy(error->message, "failed to build: on purpose");
      return self->result;
    }
    out->value = self->empty ? nullptr : new int(self->builds);
    out->bytes = 1000;
    out->user = self;
    out->destroy = [](void *value, void *user) {
      static_cast<Build *>(user)->destroyed++;
      delete static_cast<int *>(value);
    };
    return LK_OK;
  }
};

class CacheApi : public ::testing::TestWithParam<uint32_t> {
protected:
  Build build; // outlives the context, which ends what is left of its values
  lk::Context context = lk::open(GetParam());
  lk::Executor executor = lk::executor_in(context);
};

lk_key *key_of(lk_context *context, lk_executor *executor, const char *name,
               const char *tag = nullptr, uint64_t generation = 0,
               const std::vector<int64_t> &dims = {2, 3}) {
  const lk_tensor_desc tensor = desc_of(LK_F32, dims);
  const int64_t numbers[] = {1, -2};
  const lk_key_attr attr = {"strides", numbers, 2, 0};
  float one[] = {1.5F};
  const lk_tensor value = {desc_of(LK_F32, {1}), one};
  lk_key_desc desc{};
  desc.struct_size = sizeof desc;
  desc.name = name;
  desc.tag = tag;
  desc.generation = generation;
  desc.n_tensors = desc.n_attrs = desc.n_values = 1;
  desc.tensors = &tensor;
  desc.attrs = &attr;
  desc.values = &value;
  lk_key *key = nullptr;
  LK_EXPECT_OK(api()->key_create(context, executor, &desc, &key, LK_ERR));
  return key;
}

TEST_P(CacheApi, BuildsOnceAndDestroysOnce) {
  lk_key *key = key_of(context, executor, "mine");
  lk_ref *first = nullptr, *second = nullptr;
  int hit = -1;
  LK_ASSERT_OK(
      api()->get_or_create(context, executor, key, Build::run, &build, &first, &hit, LK_ERR));
  EXPECT_EQ(hit, 0);
  LK_ASSERT_OK(
      api()->get_or_create(context, executor, key, Build::run, &build, &second, &hit, LK_ERR));
  EXPECT_EQ(hit, 1);
  EXPECT_EQ(api()->ref_value(first), api()->ref_value(second));
  EXPECT_EQ(*static_cast<int *>(api()->ref_value(first)), 1);
  const lk_stats now = lk::stats(context);
  EXPECT_EQ(now.kind[LK_KIND_USER].misses, 1u);
  EXPECT_EQ(now.kind[LK_KIND_USER].hits, 1u);
  EXPECT_GE(now.bytes, 1000u);
  api()->ref_charge(first, 5000);
  EXPECT_GE(lk::stats(context).bytes, 5000u);
  LK_ASSERT_OK(api()->cache_clear(context, executor, LK_ERR));
  EXPECT_EQ(build.destroyed, 0); // still in use
  api()->ref_release(first);
  EXPECT_EQ(build.destroyed, 0);
  api()->ref_release(second);
  EXPECT_EQ(build.destroyed, 1);
  api()->key_destroy(context, key);
}

TEST_P(CacheApi, LeavesNothingOfAFailedBuild) {
  lk_key *key = key_of(context, nullptr, "mine");
  lk_ref *ref = nullptr;
  build.result = LK_IO;
  LK_EXPECT_STATUS(LK_IO, api()->get_or_create(context, nullptr, key, Build::run, &build, &ref,
                                               nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("on purpose"));
  EXPECT_EQ(ref, nullptr);
  EXPECT_EQ(lk::stats(context).entries, 0u);
  build.result = LK_OK;
  build.empty = true;
  EXPECT_NE(api()->get_or_create(context, nullptr, key, Build::run, &build, &ref, nullptr, LK_ERR),
            LK_OK);
  build.empty = false;
  LK_EXPECT_OK(
      api()->get_or_create(context, nullptr, key, Build::run, &build, &ref, nullptr, LK_ERR));
  api()->ref_release(ref);
  EXPECT_EQ(build.builds, 3);
  api()->key_destroy(context, key);
}

TEST_P(CacheApi, TellsKeysApart) {
  const lk::Executor other = lk::executor_in(context);
  lk_key *keys[] = {key_of(context, executor, "a"),
                    key_of(context, other, "a"),
                    key_of(context, nullptr, "a"),
                    key_of(context, executor, "b"),
                    key_of(context, executor, "a", "relu"),
                    key_of(context, executor, "a", nullptr, 1),
                    key_of(context, executor, "a", nullptr, 0, {23}),
                    key_of(context, executor, "a", nullptr, 0, {2, 3, 1})};
  for (int round = 0; round < 2; round++) {
    for (lk_key *key : keys) {
      lk_ref *ref = nullptr;
      int hit = -1;
      LK_ASSERT_OK(
          api()->get_or_create(context, executor, key, Build::run, &build, &ref, &hit, LK_ERR));
      EXPECT_EQ(hit, round);
      api()->ref_release(ref);
    }
  }
  EXPECT_EQ(build.builds, 8);
  for (lk_key *key : keys) api()->key_destroy(context, key);
  executor.reset();
  EXPECT_EQ(build.destroyed, 8);
}

TEST_P(CacheApi, RoundTripsStrings) {
  lk_key *key = key_of(context, executor, "out;=%\n\xc3\xa9", "axis=1", 7);
  size_t length = 0;
  LK_ASSERT_OK(api()->key_print(context, key, nullptr, 0, &length, LK_ERR));
  std::vector<char> text(length + 1), cut(10);
  LK_ASSERT_OK(api()->key_print(context, key, text.data(), text.size(), nullptr, LK_ERR));
  EXPECT_EQ(std::strlen(text.data()), length);
  EXPECT_THAT(text.data(), HasSubstr("out="));
  EXPECT_THAT(text.data(), HasSubstr("strides"));
  LK_ASSERT_OK(api()->key_print(context, key, cut.data(), cut.size(), &length, LK_ERR));
  EXPECT_EQ(std::string(cut.data()), std::string(text.data()).substr(0, 9));
  lk_key *parsed = nullptr;
  LK_ASSERT_OK(api()->key_parse(context, text.data(), &parsed, LK_ERR));
  lk_ref *first = nullptr, *second = nullptr;
  int hit = 0;
  LK_ASSERT_OK(
      api()->get_or_create(context, executor, key, Build::run, &build, &first, nullptr, LK_ERR));
  LK_ASSERT_OK(
      api()->get_or_create(context, executor, parsed, Build::run, &build, &second, &hit, LK_ERR));
  EXPECT_EQ(hit, 1);
  api()->ref_release(first);
  api()->ref_release(second);
  api()->key_destroy(context, key);
  api()->key_destroy(context, parsed);
  LK_EXPECT_STATUS(LK_MALFORMED, api()->key_parse(context, "not a key", &parsed, LK_ERR));
  EXPECT_EQ(parsed, nullptr);
}

TEST_P(CacheApi, ChecksKeyDescriptions) {
  lk_key_desc desc{};
  desc.struct_size = sizeof desc;
  lk_key *key = nullptr;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->key_create(context, nullptr, &desc, &key, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("name"));
  desc.name = "x";
  desc.kind = 2;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->key_create(context, nullptr, &desc, &key, LK_ERR));
  desc.kind = LK_KEY_RUN;
  lk_tensor_desc bad = desc_of(LK_F32, {1});
  bad.rank = 9;
  desc.tensors = &bad;
  desc.n_tensors = 1;
  EXPECT_NE(api()->key_create(context, nullptr, &desc, &key, LK_ERR), LK_OK);
  EXPECT_EQ(key, nullptr);
}

// A count without what it counts is an error of the caller that is told, also without a key object.
TEST_P(CacheApi, ChecksThatWhatIsCountedIsThere) {
  const lk_key_attr no_values = {"a", nullptr, 2, 0};
  const lk_tensor no_data = {desc_of(LK_F32, {2}), nullptr};
  lk_key_desc descs[5] = {};
  for (lk_key_desc &desc : descs) {
    desc.struct_size = sizeof desc;
    desc.name = "x";
  }
  descs[0].n_tensors = descs[1].n_attrs = descs[2].n_values = 1;
  descs[3].n_attrs = 1;
  descs[3].attrs = &no_values;
  descs[4].n_values = 1;
  descs[4].values = &no_data;
  const char *sentences[] = {"tensors", "attrs", "values", "attribute 0 has 2 elements",
                             "value 0 has 2 elements"};
  lk_key *like = key_of(context, executor, "x");
  for (int i = 0; i < 5; i++) {
    lk_key *key = nullptr;
    lk_ref *ref = nullptr;
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                     api()->key_create(context, executor, &descs[i], &key, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(sentences[i]));
    EXPECT_EQ(key, nullptr);
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                     api()->get_or_create_like(context, executor, like, &descs[i], Build::run,
                                               &build, &ref, nullptr, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(sentences[i]));
    EXPECT_EQ(ref, nullptr);
  }
  EXPECT_EQ(build.builds, 0);
  const lk_tensor empty = {desc_of(LK_F32, {0, 3}), nullptr};
  descs[4].values = &empty;
  lk_key *key = nullptr;
  LK_EXPECT_OK(api()->key_create(context, executor, &descs[4], &key, LK_ERR));
  api()->key_destroy(context, key);
  api()->key_destroy(context, like);
}

TEST_P(CacheApi, ShowsItsEntries) {
  lk_key *key = key_of(context, executor, "seen");
  lk_ref *ref = nullptr;
  LK_ASSERT_OK(
      api()->get_or_create(context, executor, key, Build::run, &build, &ref, nullptr, LK_ERR));
  struct Seen {
    lk_context *context;
    int count = 0;
    uint32_t in_use = 0;
    std::string text;
  } seen{context, 0, 0, ""};
  LK_ASSERT_OK(api()->cache_visit(
      context,
      [](void *arg, const lk_entry_info *entry) {
        auto *self = static_cast<Seen *>(arg);
        self->count++;
        self->in_use += entry->in_use;
        EXPECT_EQ(entry->kind, uint32_t(LK_KIND_USER));
        EXPECT_GE(entry->bytes, 1000u);
        char text[512];
        EXPECT_EQ(api()->key_print(self->context, entry->key, text, sizeof text, nullptr, nullptr),
                  LK_OK);
        self->text = text;
      },
      &seen, LK_ERR));
  EXPECT_EQ(seen.count, 1);
  EXPECT_GE(seen.in_use, 1u);
  EXPECT_THAT(seen.text, HasSubstr("seen"));
  api()->ref_release(ref);
  api()->key_destroy(context, key);
}

// Also of a thread that is inside a call, in a table of its own in per-thread mode: it shows what
// the statistics count.
TEST_P(CacheApi, ShowsEntriesOfThreadsThatAreBusy) {
  std::promise<void> inside, seen;
  std::thread other([&] {
    struct Waits {
      Build *build;
      std::promise<void> *inside, *seen;
    } waits{&build, &inside, &seen};
    lk_key *first = key_of(context, executor, "first"), *second = key_of(context, executor, "2nd");
    lk_ref *refs[2] = {};
    LK_EXPECT_OK(api()->get_or_create(context, executor, first, Build::run, &build, &refs[0],
                                      nullptr, LK_ERR));
    const lk_build_fn wait = [](void *arg, const lk_key *key, lk_built *out, lk_error *error) {
      const auto *self = static_cast<Waits *>(arg);
      self->inside->set_value();
      self->seen->get_future().wait();
      return Build::run(self->build, key, out, error);
    };
    LK_EXPECT_OK(
        api()->get_or_create(context, executor, second, wait, &waits, &refs[1], nullptr, LK_ERR));
    for (lk_ref *ref : refs) api()->ref_release(ref);
    for (lk_key *key : {first, second}) api()->key_destroy(context, key);
  });
  inside.get_future().wait();
  uint64_t count = 0;
  LK_EXPECT_OK(api()->cache_visit(
      context, [](void *arg, const lk_entry_info *) { ++*static_cast<uint64_t *>(arg); }, &count,
      LK_ERR));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(count, lk::stats(context).entries);
  seen.set_value();
  other.join();
}

std::string text_of(lk_context *context, const lk_key *key) {
  char text[2048];
  EXPECT_EQ(api()->key_print(context, key, text, sizeof text, nullptr, nullptr), LK_OK);
  return text;
}

// The texts of all keys in the cache.
std::vector<std::string> texts(lk_context *context) {
  struct Texts {
    lk_context *context;
    std::vector<std::string> all;
  } found{context, {}};
  LK_EXPECT_OK(api()->cache_visit(
      context,
      [](void *arg, const lk_entry_info *entry) {
        auto *self = static_cast<Texts *>(arg);
        self->all.push_back(text_of(self->context, entry->key));
      },
      &found, LK_ERR));
  return found.all;
}

// A host neither gets what the library keeps, nor puts anything in its place.
TEST_P(CacheApi, KeepsPlansFromHosts) {
  lk::TestNode node;
  node.op = "Relu";
  lk::Op relu;
  lk::Plan plan;
  const lk_tensor_desc desc = desc_of(LK_F32, {2, 3});
  LK_ASSERT_OK(node.create(executor, &relu, LK_ERR));
  LK_ASSERT_OK(lk::bind(relu, {desc}, &plan, LK_ERR));
  const std::vector<std::string> found = texts(context);
  ASSERT_EQ(found.size(), 1u);
  lk_key *key = nullptr;
  lk_ref *ref = nullptr;
  LK_ASSERT_OK(api()->key_parse(context, found[0].c_str(), &key, LK_ERR));
  for (int i = 0; i < 2; i++) { // while the plan is there, and when it is gone
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->get_or_create(context, executor, key, Build::run,
                                                               &build, &ref, nullptr, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("its key is of kind name"));
    EXPECT_EQ(ref, nullptr);
    lk_key_desc none{};
    none.struct_size = sizeof none;
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                     api()->get_or_create_like(context, executor, key, &none, Build::run, &build,
                                               &ref, nullptr, LK_ERR));
    plan.reset();
    LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
  }
  EXPECT_EQ(build.builds, 0);
  LK_ASSERT_OK(lk::bind(relu, {desc}, &plan, LK_ERR));
  api()->key_destroy(context, key);
}

// Run plans are for who made their key; a text of one is not enough.
TEST_P(CacheApi, KeepsRunPlansForWhoMadeTheirKey) {
  lk_key_desc desc{};
  desc.struct_size = sizeof desc;
  desc.name = "graph";
  desc.kind = LK_KEY_RUN;
  lk_key *made = nullptr, *parsed = nullptr;
  lk_ref *ref = nullptr;
  LK_ASSERT_OK(api()->key_create(context, executor, &desc, &made, LK_ERR));
  LK_ASSERT_OK(
      api()->get_or_create(context, executor, made, Build::run, &build, &ref, nullptr, LK_ERR));
  api()->ref_release(ref);
  LK_ASSERT_OK(api()->key_parse(context, text_of(context, made).c_str(), &parsed, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->get_or_create(context, executor, parsed, Build::run,
                                                             &build, &ref, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("its key is of kind run"));
  EXPECT_EQ(ref, nullptr);
  api()->key_destroy(context, parsed);
  api()->key_destroy(context, made);
}

// The numbers of names in a key mean other names elsewhere.
TEST_P(CacheApi, RefusesWhatIsOfAnotherContext) {
  const lk::Context other = lk::open(GetParam());
  const lk::Executor executor_there = lk::executor_in(other);
  lk_key *here = key_of(context, executor, "a"), *there = key_of(other, executor_there, "b");
  lk_key_desc none{};
  none.struct_size = sizeof none;
  lk_ref *ref = nullptr;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->get_or_create(context, executor, there, Build::run,
                                                             &build, &ref, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("its key is of another context"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   api()->get_or_create_like(context, executor, there, &none, Build::run, &build,
                                             &ref, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("its key is of another context"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   api()->get_or_create(context, executor_there, here, Build::run, &build, &ref,
                                        nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("executor is one of another context"));
  EXPECT_EQ(build.builds, 0);
  EXPECT_EQ(ref, nullptr);
  api()->key_destroy(context, here);
  api()->key_destroy(other, there);
}

// A key of the host's own passes as it was made, as its text, and as it is shown.
TEST_P(CacheApi, TakesTheHostsKeysHoweverItHasThem) {
  lk_key *made = key_of(context, executor, "mine"), *parsed = nullptr;
  LK_ASSERT_OK(api()->key_parse(context, text_of(context, made).c_str(), &parsed, LK_ERR));
  struct Asks {
    lk_context *context;
    Build *build;
    int hits = 0;
    void get(const lk_key *key) {
      lk_ref *ref = nullptr;
      int hit = 0;
      LK_EXPECT_OK(
          api()->get_or_create(context, nullptr, key, Build::run, build, &ref, &hit, LK_ERR));
      api()->ref_release(ref);
      hits += hit;
    }
  } asks{context, &build};
  asks.get(made);
  asks.get(parsed);
  LK_EXPECT_OK(api()->cache_visit(
      context,
      [](void *arg, const lk_entry_info *entry) { static_cast<Asks *>(arg)->get(entry->key); },
      &asks, LK_ERR));
  EXPECT_EQ(asks.hits, 2);
  EXPECT_EQ(build.builds, 1);
  for (lk_key *key : {made, parsed}) api()->key_destroy(context, key);
}

TEST_P(CacheApi, LimitsAnExecutor) {
  const lk::Executor other = lk::executor_in(context);
  LK_ASSERT_OK(api()->cache_set_capacity(context, executor, 2, LK_UNSET, LK_ERR));
  for (int i = 0; i < 6; i++) {
    for (lk_executor *owner : {executor.get(), other.get()}) {
      lk_key *key = key_of(context, owner, std::to_string(i).c_str());
      lk_ref *ref = nullptr;
      LK_ASSERT_OK(
          api()->get_or_create(context, owner, key, Build::run, &build, &ref, nullptr, LK_ERR));
      api()->ref_release(ref);
      api()->key_destroy(context, key);
    }
  }
  EXPECT_LE(lk::stats(context, executor).entries, 2u);
  EXPECT_EQ(lk::stats(context, other).entries, 6u);
  LK_ASSERT_OK(api()->cache_clear(context, other, LK_ERR));
  EXPECT_EQ(lk::stats(context, other).entries, 0u);
  EXPECT_GT(lk::stats(context, executor).entries, 0u);
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 0, LK_UNSET, LK_ERR));
  EXPECT_EQ(lk::stats(context).entries, 0u);
  EXPECT_EQ(build.destroyed, 12);
}

INSTANTIATE_TEST_SUITE_P(Modes, CacheApi, ::testing::Values(LK_CACHE_THREAD, LK_CACHE_SHARED));

// ---- tensors ----

class TensorApi : public ::testing::Test {
protected:
  lk_status convert(const lk_tensor_desc &from, void *data, const lk_tensor_desc &to, void *out) {
    const lk_tensor source{from, data}, target{to, out};
    return api()->tensor_convert(&source, &target, LK_ERR);
  }
  lk::Context context = lk::open();
};

TEST_F(TensorApi, ConvertsThereAndBack) {
  for (const lk::Dims &dims : {lk::Dims{2, 3, 4, 5}, lk::Dims{2, 3, 7}, lk::Dims{1, 4, 2, 3, 2},
                               lk::Dims{2, 1, 3, 3}, lk::Dims{2, 5, 1, 1}, lk::Dims{3, 4}}) {
    const lk::Value x = lk::random(dims, 1);
    const lk_tensor_desc plain = x.desc;
    lk_tensor_desc last = plain;
    if (dims.size() >= 3) last.layout = LK_LAYOUT_CHANNELS_LAST;
    uint64_t bytes = 0;
    LK_ASSERT_OK(api()->tensor_bytes(&last, &bytes, LK_ERR));
    EXPECT_EQ(bytes, x.bytes.size());
    const lk::Memory from = x.in(LK_LAYOUT_PLAIN);
    lk::Memory there(x.bytes.size()), back(x.bytes.size());
    LK_ASSERT_OK(convert(plain, from.data(), last, there.data()));
    EXPECT_TRUE(lk::all_close(x, lk::Value::from(last, there.data()), lk::EXACTLY));
    LK_ASSERT_OK(convert(last, there.data(), plain, back.data()));
    EXPECT_EQ(std::memcmp(back.data(), from.data(), x.bytes.size()), 0);
  }
}

TEST_F(TensorApi, RefusesWhatDoesNotFit) {
  float data[24] = {};
  const lk_tensor_desc plain = desc_of(LK_F32, {2, 3, 4});
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, convert(plain, data, desc_of(LK_F32, {2, 4, 3}), data));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("2x3x4:f32 to 2x4x3:f32"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, convert(plain, data, desc_of(LK_I32, {2, 3, 4}), data));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, convert(plain, nullptr, plain, data));
  for (lk_layout layout : {lk_layout{5}, lk_layout{4000}, LK_LAYOUT_ANY}) {
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                     convert(plain, data, desc_of(LK_F32, {2, 3, 4}, layout), data));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("layout"));
    uint64_t bytes = 0;
    const lk_tensor_desc desc = desc_of(LK_F32, {2, 3, 4}, layout);
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->tensor_bytes(&desc, &bytes, LK_ERR));
  }
  uint64_t bytes = 0;
  const lk_tensor_desc flat = desc_of(LK_F32, {3, 4}, LK_LAYOUT_CHANNELS_LAST);
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->tensor_bytes(&flat, &bytes, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("at least 3"));
  const lk_tensor_desc huge = desc_of(LK_F32, {INT64_MAX, 2});
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->tensor_bytes(&huge, &bytes, LK_ERR));
  const lk_tensor_desc none = desc_of(LK_F32, {0, 3, 4});
  LK_EXPECT_OK(
      convert(none, nullptr, desc_of(LK_F32, {0, 3, 4}, LK_LAYOUT_CHANNELS_LAST), nullptr));
}

} // namespace
