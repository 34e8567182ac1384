#!/usr/bin/env python3
"""Members, members that were continued, and long chains of NUTS: bench/correct_nuts/compare.py FOLDER NAME..., of bench/correct_nuts/run.sh.

For every predicted number and unknown, the difference of means and of deviations from those of the long chains, in Monte Carlo errors:
sd / sqrt(n) and sd / sqrt(2 n) of n draws that are independent, with the errors of the chains.
"""
import csv
import json
import math
import pathlib
import sys


def read_chains(folder):
    """(summary, {(name, index): (mean, sd, mcse, ess, rhat)}); None without results."""
    if not (folder / "diagnostics.csv").exists():
        return None, {}
    rows = {}
    with open(folder / "diagnostics.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["group"] in ("quantity", "unknown"):
                rows[row["name"], int(row["index"])] = tuple(float(row[key] or "nan") for key in ("mean", "sd", "mcse", "ess_bulk", "rhat"))
    return json.loads((folder / "summary.json").read_text()), rows


def read_members(folder):
    """(summary, {(name, index): (mean, sd)}); None without results."""
    if not (folder / "summary.json").exists():
        return None, {}
    summary = json.loads((folder / "summary.json").read_text())
    rows = {(name, 0): (item["mean"], item["std"]) for name, item in summary["unknowns"].items()}
    with open(folder / "predictions.csv", newline="") as file:
        for index, row in enumerate(csv.DictReader(file)):
            for key in row:
                if key.endswith("_mean"):
                    rows[key[:-5], index] = float(row[key]), float(row[key[:-5] + "_std"])
    return summary, rows


def compare(rows, draws, long):
    """Shares of means and deviations within 4 errors, their largest, and ratios of deviations by name."""
    means, deviations, ratios = [], [], {}
    for key, (mean, sd) in rows.items():
        if key not in long or not long[key][1] > 0:
            continue
        there, spread, mcse, ess, _ = long[key]
        means.append(abs(mean - there) / math.hypot(sd / math.sqrt(draws), mcse))
        deviations.append(abs(sd - spread) / math.hypot(sd / math.sqrt(2 * draws), spread / math.sqrt(2 * ess)))
        ratios.setdefault(key[0], []).append(sd / spread)
    return within(means), within(deviations), {name: sorted(values)[len(values) // 2] for name, values in ratios.items()}


def within(values):
    return f"{100 * sum(v <= 4 for v in values) / len(values):.0f} % ({max(values):.1f})"


def main():
    root = pathlib.Path(sys.argv[1])
    print("| problem | long: R-hat, seconds | nested R-hat, iterations | gradients per member, pilot's | seconds of members, pilot (one thread) | divergent | means within 4 errors: members → corrected | deviations: members → corrected | deviation by NUTS's: members → corrected |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in sys.argv[2:]:
        folder = root / name
        (members, member_rows), (corrected, corrected_rows) = read_members(folder / "members"), read_members(folder / "corrected")
        long, long_rows = read_chains(folder / "long")
        if not corrected or not long:
            print(f"| {name} | not finished in time: {'members continued' if corrected else 'members not continued'}, {'chains' if long else 'no chains'} |")
            continue
        price = corrected["correction"]
        before, after = compare(member_rows, members["samples"], long_rows), compare(corrected_rows, corrected["samples"], long_rows)
        rhat = max(row[4] for row in long_rows.values() if not math.isnan(row[4]))
        widths = ", ".join(f"{key} {before[2][key]:.2f} → {after[2][key]:.2f}" for key in after[2])
        share = price["divergences"] / (price["iterations"] * corrected["samples"])
        print(
            f"| {name} | {rhat:.3f}, {long['wall_seconds']:.0f} | {price['nested_rhat']:.3f}{'' if price['forgets'] else ' (not forgotten)'}, {price['iterations']:.0f} "
            f"| {price['gradients_per_member']:.0f}, {price['pilot_gradients']:.2g} | {price['seconds']:.0f}, {price['pilot_seconds']:.0f} | {100 * share:.1f} % "
            f"| {before[0]} → {after[0]} | {before[1]} → {after[1]} | {widths} |"
        )


if __name__ == "__main__":
    main()
