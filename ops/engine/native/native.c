/* What computes works of each kind. */
#include "ops/engine/native/native.h"

const lk_planning *const lk_native_planning[LK_WORK_KINDS] = {
    [LK_WORK_CONV] = &lk_native_conv,
    [LK_WORK_CONV_TRANSPOSED] = &lk_native_conv,
    [LK_WORK_PRODUCT] = &lk_native_product,
    [LK_WORK_SOFTMAX] = &lk_native_softmax,
    [LK_WORK_LOG_SOFTMAX] = &lk_native_softmax,
    [LK_WORK_HARDMAX] = &lk_native_hardmax,
    [LK_WORK_POOL] = &lk_native_pool,
    [LK_WORK_LRN] = &lk_native_lrn,
    [LK_WORK_LAYER_NORM] = &lk_native_layer_norm,
    [LK_WORK_GROUP_NORM] = &lk_native_group_norm,
    [LK_WORK_ELEMENT] = &lk_native_element,
    [LK_WORK_REDUCE] = &lk_native_reduce,
    [LK_WORK_RESIZE] = &lk_native_resize,
    [LK_WORK_PRODUCT_BITS] = &lk_native_product_bits,
    [LK_WORK_RECURRENT] = &lk_native_recurrent,
    [LK_WORK_ATTENTION] = &lk_native_attention,
    [LK_WORK_REORDER] = &lk_native_reorder,
    [LK_WORK_CONCAT] = &lk_native_concat,
    [LK_WORK_BATCH_NORM] = &lk_native_batch_norm,
};
