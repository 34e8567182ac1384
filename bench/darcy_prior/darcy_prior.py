#!/usr/bin/env python3
"""What a Gaussian prior of y does to darcy: bench/darcy_prior/darcy_prior.py RPINN [--members N] [--iterations N] [--seeds N …]

Runs the shipped problems darcy and darcy-geostatistics, which differ in the prior term alone, on the same generated truths,
data and settings, and prints for y and h, over all cells: the relative error of the mean, the mean standard deviation, and
the share of cells whose truth lies within two standard deviations of the mean.
"""
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROBLEMS = ("darcy", "darcy-geostatistics")
METRICS = ("coverage", "mean_std", "rl2")


def summary(rpinn, problem, seed, arguments, folder):
    out = Path(folder) / f"{problem}-{seed}"
    command = [rpinn, "run", problem, "--preset", "paper", "--seed", str(seed), "--set", f"sigma={arguments.sigma}",
               "--set", f"Nr={arguments.residuals}",
               "--samples", str(arguments.members), "--iterations", str(arguments.iterations),
               "--optimizer", arguments.optimizer, "--threads", str(arguments.threads), "--quiet", "--out", str(out)]
    if arguments.optimizer == "lm":
        command += ["--progress-tolerance", "1e-8"]
    if arguments.optimizer == "adam":
        command += ["--learning-rate", "1e-3", "--decay-steps", str(max(1, arguments.iterations // 10))]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return json.loads((out / "summary.json").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rpinn")
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--residuals", type=int, default=150, help="points of the term pde; the problem has 500")
    parser.add_argument("--optimizer", choices=("adam", "lm"), default="lm")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sigma", default="0.1")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    start = time.monotonic()
    print(f"{arguments.members} rPINN members, {arguments.iterations} iterations of {arguments.optimizer}, "
          f"sigma = {arguments.sigma}, Nr = {arguments.residuals}, likelihood paper\n", flush=True)
    print("| truth | problem | coverage of y | std of y | rl2 of y | coverage of h | std of h | rl2 of h | median loss |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for seed in arguments.seeds:
            for problem in PROBLEMS:
                page = summary(arguments.rpinn, problem, seed, arguments, folder)
                cells = [f"{page['quantities'][name][metric]:.3g}" for name in ("y", "h") for metric in METRICS]
                print(f"| seed {seed} | {problem} | " + " | ".join(cells) +
                      f" | {page['members']['loss_median']:.4g} |", flush=True)
    print(f"\n{time.monotonic() - start:.0f} s on {arguments.threads} threads")
    return 0


if __name__ == "__main__":
    sys.exit(main())
