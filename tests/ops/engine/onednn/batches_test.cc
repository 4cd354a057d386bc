// Batches of matrices by the engine of oneDNN, in whatever order their dimensions lie in memory,
// and with batches of one, which repeat: `native` computes the same.
#include "tests/ops/engine/host.h"

namespace {

using lk::Case;
using lk::Dims;
using lk::Host;
using lk::Value;

// How a matrix of a batch lies: with its rows before the batch, and transposed.
struct Order {
  bool is_inside, is_turned;
};

Dims dims_of(Dims batch, int64_t rows, int64_t columns, Order order) {
  if (order.is_turned) std::swap(rows, columns);
  batch.insert(order.is_inside ? batch.begin() : batch.end(), rows);
  batch.push_back(columns);
  return batch;
}

Case product(const Dims &src, Order of_src, const Dims &weights, Order of_weights) {
  Case made;
  made.node.op = "FusedMatMul";
  made.node.domain = "com.microsoft";
  made.node.opset = 1;
  made.node.ints = {{"transA", {of_src.is_turned}},
                    {"transB", {of_weights.is_turned}},
                    {"transBatchA", {of_src.is_inside}},
                    {"transBatchB", {of_weights.is_inside}}};
  made.inputs = {lk::random(dims_of(src, 4, 5, of_src), 1),
                 lk::random(dims_of(weights, 5, 7, of_weights), 2)};
  return made;
}

bool broadcast(const Dims &a, const Dims &b) {
  for (size_t i = 0; i < a.size(); i++) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return false;
  }
  return true;
}

// Where a batch of one had a step of a row, oneDNN read memory behind the tensor.
TEST(Batches, LieInAnyOrder) {
  const std::vector<Dims> batches = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 3}, {3, 1}};
  const Order orders[] = {{false, false}, {false, true}, {true, false}, {true, true}};
  Host native("native"), onednn("onednn");
  for (const Dims &src : batches) {
    for (const Dims &weights : batches) {
      if (!broadcast(src, weights)) continue;
      for (const Order of_src : orders) {
        for (const Order of_weights : orders) {
          for (const bool is_constant : {false, true}) {
            Case each = product(src, of_src, weights, of_weights);
            if (is_constant) each.node.constants = {each.inputs[1]};
            SCOPED_TRACE(lk::text_of(each.inputs[0].dims()) + lk::text_of(each.inputs[1].dims()));
            Value expected, computed;
            native.run(each, &expected);
            onednn.run(each, &computed);
            if (HasFatalFailure()) return;
            ASSERT_TRUE(lk::all_close(expected, computed, {1e-5, 1e-5}));
          }
        }
      }
    }
  }
  if (lk::kHasPrimitives) {
    EXPECT_GT(onednn.works(), 500u);
  }
}

// oneDNN took them for the rows of one matrix, where weights are one for all of them.
TEST(Batches, OfBytesHaveSingleRowsThatLieApart) {
  Host native("native"), onednn("onednn");
  std::mt19937 random(3);
  const auto bytes = [&](const Dims &dims) {
    std::vector<int8_t> made(size_t(lk::count_of(dims)));
    for (int8_t &each : made) each = int8_t(random());
    return lk::tensor<int8_t>(dims, made);
  };
  for (const Dims &batch : {Dims{1, 3}, Dims{2, 2}, Dims{3, 3}}) {
    for (const Dims &weights : {Dims{1, 1, 18, 22}, Dims{1, 18, 22}, Dims{18, 22}}) {
      for (const bool is_constant : {false, true}) {
        Case each;
        each.node.op = "MatMulInteger";
        each.node.opset = 10;
        each.inputs = {bytes({batch[0], batch[1], 1, 18}), bytes(weights), bytes({}), bytes({})};
        each.layout = LK_LAYOUT_HEADS_INSIDE;
        if (is_constant) each.node.constants.assign(each.inputs.begin() + 1, each.inputs.end());
        SCOPED_TRACE(lk::text_of(each.inputs[0].dims()) + lk::text_of(weights));
        Value expected, computed;
        native.run(each, &expected);
        onednn.run(each, &computed);
        if (HasFatalFailure()) return;
        ASSERT_TRUE(lk::all_close(expected, computed, {0, 0}));
      }
    }
  }
  if (lk_isa_has_vnni()) {
    EXPECT_EQ(onednn.works(), 18u);
  }
}

} // namespace
