#!/usr/bin/env bash
# Examples in the guides work. In every page of docs/ and its folders, and in README.md,
#   - a yaml block that starts with `name:` is a complete problem: rpinn check accepts it. A comment `# FILE.yaml`,
#     `# FILE.csv`, `# FILE.awk` as the first line of such a block names the file that it becomes, for the blocks after it;
#   - a console block holds commands after `$ `: those that start with rpinn or awk end with 0, or with N where the line
#     carries `# exit code N`.
# Blocks of a page share one folder, empty at first, and are taken in order.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 problems=0 commands=0
mkdir "$work/bin"
ln -s "$(realpath "$RPINN_PROGRAM")" "$work/bin/rpinn"
PATH=$work/bin:$PATH

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
  if [[ $line != rpinn\ * && $line != awk\ * ]]; then return; fi
  commands=$((commands + 1))
  bash -c "$line" > "$work/page" 2>&1 || status=$?
  if ((status != expected)); then
    printf '%s: %s: exit code %s, expected %s\n%s\n' "$2" "$line" "$status" "$expected" "$(tail -n 3 "$work/page")" >&2
    failed=1
  fi
}

finish_block() { # LANGUAGE LABEL
  local language=$1 label=$2 first=${block%%$'\n'*} file
  case $language in
    yaml | csv | awk)
      file=example.$language
      if [[ $first =~ ^#\ ([a-z_-]+\.(yaml|csv|awk))$ ]]; then file=${BASH_REMATCH[1]}; fi
      if [[ $language != yaml || $file != example.yaml || $first == name:* ]]; then printf '%s' "$block" > "$file"; fi
      if [[ $language == yaml && $'\n'$block == *$'\n'name:* ]]; then check_problem "$file" "$label"; fi
      ;;
    console)
      while IFS= read -r line; do
        if [[ $line == '$ '* ]]; then run_command "${line#\$ }" "$label"; fi
      done <<< "$block"
      ;;
  esac
}

cd "$RPINN_SOURCE_DIR"
pages=(README.md docs/*.md docs/*/*.md)
for page in "${pages[@]}"; do
  mkdir -p "$work/${page%.md}"
  cd "$work/${page%.md}"
  language='' block='' number=0
  while IFS= read -r line; do
    number=$((number + 1))
    if [[ -z $language && $line == '```'?* ]]; then
      language=${line#\`\`\`} block='' start=$number
    elif [[ -n $language && $line == '```' ]]; then
      finish_block "$language" "$page:$start"
      language=''
    elif [[ -n $language ]]; then
      block+=$line$'\n'
    fi
  done < "$RPINN_SOURCE_DIR/$page"
done
echo "$problems problem files, $commands commands"

# below NAME RUN LIMIT: a tutorial promises a map of y that resembles the truth.
below() {
  awk -v name="$1" -v limit="$3" 'match($0, /"y": [{]"rl2": [0-9.e-]+/) { found = substr($0, RSTART + 13, RLENGTH - 13) + 0 }
    END { printf "%s: rl2 of y %s, limit %s\n", name, found, limit; exit !(found > 0 && found < limit + 0) }' \
    "$work/docs/$1/$2/summary.json" || failed=1
}
# Flow: about 0.05, where the mean of the truth in place of a map has 0.16 and a map without data more.
below tutorial-flow results/aquifer-rpinn 0.08
# The bar: about 0.046, where the mean of the truth in place of a curve has 0.20.
below tutorial-own-pde results/bar-rpinn 0.1
if ((problems < 12 || commands < 40)); then
  echo "expected at least 12 and 40: are the blocks still marked as yaml and console?" >&2
  failed=1
fi
exit $failed
