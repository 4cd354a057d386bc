/* Einsum: what its equation says, for einsum.c and einsum_plan.c.
 *
 * A label is a letter, or one of the dimensions of an ellipsis, which are counted from the last. */
#pragma once

#include "ops/plan/planner.h"

enum {
  LK_EINSUM_TERMS = 32, /* the most inputs */
  LK_EINSUM_LETTERS = 52,
  LK_EINSUM_LABELS = LK_EINSUM_LETTERS + LK_MAX_RANK
};

/* The letters of an operand, in the order of ASCII: A to Z are 0 to 25, a to z are 26 to 51. */
typedef struct lk_einsum_term {
  uint8_t n;
  uint8_t letters[LK_MAX_RANK];
  bool has_ellipsis;
  uint8_t before; /* letters before it */
} lk_einsum_term;

typedef struct lk_einsum {
  uint32_t n_terms;
  lk_einsum_term terms[LK_EINSUM_TERMS], output;
} lk_einsum;

/* The labels of the dimensions of an operand of `rank`. */
static inline void lk_einsum_labels(const lk_einsum_term *term, uint32_t rank,
                                    uint8_t labels[LK_MAX_RANK]) {
  const uint32_t covered = rank - term->n, before = term->has_ellipsis ? term->before : term->n;
  for (uint32_t i = 0; i < rank; i++) {
    const bool is_covered = i >= before && i < before + covered;
    labels[i] = is_covered   ? (uint8_t)(LK_EINSUM_LABELS - covered + (i - before))
                : i < before ? term->letters[i]
                             : term->letters[i - covered];
  }
}

/* What `infer` finds out. */
typedef struct lk_einsum_sizes {
  int64_t dims[LK_EINSUM_LABELS]; /* 1 of labels that do not occur */
} lk_einsum_sizes;

/* The plan; `found` is the lk_einsum_sizes. */
lk_status lk_einsum_plan(lk_planner *planner, lk_error *error);
