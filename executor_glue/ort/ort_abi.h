/* The part of ONNX Runtime's plugin interface that the provider uses, by slot.
 *
 * ONNX Runtime ships its C headers in no package that is installed with it, and needs none of ours:
 * its functions come as tables of pointers, whose members are never removed or reordered once they
 * are released. So a function is a number in a table and a signature, which no compiler can check:
 * the tests run the oldest and the newest ONNX Runtime that the provider supports. Names and
 * signatures are those of its public headers onnxruntime_c_api.h and onnxruntime_ep_c_api.h.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of the interface that is asked for: the first with all that is used here (1.23). */
#define LK_ORT_API_VERSION 23u
#define LK_ORT_API_VERSION_24 24u

typedef struct OrtStatus OrtStatus; /* NULL: success */
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtValue OrtValue;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtLogger OrtLogger;
typedef struct OrtKeyValuePairs OrtKeyValuePairs;
typedef struct OrtHardwareDevice OrtHardwareDevice;
typedef struct OrtEpDevice OrtEpDevice;
typedef struct OrtGraph OrtGraph;
typedef struct OrtNode OrtNode;
typedef struct OrtValueInfo OrtValueInfo;
typedef struct OrtOpAttr OrtOpAttr;
typedef struct OrtEpGraphSupportInfo OrtEpGraphSupportInfo;
typedef struct OrtNodeComputeContext OrtNodeComputeContext;
typedef struct OrtDataTransferImpl OrtDataTransferImpl;

typedef enum OrtErrorCode {
  ORT_FAIL = 1,
  ORT_INVALID_ARGUMENT = 2,
  ORT_NOT_IMPLEMENTED = 9,
  ORT_EP_FAIL = 11
} OrtErrorCode;

typedef enum OrtLoggingLevel {
  ORT_LOGGING_LEVEL_VERBOSE = 0,
  ORT_LOGGING_LEVEL_INFO = 1,
  ORT_LOGGING_LEVEL_WARNING = 2
} OrtLoggingLevel;

typedef enum ONNXType { ONNX_TYPE_TENSOR = 1 } ONNXType;

typedef enum OrtHardwareDeviceType { OrtHardwareDeviceType_CPU = 0 } OrtHardwareDeviceType;

typedef enum OrtOpAttrType {
  ORT_OP_ATTR_UNDEFINED = 0,
  ORT_OP_ATTR_INT = 1,
  ORT_OP_ATTR_INTS = 2,
  ORT_OP_ATTR_FLOAT = 3,
  ORT_OP_ATTR_FLOATS = 4,
  ORT_OP_ATTR_STRING = 5,
  ORT_OP_ATTR_STRINGS = 6,
  ORT_OP_ATTR_TENSOR = 8
} OrtOpAttrType;

/* Element types (ONNXTensorElementDataType) have the numbers of ONNX's TensorProto.DataType, and so
 * of lk_dtype. */

/* ---- tables of functions ---- */

typedef void (*ort_function)(void);
typedef struct OrtApi {
  ort_function
      slots[415]; /* as many as are ever asked for; the table of an old version is shorter */
} OrtApi;
typedef struct OrtEpApi {
  ort_function slots[8];
} OrtEpApi;

typedef struct OrtApiBase {
  const OrtApi *(*GetApi)(uint32_t version); /* NULL: this ONNX Runtime is older */
  const char *(*GetVersionString)(void);
} OrtApiBase;

/* F(slot, name, result, arguments); S(slot, name, arguments): its result is an OrtStatus *. */
// clang-format off
#define LK_ORT_API_FUNCTIONS(F, S)                                                                 \
  S(0,   CreateStatus, (OrtErrorCode code, const char *message))                                   \
  F(2,   GetErrorMessage, const char *, (const OrtStatus *status))                                 \
  S(10,  CreateSessionOptions, (OrtSessionOptions **out))                                          \
  S(24,  SetIntraOpNumThreads, (OrtSessionOptions *options, int threads))                          \
  S(39,  CreateRunOptions, (OrtRunOptions **out))                                                  \
  S(46,  RunOptionsSetTerminate, (OrtRunOptions *options))                                         \
  S(47,  RunOptionsUnsetTerminate, (OrtRunOptions *options))                                       \
  S(51,  GetTensorMutableData, (OrtValue *value, void **out))                                      \
  S(55,  CastTypeInfoToTensorInfo,                                                                 \
         (const OrtTypeInfo *info, const OrtTensorTypeAndShapeInfo **out))                         \
  S(56,  GetOnnxTypeFromTypeInfo, (const OrtTypeInfo *info, ONNXType *out))                        \
  S(60,  GetTensorElementType, (const OrtTensorTypeAndShapeInfo *info, uint32_t *out))             \
  S(61,  GetDimensionsCount, (const OrtTensorTypeAndShapeInfo *info, size_t *out))                 \
  S(62,  GetDimensions, (const OrtTensorTypeAndShapeInfo *info, int64_t *dims, size_t count))      \
  S(63,  GetSymbolicDimensions,                                                                    \
         (const OrtTensorTypeAndShapeInfo *info, const char **names, size_t count))                \
  S(65,  GetTensorTypeAndShape, (const OrtValue *value, OrtTensorTypeAndShapeInfo **out))          \
  S(90,  KernelContext_GetInput,                                                                   \
         (const OrtKernelContext *context, size_t index, const OrtValue **out))                    \
  S(91,  KernelContext_GetOutput,                                                                  \
         (OrtKernelContext *context, size_t index, const int64_t *dims, size_t rank,               \
          OrtValue **out))                                                                         \
  F(93,  ReleaseStatus, void, (OrtStatus *status))                                                 \
  F(96,  ReleaseValue, void, (OrtValue *value))                                                    \
  F(97,  ReleaseRunOptions, void, (OrtRunOptions *options))                                        \
  F(99,  ReleaseTensorTypeAndShapeInfo, void, (OrtTensorTypeAndShapeInfo *info))                   \
  F(100, ReleaseSessionOptions, void, (OrtSessionOptions *options))                                \
  S(247, Logger_LogMessage,                                                                        \
         (const OrtLogger *logger, OrtLoggingLevel level, const char *message, const char *file,   \
          int line, const char *function))                                                         \
  S(272, ReadOpAttr,                                                                               \
         (const OrtOpAttr *attr, OrtOpAttrType type, void *data, size_t bytes, size_t *out_bytes)) \
  S(274, KernelContext_ParallelFor,                                                                \
         (const OrtKernelContext *context, void (*fn)(void *arg, size_t index), size_t total,      \
          size_t n_batches, void *arg))                                                            \
  S(289, GetValueInfoName, (const OrtValueInfo *info, const char **out))                           \
  S(290, GetValueInfoTypeInfo, (const OrtValueInfo *info, const OrtTypeInfo **out))                \
  F(298, GetKeyValuePairs, void,                                                                   \
         (const OrtKeyValuePairs *pairs, const char *const **keys, const char *const **values,     \
          size_t *out))                                                                            \
  F(300, ReleaseKeyValuePairs, void, (OrtKeyValuePairs *pairs))                                    \
  F(307, HardwareDevice_Type, OrtHardwareDeviceType, (const OrtHardwareDevice *device))            \
  F(317, GetEpApi, const OrtEpApi *, (void))                                                       \
  S(326, ValueInfo_GetInitializerValue, (const OrtValueInfo *info, const OrtValue **out))          \
  S(331, ValueInfo_IsConstantInitializer, (const OrtValueInfo *info, bool *out))                   \
  S(332, ValueInfo_IsFromOuterScope, (const OrtValueInfo *info, bool *out))                        \
  S(334, Graph_GetModelPath, (const OrtGraph *graph, const char **out))                            \
  S(336, Graph_GetNumOperatorSets, (const OrtGraph *graph, size_t *out))                           \
  S(337, Graph_GetOperatorSets,                                                                    \
         (const OrtGraph *graph, const char **domains, int64_t *versions, size_t count))           \
  S(346, Graph_GetParentNode, (const OrtGraph *graph, const OrtNode **out))                        \
  S(349, Node_GetName, (const OrtNode *node, const char **out))                                    \
  S(350, Node_GetOperatorType, (const OrtNode *node, const char **out))                            \
  S(351, Node_GetDomain, (const OrtNode *node, const char **out))                                  \
  S(352, Node_GetSinceVersion, (const OrtNode *node, int *out))                                    \
  S(362, OpAttr_GetTensorAttributeAsOrtValue, (const OrtOpAttr *attr, OrtValue **out))             \
  S(363, OpAttr_GetType, (const OrtOpAttr *attr, OrtOpAttrType *out))                              \
  S(364, OpAttr_GetName, (const OrtOpAttr *attr, const char **out))                                \
  F(373, GetRunConfigEntry, const char *, (const OrtRunOptions *options, const char *key))         \
  S(378, GetTensorData, (const OrtValue *value, const void **out))                                 \
  S(379, GetSessionOptionsConfigEntries,                                                           \
         (const OrtSessionOptions *options, OrtKeyValuePairs **out))                               \
  /* since LK_ORT_API_VERSION_24; the shape is the value's own */                                  \
  F(390, TensorTypeAndShape_HasShape, bool, (const OrtTensorTypeAndShapeInfo *info))               \
  S(414, GetTensorElementTypeAndShapeDataReference,                                                \
         (const OrtValue *value, uint32_t *out_type, const int64_t **out_dims, size_t *out_rank))

/* L(slot, function, list, owner, things, type of a thing, in words). In that slot,
 * <owner>_GetNum<things> counts the things of an Ort<owner>; in the next one, <owner>_Get<things>
 * writes them. Function and list are those of ort.h. */
#define LK_ORT_LISTS(L)                                                                            \
  L(338, graph_inputs, lk_ort_values, Graph, Inputs, OrtValueInfo, "graph's inputs")               \
  L(340, graph_outputs, lk_ort_values, Graph, Outputs, OrtValueInfo, "graph's outputs")            \
  L(344, graph_nodes, lk_ort_nodes, Graph, Nodes, OrtNode, "graph's nodes")                        \
  L(353, node_inputs, lk_ort_values, Node, Inputs, OrtValueInfo, "node's inputs")                  \
  L(355, node_outputs, lk_ort_values, Node, Outputs, OrtValueInfo, "node's outputs")               \
  L(357, node_implicit, lk_ort_values, Node, ImplicitInputs, OrtValueInfo, "node's other inputs")  \
  L(359, node_attributes, lk_ort_attributes, Node, Attributes, OrtOpAttr, "node's attributes")
// clang-format on

typedef struct OrtEpFactory OrtEpFactory;
typedef struct OrtEp OrtEp;
typedef struct OrtNodeComputeInfo OrtNodeComputeInfo;

typedef struct OrtNodeFusionOptions {
  uint32_t ort_version_supported;
  bool drop_constant_initializers;
} OrtNodeFusionOptions;

// clang-format off
#define LK_ORT_EP_API_FUNCTIONS(F)                                                                 \
  F(0, CreateEpDevice, OrtStatus *,                                                                \
         (OrtEpFactory *factory, const OrtHardwareDevice *device,                                  \
          const OrtKeyValuePairs *metadata, const OrtKeyValuePairs *options, OrtEpDevice **out))   \
  F(2, EpGraphSupportInfo_AddNodesToFuse, OrtStatus *,                                             \
         (OrtEpGraphSupportInfo *info, const OrtNode *const *nodes, size_t count,                  \
          const OrtNodeFusionOptions *options))
// clang-format on

/* ort_<name>(table) is the function, with its type. */
#define LK_ORT_FUNCTION(table, slot, name, result, arguments)                                      \
  typedef result(*ort_##name##_fn) arguments;                                                      \
  static inline ort_##name##_fn ort_##name(const table *api) {                                     \
    return (ort_##name##_fn)api->slots[slot];                                                      \
  }
#define LK_ORT_API_FUNCTION(slot, name, result, arguments)                                         \
  LK_ORT_FUNCTION(OrtApi, slot, name, result, arguments)
#define LK_ORT_STATUS_FUNCTION(slot, name, arguments)                                              \
  LK_ORT_API_FUNCTION(slot, name, OrtStatus *, arguments)
LK_ORT_API_FUNCTIONS(LK_ORT_API_FUNCTION, LK_ORT_STATUS_FUNCTION)
#define LK_ORT_LIST_FUNCTIONS(slot, function, list, owner, things, thing, words)                   \
  LK_ORT_STATUS_FUNCTION(slot, owner##_GetNum##things, (const Ort##owner *from, size_t *out))      \
  LK_ORT_STATUS_FUNCTION(slot + 1, owner##_Get##things,                                            \
                         (const Ort##owner *from, const thing **out, size_t count))
LK_ORT_LISTS(LK_ORT_LIST_FUNCTIONS)
#undef LK_ORT_LIST_FUNCTIONS
#undef LK_ORT_STATUS_FUNCTION
#undef LK_ORT_API_FUNCTION
#define LK_ORT_EP_API_FUNCTION(slot, name, result, arguments)                                      \
  LK_ORT_FUNCTION(OrtEpApi, slot, name, result, arguments)
LK_ORT_EP_API_FUNCTIONS(LK_ORT_EP_API_FUNCTION)
#undef LK_ORT_EP_API_FUNCTION

/* ---- what a provider implements ---- */

/* `reserved`: functions that stay NULL, in their places. */
struct OrtEpFactory {
  uint32_t ort_version_supported;
  const char *(*GetName)(const OrtEpFactory *self);
  const char *(*GetVendor)(const OrtEpFactory *self);
  OrtStatus *(*GetSupportedDevices)(OrtEpFactory *self, const OrtHardwareDevice *const *devices,
                                    size_t n_devices, OrtEpDevice **ep_devices,
                                    size_t max_ep_devices, size_t *n_ep_devices);
  OrtStatus *(*CreateEp)(OrtEpFactory *self, const OrtHardwareDevice *const *devices,
                         const OrtKeyValuePairs *const *metadata, size_t n_devices,
                         const OrtSessionOptions *options, const OrtLogger *logger, OrtEp **out);
  void (*ReleaseEp)(OrtEpFactory *self, OrtEp *ep);
  uint32_t (*GetVendorId)(const OrtEpFactory *self);
  const char *(*GetVersion)(const OrtEpFactory *self);
  ort_function reserved[3]; /* compatibility of compiled models, allocators */
  OrtStatus *(*CreateDataTransfer)(OrtEpFactory *self, OrtDataTransferImpl **out);
  ort_function reserved_streams[2];
};

struct OrtEp {
  uint32_t ort_version_supported;
  const char *(*GetName)(const OrtEp *self);
  OrtStatus *(*GetCapability)(OrtEp *self, const OrtGraph *graph, OrtEpGraphSupportInfo *info);
  OrtStatus *(*Compile)(OrtEp *self, const OrtGraph **graphs, const OrtNode **fused_nodes,
                        size_t count, OrtNodeComputeInfo **out_infos, OrtNode **ep_context_nodes);
  void (*ReleaseNodeComputeInfos)(OrtEp *self, OrtNodeComputeInfo **infos, size_t count);
  ort_function reserved[2]; /* data layouts */
  OrtStatus *(*SetDynamicOptions)(OrtEp *self, const char *const *keys, const char *const *values,
                                  size_t count);
  OrtStatus *(*OnRunStart)(OrtEp *self, const OrtRunOptions *options);
  OrtStatus *(*OnRunEnd)(OrtEp *self, const OrtRunOptions *options, bool sync_stream);
  ort_function reserved_devices[3]; /* allocators, streams, compiled models */
};

struct OrtNodeComputeInfo {
  uint32_t ort_version_supported;
  OrtStatus *(*CreateState)(OrtNodeComputeInfo *self, OrtNodeComputeContext *context, void **out);
  OrtStatus *(*Compute)(OrtNodeComputeInfo *self, void *state, OrtKernelContext *context);
  void (*ReleaseState)(OrtNodeComputeInfo *self, void *state);
};

static_assert(sizeof(OrtEpFactory) == 14 * sizeof(void *), "slots 0 to 13");
static_assert(offsetof(OrtEpFactory, CreateDataTransfer) == 11 * sizeof(void *), "slot 11");
static_assert(sizeof(OrtEp) == 13 * sizeof(void *), "slots 0 to 12");
static_assert(offsetof(OrtEp, SetDynamicOptions) == 7 * sizeof(void *), "slot 7");
static_assert(offsetof(OrtEp, OnRunStart) == 8 * sizeof(void *), "slot 8");
static_assert(sizeof(OrtNodeComputeInfo) == 32 && sizeof(OrtNodeFusionOptions) == 8, "sizes");

/* What ONNX Runtime looks up in the library. */
OrtStatus *CreateEpFactories(const char *registration_name, const OrtApiBase *base,
                             const OrtLogger *default_logger, OrtEpFactory **factories,
                             size_t max_factories, size_t *n_factories);
OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);
