// How fast are convolutions (ordinary, transposed, depthwise, of small groups) and matrix products
// on tiles that serve every size, beside oneDNN's primitives, each of which was made for one size?
//
// Sizes of models and random ones, seeded; one thread; the same operands, outputs compared. The two
// run by turns, and the ratio is that of the best times. LATCHKEY_MAX_ISA=avx2 measures AVX2.
//
// products [--json] [--quick | --long]
#include "benchmarks/arguments.h"
#include "benchmarks/products_beside.h"

using namespace beside;

namespace {

constexpr double TARGET_MEDIAN = 1.00, TARGET_P95 = 1.08, TARGET_MOST = 1.25;
constexpr int COUNT = 200; // of each; of small groups a half, of transposed ones a quarter

// ---- measuring ----

struct Result {
  std::string name;
  double ours, theirs, operations; // seconds
  double ratio() const { return ours / theirs; }
};

double best(const std::vector<double> &values) {
  return *std::min_element(values.begin(), values.end());
}

template <typename Ours, typename Theirs>
Result measure(const std::string &name, double operations, int rounds, const Ours &ours,
               const Theirs &theirs) {
  const int repeats = int(std::min(1e5, 5e7 / operations)) + 1; // a fraction of a millisecond
  std::vector<double> of_ours, of_theirs;
  for (int i = 0; i < rounds; i++) {
    of_theirs.push_back(seconds(repeats, theirs));
    of_ours.push_back(seconds(repeats, ours));
  }
  return {name, best(of_ours), best(of_theirs), operations};
}

// ---- convolutions ----

std::string name_of(const lk_conv_shape &shape) {
  char name[96];
  std::snprintf(name, sizeof name, "%d>%d/%d %dx%d s%dx%d p%d %dx%d",
                int(shape.groups * shape.in_channels), int(shape.groups * shape.out_channels),
                int(shape.groups), int(shape.kernel[1]), int(shape.kernel[2]), int(shape.stride[1]),
                int(shape.stride[2]), int(shape.pad[2]), int(shape.in[1]), int(shape.in[2]));
  return name;
}

Result run_conv(Kind kind, const lk_conv_shape &shape, int rounds, std::mt19937 &random) {
  const int64_t in = shape.groups * shape.in_channels, out = shape.groups * shape.out_channels;
  const int64_t window = shape.in_channels * shape.kernel[1] * shape.kernel[2],
                pixels = shape.out[1] * shape.out[2];
  Buffer x(in * shape.in[1] * shape.in[2]), w(out * window), b(out), ours(out * pixels),
      theirs(out * pixels);
  x.fill(random), w.fill(random), b.fill(random);
  const Kernel conv = plan(kind, shape, w);
  const auto primitive = conv_primitive(kind, shape, x, w, b, theirs);
  const std::string name = name_of(shape);
  void *const pointers[] = {x.get(), conv.packed->get(), ours.get(), b.get()};
  const auto run_ours = [&] { conv.run(pointers); };
  run_ours();
  primitive->run();
  compare(name, ours, theirs, 1e-5 + 1e-6 * double(window));
  const int64_t all = kind == Kind::TRANSPOSED ? shape.in[1] * shape.in[2] : pixels;
  return measure(name, 2.0 * double(window * out * all), rounds, run_ours,
                 [&] { primitive->run(); });
}

// Of ResNet-50, MobileNetV2 and OCR models.
const std::vector<ConvSize> CONVS = {
    {3, 64, 7, 7, 2, 3, 224, 224},   {64, 64, 1, 1, 1, 0, 56, 56},
    {64, 64, 3, 3, 1, 1, 56, 56},    {64, 256, 1, 1, 1, 0, 56, 56},
    {256, 64, 1, 1, 1, 0, 56, 56},   {256, 128, 1, 1, 1, 0, 56, 56},
    {128, 128, 3, 3, 2, 1, 56, 56},  {128, 128, 3, 3, 1, 1, 28, 28},
    {128, 512, 1, 1, 1, 0, 28, 28},  {512, 128, 1, 1, 1, 0, 28, 28},
    {256, 512, 1, 1, 2, 0, 56, 56},  {256, 256, 3, 3, 1, 1, 14, 14},
    {1024, 256, 1, 1, 1, 0, 14, 14}, {256, 1024, 1, 1, 1, 0, 14, 14},
    {512, 512, 3, 3, 1, 1, 7, 7},    {512, 2048, 1, 1, 1, 0, 7, 7},
    {2048, 512, 1, 1, 1, 0, 7, 7},   {3, 32, 3, 3, 2, 1, 224, 224},
    {32, 16, 1, 1, 1, 0, 112, 112},  {16, 96, 1, 1, 1, 0, 112, 112},
    {96, 24, 1, 1, 1, 0, 56, 56},    {24, 144, 1, 1, 1, 0, 56, 56},
    {144, 32, 1, 1, 1, 0, 28, 28},   {192, 64, 1, 1, 1, 0, 14, 14},
    {576, 160, 1, 1, 1, 0, 7, 7},    {320, 1280, 1, 1, 1, 0, 7, 7},
    {3, 16, 3, 3, 2, 1, 48, 320},    {24, 96, 1, 1, 1, 0, 80, 80},
    {48, 96, 1, 1, 1, 0, 24, 160},   {96, 96, 3, 3, 1, 1, 24, 160},
    {96, 24, 3, 3, 1, 1, 80, 80},    {24, 24, 3, 3, 1, 1, 160, 160},
    {480, 480, 1, 1, 1, 0, 3, 80},   {120, 6625, 1, 1, 1, 0, 1, 40},
    {256, 256, 1, 3, 1, 1, 12, 40}};

ConvSize random_conv(std::mt19937 &random) {
  const int64_t kernel = std::vector<int64_t>{1, 1, 3, 3, 5}[size_t(random_number(random, 0, 4))];
  const int64_t side = random_number(random, 7, 80);
  return {random_number(random, 8, 256),
          random_number(random, 8, 256),
          kernel,
          kernel,
          random_number(random, 1, 2),
          kernel / 2,
          side,
          random_number(random, 7, 80)};
}

// ---- transposed convolutions ----

lk_conv_shape transposed(const ConvSize &size) {
  lk_conv_shape shape = shape_of(size);
  for (int d = 1; d < LK_CONV_DIMS; d++) {
    shape.out[d] = (shape.in[d] - 1) * shape.stride[d] - 2 * shape.pad[d] + shape.kernel[d];
  }
  return shape;
}

// Of an OCR detector, of segmentation and of generators.
const std::vector<ConvSize> TRANSPOSED = {
    {24, 24, 2, 2, 2, 0, 160, 160}, {24, 1, 2, 2, 2, 0, 320, 320},  {64, 64, 2, 2, 2, 0, 80, 80},
    {64, 1, 2, 2, 2, 0, 160, 160},  {512, 256, 2, 2, 2, 0, 28, 28}, {128, 64, 2, 2, 2, 0, 56, 56},
    {256, 128, 4, 4, 2, 1, 8, 8},   {128, 64, 4, 4, 2, 1, 16, 16},  {64, 32, 4, 4, 2, 1, 32, 32},
    {128, 64, 3, 3, 2, 1, 28, 28},  {21, 21, 4, 4, 2, 1, 30, 30}};

ConvSize random_transposed(std::mt19937 &random) {
  const int64_t kernel = random_number(random, 2, 5);
  return {random_number(random, 8, 256),
          random_number(random, 8, 128),
          kernel,
          kernel,
          random_number(random, 1, 3),
          (kernel - 1) / 2,
          random_number(random, 7, 50),
          random_number(random, 7, 50)};
}

// ---- depthwise convolutions ----

struct DepthwiseSize {
  int64_t channels, kernel, stride_h, stride_w, height, width;
};

lk_conv_shape shape_of(const DepthwiseSize &size) {
  lk_conv_shape shape = shape_of(
      ConvSize{1, 1, size.kernel, size.kernel, 1, size.kernel / 2, size.height, size.width});
  shape.groups = size.channels;
  shape.stride[1] = int32_t(size.stride_h);
  shape.stride[2] = int32_t(size.stride_w);
  for (int d = 1; d < LK_CONV_DIMS; d++) {
    shape.out[d] = (shape.in[d] + 2 * shape.pad[d] - shape.kernel[d]) / shape.stride[d] + 1;
  }
  return shape;
}

// Of MobileNetV2 and OCR models (detector, recognizer, angle classifier).
const std::vector<DepthwiseSize> DEPTHWISE = {
    {32, 3, 1, 1, 112, 112}, {96, 3, 2, 2, 112, 112}, {144, 3, 1, 1, 56, 56},
    {144, 3, 2, 2, 56, 56},  {192, 3, 1, 1, 28, 28},  {192, 3, 2, 2, 28, 28},
    {384, 3, 1, 1, 14, 14},  {576, 3, 1, 1, 14, 14},  {576, 3, 2, 2, 14, 14},
    {960, 3, 1, 1, 7, 7},    {16, 3, 1, 1, 320, 320}, {32, 3, 2, 2, 320, 320},
    {48, 3, 1, 1, 160, 160}, {48, 3, 2, 2, 160, 160}, {96, 3, 1, 1, 80, 80},
    {96, 3, 2, 2, 80, 80},   {192, 5, 1, 1, 40, 40},  {192, 5, 2, 2, 40, 40},
    {384, 5, 1, 1, 20, 20},  {16, 3, 1, 1, 24, 160},  {32, 3, 1, 1, 24, 160},
    {64, 3, 1, 1, 24, 160},  {64, 3, 2, 1, 24, 160},  {128, 3, 1, 1, 12, 160},
    {128, 3, 1, 2, 12, 160}, {240, 5, 1, 1, 12, 80},  {240, 5, 2, 1, 12, 80},
    {480, 5, 1, 1, 6, 80},   {480, 5, 2, 1, 6, 80},   {480, 5, 1, 1, 3, 300},
    {8, 3, 2, 1, 24, 96},    {24, 3, 2, 1, 12, 96},   {32, 5, 2, 1, 6, 96},
    {88, 5, 1, 1, 3, 96},    {104, 5, 2, 1, 3, 96},   {200, 5, 1, 1, 2, 96},
    {40, 3, 1, 1, 1, 500},   {96, 7, 1, 1, 56, 56},   {384, 7, 1, 1, 14, 14}};

DepthwiseSize random_depthwise(std::mt19937 &random) {
  const bool is_narrow = random_number(random, 0, 2) == 0;
  const int64_t height = is_narrow ? random_number(random, 1, 24) : random_number(random, 7, 80),
                width = is_narrow ? random_number(random, 16, 320) : random_number(random, 7, 80);
  return {random_number(random, 0, 2) == 0 ? random_number(random, 8, 600)
                                           : 8 * random_number(random, 1, 60),
          3 + 2 * random_number(random, 0, 1),
          random_number(random, 1, 2),
          random_number(random, 1, 2),
          height,
          width};
}

// ---- groups of few channels ----

struct GroupSize {
  int64_t groups;
  ConvSize each;
};

lk_conv_shape shape_of(const GroupSize &size) {
  lk_conv_shape shape = shape_of(size.each);
  shape.groups = size.groups;
  return shape;
}
lk_conv_shape transposed(const GroupSize &size) {
  lk_conv_shape shape = transposed(size.each);
  shape.groups = size.groups;
  return shape;
}

// Of ResNeXt-50, ShuffleNet and RegNet.
const std::vector<GroupSize> GROUPS = {
    {32, {4, 4, 3, 3, 1, 1, 56, 56}},   {32, {8, 8, 3, 3, 2, 1, 56, 56}},
    {32, {8, 8, 3, 3, 1, 1, 28, 28}},   {32, {16, 16, 3, 3, 2, 1, 28, 28}},
    {32, {16, 16, 3, 3, 1, 1, 14, 14}}, {32, {32, 32, 3, 3, 2, 1, 14, 14}},
    {32, {32, 32, 3, 3, 1, 1, 7, 7}},   {3, {20, 80, 1, 1, 1, 0, 28, 28}},
    {3, {80, 20, 1, 1, 1, 0, 28, 28}},  {8, {3, 12, 1, 1, 1, 0, 56, 56}},
    {8, {12, 48, 1, 1, 1, 0, 28, 28}},  {8, {48, 12, 1, 1, 1, 0, 28, 28}},
    {8, {24, 96, 1, 1, 1, 0, 14, 14}},  {4, {17, 68, 1, 1, 1, 0, 28, 28}},
    {4, {68, 17, 1, 1, 1, 0, 28, 28}},  {3, {8, 8, 3, 3, 2, 1, 112, 112}},
    {7, {8, 8, 3, 3, 2, 1, 56, 56}},    {19, {8, 8, 3, 3, 2, 1, 28, 28}},
    {46, {8, 8, 3, 3, 1, 1, 7, 7}},     {3, {16, 16, 3, 3, 2, 1, 112, 112}},
    {7, {16, 16, 3, 3, 1, 1, 28, 28}},  {10, {24, 24, 3, 3, 1, 1, 14, 14}},
    {32, {2, 2, 3, 3, 1, 1, 56, 56}},   {64, {4, 4, 3, 3, 1, 1, 28, 28}},
    {64, {4, 4, 3, 3, 2, 1, 56, 56}}};

GroupSize random_groups(std::mt19937 &random) {
  const int64_t kernel = std::vector<int64_t>{1, 3, 3, 3, 5}[size_t(random_number(random, 0, 4))];
  const int64_t channels = random_number(random, 2, 16);
  const int64_t out = random_number(random, 0, 2) > 0 ? channels : random_number(random, 1, 16);
  return {random_number(random, 2, 64),
          {channels, out, kernel, kernel, random_number(random, 1, 2), kernel / 2,
           random_number(random, 7, 60), random_number(random, 7, 60)}};
}

// Bilinear, of segmentation and of generators.
const std::vector<GroupSize> TRANSPOSED_GROUPS = {
    {21, {1, 1, 4, 4, 2, 1, 32, 32}},  {21, {1, 1, 16, 16, 8, 4, 32, 32}},
    {19, {1, 1, 4, 4, 2, 1, 64, 128}}, {64, {1, 1, 4, 4, 2, 1, 28, 28}},
    {256, {1, 1, 4, 4, 2, 1, 14, 14}}, {256, {1, 1, 2, 2, 2, 0, 28, 28}},
    {64, {1, 1, 8, 8, 4, 2, 40, 40}},  {128, {1, 1, 3, 3, 2, 1, 28, 28}},
    {32, {4, 4, 4, 4, 2, 1, 28, 28}},  {16, {2, 2, 2, 2, 2, 0, 56, 56}},
    {32, {8, 8, 3, 3, 2, 1, 14, 14}},  {64, {1, 1, 3, 3, 1, 1, 56, 56}}};

GroupSize random_transposed_groups(std::mt19937 &random) {
  const int64_t kernel = random_number(random, 2, 5);
  const int64_t channels = random_number(random, 0, 1) == 0 ? 1 : random_number(random, 2, 16);
  const int64_t out =
      channels == 1 || random_number(random, 0, 1) == 0 ? channels : random_number(random, 1, 16);
  return {random_number(random, 2, channels == 1 ? 300 : 64),
          {channels, out, kernel, kernel, random_number(random, 1, 3), (kernel - 1) / 2,
           random_number(random, 7, 24), random_number(random, 7, 24)}};
}

// ---- matrix products ----

Result run_matmul(const MatmulSize &size, int rounds, std::mt19937 &random) {
  Buffer a(size.rows * size.k), b(size.k * size.columns), ours(size.rows * size.columns),
      theirs(size.rows * size.columns);
  a.fill(random), b.fill(random);
  const Kernel matmul = plan_matmul(size, b);
  const auto primitive = matmul_primitive(size, a, b, theirs);
  char name[96];
  std::snprintf(name, sizeof name, "%dx%dx%d", int(size.rows), int(size.k), int(size.columns));
  void *const pointers[] = {a.get(), matmul.packed->get(), ours.get()};
  const auto run_ours = [&] { matmul.run(pointers); };
  run_ours();
  primitive->run();
  compare(name, ours, theirs, 1e-5 + 1e-6 * double(size.k));
  return measure(name, 2.0 * double(size.rows * size.k * size.columns), rounds, run_ours,
                 [&] { primitive->run(); });
}

// Of transformers, classifiers and recognizers.
const std::vector<MatmulSize> MATMULS = {
    {1, 768, 768},   {32, 768, 768},  {128, 768, 768}, {128, 768, 3072}, {128, 3072, 768},
    {7, 384, 384},   {32, 384, 1536}, {40, 120, 6625}, {40, 240, 120},   {80, 120, 360},
    {1, 2048, 1000}, {8, 2048, 1000}, {1, 256, 256},   {16, 256, 256},   {64, 512, 512},
    {197, 192, 576}, {197, 192, 768}, {49, 768, 2304}, {5, 64, 64},      {300, 256, 1024}};

MatmulSize random_matmul(std::mt19937 &random) {
  return {random_number(random, 0, 2) == 0 ? random_number(random, 1, 8)
                                           : random_number(random, 1, 400),
          random_number(random, 16, 1024), random_number(random, 16, 1024)};
}

// ---- report ----

bool report(const char *what, std::vector<Result> results, bool json) {
  std::sort(results.begin(), results.end(),
            [](const Result &a, const Result &b) { return a.ratio() < b.ratio(); });
  const double middle = results[results.size() / 2].ratio(),
               p95 = results[results.size() * 95 / 100].ratio(), most = results.back().ratio();
  const bool met = middle <= TARGET_MEDIAN && p95 <= TARGET_P95 && most <= TARGET_MOST;
  if (json) {
    std::printf("\"%s\": {\"median\": %.4f, \"p95\": %.4f, \"most\": %.4f, \"sizes\": [", what,
                middle, p95, most);
    for (size_t i = 0; i < results.size(); i++) {
      std::printf("%s{\"size\": \"%s\", \"us\": %.3f, \"primitive_us\": %.3f}", i > 0 ? ", " : "",
                  results[i].name.c_str(), results[i].ours * 1e6, results[i].theirs * 1e6);
    }
    std::printf("]}");
    return met;
  }
  std::printf("%s: time of the primitive's, %zu sizes\n", what, results.size());
  const auto line = [](const char *name, double ratio, double target) {
    std::printf("  %-18s %6.3f   target %.2f%s\n", name, ratio, target,
                ratio > target ? "   MISSED" : "");
  };
  line("median", middle, TARGET_MEDIAN);
  line("95th percentile", p95, TARGET_P95);
  line("the most", most, TARGET_MOST);
  const auto row = [](const Result &each) {
    std::printf("    %-28s %9.1f us %6.0f GFLOP/s, primitive %9.1f us: %.3f\n", each.name.c_str(),
                each.ours * 1e6, each.operations / each.ours / 1e9, each.theirs * 1e6,
                each.ratio());
  };
  for (size_t i = 0; i < 3; i++) row(results[i]);
  std::printf("    ...\n");
  for (size_t i = results.size() - 10; i < results.size(); i++) row(results[i]);
  return met;
}

} // namespace

int main(int argc, char **argv) {
  const Arguments arguments("products", argc, argv, {.usual = 11, .quick = 1, .longer = 41});
  std::mt19937 random(11);
  const Threads one_thread;
  std::vector<Result> convs, transposes, depthwise, groups, transposed_groups, matmuls;
  const auto run = [&](Kind kind, std::vector<Result> *results, const lk_conv_shape &shape) {
    results->push_back(run_conv(kind, shape, arguments.rounds, random));
  };
  for (const ConvSize &size : CONVS) run(Kind::ORDINARY, &convs, shape_of(size));
  while (convs.size() < COUNT) run(Kind::ORDINARY, &convs, shape_of(random_conv(random)));
  for (const ConvSize &size : TRANSPOSED) run(Kind::TRANSPOSED, &transposes, transposed(size));
  while (transposes.size() < COUNT / 4) {
    run(Kind::TRANSPOSED, &transposes, transposed(random_transposed(random)));
  }
  for (const DepthwiseSize &size : DEPTHWISE) run(Kind::ORDINARY, &depthwise, shape_of(size));
  while (depthwise.size() < COUNT) {
    run(Kind::ORDINARY, &depthwise, shape_of(random_depthwise(random)));
  }
  for (const GroupSize &size : GROUPS) run(Kind::ORDINARY, &groups, shape_of(size));
  while (groups.size() < COUNT / 2) {
    run(Kind::ORDINARY, &groups, shape_of(random_groups(random)));
  }
  for (const GroupSize &size : TRANSPOSED_GROUPS) {
    run(Kind::TRANSPOSED, &transposed_groups, transposed(size));
  }
  while (transposed_groups.size() < COUNT / 8) {
    run(Kind::TRANSPOSED, &transposed_groups, transposed(random_transposed_groups(random)));
  }
  for (const MatmulSize &size : MATMULS) {
    matmuls.push_back(run_matmul(size, arguments.rounds, random));
  }
  while (matmuls.size() < COUNT) {
    matmuls.push_back(run_matmul(random_matmul(random), arguments.rounds, random));
  }
  if (arguments.json) std::printf("{");
  report("convolutions", convs, arguments.json);
  if (arguments.json) std::printf(", ");
  report("transposed convolutions", transposes, arguments.json);
  if (arguments.json) std::printf(", ");
  report("depthwise convolutions", depthwise, arguments.json);
  if (arguments.json) std::printf(", ");
  report("groups", groups, arguments.json);
  if (arguments.json) std::printf(", ");
  report("transposed groups", transposed_groups, arguments.json);
  if (arguments.json) std::printf(", ");
  report("matrix products", matmuls, arguments.json);
  if (arguments.json) std::printf("}\n");
}
