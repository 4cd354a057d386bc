# Installs the oneDNN that tools/setup fetched, and the threads that it calls, in a folder of
# Latchkey's own: the checkout that it comes from may go away. make_private.py keeps it and another
# oneDNN in the process out of each other's way.
find_package(Python REQUIRED COMPONENTS Interpreter)

set(bundle ${CMAKE_INSTALL_LIBDIR}/latchkey)
set(bundled_onednn liblkdnnl.so)
install(TARGETS latchkey_threads EXPORT latchkey-targets LIBRARY DESTINATION ${bundle})
install(FILES ${private_onednn}/lib/libdnnl.so.3.13 DESTINATION ${bundle} RENAME ${bundled_onednn})
install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/make_private.py
            --onednn \"\${root}/${bundle}/${bundled_onednn}\"
            \"\${root}/${CMAKE_INSTALL_LIBDIR}/liblatchkey.so.${PROJECT_VERSION}\"
            \"\${root}/${CMAKE_INSTALL_LIBDIR}/liblatchkey_ort.so\"
            \"\${root}/${CMAKE_INSTALL_BINDIR}/latchkey\"
    COMMAND_ERROR_IS_FATAL ANY)
")
