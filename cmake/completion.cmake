# The scripts of `latchkey completion`, installed where bash and zsh look for them. Not for builds
# that count or check what runs do: the command would run in them.
if(LATCHKEY_COVERAGE OR LATCHKEY_SANITIZE)
  return()
endif()

set(completion_scripts)
foreach(shell bash zsh)
  set(script ${PROJECT_BINARY_DIR}/completion/${shell})
  # Made aside: an interrupted build leaves no half of a script.
  add_custom_command(
    OUTPUT ${script}
    COMMAND latchkey_cli completion ${shell} > ${script}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${script}.new ${script}
    DEPENDS latchkey_cli
    VERBATIM)
  list(APPEND completion_scripts ${script})
endforeach()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completion)
add_custom_target(latchkey_completion ALL DEPENDS ${completion_scripts})
install(FILES ${PROJECT_BINARY_DIR}/completion/bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME latchkey)
install(FILES ${PROJECT_BINARY_DIR}/completion/zsh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _latchkey)
