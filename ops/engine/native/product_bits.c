/* Products by matrices of few bits. Constant weights stay so, in panels; a product unpacks them a
 * block at a time, for all its rows. Others are unpacked as a whole in each run. */
#include "base/status.h"
#include "base/tensor.h"
#include "ops/engine/native/native.h"
#include "ops/kernel/integer/bits_panels.h"
#include "ops/plan/packing.h"
#include "ops/plan/product_steps.h"

/* What weights are made of, in the order of the kernel's operands. */
static const lk_role parts[] = {LK_ROLE_WEIGHTS, LK_ROLE_WEIGHTS_SCALE, LK_ROLE_WEIGHTS_ZERO};
enum { N_PARTS = sizeof parts / sizeof *parts };

static lk_block_bits describe(const lk_work *work) {
  const lk_tensor_desc *src = &work->tensors[LK_ROLE_SRC], *dst = &work->tensors[LK_ROLE_DST];
  const bool has_zeros = lk_work_has(work, LK_ROLE_WEIGHTS_ZERO);
  const bool is_packed = has_zeros && work->tensors[LK_ROLE_WEIGHTS_ZERO].dtype == LK_U8;
  return (lk_block_bits){.rows = dst->dims[dst->rank - 1],
                         .columns = src->dims[src->rank - 1],
                         .block = work->bits.block,
                         .bits = work->bits.width,
                         .zeros = !has_zeros  ? LK_BLOCK_ZEROS_NONE
                                  : is_packed ? LK_BLOCK_ZEROS_PACKED
                                              : LK_BLOCK_ZEROS_REAL};
}

typedef struct bits_packing {
  lk_bits_panels panels;
  lk_block_operands from; /* without numbers */
} bits_packing;

static lk_status pack(const void *params, const void *plain, void *to, lk_error *error) {
  const bits_packing *self = params;
  lk_block_operands from = self->from;
  (void)error;
  from.numbers = plain;
  lk_bits_panels_pack(&self->panels, &from, to);
  return LK_OK;
}

static lk_status number_of(const lk_node_constant *constant, int64_t *out, lk_error *error) {
  uint64_t id = 0;
  LK_RETURN_NOT_OK(lk_content_settle_id(constant->content, &id, error));
  *out = (int64_t)id;
  return LK_OK;
}

/* The type that numbers are widened from, which their bytes do not tell. */
static int64_t half_type(const lk_planner *planner, uint32_t input) {
  return lk_planner_half_type(planner, LK_PLACE_INPUT, input);
}

/* Of constants. Their copies are found by the contents of all three, and by what these mean. */
static lk_status take_constant(lk_planner *planner, const lk_task *task, const lk_matmul *matmul,
                               lk_operand *out, lk_error *error) {
  const lk_node_constant *constants = planner->node->constants;
  const bool has_zeros = lk_work_has(&task->work, LK_ROLE_WEIGHTS_ZERO);
  const uint32_t of_scales = task->from[LK_ROLE_WEIGHTS_SCALE].index;
  const uint32_t of_zeros = has_zeros ? task->from[LK_ROLE_WEIGHTS_ZERO].index : 0;
  bits_packing packing = {.panels = {.bits = describe(&task->work),
                                     .panel = matmul->product.panel,
                                     .panels = matmul->product.panels}};
  const lk_block_bits *bits = &packing.panels.bits;
  int64_t scales_id = 0, zeros_id = 0;
  LK_RETURN_NOT_OK(number_of(&constants[of_scales], &scales_id, error));
  if (has_zeros) LK_RETURN_NOT_OK(number_of(&constants[of_zeros], &zeros_id, error));
  const lk_weights_layout layout = {
      .numbers = {LK_PACKED_BITS, bits->columns, bits->rows, bits->block, bits->bits, bits->zeros,
                  matmul->product.panel, scales_id, zeros_id, half_type(planner, of_scales),
                  has_zeros ? half_type(planner, of_zeros) : 0}};
  const lk_packer packer = {pack, NULL, &packing, sizeof packing};
  const size_t bytes = lk_bits_panels_size(&packing.panels);
  lk_packed *scales = NULL, *zeros = NULL;
  lk_status status = LK_OK;
  LK_TRY(lk_planner_constant(planner, of_scales, &scales, error));
  packing.from.scales = lk_packed_data(scales);
  if (has_zeros) {
    LK_TRY(lk_planner_constant(planner, of_zeros, &zeros, error));
    packing.from.zeros = lk_packed_data(zeros);
  }
  LK_TRY(lk_planner_packed(planner, task->from[LK_ROLE_WEIGHTS].index, &layout, bytes, &packer, out,
                           error));

cleanup:
  lk_packed_release(zeros);
  lk_packed_release(scales);
  return status;
}

/* Of a run. */
static lk_status take_input(lk_planner *planner, const lk_task *task, lk_operand *out,
                            lk_error *error) {
  const lk_block_bits bits = describe(&task->work);
  const int64_t dims[] = {bits.rows, bits.columns};
  const lk_tensor_desc desc = lk_tensor_desc_make(LK_F32, 2, dims);
  lk_operand operands[N_PARTS + 1];
  uint32_t n = 0;
  for (uint32_t i = 0; i < N_PARTS; i++) {
    if (!lk_work_has(&task->work, parts[i])) continue;
    LK_RETURN_NOT_OK(lk_task_take(planner, task, parts[i], LK_LAYOUT_PLAIN, &operands[n++], error));
  }
  LK_RETURN_NOT_OK(lk_planner_temp(planner, &desc, out, error));
  operands[n++] = *out;
  return lk_planner_kernel(planner, lk_block_bits_kernel, "unpack", &bits, sizeof bits, operands, n,
                           error);
}

static lk_status take_weights(lk_planner *planner, const void *task, const lk_matmul *matmul,
                              lk_operand *out, lk_error *error) {
  return matmul->b_is_packed ? take_constant(planner, task, matmul, out, error)
                             : take_input(planner, task, out, error);
}

static bool are_constant(const lk_planner *planner, const lk_task *task) {
  for (uint32_t i = 0; i < N_PARTS; i++) {
    if (!lk_work_has(&task->work, parts[i])) continue;
    if (planner->node->constants[task->from[parts[i]].index].content == NULL) return false;
  }
  return true;
}

/* Src is input 0 of the node, and dst its output 0. */
static lk_status plan(lk_planner *planner, const lk_task *task, lk_error *error) {
  static const lk_matmul_order orders[2] = {{0}, {.swaps = true}};
  const lk_work *work = &task->work;
  const lk_block_bits bits = describe(work);
  const int64_t dims[] = {bits.rows, bits.columns};
  const lk_tensor_desc b = lk_tensor_desc_make(LK_F32, 2, dims);
  lk_tensor_desc a = work->tensors[LK_ROLE_SRC];
  a.layout = LK_LAYOUT_PLAIN; /* as it is taken */
  lk_matmul matmul = lk_matmul_of_ordered(&a, &b, orders, &work->tensors[LK_ROLE_DST]);
  matmul.b_is_packed = matmul.b_is_bits = are_constant(planner, task);
  const bool is_simple = matmul.batch_rank == 0 && matmul.a_k == 1;
  if (work->bits.takes_bytes != 0 && matmul.b_is_bits && is_simple) {
    matmul.left_bytes =
        (int64_t)lk_bits_left_size(&bits, lk_integer_loops_get(lk_isa_get()), matmul.rows);
  }
  return lk_plan_matmul_by(planner, &matmul, true, a.layout, take_weights, task, error);
}

const lk_planning lk_native_product_bits = {.plan = plan};
