// What each model and node gives when it runs alone: in a fresh context, on one thread, without
// cache and run plans. It is compared with plain loops before it is trusted.
#pragma once

#include <latchkey/session.h>

#include <memory>

#include "tests/plugin/handles.h"
#include "tests/stress/model.h"

namespace stress {

// Results depend neither on the number of threads nor on what else runs: so all bits must be equal
// to those of one thread, and are compared.
constexpr int32_t kMostThreads = 2;

struct PreparedModel {
  Model model;
  std::string bytes;
  std::vector<Values> expected; // [request]
};

std::shared_ptr<const PreparedModel> prepare(const Model &model);

// A node with constants behind one input, and the shapes that it is bound to.
struct PreparedNode {
  lk::TestNode node;
  bool in_place; // output 0 may be written over input 0
  std::vector<Value> inputs, expected;
  std::string text;
};

const std::vector<PreparedNode> &prepared_nodes();

// How a node is run.
struct NodeRun {
  const PreparedNode *node;
  size_t request;
  bool over; // output 0 is written over input 0
};

// Binds, with a former plan that the call takes over and replaces, and attaches.
lk_status attach_node(lk_frame *frame, lk_op *op, const NodeRun &run, lk_plan **former,
                      uint32_t *out_slot, lk_error *error);
lk_status run_node(lk_frame *frame, uint32_t slot, const NodeRun &run, Value *out, lk_error *error);
// The same three in one call.
lk_status run_node_alloc(lk_frame *frame, lk_op *op, const NodeRun &run, Value *out,
                         lk_error *error);

// Of two outputs: "" when all bits are equal.
std::string difference(const Value &expected, const lk_tensor_desc &desc, const void *data);

} // namespace stress
