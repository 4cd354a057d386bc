# DNNL::dnnl, the oneDNN that the engine `onednn` and benchmarks stand on, as LATCHKEY_ONEDNN says.
# Without it there is no such target, and everything works by the library's own engine.

# Of version 3, the oldest that the engine takes: its tables of what oneDNN computes wrongly
# (ops/engine/onednn/limits.h) are of this one.
set(LATCHKEY_ONEDNN_LEAST_MINOR 14)
set(onednn_least 3.${LATCHKEY_ONEDNN_LEAST_MINOR})
set(onednn_remedy "Set dnnl_ROOT to the prefix of one that was built with "
                  "-DONEDNN_CPU_RUNTIME=THREADPOOL, or LATCHKEY_ONEDNN to bundled or OFF.")

if(LATCHKEY_ONEDNN STREQUAL "bundled")
  find_package(dnnl ${onednn_least} CONFIG QUIET PATHS ${PROJECT_SOURCE_DIR}/.deps/onednn
               NO_DEFAULT_PATH)
  if(NOT dnnl_FOUND)
    message(STATUS "No oneDNN in .deps/onednn (tools/setup builds it): the engine onednn "
                   "is left out")
  endif()
elseif(LATCHKEY_ONEDNN STREQUAL "system")
  find_package(dnnl ${onednn_least} CONFIG QUIET)
  if(NOT dnnl_FOUND)
    set(found "none was found")
    if(dnnl_CONSIDERED_CONFIGS)
      list(JOIN dnnl_CONSIDERED_VERSIONS ", " versions)
      list(JOIN dnnl_CONSIDERED_CONFIGS ", " configs)
      set(found "found was ${versions} (${configs})")
    endif()
    message(FATAL_ERROR "LATCHKEY_ONEDNN is 'system', which takes oneDNN ${onednn_least} and newer "
                        "ones of 3; ${found}. " ${onednn_remedy})
  endif()
  if(NOT DNNL_CPU_RUNTIME STREQUAL "THREADPOOL")
    message(FATAL_ERROR "LATCHKEY_ONEDNN is 'system', and oneDNN ${dnnl_VERSION} in ${dnnl_DIR} "
                        "has the CPU runtime '${DNNL_CPU_RUNTIME}': the engine onednn computes by "
                        "the threads of a run, and takes THREADPOOL alone. " ${onednn_remedy})
  endif()
elseif(LATCHKEY_ONEDNN)
  message(FATAL_ERROR "LATCHKEY_ONEDNN is '${LATCHKEY_ONEDNN}': bundled, system or OFF is allowed")
endif()

# An archive goes into the module, whose own it is then: the linker shows what it allocates.
set(LATCHKEY_ONEDNN_IS_INSIDE OFF)
if(TARGET DNNL::dnnl)
  get_target_property(onednn_type DNNL::dnnl TYPE)
  if(onednn_type STREQUAL "STATIC_LIBRARY")
    set(LATCHKEY_ONEDNN_IS_INSIDE ON)
  endif()
  message(STATUS "oneDNN ${dnnl_VERSION} in ${dnnl_DIR}")
endif()
