#!/usr/bin/env bash
# install-dependencies.sh waits while another program holds apt's lock, and does not wait for anything else.
# Usage: install_dependencies.sh SOURCE_DIRECTORY
set -euo pipefail
script=$1/scripts/install-dependencies.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  printf '%s\n' "$1" >&2
  cat "$work/output" >&2
  exit 1
}
# stand_in NAME: a program of this name, from standard input, before all others.
stand_in() {
  { echo '#!/usr/bin/env bash' && cat; } > "$work/$1"
  chmod +x "$work/$1"
}
# Nothing is installed, apt knows every package, and nobody sleeps.
stand_in dpkg-query <<< 'exit 1'
stand_in pkg-config <<< 'exit 1'
# shellcheck disable=SC2016 # they expand their own words
stand_in apt-cache <<< 'echo "$2 | 1.0 | here"'
# shellcheck disable=SC2016
stand_in sleep <<< 'echo "$1" >> "$RPINN_TEST_FOLDER/sleeps"'
stand_in sudo <<< 'exec "$@"'
stand_in apt-get << 'END'
echo "$*" >> "$RPINN_TEST_FOLDER/calls"
if (($(wc -l < "$RPINN_TEST_FOLDER/calls") <= $RPINN_TEST_FAILURES)); then
  echo "$RPINN_TEST_MESSAGE" >&2
  exit 100
fi
END
# install FAILURES MESSAGE: apt-get fails so many times with the message. Sets status, calls and sleeps.
install() {
  rm -f "$work/calls" "$work/sleeps" && touch "$work/calls" "$work/sleeps"
  status=0
  PATH=$work:$PATH RPINN_TEST_FOLDER=$work RPINN_TEST_FAILURES=$1 RPINN_TEST_MESSAGE=$2 \
    "$script" build > "$work/output" 2>&1 || status=$?
  calls=$(wc -l < "$work/calls") sleeps=$(wc -l < "$work/sleeps")
}

for lock in 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1234 (apt-get)' \
  'E: Could not get lock /var/lib/apt/lists/lock - open (11: Resource temporarily unavailable)' \
  'E: Unable to lock directory /var/lib/apt/lists/'; do
  install 3 "$lock"
  [[ $status == 0 && $calls == 4 && $sleeps == 3 ]] || fail "'$lock': exit $status, $calls calls, $sleeps sleeps"
  (($(grep -c 'another program is using apt; waiting' "$work/output") == 1)) || fail "not said, or more than once"
  grep -q '^dependencies: installed ' "$work/output" || fail "does not say that it installed"
done

# Another failure is tried once more, after fresh lists, and said.
install 9 'E: Unable to fetch some archives'
[[ $status != 0 && $calls == 2 && $sleeps == 0 ]] || fail "failed fetch: exit $status, $calls calls, $sleeps sleeps"
grep -q 'Unable to fetch' "$work/output" || fail "the message of apt-get is lost"
