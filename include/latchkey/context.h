/* Contexts: what they are made with, and what they count. The functions are in the table
 * (latchkey.h), as are those of the other parts. */
#ifndef LATCHKEY_CONTEXT_H
#define LATCHKEY_CONTEXT_H

#include <latchkey/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_context lk_context;   /* cache, weights, options */
typedef struct lk_executor lk_executor; /* an identity that is never reused, and its limits */

typedef enum lk_cache_mode {
  LK_CACHE_DEFAULT = 0, /* LATCHKEY_CACHE, else shared */
  LK_CACHE_OFF = 1,     /* nothing is kept; run plans are off too; everything still works */
  LK_CACHE_THREAD = 2,  /* all tables belong to the calling thread */
  LK_CACHE_SHARED = 3   /* one table for all threads, a front table for each */
} lk_cache_mode;

/* What an amount of lk_context_options may be besides a number. 0 is LK_UNSET there, so that a
 * struct of zeroes with its struct_size has the defaults. */
#define LK_UNSET UINT64_MAX /* not given: the environment decides, then the default */
#define LK_UNLIMITED (UINT64_MAX - 1)
#define LK_NONE (UINT64_MAX - 2) /* no entry, no byte: nothing is kept */

typedef enum lk_log_level {
  LK_LOG_OFF = -1,
  LK_LOG_DEFAULT = 0, /* as an option: LATCHKEY_VERBOSE, else warnings */
  LK_LOG_WARNING = 1,
  LK_LOG_INFO = 2,
  LK_LOG_DEBUG = 3
} lk_log_level;

/* Called from any thread, with one line without a newline. It must not call the library. */
typedef void (*lk_log_fn)(void *user, lk_log_level level, const char *line);

/* Set to LK_CONTEXT_OPTIONS_INIT, then change what is wanted. Zero means "not given" in every
 * member. A value comes from here first, then from the environment variable, then from the default.
 * A bad value anywhere is LK_OUT_OF_RANGE and names the option or variable and its range. */
typedef struct lk_context_options {
  size_t struct_size;
  lk_allocator allocator; /* {0}: the C library's */
  uint32_t cache_mode;    /* lk_cache_mode; LATCHKEY_CACHE=off|thread|shared; default shared */
  int32_t threads;        /* 0 = unset; 1..1024; LATCHKEY_THREADS; default: processors_get */
  /* 0 = unset. Of these three, LK_NONE keeps nothing; the environment says that by 0. */
  uint64_t cache_entries; /* LATCHKEY_CACHE_ENTRIES; default 65536 */
  /* LATCHKEY_CACHE_BYTES, with k, m or g; default 20 MiB with native and auto, else 256 */
  uint64_t cache_bytes;
  uint64_t weights_bytes; /* packed weights; default unlimited */
  int32_t verbose;        /* lk_log_level; 0 = unset; LATCHKEY_VERBOSE=0..3, where 0 is off */
  uint32_t weights_apart; /* not 0: packed weights do not count for memory_bytes */
  lk_log_fn log;          /* NULL: lines are dropped */
  void *log_user;
  /* The most memory that the context holds: models, plans, keys, tables, arenas, outputs that the
   * library allocates, packed weights. 0 = unset; LATCHKEY_MEMORY_BYTES, with k, m or g; default:
   * the memory of the machine, or the limit of the process's control group. What does not fit is
   * LK_OUT_OF_MEMORY, after idle things were dropped. Files that are mapped and the stacks of
   * threads do not count. */
  uint64_t memory_bytes;
  lk_event_fn event; /* NULL: events are not told, and cost nothing */
  void *event_user;
  /* Where the process tells its statistics while the context lives, by a Unix socket that only its
   * user may open, and a thread of its own: a path, a folder, or "default" (docs/statistics.md).
   * NULL = unset; LATCHKEY_SOCKET; default: nowhere, as is "". What the environment asks for and
   * cannot be is logged; of an option, it fails. */
  const char *socket;
  /* Who computes what operators want (engine.h): "native", the library's own kernels, or an engine
   * that a module beside the library has, such as "onednn". What that does not take, native does.
   * "auto": native, and where sizes are fixed or recur "onednn" for what it takes less time for;
   * native alone where there is no such module.
   * NULL = unset; LATCHKEY_ENGINE; default "auto", whose module is opened where a size recurs for
   * the first time. LK_NOT_FOUND: there is no such module, or it cannot be used. */
  const char *engine;
  /* A file of measured times, which tuning_save writes: `auto` chooses by them where it has any.
   * NULL = unset; LATCHKEY_TUNING; default: none, as is "". It is read with any engine. Lines that
   * are damaged, or of another version, are skipped. LK_NOT_FOUND, LK_IO, LK_MALFORMED. */
  const char *tuning;
} lk_context_options;

#define LK_CONTEXT_OPTIONS_INIT                                                                    \
  {                                                                                                \
    sizeof(lk_context_options), {NULL, NULL, NULL}, 0, 0, LK_UNSET, LK_UNSET, LK_UNSET, 0, 0,      \
        NULL, NULL, LK_UNSET, NULL, NULL, NULL, NULL, NULL                                         \
  }

/* Where the value of an option comes from. */
typedef enum lk_option_source {
  LK_FROM_DEFAULT = 0,     /* nobody has said anything */
  LK_FROM_ARGUMENT = 1,    /* lk_context_options */
  LK_FROM_ENVIRONMENT = 2, /* the environment variable of the option */
  LK_FROM_MACHINE = 3,     /* what the machine has, or the affinity of the process */
  LK_FROM_CGROUP = 4,      /* a limit of the process's control group (version 2) */
  LK_FROM_CALL = 5         /* a function has changed it since: cache_set_capacity and the like */
} lk_option_source;

/* An option as it is in force. */
typedef struct lk_option_info {
  size_t struct_size;
  const char *name;     /* as in lk_context_options; "processors" and "max_isa": of the process */
  const char *variable; /* of the environment; "": none */
  uint32_t source;      /* lk_option_source */
  uint32_t reserved;
  char text[128]; /* the value: a number, "unlimited", a word such as "shared", a path */
} lk_option_info;

/* Who is asked for statistics by the socket of the process, in memory of the host's, which must not
 * move between reporter_enter and reporter_leave. */
typedef struct lk_reporter {
  lk_context *context;
  /* One value of JSON without a newline, for `release`; NULL: no memory. Called by a thread of the
   * library, which may call all of it but reporter_enter and reporter_leave. */
  char *(*make)(void *object);
  void (*release)(void *object, char *text);
  void *object;
  void *opaque[4]; /* the library's; zero at first */
} lk_reporter;

/* What a cache entry is for. Each kind has its own counters. */
typedef enum lk_kind {
  LK_KIND_NAME = 0,  /* a node's plan */
  LK_KIND_RUN = 1,   /* a run plan of a whole graph, and its frames */
  LK_KIND_USER = 2,  /* a value of the host's own */
  LK_KIND_VALUE = 3, /* what an engine has built, such as a primitive (engine.h) */
  LK_KIND_COUNT = 4
} lk_kind;

/* Times are counted by how long they are: bucket i has those that are less than 2^i us and in no
 * bucket before it, the last one the rest. */
#define LK_TIME_BUCKETS 24

typedef struct lk_kind_stats {
  uint64_t hits, misses, builds, failed_builds, waits, evictions;
  uint64_t entries, bytes;               /* now */
  uint64_t build_ns;                     /* total; nested builds are counted in each */
  uint64_t build_times[LK_TIME_BUCKETS]; /* of builds, failed ones too */
} lk_kind_stats;

/* Constants of fewer bytes are copied where they are not packed. */
#define LK_LENT_LEAST_BYTES ((uint64_t)1 << 20)

typedef struct lk_stats {
  size_t struct_size;
  uint64_t entries, bytes, peak_bytes;       /* linked in the cache */
  uint64_t unlinked_bytes;                   /* evicted, still in use by somebody */
  uint64_t capacity_entries, capacity_bytes; /* LK_UNLIMITED: none */
  uint64_t weights_entries, weights_bytes;   /* packed copies now */
  uint64_t weights_packed, weights_shared;   /* packings done; times one was found ready */
  uint64_t weights_capacity_bytes;
  uint64_t reorders;                        /* reorder steps in the plans that were built */
  uint64_t allocations;                     /* calls of the context's allocator so far */
  uint64_t memory_bytes, memory_peak_bytes; /* what memory_bytes of the options limits */
  uint64_t memory_limit_bytes;
  uint64_t memory_refusals;      /* blocks that did not fit */
  uint64_t memory_refused_bytes; /* the last of them */
  /* Of memory_bytes: packed weights, unless they are to be apart; freed blocks that wait for the
   * next run. */
  uint64_t memory_weights_bytes, memory_spare_bytes;
  /* Constants that plans read where their owner has them, such as a mapped file, and that do not
   * count: those of LK_LENT_LEAST_BYTES and more which are not packed. */
  uint64_t weights_lent_bytes;
  /* Works that the chosen engine took when nodes were bound, and that it left to `native`. The last
   * counts those of the latter that it has only slow reference implementations of, each once. */
  uint64_t engine_works, engine_left, engine_references;
  /* Choices of engine `auto`: by measured times, and by estimates. Works whose measured times the
   * context has; lines of the tuning file that were skipped, and works beyond 65,536. */
  uint64_t choices_measured, choices_estimated, tuning_works, tuning_skipped;
  /* Choices by times of other works of the size class, which are in neither of the former. And
   * works of `tuning_works` whose times are of the engine that is asked, in the state in which it
   * is: of its version, its instruction set and its number of threads. The times of the others are
   * not used. 0 until the engine is open. */
  uint64_t choices_of_class, tuning_fitting;
  lk_kind_stats kind[LK_KIND_COUNT]; /* last: a further kind moves nothing */
} lk_stats;

/* Works of one kind that the chosen engine left to `native` for one reason, or a part of them.
 * Texts are cut where they are longer. What is beyond some tens of reasons is counted together, as
 * work "others". */
typedef struct lk_engine_left_info {
  size_t struct_size;
  char work[32];   /* the kind, as value keys have it: "pool" */
  char reason[96]; /* as the engine gave it; "": it gave none */
  char node[64];   /* the output's name of the first node */
  uint64_t works;  /* so far: a node is asked for each time that it is bound */
  /* 1: it took the works, but not their last post-ops, or not f16 or bf16 as they are */
  uint32_t is_part;
  uint32_t reserved;
} lk_engine_left_info;

/* What has decided who computes a work. */
typedef enum lk_choice_rule {
  LK_CHOICE_NONE = 0,      /* nothing: the engine left the work to native, as `reason` says */
  LK_CHOICE_OPTION = 1,    /* the engine of the context, which computes all that it takes */
  LK_CHOICE_ESTIMATES = 2, /* engine `auto`: estimates */
  LK_CHOICE_MEASURED = 3,  /* engine `auto`: times of a tuning file, or of a run that measured */
  LK_CHOICE_OF_CLASS = 4   /* engine `auto`: such times of other works of the size class */
} lk_choice_rule;

/* What an engine has offered for a work of a node, and what was chosen, when the node was bound
 * last. Texts are cut where they are longer. */
typedef struct lk_engine_choice_info {
  size_t struct_size;
  char node[64];   /* the output's name */
  char work[32];   /* the kind, as value keys have it: "conv" */
  char engine[32]; /* that was asked besides native */
  char reason[96]; /* why native computes it; "": the engine gave none, or computes it */
  /* What a run takes: measured, or else estimated. 0: the engine has no offer. Estimates are of no
   * machine in particular: only their ratio counts, which with `is_of_class` was measured. */
  double native_ns, engine_ns;
  double build_ns; /* estimated */
  uint32_t is_engine, is_measured;
  /* Estimates of a run, also where it was measured; 0: the engine has no offer. */
  double estimated_native_ns, estimated_engine_ns;
  /* Of `engine_ns` and `estimated_engine_ns`: what brings tensors into the layouts that the engine
   * wants; estimated. */
  double reorder_ns;
  uint64_t tensor_bytes; /* of all tensors of the work; 0: the engine has no offer */
  uint64_t built_bytes;  /* of memory of what the engine has built for it; 0: nothing */
  uint32_t index;        /* among the works of the node, from 0 */
  uint32_t rule;         /* lk_choice_rule */
  /* Of the node, which the work may end with; and the first of these that the engine would take.
   * Native takes all. */
  uint32_t n_post_ops, taken_post_ops;
  /* 1: `engine_ns` is the estimate `native_ns` times what was measured: the ratio of all times of
   * works that differ from this one in sizes of the same class only. Then is_measured is 0. */
  uint32_t is_of_class;
  uint32_t reserved;
} lk_engine_choice_info;

#ifdef __cplusplus
}
#endif

#endif
