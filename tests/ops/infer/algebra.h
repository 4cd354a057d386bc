// Losses, poolings and norms without scales, products by an equation.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

inline void loss(Draw &d) {
  const Shape x = d.shape(2, 5);
  Shape targets = x;
  targets.erase(targets.begin() + 1);
  if (d.one_of(9)) targets[0] = d.dim();
  const char *reductions[] = {"none", "sum", "mean"};
  d.tensor(x);
  d.tensor(targets, LK_I64);
  if (d.one_of(2)) d.tensor({d.one_of(9) ? d.dim() : x[1]});
  d.node.texts["reduction"] = reductions[d.between(0, 2)];
}

inline Rules infer_algebra() {
  Rules rules;
  for (const char *op : {"GlobalLpPool", "GlobalMaxPool"}) {
    rules[op] = [](Draw &d) { d.tensor(d.shape(3, 5)); };
  }
  rules["LpPool"] = pool;
  rules["LpNormalization"] = [](Draw &d) {
    d.tensor(d.shape(1, 5));
    d.node.ints["axis"] = {d.between(-2, 2)};
  };
  rules["MeanVarianceNormalization"] = [](Draw &d) {
    const Shape x = d.shape(1, 5);
    d.tensor(x);
    d.node.ints["axes"] = {d.between(-int64_t(x.size()), int64_t(x.size()) - 1)};
  };
  rules["NegativeLogLikelihoodLoss"] = loss;
  rules["SoftmaxCrossEntropyLoss"] = [](Draw &d) {
    loss(d);
    d.node.n_outputs = uint32_t(d.between(1, 2));
  };
  rules["Einsum"] = [](Draw &d) {
    const char *equations[] = {"ab,bc->ac", "ab,bc", "...a,ab->...b", "aab,bc->ca", "ab,ba->"};
    const std::string equation = equations[d.between(0, 4)];
    std::map<char, Dim> sizes;
    for (const char letter : std::string("abc")) sizes[letter] = d.dim();
    const Shape wide = d.shape(0, 2);
    Shape term;
    for (const char c : equation.substr(0, equation.find("->")) + ",") {
      if (c == ',') {
        d.tensor(term);
        term.clear();
      } else if (c != '.') {
        term.push_back(d.one_of(20) ? d.dim() : sizes[c]);
      } else if (term.empty()) {
        term = wide; // by the first dot
      }
    }
    d.node.texts["equation"] = equation;
  };
  return rules;
}

} // namespace lk::infer
