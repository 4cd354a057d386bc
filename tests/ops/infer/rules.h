// What draws nodes of every row, and nodes as the table takes them.
#pragma once

#include "tests/ops/infer/algebra.h"
#include "tests/ops/infer/attention.h"
#include "tests/ops/infer/base.h"
#include "tests/ops/infer/elementwise.h"
#include "tests/ops/infer/fused.h"
#include "tests/ops/infer/moves.h"
#include "tests/ops/infer/norms.h"
#include "tests/ops/infer/quantized.h"
#include "tests/ops/infer/recurrent.h"
#include "tests/ops/infer/reduction.h"
#include "tests/ops/infer/sampling.h"
#include "tests/ops/infer/selection.h"
#include "tests/ops/infer/signal.h"

extern "C" {
#include "base/alloc.h"
}

namespace lk::infer {

// Of all files of tests/ops/infer/.
inline const Rules &rules() {
  static const Rules all = [] {
    Rules every;
    for (const auto family :
         {infer_algebra, infer_attention, infer_base, infer_elementwise, infer_fused, infer_moves,
          infer_norms, infer_quantized, infer_recurrent, infer_reduction, infer_sampling,
          infer_selection, infer_signal})
      every.merge(family());
    return every;
  }();
  return all;
}

inline void end_dims(lk_dims *dims) {
  api()->dims_destroy(dims);
}
using Table = Owned<lk_dims, end_dims>;

inline Table open_table() {
  Table table;
  LK_EXPECT_OK(api()->dims_create(lk_allocator_default(), table.out(), LK_ERR));
  return table;
}

// The description of a node, which it borrows from; no input is constant.
struct Described {
  explicit Described(const Node &node) : inputs(node.inputs.size()) {
    for (size_t i = 0; i < inputs.size(); i++) {
      if (node.inputs[i].absent) inputs[i].flags = LK_INPUT_ABSENT;
    }
    for (const auto &[name, values] : node.ints) {
      attrs.push_back({name.c_str(), LK_ATTR_INTS, uint32_t(values.size()), values.data()});
    }
    for (const auto &[name, text] : node.texts) {
      attrs.push_back({name.c_str(), LK_ATTR_STRING, uint32_t(text.size()), text.data()});
    }
    for (const auto &[name, values] : node.floats) {
      attrs.push_back({name.c_str(), LK_ATTR_FLOATS, uint32_t(values.size()), values.data()});
    }
    desc.struct_size = sizeof desc;
    desc.op_type = node.op.c_str();
    desc.domain = node.domain.c_str();
    desc.output_name = "y";
    desc.opset = node.opset;
    desc.n_inputs = uint32_t(inputs.size());
    desc.inputs = inputs.data();
    desc.n_outputs = node.n_outputs;
    desc.n_attrs = uint32_t(attrs.size());
    desc.attrs = attrs.data();
    desc.n_post_ops = uint32_t(node.post_ops.size());
    desc.post_ops = node.post_ops.data();
  }
  Described(const Described &) = delete;

  lk_node_desc desc{};
  std::vector<lk_node_input> inputs;
  std::vector<lk_attr> attrs;
};

// `open`: symbols stay symbols. `hide`: values are not known.
inline std::vector<lk_tensor> inputs_of(const Node &node, bool open = false, bool hide = false) {
  std::vector<lk_tensor> inputs(node.inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    const Input &from = node.inputs[i];
    if (from.absent) continue;
    inputs[i].desc.dtype = from.dtype;
    inputs[i].desc.rank = uint32_t(from.shape.size());
    for (size_t d = 0; d < from.shape.size(); d++) {
      inputs[i].desc.dims[d] = open ? from.shape[d].symbol : from.shape[d].number;
    }
    if (!from.bytes.empty() && !hide) inputs[i].data = const_cast<uint8_t *>(from.bytes.data());
  }
  return inputs;
}

} // namespace lk::infer
