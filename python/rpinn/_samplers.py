"""Samplers of the library on log densities of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._progress import ProgressArgument, Shown
from ._study import Diagnosis, diagnose

LogDensity = Callable[[NDArray[np.float64]], tuple[Any, ArrayLike]]
"""theta (N,) to the log density, up to a constant, and its gradient (N,)."""

_METRICS = ("unit", "diagonal", "dense")


class _Bound:
    """A Python function as the native module calls it: theta comes and the gradient goes through arrays that stay."""

    def __init__(self, function: LogDensity, size: int) -> None:
        self._function = function
        self.theta = np.zeros(size)
        self.gradient = np.zeros(size)

    def __call__(self) -> float:
        value, gradient = self._function(self.theta.copy())
        array = np.asarray(gradient, dtype=np.float64)
        if array.shape != self.gradient.shape:
            raise ValueError(f"the gradient has the shape {array.shape}; expected {self.gradient.shape}")
        self.gradient[:] = array
        return float(value)


def _counted(**counts: int) -> None:
    for name, value in counts.items():
        if value < 0:
            raise ValueError(f"{name} is {value}; expected no negative number")


@dataclass(frozen=True)
class Draws:
    """Draws of chains: C chains of D draws of N parameters."""

    parameters: NDArray[np.float64]
    """(C, D, N)."""
    statistics: dict[str, NDArray[np.float64]]
    """``{name: (C, D)}``: lp, acceptance_rate, step_size, tree_depth, n_steps, diverging, energy, ..."""
    names: tuple[str, ...]
    """Of the parameters."""
    _kept: Any = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """The draws of one parameter: (C, D)."""
        return self.parameters[:, :, self.names.index(name)]

    def diagnose(self, *, all: bool = False) -> Diagnosis:
        """R-hat, effective sizes, divergences and energies: see :func:`rpinn.diagnose`. Draws that were pickled have no statistics in it."""
        if self._kept is None:
            return diagnose(self.parameters, names=self.names, all=all)
        text, healthy = _native.diagnose_kept(self._kept, False, all)
        return Diagnosis(text, json.loads(_native.diagnose_kept(self._kept, True, all)[0]), healthy)

    def to_arviz(self) -> Any:
        """As ArviZ has draws, with ``sample_stats``. Needs the extra ``arviz``."""
        arviz: Any = import_module("arviz")
        groups = {"posterior": {name: self[name] for name in self.names}, "sample_stats": dict(self.statistics)}
        if int(arviz.__version__.split(".")[0]) >= 1:
            return arviz.from_dict(groups)
        return arviz.from_dict(**groups)


def nuts(
    log_density: LogDensity,
    size: int | None = None,
    *,
    draws: int = 1000,
    warmup: int = 1000,
    chains: int = 4,
    seed: int = 0,
    starts: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    thin: int = 1,
    metric: Literal["unit", "diagonal", "dense"] = "diagonal",
    max_depth: int = 10,
    first_step: float | None = None,
    target_acceptance: float = 0.8,
    progress: ProgressArgument = False,
) -> Draws:
    """The no-U-turn sampler on a Python function, one chain after the other.

    Parameters
    ----------
    log_density : theta (N,) to (log density, gradient (N,)). A value that is not finite makes the trajectory step back; an exception
        ends the sampling and is raised.
    size : N; needed where neither ``starts`` nor ``names`` tell.
    draws, warmup : of each chain.
    starts : (chains, N); default: uniform in (-2, 2), tried until the density is finite.
    names : of the parameters; default ``theta[0]``, ...
    first_step : default: searched for.

    The same seed gives the same bits, as long as the function does.
    """
    _counted(draws=draws, warmup=warmup, chains=chains, thin=thin, max_depth=max_depth, seed=seed)
    if metric not in _METRICS:
        raise ValueError(f"metric is '{metric}'; expected one of {', '.join(_METRICS)}")
    begun = None if starts is None else np.ascontiguousarray(starts, dtype=np.float64)
    if begun is not None and (begun.ndim != 2 or len(begun) != chains):
        raise ValueError(f"starts have the shape {begun.shape}; expected ({chains}, N)")
    sizes = {given for given in (size, None if begun is None else begun.shape[1], None if names is None else len(names)) if given is not None}
    if len(sizes) != 1:
        raise ValueError(f"size, starts and names tell {sorted(sizes)} parameters; expected one number")
    count = sizes.pop()
    bound = _Bound(log_density, count)
    with Shown(progress) as told:
        parameters, statistics, kept = _native.nuts(
            bound,
            bound.theta,
            bound.gradient,
            warmup,
            draws,
            thin,
            _METRICS.index(metric),
            max_depth,
            0.0 if first_step is None else first_step,
            target_acceptance,
            seed,
            chains,
            begun,
            names,
            told,
        )
    found = tuple(names) if names is not None else tuple(f"theta[{i}]" for i in range(count))
    return Draws(
        np.frombuffer(parameters).reshape(chains, draws, count),
        {name: np.frombuffer(values).reshape(chains, draws) for name, values in statistics.items()},
        found,
        kept,
    )


@dataclass(frozen=True)
class Particles:
    """Where SVGD has moved n particles of N parameters to."""

    positions: NDArray[np.float64]
    """(n, N)."""
    log_densities: NDArray[np.float64]
    """(n,), where the particles were before the last iteration."""
    bandwidth: float
    """Of the kernel in the last iteration."""


def svgd(
    log_density: LogDensity,
    particles: ArrayLike,
    *,
    iterations: int = 1000,
    optimizer: Literal["adam", "adagrad"] = "adam",
    learning_rate: float = 1e-2,
    decay_rate: float = 1.0,
    decay_steps: float = 5000.0,
    progress: ProgressArgument = False,
) -> Particles:
    """Stein variational gradient descent on a Python function.

    Parameters
    ----------
    log_density : theta (N,) to (log density, gradient (N,)), which must be finite at every particle.
    particles : (n, N), where they begin.
    learning_rate, decay_rate, decay_steps : the step of iteration t is ``learning_rate * decay_rate**(t / decay_steps)``.
    """
    _counted(iterations=iterations)
    begun = np.ascontiguousarray(particles, dtype=np.float64)
    if begun.ndim != 2:
        raise ValueError(f"particles have the shape {begun.shape}; expected (n, N)")
    if optimizer not in ("adam", "adagrad"):
        raise ValueError(f"optimizer is '{optimizer}'; expected adam or adagrad")
    bound = _Bound(log_density, begun.shape[1])
    with Shown(progress) as told:
        moved, densities, bandwidth = _native.svgd(
            bound,
            bound.theta,
            bound.gradient,
            begun,
            iterations,
            optimizer == "adagrad",
            learning_rate,
            decay_rate,
            decay_steps,
            told,
        )
    return Particles(np.frombuffer(moved).reshape(begun.shape), np.frombuffer(densities), bandwidth)
