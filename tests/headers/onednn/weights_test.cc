// Weights in a primitive's layout, packed once for each content.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "tests/headers/onednn/onednn_host.h"

// The linker finds this before oneDNN's own, which it calls.
static bool wait_throws = false;
extern "C" dnnl_status_t dnnl_stream_wait(dnnl_stream_t stream) {
  if (wait_throws) throw std::runtime_error("no reorder");
  return reinterpret_cast<decltype(&dnnl_stream_wait)>(dlsym(RTLD_NEXT, "dnnl_stream_wait"))(
      stream);
}

namespace {

using namespace lk;
using ::testing::Each;
using ::testing::HasSubstr;

void end_packed(lk_packed *packed) {
  api()->packed_release(packed);
}
void end_constant(lk_constant *constant) {
  api()->constant_release(constant);
}
using Packed = Owned<lk_packed, end_packed>;
using Constant = Owned<lk_constant, end_constant>;

constexpr int64_t INNER = 64, COLUMNS = 96;
constexpr uint64_t BYTES = INNER * COLUMNS * sizeof(float);
using Numbers = std::vector<float>;

class OnednnWeights : public OnednnHost {
protected:
  Constant constant_of(const Numbers &numbers, uint32_t flags = 0) {
    Constant made;
    LK_EXPECT_OK(api()->constant_create(context, numbers.data(), numbers.size() * sizeof(float),
                                        flags, made.out(), LK_ERR));
    return made;
  }
  Packed pack(lk_constant *weights, const_dnnl_memory_desc_t wanted) {
    Packed packed;
    LK_EXPECT_OK(lk_dnnl_pack(&cache, weights, BYTES, plain, wanted, stream, packed.out(), LK_ERR));
    return packed;
  }
  // x w of `rows` rows of ones, with whatever layout of w the primitive likes.
  Numbers multiply(lk_constant *weights, const Numbers &numbers, int64_t rows) {
    lk_dnnl_spec spec;
    Ref ref;
    Numbers x(rows * INNER, 1), y(rows * COLUMNS);
    const int64_t dims[] = {INNER, COLUMNS};
    lk_dnnl_begin(&cache, &spec, dnnl_matmul, 0);
    add_tensor(&spec, DNNL_ARG_SRC, {rows, INNER});
    lk_dnnl_add_any(&spec, DNNL_ARG_WEIGHTS, dnnl_f32, 2, dims);
    add_tensor(&spec, DNNL_ARG_DST, {rows, COLUMNS});
    LK_EXPECT_OK(lk_dnnl_get(&cache, &spec, make_matmul, ref.out(), nullptr, LK_ERR));
    const Packed packed = pack(weights, lk_dnnl_wanted(&cache, ref, DNNL_ARG_WEIGHTS));
    const void *data = packed.get() != nullptr ? api()->packed_data(packed) : numbers.data();
    LK_EXPECT_OK(run(cache, ref, stream,
                     {{DNNL_ARG_SRC, x.data()},
                      {DNNL_ARG_WEIGHTS, const_cast<void *>(data)},
                      {DNNL_ARG_DST, y.data()}},
                     LK_ERR));
    return y;
  }
  lk_stats now() { return stats(context); }

  Stream stream = test_stream();
  const Desc plain = desc_of({INNER, COLUMNS}, dnnl_f32, dnnl_ab),
             blocked = desc_of({INNER, COLUMNS}, dnnl_f32, dnnl_BA16a16b),
             others = desc_of({INNER, COLUMNS}, dnnl_f32, dnnl_AB16b16a);
  const Numbers two = Numbers(INNER * COLUMNS, 2), three = Numbers(INNER * COLUMNS, 3);
};

TEST_F(OnednnWeights, EqualContentsArePackedOnce) {
  const Numbers there = two;
  const Constant a = constant_of(two), b = constant_of(there), c = constant_of(three);
  const Packed first = pack(a, blocked), second = pack(b, blocked), third = pack(c, blocked),
               fourth = pack(a, others);
  EXPECT_EQ(api()->packed_data(first), api()->packed_data(second));
  EXPECT_EQ(now().weights_packed, 3u);
  EXPECT_EQ(now().weights_shared, 1u);
}

TEST_F(OnednnWeights, ArePackedAsTheLayoutSays) {
  Numbers numbers(INNER * COLUMNS);
  for (size_t i = 0; i < numbers.size(); i++) numbers[i] = float(i);
  const Constant weights = constant_of(numbers);
  const Packed packed = pack(weights, blocked);
  const auto *data = static_cast<const float *>(api()->packed_data(packed));
  for (int64_t a = 0; a < INNER; a++) {
    for (int64_t b = 0; b < COLUMNS; b++) {
      const int64_t block = b / 16 * (INNER / 16) + a / 16;
      ASSERT_EQ(data[block * 256 + a % 16 * 16 + b % 16], numbers[a * COLUMNS + b]);
    }
  }
}

TEST_F(OnednnWeights, PlainOnesAreNotCopied) {
  const Constant weights = constant_of(two);
  const Desc same = desc_of({INNER, COLUMNS}, dnnl_f32, dnnl_ab);
  EXPECT_EQ(pack(weights, same).get(), nullptr);
  EXPECT_EQ(now().weights_packed, 0u);
}

TEST_F(OnednnWeights, ReadingThemInAnotherWayIsAnotherPacking) {
  const Constant weights = constant_of(two);
  const Packed first = pack(weights, blocked);
  const Desc transposed = desc_of({INNER, COLUMNS}, dnnl_f32, dnnl_ba);
  Packed second;
  LK_ASSERT_OK(
      lk_dnnl_pack(&cache, weights, BYTES, transposed, blocked, stream, second.out(), LK_ERR));
  EXPECT_NE(api()->packed_data(first), api()->packed_data(second));
}

TEST_F(OnednnWeights, PackingDoesNotDependOnThreadsAndModes) {
  const Constant weights = constant_of(two);
  const Packed first = pack(weights, blocked);
  cache.threads = 7;
  LK_ASSERT_DNNL(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_any));
  const Packed second = pack(weights, blocked);
  LK_ASSERT_DNNL(dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_strict));
  EXPECT_EQ(api()->packed_data(first), api()->packed_data(second));
}

TEST_F(OnednnWeights, ChangedOnesAreNeverStale) {
  Numbers weights = two;
  Constant constant = constant_of(weights);
  EXPECT_THAT(multiply(constant, weights, 4), Each(2 * INNER));
  constant.reset();
  std::fill(weights.begin(), weights.end(), 5.0F); // at the same address
  constant = constant_of(weights);
  EXPECT_THAT(multiply(constant, weights, 4), Each(5 * INNER));
}

TEST_F(OnednnWeights, SizesThatChangeFindThemPacked) {
  const Constant weights = constant_of(two);
  for (int round = 0; round < 2; round++) {
    const lk_stats before = now();
    for (const int64_t rows : {1, 7, 64, 3}) {
      EXPECT_THAT(multiply(weights, two, rows), Each(2 * INNER));
    }
    if (round == 1) {
      EXPECT_EQ(now().weights_packed, before.weights_packed);
      EXPECT_EQ(now().kind[LK_KIND_USER].builds, before.kind[LK_KIND_USER].builds);
    }
  }
}

// Weights of 8 bits have sums behind them, by what the source is.
TEST_F(OnednnWeights, SumsBehindThemAreThoseOfTheSource) {
  constexpr int64_t ROWS = 16;
  std::vector<int8_t> w(INNER * COLUMNS);
  std::vector<uint8_t> x(ROWS * INNER);
  int32_t zero_point = 3;
  for (size_t i = 0; i < w.size(); i++) w[i] = int8_t(i * 37 % 23) - 7;
  for (size_t i = 0; i < x.size(); i++) x[i] = uint8_t(i % 50);
  Constant weights;
  LK_ASSERT_OK(api()->constant_create(context, w.data(), w.size(), 0, weights.out(), LK_ERR));
  const Desc rows = desc_of({INNER, COLUMNS}, dnnl_s8, dnnl_ab);
  const auto multiply_bytes = [&](dnnl_data_type_t type, bool has_zero_point, int64_t count) {
    const Ref ref = get_byte_product(cache, type, has_zero_point, count, INNER, COLUMNS);
    Packed packed;
    Numbers y(count * COLUMNS);
    LK_EXPECT_OK(lk_dnnl_pack(&cache, weights, w.size(), rows,
                              lk_dnnl_wanted(&cache, ref, DNNL_ARG_WEIGHTS), stream, packed.out(),
                              LK_ERR));
    const void *data = packed.get() != nullptr ? api()->packed_data(packed) : w.data();
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, x.data()},
                                       {DNNL_ARG_WEIGHTS, const_cast<void *>(data)},
                                       {DNNL_ARG_DST, y.data()}};
    if (has_zero_point) {
      arguments.push_back({DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, &zero_point});
    }
    LK_EXPECT_OK(run(cache, ref, stream, arguments, LK_ERR));
    for (int64_t i = 0; i < count * COLUMNS; i++) {
      int sum = 0;
      for (int64_t k = 0; k < INNER; k++) {
        const int from = x[i / COLUMNS * INNER + k] - (has_zero_point ? zero_point : 0);
        sum += from * w[k * COLUMNS + i % COLUMNS];
      }
      ASSERT_EQ(y[i], float(sum)) << "element " << i << " of type " << type;
    }
  };
  for (const dnnl_data_type_t type : {dnnl_s8, dnnl_u8}) {
    for (const bool has_zero_point : {false, true}) multiply_bytes(type, has_zero_point, ROWS);
  }
  const uint64_t before = now().weights_packed;
  multiply_bytes(dnnl_s8, false, ROWS / 2);
  EXPECT_EQ(now().weights_packed, before) << "they are packed once for all sizes";
}

TEST_F(OnednnWeights, OutliveThePrimitivesThatWantThem) {
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 1, LK_UNSET, LK_ERR));
  const Constant weights = constant_of(two);
  const Packed packed = pack(weights, blocked);
  for (int i = 0; i < 3; i++) {
    EXPECT_THAT(multiply(weights, two, 4 + i), Each(2 * INNER));
  }
  EXPECT_EQ(pack(weights, blocked).get(), packed.get());
}

TEST_F(OnednnWeights, ThreadsPackOnce) {
  const Numbers there = two;
  const Constant a = constant_of(two), b = constant_of(there);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&, i] {
      const Stream own = test_stream();
      Packed packed;
      LK_EXPECT_OK(lk_dnnl_pack(&cache, i % 2 == 0 ? a.get() : b.get(), BYTES, plain, blocked, own,
                                packed.out(), LK_ERR));
      const auto *data = static_cast<const float *>(api()->packed_data(packed));
      EXPECT_EQ(std::count(data, data + INNER * COLUMNS, 2.0F), INNER * COLUMNS);
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(now().weights_packed, 1u);
}

// Also where the layouts are equal: the primitive would read the host's bytes.
TEST_F(OnednnWeights, ConstantsOfFewerBytesThanTheirDescriptorAreRefused) {
  const Numbers few(10, 2);
  const Constant weights = constant_of(few);
  const Desc same = desc_of({INNER, COLUMNS}, dnnl_f32, dnnl_ab);
  for (const Desc *wanted : {&blocked, &same}) {
    Packed packed;
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                     lk_dnnl_pack(&cache, weights, few.size() * sizeof(float), plain, *wanted,
                                  stream, packed.out(), LK_ERR));
    EXPECT_EQ(LK_MESSAGE, "failed to pack weights: the constant has 40 bytes, and its descriptor "
                          "takes 24576");
  }
  EXPECT_EQ(now().weights_packed, 0u);
}

TEST_F(OnednnWeights, WhatOnednnThrowsIsAFailureAndTheNextPackingIsTried) {
  const Constant weights = constant_of(two);
  wait_throws = true;
  for (int i = 0; i < 2; i++) {
    Packed packed;
    LK_EXPECT_STATUS(LK_INTERNAL, lk_dnnl_pack(&cache, weights, BYTES, plain, blocked, stream,
                                               packed.out(), LK_ERR));
    EXPECT_EQ(LK_MESSAGE, "failed to reorder weights: an exception was thrown: no reorder");
  }
  wait_throws = false;
  EXPECT_EQ(now().weights_packed, 0u);
  EXPECT_NE(pack(weights, blocked).get(), nullptr);
  EXPECT_EQ(now().weights_packed, 1u);
}

TEST_F(OnednnWeights, AReorderThatThereIsNotIsAFailure) {
  const Constant weights = constant_of(two);
  const Desc smaller = desc_of({INNER, 16}, dnnl_f32, dnnl_BA16a16b);
  Packed packed;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_dnnl_pack(&cache, weights, BYTES, plain, smaller, stream,
                                                     packed.out(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to reorder weights: oneDNN does not take"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_dnnl_pack(&cache, weights, BYTES, plain, nullptr, stream,
                                                     packed.out(), LK_ERR));
  EXPECT_EQ(LK_MESSAGE, "failed to pack weights: a descriptor is NULL");
  EXPECT_EQ(now().weights_packed, 0u);
}

} // namespace
