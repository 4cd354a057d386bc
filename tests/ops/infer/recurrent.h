// Recurrent layers.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

// Mostly of sizes that fit.
inline void recurrent_layer(Draw &d, int64_t gates, int64_t outputs) {
  const bool is_batch_first = d.one_of(3), is_both = d.one_of(3);
  const int64_t hidden = d.between(1, 3);
  const Dim directions = Draw::number(is_both ? 2 : 1), units = Draw::number(hidden);
  const Dim columns = Draw::number(gates * hidden);
  const Shape x = d.shape(3, 3);
  const Dim batch = x[is_batch_first ? 0 : 1];
  const Shape state =
      is_batch_first ? Shape{batch, directions, units} : Shape{directions, batch, units};
  d.node.opset = 14;
  d.node.n_outputs = uint32_t(d.between(1, outputs));
  if (is_batch_first) d.node.ints["layout"] = {1};
  if (is_both) d.node.texts["direction"] = "bidirectional";
  if (d.one_of(2)) d.node.ints["hidden_size"] = {hidden};
  d.tensor(x);
  d.tensor({directions, d.one_of(6) ? d.dim() : columns, x[2]});
  d.tensor({directions, columns, units});
  if (d.one_of(3)) return;
  d.tensor({directions, Draw::number(2 * gates * hidden)});
  d.tensor({d.one_of(6) ? d.dim() : batch}, LK_I32);
  d.tensor(state);
  if (gates != 4) return;
  d.tensor(state);
  if (d.one_of(2)) d.tensor({directions, Draw::number(3 * hidden)});
}

// Of bytes: W and R lie the other way round, and each has a scale and a zero point.
inline void quantized_layer(Draw &d) {
  const bool is_both = d.one_of(3);
  const int64_t hidden = d.between(1, 3);
  const Dim directions = Draw::number(is_both ? 2 : 1), units = Draw::number(hidden);
  const Dim columns = Draw::number(4 * hidden);
  const Shape x = d.shape(3, 3), state = {directions, x[1], units};
  d.node.n_outputs = uint32_t(d.between(1, 3));
  if (is_both) d.node.texts["direction"] = "bidirectional";
  if (d.one_of(2)) d.node.ints["hidden_size"] = {hidden};
  d.tensor(x);
  d.tensor({directions, x[2], d.one_of(6) ? d.dim() : columns}, LK_I8);
  d.tensor({directions, units, columns}, LK_I8);
  d.tensor({directions, Draw::number(8 * hidden)});
  d.tensor({d.one_of(6) ? d.dim() : x[1]}, LK_I32);
  d.tensor(state);
  d.tensor(state);
  d.tensor({directions, Draw::number(3 * hidden)});
  for (int i = 0; i < 4; i++) {
    const Dim first = d.one_of(9) ? d.dim() : directions;
    d.tensor(d.one_of(2) ? Shape{first} : Shape{first, columns}, i % 2 == 0 ? LK_F32 : LK_I8);
  }
}

inline Rules infer_recurrent() {
  return {
      {"DynamicQuantizeLSTM", quantized_layer},
      {"GRU", [](Draw &d) { recurrent_layer(d, 3, 2); }},
      {"LSTM", [](Draw &d) { recurrent_layer(d, 4, 3); }},
      {"RNN", [](Draw &d) { recurrent_layer(d, 1, 2); }},
  };
}

} // namespace lk::infer
