/* One ONNX test case: a folder with model.onnx and test_data_set_N/{input,output}_N.pb. */
#pragma once

#include <stdbool.h>

#include "executor_glue/cli/common/compare.h"
#include "executor_glue/cli/common/model.h"

typedef enum test_result { TEST_OK, TEST_FAILED, TEST_SKIPPED } test_result;

/* The folder holds a model.onnx. */
bool test_case_is(const char *folder);

/* Opens the model in `model->context` and runs all its data sets; the session is closed again.
 * `reason` is filled when the result is not TEST_OK. Skipped is only what the library says it does
 * not support: an operator, an opset, a type. */
test_result test_case_run(const model_args *args, cli_model *model, const char *folder,
                          tolerance within, lk_error *reason);
