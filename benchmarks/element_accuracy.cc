// How far are the functions of element programs from the true values, over all 2^32 values of f32?
// In units of the last place, against double precision; with the value where it is largest.
//
// element_accuracy [--json] [--quick | --long] : every 257th value, every 65537th, all of them
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "benchmarks/arguments.h"
#include "tests/ops/kernel/element/element_reference.h"

namespace {

struct Worst {
  double ulp = 0;
  float x = 0, found = 0;
};

// The values first, first + step, ... below `end`, by their bits.
Worst measure(const lk::FunctionOfOne &function, uint32_t isa, uint64_t first, uint64_t step,
              uint64_t end) {
  constexpr int64_t COUNT = 4096;
  static thread_local float x[COUNT], y[COUNT];
  lk_element_program program = lk_element_begin();
  program.isa = uint8_t(isa);
  const lk_element_value a = lk_element_input(&program, LK_F32);
  lk_element_output(
      &program, lk_element_unary(&program, lk_element_op(function.op), a, function.p, function.q),
      LK_F32);
  lk_element plan;
  const lk_element_strides dense[2] = {{{1}}, {{1}}};
  if (lk_element_plan(&program, 1, &COUNT, dense, &plan, nullptr) != LK_OK) std::abort();
  Worst worst;
  for (uint64_t bits = first; bits < end;) {
    int64_t n = 0;
    for (; n < COUNT && bits < end; bits += step) {
      const uint32_t narrow = uint32_t(bits);
      std::memcpy(&x[n++], &narrow, sizeof narrow);
    }
    void *const pointers[] = {x, y};
    (void)lk_element_run(&plan, pointers, 0, plan.tiles);
    for (int64_t i = 0; i < n; i++) {
      const double expected = lk::element_function(function.op, x[i], function.p, function.q);
      const double ulp = lk::ulps(function.op, y[i], expected);
      if (ulp > worst.ulp) worst = {ulp, x[i], y[i]};
    }
  }
  return worst;
}

} // namespace

int main(int argc, char **argv) {
  const Arguments arguments("element_accuracy", argc, argv, {257, 65537, 1});
  const uint64_t step = uint64_t(arguments.rounds);
  constexpr const char *ISAS[] = {"SSE2", "AVX2", "AVX-512"};
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::printf(arguments.json ? "{\"functions\": [" : "ULP, worst of every %lluth value\n",
              static_cast<unsigned long long>(step));
  bool first = true;
  for (const lk::FunctionOfOne &function : lk::FUNCTIONS) {
    for (uint32_t isa = 0; isa <= uint32_t(lk_isa_get()); isa++) {
      std::vector<Worst> parts(threads);
      std::vector<std::thread> crew;
      for (unsigned i = 0; i < threads; i++) {
        crew.emplace_back([&, i] {
          parts[i] = measure(function, isa, i * step, threads * step, UINT64_C(1) << 32);
        });
      }
      for (std::thread &thread : crew) thread.join();
      const Worst worst = *std::max_element(
          parts.begin(), parts.end(), [](const Worst &a, const Worst &b) { return a.ulp < b.ulp; });
      const double allowed = isa == LK_ISA_BASE ? function.ulp_sse2 : function.ulp;
      if (arguments.json) {
        std::printf("%s{\"function\": \"%s\", \"isa\": \"%s\", \"ulp\": %.3f, \"allowed\": %.1f}",
                    first ? "" : ", ", function.name, ISAS[isa], worst.ulp, allowed);
      } else {
        std::printf("  %-14s %-8s %8.3f at %-15.9g found %-15.9g %s\n", function.name, ISAS[isa],
                    worst.ulp, double(worst.x), double(worst.found),
                    worst.ulp <= allowed ? "met" : "MISSED");
      }
      std::fflush(stdout);
      first = false;
    }
  }
  if (arguments.json) std::printf("]}\n");
  return 0;
}
