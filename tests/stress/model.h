// A model of the stress test: a list of nodes. The library gets it as ONNX bytes, and plain loops
// compute it for comparison.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/ops/reference.h"

namespace stress {

using lk::Dims;
using lk::Value;
using Values = std::map<std::string, Value>;

struct Node {
  std::string op;
  std::vector<std::string> inputs;
  std::string output;
  std::map<std::string, int64_t> numbers;
  std::map<std::string, std::vector<int64_t>> lists;
  std::map<std::string, float> floats;
};

struct Model {
  std::string name;
  std::map<std::string, uint32_t> inputs; // name and type; ranks and dimensions are left open
  std::vector<std::string> outputs;
  Values constants;
  std::vector<Node> nodes;
  std::vector<Values> requests; // inputs that it is run with

  std::string text() const; // for people who look for what went wrong
};

constexpr int kOpset = 13;

std::string onnx_bytes(const Model &model);

// In plain loops, in double between the elements of a node.
Values computed(const Model &model, const Values &inputs);
Value computed(const Node &node, const std::vector<const Value *> &inputs);

// The fixed ones: names, shapes and sizes are as alike as they can be.
std::vector<Model> fixed_models();
// A random graph; its names are those of all the others.
Model generated_model(const std::string &name, uint64_t seed);

} // namespace stress
