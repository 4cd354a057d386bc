/* op_create: a node's description becomes an immutable op, and the fixed part of its name key. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/owner.h"
#include "base/require.h"
#include "base/status.h"
#include "base/struct.h"
#include "base/team/float_state.h"
#include "base/tensor.h"
#include "keys/key_build.h"
#include "plugin/internal.h"
#include "plugin/table.h"

#define KEPT_CONSTANT_BYTES 4096

static _Atomic uint64_t next_serial = 1;

/* Takes a reference to the owner of the memory that constant `index` lies in, if somebody says who
 * it is. */
static lk_status hold_owner(const lk_node_desc *desc, uint32_t index, lk_owner *out,
                            lk_error *error) {
  lk_owner owner = {0};
  const lk_owner *given = desc->owners != NULL ? desc->owners[index] : NULL;
  if (given == NULL) return LK_OK;
  LK_RETURN_NOT_OK(lk_struct_read(&owner, sizeof owner, given, "an owner", error));
  if ((owner.retain == NULL) != (owner.release == NULL)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to read the owner of constant input %u: it has %s, both or neither are "
                   "allowed",
                   index, owner.retain != NULL ? "retain alone" : "release alone");
  }
  lk_owner_retain(&owner);
  *out = owner;
  return LK_OK;
}

/* One constant input: into the weights store, and small ones also kept at hand. */
static lk_status add_constant(lk_op *op, const lk_node_desc *desc, uint32_t index,
                              lk_node_constant *out, lk_error *error) {
  const lk_node_input *input = &desc->inputs[index];
  const lk_ops_env *env = &op->executor->context->env;
  const lk_tensor *tensor = input->constant;
  int64_t bytes = 0;
  LK_RETURN_NOT_OK(lk_tensor_size(&tensor->desc, "a constant", NULL, &bytes, error));
  if (tensor->desc.layout != LK_LAYOUT_PLAIN || (tensor->data == NULL && bytes > 0)) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to create %s '%s': constant input %u must be plain and have data",
                   op->node.class_->row.op_type, op->node.output_name, index);
  }
  const bool copy = (input->flags & LK_INPUT_COPY) != 0;
  if (!copy) LK_RETURN_NOT_OK(hold_owner(desc, index, &out->lent.owner, error));
  LK_RETURN_NOT_OK(
      lk_weights_intern(env->weights, tensor->data, (size_t)bytes, copy, &out->content, error));
  out->lent.data = copy ? NULL : tensor->data;
  out->tensor.desc = tensor->desc;
  if (lk_op_is_shape_input(op, index) || bytes <= KEPT_CONSTANT_BYTES) {
    out->tensor.data = lk_alloc_aligned(env->allocator, (size_t)bytes, LK_DATA_ALIGNMENT);
    if (out->tensor.data == NULL) return lk_fail_memory(error, "a constant", (size_t)bytes);
    if (bytes > 0) memcpy(out->tensor.data, tensor->data, (size_t)bytes);
  }
  return LK_OK;
}

static lk_status add_inputs(lk_op *op, const lk_node_desc *desc, lk_error *error) {
  const lk_allocator *allocator = op->executor->context->env.allocator;
  lk_node_constant *constants = lk_calloc(allocator, desc->n_inputs, sizeof *constants);
  op->comes_at_run = lk_calloc(allocator, desc->n_inputs, sizeof *op->comes_at_run);
  op->node.constants = constants;
  if (constants == NULL || op->comes_at_run == NULL) {
    return lk_fail_memory(error, "an op's inputs", desc->n_inputs * sizeof *constants);
  }
  for (uint32_t i = 0; i < desc->n_inputs; i++) {
    const lk_node_input *input = &desc->inputs[i];
    const bool absent = i < 64 && (op->node.absent >> i & 1) != 0;
    op->comes_at_run[i] = !absent && input->constant == NULL;
    if (op->comes_at_run[i] && lk_op_is_shape_input(op, i)) op->has_shape_inputs = true;
    if (absent || input->constant == NULL) continue;
    LK_RETURN_NOT_OK(add_constant(op, desc, i, &constants[i], error));
  }
  return LK_OK;
}

static lk_status add_post_ops(lk_op *op, const lk_node_desc *desc, lk_error *error) {
  lk_post_op own[LK_MAX_OWN_POST_OPS];
  uint32_t n_own = 0;
  if (op->node.class_->own_post_ops != NULL) {
    n_own = op->node.class_->own_post_ops(&op->node, own);
  }
  const uint32_t count = n_own + desc->n_post_ops;
  lk_post_op *all = lk_calloc(op->executor->context->env.allocator, count, sizeof *all);
  if (all == NULL) return lk_fail_memory(error, "post-ops", count * sizeof *all);
  if (n_own > 0) memcpy(all, own, n_own * sizeof *all);
  if (desc->n_post_ops > 0) memcpy(all + n_own, desc->post_ops, desc->n_post_ops * sizeof *all);
  op->node.post_ops = all;
  op->node.n_post_ops = count;
  return LK_OK;
}

/* Attributes are part of a node, which its name stands for; they are in the key all the same, so
 * that a host that uses a name twice still never gets another node's plan. */
static lk_status key_attr(lk_words *words, const lk_attr *attr, lk_key_builder *key,
                          lk_error *error) {
  uint32_t name = 0;
  LK_RETURN_NOT_OK(lk_word_get(words, attr->name, &name, error));
  switch (attr->type) {
  case LK_ATTR_INTS:
    lk_key_add_attr(key, name, attr->data, attr->count);
    return LK_OK;
  case LK_ATTR_FLOATS:
  case LK_ATTR_STRING: {
    const bool text = attr->type == LK_ATTR_STRING;
    const int64_t count = attr->count;
    const lk_tensor value = {.desc = lk_tensor_desc_make(text ? LK_U8 : LK_F32, 1, &count),
                             .data = (void *)(uintptr_t)attr->data};
    lk_key_add_value(key, name, 0, &value);
    return LK_OK;
  }
  case LK_ATTR_STRINGS:
    for (uint32_t i = 0; i < attr->count; i++) {
      const char *text = ((const char *const *)attr->data)[i];
      const int64_t count = (int64_t)strlen(text);
      const lk_tensor value = {.desc = lk_tensor_desc_make(LK_U8, 1, &count),
                               .data = (void *)(uintptr_t)text};
      lk_key_add_value(key, name, i, &value);
    }
    return LK_OK;
  default:
    for (uint32_t i = 0; i < attr->count; i++) {
      const lk_tensor *tensor = (const lk_tensor *)attr->data + i;
      LK_RETURN_NOT_OK(lk_tensor_size(&tensor->desc, attr->name, NULL, NULL, error));
      lk_key_add_value(key, name, i, tensor);
    }
    return LK_OK;
  }
}

/* An operator is a name in a domain: "Gelu", "com.microsoft.Gelu". Names of a host's may have dots:
 * "com.example/nn.Gelu", so that they are not those of another domain. */
static lk_status get_op_word(lk_words *words, const lk_op_row *row, uint32_t *out_word,
                             lk_error *error) {
  char name[128];
  const bool has_dots = strchr(row->op_type, '.') != NULL;
  if (row->domain[0] == '\0' && !has_dots) return lk_word_get(words, row->op_type, out_word, error);
  (void)snprintf(name, sizeof name, "%s%c%s", row->domain, has_dots ? '/' : '.', row->op_type);
  return lk_word_get(words, name, out_word, error);
}

static lk_status make_head(const lk_op *op, const lk_node_desc *desc, lk_words *words,
                           lk_key_head *out, lk_error *error) {
  char in_place[128] = "";
  const lk_op_row *row = &op->node.class_->row;
  if (op->node.class_->in_place_text != NULL) {
    op->node.class_->in_place_text(&op->node, in_place, sizeof in_place);
  } else if (row->in_place_inputs != 0) {
    memcpy(in_place, row->op_type, strlen(row->op_type) + 1);
  }
  *out = (lk_key_head){.kind = LK_KIND_NAME,
                       .position = desc->position,
                       .precision = LK_F32,
                       .generation = desc->generation,
                       .executor = op->executor->identity.address,
                       .uuid_high = op->executor->identity.uuid_high,
                       .uuid_low = op->executor->identity.uuid_low};
  LK_RETURN_NOT_OK(get_op_word(words, row, &out->op, error));
  LK_RETURN_NOT_OK(lk_word_get(words, desc->scope, &out->scope, error));
  LK_RETURN_NOT_OK(lk_word_get(words, desc->output_name, &out->out, error));
  return lk_word_get(words, in_place, &out->in_place, error);
}

static lk_status make_fixed(lk_op *op, const lk_node_desc *desc, lk_error *error) {
  const lk_ops_env *env = &op->executor->context->env;
  const lk_allocator *allocator = env->allocator;
  lk_key_head head = {0};
  lk_key_builder builder;
  lk_words words;
  lk_key key;
  lk_status status = LK_OK;
  lk_words_begin(&words, env->intern);
  const lk_status named = make_head(op, desc, &words, &head, error);
  lk_key_begin(&builder, allocator, &head);
  LK_TRY(named);
  const int64_t counts[] = {desc->opset, desc->n_inputs, desc->n_outputs};
  lk_key_add_attr(&builder, LK_WORD_FLAGS, counts, 3);
  for (uint32_t i = 0; i < desc->n_attrs; i++) {
    LK_TRY(key_attr(&words, &desc->attrs[i], &builder, error));
  }
  for (uint32_t i = 0; i < op->node.n_post_ops; i++) {
    const lk_post_op *post_op = &op->node.post_ops[i];
    const lk_key_post_op record = {.kind = post_op->kind,
                                   .input = post_op->input,
                                   .alpha = lk_key_float(post_op->alpha),
                                   .beta = lk_key_float(post_op->beta)};
    lk_key_add_post_op(&builder, &record);
  }
  for (uint32_t i = 0; i < op->node.n_inputs; i++) {
    const lk_node_constant *constant = &op->node.constants[i];
    if (constant->content != NULL) {
      lk_key_add_content(&builder, LK_WORD_INPUT, i, lk_content_id(constant->content));
      lk_key_add_tensor(&builder, LK_WORD_VALUE, i, &constant->tensor.desc);
    } else if (op->comes_at_run[i]) {
      lk_key_add_content(&builder, LK_WORD_INPUT, i, 0);
    }
  }
  lk_key_seal(&builder);
  LK_TRY(lk_key_finish(&builder, &key, error));
  LK_TRY(lk_key_keep(allocator, env->intern, &key, &op->fixed, error));
cleanup:
  lk_key_builder_destroy(&builder);
  lk_words_end(&words);
  return status;
}

static lk_status fill(lk_op *op, const lk_node_desc *given, lk_error *error) {
  const lk_allocator *allocator = op->executor->context->env.allocator;
  lk_node_desc desc;
  LK_RETURN_NOT_OK(
      lk_node_read(allocator, op->executor->context->operators, given, &desc, &op->node, error));
  op->node.output_name = lk_strdup(allocator, desc.output_name);
  if (op->node.output_name == NULL) {
    return lk_fail_memory(error, "an op's name", strlen(desc.output_name));
  }
  LK_RETURN_NOT_OK(add_inputs(op, &desc, error));
  LK_RETURN_NOT_OK(add_post_ops(op, &desc, error));
  return make_fixed(op, &desc, error);
}

lk_status lk_op_create(lk_executor *executor, const lk_node_desc *node, lk_op **out_op,
                       lk_error *error) {
  LK_REQUIRE("op_create", error, executor, node, out_op);
  *out_op = NULL;
  lk_status status = LK_OK;
  lk_op *op = lk_calloc(&executor->context->allocator, 1, sizeof *op);
  if (op == NULL) return lk_fail_memory(error, "an op", sizeof *op);
  op->executor = executor;
  op->serial = executor->number | atomic_fetch_add_explicit(&next_serial, 1, memory_order_relaxed);
  const lk_float_state host_float = lk_float_begin(); /* attributes are computed with */
  const lk_status filled = fill(op, node, error);
  lk_float_end(host_float);
  LK_TRY(filled);
  *out_op = op;
  op = NULL;
cleanup:
  lk_op_destroy(op);
  return status;
}

void lk_op_destroy(lk_op *op) {
  if (op == NULL) return;
  const lk_allocator *allocator = &op->executor->context->allocator;
  for (uint32_t i = 0; op->node.constants != NULL && i < op->node.n_inputs; i++) {
    const lk_node_constant *constant = &op->node.constants[i];
    if (constant->content != NULL) lk_content_release(constant->content, constant->lent.data);
    lk_owner_release(&constant->lent.owner);
    lk_free(allocator, constant->tensor.data);
  }
  lk_free(allocator, (void *)(uintptr_t)op->node.constants);
  lk_free(allocator, (void *)(uintptr_t)op->node.post_ops);
  lk_free(allocator, (void *)(uintptr_t)op->node.params);
  lk_free(allocator, (void *)(uintptr_t)op->node.output_name);
  lk_pattern_destroy(op->pattern);
  lk_free(allocator, op->comes_at_run);
  lk_key_destroy(allocator, op->fixed);
  lk_free(allocator, op);
}

lk_status lk_op_info_get(const lk_op *op, lk_op_info *info, lk_error *error) {
  LK_REQUIRE("op_info", error, op, info);
  const lk_op_row *row = &op->node.class_->row;
  const lk_op_info filled = {.struct_size = sizeof filled,
                             .row = row,
                             .shape_inputs = row->shape_inputs & ~op->node.absent,
                             .in_place_inputs = row->in_place_inputs,
                             .n_inputs = op->node.n_inputs,
                             .n_outputs = op->node.n_outputs};
  return lk_struct_write(info, &filled, sizeof filled, "op info", error);
}
