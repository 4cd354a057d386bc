# Installs the licence texts of what Latchkey is made of beside its own: the libraries that its
# wheel carries, and other projects' code that is compiled in. The texts are those that the packages
# bring which the code comes from, so that they change with it and no copy of them lies here.
#
# One that is not found is missed in silence by nobody: tools/build_wheel refuses a wheel without
# it.

if(SKBUILD)
  set(licenses ${SKBUILD_METADATA_DIR}/licenses)
else()
  set(licenses ${CMAKE_INSTALL_DOCDIR}/licenses)
endif()

# license_text(<name installed as> <file>...): the first file that there is.
function(license_text name)
  foreach(file IN LISTS ARGN)
    if(EXISTS ${file})
      install(FILES ${file} DESTINATION ${licenses} RENAME ${name})
      return()
    endif()
  endforeach()
  message(WARNING "The licence text ${name} was not found (${ARGN}); it will not be installed.")
endfunction()

set(debian_doc /usr/share/doc)

license_text(libprotobuf-c.txt ${debian_doc}/libprotobuf-c1/copyright)
license_text(libjansson.txt ${debian_doc}/libjansson4/copyright)
license_text(libxxhash.txt ${debian_doc}/libxxhash0/copyright)
license_text(libuuid.txt ${debian_doc}/libuuid1/copyright)
license_text(uthash.txt ${debian_doc}/uthash-dev/copyright)

# The schema is the `onnx` package's: its licence lies in the folder of its metadata.
file(GLOB onnx_license ${onnx_proto_folder}/../onnx-*.dist-info/licenses/LICENSE)
license_text(onnx.txt ${onnx_license})

# Only a Python package that was built with it has it.
if(SKBUILD AND EXISTS ${PROJECT_SOURCE_DIR}/.deps/echarts/LICENSE)
  license_text(echarts.txt ${PROJECT_SOURCE_DIR}/.deps/echarts/LICENSE)
  license_text(echarts_notice.txt ${PROJECT_SOURCE_DIR}/.deps/echarts/NOTICE)
  string(CONCAT echarts_row
         "echarts.min.js            Apache ECharts; Apache License 2.0                    "
         "echarts.txt, echarts_notice.txt\n")
endif()

# The engine of oneDNN has it inside.
if(TARGET latchkey_onednn AND LATCHKEY_ONEDNN STREQUAL "bundled")
  set(onednn_doc ${PROJECT_SOURCE_DIR}/.deps/onednn/share/doc/dnnl)
  license_text(onednn.txt ${onednn_doc}/LICENSE)
  license_text(onednn_third_party.txt ${onednn_doc}/THIRD-PARTY-PROGRAMS)
  string(CONCAT onednn_row
         "liblatchkey_onednn.so     oneDNN; Apache License 2.0                            "
         "onednn.txt, onednn_third_party.txt\n")
endif()

configure_file(cmake/third_party.txt.in third_party.txt @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/third_party.txt DESTINATION ${licenses})
