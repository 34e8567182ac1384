"""NUTS, SVGD and diagnoses on Python functions with known answers."""

from __future__ import annotations

import os
import pickle
import signal
from pathlib import Path

import numpy as np
import pytest

import rpinn

MEAN, COVARIANCE = np.array([1.0, -2.0]), np.array([[2.0, 0.8], [0.8, 1.0]])
PRECISION = np.linalg.inv(COVARIANCE)


def gaussian(theta: np.ndarray) -> tuple[float, np.ndarray]:
    away = theta - MEAN
    return -0.5 * away @ PRECISION @ away, -PRECISION @ away


def test_nuts_on_a_gaussian() -> None:
    draws = rpinn.nuts(gaussian, names=["a", "b"], draws=1000, warmup=300, seed=2)
    assert draws.parameters.shape == (4, 1000, 2) and draws.statistics["lp"].shape == (4, 1000)
    flat = draws.parameters.reshape(-1, 2)
    assert np.allclose(flat.mean(axis=0), MEAN, atol=0.12)
    assert np.allclose(np.cov(flat.T), COVARIANCE, atol=0.25)
    assert np.allclose(draws.statistics["lp"][1, 7], gaussian(draws.parameters[1, 7])[0], rtol=1e-12)
    assert np.array_equal(draws["b"], draws.parameters[:, :, 1])
    diagnosis = draws.diagnose()
    assert diagnosis and " a " in str(diagnosis)
    same = pickle.loads(pickle.dumps(draws))
    assert np.array_equal(same.parameters, draws.parameters) and same.diagnose()


def test_seeds_and_starts() -> None:
    settings = {"draws": 20, "warmup": 20, "chains": 2}
    one, same, other = (rpinn.nuts(gaussian, 2, seed=seed, **settings) for seed in (1, 1, 2))
    assert np.array_equal(one.parameters, same.parameters)
    assert not np.array_equal(one.parameters, other.parameters)
    assert one.names == ("theta[0]", "theta[1]")
    started = rpinn.nuts(gaussian, starts=np.full((2, 2), 50.0), draws=1, warmup=0, chains=2, first_step=1e-3, max_depth=1)
    assert np.all(started.parameters > 40)


def test_arviz_takes_the_draws() -> None:
    arviz = pytest.importorskip("arviz")
    draws = rpinn.nuts(gaussian, names=["a", "b"], draws=50, warmup=50, chains=2).to_arviz()
    assert draws["posterior"]["a"].shape == (2, 50) and arviz is not None
    assert draws["sample_stats"]["lp"].shape == (2, 50)


def test_failures_of_the_function() -> None:
    def fails(theta: np.ndarray) -> tuple[float, np.ndarray]:
        raise ZeroDivisionError("mine")

    def wide(theta: np.ndarray) -> tuple[float, np.ndarray]:
        return 0.0, np.zeros(3)

    for sample in (lambda f: rpinn.nuts(f, 2), lambda f: rpinn.svgd(f, np.zeros((3, 2)))):
        with pytest.raises(ZeroDivisionError, match="mine"):
            sample(fails)
        with pytest.raises(ValueError, match=r"expected \(2,\)"):
            sample(wide)
        with pytest.raises((TypeError, ValueError)):
            sample(lambda theta: "text")
    with pytest.raises(rpinn.Error):
        rpinn.nuts(lambda theta: (np.nan, theta), 2)
    with pytest.raises(rpinn.Fault):
        rpinn.svgd(lambda theta: (np.nan, theta), np.zeros((3, 2)))


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="expected one number"):
        rpinn.nuts(gaussian)
    with pytest.raises(ValueError, match="expected one number"):
        rpinn.nuts(gaussian, 2, names=["a"])
    with pytest.raises(ValueError, match=r"expected \(4, N\)"):
        rpinn.nuts(gaussian, starts=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="draws is -1"):
        rpinn.nuts(gaussian, 2, draws=-1)
    with pytest.raises(ValueError, match="metric"):
        rpinn.nuts(gaussian, 2, metric="round")  # type: ignore[arg-type]
    with pytest.raises(rpinn.InputError):
        rpinn.nuts(gaussian, 2, target_acceptance=2.0)
    with pytest.raises(rpinn.InputError):
        rpinn.nuts(gaussian, names=["a", "a"])
    with pytest.raises(ValueError, match=r"expected \(n, N\)"):
        rpinn.svgd(gaussian, np.zeros(2))
    with pytest.raises(ValueError, match="optimizer"):
        rpinn.svgd(gaussian, np.zeros((2, 2)), optimizer="newton")  # type: ignore[arg-type]


def test_control_c_ends_chains() -> None:
    calls = 0

    def interrupted(theta: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        if calls == 100:
            os.kill(os.getpid(), signal.SIGINT)
        return gaussian(theta)

    with pytest.raises(KeyboardInterrupt):
        rpinn.nuts(interrupted, 2, draws=1000000)
    calls = 0
    with pytest.raises(KeyboardInterrupt):
        rpinn.svgd(interrupted, np.random.default_rng(1).normal(size=(5, 2)), iterations=1000000)


def test_svgd_on_a_gaussian() -> None:
    begun = np.random.default_rng(3).normal(size=(100, 2))
    told: list[rpinn.Progress] = []
    moved = rpinn.svgd(gaussian, begun, iterations=600, learning_rate=0.05, progress=told.append)
    assert np.allclose(moved.positions.mean(axis=0), MEAN, atol=0.15)
    assert np.allclose(np.cov(moved.positions.T), COVARIANCE, atol=0.5)
    assert moved.log_densities.shape == (100,) and moved.bandwidth > 0
    assert (told[-1].done, told[-1].last) == (600, True)
    other = rpinn.svgd(gaussian, begun, iterations=50, optimizer="adagrad", learning_rate=0.05)
    assert not np.array_equal(other.positions, begun)


def test_posteriors_are_densities(small: rpinn.Problem) -> None:
    posterior = small.posterior()
    start = posterior.start("prior")
    draws = rpinn.nuts(posterior.log_density_and_gradient, starts=start[np.newaxis], chains=1, draws=5, warmup=5, max_depth=4)
    last = draws.parameters[0, -1]
    assert draws.statistics["lp"][0, -1] == posterior.log_density(last) == -posterior.energy(last)


def test_diagnose_draws() -> None:
    random = np.random.default_rng(5)
    good = random.normal(size=(4, 500, 2))
    assert rpinn.diagnose(good) and rpinn.diagnose(good[:, :, 0])
    assert "slope" in str(rpinn.diagnose(good, names=["level", "slope"]))
    bad = good + np.array([0, 0, 0, 3.0])[:, np.newaxis, np.newaxis]
    diagnosis = rpinn.diagnose({"a": bad[:, :, 0], "b": bad})
    assert not diagnosis and "b[1]" in str(rpinn.diagnose({"b": bad}, all=True))
    assert "<pre>" in diagnosis._repr_html_() and diagnosis.data
    for wrong in (np.zeros(5), np.zeros((2, 0, 2)), np.zeros((1, 2, 3, 4))):
        with pytest.raises(ValueError):
            rpinn.diagnose(wrong)
    with pytest.raises(ValueError, match="names"):
        rpinn.diagnose(good, names=["one"])
    with pytest.raises(ValueError, match="twice"):
        rpinn.diagnose({"a": good}, names=["one"])
    with pytest.raises(ValueError, match="strict"):
        rpinn.diagnose(good, strict=True)


def test_chains_of_cmdstan(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    files = []
    for chain in range(4):
        file = tmp_path / f"chain{chain}.csv"
        rows = "".join(f"{-x * x / 2:.6f},0.9,{x:.6f}\n" for x in random.normal(size=300))
        file.write_text("# method = sample (Default)\nlp__,accept_stat__,x\n" + rows)
        files.append(file)
    assert " x " in str(rpinn.diagnose(files))
    with pytest.raises(rpinn.InputError):
        rpinn.diagnose([tmp_path / "absent.csv"])
