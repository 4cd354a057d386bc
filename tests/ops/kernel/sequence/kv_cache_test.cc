// A cache of keys and values in a buffer, against what it must hold.
#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "ops/kernel/sequence/kv_cache.h"
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
    lk_kv_places step{};
    step.batch = kBatch, step.rows = rows, step.most = kBuffer, step.past_rows = kPast;
    step.is_prompt = is_prompt;
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

// ---- of the last rows alone ----

// One head of one element, whose value is its position.
struct Sliding {
  int64_t capacity, window, total = 0;
  std::vector<float> cache = std::vector<float>(size_t(capacity)), buffer = {};
  int64_t length = 0, kept = 0, dropped = 0;
  std::vector<int64_t> positions = {};

  void find_places(int64_t rows) {
    lk_kv_places step{};
    step.batch = 1, step.rows = rows, step.most = total + rows, step.past_rows = total;
    step.capacity = capacity, step.window = window, step.is_apart = rows > 1;
    int32_t last = int32_t(total += rows) - 1;
    positions.resize(size_t(rows));
    void *const pointers[] = {&last, &length, positions.data(), &kept, &dropped};
    LK_ASSERT_OK(lk_kv_places_kernel(&step, pointers, LK_ERR));
  }
  // Without dropped rows: into the buffer. Without new ones: out of it.
  void put(const std::vector<float> &now, int64_t rows, const std::vector<float> &past,
           std::vector<float> &to, int64_t *lengths, bool has_dropped) {
    lk_kv_cache step{};
    step.element = sizeof(float);
    step.batch = step.heads = step.size = 1, step.rows = rows, step.from[2] = 1;
    step.past_rows = int64_t(past.size()), step.buffer_rows = int64_t(to.size());
    step.has_past = true, step.has_dropped = has_dropped;
    void *const pointers[] = {const_cast<float *>(now.data()), to.data(), lengths,
                              const_cast<float *>(past.data()), &dropped};
    LK_ASSERT_OK(lk_kv_cache_kernel(&step, pointers, LK_ERR));
  }
  void append(int64_t rows) {
    find_places(rows);
    const std::vector<float> now(positions.begin(), positions.end());
    if (rows == 1) {
      put(now, 1, cache, cache, &length, true); // in place
      buffer = cache;
      return;
    }
    buffer.assign(size_t(capacity + rows), 0);
    put(now, rows, cache, buffer, &length, false);
    put(buffer, 0, buffer, cache, &kept, true);
  }
};

void check_rows(const std::vector<float> &found, int64_t count, int64_t total) {
  for (int64_t i = 0; i < count; i++) EXPECT_EQ(found[size_t(i)], total - count + i) << i;
}

TEST(KvCache, KeepsTheLastRowsInWhateverStepsTheyCome) {
  std::mt19937 random(3);
  for (int64_t i = 0; i < 200; i++) {
    const int64_t window = 1 + i % 5, capacity = window + i / 5 % 4;
    Sliding steps{capacity, window}, single{capacity, window};
    while (steps.total < 40) {
      const int64_t rows = random() % 2 == 0 ? 1 : 1 + int64_t(random() % 9), before = steps.total;
      SCOPED_TRACE(std::to_string(window) + " of " + std::to_string(capacity) + " in " +
                   std::to_string(before) + " + " + std::to_string(rows));
      steps.append(rows);
      while (single.total < steps.total) single.append(1);
      check_rows(steps.buffer, steps.length, steps.total);
      EXPECT_GE(steps.length, std::min(steps.total, rows + window - 1)); // what rows attend
      check_rows(steps.cache, steps.kept, steps.total);
      EXPECT_EQ(steps.kept, single.kept);
      EXPECT_GE(steps.kept, std::min(steps.total, window));
      EXPECT_LE(steps.kept, std::min(steps.total, capacity));
    }
  }
}

TEST(KvCache, TakesTheColumnsOfWhatIsKept) {
  lk_kv_columns step{};
  step.batch = 2, step.heads = 1, step.rows = 2, step.from_columns = 6, step.to_columns = 4;
  std::vector<float> from(12), to(16, 9);
  for (size_t i = 0; i < from.size(); i++) from[i] = float(i);
  std::vector<int64_t> lengths = {3, 4}, positions = {4, 5, 2, 3};
  void *const pointers[] = {from.data(), to.data(), lengths.data(), positions.data()};
  LK_ASSERT_OK(lk_kv_columns_kernel(&step, pointers, LK_ERR));
  EXPECT_THAT(to, ::testing::ElementsAre(3, 4, 5, 0, 9, 10, 11, 0, 0, 1, 2, 3, 6, 7, 8, 9));
}

} // namespace
