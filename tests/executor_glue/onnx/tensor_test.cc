// Tensors in every coding, and test-data files.
#include "tests/executor_glue/onnx/proto_writer.h"
#include "tests/harness/folder.h"

using namespace proto;
using ::testing::HasSubstr;

namespace {

// Reads the tensor from a file.
template <typename T>
void expect_tensor(const Message &m, uint32_t dtype, const std::vector<T> &expected) {
  lk::Folder folder;
  lk::FailingAllocator allocator;
  const std::string path = folder.write("t.pb", m.bytes);
  lk_tensor t;
  char *name = nullptr;
  LK_ASSERT_OK(lk_onnx_read_tensor(allocator.get(), path.c_str(), &t, &name, LK_ERR));
  EXPECT_STREQ(name, "t");
  EXPECT_EQ(t.desc.dtype, dtype);
  EXPECT_EQ(t.desc.layout, LK_LAYOUT_PLAIN);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data) % LK_DATA_ALIGNMENT, 0u);
  ASSERT_EQ(t.desc.rank, 1u);
  ASSERT_EQ(t.desc.dims[0], static_cast<int64_t>(expected.size()));
  EXPECT_EQ(memcmp(t.data, expected.data(), expected.size() * sizeof(T)), 0);
  lk_free(allocator.get(), t.data);
  lk_free(allocator.get(), name);
}

// Both as raw_data, as a packed typed field, and as one field for each element.
template <typename T>
void expect_all_codings(uint32_t dtype, uint32_t field, const std::vector<T> &values) {
  const std::vector<int64_t> dims{static_cast<int64_t>(values.size())};
  expect_tensor(tensor("t", dtype, dims, kRawData, raw(values)), dtype, values);
  expect_tensor(tensor("t", dtype, dims, field, varints(values)), dtype, values);
  Message one_by_one = tensor("t", dtype, dims, field, "");
  for (T v : values) one_by_one.num(field, static_cast<int64_t>(v));
  expect_tensor(one_by_one, dtype, values);
  Message halves = tensor("t", dtype, dims, field, varints(std::vector<T>{values[0]}));
  halves.text(field, varints(std::vector<T>(values.begin() + 1, values.end())));
  expect_tensor(halves, dtype, values);
}

TEST(OnnxTensor, IntegersInEveryCoding) {
  expect_all_codings<uint8_t>(LK_U8, kInt32Data, {0, 1, 127, 128, 255});
  expect_all_codings<int8_t>(LK_I8, kInt32Data, {0, 1, -1, -128, 127});
  expect_all_codings<uint16_t>(LK_U16, kInt32Data, {0, 1, 65535});
  expect_all_codings<int16_t>(LK_I16, kInt32Data, {0, -32768, 32767});
  expect_all_codings<int32_t>(LK_I32, kInt32Data, {0, INT32_MIN, INT32_MAX, -1});
  expect_all_codings<int64_t>(LK_I64, kInt64Data, {0, INT64_MIN, INT64_MAX, -1});
  expect_all_codings<uint32_t>(LK_U32, kUint64Data, {0, 1, UINT32_MAX});
  expect_all_codings<uint64_t>(LK_U64, kUint64Data, {0, 1, UINT64_MAX});
  expect_all_codings<uint8_t>(LK_BOOL, kInt32Data, {0, 1, 1});
  expect_all_codings<uint16_t>(LK_F16, kInt32Data, {0x3c00, 0xfbff});
  expect_all_codings<uint16_t>(LK_BF16, kInt32Data, {0x3f80, 0xff7f});
}

TEST(OnnxTensor, FloatsInEveryCoding) {
  const std::vector<float> f{1.5f, -2.25f, 0.f};
  expect_tensor(tensor("t", LK_F32, {3}, kRawData, raw(f)), LK_F32, f);
  expect_tensor(tensor("t", LK_F32, {3}, kFloatData, raw(f)), LK_F32, f);
  Message one_by_one = tensor("t", LK_F32, {3}, kFloatData, "");
  for (float v : f) one_by_one.flt(kFloatData, v);
  expect_tensor(one_by_one, LK_F32, f);
  const std::vector<double> d{1.5, -1e300};
  expect_tensor(tensor("t", LK_F64, {2}, kRawData, raw(d)), LK_F64, d);
  expect_tensor(tensor("t", LK_F64, {2}, kDoubleData, raw(d)), LK_F64, d);
}

TEST(OnnxTensor, ValuesThatDoNotFitAreRefused) {
  struct {
    uint32_t dtype, field;
    int64_t value;
  } cases[] = {{.dtype = LK_U8, .field = kInt32Data, .value = -1},
               {.dtype = LK_I8, .field = kInt32Data, .value = 128},
               {.dtype = LK_I8, .field = kInt32Data, .value = -129},
               {.dtype = LK_BOOL, .field = kInt32Data, .value = 2},
               {.dtype = LK_F16, .field = kInt32Data, .value = 65536},
               {.dtype = LK_I16, .field = kInt32Data, .value = 32768},
               {.dtype = LK_U32, .field = kUint64Data, .value = int64_t{1} << 32}};
  for (const auto &c : cases) {
    lk::Folder folder;
    lk::FailingAllocator allocator;
    const auto path = folder.write(
        "t.pb", tensor("t", c.dtype, {1}, c.field, varints(std::vector{c.value})).bytes);
    lk_tensor t;
    LK_EXPECT_STATUS(LK_MALFORMED,
                     lk_onnx_read_tensor(allocator.get(), path.c_str(), &t, nullptr, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(std::to_string(c.value)));
    EXPECT_EQ(t.data, nullptr);
  }
}

TEST(OnnxTensor, DataThatIsCodedWronglyIsRefused) {
  const std::string one = raw(std::vector<int8_t>{1}), two = varints(std::vector{1, 2});
  Message number = tensor("t", LK_I8, {1}, kRawData, ""), twice = number, mixed = twice;
  number.num(kRawData, 1);
  twice.text(kRawData, one).text(kRawData, one);
  mixed.text(kInt32Data, one).text(kRawData, one);
  const Message cases[] = {number,
                           twice,
                           mixed,
                           tensor("t", LK_I64, {2}, kInt64Data, two + "\x80"),
                           tensor("t", LK_F32, {2}, kFloatData, std::string(9, 'x')),
                           tensor("t", LK_F64, {1}, kDoubleData, std::string(9, 'x'))};
  for (const Message &m : cases) {
    lk::Folder folder;
    lk_tensor t;
    const std::string path = folder.write("t.pb", m.bytes);
    LK_EXPECT_STATUS(LK_MALFORMED, lk_onnx_read_tensor(lk_allocator_default(), path.c_str(), &t,
                                                       nullptr, LK_ERR));
    EXPECT_THAT(LK_MESSAGE, HasSubstr("two fields"));
  }
}

TEST(OnnxTensor, ScalarsAndEmptyTensors) {
  lk::Folder folder;
  lk::FailingAllocator allocator;
  lk_tensor t;
  auto path = folder.write("s.pb", tensor("", LK_F32, {}, kRawData, raw(std::vector{3.f})).bytes);
  LK_ASSERT_OK(lk_onnx_read_tensor(allocator.get(), path.c_str(), &t, nullptr, LK_ERR));
  EXPECT_EQ(t.desc.rank, 0u);
  EXPECT_EQ(*static_cast<float *>(t.data), 3.f);
  lk_free(allocator.get(), t.data);
  path = folder.write("e.pb", tensor("e", LK_F32, {3, 0}, kRawData, "").bytes);
  LK_ASSERT_OK(lk_onnx_read_tensor(allocator.get(), path.c_str(), &t, nullptr, LK_ERR));
  EXPECT_EQ(t.desc.dims[0], 3);
  EXPECT_EQ(t.desc.dims[1], 0);
  lk_free(allocator.get(), t.data);
}

TEST(OnnxTensor, OtherMessagesAreErrors) {
  lk::Folder folder;
  lk::FailingAllocator allocator;
  lk_tensor t;
  // A SequenceProto of one tensor, and an OptionalProto of one.
  const Message one = tensor("t", LK_F32, {1}, kRawData, raw(std::vector{1.f}));
  for (const Message &m : {Message().text(1, "seq").num(2, 1).add(3, one),
                           Message().text(1, "opt").num(2, 1).add(3, one)}) {
    const auto path = folder.write("t.pb", m.bytes);
    EXPECT_NE(lk_onnx_read_tensor(allocator.get(), path.c_str(), &t, nullptr, LK_ERR), LK_OK);
    EXPECT_NE(LK_MESSAGE, "");
  }
  const auto path = folder.write("t.pb", "");
  LK_EXPECT_STATUS(LK_MALFORMED,
                   lk_onnx_read_tensor(allocator.get(), path.c_str(), &t, nullptr, LK_ERR));
  LK_EXPECT_STATUS(LK_NOT_FOUND,
                   lk_onnx_read_tensor(allocator.get(), "/nowhere/t.pb", &t, nullptr, LK_ERR));
}

TEST(OnnxTensor, EveryAllocationMayFail) {
  lk::Folder folder;
  const auto path =
      folder.write("t.pb", tensor("t", LK_I64, {2}, kInt64Data, varints(std::vector{1, 2})).bytes);
  lk::fail_every_allocation([&](lk::FailingAllocator &allocator) {
    lk_tensor t;
    char *name = nullptr;
    const lk_status status = lk_onnx_read_tensor(allocator.get(), path.c_str(), &t, &name, LK_ERR);
    lk_free(allocator.get(), t.data);
    lk_free(allocator.get(), name);
    return status;
  });
}

} // namespace
