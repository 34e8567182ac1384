#!/usr/bin/env bash
# Examples in the guides work. In every page of docs/ and in README.md
#   - a yaml block that starts with `name:` is a complete problem: rpinn check accepts it. A comment `# FILE.yaml`,
#     `# FILE.csv` as the first line of a yaml or csv block names the file that it becomes, for the blocks after it;
#   - a console block holds commands after `$ `: those that start with rpinn end with 0, or with N where the line
#     carries `# exit code N`.
# Blocks of a page share one folder and are taken in order.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 problems=0 commands=0

check_problem() { # FILE LABEL
  problems=$((problems + 1))
  if ! "$RPINN_PROGRAM" check "$1" > "$work/page" 2>&1; then
    printf '%s: rpinn check %s failed\n%s\n' "$2" "$1" "$(tail -n 3 "$work/page")" >&2
    failed=1
  fi
}

run_command() { # LINE LABEL
  local line=$1 expected=0 status=0
  if [[ $line =~ \#\ exit\ code\ ([0-9]+) ]]; then expected=${BASH_REMATCH[1]}; fi
  line=${line%%#*}
  read -ra words <<< "$line"
  if [[ ${words[0]} != rpinn ]]; then return; fi
  commands=$((commands + 1))
  "$RPINN_PROGRAM" "${words[@]:1}" > "$work/page" 2>&1 || status=$?
  if ((status != expected)); then
    printf '%s: %s: exit code %s, expected %s\n%s\n' "$2" "$line" "$status" "$expected" "$(tail -n 3 "$work/page")" >&2
    failed=1
  fi
}

finish_block() { # LANGUAGE LABEL
  local language=$1 label=$2 first=${block%%$'\n'*} file
  case $language in
    yaml | csv)
      file=example.$language
      if [[ $first =~ ^#\ ([a-z_-]+\.(yaml|csv))$ ]]; then file=${BASH_REMATCH[1]}; fi
      if [[ $language == csv || $file != example.yaml || $first == name:* ]]; then printf '%s' "$block" > "$file"; fi
      if [[ $language == yaml && $'\n'$block == *$'\n'name:* ]]; then check_problem "$file" "$label"; fi
      ;;
    console)
      while IFS= read -r line; do
        if [[ $line == '$ '* ]]; then run_command "${line#\$ }" "$label"; fi
      done <<< "$block"
      ;;
  esac
}

for page in "$RPINN_SOURCE_DIR"/README.md "$RPINN_SOURCE_DIR"/docs/*.md; do
  mkdir -p "$work/$(basename "$page" .md)"
  cd "$work/$(basename "$page" .md)"
  language='' block='' number=0
  while IFS= read -r line; do
    number=$((number + 1))
    if [[ -z $language && $line == '```'?* ]]; then
      language=${line#\`\`\`} block='' start=$number
    elif [[ -n $language && $line == '```' ]]; then
      finish_block "$language" "$(basename "$page"):$start"
      language=''
    elif [[ -n $language ]]; then
      block+=$line$'\n'
    fi
  done < "$page"
done
echo "$problems problem files, $commands commands"
if ((problems < 8 || commands < 8)); then
  echo "expected at least 8 of each: are the blocks still marked as yaml and console?" >&2
  failed=1
fi
exit $failed
