// Keys at random, from a seed: all record types, strings with special characters, extreme numbers.
#pragma once

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/harness/lk_test.h"

extern "C" {
#include "base/alloc.h"
#include "base/tensor.h"
#include "keys/key_build.h"
}

namespace lk {

inline void free_key(lk_key *key) {
  lk_key_destroy(lk_allocator_default(), key);
}
using OwnedKey = Owned<lk_key, free_key>;
using OwnedIntern = Owned<lk_intern, lk_intern_destroy>;

inline std::string key_bytes(const lk_key *key) {
  return {reinterpret_cast<const char *>(key->bytes), key->size};
}

inline std::string key_text(lk_intern *intern, const lk_key *key) {
  size_t length = 0;
  LK_EXPECT_OK(lk_key_print(intern, key, nullptr, 0, &length, LK_ERR));
  std::string text(length + 1, '?');
  LK_EXPECT_OK(lk_key_print(intern, key, text.data(), text.size(), &length, LK_ERR));
  EXPECT_EQ(text[length], '\0');
  text.resize(length);
  return text;
}

inline OwnedKey finish(lk_key_builder *builder) {
  lk_key key;
  OwnedKey copy;
  LK_EXPECT_OK(lk_key_finish(builder, &key, LK_ERR));
  LK_EXPECT_OK(lk_key_copy(lk_allocator_default(), &key, copy.out(), LK_ERR));
  lk_key_builder_destroy(builder);
  return copy;
}

class RandomKeys {
public:
  RandomKeys(lk_intern *intern, uint64_t seed) : intern_(intern), random_(seed) {}

  uint64_t below(uint64_t n) { return random_() % n; }

  std::string string() {
    static const char *const specials[] = {";",  "=", ",",  ":", "%",   "[",    "]",    "\n",
                                           "\t", "x", "\"", "/", "é",   "\x7f", "\xff", "%41",
                                           "0",  " ", ".",  "-", "f32", "\x01"};
    std::string text;
    for (uint64_t n = below(6); n > 0; n--) {
      text += below(2) ? std::string(1, static_cast<char>('a' + below(26)))
                       : specials[below(std::size(specials))];
    }
    return text;
  }

  uint32_t word() {
    if (below(3) == 0) return static_cast<uint32_t>(below(LK_N_WORDS));
    const std::string text = string();
    uint32_t id = 0;
    LK_EXPECT_OK(lk_intern_get(intern_, text.data(), text.size(), &id, LK_ERR));
    return id;
  }

  uint64_t number() {
    switch (below(5)) {
    case 0:
      return 0;
    case 1:
      return below(10);
    case 2:
      return below(100000);
    case 3:
      return std::numeric_limits<uint64_t>::max() - below(3);
    default:
      return random_();
    }
  }

  int64_t dim() { return below(4) == 0 ? static_cast<int64_t>(number()) : below(300); }

  uint32_t dtype() {
    static const uint32_t dtypes[] = {
#define LK_TEST_DTYPE(symbol, value, bytes, name) symbol,
        LK_DTYPE_LIST(LK_TEST_DTYPE)
#undef LK_TEST_DTYPE
    };
    return dtypes[below(std::size(dtypes))];
  }

  uint32_t float_bits() {
    static const float plain[] = {0.f, -0.f, 1.f, 0.5f, 6.f, 1.f / 6, 1e-5f, 0.1f, -3.25f, 1e30f};
    const float value = plain[below(std::size(plain))];
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return below(3) == 0 ? static_cast<uint32_t>(random_()) : bits;
  }

  lk_key_head head() {
    lk_key_head head = {};
    head.kind = static_cast<uint32_t>(below(LK_KIND_COUNT + 1));
    head.op = word();
    head.scope = word();
    head.out = word();
    head.in_place = word();
    head.position = static_cast<uint32_t>(number());
    head.precision = below(4) == 0 ? static_cast<uint32_t>(number()) : dtype();
    head.generation = number();
    head.executor = number();
    head.uuid_high = number();
    head.uuid_low = number();
    return head;
  }

  void add(lk_key_builder *builder) {
    switch (below(11)) {
    case 0: {
      const lk_key_call call = {static_cast<int64_t>(number()), number(), number()};
      lk_key_add_call(builder, &call);
      break;
    }
    case 1: {
      lk_tensor_desc desc = {};
      desc.dtype = below(8) == 0 ? static_cast<uint32_t>(number()) : dtype();
      desc.rank = static_cast<uint32_t>(below(LK_MAX_RANK + 1));
      desc.layout = static_cast<uint32_t>(number());
      for (uint32_t i = 0; i < desc.rank; i++) desc.dims[i] = dim();
      lk_key_add_tensor(builder, word(), small(), &desc);
      break;
    }
    case 2: {
      std::vector<int64_t> values(below(6));
      for (int64_t &value : values) value = static_cast<int64_t>(number());
      lk_key_add_attr(builder, word(), values.data(), static_cast<uint32_t>(values.size()));
      break;
    }
    case 3: {
      const lk_key_post_op post_op = {static_cast<uint32_t>(below(14)),
                                      static_cast<int32_t>(number()), float_bits(), float_bits()};
      lk_key_add_post_op(builder, &post_op);
      break;
    }
    case 4:
      lk_key_add_content(builder, word(), small(), number());
      break;
    case 5: {
      const lk_key_engine engine = {word(), word(), small(), small()};
      lk_key_add_engine(builder, &engine);
      break;
    }
    case 6:
      lk_key_add_float(builder, word(), float_bits());
      break;
    case 7: {
      std::vector<uint32_t> bits(below(6));
      for (uint32_t &each : bits) each = float_bits();
      std::vector<float> values(bits.size());
      memcpy(values.data(), bits.data(), bits.size() * sizeof(float));
      lk_key_add_floats(builder, word(), values.data(), static_cast<uint32_t>(values.size()));
      break;
    }
    case 8: {
      const std::string text = string() + std::string(below(3), '\0') + string();
      lk_key_add_text(builder, word(), text.data(), static_cast<uint32_t>(text.size()));
      break;
    }
    case 9: {
      std::vector<uint8_t> bytes(below(20));
      for (uint8_t &byte : bytes) byte = static_cast<uint8_t>(below(256));
      lk_key_add_bytes(builder, word(), bytes.data(), static_cast<uint32_t>(bytes.size()));
      break;
    }
    default: {
      lk_tensor tensor = {};
      tensor.desc.dtype = dtype();
      tensor.desc.rank = static_cast<uint32_t>(below(3));
      for (uint32_t i = 0; i < tensor.desc.rank; i++) tensor.desc.dims[i] = below(5);
      int64_t bytes = 0;
      LK_EXPECT_OK(lk_tensor_size(&tensor.desc, "value", nullptr, &bytes, LK_ERR));
      std::vector<uint8_t> data(static_cast<size_t>(bytes));
      for (uint8_t &byte : data) byte = static_cast<uint8_t>(below(256));
      tensor.data = data.data();
      lk_key_add_value(builder, word(), small(), &tensor);
    }
    }
  }

  OwnedKey make() {
    lk_key_builder builder;
    const lk_key_head h = head();
    lk_key_begin(&builder, lk_allocator_default(), &h);
    for (uint64_t n = below(6); n > 0; n--) add(&builder);
    if (below(3) > 0) lk_key_seal(&builder);
    for (uint64_t n = below(5); n > 0; n--) add(&builder);
    return finish(&builder);
  }

private:
  uint32_t small() {
    return static_cast<uint32_t>(below(4));
  }

  lk_intern *intern_;
  std::mt19937_64 random_;
};

} // namespace lk
