// Node descriptions that op_create refuses, whatever the operator does with its inputs.
#include "tests/plugin/handles.h"

namespace {

using lk::api;
using lk::Op;
using ::testing::HasSubstr;

class NodeDesc : public ::testing::Test {
protected:
  NodeDesc() {
    desc = host_node("Concat", inputs.data(), static_cast<uint32_t>(inputs.size()));
    desc.n_attrs = 2;
    desc.attrs = attrs;
  }
  void expect(lk_status status, const std::string &part) {
    Op op;
    LK_EXPECT_STATUS(status, api()->op_create(executor, &desc, op.out(), LK_ERR));
    EXPECT_EQ(op.get() != nullptr, status == LK_OK);
    if (status != LK_OK) {
      EXPECT_THAT(LK_MESSAGE, HasSubstr(part));
      EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to create Concat 'y'"));
    }
  }

  const lk::Context context = lk::open();
  const lk::Executor executor = lk::executor_in(context);
  int64_t axis = 0;
  float number = 1;
  std::vector<lk_node_input> inputs{70, lk_node_input{}};
  // Concat has no second one.
  lk_attr attrs[2] = {{"axis", LK_ATTR_INTS, 1, &axis}, {"other", LK_ATTR_FLOATS, 1, &number}};
  lk_node_desc desc{};
};

constexpr char UNKNOWN[] = "it has no attribute 'other'; it has axis";

TEST_F(NodeDesc, RefusesAttributesThatTheOperatorDoesNotHave) {
  expect(LK_INVALID_ARGUMENT, UNKNOWN);
  desc.n_attrs = 1;
  expect(LK_OK, "");
  attrs[0].name = "axes";
  expect(LK_INVALID_ARGUMENT, "it has no attribute 'axes', 'axis' may be meant; it has axis");
}

TEST_F(NodeDesc, RefusesOpsetsThatAreNotServed) {
  for (const char *op_type : {"Relu", "Concat", "GlobalAveragePool", "Clip"}) {
    for (const int32_t opset : {-1, 0, 3, 6, LK_MAX_OPSET + 1}) {
      Op op;
      desc.op_type = op_type;
      desc.opset = opset;
      LK_EXPECT_STATUS(LK_UNSUPPORTED, api()->op_create(executor, &desc, op.out(), LK_ERR));
      EXPECT_THAT(LK_MESSAGE, HasSubstr("opsets 7 to 28 have it here"));
    }
  }
  for (uint32_t i = 0; api()->op_row(i) != nullptr; i++) {
    const lk_op_row &row = *api()->op_row(i);
    if (row.domain[0] != '\0') continue;
    EXPECT_GE(row.since, LK_MIN_OPSET) << row.op_type;
  }
}

TEST_F(NodeDesc, RefusesAttributesThatAreThereTwiceOrNotAtAll) {
  attrs[1] = attrs[0];
  expect(LK_INVALID_ARGUMENT, "attribute 'axis' is there twice");
  desc.n_attrs = 0;
  expect(LK_INVALID_ARGUMENT, "attribute 'axis' is missing, it is required");
}

TEST_F(NodeDesc, RefusesAttributesOfAnotherType) {
  const int64_t two[] = {0, 1};
  const char text[] = "0";
  desc.n_attrs = 1;
  attrs[0] = {"axis", LK_ATTR_FLOATS, 1, &number};
  expect(LK_INVALID_ARGUMENT, "attribute 'axis' holds a float, it must hold an integer");
  attrs[0] = {"axis", LK_ATTR_STRING, 1, text};
  expect(LK_INVALID_ARGUMENT, "attribute 'axis' holds a string, it must hold an integer");
  attrs[0] = {"axis", LK_ATTR_INTS, 2, two};
  expect(LK_INVALID_ARGUMENT, "attribute 'axis' has 2 values, it must have one");
  attrs[0] = {"axis", LK_ATTR_INTS, 0, nullptr};
  expect(LK_INVALID_ARGUMENT, "attribute 'axis' has 0 values, it must have one");
}

TEST_F(NodeDesc, RefusesAttributesThatCannotBeRead) {
  for (uint32_t type : {0U, 6U, 99U}) {
    attrs[1].type = type;
    expect(LK_INVALID_ARGUMENT, "attribute other has type " + std::to_string(type));
  }
  attrs[1] = {nullptr, LK_ATTR_FLOATS, 1, &number};
  expect(LK_INVALID_ARGUMENT, "attribute NULL");
  attrs[1] = {"other", LK_ATTR_FLOATS, 1, nullptr};
  expect(LK_INVALID_ARGUMENT, "no data");
  attrs[1].count = 0;
  expect(LK_INVALID_ARGUMENT, UNKNOWN);
}

TEST_F(NodeDesc, RefusesTensorAttributesThatCannotBeRead) {
  lk_tensor tensor{lk::desc_of(LK_F32, {1}), &number};
  attrs[1] = {"other", LK_ATTR_TENSOR, 1, &tensor};
  expect(LK_INVALID_ARGUMENT, UNKNOWN);
  tensor.desc.layout = LK_LAYOUT_CHANNELS_LAST;
  expect(LK_INVALID_ARGUMENT, "attribute other must be plain and have data");
  tensor = {lk::desc_of(LK_F32, {1}), nullptr};
  expect(LK_INVALID_ARGUMENT, "attribute other must be plain and have data");
  tensor.desc.dims[0] = 0;
  expect(LK_INVALID_ARGUMENT, UNKNOWN);
  tensor.desc.dims[0] = -1;
  expect(LK_OUT_OF_RANGE, "other");
  tensor.desc.rank = 9;
  expect(LK_OUT_OF_RANGE, "rank 9");
}

TEST_F(NodeDesc, RefusesTextsThatAreNotThere) {
  const char *texts[] = {"tanh", "sigmoid"};
  attrs[1] = {"other", LK_ATTR_STRINGS, 2, texts};
  expect(LK_INVALID_ARGUMENT, UNKNOWN);
  texts[1] = nullptr;
  expect(LK_INVALID_ARGUMENT, "text 1 of attribute other is NULL");
}

TEST_F(NodeDesc, RefusesCountsWithoutArrays) {
  desc.attrs = nullptr;
  expect(LK_INVALID_ARGUMENT, "its count is not 0");
  desc.attrs = attrs;
  desc.inputs = nullptr;
  expect(LK_INVALID_ARGUMENT, "its count is not 0");
  desc.inputs = inputs.data();
  desc.n_post_ops = 1;
  expect(LK_INVALID_ARGUMENT, "its count is not 0");
}

// What is absent is kept as one bit of 64: further on, an absent input would count as one that
// comes.
TEST_F(NodeDesc, RefusesAnAbsentInputThatIsFarOut) {
  inputs[64].flags = LK_INPUT_ABSENT;
  expect(LK_OUT_OF_RANGE, "input 64 is absent");
}

// ---- owners of constants that are lent

struct Owner {
  static void retain(void *self) { static_cast<Owner *>(self)->held++; }
  static void release(void *self) { static_cast<Owner *>(self)->held--; }
  int held = 0;
  lk_owner owner = {sizeof owner, this, retain, release, {0, 0}, nullptr};
};

class NodeOwners : public ::testing::Test {
protected:
  lk_status create(uint32_t flags, const lk_owner *owner, lk::Op *op) {
    const lk_tensor table = {lk::desc_of(LK_F32, {4, 2}), values};
    const lk_node_input inputs[] = {{&table, flags, 0}, {nullptr, 0, 0}};
    const lk_owner *const owners[] = {owner, nullptr};
    lk_node_desc desc = host_node(op_type, inputs, 2);
    desc.owners = owners;
    return lk::api()->op_create(executor, &desc, op->out(), LK_ERR);
  }
  float values[8] = {};
  const char *op_type = "Gather";
  lk::Context context = lk::open();
  lk::Executor executor = lk::executor_in(context);
  Owner of;
};

TEST_F(NodeOwners, AreHeldByTheOpOfAConstantThatIsLent) {
  lk::Op lent, copied, of_nobody;
  LK_ASSERT_OK(create(0, &of.owner, &lent));
  EXPECT_EQ(of.held, 1);
  LK_ASSERT_OK(create(LK_INPUT_COPY, &of.owner, &copied));
  LK_ASSERT_OK(create(0, nullptr, &of_nobody));
  EXPECT_EQ(of.held, 1);
  lent.reset();
  EXPECT_EQ(of.held, 0);
  const lk_owner stays = {sizeof stays, nullptr, nullptr, nullptr, {0, 0}, nullptr};
  LK_EXPECT_OK(create(0, &stays, &lent));
}

TEST_F(NodeOwners, AreRefusedWhereTheyCannotBeHeld) {
  lk::Op op;
  lk_owner half = of.owner;
  half.release = nullptr;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, create(0, &half, &op));
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("it has retain alone, both or neither"));
  half.struct_size = 0;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, create(0, &half, &op));
  EXPECT_EQ(of.held, 0);
}

TEST_F(NodeOwners, AreGivenBackWhenTheNodeIsRefused) {
  lk::Op op;
  op_type = "Softmax"; // of one input
  EXPECT_NE(create(0, &of.owner, &op), LK_OK);
  EXPECT_EQ(of.held, 0);
}

} // namespace
