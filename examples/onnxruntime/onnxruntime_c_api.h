/* A stand-in for ONNX Runtime's public header of this name, with as much of it as main.c needs: the
 * Python package of ONNX Runtime, which the tests have, comes without headers. With the true header
 * main.c compiles as it stands.
 *
 * ONNX Runtime's functions are members of a table, which never move once they are released. Each
 * is here at its place (the asserts); the rest is left out. Names, places and types are those of
 * the public header, API 23 (ONNX Runtime 1.23). */
#ifndef ONNXRUNTIME_C_API_H
#define ONNXRUNTIME_C_API_H

#include <stddef.h>
#include <stdint.h>

#define ORT_API_VERSION 23

typedef struct OrtStatus OrtStatus; /* NULL: success */
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtValue OrtValue;
typedef struct OrtEpDevice OrtEpDevice;

typedef enum OrtLoggingLevel {
  ORT_LOGGING_LEVEL_INFO = 1,
  ORT_LOGGING_LEVEL_WARNING = 2
} OrtLoggingLevel;
typedef enum OrtAllocatorType { OrtDeviceAllocator = 0 } OrtAllocatorType;
typedef enum OrtMemType { OrtMemTypeDefault = 0 } OrtMemType;
typedef enum ONNXTensorElementDataType {
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1
} ONNXTensorElementDataType;

typedef struct OrtApi {
  void (*before_2[2])(void);
  const char *(*GetErrorMessage)(const OrtStatus *status);
  OrtStatus *(*CreateEnv)(OrtLoggingLevel level, const char *log_id, OrtEnv **out);
  void (*before_7[3])(void);
  OrtStatus *(*CreateSession)(const OrtEnv *env, const char *path, const OrtSessionOptions *options,
                              OrtSession **out);
  void (*before_9[1])(void);
  OrtStatus *(*Run)(OrtSession *session, const OrtRunOptions *options,
                    const char *const *input_names, const OrtValue *const *inputs, size_t n_inputs,
                    const char *const *output_names, size_t n_outputs, OrtValue **outputs);
  OrtStatus *(*CreateSessionOptions)(OrtSessionOptions **out);
  void (*before_49[38])(void);
  OrtStatus *(*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo *info, void *data, size_t bytes,
                                               const int64_t *shape, size_t rank,
                                               ONNXTensorElementDataType type, OrtValue **out);
  void (*before_51[1])(void);
  OrtStatus *(*GetTensorMutableData)(OrtValue *value, void **out);
  void (*before_69[17])(void);
  OrtStatus *(*CreateCpuMemoryInfo)(OrtAllocatorType type, OrtMemType memory, OrtMemoryInfo **out);
  void (*before_92[22])(void);
  void (*ReleaseEnv)(OrtEnv *env);
  void (*ReleaseStatus)(OrtStatus *status);
  void (*ReleaseMemoryInfo)(OrtMemoryInfo *info);
  void (*ReleaseSession)(OrtSession *session);
  void (*ReleaseValue)(OrtValue *value);
  void (*before_100[3])(void);
  void (*ReleaseSessionOptions)(OrtSessionOptions *options);
  void (*before_301[200])(void);
  OrtStatus *(*RegisterExecutionProviderLibrary)(OrtEnv *env, const char *registration_name,
                                                 const char *path);
  OrtStatus *(*UnregisterExecutionProviderLibrary)(OrtEnv *env, const char *registration_name);
  OrtStatus *(*GetEpDevices)(const OrtEnv *env, const OrtEpDevice *const **out, size_t *count);
  OrtStatus *(*SessionOptionsAppendExecutionProvider_V2)(
      OrtSessionOptions *options, OrtEnv *env, const OrtEpDevice *const *devices, size_t n_devices,
      const char *const *option_keys, const char *const *option_values, size_t n_options);
  void (*before_312[7])(void);
  const char *(*EpDevice_EpName)(const OrtEpDevice *device);
} OrtApi;

typedef struct OrtApiBase {
  const OrtApi *(*GetApi)(uint32_t version); /* NULL: this ONNX Runtime is older */
  const char *(*GetVersionString)(void);
} OrtApiBase;

#define ORT_IS_AT(place, name)                                                                     \
  _Static_assert(offsetof(OrtApi, name) == (place) * sizeof(void (*)(void)), #name)
ORT_IS_AT(2, GetErrorMessage);
ORT_IS_AT(7, CreateSession);
ORT_IS_AT(9, Run);
ORT_IS_AT(49, CreateTensorWithDataAsOrtValue);
ORT_IS_AT(51, GetTensorMutableData);
ORT_IS_AT(69, CreateCpuMemoryInfo);
ORT_IS_AT(92, ReleaseEnv);
ORT_IS_AT(100, ReleaseSessionOptions);
ORT_IS_AT(301, RegisterExecutionProviderLibrary);
ORT_IS_AT(312, EpDevice_EpName);
#undef ORT_IS_AT

#endif
