// What comes and goes many times leaves nothing behind.
#include "tests/ort/memory.h"

#include <numeric>

#include "tests/ort/models.h"
#include "tests/ort/session.h"

namespace ort {
namespace {

#ifdef LK_TEST_MEASURES_MEMORY
class Memory : public ::testing::Test {
protected:
  // Does it again and again; memory at the end, as a multiple of what it was in the middle.
  template <typename Body> static double growth(size_t times, Body body) {
    std::vector<double> megabytes;
    while (megabytes.size() < times && !HasFailure()) {
      body(megabytes.size());
      megabytes.push_back(resident_megabytes());
    }
    if (HasFailure()) return -1;
    const size_t tenth = times / 10;
    const auto mean_of_tenth = [&](size_t from) {
      const auto begin = megabytes.begin() + static_cast<ptrdiff_t>(from);
      return std::accumulate(begin, begin + static_cast<ptrdiff_t>(tenth), 0.0) /
             static_cast<double>(tenth);
    };
    return mean_of_tenth(times - tenth) / mean_of_tenth((times - tenth) / 2);
  }

  const std::string model = perceptron();
};

TEST_F(Memory, IsTheSameAfter200Registrations) {
  Host host(false);
  EXPECT_LT(growth(200,
                   [&](size_t i) {
                     ASSERT_EQ(host.register_library(), "");
                     const auto rows = static_cast<int64_t>(1 + i % 5);
                     const Inputs inputs = {{"x", noise({rows, 4}, 1)}};
                     EXPECT_EQ(Session(host, model).run(inputs, {"y"}).error, "");
                     ASSERT_EQ(host.unregister_library(), "");
                   }),
            1.01);
}

TEST_F(Memory, IsTheSameAfter500Sessions) {
  Host host;
  const Session stays(host, model); // the context and its cache live on
  EXPECT_LT(growth(500,
                   [&](size_t i) {
                     const auto rows = static_cast<int64_t>(1 + i % 5);
                     const Inputs inputs = {{"x", noise({rows, 4}, 1)}};
                     const Session session(host, i % 2 == 0 ? model : perceptron(uint32_t(i)));
                     EXPECT_EQ(session.run(inputs, {"y"}).error, "");
                   }),
            1.01);
}
#endif

} // namespace
} // namespace ort
