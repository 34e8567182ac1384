#!/usr/bin/env bash
# docs/settings.md is what the settings table gives. Usage: settings_page.sh PROGRAM; environment: RPINN_SOURCE_DIR
set -euo pipefail
diff "$RPINN_SOURCE_DIR/docs/settings.md" <("$1") || { echo "docs/settings.md is not fresh: run 'make docs'" >&2 && exit 1; }
