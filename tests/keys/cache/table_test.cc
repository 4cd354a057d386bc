// The hash table: against std::map, with equal hashes, and when there is no memory.
#include <map>
#include <random>
#include <set>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "keys/cache/table.h"
}

namespace {

struct Item {
  lk_table_node node; // first: nodes are cast back
  uint64_t bytes[3];
  lk_key key;

  // `hash_values` small: many different keys with one hash.
  Item(uint64_t number, uint32_t words, uint64_t hash_values) {
    for (uint64_t &word : bytes) word = number;
    key = {number % hash_values,
           static_cast<uint32_t>(words * 8),
           0,
           reinterpret_cast<const uint8_t *>(bytes),
           nullptr,
           0,
           0,
           0,
           nullptr};
  }
  Item(const Item &) = delete;
};

std::set<lk_table_node *> nodes_of(const lk_table *table) {
  std::set<lk_table_node *> nodes;
  for (lk_table_node *node = lk_table_first(table); node != nullptr; node = lk_table_next(node)) {
    EXPECT_TRUE(nodes.insert(node).second) << "seen twice";
  }
  return nodes;
}

class TableTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(TableTest, BehavesAsAMap) {
  for (uint32_t seed = 0; seed < 20; seed++) {
    lk::FailingAllocator allocator;
    lk_table table;
    lk_table_init(&table, allocator.get());
    std::map<std::pair<uint64_t, uint32_t>, std::unique_ptr<Item>> model;
    std::mt19937 random(seed);
    for (int step = 0; step < 3000; step++) {
      const uint64_t number = random() % 300;
      const uint32_t words = 1 + random() % 3; // one key may be the beginning of another
      Item probe(number, words, GetParam());
      const auto found = model.find({number, words});
      lk_table_node *node = lk_table_find(&table, &probe.key);
      ASSERT_EQ(node, found == model.end() ? nullptr : &found->second->node);
      if (found == model.end()) {
        auto item = std::make_unique<Item>(number, words, GetParam());
        ASSERT_TRUE(lk_table_insert(&table, &item->key, &item->node));
        model[{number, words}] = std::move(item);
      } else if (random() % 2 == 0) {
        lk_table_remove(&table, node);
        model.erase(found);
      }
      ASSERT_EQ(lk_table_count(&table), model.size());
    }
    std::set<lk_table_node *> expected;
    for (const auto &item : model) expected.insert(&item.second->node);
    EXPECT_EQ(nodes_of(&table), expected);
    for (const auto &item : model) lk_table_remove(&table, &item.second->node);
    EXPECT_EQ(lk_table_count(&table), 0u);
  } // the allocator checks that an empty table owns nothing
}

INSTANTIATE_TEST_SUITE_P(HashValues, TableTest, ::testing::Values(1u, 7u, UINT64_MAX));

TEST(Table, WalksInOrderOfInsertion) {
  lk::FailingAllocator allocator;
  lk_table table;
  lk_table_init(&table, allocator.get());
  std::vector<std::unique_ptr<Item>> items;
  for (uint64_t i = 0; i < 100; i++) {
    items.push_back(std::make_unique<Item>(i, 1, UINT64_MAX));
    ASSERT_TRUE(lk_table_insert(&table, &items[i]->key, &items[i]->node));
  }
  size_t i = 0;
  for (lk_table_node *node = lk_table_first(&table); node != nullptr; i++) {
    ASSERT_EQ(node, &items[i]->node);
    lk_table_node *removed = node;
    node = lk_table_next(node);
    lk_table_remove(&table, removed);
  }
  EXPECT_EQ(i, items.size());
}

TEST(Table, ChangesNothingWhenThereIsNoMemory) {
  int failures = 0;
  for (size_t nth = 1; nth < 20; nth++) {
    lk::FailingAllocator allocator;
    lk_table table;
    lk_table_init(&table, allocator.get());
    std::vector<std::unique_ptr<Item>> items;
    std::set<lk_table_node *> expected;
    allocator.fail_at(nth);
    for (uint64_t i = 0; i < 500; i++) {
      items.push_back(std::make_unique<Item>(i, 1, UINT64_MAX));
      if (lk_table_insert(&table, &items[i]->key, &items[i]->node)) {
        expected.insert(&items[i]->node);
      } else {
        failures++;
        EXPECT_EQ(lk_table_find(&table, &items[i]->key), nullptr);
        EXPECT_EQ(nodes_of(&table), expected);
      }
    }
    for (const auto &item : items) {
      const bool in = expected.count(&item->node) != 0;
      EXPECT_EQ(lk_table_find(&table, &item->key), in ? &item->node : nullptr);
      if (in) lk_table_remove(&table, &item->node);
    }
  }
  EXPECT_GE(failures, 4); // the table, its buckets, and each growth
}

} // namespace
