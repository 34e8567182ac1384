#!/usr/bin/env python3
"""What a whole run costs beyond its iterations: bench/overhead/overhead.py RPINN [--members N] [--threads N]

Runs poisson-linear (N_f=32, the paper's 2000 iterations) with every file that a run writes, between two calls of
`rpinn bench`, and prints

    ratio = wall time / (members * iterations * seconds per member-iteration / threads)

with the mean of the two bench times, because the clock of a shared machine drifts; and the peak memory of the run.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ITERATIONS = 2000


def seconds_per_iteration(rpinn):
    answer = subprocess.run([rpinn, "bench", "--json", "--repetitions", "25"], check=True, capture_output=True)
    return json.loads(answer.stdout)["cases"][0]["seconds_per_iteration"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rpinn")
    parser.add_argument("--members", type=int, default=5000)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    before = seconds_per_iteration(arguments.rpinn)
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        run = subprocess.Popen([arguments.rpinn, "run", "poisson-linear", "--preset", "paper", "--samples", str(arguments.members),
                                "--iterations", str(ITERATIONS), "--threads", str(arguments.threads), "--quiet",
                                "--out", str(Path(folder) / "run")])
        _, status, usage = os.wait4(run.pid, 0)
        seconds = time.monotonic() - start
    if status != 0:
        return 1
    after = seconds_per_iteration(arguments.rpinn)

    iterations_alone = arguments.members * ITERATIONS * 0.5 * (before + after) / arguments.threads
    print(f"{arguments.members} members x {ITERATIONS} iterations on {arguments.threads} threads")
    print(f"bench, per member-iteration: {before * 1e6:.2f} us before, {after * 1e6:.2f} us after")
    print(f"the run: {seconds:.1f} s, of which iterations alone {iterations_alone:.1f} s")
    print(f"ratio: {seconds / iterations_alone:.3f} (bound 1.08)")
    print(f"peak memory: {usage.ru_maxrss / 1024:.0f} MiB (bound 400 MB)")  # ru_maxrss is in KiB
    return 0


if __name__ == "__main__":
    sys.exit(main())
