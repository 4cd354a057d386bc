# Installs the oneDNN that tools/setup fetched, and the libgomp beside it, in a folder of Latchkey's own:
# the checkout that they come from may go away.
#
# The copy gets a soname of its own. The loader takes the first library of a soname for all who ask:
# under its usual name, another oneDNN in the process (a Python package's, of another version) would
# be taken for ours, or ours for theirs.
find_program(PATCHELF patchelf REQUIRED)

set(bundle ${CMAKE_INSTALL_LIBDIR}/latchkey)
set(bundled_soname liblatchkey_dnnl.so.3)
install(FILES ${private_onednn}/lib/libgomp.so.1 DESTINATION ${bundle})
install(FILES ${private_onednn}/lib/libdnnl.so.3.13 DESTINATION ${bundle} RENAME ${bundled_soname})
install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}\")
  execute_process(COMMAND ${PATCHELF} --set-soname ${bundled_soname} \"\${root}/latchkey/${bundled_soname}\"
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${PATCHELF} --replace-needed libdnnl.so.3 ${bundled_soname}
                          \"\${root}/liblatchkey.so.${PROJECT_VERSION}\"
                  COMMAND_ERROR_IS_FATAL ANY)
")
