/* The library's entry points, and the factory that they make and destroy. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/status.h"
#include "executor_glue/ort/provider.h"

/* One registration of the library. It lives as long as its last provider: ONNX Runtime takes the
 * registration back, and unloads the library, whether sessions are left or not. */
typedef struct registration {
  OrtEpFactory abi; /* first: ONNX Runtime's pointer is ours */
  lk_ort ort;
  lk_ort_contexts contexts;
  _Atomic uint32_t users; /* its providers, and ONNX Runtime */
} registration;

static _Atomic uint32_t n_providers; /* of the process */

static void leave(registration *self) {
  if (atomic_fetch_sub_explicit(&self->users, 1, memory_order_acq_rel) > 1) return;
  lk_ort_contexts_destroy(&self->contexts);
  lk_free(lk_allocator_default(), self);
}

static void count_provider(registration *self, bool comes) {
  if (comes) {
    atomic_fetch_add_explicit(&self->users, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&n_providers, 1, memory_order_relaxed);
  } else {
    atomic_fetch_sub_explicit(&n_providers, 1, memory_order_relaxed);
    leave(self);
  }
}

/* Keeps the library in the process for good: sessions that are left call it. */
static void stay_loaded(void) {
  Dl_info info;
  if (dladdr((const void *)&n_providers, &info) == 0) return;
  (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static const char *get_name(const OrtEpFactory *factory) {
  (void)factory;
  return LK_ORT_PROVIDER_NAME;
}

static const char *get_vendor(const OrtEpFactory *factory) {
  (void)factory;
  return "Latchkey";
}

static uint32_t get_vendor_id(const OrtEpFactory *factory) {
  (void)factory;
  return 0; /* none: Latchkey makes no hardware */
}

#define LK_TEXT_OF(number) #number
#define LK_VERSION_TEXT(major, minor, patch)                                                       \
  LK_TEXT_OF(major) "." LK_TEXT_OF(minor) "." LK_TEXT_OF(patch)

static const char *get_version(const OrtEpFactory *factory) {
  (void)factory;
  return LK_VERSION_TEXT(LK_VERSION_MAJOR, LK_VERSION_MINOR, LK_VERSION_PATCH);
}

/* One device, the first processor: a session has one provider, whatever the number of sockets. */
static OrtStatus *get_supported_devices(OrtEpFactory *factory,
                                        const OrtHardwareDevice *const *devices, size_t n_devices,
                                        OrtEpDevice **ep_devices, size_t max_ep_devices,
                                        size_t *n_ep_devices) {
  const lk_ort *ort = &((registration *)factory)->ort;
  *n_ep_devices = 0;
  for (size_t i = 0; i < n_devices && *n_ep_devices < max_ep_devices; i++) {
    if (ort_HardwareDevice_Type(ort->api)(devices[i]) != OrtHardwareDeviceType_CPU) continue;
    OrtStatus *result =
        ort_CreateEpDevice(ort->ep)(factory, devices[i], NULL, NULL, &ep_devices[0]);
    if (result == NULL) *n_ep_devices = 1;
    return result;
  }
  return NULL;
}

static OrtStatus *create_ep(OrtEpFactory *factory, const OrtHardwareDevice *const *devices,
                            const OrtKeyValuePairs *const *metadata, size_t n_devices,
                            const OrtSessionOptions *options, const OrtLogger *logger,
                            OrtEp **out) {
  (void)devices, (void)metadata;
  registration *self = (registration *)factory;
  lk_error error;
  *out = NULL;
  const lk_status status =
      n_devices == 1
          ? lk_ort_provider_create(&self->contexts, options, logger, out, &error)
          : lk_fail(&error, LK_INVALID_ARGUMENT, "failed to create %s: %zu devices, 1 is allowed",
                    LK_ORT_PROVIDER_NAME, n_devices);
  if (status == LK_OK) count_provider(self, true);
  return lk_ort_status(&self->ort, status, &error);
}

static void release_ep(OrtEpFactory *factory, OrtEp *ep) {
  lk_ort_provider_destroy(ep);
  if (ep != NULL) count_provider((registration *)factory, false);
}

/* None: data stays where it is. ONNX Runtime calls this function even where it is NULL. */
static OrtStatus *create_data_transfer(OrtEpFactory *factory, OrtDataTransferImpl **out) {
  (void)factory;
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

/* One line when a registration does without a setting that ONNX Runtime's interface does not read:
 * users would look for the reason of what they see for long. */
static void warn_unknown(const lk_ort *ort, const char *version, const OrtLogger *logger) {
  const bool no_threads = ort->offsets.threads == SIZE_MAX;
  const bool no_terminate = ort->offsets.terminate == SIZE_MAX;
  char line[512];
  if (logger == NULL || (!no_threads && !no_terminate)) return;
  (void)snprintf(
      line, sizeof line,
      LK_ORT_PROVIDER_NAME
      ": failed to find %s%s%s in the objects of ONNX Runtime %.32s: setting one must change "
      "exactly one place%s%s",
      no_threads ? "intra_op_num_threads" : "", no_threads && no_terminate ? " and " : "",
      no_terminate ? "the terminate flag of runs" : "", version,
      no_threads ? "; the provider option threads gives the number instead" : "",
      no_terminate ? "; a run that is terminated ends between fused nodes only" : "");
  lk_ort_log(ort, logger, ORT_LOGGING_LEVEL_WARNING, line);
}

static lk_status register_provider(const lk_ort *ort, const char *version, const OrtLogger *logger,
                                   OrtEpFactory **factories, size_t max_factories,
                                   lk_error *error) {
  if (max_factories < 1) {
    return lk_fail(error, LK_INVALID_ARGUMENT,
                   "failed to register %s: room for %zu factories, 1 is needed",
                   LK_ORT_PROVIDER_NAME, max_factories);
  }
  registration *made = lk_calloc(lk_allocator_default(), 1, sizeof *made);
  if (made == NULL) return lk_fail_memory(error, "a factory", sizeof *made);
  made->abi = factory_functions;
  made->ort = *ort;
  made->ort.offsets = lk_ort_offsets_find(ort->api);
  warn_unknown(&made->ort, version, logger);
  lk_ort_contexts_create(&made->ort, logger, &made->contexts);
  atomic_init(&made->users, 1);
  factories[0] = &made->abi;
  return LK_OK;
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
                      .api_24 = is_1_24 ? base->GetApi(LK_ORT_API_VERSION_24) : NULL};
  const lk_status status = register_provider(&ort, base->GetVersionString(), default_logger,
                                             factories, max_factories, &error);
  if (status == LK_OK) *n_factories = 1;
  return lk_ort_status(&ort, status, &error);
}

__attribute__((visibility("default"))) OrtStatus *ReleaseEpFactory(OrtEpFactory *factory) {
  registration *self = (registration *)factory;
  /* An error would be logged, and the library unloaded all the same. */
  if (atomic_load_explicit(&self->users, memory_order_relaxed) > 1) stay_loaded();
  leave(self);
  return NULL;
}

/* How many providers there are in the process, one for each session that has one. Any thread. */
__attribute__((visibility("default"))) uint32_t latchkey_ort_providers(void);
uint32_t latchkey_ort_providers(void) {
  return atomic_load_explicit(&n_providers, memory_order_relaxed);
}
