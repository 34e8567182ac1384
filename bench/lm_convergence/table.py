"""The table of bench/lm_convergence/run.sh: table.py FOLDER NUM_PROGRAMS."""

import os
import sqlite3
import statistics
import struct
import sys

CONVERGED = ("gradient_small", "no_progress", "decrease_small")
LOSS, ITERATIONS = 0, 2  # of the statistics of a member


def read_members(folder):
    """member: (stop, loss, iterations) of those that did not fail."""
    members = {}
    store = sqlite3.connect(os.path.join(folder, "run", "checkpoint.db"))
    for member, stop, blob in store.execute("SELECT member, stop, statistics FROM members WHERE failed = 0"):
        numbers = struct.unpack(f"{len(blob) // 8}d", blob)
        members[member] = (stop, numbers[LOSS], numbers[ITERATIONS])
    return members


def read_seconds(folder):
    def number(name):
        with open(os.path.join(folder, name)) as file:
            return float(file.read())

    return number("seconds") - number("short_seconds")


def read_problem(folder):
    return read_members(folder), read_seconds(folder)


def row_of(problems, first):
    """problems, first: name: (members, seconds) of a program and of the first one."""
    everyone = [member for members, _ in problems.values() for member in members.values()]
    stops = {}
    for stop, _, _ in everyone:
        stops[stop] = stops.get(stop, 0) + 1
    num_converged = sum(count for stop, count in stops.items() if stop.removesuffix("_in_double") in CONVERGED)
    seconds = sum(seconds for _, seconds in problems.values())
    differences = [
        members[number][1] - first[name][0][number][1]
        for name, (members, _) in problems.items()
        for number in members
        if number in first[name][0]
    ]
    return [
        str(len(everyone)),
        f"{statistics.median(member[2] for member in everyone):g}",
        f"{statistics.mean(member[2] for member in everyone):.0f}",
        f"{100 * (1 - num_converged / len(everyone)):.1f} %",
        ", ".join(f"{stop} {count}" for stop, count in sorted(stops.items())),
        f"{1e3 * seconds / num_converged:.1f}",
        "" if problems is first else f"{statistics.median(differences):+.3f}",
    ]


def main():
    folder, num_programs = sys.argv[1], int(sys.argv[2])
    print("| prior scale | problems | program | members | iterations: median | mean | not converged | stops | ms per converged member | loss less that of program 1: median |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for scale in sorted(os.listdir(os.path.join(folder, "0")), key=float):
        for group in sorted(os.listdir(os.path.join(folder, "0", scale))):
            first = None
            for program in range(num_programs):
                place = os.path.join(folder, str(program), scale, group)
                problems = {name: read_problem(os.path.join(place, name)) for name in sorted(os.listdir(place))}
                first = first or problems
                print("| " + " | ".join([scale, group, str(program + 1)] + row_of(problems, first)) + " |")


main()
