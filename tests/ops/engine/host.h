// A host of one engine, which binds and runs nodes.
#pragma once

#include "tests/ops/reference.h"
#include "tests/plugin/handles.h"

extern "C" {
#include "ops/kernel/isa.h"
}

namespace lk {

// Below AVX2 oneDNN has slow reference implementations of most works, which are left to native.
inline const bool kHasPrimitives = lk_isa_get() >= LK_ISA_AVX2;

inline Context open_with(const char *engine, int threads = 2) {
  Context context;
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  options.engine = engine;
  options.threads = threads;
  LK_EXPECT_OK(api()->context_create(&options, context.out(), LK_ERR));
  return context;
}

// A node and the values of its inputs.
struct Case {
  TestNode node;
  std::vector<Value> inputs;
  lk_layout layout = LK_LAYOUT_PLAIN, wish = LK_LAYOUT_PLAIN; // of input 0, and of the output
  std::vector<lk_layout> others;                              // of input 1 and so on, if not plain
  uint32_t flags = 0;                                         // lk_bind_flags

  lk_layout layout_of(size_t input) const {
    if (input == 0) return layout;
    return input - 1 < others.size() ? others[input - 1] : lk_layout(LK_LAYOUT_PLAIN);
  }
};

// Binds and runs a case, and gives its output, plain.
class Host {
public:
  explicit Host(const char *engine, int threads = 2) : Host(open_with(engine, threads)) {}
  explicit Host(Context in) : context(std::move(in)), executor(executor_in(context)) {}

  void run(const Case &given, Value *out) {
    TestNode node = given.node;
    node.n_inputs = uint32_t(given.inputs.size());
    Op op;
    Plan plan;
    LK_ASSERT_OK(node.create(executor, &op, LK_ERR));
    std::vector<lk_tensor> tensors;
    for (const Value &input : given.inputs) tensors.push_back({input.desc, nullptr});
    for (size_t i = 0; i < tensors.size(); i++) tensors[i].desc.layout = given.layout_of(i);
    lk_bind_desc desc = host_bind(tensors.data(), node.n_inputs);
    desc.wishes = &given.wish;
    desc.flags = given.flags;
    LK_ASSERT_OK(lk::bind(op, desc, &plan, LK_ERR));
    std::vector<Memory> memory;
    std::vector<void *> pointers;
    for (size_t i = 0; i < given.inputs.size(); i++) {
      const uint32_t dtype = given.inputs[i].desc.dtype;
      memory.push_back(shifted(given.inputs[i].in(given.layout_of(i)), dtype));
      pointers.push_back(place_in(memory.back(), dtype));
    }
    lk_tensor_desc of_output;
    uint64_t bytes = 0;
    LK_ASSERT_OK(api()->plan_output(plan, 0, &of_output, LK_ERR));
    LK_ASSERT_OK(api()->tensor_bytes(&of_output, &bytes, LK_ERR));
    Memory to(bytes + bytes_off(of_output.dtype));
    void *const at = place_in(to, of_output.dtype);
    LK_ASSERT_OK(lk::run(executor, plan, pointers, at, LK_ERR));
    *out = Value::from(of_output, at);
  }
  lk_stats stats() const { return lk::stats(context); }
  uint64_t works() const { return stats().engine_works; }

  Context context;
  Executor executor;
  size_t shift = 0; // elements from a multiple of 64 bytes to each tensor

private:
  size_t bytes_off(uint32_t dtype) const { return shift * dtype_bytes(dtype); }
  void *place_in(const Memory &memory, uint32_t dtype) const {
    return static_cast<uint8_t *>(memory.data()) + bytes_off(dtype);
  }
  Memory shifted(Memory plain, uint32_t dtype) const {
    if (shift == 0) return plain;
    Memory made(plain.bytes() + bytes_off(dtype));
    std::memcpy(place_in(made, dtype), plain.data(), plain.bytes());
    return made;
  }
};

// Runs a case by two engines, which are to compute what is expected, and the same.
inline void expect_of_both(Host *native, Host *onednn, const Case &given, const Value &expected) {
  Value by_native, computed;
  native->run(given, &by_native);
  onednn->run(given, &computed);
  ASSERT_TRUE(lk::all_close(expected, computed, {1e-5, 1e-5}));
  ASSERT_TRUE(lk::all_close(by_native, computed, {1e-5, 1e-5}));
}

} // namespace lk
