# Passes when the stress test, with keys that lack FIELD, tells a violation within 60 seconds. A crash is
# no catch, and neither is an end without a word.
execute_process(COMMAND ${PROGRAM} --seconds 60 --break ${FIELD}
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT result EQUAL 1 OR NOT output MATCHES "CAUGHT: keys without field '${FIELD}'")
  message(FATAL_ERROR "keys without '${FIELD}' were not caught: ${result}")
endif()
