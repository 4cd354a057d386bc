// Attention in blocks against plain loops in double, on every instruction set.
#include "tests/ops/kernel/product/product.h"

#include <cfenv>
#include <limits>

extern "C" {
#include "ops/kernel/sequence/attend.h"
}

namespace {

using lk::Guarded;

constexpr double kInfinity = double(INFINITY);

struct Case {
  int64_t batch = 1, kv_heads = 1, group = 1, queries = 1, keys = 1, size = 1, v_size = 1;
  bool is_apart = true; // heads; else they are parts of rows
  int64_t past = 0, left = -1, right = -1;
  float scale = 0.3F, cap = 0;
  bool has_past = true, has_lengths = false, has_mask = false;
  lk_attend_sink sink = LK_ATTEND_NO_SINK;

  int64_t heads() const { return kv_heads * group; }
  lk_attend_place place(int64_t n_heads, int64_t rows, int64_t width) const {
    const int64_t all = n_heads * rows * width;
    return is_apart ? lk_attend_place{0, all, rows * width, width}
                    : lk_attend_place{0, all, width, n_heads * width};
  }
  lk_attend step(lk_isa isa) const {
    lk_attend made{};
    made.loops = lk_attend_loops_get(isa);
    made.products = lk_product_loops_get(isa);
    made.micro = lk_micro_get(isa);
    made.batch = batch, made.heads = heads(), made.kv_heads = kv_heads;
    made.size = size, made.v_size = v_size;
    made.q = place(heads(), queries, size);
    made.k = place(kv_heads, keys, size);
    made.v = place(kv_heads, keys, v_size);
    made.y = place(heads(), queries, v_size);
    made.window = {queries, keys, past, left, right, keys, has_past};
    made.scale = scale, made.cap = cap, made.sink = sink;
    made.has_lengths = has_lengths;
    made.n_masks = has_mask ? 2 : 0;
    // of [batch][1][queries][keys] and [heads][1][keys]
    made.masks[0][0] = queries * keys, made.masks[0][2] = keys;
    made.masks[1][1] = keys;
    lk_attend_plan(&made);
    return made;
  }
  std::string text() const {
    std::string text;
    for (int64_t n : {batch, kv_heads, group, queries, keys, size, v_size, past, left, right}) {
      text += std::to_string(n) + " ";
    }
    return text + (is_apart ? "apart " : "") + (has_mask ? "masks " : "") +
           (has_lengths ? "lengths " : "") + (has_past ? "past " : "") + std::to_string(sink) +
           " " + std::to_string(cap);
  }
};

struct Operands {
  Guarded q, k, v, mask, mask_too, sinks;
  std::vector<int64_t> lengths;

  Operands(const Case &of, std::mt19937 &random)
      : q(lk::random_floats(size_t(of.batch * of.heads() * of.queries * of.size), random)),
        k(lk::random_floats(size_t(of.batch * of.kv_heads * of.keys * of.size), random)),
        v(lk::random_floats(size_t(of.batch * of.kv_heads * of.keys * of.v_size), random)),
        mask(lk::random_floats(size_t(of.batch * of.queries * of.keys), random)),
        mask_too(lk::random_floats(size_t(of.heads() * of.keys), random)),
        sinks(lk::random_floats(size_t(of.heads()), random)), lengths(size_t(of.batch)) {
    for (size_t i = 0; i < q.size(); i++) q[i] *= 3;
    for (size_t i = 0; i < mask.size(); i++) {
      if (random() % 4 == 0) mask[i] = -INFINITY;
    }
    for (int64_t &length : lengths) length = int64_t(random() % uint64_t(of.keys + 1));
  }
  Guarded run(const Case &of, lk_isa isa) const {
    const lk_attend step = of.step(isa);
    Guarded y(size_t(of.batch * of.heads() * of.queries * of.v_size));
    Guarded scratch(size_t(lk_attend_scratch_size(&step)));
    const auto at = [](const Guarded &x) { return const_cast<float *>(x.get()); };
    std::vector<void *> pointers = {at(q), at(k), at(v), y.get(), scratch.get()};
    if (of.has_mask) pointers.insert(pointers.end(), {at(mask), at(mask_too)});
    if (of.has_lengths) pointers.push_back(const_cast<int64_t *>(lengths.data()));
    if (of.sink == LK_ATTEND_SINKS) pointers.push_back(at(sinks));
    LK_EXPECT_OK(lk_attend_kernel(&step, pointers.data(), LK_ERR));
    y.check();
    scratch.check();
    return y;
  }
};

// A row of Y.
std::vector<double> expected(const Case &of, const Operands &x, int64_t batch, int64_t head,
                             int64_t query) {
  const lk_attend step = of.step(LK_ISA_BASE);
  const int64_t length = of.has_lengths ? x.lengths[size_t(batch)] : of.keys;
  const bool is_from_length = of.has_lengths && !of.has_past;
  const int64_t before = is_from_length ? length - of.queries : of.past;
  const int64_t kv_head = head / of.group;
  const auto at = [&](const lk_attend_place &place, int64_t of_head, int64_t row) {
    return size_t(batch * place.batch + of_head * place.head + row * place.row);
  };
  std::vector<double> scores(size_t(of.keys), -kInfinity);
  double largest = -kInfinity, sum = 0;
  for (int64_t k = 0; k < length; k++) {
    if (of.left >= 0 && k < before + query - of.left) continue;
    if (of.right >= 0 && k > before + query + of.right) continue;
    double score = 0;
    for (int64_t i = 0; i < of.size; i++) {
      score += double(x.q[at(step.q, head, query) + size_t(i)]) *
               double(x.k[at(step.k, kv_head, k) + size_t(i)]);
    }
    score *= double(of.scale);
    if (of.cap != 0) score = double(of.cap) * std::tanh(score / double(of.cap));
    if (of.has_mask) {
      score += double(x.mask[size_t((batch * of.queries + query) * of.keys + k)]) +
               double(x.mask_too[size_t(head * of.keys + k)]);
    }
    scores[size_t(k)] = score;
    largest = std::max(largest, score);
  }
  std::vector<double> y(size_t(of.v_size), 0.0);
  if (largest == -kInfinity) return y;
  if (of.sink != LK_ATTEND_NO_SINK) {
    const double sink = of.sink == LK_ATTEND_SINKS ? double(x.sinks[size_t(head)]) : 0;
    sum = std::exp(sink - largest);
  }
  for (double &score : scores) sum += score = std::exp(score - largest);
  for (int64_t k = 0; k < of.keys; k++) {
    for (int64_t i = 0; i < of.v_size; i++) {
      y[size_t(i)] += scores[size_t(k)] / sum * double(x.v[at(step.v, kv_head, k) + size_t(i)]);
    }
  }
  return y;
}

void check(const Case &of, std::mt19937 &random) {
  const Operands x(of, random);
  std::vector<Guarded> found;
  for (const lk_isa isa : lk::instruction_sets()) {
    found.push_back(x.run(of, isa));
    lk::with_threads(3,
                     [&] { EXPECT_TRUE(x.run(of, isa).has_bits_of(found.back())) << of.text(); });
  }
  const lk_attend_place place = of.step(LK_ISA_BASE).y;
  for (int64_t i = 0; i < of.batch * of.heads() * of.queries; i++) {
    const int64_t batch = i / of.heads() / of.queries, head = i / of.queries % of.heads();
    const std::vector<double> wanted = expected(of, x, batch, head, i % of.queries);
    for (const Guarded &y : found) {
      const int64_t first = batch * place.batch + head * place.head + i % of.queries * place.row;
      for (size_t n = 0; n < wanted.size(); n++) {
        ASSERT_NEAR(double(y[size_t(first) + n]), wanted[n], 1e-5)
            << of.text() << " row " << i << " column " << n << " isa " << &y - found.data();
      }
    }
  }
}

TEST(Attend, TakesAnySizesWindowsAndMasks) {
  std::mt19937 random(1);
  const auto number = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int i = 0; i < 150; i++) {
    const bool is_few = i % 3 == 0, is_long = i % 5 == 0;
    Case made;
    made.batch = number(1, 3), made.kv_heads = number(1, 3), made.group = number(1, 4);
    made.queries = is_few ? number(1, 3) : number(1, is_long ? 130 : 60);
    made.keys = number(1, is_long ? 600 : 70);
    made.size = number(1, 70), made.v_size = number(1, is_few ? 150 : 70);
    made.is_apart = number(0, 1) == 1;
    made.past = number(0, made.keys);
    if (number(0, 2) == 0) made.left = number(0, 40);
    if (number(0, 1) == 0) made.right = number(0, 3);
    if (number(0, 3) == 0) made.cap = 1.5F;
    made.has_mask = number(0, 2) == 0;
    made.has_lengths = number(0, 2) == 0;
    made.has_past = number(0, 1) == 0;
    made.sink = lk_attend_sink(number(0, 2));
    check(made, random);
    if (HasFailure()) return;
  }
}

TEST(Attend, SharesOneHeadAmongThreads) {
  std::mt19937 random(2);
  check({.group = 2, .queries = 300, .keys = 700, .size = 64, .v_size = 64, .right = 0}, random);
  check({.queries = 1, .keys = 2000, .size = 128, .v_size = 128}, random);
}

// Long rows are multiplied in parts, by a few queries and by blocks of them.
TEST(Attend, TakesLongRowsInParts) {
  std::mt19937 random(7);
  for (const int64_t queries : {2, 20}) {
    check({.queries = queries, .keys = 5, .size = 70001, .v_size = 66000, .scale = 0.003F}, random);
  }
}

// Minus infinity hides a key, NaN and infinity make NaN of their rows alone, and what nobody
// attends is not read.
TEST(Attend, KeepsNanAndInfinityInTheirRows) {
  for (const int64_t queries : {2, 20}) {
    for (const lk_isa isa : lk::instruction_sets()) {
      std::mt19937 random(3);
      Case of{.queries = queries, .keys = 300, .size = 8, .v_size = 8, .has_lengths = true};
      Operands x(of, random);
      x.lengths[0] = 290;
      for (size_t i = 0; i < 8; i++) x.k[295 * 8 + i] = x.v[295 * 8 + i] = NAN;
      x.q[3] = NAN;
      x.q[8] = INFINITY;
      const Guarded y = x.run(of, isa);
      for (size_t i = 0; i < y.size(); i++) {
        EXPECT_EQ(std::isnan(y[i]), i < 16) << i << ", isa " << isa;
      }
      x.lengths[0] = 0;
      const Guarded none = x.run(of, isa);
      for (size_t i = 0; i < none.size(); i++) EXPECT_EQ(none[i], 0) << i;
    }
  }
}

// Scores that are farther apart than a power of e can tell: the largest one has all the weight.
TEST(Attend, TakesScoresOfAnySize) {
  for (const float size : {-1e30F, -1e10F, 1e4F, 1e5F, 2e6F, 1e9F, 3e9F, 1e18F, 1e37F}) {
    for (const int64_t queries : {2, 20}) {
      std::mt19937 random(5);
      const Case of{.queries = queries, .keys = 700, .size = 1, .v_size = 8};
      Operands x(of, random);
      for (size_t i = 0; i < x.q.size(); i++) x.q[i] = size * (1 + 0.01F * float(i));
      for (size_t i = 0; i < x.k.size(); i++) x.k[i] = float((i * 37) % 700) / 100;
      const size_t largest = size < 0 ? 0 : 227; // 227 * 37 = 699 (mod 700)
      for (const lk_isa isa : lk::instruction_sets()) {
        const Guarded y = x.run(of, isa);
        for (size_t i = 0; i < y.size(); i++) {
          ASSERT_FLOAT_EQ(y[i], x.v[largest * 8 + i % 8]) << size << ", isa " << isa;
        }
      }
    }
  }
}

// An instruction that makes a denormal number, or rounds it to 0, takes a hundred times as long.
TEST(Attend, MakesNoDenormalNumberOfWhatIsMasked) {
  for (const int64_t queries : {2, 20}) {
    for (const float masked : {-120.0F, -1e4F, -std::numeric_limits<float>::max()}) {
      std::mt19937 random(4);
      const Case of{.queries = queries, .keys = 200, .size = 8, .v_size = 8, .has_mask = true};
      Operands x(of, random);
      for (size_t i = 0; i < x.mask.size(); i++) x.mask[i] = i % 3 == 1 ? masked : 0;
      for (const lk_isa isa : lk::instruction_sets()) {
        std::feclearexcept(FE_ALL_EXCEPT);
        x.run(of, isa);
        EXPECT_EQ(std::fetestexcept(FE_UNDERFLOW), 0) << queries << " isa " << isa;
      }
    }
  }
}

} // namespace
