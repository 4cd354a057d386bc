/* Notes on what was claimed and left, and the line that tells of them. */
#include "executor_glue/ort/claims.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

static void left_destroy(lk_ort_left *left) {
  const lk_allocator *allocator = lk_allocator_default();
  lk_free(allocator, left->op_type);
  lk_free(allocator, left->domain);
  lk_free(allocator, left->reason);
  lk_free(allocator, left);
}

static lk_status left_create(const lk_node *node, const char *reason, lk_ort_left **out,
                             lk_error *error) {
  const lk_allocator *allocator = lk_allocator_default();
  lk_ort_left *made = lk_calloc(allocator, 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a note on a node", sizeof *made);
  made->op_type = lk_strdup(allocator, node->op_type);
  made->domain = lk_strdup(allocator, node->domain);
  made->reason = lk_strdup(allocator, reason);
  if (made->op_type == NULL || made->domain == NULL || made->reason == NULL) {
    left_destroy(made);
    return lk_fail_memory(error, "a note on a node", strlen(reason));
  }
  *out = made;
  return LK_OK;
}

static bool is_of(const lk_ort_left *left, const lk_node *node, const char *reason) {
  return strcmp(left->op_type, node->op_type) == 0 && strcmp(left->domain, node->domain) == 0 &&
         strcmp(left->reason, reason) == 0;
}

lk_status lk_ort_claims_add_left(lk_ort_claims *claims, const lk_node *node, const char *reason,
                                 lk_error *error) {
  lk_ort_left *left = claims->left;
  claims->n_left++;
  while (left != NULL && !is_of(left, node, reason)) left = left->next;
  if (left == NULL) {
    LK_RETURN_NOT_OK(left_create(node, reason, &left, error));
    left->next = claims->left;
    claims->left = left;
  }
  left->count++;
  return LK_OK;
}

void lk_ort_claims_text(const lk_ort_claims *claims, char *buffer, size_t capacity) {
  int used =
      snprintf(buffer, capacity, "%s: %" PRIu32 " of %" PRIu32 " nodes in %" PRIu32 " subgraph%s",
               LK_ORT_PROVIDER_NAME, claims->n_claimed, claims->n_claimed + claims->n_left,
               claims->n_subgraphs, claims->n_subgraphs == 1 ? "" : "s");
  for (const lk_ort_left *left = claims->left; left != NULL; left = left->next) {
    if (used < 0 || (size_t)used >= capacity) return; /* cut: the report has them all */
    used += snprintf(buffer + used, capacity - (size_t)used, "%s%" PRIu32 " %s (%s)",
                     left == claims->left ? "; left: " : ", ", left->count, left->op_type,
                     left->reason);
  }
}

void lk_ort_claims_destroy(lk_ort_claims *claims) {
  while (claims->left != NULL) {
    lk_ort_left *next = claims->left->next;
    left_destroy(claims->left);
    claims->left = next;
  }
  lk_free(lk_allocator_default(), claims->model_path);
  *claims = (lk_ort_claims){0};
}
