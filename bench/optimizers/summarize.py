#!/usr/bin/env python3
"""Losses of bench_optimizers as a table and as curves for gnuplot.

    summarize.py LOSSES.csv TABLE.md CURVES_FOLDER

The table has medians over members: the loss after given times, and the time to given losses. The curves are one
file PROBLEM-OPTIMIZER-PRECISION.dat with columns seconds, median, least and greatest loss over members.
ends-PROBLEM.dat has the last point of each with the number of its optimiser and 1 where most members stopped by
themselves before their time was over, otherwise 0.
"""

import collections
import math
import statistics
import sys

OPTIMIZERS = {"adam": "Adam", "lbfgs": "L-BFGS", "lm": "Levenberg–Marquardt"}
# problem: times to look at, losses to reach
COLUMNS = {
    "poisson-linear": ([0.02, 0.1, 0.5, 2], [300, 30, 3]),
    "poisson-nonlinear": ([0.02, 0.1, 0.5, 2], [300, 30, 3]),
    "darcy": ([1, 5, 20, 60], [12000, 8000, 7000]),
}
POINTS_PER_DECADE = 24


def read(path):
    runs, stops = collections.OrderedDict(), collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                label, reason = line[2:].split(": ", 1)
                problem, optimizer, precision, _ = label.split(",")
                stops[problem, optimizer, precision].append(reason.split(" ", 1)[0])
            elif not line.startswith("problem,"):
                problem, optimizer, precision, member, _, seconds, loss = line.strip().split(",")
                members = runs.setdefault((problem, optimizer, precision), {})
                members.setdefault(member, []).append((float(seconds), float(loss)))
    return runs, stops


def loss_after(trace, seconds):
    """The last loss seen by then; one that has ended keeps its last."""
    return [loss for time, loss in trace if time <= seconds][-1]


def time_to(trace, loss):
    return next((time for time, value in trace if value <= loss), math.inf)


def show_time(seconds):
    return "–" if math.isinf(seconds) else f"{seconds:.2g} s"


def why(reasons):
    """The reasons for stopping; a run that was still going when its time was over has none."""
    names = [f"{reason.replace('_', ' ')} ({count})" for reason, count in collections.Counter(reasons).items()
             if reason != "running"]
    return ", ".join(names) or "time is over"


def write_table(runs, stops, path):
    lines = ["Written by bench/optimizers/run.sh; bench/README.md says what follows from it.", ""]
    for problem, (times, losses) in COLUMNS.items():
        keys = [key for key in runs if key[0] == problem]
        if not keys:
            continue
        members = len(runs[keys[0]])
        lines += [
            f"**{problem}**, medians of {members} members",
            "",
            "| optimiser | precision | " + " | ".join(f"loss at {time:g} s" for time in times) + " | "
            + " | ".join(f"time to {loss:g}" for loss in losses) + " | runs for | ended by (members) |",
            "|---|---|" + "---|" * (len(times) + len(losses)) + "---|---|",
        ]
        for key in sorted(keys, key=lambda key: (key[2] != "float", list(OPTIMIZERS).index(key[1]))):
            traces = list(runs[key].values())
            cells = [f"{statistics.median(loss_after(trace, time) for trace in traces):.3g}" for time in times]
            cells += [show_time(statistics.median(time_to(trace, loss) for trace in traces)) for loss in losses]
            cells.append(f"{statistics.median(trace[-1][0] for trace in traces):.2g} s")
            lines.append(f"| {OPTIMIZERS[key[1]]} | {key[2]} | " + " | ".join(cells) + f" | {why(stops[key])} |")
        lines.append("")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def write_curves(runs, stops, folder):
    for key, members in runs.items():
        traces = list(members.values())
        first, last = max(trace[1][0] for trace in traces), statistics.median(trace[-1][0] for trace in traces)
        count = max(2, int(POINTS_PER_DECADE * math.log10(max(last / first, 1.1))))
        with open(f"{folder}/{'-'.join(key)}.dat", "w", encoding="utf-8") as file:
            for k in range(count + 1):
                seconds = first * (last / first) ** (k / count)
                losses = [loss_after(trace, seconds * (1 + 1e-12)) for trace in traces]
                file.write(f"{seconds:.6g} {statistics.median(losses):.6g} {min(losses):.6g} {max(losses):.6g}\n")
        with open(f"{folder}/ends-{key[0]}.dat", "a", encoding="utf-8") as file:
            ended = int(stops[key].count("running") * 2 < len(traces))
            file.write(f"{last:.6g} {statistics.median(losses):.6g} {list(OPTIMIZERS).index(key[1]) + 1} {ended}\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    all_runs, all_stops = read(sys.argv[1])
    write_table(all_runs, all_stops, sys.argv[2])
    write_curves(all_runs, all_stops, sys.argv[3])
