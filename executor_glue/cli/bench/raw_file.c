/* --latencies: what was measured of each request, in a file.
 *
 * One row for each request, by when it began; in CSV with the shapes as text, in JSON with a number
 * into lists of shapes, since millions of requests may have few of them.
 */
#include "executor_glue/cli/bench/raw_file.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/whole_file.h"

/* In double quotes, as RFC 4180 has it. */
static void write_quoted(const char *text, FILE *stream) {
  (void)putc('"', stream);
  for (; *text != '\0'; text++) {
    if (*text == '"') (void)putc('"', stream);
    (void)putc(*text, stream);
  }
  (void)putc('"', stream);
}

/* Times count from the begin of the first request of the setting. */
static uint64_t since_first(const bench_result *result, const bench_sample *sample) {
  return sample->begin_ns - result->samples.items[0].begin_ns;
}

/* The engine is told where several are compared: else files of one engine each are compared. */
static void write_csv(const bench_result *results, uint32_t count, FILE *stream) {
  if (results[0].setting.engine != NULL) (void)fputs("engine,", stream);
  (void)fputs("threads,callers,batch,number,pass,shape,caller,begin_ns,ns,late_ns,new,ok\n",
              stream);
  for (uint32_t i = 0; i < count; i++) {
    const bench_result *result = &results[i];
    const bench_setting *setting = &result->setting;
    char batch[24] = "";
    if (setting->batch > 0) (void)snprintf(batch, sizeof batch, "%" PRId64, setting->batch);
    for (size_t s = 0; s < result->samples.count; s++) {
      const bench_sample *sample = &result->samples.items[s];
      if (setting->engine != NULL) (void)fprintf(stream, "%s,", result->engine);
      (void)fprintf(stream, "%d,%" PRIu32 ",%s,%zu,%" PRIu32 ",", setting->threads,
                    setting->callers, batch, s, sample->pass + 1);
      write_quoted(result->shapes[sample->request], stream);
      (void)fprintf(stream, ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%d\n", sample->caller,
                    since_first(result, sample), sample->ns, sample->late_ns, sample->is_new,
                    sample->ok);
    }
  }
}

static json_t *setting_json(const bench_result *result, uint64_t requests) {
  const bench_setting *setting = &result->setting;
  json_t *shapes = json_array();
  for (uint64_t r = 0; r < requests; r++) {
    (void)json_array_append_new(shapes, lk_json_text(result->shapes[r]));
  }
  return json_pack(
      "{s:s*, s:i, s:I, s:o, s:o}", "engine", setting->engine != NULL ? result->engine : NULL,
      "threads", (int)setting->threads, "callers", (json_int_t)setting->callers, "batch",
      setting->batch > 0 ? json_integer(setting->batch) : json_null(), "shapes", shapes);
}

static lk_status write_value(const json_t *value, FILE *stream, lk_error *error) {
  const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(9) | JSON_ENSURE_ASCII;
  if (value == NULL || (json_dumpf(value, stream, flags) != 0 && !ferror(stream))) {
    return lk_fail(error, LK_OUT_OF_MEMORY, "failed to allocate the JSON report");
  }
  return LK_OK;
}

/* By hand between the parts that are few: a tree of millions of numbers takes gigabytes. */
static lk_status write_setting(const bench_result *result, uint64_t requests, FILE *stream,
                               lk_error *error) {
  json_t *setting = setting_json(result, requests);
  (void)fputs("{\"setting\":", stream);
  lk_status status = write_value(setting, stream, error);
  json_decref(setting);
  (void)fputs(",\"rows\":[", stream);
  for (size_t s = 0; s < result->samples.count; s++) {
    const bench_sample *sample = &result->samples.items[s];
    (void)fprintf(
        stream, "%s\n[%" PRIu32 ",%" PRIu32 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%d]",
        s > 0 ? "," : "", sample->pass + 1, sample->request, sample->caller,
        since_first(result, sample), sample->ns, sample->late_ns, sample->is_new, sample->ok);
  }
  (void)fputs("]}", stream);
  return status;
}

static lk_status write_json(const bench_result *results, uint32_t count, uint64_t requests,
                            const json_t *report, FILE *stream, lk_error *error) {
  (void)fputs("{\"schema\":\"latchkey-bench-latencies-2\",\n\"report\":", stream);
  LK_RETURN_NOT_OK(write_value(report, stream, error));
  (void)fputs(",\n\"columns\":[\"pass\",\"request\",\"caller\",\"begin_ns\",\"ns\",\"late_ns\","
              "\"new\",\"ok\"]"
              ",\n\"latencies\":[",
              stream);
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0) (void)fputs(",\n", stream);
    LK_RETURN_NOT_OK(write_setting(&results[i], requests, stream, error));
  }
  (void)fputs("]}\n", stream);
  return LK_OK;
}

lk_status bench_raw_write(const bench_args *args, const bench_result *results, uint32_t count,
                          const json_t *report, lk_error *error) {
  lk_status status = LK_OK;
  lk_whole_file file = {0};
  LK_TRY(lk_whole_file_begin(lk_allocator_default(), "latencies", args->latencies, &file, error));
  if (bench_file_is(args->latencies, ".csv")) {
    write_csv(results, count, file.stream);
  } else {
    LK_TRY(write_json(results, count, args->common.inputs.requests, report, file.stream, error));
  }
  LK_TRY(lk_whole_file_end(&file, error));
  LK_TRY(lk_whole_file_commit(&file, error));

cleanup:
  lk_whole_file_discard(&file);
  return status;
}
