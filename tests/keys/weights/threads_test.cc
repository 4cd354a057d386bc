// The weights store under threads, and without memory.
#include <thread>

#include "tests/harness/wait.h"
#include "tests/keys/weights/weights_util.h"

namespace {

using lk::Bytes;
using lk::bytes_of;
using lk::Layout;
using lk::Packed;
using lk::random_bytes;
using WeightsThreads = lk::WeightsTest;

TEST_F(WeightsThreads, ThreadsPackOnce) {
  const Bytes a = random_bytes(100000, 1);
  lk_content *content = intern(a, false);
  Layout one(1, a.size());
  one.during = lk::wait_until_others_sleep; // they wait for the packing
  std::vector<Packed> copies(8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&, i] { copies[size_t(i)] = pack(content, one); });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(one.packings, 1);
  EXPECT_EQ(stats().shared, 7u);
  for (const Packed &copy : copies) EXPECT_EQ(bytes_of(copy, a.size()), one.of(a));
  copies.clear();
  lk_content_release(content, a.data());
}

TEST_F(WeightsThreads, ThreadsTryAgainAfterAFailedPacking) {
  const Bytes a = random_bytes(1000, 1);
  lk_content *content = intern(a, false);
  Layout one(1, a.size());
  one.during = lk::wait_until_others_sleep;
  one.failures = 2;
  std::vector<Packed> copies(6); // whose first one serves those that come later
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int i = 0; i < 6; i++) {
    threads.emplace_back([&, i] {
      Packed &packed = copies[size_t(i)];
      const lk_packer packer = one.packer();
      const lk_status status =
          lk_content_pack(content, &one.number, 1000, &packer, packed.out(), LK_ERR);
      if (status == LK_OK) {
        EXPECT_EQ(bytes_of(packed, 1000), one.of(a));
      } else {
        EXPECT_EQ(status, LK_INTERNAL);
        failed++;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(failed, 2);
  EXPECT_EQ(one.packings, 3);
  copies.clear();
  lk_content_release(content, a.data());
}

TEST_F(WeightsThreads, ALenderWaitsForThePackingThatReadsIt) {
  auto a = std::make_unique<Bytes>(random_bytes(1000, 1));
  const Bytes expected = *a;
  lk_content *content = intern(*a, false);
  ASSERT_EQ(intern(*a, true), content); // a reference that lends nothing
  Layout one(1, 1000);
  const pid_t lender = gettid();
  one.during = [=] { lk::wait_until([=] { return lk::is_asleep(lender); }); };
  std::thread packing([&] { EXPECT_EQ(bytes_of(pack(content, one), 1000), one.of(expected)); });
  while (one.packings == 0) std::this_thread::yield();
  lk_content_release(content, a->data());
  std::fill(a->begin(), a->end(), uint8_t{0}); // the owner's own again
  a.reset();
  packing.join();
  lk_content_release(content, nullptr);
}

// Models that come and go, with equal and other bytes, lent and copied, under a small capacity.
TEST_F(WeightsThreads, ThreadsComeAndGo) {
  constexpr size_t size = 500;
  std::vector<Bytes> all;
  for (uint64_t i = 0; i < 4; i++) all.push_back(random_bytes(size, i));
  Layout one(1, size), two(2, size);
  one.shared = two.shared = true;
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 4; seed++) {
    threads.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      for (int i = 0; i < 300; i++) {
        const Bytes &expected = all[random() % all.size()];
        auto mine = std::make_unique<Bytes>(expected);
        const bool copy = random() % 2;
        lk_content *content = intern(*mine, copy);
        const void *data = mine->data();
        if (random() % 2) { // keeps the content beyond the lender
          EXPECT_EQ(intern(*mine, true), content);
          lk_content_release(content, copy ? nullptr : data);
          data = nullptr;
          mine.reset();
        }
        if (copy) data = nullptr;
        Layout &layout = random() % 2 ? one : two;
        Packed packed, plain;
        const lk_packer packer = layout.packer(random() % 4 > 0);
        LK_EXPECT_OK(lk_content_pack(content, &layout.number, size, &packer, packed.out(), LK_ERR));
        EXPECT_EQ(bytes_of(packed, size), layout.of(expected));
        if (random() % 2) {
          LK_EXPECT_OK(lk_content_plain(content, nullptr, 64, plain.out(), LK_ERR));
          EXPECT_EQ(bytes_of(plain, size), expected);
        }
        if (random() % 8 == 0) lk_weights_set_capacity(weights, random() % (6 * size));
        if (random() % 2) packed.reset();
        lk_content_release(content, data);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(stats().entries, 0u);
  EXPECT_EQ(stats().bytes, 0u);
}

TEST(WeightsMemory, TellsOfEachFailedAllocation) {
  std::vector<Bytes> all;
  for (uint64_t i = 0; i < 70; i++) all.push_back(random_bytes(200, i));
  lk::fail_every_allocation([&](lk::FailingAllocator &allocator) {
    lk_weights *weights = nullptr;
    std::vector<std::pair<lk_content *, const void *>> contents;
    std::vector<lk_packed *> copies;
    Layout one(1, 200), two(2, 200);
    auto run = [&]() -> lk_status {
      lk_status status = lk_weights_create(allocator.get(), lk::kUnlimited, &weights, LK_ERR);
      for (size_t i = 0; status == LK_OK && i < all.size() * 2; i++) {
        const Bytes &bytes = all[i % all.size()];
        lk_content *content = nullptr;
        status =
            lk_weights_intern(weights, bytes.data(), bytes.size(), i % 3 == 0, &content, LK_ERR);
        EXPECT_EQ(content == nullptr, status != LK_OK);
        if (status == LK_OK) contents.emplace_back(content, i % 3 == 0 ? nullptr : bytes.data());
      }
      for (size_t i = 0; status == LK_OK && i < 6; i++) {
        lk_content *content = contents[i % 3].first;
        lk_packed *copy = nullptr;
        if (i < 4) {
          Layout &layout = i < 3 ? one : two; // the second unpacks the first
          const lk_packer packer = layout.packer();
          status = lk_content_pack(content, &layout.number, 200, &packer, &copy, LK_ERR);
        } else {
          status = lk_content_plain(content, nullptr, 64, &copy, LK_ERR);
        }
        EXPECT_EQ(copy == nullptr, status != LK_OK);
        if (copy != nullptr) copies.push_back(copy);
      }
      return status;
    };
    const lk_status status = run();
    allocator.fail_never(); // NoMemoryWhenTheLastLenderLeaves has that case
    for (lk_packed *copy : copies) lk_packed_release(copy);
    for (const auto &[content, data] : contents) lk_content_release(content, data);
    lk_weights_destroy(weights);
    return status;
  });
}

} // namespace
