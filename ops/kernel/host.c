/* A step that is a host's own code. */
#include "ops/kernel/host.h"

#include "base/given.h"
#include "base/status.h"

/* What the host returns and writes is not trusted to be a status and a text. */
lk_status lk_host_status(const lk_operator *op, const char *what, lk_status status,
                         const lk_error *said, lk_error *error) {
  if (status == LK_OK) return LK_OK;
  if (!lk_is_status(status)) {
    return lk_fail(error, LK_INTERNAL,
                   "'%s' of operator %s returned %d, a status of lk_status is allowed", what,
                   op->op_type, (int)status);
  }
  const int length = (int)sizeof said->message - 1;
  if (said->message[0] != '\0') {
    return lk_fail(error, status, "%.*s", length, said->message);
  }
  return lk_fail(error, status, "'%s' of operator %s failed and gave no sentence (%s)", what,
                 op->op_type, lk_status_text(status));
}

lk_status lk_host_kernel(const void *params, void *const *pointers, lk_error *error) {
  const lk_host_step *step = params;
  const lk_tensor_desc *descs = (const lk_tensor_desc *)(step + 1);
  const void *inputs[LK_OPERATOR_MOST_TENSORS];
  uint32_t n = 0;
  for (uint32_t i = 0; i < step->n_inputs; i++) {
    inputs[i] = (step->present >> i & 1) != 0 ? pointers[n++] : NULL;
  }
  const lk_operator_run run = {.struct_size = sizeof run,
                               .user = step->op->user,
                               .params = descs + step->n_inputs + step->n_outputs,
                               .n_inputs = step->n_inputs,
                               .n_outputs = step->n_outputs,
                               .inputs = descs,
                               .outputs = descs + step->n_inputs,
                               .input_data = inputs,
                               .output_data = pointers + n,
                               .scratch =
                                   step->scratch_bytes > 0 ? pointers[n + step->n_outputs] : NULL,
                               .scratch_bytes = step->scratch_bytes};
  lk_error said;
  said.message[0] = '\0';
  const lk_status status = step->op->run(&run, &said);
  return lk_host_status(step->op, "run", status, &said, error);
}
