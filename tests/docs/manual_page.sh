#!/usr/bin/env bash
# man/rpinn.1 is what the tables of the program give, and formats without a warning.
# Usage: manual_page.sh PROGRAM; environment: RPINN_SOURCE_DIR
set -euo pipefail
page=$RPINN_SOURCE_DIR/man/rpinn.1
diff "$page" <("$1") || { echo "man/rpinn.1 is not fresh: run 'make docs'" >&2 && exit 1; }
if ! command -v groff > /dev/null || ! groff -man -z <<< '.TH X 1' 2> /dev/null; then
  echo "no groff with its man macros: the page was compared and not formatted"
  exit 0
fi
warnings=$(groff -man -ww -z "$page" 2>&1)
if [[ -n $warnings ]]; then printf 'groff warns:\n%s\n' "$warnings" >&2 && exit 1; fi
