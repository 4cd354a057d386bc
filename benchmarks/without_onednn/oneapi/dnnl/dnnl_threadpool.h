// See dnnl.h.
#pragma once

#include <oneapi/dnnl/dnnl.h>
