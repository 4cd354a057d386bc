// Norms over dimensions, channels and groups.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

// A scale, or more, for the last dimension.
inline void row_norm(Draw &d, int before, int scales) {
  const Shape x = d.shape(1, 5);
  for (int i = 0; i <= before; i++) d.tensor(x);
  for (int i = 0; i < scales; i++) d.tensor({d.one_of(9) ? d.dim() : x.back()});
  if (before == 0 && d.one_of(2)) d.node.ints["axis"] = {d.between(-1, int64_t(x.size()) - 1)};
}
inline void channel_norm(Draw &d) {
  const Shape x = d.shape(2, 5);
  d.tensor(x);
  for (int i = 0; i < 2; i++) d.tensor({d.one_of(9) ? d.dim() : x[1]});
}
// A scale and a bias of the channels: vectors, or with a dimension for each of the input's.
inline void norm_of_groups(Draw &d) {
  const Shape x = d.shape(2, 5);
  d.tensor(x);
  for (int i = 0; i < 2; i++) {
    Shape each = {d.one_of(9) ? d.dim() : x[1]};
    if (d.node.domain == "latchkey") each.resize(x.size() - (d.one_of(9) ? 0 : 1), Dim{1, 1});
    d.tensor(each);
  }
  d.node.opset = 21;
  d.node.ints["num_groups"] = {d.between(1, 2)};
}

inline Rules infer_norms() {
  return {
      {"GroupNormalization", norm_of_groups},
      {"InstanceNormalization", channel_norm},
      {"LayerNormalization",
       [](Draw &d) {
         row_norm(d, 0, 2);
         d.node.n_outputs = uint32_t(d.between(1, 3));
       }},
      {"RMSNormalization", [](Draw &d) { row_norm(d, 0, 1); }},
      {"SimplifiedLayerNormalization", [](Draw &d) { row_norm(d, 0, 1); }},
      {"SkipLayerNormalization", [](Draw &d) { row_norm(d, 1, 2); }},
      {"SkipSimplifiedLayerNormalization", [](Draw &d) { row_norm(d, 1, 1); }},
  };
}

} // namespace lk::infer
