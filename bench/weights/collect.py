#!/usr/bin/env python3
"""Tables of bench/weights/run.sh: what each rule chose, and its scores beside the paper's.

    bench/weights/collect.py FOLDER CASE...
"""
import json
import math
import os
import sys


def number(value, digits=3):
    return "–" if value is None else f"{float(f'{value:.{digits}g}'):.7g}"


def pair(score, factor=1.0, digits=3):
    if score["mean"] is None:
        return "–"
    error = "" if score["error"] is None else f" ± {factor * score['error']:.2g}"
    return f"{factor * score['mean']:.{digits}g}{error}"


def scores_of(folder, name, choice, quantity):
    """CRPS of every data set, in their order."""
    order, values = ["rl2", "lpp", "coverage", "crps"], []
    place = 1 + 4 * quantity + order.index("crps")
    for data_set in range(1, 10000):
        path = os.path.join(folder, name, "scores", f"draws-{choice:04d}-{data_set:04d}.json")
        if not os.path.exists(path):
            return values
        values.append(json.load(open(path))[place])
    return values


def canonical(page, choice, folder, name):
    """The candidate whose runs are those of the choice: the first with the same values."""
    for point in page["grid"] + page["choices"]:
        if point["values"] == choice["values"]:
            if scores_of(folder, name, int(point["candidate"]), 0):
                return int(point["candidate"])
    return int(choice["candidate"])


def ratio(own, paper):
    """Mean of the ratio of CRPS on the same data sets, and its standard error."""
    ratios = [a / b for a, b in zip(own, paper)]
    mean = sum(ratios) / len(ratios)
    error = math.sqrt(sum((r - mean) ** 2 for r in ratios) / (len(ratios) - 1) / len(ratios))
    return f"{mean:.2f} ± {error:.2f}"


def show(folder, name):
    page = json.load(open(os.path.join(folder, name, "weights.json")))
    choices = page["choices"]
    values = list(choices[0]["values"])
    criteria = list(choices[0]["criteria"])
    terms = list(choices[0]["sigmas"]["terms"])
    print("| by | " + " | ".join(values + [f"s_{t}" for t in terms] + ["s_p"] + criteria) + " | alike |")
    print("|---" * (len(values) + len(terms) + len(criteria) + 3) + "|")
    for choice in choices:
        cells = [number(choice["values"][v], 4) for v in values]
        cells += [number(choice["sigmas"]["terms"][t]) for t in terms] + [number(choice["sigmas"]["prior"])]
        cells += [number(choice["criteria"][c], 4) for c in criteria]
        alike = f"{choice['alike']:.0f} of {len(page['grid'])}" if "alike" in choice else ""
        end = f", end of {' and '.join(choice['at_end_of'])}" if choice["at_end_of"] else ""
        print(f"| {choice['by']} | " + " | ".join(cells) + f" | {alike}{end} |")
    print("\n| by | | rl2 | CRPS | CRPS / the paper's | 95 % | LPP |\n|---|---|---|---|---|---|---|")
    for q, quantity in enumerate(choices[0]["scores"]):
        paper = scores_of(folder, name, canonical(page, choices[0], folder, name), q)
        for choice in choices:
            own = scores_of(folder, name, canonical(page, choice, folder, name), q)
            score = choice["scores"][quantity]
            print(f"| {choice['by']} | {quantity} | {pair(score['rl2'])} | {pair(score['crps'])} | {ratio(own, paper)} | "
                  f"{pair(score['coverage'], 100)} | {pair(score['lpp'], 1, 4)} |")
    print()


def summarise(folder, cases):
    """CRPS beside the paper's, for u and f, a row for each rule."""
    pages = {name: json.load(open(os.path.join(folder, name, "weights.json"))) for name in cases}
    print("| by | " + " | ".join(cases) + " |\n" + "|---" * (len(cases) + 1) + "|")
    for label in [choice["by"] for choice in pages[cases[0]]["choices"][1:]]:
        cells = []
        for name, page in pages.items():
            own = next(choice for choice in page["choices"] if choice["by"] == label)
            pick = [canonical(page, choice, folder, name) for choice in (own, page["choices"][0])]
            cells.append("; ".join(ratio(*(scores_of(folder, name, k, q) for k in pick)) for q in (0, 1)))
        print(f"| {label} | " + " | ".join(cells) + " |")
    print("| data sets | " + " | ".join(f"{page['data_sets']:.0f}" for page in pages.values()) + " |\n")


def main():
    folder, cases = sys.argv[1], sys.argv[2:]
    print("CRPS of u; of f, over that of the paper's weights on the same data sets:\n")
    summarise(folder, cases)
    for name in cases:
        kind, count, noise = name.split("-", 2)
        print(f"## {kind}, N_f = {count}, σ = {noise}\n\nWeights:\n")
        show(folder, name)
        print("ε at the paper's weights, by LPP of u and f:\n")
        show(folder, name + "-epsilon")


main()
