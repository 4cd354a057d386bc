// Pads against plain loops over every place: modes, sizes of elements, merged dimensions, crops,
// rows of one run and of many, and any number of threads. tests/rows compares the operators with
// numpy.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/team/team.h"
#include "ops/kernel/move/pad.h"
}

namespace {

using Random = std::mt19937_64;

int64_t pick(Random &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

struct Case {
  lk_pad pad = {};
  std::vector<char> from;
};

// A place of the output along a dimension as one of the input; -1: outside. By steps of one.
int64_t source_of(const lk_pad &pad, uint32_t dim, int64_t place) {
  const int64_t in = pad.in[dim];
  int64_t at = place - pad.begin[dim];
  if (at >= 0 && at < in) return pad.crop[dim] + at;
  switch (pad.mode) {
  case LK_PAD_CONSTANT:
    return -1;
  case LK_PAD_EDGE:
    at = at < 0 ? 0 : in - 1;
    break;
  case LK_PAD_WRAP:
    while (at < 0) at += in;
    while (at >= in) at -= in;
    break;
  default:
    while (in > 1 && (at < 0 || at >= in)) at = at < 0 ? -at : 2 * (in - 1) - at;
    if (in == 1) at = 0;
    break;
  }
  return pad.crop[dim] + at;
}

std::vector<char> expected_of(const Case &made) {
  const lk_pad &pad = made.pad;
  int64_t count = 1;
  for (uint32_t i = 0; i < pad.rank; i++) count *= pad.out[i];
  std::vector<char> to;
  for (int64_t index = 0; index < count; index++) {
    int64_t places[LK_MAX_RANK], from = 0, rest = index;
    bool is_outside = false;
    for (uint32_t i = pad.rank; i-- > 0; rest /= pad.out[i]) places[i] = rest % pad.out[i];
    for (uint32_t i = 0; i < pad.rank; i++) {
      const int64_t source = source_of(pad, i, places[i]);
      is_outside |= source < 0;
      from = from * pad.dims[i] + source;
    }
    const char *at = is_outside ? reinterpret_cast<const char *>(pad.value)
                                : made.from.data() + from * int64_t(pad.element);
    to.insert(to.end(), at, at + pad.element);
  }
  return to;
}

Case random_case(Random &random) {
  Case made;
  lk_pad &pad = made.pad;
  const bool is_high = pick(random, 0, 2) == 0; // many short rows
  pad.mode = uint32_t(pick(random, LK_PAD_CONSTANT, LK_PAD_WRAP));
  pad.rank = uint32_t(pick(random, 1, 4));
  pad.element = size_t(1) << pick(random, 0, 3);
  for (uint8_t &byte : pad.value) byte = uint8_t(random());
  size_t bytes = pad.element;
  for (uint32_t i = 0; i < pad.rank; i++) {
    const bool is_last = i + 1 == pad.rank;
    pad.dims[i] = pick(random, 1, is_last ? (is_high ? 12 : 150) : (is_high ? 40 : 7));
    pad.in[i] = pick(random, 0, 2) == 0 ? pick(random, 1, pad.dims[i]) : pad.dims[i];
    pad.crop[i] = pick(random, 0, pad.dims[i] - pad.in[i]);
    const int64_t most = pick(random, 0, 9) == 0 ? 4 * pad.dims[i] + 40 : 5;
    const bool stays = pick(random, 0, 2) == 0;
    pad.begin[i] = stays ? 0 : pick(random, 0, most);
    pad.out[i] = pad.begin[i] + pad.in[i] + (stays ? 0 : pick(random, 0, most));
    bytes *= size_t(pad.dims[i]);
  }
  made.from.resize(bytes);
  for (char &byte : made.from) byte = char(random());
  return made;
}

TEST(PadKernel, EveryPlaceShowsItsSource) {
  Random random(1);
  for (int i = 0; i < lk::repeats(600); i++) {
    const Case made = random_case(random);
    int64_t count = 1;
    for (uint32_t d = 0; d < made.pad.rank; d++) count *= made.pad.out[d];
    if (count > 200000) continue;
    const std::vector<char> expected = expected_of(made);
    for (const bool has_value : {false, true}) {
      lk_pad pad = made.pad;
      pad.has_value = has_value;
      if (has_value) std::memset(pad.value, 0, sizeof pad.value);
      lk_pad_plan(&pad);
      std::vector<char> to(expected.size() + 64, 'x');
      uint8_t value[8];
      std::memcpy(value, made.pad.value, sizeof value);
      void *const pointers[] = {const_cast<char *>(made.from.data()), to.data(), value};
      const int before = lk_team_begin(1 + i % 3);
      LK_ASSERT_OK(lk_pad_kernel(&pad, pointers, LK_ERR));
      lk_team_end(before);
      ASSERT_EQ(std::string(to.end() - 64, to.end()), std::string(64, 'x')) << i;
      to.resize(expected.size());
      ASSERT_EQ(to, expected) << i << ", mode " << made.pad.mode << ", rank " << made.pad.rank;
    }
  }
}

} // namespace
