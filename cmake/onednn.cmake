# DNNL::dnnl, the oneDNN that the engine `onednn` and benchmarks stand on, as LATCHKEY_ONEDNN says.
# Without it there is no such target, and everything works by the library's own engine.

if(LATCHKEY_ONEDNN STREQUAL "bundled")
  find_package(dnnl 3.14 CONFIG QUIET PATHS ${PROJECT_SOURCE_DIR}/.deps/onednn NO_DEFAULT_PATH)
  if(NOT dnnl_FOUND)
    message(STATUS "No oneDNN in .deps/onednn (tools/setup builds it): the engine onednn "
                   "is left out")
  endif()
elseif(LATCHKEY_ONEDNN STREQUAL "system")
  find_package(dnnl 3 CONFIG REQUIRED)
  if(NOT DNNL_CPU_RUNTIME STREQUAL "THREADPOOL")
    message(FATAL_ERROR "oneDNN in ${dnnl_DIR} has the runtime ${DNNL_CPU_RUNTIME}; the engine "
                        "onednn takes one that was built with ONEDNN_CPU_RUNTIME=THREADPOOL")
  endif()
elseif(LATCHKEY_ONEDNN)
  message(FATAL_ERROR "LATCHKEY_ONEDNN is '${LATCHKEY_ONEDNN}': bundled, system or OFF is allowed")
endif()
if(TARGET DNNL::dnnl)
  message(STATUS "oneDNN ${dnnl_VERSION} in ${dnnl_DIR}")
endif()
