// Ends what oneDNN throws before it comes to the library, which is C. It passes frames of C on its
// way, which are compiled with -fexceptions.
#include "ops/engine/onednn/exceptions.h"

#include <cxxabi.h>

#include <new>

extern "C" {
#include "ops/engine/onednn/status.h"
}

lk_status lk_onednn_try(lk_status (*fn)(void *arg), void *arg, const char *what, lk_error *error) {
  try {
    return fn(arg);
  } catch (const std::bad_alloc &) {
    return lk_onednn_check(error, dnnl_out_of_memory, what);
  } catch (const abi::__forced_unwind &) {
    throw; // the thread is being cancelled, which nobody may stop
  } catch (...) {
    return lk_onednn_fail(error, LK_INTERNAL, "failed to %s: oneDNN has thrown an exception", what);
  }
}
