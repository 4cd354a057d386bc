// Sessions and registrations that come and go many times leave no memory behind.
#include "tests/executor_glue/ort/memory.h"

#include "tests/executor_glue/ort/models.h"
#include "tests/executor_glue/ort/session.h"

namespace ort {
namespace {

#ifdef LK_TEST_MEASURES_MEMORY
constexpr double kMostGrowth = 1.01;

class Memory : public ::testing::Test {
protected:
  const std::string model = perceptron();
};

TEST_F(Memory, IsTheSameAfter200Registrations) {
  Host host(false);
  EXPECT_LT(least_memory_growth(200, kMostGrowth,
                                [&](size_t i) {
                                  ASSERT_EQ(host.register_library(), "");
                                  const auto rows = static_cast<int64_t>(1 + i % 5);
                                  const Inputs inputs = {{"x", noise({rows, 4}, 1)}};
                                  EXPECT_EQ(Session(host, model).run(inputs, {"y"}).error, "");
                                  ASSERT_EQ(host.unregister_library(), "");
                                }),
            kMostGrowth);
}

TEST_F(Memory, IsTheSameAfter500Sessions) {
  Host host;
  const Session stays(host, model); // the context and its cache live on
  EXPECT_LT(least_memory_growth(500, kMostGrowth,
                                [&](size_t i) {
                                  const auto rows = static_cast<int64_t>(1 + i % 5);
                                  const Inputs inputs = {{"x", noise({rows, 4}, 1)}};
                                  const Session session(host, i % 2 == 0 ? model
                                                                         : perceptron(uint32_t(i)));
                                  EXPECT_EQ(session.run(inputs, {"y"}).error, "");
                                }),
            kMostGrowth);
}
#else
TEST(Memory, IsTheSameAfter200Registrations) {
  GTEST_SKIP() << LK_TEST_SANITIZER_HAS_MEMORY;
}

TEST(Memory, IsTheSameAfter500Sessions) {
  GTEST_SKIP() << LK_TEST_SANITIZER_HAS_MEMORY;
}
#endif

} // namespace
} // namespace ort
