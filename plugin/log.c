/* Lines for the host's log. */
#include "base/text.h"
#include "plugin/internal.h"
#include "plugin/table.h"

void lk_context_log(lk_context *context, lk_log_level level, const char *line) {
  if (context->log != NULL && level > LK_LOG_DEFAULT && (int32_t)level <= context->log_level) {
    char safe[LK_TEXT_ESCAPED_BYTES(LK_ERROR_CAPACITY)];
    (void)lk_text_escape(line, safe, sizeof safe);
    context->log(context->log_user, level, safe);
  }
}
