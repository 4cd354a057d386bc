# One way of using the installed library: install, build project/, run the program. The same again
# when the prefix was moved. All of it lies outside of the checkout, where nothing else of it can be
# found by chance.
function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# The word of `flags` that is `start` and a path: that path must be in the prefix.
function(expect_in_prefix flags start prefix)
  list(FILTER flags INCLUDE REGEX "^${start}/")
  list(TRANSFORM flags REPLACE "^${start}" "")
  foreach(path IN LISTS flags)
    file(REAL_PATH ${path} path)
    string(FIND "${path}/" "${prefix}/" place)
    if(NOT place EQUAL 0)
      message(FATAL_ERROR "${start}${path} is not in ${prefix}")
    endif()
  endforeach()
  list(LENGTH flags count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${count} words of pkg-config begin with ${start}, 1 is needed")
  endif()
endfunction()

function(use_by_find_package prefix work)
  run(${CMAKE_COMMAND} -G Ninja -S ${work}/source -B ${work}/build -D CMAKE_PREFIX_PATH=${prefix}
      -D CMAKE_C_COMPILER=${CC})
  run(${CMAKE_COMMAND} --build ${work}/build)
  run(${work}/build/consumer)
endfunction()

function(use_by_pkg_config prefix work)
  find_program(PKG_CONFIG pkg-config REQUIRED)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  # Some implementations work the prefix out by themselves: the file must be right without that.
  execute_process(COMMAND ${PKG_CONFIG} --dont-define-prefix --cflags --libs latchkey
                  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  expect_in_prefix("${flags}" -I ${prefix})
  expect_in_prefix("${flags}" -L ${prefix})
  run(${CC} -std=c11 -Wall -Wextra -Werror ${work}/source/main.c -o ${work}/consumer ${flags}
      -Wl,-rpath,${prefix}/${LIBDIR})
  run(${work}/consumer)
endfunction()

# A translation unit of a host with oneDNN code of its own, compiled by the installed headers alone.
function(compile_for_onednn prefix work)
  string(REPLACE ":" ";-isystem;" folders "${ONEDNN}")
  run(${CC} -std=c11 -Wall -Wextra -Werror -c ${work}/source/onednn.c -o ${work}/onednn.o
      -I ${prefix}/include -isystem ${folders})
endfunction()

function(use prefix work)
  file(COPY ${SOURCE}/project/ DESTINATION ${work}/source)
  if(ONEDNN)
    compile_for_onednn(${prefix} ${work})
  endif()
  if(WAY STREQUAL "find_package")
    use_by_find_package(${prefix} ${work})
  else()
    use_by_pkg_config(${prefix} ${work})
  endif()
endfunction()

execute_process(COMMAND mktemp -d -t latchkey-consumer.XXXXXX OUTPUT_VARIABLE folder
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(REAL_PATH ${folder} folder)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${folder}/prefix)
use(${folder}/prefix ${folder}/work)
file(RENAME ${folder}/prefix ${folder}/moved)
use(${folder}/moved ${folder}/work-moved)
file(REMOVE_RECURSE ${folder})
