#!/usr/bin/env python3
"""CRPS of the scale that the data chose against the best fixed one, and of the defaults against the paper's settings.

    bench/calibration/compare.py FOLDER

FOLDER: that of bench/calibration/run.sh. Both comparisons are of the same data sets: of `NAME` and `NAME-SHAPE-SCALE`
(parts shown and fixed), a ratio of means; of `NAME` and `NAME-paper` (part poisson), a mean difference with its standard error.
"""
import json
import pathlib
import re
import statistics
import sys

CRPS = 7  # place in a row of scores: points, three coverages, three widths, CRPS


def scores(folder):
    """{data set: {quantity: CRPS}}"""
    return {
        path.stem: {name: row[CRPS] for name, row in json.loads(path.read_text())["scores"].items()}
        for path in sorted((folder / "scores").glob("*.json"))
    }


def pairs(left, right, quantity):
    """CRPS of both over the data sets that both have."""
    return [(left[k][quantity], right[k][quantity]) for k in left if k in right and quantity in right[k]]


def against_fixed(root):
    ratios = []
    for folder in sorted(root.iterdir()):
        fixed = [f for f in root.iterdir() if re.fullmatch(re.escape(folder.name) + r"-(iid|fan_in)-[0-9.]+", f.name)]
        own = scores(folder) if fixed else {}
        for quantity in next(iter(own.values()), {}):
            found = {}
            for other in fixed:
                both = pairs(own, scores(other), quantity)
                if both:
                    found[other.name[len(folder.name) + 1 :]] = statistics.mean(a for a, _ in both) / statistics.mean(b for _, b in both)
            if not found:
                continue
            best = max(found, key=found.get)
            ratios.append(found[best])
            print(f"| {folder.name} | {quantity} | {best} | {found[best]:.3f} |")
    return ratios


def against_paper(root):
    for folder in sorted(root.glob("*-paper")):
        paper, own = scores(folder), scores(root / folder.name[: -len("-paper")])
        for quantity in next(iter(own.values()), {}):
            both = pairs(own, paper, quantity)
            if len(both) < 2:
                continue
            differences = [a - b for a, b in both]
            error = statistics.stdev(differences) / len(both) ** 0.5
            print(
                f"| {folder.name} | {quantity} | {len(both)} | {statistics.mean(b for _, b in both):.4f} "
                f"| {statistics.mean(differences):+.4f} ± {error:.4f} |"
            )


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    print("| problem | quantity | best fixed scale | CRPS of the chosen scale / of that one |\n|---|---|---|---|")
    ratios = sorted(against_fixed(root))
    if ratios:
        print(f"\nmedian {statistics.median(ratios):.2f}, largest {ratios[-1]:.2f} of {len(ratios)} quantities\n")
    print("| problem | quantity | data sets | CRPS with the paper's settings | difference with the defaults |\n|---|---|---|---|---|")
    against_paper(root)


if __name__ == "__main__":
    main()
