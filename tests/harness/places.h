/* Where lies what tests open, as the build knows it. One source file is compiled with these paths:
 * flags with paths of a checkout would keep the compiler's cache from answering in another one. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

extern const char lk_test_library[];       /* liblatchkey.so */
extern const char lk_test_ort_library[];   /* the provider for ONNX Runtime */
extern const char lk_test_source[];        /* the folder of the checkout */
extern const char lk_test_site_packages[]; /* the folder of the Python packages */

#ifdef __cplusplus
}
#endif
