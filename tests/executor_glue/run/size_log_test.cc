// The list of sizes: what is equal has one record, and the list never grows past its end.
#include <numeric>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/tensor.h"
#include "executor_glue/run/size_log.h"
}

namespace {

// What a visit shows, copied.
struct Size {
  std::string part;
  std::vector<std::vector<int64_t>> inputs;
  std::vector<std::vector<int64_t>> values; // i64
  uint64_t builds, build_ns, longest_build_ns, last_build_ns, runs, bytes, run_plans;
};

class SizeLog : public ::testing::Test {
protected:
  void SetUp() override { LK_ASSERT_OK(lk_size_log_create(allocator.get(), "run", &log, LK_ERR)); }
  void TearDown() override { lk_size_log_destroy(log); }

  // A build for one input of `n` elements, and values.
  lk_size_record *add(int64_t n, std::vector<int64_t> value = {}, uint64_t begin = 1000,
                      uint64_t end = 3000, bool recurs = false) {
    const lk_tensor_desc input = lk_tensor_desc_make(LK_F32, 1, &n);
    const int64_t count = int64_t(value.size());
    const lk_tensor known = {lk_tensor_desc_make(LK_I64, 1, &count), value.data()};
    const lk_size_build build = {&input, &known, 1,   value.empty() ? 0u : 1u,
                                 begin,  end,    500, recurs};
    lk_size_record *record = nullptr;
    LK_EXPECT_OK(lk_size_log_add(log, &build, &record, LK_ERR));
    return record;
  }
  bool recurs(int64_t n) {
    const lk_tensor_desc input = lk_tensor_desc_make(LK_F32, 1, &n);
    const lk_size_build size = {&input, nullptr, 1, 0, 0, 0, 0, false};
    return lk_size_log_recurs(log, &size);
  }
  std::vector<Size> sizes() {
    std::vector<Size> all;
    auto copy = [](void *arg, const lk_session_size *size) {
      Size one = {size->part,
                  {},
                  {},
                  size->builds,
                  size->build_ns,
                  size->longest_build_ns,
                  size->last_build_ns,
                  size->runs,
                  size->bytes,
                  size->run_plans};
      for (uint32_t i = 0; i < size->n_inputs; i++) {
        const lk_tensor_desc &desc = size->inputs[i];
        one.inputs.emplace_back(desc.dims, desc.dims + desc.rank);
      }
      for (uint32_t i = 0; i < size->n_values; i++) {
        const auto *data = static_cast<const int64_t *>(size->values[i].data);
        one.values.emplace_back(data, data + size->values[i].desc.dims[0]);
      }
      static_cast<std::vector<Size> *>(arg)->push_back(one);
    };
    LK_EXPECT_OK(lk_size_log_visit(log, copy, &all, LK_ERR));
    return all;
  }

  lk::FailingAllocator allocator;
  lk_size_log *log = nullptr;
};

TEST_F(SizeLog, RemembersWhichSizesRecur) {
  EXPECT_FALSE(recurs(3));
  lk_size_record *first = add(3);
  EXPECT_FALSE(recurs(3));
  lk_size_record *second = add(3, {}, 1000, 3000, true);
  EXPECT_TRUE(recurs(3));
  EXPECT_FALSE(recurs(4));
  lk_size_log_release(log, first);
  lk_size_log_release(log, second);
  EXPECT_TRUE(recurs(3)) << "its plans are gone";
  lk_size_record *third = add(3);
  EXPECT_TRUE(recurs(3));
  lk_size_log_release(log, third);
}

TEST_F(SizeLog, HasOneRecordForEqualSizes) {
  lk_size_record *first = add(3, {}, 1000, 3000);
  lk_size_record *other = add(4, {}, 3000, 3500);
  EXPECT_EQ(add(3, {}, 10000, 19000), first);
  EXPECT_NE(other, first);
  lk_size_record_add_runs(first, 3);
  lk_size_record_add_runs(first, 4);
  const auto all = sizes();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].part, "run");
  EXPECT_EQ(all[0].inputs, (std::vector<std::vector<int64_t>>{{3}}));
  EXPECT_EQ(all[0].builds, 2u);
  EXPECT_EQ(all[0].build_ns, 11000u);
  EXPECT_EQ(all[0].longest_build_ns, 9000u);
  EXPECT_EQ(all[0].last_build_ns, 19000u);
  EXPECT_EQ(all[0].runs, 7u);
  EXPECT_EQ(all[0].bytes, 500u);
  EXPECT_EQ(all[0].run_plans, 2u);
  EXPECT_EQ(all[1].inputs, (std::vector<std::vector<int64_t>>{{4}}));
  EXPECT_EQ(all[1].builds, 1u);
  lk_size_log_release(log, first);
  EXPECT_EQ(sizes()[0].run_plans, 1u);
  EXPECT_EQ(lk_size_log_lost(log), 0u);
}

TEST_F(SizeLog, TellsValuesApart) {
  const lk_size_record *first = add(3, {1, 2});
  EXPECT_NE(add(3, {1, 3}), first);
  EXPECT_NE(add(3, {1}), first);
  EXPECT_EQ(add(3, {1, 2}), first);
  const auto all = sizes();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].values, (std::vector<std::vector<int64_t>>{{1, 2}}));
  EXPECT_EQ(all[1].values, (std::vector<std::vector<int64_t>>{{1, 3}}));
  EXPECT_EQ(all[2].values, (std::vector<std::vector<int64_t>>{{1}}));
}

TEST_F(SizeLog, ForgetsWhatWasBuiltTheLongestTimeAgo) {
  std::vector<lk_size_record *> records;
  for (int64_t n = 0; n < LK_SIZES_MAX; n++) {
    records.push_back(add(n, {}, 0, 1000 + uint64_t(n)));
    ASSERT_NE(records.back(), nullptr);
  }
  EXPECT_EQ(add(LK_SIZES_MAX), nullptr) << "all have a run plan";
  EXPECT_EQ(lk_size_log_lost(log), 1u);
  EXPECT_EQ(add(5, {}, 0, 9000), records[5]) << "those that are there have their records";

  for (const int64_t n : {10, 5, 20}) lk_size_log_release(log, records[size_t(n)]);
  lk_size_log_release(log, records[5]); // it was built twice
  EXPECT_NE(add(LK_SIZES_MAX, {}, 0, 9500), nullptr);
  EXPECT_EQ(lk_size_log_lost(log), 2u);
  EXPECT_NE(add(LK_SIZES_MAX + 1, {}, 0, 9600), nullptr);
  const auto all = sizes();
  ASSERT_EQ(all.size(), size_t(LK_SIZES_MAX));
  std::vector<int64_t> found, wanted(LK_SIZES_MAX + 2);
  for (const auto &size : all) found.push_back(size.inputs[0][0]);
  std::iota(wanted.begin(), wanted.end(), 0);
  wanted.erase(wanted.begin() + 20); // it was built after 10 and before 5 was built again
  wanted.erase(wanted.begin() + 10);
  EXPECT_EQ(found, wanted) << "in the order of the first builds";
  EXPECT_EQ(all.back().builds, 1u);
}

TEST_F(SizeLog, ReleasesNothing) {
  lk_size_log_release(log, nullptr);
  EXPECT_TRUE(sizes().empty());
}

TEST(SizeLogFaults, EveryAllocationMayFail) {
  lk::fail_every_allocation([](const lk::FailingAllocator &allocator) {
    lk_size_log *log = nullptr;
    lk_status status = lk_size_log_create(allocator.get(), "run", &log, LK_ERR);
    for (int64_t n = 1; n < 20 && status == LK_OK; n++) {
      const lk_tensor_desc input = lk_tensor_desc_make(LK_F32, 1, &n);
      const lk_size_build build = {&input, nullptr, 1, 0, 0, 10, 1, false};
      lk_size_record *record = nullptr;
      status = lk_size_log_add(log, &build, &record, LK_ERR);
      EXPECT_EQ(record != nullptr, status == LK_OK);
    }
    if (status == LK_OK) {
      status = lk_size_log_visit(
          log, [](void *, const lk_session_size *) {}, nullptr, LK_ERR);
    }
    lk_size_log_destroy(log);
    return status;
  });
}

} // namespace
