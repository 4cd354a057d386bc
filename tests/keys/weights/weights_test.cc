// The weights store: one content for equal bytes, one copy for each layout, and bytes that can
// always be had again.
#include <cstring>

#include "tests/harness/mapped_file.h"
#include "tests/keys/weights/weights_util.h"

extern "C" {
#include "keys/weights/state.h"
}

namespace {

using lk::Bytes;
using lk::bytes_of;
using lk::kUnlimited;
using lk::Layout;
using lk::Lender;
using lk::MappedFile;
using lk::Packed;
using lk::random_bytes;
using ::testing::HasSubstr;
using Weights = lk::WeightsTest;

std::string text_of(const Bytes &bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST_F(Weights, EqualBytesAreOneContent) {
  const Bytes a = random_bytes(1000, 1), same = a, other = random_bytes(1000, 2);
  Bytes last = a;
  last.back() ^= 1;
  lk_content *first = intern(a, false), *second = intern(same, false),
             *third = intern(other, false), *fourth = intern(last, true), *copied = intern(a, true);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, copied);
  EXPECT_NE(lk_content_id(first), lk_content_id(third));
  EXPECT_NE(lk_content_id(first), lk_content_id(fourth));
  EXPECT_EQ(lk_content_id(first), 1u);
  EXPECT_EQ(first->bytes, 1000u);
  EXPECT_EQ(stats().bytes, 1000u); // the one that had to be copied
  lk_content_release(first, a.data());
  lk_content_release(second, same.data());
  lk_content_release(copied, nullptr);
  lk_content_release(third, other.data());
  lk_content_release(fourth, nullptr);
  EXPECT_EQ(stats().entries, 0u);
}

// Each use of a constant of a mapped model lends the same bytes: they are read once.
TEST_F(Weights, LentBytesAreFoundByWhereTheyLie) {
  constexpr size_t N = 3000; // more than there are buckets at first
  const Bytes all = random_bytes(N + 1000, 1);
  std::vector<lk_content *> contents;
  for (size_t i = 0; i < N; i++) {
    for (int use = 0; use < 3; use++) {
      lk_content *content = nullptr;
      LK_ASSERT_OK(lk_weights_intern(weights, &all[i], 1000, false, &content, LK_ERR));
      contents.push_back(content);
      EXPECT_EQ(content, contents[3 * i]);
    }
  }
  for (size_t i = 0; i < N; i++) { // also those that were there before the buckets became more
    lk_content *content = nullptr;
    LK_ASSERT_OK(lk_weights_intern(weights, &all[i], 1000, false, &content, LK_ERR));
    EXPECT_EQ(content, contents[3 * i]);
    lk_content_release(content, &all[i]);
  }
  EXPECT_EQ(stats().hashed, N * 1000);
  lk_content *shorter = nullptr;
  LK_ASSERT_OK(lk_weights_intern(weights, &all[0], 999, false, &shorter, LK_ERR));
  EXPECT_NE(shorter, contents[0]) << "as many bytes as are lent, and no others";
  lk_content_release(shorter, &all[0]);
  for (size_t i = 0; i < contents.size(); i++) lk_content_release(contents[i], &all[i / 3]);
  // What is lent no longer may have changed.
  Bytes changes = random_bytes(1000, 2);
  lk_content_release(intern(changes, false), changes.data());
  changes[0] ^= 1;
  const uint64_t hashed = stats().hashed;
  lk_content *changed = intern(changes, false);
  EXPECT_EQ(stats().hashed, hashed + 1000);
  lk_content_release(changed, changes.data());
}

TEST_F(Weights, IdsAreNotUsedAgain) {
  const Bytes a = random_bytes(100, 1);
  uint64_t last = 0;
  for (int i = 0; i < 10; i++) {
    lk_content *content = intern(a, i % 2 == 0);
    EXPECT_GT(lk_content_id(content), last);
    last = lk_content_id(content);
    lk_content_release(content, i % 2 == 0 ? nullptr : a.data());
  }
}

TEST_F(Weights, ManyContentsAreFound) {
  std::vector<Bytes> all;
  std::vector<lk_content *> contents;
  for (uint64_t i = 0; i < 500; i++) all.push_back(random_bytes(40 + i % 7, i));
  for (const Bytes &bytes : all) contents.push_back(intern(bytes, false));
  for (size_t i = 0; i < all.size(); i++) {
    lk_content *again = intern(Bytes(all[i]), true);
    EXPECT_EQ(again, contents[i]);
    lk_content_release(again, nullptr);
  }
  for (size_t i = 0; i < all.size(); i++) lk_content_release(contents[i], all[i].data());
}

TEST_F(Weights, NoBytesAreContentToo) {
  const Bytes empty;
  lk_content *a = intern(empty, false), *b = intern(empty, true);
  EXPECT_EQ(a, b);
  Packed plain;
  LK_EXPECT_OK(lk_content_plain(a, nullptr, 64, plain.out(), LK_ERR));
  EXPECT_NE(lk_packed_data(plain), nullptr);
  plain.reset();
  Layout layout(1, 0);
  EXPECT_NE(lk_packed_data(pack(a, layout)), nullptr);
  lk_content_release(a, empty.data());
  lk_content_release(b, nullptr);
}

TEST_F(Weights, PackedOncePerLayout) {
  const Bytes a = random_bytes(1000, 1), same = a;
  lk_content *first = intern(a, false), *second = intern(same, false);
  Layout one(1, 1000), two(2, 1000);
  {
    Packed x = pack(first, one), y = pack(second, one), z = pack(first, two);
    EXPECT_EQ(x.get(), y.get());
    EXPECT_EQ(bytes_of(x, 1000), one.of(a));
    EXPECT_EQ(bytes_of(z, 1000), two.of(a));
  }
  Packed again = pack(first, one); // stays without users
  EXPECT_EQ(one.packings, 1);
  EXPECT_EQ(two.packings, 1);
  EXPECT_EQ(stats().packed, 2u);
  EXPECT_EQ(stats().shared, 2u);
  EXPECT_EQ(stats().entries, 2u);
  EXPECT_EQ(stats().bytes, 2000u);

  lk_packed *wrong = nullptr;
  const lk_packer packer = one.packer();
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   lk_content_pack(first, &one.number, 999, &packer, &wrong, LK_ERR));
  EXPECT_EQ(wrong, nullptr);
  lk_content_release(first, a.data());
  lk_content_release(second, same.data());
  EXPECT_EQ(bytes_of(again, 1000), one.of(a)); // longer than the content
  EXPECT_EQ(stats().entries, 1u);
  again.reset();
  EXPECT_EQ(stats().bytes, 0u);
}

// An engine describes a layout in bytes of its own, which are gone after the call.
TEST_F(Weights, LayoutsOfBytesAreKept) {
  const Bytes a = random_bytes(1000, 1);
  lk_content *content = intern(a, false);
  Layout layout(1, 1000);
  for (size_t size = 0; size <= 9; size++) {
    Bytes bytes = random_bytes(size, size);
    layout.number.bytes = bytes.data();
    layout.number.n_bytes = uint32_t(size);
    Packed first = pack(content, layout);
    std::fill(bytes.begin(), bytes.end(), uint8_t(0xa5));
    const Bytes same = random_bytes(size, size);
    layout.number.bytes = same.data();
    Packed second = pack(content, layout);
    EXPECT_EQ(first.get(), second.get()) << size;
    EXPECT_EQ(layout.packings, int(size) + 1);
  }
  lk_content_release(content, a.data());
}

TEST_F(Weights, CopiedBytesAreDroppedAfterPackingAndUnpackedAgain) {
  const Bytes a = random_bytes(1000, 1);
  lk_content *content = intern(a, true);
  EXPECT_EQ(stats().bytes, 1000u);
  Layout one(1, 1000), two(2, 1000);
  Packed x = pack(content, one);
  EXPECT_EQ(stats().entries, 1u) << "the plain copy is still there";
  Packed y = pack(content, two);
  EXPECT_EQ(one.unpackings + two.unpackings, 1);
  EXPECT_EQ(bytes_of(y, 1000), two.of(a));
  Packed plain;
  LK_EXPECT_OK(lk_content_plain(content, nullptr, 64, plain.out(), LK_ERR));
  EXPECT_EQ(bytes_of(plain, 1000), a);
  lk_content *again = intern(Bytes(a), true); // compared with unpacked or plain bytes
  EXPECT_EQ(again, content);
  lk_content_release(again, nullptr);
  lk_content_release(content, nullptr);
}

TEST_F(Weights, ContentThatIsOnlyPackedIsFoundByItsBytes) {
  const Bytes a = random_bytes(1000, 1);
  lk_content *content = intern(a, true);
  Layout one(1, 1000);
  pack(content, one).reset();
  lk_content *again = intern(Bytes(a), true);
  EXPECT_EQ(again, content);
  EXPECT_EQ(one.unpackings, 1);
  EXPECT_EQ(stats().entries, 1u);
  lk_content_release(again, nullptr);
  lk_content_release(content, nullptr);
}

TEST_F(Weights, WithoutAWayBackThePlainCopyStays) {
  const Bytes a = random_bytes(1000, 1);
  lk_content *content = intern(a, true);
  Layout one(1, 1000), two(2, 1000);
  pack(content, one, false).reset();
  EXPECT_EQ(stats().bytes, 2000u);
  EXPECT_EQ(bytes_of(pack(content, two), 1000), two.of(a));
  EXPECT_EQ(one.unpackings, 0);
  lk_content_release(content, nullptr);
}

TEST_F(Weights, PlainBytesInUseAreNotDroppedByPacking) {
  const Bytes a = random_bytes(1000, 1);
  lk_content *content = intern(a, true);
  Packed plain;
  LK_ASSERT_OK(lk_content_plain(content, nullptr, 64, plain.out(), LK_ERR));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(lk_packed_data(plain)) % 64, 0u);
  Layout one(1, 1000);
  pack(content, one).reset();
  EXPECT_EQ(bytes_of(plain, 1000), a);
  lk_content_release(content, nullptr);
  EXPECT_EQ(bytes_of(plain, 1000), a);
}

TEST_F(Weights, AnotherLenderServesWhenOneLeaves) {
  auto a = std::make_unique<Bytes>(random_bytes(1000, 1));
  const Bytes expected = *a, same = *a;
  lk_content *content = intern(*a, false);
  EXPECT_EQ(intern(*a, false), content); // the same memory, lent twice
  EXPECT_EQ(intern(same, false), content);
  lk_content_release(content, a->data());
  lk_content_release(content, a->data());
  a.reset();
  EXPECT_EQ(stats().bytes, 0u);
  Layout one(1, 1000);
  EXPECT_EQ(bytes_of(pack(content, one), 1000), one.of(expected));
  lk_content_release(content, same.data());
}

TEST_F(Weights, BytesAreCopiedWhenTheLastLenderLeaves) {
  auto a = std::make_unique<Bytes>(random_bytes(1000, 1));
  const Bytes expected = *a;
  lk_content *content = intern(*a, false);
  ASSERT_EQ(intern(*a, true), content); // a reference that lends nothing
  lk_content_release(content, a->data());
  a.reset();
  EXPECT_EQ(stats().bytes, 1000u);
  Layout one(1, 1000);
  EXPECT_EQ(bytes_of(pack(content, one), 1000), one.of(expected));
  EXPECT_EQ(stats().entries, 1u);
  lk_content_release(content, nullptr);
}

TEST_F(Weights, PackedBytesNeedNoCopyWhenTheLenderLeaves) {
  auto a = std::make_unique<Bytes>(random_bytes(1000, 1));
  const Bytes expected = *a;
  lk_content *content = intern(*a, false);
  ASSERT_EQ(intern(*a, true), content); // a reference that lends nothing
  Layout one(1, 1000), two(2, 1000);
  pack(content, one).reset();
  lk_content_release(content, a->data());
  a.reset();
  EXPECT_EQ(stats().bytes, 1000u);
  EXPECT_EQ(bytes_of(pack(content, two), 1000), two.of(expected));
  lk_content_release(content, nullptr);
}

// As when a mapped file is written over.
TEST_F(Weights, LentBytesThatHaveChangedAreNotPacked) {
  Bytes a = random_bytes(1000, 1);
  lk_content *content = intern(a, false);
  Layout one(1, 1000), two(2, 1000);
  const lk_packer packer = two.packer();
  EXPECT_EQ(bytes_of(pack(content, one, false), 1000), one.of(a));
  a[500] ^= 1;
  Packed packed;
  LK_EXPECT_STATUS(LK_IO,
                   lk_content_pack(content, &two.number, 1000, &packer, packed.out(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, ::testing::HasSubstr("1000 bytes: they have changed"));
  LK_EXPECT_STATUS(LK_IO, lk_content_plain(content, nullptr, 64, packed.out(), LK_ERR));
  EXPECT_EQ(stats().entries, 1u) << "nothing of it is kept";
  lk_content *again = nullptr; // by another owner, of the bytes as they were
  Bytes was = a;
  was[500] ^= 1;
  LK_ASSERT_OK(lk_weights_intern(weights, was.data(), was.size(), true, &again, LK_ERR));
  EXPECT_EQ(bytes_of(pack(again, two), 1000), two.of(was));
  lk_content_release(content, a.data()); // whose bytes are no copy for others
  lk_content_release(again, nullptr);
}

TEST_F(Weights, NoMemoryWhenTheLastLenderLeaves) {
  auto a = std::make_unique<Bytes>(random_bytes(1000, 1));
  const Bytes same = *a;
  lk_content *content = intern(*a, false);
  ASSERT_EQ(intern(*a, true), content); // a reference that lends nothing
  Layout one(1, 1000), two(2, 1000);
  Packed packed = pack(content, one, false);
  allocator.fail_at(1, true);
  lk_content_release(content, a->data());
  allocator.fail_never();
  a.reset();
  EXPECT_EQ(bytes_of(packed, 1000), one.of(same)); // what is packed stays
  lk_packed *none = nullptr;
  const lk_packer packer = two.packer();
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY,
                   lk_content_pack(content, &two.number, 1000, &packer, &none, LK_ERR));
  lk_content *other = intern(same, false);
  EXPECT_NE(other, content);
  lk_content_release(other, same.data());
  lk_content_release(content, nullptr);
}

TEST_F(Weights, SmallPlainBytesAreCopiedLargeOnesLent) {
  const Bytes small = random_bytes(1000, 1), large = random_bytes((1 << 20) + 1, 2);
  lk_content *a = intern(small, false), *b = intern(large, false);
  Packed x, y, z;
  Lender lends_small(small.data()), lends_large(large.data());
  LK_ASSERT_OK(lk_content_plain(a, &lends_small.lent, 1, x.out(), LK_ERR));
  EXPECT_NE(lk_packed_data(x), small.data());
  EXPECT_EQ(bytes_of(x, small.size()), small);
  LK_ASSERT_OK(lk_content_plain(b, &lends_large.lent, 4, y.out(), LK_ERR));
  LK_ASSERT_OK(lk_content_plain(b, &lends_large.lent, 4, z.out(), LK_ERR));
  EXPECT_EQ(lk_packed_data(y), large.data());
  EXPECT_EQ(y.get(), z.get());
  EXPECT_EQ(lends_large.held, 1);
  EXPECT_EQ(stats().bytes, small.size());
  lk_packed *none = nullptr;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_content_plain(a, nullptr, 3, &none, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_content_plain(a, nullptr, 128, &none, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_content_plain(a, nullptr, 0, &none, LK_ERR));
  x.reset();
  y.reset();
  EXPECT_EQ(lends_large.held, 1);
  z.reset();
  EXPECT_EQ(lends_large.held, 0);
  EXPECT_EQ(lends_small.retained, 0);
  lk_content_release(a, small.data());
  lk_content_release(b, large.data());
}

// Bytes of a file that is cut: whoever reads them again is told so.
TEST_F(Weights, BytesThatAreGoneAreNotRead) {
  const Bytes large = random_bytes(2 << 20, 2);
  MappedFile file(text_of(large));
  lk_content *content = nullptr;
  LK_ASSERT_OK(lk_weights_intern(weights, file.data, large.size(), false, &content, LK_ERR));
  Layout one(1, large.size()), two(2, large.size());
  const lk_packer packer = one.packer();
  lk_packed *none = nullptr;
  file.cut();
  LK_EXPECT_STATUS(LK_IO,
                   lk_content_pack(content, &one.number, large.size(), &packer, &none, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("was cut"));
  LK_EXPECT_STATUS(LK_IO, lk_content_plain(content, nullptr, 1, &none, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("was cut"));
  EXPECT_EQ(stats().lent, 0u);

  file.restore();
  Packed lent, packed = pack(content, one);
  Lender lender(file.data);
  LK_ASSERT_OK(lk_content_plain(content, &lender.lent, 1, lent.out(), LK_ERR));
  EXPECT_EQ(lk_packed_data(lent), file.data);
  EXPECT_EQ(stats().lent, large.size());
  lent.reset();
  EXPECT_EQ(stats().lent, 0u);

  file.cut(); // a copy with a way back serves as well
  EXPECT_EQ(bytes_of(pack(content, two), large.size()), two.of(large));
  EXPECT_EQ(one.unpackings, 1);
  packed.reset();
  lk_content_release(content, file.data);
}

TEST_F(Weights, AnyOwnersBytesServeThatAreNotGone) {
  const Bytes large = random_bytes(2 << 20, 2);
  const MappedFile first(text_of(large)), second(text_of(large));
  lk_content *content = nullptr, *same = nullptr;
  for (const MappedFile *file : {&first, &second}) {
    LK_ASSERT_OK(lk_weights_intern(weights, file->data, large.size(), false, &same, LK_ERR));
    EXPECT_EQ(content == nullptr ? same : content, same);
    content = same;
  }
  Layout one(1, large.size()), two(2, large.size());
  second.cut();
  EXPECT_EQ(bytes_of(pack(content, one, false), large.size()), one.of(large));
  first.cut();
  lk_packed *none = nullptr;
  const lk_packer packer = two.packer();
  LK_EXPECT_STATUS(LK_IO,
                   lk_content_pack(content, &two.number, large.size(), &packer, &none, LK_ERR));
  for (const MappedFile *file : {&first, &second}) lk_content_release(content, file->data);
}

TEST_F(Weights, AnOwnerLeavesWithoutACopyOfWhatIsGone) {
  const Bytes large = random_bytes(2 << 20, 2);
  const MappedFile file(text_of(large));
  lk_content *content = nullptr;
  LK_ASSERT_OK(lk_weights_intern(weights, file.data, large.size(), false, &content, LK_ERR));
  ASSERT_EQ(intern(large, true), content); // a reference that lends nothing
  file.cut();
  lk_content_release(content, file.data);
  EXPECT_EQ(stats().entries, 0u);
  lk_packed *none = nullptr;
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, lk_content_plain(content, nullptr, 1, &none, LK_ERR));
  lk_content_release(content, nullptr);
}

TEST_F(Weights, MisalignedBytesAreNotLent) {
  Bytes large = random_bytes((1 << 20) + 200, 2);
  size_t odd = 1;
  while (reinterpret_cast<uintptr_t>(large.data() + odd) % 4 == 0) odd++;
  const size_t size = (1 << 20) + 10;
  lk_content *content = nullptr;
  LK_ASSERT_OK(lk_weights_intern(weights, large.data() + odd, size, false, &content, LK_ERR));
  Packed plain;
  Lender lender(large.data() + odd);
  LK_ASSERT_OK(lk_content_plain(content, &lender.lent, 4, plain.out(), LK_ERR));
  EXPECT_NE(lk_packed_data(plain), large.data() + odd);
  EXPECT_EQ(memcmp(lk_packed_data(plain), large.data() + odd, size), 0);
  EXPECT_EQ(lender.held, 0);
  plain.reset();
  lk_content_release(content, large.data() + odd);
}

TEST_F(Weights, BytesOfNobodyWhoSaysSoAreCopied) {
  const Bytes large = random_bytes(2 << 20, 2);
  lk_content *content = intern(large, false);
  Packed plain;
  const lk_lent nobody = {large.data(), {}};
  LK_ASSERT_OK(lk_content_plain(content, &nobody, 1, plain.out(), LK_ERR));
  EXPECT_NE(lk_packed_data(plain), large.data());
  EXPECT_EQ(bytes_of(plain, large.size()), large);
  EXPECT_EQ(stats().lent, 0u);
  plain.reset();
  lk_content_release(content, large.data());
}

// Who has left lends no longer, but its bytes stay for those who read them, and for those who
// lend them too.
TEST_F(Weights, AnOwnersBytesStayWhileTheyAreRead) {
  auto a = std::make_unique<Bytes>(random_bytes(2 << 20, 2));
  const Bytes same = *a;
  lk_content *content = intern(*a, false);
  ASSERT_EQ(intern(*a, true), content); // a reference that lends nothing
  Packed lent, again, later;
  Lender lender(a->data());
  LK_ASSERT_OK(lk_content_plain(content, &lender.lent, 1, lent.out(), LK_ERR));
  EXPECT_EQ(lk_packed_data(lent), a->data());
  lk_content_release(content, a->data());
  EXPECT_EQ(lender.held, 1);
  EXPECT_EQ(bytes_of(lent, same.size()), same);
  const lk_packed_name name = lk_packed_get_name(lent);
  again.reset(lk_packed_by_name(&name));
  EXPECT_EQ(again.get(), lent.get());
  LK_ASSERT_OK(lk_content_plain(content, nullptr, 1, later.out(), LK_ERR));
  EXPECT_NE(lk_packed_data(later), a->data());
  lent.reset();
  EXPECT_EQ(lender.held, 1);
  again.reset();
  EXPECT_EQ(lender.held, 0);
  a.reset();
  EXPECT_EQ(lk_packed_by_name(&name), nullptr);
  EXPECT_EQ(bytes_of(later, same.size()), same);
  later.reset();
  lk_content_release(content, nullptr);
}

// Equal bytes of different files are read each where its own node lends them: one of the files may
// be written over when nobody has it any more who lends it.
TEST_F(Weights, BytesOfAnotherOriginAreNotRead) {
  const Bytes a = random_bytes(2 << 20, 2), b = a, c = a;
  lk_content *content = intern(a, false);
  ASSERT_EQ(intern(b, false), content);
  ASSERT_EQ(intern(c, false), content);
  Lender of_a(a.data(), 1), of_b(b.data(), 1), of_c(c.data(), 2), of_d(c.data());
  Packed x, y, z, w;
  LK_ASSERT_OK(lk_content_plain(content, &of_a.lent, 1, x.out(), LK_ERR));
  LK_ASSERT_OK(lk_content_plain(content, &of_b.lent, 1, y.out(), LK_ERR));
  LK_ASSERT_OK(lk_content_plain(content, &of_c.lent, 1, z.out(), LK_ERR));
  LK_ASSERT_OK(lk_content_plain(content, &of_d.lent, 1, w.out(), LK_ERR));
  EXPECT_EQ(x.get(), y.get()) << "one file, mapped twice";
  EXPECT_EQ(lk_packed_data(x), a.data());
  EXPECT_EQ(lk_packed_data(z), c.data());
  EXPECT_EQ(w.get(), z.get()) << "the very same bytes";
  EXPECT_EQ(stats().lent, 2 * a.size());
  EXPECT_EQ(of_a.held + of_b.held + of_c.held + of_d.held, 2);
  lk_content_release(content, a.data());
  x.reset();
  EXPECT_EQ(of_a.held, 1) << "the plan of b reads them";
  EXPECT_EQ(bytes_of(y, a.size()), a);
  for (Packed *packed : {&y, &z, &w}) packed->reset();
  EXPECT_EQ(of_a.held + of_b.held + of_c.held + of_d.held, 0);
  lk_content_release(content, b.data());
  lk_content_release(content, c.data());
}

TEST_F(Weights, CapacityDropsWhatIsNotUsedOldestFirst) {
  const Bytes a = random_bytes(1000, 1);
  lk_content *content = intern(a, false);
  Layout one(1, 1000), two(2, 1000), three(3, 1000);
  Packed x = pack(content, one), y = pack(content, two), z = pack(content, three);
  lk_weights_set_capacity(weights, 2500);
  EXPECT_EQ(stats().bytes, 3000u) << "all are in use";
  z.reset();
  EXPECT_EQ(stats().bytes, 2000u) << "the first that is not used goes";
  lk_weights_set_capacity(weights, kUnlimited);
  z = pack(content, three);
  EXPECT_EQ(three.packings, 2);
  z.reset();
  y.reset();
  x.reset();
  pack(content, three).reset(); // used last; then one, then two
  lk_weights_set_capacity(weights, 1000);
  EXPECT_EQ(stats().entries, 1u);
  pack(content, three).reset();
  EXPECT_EQ(three.packings, 2);
  pack(content, one).reset();
  EXPECT_EQ(one.packings, 2);
  EXPECT_EQ(stats().bytes, 1000u);
  lk_weights_set_capacity(weights, 0);
  EXPECT_EQ(stats().bytes, 0u);
  EXPECT_EQ(bytes_of(pack(content, one), 1000), one.of(a)); // and works without
  EXPECT_EQ(stats().bytes, 0u);
  EXPECT_EQ(stats().capacity_bytes, 0u);
  lk_content_release(content, a.data());
}

// With 100 copies in use and no room, each release looks at the copies of its own content.
TEST_F(Weights, ReleasesOverCapacityLookAtWhatHasChanged) {
  constexpr uint64_t N = 100;
  std::vector<Bytes> bytes;
  std::vector<lk_content *> contents;
  std::vector<Packed> packed;
  Layout one(1, 1000);
  lk_weights_set_capacity(weights, 0);
  for (uint64_t i = 0; i < N; i++) {
    bytes.push_back(random_bytes(1000, i));
    contents.push_back(intern(bytes.back(), false));
    packed.push_back(pack(contents.back(), one));
  }
  EXPECT_EQ(stats().entries, N) << "all are in use";
  EXPECT_LT(stats().looks, 10 * N);
  for (uint64_t i = 0; i < N; i++) {
    packed[i].reset();
    EXPECT_EQ(stats().entries, N - 1 - i);
  }
  EXPECT_LT(stats().looks, 10 * N);
  // What may stay while there is room goes when another copy needs the room.
  lk_weights_set_capacity(weights, 2000);
  for (uint64_t i = 0; i < 3; i++) pack(contents[i], one).reset();
  EXPECT_EQ(stats().entries, 2u);
  for (uint64_t i = 0; i < N; i++) lk_content_release(contents[i], bytes[i].data());
}

// The only bytes of a content may go as soon as somebody lends them.
TEST_F(Weights, CapacityDropsWhatALenderHasToo) {
  const Bytes a = random_bytes(1000, 1);
  lk_content *content = intern(a, true);
  lk_weights_set_capacity(weights, 0);
  EXPECT_EQ(stats().bytes, 1000u);
  lk_content *again = intern(a, false);
  EXPECT_EQ(again, content);
  EXPECT_EQ(stats().bytes, 0u);
  lk_content_release(again, a.data());
  EXPECT_EQ(stats().bytes, 1000u);
  lk_content_release(content, nullptr);
}

TEST_F(Weights, CapacityKeepsTheOnlyBytes) {
  const Bytes a = random_bytes(1000, 1);
  lk_content *content = intern(a, true);
  lk_weights_set_capacity(weights, 0);
  EXPECT_EQ(stats().bytes, 1000u);
  Layout one(1, 1000), two(2, 1000);
  pack(content, one).reset();
  EXPECT_EQ(stats().bytes, 1000u);
  EXPECT_EQ(bytes_of(pack(content, two), 1000), two.of(a));
  EXPECT_EQ(stats().bytes, 1000u);
  lk_content_release(content, nullptr);
}

TEST_F(Weights, AFailedPackingLeavesNothing) {
  const Bytes a = random_bytes(1000, 1);
  lk_content *content = intern(a, true);
  Layout one(1, 1000);
  one.failures = 1;
  lk_packed *none = nullptr;
  const lk_packer packer = one.packer();
  LK_EXPECT_STATUS(LK_INTERNAL,
                   lk_content_pack(content, &one.number, 1000, &packer, &none, LK_ERR));
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(stats().bytes, 1000u);
  EXPECT_EQ(stats().packed, 0u);
  EXPECT_EQ(bytes_of(pack(content, one), 1000), one.of(a));

  Layout two(2, 1000);
  one.fail_unpack = true;
  const lk_packer other = two.packer();
  LK_EXPECT_STATUS(LK_INTERNAL, lk_content_pack(content, &two.number, 1000, &other, &none, LK_ERR));
  one.fail_unpack = false;
  EXPECT_EQ(bytes_of(pack(content, two), 1000), two.of(a));
  lk_content_release(content, nullptr);
}

// Unpacking that is stopped leaves gaps in the bytes that others are made of.
TEST_F(Weights, WhatIsStoppedWhileItIsUnpackedIsNotKept) {
  for (const bool is_plain : {true, false}) {
    const Bytes a = random_bytes(1000, 1);
    lk_content *content = intern(a, true);
    Layout one(1, 1000), two(2, 1000);
    pack(content, one).reset();
    const lk_packer packer = two.packer();
    const auto make = [&](lk_packed **out, lk_error *error) {
      return is_plain ? lk_content_plain(content, nullptr, 64, out, error)
                      : lk_content_pack(content, &two.number, 1000, &packer, out, error);
    };
    Packed made;
    {
      lk::Watched watched;
      one.during_unpack = [&] { watched.cancel = 1; };
      LK_EXPECT_STATUS(LK_CANCELLED, make(made.out(), LK_ERR));
      EXPECT_THAT(LK_MESSAGE, HasSubstr("unpack weights: cancelled"));
      one.during_unpack = nullptr;
    }
    EXPECT_EQ(two.packings, 0) << "of bytes that are not whole";
    EXPECT_EQ(stats().entries, 1U) << "the packed ones alone";
    made.reset();
    LK_EXPECT_OK(make(made.out(), LK_ERR));
    EXPECT_EQ(bytes_of(made, 1000), is_plain ? a : two.of(a));
    made.reset();
    lk_content_release(content, nullptr);
  }
}

} // namespace
