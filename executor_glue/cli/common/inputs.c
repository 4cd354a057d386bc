/* The inputs of a series of requests: from .npy files, or random with drawn shapes. */
#include "executor_glue/cli/common/inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/tensor.h"
#include "base/text.h"
#include "executor_glue/cli/common/batch.h"
#include "executor_glue/cli/common/npy.h"

typedef struct series_input {
  void *data;
  int64_t capacity; /* elements that `data` has room for, when random */
  int32_t shape;    /* in the shape set, or -1: the shape never changes */
  bool shifts;  /* the values of request r begin r steps of LK_DATA_ALIGNMENT bytes further on */
  bool batched; /* its first dimension is the batch */
} series_input;

struct input_series {
  const lk_allocator *allocator;
  shape_set *shapes; /* borrowed */
  uint64_t seed, requests, distinct;
  int64_t batch;
  uint32_t count;
  series_input *inputs;     /* [count] */
  lk_named_tensor *current; /* [count] */
  bool *is_new;             /* [requests] */
};

/* ---- which input gets what ------------------------------------------------------------------- */

/* How closely the NAME of an option names an input: 2 with the scope, 1 without, 0 not at all. */
static int closeness(const input_args *args, const char *name, const char *input) {
  size_t length = args->scope != NULL ? strlen(args->scope) : 0;
  if (args->scope != NULL && strncmp(name, args->scope, length) == 0 && name[length] == '/' &&
      strcmp(name + length + 1, input) == 0) {
    return 2;
  }
  return strcmp(name, input) == 0 ? 1 : 0;
}

/* What the options say of an input. */
typedef struct input_source {
  const input_file *file; /* or NULL */
  int32_t shape;          /* or -1 */
} input_source;

/* The closest file and the closest shape; when one of them is closer than the other, that one
 * alone. */
static input_source find_source(const input_args *args, const char *input) {
  input_source found = {.shape = -1};
  int file_rank = 0;
  int shape_rank = 0;
  for (size_t i = 0; i < args->n_files; i++) {
    int rank = closeness(args, args->files[i].name, input);
    if (rank <= file_rank) continue;
    file_rank = rank;
    found.file = &args->files[i];
  }
  for (uint32_t i = 0; i < shape_set_count(args->shapes); i++) {
    int rank = closeness(args, shape_set_name(args->shapes, i), input);
    if (rank <= shape_rank) continue;
    shape_rank = rank;
    found.shape = (int32_t)i;
  }
  if (file_rank > shape_rank) found.shape = -1;
  if (shape_rank > file_rank) found.file = NULL;
  return found;
}

/* `from`: the first dimension that matters, 1 where a batch is given for the one before. */
static bool is_free(const lk_value_info *info, int32_t from) {
  if (info->rank < 0) return true;
  for (int32_t i = from; i < info->rank; i++) {
    if (info->dims[i] < 0) return true;
  }
  return false;
}

static bool lacks_shape(const cli_model *model, const input_args *args, const lk_value_info *info) {
  input_source source = find_source(args, info->name);
  const bool batched = args->batch > 0 && batch_sets(model, info);
  return is_free(info, batched ? 1 : 0) && source.file == NULL && source.shape < 0;
}

/* A shape that fits the declaration, for the sentence: small numbers for batch and channels, larger
 * ones behind them. */
static void write_example(const input_args *args, const lk_value_info *info, FILE *stream) {
  (void)fprintf(stream, "--shape '%s%s%s=", args->scope != NULL ? args->scope : "",
                args->scope != NULL ? "/" : "", info->name);
  if (info->rank < 0) (void)fputs("1x3x224x224", stream);
  for (int32_t i = 0; i < info->rank; i++) {
    int64_t example = i == 0 ? 1 : 64;
    if (i == 1 && info->rank > 2) example = 3;
    (void)fprintf(stream, "%s%" PRId64, i > 0 ? "x" : "",
                  info->dims[i] >= 0 ? info->dims[i] : example);
  }
  (void)fputs("'", stream);
}

/* The sentence for free dimensions: names all inputs that lack a shape. */
static lk_status check_shapes(const cli_model *model, const input_args *args, lk_error *error) {
  bool complete = true;
  char *names = NULL;
  char *examples = NULL;
  size_t size = 0;
  FILE *name_stream = open_memstream(&names, &size);
  FILE *example_stream = open_memstream(&examples, &size);
  for (uint32_t i = 0; i < cli_value_count(model, false); i++) {
    const lk_value_info info = cli_value_info(model, false, i);
    char text[CLI_VALUE_TEXT_CAPACITY];
    if (!lacks_shape(model, args, &info)) continue;
    complete = false;
    if (name_stream == NULL || example_stream == NULL) continue;
    (void)fprintf(name_stream, "%s'%s' (%s)", ftell(name_stream) > 0 ? ", " : "", info.name,
                  cli_value_text(&info, text));
    if (ftell(example_stream) > 0) (void)fputc(' ', example_stream);
    write_example(args, &info, example_stream);
  }
  if (name_stream != NULL) (void)fclose(name_stream);
  if (example_stream != NULL) (void)fclose(example_stream);
  char inputs[201] = "", example[201] = "";
  if (names != NULL) (void)lk_text_escape(names, inputs, sizeof inputs);
  if (examples != NULL) (void)lk_text_escape(examples, example, sizeof example);
  free(names);
  free(examples);
  if (complete) return LK_OK;
  return lk_fail(error, LK_INVALID_ARGUMENT,
                 "failed to choose shapes: the model leaves open %s; give them, for example %s",
                 inputs, example);
}

bool input_series_fits(const cli_model *model, const input_args *args, const char *name) {
  for (uint32_t i = 0; i < cli_value_count(model, false); i++) {
    if (closeness(args, name, cli_value_info(model, false, i).name) > 0) return true;
  }
  return false;
}

static lk_status check_name(const cli_model *model, const input_args *args, const char *name,
                            const char *option, lk_error *error) {
  if (args->scope != NULL || input_series_fits(model, args, name)) return LK_OK;
  return lk_fail(error, LK_NOT_FOUND,
                 "failed to use %s: the model has no input '%s', 'latchkey inspect' lists them",
                 option, name);
}

static lk_status check_names(const cli_model *model, const input_args *args, lk_error *error) {
  for (size_t i = 0; i < args->n_files; i++) {
    LK_RETURN_NOT_OK(check_name(model, args, args->files[i].name, "--input", error));
  }
  for (uint32_t i = 0; i < shape_set_count(args->shapes); i++) {
    const char *name = shape_set_name(args->shapes, i);
    LK_RETURN_NOT_OK(check_name(model, args, name, "--shape", error));
  }
  for (uint32_t i = 0; i < cli_value_count(model, false); i++) {
    const char *name = cli_value_info(model, false, i).name;
    input_source source = find_source(args, name);
    if (source.file == NULL || source.shape < 0) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to use --shape: input '%s' comes from a file, which has a shape", name);
  }
  return check_shapes(model, args, error);
}

static lk_status check_batch(const cli_model *model, const input_args *args, lk_error *error) {
  if (args->batch == 0) return LK_OK;
  LK_RETURN_NOT_OK(batch_check(model, error));
  for (uint32_t i = 0; i < cli_value_count(model, false); i++) {
    const lk_value_info info = cli_value_info(model, false, i);
    if (!batch_sets(model, &info) || find_source(args, info.name).file == NULL) continue;
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to use --batch: input '%s' comes from a file, which has a shape",
                   info.name);
  }
  return LK_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* k / 2048 as f16, exact for k < 2048. */
static uint16_t half_of(uint32_t k) {
  if (k == 0) return 0;
  uint32_t top = 31u - (uint32_t)__builtin_clz(k);
  return (uint16_t)(((top + 4u) << 10) | ((k << (10u - top)) & 0x3ffu));
}

static void fill(uint32_t dtype, void *data, int64_t elements, uint64_t seed) {
  size_t bytes = (size_t)elements * lk_dtype_size(dtype);
  if (dtype != LK_F32 && dtype != LK_F64 && dtype != LK_F16 && dtype != LK_BF16) {
    if (bytes > 0) memset(data, 0, bytes);
    return;
  }
  for (int64_t i = 0; i < elements; i++) {
    uint64_t random = splitmix(seed + (uint64_t)i * SPLITMIX_STEP);
    float single = (float)(random >> 40) * 0x1p-24f;
    if (dtype == LK_F32) {
      ((float *)data)[i] = single;
    } else if (dtype == LK_F64) {
      ((double *)data)[i] = (double)(random >> 11) * 0x1p-53;
    } else if (dtype == LK_F16) {
      ((uint16_t *)data)[i] = half_of((uint32_t)(random >> 53));
    } else {
      /* bf16 is the upper half of f32; 8 random bits lose nothing there. */
      uint32_t bits = 0;
      single = (float)(random >> 56) * 0x1p-8f;
      memcpy(&bits, &single, sizeof bits);
      ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
    }
  }
}

static void draw(input_series *series, uint64_t request) {
  uint64_t state = splitmix(series->seed + request * SPLITMIX_STEP);
  shape_set_draw(series->shapes, &state);
  for (uint32_t i = 0; i < series->count; i++) {
    lk_tensor_desc *desc = &series->current[i].tensor.desc;
    if (series->inputs[i].shape >= 0) {
      shape_set_get(series->shapes, (uint32_t)series->inputs[i].shape, desc);
      if (series->inputs[i].batched && desc->rank > 0) desc->dims[0] = series->batch;
    }
  }
}

/* The shapes of all requests, a row for each. */
typedef struct shape_rows {
  unsigned char *bytes;
  size_t row_bytes;
} shape_rows;

/* Equal rows in the order of the requests. */
static int compare_requests(const void *a, const void *b, void *of) {
  const shape_rows *rows = of;
  const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  const int order = memcmp(rows->bytes + left * rows->row_bytes,
                           rows->bytes + right * rows->row_bytes, rows->row_bytes);
  return order != 0 ? order : (left > right) - (left < right);
}

/* Draws all requests once: finds how much memory each input needs, and which shapes are new. */
static lk_status survey(input_series *series, lk_error *error) {
  lk_status status = LK_OK;
  const size_t row_bytes = series->count * sizeof(lk_tensor_desc);
  bool varies = shape_set_varies(series->shapes);
  uint64_t requests = varies ? series->requests : 1;
  shape_rows rows = {lk_calloc(series->allocator, requests, row_bytes), row_bytes};
  uint64_t *order = lk_calloc(series->allocator, requests, sizeof *order);
  if (rows.bytes == NULL || order == NULL) {
    LK_TRY(lk_fail_memory(error, "shapes", requests * (row_bytes + sizeof *order)));
  }
  for (uint64_t r = 0; r < requests; r++) {
    draw(series, r);
    for (uint32_t i = 0; i < series->count; i++) {
      const lk_named_tensor *input = &series->current[i];
      int64_t elements = 0;
      LK_TRY(lk_tensor_size(&input->tensor.desc, input->name, &elements, NULL, error));
      if (elements > series->inputs[i].capacity) series->inputs[i].capacity = elements;
      memcpy(rows.bytes + r * row_bytes + i * sizeof(lk_tensor_desc), &input->tensor.desc,
             sizeof(lk_tensor_desc));
    }
    order[r] = r;
  }
  qsort_r(order, requests, sizeof *order, compare_requests, &rows);
  for (uint64_t i = 0; i < requests; i++) {
    const unsigned char *row = rows.bytes + order[i] * row_bytes;
    if (i > 0 && memcmp(row, rows.bytes + order[i - 1] * row_bytes, row_bytes) == 0) continue;
    series->is_new[order[i]] = true;
    series->distinct++;
  }

cleanup:
  lk_free(series->allocator, rows.bytes);
  lk_free(series->allocator, order);
  return status;
}

/* ---- life ------------------------------------------------------------------------------------ */

static lk_status open_inputs(input_series *series, const cli_model *model, const input_args *args,
                             lk_error *error) {
  for (uint32_t i = 0; i < series->count; i++) {
    const lk_value_info info = cli_value_info(model, false, i);
    input_source source = find_source(args, info.name);
    lk_tensor *tensor = &series->current[i].tensor;
    series->current[i].name = info.name;
    series->inputs[i].shape = source.shape;
    series->inputs[i].batched = args->batch > 0 && batch_sets(model, &info);
    series->inputs[i].shifts = args->own_values && source.file == NULL;
    if (source.file != NULL) {
      LK_RETURN_NOT_OK(npy_read(series->allocator, source.file->path, tensor, error));
      series->inputs[i].data = tensor->data;
    } else {
      /* With a free dimension the shape comes with the draw, unless the batch alone is free. */
      const bool batched = series->inputs[i].batched;
      uint32_t rank = info.rank > 0 && !is_free(&info, batched ? 1 : 0) ? (uint32_t)info.rank : 0;
      tensor->desc = lk_tensor_desc_make(info.dtype, rank, info.dims);
      if (batched && rank > 0) tensor->desc.dims[0] = args->batch;
    }
  }
  return LK_OK;
}

lk_status input_series_create(const cli_model *model, const input_args *args, input_series **out,
                              lk_error *error) {
  lk_status status = LK_OK;
  const lk_allocator *allocator = lk_allocator_default();
  input_series *series = NULL;
  *out = NULL;

  LK_TRY(check_batch(model, args, error));
  LK_TRY(check_names(model, args, error));
  series = lk_calloc(allocator, 1, sizeof *series);
  if (series == NULL) LK_TRY(lk_fail_memory(error, "inputs", sizeof *series));
  *series = (input_series){.allocator = allocator,
                           .shapes = args->shapes,
                           .seed = args->seed,
                           .batch = args->batch,
                           .requests = args->requests};
  uint32_t count = cli_value_count(model, false);
  series->inputs = lk_calloc(allocator, count, sizeof *series->inputs);
  series->current = lk_calloc(allocator, count, sizeof *series->current);
  series->is_new = lk_calloc(allocator, args->requests, sizeof *series->is_new);
  if (series->inputs == NULL || series->current == NULL || series->is_new == NULL) {
    LK_TRY(lk_fail_memory(error, "inputs", count * sizeof *series->current + args->requests));
  }
  series->count = count;
  LK_TRY(open_inputs(series, model, args, error));
  LK_TRY(survey(series, error));
  for (uint32_t i = 0; i < count; i++) {
    series_input *input = &series->inputs[i];
    lk_tensor *tensor = &series->current[i].tensor;
    if (input->data != NULL) continue;
    if (input->shifts) {
      input->capacity +=
          (int64_t)((args->requests - 1) * LK_DATA_ALIGNMENT / lk_dtype_size(tensor->desc.dtype));
    }
    size_t bytes = (size_t)input->capacity * lk_dtype_size(tensor->desc.dtype);
    input->data = lk_alloc_aligned(allocator, bytes, LK_DATA_ALIGNMENT);
    if (input->data == NULL) LK_TRY(lk_fail_memory(error, series->current[i].name, bytes));
    fill(tensor->desc.dtype, input->data, input->capacity, splitmix(args->seed ^ (i + 1)));
    tensor->data = input->data;
  }
  *out = series;
  series = NULL;

cleanup:
  input_series_destroy(series);
  return status;
}

void input_series_destroy(input_series *series) {
  if (series == NULL) return;
  for (uint32_t i = 0; i < series->count; i++) {
    lk_free(series->allocator, series->inputs[i].data);
  }
  lk_free(series->allocator, series->inputs);
  lk_free(series->allocator, series->current);
  lk_free(series->allocator, series->is_new);
  lk_free(series->allocator, series);
}

const lk_named_tensor *input_series_get(input_series *series, uint64_t request) {
  draw(series, request);
  for (uint32_t i = 0; i < series->count; i++) {
    if (!series->inputs[i].shifts) continue;
    series->current[i].tensor.data =
        (unsigned char *)series->inputs[i].data + request * LK_DATA_ALIGNMENT;
  }
  return series->current;
}

uint32_t input_series_count(const input_series *series) {
  return series->count;
}

lk_status input_series_rows(input_series *series, lk_named_tensor **out, lk_error *error) {
  const size_t row = series->count * sizeof **out;
  *out = lk_calloc(lk_allocator_default(), series->requests, row);
  if (*out == NULL) return lk_fail_memory(error, "requests", series->requests * row);
  for (uint64_t r = 0; r < series->requests && row > 0; r++) {
    memcpy(*out + r * series->count, input_series_get(series, r), row);
  }
  return LK_OK;
}

uint64_t input_series_distinct(const input_series *series) {
  return series->distinct;
}

bool input_series_is_new(const input_series *series, uint64_t request) {
  return series->is_new[request];
}
