# Sourced by the scripts beside it: run the program and say what was expected of it. Needs $work, a folder.
# shellcheck shell=bash disable=SC2034,SC2154
failed=0

complain() {
  printf '%s\n' "$*" >&2
  failed=1
}
# run CODE ARGUMENTS…: keeps both outputs in $out and $err
run() {
  local expected=$1 status=0
  shift
  "$RPINN_PROGRAM" "$@" > "$work/out" 2> "$work/err" || status=$?
  out=$(< "$work/out") err=$(< "$work/err")
  if ((status != expected)); then complain "rpinn $*: exit code $status, expected $expected: $err"; fi
}
has() { # TEXT WORDS
  if [[ $1 != *"$2"* ]]; then complain "no '$2' in: $1"; fi
}
lacks() { # TEXT WORDS
  if [[ $1 == *"$2"* ]]; then complain "'$2' in: $1"; fi
}
# mistake WORDS ARGUMENTS…: exit code 2, one line, no output
mistake() {
  local words=$1
  shift
  run 2 "$@"
  has "$err" "$words"
  if [[ -n $out ]] || (($(wc -l < "$work/err") != 1)); then complain "rpinn $*: not one line: $out $err"; fi
}
