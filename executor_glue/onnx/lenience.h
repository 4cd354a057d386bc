/* What a lenient load does with what Latchkey does not read. */
#pragma once

/* Who is told of each thing that is not read. `sentence` is borrowed. */
typedef struct lk_onnx_lenience {
  void (*tell)(void *arg, const char *sentence);
  void *arg;
} lk_onnx_lenience;
