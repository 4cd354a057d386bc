/* Einsum (ONNX operator): its equation and shapes. Steps are those of einsum_plan.c. */
#include "ops/einsum.h"

#include <inttypes.h>

#include "base/status.h"
#include "base/tensor.h"

/* ---- the equation ---- */

typedef struct reader {
  const char *at, *end;
} reader;

static void skip_spaces(reader *self) {
  while (self->at < self->end && *self->at == ' ') self->at++;
}

/* Moves past `text` if it comes next. */
static bool takes(reader *self, const char *text) {
  const char *at = self->at;
  while (*text != '\0' && at < self->end && *at == *text) at++, text++;
  if (*text != '\0') return false;
  self->at = at;
  skip_spaces(self);
  return true;
}

/* -1: not a letter. */
static int32_t letter_of(char character) {
  if (character >= 'A' && character <= 'Z') return character - 'A';
  return character >= 'a' && character <= 'z' ? 26 + (character - 'a') : -1;
}

/* False: it has too many letters, or a second ellipsis. */
static bool read_term(reader *self, lk_einsum_term *out) {
  *out = (lk_einsum_term){0};
  while (self->at < self->end) {
    if (takes(self, "...")) {
      if (out->has_ellipsis) return false;
      out->has_ellipsis = true;
      out->before = out->n;
      continue;
    }
    const int32_t letter = letter_of(*self->at);
    if (letter < 0) return true;
    if (out->n == LK_MAX_RANK) return false;
    out->letters[out->n++] = (uint8_t)letter;
    self->at++;
    skip_spaces(self);
  }
  return true;
}

static uint32_t count_letter(const lk_einsum_term *term, uint32_t letter) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < term->n; i++) count += term->letters[i] == letter;
  return count;
}
static uint32_t count_in_inputs(const lk_einsum *self, uint32_t letter) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < self->n_terms; i++) count += count_letter(&self->terms[i], letter);
  return count;
}

/* Without an arrow: the ellipsis, and then the letters that occur once. False: there are too
 * many. */
static bool imply_output(lk_einsum *self) {
  self->output = (lk_einsum_term){0};
  for (uint32_t i = 0; i < self->n_terms; i++) {
    if (self->terms[i].has_ellipsis) self->output.has_ellipsis = true;
  }
  for (uint32_t letter = 0; letter < LK_EINSUM_LETTERS; letter++) {
    if (count_in_inputs(self, letter) != 1) continue;
    if (self->output.n == LK_MAX_RANK) return false;
    self->output.letters[self->output.n++] = (uint8_t)letter;
  }
  return true;
}

/* Each letter occurs in an input, and once. */
static bool output_is_right(const lk_einsum *self) {
  for (uint32_t i = 0; i < self->output.n; i++) {
    const uint32_t letter = self->output.letters[i];
    if (count_letter(&self->output, letter) != 1) return false;
    if (count_in_inputs(self, letter) == 0) return false;
  }
  return true;
}

static bool read_equation(reader *self, lk_einsum *out) {
  skip_spaces(self);
  do {
    if (out->n_terms == LK_EINSUM_TERMS) return false;
    if (!read_term(self, &out->terms[out->n_terms++])) return false;
  } while (takes(self, ","));
  if (self->at == self->end) return imply_output(out);
  return takes(self, "->") && read_term(self, &out->output) && self->at == self->end &&
         output_is_right(out);
}

static void parse(lk_attrs *attrs, void *params) {
  lk_einsum *self = params;
  uint32_t length = 0;
  const char *text = lk_attrs_string(attrs, "equation", &length);
  reader from = {text, text != NULL ? text + length : NULL};
  if (text == NULL || !read_equation(&from, self)) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'equation' is '%.*s', it must be terms of at most %d letters with at "
                  "most one ellipsis, at most %d of them, and of the output letters of theirs, "
                  "each once",
                  (int)(length < 128 ? length : 128), text != NULL ? text : "", LK_MAX_RANK,
                  LK_EINSUM_TERMS);
  } else if (self->n_terms != attrs->n_inputs) {
    lk_attrs_fail(attrs, LK_INVALID_ARGUMENT,
                  "attribute 'equation' has %" PRIu32
                  " terms, it must have one for each of %" PRIu32 " inputs",
                  self->n_terms, attrs->n_inputs);
  }
}

/* ---- shapes ---- */

/* Takes an input into the sizes of its labels. Dimensions of 1 are repeated, as in numpy. */
static lk_status add_input(const lk_inference *self, uint32_t index, lk_einsum_sizes *sizes,
                           uint32_t *covered, lk_error *error) {
  const lk_einsum_term *term = &((const lk_einsum *)self->node->params)->terms[index];
  const lk_tensor_desc *x = &self->inputs[index].desc;
  int64_t own[LK_EINSUM_LABELS];
  uint8_t labels[LK_MAX_RANK];
  uint64_t seen = 0;
  if (x->rank < term->n || (x->rank > term->n && !term->has_ellipsis)) {
    return lk_refuse(x, "an input", "of the rank that its term has", error);
  }
  lk_einsum_labels(term, x->rank, labels);
  if (x->rank - term->n > *covered) *covered = x->rank - term->n;
  for (uint32_t i = 0; i < x->rank; i++) {
    const uint8_t label = labels[i];
    const bool is_again = (seen >> label & 1) != 0;
    if ((is_again && lk_dims_differ(own[label], x->dims[i])) ||
        !lk_dims_broadcast(self->dims, sizes->dims[label], x->dims[i], &sizes->dims[label])) {
      return lk_refuse(x, "an input", "of one size for each label, or 1", error);
    }
    own[label] = x->dims[i];
    seen |= UINT64_C(1) << label;
  }
  return LK_OK;
}

static lk_status infer(lk_inference *self, lk_error *error) {
  const lk_einsum *params = self->node->params;
  lk_einsum_sizes room, *sizes = self->found != NULL ? self->found : &room;
  lk_tensor_desc *to = &self->outputs[0];
  uint8_t labels[LK_MAX_RANK];
  uint32_t covered = 0;
  for (uint32_t i = 0; i < LK_EINSUM_LABELS; i++) sizes->dims[i] = 1;
  for (uint32_t i = 0; i < params->n_terms; i++) {
    if (!lk_rank_is_known(&self->inputs[i].desc)) {
      if (!params->output.has_ellipsis) lk_shape_open(to, params->output.n);
      return LK_OK;
    }
    LK_RETURN_NOT_OK(add_input(self, i, sizes, &covered, error));
  }
  const uint32_t rank = params->output.n + (params->output.has_ellipsis ? covered : 0);
  if (rank > LK_MAX_RANK) {
    return lk_fail(error, LK_UNSUPPORTED,
                   "the output has rank %" PRIu32 ", at most %d is supported", rank, LK_MAX_RANK);
  }
  lk_einsum_labels(&params->output, rank, labels);
  to->rank = rank;
  for (uint32_t i = 0; i < rank; i++) to->dims[i] = sizes->dims[labels[i]];
  return LK_OK;
}

const lk_op_class lk_op_einsum = {
    LK_OP_ROW("Einsum", "", 12, "Sums of products over the letters of an equation",
              .flags = LK_OP_WORTH_CLAIMING, .min_inputs = 1, .max_inputs = LK_EINSUM_TERMS,
              .max_outputs = 1, .input_types = "T", .output_types = "T",
              .types = {LK_TYPES_NUMBER}),
    .by_f32 = true,
    .needs_all = true,
    .params_size = sizeof(lk_einsum),
    .found_size = sizeof(lk_einsum_sizes),
    LK_OP_ATTRS(LK_TEXT("equation", .is_required = 1)),
    .parse = parse,
    .infer = infer,
    .plan = lk_einsum_plan,
};
