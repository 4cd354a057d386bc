/* What a step of a plan runs, and how much work that is. */
#include "ops/plan/step_info.h"

#include "ops/plan/product_steps.h"

lk_step_info lk_step_describe(const lk_plan_body *body, uint32_t index) {
  const lk_step *step = &lk_plan_steps(body)[index];
  static _Thread_local char tiles[128];
  lk_product_step_describe(step, tiles, sizeof tiles);
  return (lk_step_info){.struct_size = sizeof(lk_step_info),
                        .kind = step->kind,
                        .tiles = tiles,
                        .flops = step->flops,
                        .bytes = step->bytes,
                        .work = step->work};
}

const char *lk_plan_main_kernel(const lk_plan_body *body) {
  const lk_step *steps = lk_plan_steps(body), *most = NULL;
  for (uint32_t i = 0; i < body->n_steps; i++) {
    if (most == NULL || steps[i].flops > most->flops) most = &steps[i];
  }
  return most != NULL ? most->kind : "";
}
