#!/usr/bin/env bash
# Keep the pages of a reproduction: bench/paper/collect.sh FOLDER [NAME]
#
# FOLDER is the --out of `rpinn reproduce all`; its pages, tables and figures go to bench/results/NAME (default paper).
# Left out for their size: runs, scripts, SVG files, and the CSV files of figures; links to them become plain words.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${1:?the folder of rpinn reproduce all}
kept=bench/results/${2:-paper}
[[ -s $folder/all.md ]] || { echo "$folder: no all.md; expected what rpinn reproduce all wrote" >&2 && exit 2; }
rm -rf "$kept"
mkdir -p "$kept"
cp "$folder"/*.md "$folder"/*.json "$kept/"
cp "$folder"/fig-*.png "$folder"/fig-*.pdf "$kept/"
for table in "$folder"/*.csv; do
  if [[ $(basename "$table") != fig-* ]]; then cp "$table" "$kept/"; fi
done
for page in "$kept"/*.md; do
  while IFS= read -r file; do
    if [[ ! -e $kept/$file ]]; then sed -i "s#\[\([^]]*\)\](${file//./\\.})#\1#g" "$page"; fi
  done < <(grep -oE '\]\([^) ]*\)' "$page" | sed 's/^](//; s/)$//' | sort -u)
done
du -sh "$kept"
