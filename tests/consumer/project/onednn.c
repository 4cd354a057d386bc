/* What a host with oneDNN code of its own includes: it must be installed. */
#include <latchkey/onednn.h>

lk_status get(const lk_dnnl *cache, lk_dnnl_make_fn make, lk_ref **out_ref);

lk_status get(const lk_dnnl *cache, lk_dnnl_make_fn make, lk_ref **out_ref) {
  lk_dnnl_spec spec;
  lk_dnnl_begin(cache, &spec, dnnl_softmax, 0);
  return lk_dnnl_get(cache, &spec, make, out_ref, NULL, NULL);
}
