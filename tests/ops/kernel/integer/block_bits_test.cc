// Matrices of few bits: unpacked, and as right operands of products. Those of more than a few rows
// have the bits of the same products by the unpacked matrix.
#include "tests/ops/kernel/integer/integer_case.h"
#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "ops/kernel/integer/bits_panels.h"
#include "ops/kernel/product/matmul.h"
}

namespace {

using lk::Guarded;
using lk::Memory;
using lk::integer_case::Bytes;
using lk::integer_case::copy;
using lk::integer_case::Random;

struct Matrix {
  lk_block_bits bits;
  Bytes numbers, byte_zeros;
  std::vector<float> scales, zeros;

  lk_block_operands operands() const {
    const void *of = bits.zeros == LK_BLOCK_ZEROS_PACKED ? static_cast<const void *>(&byte_zeros[0])
                                                         : zeros.data();
    return {numbers.data(), scales.data(), bits.zeros == LK_BLOCK_ZEROS_NONE ? nullptr : of};
  }
  // By the definition, one element at a time.
  float at(int64_t row, int64_t column) const {
    const int64_t blocks = lk_block_bits_blocks(&bits), block = column / bits.block;
    const auto number = [this](const Bytes &from, int64_t first, int64_t index) {
      const int64_t bit = index * bits.bits;
      return float(from[size_t(first + bit / 8)] >> bit % 8 & ((1 << bits.bits) - 1));
    };
    float zero = float(1 << (bits.bits - 1));
    if (bits.zeros == LK_BLOCK_ZEROS_PACKED) {
      zero = number(byte_zeros, row * lk_block_bits_zero_bytes(&bits), block);
    } else if (bits.zeros == LK_BLOCK_ZEROS_REAL) {
      zero = zeros[size_t(row * blocks + block)];
    }
    const float x = number(numbers, row * blocks * bits.block * bits.bits / 8, column);
    return (x - zero) * scales[size_t(row * blocks + block)];
  }
};

Matrix random_matrix(Random &random, int64_t rows, int64_t columns, uint32_t bits) {
  Matrix made;
  made.bits = {.rows = rows,
               .columns = columns,
               .block = int64_t(16) << random.between(0, 5),
               .bits = bits,
               .zeros = uint32_t(random.between(0, 2))};
  const int64_t blocks = lk_block_bits_blocks(&made.bits);
  made.numbers = random.bytes(rows * blocks * made.bits.block * bits / 8);
  made.byte_zeros = random.bytes(rows * lk_block_bits_zero_bytes(&made.bits));
  for (int64_t i = 0; i < rows * blocks; i++) {
    made.scales.push_back(float(random.between(-99, 99)) / 1000);
    made.zeros.push_back(float(random.between(-99, 99)) / 10);
  }
  return made;
}

Memory packed(const Matrix &matrix, int64_t panel) {
  const lk_bits_panels panels = {matrix.bits, panel, (matrix.bits.rows + panel - 1) / panel};
  const lk_block_operands from = matrix.operands();
  Memory made(lk_bits_panels_size(&panels));
  lk_bits_panels_pack(&panels, &from, made.data());
  return made;
}

TEST(BlockBits, AreUnpackedFromPanelsInAnyBlocks) {
  for (const lk_integer_loops *loops : lk::integer_case::all_loops()) {
    for (unsigned seed = 0; seed < 60; seed++) {
      Random random{seed};
      const uint32_t bits = 2U << seed % 3;
      const int64_t rows = random.between(1, 150), columns = random.between(1, 600);
      const int64_t panel = loops->lanes * random.between(1, 4);
      const Matrix matrix = random_matrix(random, rows, columns, bits);
      const Memory memory = packed(matrix, panel);
      const auto *panels = static_cast<const lk_bits_panels *>(memory.data());
      const int64_t k = random.between(0, (columns - 1) / 16) * 16;
      const int64_t end = random.between(k + 1, columns), each = 32 / bits;
      for (int64_t p = 0; p < panels->panels; p++) {
        Guarded to(size_t((end - k + each - 1) / each * each * panel));
        lk_bits_panels_make(panels, loops, p, k, end, to.get());
        to.check();
        for (int64_t i = 0; i < (end - k) * panel; i++) {
          const int64_t row = p * panel + i % panel;
          const float right = row < rows ? matrix.at(row, k + i / panel) : 0;
          ASSERT_EQ(to[size_t(i)], right) << "seed " << seed << ", panel " << p << ", " << i;
        }
      }
    }
  }
}

TEST(BlockBits, AreUnpackedAsRows) {
  for (unsigned seed = 0; seed < 30; seed++) {
    Random random{seed};
    const int64_t rows = random.between(1, 400), columns = random.between(1, 300);
    const Matrix matrix = random_matrix(random, rows, columns, 2U << seed % 3);
    const lk_block_operands from = matrix.operands();
    Guarded to(size_t(rows * columns));
    std::vector<void *> pointers = {const_cast<uint8_t *>(from.numbers),
                                    const_cast<float *>(from.scales)};
    if (from.zeros != nullptr) pointers.push_back(const_cast<void *>(from.zeros));
    pointers.push_back(to.get());
    LK_EXPECT_OK(lk_block_bits_kernel(&matrix.bits, pointers.data(), LK_ERR));
    to.check();
    for (int64_t i = 0; i < rows * columns; i++) {
      ASSERT_EQ(to[size_t(i)], matrix.at(i / columns, i % columns)) << "seed " << seed;
    }
  }
}

Guarded multiply(const lk_matmul &matmul, const Guarded &a, void *b, const Guarded &bias) {
  Guarded c(size_t(matmul.batches * matmul.rows * matmul.columns)),
      scratch(size_t(lk_matmul_scratch_size(&matmul)));
  std::vector<void *> pointers = {const_cast<float *>(a.get()), b, c.get(),
                                  const_cast<float *>(bias.get())};
  if (scratch.size() > 0) pointers.push_back(scratch.get());
  LK_EXPECT_OK(lk_matmul_kernel(&matmul, pointers.data(), LK_ERR));
  c.check();
  scratch.check();
  return c;
}

TEST(BlockBits, GiveTheProductsOfTheUnpackedMatrixOnAnyThreads) {
  const std::vector<std::array<int64_t, 3>> sizes = {{7, 700, 1000}, {5, 65, 129}, {40, 300, 700},
                                                     {130, 90, 257}, {9, 1, 1},    {6, 5000, 33}};
  for (const lk_isa isa : lk::instruction_sets()) {
    for (const auto &[rows, columns, k] : sizes) {
      std::mt19937 floats(1);
      Random random{unsigned(rows)};
      const Matrix matrix = random_matrix(random, columns, k, 4);
      lk_matmul matmul = {};
      matmul.isa = isa;
      matmul.rows = rows;
      matmul.columns = matmul.c_row = columns;
      matmul.k = matmul.a_row = matmul.b_column = k;
      matmul.a_k = matmul.b_k = 1;
      matmul.b_is_packed = matmul.has_bias = true;
      matmul.low = -0.5F;
      matmul.high = INFINITY;
      const Guarded a = lk::random_floats(size_t(rows * k), floats);
      const Guarded bias = lk::random_floats(size_t(columns), floats);

      lk_matmul_plan(&matmul);
      std::vector<float> plain, panels(size_t(lk_matmul_packed_size(&matmul)));
      for (int64_t i = 0; i < columns * k; i++) plain.push_back(matrix.at(i / k, i % k));
      lk_matmul_pack(&matmul, plain.data(), panels.data());
      const Guarded right = multiply(matmul, a, panels.data(), bias);

      matmul.b_is_bits = true;
      lk_matmul_plan(&matmul);
      const Memory of_bits = packed(matrix, matmul.product.panel);
      EXPECT_TRUE(multiply(matmul, a, of_bits.data(), bias).has_bits_of(right))
          << rows << "x" << columns << "x" << k << ", isa " << isa;
      lk::with_threads(3, [&, &matmul = matmul] {
        EXPECT_TRUE(multiply(matmul, a, of_bits.data(), bias).has_bits_of(right)) << "3 threads";
      });
    }
  }
}

// ---- of few rows ----

TEST(BlockBits, AreMultipliedByFewRowsOnAnyThreads) {
  for (const lk_isa isa : lk::instruction_sets()) {
    for (unsigned seed = 0; seed < 90; seed++) {
      std::mt19937 floats(seed);
      Random random{seed};
      const int64_t rows = random.between(1, 4), batches = random.between(1, 2);
      const Matrix matrix =
          random_matrix(random, random.between(1, 200), random.between(1, 400), 2U << seed % 3);
      lk_matmul matmul = {};
      matmul.isa = isa;
      matmul.rows = rows;
      matmul.columns = matmul.c_row = matrix.bits.rows;
      matmul.k = matmul.b_column = matrix.bits.columns;
      matmul.a_row = matmul.k + random.between(0, 3);
      matmul.a_k = matmul.b_k = 1;
      matmul.b_is_packed = matmul.b_is_bits = matmul.has_bias = true;
      matmul.low = -0.5F;
      matmul.high = INFINITY;
      matmul.batch_rank = 1;
      matmul.batch[0] = {batches, rows * matmul.a_row, 0, rows * matmul.c_row};
      lk_matmul_plan(&matmul);
      ASSERT_TRUE(matmul.sums_bits);
      const Guarded a = lk::random_floats(size_t(batches * rows * matmul.a_row), floats);
      const Guarded bias = lk::random_floats(size_t(matmul.columns), floats);
      const Memory panels = packed(matrix, matmul.product.panel);
      const Guarded c = multiply(matmul, a, panels.data(), bias);
      for (int64_t r = 0; r < batches * rows; r++) {
        const float *left = a.get() + r * matmul.a_row;
        for (int64_t n = 0; n < matmul.columns; n++) {
          double sum = bias[size_t(n)], size = std::fabs(sum);
          for (int64_t k = 0; k < matmul.k; k++) {
            sum += double(left[k]) * double(matrix.at(n, k));
            size += std::fabs(double(left[k]) * double(matrix.at(n, k)));
          }
          ASSERT_NEAR(c[size_t(r * matmul.columns + n)], std::fmax(sum, -0.5), 2e-6 * size)
              << "isa " << isa << ", seed " << seed << ", row " << r << ", column " << n;
        }
      }
      lk::with_threads(3, [&] {
        EXPECT_TRUE(multiply(matmul, a, panels.data(), bias).has_bits_of(c)) << "3 threads";
      });
    }
  }
}

// ---- by bytes ----

// What a row's element is as a byte of its block, times the block's scale.
std::vector<double> as_bytes(const float *row, const lk_block_bits &bits) {
  std::vector<double> made;
  for (int64_t first = 0; first < bits.columns; first += bits.block) {
    const int64_t end = std::min(first + bits.block, bits.columns);
    float largest = 0;
    for (int64_t i = first; i < end; i++) largest = std::max(largest, std::fabs(row[i]));
    const float scale = largest > 0 ? largest / 127 : 1;
    for (int64_t i = first; i < end; i++) {
      made.push_back(double(std::nearbyint(row[i] / scale)) * scale);
    }
  }
  return made;
}

lk_matmul by_bytes(lk_isa isa, const Matrix &matrix, int64_t rows) {
  lk_matmul matmul = {};
  matmul.isa = isa;
  matmul.rows = rows;
  matmul.columns = matmul.c_row = matrix.bits.rows;
  matmul.k = matmul.b_column = matrix.bits.columns;
  matmul.a_row = matmul.k + 3;
  matmul.a_k = matmul.b_k = 1;
  matmul.b_is_packed = matmul.b_is_bits = matmul.has_bias = true;
  matmul.low = -0.5F;
  matmul.high = INFINITY;
  const lk_integer_loops *loops = lk_integer_loops_get(isa);
  matmul.left_bytes = int64_t(lk_bits_left_size(&matrix.bits, loops, rows));
  lk_matmul_plan(&matmul);
  return matmul;
}

TEST(BlockBits, AreMultipliedByBytesOnAnyThreads) {
  for (const lk_isa isa : lk::instruction_sets()) {
    for (unsigned seed = 0; seed < 60; seed++) {
      std::mt19937 floats(seed);
      Random random{seed};
      const int64_t rows = random.between(1, 40);
      const Matrix matrix =
          random_matrix(random, random.between(1, 200), random.between(1, 400), 2U << seed % 3);
      const lk_matmul matmul = by_bytes(isa, matrix, rows);
      if (matmul.left_bytes == 0) continue;
      const Guarded a = lk::random_floats(size_t(rows * matmul.a_row), floats);
      const Guarded bias = lk::random_floats(size_t(matmul.columns), floats);
      const Memory panels = packed(matrix, matmul.product.panel);
      const Guarded c = multiply(matmul, a, panels.data(), bias);
      for (int64_t r = 0; r < rows; r++) {
        const std::vector<double> left = as_bytes(a.get() + r * matmul.a_row, matrix.bits);
        for (int64_t n = 0; n < matmul.columns; n++) {
          double sum = bias[size_t(n)], size = 1;
          for (int64_t k = 0; k < matmul.k; k++) {
            sum += left[size_t(k)] * matrix.at(n, k);
            size += std::fabs(left[size_t(k)] * matrix.at(n, k));
          }
          ASSERT_NEAR(c[size_t(r * matmul.columns + n)], std::fmax(sum, -0.5), 1e-5 * size)
              << "isa " << isa << ", seed " << seed << ", row " << r << ", column " << n;
        }
      }
      lk::with_threads(3, [&] {
        EXPECT_TRUE(multiply(matmul, a, panels.data(), bias).has_bits_of(c)) << "3 threads";
      });
    }
  }
}

// Each table says how many bits its loop takes: pairs of products may not saturate.
TEST(BlockBits, TheLargestNumbersAreMultipliedExactly) {
  std::vector<const lk_integer_loops *> all = lk::integer_case::all_loops();
  if (lk_isa_get() >= LK_ISA_AVX2) all.push_back(lk_integer_loops_small(LK_ISA_AVX2));
  for (const lk_integer_loops *loops : all) {
    for (const uint32_t bits : {2U, 4U, 8U}) {
      if (bits > loops->byte_bits) continue;
      for (const int64_t rows : {int64_t{1}, int64_t{LK_INTEGER_BITS_ROWS}}) {
        for (const int byte : {127, -127, -128}) {
          const int64_t groups = 8, words = groups * 8 / bits, k = 4 * words;
          const std::vector<int32_t> numbers(size_t(groups * loops->lanes), -1);
          const auto word = int32_t(0x01010101U * uint8_t(byte));
          const std::vector<int32_t> bytes(size_t(rows * words), word);
          const std::vector<lk_integer_bits_left> left(size_t(rows), {1, float(k * byte)});
          const std::vector<float> scales(size_t(loops->lanes), 1);
          std::vector<float> to(size_t(rows * loops->lanes));
          lk_integer_bits_product product = {};
          product.numbers = numbers.data();
          product.bytes = bytes.data(), product.bytes_step = words;
          product.left = left.data(), product.left_step = 1;
          product.rows = rows, product.block = k, product.groups = groups, product.blocks = 1;
          product.columns = loops->lanes, product.bits = bits;
          product.scaling.scales = scales.data();
          product.to = to.data();
          loops->multiply_bits(&product);
          const float right = float(((1 << bits) - 1) * byte * k);
          EXPECT_EQ(to, std::vector<float>(to.size(), right))
              << loops->lanes << " lanes, groups of " << loops->group << ", " << bits << " bits";
        }
      }
    }
  }
}

TEST(BlockBits, AreNoNumberByBytesOfWhatIsNotFinite) {
  for (const lk_isa isa : lk::instruction_sets()) {
    std::mt19937 floats(1);
    Random random{1};
    const Matrix matrix = random_matrix(random, 70, 90, 4);
    lk_matmul matmul = by_bytes(isa, matrix, 6);
    if (matmul.left_bytes == 0) continue;
    Guarded a = lk::random_floats(size_t(6 * matmul.a_row), floats);
    a[size_t(2 * matmul.a_row + 40)] = NAN;
    a[size_t(3 * matmul.a_row + 89)] = -INFINITY;
    const Memory panels = packed(matrix, matmul.product.panel);
    const Guarded c = multiply(matmul, a, panels.data(), Guarded(70));
    for (size_t i = 0; i < 6 * 70; i++) {
      EXPECT_EQ(std::isnan(c[i]), i / 70 == 2 || i / 70 == 3) << "output " << i;
    }
  }
}

} // namespace
