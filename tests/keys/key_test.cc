// Keys as bytes: what is in them, what makes them equal, and how they are built and read.
#include <xxhash.h>

#include "tests/keys/random_key.h"

namespace {

using lk::OwnedKey;

lk_tensor_desc shape(std::vector<int64_t> dims, uint32_t dtype = LK_F32) {
  return lk_tensor_desc_make(dtype, static_cast<uint32_t>(dims.size()), dims.data());
}

struct Builder {
  explicit Builder(const lk_key_head &head = {}) {
    memset(builder.inline_bytes, 0xa5, sizeof builder.inline_bytes); // never to be seen
    lk_key_begin(&builder, lk_allocator_default(), &head);
  }
  Builder &tensor(const lk_tensor_desc &desc, uint32_t index = 0, uint32_t role = LK_WORD_SRC) {
    lk_key_add_tensor(&builder, role, index, &desc);
    return *this;
  }
  Builder &attr(uint32_t name, std::vector<int64_t> values) {
    lk_key_add_attr(&builder, name, values.data(), static_cast<uint32_t>(values.size()));
    return *this;
  }
  Builder &post_op(uint32_t kind) {
    const lk_key_post_op op = {kind, -1, 0, 0};
    lk_key_add_post_op(&builder, &op);
    return *this;
  }
  OwnedKey finish() { return lk::finish(&builder); }
  lk_key_builder builder;
};

void expect_different(const OwnedKey &a, const OwnedKey &b) {
  EXPECT_FALSE(lk_key_equal(a, b));
  EXPECT_NE(lk::key_bytes(a), lk::key_bytes(b));
  EXPECT_NE(a->hash, b->hash);
}

// Collisions that other libraries had: FACTS.md, "What others got wrong".
TEST(Key, DimensionsDoNotRunTogether) {
  expect_different(Builder().tensor(shape({1, 3, 11, 224})).finish(),
                   Builder().tensor(shape({1, 3, 112, 24})).finish());
}

TEST(Key, TensorsDoNotRunTogether) {
  expect_different(Builder().tensor(shape({1, 2})).tensor(shape({3}), 1).finish(),
                   Builder().tensor(shape({1})).tensor(shape({2, 3}), 1).finish());
  expect_different(Builder().tensor(shape({1, 2})).tensor(shape({3})).finish(),
                   Builder().tensor(shape({1})).tensor(shape({2, 3})).finish());
  expect_different(Builder().tensor(shape({})).finish(), Builder().tensor(shape({1})).finish());
  expect_different(Builder().finish(), Builder().tensor(shape({})).finish());
}

TEST(Key, AttributesDoNotRunTogether) {
  expect_different(Builder().attr(LK_WORD_STRIDES, {1, 2}).attr(LK_WORD_STRIDES, {3}).finish(),
                   Builder().attr(LK_WORD_STRIDES, {1}).attr(LK_WORD_STRIDES, {2, 3}).finish());
}

TEST(Key, BatchAxisActivationAndLayoutCount) {
  expect_different(Builder().tensor(shape({8, 4, 16})).finish(),
                   Builder().tensor(shape({2, 4, 16})).finish());
  expect_different(Builder().attr(LK_WORD_STRIDES, {1}).finish(),
                   Builder().attr(LK_WORD_STRIDES, {2}).finish());
  expect_different(Builder().post_op(LK_POST_RELU).finish(),
                   Builder().post_op(LK_POST_SIGMOID).finish());
  lk_tensor_desc nhwc = shape({1, 8, 8, 8});
  nhwc.layout = LK_LAYOUT_CHANNELS_LAST;
  expect_different(Builder().tensor(shape({1, 8, 8, 8})).finish(), Builder().tensor(nhwc).finish());
  expect_different(Builder().tensor(shape({4}, LK_F32)).finish(),
                   Builder().tensor(shape({4}, LK_I32)).finish());
}

TEST(Key, EqualHashIsNotEqualKey) {
  OwnedKey a = Builder().tensor(shape({1})).finish();
  OwnedKey b = Builder().tensor(shape({2})).finish();
  b->hash = a->hash;
  EXPECT_FALSE(lk_key_equal(a, b));
}

TEST(Key, HashIsOfTheFixedPartAndOfTheRestSeededWithIt) {
  Builder builder;
  builder.attr(LK_WORD_STRIDES, {1, 1});
  lk_key_seal(&builder.builder);
  builder.tensor(shape({1, 3, 48, 320}));
  OwnedKey key = builder.finish();
  const uint32_t fixed = lk_key_get_head(key)->fixed;
  ASSERT_EQ(fixed, 8u + sizeof(lk_key_head) + 8 + 8 + 16);
  const uint64_t seed = XXH3_64bits(key->bytes, fixed);
  EXPECT_EQ(key->hash, XXH3_64bits_withSeed(key->bytes + fixed, key->size - fixed, seed));

  OwnedKey all_fixed = Builder().attr(LK_WORD_STRIDES, {1, 1}).finish();
  EXPECT_EQ(lk_key_get_head(all_fixed)->fixed, all_fixed->size);
  EXPECT_EQ(all_fixed->hash, XXH3_64bits(all_fixed->bytes, all_fixed->size));
}

TEST(Key, FromAFixedPartIsTheSameKey) {
  lk_key_head head = {};
  head.op = LK_WORD_VALUE;
  head.generation = 7;
  OwnedKey fixed = Builder(head).attr(LK_WORD_PADS_BEGIN, {1, 1}).post_op(LK_POST_RELU).finish();

  Builder whole(head);
  whole.attr(LK_WORD_PADS_BEGIN, {1, 1}).post_op(LK_POST_RELU);
  lk_key_seal(&whole.builder);
  OwnedKey expected = whole.tensor(shape({1, 3, 48, 320})).finish();

  Builder from;
  lk_key_begin_from(&from.builder, lk_allocator_default(), fixed);
  OwnedKey key = from.tensor(shape({1, 3, 48, 320})).finish();
  EXPECT_TRUE(lk_key_equal(key, expected));
  EXPECT_EQ(key->hash, expected->hash);

  // Without a call it is the fixed key again; from a key with a call, all of that becomes fixed.
  lk_key_begin_from(&from.builder, lk_allocator_default(), fixed);
  EXPECT_TRUE(lk_key_equal(from.finish(), fixed));
  lk_key_begin_from(&from.builder, lk_allocator_default(), expected);
  OwnedKey longer = from.finish();
  EXPECT_EQ(lk_key_get_head(longer)->fixed, expected->size);
  EXPECT_EQ(longer->hash, XXH3_64bits(longer->bytes, longer->size));
}

// A copy knows the hash of its fixed part, and a key that was never copied does not.
TEST(Key, LikeAKeyIsTheSameFixedPartWithAnotherCall) {
  lk_key_head head = {};
  head.op = LK_WORD_VALUE;
  Builder builder(head);
  builder.attr(LK_WORD_PADS_BEGIN, {1, 1});
  lk_key_seal(&builder.builder);
  builder.tensor(shape({1, 3, 48, 320}));
  lk_key borrowed;
  LK_ASSERT_OK(lk_key_finish(&builder.builder, &borrowed, LK_ERR));
  OwnedKey copy;
  LK_ASSERT_OK(lk_key_copy(lk_allocator_default(), &borrowed, copy.out(), LK_ERR));
  EXPECT_EQ(copy->fixed_hash, XXH3_64bits(copy->bytes, lk_key_get_head(copy)->fixed));
  const lk_key *const likes[] = {&borrowed, copy};
  for (const lk_key *like : likes) {
    Builder from;
    lk_key_begin_like(&from.builder, lk_allocator_default(), like);
    OwnedKey same = from.tensor(shape({1, 3, 48, 320})).finish();
    EXPECT_TRUE(lk_key_equal(same, copy));
    lk_key_begin_like(&from.builder, lk_allocator_default(), like);
    OwnedKey other = from.tensor(shape({1, 3, 48, 321})).finish();
    EXPECT_FALSE(lk_key_equal(other, copy));
    EXPECT_EQ(lk_key_get_head(other)->fixed, lk_key_get_head(copy)->fixed);
  }
}

TEST(Key, WhatIsFixedIsPartOfTheKey) {
  Builder a, b;
  lk_key_seal(&a.builder);
  a.attr(LK_WORD_STRIDES, {1});
  b.attr(LK_WORD_STRIDES, {1});
  expect_different(a.finish(), b.finish());
}

TEST(Key, NoByteIsLeftFromTheBuilder) {
  std::vector<uint8_t> data = {1, 2, 3};
  lk_tensor value = {shape({3}, LK_U8), data.data()};
  std::string bytes[2];
  for (int i = 0; i < 2; i++) {
    lk_key_builder builder;
    memset(&builder, i == 0 ? 0x55 : 0xaa, sizeof builder);
    const lk_key_head head = {};
    const lk_key_call call = {-1, 0, 0};
    const lk_tensor_desc desc = shape({5});
    lk_key_begin(&builder, lk_allocator_default(), &head);
    lk_key_add_value(&builder, LK_WORD_INPUT, 0, &value);
    lk_key_add_call(&builder, &call);
    lk_key_add_tensor(&builder, LK_WORD_SRC, 0, &desc);
    lk_key_add_content(&builder, LK_WORD_BIAS, 2, 9);
    bytes[i] = lk::key_bytes(lk::finish(&builder));
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

// What is not an integer ends anywhere within eight bytes: nothing of the builder is behind it.
TEST(Key, NoByteIsLeftBehindAttributes) {
  const uint8_t bytes[17] = {1, 2, 3};
  const float floats[3] = {1, 2, 3};
  for (uint32_t count = 0; count < 17; count++) {
    std::string made[2];
    for (int i = 0; i < 2; i++) {
      lk_key_builder builder;
      memset(&builder, i == 0 ? 0x55 : 0xaa, sizeof builder);
      const lk_key_head head = {};
      lk_key_begin(&builder, lk_allocator_default(), &head);
      lk_key_add_bytes(&builder, LK_WORD_INPUT, bytes, count);
      lk_key_add_text(&builder, LK_WORD_INPUT, "0123456789abcdefg", count);
      lk_key_add_floats(&builder, LK_WORD_INPUT, floats, count % 4);
      made[i] = lk::key_bytes(lk::finish(&builder));
    }
    EXPECT_EQ(made[0], made[1]) << count;
  }
}

TEST(Key, AttributesOfOneLengthDifferByType) {
  const float one = 1;
  Builder bytes, text, floats;
  lk_key_add_bytes(&bytes.builder, LK_WORD_INPUT, &one, sizeof one);
  lk_key_add_text(&text.builder, LK_WORD_INPUT, reinterpret_cast<const char *>(&one), sizeof one);
  lk_key_add_floats(&floats.builder, LK_WORD_INPUT, &one, 1);
  OwnedKey of_bytes = bytes.finish(), of_text = text.finish(), of_floats = floats.finish();
  expect_different(of_bytes, of_text);
  expect_different(of_bytes, of_floats);
  expect_different(of_text, of_floats);
}

TEST(Key, NamesAThreadWhereACallDoes) {
  const auto with = [](uint64_t thread_generation) {
    Builder builder;
    const lk_key_call call = {-1, 5, thread_generation};
    builder.attr(LK_WORD_STRIDES, {1});
    lk_key_add_call(&builder.builder, &call);
    builder.tensor(shape({1}));
    return builder.finish();
  };
  EXPECT_FALSE(lk_key_is_of_thread(Builder().finish()));
  EXPECT_FALSE(lk_key_is_of_thread(with(0)));
  EXPECT_TRUE(lk_key_is_of_thread(with(1)));
}

TEST(Key, ValuesCountByTypeShapeAndBytes) {
  int64_t dims[] = {1, 64, 0};
  auto with = [&](std::vector<int64_t> of, uint32_t dtype, void *data) {
    Builder builder;
    lk_tensor value = {shape(std::move(of), dtype), data};
    lk_key_add_value(&builder.builder, LK_WORD_INPUT, 1, &value);
    return builder.finish();
  };
  OwnedKey two = with({2}, LK_I64, dims);
  EXPECT_TRUE(lk_key_equal(two, with({2}, LK_I64, dims)));
  expect_different(two, with({3}, LK_I64, dims));
  expect_different(two, with({2, 1}, LK_I64, dims));
  expect_different(two, with({2}, LK_U64, dims));
  dims[1] = 65;
  expect_different(two, with({2}, LK_I64, dims));
  expect_different(with({0}, LK_I64, nullptr), with({0, 3}, LK_I64, nullptr));
}

TEST(Key, IsReadInOrder) {
  Builder builder;
  lk_tensor_desc src = shape({1, 3, 48, 320});
  src.layout = 5;
  lk_key_add_tensor(&builder.builder, LK_WORD_SRC, 0, &src);
  lk_key_add_tensor(&builder.builder, LK_WORD_SRC, 77, &src);
  builder.attr(LK_WORD_STRIDES, {2, 3}).attr(LK_WORD_PADS_END, {}).post_op(LK_POST_ADD);
  OwnedKey key = builder.finish();

  std::vector<uint32_t> types;
  lk_key_reader reader = lk_key_read(key);
  for (uint32_t n = 0; lk_key_next(&reader); n++) {
    types.push_back(reader.type);
    const auto *payload = static_cast<const int64_t *>(reader.payload);
    if (n == 1) {
      const auto *tensor = static_cast<const lk_key_tensor *>(reader.record);
      EXPECT_EQ(tensor->index, 77u);
      EXPECT_EQ(tensor->layout, 5u);
      EXPECT_EQ(std::vector<int64_t>(payload, payload + tensor->rank),
                (std::vector<int64_t>{1, 3, 48, 320}));
    } else if (n == 2) {
      const auto *strides = static_cast<const lk_key_attr_record *>(reader.record);
      EXPECT_EQ(std::vector<int64_t>(payload, payload + strides->count),
                (std::vector<int64_t>{2, 3}));
    }
  }
  EXPECT_EQ(types, (std::vector<uint32_t>{LK_RECORD_TENSOR, LK_RECORD_TENSOR, LK_RECORD_ATTR,
                                          LK_RECORD_ATTR, LK_RECORD_POST_OP}));
}

TEST(Key, OutgrowsTheStack) {
  Builder builder;
  for (int64_t i = 0; i < 200; i++) builder.tensor(shape({i, 2, 3}), static_cast<uint32_t>(i));
  lk_key_seal(&builder.builder);
  builder.attr(LK_WORD_STRIDES, std::vector<int64_t>(5000, 4));
  OwnedKey key = builder.finish();
  ASSERT_GT(key->size, LK_KEY_INLINE_BYTES * 40u);
  lk_key_reader reader = lk_key_read(key);
  for (int64_t i = 0; i < 200; i++) {
    ASSERT_TRUE(lk_key_next(&reader));
    EXPECT_EQ(*static_cast<const int64_t *>(reader.payload), i);
  }

  Builder from;
  lk_key_begin_from(&from.builder, lk_allocator_default(), key);
  EXPECT_EQ(from.builder.size, key->size);
  from.attr(LK_WORD_STRIDES, {1});
  OwnedKey longer = from.finish();
  EXPECT_EQ(longer->size, key->size + 24);
}

TEST(Key, TellsOfEachFailedAllocation) {
  OwnedKey fixed = Builder().attr(LK_WORD_STRIDES, std::vector<int64_t>(300, 1)).finish();
  lk::fail_every_allocation([&](lk::FailingAllocator &allocator) {
    lk_key_builder builder;
    lk_key key;
    lk_key *copy = nullptr;
    lk_key_begin_from(&builder, allocator.get(), fixed);
    for (uint32_t i = 0; i < 100; i++) {
      const lk_tensor_desc desc = shape({i, 1});
      lk_key_add_tensor(&builder, LK_WORD_SRC, i, &desc);
    }
    lk_status status = lk_key_finish(&builder, &key, LK_ERR);
    if (status == LK_OK) status = lk_key_copy(allocator.get(), &key, &copy, LK_ERR);
    lk_key_builder_destroy(&builder);
    lk_free(allocator.get(), copy);
    return status;
  });
}

// What a builder takes in advance does not count: the second value finds room that a key may not
// have.
TEST(Key, IsNeverLongerThanItMayBe) {
  std::vector<uint8_t> data(600 * 1024, 7);
  const lk_tensor first = {shape({600 * 1024}, LK_U8), data.data()};
  const lk_tensor second = {shape({500 * 1024}, LK_U8), data.data()};
  lk_key key;
  Builder both;
  lk_key_add_value(&both.builder, LK_WORD_INPUT, 0, &first);
  both.attr(LK_WORD_STRIDES, {1});
  lk_key_add_value(&both.builder, LK_WORD_INPUT, 1, &second);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, lk_key_finish(&both.builder, &key, LK_ERR));
  lk_key_builder_destroy(&both.builder);

  Builder full; // to the last byte
  const size_t room = LK_KEY_MAX_BYTES - LK_KEY_HEAD_BYTES - 8 - sizeof(lk_key_attr_record);
  full.attr(LK_WORD_STRIDES, std::vector<int64_t>(room / 8));
  LK_ASSERT_OK(lk_key_finish(&full.builder, &key, LK_ERR));
  EXPECT_EQ(key.size, LK_KEY_MAX_BYTES);
  full.attr(LK_WORD_STRIDES, {});
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, lk_key_finish(&full.builder, &key, LK_ERR));
  lk_key_builder_destroy(&full.builder);
}

TEST(Key, RefusesWhatDoesNotFit) {
  lk_key key;
  Builder rank;
  lk_tensor_desc desc = shape({1});
  desc.rank = 9;
  rank.tensor(desc);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, lk_key_finish(&rank.builder, &key, LK_ERR));

  Builder attr;
  std::vector<int64_t> values(LK_KEY_MAX_BYTES / 8);
  attr.attr(LK_WORD_STRIDES, values);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, lk_key_finish(&attr.builder, &key, LK_ERR));
  lk_key_builder_destroy(&attr.builder);

  Builder value;
  lk_tensor huge = {shape({INT64_MAX}, LK_U8), nullptr};
  lk_key_add_value(&value.builder, LK_WORD_INPUT, 0, &huge);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, lk_key_finish(&value.builder, &key, LK_ERR));
  Builder layout;
  int32_t number = 1;
  lk_tensor blocked = {shape({1}, LK_I32), &number};
  blocked.desc.layout = 17;
  lk_key_add_value(&layout.builder, LK_WORD_INPUT, 0, &blocked);
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_key_finish(&layout.builder, &key, LK_ERR));
  Builder type;
  lk_tensor unknown = {shape({1}, 77), &number};
  lk_key_add_value(&type.builder, LK_WORD_INPUT, 0, &unknown);
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_key_finish(&type.builder, &key, LK_ERR));
  EXPECT_EQ(key.bytes, nullptr);
}

} // namespace
