#!/usr/bin/env bash
# Methods are told apart by their structs alone, one for those who read runs and one for the driver: nothing outside of their
# files and the tables compares a method with a name or with another, and every name is written once, in the list.
# Usage: method_table.sh SOURCE_DIRECTORY
set -euo pipefail
cd "$1"
failed=0
complain() {
  printf '%s\n%s\n' "$1" "$2" >&2
  failed=1
}
list=include/rpinn/methods.h
mapfile -t names < <(sed -n '/define RPINN_METHOD_LIST(X)/,/^$/s/^ *X(\([a-z_]*\),.*/\1/p' $list)
if ((${#names[@]} < 5)); then complain "the list of methods was not found in $list:" "${names[*]}"; fi
any=$(IFS='|' && echo "${names[*]}")
own=$(for name in "${names[@]}"; do printf '%s\n' "src/results/method_$name.c" "src/run/maker_$name.c"; done)

for file in $own; do
  if [[ ! -f $file ]]; then complain "a method of the list has no file:" "$file"; fi
done

# Comments may speak of methods, so that they are left out: line for line, with the file's name in front.
code() {
  grep -rn --include='*.[ch]' -E "$1" src include cli tools | grep -vE '^[^:]*:[0-9]*: *(/\*|\*)' || true
}
elsewhere() { grep -vE "^($(tr '\n' '|' <<< "$own" | sed 's/|$//; s/\./\\./g')):" || true; }

found=$(code "[=!]= *&?(rpinn_(method|maker)_($any)|RPINN_(METHOD|PAPER)_[A-Z]+)\b" | elsewhere)
if [[ -n $found ]]; then complain "a method is compared with another one; ask its struct instead:" "$found"; fi

# A start may be called map as well.
found=$(code "(strcmp|strncmp|strstr)\(.*\"($any)\"" | { grep -vi start || true; } | elsewhere)
if [[ -n $found ]]; then complain "a method is compared with a name; ask its struct instead:" "$found"; fi

found=$(code "\b($any)[|,] ?\"?($any)\b" | elsewhere)
if [[ -n $found ]]; then complain "names of methods are listed beside the list:" "$found"; fi

# Structs of methods are named by the lists, which make their names, and nowhere else.
found=$(code "\brpinn_(method|maker)_($any)\b" | elsewhere)
if [[ -n $found ]]; then complain "a struct of a method is named outside of its file:" "$found"; fi

exit $failed
