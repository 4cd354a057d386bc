// Products of rows by rows, of lengths about those of one part and more, against sums in f64.
#include <cmath>
#include <random>

#include "tests/ops/kernel/product/product.h"

extern "C" {
#include "ops/kernel/product/dots.h"
}

namespace {

TEST(Dots, AreRightForAnyLength) {
  std::mt19937 random(1);
  constexpr int64_t part = LK_LOOK_EACH;
  for (const int64_t size : {int64_t{1}, int64_t{100}, part - 1, part, part + 1, int64_t{200003}}) {
    for (const int64_t rows : {1, 3, 4, 6}) {
      const int64_t keys = size > 1000 ? 35 : 70, row = keys + 3;
      const lk::Guarded q = lk::random_floats(size_t(rows * size), random);
      const lk::Guarded k = lk::random_floats(size_t(keys * size), random);
      std::vector<const float *> of;
      for (int64_t r = 0; r < rows; r++) of.push_back(q.get() + r * size);
      for (const lk_isa isa : lk::instruction_sets()) {
        lk::Guarded to(size_t((rows - 1) * row + keys));
        lk_dots_run(lk_product_loops_get(isa), of.data(), rows, k.get(), size, keys, size, to.get(),
                    row);
        to.check();
        for (int64_t i = 0; i < rows * keys; i++) {
          const int64_t r = i / keys, n = i % keys;
          double sum = 0;
          for (int64_t at = 0; at < size; at++) {
            sum += double(q[size_t(r * size + at)]) * double(k[size_t(n * size + at)]);
          }
          ASSERT_NEAR(double(to[size_t(r * row + n)]), sum, 1e-5 * std::sqrt(double(size)))
              << size << " elements, row " << r << ", key " << n << ", isa " << isa;
        }
      }
    }
  }
}

} // namespace
