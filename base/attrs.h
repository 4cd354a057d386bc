/* Lists of attributes: what nodes of an operator may have at which opset, and what is wrong with
 * those that a node has. One list serves whoever reads attributes, so that none reads what it does
 * not have. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include <latchkey/node.h>

/* ---- how a list is written -------------------------------------------------------------------
 *
 * {LK_CHOICE("mode", "nearest|linear"), LK_INT("axis", 1, .until = 12), LK_INT("axis", -1,
 * .since = 13), LK_INTS("axes", .until = 12, .input = 1)}: members of lk_op_attr may follow. LK_ANY
 * ones have no default, and are read as `absent` where they are not given. */
#define LK_INT(name_, default_, ...)                                                               \
  { .name = name_, .type = LK_ATTR_INTS, .has_default = 1, .integer = (default_), __VA_ARGS__ }
#define LK_ANY_INT(name_, absent_, ...)                                                            \
  { .name = name_, .type = LK_ATTR_INTS, .integer = (absent_), __VA_ARGS__ }
#define LK_REQUIRED_INT(name_, ...)                                                                \
  { .name = name_, .type = LK_ATTR_INTS, .is_required = 1, __VA_ARGS__ }
/* 0 or 1: no other number says yes or no. */
#define LK_FLAG(name_, default_, ...) LK_INT(name_, default_, .texts = "0|1", __VA_ARGS__)
#define LK_ANY_FLAG(name_, absent_, ...) LK_ANY_INT(name_, absent_, .texts = "0|1", __VA_ARGS__)
#define LK_FLOAT(name_, default_, ...)                                                             \
  { .name = name_, .type = LK_ATTR_FLOATS, .has_default = 1, .number = (default_), __VA_ARGS__ }
#define LK_ANY_FLOAT(name_, absent_, ...)                                                          \
  { .name = name_, .type = LK_ATTR_FLOATS, .number = (absent_), __VA_ARGS__ }
#define LK_INTS(name_, ...)                                                                        \
  { .name = name_, .type = LK_ATTR_INTS, .is_list = 1, __VA_ARGS__ }
#define LK_FLOATS(name_, ...)                                                                      \
  { .name = name_, .type = LK_ATTR_FLOATS, .is_list = 1, __VA_ARGS__ }
#define LK_TENSOR(name_, ...)                                                                      \
  { .name = name_, .type = LK_ATTR_TENSOR, __VA_ARGS__ }
#define LK_TEXT(name_, ...)                                                                        \
  { .name = name_, .type = LK_ATTR_STRING, __VA_ARGS__ }
#define LK_TEXTS(name_, ...)                                                                       \
  { .name = name_, .type = LK_ATTR_STRINGS, __VA_ARGS__ }
/* One of the texts; the first is the default. */
#define LK_CHOICE(name_, texts_, ...)                                                              \
  { .name = name_, .type = LK_ATTR_STRING, .has_default = 1, .texts = texts_, __VA_ARGS__ }
#define LK_ANY_CHOICE(name_, texts_, ...)                                                          \
  { .name = name_, .type = LK_ATTR_STRING, .texts = texts_, __VA_ARGS__ }
#define LK_BODY(name_, ...)                                                                        \
  { .name = name_, .type = LK_ATTR_GRAPH, __VA_ARGS__ }
#define LK_OTHER(name_, ...)                                                                       \
  { .name = name_, .type = LK_ATTR_OTHER, __VA_ARGS__ }

/* The two members of a row. */
#define LK_ATTR_LIST_OF(prefix, ...)                                                               \
  prefix attrs = (const lk_op_attr[]){__VA_ARGS__},                                                \
         prefix n_attrs = sizeof((const lk_op_attr[]){__VA_ARGS__}) / sizeof(lk_op_attr)

/* ---- what is asked of one -------------------------------------------------------------------- */

/* Lists are gone through many times while a model is opened, and most names differ at once. */
static inline bool lk_attr_is(const char *name, const char *asked) {
  return name[0] == asked[0] && strcmp(name, asked) == 0;
}
/* The entry for `opset`; where none holds then, that of the nearest one. NULL: the row does not
 * list it. */
const lk_op_attr *lk_op_attr_find(const lk_op_row *row, const char *name, int32_t opset);
bool lk_op_attr_holds(const lk_op_attr *attr, int32_t opset);
/* The given one says what the default says. */
bool lk_op_attr_is_default(const lk_op_attr *attr, const lk_attr *given);
/* Which of the entry's texts it is; -1: none of them. */
int64_t lk_op_attr_choice(const lk_op_attr *attr, const lk_attr *given);
bool lk_op_attr_is_flag(const lk_op_attr *attr);
/* "an integer", "floats", ... of an lk_attr_type, and of an entry. */
const char *lk_attr_type_text(uint32_t type, bool is_list);
const char *lk_op_attr_type_text(const lk_op_attr *attr);

/* LK_OK: a node of the row and opset may have this attribute, of this type and number of values.
 * Else LK_INVALID_ARGUMENT, LK_OUT_OF_RANGE for a flag that is neither 0 nor 1, or LK_UNSUPPORTED
 * for a text that is none of the list's, and what is wrong, without the node's name: "it has no
 * attribute 'axes' at opset 13; since opset 13 that is input 1". */
lk_status lk_op_attr_check(const lk_op_row *row, int32_t opset, const lk_attr *given,
                           lk_error *error);
/* The same of all that a node has. Also, none may be there twice, and none that is required may be
 * missing. */
lk_status lk_op_attrs_check(const lk_op_row *row, int32_t opset, const lk_attr *given,
                            uint32_t n_given, lk_error *error);
