// Value keys have all of a work, and nothing else is read when a value is built.
#include "tests/keys/random_key.h"
#include "tests/ops/engine/random_work.h"

namespace {

using lk::OwnedIntern;
using lk::OwnedKey;
using ::testing::HasSubstr;

class ValueKey : public ::testing::Test {
protected:
  ValueKey() {
    LK_EXPECT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
    engine.name = word("test");
    engine.state = word("1.0 isa=3");
  }
  ~ValueKey() override {
    for (lk_key *key : fixed) lk_key_destroy(lk_allocator_default(), key);
  }
  uint32_t word(const std::string &text) {
    uint32_t id = 0;
    LK_EXPECT_OK(lk_intern_get(intern, text.data(), text.size(), &id, LK_ERR));
    return id;
  }
  OwnedKey key_of(const lk_work &work) {
    lk_key_builder builder;
    for (uint32_t kind = 0; kind < LK_WORK_KINDS && fixed[kind] == nullptr; kind++) {
      LK_EXPECT_OK(lk_value_key_fix(lk_allocator_default(), &engine, kind, &fixed[kind], LK_ERR));
    }
    memset(builder.inline_bytes, 0xa5, sizeof builder.inline_bytes);
    lk_value_key_begin(&builder, lk_allocator_default(), fixed, &work);
    return lk::finish(&builder);
  }
  OwnedIntern intern;
  lk_key_engine engine = {};
  lk_key *fixed[LK_WORK_KINDS] = {};
};

// As far as a work means anything: tensors that are there, post-ops up to their number.
void expect_same(const lk_work &a, const lk_work &b) {
  lk_work of[2] = {a, b};
  for (lk_work &work : of) {
    for (uint32_t role = 0; role < LK_ROLES; role++) {
      if ((work.roles >> role & 1) == 0) work.tensors[role] = {};
    }
    for (uint32_t i = work.n_post_ops; i < LK_WORK_POST_OPS; i++) work.post_ops[i] = {};
  }
  EXPECT_EQ(memcmp(&of[0], &of[1], sizeof of[0]), 0);
}

TEST_F(ValueKey, IsReadAsTheWorkThatItWasMadeOf) {
  lk::RandomWorks works(1);
  for (int i = 0; i < 2000; i++) {
    const lk_work work = works.make();
    lk_work read;
    LK_ASSERT_OK(lk_value_key_read(key_of(work), &read, LK_ERR));
    expect_same(work, read);
    if (HasFailure()) return;
  }
}

TEST_F(ValueKey, DiffersWhereWorksDiffer) {
  lk::RandomWorks works(2);
  for (int i = 0; i < 10000; i++) {
    const lk_work work = works.make(), other = works.change(work);
    const OwnedKey a = key_of(work), b = key_of(other);
    ASSERT_FALSE(lk_key_equal(a, b)) << lk::key_text(intern, a);
    ASSERT_TRUE(lk_key_equal(a, key_of(work)));
  }
}

TEST_F(ValueKey, NamesTheEngine) {
  const lk_allocator *allocator = lk_allocator_default();
  OwnedKey before;
  LK_ASSERT_OK(lk_value_key_fix(allocator, &engine, LK_WORK_CONV, before.out(), LK_ERR));
  for (uint32_t *member :
       {&engine.name, &engine.state, &engine.device_kind, &engine.device_index}) {
    const uint32_t kept = *member;
    OwnedKey after;
    *member = word("another");
    LK_ASSERT_OK(lk_value_key_fix(allocator, &engine, LK_WORK_CONV, after.out(), LK_ERR));
    EXPECT_FALSE(lk_key_equal(before, after));
    *member = kept;
  }
}

// The way of a look-up, which compares a fixed part once, and the whole key are the same bytes.
TEST_F(ValueKey, IsWholeWhereItIsCompleted) {
  lk::RandomWorks works(5);
  for (int i = 0; i < 500; i++) {
    const lk_work work = works.make();
    const OwnedKey whole = key_of(work);
    lk_key_builder builder;
    lk_key key;
    lk_value_key_begin(&builder, lk_allocator_default(), fixed, &work);
    LK_ASSERT_OK(lk_key_finish_partial(&builder, &key, LK_ERR));
    lk_key_complete(&key);
    ASSERT_TRUE(lk_key_equal(whole, &key));
    lk_key_builder_destroy(&builder);
  }
}

TEST_F(ValueKey, HasATextThatIsReadBack) {
  lk::RandomWorks works(4);
  for (int i = 0; i < 500; i++) {
    const lk_work work = works.make();
    const OwnedKey key = key_of(work);
    const std::string text = lk::key_text(intern, key);
    OwnedKey parsed;
    LK_ASSERT_OK(lk_key_parse(intern, lk_allocator_default(), text.c_str(), parsed.out(), LK_ERR));
    ASSERT_EQ(lk::key_bytes(key), lk::key_bytes(parsed)) << text;
    lk_work read;
    LK_ASSERT_OK(lk_value_key_read(parsed, &read, LK_ERR));
    expect_same(work, read);
  }
}

TEST_F(ValueKey, TextNamesWhatItHas) {
  lk_work work;
  memset(&work, 0, sizeof work);
  work.kind = LK_WORK_LAYER_NORM;
  work.roles = 1u << LK_ROLE_SRC;
  const int64_t dims[] = {4, 768};
  work.tensors[LK_ROLE_SRC] = lk_tensor_desc_make(LK_F32, 2, dims);
  work.axes = 2;
  work.epsilon = 0.5f;
  EXPECT_EQ(lk::key_text(intern, key_of(work)),
            "value:fixed=96;op=layer_norm;precision=f32;engine=name:test,state:1.0 isa%3D3;"
            "tensor.src=4x768:f32;attr.axes=[2];number.epsilon=value:0.5");
}

TEST_F(ValueKey, TextNamesFunctions) {
  lk_work work;
  memset(&work, 0, sizeof work);
  work.kind = LK_WORK_ELEMENT;
  work.roles = 1u << LK_ROLE_SRC | 1u << LK_ROLE_OPERAND;
  const int64_t dims[] = {4, 768};
  work.tensors[LK_ROLE_SRC] = work.tensors[LK_ROLE_OPERAND] = lk_tensor_desc_make(LK_F32, 2, dims);
  work.n_post_ops = 3;
  work.post_ops[0] = {LK_FUNCTION_SHIFT_RIGHT, LK_ROLE_OPERAND, 0, 0};
  work.post_ops[1] = {LK_FUNCTION_ELU, 0, 0.5f, 1};
  work.post_ops[2] = {LK_POST_RELU, 0, 0, 0};
  EXPECT_EQ(lk::key_text(intern, key_of(work)),
            "value:fixed=96;op=element;precision=f32;engine=name:test,state:1.0 isa%3D3;"
            "tensor.src=4x768:f32;tensor.operand=4x768:f32;post_op=kind:shift_right,input:28;"
            "post_op=kind:elu,input:-1,alpha:0.5,beta:1;post_op=kind:relu,input:-1");
}

TEST_F(ValueKey, TextSaysHowIsAttended) {
  lk_work work;
  memset(&work, 0, sizeof work);
  work.kind = LK_WORK_ATTENTION;
  work.roles = 1u << LK_ROLE_KEYS | 1u << (LK_ROLES - 1);
  const int64_t dims[] = {1, 2};
  work.tensors[LK_ROLE_KEYS] = work.tensors[LK_ROLES - 1] = lk_tensor_desc_make(LK_F32, 2, dims);
  work.attention.keys = 9;
  work.attention.k = {1, 0, -2, 3};
  work.attention.left = -1;
  work.attention.scale = 0.5f;
  work.attention.hidden = -INFINITY;
  EXPECT_EQ(lk::key_text(intern, key_of(work)),
            "value:fixed=96;op=attention;precision=f32;engine=name:test,state:1.0 isa%3D3;"
            "tensor.keys=1x2:f32;tensor.operand=1x2:f32,index:3;attr.keys=[9];"
            "attr.k_place=[1,0,-2,3];attr.left=[-1];number.scale=value:0.5;"
            "number.hidden=value:0xff800000");
}

TEST_F(ValueKey, TextSaysHowIsReordered) {
  lk_work work;
  memset(&work, 0, sizeof work);
  work.kind = LK_WORK_REORDER;
  work.roles = 1u << LK_ROLE_SRC;
  const int64_t dims[] = {2, 3};
  work.tensors[LK_ROLE_SRC] = lk_tensor_desc_make(LK_I64, 2, dims);
  work.order[0] = 1;
  EXPECT_EQ(lk::key_text(intern, key_of(work)),
            "value:fixed=96;op=reorder;precision=f32;engine=name:test,state:1.0 isa%3D3;"
            "tensor.src=2x3:i64;attr.order=[1,0,0,0,0,0,0,0]");
}

TEST_F(ValueKey, RefusesWhatIsNoWork) {
  const struct {
    const char *text, *sentence;
  } bad[] = {
      {"user:out=x", "another kind"},
      {"value:op=Conv", "another kind"},
      {"value:op=conv;tensor.input=1:f32", "a tensor of an unknown role"},
      {"value:op=conv;tensor.src=1:f32,index:1", "a tensor of an unknown role"},
      {"value:op=conv;tensor.operand=1:f32,index:9", "a tensor of an unknown role"},
      {"value:op=conv;attr.epsilon=[1]", "a number of an unknown name"},
      {"value:op=conv;attr.groups=[1,2]", "a number of an unknown name"},
      {"value:op=conv;number.groups=value:1", "a number of an unknown name"},
      {"value:op=conv;content.src=id:1", "a record of an unknown type"},
      {"value:op=element;post_op=kind:max,input:28", "a post-op without its operand"},
      {"value:op=conv;post_op=kind:add,input:32", "an operand that is none"},
      {"value:op=conv;post_op=kind:add,input:3", "an operand that is none"},
      {"value:op=conv;post_op=kind:add,input:28", "a post-op without its operand"},
      {"value:op=conv;attr.kernel=[3,3];attr.strides=[1]", "a number of an unknown name or count"},
      {"value:op=conv;attr.axes=[-1]", "a number out of its range"},
      {"value:op=conv;attr.orders=[0,65536]", "a number out of its range"},
      {"value:op=reorder;attr.order=[0,256]", "a number out of its range"},
      {"value:op=attention;attr.q_place=[1,2,3,4,5]", "a number of an unknown name or count"},
      {"value:op=attention;attr.sink=[-1]", "a number out of its range"},
      {"value:op=conv;attr.kernel=[1,1,1,1]", "a number of an unknown name or count"},
  };
  for (const auto &each : bad) {
    SCOPED_TRACE(each.text);
    OwnedKey key;
    lk_work work;
    LK_ASSERT_OK(lk_key_parse(intern, lk_allocator_default(), each.text, key.out(), LK_ERR));
    LK_EXPECT_STATUS(LK_MALFORMED, lk_value_key_read(key, &work, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(each.sentence));
  }
}

} // namespace
