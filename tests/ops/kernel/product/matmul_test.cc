// Matrix products of random shapes and strides against plain loops in double.
#include <numeric>

#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "ops/kernel/product/matmul.h"
}

namespace {

using lk::Guarded;

struct Case {
  lk_matmul matmul = {};
  Guarded a{0}, b{0}, bias{0}, residual{0};

  size_t outputs() const {
    int64_t count = matmul.rows * matmul.columns;
    for (uint32_t i = 0; i < matmul.batch_rank; i++) count *= matmul.batch[i].size;
    return size_t(count);
  }
};

// Gives the dimensions strides in a random order of memory, from the innermost on. Returns the
// elements. `elements`: those that one of the innermost has.
int64_t lay_out(std::vector<std::pair<int64_t, int64_t *>> dims, bool keep_order,
                std::mt19937 &random, int64_t elements = 1) {
  if (!keep_order) std::shuffle(dims.begin(), dims.end(), random);
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    *dim->second = elements;
    elements *= dim->first;
  }
  return elements;
}

Case random_case(std::mt19937 &random) {
  auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  Case made;
  lk_matmul &matmul = made.matmul;
  matmul.rows = number(0, 1) == 0 ? number(1, 9) : number(1, 90);
  matmul.columns = number(1, 150);
  matmul.k = number(1, 130);
  matmul.batch_rank = uint32_t(number(0, 3));
  matmul.b_is_packed = number(0, 2) == 0;
  const bool keep_order = number(0, 1) == 0;
  std::vector<std::pair<int64_t, int64_t *>> a, b, c;
  for (uint32_t i = 0; i < matmul.batch_rank; i++) {
    matmul.batch[i].size = number(1, 3);
    c.emplace_back(matmul.batch[i].size, &matmul.batch[i].c);
    if (number(0, 2) > 0) a.emplace_back(matmul.batch[i].size, &matmul.batch[i].a);
    if (!matmul.b_is_packed && number(0, 2) > 0) {
      b.emplace_back(matmul.batch[i].size, &matmul.batch[i].b);
    }
  }
  a.emplace_back(matmul.rows, &matmul.a_row);
  a.emplace_back(matmul.k, &matmul.a_k);
  b.emplace_back(matmul.k, &matmul.b_k);
  b.emplace_back(matmul.columns, &matmul.b_column);
  c.emplace_back(matmul.rows, &matmul.c_row);
  (void)lay_out(c, keep_order, random, matmul.columns);
  matmul.a_first = number(0, 1) * number(0, 9);
  if (!matmul.b_is_packed) matmul.b_first = number(0, 1) * number(0, 9);
  made.a = lk::random_floats(size_t(lay_out(a, keep_order, random) + matmul.a_first), random);
  made.b = lk::random_floats(size_t(lay_out(b, keep_order, random) + matmul.b_first), random);
  matmul.has_bias = number(0, 1) == 1;
  matmul.has_residual = number(0, 2) == 0;
  matmul.low = number(0, 1) == 1 ? 0.0F : -INFINITY;
  matmul.high = number(0, 2) == 0 ? 0.5F : INFINITY;
  made.bias = lk::random_floats(size_t(matmul.columns), random);
  made.residual = lk::random_floats(made.outputs(), random);
  return made;
}

Case simple(int64_t rows, int64_t columns, int64_t k, bool packed, std::mt19937 &random) {
  Case made;
  lk_matmul &matmul = made.matmul;
  matmul.rows = rows;
  matmul.columns = matmul.b_k = matmul.c_row = columns;
  matmul.k = matmul.a_row = k;
  matmul.a_k = matmul.b_column = 1;
  matmul.b_is_packed = packed;
  matmul.low = -INFINITY;
  matmul.high = INFINITY;
  made.a = lk::random_floats(size_t(rows * k), random);
  made.b = lk::random_floats(size_t(k * columns), random);
  return made;
}

Guarded run(const Case &of, lk_isa isa) {
  lk_matmul matmul = of.matmul;
  matmul.isa = isa;
  lk_matmul_plan(&matmul);
  std::vector<float> packed;
  std::vector<void *> pointers = {const_cast<float *>(of.a.get()), const_cast<float *>(of.b.get()),
                                  nullptr};
  if (matmul.b_is_packed) {
    packed.assign(size_t(lk_matmul_packed_size(&matmul)), NAN);
    lk_matmul_pack(&matmul, of.b.get(), packed.data());
    pointers[1] = packed.data();
  }
  Guarded output(of.outputs()), scratch(size_t(lk_matmul_scratch_size(&matmul)));
  pointers[2] = output.get();
  if (matmul.has_bias) pointers.push_back(const_cast<float *>(of.bias.get()));
  if (matmul.has_residual) pointers.push_back(const_cast<float *>(of.residual.get()));
  if (scratch.size() > 0) pointers.push_back(scratch.get());
  LK_EXPECT_OK(lk_matmul_kernel(&matmul, pointers.data(), LK_ERR));
  output.check();
  scratch.check();
  return output;
}

void check(const Case &of, const Guarded &output) {
  const lk_matmul &matmul = of.matmul;
  const int64_t elements = matmul.rows * matmul.columns;
  for (int64_t i = 0; i < int64_t(of.outputs()); i++) {
    const int64_t row = i % elements / matmul.columns, column = i % matmul.columns;
    int64_t a = matmul.a_first + row * matmul.a_row, batch = i / elements;
    int64_t b = matmul.b_first + column * matmul.b_column;
    int64_t c = row * matmul.c_row + column;
    for (uint32_t d = matmul.batch_rank; d-- > 0; batch /= matmul.batch[d].size) {
      a += batch % matmul.batch[d].size * matmul.batch[d].a;
      b += batch % matmul.batch[d].size * matmul.batch[d].b;
      c += batch % matmul.batch[d].size * matmul.batch[d].c;
    }
    double sum = matmul.has_bias ? of.bias[size_t(column)] : 0;
    for (int64_t k = 0; k < matmul.k; k++) {
      sum += double(of.a[size_t(a + k * matmul.a_k)]) * of.b[size_t(b + k * matmul.b_k)];
    }
    if (matmul.has_residual) sum += of.residual[size_t(c)];
    const double right = std::fmin(std::fmax(sum, matmul.low), matmul.high);
    ASSERT_NEAR(output[size_t(c)], right, lk::tolerance(matmul.k)) << "output " << i;
  }
}

TEST(MatmulKernel, IsRightForRandomShapesAndStrides) {
  std::mt19937 random(1);
  for (int i = 0; i < lk::repeats(300) && !::testing::Test::HasFatalFailure(); i++) {
    const Case made = random_case(random);
    for (const lk_isa isa : lk::instruction_sets()) {
      SCOPED_TRACE("case " + std::to_string(i) + ", instruction set " + std::to_string(isa));
      check(made, run(made, isa));
    }
  }
}

// Sums longer than a block, rows and columns of several.
TEST(MatmulKernel, IsRightForLargeOnesOnAnyThreads) {
  std::mt19937 random(2);
  const std::vector<std::array<int64_t, 3>> sizes = {
      {1, 1000, 2500}, {40, 300, 4200}, {500, 70, 64}, {129, 513, 33},
      {300, 1, 1200},  {5, 1, 5},       {1, 70, 40}};
  for (const auto &[rows, columns, k] : sizes) {
    for (const bool packed : {false, true}) {
      const Case made = simple(rows, columns, k, packed, random);
      for (const lk_isa isa : lk::instruction_sets()) {
        const Guarded output = run(made, isa);
        check(made, output);
        lk::with_threads(
            3, [&] { EXPECT_TRUE(run(made, isa).has_bits_of(output)) << "three threads"; });
      }
    }
  }
}

// A row's result does not depend on how many rows there are. One or two are summed by tiles of
// their own.
TEST(MatmulKernel, HasTheSameBitsForFewRows) {
  std::mt19937 random(3);
  for (const bool packed : {false, true}) {
    const Case made = simple(50, 200, 77, packed, random);
    for (const lk_isa isa : lk::instruction_sets()) {
      const Guarded all = run(made, isa);
      for (const size_t rows : {1, 2}) {
        Case few = made;
        few.matmul.rows = int64_t(rows);
        for (size_t row = 0; row < 50; row += rows) {
          few.a = Guarded(rows * 77);
          std::copy_n(made.a.get() + row * 77, rows * 77, few.a.get());
          const Guarded apart = run(few, isa);
          EXPECT_EQ(std::memcmp(apart.get(), all.get() + row * 200, rows * 200 * sizeof(float)), 0)
              << rows << " rows from " << row << ", isa " << isa;
        }
      }
    }
  }
}

// A thread alone waits for memory there, although there is little to compute.
TEST(MatmulKernel, ThreadsShareFewRowsOfALargeOperand) {
  std::mt19937 random(7);
  const auto regions_of = [&](int64_t rows, int64_t columns, int64_t k) {
    const Case made = simple(rows, columns, k, false, random);
    uint64_t regions = 0;
    lk::with_threads(2, [&] {
      const uint64_t before = lk_team_regions();
      run(made, lk_isa_get());
      regions = lk_team_regions() - before;
    });
    return regions;
  };
  EXPECT_GT(regions_of(2, 384, 384), 0u);
  EXPECT_EQ(regions_of(2, 128, 128), 0u);
  EXPECT_EQ(regions_of(32, 64, 128), 0u); // as much to compute as the first
}

TEST(MatmulKernel, KeepsThePackedOperand) {
  std::mt19937 random(4);
  for (int i = 0; i < lk::repeats(100); i++) {
    const Case made = random_case(random);
    for (const lk_isa isa : lk::instruction_sets()) {
      lk_matmul matmul = made.matmul;
      matmul.isa = isa;
      if (!matmul.b_is_packed) continue;
      lk_matmul_plan(&matmul);
      std::vector<float> packed(size_t(lk_matmul_packed_size(&matmul)), NAN);
      lk_matmul_pack(&matmul, made.b.get(), packed.data());
      Guarded back(made.b.size());
      lk_matmul_unpack(&matmul, packed.data(), back.get());
      EXPECT_TRUE(back.has_bits_of(made.b));
      for (const float x : packed) ASSERT_FALSE(std::isnan(x)) << "every element is written";
    }
  }
}

} // namespace
