// Name keys, run keys and those of hosts that lack a field, to show that the stress test notices.
// The linker puts this file between the cache's look-up and its callers (--wrap), so the product
// has no hook for it and its objects are unchanged.
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

using Lacks = std::vector<lk::Lack>;

lk::Lack fields_of(uint32_t record, const std::vector<std::string> &fields) {
  return {record, fields, false};
}
lk::Lack whole_attr(uint32_t word) {
  return {LK_RECORD_ATTR, {}, false, word, true};
}

const std::map<std::string, Lacks> all = {
    {"name", {fields_of(LK_RECORD_HEAD, {"out"})}},
    {"executor", {fields_of(LK_RECORD_HEAD, {"executor", "uuid_high", "uuid_low"})}},
    {"shape", {{LK_RECORD_TENSOR, {}, true}}},
    {"dtype", {fields_of(LK_RECORD_TENSOR, {"dtype"})}},
    {"layout", {fields_of(LK_RECORD_TENSOR, {"layout"})}},
    {"thread", {fields_of(LK_RECORD_CALL, {"thread", "thread_generation"})}},
    {"constants", {fields_of(LK_RECORD_CONTENT, {"id"})}},
    {"in_place", {fields_of(LK_RECORD_HEAD, {"in_place"})}},
    {"scope", {fields_of(LK_RECORD_HEAD, {"scope"})}},
    {"generation", {fields_of(LK_RECORD_HEAD, {"generation"})}},
    {"position", {fields_of(LK_RECORD_HEAD, {"position"})}},
    {"attr", {{LK_RECORD_ATTR, {}, true}}},
    {"value", {{LK_RECORD_VALUE, {}, true}}},
    {"post_op", {fields_of(LK_RECORD_POST_OP, {"kind", "input", "alpha", "beta"})}},
    {"wish", {whole_attr(LK_WORD_WISH)}},
    {"choice", {whole_attr(LK_WORD_CHOICE)}},
    // A context asks one engine, or none: who it was asked for is in the choice, too.
    {"engine", {{LK_RECORD_ENGINE, {}, false, 0, true}, whole_attr(LK_WORD_CHOICE)}},
};
const Lacks *broken = nullptr;

} // namespace

bool stress_break_keys(const char *field) {
  const auto found = all.find(field);
  broken = found != all.end() ? &found->second : nullptr;
  return broken != nullptr;
}

// Value keys stay whole: who is given a value for another work may write anywhere.
lk_status __wrap_lk_cache_get(lk_cache *cache, lk_quota *quota, const lk_key *key,
                              lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                              lk_error *error) {
  lk_key whole = *key;
  lk_key_complete(&whole);
  if (broken == nullptr || lk_key_get_head(&whole)->kind == LK_KIND_VALUE) {
    return __real_lk_cache_get(cache, quota, key, build, arg, out_ref, out_hit, error);
  }
  const lk::LackingKey first(whole, broken->front()), last(*first.get(), broken->back());
  return __real_lk_cache_get(cache, quota, last.get(), build, arg, out_ref, out_hit, error);
}
