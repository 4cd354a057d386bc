/* What the command shows: tables of aligned columns, JSON, and numbers for people. */
#pragma once

#include <stdio.h>

#include <latchkey/base.h>

#include "executor_glue/report/json.h"

/* A table that is collected first, because the widest cell sets the width of its column. */
typedef struct report_table report_table;

/* `titles`: column titles separated by '|'; one that begins with '>' is aligned to the right, for
 * numbers. NULL when there is no memory; the functions below allow NULL and do nothing. */
report_table *report_table_create(const char *titles);
/* Appends a cell, escaped (base/text.h). A row is full after as many cells as there are columns. */
void report_cell(report_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints the table on stdout with `indent` blanks before each line, and destroys it.
 * LK_OUT_OF_MEMORY when the table, or a cell of it, could not be kept. */
lk_status report_table_print(report_table *table, int indent, lk_error *error);

/* Formats and escapes, then prints on stdout: for what holds names of a model or a command line. */
void report_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and ends the line. */
void report_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Before the first call of jansson: has it note where there was no memory for a value. */
void report_json_begin(void);
/* Prints a JSON value on stdout, in ASCII, with a newline, and drops the reference to it.
 * LK_OUT_OF_MEMORY when it is NULL or there was no memory for a part of it: what puts the parts
 * together need not look. */
lk_status report_json(json_t *root, lk_error *error);
/* Adds a member whose key need not be valid UTF-8 either; takes over `value`. */
void report_json_set(json_t *object, const char *key, json_t *value);

/* Behind a noun that so many are counted of: "1 run", "2 runs". */
static inline const char *report_s(uint64_t count) {
  return count == 1 ? "" : "s";
}

/* "12.3 MiB" */
#define REPORT_TEXT_CAPACITY 32
const char *report_bytes(uint64_t bytes, char buffer[REPORT_TEXT_CAPACITY]);
