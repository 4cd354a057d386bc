// The module of oneDNN by itself, on one thread: its offers for works, and runs of them.
#pragma once

#include <dlfcn.h>
#include <latchkey/engine.h>

#include <string>
#include <vector>

#include "tests/plugin/handles.h"

namespace lk {

class Module {
public:
  struct Offer {
    bool is_made;
    std::string reason;
    double run_ratio;
  };

  Module() {
    static const lk_engine_team alone = {
        sizeof alone,     [](void (*fn)(void *), void *arg, int) { fn(arg); },
        [] { return 1; }, [] { return 0; },
        [] { return 1; }, [] { return 0; }};
    open(&alone);
  }
  explicit Module(const lk_engine_team *team) { open(team); }
  Module(const Module &) = delete;
  ~Module() {
    if (engine.close != nullptr) engine.close(engine.self);
  }

  // Where all tensors lie as the work has them.
  Offer offers(const lk_work &work) const {
    lk_offer offer = {};
    offer.struct_size = sizeof offer;
    offer.n_post_ops = work.n_post_ops;
    for (size_t i = 0; i < LK_ROLES; i++) offer.layouts[i] = lk_layout(work.tensors[i].layout);
    const bool is_made = engine.offer(engine.self, &work, ~0U, &offer) == 1;
    return {is_made, offer.reason != nullptr ? offer.reason : "", offer.run_ratio};
  }
  // `pointers`: of its roles.
  void run(const lk_work &work, std::vector<void *> pointers) const {
    lk_engine_value value = {};
    void *slot = nullptr;
    value.struct_size = sizeof value;
    LK_ASSERT_OK(engine.build(engine.self, &work, &value, LK_ERR));
    EXPECT_EQ(value.is_reference, 0u) << value.implementation;
    const Memory scratch(value.scratch_bytes);
    pointers.push_back(scratch.data());
    LK_ASSERT_OK(engine.slot_open(engine.self, value.value, &slot, LK_ERR));
    LK_EXPECT_OK(engine.run(engine.self, value.value, slot, pointers.data(), LK_ERR));
    engine.slot_close(engine.self, value.value, slot);
    engine.destroy(engine.self, value.value);
  }

  lk_engine engine = {};

private:
  void open(const lk_engine_team *team) {
    void *module = dlopen("liblatchkey_onednn.so", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(module, nullptr) << dlerror();
    const auto function = reinterpret_cast<lk_engine_open_fn>(dlsym(module, LK_ENGINE_OPEN));
    ASSERT_NE(function, nullptr);
    LK_ASSERT_OK(function(LK_ENGINE_VERSION, team, 2, &engine, LK_ERR));
  }
};

} // namespace lk
