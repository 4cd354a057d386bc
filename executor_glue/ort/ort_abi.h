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
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtMemoryInfo OrtMemoryInfo;
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
  ORT_LOGGING_LEVEL_WARNING = 2,
  ORT_LOGGING_LEVEL_ERROR = 3
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
  ORT_OP_ATTR_GRAPH = 7,
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

/* F(slot, name, result, arguments) */
// clang-format off
#define LK_ORT_API_FUNCTIONS(F)                                                                    \
  F(0,   CreateStatus, OrtStatus *, (OrtErrorCode code, const char *message))                      \
  F(2,   GetErrorMessage, const char *, (const OrtStatus *status))                                 \
  F(10,  CreateSessionOptions, OrtStatus *, (OrtSessionOptions **out))                             \
  F(24,  SetIntraOpNumThreads, OrtStatus *, (OrtSessionOptions *options, int threads))             \
  F(39,  CreateRunOptions, OrtStatus *, (OrtRunOptions **out))                                     \
  F(46,  RunOptionsSetTerminate, OrtStatus *, (OrtRunOptions *options))                            \
  F(47,  RunOptionsUnsetTerminate, OrtStatus *, (OrtRunOptions *options))                          \
  F(51,  GetTensorMutableData, OrtStatus *, (OrtValue *value, void **out))                         \
  F(55,  CastTypeInfoToTensorInfo, OrtStatus *,                                                    \
         (const OrtTypeInfo *info, const OrtTensorTypeAndShapeInfo **out))                         \
  F(56,  GetOnnxTypeFromTypeInfo, OrtStatus *, (const OrtTypeInfo *info, ONNXType *out))           \
  F(60,  GetTensorElementType, OrtStatus *,                                                        \
         (const OrtTensorTypeAndShapeInfo *info, uint32_t *out))                                   \
  F(61,  GetDimensionsCount, OrtStatus *, (const OrtTensorTypeAndShapeInfo *info, size_t *out))    \
  F(62,  GetDimensions, OrtStatus *,                                                               \
         (const OrtTensorTypeAndShapeInfo *info, int64_t *dims, size_t count))                     \
  F(63,  GetSymbolicDimensions, OrtStatus *,                                                       \
         (const OrtTensorTypeAndShapeInfo *info, const char **names, size_t count))                \
  F(65,  GetTensorTypeAndShape, OrtStatus *,                                                       \
         (const OrtValue *value, OrtTensorTypeAndShapeInfo **out))                                 \
  F(90,  KernelContext_GetInput, OrtStatus *,                                                      \
         (const OrtKernelContext *context, size_t index, const OrtValue **out))                    \
  F(91,  KernelContext_GetOutput, OrtStatus *,                                                     \
         (OrtKernelContext *context, size_t index, const int64_t *dims, size_t rank,               \
          OrtValue **out))                                                                         \
  F(93,  ReleaseStatus, void, (OrtStatus *status))                                                 \
  F(96,  ReleaseValue, void, (OrtValue *value))                                                    \
  F(97,  ReleaseRunOptions, void, (OrtRunOptions *options))                                        \
  F(99,  ReleaseTensorTypeAndShapeInfo, void, (OrtTensorTypeAndShapeInfo *info))                   \
  F(100, ReleaseSessionOptions, void, (OrtSessionOptions *options))                                \
  F(247, Logger_LogMessage, OrtStatus *,                                                           \
         (const OrtLogger *logger, OrtLoggingLevel level, const char *message, const char *file,   \
          int line, const char *function))                                                         \
  F(272, ReadOpAttr, OrtStatus *,                                                                  \
         (const OrtOpAttr *attr, OrtOpAttrType type, void *data, size_t bytes, size_t *out_bytes)) \
  F(274, KernelContext_ParallelFor, OrtStatus *,                                                   \
         (const OrtKernelContext *context, void (*fn)(void *arg, size_t index), size_t total,      \
          size_t n_batches, void *arg))                                                            \
  F(289, GetValueInfoName, OrtStatus *, (const OrtValueInfo *info, const char **out))              \
  F(290, GetValueInfoTypeInfo, OrtStatus *, (const OrtValueInfo *info, const OrtTypeInfo **out))   \
  F(298, GetKeyValuePairs, void,                                                                   \
         (const OrtKeyValuePairs *pairs, const char *const **keys, const char *const **values,     \
          size_t *out))                                                                            \
  F(300, ReleaseKeyValuePairs, void, (OrtKeyValuePairs *pairs))                                    \
  F(307, HardwareDevice_Type, OrtHardwareDeviceType, (const OrtHardwareDevice *device))            \
  F(317, GetEpApi, const OrtEpApi *, (void))                                                       \
  F(326, ValueInfo_GetInitializerValue, OrtStatus *,                                               \
         (const OrtValueInfo *info, const OrtValue **out))                                         \
  F(331, ValueInfo_IsConstantInitializer, OrtStatus *, (const OrtValueInfo *info, bool *out))      \
  F(332, ValueInfo_IsFromOuterScope, OrtStatus *, (const OrtValueInfo *info, bool *out))           \
  F(334, Graph_GetModelPath, OrtStatus *, (const OrtGraph *graph, const char **out))               \
  F(336, Graph_GetNumOperatorSets, OrtStatus *, (const OrtGraph *graph, size_t *out))              \
  F(337, Graph_GetOperatorSets, OrtStatus *,                                                       \
         (const OrtGraph *graph, const char **domains, int64_t *versions, size_t count))           \
  F(338, Graph_GetNumInputs, OrtStatus *, (const OrtGraph *graph, size_t *out))                    \
  F(339, Graph_GetInputs, OrtStatus *,                                                             \
         (const OrtGraph *graph, const OrtValueInfo **out, size_t count))                          \
  F(340, Graph_GetNumOutputs, OrtStatus *, (const OrtGraph *graph, size_t *out))                   \
  F(341, Graph_GetOutputs, OrtStatus *,                                                            \
         (const OrtGraph *graph, const OrtValueInfo **out, size_t count))                          \
  F(344, Graph_GetNumNodes, OrtStatus *, (const OrtGraph *graph, size_t *out))                     \
  F(345, Graph_GetNodes, OrtStatus *, (const OrtGraph *graph, const OrtNode **out, size_t count))  \
  F(346, Graph_GetParentNode, OrtStatus *, (const OrtGraph *graph, const OrtNode **out))           \
  F(349, Node_GetName, OrtStatus *, (const OrtNode *node, const char **out))                       \
  F(350, Node_GetOperatorType, OrtStatus *, (const OrtNode *node, const char **out))               \
  F(351, Node_GetDomain, OrtStatus *, (const OrtNode *node, const char **out))                     \
  F(352, Node_GetSinceVersion, OrtStatus *, (const OrtNode *node, int *out))                       \
  F(353, Node_GetNumInputs, OrtStatus *, (const OrtNode *node, size_t *out))                       \
  F(354, Node_GetInputs, OrtStatus *,                                                              \
         (const OrtNode *node, const OrtValueInfo **out, size_t count))                            \
  F(355, Node_GetNumOutputs, OrtStatus *, (const OrtNode *node, size_t *out))                      \
  F(356, Node_GetOutputs, OrtStatus *,                                                             \
         (const OrtNode *node, const OrtValueInfo **out, size_t count))                            \
  F(357, Node_GetNumImplicitInputs, OrtStatus *, (const OrtNode *node, size_t *out))               \
  F(358, Node_GetImplicitInputs, OrtStatus *,                                                      \
         (const OrtNode *node, const OrtValueInfo **out, size_t count))                            \
  F(359, Node_GetNumAttributes, OrtStatus *, (const OrtNode *node, size_t *out))                   \
  F(360, Node_GetAttributes, OrtStatus *,                                                          \
         (const OrtNode *node, const OrtOpAttr **out, size_t count))                               \
  F(362, OpAttr_GetTensorAttributeAsOrtValue, OrtStatus *,                                         \
         (const OrtOpAttr *attr, OrtValue **out))                                                  \
  F(363, OpAttr_GetType, OrtStatus *, (const OrtOpAttr *attr, OrtOpAttrType *out))                 \
  F(364, OpAttr_GetName, OrtStatus *, (const OrtOpAttr *attr, const char **out))                   \
  F(373, GetRunConfigEntry, const char *, (const OrtRunOptions *options, const char *key))         \
  F(378, GetTensorData, OrtStatus *, (const OrtValue *value, const void **out))                    \
  F(379, GetSessionOptionsConfigEntries, OrtStatus *,                                              \
         (const OrtSessionOptions *options, OrtKeyValuePairs **out))                               \
  /* since LK_ORT_API_VERSION_24; the shape is the value's own */                                  \
  F(414, GetTensorElementTypeAndShapeDataReference, OrtStatus *,                                   \
         (const OrtValue *value, uint32_t *out_type, const int64_t **out_dims, size_t *out_rank))
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
LK_ORT_API_FUNCTIONS(LK_ORT_API_FUNCTION)
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
  ort_function reserved[3]; /* data layouts, dynamic options */
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
static_assert(offsetof(OrtEp, OnRunStart) == 8 * sizeof(void *), "slot 8");
static_assert(sizeof(OrtNodeComputeInfo) == 32 && sizeof(OrtNodeFusionOptions) == 8, "sizes");

/* What ONNX Runtime looks up in the library. */
OrtStatus *CreateEpFactories(const char *registration_name, const OrtApiBase *base,
                             const OrtLogger *default_logger, OrtEpFactory **factories,
                             size_t max_factories, size_t *n_factories);
OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);
