# One way of using the installed library: install, build project/, run the program.
file(REMOVE_RECURSE ${PREFIX} ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(COMMAND_ERROR_IS_FATAL ANY)

execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

if(WAY STREQUAL "find_package")
  execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/project -B ${WORK}
                          -D CMAKE_PREFIX_PATH=${PREFIX} -D CMAKE_C_COMPILER=${CC}
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
else()
  find_program(PKG_CONFIG pkg-config REQUIRED)
  set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
  # --define-prefix: the file must also be right after the prefix was moved or set at installation.
  execute_process(COMMAND ${PKG_CONFIG} --define-prefix --cflags --libs latchkey
                  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute_process(COMMAND ${CC} -std=c11 -Wall -Wextra -Werror
                          ${SOURCE}/project/main.c -o ${WORK}/consumer ${flags}
                          -Wl,-rpath,${PREFIX}/${LIBDIR}
                  COMMAND_ERROR_IS_FATAL ANY)
endif()

execute_process(COMMAND ${WORK}/consumer COMMAND_ERROR_IS_FATAL ANY)
