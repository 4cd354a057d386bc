// Tables of a benchmark: printed as they are made, or all of them as one JSON object at the end.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

class Tables {
public:
  explicit Tables(bool json) : json_(json) {}

  // Begins one. Each row has at most as many numbers as there are columns, which JSON calls by
  // their names.
  void begin(const char *title, const std::vector<const char *> &columns) {
    columns_ = columns;
    if (json_) {
      std::printf("%s\"%s\": {", n_tables_ > 0 ? "}, " : "{", title);
    } else {
      std::printf("%s%-42s", n_tables_ > 0 ? "\n" : "", title);
      for (const char *column : columns) std::printf(" %10s", column);
      std::printf(" %8s\n", "target");
    }
    n_tables_++;
    n_rows_ = 0;
  }
  // `target`: 0: there is none.
  void row(const char *name, const std::vector<double> &numbers, int digits, double target = 0,
           bool is_met = true) {
    if (json_) {
      print_json(name, numbers, target, is_met);
    } else {
      std::printf("%-42s", name);
      for (const double number : numbers) std::printf(" %10.*f", digits, number);
      if (target > 0) std::printf(" %8g %s", target, is_met ? "met" : "MISSED");
      std::printf("\n");
    }
    n_rows_++;
  }
  // A line for people alone.
  void note(const std::string &text) {
    if (!json_) std::printf("%s\n", text.c_str());
  }
  void end() {
    if (json_) std::printf("%s}\n", n_tables_ > 0 ? "}" : "{");
  }

private:
  void print_json(const char *name, const std::vector<double> &numbers, double target,
                  bool is_met) {
    std::printf("%s\"%s\": {", n_rows_ > 0 ? ", " : "", name);
    for (size_t i = 0; i < numbers.size(); i++) {
      std::printf("%s\"%s\": %.4f", i > 0 ? ", " : "", columns_[i], numbers[i]);
    }
    if (target > 0) std::printf(", \"target\": %g, \"met\": %s", target, is_met ? "true" : "false");
    std::printf("}");
  }

  bool json_;
  std::vector<const char *> columns_;
  size_t n_tables_ = 0, n_rows_ = 0;
};
