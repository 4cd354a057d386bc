/* Strided copies. The dimensions are merged once, when the plan is made, so that a run is loops
 * over planes of blocks. */
#include "ops/kernel/move/copy.h"

#include <string.h>

#include "base/alloc.h"
#include "base/tensor.h"
#include "ops/kernel/copy_block.h"
#include "ops/kernel/sizes.h"
#include "ops/kernel/strides.h"

enum {
  TURN_BYTES = 32 * 1024,
  TRANSPOSE_BYTES = 64 * 1024, /* of a turn that transposes */
  SHORT_BYTES = 512,           /* its rows, side by side in the source; where there are more, ... */
  FLAT_BYTES = 128,            /* ... so many of them, where vectors are shorter than a line, ... */
  LEAST_BYTES = 256,           /* ... and at least so many where they are as long, ... */
  FEW = 64,                    /* ... and of columns so many, or those of a line of the cache */
  TILE = 64,                   /* other rows and columns are multiples of these */
  RUN = 1024,                  /* columns or rows of a turn beyond the caches */
  AHEAD = 64,                  /* columns of lk_copy_plane, where lines along them are long */
  LARGE_BYTES = 8 << 20,       /* that are moved beyond the caches, with as many written */
  PAGE_BYTES = 4096,           /* lines so far apart share one set of the L1 cache */
  WRITTEN_PAGES = 32,          /* of the destination, that a turn writes to */
  CHUNK_BYTES = 64 * 1024      /* of a turn that is a part of a single block */
};

lk_copy lk_copy_between(const lk_tensor_desc *from, const lk_tensor_desc *to) {
  const int64_t size = (int64_t)lk_dtype_size(to->dtype);
  lk_copy copy = {.block = (size_t)size, .rank = to->rank};
  memcpy(copy.dims, to->dims, sizeof copy.dims);
  lk_strides(from, size, copy.from);
  lk_strides(to, size, copy.to);
  return copy;
}

/* ---- dimensions ---- */

static void swap_numbers(int64_t *a, int64_t *b) {
  const int64_t kept = *a;
  *a = *b;
  *b = kept;
}

/* Moves dimension `at` to `place`, past those in between. */
static void move_dim(lk_copy *copy, uint32_t at, uint32_t place) {
  while (at != place) {
    const uint32_t next = at < place ? at + 1 : at - 1;
    swap_numbers(&copy->dims[at], &copy->dims[next]);
    swap_numbers(&copy->from[at], &copy->from[next]);
    swap_numbers(&copy->to[at], &copy->to[next]);
    at = next;
  }
}

/* Orders dimensions by their distance in the destination, so that neighbours can be merged. Those
 * of size 1 end up behind the others, and are left out. */
static void sort_dims(lk_copy *copy) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < copy->rank; i++) {
    if (copy->dims[i] == 1) continue;
    uint32_t place = rank;
    while (place > 0 && copy->to[place - 1] < copy->to[i]) place--;
    move_dim(copy, i, place);
    rank++;
  }
  copy->rank = rank;
}

static int64_t magnitude(int64_t value) {
  return value < 0 ? -value : value;
}

/* How far apart the source's blocks are along a dimension; that of a repetition is read nowhere
 * else, and so comes last. */
static int64_t distance_of(const lk_copy *copy, uint32_t i) {
  return copy->from[i] == 0 ? INT64_MAX : magnitude(copy->from[i]);
}

/* Brings the dimensions of the plane to the end: the one that is innermost in the destination, and
 * before it, of the others, the one that is innermost in the source. */
static void choose_dims(lk_copy *copy) {
  if (copy->rank == 0) return;
  if (copy->rank == 1) {
    copy->rank = 2;
    copy->dims[1] = 1;
    move_dim(copy, 1, 0);
    return;
  }
  const uint32_t place = copy->rank - 2;
  uint32_t best = place;
  for (uint32_t i = 0; i < place; i++) {
    if (distance_of(copy, i) < distance_of(copy, best)) best = i;
  }
  move_dim(copy, best, place);
}

/* ---- planes ---- */

/* Blocks are elements, which the destination has side by side. */
static bool has_elements(const lk_copy *copy) {
  const int64_t block = (int64_t)copy->block;
  return block <= 8 && (block & (block - 1)) == 0 && copy->to[copy->rank - 1] == block;
}

static bool is_repetition(const lk_copy *copy) {
  return has_elements(copy) && copy->from[copy->rank - 1] == 0;
}

static bool is_second(const lk_copy *copy) {
  return has_elements(copy) && copy->block == 4 && copy->from[copy->rank - 1] == 8;
}

static bool is_transpose(const lk_copy *copy) {
  return has_elements(copy) && copy->from[copy->rank - 2] == (int64_t)copy->block &&
         !is_repetition(copy) && !is_second(copy);
}

static lk_copy_plane_fn *choose_plane(const lk_copy *copy, const lk_copy_planes *planes) {
  if (is_repetition(copy)) return planes->repeat[lk_log_up(copy->block)];
  if (is_second(copy)) return planes->every_second_4;
  return is_transpose(copy) ? planes->transpose[lk_log_up(copy->block)]
                            : planes->blocks[lk_block_class_of(copy->block)];
}

/* The largest power of two in a step: the larger, the fewer sets of a cache the lines that are that
 * far apart share. */
static int64_t evenness(int64_t step) {
  return step & -step;
}

static int64_t whole_tiles(int64_t count) {
  return lk_max(1, count / TILE) * TILE;
}

/* Of columns that are not many, so that they are whole vectors and one rest. */
static int64_t few_columns(int64_t columns, int64_t line) {
  const int64_t few = lk_min(columns, lk_max(line, FEW));
  return few > line ? few / line * line : few;
}

/* Of a turn whose vectors are lines of the destination: few columns, which are lines of the source
 * in a page each, and many rows: to read on in a line costs less than to begin another one. But
 * rows of the destination may be pages apart, too, and those whole pages apart share sets of the
 * cache. */
static void cut_for_lines(const lk_copy *copy, int64_t tile[2]) {
  const int64_t block = (int64_t)copy->block, line = LK_CACHE_LINE / block;
  const int64_t rows = copy->dims[copy->rank - 2], to_row = copy->to[copy->rank - 2];
  tile[1] = few_columns(copy->dims[copy->rank - 1], line);
  const int64_t fit = TRANSPOSE_BYTES / (tile[1] * block);
  const int64_t near = WRITTEN_PAGES * PAGE_BYTES / magnitude(to_row);
  const int64_t many = whole_tiles(lk_max(LEAST_BYTES / block, lk_min(fit, near)));
  tile[0] = lk_min(rows, evenness(to_row) >= PAGE_BYTES ? line : many);
}

/* Rows and columns of a turn that transposes. All rows where they are not many: then the source is
 * read from one end to the other. */
static void cut_for_caches(const lk_copy *copy, lk_isa isa, int64_t tile[2]) {
  const int64_t *dims = copy->dims + copy->rank - 2, block = (int64_t)copy->block;
  const bool is_short = dims[0] * block <= SHORT_BYTES;
  if (!is_short && isa == LK_ISA_AVX512) {
    cut_for_lines(copy, tile);
    return;
  }
  tile[0] = is_short ? dims[0] : FLAT_BYTES / block;
  tile[1] = lk_min(dims[1], whole_tiles(TRANSPOSE_BYTES / (tile[0] * block)));
}

/* Beyond the caches memory is fastest by few long lines: a line of the cache in the shorter of the
 * two directions, and far along the other. False: the lines would push each other out, or be
 * written by halves. */
static bool cut_for_memory(const lk_copy *copy, lk_isa isa, int64_t tile[2]) {
  const uint32_t row = copy->rank - 2, col = copy->rank - 1;
  const bool is_high = copy->dims[row] >= copy->dims[col];
  const int64_t few = LK_CACHE_LINE / (int64_t)copy->block;
  if (is_high && isa < LK_ISA_AVX512) return false;
  if (lk_min(copy->dims[row], copy->dims[col]) < few) return false;
  if (evenness(is_high ? copy->to[row] : copy->from[col]) >= PAGE_BYTES) return false;
  tile[0] = lk_min(copy->dims[row], is_high ? RUN : few);
  tile[1] = lk_min(copy->dims[col], is_high ? few : RUN);
  return true;
}

static void cut_transpose(lk_copy *copy, double bytes, lk_isa isa, int64_t tile[2]) {
  const bool is_long = bytes >= LARGE_BYTES && cut_for_memory(copy, isa, tile);
  if (!is_long) cut_for_caches(copy, isa, tile);
  copy->ahead = is_long && isa == LK_ISA_AVX512 && tile[1] > tile[0] ? AHEAD : 0;
}

/* Whole rows where they are not too long. */
static void cut_blocks(const lk_copy *copy, int64_t tile[2]) {
  const int64_t *dims = copy->dims + copy->rank - 2;
  const size_t block = copy->block > 0 ? copy->block : 1;
  const int64_t blocks = lk_max(1, (int64_t)(TURN_BYTES / block));
  tile[1] = lk_min(dims[1], blocks);
  tile[0] = lk_min(dims[0], lk_max(1, blocks / lk_max(1, tile[1])));
}

static void cut_plane(lk_copy *copy, double bytes, lk_isa isa) {
  if (is_transpose(copy)) {
    cut_transpose(copy, bytes, isa, copy->tile);
  } else {
    cut_blocks(copy, copy->tile);
  }
  for (uint32_t i = 0; i < 2; i++) {
    copy->tiles[i] = (copy->dims[copy->rank - 2 + i] + copy->tile[i] - 1) / copy->tile[i];
  }
}

void lk_copy_simplify_for(lk_copy *copy, lk_isa isa) {
  sort_dims(copy);
  copy->rank = lk_merge_dims(copy->rank, copy->dims, copy->from, copy->to);
  const int64_t block = (int64_t)copy->block;
  const uint32_t last = copy->rank - 1;
  if (copy->rank > 0 && copy->from[last] == block && copy->to[last] == block) {
    copy->block *= (size_t)copy->dims[last];
    copy->rank--;
  }
  choose_dims(copy);
  if (copy->rank == 0) {
    copy->turns = (int64_t)(copy->block + CHUNK_BYTES - 1) / CHUNK_BYTES;
    copy->shared = lk_sharing_pays_for((int64_t)copy->block, LK_SHARING_BYTE);
    return;
  }
  copy->plane = choose_plane(copy, lk_copy_planes_get(isa));
  double bytes = (double)copy->block;
  for (uint32_t i = 0; i < copy->rank; i++) bytes *= (double)copy->dims[i];
  cut_plane(copy, bytes, isa);
  copy->turns = copy->tiles[0] * copy->tiles[1];
  for (uint32_t i = 0; i + 2 < copy->rank; i++) copy->turns *= copy->dims[i];
  copy->shared = lk_sharing_pays(bytes * LK_SHARING_BYTE);
}

void lk_copy_simplify(lk_copy *copy) {
  lk_copy_simplify_for(copy, lk_isa_get());
}

/* ---- running ---- */

static void copy_chunks(const lk_copy *copy, const char *from, char *to, int64_t begin,
                        int64_t end) {
  const size_t first = (size_t)begin * CHUNK_BYTES, last = (size_t)end * CHUNK_BYTES;
  if (from == to) return;
  lk_copy_block(to + first, from + first, (last < copy->block ? last : copy->block) - first);
}

/* Which turn it is, and where its outer dimensions begin. */
typedef struct position {
  int64_t tile[2], at[LK_MAX_RANK];
  const char *from;
  char *to;
} position;

static position find(const lk_copy *copy, const char *from, char *to, int64_t turn) {
  position p = {.from = from, .to = to};
  p.tile[1] = turn % copy->tiles[1];
  turn /= copy->tiles[1];
  p.tile[0] = turn % copy->tiles[0];
  turn /= copy->tiles[0];
  for (uint32_t i = copy->rank - 2; i-- > 0; turn /= copy->dims[i]) {
    p.at[i] = turn % copy->dims[i];
    p.from += p.at[i] * copy->from[i];
    p.to += p.at[i] * copy->to[i];
  }
  return p;
}

static void step(const lk_copy *copy, position *p) {
  for (uint32_t i = 2; i-- > 0;) {
    if (++p->tile[i] < copy->tiles[i]) return;
    p->tile[i] = 0;
  }
  for (uint32_t i = copy->rank - 2; i-- > 0;) {
    p->from += copy->from[i];
    p->to += copy->to[i];
    if (++p->at[i] < copy->dims[i]) return;
    p->from -= copy->from[i] * copy->dims[i];
    p->to -= copy->to[i] * copy->dims[i];
    p->at[i] = 0;
  }
}

static void do_turns(const void *arg, int64_t begin, int64_t end) {
  const lk_kernel_loop *loop = arg;
  const lk_copy *copy = loop->params;
  const char *from = (const char *)loop->pointers[0] + copy->from_offset;
  char *to = (char *)loop->pointers[1] + copy->to_offset;
  if (copy->rank == 0) {
    copy_chunks(copy, from, to, begin, end);
    return;
  }
  const uint32_t row = copy->rank - 2, col = copy->rank - 1;
  lk_copy_plane plane = {.from_row = copy->from[row],
                         .from_col = copy->from[col],
                         .to_row = copy->to[row],
                         .to_col = copy->to[col],
                         .block = copy->block,
                         .ahead = copy->ahead};
  position p = find(copy, from, to, begin);
  for (int64_t turn = begin; turn < end; turn++, step(copy, &p)) {
    const int64_t first_row = p.tile[0] * copy->tile[0], first_col = p.tile[1] * copy->tile[1];
    plane.from = p.from + first_row * plane.from_row + first_col * plane.from_col;
    plane.to = p.to + first_row * plane.to_row + first_col * plane.to_col;
    plane.rows = lk_min(copy->tile[0], copy->dims[row] - first_row);
    plane.cols = lk_min(copy->tile[1], copy->dims[col] - first_col);
    copy->plane(&plane);
  }
}

lk_status lk_copy_kernel(const void *params, void *const *pointers, lk_error *error) {
  (void)error;
  const lk_copy *copy = params;
  return lk_kernel_turns(copy->turns, copy->shared, do_turns, params, pointers);
}

lk_status lk_copy_layout(const lk_tensor_desc *from_desc, const void *from,
                         const lk_tensor_desc *to_desc, void *to, lk_error *error) {
  lk_copy copy = lk_copy_between(from_desc, to_desc);
  if (lk_elements(from_desc) == 0) return LK_OK;
  lk_copy_simplify(&copy);
  return lk_copy_kernel(&copy, (void *[]){(void *)(uintptr_t)from, to}, error);
}
