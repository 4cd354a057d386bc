// Specs as keys: all that they have is in the key, and nothing else.
#include <cstring>
#include <set>

#include "tests/headers/onednn/onednn_host.h"

namespace {

using namespace lk;
using ::testing::HasSubstr;

using Change = std::function<void(lk_dnnl_spec *)>;

class OnednnKey : public OnednnHost {
protected:
  lk_key *key_of(const lk_dnnl_spec &spec) {
    lk_key_desc desc;
    lk_key *key = nullptr;
    LK_EXPECT_OK(lk_dnnl_describe(&cache, &spec, &desc, LK_ERR));
    LK_EXPECT_OK(api()->key_create(context, nullptr, &desc, &key, LK_ERR));
    return key;
  }
  std::string text_of(const lk_dnnl_spec &spec) {
    std::vector<char> text(20000);
    lk_key *key = key_of(spec);
    LK_EXPECT_OK(api()->key_print(context, key, text.data(), text.size(), nullptr, LK_ERR));
    api()->key_destroy(context, key);
    return text.data();
  }
  std::string text_of(const Change &change, dnnl_primitive_kind_t kind = dnnl_matmul,
                      int32_t recipe = 0) {
    lk_dnnl_spec spec;
    lk_dnnl_begin(&cache, &spec, kind, recipe);
    change(&spec);
    return text_of(spec);
  }
  // Why a spec is refused.
  std::string refusal_of(const Change &change, lk_status status) {
    lk_dnnl_spec spec;
    Ref ref;
    lk_dnnl_begin(&cache, &spec, dnnl_matmul, 0);
    change(&spec);
    LK_EXPECT_STATUS(status, lk_dnnl_get(&cache, &spec, make_matmul, ref.out(), nullptr, LK_ERR));
    EXPECT_EQ(counts().failed_builds, 0u) << "it gets as far as the cache";
    return LK_MESSAGE;
  }
};

Change desc(const Desc &of, int arg = DNNL_ARG_SRC) {
  return [&of, arg](lk_dnnl_spec *spec) { lk_dnnl_add_desc(spec, arg, of); };
}
Change tensor(const Dims &dims, dnnl_data_type_t type = dnnl_f32, const Dims &strides = {},
              int arg = DNNL_ARG_SRC) {
  return [=](lk_dnnl_spec *spec) {
    lk_dnnl_add_tensor(spec, arg, type, int(dims.size()), dims.data(),
                       strides.empty() ? nullptr : strides.data());
  };
}

// Each is different from all others in one field.
std::vector<Change> changes() {
  using R = lk_dnnl_spec;
  static const Desc blocked = desc_of({32, 32}, dnnl_f32, dnnl_AB16b16a),
                    other_blocks = desc_of({32, 32}, dnnl_f32, dnnl_BA16a16b),
                    padded = desc_of({31, 32}, dnnl_f32, dnnl_AB16b16a),
                    transposed = desc_of({32, 32}, dnnl_f32, dnnl_ba),
                    swapped = desc_of({32, 32}, dnnl_f32, dnnl_AB16a16b),
                    pairs = desc_of({32, 32}, dnnl_f32, dnnl_AB8b16a2b),
                    fours = desc_of({32, 32}, dnnl_f32, dnnl_AB4b16a4b);
  static const Desc part = [] {
    Desc desc;
    const dnnl_dims_t dims = {16, 16}, offsets = {16, 0};
    EXPECT_EQ(dnnl_memory_desc_create_submemory(desc.out(), blocked, dims, offsets), dnnl_success);
    return desc;
  }();
  static const Desc other_part = [] {
    Desc desc;
    const dnnl_dims_t dims = {16, 16}, offsets = {16, 16};
    EXPECT_EQ(dnnl_memory_desc_create_submemory(desc.out(), blocked, dims, offsets), dnnl_success);
    return desc;
  }();
  const int64_t groups[] = {1, 16}, more_groups[] = {1, 32};
  const Dims dims = {2, 3};
  return {
      [](R *) {},
      // descriptors
      tensor({2, 3}),
      tensor({3, 2}),
      tensor({2, 3, 1}),
      tensor({2, 3}, dnnl_bf16),
      tensor({2, 3}, dnnl_f32, {4, 1}),
      tensor({2, 3}, dnnl_f32, {1, 2}),
      tensor({2, 3}, dnnl_f32, {}, DNNL_ARG_DST),
      [](R *r) {
        const int64_t any[] = {2, 3};
        lk_dnnl_add_any(r, DNNL_ARG_SRC, dnnl_f32, 2, any);
      },
      desc(blocked),
      desc(other_blocks),
      desc(padded),
      desc(transposed),
      desc(swapped),
      desc(pairs),
      desc(fours),
      desc(part),
      desc(other_part),
      // parameters
      [](R *r) { lk_dnnl_add_int(r, "axis", 1); },
      [](R *r) { lk_dnnl_add_int(r, "axis", 2); },
      [](R *r) { lk_dnnl_add_int(r, "group", 1); },
      [](R *r) { lk_dnnl_add_float(r, "epsilon", 0.0F); },
      [](R *r) { lk_dnnl_add_float(r, "epsilon", -0.0F); },
      [](R *r) { lk_dnnl_add_float(r, "epsilon", 1e-5F); },
      // modes
      [](R *r) { lk_dnnl_set_scratchpad(r, dnnl_scratchpad_mode_library); },
      [](R *r) { lk_dnnl_set_fpmath_mode(r, dnnl_fpmath_mode_bf16); },
      [](R *r) { lk_dnnl_set_fpmath_mode(r, dnnl_fpmath_mode_any); },
      [](R *r) { lk_dnnl_set_fpmath_apply_to_int(r, true); },
      [](R *r) { lk_dnnl_set_accumulation(r, dnnl_accumulation_mode_relaxed); },
      [](R *r) { lk_dnnl_set_deterministic(r, true); },
      // scales, zero points, rounding
      [](R *r) { lk_dnnl_add_scales(r, DNNL_ARG_SRC, 0); },
      [](R *r) { lk_dnnl_add_scales(r, DNNL_ARG_WEIGHTS, 0); },
      [](R *r) { lk_dnnl_add_scales(r, DNNL_ARG_WEIGHTS, 2); },
      [=](R *r) { lk_dnnl_add_scales_of(r, DNNL_ARG_WEIGHTS, 2, dnnl_bf16, 0, nullptr); },
      [=](R *r) { lk_dnnl_add_scales_of(r, DNNL_ARG_WEIGHTS, 2, dnnl_f32, 2, groups); },
      [=](R *r) { lk_dnnl_add_scales_of(r, DNNL_ARG_WEIGHTS, 2, dnnl_f32, 2, more_groups); },
      [](R *r) { lk_dnnl_add_zero_points(r, DNNL_ARG_SRC, 0); },
      [](R *r) { lk_dnnl_add_zero_points(r, DNNL_ARG_SRC, 2); },
      [=](R *r) { lk_dnnl_add_zero_points_of(r, DNNL_ARG_SRC, 2, dnnl_s8, 0, nullptr); },
      [](R *r) { lk_dnnl_add_rounding(r, DNNL_ARG_DST, dnnl_rounding_mode_stochastic); },
      // post-ops
      [](R *r) { lk_dnnl_add_post_sum(r, 1, 0, dnnl_f32); },
      [](R *r) { lk_dnnl_add_post_sum(r, 2, 0, dnnl_f32); },
      [](R *r) { lk_dnnl_add_post_sum(r, 1, 3, dnnl_f32); },
      [](R *r) { lk_dnnl_add_post_sum(r, 1, 0, dnnl_s8); },
      [](R *r) { lk_dnnl_add_post_eltwise(r, dnnl_eltwise_clip, 0, 6); },
      [](R *r) { lk_dnnl_add_post_eltwise(r, dnnl_eltwise_clip, -1, 6); },
      [](R *r) { lk_dnnl_add_post_eltwise(r, dnnl_eltwise_clip, 0, 7); },
      [](R *r) { lk_dnnl_add_post_eltwise(r, dnnl_eltwise_linear, 0, 6); },
      [=](R *r) { lk_dnnl_add_post_binary(r, dnnl_binary_add, dnnl_f32, 2, dims.data(), nullptr); },
      [=](R *r) { lk_dnnl_add_post_binary(r, dnnl_binary_mul, dnnl_f32, 2, dims.data(), nullptr); },
      [=](R *r) { lk_dnnl_add_post_binary(r, dnnl_binary_add, dnnl_s8, 2, dims.data(), nullptr); },
      [](R *r) { lk_dnnl_add_post_binary_desc(r, dnnl_binary_add, blocked); },
      [](R *r) { lk_dnnl_add_post_prelu(r, 0); },
      [](R *r) { lk_dnnl_add_post_prelu(r, 2); },
      [](R *r) { lk_dnnl_add_post_depthwise(r, dnnl_f32, dnnl_f32, dnnl_f32, 3, 1, 1); },
      [](R *r) { lk_dnnl_add_post_depthwise(r, dnnl_s8, dnnl_f32, dnnl_f32, 3, 1, 1); },
      [](R *r) { lk_dnnl_add_post_depthwise(r, dnnl_f32, dnnl_s32, dnnl_f32, 3, 1, 1); },
      [](R *r) { lk_dnnl_add_post_depthwise(r, dnnl_f32, dnnl_f32, dnnl_s8, 3, 1, 1); },
      [](R *r) { lk_dnnl_add_post_depthwise(r, dnnl_f32, dnnl_f32, dnnl_f32, 5, 1, 1); },
      [](R *r) { lk_dnnl_add_post_depthwise(r, dnnl_f32, dnnl_f32, dnnl_f32, 3, 2, 1); },
      [](R *r) { lk_dnnl_add_post_depthwise(r, dnnl_f32, dnnl_f32, dnnl_f32, 3, 1, 0); },
      // order
      [](R *r) {
        lk_dnnl_add_post_prelu(r, 0);
        lk_dnnl_add_post_sum(r, 1, 0, dnnl_f32);
      },
      [](R *r) {
        lk_dnnl_add_post_sum(r, 1, 0, dnnl_f32);
        lk_dnnl_add_post_prelu(r, 0);
      },
  };
}

TEST_F(OnednnKey, DiffersInEveryField) {
  std::set<std::string> seen;
  size_t count = 0;
  for (const Change &change : changes()) {
    const std::string text = text_of(change);
    EXPECT_TRUE(seen.insert(text).second) << "change " << count << " is in no key: " << text;
    EXPECT_EQ(text_of(change), text);
    count++;
  }
  EXPECT_TRUE(seen.insert(text_of(changes()[0], dnnl_softmax)).second);
  EXPECT_TRUE(seen.insert(text_of(changes()[0], dnnl_matmul, 1)).second);
  cache.threads = 2;
  EXPECT_TRUE(seen.insert(text_of(changes()[0])).second);
  cache.engine_index = 1;
  EXPECT_TRUE(seen.insert(text_of(changes()[0])).second);
}

TEST_F(OnednnKey, IsReadFromItsText) {
  for (const Change &change : changes()) {
    const std::string text = text_of(change);
    lk_key *key = nullptr;
    std::vector<char> again(20000);
    LK_ASSERT_OK(api()->key_parse(context, text.c_str(), &key, LK_ERR));
    LK_EXPECT_OK(api()->key_print(context, key, again.data(), again.size(), nullptr, LK_ERR));
    EXPECT_EQ(text, again.data());
    api()->key_destroy(context, key);
  }
}

TEST_F(OnednnKey, FindsAndDropsThePrimitive) {
  const Ref built = get_linear(cache, 8, 3);
  lk_dnnl_spec spec;
  ask_linear(cache, &spec, 8, 3);
  lk_key *key = key_of(spec);
  Ref found, by_text, gone;
  uint64_t dropped = 0;
  LK_ASSERT_OK(api()->cache_find(context, nullptr, key, found.out(), LK_ERR));
  EXPECT_EQ(found.get(), built.get());
  const auto never = [](void *, const lk_key *, lk_built *, lk_error *) { return LK_INTERNAL; };
  LK_ASSERT_OK(api()->get_or_create_text(context, nullptr, text_of(spec).c_str(), never, nullptr,
                                         by_text.out(), nullptr, LK_ERR));
  EXPECT_EQ(by_text.get(), built.get());
  LK_ASSERT_OK(api()->cache_drop(context, nullptr, key, &dropped, LK_ERR));
  EXPECT_EQ(dropped, 1u);
  LK_ASSERT_OK(api()->cache_find(context, nullptr, key, gone.out(), LK_ERR));
  EXPECT_EQ(gone.get(), nullptr);
  api()->key_destroy(context, key);
}

TEST_F(OnednnKey, TellsWhatOnednnIs) {
  char text[1000];
  LK_ASSERT_OK(api()->key_print(context, cache.like, text, sizeof text, nullptr, LK_ERR));
  const dnnl_version_t *version = dnnl_version();
  EXPECT_THAT(
      text, HasSubstr(std::to_string(version->major) + "." + std::to_string(version->minor) + "."));
  EXPECT_THAT(text, HasSubstr(" isa%3D"));
  EXPECT_THAT(text, HasSubstr(" hints%3D"));
}

TEST_F(OnednnKey, IsOfContentAndNotOfObjects) {
  const Desc a = desc_of({2, 3}, dnnl_f32, dnnl_ab), b = desc_of({2, 3}, dnnl_f32, dnnl_ab),
             channels_last = desc_of({2, 3, 4, 5}, dnnl_f32, dnnl_acdb),
             one = desc_of({1, 1}, dnnl_f32, dnnl_ab), none = desc_of({2, 0}, dnnl_f32, dnnl_ab);
  EXPECT_EQ(text_of(desc(a)), text_of(desc(b)));
  EXPECT_EQ(text_of(desc(a)), text_of(tensor({2, 3})));
  EXPECT_EQ(text_of(desc(channels_last)), text_of(tensor({2, 3, 4, 5}, dnnl_f32, {60, 1, 15, 3})));
  EXPECT_EQ(text_of(desc(one)), text_of(tensor({1, 1})));
  EXPECT_EQ(text_of(desc(none)), text_of(tensor({2, 0})));
  for (const Dims &dims : {Dims{5}, Dims{1}, Dims{5, 1}}) {
    const Dims strides(dims.size(), 0);
    Desc repeated; // one element, for all indices
    LK_ASSERT_DNNL(dnnl_memory_desc_create_with_strides(repeated.out(), int(dims.size()),
                                                        dims.data(), dnnl_f32, strides.data()));
    EXPECT_EQ(text_of(desc(repeated)), text_of(tensor(dims, dnnl_f32, strides)));
  }
}

TEST_F(OnednnKey, TellsSumsBehindWeightsApart) {
  const Desc plain = desc_of({32, 32, 3, 3}, dnnl_s8, dnnl_cdba);
  Desc src = desc_of({1, 32, 8, 8}, dnnl_s8, dnnl_acdb),
       any = desc_of({32, 32, 3, 3}, dnnl_s8, dnnl_format_tag_any),
       dst = desc_of({1, 32, 6, 6}, dnnl_f32, dnnl_acdb);
  dnnl_primitive_desc_t conv = nullptr;
  const dnnl_dims_t strides = {1, 1}, dilates = {0, 0}, pads = {0, 0};
  LK_ASSERT_DNNL(dnnl_convolution_forward_primitive_desc_create(
      &conv, test_engine(), dnnl_forward_inference, dnnl_convolution_direct, src, any, nullptr, dst,
      strides, dilates, pads, pads, nullptr));
  const_dnnl_memory_desc_t wanted = dnnl_primitive_desc_query_md(conv, dnnl_query_weights_md, 0);
  const std::string with_sums =
      text_of([&](lk_dnnl_spec *r) { lk_dnnl_add_desc(r, DNNL_ARG_SRC, wanted); });
  EXPECT_NE(with_sums, text_of(desc(plain)));
  // The size is behind argument, rank, type and format kind.
  EXPECT_THAT(with_sums,
              HasSubstr("dnnl.desc=[1,4," + std::to_string(dnnl_s8) + "," +
                        std::to_string(dnnl_blocked) + "," +
                        std::to_string(dnnl_memory_desc_get_size(wanted)) + ",32,32,3,3"));
  EXPECT_EQ(dnnl_primitive_desc_destroy(conv), dnnl_success);
}

// The sums of sources of s8, of zero points, and of both: the first two have one size.
TEST_F(OnednnKey, TellsKindsOfSumsBehindWeightsApart) {
  const Ref refs[] = {get_byte_product(cache, dnnl_u8, false, 64, 256, 128),
                      get_byte_product(cache, dnnl_s8, false, 64, 256, 128),
                      get_byte_product(cache, dnnl_u8, true, 64, 256, 128),
                      get_byte_product(cache, dnnl_s8, true, 64, 256, 128)};
  const auto wanted = [&](const Ref &ref) { return lk_dnnl_wanted(&cache, ref, DNNL_ARG_WEIGHTS); };
  const auto text = [&](const Ref &ref) {
    return text_of([&](lk_dnnl_spec *r) { lk_dnnl_add_desc(r, DNNL_ARG_SRC, wanted(ref)); });
  };
  for (const Ref &a : refs) {
    for (const Ref &b : refs) {
      EXPECT_EQ(text(a) == text(b), dnnl_memory_desc_equal(wanted(a), wanted(b)) != 0);
    }
  }
  const Ref fewer_rows = get_byte_product(cache, dnnl_s8, false, 32, 256, 128);
  EXPECT_EQ(text(fewer_rows), text(refs[1])) << "one layout for all sizes";
}

TEST_F(OnednnKey, HasTheBytesOfWhatQueriesDoNotTell) {
  const auto sparse = [](int64_t count) {
    Desc desc;
    const dnnl_dims_t dims = {16, 16};
    EXPECT_EQ(dnnl_memory_desc_create_with_csr_encoding(desc.out(), 2, dims, dnnl_f32, count,
                                                        dnnl_s32, dnnl_s32),
              dnnl_success);
    return desc;
  };
  const Desc four = sparse(4), five = sparse(5);
  Desc copy;
  LK_ASSERT_DNNL(dnnl_memory_desc_clone(copy.out(), four));
  EXPECT_EQ(text_of(desc(four)), text_of(desc(copy)));
  EXPECT_NE(text_of(desc(four)), text_of(desc(five)));
}

// Of s8 weights of an RNN, oneDNN keeps that they are for a source of s8, which takes no bytes: one
// of the last words of a descriptor.
TEST_F(OnednnKey, TellsWhatBlockedWeightsAreForApart) {
  const Desc plain = desc_of({64, 64}, dnnl_s8, dnnl_BA16a64b4a);
  size_t bytes = 0;
  int others = 0;
  LK_ASSERT_DNNL(dnnl_memory_desc_get_blob(nullptr, &bytes, plain));
  std::vector<uint8_t> blob(bytes);
  LK_ASSERT_DNNL(dnnl_memory_desc_get_blob(blob.data(), &bytes, plain));
  for (size_t at = bytes - bytes / 4; at < bytes; at += 8) {
    Desc changed;
    blob[at] ^= 16;
    LK_ASSERT_DNNL(dnnl_memory_desc_create_with_blob(changed.out(), blob.data()));
    blob[at] ^= 16;
    if (dnnl_memory_desc_equal(plain, changed) != 0) continue;
    EXPECT_EQ(dnnl_memory_desc_get_size(plain), dnnl_memory_desc_get_size(changed));
    EXPECT_NE(text_of(desc(plain)), text_of(desc(changed))) << "byte " << at;
    others++;
  }
  EXPECT_GT(others, 0);
}

TEST_F(OnednnKey, ReadsPostOpsOfObjects) {
  PostOps ops;
  const Desc operand = desc_of({1, 8}, dnnl_f32, dnnl_ab);
  LK_ASSERT_DNNL(dnnl_post_ops_create(ops.out()));
  LK_ASSERT_DNNL(dnnl_post_ops_append_sum(ops, 2, 1, dnnl_s8));
  LK_ASSERT_DNNL(dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_linear, 3, 4));
  LK_ASSERT_DNNL(dnnl_post_ops_append_binary(ops, dnnl_binary_max, operand));
  LK_ASSERT_DNNL(dnnl_post_ops_append_prelu(ops, 2));
  LK_ASSERT_DNNL(dnnl_post_ops_append_dw(ops, dnnl_f32, dnnl_data_type_undef, dnnl_f32, 3, 2, 1));
  const std::string read = text_of([&](lk_dnnl_spec *r) { lk_dnnl_add_post_ops(r, ops); });
  EXPECT_EQ(read, text_of([](lk_dnnl_spec *r) {
              const int64_t dims[] = {1, 8};
              lk_dnnl_add_post_sum(r, 2, 1, dnnl_s8);
              lk_dnnl_add_post_eltwise(r, dnnl_eltwise_linear, 3, 4);
              lk_dnnl_add_post_binary(r, dnnl_binary_max, dnnl_f32, 2, dims, nullptr);
              lk_dnnl_add_post_prelu(r, 2);
              lk_dnnl_add_post_depthwise(r, dnnl_f32, dnnl_data_type_undef, dnnl_f32, 3, 2, 1);
            }));
}

TEST_F(OnednnKey, HasTheDefaultFpmathModeOfItsTime) {
  const std::string strict = text_of(changes()[0]);
  LK_ASSERT_DNNL(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_bf16));
  const std::string rounded = text_of(changes()[0]);
  LK_ASSERT_DNNL(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_strict));
  EXPECT_NE(strict, rounded);
  EXPECT_EQ(rounded,
            text_of([](lk_dnnl_spec *r) { lk_dnnl_set_fpmath_mode(r, dnnl_fpmath_mode_bf16); }));
}

TEST_F(OnednnKey, DimensionsMayBeKnownAtRunTimeOnly) {
  constexpr int64_t ANY = DNNL_RUNTIME_DIM_VAL;
  for (const Dims &dims : {Dims{ANY, 64}, Dims{64, ANY}, Dims{ANY, ANY}, Dims{0, ANY}}) {
    const Desc of_tag = desc_of(dims, dnnl_f32, dnnl_ab);
    EXPECT_EQ(text_of(desc(of_tag)), text_of(tensor(dims)));
  }
  const Dims dims = {2, 3}, strides = {ANY, 1};
  Desc strided;
  LK_ASSERT_DNNL(dnnl_memory_desc_create_with_strides(strided.out(), 2, dims.data(), dnnl_f32,
                                                      strides.data()));
  EXPECT_EQ(text_of(desc(strided)), text_of(tensor(dims, dnnl_f32, strides)));
}

TEST_F(OnednnKey, ReadsParameters) {
  lk_dnnl_spec spec;
  const int64_t numbers[] = {7, 8, 9};
  int count = -1;
  lk_dnnl_begin(&cache, &spec, dnnl_matmul, 0);
  lk_dnnl_add_ints(&spec, "axes", numbers, 3);
  lk_dnnl_add_float(&spec, "epsilon", 0.5F);
  const int64_t *axes = lk_dnnl_ints(&spec, "axes", &count);
  ASSERT_NE(axes, nullptr);
  EXPECT_EQ(Dims(axes, axes + count), Dims(numbers, numbers + 3));
  EXPECT_EQ(lk_dnnl_int(&spec, "axes"), 7);
  EXPECT_EQ(lk_dnnl_float(&spec, "epsilon"), 0.5F);
  for (const char *none : {"axis", "dnnl.primitive", static_cast<const char *>(nullptr)}) {
    EXPECT_EQ(lk_dnnl_ints(&spec, none, &count), nullptr);
    EXPECT_EQ(count, 0);
    EXPECT_EQ(lk_dnnl_int(&spec, none), 0);
    EXPECT_EQ(lk_dnnl_float(&spec, none), 0.0F);
  }
}

TEST_F(OnednnKey, RefusesParametersWithoutNumbersOrNames) {
  const int64_t numbers[] = {1};
  for (const int count : {0, -1}) {
    EXPECT_THAT(refusal_of([&](lk_dnnl_spec *r) { lk_dnnl_add_ints(r, "axes", numbers, count); },
                           LK_INVALID_ARGUMENT),
                HasSubstr("parameter \"axes\" has no numbers: " + std::to_string(count) +
                          " at an address, give 1 or more"));
  }
  EXPECT_THAT(refusal_of([](lk_dnnl_spec *r) { lk_dnnl_add_ints(r, "axes", nullptr, 2); },
                         LK_INVALID_ARGUMENT),
              HasSubstr("has no numbers: 2 at NULL"));
  for (const Change &nameless :
       {Change([](lk_dnnl_spec *r) { lk_dnnl_add_int(r, nullptr, 1); }),
        Change([](lk_dnnl_spec *r) { lk_dnnl_add_float(r, nullptr, 1); })}) {
    EXPECT_THAT(refusal_of(nameless, LK_INVALID_ARGUMENT),
                HasSubstr("a parameter has no name: it is NULL"));
  }
}

TEST_F(OnednnKey, RefusesParametersWithNamesOfItsOwn) {
  for (const Change &named :
       {Change([](lk_dnnl_spec *r) { lk_dnnl_add_int(r, "dnnl.desc", 1); }),
        Change([](lk_dnnl_spec *r) { lk_dnnl_add_float(r, "dnnl.desc", 1); })}) {
    EXPECT_THAT(
        refusal_of(named, LK_INVALID_ARGUMENT),
        HasSubstr("a parameter is named \"dnnl.desc\": take a name that does not begin with "
                  "\"dnnl.\""));
  }
}

TEST_F(OnednnKey, RefusesAnArgumentThatIsAddedTwice) {
  static const Desc rows = desc_of({2, 3}, dnnl_f32, dnnl_ab);
  const auto twice = [](const Change &first, const Change &second) {
    return [=](lk_dnnl_spec *r) {
      first(r);
      second(r);
    };
  };
  const Change any = [](lk_dnnl_spec *r) {
    const int64_t dims[] = {2, 3};
    lk_dnnl_add_any(r, DNNL_ARG_SRC, dnnl_f32, 2, dims);
  };
  for (const Change &second : {tensor({4, 3}), desc(rows), any}) {
    EXPECT_THAT(refusal_of(twice(tensor({2, 3}), second), LK_INVALID_ARGUMENT),
                HasSubstr("argument 1 has two records \"dnnl.desc\": add one"));
  }
  const Change scales = [](lk_dnnl_spec *r) { lk_dnnl_add_scales(r, DNNL_ARG_DST, 0); },
               others =
                   [](lk_dnnl_spec *r) {
                     lk_dnnl_add_scales_of(r, DNNL_ARG_DST, 0, dnnl_bf16, 0, nullptr);
                   },
               points = [](lk_dnnl_spec *r) { lk_dnnl_add_zero_points(r, DNNL_ARG_DST, 0); },
               rounding = [](lk_dnnl_spec *r) {
                 lk_dnnl_add_rounding(r, DNNL_ARG_DST, dnnl_rounding_mode_stochastic);
               };
  EXPECT_THAT(refusal_of(twice(scales, others), LK_INVALID_ARGUMENT),
              HasSubstr("argument 17 has two records \"dnnl.scales\""));
  EXPECT_THAT(refusal_of(twice(points, points), LK_INVALID_ARGUMENT),
              HasSubstr("argument 17 has two records \"dnnl.zero_points\""));
  EXPECT_THAT(refusal_of(twice(rounding, rounding), LK_INVALID_ARGUMENT),
              HasSubstr("argument 17 has two records \"dnnl.rounding\""));
}

TEST_F(OnednnKey, RefusesADescriptorWithoutDimensions) {
  Desc none;
  const dnnl_dims_t dims = {};
  LK_ASSERT_DNNL(
      dnnl_memory_desc_create_with_tag(none.out(), 0, dims, dnnl_f32, dnnl_format_tag_undef));
  EXPECT_THAT(refusal_of(desc(none, DNNL_ARG_BIAS), LK_INVALID_ARGUMENT),
              HasSubstr("a descriptor has no dimensions: leave out an argument that is absent"));
}

TEST_F(OnednnKey, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal_of([](lk_dnnl_spec *r) { lk_dnnl_add_desc(r, DNNL_ARG_SRC, nullptr); },
                         LK_INVALID_ARGUMENT),
              HasSubstr("failed to make the key of a primitive: a descriptor is NULL"));
  EXPECT_THAT(refusal_of(tensor(Dims(13, 1)), LK_OUT_OF_RANGE),
              HasSubstr("a tensor has 13 dimensions, and 1 to 12 are possible"));
  constexpr int64_t LARGE = int64_t{1} << 40;
  EXPECT_THAT(refusal_of(tensor({LARGE, LARGE, 4}), LK_OUT_OF_RANGE),
              HasSubstr("a tensor has more than 2^63 bytes"));
  EXPECT_THAT(refusal_of(tensor({LARGE, 4}, dnnl_f32, {LARGE, 1}), LK_OUT_OF_RANGE),
              HasSubstr("a tensor has more than 2^63 bytes"));
  EXPECT_THAT(refusal_of(tensor({LARGE, LARGE / 1024 / 256}, dnnl_f32, {LARGE / 1024 / 128, 1}),
                         LK_OUT_OF_RANGE),
              HasSubstr("a tensor has more than 2^63 bytes"))
      << "elements that fit, of 4 bytes";
  EXPECT_THAT(refusal_of(
                  [](lk_dnnl_spec *r) {
                    for (int i = 0; i < LK_DNNL_RECORDS; i++) lk_dnnl_add_int(r, "axis", i);
                  },
                  LK_OUT_OF_RANGE),
              HasSubstr("more than 48 records"));
  EXPECT_THAT(refusal_of(
                  [](lk_dnnl_spec *r) {
                    const Dims numbers(LK_DNNL_NUMBERS, 1);
                    lk_dnnl_add_ints(r, "axes", numbers.data(), int(numbers.size()));
                  },
                  LK_OUT_OF_RANGE),
              HasSubstr("more than 768 numbers"));
  EXPECT_THAT(refusal_of(
                  [](lk_dnnl_spec *r) {
                    for (int i = 0; i <= LK_DNNL_POST_OPS; i++) {
                      lk_dnnl_add_post_eltwise(r, dnnl_eltwise_relu, 0, 0);
                    }
                  },
                  LK_OUT_OF_RANGE),
              HasSubstr("it has more than 32 post-ops, and oneDNN takes no more"));
}

} // namespace
