/* Which inputs have the batch as their first dimension, for --batch.
 *
 * A model does not say it. It is the first dimension of its first input, and so that of each input
 * whose first dimension has the same name there; dimensions without a name count as of one name.
 */
#pragma once

#include "executor_glue/cli/common/model.h"

/* LK_INVALID_ARGUMENT names the first input when its first dimension is not free. */
lk_status batch_check(const cli_model *model, lk_error *error);
/* After batch_check: --batch sets the first dimension of this input. */
bool batch_sets(const cli_model *model, const lk_value_info *input);
