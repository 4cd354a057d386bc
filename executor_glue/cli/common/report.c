/* What the command shows: tables of aligned columns, JSON, and numbers for people. */
#include "executor_glue/cli/common/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"

enum { MAX_COLUMNS = 16 };

struct report_table {
  size_t n_columns;
  bool right[MAX_COLUMNS];
  int width[MAX_COLUMNS];
  char **cells; /* the titles first */
  size_t n_cells, capacity;
  bool failed;
};

/* Takes over `text`, which comes from malloc. */
static void add_cell(report_table *table, char *text) {
  if (text == NULL ||
      !LK_GROW(lk_allocator_default(), table->cells, table->n_cells, table->capacity)) {
    free(text);
    table->failed = true;
    return;
  }
  size_t column = table->n_cells % table->n_columns;
  int width = (int)strnlen(text, 4096);
  if (width > table->width[column]) table->width[column] = width;
  table->cells[table->n_cells++] = text;
}

report_table *report_table_create(const char *titles) {
  report_table *table = lk_calloc(lk_allocator_default(), 1, sizeof *table);
  if (table == NULL) return NULL;
  table->n_columns = 1;
  for (const char *c = titles; *c != '\0'; c++) table->n_columns += *c == '|';
  if (table->n_columns > MAX_COLUMNS) table->n_columns = MAX_COLUMNS;
  for (size_t i = 0; i < table->n_columns; i++) {
    size_t length = strcspn(titles, "|");
    table->right[i] = titles[0] == '>';
    size_t skip = table->right[i] ? 1 : 0;
    add_cell(table, strndup(titles + skip, length - skip));
    titles += length + 1;
  }
  return table;
}

/* From malloc; NULL without memory. */
static char *escaped(const char *text) {
  const size_t capacity = LK_TEXT_ESCAPED_BYTES(strlen(text));
  char *copy = malloc(capacity);
  if (copy != NULL) (void)lk_text_escape(text, copy, capacity);
  return copy;
}

static char *format_escaped(const char *format, va_list arguments) {
  char *text = NULL;
  if (vasprintf(&text, format, arguments) < 0) return NULL;
  char *copy = escaped(text);
  free(text);
  return copy;
}

void report_cell(report_table *table, const char *format, ...) {
  if (table == NULL) return;
  va_list arguments;
  va_start(arguments, format);
  add_cell(table, format_escaped(format, arguments));
  va_end(arguments);
}

/* Hardly any line is longer than this. So a line is not lost, between others that are shown, since
 * there is no memory for it. */
enum { LINE_CAPACITY = 1024 };

static void print_escaped(const char *format, va_list arguments) {
  char line[LINE_CAPACITY], shown[LK_TEXT_ESCAPED_BYTES(LINE_CAPACITY)];
  va_list again;
  va_copy(again, arguments);
  const int length = vsnprintf(line, sizeof line, format, again);
  va_end(again);
  if (length >= 0 && length < LINE_CAPACITY) {
    (void)lk_text_escape(line, shown, sizeof shown);
    (void)fputs(shown, stdout);
    return;
  }
  char *text = format_escaped(format, arguments);
  (void)fputs(text != NULL ? text : "(no memory to show this)", stdout);
  free(text);
}

void report_text(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_escaped(format, arguments);
  va_end(arguments);
}

void report_line(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_escaped(format, arguments);
  va_end(arguments);
  (void)putchar('\n');
}

static void print_row(const report_table *table, size_t first, int indent) {
  (void)printf("%*s", indent, "");
  for (size_t i = 0; i < table->n_columns && first + i < table->n_cells; i++) {
    const char *text = table->cells[first + i];
    const char *gap = i > 0 ? "  " : "";
    if (table->right[i]) {
      (void)printf("%s%*s", gap, table->width[i], text);
    } else if (i + 1 < table->n_columns) {
      (void)printf("%s%-*s", gap, table->width[i], text);
    } else {
      (void)printf("%s%s", gap, text); /* no blanks at the end of a line */
    }
  }
  (void)putchar('\n');
}

lk_status report_table_print(report_table *table, int indent, lk_error *error) {
  if (table == NULL) return lk_fail_memory(error, "a table", sizeof *table);
  bool failed = table->failed;
  for (size_t i = 0; i < table->n_cells && !failed; i += table->n_columns) {
    print_row(table, i, indent);
  }
  for (size_t i = 0; i < table->n_cells; i++) free(table->cells[i]);
  lk_free(lk_allocator_default(), table->cells);
  lk_free(lk_allocator_default(), table);
  return failed ? lk_fail_memory(error, "a table", sizeof *table) : LK_OK;
}

/* A part without memory is not there, and the value that it belongs to has no place for an error:
 * it would be shown as if it were whole. */
static atomic_bool json_lacks_memory;

static void *json_memory(size_t size) {
  void *block = malloc(size);
  if (block == NULL) atomic_store(&json_lacks_memory, true);
  return block;
}

void report_json_begin(void) {
  json_set_alloc_funcs(json_memory, free);
}

static lk_status fail_json_memory(lk_error *error) {
  return lk_fail(error, LK_OUT_OF_MEMORY, "failed to allocate the JSON report");
}

/* DEL is ASCII, and the one control character that jansson does not escape. */
static int write_json(const char *text, size_t size, void *stream) {
  for (size_t i = 0; i < size; i++) {
    if ((text[i] == 0x7f ? fputs("\\u007f", stream) : putc(text[i], stream)) == EOF) return -1;
  }
  return 0;
}

lk_status report_json(json_t *root, lk_error *error) {
  if (root == NULL || atomic_load(&json_lacks_memory)) {
    json_decref(root);
    return fail_json_memory(error);
  }
  const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(9) | JSON_ENSURE_ASCII;
  const int failed = json_dump_callback(root, write_json, stdout, flags);
  (void)putchar('\n');
  json_decref(root);
  if (atomic_load(&json_lacks_memory)) return fail_json_memory(error);
  /* Output that is lost is told of once, whatever was shown: when the command ends. */
  if (!failed || ferror(stdout)) return LK_OK;
  return lk_fail(error, LK_INTERNAL, "failed to write the JSON report");
}

void report_json_set(json_t *object, const char *key, json_t *value) {
  json_t *text = lk_json_text(key);
  if (text != NULL) (void)json_object_set(object, json_string_value(text), value);
  json_decref(text);
  json_decref(value);
}

const char *report_bytes(uint64_t bytes, char buffer[REPORT_TEXT_CAPACITY]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = (double)bytes;
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < sizeof units / sizeof units[0]) {
    value /= 1024.0;
    unit++;
  }
  (void)snprintf(buffer, REPORT_TEXT_CAPACITY, unit == 0 ? "%.0f %s" : "%.1f %s", value,
                 units[unit]);
  return buffer;
}
