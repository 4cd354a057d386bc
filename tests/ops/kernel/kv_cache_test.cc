// A cache of keys and values in a buffer, against what it must hold.
#include "tests/ops/kernel/product.h"

extern "C" {
#include "ops/kernel/kv_cache.h"
}

namespace {

using lk::Guarded;

constexpr int64_t kBatch = 3, kHeads = 2, kSize = 5, kPast = 7, kBuffer = 9;

// Of heads in rows: where a row begins there, and in the buffer.
size_t in_rows(int64_t rows, int64_t batch, int64_t head, int64_t row) {
  return size_t(((batch * rows + row) * kHeads + head) * kSize);
}
size_t in_buffer(int64_t rows, int64_t batch, int64_t head, int64_t row) {
  return size_t(((batch * kHeads + head) * rows + row) * kSize);
}

struct Cache {
  int64_t rows;
  bool is_prompt = false;
  std::vector<int32_t> last;
  std::vector<int64_t> lengths = std::vector<int64_t>(kBatch), positions = {};

  lk_status find_places() {
    const lk_kv_places step = {kBatch, rows, kBuffer, kPast, is_prompt};
    positions.resize(size_t(kBatch * rows));
    void *const pointers[] = {last.data(), lengths.data(), positions.data()};
    return lk_kv_places_kernel(&step, pointers, LK_ERR);
  }
  void run(Guarded &now, Guarded &past, int64_t past_rows, Guarded &buffer) {
    lk_kv_cache step{};
    step.element = sizeof(float);
    step.batch = kBatch, step.heads = kHeads, step.rows = rows, step.size = kSize;
    step.from[0] = rows * kHeads * kSize, step.from[1] = kSize, step.from[2] = kHeads * kSize;
    step.past_rows = past_rows, step.buffer_rows = kBuffer;
    step.is_prompt = is_prompt, step.has_past = true;
    void *const pointers[] = {now.get(), buffer.get(), lengths.data(), past.get()};
    LK_EXPECT_OK(lk_kv_cache_kernel(&step, pointers, LK_ERR));
    buffer.check();
  }
};

TEST(KvCache, PutsNewRowsBehindThoseOfEachBatch) {
  std::mt19937 random(1);
  for (const bool is_prompt : {false, true}) {
    Cache cache{.rows = 2, .is_prompt = is_prompt, .last = {6, 1, 4}};
    Guarded now = lk::random_floats(size_t(kBatch * 2 * kHeads * kSize), random);
    Guarded past = lk::random_floats(size_t(kBatch * kHeads * kPast * kSize), random);
    Guarded buffer = lk::random_floats(size_t(kBatch * kHeads * kBuffer * kSize), random);
    LK_ASSERT_OK(cache.find_places());
    cache.run(now, past, kPast, buffer);
    for (int64_t b = 0; b < kBatch; b++) {
      const int64_t begin = is_prompt ? 0 : cache.last[size_t(b)] - 1;
      EXPECT_EQ(cache.lengths[size_t(b)], cache.last[size_t(b)] + 1);
      EXPECT_EQ(cache.positions[size_t(2 * b + 1)], begin + 1);
      for (int64_t i = 0; i < kHeads * kBuffer; i++) {
        const int64_t head = i / kBuffer, row = i % kBuffer;
        const float found = buffer[in_buffer(kBuffer, b, head, row)];
        const float wanted = row < begin       ? past[in_buffer(kPast, b, head, row)]
                             : row < begin + 2 ? now[in_rows(2, b, head, row - begin)]
                                               : 0;
        EXPECT_EQ(found, wanted) << b << " " << head << " " << row;
      }
    }
  }
}

TEST(KvCache, LeavesTheRestOfABufferThatIsThePast) {
  std::mt19937 random(2);
  Cache cache{.rows = 1, .last = {8, 0, 3}, .lengths = {9, 1, 4}};
  Guarded now = lk::random_floats(size_t(kBatch * kHeads * kSize), random);
  Guarded buffer = lk::random_floats(size_t(kBatch * kHeads * kBuffer * kSize), random);
  const Guarded before = buffer;
  cache.run(now, buffer, kBuffer, buffer);
  for (int64_t i = 0; i < kBatch * kHeads * kBuffer; i++) {
    const int64_t b = i / kBuffer / kHeads, head = i / kBuffer % kHeads, row = i % kBuffer;
    const size_t at = in_buffer(kBuffer, b, head, row);
    const bool is_new = row == cache.last[size_t(b)];
    EXPECT_EQ(buffer[at], is_new ? now[in_rows(1, b, head, 0)] : before[at]) << i;
  }
}

TEST(KvCache, RefusesLengthsThatDoNotFit) {
  Cache few{.rows = 3, .last = {2, 1, 2}}, many{.rows = 1, .last = {3, 9, 3}};
  EXPECT_EQ(few.find_places(), LK_OUT_OF_RANGE);
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("batch 1 has 2 rows"));
  EXPECT_EQ(many.find_places(), LK_OUT_OF_RANGE);
  Cache below{.rows = 1, .is_prompt = true, .last = {0, -2, 0}};
  EXPECT_EQ(below.find_places(), LK_OUT_OF_RANGE);
}

} // namespace
