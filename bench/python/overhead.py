"""What a call of Posterior.energy costs beside the same call in C, in one run: overhead.py BENCH_ENERGY_CALL [ROUNDS].

Rounds of Python and of C take turns; the least of each is shown, because other work on the machine only adds. Fails where Python adds 20 us
or more.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rpinn

BOUND = 20e-6
CALLS = 3000
SMALL = """name: small
coordinates: {x: [0, 2]}
fields: {u: {network: [4]}}
terms:
  level: {expect: u, at: {grid: 6}, data: sin(x), noise: 0.1}
"""


def python_call(posterior: rpinn.Posterior) -> tuple[float, float]:
    theta = posterior.start("glorot")
    energy = posterior.energy
    for _ in range(100):
        energy(theta)
    began = time.perf_counter()
    for _ in range(CALLS):
        energy(theta)
    return (time.perf_counter() - began) / CALLS, energy(theta)


def main() -> int:
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
    worst = 0.0
    print("| problem | parameters | C | Python | Python adds |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.yaml"
        small.write_text(SMALL)
        for source in (str(small), "poisson-linear"):
            posterior = rpinn.Problem.from_yaml(source, prior_scale=1).posterior()
            times: dict[str, list[float]] = {"C": [], "Python": []}
            for _ in range(rounds):
                printed = subprocess.run([program, source, str(CALLS)], capture_output=True, text=True, check=True).stdout.split()
                seconds, energy = python_call(posterior)
                assert float(printed[1]) == energy, "the energies differ"
                times["C"].append(float(printed[0]))
                times["Python"].append(seconds)
            in_c, in_python = min(times["C"]), min(times["Python"])
            worst = max(worst, in_python - in_c)
            name = Path(source).stem
            print(f"| {name} | {posterior.num_parameters} | {in_c * 1e6:.2f} us | {in_python * 1e6:.2f} us | {(in_python - in_c) * 1e6:.2f} us |")
    print(f"\nbound: {BOUND * 1e6:.0f} us, {'met' if worst < BOUND else 'NOT met'}")
    return 0 if worst < BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
