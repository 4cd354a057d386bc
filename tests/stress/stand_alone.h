// What each model and node gives when it runs alone: in a fresh context, without cache and run
// plans. It is compared with plain loops before it is trusted.
#pragma once

#include <latchkey/session.h>

#include <memory>

#include "tests/plugin/handles.h"
#include "tests/stress/model.h"

namespace stress {

// Results depend neither on the number of threads of a run nor on what else runs: so all bits must
// be equal to those of a run alone, and are compared.
constexpr int32_t kMostThreads = 2;

// ---- who computes ----

// As the option of a context says. The default looks for the module beside the library, which is
// linked into this program; tests/shutdown has it.
enum Engine : uint32_t { kNative, kAuto, kOnednn };
const char *engine_name(Engine engine);

// Who is asked for the works of a node: native, the engine that was chosen, that of `auto` for all
// that it takes, or for what it takes less time for.
enum Ask : uint32_t { kAskNative, kAskEngine, kAskForAll, kAskCheaper, kAsks };
Ask ask_of(Engine engine, uint32_t bind_flags);

// ---- models ----

struct PreparedModel {
  Model model;
  std::string bytes;
  std::vector<Values> native; // [request]
  // oneDNN's primitives are cut for the number of threads of their context: [that - 1][request].
  // Empty where it was not prepared.
  std::vector<Values> onednn[kMostThreads];

  // With `auto` these models are all native's: what oneDNN saves of f32 is too little for an
  // estimate.
  const std::vector<Values> &expected(Engine engine, int32_t threads) const {
    return engine == kOnednn ? onednn[threads - 1] : native;
  }
};

std::shared_ptr<const PreparedModel> prepare(const Model &model, bool by_onednn);

// ---- nodes ----

// What a node is bound to. Some differ in one thing alone.
struct Request {
  Value input;
  lk_layout layout = LK_LAYOUT_PLAIN, wish = LK_LAYOUT_PLAIN;
};
struct Result {
  Value output;
  uint32_t n_values; // steps that are no kernels of native's
};

// A node with constants behind one input.
struct PreparedNode {
  lk::TestNode node;
  bool in_place; // output 0 may be written over input 0
  std::vector<Request> requests;
  // [threads of the context - 1][over input 0][request]: engines leave some works in place.
  std::vector<Result> expected[kAsks][kMostThreads][2];
  std::string text;
};

// The first call says which engines there are besides native.
const std::vector<PreparedNode> &prepared_nodes(const std::vector<Engine> &engines = {});

// How a node is run.
struct NodeRun {
  const PreparedNode *node;
  size_t request;
  bool over;      // output 0 is written over input 0
  uint32_t flags; // lk_bind_flags
  const Result *expected;

  const Request &asked() const { return node->requests[request]; }
};

// Binds, with a former plan that the call takes over and replaces.
lk_status bind_node(lk_op *op, const NodeRun &run, lk_plan **former, lk_error *error);
// And attaches.
lk_status attach_node(lk_frame *frame, lk_op *op, const NodeRun &run, lk_plan **former,
                      uint32_t *out_slot, lk_error *error);
lk_status run_node(lk_frame *frame, uint32_t slot, const NodeRun &run, Value *out, lk_error *error);
// The same three in one call.
lk_status run_node_alloc(lk_frame *frame, lk_op *op, const NodeRun &run, Value *out,
                         lk_error *error);

// Of two outputs: "" when all bits are equal.
std::string difference(const Value &expected, const lk_tensor_desc &desc, const void *data);

} // namespace stress
