/* The library's two entry points, and the factory that they make and end. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/ort/provider.h"

static const char *get_name(const OrtEpFactory *self) {
  (void)self;
  return LK_ORT_PROVIDER_NAME;
}

static const char *get_vendor(const OrtEpFactory *self) {
  (void)self;
  return "Latchkey";
}

static uint32_t get_vendor_id(const OrtEpFactory *self) {
  (void)self;
  return 0; /* none: it is no maker of hardware */
}

#define LK_TEXT_OF(number) #number
#define LK_VERSION_TEXT(major, minor, patch)                                                       \
  LK_TEXT_OF(major) "." LK_TEXT_OF(minor) "." LK_TEXT_OF(patch)

static const char *get_version(const OrtEpFactory *self) {
  (void)self;
  return LK_VERSION_TEXT(LK_VERSION_MAJOR, LK_VERSION_MINOR, LK_VERSION_PATCH);
}

/* One device, the first processor: a session has one provider, whatever the number of sockets. */
static OrtStatus *get_supported_devices(OrtEpFactory *self, const OrtHardwareDevice *const *devices,
                                        size_t n_devices, OrtEpDevice **ep_devices,
                                        size_t max_ep_devices, size_t *n_ep_devices) {
  const lk_ort_factory *factory = (lk_ort_factory *)self;
  *n_ep_devices = 0;
  for (size_t i = 0; i < n_devices && *n_ep_devices < max_ep_devices; i++) {
    if (ort_HardwareDevice_Type(factory->ort.api)(devices[i]) != OrtHardwareDeviceType_CPU)
      continue;
    OrtStatus *result =
        ort_CreateEpDevice(factory->ort.ep)(self, devices[i], NULL, NULL, &ep_devices[0]);
    if (result == NULL) *n_ep_devices = 1;
    return result;
  }
  return NULL;
}

static OrtStatus *create_ep(OrtEpFactory *self, const OrtHardwareDevice *const *devices,
                            const OrtKeyValuePairs *const *metadata, size_t n_devices,
                            const OrtSessionOptions *options, const OrtLogger *logger,
                            OrtEp **out) {
  (void)devices, (void)metadata;
  lk_ort_factory *factory = (lk_ort_factory *)self;
  lk_ort_provider *provider = NULL;
  lk_error error;
  *out = NULL;
  lk_status status = LK_OK;
  if (n_devices == 1) {
    status = lk_ort_provider_create(factory, options, logger, &provider, &error);
  } else {
    status = lk_fail(&error, LK_INVALID_ARGUMENT,
                     "failed to create %s: %zu devices, it runs on one processor",
                     LK_ORT_PROVIDER_NAME, n_devices);
  }
  if (provider != NULL) *out = &provider->abi;
  return lk_ort_status(&factory->ort, status, &error);
}

static void release_ep(OrtEpFactory *self, OrtEp *ep) {
  (void)self;
  lk_ort_provider_destroy((lk_ort_provider *)ep);
}

/* ONNX Runtime calls it without asking whether it is there. Data is where processors have it. */
static OrtStatus *create_data_transfer(OrtEpFactory *self, OrtDataTransferImpl **out) {
  (void)self;
  *out = NULL;
  return NULL;
}

static const OrtEpFactory factory_functions = {
    .ort_version_supported = LK_ORT_API_VERSION,
    .GetName = get_name,
    .GetVendor = get_vendor,
    .GetSupportedDevices = get_supported_devices,
    .CreateEp = create_ep,
    .ReleaseEp = release_ep,
    .GetVendorId = get_vendor_id,
    .GetVersion = get_version,
    .CreateDataTransfer = create_data_transfer,
};

/* "1.<minor>.<patch>". Asking for a table that is not there would print a line. */
static bool is_at_least(const char *version, unsigned long minor) {
  char *rest = NULL;
  const unsigned long major = strtoul(version, &rest, 10);
  return major > 1 || (major == 1 && *rest == '.' && strtoul(rest + 1, NULL, 10) >= minor);
}

/* With a status made through the oldest table, which every ONNX Runtime has. */
static OrtStatus *refuse_version(const OrtApiBase *base) {
  const lk_ort oldest = {.api = base->GetApi(1)};
  lk_error error;
  const lk_status status =
      lk_fail(&error, LK_VERSION,
              "failed to register %s: this is ONNX Runtime %s, 1.%u or newer "
              "is needed",
              LK_ORT_PROVIDER_NAME, base->GetVersionString(), LK_ORT_API_VERSION);
  return lk_ort_status(&oldest, status, &error);
}

__attribute__((visibility("default"))) OrtStatus *
CreateEpFactories(const char *registration_name, const OrtApiBase *base,
                  const OrtLogger *default_logger, OrtEpFactory **factories, size_t max_factories,
                  size_t *n_factories) {
  (void)registration_name;
  lk_error error;
  *n_factories = 0;
  const OrtApi *api = base->GetApi(LK_ORT_API_VERSION);
  if (api == NULL) return refuse_version(base);
  const bool is_1_24 = is_at_least(base->GetVersionString(), 24);
  const lk_ort ort = {.api = api,
                      .ep = ort_GetEpApi(api)(),
                      .latchkey = lk_get_api(LK_API_VERSION),
                      .api_24 = is_1_24 ? base->GetApi(LK_ORT_API_VERSION_24) : NULL,
                      .offsets = lk_ort_offsets_find(api)};
  if (max_factories < 1) {
    return lk_ort_status(&ort,
                         lk_fail(&error, LK_INVALID_ARGUMENT,
                                 "failed to register %s: room for no factory",
                                 LK_ORT_PROVIDER_NAME),
                         &error);
  }
  lk_ort_factory *factory = lk_calloc(lk_allocator_default(), 1, sizeof *factory);
  if (factory == NULL) {
    return lk_ort_status(&ort, lk_fail_memory(&error, "a factory", sizeof *factory), &error);
  }
  factory->abi = factory_functions;
  factory->ort = ort;
  lk_ort_contexts_init(&factory->contexts, &factory->ort, default_logger);
  factories[0] = &factory->abi;
  *n_factories = 1;
  return NULL;
}

__attribute__((visibility("default"))) OrtStatus *ReleaseEpFactory(OrtEpFactory *self) {
  lk_ort_factory *factory = (lk_ort_factory *)self;
  lk_ort_contexts_end(&factory->contexts);
  lk_free(lk_allocator_default(), factory);
  return NULL;
}
