// Models of many small things, of which tests count how often opening and running them looks.
#pragma once

#include "tests/executor_glue/session/small_model.h"
#include "tests/harness/looks.h"
#include "tests/plugin/handles.h"

namespace lk::bounded {

using namespace proto;

struct Many {
  const char *name;
  std::string (*bytes)();
};

inline void PrintTo(const Many &many, std::ostream *out) {
  *out << many.name;
}

inline std::string at(const char *name, int i) {
  return name + std::to_string(i);
}
inline Message floats(const std::string &name, float value = 1.5F) {
  return tensor(name, LK_F32, {4}, kRawData, raw(std::vector<float>(4, value)));
}
inline Message body(const std::string &name, const Graph &graph) {
  return attribute(name, kGraph).add(6, graph.m);
}

// y = a chain of what `link` adds between two values.
template <typename Link> inline Graph chain(int n, Link link) {
  Graph g;
  g.in("x").out("y");
  std::string last = "x";
  for (int i = 0; i < n; i++) {
    const std::string next = i + 1 == n ? "y" : at("v", i);
    link(g, last, next, i);
    last = next;
  }
  return g;
}

} // namespace lk::bounded
