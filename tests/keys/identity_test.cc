// Identities: not used again, though addresses and thread ids are.
#include <set>
#include <thread>
#include <tuple>

#include "tests/harness/lk_test.h"

extern "C" {
#include "keys/identity.h"
}

namespace {

TEST(Identity, OneAddressIsManyExecutors) {
  std::set<std::pair<uint64_t, uint64_t>> uuids;
  int executor = 0;
  for (int i = 0; i < 1000; i++) {
    const lk_executor_identity identity = lk_executor_identity_make(&executor);
    EXPECT_EQ(identity.address, reinterpret_cast<uintptr_t>(&executor));
    uuids.emplace(identity.uuid_high, identity.uuid_low);
  }
  EXPECT_EQ(uuids.size(), 1000u);
  EXPECT_EQ(uuids.count({0, 0}), 0u);
}

TEST(Identity, AThreadKeepsItsOwn) {
  const lk_thread_identity a = lk_thread_identity_get(), b = lk_thread_identity_get();
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(a.generation, b.generation);
  EXPECT_GE(a.generation, 1u);
}

TEST(Identity, ThreadsOneAfterTheOtherDiffer) {
  std::set<uint64_t> generations;
  for (int i = 0; i < 100; i++) { // whose ids and thread-local addresses are mostly the same
    std::thread([&] { generations.insert(lk_thread_identity_get().generation); }).join();
  }
  EXPECT_EQ(generations.size(), 100u);
}

TEST(Identity, ThreadsAtATimeDiffer) {
  lk_thread_identity identities[8];
  std::thread threads[8];
  for (int i = 0; i < 8; i++) {
    threads[i] = std::thread([&identities, i] { identities[i] = lk_thread_identity_get(); });
  }
  for (std::thread &thread : threads) thread.join();
  std::set<uint64_t> generations;
  for (const lk_thread_identity &identity : identities) generations.insert(identity.generation);
  EXPECT_EQ(generations.size(), 8u);
}

} // namespace
