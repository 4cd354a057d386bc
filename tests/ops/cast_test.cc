// Cast between all pairs of types, with values whose results were worked out by hand.
#include <limits>

#include "tests/harness/op_tester.h"
#include "tests/ops/numbers.h"

namespace {

using lk::OpTester;
using lk::tensor;
using lk::Value;

constexpr float INF = std::numeric_limits<float>::infinity();
constexpr float NOT = std::numeric_limits<float>::quiet_NaN();

template <typename T>
Value list(const std::vector<T> &values, uint32_t dtype = lk::DtypeOf<T>::value) {
  return tensor<T>({static_cast<int64_t>(values.size())}, values, dtype);
}

void cast(const Value &from, const Value &to) {
  OpTester("Cast", 13).attr("to", to.desc.dtype).input(from).expect(to).within(lk::EXACTLY).run();
}

// The same small whole numbers in each type.
Value small(uint32_t dtype) {
  if (dtype == LK_BOOL) return list<uint8_t>({0, 1, 1, 1}, LK_BOOL);
  return lk::numbers(dtype, {4}, {0, 1, 2, 100});
}

constexpr uint32_t ALL[] = {LK_F32, LK_F64, LK_F16, LK_BF16, LK_I8,  LK_U8,  LK_I16,
                            LK_U16, LK_I32, LK_U32, LK_I64,  LK_U64, LK_BOOL};

TEST(Cast, GoesBetweenAllTypes) {
  for (uint32_t from : ALL) {
    for (uint32_t to : ALL) {
      SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to));
      Value expected = small(to);
      if (from == LK_BOOL && to != LK_BOOL) { // 0, 1, 1, 1
        const size_t size = lk::dtype_bytes(to);
        for (size_t i = 2; i < 4; i++) {
          std::memcpy(&expected.bytes[i * size], &expected.bytes[size], size);
        }
      }
      cast(small(from), expected);
    }
  }
}

TEST(Cast, TruncatesTowardZero) {
  const Value x = list<float>({1.9f, -1.9f, 0.5f, -0.5f, 127.9f});
  cast(x, list<int32_t>({1, -1, 0, 0, 127}));
  cast(x, list<int8_t>({1, -1, 0, 0, 127}));
  cast(x, list<int64_t>({1, -1, 0, 0, 127}));
  cast(list<double>({-2147483648.9, 2147483647.9}), list<int32_t>({INT32_MIN, INT32_MAX}));
}

TEST(Cast, OutOfRangeIsWhatTheMachineGives) {
  cast(list<float>({3e9f, -3e9f, INF, -INF, NOT}),
       list<int32_t>({INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN}));
  cast(list<float>({1e19f, -1e19f, NOT}), list<int64_t>({INT64_MIN, INT64_MIN, INT64_MIN}));
  cast(list<float>({300, -1, 256, 1e10f}), list<uint8_t>({44, 255, 0, 0}));
  cast(list<float>({-1, 4294967295.0f}), list<uint32_t>({UINT32_MAX, 0})); // rounds to 2^32
  cast(list<double>({-1, 18446744073709549568.0}),
       list<uint64_t>({UINT64_MAX, 18446744073709549568u}));
}

TEST(Cast, IntegersKeepTheirLowBits) {
  cast(list<int64_t>({0x1ff, -1, INT64_MIN}), list<uint8_t>({0xff, 0xff, 0}));
  cast(list<int64_t>({INT64_C(0x180000000)}), list<int32_t>({INT32_MIN}));
  cast(list<uint64_t>({UINT64_MAX}), list<int64_t>({-1}));
  cast(list<uint32_t>({UINT32_MAX}), list<int64_t>({4294967295}));
  cast(list<uint64_t>({UINT64_MAX}), list<double>({18446744073709551616.0}));
  // Once rounded, not twice by way of f64: 2^61 + 2^37 + 1 is just above the middle.
  cast(list<int64_t>({(INT64_C(1) << 61) + (INT64_C(1) << 37) + 1}),
       list<float>({2305843284091600896.0f}));
}

TEST(Cast, ToBoolIsNotZero) {
  cast(list<float>({0, -0.0f, 0.1f, NOT, -2}), list<uint8_t>({0, 0, 1, 1, 1}, LK_BOOL));
  cast(list<int64_t>({0, 256, -1}), list<uint8_t>({0, 1, 1}, LK_BOOL));
}

TEST(Cast, HalfRoundsToNearestEven) {
  // 2049 and 2051 lie in the middle between neighbours 2 apart; 65519 is below the middle to what
  // would be 65536, 65520 is it; 2^-24 is the least, half of it is a tie that goes to 0.
  cast(list<float>({2049, 2051, 65504, 65519, 65520, 1e9f, -INF, 0x1p-24f, 0x1p-25f, 0x1.8p-25f,
                    0x1.ffep-15f, -0.0f, 0.333251953125f}),
       list<uint16_t>({0x6800, 0x6802, 0x7bff, 0x7bff, 0x7c00, 0x7c00, 0xfc00, 1, 0, 1, 0x0400,
                       0x8000, 0x3555},
                      LK_F16));
  // From f64 in one step: by way of f32 the second would become a tie and go down.
  cast(list<double>({2049, 2049.0000001}), list<uint16_t>({0x6800, 0x6801}, LK_F16));
  const Value back = list<uint16_t>({0x0001, 0x03ff, 0x7bff, 0x7c00, 0x8000, 0xc000}, LK_F16);
  cast(back, list<float>({0x1p-24f, 0x1.ff8p-15f, 65504, INF, -0.0f, -2}));
}

TEST(Cast, Bfloat16RoundsToNearestEven) {
  cast(list<float>({1, 0x1.01p0f, 0x1.03p0f, 0x1.0101p0f, INF, 3.4e38f, 0x1p-133f, -1.5f}),
       list<uint16_t>({0x3f80, 0x3f80, 0x3f82, 0x3f81, 0x7f80, 0x7f80, 1, 0xbfc0}, LK_BF16));
  cast(list<uint16_t>({0x3f81, 0x0001, 0xff80}, LK_BF16),
       list<float>({0x1.02p0f, 0x1p-133f, -INF}));
}

TEST(Cast, NotANumberStays) {
  for (uint32_t half : {uint32_t{LK_F16}, uint32_t{LK_BF16}}) {
    const uint16_t bits = half == LK_F16 ? 0x7e00 : 0x7fc0;
    cast(list<float>({NOT}), list<uint16_t>({bits}, half));
    cast(list<uint16_t>({bits}, half), list<float>({NOT}));
  }
}

TEST(Cast, LongAndEmptyTensors) {
  std::vector<float> from(1000);
  std::vector<int16_t> to(1000);
  for (size_t i = 0; i < from.size(); i++) {
    from[i] = static_cast<float>(i) + 0.75f;
    to[i] = static_cast<int16_t>(i);
  }
  cast(list<float>(from), list<int16_t>(to));
  cast(list<float>({}), list<int64_t>({}));
}

TEST(Cast, OfEqualTypesIsAView) {
  const Value x = lk::iota<float>({3, 2});
  OpTester("Cast", 9).attr("to", LK_F32).input(x).expect(x).expect_alias(0).run();
}

TEST(Cast, StaysInChannelsLast) {
  OpTester("Cast", 13)
      .attr("to", LK_I32)
      .channels_last(lk::iota<float>({1, 2, 3, 4}))
      .expect(lk::iota<int32_t>({1, 2, 3, 4}))
      .expect_layout(LK_LAYOUT_CHANNELS_LAST)
      .expect_reorders(0)
      .run();
}

TEST(Cast, ComesInTheLayoutThatIsWishedFor) {
  for (const auto &[from, to] : {std::pair{LK_LAYOUT_CHANNELS_LAST, LK_LAYOUT_PLAIN},
                                 std::pair{LK_LAYOUT_PLAIN, LK_LAYOUT_CHANNELS_LAST}}) {
    OpTester("Cast", 13)
        .attr("to", LK_I64)
        .input(lk::iota<double>({2, 2, 3, 4}), from)
        .expect(lk::iota<int64_t>({2, 2, 3, 4}))
        .wish(to)
        .expect_layout(to)
        .expect_reorders(1)
        .run();
  }
}

TEST(Cast, NamesTheTypeItDoesNotKnow) {
  OpTester("Cast", 13)
      .attr("to", 8)
      .input(list<float>({1}))
      .expect_create(LK_UNSUPPORTED, "'to' is string");
  OpTester("Cast", 13).input(list<float>({1})).expect_create(LK_INVALID_ARGUMENT, "to");
}

} // namespace
