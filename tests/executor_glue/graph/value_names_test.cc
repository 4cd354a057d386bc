// The index of value names: what was added is found, at any fill, and nothing else.
#include <deque>

#include "tests/executor_glue/graph/builder.h"
#include "tests/harness/allocator.h"

extern "C" {
#include "executor_glue/graph/value_names.h"
}

using lk::FailingAllocator;
using lk::GraphBuilder;

namespace {

// Of a graph that lives longer.
struct Names {
  ~Names() { lk_value_names_destroy(&names); }
  lk_status create(const lk_graph *graph, size_t count) {
    return lk_value_names_create(graph, count, &names, LK_ERR);
  }
  lk_value_names names = {};
};

TEST(ValueNames, AreFoundAtAnyFill) {
  for (const size_t count : {0, 1, 7, 8, 9, 1000}) {
    SCOPED_TRACE(count);
    GraphBuilder g;
    Names index;
    LK_ASSERT_OK(index.create(g.get(), count));
    std::vector<int32_t> values;
    for (size_t i = 0; i < count; i++) {
      const std::string name = "v" + std::to_string(i);
      ASSERT_EQ(lk_value_names_find(&index.names, name.c_str()), LK_NO_VALUE) << name;
      values.push_back(LK_NO_VALUE);
      LK_ASSERT_OK(lk_value_names_add(&index.names, g.get(), name.c_str(), &values.back(), LK_ERR));
      EXPECT_STREQ(g->values[values.back()].name, name.c_str());
    }
    for (size_t i = 0; i < count; i++) {
      const std::string name = "v" + std::to_string(i);
      EXPECT_EQ(lk_value_names_find(&index.names, name.c_str()), values[i]) << name;
    }
    for (const char *name : {"", "v", "V0", "v0 ", "v1000"}) {
      EXPECT_EQ(lk_value_names_find(&index.names, name), LK_NO_VALUE) << name;
    }
  }
}

// Also where the graph has such names already; and no number is tried twice.
TEST(ValueNames, GetANumberWhereTheyAreTaken) {
  GraphBuilder g;
  Names index;
  LK_ASSERT_OK(index.create(g.get(), 3));
  int32_t value = LK_NO_VALUE;
  LK_ASSERT_OK(lk_value_names_add(&index.names, g.get(), "a_3", &value, LK_ERR));
  std::vector<std::string> given;
  for (int i = 0; i < 100; i++) {
    LK_ASSERT_OK(lk_value_names_add_free(&index.names, g.get(), "a", &value, LK_ERR));
    given.push_back(g->values[value].name);
    EXPECT_EQ(lk_value_names_find(&index.names, given.back().c_str()), value);
  }
  EXPECT_EQ(std::vector<std::string>(given.begin(), given.begin() + 4),
            (std::vector<std::string>{"a", "a_2", "a_4", "a_5"}));
  EXPECT_EQ(index.names.n_tried, 100u);
  LK_ASSERT_OK(lk_value_names_add_free(&index.names, g.get(), "b", &value, LK_ERR));
  EXPECT_STREQ(g->values[value].name, "b");
}

TEST(ValueNames, GrowBeyondTheirRoom) {
  GraphBuilder g;
  Names index;
  LK_ASSERT_OK(index.create(g.get(), 3));
  std::deque<std::string> names; // they are borrowed
  for (int32_t i = 0; i < 500; i++) {
    names.push_back("n" + std::to_string(i));
    LK_ASSERT_OK(lk_value_names_put(&index.names, names.back().c_str(), i, LK_ERR));
  }
  for (int32_t i = 0; i < 500; i++) {
    EXPECT_EQ(lk_value_names_find(&index.names, names[static_cast<size_t>(i)].c_str()), i);
  }
  EXPECT_EQ(lk_value_names_find(&index.names, "n500"), LK_NO_VALUE);
}

TEST(ValueNames, MayBeEmptyText) {
  GraphBuilder g;
  Names index;
  LK_ASSERT_OK(index.create(g.get(), 1));
  int32_t value = LK_NO_VALUE;
  LK_ASSERT_OK(lk_value_names_add(&index.names, g.get(), "", &value, LK_ERR));
  EXPECT_EQ(lk_value_names_find(&index.names, ""), value);
  EXPECT_EQ(lk_value_names_find(&index.names, "x"), LK_NO_VALUE);
}

TEST(ValueNames, LeaveNothingWhenMemoryIsShort) {
  FailingAllocator allocator;
  lk_graph *graph = nullptr;
  LK_ASSERT_OK(lk_graph_create(allocator.get(), &graph, LK_ERR));
  Names index;
  allocator.fail_at(1);
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, index.create(graph, 10));
  EXPECT_EQ(index.names.slots, nullptr);
  allocator.fail_never();
  LK_ASSERT_OK(index.create(graph, 10));
  int32_t value = LK_NO_VALUE;
  allocator.fail_at(1);
  LK_EXPECT_STATUS(LK_OUT_OF_MEMORY, lk_value_names_add(&index.names, graph, "x", &value, LK_ERR));
  allocator.fail_never();
  EXPECT_EQ(lk_value_names_find(&index.names, "x"), LK_NO_VALUE); // not half added
  LK_ASSERT_OK(lk_value_names_add(&index.names, graph, "x", &value, LK_ERR));
  EXPECT_EQ(lk_value_names_find(&index.names, "x"), value);
  lk_value_names_destroy(&index.names);
  lk_graph_destroy(graph);
}

} // namespace
