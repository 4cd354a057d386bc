/* What kernels fetch for those that come after them. */
#include "ops/kernel/kernel.h"

#include "base/team/team.h"

static _Thread_local const lk_kernel_ahead *ahead_of_thread
    __attribute__((tls_model("initial-exec")));

void lk_kernel_set_ahead(const lk_kernel_ahead *ahead) {
  ahead_of_thread = ahead;
}

lk_kernel_ahead lk_kernel_get_ahead(void) {
  return ahead_of_thread != NULL ? *ahead_of_thread : (lk_kernel_ahead){0};
}

lk_kernel_ahead lk_kernel_ahead_of(const lk_kernel_loop *loop, int64_t turn, int64_t count) {
  if (loop->ahead.at == NULL) return (lk_kernel_ahead){0};
  /* parts are those of lk_team_for; the next loop has as many */
  const int64_t parts = lk_team_size(), part = ((turn + 1) * parts + count - 1) / count;
  if (count * part / parts != turn + 1) return (lk_kernel_ahead){0};
  const size_t first = loop->ahead.bytes * (size_t)(part - 1) / (size_t)parts;
  const size_t end = loop->ahead.bytes * (size_t)part / (size_t)parts;
  return (lk_kernel_ahead){loop->ahead.at + first, end - first};
}
