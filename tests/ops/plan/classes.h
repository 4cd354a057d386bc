// The operators' classes, whose headers are of C. No member that is atomic is touched by who
// includes this.
#pragma once

#include <atomic>
#include <string>

using std::atomic_bool;
#define _Atomic
#define _Static_assert static_assert
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
extern "C" {
#include "ops/op_table.h"
}

namespace lk {

// NULL: there is none.
inline const lk_op_class *class_of(const std::string &op) {
  for (uint32_t i = 0; i < lk_n_op_classes; i++) {
    if (lk_op_classes[i]->row.op_type == op) return lk_op_classes[i];
  }
  return nullptr;
}

} // namespace lk
