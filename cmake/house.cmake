# The folders of the product, one object library each, in the one chain that calls go down.
# tools/check_includes has the same chain for includes.

# The targets that a floor may call, from the ground up. A caller resets it to begin another chain.
set(LATCHKEY_FLOORS latchkey_flags)

# The loops of kernels have some hundred bytes. Where they, or the functions around them, do not
# begin with a line of the cache, some take up to a quarter longer, and whether they do would depend
# on what lies before them.
set(LATCHKEY_LOOPS -falign-loops=64 -falign-functions=64)

# latchkey_floor(<name> <folder> [LIBRARIES <library>...])
#
# Adds the target latchkey_<name> with the sources of `folder` on top of LATCHKEY_FLOORS. Files
# *_isa.c among them are compiled once for each width of vectors, in targets latchkey_<name>_<bytes>
# that belong to the floor: for any x86-64, AVX2 and AVX-512 (ops/kernel/vec/vec_begin.h). Where
# tests are built, the floor is also linked with those below it and nothing else but the library's
# one door: so a call up is an error of the build.
function(latchkey_floor name folder)
  cmake_parse_arguments(floor "" "" "LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
  set(of_isa ${sources})
  list(FILTER of_isa INCLUDE REGEX "_isa\\.c$")
  list(FILTER sources EXCLUDE REGEX "_isa\\.c$")
  add_library(latchkey_${name} OBJECT ${sources})
  target_include_directories(latchkey_${name} PUBLIC ${PROJECT_SOURCE_DIR}
                                                     ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(latchkey_${name} PUBLIC _GNU_SOURCE)
  list(GET LATCHKEY_FLOORS -1 below)
  target_link_libraries(latchkey_${name} PUBLIC ${below} ${floor_LIBRARIES})
  set(floors ${LATCHKEY_FLOORS})
  if(of_isa)
    foreach(bytes 16 32 64)
      add_library(latchkey_${name}_${bytes} OBJECT ${of_isa})
      target_compile_definitions(latchkey_${name}_${bytes} PRIVATE LK_VEC_BYTES=${bytes})
      if(bytes GREATER 16)
        target_compile_options(latchkey_${name}_${bytes} PRIVATE ${LATCHKEY_LOOPS})
      endif()
      target_link_libraries(latchkey_${name}_${bytes} PUBLIC ${below})
      list(APPEND floors latchkey_${name}_${bytes})
    endforeach()
  endif()
  list(APPEND floors latchkey_${name})
  set(LATCHKEY_FLOORS ${floors} PARENT_SCOPE)
  if(LATCHKEY_TESTS)
    add_library(floor_${name} SHARED)
    target_link_libraries(floor_${name} PRIVATE ${floors})
    target_link_options(floor_${name} PRIVATE LINKER:-z,defs LINKER:--defsym=lk_get_api=0)
    set_target_properties(floor_${name} PROPERTIES
                          LINKER_LANGUAGE C
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/floors)
  endif()
endfunction()
