/* What computes works of each kind. */
#include "ops/engine/native/native.h"

const lk_planning *const lk_native_planning[LK_WORK_KINDS] = {
    [LK_WORK_CONV] = &lk_native_conv,
    [LK_WORK_CONV_TRANSPOSED] = &lk_native_conv,
};
