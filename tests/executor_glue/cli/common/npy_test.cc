// .npy files: what is written is read back, and what is not as the format says is refused.
extern "C" {
#include "executor_glue/cli/common/npy.h"
}

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/harness/lk_test.h"

namespace {

using ::testing::HasSubstr;

class Npy : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/lk_npy_XXXXXX";
    ASSERT_NE(nullptr, mkdtemp(name));
    folder_ = name;
  }
  void TearDown() override {
    for (const std::string &name : files()) unlink((folder_ + "/" + name).c_str());
    rmdir(folder_.c_str());
  }

  std::string path() const { return folder_ + "/a.npy"; }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    DIR *dir = opendir(folder_.c_str());
    for (dirent *entry = nullptr; dir != nullptr && (entry = readdir(dir)) != nullptr;) {
      if (entry->d_name[0] != '.') names.push_back(entry->d_name);
    }
    if (dir != nullptr) closedir(dir);
    return names;
  }

  // A version 1 file with this header text and data.
  void put(const std::string &header, const std::string &data, int version = 1) const {
    std::ofstream file(path(), std::ios::binary);
    file << "\x93NUMPY" << static_cast<char>(version) << '\0';
    const size_t length_bytes = version == 1 ? 2 : 4;
    for (size_t i = 0; i < length_bytes; i++) {
      file << static_cast<char>((header.size() >> (8 * i)) & 0xff);
    }
    file << header << data;
  }

  std::string content() const {
    std::ifstream file(path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  lk_status read() {
    allocator_.get()->free(allocator_.get()->user, tensor_.data);
    tensor_ = {};
    lk_status status = npy_read(allocator_.get(), path().c_str(), &tensor_, LK_ERR);
    EXPECT_EQ(status == LK_OK, tensor_.data != nullptr);
    return status;
  }

  lk_status write(const lk_tensor &tensor) {
    lk_whole_file file;
    lk_status status = npy_prepare(allocator_.get(), path().c_str(), &tensor, &file, LK_ERR);
    if (status != LK_OK) return status;
    status = lk_whole_file_commit(&file, LK_ERR);
    lk_whole_file_discard(&file);
    return status;
  }

  ~Npy() override { allocator_.get()->free(allocator_.get()->user, tensor_.data); }

  std::string folder_;
  lk::FailingAllocator allocator_;
  lk_tensor tensor_ = {};
};

lk_tensor_desc desc(uint32_t dtype, std::vector<int64_t> dims) {
  lk_tensor_desc result = {};
  result.dtype = dtype;
  result.rank = static_cast<uint32_t>(dims.size());
  for (size_t i = 0; i < dims.size(); i++) result.dims[i] = dims[i];
  return result;
}

TEST_F(Npy, RoundTripOfEveryType) {
  struct {
    uint32_t dtype;
    size_t size;
  } types[] = {
#define ROW(symbol, value, bytes, name) {symbol, bytes},
      LK_DTYPE_LIST(ROW)
#undef ROW
  };
  for (const auto &type : types) {
    std::vector<unsigned char> data(6 * type.size);
    for (size_t i = 0; i < data.size(); i++) data[i] = static_cast<unsigned char>(i * 37 % 251);
    lk_tensor tensor = {desc(type.dtype, {2, 3}), data.data()};
    if (type.dtype == LK_BF16) {
      LK_EXPECT_STATUS(LK_UNSUPPORTED, write(tensor));
      EXPECT_THAT(LK_MESSAGE, HasSubstr("bf16"));
      EXPECT_TRUE(files().size() == 1u) << "only the file of the type before";
      continue;
    }
    LK_ASSERT_OK(write(tensor));
    LK_ASSERT_OK(read());
    EXPECT_EQ(type.dtype, tensor_.desc.dtype);
    ASSERT_EQ(2u, tensor_.desc.rank);
    EXPECT_EQ(2, tensor_.desc.dims[0]);
    EXPECT_EQ(3, tensor_.desc.dims[1]);
    EXPECT_EQ(0, std::memcmp(data.data(), tensor_.data, data.size()));
  }
}

TEST_F(Npy, RoundTripOfEveryRankAndEmpty) {
  const std::vector<std::vector<int64_t>> shapes = {{},  {1},       {7},
                                                    {0}, {2, 0, 3}, {1, 1, 1, 1, 1, 1, 1, 2}};
  float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const auto &shape : shapes) {
    lk_tensor tensor = {desc(LK_F32, shape), data};
    LK_ASSERT_OK(write(tensor));
    LK_ASSERT_OK(read());
    EXPECT_EQ(0, std::memcmp(&tensor.desc, &tensor_.desc, sizeof tensor.desc));
  }
}

TEST_F(Npy, BytesAreThoseOfNumpy) {
  // numpy.save of numpy.array([1, 2, 3], dtype='<i2'), byte for byte.
  int16_t data[] = {1, 2, 3};
  lk_tensor tensor = {desc(LK_I16, {3}), data};
  LK_ASSERT_OK(write(tensor));
  std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }";
  header.resize(128 - 10 - 1, ' ');
  std::string expected =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + std::string("\1\0\2\0\3\0", 6);
  EXPECT_EQ(expected, content());
}

TEST_F(Npy, ReadsVersion2AndAnyOrderOfFields) {
  put("{\"shape\":(2 ,1), \"fortran_order\" : False,'descr':'<u2'}\n", std::string(4, '\1'), 2);
  LK_ASSERT_OK(read());
  EXPECT_EQ(LK_U16, static_cast<lk_dtype>(tensor_.desc.dtype));
  EXPECT_EQ(2u, tensor_.desc.rank);
}

struct BadCase {
  const char *header;
  size_t data_bytes;
  lk_status status;
  const char *says;
};

TEST_F(Npy, RefusesWhatItCannotHold) {
  const BadCase cases[] = {
      {.header = "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }",
       .data_bytes = 8,
       .status = LK_UNSUPPORTED,
       .says = "big-endian"},
      {.header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }",
       .data_bytes = 8,
       .status = LK_UNSUPPORTED,
       .says = "numpy.ascontiguousarray"},
      {.header = "{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }",
       .data_bytes = 16,
       .status = LK_UNSUPPORTED,
       .says = "'<c8'"},
      {.header = "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
       .data_bytes = 16,
       .status = LK_UNSUPPORTED,
       .says = "'|O'"},
      {.header = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
       .data_bytes = 8,
       .status = LK_UNSUPPORTED,
       .says = "records"},
      {.header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }",
       .data_bytes = 4,
       .status = LK_OUT_OF_RANGE,
       .says = "8 dimensions"},
      {.header = "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
       .data_bytes = 4,
       .status = LK_MALFORMED,
       .says = "2^63"},
      {.header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
       .data_bytes = 4,
       .status = LK_OUT_OF_RANGE,
       .says = "2^47"},
      {.header = "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
       .data_bytes = 4,
       .status = LK_MALFORMED,
       .says = "number"},
      {.header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
       .data_bytes = 7,
       .status = LK_MALFORMED,
       .says = "7 bytes"},
      {.header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
       .data_bytes = 9,
       .status = LK_MALFORMED,
       .says = "9 bytes"},
      {.header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }",
       .data_bytes = 4,
       .status = LK_MALFORMED,
       .says = "4 bytes of data"},
      {.header = "{'descr': '<f4', 'fortran_order': False, }",
       .data_bytes = 4,
       .status = LK_MALFORMED,
       .says = "lacks"},
      {.header = "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
       .data_bytes = 4,
       .status = LK_MALFORMED,
       .says = "twice"},
      {.header = "{'descr': '<f4', 'fortran_order': 1, 'shape': (1,), }",
       .data_bytes = 4,
       .status = LK_MALFORMED,
       .says = "fortran_order"},
      {.header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}",
       .data_bytes = 4,
       .status = LK_MALFORMED,
       .says = "besides"},
      {.header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
       .data_bytes = 4,
       .status = LK_MALFORMED,
       .says = "follows"},
      {.header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1",
       .data_bytes = 4,
       .status = LK_MALFORMED,
       .says = "end"},
      {.header = "{'descr': '<f4", .data_bytes = 4, .status = LK_UNSUPPORTED, .says = "records"},
      {.header = "", .data_bytes = 4, .status = LK_MALFORMED, .says = "dictionary"},
  };
  for (const BadCase &bad : cases) {
    SCOPED_TRACE(bad.header);
    put(bad.header, std::string(bad.data_bytes, '\0'));
    LK_EXPECT_STATUS(bad.status, read());
    EXPECT_THAT(LK_MESSAGE, HasSubstr(bad.says));
  }
}

TEST_F(Npy, RefusesAHeaderThatIsTooLong) {
  put(std::string(20000, ' '), "", 2);
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE, read());
}

TEST_F(Npy, RefusesVersion3AndOtherFiles) {
  put("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "1234", 3);
  LK_EXPECT_STATUS(LK_UNSUPPORTED, read());
  std::ofstream(path(), std::ios::binary) << "PK\3\4 an archive, as numpy.savez writes it";
  LK_EXPECT_STATUS(LK_MALFORMED, read());
  unlink(path().c_str());
  LK_EXPECT_STATUS(LK_NOT_FOUND, read());
  EXPECT_THAT(LK_MESSAGE, HasSubstr(path()));
  lk_tensor tensor;
  LK_EXPECT_STATUS(LK_IO, npy_read(allocator_.get(), folder_.c_str(), &tensor, LK_ERR));
}

TEST_F(Npy, EveryBeginningOfAFileIsRefused) {
  float data[] = {1, 2};
  lk_tensor tensor = {desc(LK_F32, {2}), data};
  LK_ASSERT_OK(write(tensor));
  const std::string whole = content();
  for (size_t length = 0; length < whole.size(); length++) {
    std::ofstream(path(), std::ios::binary) << whole.substr(0, length);
    EXPECT_NE(LK_OK, read()) << length;
  }
}

TEST_F(Npy, NoHalfFileIsLeft) {
  float data[] = {1, 2};
  lk_tensor tensor = {desc(LK_F32, {2}), data};
  lk_whole_file file;
  LK_ASSERT_OK(npy_prepare(allocator_.get(), path().c_str(), &tensor, &file, LK_ERR));
  EXPECT_NE(0, access(path().c_str(), F_OK)) << "it has its name before it is committed";
  lk_whole_file_discard(&file);
  EXPECT_TRUE(files().empty());
  LK_EXPECT_STATUS(LK_IO, npy_prepare(allocator_.get(), (folder_ + "/no/a.npy").c_str(), &tensor,
                                      &file, LK_ERR));
}

} // namespace
