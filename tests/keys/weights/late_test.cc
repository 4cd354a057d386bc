// Large constants that are lent: they are read when they are packed or copied, and not before.
#include <thread>

#include "tests/harness/mapped_file.h"
#include "tests/keys/weights/weights_util.h"

namespace {

using lk::Bytes;
using lk::bytes_of;
using lk::Layout;
using lk::Lender;
using lk::MappedFile;
using lk::Packed;

constexpr size_t kSize = (size_t(16) << 20) + 4096;

Bytes large_bytes() {
  Bytes bytes(kSize);
  for (size_t i = 0; i < kSize; i++) bytes[i] = uint8_t(i * 7 + i / 251);
  return bytes;
}

class LateWeights : public lk::WeightsTest {
protected:
  lk_content *intern(const Bytes &bytes) { return lk::WeightsTest::intern(bytes, false); }
  Packed plain(lk_content *content, const Lender &lender) {
    Packed packed;
    LK_EXPECT_OK(lk_content_plain(content, &lender.lent, 64, packed.out(), LK_ERR));
    return packed;
  }
  static constexpr uint64_t kNothing = 0;
};

// Bytes at an address that a mapping has.
struct Aligned {
  explicit Aligned(const Bytes &bytes) : file(std::string(bytes.begin(), bytes.end())) {}
  MappedFile file;
};

TEST_F(LateWeights, AreNotReadWhereTheyAreReadWhereTheyLie) {
  const Aligned a(large_bytes());
  lk_content *content = nullptr;
  LK_ASSERT_OK(lk_weights_intern(weights, a.file.data, kSize, false, &content, LK_ERR));
  const Lender lender(a.file.data);
  Packed lent = plain(content, lender);
  EXPECT_EQ(lk_packed_data(lent), a.file.data);
  EXPECT_EQ(stats().hashed, kNothing);
  EXPECT_EQ(stats().lent, kSize);
  lk_content_release(content, a.file.data);
  EXPECT_EQ(lender.held, 1);
  lent.reset();
  EXPECT_EQ(lender.held, 0);
  EXPECT_EQ(stats().lent, kNothing);
}

TEST_F(LateWeights, AreFoundByAddressAtFirstAndByContentWhenTheyArePacked) {
  const Bytes a = large_bytes(), b = a;
  lk_content *first = intern(a), *again = intern(a), *second = intern(b);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, second);
  EXPECT_NE(lk_content_id(first), lk_content_id(second));
  Layout layout(1, kSize);
  Packed x = pack(first, layout), y = pack(second, layout);
  EXPECT_EQ(x.get(), y.get());
  EXPECT_EQ(bytes_of(x, kSize), layout.of(a));
  EXPECT_EQ(layout.packings, 1);
  EXPECT_EQ(stats().hashed, 2 * kSize);
  uint64_t of_first = 0, of_second = 1;
  LK_EXPECT_OK(lk_content_settle_id(first, &of_first, LK_ERR));
  LK_EXPECT_OK(lk_content_settle_id(second, &of_second, LK_ERR));
  EXPECT_EQ(of_first, of_second);
  lk_content *copied = lk::WeightsTest::intern(a, true);
  EXPECT_EQ(lk_content_id(copied), of_first);
  lk_content_release(copied, nullptr);
  lk_content_release(first, a.data());
  lk_content_release(again, a.data());
  Layout other(2, kSize);
  EXPECT_EQ(bytes_of(pack(second, other, false), kSize), other.of(b)) << "of who still lends";
  x.reset();
  y.reset();
  lk_content_release(second, b.data());
  EXPECT_EQ(stats().entries, kNothing);
}

TEST_F(LateWeights, ThatHaveChangedAreNotPacked) {
  Bytes a = large_bytes();
  lk_content *content = intern(a);
  Layout layout(1, kSize);
  const lk_packer packer = layout.packer();
  lk_packed *none = nullptr;
  for (uint8_t &byte : a) byte ^= 1;
  LK_EXPECT_STATUS(LK_IO, lk_content_pack(content, &layout.number, kSize, &packer, &none, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("have changed"));
  LK_EXPECT_STATUS(LK_IO, lk_content_plain(content, nullptr, 64, &none, LK_ERR));
  EXPECT_EQ(stats().entries, kNothing);
  for (uint8_t &byte : a) byte ^= 1;
  Packed packed = pack(content, layout);
  a[5] ^= 1; // any byte, from now on
  Layout other(2, kSize);
  const lk_packer another = other.packer();
  packed.reset();
  lk_content *same = content;
  LK_EXPECT_STATUS(LK_IO, lk_content_pack(same, &other.number, kSize, &another, &none, LK_ERR));
  a[5] ^= 1;
  lk_content_release(content, a.data());
}

TEST_F(LateWeights, OfAFileThatWasCutAreNotRead) {
  const Aligned a(large_bytes());
  lk_content *content = nullptr;
  LK_ASSERT_OK(lk_weights_intern(weights, a.file.data, kSize, false, &content, LK_ERR));
  Layout layout(1, kSize);
  const lk_packer packer = layout.packer();
  lk_packed *none = nullptr;
  a.file.cut();
  LK_EXPECT_STATUS(LK_IO, lk_content_pack(content, &layout.number, kSize, &packer, &none, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("was cut"));
  lk_content_release(content, a.file.data);
}

// Two mappings of a file: the plans of the second read those of the first, which stay for them.
TEST_F(LateWeights, OfOneFileAreReadFromOneMapping) {
  const Aligned a(large_bytes()), b(large_bytes()), other(large_bytes());
  lk_content *contents[3] = {};
  const char *const data[] = {a.file.data, b.file.data, other.file.data};
  for (int i = 0; i < 3; i++) {
    LK_ASSERT_OK(lk_weights_intern(weights, data[i], kSize, false, &contents[i], LK_ERR));
  }
  const Lender of_a(data[0], 1), of_b(data[1], 1), of_other(data[2], 2);
  Packed x = plain(contents[0], of_a), y = plain(contents[1], of_b);
  Packed z = plain(contents[2], of_other);
  EXPECT_EQ(lk_packed_data(y), data[0]);
  EXPECT_EQ(lk_packed_data(z), data[2]);
  EXPECT_EQ(of_a.held + of_b.held, 1);
  EXPECT_EQ(stats().lent, 2 * kSize);
  const lk_packed_name name = lk_packed_get_name(y);
  x.reset();
  lk_content_release(contents[0], data[0]);
  EXPECT_EQ(of_a.held, 1);
  EXPECT_EQ(stats().lent, 2 * kSize);
  Packed again(lk_packed_by_name(&name));
  EXPECT_EQ(again.get(), y.get());
  Packed new_one = plain(contents[1], of_b);
  EXPECT_EQ(new_one.get(), y.get());
  for (Packed *packed : {&y, &again, &new_one}) packed->reset();
  EXPECT_EQ(of_a.held + of_b.held, 0);
  z.reset();
  EXPECT_EQ(stats().lent, kNothing);
  lk_content_release(contents[1], data[1]);
  lk_content_release(contents[2], data[2]);
}

// A model that is opened again and again, each time before the last one is closed: all read the
// first mapping, and of those between nothing is left.
TEST_F(LateWeights, OfOneFileLeaveNothingOfMappingsThatAreGone) {
  const Aligned first(large_bytes()), second(large_bytes());
  const Aligned *const mappings[] = {&first, &second};
  const Lender owners[] = {Lender(first.file.data, 1), Lender(second.file.data, 1)};
  lk_content *contents[2] = {};
  Packed plans[2];
  size_t blocks = 0;
  for (int turn = 0; turn < 20; turn++) {
    const int i = turn % 2;
    const char *data = mappings[i]->file.data;
    LK_ASSERT_OK(lk_weights_intern(weights, data, kSize, false, &contents[i], LK_ERR));
    plans[i] = plain(contents[i], owners[i]);
    EXPECT_EQ(lk_packed_data(plans[i]), first.file.data) << turn;
    if (turn > 0) {
      plans[1 - i].reset();
      lk_content_release(contents[1 - i], mappings[1 - i]->file.data);
    }
    if (turn == 3) blocks = allocator.live_blocks();
    if (turn < 4) continue;
    EXPECT_EQ(allocator.live_blocks(), blocks) << turn;
  }
  plans[1].reset();
  lk_content_release(contents[1], second.file.data);
  EXPECT_EQ(owners[0].held + owners[1].held, 0);
}

// A part of the file at another place is not the same constant.
// Contents of one size, of one file: each is found where it lies, in whatever order they came.
TEST_F(LateWeights, OfOneFileAreFoundByTheirPlaces) {
  constexpr size_t kPlaces = 3;
  Bytes all;
  for (size_t i = 0; i < kPlaces; i++) {
    const Bytes part = large_bytes();
    all.insert(all.end(), part.begin(), part.end());
    all[i * kSize] = uint8_t(i + 1);
  }
  const Aligned a(all), b(all); // two mappings
  Lender of_a(a.file.data, 1);
  lk_content *contents[2][kPlaces] = {};
  Packed packed[2][kPlaces];
  for (size_t mapping = 0; mapping < 2; mapping++) {
    const char *data = mapping == 0 ? a.file.data : b.file.data;
    for (size_t i = 0; i < kPlaces; i++) {
      lk_content **content = &contents[mapping][i];
      LK_ASSERT_OK(lk_weights_intern(weights, data + i * kSize, kSize, false, content, LK_ERR));
      const lk_lent lent = {
          data + i * kSize,
          {sizeof(lk_owner), &of_a, Lender::retain, Lender::release, {1, 0}, data}};
      LK_ASSERT_OK(lk_content_plain(*content, &lent, 64, packed[mapping][i].out(), LK_ERR));
    }
  }
  for (size_t i = 0; i < kPlaces; i++) {
    EXPECT_EQ(lk_packed_data(packed[0][i]), a.file.data + i * kSize);
    EXPECT_EQ(lk_packed_data(packed[1][i]), a.file.data + i * kSize) << "read from one mapping";
  }
  for (size_t mapping = 0; mapping < 2; mapping++) {
    for (size_t i = 0; i < kPlaces; i++) {
      packed[mapping][i].reset();
      lk_content_release(contents[mapping][i],
                         (mapping == 0 ? a.file.data : b.file.data) + i * kSize);
    }
  }
}

TEST_F(LateWeights, AtDifferentPlacesOfAFileAreDifferent) {
  Bytes twice = large_bytes();
  const Bytes half = twice;
  twice.insert(twice.end(), half.rbegin(), half.rend());
  const Aligned a(twice), b(twice);
  lk_content *first = nullptr, *second = nullptr;
  LK_ASSERT_OK(lk_weights_intern(weights, a.file.data, kSize, false, &first, LK_ERR));
  LK_ASSERT_OK(lk_weights_intern(weights, b.file.data + kSize, kSize, false, &second, LK_ERR));
  Lender of_a(a.file.data, 1);
  const lk_lent of_b = {
      b.file.data + kSize,
      {sizeof(lk_owner), &of_a, Lender::retain, Lender::release, {1, 0}, b.file.data}};
  Packed x = plain(first, of_a), y;
  LK_EXPECT_OK(lk_content_plain(second, &of_b, 64, y.out(), LK_ERR));
  EXPECT_EQ(lk_packed_data(x), a.file.data);
  EXPECT_EQ(lk_packed_data(y), b.file.data + kSize);
  x.reset();
  y.reset();
  lk_content_release(first, a.file.data);
  lk_content_release(second, b.file.data + kSize);
}

TEST_F(LateWeights, AreReadByOneOfManyThreads) {
  const Bytes a = large_bytes();
  lk_content *content = intern(a);
  Layout layout(1, kSize);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] { EXPECT_NE(pack(content, layout).get(), nullptr); });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(stats().hashed, kSize);
  lk_content_release(content, a.data());
}

} // namespace
