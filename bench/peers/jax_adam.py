#!/usr/bin/env python3
"""The full-batch Adam iteration of rpinn in JAX on the CPU or a GPU in float32, and a race between the two.

    jax_adam.py --ours build/bench_member [--repetitions 7] [--seconds 0.5] [--output FILE.md]
    jax_adam.py --gpu 5000 --problem FILE.json      # many vmapped members on a GPU; `bench_cuda` has ours

The race starts worker processes of this same script: one that may use all cores, and one bound to each core. They
build the problems that `bench_member export` writes, check energy, gradient and 100 Adam steps against it, and then
take turns with `bench_member time`. All JAX work happens in the workers; the driver needs Python alone.

What a competent user would try, and what is tried:

    derivatives   channels   value and derivatives carried through the layers by hand, one product per layer
                  parts      the same with one product per channel
                  jvp        nested jax.jvp along coordinates
                  jet        jax.experimental.jet, Taylor mode, second order
    members       one        a member at a time, jitted
                  vmapped    B members at once through jax.vmap
    processes     all        one process, XLA's own threads on all cores
                  split      one process per core, one thread each, different members

Many iterations run inside one jitted fori_loop with donated buffers. The fastest of all counts.
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

# ---- problems ----
# theta is a list of layers (W [in, out], b [out]) per field: Adam is elementwise, so the layout is JAX's choice.


def unpack(field, vector, np):
    """Our flat layout (W [out][in] row-major, then b, layer after layer) to JAX's layers."""
    layers, start = [], field["parameter_start"]
    for num_in, num_out in zip(field["widths"], field["widths"][1:]):
        weights = vector[start : start + num_in * num_out].reshape(num_out, num_in).T
        start += num_in * num_out
        layers.append((np.ascontiguousarray(weights), vector[start : start + num_out].copy()))
        start += num_out
    return layers


def pack(fields, networks, np):
    """The inverse of unpack."""
    parts = []
    for field in fields:
        for weights, bias in networks[field["name"]]:
            parts += [np.asarray(weights).T.ravel(), np.asarray(bias)]
    return np.concatenate(parts)


def scale_inputs(field, points):
    return points * field["input_scale"] + field["input_shift"]


def network_value(layers, field, x):
    """The network at points [P, d]: [P]."""
    a = scale_inputs(field, x)
    for weights, bias in layers[:-1]:
        a = jnp.tanh(a @ weights + bias)
    weights, bias = layers[-1]
    return field["output_shift"] + field["output_factor"] * (a @ weights + bias)[:, 0]


def along(points, coordinate):
    return jnp.zeros_like(points).at[:, coordinate].set(1)


def nested_jvp(layers, field, x, coordinate):
    """Value, first and second derivative along one coordinate."""
    value = functools.partial(network_value, layers, field)
    direction = along(x, coordinate)
    (u, first), (_, second) = jax.jvp(lambda p: jax.jvp(value, (p,), (direction,)), (x,), (direction,))
    return u, first, second


def taylor(layers, field, x, coordinate):
    """The same by Taylor mode."""
    from jax.experimental import jet

    value = functools.partial(network_value, layers, field)
    series = [along(x, coordinate), jnp.zeros_like(x)]
    u, (first, second) = jet.jet(value, (x,), (series,))
    return u, first, second


def channels(layers, field, x, spans, one_product):
    """Value at all points x [P, d] and derivatives at spans of them, by hand.

    spans: list of (kind, first, last) with kind a coordinate or "laplacian"; one derivative per kind.
    Through tanh: a = tanh z, a_i = (1 - a^2) z_i, lap a = (1 - a^2) (lap z - 2 a sum_i z_i^2).
    """
    scaled = scale_inputs(field, x)
    num_points = x.shape[0]
    for number, (weights, bias) in enumerate(layers):
        if number == 0:
            z = scaled @ weights
            slopes = [
                jnp.zeros((last - first, weights.shape[1]), z.dtype)
                if kind == "laplacian"
                else jnp.broadcast_to(field["input_scale"][kind] * weights[kind], (last - first, weights.shape[1]))
                for kind, first, last in spans
            ]
        elif one_product:
            rows = jnp.concatenate([a] + slopes) @ weights
            z, start, slopes = rows[:num_points], num_points, []
            for _, first, last in spans:
                slopes.append(rows[start : start + last - first])
                start += last - first
        else:
            z, slopes = a @ weights, [slope @ weights for slope in slopes]
        z = z + bias
        if number + 1 == len(layers):
            factor = field["output_factor"]
            return field["output_shift"] + factor * z[:, 0], [factor * slope[:, 0] for slope in slopes]
        a = jnp.tanh(z)
        squeeze = 1 - a * a
        pushed = []
        for (kind, first, last), slope in zip(spans, slopes):
            if kind == "laplacian":
                squares = sum(
                    other[first - start : last - start] ** 2
                    for (direction, start, _), other in zip(spans, slopes)
                    if direction != "laplacian"
                )
                slope = slope - 2 * a[first:last] * squares
            pushed.append(squeeze[first:last] * slope)
        slopes = pushed


def on_a_line(equation):
    """Problems with one coordinate and one field u: equation(u, u', u'') in the term f, and u in all others."""

    def residuals(problem, theta, style):
        field, layers = problem["fields"]["u"], theta["u"]
        points = {name: term["points"] for name, term in problem["terms"].items()}
        nowhere = jnp.zeros((0, 1), field["input_scale"].dtype)
        inside = points.pop("f", nowhere)
        num_f, others = inside.shape[0], jnp.concatenate([nowhere] + list(points.values()))
        if style in ("channels", "parts"):
            spans = [(0, 0, num_f), ("laplacian", 0, num_f)]
            x = jnp.concatenate([inside, others])
            u, (first, second) = channels(layers, field, x, spans, style == "channels")
            u, values = u[:num_f], u[num_f:]
        else:
            u, first, second = (nested_jvp if style == "jvp" else taylor)(layers, field, inside, 0)
            values = network_value(layers, field, others)
        results, start = {"f": equation(u, first, second)}, 0  # empty where there are none
        for name, x in points.items():
            results[name] = values[start : start + x.shape[0]]
            start += x.shape[0]
        return results

    return residuals


def darcy(problem, theta, style):
    h_field, y_field = problem["fields"]["h"], problem["fields"]["y"]
    h_layers, y_layers = theta["h"], theta["y"]
    points = {name: term["points"] for name, term in problem["terms"].items()}
    sizes = {name: x.shape[0] for name, x in points.items()}
    if style in ("channels", "parts"):
        # Points in such an order that every derivative is wanted on one span of them.
        together = style == "channels"
        num_left, num_pde, num_flat = sizes["flux_left"], sizes["pde"], sizes["flux_top"] + sizes["flux_bottom"]
        inner, flat, right = num_left + num_pde, num_left + num_pde + num_flat, num_left + num_pde + num_flat
        order = ["flux_left", "pde", "flux_top", "flux_bottom"]
        x = jnp.concatenate([points[name] for name in order + ["dirichlet_right", "h"]])
        spans = [(0, 0, inner), (1, num_left, flat), ("laplacian", num_left, inner)]
        h, (h1, h2, laplacian) = channels(h_layers, h_field, x, spans, together)
        x = jnp.concatenate([points[name] for name in order + ["y"]])
        spans = [(0, num_left, inner), (1, num_left, inner)]
        y, (y1, y2) = channels(y_layers, y_field, x, spans, together)
        k = jnp.exp(y)
        h2_pde, h2_flat = h2[:num_pde], h2[num_pde:]
        flux = -k[inner:flat] * h2_flat
        return {
            "pde": -k[num_left:inner] * (laplacian + h1[num_left:] * y1 + h2_pde * y2),
            "flux_left": -k[:num_left] * h1[:num_left],
            "dirichlet_right": h[right : right + sizes["dirichlet_right"]],
            "flux_top": flux[: sizes["flux_top"]],
            "flux_bottom": flux[sizes["flux_top"] :],
            "y": y[flat:],
            "h": h[right + sizes["dirichlet_right"] :],
        }
    derive = nested_jvp if style == "jvp" else taylor
    h_value = functools.partial(network_value, h_layers, h_field)
    y_value = functools.partial(network_value, y_layers, y_field)
    x = points["pde"]
    _, h1, h11 = derive(h_layers, h_field, x, 0)
    _, h2, h22 = derive(h_layers, h_field, x, 1)
    y, y1 = jax.jvp(y_value, (x,), (along(x, 0),))
    _, y2 = jax.jvp(y_value, (x,), (along(x, 1),))

    def flux(name, coordinate):
        place = points[name]
        slope = jax.jvp(h_value, (place,), (along(place, coordinate),))[1]
        return -jnp.exp(y_value(place)) * slope

    return {
        "pde": -jnp.exp(y) * (h11 + h22 + h1 * y1 + h2 * y2),
        "flux_left": flux("flux_left", 0),
        "dirichlet_right": h_value(points["dirichlet_right"]),
        "flux_top": flux("flux_top", 1),
        "flux_bottom": flux("flux_bottom", 1),
        "y": y_value(points["y"]),
        "h": h_value(points["h"]),
    }


RESIDUALS = {
    "poisson-linear": on_a_line(lambda u, first, second: -1 / math.pi**2 * second),
    "poisson-nonlinear": on_a_line(lambda u, first, second: 0.01 * second + 0.7 * jnp.tanh(u)),
    "cubic": on_a_line(lambda u, first, second: 0.05 * second - u**3),
    "burgers": on_a_line(lambda u, first, second: u * first - 0.1 * second),
    "darcy": darcy,
}

# ---- energy and Adam ----


def whitened_rows(problem, style, theta):
    """(R - d) / s of every term."""
    results = RESIDUALS[problem["problem"]](problem, theta, style)
    return {name: (results[name] - term["data"]) / term["sigma"] for name, term in problem["terms"].items()}


def energy(problem, style, theta, offsets):
    """E = 1/2 sum ((R - d) / s - xi)^2 + 1/2 sum (root (theta - mean) - xi)^2."""
    total = 0.0
    for name, values in whitened_rows(problem, style, theta).items():
        rows = values - offsets["terms"][name]
        total += 0.5 * jnp.sum(rows * rows)
    pulls = jax.tree.map(
        lambda root, mean, value, xi: jnp.sum((root * (value - mean) - xi) ** 2),
        problem["prior_root"], problem["prior_mean"], theta, offsets["prior"],
    )
    return total + 0.5 * sum(jax.tree.leaves(pulls))


def adam_step(problem, style, offsets, state):
    rule = problem["adam"]
    theta, m, v, t = state
    gradient = jax.grad(functools.partial(energy, problem, style))(theta, offsets)
    rate = rule["learning_rate"] * rule["decay_rate"] ** (t / rule["decay_steps"])
    first, second = 1 - rule["beta1"] ** (t + 1), 1 - rule["beta2"] ** (t + 1)
    m = jax.tree.map(lambda m, g: rule["beta1"] * m + (1 - rule["beta1"]) * g, m, gradient)
    v = jax.tree.map(lambda v, g: rule["beta2"] * v + (1 - rule["beta2"]) * g * g, v, gradient)
    theta = jax.tree.map(
        lambda x, m, v: x - rate * (m / first) / (jnp.sqrt(v / second) + rule["epsilon"]), theta, m, v
    )
    return theta, m, v, t + 1


def make_advance(problem, style, num_members):
    """(state, offsets, number of iterations) -> state; num_members 0: one member without a member axis."""

    def advance(state, offsets, num_steps):
        step = functools.partial(adam_step, problem, style)
        if num_members:
            step = jax.vmap(step, in_axes=(0, (0, 0, 0, None)), out_axes=(0, 0, 0, None))
        return jax.lax.fori_loop(0, num_steps, lambda _, now: step(offsets, now), state)

    return jax.jit(advance, donate_argnums=0)


# ---- worker: everything that touches JAX ----


def read_model(raw, dtype):
    """Networks, terms and prior of what our programs export, in numbers of this type."""
    import numpy as np

    def vector(values):
        return np.asarray(values, dtype=dtype)

    for field in raw["fields"]:
        for key in ("input_scale", "input_shift"):
            field[key] = vector(field[key])
    terms = {
        term["name"]: {
            "points": vector(term["points"]).reshape(len(term["data"]), raw["num_coordinates"]),
            "data": vector(term["data"]),
            "sigma": dtype(term["sigma"]),
        }
        for term in raw["terms"]
    }
    return {
        "problem": raw["problem"],
        "fields": {field["name"]: field for field in raw["fields"]},
        "terms": terms,
        "prior_root": read_networks(raw, raw["prior_root"], dtype),
        "prior_mean": read_networks(raw, raw["prior_mean"], dtype),
    }


def read_networks(raw, values, dtype):
    import numpy as np

    return {field["name"]: unpack(field, np.asarray(values, dtype=dtype), np) for field in raw["fields"]}


def read_offsets(raw, values, dtype):
    import numpy as np

    terms, start = {}, 0
    for term in raw["terms"]:
        terms[term["name"]] = np.asarray(values[start : start + len(term["data"])], dtype=dtype)
        start += len(term["data"])
    return {"terms": terms, "prior": read_networks(raw, values[start:], dtype)}


def load_problem(path):
    import numpy as np

    with open(path, encoding="utf-8") as file:
        raw = json.load(file)
    problem = read_model(raw, np.float32)
    problem["adam"] = raw["adam"]
    problem["theta"] = read_networks(raw, raw["theta"], np.float32)
    problem["offsets"] = read_offsets(raw, raw["offsets"], np.float32)
    return raw, problem


def start_state(problem, num_members):
    """Members differ a little, so that nothing can be shared between them."""

    def spread(value):
        if not num_members:
            return jnp.array(value)
        factors = 1 + 1e-3 * jnp.arange(num_members, dtype=jnp.float32)
        return factors.reshape((-1,) + (1,) * value.ndim) * value

    theta = jax.tree.map(spread, problem["theta"])
    offsets = jax.tree.map(spread, problem["offsets"])
    zeros = jax.tree.map(jnp.zeros_like, theta)
    return (theta, zeros, jax.tree.map(jnp.zeros_like, theta), jnp.float32(0)), offsets


def check(path, style):
    """Largest relative differences from ours: energy, gradient, energy after Adam's steps."""
    import numpy as np

    raw, problem = load_problem(path)
    value, gradient = jax.jit(jax.value_and_grad(functools.partial(energy, problem, style)))(
        problem["theta"], problem["offsets"]
    )
    ours = np.asarray(raw["gradient"])
    theirs = pack(raw["fields"], gradient, np)
    state, offsets = start_state(problem, 0)
    theta = make_advance(problem, style, 0)(state, offsets, raw["num_steps"])[0]
    after = energy(problem, style, theta, problem["offsets"])
    return {
        "energy": abs(float(value) / raw["energy"] - 1),
        "gradient": float(np.linalg.norm(theirs - ours) / np.linalg.norm(ours)),
        "energy_after_steps": abs(float(after) / raw["energy_after_steps"] - 1),
    }


def prepare(path, style, num_members, seconds):
    """A function that times its iterations; compiled and sized to run for about `seconds`."""
    _, problem = load_problem(path)
    advance = make_advance(problem, style, num_members)
    state, offsets = start_state(problem, num_members)
    state = jax.block_until_ready(advance(state, offsets, 2))
    count, elapsed = 2, 0.0
    while elapsed < 0.2 * seconds:
        count *= 2
        begin = time.perf_counter()
        state = jax.block_until_ready(advance(state, offsets, count))
        elapsed = time.perf_counter() - begin
    count = max(2, int(count * seconds / elapsed))
    kept = [state]

    def run():
        clock, computing = time.perf_counter(), time.process_time()
        kept[0] = jax.block_until_ready(advance(kept[0], offsets, count))
        iterations = count * max(1, num_members)
        return {
            "rate": iterations / (time.perf_counter() - clock),
            "computing": (time.process_time() - computing) / iterations,
        }

    return run


def bind_worker():
    """To the cores that the driver chose, before JAX counts them."""
    os.sched_setaffinity(0, {int(core) for core in os.environ["RPINN_PEER_CORES"].split(",")})


def serve():
    """Answer requests, one JSON object a line."""
    global jax, jnp
    bind_worker()
    import jax
    import jax.numpy as jnp

    runs = {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "version":
            answer = {"jax": jax.__version__, "jaxlib": jax.lib.__version__}
        elif request["do"] == "check":
            answer = check(request["path"], request["style"])
        else:
            key = (request["path"], request["style"], request["members"])
            if request["do"] == "prepare":
                runs[key] = prepare(*key, request["seconds"])
                answer = {}
            else:
                answer = runs[key]()
        print(json.dumps(answer), flush=True)


# ---- driver: no JAX here ----


ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


class Worker:
    """A process of a script of this folder on these cores, with flags of XLA and further variables of its environment."""

    def __init__(self, script, cores, flags, **variables):
        environment = dict(os.environ, RPINN_PEER_CORES=",".join(str(core) for core in cores), JAX_PLATFORMS="cpu")
        environment["XLA_FLAGS"] = (environment.get("XLA_FLAGS", "") + " " + flags).strip()
        environment.update(variables)
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(script), "--worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )

    def send(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("bench/peers: a worker died")
        return json.loads(line)

    def ask(self, **request):
        self.send(**request)
        return self.receive()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ask_all(workers, **request):
    for worker in workers:
        worker.send(**request)
    return [worker.receive() for worker in workers]


# name, problem, batch sizes, the ratio that we expect
CASES = [
    ("poisson-linear, Nf=32", ["poisson-linear", "Nf=32"], [2, 8, 32, 128], 4.5),
    ("poisson-linear, Nf=128", ["poisson-linear", "Nf=128"], [2, 8, 32], 4.5),
    ("darcy", ["darcy"], [2, 8], 2.0),
]
BY_HAND, AUTOMATIC = ("channels", "parts"), ("jvp", "jet")
STYLES = BY_HAND + AUTOMATIC
TOLERANCE = {"energy": 1e-4, "gradient": 1e-4, "energy_after_steps": 1e-3}


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown CPU")


def time_jax(arguments, workers, **request):
    """(clock, computing) in seconds per member-iteration, as `bench_member time` gives them."""
    answers = ask_all(workers, do="run", **request)
    clock = 1 / sum(answer["rate"] for answer in answers)
    return clock, sum(answer["computing"] for answer in answers) / len(answers) / arguments.threads


def race(arguments, case, folder, workers):
    name, problem, batches, expected = case
    path = os.path.join(folder, "-".join(problem) + ".json")
    with open(path, "w", encoding="utf-8") as file:
        subprocess.run([arguments.ours, "export"] + problem, stdout=file, check=True)
    for style in STYLES:
        errors = workers["all"][0].ask(do="check", path=path, style=style)
        print(f"  check {name}, {style}: " + ", ".join(f"{key} {value:.1e}" for key, value in errors.items()))
        for key, value in errors.items():
            if not value <= TOLERANCE[key]:
                sys.exit(f"jax_adam.py: {name}, {style}: {key} differs from ours by {value:.1e}")
    # A first look at everything, then repetitions among the fastest: by computing time, which flatters nobody when
    # other programs are about, and JAX where its threads wait.
    entries = [(kind, style, members) for kind in workers for style in STYLES for members in [0] + batches]
    first = {}
    for kind, style, members in entries:
        request = {"path": path, "style": style, "members": members}
        ask_all(workers[kind], do="prepare", seconds=arguments.seconds, **request)
        first[kind, style, members] = time_jax(arguments, workers[kind], **request)[1]
        print(f"    {1e6 * first[kind, style, members]:10.2f} us  {describe((kind, style, members))}", flush=True)
    finalists = []
    for kind in workers:
        for styles in (BY_HAND, AUTOMATIC):
            group = sorted((entry for entry in entries if entry[0] == kind and entry[1] in styles), key=first.get)
            finalists += group[:2]
    ours, theirs = [], {entry: [] for entry in finalists}
    command = [arguments.ours, "time", str(arguments.seconds), str(arguments.threads)] + problem
    for _ in range(arguments.repetitions):
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        ours.append(tuple(float(number) for number in printed.split()))
        for kind, style, members in finalists:
            request = {"path": path, "style": style, "members": members}
            theirs[kind, style, members].append(time_jax(arguments, workers[kind], **request))
    return {"name": name, "ours": ours, "theirs": theirs, "expected": expected}


def describe(entry):
    kind, style, members = entry
    return f"{style}, " + (f"vmapped over {members}" if members else "one member") + (
        ", a process per core" if kind == "split" else ", one process"
    )


def median_of(times, column):
    return statistics.median(time[column] for time in times)


def ratios(ours, theirs, column):
    return [b[column] / a[column] for a, b in zip(ours, theirs)]


def report(results, version, arguments):
    lines = [
        f"{cpu_name()}, {arguments.threads} cores; JAX {version['jax']}, jaxlib {version['jaxlib']}; float32; medians of "
        f"{arguments.repetitions} interleaved repetitions of {arguments.seconds:g} s.",
        "",
        "| problem | derivatives | rpinn us | JAX us | JAX / rpinn | by the clock | expected | fastest JAX |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        ours, theirs = result["ours"], result["theirs"]
        for label, styles in (("JAX's own", AUTOMATIC), ("by hand", BY_HAND)):
            best = min((entry for entry in theirs if entry[1] in styles), key=lambda entry: median_of(theirs[entry], 1))
            computed, clock = ratios(ours, theirs[best], 1), ratios(ours, theirs[best], 0)
            lines.append(
                f"| {result['name']} | {label} | {1e6 * median_of(ours, 1):.1f} | {1e6 * median_of(theirs[best], 1):.1f} "
                f"| **{statistics.median(computed):.2f}** ({min(computed):.2f}–{max(computed):.2f}) "
                f"| {statistics.median(clock):.2f} ({min(clock):.2f}–{max(clock):.2f}) "
                f"| {result['expected']:g} | {describe(best)} |"
            )
    lines += [
        "",
        "Times are per member-iteration with all cores at work: computing time of all threads, divided by iterations and",
        "cores, which other programs on the machine do not change; then the same ratio by the clock. Ratios are medians",
        "over repetitions, with the least and the most. *By hand*: the user derived and wrote the propagation of",
        "derivatives through the layers instead of asking JAX for it.",
    ]
    return "\n".join(lines) + "\n"


def drive(arguments):
    import tempfile

    cores = sorted(os.sched_getaffinity(0))[: arguments.threads]
    workers = {
        "all": [Worker(__file__, cores, "")],
        "split": [Worker(__file__, [core], ONE_THREAD) for core in cores],
    }
    version = workers["all"][0].ask(do="version")
    print(f"JAX {version['jax']}, jaxlib {version['jaxlib']}, cores {cores}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        chosen = [case for case in CASES if arguments.only in case[0]]
        results = [race(arguments, case, folder, workers) for case in chosen]
    for group in workers.values():
        for worker in group:
            worker.close()
    table = report(results, version, arguments)
    print("\n" + table)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(table)


def race_on_gpu(arguments):
    """Iterations of many vmapped members on JAX's GPU, in FP32 and with TF32 products."""
    global jax, jnp
    import jax
    import jax.numpy as jnp

    device = jax.devices()[0]
    print(f"JAX {jax.__version__}, {device.device_kind}; {arguments.problem}, {arguments.gpu} members", flush=True)
    for precision in ("highest", "tensorfloat32"):
        jax.config.update("jax_default_matmul_precision", precision)
        for style in ("channels", "jvp"):
            run = prepare(arguments.problem, style, arguments.gpu, arguments.seconds)
            rates = sorted(run()["rate"] for _ in range(arguments.repetitions))
            each = [1e3 * arguments.gpu / rate for rate in rates]
            print(f"  {precision}, {style}: {statistics.median(each):.4g} ms per iteration of all "
                  f"({each[-1]:.4g} to {each[0]:.4g})", flush=True)


def main():
    parser = argparse.ArgumentParser(description="one Adam iteration: rpinn against JAX, on the CPU or on a GPU")
    parser.add_argument("--ours", default="build/bench_member", help="our program (default build/bench_member)")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of every single timing")
    parser.add_argument("--threads", type=int, default=2, help="cores for either side")
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--output", help="write the table to this file as well")
    parser.add_argument("--gpu", type=int, metavar="MEMBERS", help="time so many members of JAX on the GPU, and nothing else")
    parser.add_argument("--problem", help="with --gpu: what `bench_member export PROBLEM` printed")
    arguments = parser.parse_args()
    if arguments.gpu and not arguments.problem:
        parser.error("--gpu needs --problem")
    race_on_gpu(arguments) if arguments.gpu else drive(arguments)


if __name__ == "__main__":
    if "--worker" in sys.argv:
        serve()
    else:
        main()
