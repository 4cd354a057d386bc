# What Latchkey stands on: Debian packages, which tools/setup installs.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(uuid REQUIRED IMPORTED_TARGET uuid)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(protobuf_c REQUIRED IMPORTED_TARGET libprotobuf-c)

# ---- the ONNX schema: C code made by protoc-c from the onnx.proto in the `onnx` Python package ---

# pip builds with a Python that has what pyproject.toml asks for; else it is .venv.
if(NOT LATCHKEY_ONNX_PROTO)
  set(onnx_proto "")
  if(SKBUILD AND Python_EXECUTABLE)
    set(find_onnx "import importlib.util; print(importlib.util.find_spec('onnx').origin)")
    execute_process(COMMAND ${Python_EXECUTABLE} -c "${find_onnx}" OUTPUT_VARIABLE onnx_module
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    cmake_path(REPLACE_FILENAME onnx_module onnx.proto OUTPUT_VARIABLE onnx_proto)
  endif()
  if(NOT EXISTS "${onnx_proto}")
    file(GLOB found ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/onnx/onnx.proto)
    list(POP_BACK found onnx_proto)
  endif()
  set(LATCHKEY_ONNX_PROTO "${onnx_proto}" CACHE FILEPATH "onnx.proto of the ONNX schema" FORCE)
endif()
if(NOT EXISTS "${LATCHKEY_ONNX_PROTO}")
  message(FATAL_ERROR "onnx.proto was not found. Run tools/setup, which puts it into .venv, or set "
                      "LATCHKEY_ONNX_PROTO to the one of an installed `onnx` Python package.")
endif()
find_program(PROTOC_C protoc-c REQUIRED)

set(generated ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${generated})
cmake_path(GET LATCHKEY_ONNX_PROTO PARENT_PATH onnx_proto_folder)
add_custom_command(OUTPUT ${generated}/onnx.pb-c.c ${generated}/onnx.pb-c.h
                   COMMAND ${PROTOC_C} -I ${onnx_proto_folder} --c_out=${generated}
                           ${LATCHKEY_ONNX_PROTO}
                   DEPENDS ${LATCHKEY_ONNX_PROTO}
                   COMMENT "Generating onnx.pb-c.h" VERBATIM)

# Included as "onnx.pb-c.h". Not our code: a system folder, and no warnings. Its include comes
# with the link, and so does the wait for its generation.
add_library(latchkey_onnx_proto STATIC ${generated}/onnx.pb-c.c)
target_include_directories(latchkey_onnx_proto SYSTEM PUBLIC ${generated})
target_compile_options(latchkey_onnx_proto PRIVATE -w)
target_link_libraries(latchkey_onnx_proto PUBLIC PkgConfig::protobuf_c)
