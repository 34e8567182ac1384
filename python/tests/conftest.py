"""Problems that run in a moment, and runs of them that tests share."""

from __future__ import annotations

import pytest

import rpinn

SMALL = """
name: small
coordinates: {x: [0, 2]}
fields: {u: {network: [4]}}
quantities: {slope: "d(u, x)"}
truth: {u: sin(x)}
terms:
  level: {expect: u, at: {grid: 6}, data: truth, noise: 0.1}
  law: {expect: "d(u, x, x) + u", at: {grid: 5}, data: 0, noise: 0.2}
predict: {grid: 5, quantities: [u, slope]}
settings: {prior_scale: 1.5, precision: double, samples: 40, iterations: 20, seed: 3}
"""


@pytest.fixture
def small() -> rpinn.Problem:
    return rpinn.Problem.from_yaml(SMALL)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> rpinn.Run:
    """Forty members of the small problem."""
    folder = tmp_path_factory.mktemp("runs") / "members"
    return rpinn.Problem.from_yaml(SMALL).run(out=folder)


@pytest.fixture(scope="session")
def chains(tmp_path_factory: pytest.TempPathFactory) -> rpinn.Run:
    """Two short chains of it."""
    folder = tmp_path_factory.mktemp("runs") / "chains"
    return rpinn.Problem.from_yaml(SMALL).run(out=folder, method="nuts", chains=2, samples=50, warmup=50, max_depth=5)
