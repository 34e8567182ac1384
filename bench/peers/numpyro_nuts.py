#!/usr/bin/env python3
"""A leapfrog of NUTS: rpinn against NumPyro on the CPU in float32, on the posterior of poisson-linear with Nf=32.

    numpyro_nuts.py --ours build [--repetitions 5] [--seconds 0.5] [--output FILE.md]
    numpyro_nuts.py --gpu 512 --problem FILE.json       # many vectorised chains on a GPU; `rpinn bench` has ours

Both sides run two chains on two cores with a fixed step that is so small that no trajectory turns back, and so trees of
a fixed depth: every draw is 2^depth - 1 leapfrogs, which both sides verify. The time per leapfrog contains what NUTS
does between gradients: products of momenta, checks, proposals, copies. Our energy at one point is checked first.

What a competent user would try, and what is tried:

    derivatives   jvp         nested jax.jvp; the energy is that of jax_adam.py
                  channels    value and derivatives carried through the layers by hand
    theta         tree        a pytree of layers
                  flat        one vector
    chains        vectorized  both in one vectorised kernel, one process (chain_method="vectorized")
                  parallel    pmap over two host devices, one process (chain_method="parallel")
                  split       a process per core, one chain each

The fastest of all counts. Draws are made by the kernel in one jitted loop: numpyro.infer.MCMC compiles its loop anew in
every run, which is no matter over a long run but would fill a short measurement. All JAX work happens in worker
processes, as in jax_adam.py, and the sides take turns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import jax_adam

PROBLEM = ["poisson-linear", "Nf=32"]
NUM_CHAINS = 2
STYLES, LAYOUTS, KINDS = ("jvp", "channels"), ("tree", "flat"), ("vectorized", "parallel", "split")
TOLERANCE = 1e-4  # of the energy: float32 on both sides

# ---- worker: everything that touches JAX ----


def make_potential(path, style, layout):
    """(potential energy of theta, theta at the start)"""
    import jax
    from jax.flatten_util import ravel_pytree

    _, problem = jax_adam.load_problem(path)
    nothing = jax.tree.map(lambda offset: 0 * offset, problem["offsets"])
    theta = jax.tree.map(jax.numpy.asarray, problem["theta"])
    if layout == "tree":
        return lambda z: jax_adam.energy(problem, style, z, nothing), theta
    flat, unravel = ravel_pytree(theta)
    return lambda z: jax_adam.energy(problem, style, unravel(z), nothing), flat


def start_chains(kernel, theta, method, num_chains):
    """The state of the chains, and the function that makes a given number of draws: (state, leapfrogs)."""
    import jax

    def advance(state, draws):
        def draw(_, now):
            state = kernel.sample(now[0], (), {})
            return state, now[1] + state.num_steps.sum()

        return jax.lax.fori_loop(0, draws, draw, (state, 0))

    if num_chains == 1:
        return kernel.init(jax.random.PRNGKey(1), 0, theta, (), {}), jax.jit(advance)
    keys = jax.random.split(jax.random.PRNGKey(1), num_chains)
    theta = jax.tree.map(lambda value: jax.numpy.stack([(1 + 1e-3 * k) * value for k in range(num_chains)]), theta)
    if method == "parallel":
        start = jax.pmap(lambda key, place: kernel.init(key, 0, place, (), {}))
        return start(keys, theta), jax.pmap(advance, in_axes=(0, None))
    return kernel.init(keys, 0, theta, (), {}), jax.jit(advance)


def prepare(path, style, layout, method, num_chains, depth, step, seconds):
    """A function that times further draws of the chains; compiled and sized to run for about `seconds`."""
    import jax
    from numpyro.infer import NUTS

    potential, theta = make_potential(path, style, layout)
    kernel = NUTS(
        potential_fn=potential, step_size=step, adapt_step_size=False, adapt_mass_matrix=False, max_tree_depth=depth
    )
    state, advance = start_chains(kernel, theta, method, num_chains)

    def run(draws):
        nonlocal state
        clock, computing = time.perf_counter(), time.process_time()
        state, steps = jax.block_until_ready(advance(state, draws))
        clock, computing = time.perf_counter() - clock, time.process_time() - computing
        leapfrogs = draws * num_chains * (2**depth - 1)
        if int(steps.sum()) != leapfrogs:
            sys.exit(f"numpyro_nuts.py: {int(steps.sum())} leapfrogs, expected {leapfrogs}: take a smaller step")
        return {"rate": leapfrogs / clock, "computing": computing / leapfrogs}

    run(1)
    draws = max(1, round(seconds * run(4)["rate"] / num_chains / (2**depth - 1)))
    return lambda: run(draws)


def serve():
    """Answer requests, one JSON object a line."""
    jax_adam.bind_worker()
    import jax
    import jaxlib
    import numpyro

    jax_adam.jax, jax_adam.jnp = jax, jax.numpy
    runs = {}
    for line in sys.stdin:
        request = json.loads(line)
        action = request.pop("do")
        if action == "version":
            answer = {"numpyro": numpyro.__version__, "jax": jax.__version__, "jaxlib": jaxlib.__version__}
        elif action == "energy":
            potential, theta = make_potential(**request)
            answer = {"energy": float(jax.jit(potential)(theta))}
        else:
            key = tuple(sorted(request.items()))
            if action == "prepare":
                runs[key] = prepare(**request)
                answer = {}
            else:
                answer = runs[key]()
        print(json.dumps(answer), flush=True)


# ---- driver: no JAX here ----


def request_for(arguments, path, entry):
    kind, style, layout = entry
    return {
        "path": path, "style": style, "layout": layout, "method": "sequential" if kind == "split" else kind,
        "num_chains": 1 if kind == "split" else NUM_CHAINS, "depth": arguments.depth, "step": arguments.step,
        "seconds": arguments.seconds,
    }


def time_numpyro(workers, request):
    """(clock, computing) in seconds per leapfrog, as `bench_nuts time` gives them."""
    answers = jax_adam.ask_all(workers, do="run", **request)
    clock = 1 / sum(answer["rate"] for answer in answers)
    return clock, sum(answer["computing"] for answer in answers) / len(answers) / NUM_CHAINS


def check_energies(arguments, path, worker):
    printed = subprocess.run([arguments.ours + "/bench_nuts", "energy"], capture_output=True, text=True, check=True)
    ours = float(printed.stdout)
    for style in STYLES:
        for layout in LAYOUTS:
            theirs = worker.ask(do="energy", path=path, style=style, layout=layout)["energy"]
            print(f"  energy, {style}, {layout}: ours {ours:.9g}, theirs {theirs:.9g}", flush=True)
            if not abs(theirs / ours - 1) <= TOLERANCE:
                sys.exit("numpyro_nuts.py: the energies differ")


def race(arguments, path, workers):
    check_energies(arguments, path, workers["vectorized"][0])
    entries = [(kind, style, layout) for kind in KINDS for style in STYLES for layout in LAYOUTS]
    first = {}
    for entry in entries:
        request = request_for(arguments, path, entry)
        jax_adam.ask_all(workers[entry[0]], do="prepare", **request)
        first[entry] = time_numpyro(workers[entry[0]], request)[1]
        print(f"    {1e6 * first[entry]:10.2f} us  {', '.join(entry)}", flush=True)
    finalists = [
        min((entry for entry in entries if entry[0] == kind and entry[1] == style), key=first.get)
        for kind in KINDS for style in STYLES
    ]
    command = [arguments.ours + "/bench_nuts", "time"] + [
        str(value) for value in (arguments.seconds, NUM_CHAINS, arguments.depth, arguments.step)
    ]
    ours, theirs = [], {entry: [] for entry in finalists}
    for _ in range(arguments.repetitions):
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        ours.append(tuple(float(number) for number in printed.split()))
        for entry in finalists:
            theirs[entry].append(time_numpyro(workers[entry[0]], request_for(arguments, path, entry)))
    return ours, theirs


def report(ours, theirs, version, arguments):
    median_of, ratios = jax_adam.median_of, jax_adam.ratios
    lines = [
        f"{jax_adam.cpu_name()}, 2 chains on 2 cores; NumPyro {version['numpyro']}, JAX {version['jax']}, jaxlib "
        f"{version['jaxlib']}; float32; poisson-linear, Nf=32;",
        f"trees of {2**arguments.depth - 1} leapfrogs, step {arguments.step:g}, unit metric; medians of "
        f"{arguments.repetitions} interleaved repetitions; load of the machine {os.getloadavg()[0]:.1f}.",
        "",
        "| derivatives | rpinn us | NumPyro us | NumPyro / rpinn | by the clock | fastest NumPyro |",
        "|---|---|---|---|---|---|",
    ]
    for label, style in (("JAX's own", "jvp"), ("by hand", "channels")):
        best = min((entry for entry in theirs if entry[1] == style), key=lambda entry: median_of(theirs[entry], 1))
        computed, clock = ratios(ours, theirs[best], 1), ratios(ours, theirs[best], 0)
        lines.append(
            f"| {label} | {1e6 * median_of(ours, 1):.1f} | {1e6 * median_of(theirs[best], 1):.1f} "
            f"| **{statistics.median(computed):.2f}** ({min(computed):.2f}–{max(computed):.2f}) "
            f"| {statistics.median(clock):.2f} ({min(clock):.2f}–{max(clock):.2f}) | {', '.join(best)} |"
        )
    lines += [
        "",
        "Times are per leapfrog with both cores at work: computing time of all threads, divided by leapfrogs and cores,",
        "which other programs on the machine do not change; then the same ratio by the clock. Ratios are medians over",
        "repetitions, with the least and the most. All finalists, by computing time: "
        + "; ".join(f"{', '.join(entry)} {1e6 * median_of(times, 1):.1f} us" for entry, times in theirs.items())
        + ".",
    ]
    return "\n".join(lines) + "\n"


def drive(arguments):
    import tempfile

    cores = sorted(os.sched_getaffinity(0))[:NUM_CHAINS]
    devices = f"--xla_force_host_platform_device_count={NUM_CHAINS}"
    workers = {
        "vectorized": [jax_adam.Worker(__file__, cores, "")],
        "parallel": [jax_adam.Worker(__file__, cores, devices)],
        "split": [jax_adam.Worker(__file__, [core], jax_adam.ONE_THREAD) for core in cores],
    }
    version = workers["vectorized"][0].ask(do="version")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "problem.json")
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run([arguments.ours + "/bench_member", "export"] + PROBLEM, stdout=file, check=True)
        ours, theirs = race(arguments, path, workers)
    for group in workers.values():
        for worker in group:
            worker.close()
    table = report(ours, theirs, version, arguments)
    print("\n" + table)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(table)


def race_on_gpu(arguments):
    """Leapfrogs per second of many vectorised chains on JAX's GPU, in FP32 and with TF32 products; `rpinn bench` has ours."""
    import jax
    import numpyro

    jax_adam.jax, jax_adam.jnp = jax, jax.numpy
    device = jax.devices()[0]
    print(f"NumPyro {numpyro.__version__}, JAX {jax.__version__}, {device.device_kind}; {arguments.gpu} chains, trees of "
          f"{2**arguments.depth - 1} leapfrogs, step {arguments.step:g}, unit metric", flush=True)
    for precision in ("highest", "tensorfloat32"):
        jax.config.update("jax_default_matmul_precision", precision)
        for style in reversed(STYLES):
            run = prepare(arguments.problem, style, "flat", "vectorized", arguments.gpu, arguments.depth, arguments.step,
                          arguments.seconds)
            rates = sorted(run()["rate"] for _ in range(arguments.repetitions))
            print(f"  {precision}, {style}: {1e-6 * statistics.median(rates):.3f} million leapfrogs per second "
                  f"({1e-6 * rates[0]:.3f} to {1e-6 * rates[-1]:.3f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description="one leapfrog of NUTS: rpinn against NumPyro, on the CPU or on a GPU")
    parser.add_argument("--ours", default="build", help="folder of bench_member and bench_nuts (default build)")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of every single timing")
    parser.add_argument("--depth", type=int, default=8, help="of the trees")
    parser.add_argument("--step", type=float, default=1e-6, help="small enough for trees of this depth")
    parser.add_argument("--output", help="write the table to this file as well")
    parser.add_argument("--gpu", type=int, metavar="CHAINS", help="time so many chains of NumPyro on the GPU, and nothing else")
    parser.add_argument("--problem", help="with --gpu: what `bench_member export poisson-linear Nf=32` printed")
    arguments = parser.parse_args()
    if arguments.gpu and not arguments.problem:
        parser.error("--gpu needs --problem")
    race_on_gpu(arguments) if arguments.gpu else drive(arguments)


if __name__ == "__main__":
    if "--worker" in sys.argv:
        serve()
    else:
        main()
