// Primitives by key, and leases of their arguments.
#include <cmath>
#include <new>
#include <numeric>
#include <stdexcept>

#include "tests/harness/wait.h"
#include "tests/headers/onednn/onednn_host.h"

namespace {

using namespace lk;
using ::testing::Each;
using ::testing::HasSubstr;

class OnednnPrimitive : public OnednnHost {
protected:
  Stream stream = test_stream();
};

std::vector<Argument> ends(std::vector<float> &x, std::vector<float> &y) {
  return {{DNNL_ARG_SRC, x.data()}, {DNNL_ARG_DST, y.data()}};
}

// y = x w, and what it is made of.
struct Product {
  static constexpr int64_t ROWS = 3, INNER = 8, COLUMNS = 16;
  std::vector<float> x = std::vector<float>(ROWS * INNER), w = std::vector<float>(INNER * COLUMNS),
                     y = std::vector<float>(ROWS * COLUMNS, 10);
  Product() {
    std::iota(x.begin(), x.end(), -10.0F);
    for (size_t i = 0; i < w.size(); i++) w[i] = float(i % 5) - 2;
  }
  float at(int64_t row, int64_t column) const {
    float sum = 0;
    for (int64_t k = 0; k < INNER; k++) sum += x[row * INNER + k] * w[k * COLUMNS + column];
    return sum;
  }
  void ask(const lk_dnnl &cache, lk_dnnl_spec *spec) const {
    lk_dnnl_begin(&cache, spec, dnnl_matmul, 0);
    add_tensor(spec, DNNL_ARG_SRC, {ROWS, INNER});
    add_tensor(spec, DNNL_ARG_WEIGHTS, {INNER, COLUMNS});
    add_tensor(spec, DNNL_ARG_DST, {ROWS, COLUMNS});
  }
  std::vector<Argument> arguments() {
    return {{DNNL_ARG_SRC, x.data()}, {DNNL_ARG_WEIGHTS, w.data()}, {DNNL_ARG_DST, y.data()}};
  }
};

TEST_F(OnednnPrimitive, IsBuiltOnce) {
  int hit = -1;
  std::vector<float> x(100, 2), y(100);
  const Ref first = get_linear(cache, 100, 3, &hit);
  EXPECT_EQ(hit, 0);
  const Ref second = get_linear(cache, 100, 3, &hit);
  EXPECT_EQ(hit, 1);
  EXPECT_EQ(lk_dnnl_primitive(&cache, first), lk_dnnl_primitive(&cache, second));
  const Ref other = get_linear(cache, 100, 4, &hit);
  EXPECT_EQ(hit, 0);
  LK_ASSERT_OK(run(cache, first, stream, ends(x, y), LK_ERR));
  EXPECT_THAT(y, Each(7));
  LK_ASSERT_OK(run(cache, other, stream, ends(x, x), LK_ERR));
  EXPECT_THAT(x, Each(9)) << "in place";
  EXPECT_EQ(counts().builds, 2u);
}

TEST_F(OnednnPrimitive, TellsItsDescriptor) {
  const Ref ref = get_linear(cache, 10, 3);
  const_dnnl_primitive_desc_t of_primitive = nullptr;
  float alpha = 0;
  LK_ASSERT_DNNL(dnnl_primitive_get_primitive_desc(lk_dnnl_primitive(&cache, ref), &of_primitive));
  for (const const_dnnl_primitive_desc_t desc :
       {lk_dnnl_primitive_desc(&cache, ref), of_primitive}) {
    LK_ASSERT_DNNL(dnnl_primitive_desc_query(desc, dnnl_query_alpha_f32, 0, &alpha));
    EXPECT_EQ(alpha, 3);
  }
}

TEST_F(OnednnPrimitive, IsSharedByWhoOpensTheSame) {
  lk_dnnl again = {};
  LK_ASSERT_OK(lk_dnnl_open(api(), context, nullptr, test_engine(), 0, 1, &again, LK_ERR));
  const Ref first = get_linear(cache, 10, 3), second = get_linear(again, 10, 3);
  EXPECT_EQ(api()->ref_value(first), api()->ref_value(second));
  const Executor executor = executor_in(context);
  lk_dnnl own = {};
  LK_ASSERT_OK(lk_dnnl_open(api(), context, executor, test_engine(), 0, 1, &own, LK_ERR));
  Ref third = get_linear(own, 10, 3);
  EXPECT_NE(api()->ref_value(first), api()->ref_value(third)) << "an executor's own";
  third.reset();
  lk_dnnl_close(&own);
  lk_dnnl_close(&again);
}

TEST_F(OnednnPrimitive, OpeningChecksItsArguments) {
  lk_dnnl none = {};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   lk_dnnl_open(api(), context, nullptr, nullptr, 0, 1, &none, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   lk_dnnl_open(api(), context, nullptr, test_engine(), 0, 0, &none, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("threads is 0"));
  lk_dnnl_close(&none);
}

TEST_F(OnednnPrimitive, ThreadsBuildOnceAndShareNoArguments) {
  constexpr int THREADS = 4;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < THREADS; thread++) {
    threads.emplace_back([&, thread] {
      const Stream own = test_stream();
      std::vector<float> x(64, float(thread)), y(64);
      for (int i = 0; i < repeats(500); i++) {
        const Ref ref = get_linear(cache, 64, 3);
        std::fill(y.begin(), y.end(), -1.0F);
        LK_EXPECT_OK(run(cache, ref, own, ends(x, y), LK_ERR));
        for (const float value : y) wrong += value != 3 * float(thread) + 1;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(counts().builds, 1u);
  const Ref ref = get_linear(cache, 64, 3);
  EXPECT_LE(lk_dnnl_value_get(&cache, ref)->n_slots, uint64_t(THREADS));
}

TEST_F(OnednnPrimitive, LeasesOfOnePrimitiveAreApart) {
  const Ref ref = get_linear(cache, 4, 3);
  std::vector<float> a(4, 1), b(4, 2);
  LK_ASSERT_OK(run(cache, ref, stream, ends(b, b), LK_ERR)); // one is idle now
  std::fill(b.begin(), b.end(), 2.0F);
  lk_dnnl_lease first, second;
  LK_ASSERT_OK(lk_dnnl_lease_begin(&cache, ref, &first, LK_ERR));
  LK_ASSERT_OK(lk_dnnl_lease_begin(&cache, ref, &second, LK_ERR));
  for (const int arg : {DNNL_ARG_SRC, DNNL_ARG_DST}) {
    LK_ASSERT_OK(lk_dnnl_set(&first, arg, a.data(), LK_ERR));
    LK_ASSERT_OK(lk_dnnl_set(&second, arg, b.data(), LK_ERR));
  }
  LK_ASSERT_OK(lk_dnnl_run(&first, stream, LK_ERR));
  LK_ASSERT_OK(lk_dnnl_run(&second, stream, LK_ERR));
  EXPECT_THAT(a, Each(4));
  EXPECT_THAT(b, Each(7));
  lk_dnnl_lease_end(&second);
  lk_dnnl_lease_end(&first);
  lk_dnnl_lease_end(&first); // has ended
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_dnnl_run(&first, stream, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_dnnl_set(&first, DNNL_ARG_SRC, a.data(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("it has not begun, or has ended"));
}

TEST_F(OnednnPrimitive, ARunAllocatesNothingOnceItWasRun) {
  std::vector<float> x(64, 2), y(64);
  const auto run_once = [&] {
    const Ref ref = get_linear(cache, 64, 3);
    LK_EXPECT_OK(run(cache, ref, stream, ends(x, y), LK_ERR));
  };
  run_once();
  const uint64_t before = stats(context).allocations;
  for (int i = 0; i < 100; i++) run_once();
  EXPECT_EQ(stats(context).allocations, before);
}

TEST_F(OnednnPrimitive, ArgumentsOfAnEarlierRunAreNotTaken) {
  const Ref ref = get_linear(cache, 4, 3);
  std::vector<float> x(4, 1), y(4);
  LK_ASSERT_OK(run(cache, ref, stream, ends(x, y), LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   run(cache, ref, stream, {{DNNL_ARG_DST, y.data()}}, LK_ERR));
  EXPECT_EQ(LK_MESSAGE, "failed to run a primitive: its argument 1 was not set");
  LK_EXPECT_STATUS(LK_NOT_FOUND, run(cache, ref, stream, {{DNNL_ARG_BIAS, y.data()}}, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("the primitive has none of number 41"));
}

TEST_F(OnednnPrimitive, AnArgumentThatOnednnRefusesIsNotSet) {
  const Ref ref = get_linear(cache, 4, 3);
  std::vector<float> x(4, 1), y(4, -1);
  lk_dnnl_lease lease;
  LK_ASSERT_OK(lk_dnnl_lease_begin(&cache, ref, &lease, LK_ERR));
  for (const Argument &end : ends(x, y))
    LK_ASSERT_OK(lk_dnnl_set(&lease, end.arg, end.data, LK_ERR));
  dnnl_exec_arg_t *src = lease.slot->args;
  while (src->arg != DNNL_ARG_SRC) src++;
  const dnnl_memory_t memory = src->memory;
  src->memory = nullptr; // which oneDNN refuses
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_dnnl_set(&lease, DNNL_ARG_SRC, y.data(), LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to set the memory of an argument"));
  src->memory = memory;
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_dnnl_run(&lease, stream, LK_ERR));
  EXPECT_EQ(LK_MESSAGE, "failed to run a primitive: its argument 1 was not set");
  EXPECT_THAT(y, Each(-1));
  lk_dnnl_lease_end(&lease);
}

// A product that copies its weights, which lie column by column, to a scratchpad.
TEST_F(OnednnPrimitive, ALeaseHasItsOwnScratchpadOnly) {
  constexpr int64_t ROWS = 33, INNER = 65, COLUMNS = 67;
  const int64_t weights[] = {INNER, COLUMNS}, by_columns[] = {1, INNER};
  std::vector<float> x(ROWS * INNER, 1), w(INNER * COLUMNS, 2), y(ROWS * COLUMNS);
  lk_dnnl_spec spec;
  Ref ref;
  lk_dnnl_lease lease;
  lk_dnnl_begin(&cache, &spec, dnnl_matmul, 0);
  add_tensor(&spec, DNNL_ARG_SRC, {ROWS, INNER});
  lk_dnnl_add_tensor(&spec, DNNL_ARG_WEIGHTS, dnnl_f32, 2, weights, by_columns);
  add_tensor(&spec, DNNL_ARG_DST, {ROWS, COLUMNS});
  LK_ASSERT_OK(lk_dnnl_get(&cache, &spec, make_matmul, ref.out(), nullptr, LK_ERR));
  const size_t bytes = dnnl_memory_desc_get_size(lk_dnnl_wanted(&cache, ref, DNNL_ARG_SCRATCHPAD));
  ASSERT_GT(bytes, 0u);
  std::vector<char> own(bytes, 'a');
  LK_ASSERT_OK(lk_dnnl_lease_begin(&cache, ref, &lease, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   lk_dnnl_set(&lease, DNNL_ARG_SCRATCHPAD, own.data(), LK_ERR));
  EXPECT_EQ(LK_MESSAGE, "failed to set an argument: 80 is the scratchpad, and the lease has one of "
                        "its own, so leave it out");
  lk_dnnl_lease_end(&lease);
  LK_ASSERT_OK(run(
      cache, ref, stream,
      {{DNNL_ARG_SRC, x.data()}, {DNNL_ARG_WEIGHTS, w.data()}, {DNNL_ARG_DST, y.data()}}, LK_ERR));
  EXPECT_THAT(y, Each(2 * INNER));
  EXPECT_THAT(own, Each('a')) << "a later lease has what an earlier one was given";
}

TEST_F(OnednnPrimitive, IsChargedForItsArguments) {
  const Ref ref = get_linear(cache, 4, 3);
  const uint64_t before = counts().bytes;
  EXPECT_GE(before, uint64_t(LK_DNNL_PRIMITIVE_BYTES));
  std::vector<lk_dnnl_lease> leases(LK_DNNL_IDLE + 3);
  for (lk_dnnl_lease &lease : leases) {
    LK_ASSERT_OK(lk_dnnl_lease_begin(&cache, ref, &lease, LK_ERR));
  }
  const uint64_t each = lk_dnnl_value_get(&cache, ref)->slot_bytes;
  EXPECT_EQ(counts().bytes, before + leases.size() * each);
  for (lk_dnnl_lease &lease : leases) lk_dnnl_lease_end(&lease);
  EXPECT_EQ(counts().bytes, before + LK_DNNL_IDLE * each) << "what is more than enough goes";
}

TEST_F(OnednnPrimitive, IsChargedAsItsHostSays) {
  Product p;
  lk_dnnl_spec spec;
  Ref ref;
  p.ask(cache, &spec);
  LK_ASSERT_OK(lk_dnnl_get(&cache, &spec, make_matmul, ref.out(), nullptr, LK_ERR));
  EXPECT_GE(counts().bytes, uint64_t(LK_DNNL_PRODUCT_BYTES));
  cache.primitive_bytes = 10 * LK_DNNL_PRODUCT_BYTES;
  const Ref other = get_linear(cache, 4, 3);
  EXPECT_GE(counts().bytes, uint64_t(11 * LK_DNNL_PRODUCT_BYTES));
}

TEST_F(OnednnPrimitive, StaysWhileALeaseLives) {
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 1, LK_UNSET, LK_ERR));
  std::vector<float> x(8, 1), y(8);
  std::vector<lk_dnnl_lease> leases(5);
  for (size_t i = 0; i < leases.size(); i++) {
    const Ref ref = get_linear(cache, 8, float(i));
    LK_ASSERT_OK(lk_dnnl_lease_begin(&cache, ref, &leases[i], LK_ERR));
  }
  EXPECT_GE(counts().evictions, 4u);
  EXPECT_LE(counts().entries, 1u);
  for (size_t i = 0; i < leases.size(); i++) {
    for (const Argument &end : ends(x, y)) {
      LK_ASSERT_OK(lk_dnnl_set(&leases[i], end.arg, end.data, LK_ERR));
    }
    LK_ASSERT_OK(lk_dnnl_run(&leases[i], stream, LK_ERR));
    EXPECT_THAT(y, Each(float(i) + 1));
    lk_dnnl_lease_end(&leases[i]);
  }
}

TEST_F(OnednnPrimitive, ThreadsEvictWhatOthersRun) {
  LK_ASSERT_OK(api()->cache_set_capacity(context, nullptr, 2, LK_UNSET, LK_ERR));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; thread++) {
    threads.emplace_back([&, thread] {
      const Stream own = test_stream();
      std::vector<float> x(16, 2), y(16);
      for (int i = 0; i < repeats(100); i++) {
        const float alpha = float((i + thread) % 5);
        const Ref ref = get_linear(cache, 16, alpha);
        LK_EXPECT_OK(run(cache, ref, own, ends(x, y), LK_ERR));
        for (const float value : y) wrong += value != 2 * alpha + 1;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(counts().evictions, 0u);
}

TEST_F(OnednnPrimitive, WorksWithTheCacheOff) {
  const Context off = open(LK_CACHE_OFF);
  lk_dnnl there = {};
  std::vector<float> x(8, 1), y(8);
  LK_ASSERT_OK(lk_dnnl_open(api(), off, nullptr, test_engine(), 0, 1, &there, LK_ERR));
  for (int i = 0; i < 2; i++) {
    const Ref ref = get_linear(there, 8, 3);
    LK_ASSERT_OK(run(there, ref, stream, ends(x, y), LK_ERR));
    EXPECT_THAT(y, Each(4));
  }
  EXPECT_EQ(stats(off).kind[LK_KIND_USER].builds, 2u);
  lk_dnnl_close(&there);
}

// ---- failures ----

TEST_F(OnednnPrimitive, ABuildThatFailsSaysWhyAndKeepsNothing) {
  lk_dnnl_spec spec;
  Ref ref;
  lk_dnnl_begin(&cache, &spec, dnnl_matmul, 0);
  add_tensor(&spec, DNNL_ARG_SRC, {2, 3});
  add_tensor(&spec, DNNL_ARG_WEIGHTS, {4, 5}); // 3 are needed
  add_tensor(&spec, DNNL_ARG_DST, {2, 5});
  for (int i = 0; i < 2; i++) {
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                     lk_dnnl_get(&cache, &spec, make_matmul, ref.out(), nullptr, LK_ERR));
    EXPECT_EQ(LK_MESSAGE, "failed to describe a primitive: oneDNN does not take these arguments");
    EXPECT_EQ(ref.get(), nullptr);
  }
  EXPECT_EQ(counts().failed_builds, 2u);
  EXPECT_EQ(counts().entries, 0u);
}

// What the spec lacks would be 0 or NULL to oneDNN, and maybe taken: an axis of 0.
TEST_F(OnednnPrimitive, ASpecThatLacksWhatItsMakerAsksForIsNotBuilt) {
  const struct {
    const char *sentence;
    lk_dnnl_make_fn make;
  } lacking[] = {
      {"number 'alpa'",
       [](const lk_dnnl_spec *spec, dnnl_engine_t engine, const_dnnl_primitive_attr_t attr,
          dnnl_primitive_desc_t *out) {
         (void)lk_dnnl_float(spec, "alpa");
         return make_eltwise(spec, engine, attr, out);
       }},
      {"number 'axis'",
       [](const lk_dnnl_spec *spec, dnnl_engine_t engine, const_dnnl_primitive_attr_t attr,
          dnnl_primitive_desc_t *out) {
         return dnnl_softmax_forward_primitive_desc_create(
             out, engine, dnnl_forward_inference, dnnl_softmax_accurate,
             lk_dnnl_desc(spec, DNNL_ARG_SRC), lk_dnnl_desc(spec, DNNL_ARG_DST),
             int(lk_dnnl_int(spec, "axis")), attr);
       }},
      {"argument 33", make_matmul}, // DNNL_ARG_WEIGHTS
  };
  for (const auto &[sentence, make] : lacking) {
    lk_dnnl_spec spec;
    Ref ref;
    ask_linear(cache, &spec, 8, 3);
    LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                     lk_dnnl_get(&cache, &spec, make, ref.out(), nullptr, LK_ERR));
    EXPECT_EQ(LK_MESSAGE, std::string("failed to describe a primitive: its spec has no ") +
                              sentence + ", which is asked for while it is made");
    EXPECT_EQ(ref.get(), nullptr);
  }
  lk_dnnl_spec spec;
  Ref ref;
  ask_linear(cache, &spec, 8, 3);
  EXPECT_EQ(lk_dnnl_find_desc(&spec, DNNL_ARG_BIAS), nullptr); // may be absent
  LK_EXPECT_OK(lk_dnnl_get(&cache, &spec, make_eltwise, ref.out(), nullptr, LK_ERR));
}

// Throws what it is told to, after it has made the descriptor.
enum class Thrown { NOTHING, ERROR, NO_MEMORY, NUMBER };
std::atomic<Thrown> thrown{Thrown::NOTHING};

dnnl_status_t make_and_throw(const lk_dnnl_spec *spec, dnnl_engine_t engine,
                             const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out) {
  const dnnl_status_t status = make_eltwise(spec, engine, attr, out);
  switch (thrown) {
  case Thrown::ERROR:
    throw std::runtime_error("no descriptor");
  case Thrown::NO_MEMORY:
    throw std::bad_alloc();
  case Thrown::NUMBER:
    throw 7;
  default:
    return status;
  }
}

TEST_F(OnednnPrimitive, WhatAHostThrowsIsAFailureAndTheNextBuildIsTried) {
  const struct {
    Thrown kind;
    lk_status status;
    const char *message;
  } cases[] = {
      {Thrown::ERROR, LK_INTERNAL,
       "failed to build a primitive: an exception was thrown: no descriptor"},
      {Thrown::NO_MEMORY, LK_OUT_OF_MEMORY,
       "failed to build a primitive: std::bad_alloc was thrown"},
      {Thrown::NUMBER, LK_INTERNAL,
       "failed to build a primitive: something was thrown that is no std::exception"},
  };
  lk_dnnl_spec spec;
  ask_linear(cache, &spec, 8, 3);
  for (const auto &expected : cases) {
    thrown = expected.kind;
    for (int i = 0; i < 2; i++) {
      Ref ref;
      LK_EXPECT_STATUS(expected.status,
                       lk_dnnl_get(&cache, &spec, make_and_throw, ref.out(), nullptr, LK_ERR));
      EXPECT_EQ(LK_MESSAGE, expected.message);
    }
  }
  EXPECT_EQ(counts().failed_builds, 6u);
  thrown = Thrown::NOTHING;
  std::thread([&] {
    Ref ref;
    lk_dnnl_spec again;
    ask_linear(cache, &again, 8, 3);
    LK_EXPECT_OK(lk_dnnl_get(&cache, &again, make_and_throw, ref.out(), nullptr, LK_ERR));
  }).join();
  std::vector<float> x(8, 1), y(8);
  const Ref ref = get_linear(cache, 8, 3);
  LK_ASSERT_OK(run(cache, ref, stream, ends(x, y), LK_ERR));
  EXPECT_THAT(y, Each(4));
  EXPECT_EQ(counts().builds, 1u);
}

TEST_F(OnednnPrimitive, AnUnknownPostOpIsNotSupported) {
  lk_dnnl_spec spec;
  Ref ref;
  ask_linear(cache, &spec, 8, 1);
  lk_dnnl_add_post_depthwise(&spec, dnnl_f32, dnnl_f32, dnnl_f32, 3, 1, 1);
  LK_EXPECT_STATUS(LK_UNSUPPORTED,
                   lk_dnnl_get(&cache, &spec, make_eltwise, ref.out(), nullptr, LK_ERR));
  EXPECT_EQ(LK_MESSAGE, "failed to describe a primitive: oneDNN has no implementation for these "
                        "types and layouts");
}

TEST_F(OnednnPrimitive, ADescriptorOfDimensionsThatAreNotKnownCannotBeLeased) {
  lk_dnnl_spec spec;
  Ref ref;
  lk_dnnl_lease lease;
  const Desc rows = desc_of({DNNL_RUNTIME_DIM_VAL, 16}, dnnl_f32, dnnl_ab);
  lk_dnnl_begin(&cache, &spec, dnnl_matmul, 0);
  lk_dnnl_add_desc(&spec, DNNL_ARG_SRC, rows);
  add_tensor(&spec, DNNL_ARG_WEIGHTS, {16, 16});
  lk_dnnl_add_desc(&spec, DNNL_ARG_DST, rows);
  LK_ASSERT_OK(lk_dnnl_get(&cache, &spec, make_matmul, ref.out(), nullptr, LK_ERR));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, lk_dnnl_lease_begin(&cache, ref, &lease, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("failed to make the memory of an argument"));
  lk_dnnl_lease_end(&lease); // it has not begun
}

TEST_F(OnednnPrimitive, ScalesOfDimensionsThatAreNotKnownAreRefused) {
  const Desc columns = desc_of({16, DNNL_RUNTIME_DIM_VAL}, dnnl_f32, dnnl_ab);
  const auto get = [&](int mask, Ref *out) {
    lk_dnnl_spec spec;
    lk_dnnl_begin(&cache, &spec, dnnl_matmul, 0);
    add_tensor(&spec, DNNL_ARG_SRC, {16, 16});
    lk_dnnl_add_desc(&spec, DNNL_ARG_WEIGHTS, columns);
    lk_dnnl_add_desc(&spec, DNNL_ARG_DST, columns);
    lk_dnnl_add_scales(&spec, DNNL_ARG_WEIGHTS, mask);
    return lk_dnnl_get(&cache, &spec, make_matmul, out->out(), nullptr, LK_ERR);
  };
  Ref one_scale, a_scale_each;
  LK_EXPECT_OK(get(0, &one_scale));
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, get(2, &a_scale_each));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("argument 33 has a dimension in mask 2 that is known at run "
                                    "time only"));
}

// Looks up, leases and runs in a context of its own.
lk_status use_host(const lk_allocator *allocator, dnnl_stream_t stream) {
  lk_context *context = nullptr;
  lk_dnnl cache = {};
  lk_dnnl_spec spec;
  lk_ref *ref = nullptr;
  std::vector<float> x(8, 1), y(8);
  lk_status status = host_context_create(LK_CACHE_SHARED, 1, allocator, &context, LK_ERR);
  if (status == LK_OK) {
    status = lk_dnnl_open(api(), context, nullptr, test_engine(), 0, 1, &cache, LK_ERR);
  }
  if (status == LK_OK) {
    ask_linear(cache, &spec, 8, 3);
    status = lk_dnnl_get(&cache, &spec, make_eltwise, &ref, nullptr, LK_ERR);
  }
  if (status == LK_OK) status = run(cache, ref, stream, ends(x, y), LK_ERR);
  api()->ref_release(ref);
  lk_dnnl_close(&cache);
  api()->context_destroy(context);
  return status;
}

// Some are those of the cache's that it can do without.
TEST(OnednnFaults, EveryAllocationMayFail) {
  const Stream stream = test_stream();
  size_t refused = 0, n = 1;
  for (bool is_over = false; !is_over; n++) {
    FailingAllocator allocator;
    allocator.fail_at(n);
    const lk_status status = use_host(allocator.get(), stream);
    test_error().passed = false;
    EXPECT_EQ(allocator.live_blocks(), 0u) << "leak when allocation " << n << " fails";
    is_over = !allocator.failed();
    if (status == LK_OK) continue;
    EXPECT_EQ(status, LK_OUT_OF_MEMORY) << "when allocation " << n << " fails";
    EXPECT_NE(LK_MESSAGE, "");
    refused++;
  }
  EXPECT_GT(refused, n / 2);
}

// ---- attributes and post-ops ----

TEST_F(OnednnPrimitive, RunsPostOps) {
  Product p;
  lk_dnnl_spec spec;
  Ref ref;
  std::vector<float> operand(Product::COLUMNS), slopes(Product::COLUMNS);
  std::iota(operand.begin(), operand.end(), -8.0F);
  for (size_t i = 0; i < slopes.size(); i++) slopes[i] = 0.25F * float(i);
  const int64_t dims[] = {1, Product::COLUMNS};
  p.ask(cache, &spec);
  lk_dnnl_add_post_sum(&spec, 2, 0, dnnl_f32);
  lk_dnnl_add_post_binary(&spec, dnnl_binary_add, dnnl_f32, 2, dims, nullptr);
  lk_dnnl_add_post_prelu(&spec, 2);
  lk_dnnl_add_post_eltwise(&spec, dnnl_eltwise_linear, 0.5F, 1);
  LK_ASSERT_OK(lk_dnnl_get(&cache, &spec, make_matmul, ref.out(), nullptr, LK_ERR));
  std::vector<Argument> arguments = p.arguments();
  arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1, operand.data()});
  arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(2) | DNNL_ARG_WEIGHTS, slopes.data()});
  LK_ASSERT_OK(run(cache, ref, stream, arguments, LK_ERR));
  for (int64_t row = 0; row < Product::ROWS; row++) {
    for (int64_t column = 0; column < Product::COLUMNS; column++) {
      float expected = p.at(row, column) + 2 * 10 + operand[column];
      if (expected < 0) expected *= slopes[column];
      EXPECT_FLOAT_EQ(p.y[row * Product::COLUMNS + column], 0.5F * expected + 1);
    }
  }
}

TEST_F(OnednnPrimitive, RunsAsManyPostOpsAsOnednnTakes) {
  Product p;
  lk_dnnl_spec spec;
  Ref ref;
  p.ask(cache, &spec);
  for (int i = 0; i < LK_DNNL_POST_OPS; i++) {
    lk_dnnl_add_post_eltwise(&spec, dnnl_eltwise_linear, 1, 1);
  }
  LK_ASSERT_OK(lk_dnnl_get(&cache, &spec, make_matmul, ref.out(), nullptr, LK_ERR));
  LK_ASSERT_OK(run(cache, ref, stream, p.arguments(), LK_ERR));
  for (int64_t i = 0; i < Product::ROWS * Product::COLUMNS; i++) {
    EXPECT_EQ(p.y[i], p.at(i / Product::COLUMNS, i % Product::COLUMNS) + LK_DNNL_POST_OPS);
  }
}

TEST_F(OnednnPrimitive, BoundsThatComeAtRunTimeAreNotInTheKey) {
  const int64_t one[] = {1, 1};
  for (const float bound : {2.0F, 5.0F}) {
    Product p;
    lk_dnnl_spec spec;
    Ref ref;
    float low = -bound, high = bound;
    p.ask(cache, &spec);
    lk_dnnl_add_post_binary(&spec, dnnl_binary_max, dnnl_f32, 2, one, nullptr);
    lk_dnnl_add_post_binary(&spec, dnnl_binary_min, dnnl_f32, 2, one, nullptr);
    LK_ASSERT_OK(lk_dnnl_get(&cache, &spec, make_matmul, ref.out(), nullptr, LK_ERR));
    std::vector<Argument> arguments = p.arguments();
    arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, &low});
    arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1, &high});
    LK_ASSERT_OK(run(cache, ref, stream, arguments, LK_ERR));
    for (int64_t i = 0; i < Product::ROWS * Product::COLUMNS; i++) {
      const float product = p.at(i / Product::COLUMNS, i % Product::COLUMNS);
      EXPECT_EQ(p.y[i], std::fmin(std::fmax(product, -bound), bound));
    }
  }
  EXPECT_EQ(counts().builds, 1u);
}

TEST_F(OnednnPrimitive, RunsScalesAndZeroPoints) {
  constexpr int64_t ROWS = 4, INNER = 32, COLUMNS = 16;
  std::vector<uint8_t> x(ROWS * INNER);
  std::vector<int8_t> w(INNER * COLUMNS);
  std::vector<float> y(ROWS * COLUMNS), w_scales(COLUMNS);
  float x_scale = 0.5F;
  int32_t x_zero = 7;
  for (size_t i = 0; i < x.size(); i++) x[i] = uint8_t(i % 23);
  for (size_t i = 0; i < w.size(); i++) w[i] = int8_t(i % 11) - 5;
  for (size_t i = 0; i < w_scales.size(); i++) w_scales[i] = 0.25F * float(i + 1);
  lk_dnnl_spec spec;
  Ref ref;
  lk_dnnl_begin(&cache, &spec, dnnl_matmul, 0);
  add_tensor(&spec, DNNL_ARG_SRC, {ROWS, INNER}, dnnl_u8);
  add_tensor(&spec, DNNL_ARG_WEIGHTS, {INNER, COLUMNS}, dnnl_s8);
  add_tensor(&spec, DNNL_ARG_DST, {ROWS, COLUMNS});
  lk_dnnl_add_scales(&spec, DNNL_ARG_SRC, 0);
  lk_dnnl_add_scales(&spec, DNNL_ARG_WEIGHTS, 2);
  lk_dnnl_add_zero_points(&spec, DNNL_ARG_SRC, 0);
  LK_ASSERT_OK(lk_dnnl_get(&cache, &spec, make_matmul, ref.out(), nullptr, LK_ERR));
  LK_ASSERT_OK(run(cache, ref, stream,
                   {{DNNL_ARG_SRC, x.data()},
                    {DNNL_ARG_WEIGHTS, w.data()},
                    {DNNL_ARG_DST, y.data()},
                    {DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, &x_scale},
                    {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, w_scales.data()},
                    {DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, &x_zero}},
                   LK_ERR));
  for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
    int sum = 0;
    for (int64_t k = 0; k < INNER; k++) {
      sum += (x[i / COLUMNS * INNER + k] - x_zero) * w[k * COLUMNS + i % COLUMNS];
    }
    EXPECT_FLOAT_EQ(y[i], float(sum) * x_scale * w_scales[i % COLUMNS]);
  }
}

TEST_F(OnednnPrimitive, RunsScalesOfGroups) {
  constexpr int64_t ROWS = 4, INNER = 64, COLUMNS = 32, GROUP = 16;
  const int64_t groups[] = {GROUP, 1};
  std::vector<float> x(ROWS * INNER), y(ROWS * COLUMNS), scales(INNER / GROUP * COLUMNS);
  std::vector<int8_t> w(INNER * COLUMNS);
  for (size_t i = 0; i < x.size(); i++) x[i] = float(i % 7) - 3;
  for (size_t i = 0; i < w.size(); i++) w[i] = int8_t(i % 9) - 4;
  for (size_t i = 0; i < scales.size(); i++) scales[i] = 0.5F + float(i % 5);
  lk_dnnl_spec spec;
  Ref ref;
  lk_dnnl_begin(&cache, &spec, dnnl_matmul, 0);
  add_tensor(&spec, DNNL_ARG_SRC, {ROWS, INNER});
  add_tensor(&spec, DNNL_ARG_WEIGHTS, {INNER, COLUMNS}, dnnl_s8);
  add_tensor(&spec, DNNL_ARG_DST, {ROWS, COLUMNS});
  lk_dnnl_set_fpmath_apply_to_int(&spec, true);
  lk_dnnl_add_scales_of(&spec, DNNL_ARG_WEIGHTS, 3, dnnl_f32, 2, groups);
  LK_ASSERT_OK(lk_dnnl_get(&cache, &spec, make_matmul, ref.out(), nullptr, LK_ERR));
  LK_ASSERT_OK(run(cache, ref, stream,
                   {{DNNL_ARG_SRC, x.data()},
                    {DNNL_ARG_WEIGHTS, w.data()},
                    {DNNL_ARG_DST, y.data()},
                    {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, scales.data()}},
                   LK_ERR));
  for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
    float sum = 0;
    for (int64_t k = 0; k < INNER; k++) {
      const float scale = scales[k / GROUP * COLUMNS + i % COLUMNS];
      sum += x[i / COLUMNS * INNER + k] * float(w[k * COLUMNS + i % COLUMNS]) * scale;
    }
    EXPECT_FLOAT_EQ(y[i], sum);
  }
}

dnnl_status_t make_pointwise(const lk_dnnl_spec *spec, dnnl_engine_t engine,
                             const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out) {
  const dnnl_dims_t strides = {1, 1}, none = {0, 0};
  return dnnl_convolution_forward_primitive_desc_create(
      out, engine, dnnl_forward_inference, dnnl_convolution_direct,
      lk_dnnl_desc(spec, DNNL_ARG_SRC), lk_dnnl_desc(spec, DNNL_ARG_WEIGHTS), nullptr,
      lk_dnnl_desc(spec, DNNL_ARG_DST), strides, none, none, none, attr);
}

// Channels are innermost in slopes, wherever dst has them. The convolution copies its source.
TEST_F(OnednnPrimitive, SlopesHaveChannelsInnermost) {
  constexpr int64_t CHANNELS = 16, ROWS = 4, COLUMNS = 5, AREA = ROWS * COLUMNS;
  const int64_t weights[] = {CHANNELS, CHANNELS, 1, 1}, tensor[] = {1, CHANNELS, ROWS, COLUMNS};
  const Dims layouts[] = {{CHANNELS * AREA, AREA, COLUMNS, 1},
                          {CHANNELS * AREA, 1, COLUMNS * CHANNELS, CHANNELS}};
  std::vector<float> x(CHANNELS * AREA), y(x.size()), w(CHANNELS * CHANNELS), slopes(x.size());
  for (size_t i = 0; i < x.size(); i++) x[i] = -1 - float(i % 7);
  for (int64_t i = 0; i < CHANNELS; i++) w[i * CHANNELS + i] = 1;
  std::iota(slopes.begin(), slopes.end(), 1.0F);
  for (const Dims &strides : layouts) {
    for (int mask = 0; mask < 16; mask++) {
      lk_dnnl_spec spec;
      Ref ref;
      lk_dnnl_begin(&cache, &spec, dnnl_convolution, 0);
      lk_dnnl_add_tensor(&spec, DNNL_ARG_SRC, dnnl_f32, 4, tensor, strides.data());
      add_tensor(&spec, DNNL_ARG_WEIGHTS, Dims(weights, weights + 4));
      lk_dnnl_add_tensor(&spec, DNNL_ARG_DST, dnnl_f32, 4, tensor, strides.data());
      lk_dnnl_add_post_prelu(&spec, mask);
      LK_ASSERT_OK(lk_dnnl_get(&cache, &spec, make_pointwise, ref.out(), nullptr, LK_ERR));
      const int slopes_of = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_WEIGHTS;
      LK_ASSERT_OK(run(cache, ref, stream,
                       {{DNNL_ARG_SRC, x.data()},
                        {DNNL_ARG_WEIGHTS, w.data()},
                        {DNNL_ARG_DST, y.data()},
                        {slopes_of, slopes.data()}},
                       LK_ERR));
      Dims sizes(4);
      for (int i = 0; i < 4; i++) sizes[i] = (mask >> i & 1) != 0 ? tensor[i] : 1;
      for (int64_t i = 0; i < CHANNELS * AREA; i++) {
        const int64_t channel = i / AREA, row = i / COLUMNS % ROWS, column = i % COLUMNS;
        const int64_t at = channel * strides[1] + row * strides[2] + column * strides[3];
        const int64_t slope =
            (row % sizes[2] * sizes[3] + column % sizes[3]) * sizes[1] + channel % sizes[1];
        ASSERT_FLOAT_EQ(y[at], x[at] * slopes[slope]) << "mask " << mask;
      }
      const lk_dnnl_value *value = lk_dnnl_value_get(&cache, ref);
      const lk_dnnl_argument *told = value->args;
      while (told->arg != slopes_of) told++;
      EXPECT_NE(dnnl_memory_desc_equal(told->desc, desc_of(sizes, dnnl_f32, dnnl_acdb)), 0)
          << "mask " << mask;
    }
  }
}

// A pointwise convolution of ones by ones, and behind it a depthwise one of ones with a bias.
TEST_F(OnednnPrimitive, RunsADepthwisePostOp) {
  constexpr int64_t CHANNELS = 16, SIDE = 6;
  const int64_t weights[] = {CHANNELS, CHANNELS, 1, 1}, tensor[] = {1, CHANNELS, SIDE, SIDE},
                channels_last[] = {CHANNELS * SIDE * SIDE, 1, CHANNELS * SIDE, CHANNELS};
  std::vector<float> ones(CHANNELS * CHANNELS * 9, 1), bias(CHANNELS, 5), x = ones,
                                                                          y(CHANNELS * SIDE * SIDE);
  x.resize(y.size(), 1);
  lk_dnnl_spec spec;
  Ref ref;
  lk_dnnl_begin(&cache, &spec, dnnl_convolution, 0);
  lk_dnnl_add_tensor(&spec, DNNL_ARG_SRC, dnnl_f32, 4, tensor, channels_last);
  lk_dnnl_add_any(&spec, DNNL_ARG_WEIGHTS, dnnl_f32, 4, weights);
  lk_dnnl_add_tensor(&spec, DNNL_ARG_DST, dnnl_f32, 4, tensor, channels_last);
  lk_dnnl_add_post_depthwise(&spec, dnnl_f32, dnnl_f32, dnnl_f32, 3, 1, 1);
  LK_ASSERT_OK(lk_dnnl_get(&cache, &spec, make_pointwise, ref.out(), nullptr, LK_ERR));
  LK_ASSERT_OK(run(cache, ref, stream,
                   {{DNNL_ARG_SRC, x.data()},
                    {DNNL_ARG_WEIGHTS, ones.data()},
                    {DNNL_ARG_DST, y.data()},
                    {DNNL_ARG_ATTR_POST_OP_DW | DNNL_ARG_WEIGHTS, ones.data()},
                    {DNNL_ARG_ATTR_POST_OP_DW | DNNL_ARG_BIAS, bias.data()}},
                   LK_ERR));
  for (int64_t row = 0; row < SIDE; row++) {
    for (int64_t column = 0; column < SIDE; column++) {
      const auto reach = [](int64_t at) { return at == 0 || at == SIDE - 1 ? 2 : 3; };
      const float expected = float(CHANNELS) * float(reach(row) * reach(column)) + 5;
      for (int64_t channel = 0; channel < CHANNELS; channel++) {
        EXPECT_EQ(y[(row * SIDE + column) * CHANNELS + channel], expected);
      }
    }
  }
}

// What a make function is given.
struct Seen {
  dnnl_scratchpad_mode_t scratchpad;
  dnnl_fpmath_mode_t math;
  int of_integers;
  dnnl_accumulation_mode_t accumulation;
  int deterministic, threads;
  std::vector<dnnl_primitive_kind_t> post_ops;
};
Seen seen;

dnnl_status_t look(const lk_dnnl_spec *spec, dnnl_engine_t engine, const_dnnl_primitive_attr_t attr,
                   dnnl_primitive_desc_t *out) {
  const_dnnl_post_ops_t ops = nullptr;
  seen = {};
  EXPECT_EQ(dnnl_primitive_attr_get_scratchpad_mode(attr, &seen.scratchpad), dnnl_success);
  EXPECT_EQ(dnnl_primitive_attr_get_fpmath_mode_v2(attr, &seen.math, &seen.of_integers),
            dnnl_success);
  EXPECT_EQ(dnnl_primitive_attr_get_accumulation_mode(attr, &seen.accumulation), dnnl_success);
  EXPECT_EQ(dnnl_primitive_attr_get_deterministic(attr, &seen.deterministic), dnnl_success);
  EXPECT_EQ(dnnl_primitive_attr_get_post_ops(attr, &ops), dnnl_success);
  for (int i = 0; i < dnnl_post_ops_len(ops); i++) {
    seen.post_ops.push_back(dnnl_post_ops_get_kind(ops, i));
  }
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL
  EXPECT_EQ(dnnl_threadpool_interop_get_max_concurrency(&seen.threads), dnnl_success);
#endif
  return make_matmul(spec, engine, nullptr, out);
}

TEST_F(OnednnPrimitive, IsMadeWithTheAttributesOfItsSpec) {
  Product p;
  lk_dnnl_spec spec;
  Ref ref;
  const int64_t dims[] = {1, 1};
  cache.threads = 3;
  p.ask(cache, &spec);
  cache.threads = 5; // too late for the spec
  lk_dnnl_set_scratchpad(&spec, dnnl_scratchpad_mode_library);
  lk_dnnl_set_fpmath_mode(&spec, dnnl_fpmath_mode_tf32);
  lk_dnnl_set_fpmath_apply_to_int(&spec, true);
  lk_dnnl_set_accumulation(&spec, dnnl_accumulation_mode_any);
  lk_dnnl_set_deterministic(&spec, true);
  lk_dnnl_add_post_eltwise(&spec, dnnl_eltwise_relu, 0, 0);
  lk_dnnl_add_post_binary(&spec, dnnl_binary_add, dnnl_f32, 2, dims, nullptr);
  lk_dnnl_add_post_depthwise(&spec, dnnl_f32, dnnl_data_type_undef, dnnl_f32, 3, 1, 1);
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT,
                   lk_dnnl_get(&cache, &spec, look, ref.out(), nullptr, LK_ERR))
      << "a matmul has no argument for a depthwise post-op";
  EXPECT_THAT(LK_MESSAGE, HasSubstr("of a primitive: it has none of that number"));
  EXPECT_EQ(seen.scratchpad, dnnl_scratchpad_mode_library);
  EXPECT_EQ(seen.math, dnnl_fpmath_mode_tf32);
  EXPECT_EQ(seen.of_integers, 1);
  EXPECT_EQ(seen.accumulation, dnnl_accumulation_mode_any);
  EXPECT_EQ(seen.deterministic, 1);
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL
  EXPECT_EQ(seen.threads, 3);
#endif
  EXPECT_EQ(seen.post_ops,
            (std::vector<dnnl_primitive_kind_t>{dnnl_eltwise, dnnl_binary, dnnl_convolution}));
}

} // namespace
