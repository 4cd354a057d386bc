// The rule of `auto`: what is measured decides, then its size class, then what is estimated.
#include "tests/harness/lk_test.h"

extern "C" {
#include "ops/engine/choice.h"
}

namespace {

using ::testing::HasSubstr;

struct Case {
  lk_choosing of;
  bool is_engine, is_measured;
  double native_ns, engine_ns;
  const char *reason;
};

TEST(Choice, IsAPureFunctionOfWhatIsKnown) {
  const Case cases[] = {
      // native, ratio, reorders, build, measured: native, engine, of the class: native, engine
      {{1000, 0, 0, 0, 0, 0, 0, 0}, false, false, 1000, 1000, "estimated"}, // it does not say
      {{1000, 1, 0, 0, 0, 0, 0, 0}, false, false, 1000, 1000, "estimated"},
      {{1000, 0.76, 0, 0, 0, 0, 0, 0}, false, false, 1000, 760, "estimated"}, // less than a quarter
      {{1000, 0.7, 0, 0, 0, 0, 0, 0}, true, false, 1000, 700, nullptr},
      {{1000, 0.7, 60, 0, 0, 0, 0, 0}, false, false, 1000, 760, "estimated"}, // reorders eat it up
      {{1000, 0.5, 200, 0, 0, 0, 0, 0}, true, false, 1000, 700, nullptr},
      {{1000, 0.7, 0, 40e3, 0, 0, 0, 0}, true, false, 1000, 700, nullptr}, // 40 ns a run
      {{1000, 0.7, 0, 60e3, 0, 0, 0, 0}, false, false, 1000, 700, "build"},
      {{1000, 0.9, 0, 0, 2000, 1999, 0, 0}, false, true, 2000, 1999, "it takes more than 0.97"},
      {{1000, 2.0, 50, 0, 2000, 1800, 0, 0}, true, true, 2000, 1850, nullptr},
      {{1000, 2.0, 0, 0, 2000, 1940, 0, 0}, true, true, 2000, 1940, nullptr},
      {{1000, 2.0, 0, 0, 2000, 1941, 0, 0}, false, true, 2000, 1941, "it takes more than 0.97"},
      {{1000, 2.0, 150, 0, 2000, 1800, 0, 0}, false, true, 2000, 1950, "it takes more than 0.97"},
      {{1000, 0.5, 0, 0, 2000, 0, 0, 0}, true, false, 1000, 500, nullptr}, // half of a measurement
      {{1000, 2.0, 0, 200e3, 2000, 1800, 0, 0}, false, true, 2000, 1800, "build"},
      {{0, 0.5, 0, 0, 0, 0, 0, 0}, true, false, 0, 0, nullptr},
      {{1000, 2.0, 0, 0, 0, 0, 1000, 900}, true, false, 1000, 900, nullptr},
      {{1000, 0.5, 0, 0, 0, 0, 1000, 910}, false, false, 1000, 910, "its size class takes more"},
      {{1000, 0.5, 50, 0, 0, 0, 1000, 860}, false, false, 1000, 910, "its size class takes more"},
      {{1000, 0.5, 50, 0, 0, 0, 1000, 850}, true, false, 1000, 900, nullptr},
      {{1000, 0.5, 0, 60e3, 0, 0, 1000, 850}, false, false, 1000, 850, "build"},
      {{1000, 0.5, 0, 60e3, 0, 0, 2000, 1700}, true, false, 1000, 850, nullptr}, // it takes longer
      {{1000, 0.5, 0, 30e3, 0, 0, 500, 425}, false, false, 1000, 850, "build"},  // than estimated
      {{1000, 0.5, 0, 0, 0, 0, 1000, 0}, true, false, 1000, 500, nullptr}, // half of a measurement
      {{1000, 2.0, 0, 0, 0, 1800, 1000, 800}, true, false, 1000, 800, nullptr},
      {{1000, 0.5, 0, 0, 2000, 1999, 1000, 100}, false, true, 2000, 1999, "more than 0.97"},
      {{1000, 0.5, 0, 0, 2000, 1800, 1000, 9000}, true, true, 2000, 1800, nullptr},
  };
  for (const Case &each : cases) {
    const lk_choice made = lk_choose(&each.of);
    SCOPED_TRACE(::testing::Message()
                 << each.of.native_ns << " " << each.of.run_ratio << " " << each.of.reorder_ns
                 << " " << each.of.build_ns << " " << each.of.class_engine_ns);
    EXPECT_EQ(made.is_engine, each.is_engine);
    EXPECT_EQ(made.is_measured, each.is_measured);
    EXPECT_EQ(made.is_of_class, !each.is_measured && each.of.class_engine_ns > 0);
    EXPECT_DOUBLE_EQ(made.native_ns, each.native_ns);
    EXPECT_DOUBLE_EQ(made.engine_ns, each.engine_ns);
    EXPECT_EQ(made.build_ns, each.of.build_ns);
    if (each.reason == nullptr) {
      EXPECT_EQ(made.reason, nullptr);
    } else {
      EXPECT_THAT(made.reason, HasSubstr(each.reason));
    }
  }
}

} // namespace
