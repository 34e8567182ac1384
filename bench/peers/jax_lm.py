#!/usr/bin/env python3
"""Levenberg-Marquardt on members of rPINN until they converge: rpinn against JAX on the CPU.

    jax_lm.py --ours build/bench_squares [--members 12] [--repetitions 2] [--only NAME] [--more] [--output FILE.md]

`bench_squares export` writes the least squares, offsets and starts of members as `rpinn run` makes them, and
`bench_squares minimize` minimises them as the program does by default. The same energies, checked first, are minimised in
JAX from the same starts in prior units, z = P (theta - mu), where the energy is 1/2 |r(z) - xi_r|^2 + 1/2 |z - xi_p|^2.

What a competent user would try, and what is tried:

    solvers       data space   a jitted loop written by hand: M x M systems, as M < N, and Nielsen's damping
                  optimistix   LevenbergMarquardt with conjugate gradients on the normal equations
                  with --more  optimistix with its default, QR of M + 2 N rows, where N is small, and jaxopt's
                               LevenbergMarquardt with conjugate gradients
    derivatives   channels     by hand; jvp: nested jax.jvp, of the data space only
    precision     float, double, and in the data space mixed: rows and Jacobian in float, systems and sums in double
    members       one at a time, jitted; in the data space also vmapped

Each core has a process that takes every second member. Each way is tried with several tolerances; of each group the one
with the least computing time per converged member is repeated, in turns with ours. Converged is who ends within 0.1 nats
of the least energy that anybody reached for that member, all evaluated in double. Compiling is not counted.
"""

import argparse
import functools
import json
import math
import os
import statistics
import subprocess
import sys
import time

import jax_adam

CALIBRATION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "calibration")
# name, problem, scale of the prior
CASES = [
    ("poisson-linear, Nf=32, scale 1.5", ["poisson-linear", "Nf=32"], "1.5"),
    ("poisson-linear, Nf=32, scale 3", ["poisson-linear", "Nf=32"], "3"),
    ("poisson-linear, Nf=128, scale 3", ["poisson-linear", "Nf=128"], "3"),
    ("poisson-nonlinear, scale 3", ["poisson-nonlinear"], "3"),
    ("cubic, scale 3", [os.path.join(CALIBRATION, "shown", "cubic.yaml")], "3"),
]
STYLES = ("channels", "jvp")
TOLERANCE = {"float": 1e-5, "double": 1e-10}  # of energies at the starts
MAX_ITERATIONS = 1000  # as rpinn has it
WINDOW = 20
BATCH = 2  # all of a batch go on until the slowest has converged
MAX_QR_PARAMETERS = 1000  # beyond, one QR of M + 2 N rows takes a second

# ---- worker: everything that touches JAX ----


class Squares:
    """Rows, Jacobian and members of an exported problem; numbers of the rows have this type."""

    def __init__(self, path, style, dtype):
        from jax.flatten_util import ravel_pytree

        with open(path, encoding="utf-8") as file:
            self.raw = json.load(file)
        self.style, self.dtype = style, dtype
        self.model = jax_adam.read_model(self.raw, dtype)
        self.root = ravel_pytree(self.model["prior_root"])[0]
        self.mean, self.unravel = ravel_pytree(self.model["prior_mean"])
        self.num_rows = sum(len(term["data"]) for term in self.raw["terms"])

    def rows(self, z):
        theta = self.unravel(self.mean + z / self.root)
        return jnp.concatenate(list(jax_adam.whitened_rows(self.model, self.style, theta).values()))

    def linearise(self, z):
        """rows [M] and Jacobian [M, N]: a row depends on its own point alone, so each has a gradient of its own."""

        def row(name, theta, point, value):
            term = dict(self.model["terms"][name], points=point[None], data=value[None])
            model = dict(self.model, terms={name: term})
            return jax_adam.whitened_rows(model, self.style, self.unravel(theta))[name][0]

        parts = [
            jax.vmap(jax.value_and_grad(functools.partial(row, name)), (None, 0, 0))(
                self.mean + z / self.root, jnp.asarray(term["points"]), jnp.asarray(term["data"])
            )
            for name, term in self.model["terms"].items()
        ]
        return jnp.concatenate([rows for rows, _ in parts]), jnp.concatenate([slopes for _, slopes in parts]) / self.root

    def member(self, number):
        """Offsets of rows and prior; the start is z = xi_p, a draw from the prior."""
        from jax.flatten_util import ravel_pytree

        offsets = jax_adam.read_offsets(self.raw, self.raw["members"][number]["offsets"], self.dtype)
        return jnp.concatenate(list(offsets["terms"].values())), ravel_pytree(offsets["prior"])[0]

    def energy(self, z, row_offsets, prior_offsets):
        rows, pull = self.rows(z) - row_offsets, z - prior_offsets
        return 0.5 * (rows @ rows + pull @ pull)


def data_space(squares, exact, row_offsets, prior_offsets, tolerance):
    """Levenberg-Marquardt with a = 1 + damping and G = J J^T, sums and systems in the type `exact`:

        (I + G / a) y = r - J p / a,   d = -(p + J^T y) / a

    It stops as rpinn does: where 20 iterations gain no more than `tolerance` nats, or three in a row promise no more than a
    tenth of it, whatever the damping, by the least value of the linear model, 1/2 q^T (I + G)^-1 q with q = r - J p.
    """
    unit = jnp.eye(squares.num_rows, dtype=exact)
    cholesky = functools.partial(jax.scipy.linalg.cho_factor, lower=True)

    def energy_of(rows, pull):
        return 0.5 * (jnp.sum(rows.astype(exact) ** 2) + jnp.sum(pull.astype(exact) ** 2))

    def linearise(z):
        rows, slopes = squares.linearise(z)
        rows, pull = rows - row_offsets, z - prior_offsets
        return {
            "z": z, "rows": rows.astype(exact), "pull": pull, "slopes": slopes, "energy": energy_of(rows, pull),
            "gram": (slopes @ slopes.T).astype(exact), "pushed": (slopes @ pull).astype(exact),
            "gradient": slopes.T @ rows + pull,
        }

    def promised(at):
        goal = at["rows"] - at["pushed"]
        return at["energy"] - 0.5 * goal @ jax.scipy.linalg.cho_solve(cholesky(unit + at["gram"]), goal)

    def advance(state):
        at, damping, k = state["at"], state["damping"], state["iterations"]
        a = 1 + damping
        y = jax.scipy.linalg.cho_solve(cholesky(unit + at["gram"] / a), at["rows"] - at["pushed"] / a)
        step = -(at["pull"] + at["slopes"].T @ y.astype(squares.dtype)) / a.astype(squares.dtype)
        predicted = 0.5 * (damping * jnp.sum(step.astype(exact) ** 2) - (step @ at["gradient"]).astype(exact))
        z = at["z"] + step
        energy = energy_of(squares.rows(z) - row_offsets, z - prior_offsets)
        falls, gain = energy < at["energy"], (at["energy"] - energy) / predicted
        after = jax.lax.cond(falls, linearise, lambda _: at, z)
        num_small = jnp.where(promised(at) <= 0.1 * tolerance, state["num_small"] + 1, 0)
        before = state["window"][k % WINDOW]
        return {
            "at": after,
            "damping": damping * jnp.where(falls, jnp.maximum(1 / 3, 1 - (2 * gain - 1) ** 3), state["growth"]),
            "growth": jnp.where(falls, 2, 2 * state["growth"]),
            "num_small": num_small,
            "window": state["window"].at[k % WINDOW].set(at["energy"]),
            "stopped": (num_small >= 3) | (before - after["energy"] <= tolerance),
            "iterations": k + 1,
        }

    at = linearise(prior_offsets)
    state = {
        "at": at, "damping": 1e-3 * jnp.max(jnp.diag(at["gram"])), "growth": jnp.asarray(2, exact), "num_small": 0,
        "window": jnp.full(WINDOW, jnp.inf, exact), "stopped": False, "iterations": 0,
    }
    state = jax.lax.while_loop(lambda now: ~now["stopped"] & (now["iterations"] < MAX_ITERATIONS), advance, state)
    return state["at"]["z"], state["iterations"]


def all_rows(squares, row_offsets, prior_offsets, z):
    return jnp.concatenate([squares.rows(z) - row_offsets, z - prior_offsets])


def by_optimistix(squares, linear_solver, row_offsets, prior_offsets, tolerance):
    import optimistix

    rows = functools.partial(all_rows, squares, row_offsets, prior_offsets)
    solver = optimistix.LevenbergMarquardt(rtol=tolerance, atol=tolerance, linear_solver=linear_solver)
    found = optimistix.least_squares(
        lambda z, _: rows(z), solver, prior_offsets, max_steps=MAX_ITERATIONS, throw=False
    )
    return found.value, found.stats["num_steps"]


def by_jaxopt(squares, inner, row_offsets, prior_offsets, tolerance):
    import jaxopt

    solver = jaxopt.LevenbergMarquardt(
        functools.partial(all_rows, squares, row_offsets, prior_offsets), maxiter=MAX_ITERATIONS,
        stop_criterion="madsen-nielsen", xtol=tolerance, gtol=tolerance, implicit_diff=False,
        solver=functools.partial(jaxopt.linear_solve.solve_cg, tol=inner),
    )
    found, state = solver.run(prior_offsets)
    return found, state.iter_num


def make_solver(squares, solver, precision):
    exact = jnp.float32 if precision == "float" else jnp.float64
    kind, _, inner = solver.partition(" ")
    if kind == "data":
        return functools.partial(data_space, squares, exact)
    if kind == "jaxopt":
        return functools.partial(by_jaxopt, squares, float(inner.split()[-1]))
    import lineax

    if inner == "QR":
        return functools.partial(by_optimistix, squares, lineax.QR())
    tolerance = float(inner.split()[-1])
    return functools.partial(by_optimistix, squares, lineax.Normal(lineax.CG(rtol=tolerance, atol=tolerance)))


class Contestant:
    """A way to minimise members: compiled once, for any tolerance."""

    def __init__(self, path, solver, style, precision, batch):
        self.squares = Squares(path, style, jnp.float64 if precision == "double" else jnp.float32)
        self.batch = batch
        solve = make_solver(self.squares, solver, precision)
        self.solve = jax.jit(jax.vmap(solve, (0, 0, None)) if batch else solve)
        self.is_compiled = False

    def minimize(self, numbers, tolerance):
        """Computing seconds, iterations and z of each member."""
        outcomes, size = [], max(1, self.batch)
        for start in range(0, len(numbers), size):
            group = numbers[start : start + size]
            members = [self.squares.member(number) for number in (group * size)[:size]]
            offsets = [jnp.stack(part) for part in zip(*members)] if self.batch else members[0]
            if not self.is_compiled:
                jax.block_until_ready(self.solve(*offsets, tolerance))
                self.is_compiled = True
            computing = time.process_time()
            z, iterations = jax.block_until_ready(self.solve(*offsets, tolerance))
            computing = time.process_time() - computing
            z, iterations = jnp.atleast_2d(z), jnp.atleast_1d(iterations)
            outcomes += [
                {"member": number, "seconds": computing / len(group), "iterations": int(iterations[k]), "z": z[k].tolist()}
                for k, number in enumerate(group)
            ]
        return outcomes


def versions():
    import importlib.metadata

    found = {}
    for name in ("jax", "jaxlib", "optimistix", "jaxopt"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def energies(path, style, points):
    """Of members at z, or without points at their starts, in the precision of the worker."""
    squares = Squares(path, style, jnp.float64 if jax.config.jax_enable_x64 else jnp.float32)
    energy = jax.jit(squares.energy)
    if points is None:
        members = [squares.member(number) for number in range(len(squares.raw["members"]))]
        return [float(energy(prior_offsets, rows, prior_offsets)) for rows, prior_offsets in members]
    return [
        float(energy(jnp.asarray(point["z"], squares.dtype), *squares.member(point["member"]))) for point in points
    ]


def serve():
    """Answer requests, one JSON object a line."""
    global jax, jnp
    jax_adam.bind_worker()
    import jax
    import jax.numpy as jnp

    jax_adam.jax, jax_adam.jnp = jax, jnp
    contestants = {}
    for line in sys.stdin:
        request = json.loads(line)
        action = request.pop("do")
        if action == "version":
            answer = versions()
        elif action == "energies":
            answer = energies(**request)
        else:
            key = tuple(request["way"])
            if key not in contestants:
                contestants[key] = Contestant(*key)
            answer = contestants[key].minimize(request["members"], request["tolerance"])
        print(json.dumps(answer), flush=True)


# ---- driver: no JAX here ----

# Of each group the ways (solver, derivatives, precision, batch), and tolerances: nats in the data space, of steps otherwise.
NATS, STEPS = (1.0, 0.1, 0.01), (1e-2, 1e-3)
GROUPS = {
    "JAX, data space, by hand": (
        [("data space", "channels", precision, 0) for precision in ("float", "mixed", "double")]
        + [("data space", "channels", "float", BATCH)],
        NATS,
    ),
    "JAX, data space, jvp": ([("data space", "jvp", "float", 0)], NATS),
    "optimistix": (
        [("optimistix CG 0.1", "channels", "float", 0), ("optimistix CG 0.01", "channels", "double", 0)], STEPS,
    ),
}
WITH_QR = ("optimistix QR", "channels", "float", 0)
MORE_GROUPS = {
    "optimistix, QR": ([WITH_QR], STEPS),
    "jaxopt": ([("jaxopt CG 0.01", "channels", "float", 0)], STEPS),
}
OURS = "rpinn"


class Case:
    """A problem with its members, and the least energy that anybody reached for each."""

    def __init__(self, arguments, path, workers, problem, scale):
        self.arguments, self.path, self.workers = arguments, path, workers
        self.problem, self.scale = problem, scale
        self.best = [math.inf] * arguments.members
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run(
                [arguments.ours, "export", str(arguments.members), scale] + problem, stdout=file, check=True
            )
        with open(path, encoding="utf-8") as file:
            raw = json.load(file)
        self.starts = [member["energy"] for member in raw["members"]]
        self.num_parameters = len(raw["prior_root"])

    def check(self):
        for precision, tolerance in TOLERANCE.items():
            for style in STYLES:
                theirs = self.workers[precision][0].ask(do="energies", path=self.path, style=style, points=None)
                error = max(abs(b / a - 1) for a, b in zip(self.starts, theirs))
                print(f"  energies, {precision}, {style}: they differ from ours by {error:.1e}", flush=True)
                if not error <= tolerance:
                    sys.exit("jax_lm.py: the energies differ")

    def note(self, outcomes):
        for outcome in outcomes:
            self.best[outcome["member"]] = min(self.best[outcome["member"]], outcome["energy"])
        return outcomes

    def minimize_ours(self):
        printed = subprocess.run(
            [self.arguments.ours, "minimize", str(self.arguments.threads), str(self.arguments.members), self.scale]
            + self.problem,
            capture_output=True, text=True, check=True,
        ).stdout
        rows = [line.split() for line in printed.splitlines()]
        return self.note([
            {"member": int(number), "seconds": float(seconds), "iterations": int(iterations), "energy": float(energy)}
            for number, seconds, iterations, _, energy in rows
        ])

    def minimize_theirs(self, way, tolerance):
        group = self.workers["float" if way[2] == "float" else "double"]
        for k, worker in enumerate(group):
            members = list(range(k, self.arguments.members, len(group)))
            worker.send(do="minimize", way=(self.path,) + way, tolerance=tolerance, members=members)
        outcomes = sum((worker.receive() for worker in group), [])
        found = self.workers["double"][0].ask(do="energies", path=self.path, style="channels", points=outcomes)
        for outcome, energy in zip(outcomes, found):
            outcome["energy"] = energy if math.isfinite(energy) else math.inf
        return self.note(outcomes)

    def share(self, outcomes, nats):
        return sum(outcome["energy"] - self.best[outcome["member"]] <= nats for outcome in outcomes) / len(outcomes)

    def excess(self, outcomes):
        return statistics.median(outcome["energy"] - self.best[outcome["member"]] for outcome in outcomes)

    def price(self, outcomes, nats):
        """Computing seconds per member that ends within so many nats of the best."""
        share = self.share(outcomes, nats)
        return statistics.mean(outcome["seconds"] for outcome in outcomes) / share if share else math.inf

    def scan(self, ways, tolerances):
        """The outcomes of every way with every tolerance."""
        return {
            (way, tolerance): self.minimize_theirs(way, tolerance) for way in ways for tolerance in tolerances
        }

    def choose(self, found):
        """The way and the tolerance that are cheapest per converged member."""
        for (way, tolerance), outcomes in found.items():
            print(f"    {way[0]}, {way[1]}: {describe(way, tolerance)}: {1e3 * self.price(outcomes, math.inf):.1f} ms, within 0.1 "
                  f"and 1 nats {self.share(outcomes, 0.1):.0%} {self.share(outcomes, 1):.0%}, excess {self.excess(outcomes):.3g}",
                  flush=True)
        return min(found, key=lambda entry: [self.price(found[entry], 0.1), self.price(found[entry], 1),
                                             self.excess(found[entry])])

    def race(self, groups):
        """For each contestant its settings, and the outcomes of all repetitions."""
        self.check()
        self.minimize_ours()
        found = {
            name: self.scan(*group)
            for name, group in groups.items()
            if WITH_QR not in group[0] or self.num_parameters <= MAX_QR_PARAMETERS
        }
        chosen = {name: self.choose(outcomes) for name, outcomes in found.items()}
        results = {name: [] for name in [OURS] + list(chosen)}
        for _ in range(self.arguments.repetitions):
            results[OURS].append(self.minimize_ours())
            for name, (way, tolerance) in chosen.items():
                results[name].append(self.minimize_theirs(way, tolerance))
        return {name: (describe(*chosen[name]) if name in chosen else "", runs) for name, runs in results.items()}


def describe(way, tolerance):
    solver, style, precision, batch = way
    words = ([] if solver.startswith("data") else [solver.partition(" ")[2]]) + [precision]
    if batch:
        words.append(f"vmapped over {batch}")
    return ", ".join(words) + f", {tolerance:g}" + (" nats" if solver.startswith("data") else "")


def ratio_text(case, runs, ours, nats):
    """Median over repetitions of the prices' ratio, with the least and the most."""
    ratios = [case.price(theirs, nats) / case.price(own, nats) for theirs, own in zip(runs, ours)]
    if not all(math.isfinite(ratio) for ratio in ratios):
        return "none converged"
    return f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f}–{max(ratios):.2f})"


def table_rows(name, case, results):
    lines, ours = [], results[OURS][1]
    for contestant, (settings, runs) in results.items():
        first = runs[0]
        milliseconds = 1e3 * statistics.median(case.price(run, math.inf) for run in runs)
        iterations = statistics.mean(outcome["iterations"] for outcome in first)
        lines.append(
            f"| {name} | {contestant} | {settings} | {milliseconds:.1f} | {iterations:.0f} | {1e3 * milliseconds / iterations:.0f} "
            f"| {case.share(first, 0.1):.0%} | {case.share(first, 1):.0%} | {case.excess(first):.2f} | "
            + (" | " if contestant == OURS else f"{ratio_text(case, runs, ours, 0.1)} | {ratio_text(case, runs, ours, 1)}")
            + " |"
        )
    return lines


def report(rows, version, arguments):
    return "\n".join(
        [
            f"{jax_adam.cpu_name()}, {arguments.threads} cores; "
            + ", ".join(f"{name} {number}" for name, number in version.items())
            + f"; {arguments.members} members of rPINN each,",
            f"offsets and starts the same for all; medians of {arguments.repetitions} interleaved repetitions; load of the "
            f"machine {os.getloadavg()[0]:.1f}.",
            "",
            "| problem, prior | contestant | settings | ms per member | iterations | us per iteration | within 0.1 nats of the best | within 1 "
            "| median excess, nats | ms per member within 0.1, over rpinn's | within 1 |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        + rows
        + [
            "",
            "Times are computing time of all threads with both cores at work, which other programs on the machine hardly change.",
            "*Best*: the least energy, in double, that any contestant reached for the member with any setting that was tried. The energies",
            "have several minima, and who goes on from a start by other steps may end in another one; so the last two columns are of",
            "solvers and of luck, and the columns before them say how much of each. Of the settings of a contestant the one counts that is",
            "cheapest per member within 0.1 nats. Compiling, 2 to 8 s each, is not counted.",
        ]
    ) + "\n"


def drive(arguments):
    import tempfile

    cores = sorted(os.sched_getaffinity(0))[: arguments.threads]
    workers = {
        precision: [
            jax_adam.Worker(__file__, [core], jax_adam.ONE_THREAD, JAX_ENABLE_X64=str(number)) for core in cores
        ]
        for number, precision in enumerate(("float", "double"))
    }
    version = workers["float"][0].ask(do="version")
    groups = {
        name: group
        for name, group in (GROUPS | (MORE_GROUPS if arguments.more else {})).items()
        if name.startswith("JAX") or name.partition(",")[0] in version
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, problem, scale) in enumerate(CASES):
            if arguments.only not in name:
                continue
            print(name, flush=True)
            case = Case(arguments, os.path.join(folder, f"{number}.json"), workers, problem, scale)
            lines = table_rows(name, case, case.race(groups))
            print("\n".join(lines), flush=True)
            rows += lines
    for group in workers.values():
        for worker in group:
            worker.close()
    raced = {"jax", "jaxlib"} | {name.partition(",")[0] for name in groups}
    table = report(rows, {name: number for name, number in version.items() if name in raced}, arguments)
    print("\n" + table)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(table)


def main():
    parser = argparse.ArgumentParser(description="converged members by Levenberg-Marquardt: rpinn against JAX on the CPU")
    parser.add_argument("--ours", default="build/bench_squares", help="our program (default build/bench_squares)")
    parser.add_argument("--members", type=int, default=12)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2, help="cores for either side")
    parser.add_argument("--more", action="store_true", help="also jaxopt, and optimistix with QR")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--output", help="write the table to this file as well")
    drive(parser.parse_args())


if __name__ == "__main__":
    if "--worker" in sys.argv:
        serve()
    else:
        main()
