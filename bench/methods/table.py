#!/usr/bin/env python3
"""The methods of bench/methods/run.sh side by side, as a table.

    bench/methods/table.py FOLDER [PAGE]

Coverage and width of a method are means over problems, of means over quantities and data sets; errors are over data sets. Scores of
different problems have different units, and slow methods have fewer data sets, so that CRPS and widths are compared with those of one
method, the reference, on the data sets that both have: exp of the mean log ratio over quantities, data sets and problems. Those
of CRPS are divided by the least of them. Settings that are in HIDDEN_SETTINGS (SETTING=VALUE:…) are left out of the names of methods.
With PAGE the table takes the place of what stands between its marker lines; FOLDER/methods.md has it problem by problem, too.
"""
import collections
import csv
import math
import os
import pathlib
import statistics
import sys

BEGIN, END = "<!-- bench/methods/run.sh writes from here -->", "<!-- to here -->"
REFERENCE = "rpinn"
LEVELS = ("coverage50", "coverage80", "coverage95")


def read(folder):
    """{method: {problem: {data set: [a row for each quantity]}}}"""
    found = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    for path in sorted(folder.glob("*/*/calibration.csv")):
        with open(path, encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                found[row["method"]][path.parent.parent.name][int(row["data_set"])].append(row)
    return found


def mean_with_error(problems, is_share=False):
    """Of [[a number for each data set] for each problem]: the mean over problems and its standard error over data sets. That of a
    share in % is never below the binomial one, as in rpinn calibrate."""
    numbers = [values for values in problems if values]
    mean = statistics.fmean(statistics.fmean(values) for values in numbers)
    spreads = [statistics.variance(values) for values in numbers if len(values) > 1]
    if is_share:
        means = [statistics.fmean(values) for values in numbers]
        floors = [share * (100 - share) / len(values) for share, values in zip(means, numbers)]
        own = [statistics.variance(values) / len(values) if len(values) > 1 else 0 for values in numbers]
        return mean, math.sqrt(sum(map(max, own, floors))) / len(numbers)
    if 2 * len(spreads) <= len(numbers):
        return mean, math.nan
    usual = statistics.fmean(spreads)  # stands for that of a problem with one data set
    squares = [(statistics.variance(values) if len(values) > 1 else usual) / len(values) for values in numbers]
    return mean, math.sqrt(sum(squares)) / len(numbers)


def coverage(problems, level):
    return mean_with_error([[statistics.fmean(100 * float(row[level]) for row in rows) for rows in sets.values()]
                            for sets in problems.values()], is_share=True)


def log_ratios(problems, reference, column):
    """[[a mean over quantities for each shared data set] for each problem]"""
    found = []
    for problem, sets in problems.items():
        own = []
        for number, rows in sets.items():
            others = {row["name"]: float(row[column]) for row in reference.get(problem, {}).get(number, [])}
            logs = [math.log(float(row[column]) / others[row["name"]]) for row in rows
                    if others.get(row["name"], 0) > 0 and float(row[column]) > 0]
            if logs:
                own.append(statistics.fmean(logs))
        found.append(own)
    return found if any(found) else None


def verdicts(problems):
    words = [rows[0]["verdict"] for sets in problems.values() for rows in sets.values()]
    return "/".join(str(words.count(word)) for word in ("good", "fair", "bad"))


def with_error(number, error, digits=0):
    text = f"{number:.{digits}f}"
    return text if math.isnan(error) else f"{text} ± {error:.{digits}f}"


def label(name):
    hidden = os.environ.get("HIDDEN_SETTINGS", "").split(":")
    return ":".join(piece for piece in name.split(":") if piece not in hidden)


def table(found):
    reference = found.get(REFERENCE)
    if not reference:
        sys.exit(f"table.py: no scores of {REFERENCE}, which others are compared with")
    ratios = {name: log_ratios(problems, reference, "crps") for name, problems in found.items()}
    means = {name: mean_with_error(logs) for name, logs in ratios.items() if logs}
    best = min(mean for mean, _ in means.values())
    yield f"| method | data sets of problems | 50 % | 80 % | 95 % | CRPS, best = 1 | width of 95 %, `{REFERENCE}` = 1 | seconds | good/fair/bad |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, problems in sorted(found.items(), key=lambda item: means.get(item[0], (math.inf,))):
        counts = [len(sets) for sets in problems.values()]
        seconds = statistics.median(float(rows[0]["seconds"]) for sets in problems.values() for rows in sets.values())
        cells = [f"`{label(name)}`", f"{sum(counts)} of {len(counts)}"]
        cells += [with_error(*coverage(problems, level)) for level in LEVELS]
        mean, error = means.get(name, (math.nan, math.nan))
        scale = math.exp(mean - best)
        cells.append(with_error(scale, scale * error, 2))
        width = log_ratios(problems, reference, "width95")
        cells.append(f"{math.exp(mean_with_error(width)[0]):.2f}" if width else "–")
        cells += [f"{seconds:.3g}", verdicts(problems)]
        yield "| " + " | ".join(cells) + " |"


def details(found):
    """The same problem by problem, with the unit of no quantity."""
    reference = found[REFERENCE]
    yield "| problem | method | data sets | 50 % | 80 % | 95 % | CRPS, `rpinn` = 1 | width of 95 %, `rpinn` = 1 | seconds | good/fair/bad |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for problem in sorted({name for problems in found.values() for name in problems}):
        for method, problems in found.items():
            if problem not in problems:
                continue
            own = {problem: problems[problem]}
            cells = [problem, f"`{label(method)}`", str(len(problems[problem]))]
            cells += [with_error(*coverage(own, level)) for level in LEVELS]
            for column in ("crps", "width95"):
                logs = log_ratios(own, reference, column)
                mean, error = mean_with_error(logs) if logs else (math.nan, math.nan)
                cells.append(with_error(math.exp(mean), math.exp(mean) * error, 2) if logs else "–")
            seconds = statistics.median(float(rows[0]["seconds"]) for rows in problems[problem].values())
            yield "| " + " | ".join(cells + [f"{seconds:.3g}", verdicts(own)]) + " |"


def put(page, lines):
    text = page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        sys.exit(f"table.py: {page}: expected one line '{BEGIN}' and, behind it, one line '{END}'")
    before, rest = text.split(BEGIN)
    page.write_text(before + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1], encoding="utf-8")


def main():
    found = read(pathlib.Path(sys.argv[1]))
    if not found:
        sys.exit(f"table.py: no calibration.csv in {sys.argv[1]}")
    lines = list(table(found))
    print("\n".join(lines))
    head = ["# All methods on the same data", "", "Printed by `bench/methods/run.sh`; docs/methods.md says what the columns are.", ""]
    text = "\n".join(head + lines + [""] + list(details(found))) + "\n"
    pathlib.Path(sys.argv[1], "methods.md").write_text(text, encoding="utf-8")
    if len(sys.argv) > 2:
        put(pathlib.Path(sys.argv[2]), lines)


main()
