// What rows of attention refuse, and a step of text generation by hand.
#include <cmath>

#include "tests/harness/op_tester.h"
#include "tests/ops/numbers.h"

namespace {

using lk::OpTester;
using lk::tensor;
using lk::Value;

Value zeros(const lk::Dims &dims) {
  return tensor<float>(dims, std::vector<float>(size_t(lk::count_of(dims))));
}

// A step of one row of two heads that share one of two elements, behind one row in a buffer of
// three.
OpTester step(int32_t last = 1, int32_t total = 2) {
  OpTester test("GroupQueryAttention", 1);
  test.domain("com.microsoft").attr("num_heads", 2).attr("kv_num_heads", 1).attr_float("scale", 1);
  test.input(tensor<float>({1, 1, 4}, {0, 0, 0, 100}));
  test.input(tensor<float>({1, 1, 2}, {1, 0})).input(tensor<float>({1, 1, 2}, {6, 8}));
  test.input(tensor<float>({1, 1, 3, 2}, {0, 1, 9, 9, 9, 9}));
  test.input(tensor<float>({1, 1, 3, 2}, {2, 4, 9, 9, 9, 9}));
  test.input(tensor<int32_t>({1}, {last})).input(tensor<int32_t>({}, {total}));
  return test;
}

TEST(GroupQueryAttention, AttendsTheBufferAndTheNewRow) {
  step()
      .expect(tensor<float>({1, 1, 4}, {4, 6, 2, 4})) // equal scores, and 0 beside 100
      .expect(tensor<float>({1, 1, 3, 2}, {0, 1, 1, 0, 0, 0}))
      .expect(tensor<float>({1, 1, 3, 2}, {2, 4, 6, 8, 0, 0}))
      .run();
}

TEST(GroupQueryAttention, ASinkTakesAPartOfEachRow) {
  step().attr("smooth_softmax", 1).expect(tensor<float>({1, 1, 4}, {8.0F / 3, 4, 2, 4})).run();
}

OpTester added(OpTester test, const Value &bias) {
  for (int i = 0; i < 3; i++) test.absent(); // up to position_ids
  return test.input(bias);
}

// As step(), with scores 1 and 2 higher.
OpTester seen(int64_t stage) {
  OpTester test = added(step(), tensor<float>({1, 1, 1, 2}, {1, 2}));
  return test.attr("qk_output", stage);
}

void expect_step(OpTester &test, const std::vector<float> &y, const std::vector<float> &scores) {
  test.expect(tensor<float>({1, 1, 4}, y))
      .expect(tensor<float>({1, 1, 3, 2}, {0, 1, 1, 0, 0, 0}))
      .expect(tensor<float>({1, 1, 3, 2}, {2, 4, 6, 8, 0, 0}))
      .expect(tensor<float>({1, 2, 1, 2}, scores))
      .run();
}

TEST(GroupQueryAttention, ShowsScores) {
  const float less = 1 / (1 + std::exp(1.0F)), more = 1 - less;
  const float y0 = 2 * less + 6 * more, y1 = 4 * less + 8 * more;
  OpTester none = seen(0), before = seen(1), behind = seen(2);
  expect_step(none, {y0, y1, 2, 4}, {0, 0, 0, 0});
  expect_step(before, {y0, y1, 2, 4}, {1, 2, 101, 2});
  expect_step(behind, {y0, y1, 2, 4}, {less, more, 1, 0});
}

// As step(), of halves.
TEST(GroupQueryAttention, ShowsScoresOfHalves) {
  const auto halves = [](const lk::Dims &dims, const std::vector<double> &values) {
    return lk::numbers(LK_F16, dims, values);
  };
  OpTester test("GroupQueryAttention", 1);
  test.domain("com.microsoft").attr("num_heads", 2).attr("kv_num_heads", 1).attr_float("scale", 1);
  test.attr("qk_output", 1).input(halves({1, 1, 4}, {0, 0, 0, 100}));
  test.input(halves({1, 1, 2}, {1, 0})).input(halves({1, 1, 2}, {6, 8}));
  test.input(halves({1, 1, 3, 2}, {0, 1, 9, 9, 9, 9}));
  test.input(halves({1, 1, 3, 2}, {2, 4, 9, 9, 9, 9}));
  test.input(tensor<int32_t>({1}, {1})).input(tensor<int32_t>({}, {2}));
  test.expect(halves({1, 1, 4}, {4, 6, 2, 4}))
      .expect(halves({1, 1, 3, 2}, {0, 1, 1, 0, 0, 0}))
      .expect(halves({1, 1, 3, 2}, {2, 4, 6, 8, 0, 0}))
      .expect(halves({1, 2, 1, 2}, {0, 0, 100, 0}))
      .run();
}

TEST(GroupQueryAttention, ShowsNoScoresBeforeAWindow) {
  OpTester before = seen(1), behind = seen(2);
  before.attr("local_window_size", 1);
  behind.attr("local_window_size", 1);
  expect_step(before, {6, 8, 6, 8}, {0, 2, 0, 2});
  expect_step(behind, {6, 8, 6, 8}, {0, 1, 0, 1});
}

TEST(GroupQueryAttention, ShowsWhatASinkLeaves) {
  OpTester behind = added(step(), tensor<float>({1, 1, 1, 2}, {0, 0}));
  behind.attr("qk_output", 2).input(tensor<float>({2}, {-INFINITY, 100}));
  expect_step(behind, {4, 6, 1, 2}, {0.5F, 0.5F, 0.5F, 0});
}

// A prompt of two batches, whose second one has one row.
TEST(GroupQueryAttention, ShowsNoScoresOfPadding) {
  OpTester test("GroupQueryAttention", 1);
  test.domain("com.microsoft").attr("num_heads", 1).attr("kv_num_heads", 1).attr_float("scale", 1);
  const Value ones = tensor<float>({2, 2, 1}, {1, 1, 1, 1});
  test.input(ones).input(tensor<float>({2, 2, 1}, {1, 2, 3, 4})).input(ones).absent().absent();
  test.input(tensor<int32_t>({2}, {1, 0})).input(tensor<int32_t>({}, {2})).attr("qk_output", 1);
  test.expect(ones)
      .expect(tensor<float>({2, 1, 2, 1}, {1, 2, 3, 4}))
      .expect(tensor<float>({2, 1, 2, 1}, {1, 1, 1, 1}))
      .expect(tensor<float>({2, 1, 2, 2}, {1, 0, 1, 2, 3, 0, 3, 0}))
      .run();
}

// As step(), of a sequence of `total` rows with this one, of which the cache keeps the last ones.
OpTester sliding(int32_t total, const std::vector<float> &keys, const std::vector<float> &values) {
  OpTester test("GroupQueryAttention", 1);
  test.domain("com.microsoft").attr("num_heads", 2).attr("kv_num_heads", 1).attr_float("scale", 1);
  test.attr("sliding_window_cache", 1).attr("local_window_size", 2);
  test.input(tensor<float>({1, 1, 4}, {0, 0, 0, 100}));
  test.input(tensor<float>({1, 1, 2}, {1, 0})).input(tensor<float>({1, 1, 2}, {6, 8}));
  test.input(tensor<float>({1, 1, 3, 2}, keys)).input(tensor<float>({1, 1, 3, 2}, values));
  return test.input(tensor<int32_t>({1}, {total - 1})).input(tensor<int32_t>({}, {total}));
}

TEST(GroupQueryAttention, FillsASlidingCache) {
  sliding(5, {9, 9, 0, 1, 7, 7}, {9, 9, 2, 4, 7, 7}) // 2 rows of 4 are kept
      .expect(tensor<float>({1, 1, 4}, {4, 6, 2, 4}))
      .expect(tensor<float>({1, 1, 3, 2}, {9, 9, 0, 1, 1, 0}))
      .expect(tensor<float>({1, 1, 3, 2}, {9, 9, 2, 4, 6, 8}))
      .run();
}

TEST(GroupQueryAttention, DropsRowsOfAFullSlidingCache) {
  sliding(6, {9, 9, 9, 9, 0, 1}, {9, 9, 9, 9, 2, 4})
      .expect(tensor<float>({1, 1, 4}, {4, 6, 2, 4}))
      .expect(tensor<float>({1, 1, 3, 2}, {0, 1, 1, 0, 0, 0}))
      .expect(tensor<float>({1, 1, 3, 2}, {2, 4, 6, 8, 0, 0}))
      .run();
}

TEST(GroupQueryAttention, AddsToScoresByPositionWhereTheCacheSlides) {
  added(sliding(6, {9, 9, 9, 9, 0, 1}, {9, 9, 9, 9, 2, 4}),
        tensor<float>({1, 1, 1, 6}, {9, 9, 9, 9, 0, -100}))
      .expect(tensor<float>({1, 1, 4}, {2, 4, 2, 4}))
      .run();
}

// Each of four rows attends itself alone; the cache has room for two.
TEST(GroupQueryAttention, AttendsMoreRowsThanASlidingCacheKeeps) {
  OpTester test("GroupQueryAttention", 1);
  test.domain("com.microsoft").attr("num_heads", 1).attr("kv_num_heads", 1);
  test.attr("sliding_window_cache", 1).attr("local_window_size", 1);
  const Value rows = tensor<float>({1, 4, 1}, {1, 2, 3, 4});
  test.input(rows).input(rows).input(rows).input(zeros({1, 1, 2, 1})).input(zeros({1, 1, 2, 1}));
  test.input(tensor<int32_t>({1}, {3})).input(tensor<int32_t>({}, {4}));
  test.expect(rows)
      .expect(tensor<float>({1, 1, 2, 1}, {3, 4}))
      .expect(tensor<float>({1, 1, 2, 1}, {3, 4}))
      .run();
}

// As step(), with a cache of bytes; `scales`: those of values.
OpTester quantized(int64_t bits, int64_t scales) {
  OpTester test("GroupQueryAttention", 1);
  test.domain("com.microsoft").attr("num_heads", 2).attr("kv_num_heads", 1).attr_float("scale", 1);
  test.attr_text("k_quant_type", "PER_TENSOR").attr_text("v_quant_type", "PER_CHANNEL");
  test.attr("kv_cache_bit_width", bits);
  test.input(tensor<float>({1, 1, 4}, {0, 0, 0, 100}));
  test.input(tensor<float>({1, 1, 2}, {1, 0})).input(tensor<float>({1, 1, 2}, {6, 8.2F}));
  test.input(tensor<int8_t>({1, 1, 3, 2}, {0, 2, 9, 9, 9, 9}));
  test.input(tensor<int8_t>({1, 1, 3, 2}, {4, 4, 9, 9, 9, 9}));
  test.input(tensor<int32_t>({1}, {1})).input(tensor<int32_t>({}, {2}));
  for (int i = 0; i < 5; i++) test.absent(); // up to head_sink
  std::vector<float> of_values(size_t(scales), 1.0F);
  of_values[0] = 0.5F;
  test.input(tensor<float>({1}, {0.5F})).input(tensor<float>({1, 1, 1, scales}, of_values));
  return test;
}

TEST(GroupQueryAttention, KeepsWholeNumbers) {
  quantized(8, 2)
      .expect(tensor<float>({1, 1, 4}, {4, 6, 2, 4}))
      .expect(tensor<int8_t>({1, 1, 3, 2}, {0, 2, 2, 0, 0, 0}))
      .expect(tensor<int8_t>({1, 1, 3, 2}, {4, 4, 12, 8, 0, 0}))
      .run();
}

TEST(GroupQueryAttention, RefusesWhatItDoesNotHave) {
  step().attr_text("v_quant_type", "PER_TENSOR").expect_create(LK_INVALID_ARGUMENT, "v_quant_type");
  step().attr_text("k_quant_type", "PER_ROW").expect_create(LK_UNSUPPORTED, "k_quant_type");
  quantized(0, 2).expect_create(LK_UNSUPPORTED, "kv_cache_bit_width");
  quantized(4, 2).expect_bind(LK_INVALID_ARGUMENT, "past_key");
  quantized(8, 3).expect_bind(LK_INVALID_ARGUMENT, "v_scale");
  step().attr("local_window_size", 0).expect_create(LK_OUT_OF_RANGE, "local_window_size");
  step().attr("do_rotary", 1).expect_bind(LK_INVALID_ARGUMENT, "cos_cache");
  OpTester scaled = step();
  for (int i = 0; i < 7; i++) scaled.absent(); // up to v_scale
  scaled.input(zeros({2})).expect_bind(LK_UNSUPPORTED, "q_norm_weight");
}

TEST(GroupQueryAttention, RefusesScoresThatItCannotShow) {
  step().attr("qk_output", 3).expect_create(LK_OUT_OF_RANGE, "'qk_output' is 3, 0 to 2");
  step().attr("qk_output", -1).expect_create(LK_OUT_OF_RANGE, "'qk_output' is -1");
  step().attr("qk_output", 2).expect_bind(LK_INVALID_ARGUMENT, "output 'output_qk' is absent");
  sliding(5, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0})
      .attr("qk_output", 1)
      .expect_create(LK_UNSUPPORTED, "'qk_output' is 1, 0 is supported where 'sliding_window_c");
}

TEST(GroupQueryAttention, RefusesASlidingCacheWithoutRoomForItsWindow) {
  step()
      .attr("sliding_window_cache", 1)
      .expect_create(LK_INVALID_ARGUMENT, "'local_window_size' is missing");
  step()
      .attr("sliding_window_cache", 1)
      .attr("local_window_size", 4)
      .expect_bind(LK_INVALID_ARGUMENT,
                   "past_key has room for 3 rows, it must have at least the 4");
  OpTester test("GroupQueryAttention", 1);
  test.domain("com.microsoft").attr("num_heads", 1).attr("kv_num_heads", 1);
  test.attr("sliding_window_cache", 1).attr("local_window_size", 1);
  test.input(zeros({1, 1, 3})).absent().absent().absent().absent();
  test.input(tensor<int32_t>({1}, {0})).input(tensor<int32_t>({}, {1}));
  test.expect_bind(LK_INVALID_ARGUMENT, "'past_key' and 'past_value' are absent");
}

TEST(GroupQueryAttention, RefusesLengthsThatDoNotFit) {
  step(1, 5).expect_bind(LK_OUT_OF_RANGE, "total_sequence_length is 5");
  step(2, 2).expect_run(LK_OUT_OF_RANGE, "batch 0 has 3 rows");
  step(9, 9)
      .attr("sliding_window_cache", 1)
      .attr("local_window_size", 2)
      .expect_run(LK_OUT_OF_RANGE, "batch 0 has 10 rows");
}

TEST(Attention, IsNotTouchedByWhatLiesBehindALength) {
  OpTester test("Attention", 24);
  test.input(tensor<float>({1, 1, 1, 1}, {1})).input(tensor<float>({1, 1, 2, 1}, {3, NAN}));
  test.input(tensor<float>({1, 1, 2, 1}, {5, NAN})).absent().absent().absent();
  test.input(tensor<int64_t>({1}, {1})).attr("qk_matmul_output_mode", 3);
  test.expect(tensor<float>({1, 1, 1, 1}, {5}))
      .expect(tensor<float>({1, 1, 2, 1}, {3, NAN}))
      .expect(tensor<float>({1, 1, 2, 1}, {5, NAN}))
      .expect(tensor<float>({1, 1, 1, 2}, {1, 0}))
      .run();
}

// Scores so low that beside any other number nothing would be left of their powers.
TEST(Attention, IsNotTouchedByWhatItDoesNotSee) {
  for (const int64_t rows : {5, 21, 70}) {
    std::vector<float> values, means;
    float sum = 0;
    for (int64_t i = 0; i < rows; i++) {
      values.push_back(float(i * i % 7));
      sum += values.back();
      means.push_back(sum / float(i + 1));
    }
    const lk::Dims dims = {1, 1, rows, 1};
    OpTester("Attention", 23)
        .attr("is_causal", 1)
        .input(tensor<float>(dims, std::vector<float>(size_t(rows), 1)))
        .input(tensor<float>(dims, std::vector<float>(size_t(rows), -1000)))
        .input(tensor<float>(dims, values))
        .expect(tensor<float>(dims, means))
        .run();
  }
}

// Two queries that weigh two keys equally, where a mask does not hide one.
OpTester masked(const Value &mask) {
  OpTester test("Attention", 23);
  test.input(zeros({1, 1, 2, 1})).input(zeros({1, 1, 2, 1}));
  return test.input(tensor<float>({1, 1, 2, 1}, {3, 5})).input(mask);
}

TEST(Attention, SeesWhatItsMaskLeaves) {
  const Value seen = tensor<float>({1, 1, 2, 1}, {3, 4});
  masked(tensor<float>({2, 2}, {0, -INFINITY, 7, 7})).expect(seen).run();
  masked(tensor<uint8_t>({1, 2, 2}, {1, 0, 1, 1}, LK_BOOL)).expect(seen).run();
  masked(tensor<float>({2, 1}, {0, 0})).expect(tensor<float>({1, 1, 2, 1}, {3, 3})).run();
}

TEST(Attention, RefusesAMaskThatDoesNotFit) {
  for (const lk::Dims &dims :
       std::vector<lk::Dims>{{}, {3}, {3, 2}, {2, 2, 2}, {2, 1, 2, 2}, {1, 1, 1, 2, 2}}) {
    masked(zeros(dims)).expect_bind(LK_INVALID_ARGUMENT, "attn_mask");
  }
}

// Its powers of e are as much work in a step of their own as between the products.
TEST(Attention, CountsAsMuchWorkWhereScoresAreShown) {
  const lk::Dims dims = {2, 3, 50, 8}, scores = {2, 3, 50, 50};
  const auto tester = [&](bool is_shown) {
    OpTester test("Attention", 23);
    test.input(zeros(dims)).input(zeros(dims)).input(zeros(dims));
    for (int i = 0; i < 3; i++) test.expect(zeros(dims)); // Y, and what K and V have become
    return is_shown ? test.expect(zeros(scores)) : test;
  };
  EXPECT_GE(tester(true).work_of_steps().flops, tester(false).work_of_steps().flops);
}

// What it computes in between stays in the cache.
TEST(Attention, CountsWhatItReadsAndWrites) {
  const lk::Dims dims = {2, 3, 50, 8};
  OpTester test("Attention", 23);
  for (int i = 0; i < 3; i++) test.input(zeros(dims));
  EXPECT_EQ(test.expect(zeros(dims)).work_of_steps().bytes, 4.0 * 4 * 2 * 3 * 50 * 8);
}

OpTester projected() {
  OpTester test("Attention", 1);
  test.domain("com.microsoft").attr("num_heads", 2);
  return test.input(zeros({1, 3, 4})).input(zeros({4, 12}));
}

TEST(AttentionOfMicrosoft, RefusesWhatItDoesNotHave) {
  projected().attr("do_rotary", 1).expect_create(LK_UNSUPPORTED, "do_rotary");
  projected()
      .attr("past_present_share_buffer", 1)
      .expect_create(LK_UNSUPPORTED, "past_present_share_buffer");
  projected()
      .attr_ints("qkv_hidden_sizes", {4, 2, 4})
      .expect_create(LK_INVALID_ARGUMENT, "qkv_hidden_sizes");
  projected()
      .absent()
      .input(tensor<int32_t>({2, 2}, {1, 1, 1, 1}))
      .expect_bind(LK_INVALID_ARGUMENT, "mask_index");
}

TEST(AttentionOfMicrosoft, RefusesAPastThatDoesNotFit) {
  for (const lk::Dims &dims : std::vector<lk::Dims>{
           {2, 1, 2, 3}, {1, 1, 2, 3, 2}, {2, 2, 2, 3, 2}, {2, 1, 1, 3, 2}, {2, 1, 2, 3, 3}}) {
    projected().absent().absent().input(zeros(dims)).expect_bind(LK_INVALID_ARGUMENT, "the past");
  }
}

// One query and one key of a size that no block holds: one row has no distance to the next.
// Two rows of a query for three keys, and what each mask and the bias may be.
TEST(MultiHeadAttention, RefusesMasksAndABiasThatDoNotFit) {
  const auto tester = [](int64_t batch = 2) {
    OpTester of("MultiHeadAttention", 1);
    of.domain("com.microsoft").attr("num_heads", 2);
    return of.input(zeros({batch, 2, 4})).input(zeros({batch, 3, 4})).input(zeros({batch, 3, 4}));
  };
  const auto lengths = [](const lk::Dims &dims) {
    size_t count = 1;
    for (const int64_t dim : dims) count *= size_t(dim);
    return lk::tensor<int32_t>(dims, std::vector<int32_t>(count, 1));
  };
  for (const lk::Dims &dims :
       std::vector<lk::Dims>{{}, {3}, {2, 2}, {1, 3}, {2, 3, 3}, {2, 2, 2}, {2, 2, 3, 1}}) {
    tester().absent().input(lengths(dims)).expect_bind(LK_INVALID_ARGUMENT, "key_padding_mask");
  }
  tester(0).absent().input(lengths({})).expect_bind(LK_INVALID_ARGUMENT, "key_padding_mask");
  for (const lk::Dims &dims : std::vector<lk::Dims>{
           {}, {2, 2, 3}, {3, 2, 2, 3}, {2, 3, 2, 3}, {2, 2, 1, 3}, {2, 2, 2, 1}}) {
    tester()
        .absent()
        .absent()
        .input(zeros(dims))
        .expect_bind(LK_INVALID_ARGUMENT, "attention_bias");
  }
  for (const lk::Dims &dims : std::vector<lk::Dims>{{}, {11}, {12, 1}}) {
    tester().input(zeros(dims)).expect_bind(LK_INVALID_ARGUMENT, "the bias");
  }
}

TEST(FusedAttention, NamesABiasThatDoesNotFit) {
  for (const lk::Dims &dims :
       std::vector<lk::Dims>{{3, 2, 3, 3}, {2, 3, 3, 3}, {2, 2, 1, 3}, {2, 2, 3, 1}, {2, 2, 3}}) {
    OpTester("Attention", 1)
        .domain("com.microsoft")
        .attr("num_heads", 2)
        .input(zeros({2, 3, 4}))
        .input(zeros({4, 12}))
        .input(zeros({12}))
        .absent()
        .absent()
        .input(zeros(dims))
        .expect_bind(LK_INVALID_ARGUMENT, "attention_bias");
  }
}

TEST(FusedAttention, TakesOneLongRow) {
  const int64_t size = 1 << 18;
  for (const int64_t batch : {1, 3}) {
    std::vector<float> values(size_t(batch) * 8);
    for (size_t i = 0; i < values.size(); i++) values[i] = float(i);
    const Value v = tensor<float>({batch, 1, 8}, values);
    OpTester test("Attention", 1);
    test.domain("latchkey").input(zeros({batch, 1, size})).input(zeros({batch, 1, size})).input(v);
    test.expect(v).run();
  }
}

// Scores of one number each: row r has q[r] * k[c] plus a mask, or what is filled in.
struct Scores {
  std::vector<float> q, k, v;
  std::vector<uint8_t> stays; // or else `mask`
  std::vector<float> mask;
  bool zeros = false;
  float filter = -INFINITY;
};

std::vector<float> attended(const Scores &s) {
  const size_t keys = s.k.size();
  std::vector<float> y;
  for (size_t r = 0; r < s.q.size(); r++) {
    std::vector<double> p;
    double most = -INFINITY, sum = 0, all = 0;
    for (size_t c = 0; c < keys; c++) {
      double x = double(s.q[r] * s.k[c]); // as f32, which may overflow
      if (!s.mask.empty()) x += double(s.mask[r * keys + c]);
      if (!s.stays.empty() && s.stays[r * keys + c] == 0) x = double(s.filter);
      p.push_back(x);
      if (x > most) most = x;
    }
    for (double &x : p) sum += x = std::exp(x - most);
    for (size_t c = 0; c < keys; c++) {
      const double weight = s.zeros && std::isnan(p[c] / sum) ? 0 : p[c] / sum;
      all += weight * double(s.v[c]);
    }
    y.push_back(float(all));
  }
  return y;
}

void check_scores(const Scores &s) {
  const int64_t rows = int64_t(s.q.size()), keys = int64_t(s.k.size());
  OpTester test("Attention", 1);
  test.domain("latchkey").attr("zeros", s.zeros).attr_float("filter", s.filter);
  test.input(tensor<float>({1, rows, 1}, s.q)).input(tensor<float>({1, keys, 1}, s.k));
  test.input(tensor<float>({1, keys, 1}, s.v));
  if (!s.mask.empty()) test.input(tensor<float>({1, rows, keys}, s.mask));
  if (!s.stays.empty()) test.input(tensor<uint8_t>({1, rows, keys}, s.stays, LK_BOOL));
  test.expect(tensor<float>({1, rows, 1}, attended(s))).run();
}

// What softmax makes NaN of becomes 0, whatever the reason: NaN or infinities in Q or in the mask.
TEST(FusedAttention, ZerosStandForEveryNaN) {
  const std::vector<float> edges = {0, 1, -INFINITY, INFINITY, NAN};
  for (const bool zeros : {false, true}) {
    for (const float v : {2.0F, INFINITY, NAN}) {
      for (const int64_t many : {1, 40}) { // few rows, and blocks
        Scores s;
        s.zeros = zeros;
        s.k = {1, 0.5F, -1};
        s.v = {1, v, 3};
        for (int64_t i = 0; i < many; i++) {
          for (const float q : {1.0F, INFINITY, NAN}) {
            for (const float a : edges) {
              for (const float b : {0.0F, -INFINITY}) {
                s.q.push_back(q);
                for (const float x : {a, b, b}) s.mask.push_back(x);
              }
            }
          }
        }
        check_scores(s);
      }
    }
  }
}

// A score that is filled is gone, though it was NaN or infinite.
TEST(FusedAttention, FilledScoresDoNotMatter) {
  for (const float filter : {-INFINITY, -1e38F}) {
    for (const float edge : {NAN, INFINITY, -INFINITY, 3e38F}) {
      Scores s;
      s.filter = filter;
      s.q = {1, 2, 1, edge};
      s.k = {1, edge, 0};
      s.v = {1, 2, 3};
      s.stays = {1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0};
      check_scores(s);
    }
  }
}

TEST(FusedAttention, WritesTheLayoutThatIsWishedFor) {
  for (const lk_layout wish : {LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_HEADS_INSIDE}) {
    OpTester test("Attention", 1);
    test.domain("latchkey").input(zeros({1, 2, 3, 1})).input(zeros({1, 2, 1, 1}));
    test.input(tensor<float>({1, 2, 1, 2}, {1, 2, 3, 4})).wish(wish).expect_layout(wish);
    test.expect(tensor<float>({1, 2, 3, 2}, {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4})).run();
  }
}

TEST(FusedAttention, HeadsOfNoElementsHaveScoresOfZero) {
  OpTester test("Attention", 1);
  test.domain("latchkey").input(zeros({2, 3, 0})).input(zeros({2, 4, 0}));
  test.input(tensor<float>({1, 4, 1}, {1, 2, 3, 6}));
  test.expect(tensor<float>({2, 3, 1}, {3, 3, 3, 3, 3, 3})).run();
}

} // namespace
