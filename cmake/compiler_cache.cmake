# ccache, where it is installed, remembers what it has compiled: a clean checkout is then built in a
# tenth of the time, and the Python package of what `development` has compiled in none.
option(LATCHKEY_COMPILER_CACHE "Compile by ccache where it is installed" OFF)
find_program(LATCHKEY_CCACHE ccache)
mark_as_advanced(LATCHKEY_CCACHE)
if(LATCHKEY_COMPILER_CACHE AND LATCHKEY_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  # What precompiled headers need by ccache's manual; names of files from the checkout on, so that
  # another checkout finds the same.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${LATCHKEY_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
