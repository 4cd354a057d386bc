/* Keys of the host's own, and the values that it keeps by them. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/names.h"
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "base/tensor.h"
#include "keys/cache/drop.h"
#include "keys/key_build.h"
#include "plugin/internal.h"
#include "plugin/table.h"

static lk_status check_data(const char *what, uint32_t index, const void *data, uint64_t count,
                            lk_error *error) {
  if (data != NULL || count == 0) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to make a key: %s %" PRIu32 " has %" PRIu64
                 " elements and its data is NULL, give both",
                 what, index, count);
}

static lk_status check_lists(const lk_key_desc *desc, lk_error *error) {
  if ((desc->tensors != NULL || desc->n_tensors == 0) &&
      (desc->attrs != NULL || desc->n_attrs == 0) &&
      (desc->values != NULL || desc->n_values == 0)) {
    return LK_OK;
  }
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to make a key: tensors, attrs or values is NULL, but its count is not 0");
}

static lk_status add_attr(const lk_key_attr *attr, uint32_t index, uint32_t name,
                          lk_key_builder *key, lk_error *error) {
  switch (attr->type) {
  case LK_KEY_ATTR_INTS:
    lk_key_add_attr(key, name, attr->values, attr->count);
    return LK_OK;
  case LK_KEY_ATTR_FLOATS:
    lk_key_add_floats(key, name, attr->values, attr->count);
    return LK_OK;
  case LK_KEY_ATTR_BYTES:
    lk_key_add_bytes(key, name, attr->values, attr->count);
    return LK_OK;
  case LK_KEY_ATTR_STRING:
    lk_key_add_text(key, name, attr->values, attr->count);
    return LK_OK;
  default:
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to make a key: attribute %" PRIu32 " '%s' is of type %" PRIu32
                   ", give one of LK_KEY_ATTR_INTS (0) to LK_KEY_ATTR_STRING (3)",
                   index, attr->name != NULL ? attr->name : "", attr->type);
  }
}

/* Not inline: few keys have attributes, and a look-up of one without is not to pay for them. */
__attribute__((noinline)) static lk_status add_attrs(lk_words *words, const lk_key_desc *desc,
                                                     lk_key_builder *key, lk_error *error) {
  for (uint32_t i = 0; i < desc->n_attrs; i++) {
    const lk_key_attr *attr = &desc->attrs[i];
    uint32_t name = 0;
    LK_RETURN_NOT_OK(check_data("attribute", i, attr->values, attr->count, error));
    LK_RETURN_NOT_OK(lk_word_get(words, attr->name, &name, error));
    LK_RETURN_NOT_OK(add_attr(attr, i, name, key, error));
  }
  return LK_OK;
}

static lk_status add_records(lk_words *words, const lk_key_desc *desc, lk_key_builder *key,
                             lk_error *error) {
  LK_RETURN_NOT_OK(check_lists(desc, error));
  for (uint32_t i = 0; i < desc->n_tensors; i++) {
    LK_RETURN_NOT_OK(lk_tensor_size(&desc->tensors[i], "a key's tensor", NULL, NULL, error));
    lk_key_add_tensor(key, LK_WORD_INPUT, i, &desc->tensors[i]);
  }
  if (desc->n_attrs > 0) LK_RETURN_NOT_OK(add_attrs(words, desc, key, error));
  for (uint32_t i = 0; i < desc->n_values; i++) {
    const lk_tensor *value = &desc->values[i];
    int64_t elements = 0;
    LK_RETURN_NOT_OK(lk_tensor_size(&value->desc, "a key's value", &elements, NULL, error));
    LK_RETURN_NOT_OK(check_data("value", i, value->data, (uint64_t)elements, error));
    lk_key_add_value(key, LK_WORD_VALUE, i, value);
  }
  return LK_OK;
}

/* What changes from call to call. */
static lk_status add_call(const lk_context *context, lk_words *words, const lk_key_desc *desc,
                          lk_key_builder *key, lk_error *error) {
  if ((desc->flags & ~(uint32_t)LK_KEY_OF_THREAD) != 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to make a key: flags are 0x%" PRIx32
                   ", of which LK_KEY_OF_THREAD (0x1) alone exists",
                   desc->flags);
  }
  const lk_key_call call = lk_call_make(context, -1, (desc->flags & LK_KEY_OF_THREAD) != 0);
  lk_key_add_call(key, &call);
  return add_records(words, desc, key, error);
}

static lk_status make_head(const lk_executor *executor, const lk_key_desc *desc, lk_words *words,
                           lk_key_head *out, lk_error *error) {
  *out = (lk_key_head){.kind = desc->kind == LK_KEY_RUN ? LK_KIND_RUN : LK_KIND_USER,
                       .generation = desc->generation};
  if (executor != NULL) {
    out->executor = executor->identity.address;
    out->uuid_high = executor->identity.uuid_high;
    out->uuid_low = executor->identity.uuid_low;
  }
  LK_RETURN_NOT_OK(lk_word_get(words, desc->scope, &out->scope, error));
  LK_RETURN_NOT_OK(lk_word_get(words, desc->name, &out->out, error));
  return lk_word_get(words, desc->tag, &out->in_place, error);
}

lk_status lk_user_key_create(lk_context *context, lk_executor *executor, const lk_key_desc *given,
                             lk_key **out_key, lk_error *error) {
  LK_REQUIRE_AS("key_create", "context, desc, out_key", error, context, given, out_key);
  *out_key = NULL;
  lk_status status = LK_OK;
  lk_key_desc desc = {0};
  lk_key_head head = {0};
  lk_key_builder builder;
  lk_words words;
  lk_key key;
  LK_RETURN_NOT_OK(lk_executor_check(context, executor, "make a key", error));
  LK_RETURN_NOT_OK(lk_struct_read(&desc, sizeof desc, given, "a key description", error));
  if (desc.name == NULL || desc.kind > LK_KEY_RUN) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to make a key: kind is %u and name %s; 0 or 1, and a name is required",
                   desc.kind, desc.name != NULL ? "given" : "NULL");
  }
  lk_words_begin(&words, context->env.intern);
  const lk_status named = make_head(executor, &desc, &words, &head, error);
  lk_key_begin(&builder, &context->allocator, &head);
  LK_TRY(named);
  lk_key_seal(&builder);
  LK_TRY(add_call(context, &words, &desc, &builder, error));
  LK_TRY(lk_key_finish(&builder, &key, error));
  LK_TRY(lk_key_keep(&context->allocator, words.intern, &key, out_key, error));
  (*out_key)->names = lk_intern_serial(words.intern);
cleanup:
  lk_key_builder_destroy(&builder);
  lk_words_end(&words);
  return status;
}

/* Of a key of the library's own, and of a host's: whether the numbers of names in it are this
 * context's. */
static bool is_of_context(const lk_context *context, const lk_key *key) {
  return key->names == lk_intern_serial(context->env.intern) ||
         (key->names == 0 && key->uses == context->env.intern);
}

/* The sentence alone, out of the way of a hit. `allowed`: which keys are. */
__attribute__((noinline)) static lk_status refuse_asked(const lk_context *context,
                                                        const lk_key *key, const char *verb,
                                                        const char *allowed, lk_error *error) {
  const char *kind = lk_kind_name(lk_key_get_head(key)->kind);
  const bool is_here = is_of_context(context, key);
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to %s: its key is %s%s; one of this context is required, %s", verb,
                 is_here ? "of kind " : "of another context",
                 !is_here       ? ""
                 : kind != NULL ? kind
                                : "unknown",
                 allowed);
}

/* Whether a host may have what is found for `key`: it is its own, and the numbers of names in the
 * key are this context's. `verb`: what it wants to do. */
static inline lk_status check_asked(const lk_context *context, const lk_executor *executor,
                                    const lk_key *key, const char *verb, lk_error *error) {
  LK_RETURN_NOT_OK(lk_executor_check(context, executor, verb, error));
  if (key->names == lk_intern_serial(context->env.intern)) return LK_OK;
  return refuse_asked(context, key, verb, "of key_create, or of kind user", error);
}

/* What an engine has built may be found, too: nothing but a reference comes of it, and who has that
 * needs no type. A plan may not: an lk_plan is such a reference, with rules of its own. */
static lk_status check_found(const lk_context *context, const lk_executor *executor,
                             const lk_key *key, lk_error *error) {
  const char *verb = "find a value";
  LK_RETURN_NOT_OK(lk_executor_check(context, executor, verb, error));
  if (key->names == lk_intern_serial(context->env.intern)) return LK_OK;
  if (lk_key_get_head(key)->kind == LK_KIND_VALUE && is_of_context(context, key)) return LK_OK;
  return refuse_asked(context, key, verb, "of key_create, or of kind user or value", error);
}

/* Everything may be dropped: to who uses it, it is as if it were evicted. */
static lk_status check_dropped(const lk_context *context, const lk_executor *executor,
                               const lk_key *key, lk_error *error) {
  const char *verb = "drop a value";
  LK_RETURN_NOT_OK(lk_executor_check(context, executor, verb, error));
  if (is_of_context(context, key)) return LK_OK;
  return refuse_asked(context, key, verb, "of key_create or key_parse", error);
}

static lk_quota *quota_of(const lk_executor *executor) {
  return executor != NULL ? executor->quota : NULL;
}

lk_status lk_user_get_or_create(lk_context *context, lk_executor *executor, const lk_key *key,
                                lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                                lk_error *error) {
  LK_REQUIRE("get_or_create", error, context, key, build, out_ref);
  *out_ref = NULL;
  LK_RETURN_NOT_OK(check_asked(context, executor, key, "get a value", error));
  return lk_cache_get(context->env.cache, quota_of(executor), key, build, arg, out_ref, out_hit,
                      error);
}

lk_status lk_user_get_or_create_text(lk_context *context, lk_executor *executor, const char *text,
                                     lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                                     lk_error *error) {
  LK_REQUIRE("get_or_create_text", error, context, text, build, out_ref);
  *out_ref = NULL;
  lk_key *key = NULL;
  LK_RETURN_NOT_OK(lk_key_parse(context->env.intern, &context->allocator, text, &key, error));
  const lk_status status =
      lk_user_get_or_create(context, executor, key, build, arg, out_ref, out_hit, error);
  lk_key_destroy(&context->allocator, key);
  return status;
}

lk_status lk_user_find(lk_context *context, lk_executor *executor, const lk_key *key,
                       lk_ref **out_ref, lk_error *error) {
  LK_REQUIRE("cache_find", error, context, key, out_ref);
  *out_ref = NULL;
  LK_RETURN_NOT_OK(check_found(context, executor, key, error));
  return lk_cache_find(context->env.cache, quota_of(executor), key, out_ref, error);
}

lk_status lk_user_drop(lk_context *context, lk_executor *executor, const lk_key *key,
                       uint64_t *out_dropped, lk_error *error) {
  LK_REQUIRE("cache_drop", error, context, key);
  if (out_dropped != NULL) *out_dropped = 0;
  LK_RETURN_NOT_OK(check_dropped(context, executor, key, error));
  const uint64_t dropped = lk_cache_drop(context->env.cache, quota_of(executor), key);
  if (out_dropped != NULL) *out_dropped = dropped;
  return LK_OK;
}

lk_status lk_user_get_or_create_like(lk_context *context, lk_executor *executor, const lk_key *like,
                                     const lk_key_desc *given, lk_build_fn build, void *arg,
                                     lk_ref **out_ref, int *out_hit, lk_error *error) {
  LK_REQUIRE_AS("get_or_create_like", "context, like, desc, build, out_ref", error, context, like,
                given, build, out_ref);
  *out_ref = NULL;
  lk_status status = LK_OK;
  lk_key_desc copy;
  const lk_key_desc *desc = given;
  lk_key_builder builder;
  lk_words words;
  lk_key key;
  LK_RETURN_NOT_OK(check_asked(context, executor, like, "get a value", error));
  /* hosts of today's header need no copy: this is asked for every run of a graph */
  if (given == NULL || given->struct_size != sizeof copy) {
    memset(&copy, 0, sizeof copy);
    LK_RETURN_NOT_OK(lk_struct_read(&copy, sizeof copy, given, "a key description", error));
    desc = &copy;
  }
  lk_words_begin(&words, context->env.intern);
  lk_key_begin_like(&builder, &context->allocator, like);
  LK_TRY(add_call(context, &words, desc, &builder, error));
  LK_TRY(lk_key_finish_partial(&builder, &key, error));
  status = lk_cache_get(context->env.cache, quota_of(executor), &key, build, arg, out_ref, out_hit,
                        error);
cleanup:
  lk_key_builder_destroy(&builder);
  lk_words_end(&words);
  return status;
}

lk_status lk_user_key_parse(lk_context *context, const char *text, lk_key **out_key,
                            lk_error *error) {
  LK_REQUIRE("key_parse", error, context, text, out_key);
  return lk_key_parse(context->env.intern, &context->allocator, text, out_key, error);
}

lk_status lk_user_key_print(lk_context *context, const lk_key *key, char *buffer, size_t capacity,
                            size_t *out_length, lk_error *error) {
  LK_REQUIRE("key_print", error, context, key);
  if (key->names != 0 && key->names != lk_intern_serial(context->env.intern)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to print a key: it is one of another context, which has its names");
  }
  return lk_key_print(context->env.intern, key, buffer, capacity, out_length, error);
}
