/* Which inputs have the batch as their first dimension, for --batch. */
#include "executor_glue/cli/common/batch.h"

#include <string.h>

#include "base/status.h"
#include "base/text.h"

static bool begins_free(const lk_value_info *input) {
  return input->rank > 0 && input->dims[0] < 0;
}

/* "": it has none. */
static const char *first_symbol(const lk_value_info *input) {
  return input->symbols[0] != NULL ? input->symbols[0] : "";
}

lk_status batch_check(const cli_model *model, lk_error *error) {
  if (cli_value_count(model, false) == 0) {
    return lk_fail(error, LK_INVALID_ARGUMENT, "failed to use --batch: the model has no inputs");
  }
  const lk_value_info first = cli_value_info(model, false, 0);
  if (begins_free(&first)) return LK_OK;
  char name[201], text[CLI_VALUE_TEXT_CAPACITY];
  (void)lk_text_escape(first.name, name, sizeof name);
  (void)cli_value_text(&first, text);
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to use --batch: the first dimension of input '%s' (%.200s) is not free, "
                 "a model is needed that leaves it open",
                 name, text);
}

bool batch_sets(const cli_model *model, const lk_value_info *input) {
  const lk_value_info first = cli_value_info(model, false, 0);
  return begins_free(input) && strcmp(first_symbol(&first), first_symbol(input)) == 0;
}
