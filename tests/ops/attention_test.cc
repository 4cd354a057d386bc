// What rows of attention refuse, and a step of text generation by hand.
#include "tests/harness/op_tester.h"

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
  step()
      .attr("smooth_softmax", 1)
      .expect(tensor<float>({1, 1, 4}, {8.0F / 3, 4, 2, 4}))
      .tolerance(1e-6)
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
  step().attr("sliding_window_cache", 1).expect_create(LK_UNSUPPORTED, "sliding_window_cache");
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

TEST(GroupQueryAttention, RefusesLengthsThatDoNotFit) {
  step(1, 5).expect_bind(LK_OUT_OF_RANGE, "total_sequence_length is 5");
  step(2, 2).expect_run(LK_OUT_OF_RANGE, "batch 0 has 3 rows");
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

// One query and one key of a size that no block holds: one row has no distance to the next.
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

} // namespace
