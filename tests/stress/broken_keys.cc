// Keys that lack a field, to show that the stress test notices. The linker puts this file between
// the cache's look-up and its callers (--wrap), so the product has no hook for it and its objects
// are unchanged.
#include <map>

#include "tests/keys/lacking_key.h"

extern "C" {
#include "keys/cache/cache.h"

lk_status __real_lk_cache_get(lk_cache *cache, lk_quota *quota, const lk_key *key,
                              lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                              lk_error *error);
lk_status __wrap_lk_cache_get(lk_cache *cache, lk_quota *quota, const lk_key *key,
                              lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                              lk_error *error);
bool stress_break_keys(const char *field);
}

namespace {

const std::map<std::string, lk::Lack> all = {
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
const lk::Lack *broken = nullptr;

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
  const lk::LackingKey lacking(*key, *broken);
  return __real_lk_cache_get(cache, quota, lacking.get(), build, arg, out_ref, out_hit, error);
}
