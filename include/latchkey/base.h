/* The types that everything else in Latchkey stands on: status, error, allocator, tensor.
 *
 * Ownership, for all public headers: a function that hands out an object named `*out_x` gives the
 * caller a reference of its own, to be given back with the matching `_destroy` or `_release`.
 * A function whose name ends in `_get`, and every `const` pointer that is returned, borrows: the
 * pointer is valid as long as the object that gave it. Pointers passed in are borrowed for
 * the time of the call unless the function says that it keeps them.
 *
 * Errors: every function that can fail returns an lk_status and fills the caller's lk_error (NULL
 * is allowed) with a sentence: "failed to <verb> <what>: <value>, <rule>". On failure, outputs are
 * NULL or unchanged. The library never aborts, exits or prints.
 */
#ifndef LATCHKEY_BASE_H
#define LATCHKEY_BASE_H

#include <stddef.h>
#include <stdint.h>

#define LK_VERSION_MAJOR 0
#define LK_VERSION_MINOR 1
#define LK_VERSION_PATCH 0

#if defined(__GNUC__)
#define LK_EXPORT __attribute__((visibility("default")))
#define LK_EXTENSION __extension__ /* attributes like this in C before C23 */
#else
#define LK_EXPORT
#define LK_EXTENSION
#endif

/* On lk_status: a caller that drops the status of any function is warned, those of the tables
 * included. A (void) says that it is meant. */
#ifndef LK_MUST_USE
#if (defined(__cplusplus) && __cplusplus >= 201703L) || (!defined(__clang__) && __GNUC__ >= 11)
#define LK_MUST_USE [[nodiscard]]
#elif defined(__clang__) && !defined(__cplusplus)
#define LK_MUST_USE __attribute__((warn_unused_result))
#else
#define LK_MUST_USE
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Every status with its text: X(symbol, value, text). */
// clang-format off
#define LK_STATUS_LIST(X)                                                    \
  X(LK_OK,                   0, "success")                                   \
  X(LK_INVALID_ARGUMENT,     1, "invalid argument")                          \
  X(LK_UNSUPPORTED,          2, "not supported")                             \
  X(LK_NOT_FOUND,            3, "not found")                                 \
  X(LK_OUT_OF_MEMORY,        4, "out of memory")                             \
  X(LK_OUT_OF_RANGE,         5, "value out of range")                        \
  X(LK_IO,                   6, "input or output failed")                    \
  X(LK_MALFORMED,            7, "malformed data")                            \
  X(LK_BUSY,                 8, "busy")                                      \
  X(LK_CANCELLED,            9, "cancelled")                                 \
  X(LK_DEADLINE,            10, "deadline passed")                           \
  X(LK_CYCLE,               11, "builds wait for each other")                \
  X(LK_VERSION,             12, "version not supported")                     \
  X(LK_INTERNAL,            13, "internal error")

LK_EXTENSION typedef enum LK_MUST_USE lk_status {
#define LK_STATUS_ENUM(symbol, value, text) symbol = value,
  LK_STATUS_LIST(LK_STATUS_ENUM)
#undef LK_STATUS_ENUM
} lk_status;
// clang-format on

#define LK_ERROR_CAPACITY 512

/* Filled by the function that fails; owned by the caller. `message` is always NUL-terminated; a
 * sentence that does not fit is cut. Need not be initialized before a call. */
typedef struct lk_error {
  lk_status status;
  char message[LK_ERROR_CAPACITY];
} lk_error;

/* Where the library takes memory from. `alloc` returns `size` bytes aligned to `alignment` (a power
 * of two, at most 4096) or NULL; `free` takes what `alloc` returned, or NULL. Both are called from
 * any thread at any time. NULL function pointers in an options struct mean the C library's. */
typedef struct lk_allocator {
  void *user;
  void *(*alloc)(void *user, size_t size, size_t alignment);
  void (*free)(void *user, void *pointer);
} lk_allocator;

/* Who has memory that is lent to the library, such as a mapped file: it stays valid and unchanged
 * while somebody holds a reference. The library copies the struct, and calls `retain` and `release`
 * from any thread, several at once, with no lock of its own held; neither may fail or call the
 * library. NULL for both: the memory stays until nothing is run any more that was made with it,
 * which the host sees to by itself. */
typedef struct lk_owner {
  size_t struct_size;
  void *object;
  void (*retain)(void *object);
  void (*release)(void *object);
  /* Which bytes these are, when several owners have the same ones and see the same changes of
   * them: mappings of one file have the numbers of its device and of itself. Who may read those
   * of one owner may read those of the others. 0 and 0: nobody else has them. */
  uint64_t origin[2];
  const void *begin; /* where the memory begins, which is the same place in all of one origin */
} lk_owner;

/* Element types; values are those of ONNX TensorProto.DataType. X(symbol, value, bytes, name) */
// clang-format off
#define LK_DTYPE_LIST(X)       \
  X(LK_F32,   1, 4, "f32")     \
  X(LK_U8,    2, 1, "u8")      \
  X(LK_I8,    3, 1, "i8")      \
  X(LK_U16,   4, 2, "u16")     \
  X(LK_I16,   5, 2, "i16")     \
  X(LK_I32,   6, 4, "i32")     \
  X(LK_I64,   7, 8, "i64")     \
  X(LK_BOOL,  9, 1, "bool")    \
  X(LK_F16,  10, 2, "f16")     \
  X(LK_F64,  11, 8, "f64")     \
  X(LK_U32,  12, 4, "u32")     \
  X(LK_U64,  13, 8, "u64")     \
  X(LK_BF16, 16, 2, "bf16")
// clang-format on

typedef enum lk_dtype {
  LK_DTYPE_NONE = 0,
#define LK_DTYPE_ENUM(symbol, value, bytes, name) symbol = value,
  LK_DTYPE_LIST(LK_DTYPE_ENUM)
#undef LK_DTYPE_ENUM
} lk_dtype;

#define LK_MAX_RANK 8

/* How the elements of a tensor lie in memory. */
typedef uint32_t lk_layout;
#define LK_LAYOUT_PLAIN ((lk_layout)0) /* row-major, dense, in the order of the dimensions */
#define LK_LAYOUT_CHANNELS_LAST ((lk_layout)1) /* dense, dimension 1 innermost (NHWC); rank >= 3 */
/* dense, dimensions 1 and 2 swapped: [batch][heads][rows][size] with its heads inside of rows;
 * rank 4 */
#define LK_LAYOUT_HEADS_INSIDE ((lk_layout)2)
#define LK_LAYOUT_ANY ((lk_layout)0xffffffffu) /* as a wish: the operator may choose */

/* Type, shape and layout of a tensor. Dimensions at and beyond `rank` are 0. Rank 0 is a scalar of
 * one element. `reserved` is 0. No padding. */
typedef struct lk_tensor_desc {
  uint32_t dtype; /* lk_dtype */
  uint32_t rank;  /* 0 .. LK_MAX_RANK */
  lk_layout layout;
  uint32_t reserved;
  int64_t dims[LK_MAX_RANK]; /* elements; >= 0 */
} lk_tensor_desc;

/* A tensor view: description and the caller's memory. `data` may be NULL where only the shape is
 * meant, or where the tensor has no elements. Aligned to the element size at least. */
typedef struct lk_tensor {
  lk_tensor_desc desc;
  void *data;
} lk_tensor;

#ifdef __cplusplus
}
#endif

#endif
