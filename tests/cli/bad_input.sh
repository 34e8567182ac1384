#!/usr/bin/env bash
# Every mistake of tests/bad at the command line: exit code 2, one line on the error output that starts with the
# announced place and words, nothing on the standard output, nothing written.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
mistakes=$RPINN_SOURCE_DIR/tests/bad
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bad"
cp "$mistakes"/* "$work/bad"
cd "$work/bad"
before=$(cksum ./*)

count=0 failed=0
for file in *.yaml *.csv; do
  expectation=$(head -n 1 "$file" | tr -d '\0')
  if [[ $expectation != '# expect: '* ]] || grep -qa '^# needs: data' "$file"; then continue; fi
  expectation=${expectation#\# expect: }
  read -ra arguments <<< "$(sed -n '2s/^# args: //p' "$file" | tr -d '\0')"
  case $file in
    chain_*) command=(diagnose "${arguments[@]}" "$file") ;;
    *.csv) command=(check good.yaml "${arguments[@]}" --data "$file") ;;
    *) command=(check "$file" "${arguments[@]}") ;;
  esac
  status=0
  "$RPINN_PROGRAM" "${command[@]}" > "$work/out" 2> "$work/err" || status=$?
  place=${expectation%%: *} words=${expectation#*: }
  if [[ $place =~ ^[0-9:]+$ ]]; then place=$file:$place; fi
  announced="rpinn: $place: ${words%% …*}"
  if ((status != 2)) || [[ -s $work/out ]] || (($(wc -l < "$work/err") != 1)) ||
    [[ $(< "$work/err") != "$announced"* ]]; then
    printf '%s: exit code %s\n  expected %s\n  found    %s\n' "$file" "$status" "$announced" "$(< "$work/err")" >&2
    head -n 3 "$work/out" >&2
    failed=1
  fi
  count=$((count + 1))
done
if [[ $(cksum ./*) != "$before" ]]; then
  echo "the folder was changed" >&2
  failed=1
fi
echo "$count mistakes"
if ((count < 250)); then
  echo "expected at least 250" >&2
  failed=1
fi
exit $failed
