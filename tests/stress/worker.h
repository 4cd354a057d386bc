// One thread of the stress test: does one random thing after another, and compares what comes out.
#pragma once

#include "tests/stress/stage.h"

namespace stress {

struct Wanted; // of a host's value, user_actions.cc
struct UserValue;

class Worker {
public:
  // `inner`: in a context of its own, within what another worker of this thread does.
  Worker(Stage *stage, uint64_t seed, bool inner = false);
  Worker(const Worker &) = delete;
  ~Worker();

  const Identity &identity() const { return identity_; }
  void act();
  void let_go(); // of all that it holds in between

private:
  bool one_in(int64_t n) { return random_.in(1, n) == 1; }
  unsigned long long some(int64_t low, int64_t high) {
    return static_cast<unsigned long long>(random_.in(low, high));
  }

  // session_actions.cc
  void open_session();
  void close_session();
  void run_sessions();
  void run(const Session &session);
  const Values &expected_of(const Session &session, size_t request) const;
  void check_outputs(const Session &session, size_t request,
                     const std::vector<lk_named_tensor> &outputs);
  lk_status run_with(const Session &session, size_t request, const std::vector<std::string> &wanted,
                     bool own_memory, const lk_run_options *options);

  // host_actions.cc
  void make_host();
  void end_host();
  void run_hosts();
  NodeRun random_run(const PreparedNode &node);
  void run_place(const Host::Place &place);
  void bind_twins(const Host::Place &place, const Host::Place &twin);
  void release_host();
  void compare(const NodeRun &run, uint32_t slot);
  void compare(const NodeRun &run, const Value &output);

  // user_actions.cc
  void use_values();
  void get_value();
  lk_status get(const Wanted &wanted, lk_ref **out_ref);
  void release_values(size_t at_most);
  static lk_status build_value(void *arg, const lk_key *, lk_built *out, lk_error *error);

  // control_actions.cc
  void control();
  Limits random_limits();
  void use_other_context();

  Stage *const stage_;
  Random random_;
  const bool inner_;
  const Identity identity_;
  std::vector<uint8_t> input_memory_[2], output_memory_[2];
  struct Held {
    lk_ref *ref;
    std::string signature;
  };
  std::vector<Held> held_; // values of hosts that are in use
  // A host that it runs, and what it has attached: slots of the frame.
  std::shared_ptr<Host> host_;
  lk::Frame frame_;
  lk::Plan former_;
  std::vector<std::pair<uint32_t, NodeRun>> attached_;
};

} // namespace stress
