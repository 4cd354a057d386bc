// How much a test does, where the environment says so.
#pragma once

#include <cstdlib>

namespace lk {

inline double number_of_variable(const char *variable, double otherwise) {
  const char *text = std::getenv(variable);
  return text != nullptr && text[0] != '\0' ? std::atof(text) : otherwise;
}

} // namespace lk
