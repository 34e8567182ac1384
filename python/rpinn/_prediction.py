"""What a run says at points of one's choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import xarray

STATISTICS = ("mean", "std", "q025", "median", "q975")


@dataclass(frozen=True)
class Prediction:
    """Fields and quantities at points, over the draws of a run: plain arrays.

    P is the number of points, C that of chains (1 where the method has none), D that of draws of each.
    """

    points: dict[str, NDArray[np.float64]]
    """``{coordinate: (P,)}``."""
    mean: dict[str, NDArray[np.float64]]
    """``{quantity: (P,)}``, as the next four."""
    std: dict[str, NDArray[np.float64]]
    q025: dict[str, NDArray[np.float64]]
    """NaN where there are fewer than 39 draws: they have no interval of 95 %."""
    median: dict[str, NDArray[np.float64]]
    q975: dict[str, NDArray[np.float64]]
    draws: dict[str, NDArray[np.float64]] | None
    """``{quantity: (C, D, P)}``; ``None`` where they were not wanted."""

    def to_xarray(self) -> xarray.Dataset:
        """A Dataset: ``u`` has the dimensions (chain, draw, point), ``u_mean``, ``u_std``, ``u_q025``, ``u_median`` and ``u_q975``
        have (point), and the coordinates of the problem are coordinates along ``point``."""
        import xarray

        variables: dict[str, Any] = {}
        for name in self.mean:
            if self.draws is not None:
                variables[name] = (("chain", "draw", "point"), self.draws[name])
            for statistic in STATISTICS:
                variables[f"{name}_{statistic}"] = (("point",), getattr(self, statistic)[name])
        return xarray.Dataset(variables, coords={name: (("point",), values) for name, values in self.points.items()})


def points_array(points: Any, coordinates: tuple[str, ...]) -> NDArray[np.float64]:
    """Points as (P, coordinates): from a mapping, a DataFrame or a Dataset with a column for each, or an array."""
    width = len(coordinates)
    if isinstance(points, Mapping) or hasattr(points, "columns") or hasattr(points, "data_vars"):
        missing = [name for name in coordinates if name not in points]
        if missing:
            raise ValueError(f"points have no '{missing[0]}'; expected {', '.join(coordinates)}")
        columns = np.broadcast_arrays(*(np.asarray(points[name], dtype=np.float64) for name in coordinates))
        return np.ascontiguousarray(np.stack([column.ravel() for column in columns], axis=-1))
    array = np.asarray(points, dtype=np.float64)
    if width == 1 and array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2 or array.shape[1] != width:
        expected = f"(P, {width})" + (" or (P,)" if width == 1 else "")
        raise ValueError(f"points have the shape {array.shape}; expected {expected}: {', '.join(coordinates)}")
    return np.ascontiguousarray(array)


def make_prediction(
    points: NDArray[np.float64],
    coordinates: tuple[str, ...],
    native: tuple[tuple[str, ...], int, int, bytearray, bytearray | None],
) -> Prediction:
    """From what the native module returns."""
    names, num_chains, num_draws, statistics, draws = native
    values = np.frombuffer(statistics).reshape(len(STATISTICS), len(names), len(points))
    columns = {
        statistic: {name: values[s, q] for q, name in enumerate(names)} for s, statistic in enumerate(STATISTICS)
    }
    by_chain: dict[str, NDArray[np.float64]] | None = None
    if draws is not None:
        drawn = np.frombuffer(draws).reshape(num_chains, num_draws // num_chains, len(names), len(points))
        by_chain = {name: drawn[:, :, q] for q, name in enumerate(names)}
    places = {name: points[:, i].copy() for i, name in enumerate(coordinates)}
    return Prediction(points=places, draws=by_chain, **columns)
