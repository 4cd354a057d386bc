// What the provider says of a session: the JSON of its statistics.
#pragma once

#include <gtest/gtest.h>
#include <jansson.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace ort {

class Report {
public:
  explicit Report(const std::string &path) : root_(json_load_file(path.c_str(), 0, nullptr)) {
    EXPECT_NE(root_, nullptr) << "no JSON in " << path;
  }
  Report(Report &&other) noexcept : root_(std::exchange(other.root_, nullptr)) {}
  ~Report() { json_decref(root_); }

  // "claims.left.0.count": members by name, elements by number.
  json_int_t number(const std::string &path) const {
    const json_t *found = at(path);
    EXPECT_TRUE(json_is_integer(found)) << path;
    return json_integer_value(found);
  }
  std::string string(const std::string &path) const {
    const json_t *found = at(path);
    EXPECT_TRUE(json_is_string(found)) << path;
    return json_is_string(found) ? json_string_value(found) : "";
  }
  size_t size(const std::string &path) const { return json_array_size(at(path)); }
  // Operators that were left: how many of each.
  std::map<std::string, json_int_t> left() const {
    std::map<std::string, json_int_t> out;
    for (size_t i = 0; i < size("claims.left"); i++) {
      const std::string each = "claims.left." + std::to_string(i);
      out[string(each + ".operator")] += number(each + ".count");
    }
    return out;
  }

private:
  const json_t *at(const std::string &path) const {
    const json_t *found = root_;
    for (size_t from = 0; found != nullptr && from <= path.size();) {
      const size_t end = std::min(path.find('.', from), path.size());
      const std::string step = path.substr(from, end - from);
      found = json_is_array(found) ? json_array_get(found, std::stoul(step))
                                   : json_object_get(found, step.c_str());
      from = end + 1;
    }
    return found;
  }

  json_t *root_;
};

} // namespace ort
