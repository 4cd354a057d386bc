# Man pages of the command and its subcommands, made from what their --help says. Builds that count
# or check what runs do without: the command would run in them.
find_program(HELP2MAN help2man)
mark_as_advanced(HELP2MAN)
if(NOT HELP2MAN)
  message(STATUS "No man pages: help2man was not found")
  return()
endif()
if(LATCHKEY_COVERAGE OR LATCHKEY_SANITIZE)
  return()
endif()

set(man_folder ${PROJECT_BINARY_DIR}/man)
file(MAKE_DIRECTORY ${man_folder})
set(man_page ${PROJECT_SOURCE_DIR}/cmake/man_page)

# Each source cmd_<name>.c is a subcommand; the empty name is the command itself.
set(man_pages)
foreach(source IN LISTS cli_sources ITEMS "")
  if(source STREQUAL "")
    set(subcommand)
    set(page ${man_folder}/latchkey.1)
  elseif(source MATCHES "/cmd_([a-z]+)\\.c$")
    set(subcommand ${CMAKE_MATCH_1})
    set(page ${man_folder}/latchkey-${subcommand}.1)
  else()
    continue()
  endif()
  # Made aside: an interrupted build leaves no half of a page.
  add_custom_command(
    OUTPUT ${page}
    COMMAND ${man_page} $<TARGET_FILE:latchkey_cli> ${subcommand} > ${page}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${page}.new ${page}
    DEPENDS latchkey_cli ${man_page}
    VERBATIM)
  list(APPEND man_pages ${page})
endforeach()
add_custom_target(latchkey_man ALL DEPENDS ${man_pages})
install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
