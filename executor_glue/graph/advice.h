/* What a sentence tells users to do, where several say the same. */
#pragma once

/* Where the own executor does not support something: the provider leaves it to ONNX Runtime. */
#define LK_ADVICE_PROVIDER "; ONNX Runtime may run the model, with latchkey.ort as its provider"
