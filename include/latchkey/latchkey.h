/* Level 1 of the ABI: context, executor, op, plan, frame, threads, and the cache itself.
 *
 * lk_get_api(LK_API_VERSION) returns one table of functions. Until the library's version 1.0, the
 * interface may change with each release, and each layout has a number of its own: a library that
 * was built with another header returns NULL. From 1.0 on, members are only added at the end.
 * Structs of options and descriptions begin with `struct_size`, which the caller sets to sizeof: a
 * longer struct from a newer header is accepted when the part that this library does not know is
 * zero, and of a longer struct that the library fills, that part becomes zero.
 *
 * Life of a node, for an executor of one's own:
 *   once:            context_create, executor_create, and op_create for each node of the graph
 *   for each shape:  op_bind (shapes in; a plan out, from the cache when it was seen before), and
 *                    frame_attach (argument handles for this plan in this frame)
 *   for each run:    op_run (frame, slot, pointers)
 * Where a node's output shapes follow from data, op_run_alloc at each run does the work of op_bind,
 * frame_attach and op_run.
 *
 * Threads: a context, an executor and an op may be used from any number of threads at once. A plan
 * is immutable and shared. A frame belongs to one thread at a time (op_run_lane says how several
 * may run in it). Destroying an object while another thread is inside a call with it is an error of
 * the caller, except where stated.
 *
 * NULL: a function that returns a status answers a pointer that must not be NULL by
 * LK_INVALID_ARGUMENT, and names it. op_run, op_run_lane and op_run_timed do not look, because they
 * are called for each node of each run; nor do functions without a status.
 */
#ifndef LATCHKEY_LATCHKEY_H
#define LATCHKEY_LATCHKEY_H

#include <latchkey/cache.h>
#include <latchkey/context.h>
#include <latchkey/engine.h>
#include <latchkey/operator.h>
#include <latchkey/plan.h>
#include <latchkey/threads.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LK_API_VERSION 9u

typedef struct lk_api {
  size_t struct_size;
  uint32_t version;
  uint32_t reserved;

  /* A text for a status; never NULL; static. */
  const char *(*status_text)(lk_status status);
  /* "0.1.0 (AVX2)": the version and the instruction set in use. Static. */
  const char *(*version_text)(void);

  /* Makes a context. `options` NULL: all defaults. LK_OUT_OF_RANGE for a bad option or environment
   * variable. */
  lk_status (*context_create)(const lk_context_options *options, lk_context **out_context,
                              lk_error *error);
  /* Destroys a context, whose sessions, executors, plans, keys, constants and references must be
   * gone. NULL is allowed. */
  void (*context_destroy)(lk_context *context);
  uint32_t (*context_cache_mode)(const lk_context *context); /* lk_cache_mode in force */
  int32_t (*context_threads)(const lk_context *context);
  const lk_allocator *(*context_allocator)(const lk_context *context);
  /* Passes a line to the context's log function if its level is wanted. */
  void (*context_log)(lk_context *context, lk_log_level level, const char *line);

  /* Asks for threads for a run, and waits until it may begin. `*out_threads` is `most` while every
   * run that is inside could have as many. Otherwise there is a crowd, and it is a share of the
   * processors, `least` at the least; a crowd has ended when some tens of runs in a row have met
   * none. A thread that is inside already, because a callback of one run begins another, is counted
   * once: it gets `least` without waiting. No result depends on the number, to the bit.
   * op_run does not ask: a host that runs ops asks once around all of them, or keeps count itself.
   * LK_CANCELLED, LK_DEADLINE: the wait has ended, nothing was granted, and threads_leave must not
   * be called. LK_OUT_OF_RANGE: not 1 <= least <= most <= 1024. */
  lk_status (*threads_enter)(lk_context *context, const lk_threads_ask *ask, int32_t *out_threads,
                             lk_error *error);
  /* Gives back what threads_enter granted, on the same thread, which remembers how much that was.
   * A thread that is not inside gives nothing back. */
  void (*threads_leave)(lk_context *context);
  lk_status (*threads_stats)(lk_threads_stats *out, lk_error *error);
  /* Sets how many threads of this process may compute at once, 1 to 1024; runs that are inside keep
   * theirs. Without it LATCHKEY_PROCESSORS decides, else the processors that the process may use by
   * its affinity and by the quota of its control group (version 2), which are read once.
   * LK_OUT_OF_RANGE. */
  lk_status (*processors_set)(int32_t processors, lk_error *error);
  int32_t (*processors_get)(void);

  /* Calls `fn` once for every `index` from 0 to `count` - 1, index 0 on this thread and the others
   * on threads of a team at the same time, and returns when all calls have returned. `threads` says
   * how many calls are wanted; 0: the context's number; more than 1024 count as 1024. `count` is
   * that number, or 1 where this thread works in a region already and where threads cannot be
   * started: so `fn` must do all the work whatever `count` is. A thread that is done with its call
   * may make the call of one that is late. All calls see what this thread wrote before, and this
   * thread sees afterwards what they wrote.
   * `fn` may call every function of the table. Operators that it runs are not split again, and each
   * index runs them in a lane of its own (op_run_lane). On this thread floating point is as the
   * host has set it, on the others as C starts it.
   * This function cannot fail. It does not ask whether processors are free: threads_enter does. */
  void (*parallel_run)(lk_context *context, int32_t threads, lk_parallel_fn fn, void *arg);
  /* How many regions of several threads this thread has begun so far, in operators and by
   * parallel_run. A host that lends its threads sees from it whether a run had any use for them. */
  uint64_t (*parallel_regions)(void);

  /* Opens a loan: until loan_close, regions of this thread of up to `threads` threads, this one
   * included, are shared with those that assist. Nobody waits for assistants: the library's threads
   * stand in for those that do not come.
   * A loan changes nothing where `threads` is 1 or less, where this thread has a team (another
   * loan, a frame_begin with operators behind it) or works in a region already, and where threads
   * cannot be started. */
  void (*loan_open)(lk_context *context, lk_loan *loan, int32_t threads);
  /* Closes a loan, on the thread that opened it, outside any region, and after the frame_end of
   * each frame_begin that came after loan_open. Every loan must be closed, also one that changes
   * nothing. */
  void (*loan_close)(lk_context *context, lk_loan *loan);
  /* Works for a loan on this thread until it is closed, and returns how many shares it has done.
   * Any thread but the one that opens the loan may call this, before or after loan_open; before, it
   * waits without sleeping. It returns 0 at once when `threads` - 1 others assist already, and when
   * the loan is closed or changes nothing. The thread's floating-point state is restored. */
  uint64_t (*loan_assist)(lk_context *context, lk_loan *loan);

  /* Makes an executor: an identity (its address and a uuid) that is never reused. `name` is for
   * people; it is copied, and may be NULL. LK_OUT_OF_MEMORY. */
  lk_status (*executor_create)(lk_context *context, const char *name, lk_executor **out_executor,
                               lk_error *error);
  /* Drops the executor's entries from every thread's tables, and nobody else's. Its ops, plans and
   * frames must be gone. NULL is allowed. */
  void (*executor_destroy)(lk_executor *executor);

  /* Makes an op of a node. Copies the description; lk_input_flags say when constants are copied.
   * LK_UNSUPPORTED names operator, node and opset; LK_INVALID_ARGUMENT names the attribute. */
  lk_status (*op_create)(lk_executor *executor, const lk_node_desc *node, lk_op **out_op,
                         lk_error *error);
  void (*op_destroy)(lk_op *op); /* plans outlive it; its constants are found no more. NULL: none */
  lk_status (*op_info)(const lk_op *op, lk_op_info *info, lk_error *error);

  /* Binds an op to shapes. `*inout_plan` is NULL or the plan of the last call, whose reference the
   * call takes over: when nothing has changed, one comparison shows it and the same plan is handed
   * back. Otherwise the name key is looked up, and only a miss builds. On failure `*inout_plan` is
   * released and NULL.
   * A shape input (op_info) that comes at run time and has elements but no data is not a failure:
   * the plan says known_when_run, knows only the types and ranks of its outputs, and cannot be
   * attached; see op_run_alloc.
   * LK_INVALID_ARGUMENT: types, ranks or shapes against the operator's rules; LK_OUT_OF_RANGE:
   * sizes that overflow; LK_UNSUPPORTED: no implementation for these types. */
  lk_status (*op_bind)(lk_op *op, const lk_bind_desc *bind, lk_plan **inout_plan, lk_error *error);
  lk_status (*plan_info)(const lk_plan *plan, lk_plan_info *info, lk_error *error);
  /* Type, shape and layout of output `index`; tensor_bytes says how much memory it needs. Of a plan
   * that is known_when_run, the dimensions are LK_DIM_UNKNOWN and the layout LK_LAYOUT_ANY; the
   * rank is LK_RANK_UNKNOWN and the type LK_DTYPE_NONE where these are not certain either.
   * LK_OUT_OF_RANGE: there is no such output. */
  lk_status (*plan_output)(const lk_plan *plan, uint32_t index, lk_tensor_desc *out,
                           lk_error *error);
  void (*plan_release)(lk_plan *plan);

  /* A frame lends scratch memory and argument handles to plans of this executor. */
  lk_status (*frame_create)(lk_executor *executor, lk_frame **out_frame, lk_error *error);
  void (*frame_destroy)(lk_frame *frame); /* NULL is allowed */
  /* Gives the frame at least `count` lanes; it has one from the start, and never loses any. A lane
   * has scratch memory of its own, so slots may run at the same time in different lanes.
   * LK_OUT_OF_RANGE: more than 1024. */
  lk_status (*frame_lanes)(lk_frame *frame, uint32_t count, lk_error *error);
  /* Prepares a plan to run in the frame, keeps a reference to it, and returns its slot.
   * LK_INVALID_ARGUMENT: the plan is known_when_run, or of another executor. */
  lk_status (*frame_attach)(lk_frame *frame, lk_plan *plan, uint32_t *out_slot, lk_error *error);
  /* Forgets all slots and their plans; keeps the memory. */
  void (*frame_reset)(lk_frame *frame);
  uint64_t (*frame_bytes)(const lk_frame *frame);
  /* Runs a plan. `inputs` [n_inputs], `outputs` [n_outputs]: the caller's memory, in the layouts of
   * the bind; pointers of constant, absent and zero-element tensors may be NULL. Latchkey's own
   * code takes no lock, allocates nothing and looks nothing up here. LK_OUT_OF_RANGE: the frame has
   * no such slot; LK_OUT_OF_MEMORY: threads cannot be started. */
  lk_status (*op_run)(lk_frame *frame, uint32_t slot, void *const *inputs, void *const *outputs,
                      lk_error *error);
  /* The same in a lane; op_run uses lane 0. Several threads may run slots of one frame at the same
   * time, as long as no two of them use the same slot or the same lane, and nothing else is done
   * with the frame meanwhile. */
  lk_status (*op_run_lane)(lk_frame *frame, uint32_t lane, uint32_t slot, void *const *inputs,
                           void *const *outputs, lk_error *error);
  /* Binds and runs an op in one call, for outputs whose shapes follow from data: of the node's own
   * inputs (known_when_run), or of a node before it. `bind` is as for op_bind, but has the data of
   * every input that comes at run time (NULL is allowed where there are no elements). The plan is
   * looked up by name key, values of shape inputs included, and only a miss builds. Then `alloc` is
   * called on this thread, once for each output in order; for one of 0 bytes, NULL is an answer
   * too. With in_place_input, `alloc` gives that input's memory for output 0. Then the plan runs.
   * On success `outputs` [n_outputs] has descriptions and pointers. Of an operator with the flag
   * LK_OP_DATA_DEPENDENT, `alloc` is asked for memory for the largest shape that is possible, and
   * the description has the true one, whose elements lie side by side from the beginning.
   * The memory that `alloc` gave stays the host's, also on failure, which leaves `outputs`
   * unchanged: a host that has to free it notes it in `arg`.
   * Slots of the frame stay as they are; its scratch memory may grow. Unlike op_run, this looks up
   * and allocates.
   * LK_OUT_OF_MEMORY: also when `alloc` gave NULL, which names the output and its bytes;
   * LK_INVALID_ARGUMENT: an input without data, a frame of another executor or one of
   * frame_bring_scratch; otherwise what op_bind and op_run say. */
  lk_status (*op_run_alloc)(lk_frame *frame, lk_op *op, const lk_bind_desc *bind,
                            lk_output_alloc_fn alloc, void *arg, lk_tensor *outputs,
                            lk_error *error);
  /* A bracket around a series of op_run on this thread, which then keeps its team from one to the
   * next, and uses at most `threads` threads; 0: the context's. In between, floating point is as C
   * starts it: rounding to nearest, denormals as they are, no traps. `frame_end` gives the team
   * back, and restores the host's floating-point state with the exceptions in it. An op_run outside
   * such a pair does all that by itself, as does every other function that computes (op_bind,
   * tensor_convert). */
  void (*frame_begin)(lk_frame *frame, int32_t threads);
  void (*frame_end)(lk_frame *frame);

  /* Bytes that a tensor of this description takes. LK_OUT_OF_RANGE: more than 2^47, or as many
   * along the dimensions that are not 0; no function takes a larger tensor.
   * LK_INVALID_ARGUMENT: the layout is unknown, or channels-last with a rank under 3. */
  lk_status (*tensor_bytes)(const lk_tensor_desc *desc, uint64_t *out_bytes, lk_error *error);
  /* Copies a tensor into another layout. LK_INVALID_ARGUMENT: types or shapes differ, a layout is
   * unknown, or data is missing. */
  lk_status (*tensor_convert)(const lk_tensor *from, const lk_tensor *to, lk_error *error);

  /* Finds the value of `key`, or builds it, once however many threads ask; then takes a reference.
   * `executor` NULL: the entry belongs to the context. `out_hit` may be NULL. All who wait for a
   * build that fails get its status, and nothing of it is kept. Where the build was ended by what
   * its thread watches (thread_watch), those who waited look for the key anew, which counts again.
   * LK_CYCLE: the build would wait for itself. Where nothing is kept, with the cache off or a
   * capacity of 0 (of the context or of `executor`), nobody waits: each call builds, at the same
   * time as others if need be, counts a miss, and its caller alone has the value. In per-thread
   * mode each thread builds once. A value that is larger than a limit is built once for those who
   * ask meanwhile, and then not kept.
   * LK_INVALID_ARGUMENT: `build` is NULL (cache_find looks without building); a key of another
   * context, or one of the library's own: keys of kind user are the host's, and those of kind run
   * that key_create has made. */
  lk_status (*get_or_create)(lk_context *context, lk_executor *executor, const lk_key *key,
                             lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                             lk_error *error);
  /* The same without a key object, where only the shapes of a key change from call to call. Kind,
   * scope, name, tag and generation are those of `like`, which key_create has made for `executor`;
   * flags, tensors, attributes and values are those of `desc`, whose other members are not read. */
  lk_status (*get_or_create_like)(lk_context *context, lk_executor *executor, const lk_key *like,
                                  const lk_key_desc *desc, lk_build_fn build, void *arg,
                                  lk_ref **out_ref, int *out_hit, lk_error *error);
  /* get_or_create with a text in place of a key: one that key_print has printed, for that key,
   * or one that the host has written, such as "user:out=mine", which equals no key of
   * key_create. This parses, allocates and hashes at every call; who asks often keeps a key. Of
   * the kinds, only user can be asked for by text. LK_MALFORMED, LK_OUT_OF_RANGE: as of key_parse;
   * else what get_or_create says. */
  lk_status (*get_or_create_text)(lk_context *context, lk_executor *executor, const char *text,
                                  lk_build_fn build, void *arg, lk_ref **out_ref, int *out_hit,
                                  lk_error *error);
  /* Finds the value of `key`, and takes a reference, or says that it is not there: LK_OK with
   * `*out_ref` NULL. It builds nothing, and does not wait: a value that is being built is not there
   * yet. What is found was used, and counts a hit; what is not counts a miss of the context and of
   * `executor`. With the cache off, nothing is found. A build may look for any key, its own too.
   * Keys of kind value (key_parse) find what an engine has built: the reference keeps it from being
   * evicted, and its value and charge are the engine's, for no host to read or change.
   * LK_INVALID_ARGUMENT: as of get_or_create, but for keys of kind value; LK_OUT_OF_MEMORY: at a
   * thread's first call alone. */
  lk_status (*cache_find)(lk_context *context, lk_executor *executor, const lk_key *key,
                          lk_ref **out_ref, lk_error *error);
  void *(*ref_value)(const lk_ref *ref);
  /* Takes one more reference to what the caller has one of, on any thread. Each is released by
   * itself. It counts no hit, and what was dropped or evicted stays so. */
  void (*ref_retain)(lk_ref *ref);
  void (*ref_release)(lk_ref *ref); /* NULL is allowed */
  /* Sets the bytes that an entry is charged for, when its value has grown or shrunk in use. */
  void (*ref_charge)(lk_ref *ref, uint64_t bytes);

  /* Sets the limits of a context (`executor` NULL) or of one executor. A lower limit evicts before
   * this returns, about in the order of the last use. 0, as LK_NONE, empties and disables. LK_UNSET
   * leaves a limit as it is. */
  lk_status (*cache_set_capacity)(lk_context *context, lk_executor *executor, uint64_t entries,
                                  uint64_t bytes, lk_error *error);
  lk_status (*cache_set_weights_capacity)(lk_context *context, uint64_t bytes, lk_error *error);
  /* Drops all entries of a context, or of one executor as executor_destroy does. */
  lk_status (*cache_clear)(lk_context *context, lk_executor *executor, lk_error *error);
  /* Drops one key: its entry leaves the cache, in per-thread mode the tables of all threads,
   * whoever uses it; the last reference destroys the value. The library's own keys (key_parse) are
   * dropped, too: who uses a plan or a primitive keeps it, who asks for it anew has it built.
   * `executor` NULL: whoever it belongs to; otherwise only where it belongs to that executor.
   * `out_dropped` (may be NULL): how many entries went; 0 is no failure. They count no eviction.
   * A build of the key that is under way, on whatever thread, goes on. Those who wait for it get
   * its value, which is not kept. So a call that begins when this has returned never gets a
   * value whose build began before; it builds anew, also while the earlier build goes on. A
   * build may drop any key, its own too.
   * In per-thread mode, or with LK_KEY_OF_THREAD, a key that key_create has made names the thread
   * that made it: another thread's key is another key.
   * LK_INVALID_ARGUMENT: a key or an executor of another context. */
  lk_status (*cache_drop)(lk_context *context, lk_executor *executor, const lk_key *key,
                          uint64_t *out_dropped, lk_error *error);
  /* Gives freed memory back to the operating system (malloc_trim). It takes milliseconds, in which
   * other threads may wait for memory. The library itself does it when a large session is closed,
   * and never while it serves a run. */
  void (*cache_trim)(lk_context *context);
  /* Sets memory_bytes of the options for what is allocated from now on; LK_UNSET leaves it as it
   * is. Nothing is dropped by that alone: cache_clear and the next request that does not fit do.
   * LK_OUT_OF_RANGE: 0. */
  lk_status (*memory_set_limit)(lk_context *context, uint64_t bytes, lk_error *error);
  lk_status (*cache_stats)(lk_context *context, lk_executor *executor, lk_stats *out,
                           lk_error *error);
  /* Shows every entry that the cache has at one moment, in per-thread mode those of all threads'
   * tables. `visit` runs afterwards, without a lock: it may use the cache. LK_OUT_OF_MEMORY. */
  lk_status (*cache_visit)(lk_context *context, lk_visit_fn visit, void *arg, lk_error *error);

  /* Keys of the host's own, see key.h. */
  lk_status (*key_create)(lk_context *context, lk_executor *executor, const lk_key_desc *desc,
                          lk_key **out_key, lk_error *error);
  lk_status (*key_parse)(lk_context *context, const char *text, lk_key **out_key, lk_error *error);
  /* Writes at most `capacity` bytes with the terminating NUL; `*out_length` (may be NULL) is the
   * length without it that the whole text has. */
  lk_status (*key_print)(lk_context *context, const lk_key *key, char *buffer, size_t capacity,
                         size_t *out_length, lk_error *error);
  void (*key_destroy)(lk_context *context, lk_key *key);

  /* The rows of the operator table: NULL when `index` is past the end. */
  const lk_op_row *(*op_row)(uint32_t index);
  /* The row of an operator at an opset; NULL: none. `domain` NULL is ai.onnx. */
  const lk_op_row *(*op_find)(const char *op_type, const char *domain, int32_t opset);

  /* A table of dimensions that are not known yet, for one thread at a time; `allocator` must live
   * longer. In descriptions that go with it, a dimension below LK_DIM_UNKNOWN is one of the table,
   * and equal numbers are equal in every run. */
  lk_status (*dims_create)(const lk_allocator *allocator, lk_dims **out_dims, lk_error *error);
  void (*dims_destroy)(lk_dims *dims); /* NULL is allowed */
  /* A dimension that is equal to nothing but itself; LK_DIM_UNKNOWN: no memory. */
  int64_t (*dims_open)(lk_dims *dims);
  /* What is certain of a node's outputs [n_outputs], without making an op: the same rules as
   * op_bind's, for inputs [n_inputs] of which not all is known. Not known is a type LK_DTYPE_NONE,
   * a rank LK_RANK_UNKNOWN, a dimension LK_DIM_UNKNOWN or one of the table, and a value without
   * data; `constant` of the node's inputs is not read. The same goes for outputs, but that no
   * dimension is LK_DIM_UNKNOWN. `out_copy_of` (may be NULL): the input that output 0 is, type and
   * elements, or -1. Failures as of op_create and op_bind: the node cannot run, whatever is not
   * known turns out to be. */
  lk_status (*op_infer)(lk_dims *dims, const lk_node_desc *node, const lk_tensor *inputs,
                        lk_tensor_desc *outputs, int32_t *out_copy_of, lk_error *error);

  /* Step `index` of a plan, of n_steps. LK_OUT_OF_RANGE: there is no such step. */
  lk_status (*plan_step)(const lk_plan *plan, uint32_t index, lk_step_info *out, lk_error *error);
  /* op_run_lane with a clock: writes what each step took to `times` [n_steps of the plan]. When a
   * step fails, its time and those of the steps behind it are not written. op_run and op_run_lane
   * read no clock. */
  lk_status (*op_run_timed)(lk_frame *frame, uint32_t lane, uint32_t slot, void *const *inputs,
                            void *const *outputs, lk_step_time *times, lk_error *error);
  /* Measures for about 150 ms what `threads` threads (0: the context's) can do, this one among
   * them, on memory of up to 256 MiB that it allocates meanwhile. What else runs on the machine
   * makes the numbers smaller; as parallel_run, this does not ask whether processors are free.
   * LK_OUT_OF_RANGE: not 0 to 1024; LK_OUT_OF_MEMORY. */
  lk_status (*machine_peak)(lk_context *context, int32_t threads, lk_machine_peak *out,
                            lk_error *error);
  /* Makes a frame to which nothing is attached yet one whose caller brings the scratch memory: the
   * frame itself has none. Where lk_plan_info has scratch_bytes, `outputs` of op_run, op_run_lane
   * and op_run_timed then has one more pointer behind those of the outputs: to memory of so many
   * bytes, aligned to 64, which nothing else uses during the call. It need not be the same from
   * call to call. op_run_alloc takes no such frame. */
  void (*frame_bring_scratch)(lk_frame *frame);
  /* From now on, until `watch` is NULL, operators that run in the frame and may take milliseconds
   * look about every 2 ms whether to stop, on the threads that share them, too. op_run and its like
   * then return LK_CANCELLED or LK_DEADLINE, and what they have written is undefined. Call it while
   * nothing runs in the frame, on the thread that is to be asked. What `watch` points to must live
   * until the watch ends; `watch` itself need not. LK_INVALID_ARGUMENT: a struct_size of 0. */
  lk_status (*frame_watch)(lk_frame *frame, const lk_watch *watch, lk_error *error);
  /* op_infer for graphs that compute shapes from dimensions: whole numbers (i64, i32, bool) whose
   * elements are known before a run, or follow from dimensions. `values` [n_inputs] (may be NULL):
   * of an input without data whose shape is known, its elements, LK_MAX_VALUES at most; or NULL. An
   * element is a number from 0 on, LK_DIM_UNKNOWN, or a term of the table, which also has the
   * numbers below 0. `out_values` [LK_MAX_VALUES]: the same of output 0; where the operator is none
   * that shapes are computed with, or there are more, all are LK_DIM_UNKNOWN.
   *
   * Reshape reads a 0 as "as many as the input has". A dimension that a graph computes for it is
   * taken for what it is when it is not 0; when it is, the tensor is empty, and its other
   * dimensions may not be as this says. */
  lk_status (*op_infer_values)(lk_dims *dims, const lk_node_desc *node, const lk_tensor *inputs,
                               const int64_t *const *values, lk_tensor_desc *outputs,
                               int32_t *out_copy_of, int64_t *out_values, lk_error *error);

  /* Block `index` of a plan, of n_blocks. LK_OUT_OF_RANGE: there is no such block. */
  lk_status (*plan_block)(const lk_plan *plan, uint32_t index, lk_block *out, lk_error *error);

  /* Option `index` of a context, from 0 on: its value now, and where that comes from. The texts are
   * valid for ever. LK_OUT_OF_RANGE: there is no such option. */
  lk_status (*option_info)(lk_context *context, uint32_t index, lk_option_info *out,
                           lk_error *error);

  /* Has a reporter asked, from any thread's request on, until reporter_leave returns, which waits
   * while it is asked. Any thread may call them. */
  void (*reporter_enter)(lk_reporter *reporter);
  void (*reporter_leave)(lk_reporter *reporter); /* one that has not entered is allowed */

  /* Has a listener told what leaves the context's cache, as `event` of the options is, until
   * listener_leave returns, which waits for calls of it that are on: so it must not be called from
   * within one. Hits cost what they do without. Any thread may call them; a listener leaves before
   * its context is destroyed. */
  void (*listener_enter)(lk_context *context, lk_listener *listener);
  void (*listener_leave)(lk_listener *listener); /* one that has not entered is allowed */

  /* 1: this processor has instructions for products of bytes that kernels use (AVX-512 VNNI,
   * AMX), so that operators which have LK_OP_QUANTIZES are as quick as any program's. 0: they are
   * exact, and slower than those of a host that lets products saturate. */
  uint32_t (*multiplies_bytes)(void);

  /* A hint: `ops` [n_ops] are bound next, in this order; some may be NULL. It brings what op_bind
   * reads of the first few of them into the processor's cache, from which the run of a model has
   * driven it. Called before each op_bind, with the ops behind that one, it takes about a tenth off
   * what a new size costs. Nothing depends on it. */
  void (*ops_expect)(lk_op *const *ops, uint32_t n_ops);

  /* From now on, until thread_unwatch, what this thread makes looks about every millisecond whether
   * to stop: constants that are hashed and packed, and operators that it runs in frames. op_create,
   * op_bind and the builds of the cache that hash or pack then fail with LK_CANCELLED or
   * LK_DEADLINE, and nothing of it is kept; other threads that waited for such a build make their
   * own. Operators that may take long look at this and at what their frame watches, and op_run and
   * its like fail for whichever says so first; what they have written is undefined then. Operators
   * that take no time do their work whole.
   *
   * `room` is filled; what `watch` points to and `room` must live until thread_unwatch, which gets
   * the same `room`. Pairs may lie in each other: what is made within the inner one looks at both,
   * and ends for whichever says so first; each should_stop is asked. LK_INVALID_ARGUMENT: a NULL,
   * or a struct_size of 0; then nothing is watched and thread_unwatch must not be called. */
  lk_status (*thread_watch)(lk_thread_watch *room, const lk_watch *watch, lk_error *error);
  void (*thread_unwatch)(lk_thread_watch *room);
  /* LK_CANCELLED or LK_DEADLINE once the thread has to stop, and from then on. LK_OK, too, where it
   * watches nothing. */
  lk_status (*thread_look)(lk_error *error);

  /* Adds an engine to a context, which copies the struct and closes the engine when it is
   * destroyed. `flags`: lk_engine_flags. On failure the engine stays the caller's. Before other
   * threads use the context. LK_INVALID_ARGUMENT: a name that is taken or is none, a function that
   * is NULL, unknown flags; LK_VERSION; LK_OUT_OF_RANGE: the context has 8; LK_BUSY: it is to be
   * chosen, and the context has had an executor. */
  lk_status (*engine_register)(lk_context *context, const lk_engine *engine, uint32_t flags,
                               lk_error *error);
  /* The name of the engine that is asked for works: "native", "auto" where there is an engine for
   * it, or another one's. Valid as long as the context. */
  const char *(*engine_chosen)(const lk_context *context);

  /* The weights store, for a host that packs weights by code of its own. Any thread.
   *
   * Makes a constant of `bytes` bytes: equal contents are one, whoever has them, by hash and then
   * by comparison. `flags`: LK_INPUT_COPY, then the library keeps a copy of the bytes; or 0, then
   * they are lent: they must stay valid and unchanged until constant_release has returned, and what
   * is lent already is found by where it lies, and not read again. Weights that change are another
   * constant afterwards, and are released before they change.
   * LK_INVALID_ARGUMENT: other flags; LK_OUT_OF_RANGE: not 1 to 2^47 bytes; LK_OUT_OF_MEMORY;
   * LK_CANCELLED and LK_DEADLINE (thread_watch). */
  lk_status (*constant_create)(lk_context *context, const void *data, uint64_t bytes,
                               uint32_t flags, lk_constant **out_constant, lk_error *error);
  /* Packed copies that are referred to stay, and copies that nobody refers to go with the last
   * constant of the content. All are released before the context is destroyed. NULL is allowed. */
  void (*constant_release)(lk_constant *constant);
  /* The copy of a constant in a layout: found, or packed now, once however many threads ask. It
   * counts for weights_bytes, is counted in weights_packed or weights_shared of lk_stats, and stays
   * at least until packed_release; after that, until the capacity is needed for others. So a call
   * costs a lock that is held for a moment and a comparison for each layout that the content has,
   * and a host may ask at every run. `pack` must neither ask for the layout that it is making nor
   * release the constant: it would wait for itself.
   * Whoever waits for a packing that fails tries for itself, and nothing of it is kept.
   * LK_INVALID_ARGUMENT: a NULL, or the layout was packed with another number of bytes;
   * LK_OUT_OF_RANGE: not 1 to 2^47 bytes; LK_IO: lent bytes have changed; LK_OUT_OF_MEMORY;
   * LK_CANCELLED and LK_DEADLINE; what `pack` returned. */
  lk_status (*constant_pack)(lk_constant *constant, const lk_packing *packing,
                             lk_packed **out_packed, lk_error *error);
  const void *(*packed_data)(const lk_packed *packed); /* as long as the reference */
  void (*packed_release)(lk_packed *packed);           /* NULL is allowed */

  /* Why the chosen engine left works to `native`: reason `index` from 0, in the order in which they
   * came up. Any thread. LK_OUT_OF_RANGE: there are no more; LK_INVALID_ARGUMENT: a struct_size
   * of 0. */
  lk_status (*engine_left)(lk_context *context, uint32_t index, lk_engine_left_info *out_info,
                           lk_error *error);
  /* What an engine besides native has offered, and what was chosen: `index` from 0, in the order in
   * which nodes were bound first, of some thousand at most. Engine `auto` asks for sizes that are
   * fixed or recur, another engine always, native alone for nothing. Any thread. LK_OUT_OF_RANGE:
   * there are no more; LK_INVALID_ARGUMENT: a struct_size of 0. */
  lk_status (*engine_choice)(lk_context *context, uint32_t index, lk_engine_choice_info *out_info,
                             lk_error *error);
  /* Notes for `auto` what the node of a plan took by native, and by this plan, which is one of
   * LK_BIND_ENGINE for the same sizes, as measured on all threads of the context: nanoseconds above
   * 0. They decide wherever a plan of LK_BIND_RECURS is made for an equal work from now on, and
   * where nothing else is known, for one of the same size class; plans that exist stay. Of equal
   * works the mean counts. The time is that of the plan with its reorders. What these are estimated
   * to take is left out of the note, and added again for the place at which a plan is made. Nothing
   * is noted of a plan that is native's alone, or of which a part of the time is not the work's: it
   * has several works, or steps that are of none (plan_step). plan_note_work takes the times of
   * these apart. No more than 65,536 works are kept. Any thread. LK_OUT_OF_RANGE: a time that is
   * not a finite number above 0; LK_OUT_OF_MEMORY; LK_INVALID_ARGUMENT: a NULL. */
  lk_status (*plan_note_times)(const lk_plan *plan, double native_ns, double engine_ns,
                               lk_error *error);
  /* Appends to a file, or makes it, with what was noted and is not saved yet, for `tuning` of other
   * contexts: all of it or, after a failure, nothing. Where nothing was noted, the file is not
   * touched. Processes may append to one file at once: they wait for it. Files may be joined.
   * `*out_works`, if not NULL: how many works. Any thread. LK_IO: it cannot be written, is no
   * regular file, or would have more than 64 MiB; LK_OUT_OF_MEMORY; LK_INVALID_ARGUMENT: a NULL. */
  lk_status (*tuning_save)(lk_context *context, const char *path, uint64_t *out_works,
                           lk_error *error);

  /* Adds an operator to a context, which closes it when it is destroyed. On failure the operator
   * stays the caller's. Before the context has its first executor or session. One thread at a time,
   * and no other thread may look for operators of the context meanwhile, by op_find_in or by
   * dimensions that dims_set_context has given it.
   * LK_INVALID_ARGUMENT: a name that is taken or is none, types, inputs, outputs or attributes that
   * make no sense, not exactly one of `work` and `run`, unknown flags; LK_OUT_OF_RANGE: the context
   * has 256; LK_BUSY: it has had an executor; LK_OUT_OF_MEMORY. */
  lk_status (*op_register)(lk_context *context, const lk_operator *op, lk_error *error);
  /* op_find, which also finds the operators that are registered with the context. Their rows are
   * valid as long as it is. Any thread, once all are registered. */
  const lk_op_row *(*op_find_in)(const lk_context *context, const char *op_type, const char *domain,
                                 int32_t opset);
  /* From now on, op_infer with this table also knows the operators that are registered with the
   * context, which must live longer than the table. NULL: the library's alone. */
  void (*dims_set_context)(lk_dims *dims, const lk_context *context);

  /* plan_note_times for one work of the node, by its number in lk_step_info, from 1: what its steps
   * took together, in a plan of native's and in this one. Nothing is noted where the plan's engine
   * computes no such work, or several values for it. LK_INVALID_ARGUMENT: number 0. */
  lk_status (*plan_note_work)(const lk_plan *plan, uint32_t work, double native_ns,
                              double engine_ns, lk_error *error);
} lk_api;

/* The table for this version, or NULL when the library does not speak it. Thread-safe. */
LK_EXPORT const lk_api *lk_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
