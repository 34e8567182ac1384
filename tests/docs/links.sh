#!/usr/bin/env bash
# Links of the guides lead somewhere: the file is there, and so is the heading after a #.
# Usage: links.sh SOURCE_DIRECTORY
set -euo pipefail
cd "$1"
failed=0 count=0

# Anchors of a page as GitHub makes them: small letters, no punctuation, dashes for spaces. Code blocks have no headings.
anchors() {
  awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" |
    sed 's/\[\([^]]*\)\]([^)]*)/\1/g; s/[^[:alnum:] _-]//g; s/ /-/g'
}

for page in ./*.md docs/*.md docs/*/*.md bench/*.md examples/*.md tests/*/README.md; do
  # Targets of [text](target) and ![text](target), outside of code.
  while IFS= read -r target; do
    case $target in
      http:* | https:* | mailto:* | '') continue ;;
    esac
    count=$((count + 1))
    file=${target%%#*} path=$page
    if [[ -n $file ]]; then path=$(dirname "$page")/$file; fi
    if [[ ! -e $path ]]; then
      echo "$page: no file for the link $target" >&2
      failed=1
    elif [[ $target == *'#'* ]] && ! anchors "$path" | grep -qxF -- "${target#*#}"; then
      echo "$page: no heading for the link $target" >&2
      failed=1
    fi
  done < <(awk '/^```/ { code = !code } !code { gsub(/`[^`]*`/, "X"); print }' "$page" |
    grep -oE '\]\([^) ]*\)' | sed 's/^](//; s/)$//')
done
echo "$count links"
if ((count < 30)); then echo "expected at least 30 links: are they still found?" >&2 && failed=1; fi
exit $failed
