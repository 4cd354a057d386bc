# Sourced by the other tools: shows that something long goes on.
# shellcheck shell=bash

# run_with_progress <what> <log> <command>...
#
# Runs the command with its output in the file <log>. On a terminal, one line says what goes on, for
# how many seconds, and the newest line of the log; else a line is printed at the start and every 15
# seconds. Returns the command's status.
run_with_progress() {
  local what=$1 log=$2 pid start=$SECONDS newest width status=0
  shift 2
  "$@" >"$log" 2>&1 &
  pid=$!
  # An interrupt ends the command too, and the caller's own trap then tidies up.
  # shellcheck disable=SC2064 # the process of now
  trap "kill $pid 2>/dev/null; exit 130" INT TERM
  if [[ -t 2 ]]; then
    while kill -0 "$pid" 2>/dev/null; do
      newest=$(tail -n 1 "$log" 2>/dev/null | tr -d '\r' | tr -c '[:print:]\n' ' ')
      width=$(($(tput cols 2>/dev/null || echo 80) - 1))
      printf '\r\033[K%.*s' "$width" "$what, $((SECONDS - start)) s  $newest" >&2
      sleep 0.2
    done
    printf '\r\033[K' >&2
  else
    printf '%s\n' "$what" >&2
    while kill -0 "$pid" 2>/dev/null; do
      sleep 0.2
      if ((SECONDS - start >= 15)); then
        start=$((start + 15))
        printf '%s: %s\n' "$what" "$(tail -n 1 "$log" | cut -c -100)" >&2
      fi
    done
  fi
  wait "$pid" || status=$?
  trap - INT TERM
  return "$status"
}
