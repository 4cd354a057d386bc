// Size classes of works: what is rounded, and that works of one class differ in free sizes only.
#include <set>

#include "tests/keys/random_key.h"
#include "tests/ops/engine/random_work.h"

extern "C" {
#include "ops/engine/size_class.h"
}

namespace {

using Dims = std::vector<int64_t>;

lk_work class_of(const lk_work &work) {
  lk_work made;
  lk_size_class(&work, &made);
  return made;
}

bool is_same(const lk_work &a, const lk_work &b) {
  return memcmp(&a, &b, sizeof a) == 0; // both are zeroed where they say nothing
}

struct Tensor {
  uint32_t role;
  Dims dims, rounded;
};

// A work of these tensors, whose class has the second dimensions.
lk_work work_of(uint32_t kind, uint32_t constants, const std::vector<Tensor> &tensors,
                bool is_class) {
  lk_work work;
  memset(&work, 0, sizeof work);
  work.kind = kind;
  work.constants = constants;
  for (const Tensor &each : tensors) {
    const Dims &dims = is_class ? each.rounded : each.dims;
    work.roles |= 1u << each.role;
    work.tensors[each.role] = lk_tensor_desc_make(LK_F32, uint32_t(dims.size()), dims.data());
  }
  return work;
}

TEST(SizeClass, RoundsDimensionsOfWhatComesWithARun) {
  const uint32_t weights = 1u << LK_ROLE_WEIGHTS;
  const struct {
    const char *what;
    uint32_t kind, constants;
    std::vector<Tensor> tensors;
  } cases[] = {
      {"each size to the power of two that is not less",
       LK_WORK_ELEMENT,
       0,
       {{LK_ROLE_SRC, {1, 2, 3, 4, 5, 8, 9, 1000}, {1, 2, 4, 4, 8, 8, 16, 1024}},
        {LK_ROLE_DST, {0, 65537}, {0, 131072}}}},
      {"what no tensor has, too",
       LK_WORK_ELEMENT,
       0,
       {{LK_ROLE_SRC,
         {-7, INT64_MIN, INT64_MAX, INT64_C(1) << 62},
         {-7, INT64_MIN, INT64_C(1) << 62, INT64_C(1) << 62}}}},
      {"channels of a convolution and its weights are the model's",
       LK_WORK_CONV,
       weights,
       {{LK_ROLE_SRC, {3, 96, 33, 100}, {4, 96, 64, 128}},
        {LK_ROLE_WEIGHTS, {24, 96, 3, 3}, {24, 96, 3, 3}},
        {LK_ROLE_DST, {3, 24, 31, 98}, {4, 24, 32, 128}}}},
      {"also where the weights come with a run",
       LK_WORK_CONV_TRANSPOSED,
       0,
       {{LK_ROLE_SRC, {1, 6, 7}, {1, 6, 8}}, {LK_ROLE_WEIGHTS, {6, 5, 3}, {6, 5, 3}}}},
      {"rows of a product by weights",
       LK_WORK_PRODUCT,
       weights,
       {{LK_ROLE_SRC, {7, 300}, {8, 512}},
        {LK_ROLE_WEIGHTS, {300, 5}, {300, 5}},
        {LK_ROLE_DST, {7, 5}, {8, 8}}}},
      {"all of a product of two tensors that come",
       LK_WORK_PRODUCT,
       0,
       {{LK_ROLE_SRC, {12, 7, 33}, {16, 8, 64}}, {LK_ROLE_WEIGHTS, {12, 33, 7}, {16, 64, 8}}}},
      {"lines of Softmax",
       LK_WORK_SOFTMAX,
       0,
       {{LK_ROLE_SRC, {3, 100}, {4, 128}}, {LK_ROLE_DST, {3, 100}, {4, 128}}}},
      {"not the scale of a norm",
       LK_WORK_LAYER_NORM,
       0,
       {{LK_ROLE_SRC, {9, 768}, {16, 1024}}, {LK_ROLE_SCALE, {768}, {768}}}},
      {"nor what a batch norm is given",
       LK_WORK_BATCH_NORM,
       0,
       {{LK_ROLE_SRC, {3, 24, 33}, {4, 24, 64}},
        {LK_ROLE_SCALE, {24}, {24}},
        {LK_ROLE_MEAN, {24}, {24}},
        {LK_ROLE_VARIANCE, {24}, {24}}}},
      {"the mean that a layer norm makes",
       LK_WORK_LAYER_NORM,
       0,
       {{LK_ROLE_MEAN, {9, 1}, {16, 1}}}},
      {"not channels of a pooling", LK_WORK_POOL, 0, {{LK_ROLE_SRC, {3, 5, 9}, {4, 5, 16}}}},
      {"weights of few bits",
       LK_WORK_PRODUCT_BITS,
       weights,
       {{LK_ROLE_SRC, {3, 96}, {4, 128}},
        {LK_ROLE_WEIGHTS, {100, 3, 16}, {100, 3, 16}},
        {LK_ROLE_WEIGHTS_SCALE, {300}, {300}}}},
      {"steps and sequences of a recurrent layer",
       LK_WORK_RECURRENT,
       weights | 1u << LK_ROLE_RECURRENT_WEIGHTS,
       {{LK_ROLE_SRC, {20, 3, 40}, {32, 4, 64}},
        {LK_ROLE_WEIGHTS, {1, 24, 40}, {1, 24, 40}},
        {LK_ROLE_RECURRENT_WEIGHTS, {1, 24, 6}, {1, 24, 6}},
        {LK_ROLE_STATE, {1, 3, 6}, {1, 4, 8}}}},
  };
  for (const auto &each : cases) {
    SCOPED_TRACE(each.what);
    const lk_work work = work_of(each.kind, each.constants, each.tensors, false);
    EXPECT_TRUE(is_same(class_of(work), work_of(each.kind, each.constants, each.tensors, true)));
  }
}

TEST(SizeClass, RoundsWhatDependsOnSizes) {
  lk_work work;
  memset(&work, 0, sizeof work);
  work.kind = LK_WORK_ATTENTION;
  work.window = {2, 0, {3, 3}, {3, 3}, {3, 3}, {3, 3}, {33, 5}, {3, 3}};
  work.attention.batch = 3, work.attention.heads = 12, work.attention.kv_heads = 3;
  work.attention.queries = 5, work.attention.keys = 9, work.attention.past = 6;
  work.attention.size = 48, work.attention.v_size = 24;
  work.attention.left = 100, work.attention.right = -1;
  work.attention.q = {0, 3000, 48, 576}, work.attention.y = {7, 5, 3, 1};
  lk_work wanted = work;
  wanted.window.out[0] = 64, wanted.window.out[1] = 8;
  wanted.attention.batch = 4, wanted.attention.queries = 8, wanted.attention.keys = 16;
  wanted.attention.past = 8;
  wanted.attention.q = {0, 4096, 64, 1024}, wanted.attention.y = {8, 8, 4, 1};
  EXPECT_TRUE(is_same(class_of(work), wanted));
}

// A model that doubles its input does so at any size, whether it says a scale or sizes.
TEST(SizeClass, OfAResizeHasTheScale) {
  lk_work one, other;
  memset(&one, 0, sizeof one);
  one.kind = LK_WORK_RESIZE;
  one.resize.up[2] = 2, one.resize.down[2] = 1;
  other = one;
  other.resize.up[2] = 66, other.resize.down[2] = 33;
  EXPECT_TRUE(is_same(class_of(one), class_of(other)));
  other.resize.up[2] = 67;
  EXPECT_FALSE(is_same(class_of(one), class_of(other)));
  other.resize.down[2] = 0; // what a file may have
  EXPECT_TRUE(is_same(class_of(other), other));
}

// ---- at random, by another rule ----

// Whether two sizes are of one class: no power of two parts them, and only equal ones are below 2.
bool is_one_class(int64_t a, int64_t b) {
  if (a == b) return true;
  if (a < 2 || b < 2) return false;
  for (int64_t power = 1; power < 1000; power *= 2) {
    if ((a <= power) != (b <= power)) return false;
  }
  return true;
}

bool is_parameter(const lk_work &work, uint32_t role) {
  switch (role) {
  case LK_ROLE_WEIGHTS:
  case LK_ROLE_WEIGHTS_ZERO:
  case LK_ROLE_WEIGHTS_SCALE:
    return work.kind != LK_WORK_PRODUCT || (work.constants >> role & 1) != 0;
  case LK_ROLE_SCALE:
  case LK_ROLE_SHIFT:
  case LK_ROLE_RECURRENT_WEIGHTS:
  case LK_ROLE_RECURRENT_ZERO:
  case LK_ROLE_RECURRENT_SCALE:
  case LK_ROLE_PEEPHOLES:
  case LK_ROLE_SINKS:
    return true;
  case LK_ROLE_MEAN:
  case LK_ROLE_VARIANCE:
    return work.kind == LK_WORK_BATCH_NORM || (work.constants >> role & 1) != 0;
  default:
    return (work.constants >> role & 1) != 0;
  }
}

// The numbers that may differ; all others of the work are left as they are.
std::vector<int64_t *> free_numbers(lk_work *work) {
  std::vector<int64_t *> found;
  const std::set<uint32_t> of_channels = {
      LK_WORK_CONV,       LK_WORK_CONV_TRANSPOSED, LK_WORK_POOL,      LK_WORK_LRN,
      LK_WORK_GROUP_NORM, LK_WORK_RESIZE,          LK_WORK_BATCH_NORM};
  for (uint32_t role = 0; role < LK_ROLES; role++) {
    lk_tensor_desc &desc = work->tensors[role];
    for (uint32_t i = 0; i < desc.rank && !is_parameter(*work, role); i++) {
      if (i != 1 || of_channels.count(work->kind) == 0) found.push_back(&desc.dims[i]);
    }
  }
  for (int64_t &out : work->window.out) found.push_back(&out);
  lk_work_attention &of = work->attention;
  for (int64_t *each : {&of.batch, &of.queries, &of.keys, &of.past}) found.push_back(each);
  for (lk_heads_place *each : {&of.q, &of.k, &of.v, &of.y}) {
    for (int64_t *at : {&each->first, &each->batch, &each->head, &each->row}) found.push_back(at);
  }
  return found;
}

// Windows of poolings of all of a dimension, which are as large as that.
void drop_whole_windows(lk_work *work) {
  lk_window_shape &of = work->window;
  for (uint32_t i = 0; i < of.rank && work->kind == LK_WORK_POOL; i++) {
    if (of.out[i] == 1 && of.kernel[i] == work->tensors[LK_ROLE_SRC].dims[2 + i]) of.kernel[i] = 0;
  }
}

bool is_one_class(lk_work a, lk_work b) {
  drop_whole_windows(&a);
  drop_whole_windows(&b);
  const std::vector<int64_t *> of_a = free_numbers(&a), of_b = free_numbers(&b);
  if (of_a.size() != of_b.size()) return false;
  for (size_t i = 0; i < of_a.size(); i++) {
    if (!is_one_class(*of_a[i], *of_b[i])) return false;
    *of_a[i] = *of_b[i] = 0;
  }
  for (uint32_t i = 0; i < LK_MAX_RANK; i++) {
    for (lk_work_resize *of : {&a.resize, &b.resize}) {
      if (of->down[i] != 0) of->up[i] /= of->down[i], of->down[i] = 1;
    }
  }
  return is_same(a, b);
}

lk_work global_pool(int64_t size, int64_t kernel) {
  lk_work made;
  memset(&made, 0, sizeof made);
  const int64_t src[] = {1, 8, size, size}, dst[] = {1, 8, 1, 1};
  made.kind = LK_WORK_POOL;
  made.roles = 1u << LK_ROLE_SRC | 1u << LK_ROLE_DST;
  made.tensors[LK_ROLE_SRC] = lk_tensor_desc_make(LK_F32, 4, src);
  made.tensors[LK_ROLE_DST] = lk_tensor_desc_make(LK_F32, 4, dst);
  made.window.rank = 2;
  for (uint32_t i = 0; i < 2; i++) made.window.kernel[i] = kernel, made.window.out[i] = 1;
  return made;
}

TEST(SizeClass, WindowsOfAllOfAnImageAreAsFreeAsThat) {
  EXPECT_TRUE(is_same(class_of(global_pool(7, 7)), class_of(global_pool(8, 8))));
  EXPECT_FALSE(is_same(class_of(global_pool(8, 8)), class_of(global_pool(9, 9))));
  EXPECT_FALSE(is_same(class_of(global_pool(7, 7)), class_of(global_pool(8, 7))));
}

TEST(SizeClass, IsSharedByWorksThatDifferInFreeSizesOnly) {
  lk::RandomWorks works(9);
  int alike = 0;
  for (int i = 0; i < 20000; i++) {
    const lk_work work = works.make();
    lk_work other = work;
    if (i % 2 == 0) {
      for (int64_t *each : free_numbers(&other)) {
        if (works.below(4) == 0) *each += works.below(3) - 1;
        if (*each < 0) *each = 0;
      }
    } else {
      other = works.change(work);
    }
    const bool is_one = is_one_class(work, other);
    ASSERT_EQ(is_same(class_of(work), class_of(other)), is_one) << i;
    ASSERT_TRUE(is_same(class_of(class_of(work)), class_of(work))) << i;
    ASSERT_TRUE(is_one_class(work, class_of(work))) << i;
    alike += is_one && !is_same(work, other) ? 1 : 0;
  }
  EXPECT_GT(alike, 500);
}

} // namespace
