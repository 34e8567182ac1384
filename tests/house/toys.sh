#!/usr/bin/env bash
# A method or a backend is added by the files that docs/architecture.md names, and by no others: a toy of each, in a copy of the
# tree, builds, and is listed, run, resumed, shown and judged like any other.
# Usage: toys.sh SOURCE_DIRECTORY C_COMPILER
set -euo pipefail
source=$1 compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir "$tree"
cp -r "$source"/{CMakeLists.txt,cmake,src,include,cli,problems,man,completion} "$tree"

# ---- as the page says ----

cat > "$tree/src/results/method_toy.c" << 'END'
/* Method toy: a few minimisers. */
#include "method_members.h"

const RpinnMethod rpinn_method_toy = {
    .about = {.title = "toy", .summary = "a few minimisers, to see what a method takes"},
    .meaning = "A few minimisers of the loss.",
    RPINN_METHOD_OF_MINIMISERS,
    .plan = rpinn_members_plan,
    .describe_settings = rpinn_members_describe_settings,
};
END
cat > "$tree/src/run/maker_toy.c" << 'END'
/* Method toy: a few minimisers. */
#include "maker_members.h"

const RpinnDrawMaker rpinn_maker_toy = {
    RPINN_MAKER_OF_MINIMISERS,
    .check_settings = rpinn_members_check_settings,
};
END
mkdir "$tree/src/backend/toy"
cat > "$tree/src/backend/toy/toy_backend.c" << 'END'
/* A toy: what `plain` computes, three members at a time. */
#include <stdlib.h>

#include "backend.h"

typedef struct ToyBackend {
  RpinnBackend base;
  RpinnBackend *plain;
} ToyBackend;

static RpinnStatus energies(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                            double *values, double *const *gradients, double *const *term_energies) {
  return rpinn_backend_energies(context, ((ToyBackend *)backend)->plain, batch, values, gradients,
                                term_energies);
}

static RpinnStatus evaluate(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                            const RpinnEvaluation *evaluation, double *const *values) {
  return rpinn_backend_evaluate(context, ((ToyBackend *)backend)->plain, batch, evaluation, values);
}

static RpinnStatus residuals(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                             double *const *rows, double *const *jacobians) {
  return rpinn_backend_residuals(context, ((ToyBackend *)backend)->plain, batch, rows, jacobians);
}

static void destroy(RpinnBackend *backend) {
  rpinn_backend_destroy(((ToyBackend *)backend)->plain);
  free(backend);
}

static RpinnStatus create(RpinnContext *context, const RpinnEnergyModel *model, RpinnPrecision precision,
                          RpinnBackend **backend) {
  ToyBackend *toy = calloc(1, sizeof *toy);
  *backend = NULL;
  if (!toy) return rpinn_fail_memory(context);
  toy->base = (RpinnBackend){.operations = &rpinn_toy_backend, .model = model, .group = 3};
  *backend = &toy->base;
  RpinnStatus status = rpinn_plain_backend.create(context, model, precision, &toy->plain);
  if (status == RPINN_OK) return RPINN_OK;
  free(toy);
  *backend = NULL;
  return status;
}

const RpinnBackendOperations rpinn_toy_backend = {.usual_precision = RPINN_PRECISION_DOUBLE,
                                                  .precisions = 1u << RPINN_PRECISION_DOUBLE,
                                                  .create = create,
                                                  .destroy = destroy,
                                                  .energies = energies,
                                                  .evaluate = evaluate,
                                                  .residuals = residuals};
END
sed -i 's/SOURCES /SOURCES toy\/toy_backend.c /' "$tree/src/backend/CMakeLists.txt"
sed -i 's/^  X(rpinn_cuda_backend, "cuda")$/& \\\n  X(rpinn_toy_backend, "toy")/' "$tree/include/rpinn/choices.h"
sed -i 's/SOURCES /SOURCES method_toy.c /' "$tree/src/results/CMakeLists.txt"
sed -i 's/SOURCES /SOURCES maker_toy.c /' "$tree/src/run/CMakeLists.txt"
sed -i 's/define RPINN_METHOD_LIST(X) .*/define RPINN_METHOD_LIST(X) X(toy, "lm", "prior", "3", "", "1e-3") \\/' "$tree/include/rpinn/methods.h"

page=$(sed -n '/^## Methods/,/^## R/p' "$source/docs/architecture.md")
# shellcheck disable=SC2016 # the quotes are the page's
named=$(grep -oE '`[a-zA-Z/]+/([a-z_]+_NAME\.c|NAME_backend\.c|CMakeLists\.txt|methods\.h|choices\.h)`' <<< "$page" | tr -d '`' | sed 's/NAME/toy/g' | sort -u)
touched=$(cd "$tree" && find . -type f | sed 's#^\./##' | while read -r file; do
  cmp -s "$file" "$source/$file" || echo "$file"
done | sort)
diff <(echo "$named") <(echo "$touched") || { echo "other files than the page names (<) were touched (>)" >&2 && exit 1; }

# ---- and that is all ----

cmake -S "$tree" -B "$work/build" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug > "$work/log" 2>&1 \
  || { cat "$work/log" && exit 1; }
cmake --build "$work/build" --parallel "$(nproc)" > "$work/log" 2>&1 || { tail -40 "$work/log" && exit 1; }
rpinn() { "$work/build/rpinn" "$@"; }
cd "$work"
rpinn list | grep -E '^  toy  +a few minimisers'
options=(--method toy --iterations 20 --prior-scale 1 --threads 1)
rpinn run poisson-linear "${options[@]}" --out run > log 2>&1 || { cat log && exit 1; }
rpinn run poisson-linear "${options[@]}" --samples 5 --resume --out run > log 2>&1 || { cat log && exit 1; }
rpinn summary run | grep 'method toy: 5 members'
rpinn diagnose run > log || true # a bad verdict is a code of its own
grep '^verdict: ' log
rpinn report run > /dev/null
grep -q 'A few minimisers of the loss' run/report.html
if rpinn run poisson-linear "${options[@]}" --start member --out refused 2> log; then exit 1; fi
grep 'not for method toy' log

# Groups of three have the numbers of `plain`, whose functions they are.
for backend in toy plain; do
  rpinn run poisson-linear "${options[@]}" --backend "$backend" --samples 4 --iterations 4 --out "on-$backend" > log 2>&1 \
    || { cat log && exit 1; }
done
grep '"method": "toy", "backend": "toy"' on-toy/summary.json > /dev/null
cmp on-toy/predictions.csv on-plain/predictions.csv
