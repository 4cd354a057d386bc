// Packing weights writes the same with any number of threads and from any address.
#include "tests/ops/kernel/conv/conv_case.h"

extern "C" {
#include "ops/kernel/conv/conv.h"
#include "ops/kernel/conv/conv_transposed.h"
#include "ops/kernel/conv/depthwise_weights.h"
}

namespace {

using lk::ConvCase;

ConvCase random_case(std::mt19937 &random, int64_t most_channels) {
  const auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  ConvCase made;
  lk_conv_shape &shape = made.shape;
  shape.batch = 1;
  shape.groups = number(1, 4);
  shape.in_channels = number(1, most_channels);
  shape.out_channels = number(1, most_channels);
  lk::draw_sizes(random, 4, &shape);
  made.fill(random);
  return made;
}

template <typename Conv>
void check(const ConvCase &of, const Conv &conv, int64_t size,
           void (*pack)(const Conv *conv, const float *weights, float *packed)) {
  std::vector<float> right(size_t(size), NAN);
  lk::with_threads(1, [&] { pack(&conv, of.weights.get(), right.data()); });
  std::vector<char> odd(of.weights.size() * sizeof(float) + 8);
  char *const at = &odd[reinterpret_cast<uintptr_t>(odd.data()) % 2 == 0];
  std::memcpy(at, of.weights.get(), of.weights.size() * sizeof(float));
  for (const int threads : {1, 2, 8}) {
    lk::Guarded packed(right.size());
    const void *const from = at;
    lk::with_threads(threads, [&] { pack(&conv, static_cast<const float *>(from), packed.get()); });
    packed.check();
    EXPECT_EQ(std::memcmp(packed.get(), right.data(), right.size() * sizeof(float)), 0)
        << threads << " threads";
  }
}

TEST(ConvPack, WritesTheSameOnAnyThreadsAndFromAnyAddress) {
  std::mt19937 random(1);
  for (int i = 0; i < 40; i++) {
    const ConvCase large = random_case(random, 150), small = random_case(random, 8);
    SCOPED_TRACE(lk::describe(large.shape) + lk::describe(small.shape));
    lk_conv conv = {};
    conv.shape = large.shape;
    conv.isa = lk_isa_get();
    lk_conv_plan(&conv);
    check(large, conv, lk_conv_packed_size(&conv), lk_conv_pack);
    lk_conv_transposed transposed = {};
    transposed.shape = large.shape;
    transposed.isa = lk_isa_get();
    lk_conv_transposed_plan(&transposed);
    check(large, transposed, lk_conv_transposed_packed_size(&transposed), lk_conv_transposed_pack);
    lk_depthwise depthwise = {};
    depthwise.shape = small.shape;
    depthwise.is_transposed = i % 2 == 0;
    lk_depthwise_plan(&depthwise, lk_isa_get());
    check(small, depthwise, lk_depthwise_packed_size(&depthwise), lk_depthwise_pack);
  }
}

} // namespace
