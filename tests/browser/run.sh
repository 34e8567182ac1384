#!/usr/bin/env bash
# Reports as a browser shows them: tests/browser/run.sh BUILD_DIRECTORY. Makes runs of every kind, opens their pages in
# headless Chromium as wide as a screen and as wide as a phone, and prints one: no message on the console, every picture
# there, nothing loaded from elsewhere. Screenshots stay in BUILD_DIRECTORY/screenshots.
# Environment: RPINN_BROWSER, another program than those below
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/tests/browser
rpinn=$(realpath "$1/rpinn")
mkdir -p "$1/screenshots"
shots=$(realpath "$1/screenshots")
browser=
for name in ${RPINN_BROWSER:-chromium chromium-browser google-chrome google-chrome-stable}; do
  if command -v "$name" > /dev/null; then browser=$name && break; fi
done
if [[ -z $browser ]]; then
  echo "browser: there is no Chromium; scripts/install-dependencies.sh browser installs it" >&2
  exit 1
fi
if ! command -v gnuplot > /dev/null; then
  echo "browser: there is no gnuplot; scripts/install-dependencies.sh test installs it" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0
complain() { printf 'browser: %s\n' "$*" >&2 && failed=1; }

# Without a sandbox where there is no user to keep apart from (root in a container), and without names of hosts.
chromium() {
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --disable-background-networking \
    --no-first-run --user-data-dir="$work/profile" --host-resolver-rules='MAP * ~NOTFOUND' --allow-file-access-from-files \
    --force-device-scale-factor=1 --enable-logging=stderr "$@"
}

check() { # NAME
  local name=$1 page=file://$work/$1/report.html width result
  for width in 1200 360; do
    if ! chromium --dump-dom "file://$here/check_page.html#$width:$page" > dom 2> log; then
      complain "$name: $browser failed: $(tail -n 2 log)"
      continue
    fi
    result=$(sed -n 's/.*<pre id="result">\(.*\)<\/pre>.*/\1/p' dom)
    if [[ $result != good:* ]]; then complain "$name at $width: ${result:-no answer}"; fi
    if grep CONSOLE log > messages; then complain "$name at $width: $(head -n 3 messages)"; fi
    echo "browser: $name at $width: $result"
  done
  chromium --window-size=1200,3600 --screenshot="$shots/$name-1200.png" "$page" > /dev/null 2>&1 || complain "no screenshot of $name"
  chromium --window-size=500,5000 --screenshot="$shots/$name-390.png" "file://$here/check_page.html#390:$page" > /dev/null 2>&1 ||
    complain "no screenshot of $name as on a phone"
  chromium --print-to-pdf="$work/$name.pdf" "$page" > /dev/null 2>&1 || complain "$name cannot be printed"
  for picture in "$shots/$name-1200.png" "$shots/$name-390.png" "$work/$name.pdf"; do
    if [[ ! -s $picture ]] || (($(stat -c %s "$picture") < 20000)); then complain "$picture is empty"; fi
  done
}

cat > rod.yaml << 'END'
name: rod
coordinates: {x: [0, 1]}
units: {x: m, u: K, source: K/s}
fields: {u: {network: [8]}}
quantities: {source: "-0.5*d(u, x, x)"}
truth: {u: sin(pi*x)}
terms:
  inside: {expect: source, at: {grid: 16}, data: truth, noise: 0.05}
  ends: {expect: u, at: {boundary: all}, data: 0, noise: 0.05}
  later: {expect: u, at: {points: [0.3, 0.7]}, data: truth, noise: 0.05, role: test}
prior: {reference_term: inside}
predict: {grid: 101, quantities: [u, source]}
END
"$rpinn" run rod.yaml --samples 50 --iterations 1000 --quiet --out line
"$rpinn" run rod.yaml --samples 20 --iterations 1000 --method ensemble --quiet --out ensemble
"$rpinn" run rod.yaml --samples 20 --iterations 500 --method svgd --quiet --out particles
"$rpinn" run rod.yaml --method nuts --chains 3 --warmup 100 --samples 200 --max-depth 6 --quiet --out chains
"$rpinn" run darcy --prior-scale 1 --samples 3 --iterations 3 --quiet --out map
"$rpinn" run darcy --prior-scale 1 --samples 3 --iterations 2 --method ensemble --quiet --out map-ensemble
"$rpinn" report line > /dev/null
"$rpinn" report map > /dev/null
"$rpinn" report particles > /dev/null
"$rpinn" report chains --shape > /dev/null
"$rpinn" report line ensemble chains particles --out columns > /dev/null
"$rpinn" report map map-ensemble --out map-columns > /dev/null
for name in line map particles chains columns map-columns; do check "$name"; done
exit $failed
