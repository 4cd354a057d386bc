# Installs the oneDNN that tools/setup fetched, and the libgomp that came with it, in a folder of
# Latchkey's own: the checkout that they come from may go away. make_private.py keeps them and another oneDNN
# in the process out of each other's way.
find_package(Python REQUIRED COMPONENTS Interpreter)

set(bundle ${CMAKE_INSTALL_LIBDIR}/latchkey)
set(bundled_onednn liblkdnnl.so)
set(bundled_gomp liblkgomp.so)
install(FILES ${private_onednn}/lib/libgomp.so.1 DESTINATION ${bundle} RENAME ${bundled_gomp})
install(FILES ${private_onednn}/lib/libdnnl.so.3.13 DESTINATION ${bundle} RENAME ${bundled_onednn})
install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/make_private.py
            --onednn \"\${root}/${bundle}/${bundled_onednn}\" \"\${root}/${bundle}/${bundled_gomp}\"
            \"\${root}/${CMAKE_INSTALL_LIBDIR}/liblatchkey.so.${PROJECT_VERSION}\"
            \"\${root}/${CMAKE_INSTALL_LIBDIR}/liblatchkey_ort.so\"
            \"\${root}/${CMAKE_INSTALL_BINDIR}/latchkey\"
    COMMAND_ERROR_IS_FATAL ANY)
")
