// Names are counted by their users and go with the last one: what many hosts' keys take, and that
// no key ever finds what another name's is, whatever comes and goes.
#include <map>
#include <memory>
#include <random>

#include "tests/plugin/named_values.h"

namespace {

using lk::api;
using lk::Context;
using lk::NamedKey;
using lk::Ref;

class Names : public lk::NamedValues {
protected:
  uint64_t held() { return lk::stats(context).memory_bytes; }
};

lk_status find_text(lk_context *context, const std::string &text, std::atomic<int> *built,
                    int *out_hit) {
  lk::NumberBuild build{built, {}, nullptr};
  Ref ref;
  return api()->get_or_create_text(context, nullptr, text.c_str(), lk::NumberBuild::run, &build,
                                   ref.out(), out_hit, LK_ERR);
}

TEST_P(Names, OfTagsTakeNoMemoryWhenTheyAreGone) {
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 100, LK_UNSET, LK_ERR));
  uint64_t at_first = 0;
  for (int i = 0; i < lk::repeats(50000); i++) {
    const std::string tag = "tag " + std::to_string(i);
    lk_key_desc desc{};
    desc.struct_size = sizeof desc;
    desc.name = "the same";
    desc.tag = tag.c_str();
    lk_key *key = nullptr;
    LK_ASSERT_OK(api()->key_create(context, nullptr, &desc, &key, LK_ERR));
    lk::NumberBuild build{&built, {}, &ended};
    Ref ref;
    int hit = 1;
    LK_ASSERT_OK(api()->get_or_create(context, nullptr, key, lk::NumberBuild::run, &build,
                                      ref.out(), &hit, LK_ERR));
    ASSERT_EQ(hit, 0) << tag;
    api()->key_destroy(context, key);
    if (i == 3000) at_first = held();
  }
  EXPECT_LE(held(), at_first + 1000); // texts grow by a digit or two
}

TEST_P(Names, OfTextsAndOfRefusedOnesGoToo) {
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 100, LK_UNSET, LK_ERR));
  uint64_t at_first = 0;
  for (int i = 0; i < lk::repeats(20000); i++) {
    const std::string number = std::to_string(100000 + i);
    lk_key *key = nullptr;
    int hit = 1;
    LK_ASSERT_OK(
        find_text(context, "user:out=" + number + ";attr.a" + number + "=[1]", &built, &hit));
    ASSERT_EQ(hit, 0);
    LK_EXPECT_STATUS(LK_MALFORMED,
                     api()->key_parse(context,
                                      ("user:out=x" + number + ";attr.y" + number + "=[").c_str(),
                                      &key, LK_ERR));
    if (i == 1000) at_first = held();
  }
  EXPECT_LE(held(), at_first + 1000);
}

std::string text_of(lk_context *context, const lk_key *key) {
  char text[512] = "";
  EXPECT_EQ(api()->key_print(context, key, text, sizeof text, nullptr, nullptr), LK_OK);
  return text;
}

// A key, and what it is of: its value is that text.
struct Owned {
  Owned(lk_context *context, std::string name, std::string tag, std::string attr)
      : context(context), is(name + "|" + tag + "|" + attr) {
    const int64_t one = 1;
    const lk_key_attr attrs[] = {{attr.c_str(), &one, 1, 0}};
    lk_key_desc desc{};
    desc.struct_size = sizeof desc;
    desc.name = name.c_str();
    desc.tag = tag.c_str();
    desc.attrs = attrs;
    desc.n_attrs = 1;
    LK_EXPECT_OK(api()->key_create(context, nullptr, &desc, &key, LK_ERR));
    text = "out=" + name + ";in_place=" + tag;
    if (key == nullptr) return;
    EXPECT_THAT(text_of(context, key), ::testing::HasSubstr(text));
  }
  ~Owned() { api()->key_destroy(context, key); }
  void get(int *out_hit = nullptr) const {
    lk_ref *ref = nullptr;
    LK_ASSERT_OK(api()->get_or_create(
        context, nullptr, key,
        [](void *of, const lk_key *, lk_built *out, lk_error *) {
          *out = {new std::string(*static_cast<std::string *>(of)), 100,
                  [](void *value, void *) { delete static_cast<std::string *>(value); }, nullptr};
          return LK_OK;
        },
        const_cast<std::string *>(&is), &ref, out_hit, LK_ERR));
    EXPECT_EQ(*static_cast<std::string *>(api()->ref_value(ref)), is);
    api()->ref_release(ref);
  }
  lk_context *context;
  std::string is, text;
  lk_key *key = nullptr;
};

// Keys come and go, their values longer or shorter than they; names are few enough to come again,
// and many enough to be given numbers of others.
void live(lk_context *context, unsigned seed, int steps) {
  std::mt19937 random(seed);
  std::vector<std::unique_ptr<Owned>> keys;
  const auto word = [&](const char *kind) { return kind + std::to_string(random() % 60); };
  for (int step = 0; step < steps && !::testing::Test::HasFailure(); step++) {
    const unsigned dice = random() % 100;
    if (dice < 30 || keys.empty()) {
      keys.push_back(std::make_unique<Owned>(context, word("n"), word("t"), word("a")));
    } else if (dice < 50) {
      std::swap(keys[random() % keys.size()], keys.back());
      keys.pop_back();
    } else if (dice < 90) {
      keys[random() % keys.size()]->get();
    } else if (dice < 95) {
      LK_EXPECT_OK(
          api()->cache_drop(context, nullptr, keys[random() % keys.size()]->key, nullptr, LK_ERR));
    } else if (dice < 96) {
      LK_EXPECT_OK(api()->cache_clear(context, nullptr, LK_ERR));
    } else if (dice < 98) {
      LK_EXPECT_OK(api()->cache_visit(
          context,
          [](void *of, const lk_entry_info *info) {
            EXPECT_THAT(text_of(static_cast<lk_context *>(of), info->key),
                        ::testing::MatchesRegex("user:.*out=n[0-9]+;in_place=t[0-9]+;.*attr.a.*"));
          },
          context, LK_ERR));
    } else {
      const Owned &one = *keys[random() % keys.size()];
      EXPECT_THAT(text_of(context, one.key), ::testing::HasSubstr(one.text));
    }
  }
}

TEST_P(Names, NeverMeanAnotherOneInAnyHistory) {
  for (unsigned seed = 0; seed < unsigned(lk::repeats(40)); seed++) {
    SCOPED_TRACE(seed);
    Context own = lk::open(GetParam());
    LK_ASSERT_OK(api()->cache_set_capacity(own, nullptr, 5 + seed * 5, LK_UNSET, LK_ERR));
    live(own, seed, 2000);
  }
}

TEST_P(Names, NeverMeanAnotherOneOnManyThreads) {
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 50, LK_UNSET, LK_ERR));
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; seed++) {
    threads.emplace_back([this, seed] { live(context, 1000 + seed, 5000); });
  }
  for (std::thread &thread : threads) thread.join();
}

// An executor's nodes, with names of their own each time, and those that are refused at the end.
TEST_P(Names, OfNodesGoWithTheirOps) {
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 100, LK_UNSET, LK_ERR));
  uint64_t at_first = 0;
  for (int i = 0; i < lk::repeats(5000); i++) {
    const std::string number = std::to_string(100000 + i);
    lk::Executor executor = lk::executor_in(context);
    lk::Op op, refused;
    lk::Plan plan;
    lk_tensor_desc desc = {LK_F32, 2, LK_LAYOUT_PLAIN, 0, {1, 2}};
    lk::TestNode node;
    node.op = "Relu";
    node.name = "y" + number;
    node.scope = "scope" + number;
    LK_ASSERT_OK(node.create(executor, &op, LK_ERR));
    LK_ASSERT_OK(lk::bind(op, {desc}, &plan, LK_ERR));
    node.ints = {{"axis" + number, {1}}};
    node.name = std::string(100, 'z') + number;
    if (node.create(executor, &refused, nullptr) == LK_OK) refused.reset();
    if (i == 300) at_first = held();
  }
  EXPECT_LE(held(), at_first + 2000);
}

INSTANTIATE_TEST_SUITE_P(Modes, Names, ::testing::Values(LK_CACHE_SHARED, LK_CACHE_THREAD),
                         lk::cache_mode_name);

} // namespace
