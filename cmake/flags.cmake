# How every target of this repository is compiled: language, warnings, sanitizer. Warnings are
# errors in the presets, not here: a newer compiler must not break somebody else's build.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Tests see hidden functions in an archive, which each of them is linked with. As a shared library,
# for tools/mutate, it is linked anew without them.
option(LATCHKEY_SHARED_TESTS "Link the tests with a shared library of all functions" OFF)
if(LATCHKEY_SHARED_TESTS)
  set(CMAKE_C_VISIBILITY_PRESET default)
  set(CMAKE_LINK_DEPENDS_NO_SHARED ON)
else()
  set(CMAKE_C_VISIBILITY_PRESET hidden)
endif()
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()

set(LATCHKEY_SANITIZE "" CACHE STRING "What -fsanitize= is given: address,undefined or thread")
set_property(CACHE LATCHKEY_SANITIZE PROPERTY STRINGS "" address undefined thread
                                              "address,undefined")

option(LATCHKEY_COVERAGE "The flags have gcc count what is reached (preset coverage)" OFF)
if(LATCHKEY_COVERAGE)
  add_compile_definitions(XXH_NO_INLINE_HINTS=1) # gcc cannot inline all of xxhash.h with -Og
endif()
option(LATCHKEY_FUZZ "Build the targets of tests/fuzz for libFuzzer, by clang" OFF)

# An interface target: what is compiled with it gets the flags, installed consumers do not.
add_library(latchkey_flags INTERFACE)
set(c_warnings -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes
    -Wmissing-prototypes -Wvla -Wundef -Wwrite-strings -Wformat=2)
# Test code compares literals of all kinds; conversions there hide nothing.
set(cxx_warnings -Wall -Wextra -Wvla)
target_compile_options(latchkey_flags INTERFACE
                       "$<$<COMPILE_LANGUAGE:C>:${c_warnings}>"
                       "$<$<COMPILE_LANGUAGE:CXX>:${cxx_warnings}>"
                       -fno-semantic-interposition)

# What makes a fault harder to use: checks of the C library's copies and formats, canaries and
# probes on the stack, targets of indirect jumps marked (CET), tables of functions bound at load and
# then read-only. Sanitizers have checks of their own.
if(NOT LATCHKEY_SANITIZE)
  set(LATCHKEY_HARDENED_COMPILE
      "$<$<CONFIG:Release,RelWithDebInfo>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>"
      -fstack-protector-strong -fstack-clash-protection -fcf-protection=full)
  set(LATCHKEY_HARDENED_LINK LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()
target_compile_options(latchkey_flags INTERFACE ${LATCHKEY_HARDENED_COMPILE})
target_link_options(latchkey_flags INTERFACE ${LATCHKEY_HARDENED_LINK})

if(LATCHKEY_SANITIZE)
  set(sanitize -fsanitize=${LATCHKEY_SANITIZE} -fno-omit-frame-pointer)
  if(LATCHKEY_SANITIZE MATCHES "undefined")
    # C++ is tests alone, and takes three times as long to compile with it.
    list(APPEND sanitize -fno-sanitize-recover=all
         "$<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=undefined>"
         "$<$<COMPILE_LANGUAGE:C>:-fsanitize=float-cast-overflow>")
  endif()
  if(LATCHKEY_FUZZ)
    # clang takes NULL + 0 for an overflow, which C allows from WG14 N3322 on.
    list(APPEND sanitize -fsanitize=fuzzer-no-link -fno-sanitize=pointer-overflow)
  endif()
  target_compile_options(latchkey_flags INTERFACE ${sanitize})
  target_link_options(latchkey_flags INTERFACE -fsanitize=${LATCHKEY_SANITIZE})
endif()
