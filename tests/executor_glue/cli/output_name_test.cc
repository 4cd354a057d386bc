// File names for outputs: safe, and never the same twice.
extern "C" {
#include "base/alloc.h"
#include "executor_glue/cli/output_name.h"
}

#include <set>
#include <string>
#include <vector>

#include "tests/harness/lk_test.h"

namespace {

std::vector<std::string> names_of(const std::vector<std::string> &outputs) {
  std::vector<lk_named_tensor> tensors(outputs.size());
  for (size_t i = 0; i < outputs.size(); i++) tensors[i].name = outputs[i].c_str();
  char **names = nullptr;
  const auto count = static_cast<uint32_t>(outputs.size());
  LK_EXPECT_OK(output_names_create(lk_allocator_default(), tensors.data(), count, &names, LK_ERR));
  std::vector<std::string> result(names, names + (names != nullptr ? count : 0));
  output_names_destroy(lk_allocator_default(), names, count);
  return result;
}

using Names = std::vector<std::string>;

TEST(OutputName, OnlySafeCharactersAreKept) {
  EXPECT_EQ(
      (Names{"softmax_11.tmp_0", "a_b_c_0", "_._.._etc_passwd", "_hidden", "_", "__"}),
      names_of({"softmax_11.tmp_0", "a/b\\c:0", "../../etc/passwd", ".hidden", "", "\xc3\xa4"}));
}

TEST(OutputName, EqualNamesAreTold) {
  EXPECT_EQ((Names{"a_b", "a_b-2", "A_b-3", "a_b-2-2"}), names_of({"a/b", "a:b", "A b", "a_b-2"}));
}

// A model has as many outputs as it likes: 50,000 names that fall together took an hour.
TEST(OutputName, ManyNamesAreToldAtOnce) {
  const size_t count = 50000;
  const Names names = names_of(Names(count, "y"));
  EXPECT_EQ(names.size(), count);
  EXPECT_EQ(names.back(), "y-50000");
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), count);
}

TEST(OutputName, LongNamesAreCut) {
  const Names names = names_of({std::string(500, 'x'), std::string(501, 'x')});
  ASSERT_EQ(2u, names.size());
  EXPECT_EQ(std::string(200, 'x'), names[0]);
  EXPECT_EQ(std::string(200, 'x') + "-2", names[1]);
}

} // namespace
