#include "tests/harness/places.h"

const char lk_test_library[] = LK_TEST_LIBRARY;
const char lk_test_ort_library[] = LK_TEST_ORT_LIBRARY;
const char lk_test_source[] = LK_TEST_SOURCE;
const char lk_test_site_packages[] = LATCHKEY_SITE_PACKAGES;
