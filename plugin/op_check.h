/* What op_create refuses of a description before it looks at the operator. */
#pragma once

#include <latchkey/latchkey.h>

/* `desc` has been read by its size. */
lk_status lk_node_desc_check(const lk_node_desc *desc, lk_error *error);
