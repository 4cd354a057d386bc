/* A provider: what one session of ONNX Runtime has of Latchkey. */
#pragma once

#include "executor_glue/ort/contexts.h"

/* `session` is read here only; `contexts` and `logger` must outlive the provider's runs. */
lk_status lk_ort_provider_create(lk_ort_contexts *contexts, const OrtSessionOptions *session,
                                 const OrtLogger *logger, OrtEp **out, lk_error *error);
void lk_ort_provider_destroy(OrtEp *ep); /* NULL is allowed */
