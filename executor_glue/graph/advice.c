/* Whether ONNX Runtime may run what the own executor does not. */
#include "executor_glue/graph/advice.h"

#include <string.h>

#include <latchkey/latchkey.h>

#include "executor_glue/graph/own_ops.h"

/* Operators that ONNX Runtime's CPU provider has and Latchkey lacks, by domain. A test compares
 * them with the kernels of the ONNX Runtime that is installed. */
static const struct {
  const char *domain, *operators; /* a blank before and behind each */
} of_onnxruntime[] = {
    {"", " Affine Crop DynamicSlice ImageScaler ParametricSoftplus RegexFullMatch Scale ScaledTanh "
         "StringConcat StringNormalizer StringSplit TfIdfVectorizer "},
    {"ai.onnx.ml",
     " ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer FeatureVectorizer "
     "Imputer LabelEncoder LinearClassifier LinearRegressor Normalizer OneHotEncoder SVMClassifier "
     "SVMRegressor Scaler TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor ZipMap "},
    {"com.microsoft",
     " AttnLSTM BeamSearch BifurcationDetector BranchwiseRMSNorm CDist CausalConvWithState "
     "ConvTransposeWithDynamicPads CropAndResize DecoderMaskedMultiHeadAttention "
     "DynamicTimeWarping EngramGate GatedAdd GatedRMSNorm GreedySearch HyperConnectionPostMix "
     "HyperConnectionPreMix Inverse LinearAttention LinearAttentionGate MRotaryEmbedding "
     "MatMulBnb4 MatMulFpQ4 MatMulInteger16 MaxpoolWithMask MoE MurmurHash3 NGramHashMapping "
     "NGramRepeatBlock Pad QMoE SampleOp Sampling ScaledSiLU SparseAttention SparseToDenseMatMul "
     "Tokenizer Unique VarlenNGramHashMapping WhisperBeamSearch WordConvEmbedding "},
};

static bool has_word(const char *words, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = words; length > 0 && (at = strstr(at, word)) != NULL; at += length) {
    if (at > words && at[-1] == ' ' && at[length] == ' ') return true;
  }
  return false;
}

static bool onnxruntime_has(const lk_node *node) {
  const lk_api *api = lk_get_api(LK_API_VERSION);
  if (lk_own_op_find(node) != NULL) return true;
  if (api->op_find(node->op_type, node->domain, node->opset) != NULL) return true;
  for (size_t i = 0; i < sizeof of_onnxruntime / sizeof of_onnxruntime[0]; i++) {
    if (strcmp(node->domain, of_onnxruntime[i].domain) != 0) continue;
    return has_word(of_onnxruntime[i].operators, node->op_type);
  }
  return false;
}

const char *lk_advice_on_node(const lk_node *node) {
  return onnxruntime_has(node) ? LK_ADVICE_PROVIDER : "";
}

const char *lk_advice_on_type(int64_t dtype) {
  enum { COMPLEX64 = 14, COMPLEX128 = 15, NEWEST = 26 }; /* ONNX's numbers */
  const bool is_known = dtype > 0 && dtype <= NEWEST;
  return is_known && dtype != COMPLEX64 && dtype != COMPLEX128 ? LK_ADVICE_PROVIDER : "";
}
