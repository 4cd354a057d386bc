// Attention.
#pragma once

#include "tests/ops/infer/draw.h"

namespace lk::infer {

inline void attention(Draw &d) {
  const Dim batch = d.dim(), queries = d.dim(), rows = d.dim(), size = d.dim();
  const Dim heads = Draw::number(4), kv_heads = Draw::number(d.one_of(2) ? 2 : 4);
  const Dim key_size = d.one_of(9) ? d.dim() : size, v_size = d.dim(), past = d.dim();
  d.node.opset = 24;
  d.node.n_outputs = uint32_t(d.between(1, 4));
  if (d.one_of(2)) {
    d.node.ints["q_num_heads"] = {4};
    d.node.ints["kv_num_heads"] = {2};
    d.tensor({batch, queries, d.one_of(2) ? d.dim() : Draw::number(16)});
    d.tensor({batch, rows, d.one_of(2) ? d.dim() : Draw::number(8)});
    d.tensor({batch, rows, d.dim()});
    return;
  }
  d.tensor({batch, heads, queries, size});
  d.tensor({batch, kv_heads, rows, key_size});
  d.tensor({batch, kv_heads, rows, v_size});
  if (d.one_of(2)) return;
  if (d.one_of(2)) {
    d.absent();
  } else {
    d.tensor({d.one_of(2) ? batch : Draw::number(1), queries, d.one_of(2) ? rows : d.dim()});
  }
  if (d.one_of(2)) return;
  d.tensor({batch, kv_heads, past, key_size});
  d.tensor({batch, kv_heads, past, v_size});
}

inline void attention_fused(Draw &d) {
  const Dim batch = d.dim(), heads = d.dim(), rows = d.dim(), size = d.dim();
  const bool is_turned = d.one_of(3);
  auto of = [&](const Dim &dim) {
    return d.one_of(5) ? Draw::number(1) : d.one_of(9) ? d.dim() : dim;
  };
  const Dim b = of(batch), h = of(heads), r = of(rows), s = of(size);
  if (is_turned) d.node.ints["k_rows"] = {1};
  if (d.one_of(4)) {
    d.tensor({of(batch), d.dim(), size});
    d.tensor({b, r, s});
    d.tensor({of(batch), of(rows), d.dim()});
    return;
  }
  d.tensor({of(batch), of(heads), d.dim(), size});
  d.tensor(is_turned ? Shape{b, r, h, s} : Shape{b, h, r, s});
  d.tensor({of(batch), of(heads), of(rows), d.dim()});
  if (d.one_of(2)) d.tensor({of(batch), Draw::number(1), d.dim(), of(rows)});
}

inline void attention_of_microsoft(Draw &d) {
  const Dim batch = d.dim(), rows = d.dim(), width = d.dim(), size = Draw::number(3);
  d.node.ints["num_heads"] = {2};
  d.node.n_outputs = uint32_t(d.between(1, 2));
  d.tensor({batch, rows, width});
  d.tensor({d.one_of(9) ? d.dim() : width, d.one_of(9) ? d.dim() : Draw::number(18)});
  d.tensor({Draw::number(18)});
  if (d.one_of(2)) {
    d.absent();
  } else {
    d.tensor({batch, d.one_of(2) ? rows : d.dim(), d.dim()}, LK_I32);
  }
  if (d.one_of(2)) {
    d.tensor({Draw::number(2), batch, Draw::number(2), d.dim(), d.one_of(9) ? d.dim() : size});
  }
}

inline void multi_head_attention(Draw &d) {
  const Dim batch = d.dim(), queries = d.dim(), rows = d.dim(), width = d.dim();
  const Dim two = Draw::number(2), size = Draw::number(3), past = d.dim();
  d.node.ints["num_heads"] = {2};
  d.node.n_outputs = uint32_t(d.between(1, 3));
  switch (d.between(0, 3)) {
  case 0:
    d.tensor({batch, queries, two, Draw::number(3), size});
    return;
  case 1:
    d.tensor({batch, queries, Draw::number(6)});
    d.tensor({batch, rows, two, two, size});
    return;
  case 2:
    d.tensor({batch, queries, Draw::number(6)});
    d.tensor({batch, two, rows, size});
    d.tensor({batch, two, rows, size});
    return;
  default:
    d.tensor({batch, queries, width});
    d.tensor({batch, rows, width});
    d.tensor({batch, rows, d.dim()});
    break;
  }
  for (int i = 0; i < 3; i++) d.absent();
  if (d.one_of(2)) return;
  for (int i = 0; i < 2; i++) d.tensor({batch, two, past, d.one_of(2) ? size : d.dim()});
}

inline void group_query_attention(Draw &d) {
  const Dim batch = d.dim(), rows = d.dim(), past = d.dim();
  const bool is_packed = d.one_of(2), is_quantized = d.one_of(3), is_half = d.one_of(2);
  const int64_t size = is_quantized && is_half ? 4 : 3;
  const uint32_t cached = !is_quantized ? LK_F32 : is_half ? LK_U8 : LK_I8;
  if (is_quantized) {
    d.node.texts["k_quant_type"] = d.node.texts["v_quant_type"] = "PER_CHANNEL";
    d.node.ints["kv_cache_bit_width"] = {is_half ? 4 : 8};
  }
  d.node.ints["num_heads"] = {4};
  d.node.ints["kv_num_heads"] = {2};
  d.node.n_outputs = uint32_t(d.between(1, 4));
  if (d.node.n_outputs == 4) d.node.ints["qk_output"] = {d.between(0, 2)};
  const bool is_sliding = d.node.n_outputs < 4 && d.one_of(3);
  if (is_sliding) {
    d.node.ints["sliding_window_cache"] = {1};
    d.node.ints["local_window_size"] = {d.between(1, 3)};
  }
  d.tensor({batch, rows, d.one_of(4) ? d.dim() : Draw::number((is_packed ? 8 : 4) * size)});
  for (int i = 0; i < 2; i++) {
    if (is_packed) {
      d.absent();
    } else {
      d.tensor({batch, d.one_of(9) ? d.dim() : rows, Draw::number(2 * size)});
    }
  }
  const bool has_past = !d.one_of(3);
  for (int i = 0; i < 2; i++) {
    if (has_past) {
      const Dim width = Draw::number(is_quantized && is_half ? size / 2 : size);
      d.tensor({batch, Draw::number(2), past, d.one_of(9) ? d.dim() : width}, cached);
    } else {
      d.absent();
    }
  }
  d.tensor({batch}, LK_I32);
  d.list<int32_t>({int32_t(rows.number + d.between(0, 5))}, LK_I32, d.one_of(2));
  if (!is_quantized) return;
  for (int i = 0; i < 5; i++) d.absent(); // up to head_sink
  for (int i = 0; i < 2; i++)
    d.tensor({Draw::number(1), Draw::number(2), Draw::number(1), Draw::number(size)});
}

inline void rotary(Draw &d, bool positions_first) {
  const Dim batch = d.dim(), rows = d.dim();
  const Shape cache = {batch, rows, Draw::number(4)}, table = {d.dim(), Draw::number(4)};
  d.node.opset = 23;
  d.tensor(d.one_of(2) ? Shape{batch, Draw::number(2), rows, Draw::number(8)}
                       : Shape{batch, rows, Draw::number(16)});
  d.node.ints["num_heads"] = {2};
  if (positions_first) d.tensor({batch, rows}, LK_I64);
  for (int i = 0; i < 2; i++) d.tensor(positions_first ? table : cache);
}

inline void linear_attention(Draw &d) {
  const Dim batch = d.dim(), rows = d.dim(), width = d.dim();
  d.node.opset = 27;
  d.node.n_outputs = uint32_t(d.between(1, 2));
  d.node.ints["q_num_heads"] = d.node.ints["kv_num_heads"] = {2};
  d.node.texts["update_rule"] = "linear";
  d.tensor({batch, rows, width});
  d.tensor({batch, rows, d.one_of(9) ? d.dim() : width});
  d.tensor({batch, rows, d.dim()});
  if (d.one_of(4)) d.tensor({batch, Draw::number(2), d.dim(), d.dim()});
}

inline void causal_conv(Draw &d) {
  const Shape x = d.shape(3, 3);
  d.node.opset = 27;
  d.node.n_outputs = uint32_t(d.between(1, 2));
  d.tensor(x);
  d.tensor({x[1], Draw::number(1), d.one_of(2) ? d.dim() : Draw::number(3)});
  if (d.one_of(2)) d.tensor({x[1]});
}

inline Rules infer_attention() {
  return {{"Attention",
           [](Draw &d) {
             d.node.domain.empty()         ? attention(d)
             : d.node.domain == "latchkey" ? attention_fused(d)
                                           : attention_of_microsoft(d);
           }},
          {"CausalConvWithState", causal_conv},
          {"GroupQueryAttention", group_query_attention},
          {"LinearAttention", linear_attention},
          {"MultiHeadAttention", multi_head_attention},
          {"RotaryEmbedding", [](Draw &d) { rotary(d, d.node.domain == "com.microsoft"); }}};
}

} // namespace lk::infer
