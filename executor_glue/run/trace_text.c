#include "executor_glue/run/trace_text.h"

#include <errno.h> /* program_invocation_short_name */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/require.h"
#include "base/status.h"
#include "base/text.h"
#include "base/whole_file.h"

/* ---- a buffer that goes to a file, or grows ---- */

typedef struct writer {
  const lk_allocator *allocator;
  FILE *file; /* NULL: the text stays in memory */
  char *text;
  size_t length, capacity;
  bool failed; /* no memory, or the file */
  bool has_event;
} writer;

enum { BUFFER_BYTES = 65536 };

static bool flush(writer *self) {
  const size_t length = self->length;
  self->length = 0;
  return length == 0 || fwrite(self->text, 1, length, self->file) == length;
}

/* Room for `bytes` more. */
static bool reserve(writer *self, size_t bytes) {
  if (self->failed) return false;
  if (bytes <= self->capacity - self->length) return true;
  if (self->file != NULL && !flush(self)) self->failed = true;
  if (!self->failed && bytes > self->capacity - self->length) {
    const size_t grown = 2 * self->capacity + bytes + BUFFER_BYTES;
    char *text = lk_realloc(self->allocator, self->text, self->length, grown);
    if (text == NULL) {
      self->failed = true;
    } else {
      self->text = text;
      self->capacity = grown;
    }
  }
  return !self->failed;
}

static void put(writer *self, const char *text) {
  const size_t length = strlen(text);
  if (!reserve(self, length)) return;
  memcpy(self->text + self->length, text, length);
  self->length += length;
}

__attribute__((format(printf, 2, 3))) static void print(writer *self, const char *format, ...) {
  va_list args;
  if (!reserve(self, 256)) return; /* all that is printed here is short */
  va_start(args, format);
  const int length = vsnprintf(self->text + self->length, 256, format, args);
  va_end(args);
  self->length += (size_t)length;
}

/* In quotes. What is not valid UTF-8 is escaped as base/text.h says, and then for JSON. */
static void put_text(writer *self, const char *text) {
  const size_t capacity = LK_TEXT_ESCAPED_BYTES(strlen(text));
  if (!reserve(self, 3 * capacity + 2)) return;
  /* The escaped text behind the room for what becomes of it, which is twice as long at the most. */
  char *escaped = self->text + self->length + 2 * capacity + 2;
  const size_t length = lk_text_escape(text, escaped, capacity);
  char *to = self->text + self->length;
  *to++ = '"';
  for (size_t i = 0; i < length; i++) {
    if (escaped[i] == '"' || escaped[i] == '\\') *to++ = '\\';
    *to++ = escaped[i];
  }
  *to++ = '"';
  self->length = (size_t)(to - self->text);
}

static void put_member(writer *self, const char *name, const char *text) {
  put_text(self, name);
  put(self, ":");
  put_text(self, text);
}

/* ---- events ---- */

static void begin_event(writer *self, char phase, const char *category, const char *name) {
  put(self, self->has_event ? ",\n{" : "\n{");
  self->has_event = true;
  print(self, "\"ph\":\"%c\",\"pid\":%d,\"cat\":\"%s\",", phase, (int)getpid(), category);
  put_member(self, "name", name);
}

/* Microseconds, with the nanoseconds as a fraction. */
static void put_time(writer *self, const char *name, uint64_t ns) {
  print(self, ",\"%s\":%" PRIu64 ".%03u", name, ns / 1000, (unsigned)(ns % 1000));
}

/* Viewers read times as doubles, or cut what they read to whole nanoseconds, begins and durations
 * each by itself. So an end may come out two nanoseconds early, or later than the begin of what
 * follows, and then it is another nesting. What lies deeper therefore ends so much earlier. */
enum { NS_A_LEVEL = 2 };

static uint64_t shown_ns(const lk_trace_event *event) {
  const bool is_outer = event->kind == LK_TRACE_RUN;
  const bool is_inner = event->kind == LK_TRACE_STEP || event->kind == LK_TRACE_BIND;
  const uint64_t less = is_outer ? 0 : is_inner ? 2 * NS_A_LEVEL : NS_A_LEVEL;
  return event->ns > less ? event->ns - less : 0;
}

static void put_interval(writer *self, const lk_trace_event *event, const char *category,
                         const char *name) {
  begin_event(self, 'X', category, name);
  print(self, ",\"tid\":%" PRId32, event->thread);
  put_time(self, "ts", event->begin_ns);
  put_time(self, "dur", shown_ns(event));
  put(self, ",\"args\":{");
}

static const char *title_of(const lk_trace_event *event) {
  return event->labels != NULL ? event->labels->title : "";
}

static void put_run(writer *self, const lk_trace_event *event) {
  const lk_status status = (lk_status)event->number;
  put_interval(self, event, "run", "run");
  put_member(self, "model", title_of(event));
  put(self, ",");
  put_member(self, "status", lk_status_text(status));
  put(self, "}}");
}

static void put_wait(writer *self, const lk_trace_event *event, const char *name) {
  put_interval(self, event, "wait", name);
  print(self, "\"run\":%" PRIu64, event->run);
  if (event->kind == LK_TRACE_PROCESSORS) print(self, ",\"threads\":%" PRId32, event->number);
  put(self, "}}");
}

static void put_of_plan(writer *self, const lk_trace_event *event, const char *category,
                        const char *name) {
  put_interval(self, event, category, name);
  print(self, "\"run\":%" PRIu64 ",", event->run);
  if (event->kind == LK_TRACE_EXECUTE) print(self, "\"threads\":%" PRId32 ",", event->number);
  put_member(self, "inputs", title_of(event));
  put(self, "}}");
}

/* "Conv+bias,relu" */
static void put_node_interval(writer *self, const lk_trace_event *event, const char *category,
                              const char *verb, const lk_node_texts *node) {
  char name[256];
  (void)snprintf(name, sizeof name, "%s%s%s%s", verb, node->op_type,
                 node->fused[0] != '\0' ? "+" : "", node->fused);
  put_interval(self, event, category, name);
  print(self, "\"run\":%" PRIu64 ",", event->run);
  put_member(self, "node", node->name);
  put(self, ",");
  put_member(self, "output", node->output_name);
}

static void put_bind(writer *self, const lk_trace_event *event) {
  put_node_interval(self, event, "build", "bind ", &event->labels->nodes[event->index]);
  put(self, "}}");
}

static void put_step(writer *self, const lk_trace_event *event) {
  const lk_step_label *step = &event->labels->steps[event->index];
  put_node_interval(self, event, "operator", "", step->node);
  print(self, ",\"step\":%" PRIu32 ",\"threads\":%" PRId32 ",", step->index, event->number);
  put_member(self, "kernel", step->kind);
  put(self, ",");
  put_member(self, "tiles", step->tiles);
  put(self, ",");
  put_member(self, "engine", step->engine);
  put_time(self, "compute_us", event->value);
  print(self, ",\"flops\":%.0f,\"bytes\":%.0f}}", step->flops, step->bytes);
}

static void put_levels(writer *self, const lk_trace_event *event, const char *name,
                       const char *first, const char *second) {
  begin_event(self, 'C', "level", name);
  put_time(self, "ts", event->begin_ns);
  print(self, ",\"args\":{\"%s\":%" PRIu64 ",\"%s\":%" PRIu64 "}}", first, event->value, second,
        event->more);
}

/* Of one of the cache's entries. */
static void put_leaving(writer *self, const lk_trace_copy *copy, const lk_trace_event *event) {
  static const char *const things[LK_KIND_COUNT] = {[LK_KIND_NAME] = "plan",
                                                    [LK_KIND_RUN] = "run plan",
                                                    [LK_KIND_USER] = "value",
                                                    [LK_KIND_VALUE] = "primitive"};
  char name[32];
  (void)snprintf(name, sizeof name, "%s %s", event->kind == LK_TRACE_EVICT ? "evict" : "drop",
                 things[event->number]);
  begin_event(self, 'i', "cache", name);
  print(self, ",\"s\":\"t\",\"tid\":%" PRId32, event->thread);
  put_time(self, "ts", event->begin_ns);
  print(self, ",\"args\":{\"bytes\":%" PRIu64 ",", event->value);
  put_member(self, "key", lk_trace_copy_key(copy, event));
  put(self, "}}");
}

static void put_event(writer *self, const lk_trace_copy *copy, const lk_trace_event *event) {
  switch ((lk_trace_kind)event->kind) {
  case LK_TRACE_RUN:
    put_run(self, event);
    return;
  case LK_TRACE_PLACE:
    put_wait(self, event, "wait for other runs");
    return;
  case LK_TRACE_PROCESSORS:
    put_wait(self, event, "wait for processors");
    return;
  case LK_TRACE_BUILD_WAIT:
    put_wait(self, event, "wait for another thread's build");
    return;
  case LK_TRACE_BUILD:
    put_of_plan(self, event, "build", "build run plan");
    return;
  case LK_TRACE_EXECUTE:
    put_of_plan(self, event, "run", "execute");
    return;
  case LK_TRACE_BIND:
    put_bind(self, event);
    return;
  case LK_TRACE_STEP:
    put_step(self, event);
    return;
  case LK_TRACE_EVICT:
  case LK_TRACE_DROP:
    put_leaving(self, copy, event);
    return;
  case LK_TRACE_MEMORY:
    put_levels(self, event, "memory", "context_bytes", "cache_bytes");
    return;
  case LK_TRACE_CACHE:
    put_levels(self, event, "cache", "entries", "evictions");
    return;
  case LK_TRACE_THREADS:
    put_levels(self, event, "threads", "computing", "waiting_runs");
    return;
  }
}

/* ---- the whole ---- */

static void put_names(writer *self, const lk_trace_copy *copy) {
  begin_event(self, 'M', "__metadata", "process_name");
  put(self, ",\"args\":{");
  put_member(self, "name", program_invocation_short_name);
  put(self, "}}");
  for (size_t i = 0; i < copy->n_threads; i++) {
    begin_event(self, 'M', "__metadata", "thread_name");
    print(self, ",\"tid\":%" PRId32 ",\"args\":{", copy->threads[i].number);
    put_member(self, "name", copy->threads[i].name);
    put(self, "}}");
  }
}

static void put_all(writer *self, const lk_trace_copy *copy) {
  put(self, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"schema\":\"latchkey-trace-1\",");
  put_member(self, "version", lk_get_api(LK_API_VERSION)->version_text());
  print(self,
        ",\"clock\":\"CLOCK_MONOTONIC\",\"realtime_ahead_ns\":%" PRId64
        ",\"dropped_events\":%" PRIu64 "},\"traceEvents\":[",
        copy->realtime_ns, copy->dropped);
  put_names(self, copy);
  for (size_t i = 0; i < copy->n_events; i++) put_event(self, copy, &copy->events[i]);
  put(self, "\n]}\n");
}

lk_status lk_trace_text(lk_trace *trace, char **out_text, lk_error *error) {
  LK_REQUIRE("trace_text", error, trace, out_text);
  lk_trace_copy copy;
  *out_text = NULL;
  LK_RETURN_NOT_OK(lk_trace_copy_create(trace, &copy, error));
  writer self = {.allocator = copy.allocator};
  put_all(&self, &copy);
  if (reserve(&self, 1)) self.text[self.length] = '\0';
  if (self.failed) {
    lk_free(self.allocator, self.text);
    self.text = NULL;
  }
  lk_trace_copy_destroy(&copy);
  *out_text = self.text;
  return *out_text != NULL ? LK_OK : lk_fail_memory(error, "a trace's text", self.capacity);
}

/* Closes the file. */
static lk_status write_to(lk_whole_file *file, const lk_trace_copy *copy, lk_error *error) {
  writer self = {.allocator = copy->allocator, .file = file->stream};
  put_all(&self, copy);
  if (!self.failed && !flush(&self)) self.failed = true;
  lk_free(self.allocator, self.text);
  if (self.failed && ferror(file->stream) == 0) {
    return lk_fail_memory(error, "a trace's text", self.capacity);
  }
  LK_RETURN_NOT_OK(lk_whole_file_end(file, error));
  return lk_whole_file_commit(file, error);
}

lk_status lk_trace_save(lk_trace *trace, const char *path, lk_error *error) {
  LK_REQUIRE("trace_save", error, trace, path);
  lk_trace_copy copy;
  lk_whole_file file;
  LK_RETURN_NOT_OK(lk_trace_copy_create(trace, &copy, error));
  lk_status status = lk_whole_file_begin(copy.allocator, "a trace", path, &file, error);
  if (status == LK_OK) {
    status = write_to(&file, &copy, error);
    lk_whole_file_discard(&file);
  }
  lk_trace_copy_destroy(&copy);
  return status;
}

void lk_trace_text_release(lk_trace *trace, char *text) {
  lk_free(lk_trace_allocator(trace), text);
}
