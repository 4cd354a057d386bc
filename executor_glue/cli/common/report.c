/* What the command shows: tables of aligned columns, JSON, and numbers for people. */
#include "executor_glue/cli/common/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

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

void report_cell(report_table *table, const char *format, ...) {
  if (table == NULL) return;
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&text, format, arguments) < 0) text = NULL;
  va_end(arguments);
  add_cell(table, text);
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

lk_status report_json(json_t *root, lk_error *error) {
  if (root == NULL) return lk_fail_memory(error, "the JSON report", 0);
  int failed = json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  (void)putchar('\n');
  json_decref(root);
  return failed ? lk_fail(error, LK_IO, "failed to write the JSON report to standard output")
                : LK_OK;
}

json_t *report_json_text(const char *text) {
  json_t *value = json_string(text);
  if (value != NULL) return value;
  char *copy = strdup(text);
  if (copy == NULL) return NULL;
  for (char *c = copy; *c != '\0'; c++) {
    if ((unsigned char)*c >= 0x80) *c = '?';
  }
  value = json_string(copy);
  free(copy);
  return value;
}

json_t *report_json_u64(uint64_t number) {
  return number <= INT64_MAX ? json_integer((json_int_t)number) : json_null();
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
