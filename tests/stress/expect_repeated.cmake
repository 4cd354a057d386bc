# Passes when a round of the stress test on one thread does the same for the same seed.
foreach(run first second)
  execute_process(COMMAND ${PROGRAM} --seconds 0 --seed 7 --round 1 --threads 1
                  OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "digest of the actions: [0-9a-f]+" ${run} "${output}")
endforeach()
if(first STREQUAL "" OR NOT first STREQUAL second)
  message(FATAL_ERROR "'${first}', and then '${second}'")
endif()
