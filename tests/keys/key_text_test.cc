// Keys as text: printing and parsing are each other's inverse, and no two keys print alike.
#include <clocale>
#include <map>

#include "tests/keys/random_key.h"

namespace {

using lk::key_bytes;
using lk::key_text;
using lk::OwnedKey;
using ::testing::HasSubstr;

class KeyText : public ::testing::Test {
protected:
  void SetUp() override {
    LK_ASSERT_OK(lk_intern_create(lk_allocator_default(), intern.out(), LK_ERR));
  }
  uint32_t word(const std::string &text) {
    uint32_t id = 0;
    LK_EXPECT_OK(lk_intern_get(intern, text.data(), text.size(), &id, LK_ERR));
    return id;
  }
  OwnedKey parse(const std::string &text) {
    OwnedKey key;
    LK_EXPECT_OK(lk_key_parse(intern, lk_allocator_default(), text.c_str(), key.out(), LK_ERR))
        << text;
    return key;
  }
  void expect_round_trip(const lk_key *key) {
    const std::string text = key_text(intern, key);
    OwnedKey parsed = parse(text);
    ASSERT_NE(parsed.get(), nullptr);
    ASSERT_EQ(key_bytes(parsed), key_bytes(key)) << text;
    ASSERT_EQ(parsed->hash, key->hash) << text;
  }
  void expect_malformed(const std::string &text, const std::string &what, size_t character) {
    lk_key *key = nullptr;
    LK_EXPECT_STATUS(LK_MALFORMED,
                     lk_key_parse(intern, lk_allocator_default(), text.c_str(), &key, LK_ERR))
        << text;
    EXPECT_EQ(key, nullptr);
    EXPECT_THAT(LK_MESSAGE, HasSubstr("expected " + what)) << text;
    EXPECT_THAT(LK_MESSAGE, HasSubstr("at character " + std::to_string(character) + ",")) << text;
  }
  // A key that has every record, in its call part too.
  OwnedKey full_key() {
    lk_key_builder builder;
    lk_key_head head = {};
    head.op = word("Conv");
    head.out = word("conv1");
    lk_key_begin(&builder, lk_allocator_default(), &head);
    const int64_t strides[] = {1, 2};
    lk_key_add_attr(&builder, LK_WORD_STRIDES, strides, 2);
    float alpha = 0.5f;
    lk_key_post_op post_op = {LK_POST_RELU, -1, 0, 0};
    memcpy(&post_op.alpha, &alpha, sizeof alpha);
    lk_key_add_post_op(&builder, &post_op);
    lk_key_add_content(&builder, LK_WORD_WEIGHTS, 1, 12);
    lk_key_seal(&builder);
    const lk_key_call call = {-1, 0, 0};
    lk_key_add_call(&builder, &call);
    const int64_t dims[] = {1, 3, 48, 320};
    const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 4, dims);
    lk_key_add_tensor(&builder, LK_WORD_SRC, 0, &desc);
    int64_t sizes[] = {1, -1};
    const int64_t two = 2;
    const lk_tensor value = {lk_tensor_desc_make(LK_I64, 1, &two), sizes};
    lk_key_add_value(&builder, LK_WORD_INPUT, 1, &value);
    const lk_key_engine engine = {word("plain"), word("1.0"), 0, 2};
    lk_key_add_engine(&builder, &engine);
    lk_key_add_float(&builder, LK_WORD_EPSILON, post_op.alpha);
    const float floats[] = {0.5f, -0.f};
    const uint8_t bytes[] = {0, 255, 16};
    lk_key_add_floats(&builder, LK_WORD_ALPHAS, floats, 2);
    lk_key_add_bytes(&builder, LK_WORD_BLOCK, bytes, 3);
    lk_key_add_text(&builder, LK_WORD_STATE, "a;b", 3);
    return lk::finish(&builder);
  }

  lk::OwnedIntern intern;
};

TEST_F(KeyText, CanBeRead) {
  EXPECT_EQ(key_text(intern, full_key()),
            "name:fixed=152;op=Conv;out=conv1;attr.strides=[1,2];"
            "post_op=kind:relu,input:-1,alpha:0.5;content.weights=index:1,id:12;"
            "call=in_place_input:-1;tensor.src=1x3x48x320:f32;"
            "value.input=2:i64,index:1,data:[1,-1];"
            "engine=name:plain,state:1.0,device_index:2;number.epsilon=value:0.5;"
            "floats.alphas=[0.5,0x80000000];bytes.block=00ff10;text.state=a%3Bb");
}

TEST_F(KeyText, CanBeWrittenByHand) {
  OwnedKey key = parse("user:out=my thing;generation=3;tensor=1x3:f32;attr.axis=[]");
  const lk_key_head *head = lk_key_get_head(key);
  EXPECT_EQ(head->kind, static_cast<uint32_t>(LK_KIND_USER));
  EXPECT_EQ(head->out, word("my thing"));
  EXPECT_EQ(head->generation, 3u);
  EXPECT_EQ(head->fixed, key->size);
  expect_round_trip(key);
  expect_round_trip(parse("run:"));
  expect_round_trip(parse("name:tensor=scalar:i8"));
  expect_round_trip(parse("user:floats.a=[];bytes.b=;text.c=;floats=[1];bytes=0a;text=x"));
}

TEST_F(KeyText, RandomKeysRoundTripAndNoTwoPrintAlike) {
  lk::RandomKeys random(intern, 20240607);
  std::map<std::string, std::string> seen; // text: bytes
  for (int i = 0; i < 2000; i++) {
    OwnedKey key = random.make();
    expect_round_trip(key);
    if (HasFatalFailure()) return;
    const auto [at, added] = seen.emplace(key_text(intern, key), key_bytes(key));
    ASSERT_EQ(at->second, key_bytes(key)) << at->first;
  }
  EXPECT_GT(seen.size(), 1500u);
}

// Of one form each, so that a new form is a compile error here.
enum Form { number, hex, word_, dtype, kind, float_, post, label, element, count, fixed };
struct Field {
  lk_record_type record;
  const char *name;
  size_t offset, size;
  Form form;
};
#define LK_FORM_OF_number number
#define LK_FORM_OF_hex hex
#define LK_FORM_OF_word word_
#define LK_FORM_OF_dtype dtype
#define LK_FORM_OF_kind kind
#define LK_FORM_OF_float float_
#define LK_FORM_OF_post post
#define LK_FORM_OF_label label
#define LK_FORM_OF_element element
#define LK_FORM_OF_count count
#define LK_FORM_OF_fixed fixed
const Field all_fields[] = {
#define ROW(record, type, field, form)                                                             \
  {record##_TYPE, #field, offsetof(record, field), sizeof(type), LK_FORM_OF_##form},
#define lk_key_head_TYPE LK_RECORD_HEAD
#define lk_key_call_TYPE LK_RECORD_CALL
#define lk_key_tensor_TYPE LK_RECORD_TENSOR
#define lk_key_attr_record_TYPE LK_RECORD_ATTR
#define lk_key_post_op_TYPE LK_RECORD_POST_OP
#define lk_key_content_TYPE LK_RECORD_CONTENT
#define lk_key_value_TYPE LK_RECORD_VALUE
#define lk_key_engine_TYPE LK_RECORD_ENGINE
#define lk_key_float_record_TYPE LK_RECORD_FLOAT
#define lk_key_floats_record_TYPE LK_RECORD_FLOATS
#define lk_key_bytes_record_TYPE LK_RECORD_BYTES
#define lk_key_text_record_TYPE LK_RECORD_TEXT
#define F(type, field, form) ROW(lk_key_head, type, field, form)
    LK_KEY_HEAD_FIELDS(F)
#undef F
#define F(type, field, form) ROW(lk_key_call, type, field, form)
        LK_KEY_CALL_FIELDS(F)
#undef F
#define F(type, field, form) ROW(lk_key_tensor, type, field, form)
            LK_KEY_TENSOR_FIELDS(F)
#undef F
#define F(type, field, form) ROW(lk_key_attr_record, type, field, form)
                LK_KEY_ATTR_FIELDS(F)
#undef F
#define F(type, field, form) ROW(lk_key_post_op, type, field, form)
                    LK_KEY_POST_OP_FIELDS(F)
#undef F
#define F(type, field, form) ROW(lk_key_content, type, field, form)
                        LK_KEY_CONTENT_FIELDS(F)
#undef F
#define F(type, field, form) ROW(lk_key_value, type, field, form)
                            LK_KEY_VALUE_FIELDS(F)
#undef F
#define F(type, field, form) ROW(lk_key_engine, type, field, form)
                                LK_KEY_ENGINE_FIELDS(F)
#undef F
#define F(type, field, form) ROW(lk_key_float_record, type, field, form)
                                    LK_KEY_FLOAT_FIELDS(F)
#undef F
#define F(type, field, form) ROW(lk_key_floats_record, type, field, form)
                                        LK_KEY_FLOATS_FIELDS(F)
#undef F
#define F(type, field, form) ROW(lk_key_bytes_record, type, field, form)
                                            LK_KEY_BYTES_FIELDS(F)
#undef F
#define F(type, field, form) ROW(lk_key_text_record, type, field, form)
                                                LK_KEY_TEXT_FIELDS(F)
#undef F
};

size_t offset_of_record(const lk_key *key, lk_record_type type) {
  if (type == LK_RECORD_HEAD) return sizeof(lk_record_prefix);
  lk_key_reader reader = lk_key_read(key);
  while (lk_key_next(&reader)) {
    if (reader.type == static_cast<uint32_t>(type)) {
      return static_cast<size_t>(static_cast<const uint8_t *>(reader.record) - key->bytes);
    }
  }
  ADD_FAILURE() << "no record of type " << type;
  return 0;
}

TEST_F(KeyText, EveryFieldCounts) {
  OwnedKey base = full_key();
  const std::string base_text = key_text(intern, base);
  std::vector<std::string> counts;
  for (const Field &field : all_fields) {
    SCOPED_TRACE(std::to_string(field.record) + "." + field.name);
    if (field.form == count) {
      counts.push_back(field.name);
      continue;
    }
    std::string bytes = key_bytes(base);
    char *at = bytes.data() + offset_of_record(base, field.record) + field.offset;
    uint64_t value = 0;
    memcpy(&value, at, field.size);
    switch (field.form) {
    case word_:
    case label:
      value = value == LK_WORD_PADS_BEGIN ? LK_WORD_PADS_END : LK_WORD_PADS_BEGIN;
      break;
    case element:
      value = value == LK_I64 ? LK_U64 : LK_I64;
      break; // of the same size
    case fixed:
      value = 8 + sizeof(lk_key_head);
      break; // another record's end
    default:
      value ^= 1;
    }
    memcpy(at, &value, field.size);
    alignas(8) static uint8_t aligned[4096];
    ASSERT_LE(bytes.size(), sizeof aligned);
    memcpy(aligned, bytes.data(), bytes.size());
    lk_key changed = *base;
    changed.bytes = aligned;
    EXPECT_FALSE(lk_key_equal(base, &changed));
    const std::string text = key_text(intern, &changed);
    EXPECT_NE(text, base_text);
    OwnedKey parsed = parse(text);
    ASSERT_NE(parsed.get(), nullptr);
    EXPECT_EQ(key_bytes(parsed), bytes);
    EXPECT_NE(parsed->hash, base->hash);
  }
  // How much follows: changed along with it, below. A new one needs a line there.
  EXPECT_EQ(counts, (std::vector<std::string>{"rank", "count", "rank", "bytes", "count", "count",
                                              "count"}));
  for (const auto &[from, to] : std::vector<std::pair<std::string, std::string>>{
           {"1x3x48x320:f32", "1x3x48x320x1:f32"},
           {"1x3x48x320:f32", "1x3x48:f32"},
           {"strides=[1,2]", "strides=[1,2,0]"},
           {"strides=[1,2]", "strides=[]"},
           {"input=2:i64", "input=2x1:i64"},
           {"2:i64,index:1,data:[1,-1]", "3:i64,index:1,data:[1,-1,0]"},
           {"[0.5,0x80000000]", "[0.5,0x80000000,0]"},
           {"[0.5,0x80000000]", "[0.5]"},
           {"[0.5,0x80000000]", "[0.5,0]"},
           {"block=00ff10", "block=00ff1000"},
           {"block=00ff10", "block=00ff"},
           {"state=a%3Bb", "state=a%3Bb%00"},
           {"state=a%3Bb", "state=a%3B"},
           {"text.state=a", "bytes.state=61;text.state=a"}}) {
    std::string text = base_text;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const size_t fixed_at = text.find("fixed=");
    text.erase(fixed_at, text.find(';') + 1 - fixed_at);
    OwnedKey changed = parse(text);
    ASSERT_NE(changed.get(), nullptr) << text;
    EXPECT_NE(key_bytes(changed), key_bytes(base));
    EXPECT_EQ(key_text(intern, changed), text);
  }
}

TEST_F(KeyText, NamesMayHoldAnything) {
  for (const std::string &name :
       {std::string(";"), std::string("a=b,c:d[e]%41"), std::string("\n\t\x7f\x01"),
        std::string("größe/名前"), std::string("\xff\xfe"), std::string(" "), std::string("."),
        std::string(5000, ';')}) {
    lk_key_builder builder;
    lk_key_head head = {};
    head.out = word(name);
    lk_key_begin(&builder, lk_allocator_default(), &head);
    lk_key_add_content(&builder, word(name), 0, 1);
    OwnedKey key = lk::finish(&builder);
    expect_round_trip(key);
  }
  OwnedKey key = parse("name:out=a%3Bb%C3%A9");
  EXPECT_STREQ(lk_intern_text(intern, lk_key_get_head(key)->out), "a;bé");
  EXPECT_EQ(key_text(intern, key), "name:out=a%3Bbé");
}

TEST_F(KeyText, FloatsKeepTheirBits) {
  lk::RandomKeys random(intern, 5);
  const float special[] = {0.f,       -0.f,       1.f,  6.f,        0.166666672f,  1e-5f,
                           123456.7f, 16777216.f, 1e9f, -0.25f,     3.4028234e38f, 1e-45f,
                           INFINITY,  -INFINITY,  NAN,  999999999.f};
  for (int i = 0; i < 5000; i++) {
    lk_key_post_op op = {LK_POST_CLIP, -1, random.float_bits(), static_cast<uint32_t>(i)};
    if (i < static_cast<int>(std::size(special))) memcpy(&op.alpha, &special[i], 4);
    lk_key_builder builder;
    const lk_key_head head = {};
    lk_key_begin(&builder, lk_allocator_default(), &head);
    lk_key_add_post_op(&builder, &op);
    expect_round_trip(lk::finish(&builder));
    if (HasFatalFailure()) return;
  }
  auto alpha = [&](const char *text) {
    OwnedKey key = parse(std::string("name:post_op=alpha:") + text);
    lk_key_reader reader = lk_key_read(key);
    EXPECT_TRUE(lk_key_next(&reader));
    float value = 0;
    memcpy(&value, &static_cast<const lk_key_post_op *>(reader.record)->alpha, sizeof value);
    return value;
  };
  EXPECT_EQ(alpha("0.1"), 0.1f);
  EXPECT_EQ(alpha("-3.25"), -3.25f);
  EXPECT_EQ(alpha("0x3f800000"), 1.0f);
}

// Of a record that a host fills with numbers, all NaNs are one; 0.0 and -0.0 are two.
TEST_F(KeyText, FloatsOfAttributesHaveOneNaN) {
  OwnedKey nan = parse("user:floats.a=[0x7fc00000]");
  for (const char *other : {"0x7f800001", "0x7fffffff", "0xffc00000", "0xff800001"}) {
    OwnedKey key = parse(std::string("user:floats.a=[") + other + "]");
    EXPECT_TRUE(lk_key_equal(key, nan)) << other;
    EXPECT_EQ(key->hash, nan->hash);
    EXPECT_EQ(key_text(intern, key), "user:floats.a=[0x7fc00000]");
  }
  for (const char *other : {"0x7f800000", "0xff800000", "0", "0x80000000", "1"}) {
    OwnedKey key = parse(std::string("user:floats.a=[") + other + "]");
    EXPECT_FALSE(lk_key_equal(key, nan));
    EXPECT_EQ(key_text(intern, key), std::string("user:floats.a=[") + other + "]");
  }
}

TEST_F(KeyText, TextsHaveEveryByte) {
  std::string all;
  for (int c = 0; c < 256; c++) all += static_cast<char>(c);
  for (const std::string &text : {all, all + all, std::string(1, '\0'), std::string()}) {
    lk_key_builder builder;
    const lk_key_head head = {};
    lk_key_begin(&builder, lk_allocator_default(), &head);
    lk_key_add_text(&builder, word("a"), text.data(), static_cast<uint32_t>(text.size()));
    lk_key_add_bytes(&builder, word("a"), text.data(), static_cast<uint32_t>(text.size()));
    OwnedKey key = lk::finish(&builder);
    expect_round_trip(key);
    lk_key_reader reader = lk_key_read(key);
    for (int i = 0; i < 2; i++) {
      ASSERT_TRUE(lk_key_next(&reader));
      const auto *record = static_cast<const lk_key_text_record *>(reader.record);
      EXPECT_EQ(std::string(static_cast<const char *>(reader.payload), record->count), text);
    }
  }
}

// A list of i32 takes half of what one of as many i64 takes.
TEST_F(KeyText, ListsAreAsLongAsTheirKeyMayBe) {
  const int64_t count = LK_KEY_MAX_BYTES / 4 - 64;
  std::vector<int32_t> numbers(static_cast<size_t>(count), 7);
  lk_key_builder builder;
  const lk_key_head head = {};
  lk_key_begin(&builder, lk_allocator_default(), &head);
  const lk_tensor value = {lk_tensor_desc_make(LK_I32, 1, &count), numbers.data()};
  lk_key_add_value(&builder, LK_WORD_INPUT, 0, &value);
  expect_round_trip(lk::finish(&builder));
  std::vector<float> floats(static_cast<size_t>(count), 0.5f);
  lk_key_begin(&builder, lk_allocator_default(), &head);
  lk_key_add_floats(&builder, LK_WORD_INPUT, floats.data(), static_cast<uint32_t>(count));
  expect_round_trip(lk::finish(&builder));
}

TEST_F(KeyText, DoesNotDependOnTheLocale) {
  const std::string before = setlocale(LC_ALL, nullptr);
  for (const char *name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) {
    if (setlocale(LC_ALL, name) == nullptr) continue; // not installed; the last one always is
    EXPECT_THAT(key_text(intern, full_key()), HasSubstr("alpha:0.5"));
    expect_round_trip(full_key());
  }
  setlocale(LC_ALL, before.c_str());
}

TEST_F(KeyText, PrintsAsMuchAsFits) {
  OwnedKey key = full_key();
  const std::string text = key_text(intern, key);
  for (size_t capacity : {size_t{1}, size_t{10}, text.size(), text.size() + 1}) {
    std::string buffer(capacity + 1, '#');
    size_t length = 0;
    LK_EXPECT_OK(lk_key_print(intern, key, buffer.data(), capacity, &length, LK_ERR));
    EXPECT_EQ(length, text.size());
    EXPECT_EQ(std::string(buffer.c_str()), text.substr(0, capacity - 1));
    EXPECT_EQ(buffer[capacity], '#');
  }
}

TEST_F(KeyText, PrintingNamesOfAnotherContextFails) {
  lk_key_builder builder;
  lk_key_head head = {};
  head.out = 4000;
  lk_key_begin(&builder, lk_allocator_default(), &head);
  OwnedKey key = lk::finish(&builder);
  char text[100];
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   lk_key_print(intern, key, text, sizeof text, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("4000"));
}

TEST_F(KeyText, SaysWhatWasExpectedAndWhere) {
  expect_malformed("", "name, run, user or value", 1);
  expect_malformed("nome:", "name, run, user or value", 1);
  expect_malformed("name", "':'", 5);
  expect_malformed("name:;", "a field of the head, each once and in order, or a record", 6);
  expect_malformed("name:out=a;", "a field or a record", 12);
  expect_malformed("name:out=a;op=b", "a field of the head", 12);
  expect_malformed("name:out=a;out=b", "a field of the head", 12);
  expect_malformed("name:out=", "a name", 10);
  expect_malformed("name:out=a%3bc", "two digits (0-9, A-F)", 12);
  expect_malformed("name:out=a%00", "two digits (0-9, A-F)", 12);
  expect_malformed("name:out=a%4", "two digits (0-9, A-F)", 12);
  expect_malformed("name:out=a[b", "';' or the end", 11);
  expect_malformed("name:position=4294967296", "a number from 0 to 2^32 - 1", 15);
  expect_malformed("name:position=01", "a number from 0 to 2^32 - 1", 15);
  expect_malformed("name:position=-1", "a number from 0 to 2^32 - 1", 15);
  expect_malformed("name:generation=18446744073709551616", "a number from 0 to 2^64 - 1", 17);
  expect_malformed("name:executor=5", "0x and 1 to 16 digits", 15);
  expect_malformed("name:executor=0x12345678901234567", "0x and 1 to 16 digits", 15);
  expect_malformed("name:executor=0xF", "0x and 1 to 16 digits", 17);
  expect_malformed("name:precision=f33", "an element type", 16);
  expect_malformed("name:head=kind:1", "a field of the head", 6);
  expect_malformed("name:call.x=thread:1", "'='", 10);
  expect_malformed("name:call=thread:0x1,in_place_input:1", "a field of the record", 22);
  expect_malformed("name:post_op=kind:relu,input:2147483648", "a number from -2^31 to 2^31 - 1",
                   30);
  expect_malformed("name:post_op=kind:relu,input:-0", "a number from -2^31 to 2^31 - 1", 31);
  expect_malformed("name:tensor.=1:f32", "a name", 13);
  expect_malformed("name:tensor=1:f32,rank:1", "a field of the record", 19);
  expect_malformed("name:tensor=1x:f32", "a number from -2^63 to 2^63 - 1", 15);
  expect_malformed("name:tensor=1x1x1x1x1x1x1x1x1:f32", "at most 8 dimensions", 29);
  expect_malformed("name:tensor=1", "'x' or ':'", 14);
  expect_malformed("name:attr=1", "'['", 11);
  expect_malformed("name:attr=[1,]", "a number from -2^63", 14);
  expect_malformed("name:attr=[9223372036854775808]", "a number from -2^63", 12);
  expect_malformed("name:attr=[1", "',' or ']'", 13);
  expect_malformed("name:post_op=kind:gelu2", "a post-op", 19);
  expect_malformed("name:post_op=alpha:1.", "a digit", 22);
  expect_malformed("name:post_op=alpha:-0", "a decimal", 20);
  expect_malformed("name:post_op=alpha:1.0000000", "a decimal", 20);
  expect_malformed("name:post_op=alpha:1e3", "',', ';' or the end", 21);
  expect_malformed("name:value=2:i64", "',data:'", 17);
  expect_malformed("name:value=2:i64,data:[1]", "as many values as the shape has", 23);
  expect_malformed("name:value=1:i32,data:[2147483648]", "a number from -2^31", 24);
  expect_malformed("name:value=2:u8,data:012", "two digits (0-9, a-f)", 24);
  expect_malformed("name:value=1:u8,data:0102", "';' or the end", 24);
  expect_malformed("name:value=0:u8,data:00", "no data", 22);
  expect_malformed("name:floats=1", "'['", 13);
  expect_malformed("name:floats=[1,x]", "a decimal", 16);
  expect_malformed("name:floats=[1", "',' or ']'", 15);
  expect_malformed("name:floats=[0x123456789]", "0x and 1 to 8 digits", 14);
  expect_malformed("name:floats=[1],count:1", "';' or the end", 16);
  expect_malformed("name:bytes=0", "two digits (0-9, a-f) for each byte", 12);
  expect_malformed("name:bytes=0A", "two digits (0-9, a-f) for each byte", 12);
  expect_malformed("name:bytes=00A", "';' or the end", 14);
  expect_malformed("name:bytes.=00", "a name", 12);
  expect_malformed("name:text=a=b", "';' or the end", 12);
  expect_malformed("name:text=%3b", "two digits (0-9, A-F)", 12);
  expect_malformed("name:text=%4", "two digits (0-9, A-F)", 12);
  expect_malformed("name:fixed=0", "a number of bytes at which a record ends", 12);
  expect_malformed("name:fixed=80;attr=[1]", "a number of bytes at which a record ends", 12);
  expect_malformed("name:fixed=4096", "a number of bytes at which a record ends", 12);
  expect_malformed("name:out=a\x01", "';' or the end", 11);
}

TEST_F(KeyText, RefusesWhatIsTooLong) {
  lk_key *key = nullptr;
  const std::string text(LK_KEY_MAX_TEXT + 1, 'a');
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   lk_key_parse(intern, lk_allocator_default(), text.c_str(), &key, LK_ERR));
  std::string list = "name:attr=[1";
  for (uint32_t i = 0; i < LK_KEY_MAX_BYTES / 8; i++) list += ",1";
  list += "]";
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   lk_key_parse(intern, lk_allocator_default(), list.c_str(), &key, LK_ERR));
  list = "name:floats=[1";
  for (uint32_t i = 0; i < LK_KEY_MAX_BYTES / 4; i++) list += ",1";
  list += "]";
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   lk_key_parse(intern, lk_allocator_default(), list.c_str(), &key, LK_ERR));
  for (const char *start : {"name:bytes=", "name:text="}) {
    const std::string whole = start + std::string(LK_KEY_MAX_BYTES * 2, 'a');
    LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                     lk_key_parse(intern, lk_allocator_default(), whole.c_str(), &key, LK_ERR));
  }
  std::string records = "name:attr=[]";
  for (uint32_t i = 0; i < LK_KEY_MAX_BYTES / 16; i++) records += ";attr=[]";
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   lk_key_parse(intern, lk_allocator_default(), records.c_str(), &key, LK_ERR));
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   lk_key_parse(intern, lk_allocator_default(),
                                "name:value=9999999999:i64,data:[1]", &key, LK_ERR));
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   lk_key_parse(intern, lk_allocator_default(), "name:value=-1:i64", &key, LK_ERR));
}

TEST_F(KeyText, MutatedTextsDoNoHarm) {
  lk::RandomKeys random(intern, 77);
  const std::string alphabet = ";=,:%[]x.-0123456789abcdefABCDEF_\x01\xff";
  size_t parsed_count = 0;
  for (int i = 0; i < 6000; i++) {
    std::string text = key_text(intern, random.make());
    for (uint64_t n = 1 + random.below(3); n > 0 && !text.empty(); n--) {
      const size_t at = random.below(text.size());
      const char c = alphabet[random.below(alphabet.size())];
      switch (random.below(4)) {
      case 0:
        text[at] = c;
        break;
      case 1:
        text.insert(at, 1, c);
        break;
      case 2:
        text.erase(at, 1 + random.below(4));
        break;
      default:
        text.insert(at, text.substr(random.below(text.size()), random.below(30)));
      }
    }
    OwnedKey key;
    const lk_status status =
        lk_key_parse(intern, lk_allocator_default(), text.c_str(), key.out(), LK_ERR);
    if (status == LK_OK) {
      parsed_count++;
      expect_round_trip(key);
      if (HasFatalFailure()) return;
    } else {
      ASSERT_TRUE(status == LK_MALFORMED || status == LK_OUT_OF_RANGE ||
                  status == LK_INVALID_ARGUMENT)
          << text << "\n"
          << LK_MESSAGE;
      ASSERT_EQ(key.get(), nullptr);
    }
  }
  EXPECT_GT(parsed_count, 150u);
}

TEST_F(KeyText, ParsingTellsOfEachFailedAllocation) {
  const std::string text = key_text(intern, full_key()) +
                           ";content.a%3Bb=id:1;attr=[1,2,3,4,5,6,7,8,9,10,11,12]" +
                           ";value=5:u8,data:0102030405" + ";floats=[1,2,3];bytes=0102;text=a%00b";
  std::string longer = text;
  for (int i = 0; i < 60; i++) longer += ";tensor=1x2x3:f32";
  longer += ";attr=[1"; // more than there is room for by then
  for (int i = 0; i < 1000; i++) longer += ",1";
  longer += "]";
  lk::fail_every_allocation([&](lk::FailingAllocator &allocator) {
    lk_intern *own = nullptr;
    lk_key *key = nullptr;
    lk_status status = lk_intern_create(allocator.get(), &own, LK_ERR);
    if (status == LK_OK) status = lk_key_parse(own, allocator.get(), longer.c_str(), &key, LK_ERR);
    lk_key_destroy(allocator.get(), key);
    lk_intern_destroy(own);
    return status;
  });
}

} // namespace
