"""Energies: against differences and closed forms, batches, precisions, backends, threads, forks, leaks."""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL

import rpinn

BACKENDS = [("plain", "double"), ("cpu", "double"), ("cpu", "float")]


def test_energy_is_half_the_squares(small: rpinn.Problem) -> None:
    posterior = small.posterior()
    theta = posterior.start("normal", member=2)
    rows = posterior.residuals(theta)
    parts = posterior.term_energies(theta)
    assert list(parts) == ["level", "law", "prior"]
    assert np.isclose(parts["level"] + parts["law"], rows @ rows / 2, rtol=1e-12)
    # The prior has the scale 1.5, of iid or, for weights, divided by the root of their number.
    assert 0 < parts["prior"] and np.isclose(sum(parts.values()), posterior.energy(theta), rtol=1e-12)
    offsets = posterior.draw_offsets(4)
    prior_rows = np.sqrt(2 * parts["prior"])
    assert posterior.energy(theta, offsets) != posterior.energy(theta) and prior_rows > 0
    shifted = rows - offsets[: posterior.num_rows]
    assert posterior.energy(theta, offsets) > shifted @ shifted / 2


@pytest.mark.parametrize(("backend", "precision"), BACKENDS)
def test_derivatives(small: rpinn.Problem, backend: str, precision: str) -> None:
    posterior = small.posterior(backend=backend, precision=precision)
    theta = posterior.start("normal")
    oracle = small.posterior(backend="plain", precision="double")
    step, direction = 1e-6, np.random.default_rng(1).normal(size=posterior.num_parameters)
    slope = (oracle.energy(theta + step * direction) - oracle.energy(theta - step * direction)) / (2 * step)
    rows = (oracle.residuals(theta + step * direction) - oracle.residuals(theta - step * direction)) / (2 * step)
    tolerance = 1e-7 if precision == "double" else 2e-4
    assert np.isclose(posterior.gradient(theta) @ direction, slope, rtol=tolerance)
    assert np.allclose(posterior.jacobian(theta) @ direction, rows, rtol=tolerance, atol=tolerance * np.abs(rows).max())
    assert np.isclose(posterior.energy(theta), oracle.energy(theta), rtol=1e-12 if precision == "double" else 1e-5)


@pytest.mark.parametrize(("backend", "precision"), BACKENDS)
def test_batches_have_the_bits_of_one(small: rpinn.Problem, backend: str, precision: str) -> None:
    posterior = small.posterior(backend=backend, precision=precision)
    thetas = np.random.default_rng(2).normal(size=(2, 3, posterior.num_parameters))
    energies, gradients = posterior.energy_and_gradient(thetas)
    rows, jacobians = posterior.residuals_and_jacobian(thetas)
    assert energies.shape == (2, 3) and gradients.shape == thetas.shape
    assert rows.shape == (2, 3, posterior.num_rows) and jacobians.shape == (*rows.shape, posterior.num_parameters)
    for place in np.ndindex(2, 3):
        energy, gradient = posterior.energy_and_gradient(thetas[place])
        assert energies[place] == energy == posterior.energy(thetas[place])
        assert np.array_equal(gradients[place], gradient)
        assert np.array_equal(rows[place], posterior.residuals(thetas[place]))
        assert np.array_equal(jacobians[place], posterior.jacobian(thetas[place]))
    offsets = np.stack([posterior.draw_offsets(0), posterior.draw_offsets(1)])
    two = posterior.energy(thetas[0, :2], offsets)
    assert two[1] == posterior.energy(thetas[0, 1], offsets[1])
    assert posterior.energy(np.empty((0, posterior.num_parameters))).shape == (0,)


def test_arrays_of_all_kinds(small: rpinn.Problem) -> None:
    posterior = small.posterior()
    thetas = np.random.default_rng(3).normal(size=(4, posterior.num_parameters))
    expected = posterior.energy(thetas[1])
    assert posterior.energy(np.asfortranarray(thetas)[1]) == expected
    assert posterior.energy(np.repeat(thetas, 2, axis=1)[1, ::2]) == expected
    assert posterior.energy(thetas[1].tolist()) == expected
    assert posterior.energy(thetas.astype(">f8"))[1] == expected
    single = thetas.astype(np.float32)
    assert posterior.gradient(single).dtype == posterior.energy(single).dtype == np.float32
    assert posterior.jacobian(single[0]).dtype == np.float32
    assert posterior.energy(single[1]) == posterior.energy(single[1].astype(np.float64))
    assert isinstance(expected, float)


def test_starts(small: rpinn.Problem) -> None:
    posterior = small.posterior()
    assert not np.array_equal(posterior.start("glorot", 0), posterior.start("glorot", 1))
    assert np.array_equal(posterior.start("zero"), np.zeros(posterior.num_parameters))
    many = np.stack([posterior.start("prior", member) for member in range(400)])
    energies = [posterior.term_energies(theta)["prior"] for theta in many]
    # Half the squares of N standard normal numbers.
    assert np.isclose(np.mean(energies), posterior.num_parameters / 2, rtol=0.1)
    normal = np.stack([posterior.start("normal", member) for member in range(200)])
    assert abs(normal.std() - 1) < 0.05


def test_mistakes(small: rpinn.Problem) -> None:
    posterior = small.posterior()
    n = posterior.num_parameters
    for function in (posterior.energy, posterior.gradient, posterior.residuals, posterior.jacobian, posterior.term_energies):
        with pytest.raises(ValueError):
            function(np.zeros(n + 1))
        with pytest.raises(ValueError):
            function(0.0)
        with pytest.raises((ValueError, TypeError)):
            function(["a"] * n)
    with pytest.raises(ValueError, match="offsets"):
        posterior.energy(np.zeros(n), np.zeros(3))
    with pytest.raises(ValueError, match="expected glorot"):
        posterior.start("elsewhere")  # type: ignore[arg-type]
    with pytest.raises(rpinn.InputError, match="prior_scale"):
        rpinn.Problem.from_yaml("poisson-linear").posterior()
    with pytest.raises(rpinn.InputError):
        small.posterior(backend="plain", precision="float")
    with pytest.raises(rpinn.InputError, match="missing.csv"):
        rpinn.Problem.from_yaml(SMALL.replace("data: truth, noise: 0.1", "data: missing.csv, noise: 0.1")).posterior()


def test_posterior_of_a_run(run: rpinn.Run) -> None:
    posterior = run.problem.posterior()
    assert posterior.prior_sigma == 1.5
    assert pickle.loads(pickle.dumps(posterior)).energy(posterior.start()) == posterior.energy(posterior.start())


def test_threads_have_desks_of_their_own() -> None:
    posterior = rpinn.Problem.from_yaml("poisson-linear", prior_scale=2).posterior()
    thetas = np.stack([posterior.start("glorot", member) for member in range(64)])
    expected = posterior.energy(thetas)
    barrier = threading.Barrier(4)

    def work(part: int) -> bool:
        barrier.wait()
        return all(np.array_equal(posterior.energy(thetas), expected) for _ in range(5))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert 2 <= posterior._native.num_desks <= 4


_shared: rpinn.Posterior


def _energy_in_child(theta: np.ndarray) -> float:
    return float(_shared.energy(theta))


def _run_in_child(folder: str) -> bytes:
    rpinn.Problem.from_yaml(SMALL).run(out=folder, samples=5, threads=2)
    return (Path(folder) / "posterior.nc").read_bytes()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_processes(way: str, small: rpinn.Problem, tmp_path: Path) -> None:
    global _shared
    _shared = small.posterior()
    thetas = [_shared.start("glorot", member) for member in range(8)]
    expected = [_shared.energy(theta) for theta in thetas]  # OpenBLAS is at work before the fork
    here = _run_in_child(str(tmp_path / "here"))
    with multiprocessing.get_context(way).Pool(2) as pool:
        if way == "fork":
            assert pool.map(_energy_in_child, thetas) == expected
        assert pool.map(_shared.energy, thetas) == expected  # pickled
        for bytes_there in pool.map(_run_in_child, [str(tmp_path / name) for name in "ab"]):
            assert bytes_there == here


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
def test_ten_thousand_problems_leave_nothing() -> None:
    def make(count: int) -> None:
        for k in range(count):
            problem = rpinn.Problem.from_yaml(SMALL)
            if k % 10 == 0:
                posterior = problem.posterior()
                posterior.energy(posterior.start())
            if k % 100 == 0:
                with pytest.raises(rpinn.InputError):
                    rpinn.Problem.from_yaml(SMALL + "x")
        gc.collect()

    make(1000)
    before = _resident_bytes()
    make(10000)
    grown = _resident_bytes() - before
    print(f"resident memory after 10,000 problems: {grown / 1024:+.0f} KiB")
    assert grown < 1 << 20
