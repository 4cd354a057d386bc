// Real models: the OCR models and the light models load, with what is in them.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/executor_glue/onnx/proto_writer.h"
#include "tests/harness/places.h"

extern "C" {
#include "base/tensor.h"
}

using namespace proto;

namespace {

const std::string kSitePackages = lk_test_site_packages;

size_t file_size(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? static_cast<size_t>(info.st_size) : 0;
}

struct Expected {
  const char *name;
  const char *file;
  size_t nodes_in_file, constants; // as the onnx package counts them
  int32_t opset;
  const char *input, *output;
  std::vector<int64_t> input_dims;
  size_t metadata;
};

void PrintTo(const Expected &e, std::ostream *out) {
  *out << e.file;
}

class OnnxOcrModel : public ::testing::TestWithParam<Expected> {};

TEST_P(OnnxOcrModel, Loads) {
  const Expected &e = GetParam();
  const std::string path = kSitePackages + "/rapidocr_onnxruntime/models/" + e.file;
  const size_t size = file_size(path);
  ASSERT_GT(size, 0u) << path;
  lk::FailingAllocator allocator;
  {
    Loaded m;
    LK_ASSERT_OK(m.file(path, allocator.get()));
    const lk_graph *g = m.graph;
    EXPECT_EQ(g->n_nodes_in_file, e.nodes_in_file);
    EXPECT_EQ(g->n_nodes, e.nodes_in_file - e.constants);
    EXPECT_EQ(static_cast<size_t>(std::count_if(
                  g->values, g->values + g->n_values,
                  [](const lk_value &v) { return v.constant_kind != LK_CONSTANT_NONE; })),
              e.constants);
    ASSERT_EQ(g->n_inputs, 1u);
    ASSERT_EQ(g->n_outputs, 1u);
    const lk_value &in = g->values[g->inputs[0]];
    EXPECT_STREQ(in.name, e.input);
    EXPECT_STREQ(g->values[g->outputs[0]].name, e.output);
    ASSERT_NE(in.declared, nullptr);
    EXPECT_EQ(std::vector<int64_t>(in.declared->dims, in.declared->dims + in.declared->rank),
              e.input_dims);
    for (size_t i = 0; i < g->n_nodes; i++) EXPECT_EQ(g->nodes[i].opset, e.opset);
    EXPECT_EQ(g->n_metadata, e.metadata);
    if (e.metadata > 0) {
      EXPECT_STREQ(g->metadata[0].key, "character");
      EXPECT_GT(strlen(g->metadata[0].value), 13000u);
    }
    for (size_t i = 0; i < g->n_values; i++) {
      const lk_value &v = g->values[i];
      if (v.constant_kind == LK_CONSTANT_NONE) continue;
      if (lk_elements(&v.constant.desc) > 64) {
        EXPECT_EQ(v.constant_kind, LK_CONSTANT_MAPPED) << v.name;
      }
    }
    lk_onnx_model_drop_pages(m.model);
  }
  RecordProperty("peak_kb", static_cast<int>(allocator.peak_bytes() >> 10));
  // The whole load: the mapped file and 30 % of it; small models have more nodes than weights.
  EXPECT_LT(allocator.peak_bytes(), std::max(size / 10 * 3, size_t{1536} << 10));
}

INSTANTIATE_TEST_SUITE_P(All, OnnxOcrModel,
                         ::testing::Values(Expected{.name = "Detection",
                                                    .file = "ch_PP-OCRv4_det_infer.onnx",
                                                    .nodes_in_file = 672,
                                                    .constants = 342,
                                                    .opset = 12,
                                                    .input = "x",
                                                    .output = "sigmoid_0.tmp_0",
                                                    .input_dims = {-1, 3, -1, -1},
                                                    .metadata = 0},
                                           Expected{.name = "Recognition",
                                                    .file = "ch_PP-OCRv4_rec_infer.onnx",
                                                    .nodes_in_file = 860,
                                                    .constants = 420,
                                                    .opset = 12,
                                                    .input = "x",
                                                    .output = "softmax_11.tmp_0",
                                                    .input_dims = {-1, 3, -1, -1},
                                                    .metadata = 1},
                                           Expected{.name = "Classifier",
                                                    .file = "ch_ppocr_mobile_v2.0_cls_infer.onnx",
                                                    .nodes_in_file = 566,
                                                    .constants = 308,
                                                    .opset = 11,
                                                    .input = "x",
                                                    .output = "save_infer_model/scale_0.tmp_1",
                                                    .input_dims = {-1, 3, -1, -1},
                                                    .metadata = 0}),
                         [](const auto &p) { return p.param.name; });

struct Light {
  const char *name;
  size_t nodes, initializers;
};

void PrintTo(const Light &l, std::ostream *out) {
  *out << l.name;
}

class OnnxLightModel : public ::testing::TestWithParam<Light> {};

TEST_P(OnnxLightModel, Loads) {
  Loaded m;
  const std::string name = GetParam().name;
  LK_ASSERT_OK(m.file(kSitePackages + "/onnx/backend/test/data/light/light_" + name + ".onnx"));
  EXPECT_EQ(m.graph->n_nodes, GetParam().nodes);
  EXPECT_EQ(m.graph->n_inputs, 1u) << "all others have initializers";
  EXPECT_EQ(static_cast<size_t>(std::count_if(
                m.graph->values, m.graph->values + m.graph->n_values,
                [](const lk_value &v) { return v.constant_kind != LK_CONSTANT_NONE; })),
            GetParam().initializers);
}

INSTANTIATE_TEST_SUITE_P(
    All, OnnxLightModel,
    ::testing::Values(Light{.name = "bvlc_alexnet", .nodes = 40, .initializers = 17},
                      Light{.name = "densenet121", .nodes = 1746, .initializers = 848},
                      Light{.name = "inception_v1", .nodes = 237, .initializers = 118},
                      Light{.name = "inception_v2", .nodes = 916, .initializers = 486},
                      Light{.name = "resnet50", .nodes = 415, .initializers = 269},
                      Light{.name = "shufflenet", .nodes = 446, .initializers = 281},
                      Light{.name = "squeezenet", .nodes = 105, .initializers = 52},
                      Light{.name = "vgg19", .nodes = 82, .initializers = 39},
                      Light{.name = "zfnet512", .nodes = 38, .initializers = 18}),
    [](const auto &p) { return p.param.name; });

// Test cases as the command reads them; what is expected of them was read with the onnx package.
TEST(OnnxTestData, TensorFile) {
  const std::string file = kSitePackages + "/onnx/backend/test/data/pytorch-operator/"
                                           "test_operator_maxpool/test_data_set_0/input_0.pb";
  lk::FailingAllocator allocator;
  lk_tensor t;
  char *name = nullptr;
  LK_ASSERT_OK(lk_onnx_read_tensor(allocator.get(), file.c_str(), &t, &name, LK_ERR));
  EXPECT_STREQ(name, "");
  char text[LK_TENSOR_TEXT_CAPACITY];
  EXPECT_STREQ(lk_tensor_text(&t.desc, text), "20x16x50:f32");
  EXPECT_FLOAT_EQ(static_cast<float *>(t.data)[0], -0.111718565f);
  EXPECT_FLOAT_EQ(static_cast<float *>(t.data)[20 * 16 * 50 - 1], -0.13691898f);
  lk_free(allocator.get(), t.data);
  lk_free(allocator.get(), name);
}

// Every model and tensor file that comes with the onnx package is read, or refused by name: models
// of opset 6, sequences, strings, and tensors and attributes that Latchkey has no use for.
TEST(OnnxTestData, EveryFileIsReadOrRefused) {
  size_t models = 0, tensors = 0, refused_models = 0, refused_tensors = 0;
  lk::FailingAllocator allocator;
  const std::string root = kSitePackages + "/onnx/backend/test/data";
  for (const auto &entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string path = entry.path().string();
    if (entry.path().extension() == ".onnx") {
      Loaded m;
      const lk_status status = m.file(path, allocator.get());
      (status == LK_OK ? models : refused_models)++;
      EXPECT_TRUE(status == LK_OK || status == LK_UNSUPPORTED) << LK_MESSAGE;
    } else if (entry.path().extension() == ".pb") {
      lk_tensor t;
      const lk_status status =
          lk_onnx_read_tensor(allocator.get(), path.c_str(), &t, nullptr, LK_ERR);
      (status == LK_OK ? tensors : refused_tensors)++;
      EXPECT_TRUE(status == LK_OK || status == LK_UNSUPPORTED || status == LK_MALFORMED)
          << path << ": " << LK_MESSAGE;
      lk_free(allocator.get(), t.data);
    }
  }
  EXPECT_GT(models, 20u);
  EXPECT_GT(tensors, 250u);
  EXPECT_GT(refused_models, 100u);
  RecordProperty("models", static_cast<int>(models));
  RecordProperty("tensors", static_cast<int>(tensors));
  RecordProperty("refused_tensors", static_cast<int>(refused_tensors));
}

} // namespace
