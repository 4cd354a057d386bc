/* Options of the provider for ONNX Runtime, of a session that begins or of one that lives: what the
 * documents allow is taken as it is, and all else is refused by a sentence with option and rule.
 *
 * The first byte says which of the two; then each line is a key, '=' and a value. A '.' at the
 * beginning of a key stands for the provider's prefix. */
#include <latchkey/latchkey.h>
#include <string.h>

#include "base/text.h"
#include "executor_glue/ort/dynamic.h"
#include "executor_glue/ort/options.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_OPTIONS = 64 };

typedef struct given {
  const char *keys[MOST_OPTIONS], *values[MOST_OPTIONS];
  char *made[MOST_OPTIONS]; /* keys that had a '.' */
  size_t count;
} given;

/* ---- what docs/onnxruntime.md says ---- */

typedef enum form { WORDS, AMOUNT, BYTES, BYTES_FROM_1, THREADS, NAMES, ANYTHING } form;
typedef enum when { AT_START = 1, ANY_TIME = 2 } when;

typedef struct rule {
  const char *name;
  form is;
  const char *words; /* of WORDS, with a space around each */
  uint32_t when;
} rule;

static const rule rules[] = {
    {"cache", WORDS, " shared thread off ", AT_START},
    {"cache_entries", AMOUNT, "", AT_START | ANY_TIME},
    {"cache_bytes", BYTES, "", AT_START | ANY_TIME},
    {"weights_bytes", BYTES, "", AT_START | ANY_TIME},
    {"memory_bytes", BYTES_FROM_1, "", AT_START | ANY_TIME},
    {"threads", THREADS, "", AT_START},
    {"precision", WORDS, " f32 ", AT_START},
    {"claim", WORDS, " gains all ", AT_START},
    {"disabled_passes", NAMES, "", AT_START},
    {"log_level", WORDS, " off warning info debug ", AT_START},
    {"run_statistics", WORDS, " on off ", AT_START},
    {"statistics_file", ANYTHING, "", AT_START},
    {"trace_file", ANYTHING, "", AT_START},
    {"cache_action", WORDS, " clear trim ", ANY_TIME},
};

static const rule *rule_of(const char *name, when at) {
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (strcmp(rules[i].name, name) == 0 && (rules[i].when & at) != 0) return &rules[i];
  }
  return NULL;
}

static bool is_word(const char *value, const char *words) {
  const size_t length = strlen(value);
  if (length == 0 || strchr(value, ' ') != NULL) return false;
  for (const char *at = strstr(words, value); at != NULL; at = strstr(at + 1, value)) {
    if (at > words && at[-1] == ' ' && at[length] == ' ') return true;
  }
  return false;
}

/* Digits, and one letter where units are allowed. The three largest numbers are none. */
static bool is_amount(const char *value, bool units, uint64_t *out) {
  const size_t digits = strspn(value, "0123456789");
  const char *unit = value + digits;
  unsigned __int128 number = 0;
  if (digits == 0 || strlen(unit) > (units ? 1 : 0)) return false;
  if (*unit != '\0' && strchr("kmgKMG", *unit) == NULL) return false;
  for (size_t i = 0; i < digits; i++) {
    number = number * 10 + (unsigned)(value[i] - '0');
    if (number >= LK_NONE) return false;
  }
  for (const char *at = "kmg"; *unit != '\0' && at[0] != '\0'; at++) {
    number *= 1024;
    if (at[0] == (*unit | 0x20)) break;
  }
  *out = (uint64_t)number;
  return number < LK_NONE;
}

static uint32_t count_names(const char *value) {
  uint32_t count = 0;
  for (size_t length; *value != '\0'; value += length) {
    value += strspn(value, ", ");
    length = strcspn(value, ", ");
    count += length > 0;
  }
  return count;
}

static bool is_allowed(const rule *of, const char *value, uint64_t *number) {
  *number = 0;
  if (of->is == WORDS) return is_word(value, of->words);
  if (of->is == AMOUNT) return is_amount(value, false, number);
  if (of->is == BYTES) return is_amount(value, true, number);
  if (of->is == BYTES_FROM_1) return is_amount(value, true, number) && *number > 0;
  if (of->is == THREADS) {
    return is_amount(value, false, number) && *number > 0 && *number <= 1024;
  }
  if (of->is == NAMES) return count_names(value) <= LK_ORT_MAX_DISABLED_PASSES;
  return true;
}

static const char *name_of(const char *key) {
  const size_t length = strlen(LK_ORT_OPTION_PREFIX);
  return strncmp(key, LK_ORT_OPTION_PREFIX, length) == 0 ? key + length : NULL;
}

/* What comes of all of them. Returns the first that is refused; `count`: none is. */
static size_t expect(const given *of, when at, lk_status *status) {
  for (size_t i = 0; i < of->count; i++) {
    uint64_t number = 0;
    const char *name = name_of(of->keys[i]);
    const rule *known = name != NULL ? rule_of(name, at) : NULL;
    if (name == NULL || (known != NULL && is_allowed(known, of->values[i], &number))) continue;
    *status = known == NULL ? LK_INVALID_ARGUMENT : LK_OUT_OF_RANGE;
    return i;
  }
  *status = LK_OK;
  return of->count;
}

/* The last value that is given; NULL: none is. */
static const char *last_value(const given *of, const char *name) {
  for (size_t i = of->count; i > 0; i--) {
    const char *one = name_of(of->keys[i - 1]);
    if (one != NULL && strcmp(one, name) == 0) return of->values[i - 1];
  }
  return NULL;
}

static uint64_t number_given(const given *of, const char *name, uint64_t without) {
  uint64_t number = without;
  const char *value = last_value(of, name);
  if (value != NULL) FUZZ_CHECK(is_amount(value, true, &number));
  return number;
}

/* Of what 0 keeps nothing of. */
static uint64_t amount_given(const given *of, const char *name) {
  const uint64_t number = number_given(of, name, LK_UNSET);
  return number != 0 ? number : LK_NONE;
}

static bool is_given(const given *of, const char *name, const char *word) {
  const char *value = last_value(of, name);
  return value != NULL && strcmp(value, word) == 0;
}

/* ---- what came of them ---- */

/* The sentence is whole, names the option, and says what is allowed. */
static void check_refusal(const given *of, size_t refused, when at, const lk_error *error) {
  const char *name = name_of(of->keys[refused]);
  const size_t length = strlen(error->message);
  char begin[16], escaped[LK_TEXT_ESCAPED_BYTES(sizeof begin)];
  FUZZ_CHECK(length > 0 && length < LK_ERROR_CAPACITY - 1);
  fuzz_check_sentence(error);
  const rule *known = rule_of(name, at);
  if (known == NULL) {
    (void)snprintf(begin, sizeof begin, "%.8s", name);
    if (strspn(begin, "abcdefghijklmnopqrstuvwxyz_") == strlen(begin)) {
      (void)lk_text_escape(begin, escaped, sizeof escaped);
      FUZZ_CHECK(strstr(error->message, escaped) != NULL);
    }
    FUZZ_CHECK(strstr(error->message, "it is not one of ") != NULL);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
      if ((rules[i].when & at) != 0) FUZZ_CHECK(strstr(error->message, rules[i].name) != NULL);
    }
    return;
  }
  FUZZ_CHECK(strstr(error->message, known->name) != NULL);
  static const char *const says[] = {[AMOUNT] = "a number of entries",
                                     [BYTES] = "a number of bytes",
                                     [BYTES_FROM_1] = "a number of bytes from 1 on",
                                     [THREADS] = "1 to 1024",
                                     [NAMES] = "at most 32 names"};
  if (known->is != WORDS) FUZZ_CHECK(strstr(error->message, says[known->is]) != NULL);
  for (const char *word = known->words; known->is == WORDS && word[1] != '\0';) {
    char one[16];
    const size_t size = strcspn(word + 1, " ");
    (void)snprintf(one, sizeof one, "%.*s", (int)size, word + 1);
    FUZZ_CHECK(strstr(error->message, one) != NULL);
    word += size + 1;
  }
}

static void check_file(const given *of, const char *name, const char *found) {
  const char *file = last_value(of, name);
  FUZZ_CHECK((file != NULL) == (found != NULL));
  if (file != NULL) FUZZ_CHECK(strcmp(file, found) == 0);
}

static void check_start(const given *of, const lk_ort_options *out) {
  const lk_context_options *context = &out->context;
  FUZZ_CHECK(context->cache_entries == amount_given(of, "cache_entries"));
  FUZZ_CHECK(context->cache_bytes == amount_given(of, "cache_bytes"));
  FUZZ_CHECK(context->weights_bytes == amount_given(of, "weights_bytes"));
  FUZZ_CHECK(context->memory_bytes == number_given(of, "memory_bytes", LK_UNSET));
  FUZZ_CHECK((uint64_t)context->threads == number_given(of, "threads", 0));
  FUZZ_CHECK((context->cache_mode == LK_CACHE_OFF) == is_given(of, "cache", "off"));
  FUZZ_CHECK((context->cache_mode == LK_CACHE_THREAD) == is_given(of, "cache", "thread"));
  FUZZ_CHECK((context->cache_mode == LK_CACHE_SHARED) == is_given(of, "cache", "shared"));
  FUZZ_CHECK((context->verbose == LK_LOG_OFF) == is_given(of, "log_level", "off"));
  FUZZ_CHECK((context->verbose == LK_LOG_DEBUG) == is_given(of, "log_level", "debug"));
  FUZZ_CHECK(out->claims_all == is_given(of, "claim", "all"));
  FUZZ_CHECK(out->run_statistics == is_given(of, "run_statistics", "on"));
  check_file(of, "statistics_file", out->statistics_file);
  check_file(of, "trace_file", out->trace_file);
  const char *names = last_value(of, "disabled_passes");
  FUZZ_CHECK(out->n_disabled_passes == (names != NULL ? count_names(names) : 0));
  for (uint32_t i = 0; i < out->n_disabled_passes; i++) {
    const char *name = out->disabled_passes[i];
    FUZZ_CHECK(*name != '\0' && strpbrk(name, ", ") == NULL && strstr(names, name) != NULL);
  }
}

/* ---- ONNX Runtime, as far as the provider asks it for a session's options ---- */

static const given *session;

static OrtStatus *get_entries(const OrtSessionOptions *options, OrtKeyValuePairs **out) {
  (void)options;
  *out = (OrtKeyValuePairs *)(void *)&session;
  return NULL;
}

static void get_pairs(const OrtKeyValuePairs *pairs, const char *const **keys,
                      const char *const **values, size_t *out) {
  (void)pairs;
  *keys = session->keys;
  *values = session->values;
  *out = session->count;
}

static void release_pairs(OrtKeyValuePairs *pairs) {
  FUZZ_CHECK((void *)pairs == (void *)&session);
}

static void begin_session(const given *of) {
  static OrtApi api; /* by the slots of ort_abi.h */
  api.slots[379] = (ort_function)get_entries;
  api.slots[298] = (ort_function)get_pairs;
  api.slots[300] = (ort_function)release_pairs;
  const lk_ort ort = {.api = &api, .offsets = {SIZE_MAX, SIZE_MAX}};
  lk_ort_options out;
  lk_error error;
  lk_status expected = LK_OK;
  const size_t refused = expect(of, AT_START, &expected);
  session = of;
  FUZZ_CHECK(lk_ort_options_read(&ort, NULL, &out, &error) == expected);
  if (expected == LK_OK) {
    check_start(of, &out);
  } else {
    check_refusal(of, refused, AT_START, &error);
  }
  lk_ort_options_destroy(&out);
}

/* ---- a session that lives ---- */

static lk_status build(void *arg, const lk_key *key, lk_built *out, lk_error *error) {
  (void)key;
  (void)error;
  *out = (lk_built){arg, 1, NULL, NULL};
  return LK_OK;
}

static lk_stats stats_of(const lk_ort_context *context) {
  lk_stats stats = {.struct_size = sizeof stats};
  FUZZ_CHECK(context->ort->latchkey->cache_stats(context->handle, NULL, &stats, NULL) == LK_OK);
  return stats;
}

static void check_change(const given *of, const lk_stats *before, const lk_stats *now) {
  FUZZ_CHECK(now->capacity_entries == number_given(of, "cache_entries", before->capacity_entries));
  FUZZ_CHECK(now->capacity_bytes == number_given(of, "cache_bytes", before->capacity_bytes));
  FUZZ_CHECK(now->weights_capacity_bytes ==
             number_given(of, "weights_bytes", before->weights_capacity_bytes));
  FUZZ_CHECK(now->memory_limit_bytes ==
             number_given(of, "memory_bytes", before->memory_limit_bytes));
  bool clears = now->capacity_entries == 0 || now->bytes < before->bytes;
  for (size_t i = 0; i < of->count; i++) {
    const char *name = name_of(of->keys[i]);
    if (name == NULL || strcmp(name, "cache_action") != 0) continue;
    clears = clears || strcmp(of->values[i], "clear") == 0;
  }
  FUZZ_CHECK(now->entries <= now->capacity_entries && now->bytes <= now->capacity_bytes);
  FUZZ_CHECK(now->entries == (clears ? 0 : 1));
}

static void change_session(const given *of) {
  const lk_ort ort = {.latchkey = lk_get_api(LK_API_VERSION)};
  lk_context_options options = LK_CONTEXT_OPTIONS_INIT;
  lk_ort_context context = {.ort = &ort};
  lk_error error;
  lk_ref *ref = NULL;
  lk_status expected = LK_OK;
  options.threads = 1;
  FUZZ_CHECK(ort.latchkey->context_create(&options, &context.handle, NULL) == LK_OK);
  FUZZ_CHECK(ort.latchkey->get_or_create_text(context.handle, NULL, "user:out=it", build, &context,
                                              &ref, NULL, NULL) == LK_OK);
  ort.latchkey->ref_release(ref);
  const size_t refused = expect(of, ANY_TIME, &expected);
  const lk_stats before = stats_of(&context);
  FUZZ_CHECK(lk_ort_dynamic_set(&context, of->keys, of->values, of->count, &error) == expected);
  const lk_stats now = stats_of(&context);
  if (expected == LK_OK) {
    check_change(of, &before, &now);
  } else {
    check_refusal(of, refused, ANY_TIME, &error);
    FUZZ_CHECK(memcmp(&before, &now, sizeof now) == 0); /* nothing has changed */
  }
  ort.latchkey->context_destroy(context.handle);
}

/* ---- bytes ---- */

static void add(given *of, char *line) {
  char *value = strchr(line, '=');
  if (value == NULL || of->count == MOST_OPTIONS) return;
  *value++ = '\0';
  const size_t i = of->count++;
  of->keys[i] = line;
  of->values[i] = value;
  if (line[0] != '.') return;
  const size_t size = strlen(LK_ORT_OPTION_PREFIX) + strlen(line);
  of->made[i] = malloc(size);
  FUZZ_CHECK(of->made[i] != NULL);
  (void)snprintf(of->made[i], size, "%s%s", LK_ORT_OPTION_PREFIX, line + 1);
  of->keys[i] = of->made[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  char *text = fuzz_text(data + 1, size - 1), *rest = text;
  given of = {.count = 0};
  for (char *line; (line = strsep(&rest, "\n")) != NULL;) add(&of, line);
  (data[0] & 1) != 0 ? change_session(&of) : begin_session(&of);
  for (size_t i = 0; i < of.count; i++) free(of.made[i]);
  free(text);
  return 0;
}
