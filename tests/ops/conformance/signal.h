// Transforms and tables for signals, determinants, and random numbers with a seed.
#pragma once

#include "tests/ops/conformance/node.h"

namespace lk::conformance {

inline std::vector<Node> conformance_signal() {
  std::vector<Node> nodes;
  for (const char *op : {"BlackmanWindow", "HammingWindow", "HannWindow"}) {
    nodes.push_back({.op = op,
                     .opset = 17,
                     .inputs = {lk::ints({8})},
                     .other = {lk::ints({9})},
                     .empty = false});
  }
  const Value rate = lk::ints({8192}), low = lk::floats({1}, {0}), high = lk::floats({1}, {4000});
  nodes.push_back({.op = "MelWeightMatrix",
                   .opset = 17,
                   .inputs = {lk::ints({8}), lk::ints({16}), rate, low, high},
                   .other = {lk::ints({9}), lk::ints({16}), rate, low, high},
                   .empty = false});
  nodes.push_back({.op = "Det", .opset = 22, .inputs = {x({2, 3, 3})}, .other = {x({3, 4, 4})}});
  nodes.push_back({.op = "DFT", .opset = 20, .inputs = {x({2, 8, 2})}, .other = {x({3, 9, 1})}});
  nodes.push_back({.op = "STFT",
                   .opset = 17,
                   .inputs = {x({2, 16, 1}), lk::ints({4}), x({8})},
                   .other = {x({3, 20, 2}), lk::ints({4}), x({8})},
                   .constants = {false, true}});
  const auto seed = [](auto *to) {
    static const float value = 7;
    to->push_back({"seed", LK_ATTR_FLOATS, 1, &value});
  };
  for (const char *op : {"RandomNormal", "RandomUniform"}) {
    nodes.push_back({.op = op,
                     .opset = 22,
                     .attrs =
                         [seed](auto *to) {
                           ints(to, "shape", {3, 5});
                           seed(to);
                         },
                     .empty = false});
  }
  for (const char *op : {"Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike"}) {
    nodes.push_back(
        {.op = op, .opset = 22, .inputs = {x({4, 6})}, .other = {x({5, 6})}, .attrs = seed});
  }
  return nodes;
}

} // namespace lk::conformance
