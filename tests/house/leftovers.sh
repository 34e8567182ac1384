#!/usr/bin/env bash
# Git keeps nothing that a run, a merge or an editor left behind, no page twice, and no large file that is not meant.
# Usage: leftovers.sh SOURCE_DIRECTORY. Skipped (exit code 77) where the sources are no checkout, as in a tarball.
set -euo pipefail
cd "$1"
ask_git() { git -c safe.directory="$PWD" "$@" 2> /dev/null; }
if ! tracked=$(ask_git ls-files) || [[ -z $tracked ]]; then
  echo "leftovers: skipped, $1 is no checkout of git"
  exit 77
fi
failed=0

# refuse WHAT FILES
refuse() {
  if [[ -z $2 ]]; then return; fi
  printf '%s:\n%s\n' "$1" "$2" >&2
  failed=1
}
named() { grep -E "$1" <<< "$tracked" || true; }

refuse "of a run's directory" "$(named '(^|/)(run\.(yaml|log)|report\.html|summary\.json|predictions\.csv)$')"
refuse "checkpoints, posteriors, files half written" "$(named '\.(db|db-journal|db-wal|db-shm|nc|part)$')"
refuse "of a merge or a patch" "$(named '\.(orig|rej)$|\.(BACKUP|BASE|LOCAL|REMOTE)\.')"
refuse "of an editor" "$(named '~$|\.(swp|swo|bak|tmp)$|(^|/)(#[^/]*#$|\.#|\.DS_Store|\.idea/|\.vscode/)')"
refuse "of a build or a crash" "$(named '\.(o|a|so|pyc|gcda|gcno|log)$|(^|/)(vg)?core(\.[0-9]+)?$|^(build(-[^/]*)?|results)/')"

pages=$(ask_git ls-files --stage '*.md' | awk '{ if ($2 in seen) print seen[$2] " and " $4; else seen[$2] = $4 }')
refuse "pages with the same text" "$pages"

large_and_meant=bench/results/paper/fig-nuts-convergence.png
large=$(find . -path ./.git -prune -o -size +1000000c -type f -printf '%P\n' | grep -Fx -f <(echo "$tracked") |
  grep -vFx "$large_and_meant" || true)
refuse "over 1 MB, and not in the list of this script" "$large"

exit $failed
