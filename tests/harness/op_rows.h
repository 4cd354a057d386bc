// The operator table, as a list.
#pragma once

#include <vector>

#include "tests/harness/owners.h"

namespace lk {

inline std::vector<lk_op_row> op_rows() {
  std::vector<lk_op_row> all;
  for (uint32_t i = 0;; i++) {
    const lk_op_row *row = api()->op_row(i);
    if (row == nullptr) return all;
    all.push_back(*row);
  }
}

} // namespace lk
