#!/usr/bin/env python3
"""How many leapfrogs does a draw take, and what is it worth? NUTS with a dense metric on Gaussians: rpinn by both rules of turning
back, and NumPyro.

    gaussian.py --ours build [--dimensions 250] [--warmup 1000] [--draws 500] [--chains 2] [--output FILE.md]

iid has the unit covariance, wishart a precision Z Z^T of standard normal Z. All sides learn metric and step in the same windows and start
uniformly in (-2, 2). Effective sizes are rpinn's, for the draws of all sides alike. Needs numpy, jax and numpyro.
"""

import argparse
import os
import subprocess
import tempfile

import numpy


def precision_of(kind, size):
    if kind == "iid":
        return numpy.eye(size)
    root = numpy.random.default_rng(7).standard_normal((size, size))
    return root @ root.T


def sample_numpyro(arguments, precision, path):
    import jax
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)
    matrix = jax.numpy.asarray(precision)
    kernel = NUTS(potential_fn=lambda z: 0.5 * z @ (matrix @ z), dense_mass=True)
    chains = MCMC(
        kernel, num_warmup=arguments.warmup, num_samples=arguments.draws, num_chains=arguments.chains,
        chain_method="sequential", progress_bar=False,
    )
    starts = numpy.random.default_rng(1).uniform(-2, 2, (arguments.chains, len(precision)))
    fields = ("num_steps", "adapt_state.step_size", "accept_prob")
    chains.run(jax.random.PRNGKey(1), init_params=jax.numpy.asarray(starts), extra_fields=fields)
    numpy.asarray(chains.get_samples(group_by_chain=True), dtype=float).tofile(path)
    found = chains.get_extra_fields(group_by_chain=True)
    steps, sizes, accepted = (numpy.asarray(found[name]) for name in fields)
    return [(sizes[c, -1], accepted[c].mean(), steps[c].mean()) for c in range(arguments.chains)]


def sample_ours(arguments, rule, precision_path, path):
    numbers = [arguments.warmup, arguments.draws, arguments.chains, 1]
    command = [arguments.ours + "/bench_gaussian", "sample", rule, precision_path, *map(str, numbers), path]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [tuple(float(number) for number in line.split()) for line in printed.splitlines()]


def main():
    parser = argparse.ArgumentParser(description="leapfrogs and effective sizes of NUTS on Gaussians")
    parser.add_argument("--ours", default="build", help="folder of bench_gaussian (default build)")
    parser.add_argument("--dimensions", type=int, default=250)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--output", help="write the table to this file as well")
    arguments = parser.parse_args()
    lines = [
        f"| {arguments.dimensions} dimensions | NUTS | step | acceptance | leapfrogs per draw | ESS of x per 1000 leapfrogs, least and mean "
        "| of x², least and mean |",
        "|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        precision_path, path = os.path.join(folder, "precision"), os.path.join(folder, "draws")
        for kind in ("iid", "wishart"):
            precision = precision_of(kind, arguments.dimensions)
            precision.tofile(precision_path)
            for side in ("sum", "path", "NumPyro"):
                if side == "NumPyro":
                    chains = sample_numpyro(arguments, precision, path)
                else:
                    chains = sample_ours(arguments, side, precision_path, path)
                step, acceptance, leapfrogs = numpy.mean(chains, axis=0)
                command = [arguments.ours + "/bench_gaussian", "judge", str(arguments.draws), str(arguments.chains)]
                printed = subprocess.run(
                    command + [str(arguments.dimensions), path], capture_output=True, text=True, check=True
                ).stdout
                share = 1000 / (leapfrogs * arguments.draws * arguments.chains)
                sizes = [float(number) * share for number in printed.split()]
                name = side if side == "NumPyro" else f"rpinn, {side}"
                lines.append(
                    f"| {kind} | {name} | {step:.3f} | {acceptance:.3f} | {leapfrogs:.1f} | {sizes[0]:.1f}, {sizes[1]:.1f} "
                    f"| {sizes[2]:.1f}, {sizes[3]:.1f} |"
                )
                print(lines[-1], flush=True)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
