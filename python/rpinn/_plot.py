"""Figures of a run from its ``predictions.csv``, which has the points, means, bands and truths of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._run import Run

Columns = dict[str, NDArray[np.float64]]


def read_columns(path: Any) -> Columns:
    """A CSV of numbers by the names of its columns; empty cells are NaN."""
    with open(path, encoding="utf-8") as file:
        names = file.readline().rstrip("\n").split(",")
    values = np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2)
    return {name: values[:, k] for k, name in enumerate(names)}


def _curve(axes: Any, columns: Columns, coordinate: str, name: str) -> None:
    order = np.argsort(columns[coordinate])
    x = columns[coordinate][order]
    axes.fill_between(
        x, columns[f"{name}_q025"][order], columns[f"{name}_q975"][order], alpha=0.3, linewidth=0, label="95 %"
    )
    axes.plot(x, columns[f"{name}_mean"][order], label="mean")
    if f"{name}_truth" in columns:
        axes.plot(x, columns[f"{name}_truth"][order], "k--", linewidth=1, label="truth")
    axes.set(xlabel=coordinate, ylabel=name)
    axes.legend()


def _map(figure: Any, axes: Any, columns: Columns, coordinates: tuple[str, str], column: str) -> None:
    x, y = (columns[name] for name in coordinates)
    drawn = axes.tricontourf(x, y, columns[column], levels=32)
    figure.colorbar(drawn, ax=axes)
    axes.set(title=column, xlabel=coordinates[0], ylabel=coordinates[1], aspect="equal")


def plot_run(run: Run, quantities: str | Sequence[str] | None) -> Figure:
    """See :meth:`rpinn.Run.plot`."""
    import matplotlib.pyplot as plt

    columns = read_columns(run.folder / "predictions.csv")
    coordinates = tuple(run.problem.coordinates)
    known = [name[: -len("_mean")] for name in columns if name.endswith("_mean")]
    wanted = known if quantities is None else [quantities] if isinstance(quantities, str) else list(quantities)
    for name in wanted:
        if name not in known:
            raise ValueError(f"the run predicts no '{name}'; expected some of {', '.join(known)}")
    if len(coordinates) == 1:
        figure, grid = plt.subplots(1, len(wanted), figsize=(5 * len(wanted), 3.6), squeeze=False, layout="constrained")
        for axes, name in zip(grid[0], wanted):
            _curve(axes, columns, coordinates[0], name)
    elif len(coordinates) == 2:
        shown = ["mean", "std"] + (["truth"] if any(f"{name}_truth" in columns for name in wanted) else [])
        figure, grid = plt.subplots(
            len(wanted), len(shown), figsize=(4.5 * len(shown), 3 * len(wanted)), squeeze=False, layout="constrained"
        )
        for row, name in zip(grid, wanted):
            for axes, statistic in zip(row, shown):
                if f"{name}_{statistic}" in columns:
                    _map(figure, axes, columns, (coordinates[0], coordinates[1]), f"{name}_{statistic}")
                else:
                    axes.set_axis_off()
    else:
        raise ValueError(f"a figure over {len(coordinates)} coordinates; expected one or two, or predict() along a line")
    figure.suptitle(f"{run.info['problem']} by {run.info['method']}: verdict {run.verdict}")
    return figure
