// Casts between all pairs of types against C++'s own conversions, one element at a time.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/team/team.h"
#include "base/tensor.h"
#include "ops/kernel/element/cast.h"
#include "ops/kernel/number.h"
}

namespace {

using Bytes = std::vector<char>;
constexpr uint32_t ALL[] = {LK_F32, LK_F64, LK_F16, LK_BF16, LK_I8,  LK_U8,  LK_I16,
                            LK_U16, LK_I32, LK_U32, LK_I64,  LK_U64, LK_BOOL};

template <typename T> T read(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T> void write(char *to, T value) {
  std::memcpy(to, &value, sizeof value);
}

bool is_float(uint32_t dtype) {
  return dtype == LK_F32 || dtype == LK_F64 || dtype == LK_F16 || dtype == LK_BF16;
}

// Exact in one of the two.
double float_of(uint32_t dtype, const char *from) {
  switch (dtype) {
  case LK_F32:
    return double(read<float>(from));
  case LK_F16:
    return lk_f16_to_f64(read<uint16_t>(from));
  case LK_BF16:
    return lk_bf16_to_f64(read<uint16_t>(from));
  default:
    return read<double>(from);
  }
}
int64_t integer_of(uint32_t dtype, const char *from) { // the bits, for u64
  switch (dtype) {
#define CASE(dtype, name, type)                                                                    \
  case dtype:                                                                                      \
    return int64_t(read<type>(from));
    LK_EACH_INTEGER(CASE)
#undef CASE
  default:
    return *from != 0;
  }
}

void store_integer(uint32_t dtype, int64_t value, char *to) {
  switch (dtype) {
#define CASE(dtype, name, type)                                                                    \
  case dtype:                                                                                      \
    write(to, type(value));                                                                        \
    return;
    LK_EACH_INTEGER(CASE)
#undef CASE
  default:
    *to = value != 0;
  }
}
void store_float(uint32_t dtype, double value, char *to) {
  switch (dtype) {
  case LK_F32:
    write(to, float(value));
    return;
  case LK_F16:
    write(to, lk_f64_to_f16(value));
    return;
  case LK_BF16:
    write(to, lk_f64_to_bf16(value));
    return;
  default:
    write(to, value);
  }
}

void expect_one(uint32_t from_type, const char *from, uint32_t to_type, char *to) {
  if (is_float(from_type)) {
    const double value = float_of(from_type, from);
    if (is_float(to_type)) {
      store_float(to_type, value, to);
    } else if (to_type == LK_BOOL) {
      *to = value != 0;
    } else if (to_type == LK_U64) {
      write(to, lk_f64_to_u64(value));
    } else {
      const bool is_wide = to_type == LK_I64 || to_type == LK_U32;
      store_integer(to_type, is_wide ? lk_f64_to_i64(value) : lk_f64_to_i32(value), to);
    }
    return;
  }
  const int64_t value = integer_of(from_type, from);
  if (!is_float(to_type)) {
    store_integer(to_type, value, to);
  } else if (to_type == LK_F32) { // rounded once
    write(to, from_type == LK_U64 ? float(uint64_t(value)) : float(value));
  } else {
    store_float(to_type, from_type == LK_U64 ? double(uint64_t(value)) : double(value), to);
  }
}

bool same(uint32_t dtype, const char *a, const char *b) {
  if (std::memcmp(a, b, lk_dtype_size(dtype)) == 0) return true;
  return is_float(dtype) && std::isnan(float_of(dtype, a)) && std::isnan(float_of(dtype, b));
}

// All kinds of bits, and numbers of all sizes.
Bytes random_elements(uint32_t dtype, size_t count, std::mt19937_64 &random) {
  const size_t size = lk_dtype_size(dtype);
  Bytes made(count * size);
  for (size_t i = 0; i < count; i++) {
    char *at = &made[i * size];
    if (dtype == LK_BOOL) {
      *at = random() % 2 == 0 ? char(random()) : 0;
    } else if (is_float(dtype) && i % 2 == 0) {
      const double power = std::ldexp(1, int(random() % 80) - 40);
      store_float(dtype, (double(random() % 2001) - 1000) / 256 * power, at);
    } else if (dtype == LK_F64 && i % 4 == 1) { // at ties of the short types, and beside them
      const double tie = (random() % 2 == 0 ? 0x1p-11 : 0x1p-8) * double(random() % 4096);
      write(at, tie + (double(random() % 3) - 1) * 0x1p-40);
    } else {
      const uint64_t bits = random();
      std::memcpy(at, &bits, size);
    }
  }
  return made;
}

void check(uint32_t from_type, uint32_t to_type, const Bytes &from, const Bytes &to) {
  const size_t from_size = lk_dtype_size(from_type), to_size = lk_dtype_size(to_type);
  for (size_t i = 0; i < from.size() / from_size; i++) {
    char expected[8];
    expect_one(from_type, &from[i * from_size], to_type, expected);
    ASSERT_TRUE(same(to_type, &to[i * to_size], expected))
        << "element " << i << ", bits " << std::hex << integer_of(LK_U8, &from[i * from_size]);
  }
}

Bytes cast(uint32_t from_type, uint32_t to_type, Bytes *from, lk_isa isa) {
  const size_t count = from->size() / lk_dtype_size(from_type);
  lk_cast params = {};
  params.from = from_type;
  params.to = to_type;
  params.count = int64_t(count);
  lk_cast_plan(&params, isa);
  Bytes to(count * lk_dtype_size(to_type) + 1, '.');
  void *const pointers[] = {from->data(), to.data()};
  EXPECT_EQ(lk_cast_kernel(&params, pointers, LK_ERR), LK_OK);
  EXPECT_EQ(to.back(), '.');
  to.pop_back();
  return to;
}

TEST(CastKernel, OfAllPairs) {
  std::mt19937_64 random(7);
  for (uint32_t from_type : ALL) {
    for (uint32_t to_type : ALL) {
      if (from_type == to_type) continue;
      for (size_t count : {1, 7, 3000}) {
        Bytes from = random_elements(from_type, count, random);
        for (int isa = LK_ISA_BASE; isa <= lk_isa_get(); isa++) {
          SCOPED_TRACE(std::to_string(from_type) + " to " + std::to_string(to_type) +
                       ", instruction set " + std::to_string(isa));
          const Bytes to = cast(from_type, to_type, &from, lk_isa(isa));
          ASSERT_NO_FATAL_FAILURE(check(from_type, to_type, from, to));
        }
      }
    }
  }
}

// f32 to bf16: all sixteen upper bits with lower ones beside the tie, denormal numbers and NaN
// among them, on processors that have an instruction for it too.
TEST(CastKernel, RoundsToBf16) {
  Bytes from;
  for (uint32_t upper = 0; upper < 65536; upper++) {
    for (uint32_t lower : {0x0000, 0x0001, 0x7fff, 0x8000, 0x8001, 0xffff}) {
      const uint32_t bits = upper << 16 | lower;
      from.insert(from.end(), reinterpret_cast<const char *>(&bits),
                  reinterpret_cast<const char *>(&bits + 1));
    }
  }
  for (int isa = LK_ISA_BASE; isa <= lk_isa_get(); isa++) {
    SCOPED_TRACE(isa);
    const Bytes to = cast(LK_F32, LK_BF16, &from, lk_isa(isa));
    ASSERT_NO_FATAL_FAILURE(check(LK_F32, LK_BF16, from, to));
  }
  const Bytes best = cast(LK_F32, LK_BF16, &from, lk_isa_get());
  EXPECT_EQ(best, cast(LK_F32, LK_BF16, &from, LK_ISA_BASE)); // NaN too
}

// Denormal numbers and others in one vector, at every place of a row.
TEST(CastKernel, RoundsToBf16InAnyOrder) {
  std::mt19937_64 random(9);
  for (size_t count : {31, 32, 33, 64, 100, 8192 + 40}) {
    Bytes from(count * 4);
    for (size_t i = 0; i < count; i++) {
      const uint32_t bits = uint32_t(random()), small = random() % 9 == 0 ? 0x807fffff : ~0U;
      write(&from[i * 4], bits & small);
    }
    for (int isa = LK_ISA_BASE; isa <= lk_isa_get(); isa++) {
      SCOPED_TRACE(std::to_string(isa) + ", of " + std::to_string(count));
      EXPECT_EQ(cast(LK_F32, LK_BF16, &from, lk_isa(isa)),
                cast(LK_F32, LK_BF16, &from, LK_ISA_BASE));
      ASSERT_NO_FATAL_FAILURE(
          check(LK_F32, LK_BF16, from, cast(LK_F32, LK_BF16, &from, lk_isa(isa))));
    }
  }
}

TEST(CastKernel, IsSharedByThreads) {
  std::mt19937_64 random(8);
  Bytes from = random_elements(LK_F32, 100001, random);
  const Bytes alone = cast(LK_F32, LK_I16, &from, lk_isa_get());
  const int before = lk_team_begin(3);
  const Bytes shared = cast(LK_F32, LK_I16, &from, lk_isa_get());
  lk_team_end(before);
  EXPECT_EQ(alone, shared);
}

} // namespace
