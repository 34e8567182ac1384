"""The posterior of a problem as functions of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native

if TYPE_CHECKING:
    from ._problem import Problem

Floats = NDArray[np.floating[Any]]


def _result_type(theta: NDArray[Any]) -> type[np.floating[Any]]:
    return np.float32 if theta.dtype == np.float32 else np.float64


class Posterior:
    """The energy E(theta) = -log p(theta | data) + constant, its gradient, the whitened rows and their Jacobian.

    ``E = 1/2 |r(theta)|^2 + 1/2 |P (theta - mean)|^2`` with M rows r of data, equations and boundaries, each divided by its sigma, and
    N prior rows. N is :attr:`num_parameters` and M is :attr:`num_rows`.

    ``theta`` has the shape (N,), or (..., N) for many parameter vectors in one call, each of which gives the bits that it gives alone.
    Double arrays in C order are read where they are; float32 is converted, and results are float32 then. The arithmetic is that of the
    settings ``backend`` and ``precision`` of the problem.

    Any number of threads may use one posterior: the GIL is released while C works, and each has work space of its own. A posterior can
    be pickled, and used after a fork.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._native = _native.Posterior(problem._native)
        self.num_parameters: int = self._native.num_parameters
        """N: weights and biases of the networks, then unknowns, as their logarithms where they are so transformed."""
        self.num_rows: int = self._native.num_rows
        """M: without those of the prior."""

    @property
    def sigmas(self) -> dict[str, float]:
        """The standard deviation of each fitted term: ``{term: sigma}``."""
        return self._native.sigmas

    @property
    def prior_sigma(self) -> float:
        """The scale of the prior; infinity without one."""
        return self._native.prior_sigma

    def __repr__(self) -> str:
        return f"<rpinn.Posterior of {self.problem.name}: {self.num_parameters} parameters, {self.num_rows} rows>"

    def __reduce__(self) -> tuple[object, ...]:
        return Posterior, (self.problem,)

    # ---- energies ----

    def _rows(self, values: ArrayLike, width: int, what: str) -> tuple[NDArray[np.float64], tuple[int, ...], type[np.floating[Any]]]:
        array = np.asarray(values)
        if array.ndim == 0 or array.shape[-1] != width:
            raise ValueError(f"{what} has the shape {array.shape}; expected ({width},) or (..., {width})")
        return np.ascontiguousarray(array, dtype=np.float64), array.shape[:-1], _result_type(array)

    def _offsets(self, offsets: ArrayLike | None, batch: tuple[int, ...]) -> NDArray[np.float64] | None:
        if offsets is None:
            return None
        array, shape, _ = self._rows(offsets, self.num_rows + self.num_parameters, "offsets")
        if shape != batch:
            raise ValueError(f"offsets are for the shape {shape}; expected {batch}, that of theta")
        return array

    def energy(self, theta: ArrayLike, offsets: ArrayLike | None = None) -> Any:
        """E at theta.

        Parameters
        ----------
        theta : (N,) or (..., N).
        offsets : (M + N,) or (..., M + N): xi of an rPINN member, see :meth:`draw_offsets`. ``None``: zero, the posterior itself.

        Returns
        -------
        A float for one theta, an array of the shape (...) for many.
        """
        if type(theta) is np.ndarray and theta.ndim == 1 and offsets is None and theta.dtype == np.float64:
            return self._native.energy(theta if theta.flags.c_contiguous else np.ascontiguousarray(theta))
        array, batch, kind = self._rows(theta, self.num_parameters, "theta")
        energies = np.empty(batch)
        count = energies.size
        self._native.energies(count, array, self._offsets(offsets, batch), energies, None, None)
        return energies.astype(kind, copy=False) if batch else float(energies)

    def energy_and_gradient(self, theta: ArrayLike, offsets: ArrayLike | None = None) -> tuple[Any, Floats]:
        """E and dE/dtheta in one go: a float and (N,), or (...) and (..., N). What SciPy wants with ``jac=True``."""
        array, batch, kind = self._rows(theta, self.num_parameters, "theta")
        energies, gradients = np.empty(batch), np.empty(array.shape)
        self._native.energies(energies.size, array, self._offsets(offsets, batch), energies, gradients, None)
        gradient = gradients.astype(kind, copy=False)
        return (energies.astype(kind, copy=False) if batch else float(energies)), gradient

    def gradient(self, theta: ArrayLike, offsets: ArrayLike | None = None) -> Floats:
        """dE/dtheta: (N,), or (..., N)."""
        return self.energy_and_gradient(theta, offsets)[1]

    def log_density(self, theta: ArrayLike) -> Any:
        """log p(theta | data) up to a constant, which is -E: for samplers."""
        return -self.energy(theta)

    def log_density_and_gradient(self, theta: ArrayLike) -> tuple[Any, Floats]:
        """The same with its gradient, as :func:`rpinn.nuts` takes it."""
        energy, gradient = self.energy_and_gradient(theta)
        return -energy, -gradient

    def term_energies(self, theta: ArrayLike) -> dict[str, Any]:
        """What E is made of: ``{term: its part, ..., "prior": that of the prior}``, each a float or of the shape (...)."""
        array, batch, kind = self._rows(theta, self.num_parameters, "theta")
        names = [*self.sigmas, "prior"]
        energies, parts = np.empty(batch), np.empty((*batch, len(names)))
        self._native.energies(energies.size, array, None, energies, None, parts)
        return {
            name: parts[..., k].astype(kind, copy=False) if batch else float(parts[k]) for k, name in enumerate(names)
        }

    # ---- rows ----

    def residuals(self, theta: ArrayLike) -> Floats:
        """The whitened rows r, without those of the prior: (M,), or (..., M)."""
        array, batch, kind = self._rows(theta, self.num_parameters, "theta")
        rows = np.empty((*batch, self.num_rows))
        self._native.residuals(int(np.prod(batch)), array, rows, None)
        return rows.astype(kind, copy=False)

    def residuals_and_jacobian(self, theta: ArrayLike) -> tuple[Floats, Floats]:
        """Rows and dr/dtheta in one go: (M,) and (M, N), or (..., M) and (..., M, N)."""
        array, batch, kind = self._rows(theta, self.num_parameters, "theta")
        rows = np.empty((*batch, self.num_rows))
        jacobian = np.empty((*batch, self.num_rows, self.num_parameters))
        self._native.residuals(int(np.prod(batch)), array, rows, jacobian)
        return rows.astype(kind, copy=False), jacobian.astype(kind, copy=False)

    def jacobian(self, theta: ArrayLike) -> Floats:
        """dr/dtheta: (M, N), or (..., M, N)."""
        return self.residuals_and_jacobian(theta)[1]

    # ---- starts ----

    def start(self, kind: Literal["glorot", "prior", "normal", "zero"] = "glorot", member: int = 0) -> NDArray[np.float64]:
        """Where a member of a run starts: (N,), the same for the same seed.

        ``glorot``: networks by Glorot's rule; ``prior``: a draw from the prior; ``normal``: standard normal networks; ``zero``. But for
        ``prior``, unknowns are at their start.
        """
        theta = np.empty(self.num_parameters)
        if kind == "prior":
            self._native.start_zero(member, theta)  # for what has no prior
            self._native.start_prior(self.draw_offsets(member), theta)
            return theta
        starts = {
            "glorot": self._native.start_glorot,
            "normal": self._native.start_normal,
            "zero": self._native.start_zero,
        }
        if kind not in starts:
            raise ValueError(f"start is '{kind}'; expected glorot, prior, normal or zero")
        starts[kind](member, theta)
        return theta

    def draw_offsets(self, member: int) -> NDArray[np.float64]:
        """The standard normal offsets xi of an rPINN member: (M + N,), the same for the same seed."""
        offsets = np.empty(self.num_rows + self.num_parameters)
        self._native.draw_offsets(member, offsets)
        return offsets
