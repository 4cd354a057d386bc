/* A program of ONNX Runtime's that runs a model on Latchkey: it registers the provider's library,
 * gives its device to a session, and runs. The model is y = Sigmoid(x), 3x4x5, from ONNX Runtime's
 * own Python package (onnxruntime/datasets/sigmoid.onnx); the result is checked against a plain
 * loop.
 *
 *     onnxruntime LIBONNXRUNTIME LIBLATCHKEY_ORT MODEL [STATISTICS]
 *
 * Build: cc main.c -I <ONNX Runtime's headers> -ldl -lm. ONNX Runtime is opened by its path,
 * because that is how its Python package has it; a program that is linked to it calls
 * OrtGetApiBase(). */
#include <dlfcn.h>
#include <math.h>
#include <onnxruntime_c_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 3 * 4 * 5 };

static const OrtApi *api;

static void check(OrtStatus *status, const char *doing) {
  if (status == NULL) return;
  fprintf(stderr, "%s: %s\n", doing, api->GetErrorMessage(status));
  api->ReleaseStatus(status);
  exit(1);
}

/* The device that the provider offers: the processor. */
static const OrtEpDevice *find_device(const OrtEnv *env) {
  const OrtEpDevice *const *devices = NULL;
  size_t count = 0;
  check(api->GetEpDevices(env, &devices, &count), "GetEpDevices");
  for (size_t i = 0; i < count; i++) {
    if (strcmp(api->EpDevice_EpName(devices[i]), "LatchkeyExecutionProvider") == 0) {
      return devices[i];
    }
  }
  fprintf(stderr, "no LatchkeyExecutionProvider among %zu devices\n", count);
  exit(1);
}

static OrtSession *open_session(OrtEnv *env, const char *model, const char *statistics) {
  const OrtEpDevice *device = find_device(env);
  const char *const keys[] = {"cache_bytes", "statistics_file"};
  const char *const values[] = {"256m", statistics};
  const size_t n_options = statistics != NULL ? 2 : 1;
  OrtSessionOptions *options = NULL;
  OrtSession *session = NULL;
  check(api->CreateSessionOptions(&options), "CreateSessionOptions");
  check(api->SessionOptionsAppendExecutionProvider_V2(options, env, &device, 1, keys, values,
                                                      n_options),
        "SessionOptionsAppendExecutionProvider_V2");
  check(api->CreateSession(env, model, options, &session), "CreateSession");
  api->ReleaseSessionOptions(options);
  return session;
}

static void run(OrtSession *session, float *x, float *y) {
  const int64_t shape[] = {3, 4, 5};
  const char *const input_names[] = {"x"}, *const output_names[] = {"y"};
  OrtMemoryInfo *memory = NULL;
  OrtValue *input = NULL, *output = NULL;
  void *data = NULL;
  check(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory),
        "CreateCpuMemoryInfo");
  check(api->CreateTensorWithDataAsOrtValue(memory, x, COUNT * sizeof *x, shape, 3,
                                            ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input),
        "CreateTensorWithDataAsOrtValue");
  check(api->Run(session, NULL, input_names, (const OrtValue *const *)&input, 1, output_names, 1,
                 &output),
        "Run");
  check(api->GetTensorMutableData(output, &data), "GetTensorMutableData");
  memcpy(y, data, COUNT * sizeof *y);
  api->ReleaseValue(output);
  api->ReleaseValue(input);
  api->ReleaseMemoryInfo(memory);
}

static bool open_onnxruntime(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  const OrtApiBase *(*get_base)(void) = NULL;
  if (library != NULL) *(void **)&get_base = dlsym(library, "OrtGetApiBase");
  if (get_base == NULL) {
    fprintf(stderr, "cannot load ONNX Runtime: %s\n", dlerror());
    return false;
  }
  api = get_base()->GetApi(ORT_API_VERSION);
  printf("ONNX Runtime %s\n", get_base()->GetVersionString());
  if (api == NULL) fprintf(stderr, "it is older than 1.%d\n", ORT_API_VERSION);
  return api != NULL;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: %s LIBONNXRUNTIME LIBLATCHKEY_ORT MODEL [STATISTICS]\n", argv[0]);
    return 2;
  }
  const char *library = argv[2], *model = argv[3];
  const char *statistics = argc > 4 ? argv[4] : NULL; /* a file, written with the session's end */
  if (!open_onnxruntime(argv[1])) return 1;
  OrtEnv *env = NULL;
  check(api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "example", &env), "CreateEnv");
  check(api->RegisterExecutionProviderLibrary(env, "latchkey", library),
        "RegisterExecutionProviderLibrary");
  OrtSession *session = open_session(env, model, statistics);

  float x[COUNT], y[COUNT];
  int wrong = 0;
  for (int i = 0; i < COUNT; i++) x[i] = 0.1F * (float)(i - 30);
  run(session, x, y);
  for (int i = 0; i < COUNT; i++) {
    const bool close = fabsf(y[i] - 1 / (1 + expf(-x[i]))) < 1e-6F; /* a NaN is not */
    if (!close) wrong++;
  }
  printf("%d of %d elements differ from a plain loop's\n", wrong, COUNT);

  api->ReleaseSession(session); /* before the library goes */
  check(api->UnregisterExecutionProviderLibrary(env, "latchkey"),
        "UnregisterExecutionProviderLibrary");
  api->ReleaseEnv(env);
  return wrong != 0;
}
