# onednn_shared: oneDNN as a shared library, for programs that have oneDNN code of their own:
# benchmarks, an example, tests. It is the oneDNN of DNNL::dnnl, which is an archive where
# tools/setup has built it: that is linked, and nothing is compiled.

if(TARGET DNNL::dnnl)
  if(LATCHKEY_ONEDNN_IS_INSIDE)
    file(CONFIGURE OUTPUT no_source.cc CONTENT "")
    add_library(onednn_shared SHARED ${CMAKE_CURRENT_BINARY_DIR}/no_source.cc)
    target_link_libraries(onednn_shared PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,DNNL::dnnl>)
  else()
    add_library(onednn_shared INTERFACE)
    target_link_libraries(onednn_shared INTERFACE DNNL::dnnl)
  endif()
  target_include_directories(onednn_shared SYSTEM INTERFACE
                             $<TARGET_PROPERTY:DNNL::dnnl,INTERFACE_INCLUDE_DIRECTORIES>)
endif()
