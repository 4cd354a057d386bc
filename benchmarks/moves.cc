// How fast do the kernels that move and convert elements serve every size, beside oneDNN's
// primitives, each of which was made for one size, and beside plain moves of as many bytes?
//
// Layout changes, concatenations and casts of models' sizes and random ones, seeded; one thread,
// and beside plain moves also two; the same operands, outputs compared. They run by turns, and the
// ratio is that of the best times. LATCHKEY_MAX_ISA=avx2 measures AVX2.
//
// moves [--json] [--quick | --long]
#include <memory>

#include "benchmarks/arguments.h"
#include "benchmarks/bandwidth.h"

extern "C" {
#include "ops/kernel/element/cast.h"
#include "ops/kernel/move/concat.h"
#include "ops/kernel/move/copy.h"
}

using namespace beside;

namespace {

constexpr size_t COUNT = 70; // of layout changes and concatenations

lk_tensor_desc tensor(const Dims &dims, bool channels_last) {
  lk_tensor_desc desc = {};
  desc.dtype = LK_F32;
  desc.layout = channels_last ? LK_LAYOUT_CHANNELS_LAST : LK_LAYOUT_PLAIN;
  desc.rank = uint32_t(dims.size());
  std::copy(dims.begin(), dims.end(), desc.dims);
  return desc;
}

// ---- layout changes ----

Result run_reorder(const Dims &dims, bool to_last, int rounds, std::mt19937 &random) {
  Buffer from(count_of(dims)), ours(count_of(dims)), theirs(count_of(dims));
  from.fill(random);
  const lk_tensor_desc from_desc = tensor(dims, !to_last), to_desc = tensor(dims, to_last);
  lk_copy copy = lk_copy_between(&from_desc, &to_desc);
  lk_copy_simplify(&copy);
  dnnl_memory_desc_t descs[] = {describe(dims, !to_last), describe(dims, to_last)};
  dnnl_primitive_desc_t desc = nullptr;
  check(dnnl_reorder_primitive_desc_create(&desc, descs[0], engine, descs[1], engine, nullptr));
  Primitive primitive(desc);
  primitive.add(DNNL_ARG_FROM, descs[0], from);
  primitive.add(DNNL_ARG_TO, descs[1], theirs);
  for (dnnl_memory_desc_t each : descs) check(dnnl_memory_desc_destroy(each));
  void *const pointers[] = {from.get(), ours.get()};
  const auto run_ours = [&] { check(lk_copy_kernel(&copy, pointers, nullptr)); };
  const std::string name = text_of(dims) + (to_last ? " to nhwc" : " to nchw");
  run_ours();
  primitive.run();
  compare(name, ours, theirs, 0);
  return measure(name, 4 * count_of(dims), 4 * count_of(dims), rounds, run_ours,
                 [&] { primitive.run(); });
}

const std::vector<Dims> REORDERS = {
    {1, 3, 224, 224},   {8, 3, 224, 224},  {1, 3, 48, 320},   {1, 3, 640, 640},  {1, 1, 28, 28},
    {1, 4, 160, 160},   {1, 16, 24, 160},  {1, 24, 160, 160}, {1, 32, 112, 112}, {1, 64, 56, 56},
    {1, 96, 56, 56},    {1, 144, 28, 28},  {1, 256, 56, 56},  {1, 512, 28, 28},  {1, 1024, 14, 14},
    {1, 2048, 7, 7},    {8, 256, 56, 56},  {1, 480, 3, 80},   {1, 120, 1, 40},   {1, 64, 512},
    {2, 16, 8, 28, 28}, {4, 64, 112, 112}, {8, 64, 112, 112}, {4, 96, 160, 160}, {16, 3, 416, 416},
    {1, 2, 160, 160},   {1, 18, 40, 40},   {1, 7, 33, 35}};

// ---- concatenations over channels ----

struct ConcatSize {
  std::vector<dnnl_dim_t> channels;
  dnnl_dim_t height, width;
};

Result run_concat(const ConcatSize &size, bool is_last, int rounds, std::mt19937 &random) {
  lk_concat concat = {};
  const int64_t pixels = size.height * size.width;
  int64_t channels = 0;
  std::string name;
  std::vector<std::unique_ptr<Buffer>> sources;
  std::vector<dnnl_memory_desc_t> descs;
  concat.rows = is_last ? pixels : 1;
  for (dnnl_dim_t each : size.channels) {
    channels += each;
    name += (name.empty() ? "" : "+") + std::to_string(each);
    sources.push_back(std::make_unique<Buffer>(each * pixels));
    sources.back()->fill(random);
    descs.push_back(describe({1, each, size.height, size.width}, is_last));
    concat.blocks[concat.count++] = size_t(each * (is_last ? 1 : pixels) * 4);
  }
  lk_concat_plan(&concat);
  name += " " + std::to_string(size.height) + "x" + std::to_string(size.width) +
          (is_last ? " nhwc" : " nchw");
  Buffer ours(channels * pixels), theirs(channels * pixels);
  dnnl_memory_desc_t to = describe({1, channels, size.height, size.width}, is_last);
  dnnl_primitive_desc_t desc = nullptr;
  check(dnnl_concat_primitive_desc_create(&desc, engine, to, int(descs.size()), 1, descs.data(),
                                          nullptr));
  Primitive primitive(desc);
  std::vector<void *> pointers;
  for (size_t i = 0; i < descs.size(); i++) {
    primitive.add(DNNL_ARG_MULTIPLE_SRC + int(i), descs[i], *sources[i]);
    pointers.push_back(sources[i]->get());
    check(dnnl_memory_desc_destroy(descs[i]));
  }
  primitive.add(DNNL_ARG_DST, to, theirs);
  pointers.push_back(ours.get());
  check(dnnl_memory_desc_destroy(to));
  const auto run_ours = [&] { check(lk_concat_kernel(&concat, pointers.data(), nullptr)); };
  run_ours();
  primitive.run();
  compare(name, ours, theirs, 0);
  return measure(name, 4 * channels * pixels, 4 * channels * pixels, rounds, run_ours,
                 [&] { primitive.run(); });
}

// Of OCR models, DenseNet, Inception, ShuffleNet and detectors.
const std::vector<ConcatSize> CONCATS = {{{24, 24, 24, 24}, 160, 160},
                                         {{64, 64, 64, 64}, 80, 80},
                                         {{64, 32}, 56, 56},
                                         {{128, 32}, 28, 28},
                                         {{256, 32}, 14, 14},
                                         {{512, 32}, 7, 7},
                                         {{64, 96, 16, 32}, 28, 28},
                                         {{192, 96, 64, 64}, 28, 28},
                                         {{24, 24}, 28, 28},
                                         {{58, 58}, 28, 28},
                                         {{116, 116}, 14, 14},
                                         {{256, 256}, 40, 40},
                                         {{128, 128}, 80, 80},
                                         {{3, 1}, 224, 224},
                                         {{1, 1, 1}, 64, 64},
                                         {{512, 512, 512, 512}, 20, 20},
                                         {{96, 96, 96}, 160, 160},
                                         {{960, 960}, 1, 80},
                                         {{48, 48}, 12, 80}};

// ---- casts ----

struct CastSize {
  const char *name;
  uint32_t from, to;
  dnnl_data_type_t from_type, to_type;
  int64_t from_bytes, to_bytes;
};

dnnl_memory_desc_t describe_line(dnnl_dim_t count, dnnl_data_type_t type) {
  dnnl_memory_desc_t desc = nullptr;
  check(dnnl_memory_desc_create_with_tag(&desc, 1, &count, type, dnnl_a));
  return desc;
}

void cast(uint32_t from_type, uint32_t to_type, int64_t count, const Buffer &from,
          const Buffer &to) {
  lk_cast params = {};
  params.from = from_type;
  params.to = to_type;
  params.count = count;
  lk_cast_plan(&params, lk_isa_get());
  void *const pointers[] = {from.get(), to.get()};
  check(lk_cast_kernel(&params, pointers, nullptr));
}

Result run_cast(const CastSize &size, int64_t count, int rounds, std::mt19937 &random) {
  Buffer numbers(count), from(count), ours(count), theirs(count);
  numbers.fill(random);
  for (int64_t i = 0; i < count; i++) numbers.get()[i] = (numbers.get()[i] + 1) * 100;
  if (size.from == LK_F32) {
    std::memcpy(from.get(), numbers.get(), size_t(count) * 4);
  } else {
    cast(LK_F32, size.from, count, numbers, from);
  }
  dnnl_memory_desc_t descs[] = {describe_line(count, size.from_type),
                                describe_line(count, size.to_type)};
  dnnl_primitive_desc_t desc = nullptr;
  check(dnnl_reorder_primitive_desc_create(&desc, descs[0], engine, descs[1], engine, nullptr));
  Primitive primitive(desc);
  primitive.add(DNNL_ARG_FROM, descs[0], from);
  primitive.add(DNNL_ARG_TO, descs[1], theirs);
  for (dnnl_memory_desc_t each : descs) check(dnnl_memory_desc_destroy(each));
  const std::string name = std::string(size.name) + " " + std::to_string(count);
  const auto run_ours = [&] { cast(size.from, size.to, count, from, ours); };
  run_ours();
  primitive.run();
  if (std::memcmp(ours.get(), theirs.get(), size_t(count * size.to_bytes)) != 0) {
    std::fprintf(stderr, "%s: not what oneDNN has\n", name.c_str());
    std::exit(1);
  }
  return measure(name, count * size.from_bytes, count * size.to_bytes, rounds, run_ours,
                 [&] { primitive.run(); });
}

// Those that oneDNN rounds as we do.
const std::vector<CastSize> CASTS = {{"f32 to f16", LK_F32, LK_F16, dnnl_f32, dnnl_f16, 4, 2},
                                     {"f16 to f32", LK_F16, LK_F32, dnnl_f16, dnnl_f32, 2, 4},
                                     {"f32 to bf16", LK_F32, LK_BF16, dnnl_f32, dnnl_bf16, 4, 2},
                                     {"bf16 to f32", LK_BF16, LK_F32, dnnl_bf16, dnnl_f32, 2, 4},
                                     {"i32 to f32", LK_I32, LK_F32, dnnl_s32, dnnl_f32, 4, 4},
                                     {"u8 to f32", LK_U8, LK_F32, dnnl_u8, dnnl_f32, 1, 4},
                                     {"i8 to f32", LK_I8, LK_F32, dnnl_s8, dnnl_f32, 1, 4},
                                     {"u8 to i32", LK_U8, LK_I32, dnnl_u8, dnnl_s32, 1, 4}};

} // namespace

int main(int argc, char **argv) {
  const Arguments arguments("moves", argc, argv, {.usual = 15, .quick = 1, .longer = 61});
  const int rounds = arguments.rounds;
  const Threads one;
  std::mt19937 random(11);
  std::vector<Result> reorders, concats, casts;
  for (const Dims &dims : REORDERS) {
    reorders.push_back(run_reorder(dims, true, rounds, random));
    reorders.push_back(run_reorder(dims, false, rounds, random));
  }
  while (reorders.size() < COUNT) {
    const Dims dims = {1, random_number(random, 2, 300), random_number(random, 1, 90),
                       random_number(random, 2, 90)};
    reorders.push_back(run_reorder(dims, reorders.size() % 2 == 0, rounds, random));
  }
  for (const ConcatSize &size : CONCATS) {
    concats.push_back(run_concat(size, true, rounds, random));
    concats.push_back(run_concat(size, false, rounds, random));
  }
  while (concats.size() < COUNT) {
    ConcatSize size = {{}, random_number(random, 1, 60), random_number(random, 1, 60)};
    for (int64_t i = random_number(random, 2, 5); i > 0; i--) {
      size.channels.push_back(random_number(random, 1, 160));
    }
    concats.push_back(run_concat(size, concats.size() % 4 != 0, rounds, random));
  }
  for (const CastSize &size : CASTS) {
    for (int64_t count : {1000, 30000, 150528, 10500000}) {
      casts.push_back(run_cast(size, count, rounds, random));
    }
  }
  if (!arguments.json) share::print_peak();
  if (arguments.json) std::printf("{");
  report("layout changes", reorders, arguments.json);
  if (arguments.json) std::printf(", ");
  report("concatenations", concats, arguments.json);
  if (arguments.json) std::printf(", ");
  report("casts", casts, arguments.json);
  if (arguments.json) std::printf("}\n");
}
