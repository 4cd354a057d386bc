// Works at random, from a seed, and works that differ from them in one member.
#pragma once

#include <functional>
#include <random>

extern "C" {
#include "ops/engine/value_key.h"
}

namespace lk {

class RandomWorks {
public:
  explicit RandomWorks(uint64_t seed) : random_(seed) {}

  int64_t below(int64_t n) { return int64_t(random_() % uint64_t(n)); }

  lk_work make() {
    lk_work work;
    memset(&work, 0, sizeof work);
    work.kind = uint32_t(below(LK_WORK_KINDS));
    for (uint32_t role = 0; role < LK_ROLES; role++) {
      if (below(3) == 0) add_tensor(&work, role);
    }
    add_tensor(&work, LK_ROLE_SRC);
    work.constants = uint32_t(below(4)), work.positive = uint32_t(below(4));
    work.n_post_ops = uint32_t(below(LK_WORK_POST_OPS + 1));
    for (uint32_t i = 0; i < work.n_post_ops; i++) {
      const uint32_t operand = below(2) != 0 ? any_operand() : 0;
      const uint32_t kind = uint32_t(below(2) != 0 ? 1 + below(17) : LK_FUNCTION_ABS + below(48));
      work.post_ops[i] = {kind, operand, number(), number()};
      if (operand != 0) add_tensor(&work, operand);
    }
    work.window.rank = uint32_t(below(LK_MAX_SPATIAL + 1));
    for (uint32_t i = 0; i < work.window.rank; i++) {
      work.window.kernel[i] = below(5), work.window.strides[i] = below(3);
      work.window.dilations[i] = below(3), work.window.begin[i] = below(3);
      work.window.out[i] = below(50), work.window.end[i] = below(3);
    }
    work.groups = below(3);
    work.lrn = {below(6), number(), number(), number(), 0};
    work.axes = uint32_t(below(16)), work.pooling = uint32_t(below(4));
    work.column_major = uint32_t(below(2)), work.is_centered = uint32_t(below(2));
    work.epsilon = number(), work.reducing = uint32_t(below(10));
    work.resize.interpolation = uint32_t(below(3)), work.resize.coordinates = uint32_t(below(7));
    work.resize.nearest = uint32_t(below(5)), work.resize.antialias = uint32_t(below(2));
    work.resize.exclude_outside = uint32_t(below(2)), work.resize.rounded = uint32_t(below(16));
    work.resize.cubic = number(), work.resize.extrapolation = number();
    for (double *of : {work.resize.up, work.resize.down, work.resize.start, work.resize.end}) {
      for (int64_t i = below(LK_MAX_RANK + 1); i-- > 0;) of[i] = double(below(9)) / 3 - 1;
    }
    for (lk_matmul_order &order : work.orders) {
      order = {uint16_t(below(2)), uint16_t(below(2))};
    }
    work.factor = number();
    for (int64_t i = below(LK_MAX_RANK + 1); i-- > 0;) work.order[i] = uint8_t(below(8));
    work.bits = {below(3), uint32_t(below(9)), uint32_t(below(2))};
    if (below(2) != 0) work.attention = attention();
    lk_work_recurrent &layer = work.recurrent;
    if (below(2) != 0) return work;
    layer.cell = uint32_t(below(4)), layer.direction = uint32_t(below(3));
    layer.batch_first = uint32_t(below(2)), layer.couples_forget = uint32_t(below(2));
    layer.clip = number();
    for (uint32_t i = 0; i < LK_WORK_DIRECTIONS * LK_WORK_ACTIVATIONS; i++) {
      layer.activations[i / LK_WORK_ACTIVATIONS][i % LK_WORK_ACTIVATIONS] = uint32_t(below(11));
      layer.alphas[i / LK_WORK_ACTIVATIONS][i % LK_WORK_ACTIVATIONS] = number();
      layer.betas[i / LK_WORK_ACTIVATIONS][i % LK_WORK_ACTIVATIONS] = number();
    }
    return work;
  }

  // The same but for one member, whichever it is.
  lk_work change(const lk_work &from) {
    lk_work work = from;
    const uint32_t role = any_role(work);
    lk_tensor_desc &tensor = work.tensors[role];
    const uint32_t at = uint32_t(below(LK_MAX_SPATIAL));
    int64_t *const window[] = {work.window.kernel, work.window.strides, work.window.dilations,
                               work.window.begin,  work.window.out,     work.window.end};
    switch (below(35)) {
    case 0:
      work.kind = (work.kind + 1) % LK_WORK_KINDS;
      break;
    case 1:
      tensor.dtype = tensor.dtype == LK_F32 ? LK_BF16 : LK_F32;
      break;
    case 2:
      tensor.layout = tensor.layout == 1 ? LK_LAYOUT_ANY : 1;
      break;
    case 3:
      if (tensor.rank == 0) return change(from);
      tensor.dims[below(tensor.rank)]++;
      break;
    case 4:
      if (tensor.rank == LK_MAX_RANK) return change(from);
      tensor.dims[tensor.rank++] = 1;
      break;
    case 5:
      work.constants ^= 1u << below(LK_ROLES);
      break;
    case 6:
      if (work.window.rank == 0) return change(from);
      window[below(6)][at % work.window.rank]++;
      break;
    case 7:
      work.groups++;
      break;
    case 8:
      work.lrn.size++;
      break;
    case 9:
      work.lrn.alpha += 1;
      break;
    case 10:
      work.lrn.beta += 1;
      break;
    case 11:
      work.lrn.bias += 1;
      break;
    case 12:
      work.axes ^= 1u << below(8);
      break;
    case 13:
      work.pooling = (work.pooling + 1) % 4;
      break;
    case 14:
      work.column_major ^= 1;
      break;
    case 15:
      work.is_centered ^= 1;
      break;
    case 16:
      work.epsilon = work.epsilon == 0 ? -0.0f : work.epsilon * 2;
      break;
    case 17:
      (below(2) != 0 ? work.orders[0] : work.orders[1]).swaps ^= 1;
      break;
    case 18:
      (below(2) != 0 ? work.orders[0] : work.orders[1]).batch_inside ^= 1;
      break;
    case 19:
      if (work.n_post_ops == 0) return change(from);
      change_post_op(&work.post_ops[below(work.n_post_ops)]);
      break;
    case 20:
      if (work.n_post_ops == 0) return change(from);
      work.n_post_ops--;
      break;
    case 21:
      work.reducing ^= 1;
      break;
    case 22:
      change_resize(&work.resize);
      break;
    case 23:
      work.resize.cubic += 1;
      break;
    case 24:
      work.resize.extrapolation += 1;
      break;
    case 25:
      if (!move_tensor(&work, role, below(2) != 0 ? any_operand() : uint32_t(below(LK_ROLES)))) {
        return change(from);
      }
      break;
    case 26:
      work.factor += 1;
      break;
    case 27:
      work.bits.block++;
      break;
    case 28:
      work.bits.width++;
      break;
    case 29:
      work.bits.takes_bytes ^= 1;
      break;
    case 30:
      change_recurrent(&work.recurrent);
      break;
    case 31:
      change_attention(&work.attention);
      break;
    case 32:
      work.order[below(LK_MAX_RANK)] ^= 1;
      break;
    case 33:
      work.positive ^= 1u << below(LK_ROLES);
      break;
    default: // a tensor that is gone
      work.roles &= ~(1u << role);
    }
    return work;
  }

private:
  uint32_t any_operand() { return uint32_t(LK_ROLE_OPERAND + below(LK_WORK_OPERANDS)); }
  float number() { return float(below(7)) / 4 - 0.5f; }
  void add_tensor(lk_work *work, uint32_t role) {
    lk_tensor_desc desc = {};
    desc.dtype = below(2) != 0 ? uint32_t(LK_F32) : uint32_t(LK_U8);
    desc.rank = uint32_t(below(5));
    desc.layout = below(4) == 0 ? LK_LAYOUT_ANY : lk_layout(below(3));
    for (uint32_t i = 0; i < desc.rank; i++) desc.dims[i] = below(300);
    work->roles |= 1u << role;
    work->tensors[role] = desc;
  }
  uint32_t any_role(const lk_work &work) {
    uint32_t role = uint32_t(below(LK_ROLES));
    while ((work.roles >> role & 1) == 0) role = (role + 1) % LK_ROLES;
    return role;
  }
  void change_resize(lk_work_resize *resize) {
    uint32_t *const numbers[] = {&resize->interpolation,   &resize->coordinates,
                                 &resize->nearest,         &resize->antialias,
                                 &resize->exclude_outside, &resize->rounded};
    double *const lists[] = {resize->up, resize->down, resize->start, resize->end};
    if (below(2) != 0) {
      *numbers[below(6)] ^= 1;
    } else {
      lists[below(4)][below(LK_MAX_RANK)] += 0.5;
    }
  }
  void change_recurrent(lk_work_recurrent *layer) {
    uint32_t *const numbers[] = {&layer->cell, &layer->direction, &layer->batch_first,
                                 &layer->couples_forget};
    const int64_t d = below(LK_WORK_DIRECTIONS), i = below(LK_WORK_ACTIVATIONS);
    switch (below(5)) {
    case 0:
      *numbers[below(4)] ^= 1;
      break;
    case 1:
      layer->clip += 1;
      break;
    case 2:
      layer->activations[d][i]++;
      break;
    case 3:
      layer->alphas[d][i] += 1;
      break;
    default:
      layer->betas[d][i] += 1;
    }
  }
  lk_heads_place place() { return {below(3), below(3), below(3), below(3)}; }
  lk_work_attention attention() {
    lk_work_attention made = {};
    made.batch = below(3), made.heads = below(3), made.kv_heads = below(3);
    made.queries = below(3), made.keys = below(3), made.size = below(3), made.v_size = below(3);
    made.q = place(), made.k = place(), made.v = place(), made.y = place();
    made.past = below(3), made.left = below(3) - 1, made.right = below(3) - 1;
    made.has_past = uint32_t(below(2)), made.scale = number(), made.softcap = number();
    made.sink = uint32_t(below(3)), made.stage = uint32_t(below(4)), made.hidden = number();
    made.mask_replaces = uint32_t(below(2)), made.empty_is_nan = uint32_t(below(2));
    made.nan_is_zero = uint32_t(below(2));
    return made;
  }
  void change_attention(lk_work_attention *of) {
    int64_t *const numbers[] = {&of->batch, &of->heads,  &of->kv_heads, &of->queries, &of->keys,
                                &of->size,  &of->v_size, &of->past,     &of->left,    &of->right};
    uint32_t *const words[] = {&of->has_past,      &of->sink,         &of->stage,
                               &of->mask_replaces, &of->empty_is_nan, &of->nan_is_zero};
    float *const floats[] = {&of->scale, &of->softcap, &of->hidden};
    lk_heads_place *const places[] = {&of->q, &of->k, &of->v, &of->y};
    lk_heads_place *const at = places[below(4)];
    int64_t *const of_place[] = {&at->first, &at->batch, &at->head, &at->row};
    switch (below(4)) {
    case 0:
      ++*numbers[below(10)];
      break;
    case 1:
      *words[below(6)] ^= 1;
      break;
    case 2:
      *floats[below(3)] += 1;
      break;
    default:
      ++*of_place[below(4)];
    }
  }
  // It becomes another role's, which is not there, and no post-op's.
  bool move_tensor(lk_work *work, uint32_t from, uint32_t to) {
    if ((work->roles >> to & 1) != 0) return false;
    for (uint32_t i = 0; i < work->n_post_ops; i++) {
      if (work->post_ops[i].operand == from) return false;
    }
    work->tensors[to] = work->tensors[from];
    work->tensors[from] = {};
    work->roles ^= 1u << from | 1u << to;
    return true;
  }
  void change_post_op(lk_work_post_op *post_op) {
    switch (below(4)) {
    case 0:
      post_op->kind++;
      break;
    case 1:
      post_op->operand = post_op->operand != 0 ? 0 : uint32_t(LK_ROLE_OPERAND);
      break;
    case 2:
      post_op->alpha += 1;
      break;
    default:
      post_op->beta += 1;
    }
  }
  std::mt19937_64 random_;
};

} // namespace lk
