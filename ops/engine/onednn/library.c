#include "ops/engine/onednn/library.h"

#include <link.h>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <stdint.h>

#include "ops/engine/onednn/status.h"

enum { MAJOR = 3, LEAST_MINOR = LATCHKEY_ONEDNN_LEAST_MINOR };

/* Newer major versions have another interface, and a library of another name. */
static lk_status check_version(const dnnl_version_t *version, lk_error *error) {
  if (version->major == MAJOR && version->minor >= LEAST_MINOR) return LK_OK;
  return lk_onednn_fail(error, LK_NOT_FOUND,
                        "failed to open the engine of oneDNN: the process has oneDNN %d.%d.%d, and "
                        "the engine takes %d.%d and newer ones of %d; install such a one, or build "
                        "with LATCHKEY_ONEDNN=bundled",
                        version->major, version->minor, version->patch, MAJOR, LEAST_MINOR, MAJOR);
}

lk_status lk_onednn_library_check(lk_error *error) {
  const dnnl_version_t *version = dnnl_version();
  LK_ONEDNN_RETURN(check_version(version, error));
  if (version->cpu_runtime == DNNL_RUNTIME_THREADPOOL) return LK_OK;
  return lk_onednn_fail(error, LK_NOT_FOUND,
                        "failed to open the engine of oneDNN: the oneDNN %d.%d.%d of the process "
                        "has the CPU runtime %s, and the engine takes one that was built with "
                        "ONEDNN_CPU_RUNTIME=THREADPOOL, since it computes by the threads of a run; "
                        "install such a one, or build with LATCHKEY_ONEDNN=bundled",
                        version->major, version->minor, version->patch,
                        dnnl_runtime2str(version->cpu_runtime));
}

#ifdef LATCHKEY_ONEDNN_IS_INSIDE

bool lk_onednn_library_is_ours(void) {
  return true;
}

#else

typedef struct search {
  uintptr_t module, onednn; /* an address in each */
  bool is_module_first;
} search;

static bool has_address(const struct dl_phdr_info *of, uintptr_t address) {
  for (int i = 0; i < of->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &of->dlpi_phdr[i];
    const uintptr_t begin = of->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && address >= begin && address - begin < part->p_memsz) return true;
  }
  return false;
}

static int look(struct dl_phdr_info *of, size_t size, void *arg) {
  search *self = arg;
  (void)size;
  self->is_module_first = has_address(of, self->module);
  return self->is_module_first || has_address(of, self->onednn) ? 1 : 0;
}

/* Libraries are listed in the order in which they were loaded, and one that is loaded because
 * another one needs it comes behind that. So one before the module was loaded for somebody else. */
bool lk_onednn_library_is_ours(void) {
  static const char in_module = 0;
  search self = {.module = (uintptr_t)&in_module, .onednn = (uintptr_t)dnnl_version()};
  (void)dl_iterate_phdr(look, &self);
  return self.is_module_first;
}

#endif
