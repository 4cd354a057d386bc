// Keys that lack something, as if it had been forgotten when they were made, to show that tests
// notice. A value is built from the whole key, and found and kept by the one that lacks something.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

extern "C" {
#include "keys/key_fields.h"
}

namespace lk {

// What is forgotten of records of one type.
struct Lack {
  uint32_t record;
  std::vector<std::string> fields;
  bool payload;       // and what follows the record: dimensions, values, data
  uint32_t label = 0; // of these alone: their name or role; 0: of all
  bool whole = false; // all of it, so that nothing says that it was there
};

class LackingKey {
public:
  LackingKey(const lk_key &key, const Lack &lack) : key_(key) {
    lk_key_complete(&key_);
    words_.resize(key_.size / 8);
    std::memcpy(words_.data(), key_.bytes, key_.size);
    auto *bytes = reinterpret_cast<uint8_t *>(words_.data());
    const uint32_t fixed = lk_key_get_head(&key_)->fixed;
    for (uint32_t at = 0; at < key_.size;) {
      lk_record_prefix prefix;
      std::memcpy(&prefix, bytes + at, sizeof prefix);
      uint8_t *record = bytes + at + sizeof prefix, *end = bytes + at + prefix.size;
      at += prefix.size;
      if (prefix.type != lack.record || !has_label(lack, record)) continue;
      if (lack.whole && at > fixed) {
        std::memmove(record - sizeof prefix, end, key_.size - at);
        at -= prefix.size;
        key_.size -= prefix.size;
      } else {
        clear(lack, record, end);
      }
    }
    key_.bytes = bytes;
    key_.hash = XXH3_64bits(bytes, fixed);
    if (key_.size > fixed) {
      key_.hash = XXH3_64bits_withSeed(bytes + fixed, key_.size - fixed, key_.hash);
    }
  }
  LackingKey(const LackingKey &) = delete;
  const lk_key *get() const { return &key_; }

private:
  static bool has_label(const Lack &lack, const uint8_t *record) {
    const lk_field *first = &lk_record_fields_get(lack.record)->fields[0];
    return lack.label == 0 || lk_field_read(first, record) == lack.label;
  }
  static void clear(const Lack &lack, uint8_t *record, const uint8_t *end) {
    const lk_record_fields *fields = lk_record_fields_get(lack.record);
    for (uint32_t i = 0; i < fields->count; i++) {
      for (const std::string &name : lack.fields) {
        if (name == fields->fields[i].name) lk_field_write(&fields->fields[i], record, 0);
      }
    }
    if (lack.payload) {
      std::memset(record + fields->size, 0, static_cast<size_t>(end - record) - fields->size);
    }
  }
  lk_key key_;
  std::vector<uint64_t> words_;
};

} // namespace lk
