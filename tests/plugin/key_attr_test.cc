// Attributes of a host's keys: integers, floats, bytes and strings, as they are told apart, printed
// and read back.
#include <cmath>
#include <limits>

#include "tests/plugin/named_values.h"

namespace {

using namespace lk;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class KeyAttr : public ::testing::Test {
protected:
  lk_key *key_of(const std::vector<lk_key_attr> &attrs) {
    lk_key_desc desc{};
    desc.struct_size = sizeof desc;
    desc.name = "a";
    desc.n_attrs = static_cast<uint32_t>(attrs.size());
    desc.attrs = attrs.data();
    lk_key *key = nullptr;
    LK_EXPECT_OK(api()->key_create(context, nullptr, &desc, &key, LK_ERR));
    return key;
  }
  std::string text_of(const lk_key *key) {
    size_t length = 0;
    LK_EXPECT_OK(api()->key_print(context, key, nullptr, 0, &length, LK_ERR));
    std::string text(length + 1, '?');
    LK_EXPECT_OK(api()->key_print(context, key, text.data(), text.size(), nullptr, LK_ERR));
    text.resize(length);
    return text;
  }
  std::string text_of(const std::vector<lk_key_attr> &attrs) {
    lk_key *key = key_of(attrs);
    std::string text = key != nullptr ? text_of(key) : "";
    api()->key_destroy(context, key);
    return text;
  }
  std::string floats(std::vector<float> values) {
    return text_of({{"x", values.data(), uint32_t(values.size()), LK_KEY_ATTR_FLOATS}});
  }
  std::string string(const std::string &value) {
    return text_of({{"x", value.data(), uint32_t(value.size()), LK_KEY_ATTR_STRING}});
  }

  Context context = lk::open(LK_CACHE_SHARED);
};

TEST_F(KeyAttr, IsPrintedAsWhatItIs) {
  const int64_t ints[] = {1, -2};
  const float numbers[] = {0.5F, 1e-5F};
  const uint8_t bytes[] = {0, 0xff};
  const std::string text = "gelu;tanh";
  EXPECT_THAT(text_of({{"axes", ints, 2, LK_KEY_ATTR_INTS},
                       {"alpha", numbers, 2, LK_KEY_ATTR_FLOATS},
                       {"blob", bytes, 2, LK_KEY_ATTR_BYTES},
                       {"act", text.data(), uint32_t(text.size()), LK_KEY_ATTR_STRING},
                       {"none", nullptr, 0, LK_KEY_ATTR_FLOATS},
                       {"none", nullptr, 0, LK_KEY_ATTR_BYTES},
                       {"none", nullptr, 0, LK_KEY_ATTR_STRING}}),
              EndsWith(";attr.axes=[1,-2];floats.alpha=[0.5,0.00001];bytes.blob=00ff;"
                       "text.act=gelu%3Btanh;floats.none=[];bytes.none=;text.none="));
}

// Every one of them finds its own value, and no other's, by key and by text.
TEST_F(KeyAttr, TellsKeysApart) {
  const int64_t one = 1, bits = 0x3f800000;
  const float numbers[] = {1, 0, -0.F, INFINITY, NAN};
  const char letters[] = "1\0002";
  const std::vector<lk_key_attr> all = {
      {"x", &one, 1, LK_KEY_ATTR_INTS},          {"x", &bits, 1, LK_KEY_ATTR_INTS},
      {"x", nullptr, 0, LK_KEY_ATTR_INTS},       {"x", numbers, 1, LK_KEY_ATTR_FLOATS},
      {"y", numbers, 1, LK_KEY_ATTR_FLOATS},     {"x", numbers, 2, LK_KEY_ATTR_FLOATS},
      {"x", numbers + 1, 1, LK_KEY_ATTR_FLOATS}, {"x", numbers + 2, 1, LK_KEY_ATTR_FLOATS},
      {"x", numbers + 3, 1, LK_KEY_ATTR_FLOATS}, {"x", numbers + 4, 1, LK_KEY_ATTR_FLOATS},
      {"x", numbers, 4, LK_KEY_ATTR_BYTES},      {"x", numbers, 3, LK_KEY_ATTR_BYTES},
      {"x", numbers, 4, LK_KEY_ATTR_STRING},     {"x", letters, 1, LK_KEY_ATTR_STRING},
      {"x", letters, 2, LK_KEY_ATTR_STRING},     {"x", letters, 3, LK_KEY_ATTR_STRING},
      {"x", nullptr, 0, LK_KEY_ATTR_STRING},     {"x", nullptr, 0, LK_KEY_ATTR_BYTES},
      {nullptr, &one, 1, LK_KEY_ATTR_INTS}};
  std::atomic<int> built{0}, ended{0};
  NumberBuild build{&built, {}, &ended};
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < all.size(); i++) {
      lk_key *key = key_of({all[i]});
      Ref ref, again;
      int hit = -1;
      LK_ASSERT_OK(api()->get_or_create(context, nullptr, key, NumberBuild::run, &build, ref.out(),
                                        &hit, LK_ERR));
      EXPECT_EQ(hit, round) << i;
      EXPECT_EQ(number_of(ref), static_cast<int>(i) + 1);
      LK_ASSERT_OK(api()->get_or_create_text(context, nullptr, text_of(key).c_str(),
                                             NumberBuild::run, &build, again.out(), &hit, LK_ERR));
      EXPECT_EQ(hit, 1) << text_of(key);
      EXPECT_EQ(number_of(again), static_cast<int>(i) + 1);
      api()->key_destroy(context, key);
    }
  }
  LK_ASSERT_OK(api()->cache_clear(context, nullptr, LK_ERR));
  EXPECT_EQ(ended, built);
}

TEST_F(KeyAttr, NaNsAreOneAndZerosAreTwo) {
  float other = 0;
  const uint32_t bits = 0xff800123;
  std::memcpy(&other, &bits, sizeof other);
  ASSERT_TRUE(std::isnan(other));
  EXPECT_EQ(floats({1, other}), floats({1, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_THAT(floats({other}), EndsWith("floats.x=[0x7fc00000]"));
  EXPECT_NE(floats({0.F}), floats({-0.F}));
}

TEST_F(KeyAttr, StringsMayHaveEveryByte) {
  std::string all;
  for (int c = 0; c < 256; c++) all += static_cast<char>(c);
  const std::string text = string(all);
  lk_key *key = nullptr;
  LK_ASSERT_OK(api()->key_parse(context, text.c_str(), &key, LK_ERR));
  EXPECT_EQ(text_of(key), text);
  api()->key_destroy(context, key);
  EXPECT_NE(string(std::string("a\0b", 3)), string("a"));
  EXPECT_EQ(string("a"), string(std::string("a")));
}

// What is given is copied, whatever comes of it.
TEST_F(KeyAttr, IsCopied) {
  std::vector<float> numbers = {1, 2};
  std::string name = "x";
  lk_key *key = key_of({{name.c_str(), numbers.data(), 2, LK_KEY_ATTR_FLOATS}});
  numbers.assign({3, 4});
  name = "y";
  EXPECT_THAT(text_of(key), EndsWith("floats.x=[1,2]"));
  api()->key_destroy(context, key);
}

TEST_F(KeyAttr, RefusesWhatItDoesNotKnow) {
  const float one = 1;
  const std::vector<std::pair<lk_key_attr, const char *>> wrong = {
      {{"x", &one, 1, 4},
       "failed to make a key: attribute 0 'x' is of type 4, give one of LK_KEY_ATTR_INTS (0) to "
       "LK_KEY_ATTR_STRING (3)"},
      {{nullptr, &one, 1, UINT32_MAX}, "attribute 0 '' is of type 4294967295"},
      {{"x", nullptr, 2, LK_KEY_ATTR_FLOATS},
       "attribute 0 has 2 elements and its data is NULL, give both"},
      {{"x", nullptr, 2, LK_KEY_ATTR_BYTES}, "attribute 0 has 2 elements"},
      {{"x", nullptr, 2, LK_KEY_ATTR_STRING}, "attribute 0 has 2 elements"}};
  for (const auto &[attr, sentence] : wrong) {
    lk_key_desc desc{};
    desc.struct_size = sizeof desc;
    desc.name = "a";
    desc.n_attrs = 1;
    desc.attrs = &attr;
    lk_key *key = nullptr;
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, api()->key_create(context, nullptr, &desc, &key, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(sentence));
    EXPECT_EQ(key, nullptr);
  }
  const std::vector<uint8_t> many((1 << 20) + 1);
  for (const uint32_t type : {LK_KEY_ATTR_BYTES, LK_KEY_ATTR_STRING}) {
    const lk_key_attr attr = {"x", many.data(), uint32_t(many.size()), type};
    lk_key_desc desc{};
    desc.struct_size = sizeof desc;
    desc.name = "a";
    desc.n_attrs = 1;
    desc.attrs = &attr;
    lk_key *key = nullptr;
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE, api()->key_create(context, nullptr, &desc, &key, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("longer than the 1048576 bytes"));
  }
}

} // namespace
