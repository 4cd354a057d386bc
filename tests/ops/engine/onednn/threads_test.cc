// oneDNN has no thread of its own: whatever is built, packed and run, the process has the threads
// of the host and those of its team.
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "tests/harness/wait.h"
#include "tests/ops/engine/onednn/random_nodes.h"

namespace {

using lk::Host;
using lk::RandomNodes;
using lk::Value;

// How many threads there are of each name. The names of the team's are "latchkey".
std::map<std::string, int> threads_now() {
  std::map<std::string, int> all;
  lk::for_each_thread([&](pid_t thread) {
    std::string name;
    std::ifstream("/proc/self/task/" + std::to_string(thread) + "/comm") >> name;
    all[name]++;
  });
  return all;
}

void run_some(Host *host, unsigned seed) {
  RandomNodes random(seed);
  for (int i = 0; i < 60; i++) {
    Value output;
    host->run(random.any(), &output);
  }
  // as large as is worth all threads, and so that the primitive has shares for them
  lk::Case product;
  const Value w = lk::random({512, 512}, 2);
  product.node.op = "MatMul";
  product.node.constants = {w};
  product.inputs = {lk::random({600, 512}, 1), w};
  Value output;
  host->run(product, &output);
}

class OnednnThreads : public testing::Test {
protected:
  // ThreadSanitizer has a thread of its own from the first one on that a process makes: it is among
  // those that were there before.
  static void SetUpTestSuite() {
    std::filesystem::path task;
    std::thread([&] { task = "/proc/self/task/" + std::to_string(gettid()); }).join();
    lk::wait_until([&] { return !std::filesystem::exists(task); });
  }
};

TEST_F(OnednnThreads, OfOneThreadThereIsNoOther) {
  const auto before = threads_now();
  Host onednn("onednn", 1);
  run_some(&onednn, 1);
  EXPECT_GT(onednn.stats().kind[LK_KIND_VALUE].builds, 20u);
  EXPECT_EQ(threads_now(), before);
}

TEST_F(OnednnThreads, OfSeveralThereIsTheTeamAlone) {
  const auto before = threads_now();
  {
    Host onednn("onednn", 4);
    run_some(&onednn, 1);
    EXPECT_GT(onednn.stats().kind[LK_KIND_VALUE].builds, 20u);
    auto expected = before;
    expected["latchkey"] = before.count("latchkey") != 0 ? before.at("latchkey") : 0;
    expected["latchkey"] = std::max(expected["latchkey"], 3);
    EXPECT_EQ(threads_now(), expected) << "three besides this one";
  }
  // more hosts on one thread after the other have the same team
  const auto with_team = threads_now();
  for (unsigned seed = 2; seed < 5; seed++) {
    Host onednn("onednn", 4);
    run_some(&onednn, seed);
    EXPECT_EQ(threads_now(), with_team);
  }
}

// Those of the host that use it end, and nothing is left of them.
TEST_F(OnednnThreads, EndWithThoseOfTheHost) {
  Host onednn("onednn", 1);
  run_some(&onednn, 1);
  const auto before = threads_now();
  for (unsigned seed = 2; seed < 6; seed++) {
    std::thread([&] { run_some(&onednn, seed); }).join();
  }
  lk::wait_until([&] { return threads_now() == before; }); // the system forgets them a little later
}

} // namespace
