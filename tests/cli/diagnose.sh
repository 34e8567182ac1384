#!/usr/bin/env bash
# rpinn diagnose on chains made here: sound ones, and one for each kind of trouble; on real ones where they are.
# Environment: RPINN_PROGRAM, RPINN_SOURCE_DIR, RPINN_REFERENCE_DIR (may be missing)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=tests/cli/expect.sh
. "$RPINN_SOURCE_DIR/tests/cli/expect.sh"

# chain FILE SEED [NAME=VALUE…]: 400 independent normal draws of a and b after a saved warmup of 10 rows far away.
#   shift: added to a; energy: weight of the last energy in the next one; divergent, deep: that many draws
# The generator is that of Park and Miller, whose numbers are exact in every awk.
chain() {
  local file=$1 seed=$2
  shift 2
  awk -v seed="$seed" -v shift=0 -v energy=0 -v divergent=0 -v deep=0 "${@/#/-v}" '
    function uniform() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    function normal() { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()) }
    BEGIN {
      for (i = 0; i < 20; i++) uniform()
      print "# method = sample (Default)\n#     num_warmup = 10\n#     save_warmup = 1\n#     thin = 1"
      print "#             max_depth = 10 (Default)"
      print "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,a,b.1,fixed"
      for (i = 0; i < 10; i++) print "-1000,0.1,1,1,1,1,1000,100,100,3"
      print "# Adaptation terminated\n# Step size = 0.5"
      for (i = 0; i < 400; i++) {
        e = energy * e + normal()
        printf "%.6g,0.9,0.5,%d,7,%d,%.6g,%.6g,%.6g,3\n", normal(), i < deep ? 10 : 3, i < divergent, e,
          normal() + shift, normal()
      }
      print "\n#  Elapsed Time: 0.1 seconds (Total)"
    }' > "$file"
}

for i in 1 2 3 4; do chain "good$i.csv" $((i * 1000003)); done
run 0 diagnose good1.csv good2.csv good3.csv good4.csv
has "$out" "4 chains of 400 draws, 4 scalars"
has "$out" "ok: the chains agree"
has "$out" "b.1"
if [[ $out == *"stepsize__"* || $out == *"problem:"* ]]; then complain "not a clean page: $out"; fi
run 0 diagnose --json good1.csv good2.csv good3.csv good4.csv
has "$out" '"healthy": true'
if python3 -c pass 2> /dev/null; then python3 -m json.tool < "$work/out" > /dev/null || complain "not JSON: $out"; fi
run 0 diagnose good1.csv
has "$out" "Run at least four chains"

# Far apart
chain far.csv 5000015 shift=5
run 3 diagnose good1.csv good2.csv good3.csv far.csv
has "$out" "R-hat is above 1.01 for 1 of 4 scalars"
has "$out" "for 'a': the chains disagree"
has "$out" "try: Do not use these draws. Lengthen the warmup"
has "$out" "try: First make the chains agree"
has "$out" "not ok:"
run 3 diagnose --json good1.csv good2.csv good3.csv far.csv
has "$out" '"healthy": false'
has "$out" '"finding": "rhat"'

# Divergences, slow energies, trees at the limit
chain divergent.csv 6000018 divergent=8
run 3 diagnose good1.csv good2.csv good3.csv divergent.csv
has "$out" "8 of 1600 trajectories diverged (0.5 %), in 1 of 4 chains"
has "$out" "try: Raise the target acceptance rate"
chain slow.csv 7000021 energy=0.95
run 3 diagnose good1.csv good2.csv good3.csv slow.csv
has "$out" "E-BFMI is below 0.3 in 1 of 4 chains"
has "$out" "in chain 4"
chain deep.csv 8000024 deep=16
run 0 diagnose good1.csv good2.csv good3.csv deep.csv
has "$out" "remark: 16 of 1600 trajectories (1 %) were cut off at the largest depth, 10"

# Bad input and usage; tests/bad has one file for each mistake in a file
head -n -40 good2.csv > short.csv
mistake "found 362 draws, expected 400 as in 'good1.csv'" diagnose good1.csv short.csv
mistake "cannot open" diagnose nowhere.csv
mistake "this folder holds no run" diagnose .
mistake "this is a directory" diagnose . good1.csv
mistake "this file is named twice" diagnose good1.csv good1.csv
mistake "needs RUN|CSV..." diagnose
# The method of a run decides how it is judged: one that has no chains to judge, and one that nobody knows, are refused.
mkdir torn
for chains in '"chains": {"count": 2}' '"chains": {"count": 2, "per_chain": 1}' '"chains": 3' '"seed": 0'; do
  printf '{"problem": "p", "method": "nuts", "samples": 2, "wall_seconds": 1, "members": {}, "quantities": {}, %s}' "$chains" > torn/summary.json
  mistake "torn/summary.json" diagnose torn
done
printf '{"problem": "p", "method": "nuts", "samples": 2, "wall_seconds": 1, "members": {}, "quantities": {}, "chains": {"per_chain": []}}' > torn/summary.json
mistake "the number of chains is nan" diagnose torn
sed -i 's/"nuts"/"runes"/' torn/summary.json
mistake "method 'runes', which is none of this version's" diagnose torn
mistake "did you mean '--json'?" diagnose good1.csv --jsno
mistake "did you mean 'diagnose'?" diagnos good1.csv
run 0 diagnose --help
has "$out" "--all"
has "$out" "Exit code 3"

# Real chains, from an old Stan that writes neither energies nor divergences
if [[ -n ${RPINN_REFERENCE_DIR:-} ]]; then
  run 3 diagnose --all "$RPINN_REFERENCE_DIR"/diagnostics/blocker.{1,2}.csv
  has "$out" "R-hat is above 1.01 for 8 of 49 scalars, up to 1.02 for 'lp__'"
  has "$out" "delta_new"
  has "$out" "down to 73.2 for 'sigmasq_delta'"
fi
exit $failed
