// For tests of the weights store: bytes at random, a layout that counts, and a store that ends
// clean.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "base/status.h"
#include "base/stop.h"
#include "base/team/team.h"
#include "keys/weights/weights.h"
}

namespace lk {

using Bytes = std::vector<uint8_t>;
using Packed = Owned<lk_packed, lk_packed_release>;

constexpr uint64_t kUnlimited = UINT64_MAX - 1;

inline Bytes random_bytes(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (uint8_t &byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// A layout: bytes in reverse, each XORed with a mark. Counts its calls.
struct Layout {
  struct Params {
    Layout *layout;
    size_t bytes;
  };
  explicit Layout(uint8_t mark, size_t bytes)
      : params{this, bytes}, mark(mark), bytes(bytes), number{{mark}, nullptr, 0} {}

  // Where it is stopped, the second half is left undone.
  static void turn(const Params *params, const void *from, void *to) {
    const auto *source = static_cast<const uint8_t *>(from);
    for (size_t i = 0; i < params->bytes; i++) {
      if (i == params->bytes / 2 && lk_team_is_stopped()) return;
      static_cast<uint8_t *>(to)[i] = source[params->bytes - 1 - i] ^ params->layout->mark;
    }
  }
  static lk_status pack(const void *user, const void *plain, void *to, lk_error *error) {
    const auto *params = static_cast<const Params *>(user);
    Layout *self = params->layout;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(to) % 64, 0u);
    self->packings++;
    const int now = ++self->at_once;
    EXPECT_TRUE(now == 1 || self->shared) << "packed by two threads at a time";
    if (self->during) self->during();
    turn(params, plain, to);
    self->at_once--;
    if (self->failures > 0) {
      self->failures--;
      return lk_fail(error, LK_INTERNAL, "failed to pack: told to");
    }
    return LK_OK;
  }
  static lk_status unpack(const void *user, const void *packed, void *plain, lk_error *error) {
    const auto *params = static_cast<const Params *>(user);
    params->layout->unpackings++;
    if (params->layout->fail_unpack)
      return lk_fail(error, LK_INTERNAL, "failed to unpack: told to");
    if (params->layout->during_unpack) params->layout->during_unpack();
    turn(params, packed, plain);
    return LK_OK;
  }
  lk_packer packer(bool way_back = true) const {
    return {pack, way_back ? unpack : nullptr, &params, sizeof params};
  }
  Bytes of(const Bytes &plain) const { // what the packed bytes must be, by hand
    Bytes packed(plain.rbegin(), plain.rend());
    for (uint8_t &byte : packed) byte ^= mark;
    return packed;
  }

  const Params params;
  uint8_t mark;
  size_t bytes;
  lk_weights_layout number;
  std::function<void()> during; // of a packing
  std::function<void()> during_unpack;
  bool fail_unpack = false;
  bool shared = false; // by contents, which may be packed at a time
  std::atomic<int> failures{0}, packings{0}, unpackings{0}, at_once{0};
};

// Who has bytes that are lent, and counts who holds them.
struct Lender {
  explicit Lender(const void *data, uint64_t origin = 0)
      : lent{data, {sizeof(lk_owner), this, retain, release, {origin, 0}, data}} {}
  Lender(const Lender &) = delete;
  static void retain(void *object) {
    static_cast<Lender *>(object)->held++;
    static_cast<Lender *>(object)->retained++;
  }
  static void release(void *object) { static_cast<Lender *>(object)->held--; }

  const lk_lent lent;
  std::atomic<int> held{0}, retained{0};
};

// A flag that this thread watches while it lives.
struct Watched {
  Watched() {
    const lk_wait_limit limit = {&cancel, nullptr, 0};
    lk_stop_init(&stop, &limit, nullptr, nullptr);
    EXPECT_EQ(lk_team_watch(&stop), nullptr);
  }
  ~Watched() { EXPECT_EQ(lk_team_watch(nullptr), &stop); }
  Watched(const Watched &) = delete;

  volatile int32_t cancel = 0;
  lk_stop stop;
};

inline Bytes bytes_of(const lk_packed *packed, size_t size) {
  const auto *data = static_cast<const uint8_t *>(lk_packed_data(packed));
  return Bytes(data, data + size);
}

class WeightsTest : public ::testing::Test {
protected:
  void SetUp() override {
    LK_ASSERT_OK(lk_weights_create(allocator.get(), kUnlimited, weights.out(), LK_ERR));
  }
  lk_content *intern(const Bytes &bytes, bool copy) {
    lk_content *content = nullptr;
    LK_EXPECT_OK(lk_weights_intern(weights, bytes.data(), bytes.size(), copy, &content, LK_ERR));
    return content;
  }
  Packed pack(lk_content *content, Layout &layout, bool way_back = true) {
    Packed packed;
    const lk_packer packer = layout.packer(way_back);
    LK_EXPECT_OK(
        lk_content_pack(content, &layout.number, layout.bytes, &packer, packed.out(), LK_ERR));
    return packed;
  }
  lk_weights_stats stats() {
    lk_weights_stats stats;
    lk_weights_get_stats(weights, &stats);
    return stats;
  }

  FailingAllocator allocator; // ends last: nothing may be left
  Owned<lk_weights, lk_weights_destroy> weights;
};

} // namespace lk
