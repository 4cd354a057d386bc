// Keys that lack a field, to show that the stress test notices. The linker puts this file between
// the cache's look-up and its callers (--wrap), so the product has no hook for it and its objects
// are unchanged. A value is built from the whole key, and found and kept by the key without the
// field, as if the field had been forgotten.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

extern "C" {
#include "keys/cache/cache.h"
#include "keys/key_fields.h"

lk_status __real_lk_cache_get(lk_cache *cache, lk_quota *quota, const lk_key *key,
                              lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                              lk_error *error);
lk_status __wrap_lk_cache_get(lk_cache *cache, lk_quota *quota, const lk_key *key,
                              lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                              lk_error *error);
bool stress_break_keys(const char *field);
}

namespace {

// Which fields of which records.
struct Broken {
  uint32_t record;
  std::vector<std::string> fields;
  bool payload; // and what follows the record: dimensions, values, data
};
const std::map<std::string, Broken> all = {
    {"name", {LK_RECORD_HEAD, {"out"}, false}},
    {"executor", {LK_RECORD_HEAD, {"executor", "uuid_high", "uuid_low"}, false}},
    {"shape", {LK_RECORD_TENSOR, {}, true}},
    {"thread", {LK_RECORD_CALL, {"thread", "thread_generation"}, false}},
    {"constants", {LK_RECORD_CONTENT, {"id"}, false}},
    {"in_place", {LK_RECORD_HEAD, {"in_place"}, false}},
    {"scope", {LK_RECORD_HEAD, {"scope"}, false}},
    {"generation", {LK_RECORD_HEAD, {"generation"}, false}},
    {"attr", {LK_RECORD_ATTR, {}, true}},
    {"value", {LK_RECORD_VALUE, {}, true}},
};
const Broken *broken = nullptr;

void clear(uint32_t type, uint8_t *record, uint8_t *end) {
  const lk_record_fields *fields = lk_record_fields_get(type);
  for (uint32_t i = 0; i < fields->count; i++) {
    for (const std::string &name : broken->fields) {
      if (name == fields->fields[i].name) lk_field_write(&fields->fields[i], record, 0);
    }
  }
  if (broken->payload)
    std::memset(record + fields->size, 0, static_cast<size_t>(end - record) - fields->size);
}

} // namespace

bool stress_break_keys(const char *field) {
  const auto found = all.find(field);
  broken = found != all.end() ? &found->second : nullptr;
  return broken != nullptr;
}

lk_status __wrap_lk_cache_get(lk_cache *cache, lk_quota *quota, const lk_key *key,
                              lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                              lk_error *error) {
  if (broken == nullptr) {
    return __real_lk_cache_get(cache, quota, key, build, arg, out_ref, out_hit, error);
  }
  lk_key lacking = *key;
  lk_key_complete(&lacking);
  std::vector<uint64_t> words(key->size / 8);
  auto *bytes = reinterpret_cast<uint8_t *>(words.data());
  std::memcpy(bytes, lacking.bytes, lacking.size);
  for (uint32_t at = 0; at < key->size;) {
    lk_record_prefix prefix;
    std::memcpy(&prefix, bytes + at, sizeof prefix);
    if (prefix.type == broken->record) {
      clear(prefix.type, bytes + at + sizeof prefix, bytes + at + prefix.size);
    }
    at += prefix.size;
  }
  const uint32_t fixed = lk_key_get_head(&lacking)->fixed;
  lacking.bytes = bytes;
  lacking.hash = XXH3_64bits(bytes, fixed);
  if (key->size > fixed) {
    lacking.hash = XXH3_64bits_withSeed(bytes + fixed, key->size - fixed, lacking.hash);
  }
  return __real_lk_cache_get(cache, quota, &lacking, build, arg, out_ref, out_hit, error);
}
