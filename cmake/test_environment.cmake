# What every test finds in its environment.

set(python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
# Where the models and test cases of the Python packages lie: beside the schema.
cmake_path(GET onnx_proto_folder PARENT_PATH site_packages)
set(test_environment
    # Sanitizer options; other builds do not read them. ThreadSanitizer would take the 16 bytes
    # before a thread-local block at 16 bytes into a page for a header of old C libraries, and clear
    # the memory that they name. Blocks come from its own malloc, which keeps account of them.
    "ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1:intercept_tls_get_addr=0"
    # Where things are, for tests that are not compiled.
    "LK_TEST_LIBRARY=$<TARGET_FILE:latchkey>"
    "LK_TEST_SOURCE=${PROJECT_SOURCE_DIR}"
    "LK_TEST_BUILD=${PROJECT_BINARY_DIR}"
    "LK_TEST_PYTHON=${python}"
    "LATCHKEY_COMMAND=$<TARGET_FILE:latchkey_cli>"
    "LATCHKEY_SITE_PACKAGES=${site_packages}")

# The same for what is compiled (tests/harness/places.h).
if(NOT TARGET latchkey_test_places)
  add_library(latchkey_test_places STATIC ${PROJECT_SOURCE_DIR}/tests/harness/places.c)
  target_include_directories(latchkey_test_places PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(latchkey_test_places PRIVATE
                             LK_TEST_LIBRARY="$<TARGET_FILE:latchkey>"
                             LK_TEST_ORT_LIBRARY="$<TARGET_FILE:latchkey_ort>"
                             LK_TEST_SOURCE="${PROJECT_SOURCE_DIR}"
                             LATCHKEY_SITE_PACKAGES="${site_packages}")
  target_link_libraries(latchkey_test_places PRIVATE latchkey_flags)
endif()
