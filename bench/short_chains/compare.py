#!/usr/bin/env python3
"""Short chains beside long ones: bench/short_chains/compare.py FOLDER NAME..., of bench/short_chains/run.sh.

For every predicted number and unknown, the difference of the two means and of the two deviations over its Monte Carlo error,
sqrt(mcse_short^2 + mcse_long^2). The error of a deviation is mcse_sd of diagnostics.csv, which knows the fourth moment: sd / sqrt(2 ess)
is that of a Gaussian, and too small for heavy tails.
"""
import csv
import json
import math
import pathlib
import sys

GROUPS = ("quantity", "unknown")


def read(folder):
    """summary.json, and rows of diagnostics.csv by (group, name, index); None without results."""
    if not (folder / "diagnostics.csv").exists():
        return None, {}
    with open(folder / "diagnostics.csv", newline="") as file:
        rows = {(row["group"], row["name"], row["index"]): row for row in csv.DictReader(file) if row["group"] in GROUPS}
    return json.loads((folder / "summary.json").read_text()), rows


def errors(short, long):
    """Differences of means and of deviations in Monte Carlo errors, and ratios of deviations."""
    means, deviations, ratios = [], [], []
    for key in short:
        a, b = ({name: float(value or "nan") for name, value in row.items() if name not in ("group", "name", "index")} for row in (short[key], long[key]))
        error = math.hypot(a["mcse"], b["mcse"])
        spread = math.hypot(a["mcse_sd"], b["mcse_sd"])
        if error > 0:
            means.append(abs(a["mean"] - b["mean"]) / error)
            deviations.append(abs(a["sd"] - b["sd"]) / spread)
            ratios.append(a["sd"] / b["sd"])
    return means, deviations, sorted(ratios)


def within(values):
    return f"{100 * sum(v <= 4 for v in values) / len(values):.0f} % (largest {max(values):.1f})"


def diverged(summary):
    chains = summary["chains"]
    return f"{100 * chains['divergences'] / (chains['count'] * chains['draws']):.1f} %"


def gradients(summary):
    chains = summary["chains"]["per_chain"]
    return sum(chain["leapfrogs"] for chain in chains) / len(chains)


def main():
    root = pathlib.Path(sys.argv[1])
    print("| problem | numbers | long: largest R-hat | seconds | short: largest nested R-hat | gradients of a chain behind its warmup | seconds | members' seconds | means within 4 errors | deviations within 4 errors | deviations, short / long: least, median, most | divergent, long and short |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name in sys.argv[2:]:
        folder = root / name
        members = json.loads((folder / "members" / "summary.json").read_text())
        (short, short_rows), (long, long_rows) = read(folder / "short"), read(folder / "long")
        if not short or not long:
            print(f"| {name} | not finished |")
            continue
        means, deviations, ratios = errors(short_rows, long_rows)
        rhat = max(float(row["rhat"] or "nan") for row in long_rows.values())
        nested = max(float(row.get("rhat_nested") or "nan") for row in short_rows.values())
        print(
            f"| {name} | {len(means)} | {rhat:.3f} | {long['wall_seconds']:.0f} | {nested:.3f} | {gradients(short):.0f} | {short['wall_seconds']:.0f} | {members['wall_seconds']:.0f} "
            f"| {within(means)} | {within(deviations)} | {ratios[0]:.2f}, {ratios[len(ratios) // 2]:.2f}, {ratios[-1]:.2f} | {diverged(long)}, {diverged(short)} |"
        )


if __name__ == "__main__":
    main()
