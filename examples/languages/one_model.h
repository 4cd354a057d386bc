/* A model with one input and one output of f32, for languages that call C: what they would have to
 * repeat of Latchkey's structs and tables of functions stays here, where the compiler checks it.
 * A program of yours changes this file to what its models take. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct one_model one_model;

/* Opens the model at `path`. NULL: it failed, and `message`, of `size` bytes, says why. */
one_model *one_model_open(const char *path, char *message, size_t size);

/* Runs the model on x, [rows][columns], and copies its output to y, which has room for `room`
 * numbers. Returns how many numbers the output has, or -1: `message` says why. Any number of
 * threads may run one model at once. */
int64_t one_model_run(one_model *model, const float *x, int64_t rows, int64_t columns, float *y,
                      int64_t room, char *message, size_t size);

/* Closes it. No run may be under way, and none may follow. NULL is allowed. */
void one_model_close(one_model *model);

#ifdef __cplusplus
}
#endif
