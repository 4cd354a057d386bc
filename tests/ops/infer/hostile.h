// Nodes of rows with numbers that nobody means: dimensions, attributes and values of shape inputs
// at the ends of what fits, and about the roots of it.
#pragma once

#include <cstring>

#include "tests/ops/infer/rules.h"

namespace lk::infer {

inline constexpr int64_t one = 1;
inline constexpr int64_t hostile[] = {
    INT64_MAX, INT64_MAX - 1, INT64_MAX / 2,   INT64_MAX / 4, one << 62, one << 60, one << 41,
    one << 40, one << 32,     (one << 31) + 1, (one << 31),   INT32_MAX, INT32_MIN, -2,
    -1,        INT64_MIN,     INT64_MIN + 1,   INT64_MIN / 2, 0,         one << 20};

inline int64_t worse(std::mt19937 &random) {
  return hostile[random() % (sizeof hostile / sizeof *hostile)];
}
inline bool chance(std::mt19937 &random, unsigned n) {
  return random() % n == 0;
}

// Makes numbers of the node hostile: one in about `n`.
inline void make_hostile(std::mt19937 &random, Node *node, unsigned n) {
  for (auto &[name, values] : node->ints) {
    for (int64_t &value : values) value = chance(random, n) ? worse(random) : value;
  }
  for (Input &input : node->inputs) {
    if (input.bytes.empty()) {
      for (Dim &dim : input.shape) {
        const int64_t number = worse(random);
        if (chance(random, n) && number >= 0) dim = {number, number};
      }
    } else if (input.dtype == LK_I64) {
      for (size_t at = 0; at < input.bytes.size(); at += sizeof(int64_t)) {
        const int64_t number = worse(random);
        if (chance(random, n)) std::memcpy(&input.bytes[at], &number, sizeof number);
      }
    }
  }
}

// Of a row, whose rule it is; one number in about `n` is hostile.
inline Node hostile_node(const lk_op_row &row, const Rules::mapped_type &rule, std::mt19937 &random,
                         const std::vector<Dim> &symbols, unsigned n) {
  Draw draw(&random, &symbols);
  draw.node.op = row.op_type;
  draw.node.domain = row.domain;
  draw.node.opset = std::max(chance(random, 2) ? 13 : LK_MAX_OPSET, row.since);
  rule(draw);
  make_hostile(random, &draw.node, n);
  return draw.node;
}

} // namespace lk::infer
