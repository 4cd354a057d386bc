// Constants that a host packs by code of its own, through the table.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/plugin/handles.h"

namespace {

using namespace lk;
using ::testing::HasSubstr;

using Bytes = std::vector<uint8_t>;

void end_constant(lk_constant *constant) {
  api()->constant_release(constant);
}
void end_packed(lk_packed *packed) {
  api()->packed_release(packed);
}
using Constant = Owned<lk_constant, end_constant>;
using Packed = Owned<lk_packed, end_packed>;

Constant constant_of(lk_context *context, const Bytes &bytes, uint32_t flags = 0) {
  Constant made;
  LK_EXPECT_OK(
      api()->constant_create(context, bytes.data(), bytes.size(), flags, made.out(), LK_ERR));
  return made;
}

// Packs by adding a number to each byte; the number is the layout.
struct Packer {
  explicit Packer(uint8_t number, size_t bytes) : layout{number}, size(bytes) {}
  std::array<uint8_t, 1> layout;
  size_t size;
  std::atomic<int> count{0};
  lk_status fails = LK_OK;
  const char *why = "failed to pack: it is a test";

  static lk_status run(void *arg, const void *plain, void *packed, lk_error *error) {
    auto *self = static_cast<Packer *>(arg);
    self->count++;
    if (self->fails != LK_OK) {
      if (error != nullptr && self->why != nullptr) {
        (void)snprintf(error->message, sizeof error->message, "%s", self->why);
      }
      return self->fails;
    }
    const uint8_t number = self->layout[0];
    std::transform(static_cast<const uint8_t *>(plain),
                   static_cast<const uint8_t *>(plain) + self->size, static_cast<uint8_t *>(packed),
                   [number](uint8_t byte) { return static_cast<uint8_t>(byte + number); });
    return LK_OK;
  }
  lk_packing packing() {
    return {sizeof(lk_packing), layout.data(), layout.size(), size, run, this};
  }
  lk_status pack(lk_constant *constant, Packed *out, lk_error *error) {
    const lk_packing how = packing();
    return api()->constant_pack(constant, &how, out->out(), error);
  }
};

Bytes bytes_of(const Packed &packed, size_t size) {
  const auto *data = static_cast<const uint8_t *>(api()->packed_data(packed));
  return {data, data + size};
}

TEST(Constant, EqualContentsArePackedOnceForEachLayout) {
  const Context context = open();
  const Bytes here{1, 2, 3}, there = here, other{1, 2, 4};
  const Constant a = constant_of(context, here), b = constant_of(context, there, LK_INPUT_COPY),
                 c = constant_of(context, other);
  Packer one(1, 3), two(2, 3);
  Packed first, second, third, fourth;
  LK_ASSERT_OK(one.pack(a, &first, LK_ERR));
  LK_ASSERT_OK(one.pack(b, &second, LK_ERR));
  LK_ASSERT_OK(two.pack(b, &third, LK_ERR));
  LK_ASSERT_OK(one.pack(c, &fourth, LK_ERR));
  EXPECT_EQ(api()->packed_data(first), api()->packed_data(second));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(api()->packed_data(first)) % 64, 0u);
  EXPECT_EQ(bytes_of(first, 3), (Bytes{2, 3, 4}));
  EXPECT_EQ(bytes_of(third, 3), (Bytes{3, 4, 5}));
  EXPECT_EQ(bytes_of(fourth, 3), (Bytes{2, 3, 5}));
  EXPECT_EQ(one.count, 2);
  EXPECT_EQ(two.count, 1);
  EXPECT_EQ(stats(context).weights_packed, 3u);
  EXPECT_EQ(stats(context).weights_shared, 1u);
}

TEST(Constant, ChangedBytesAreAnotherConstant) {
  const Context context = open();
  for (const uint32_t flags : {0u, uint32_t(LK_INPUT_COPY)}) {
    Bytes weights{1, 2, 3};
    Packer one(1, 3);
    Packed before, after;
    Constant constant = constant_of(context, weights, flags);
    LK_ASSERT_OK(one.pack(constant, &before, LK_ERR));
    constant.reset();
    weights = {7, 8, 9};
    constant = constant_of(context, weights, flags);
    LK_ASSERT_OK(one.pack(constant, &after, LK_ERR));
    EXPECT_EQ(bytes_of(before, 3), (Bytes{2, 3, 4})) << "whoever has it keeps it";
    EXPECT_EQ(bytes_of(after, 3), (Bytes{8, 9, 10}));
  }
}

TEST(Constant, LentBytesThatHaveChangedAreNotPacked) {
  const Context context = open();
  Bytes weights{1, 2, 3};
  Packer one(1, 3);
  Packed packed;
  const Constant constant = constant_of(context, weights);
  weights[0] = 9;
  LK_EXPECT_STATUS(LK_IO, one.pack(constant, &packed, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("they have changed"));
}

TEST(Constant, StaysPackedWhileAConstantOfItIsThere) {
  const Context context = open();
  const Bytes weights{1, 2, 3};
  Packer one(1, 3);
  Packed packed;
  Constant constant = constant_of(context, weights);
  LK_ASSERT_OK(one.pack(constant, &packed, LK_ERR));
  packed.reset();
  LK_ASSERT_OK(one.pack(constant, &packed, LK_ERR));
  EXPECT_EQ(one.count, 1);
  packed.reset();
  constant.reset();
  EXPECT_EQ(stats(context).weights_entries, 0u);
  EXPECT_EQ(stats(context).weights_bytes, 0u);
}

TEST(Constant, CopiesInUseOutliveACapacityOfNothing) {
  const Context context = open();
  LK_ASSERT_OK(api()->cache_set_weights_capacity(context, LK_NONE, LK_ERR));
  const Bytes weights{1, 2, 3};
  Packer one(1, 3);
  Packed packed;
  const Constant constant = constant_of(context, weights);
  LK_ASSERT_OK(one.pack(constant, &packed, LK_ERR));
  EXPECT_EQ(bytes_of(packed, 3), (Bytes{2, 3, 4}));
  packed.reset();
  EXPECT_EQ(stats(context).weights_entries, 0u);
  LK_ASSERT_OK(one.pack(constant, &packed, LK_ERR));
  EXPECT_EQ(one.count, 2) << "nothing was kept";
}

TEST(Constant, ThreadsPackOnce) {
  const Context context = open();
  const Bytes weights(1000, 5);
  Packer one(1, weights.size());
  const Constant constant = constant_of(context, weights);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&] {
      Packed packed;
      LK_EXPECT_OK(one.pack(constant, &packed, LK_ERR));
      EXPECT_EQ(bytes_of(packed, weights.size()), Bytes(weights.size(), 6));
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(one.count, 1);
}

TEST(Constant, AFailureIsToldAndNothingIsKept) {
  const Context context = open();
  const Bytes weights{1, 2, 3};
  Packer one(1, 3);
  Packed packed;
  const Constant constant = constant_of(context, weights);
  one.fails = LK_UNSUPPORTED;
  LK_EXPECT_STATUS(LK_UNSUPPORTED, one.pack(constant, &packed, LK_ERR));
  EXPECT_EQ(LK_MESSAGE, one.why);
  one.why = nullptr;
  LK_EXPECT_STATUS(LK_UNSUPPORTED, one.pack(constant, &packed, LK_ERR));
  EXPECT_EQ(LK_MESSAGE, "failed to pack a constant: not supported");
  EXPECT_EQ(packed.get(), nullptr);
  EXPECT_EQ(stats(context).weights_entries, 0u);
  one.fails = LK_OK;
  LK_ASSERT_OK(one.pack(constant, &packed, LK_ERR));
}

TEST(Constant, ArgumentsAreChecked) {
  const Context context = open();
  const Bytes weights{1, 2, 3};
  lk_constant *none = nullptr;
  const lk_api *const table = api();
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, table->constant_create(context, weights.data(), 3,
                                                               LK_INPUT_ABSENT, &none, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("LK_INPUT_COPY is allowed"));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   table->constant_create(context, nullptr, 3, 0, &none, LK_ERR));
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   table->constant_create(context, weights.data(), 0, 0, &none, LK_ERR));
  const Constant constant = constant_of(context, weights);
  Packer one(1, 3);
  Packed packed, wrong;
  LK_ASSERT_OK(one.pack(constant, &packed, LK_ERR));
  one.size = 2;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, one.pack(constant, &wrong, LK_ERR));
  one.size = 0;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, one.pack(constant, &wrong, LK_ERR));
  one.size = 3;
  lk_packing how = one.packing();
  how.pack = nullptr;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, table->constant_pack(constant, &how, wrong.out(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("packing.pack"));
  how = one.packing();
  how.layout_bytes = 0;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, table->constant_pack(constant, &how, wrong.out(), LK_ERR));
}

TEST(Constant, EveryAllocationMayFail) {
  fail_every_allocation([](FailingAllocator &allocator) {
    lk_context *context = nullptr;
    lk_constant *constant = nullptr;
    lk_packed *packed = nullptr;
    const Bytes weights{1, 2, 3};
    Packer one(1, 3);
    const lk_packing how = one.packing();
    lk_status status = host_context_create(LK_CACHE_SHARED, 1, allocator.get(), &context, LK_ERR);
    if (status == LK_OK) {
      status = api()->constant_create(context, weights.data(), 3, 0, &constant, LK_ERR);
    }
    if (status == LK_OK) status = api()->constant_pack(constant, &how, &packed, LK_ERR);
    api()->packed_release(packed);
    api()->constant_release(constant);
    api()->context_destroy(context);
    return status;
  });
}

} // namespace
