// Transforms and tables for signals, determinants, and random numbers.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

// Real numbers, or real and imaginary parts.
inline Dim parts(Draw &d) {
  return Draw::number(d.between(1, 2));
}

inline Rules infer_signal() {
  Rules rules;
  for (const char *op : {"BlackmanWindow", "HammingWindow", "HannWindow"}) {
    rules[op] = [](Draw &d) { d.ints({d.between(0, 9)}); };
  }
  rules["MelWeightMatrix"] = [](Draw &d) {
    d.ints({d.between(0, 9)});
    d.ints({d.between(0, 9)});
    d.ints({8000});
    d.list<float>({100}, LK_F32);
    d.list<float>({d.one_of(9) ? 5000.0F : 4000.0F}, LK_F32);
  };
  rules["Det"] = [](Draw &d) {
    Shape x = d.shape(1, 4);
    x.push_back(d.one_of(9) ? d.dim() : x.back());
    d.tensor(x);
  };
  rules["DFT"] = [](Draw &d) {
    Shape x = d.shape(1, 3);
    const int64_t rank = int64_t(x.size()) + 1;
    x.push_back(parts(d));
    d.tensor(x);
    d.node.opset = d.one_of(2) ? 17 : 20;
    d.node.ints["onesided"] = {d.between(0, 1)};
    d.node.ints["inverse"] = {d.between(0, 1)};
    if (d.node.opset == 17) d.node.ints["axis"] = {d.between(-rank, rank - 2)};
    if (d.one_of(2)) return;
    d.ints({d.between(1, 9)});
    if (d.node.opset == 20 && d.one_of(2)) d.ints({d.between(-rank, rank - 2)});
  };
  rules["STFT"] = [](Draw &d) {
    d.tensor({d.dim(), d.dim(), parts(d)});
    d.ints({d.between(1, 4)});
    const int64_t length = d.between(1, 4);
    if (d.one_of(2)) {
      d.tensor({Draw::number(length)});
    } else {
      d.absent();
    }
    if (d.one_of(2)) d.ints({length});
    d.node.ints["onesided"] = {d.between(0, 1)};
  };
  for (const char *op : {"RandomNormal", "RandomUniform"}) {
    rules[op] = [](Draw &d) { d.node.ints["shape"] = d.many(size_t(d.between(0, 4)), 0, 9); };
  }
  for (const char *op : {"Bernoulli", "RandomNormalLike", "RandomUniformLike"}) {
    rules[op] = [](Draw &d) {
      unary(d);
      d.node.opset = 15;
    };
  }
  rules["Multinomial"] = [](Draw &d) {
    d.tensor({d.dim(), d.dim()});
    d.node.ints["sample_size"] = {d.between(1, 4)};
  };
  return rules;
}

} // namespace lk::infer
