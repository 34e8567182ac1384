"""Figures of a run: what it predicts from ``predictions.csv``, data, unknowns and losses from ``posterior.nc``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
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


def _can_read_groups() -> bool:
    return bool(find_spec("xarray") and (find_spec("netCDF4") or find_spec("h5netcdf")))


def _group(run: Run, name: str) -> Any:
    if not _can_read_groups():
        raise ImportError("this figure is made from posterior.nc; expected xarray with netCDF4 or h5netcdf: pip install 'rpinn[arviz]'")
    import xarray

    return xarray.open_dataset(run.folder / "posterior.nc", group=name)


# ---- predictions ----


def _measured(run: Run, coordinate: str) -> dict[str, list[tuple[Any, Any, Any]]]:
    """Places, values and deviations of the data of each quantity, term by term. A term is about a quantity where it expects just that;
    ``run.yaml`` has a line for each. Nothing where there is no package that reads ``posterior.nc``."""
    found: dict[str, list[tuple[Any, Any, Any]]] = {}
    if not _can_read_groups():
        return found
    text = (run.folder / "run.yaml").read_text(encoding="utf-8")
    with _group(run, "constant_data") as data:
        for term, expected in re.findall(r"^  (\w+): \{expect: (\w+),", text, re.MULTILINE):
            if f"{term}_observed" in data:
                places, values, deviations = (data[f"{term}_{column}"].values for column in (coordinate, "observed", "sigma"))
                found.setdefault(expected, []).append((places, values, deviations))
    return found


def _curve(axes: Any, columns: Columns, coordinate: str, name: str, measured: list[tuple[Any, Any, Any]]) -> None:
    order = np.argsort(columns[coordinate])
    x = columns[coordinate][order]
    if np.isfinite(columns[f"{name}_q025"]).any():
        axes.fill_between(
            x, columns[f"{name}_q025"][order], columns[f"{name}_q975"][order], alpha=0.3, linewidth=0, label="95 %"
        )
    axes.plot(x, columns[f"{name}_mean"][order], label="mean")
    if f"{name}_truth" in columns:
        axes.plot(x, columns[f"{name}_truth"][order], "k--", linewidth=1, label="truth")
    for k, (places, values, deviations) in enumerate(measured):
        axes.errorbar(
            places, values, deviations, fmt="k.", markersize=3, elinewidth=0.5, label=None if k else "data"
        )
    axes.set(xlabel=coordinate, ylabel=name)
    axes.legend()


def _map(figure: Any, axes: Any, columns: Columns, coordinates: tuple[str, str], name: str, statistic: str) -> None:
    x, y = (columns[coordinate] for coordinate in coordinates)
    if statistic == "error":
        values = columns[f"{name}_mean"] - columns[f"{name}_truth"]
        largest = float(np.max(np.abs(values))) or 1.0
        drawn = axes.tricontourf(x, y, values, levels=np.linspace(-largest, largest, 33), cmap="RdBu_r")
    else:
        drawn = axes.tricontourf(x, y, columns[f"{name}_{statistic}"], levels=32)
    figure.colorbar(drawn, ax=axes)
    axes.set(title=f"{name}_{statistic}", xlabel=coordinates[0], ylabel=coordinates[1], aspect="equal")


def _plot_predictions(run: Run, quantities: str | Sequence[str] | None) -> Figure:
    import matplotlib.pyplot as plt

    columns = read_columns(run.folder / "predictions.csv")
    coordinates = tuple(run.problem.coordinates)
    known = [name[: -len("_mean")] for name in columns if name.endswith("_mean")]
    wanted = _chosen(quantities, known, "the run predicts no")
    if len(coordinates) == 1:
        measured = _measured(run, coordinates[0])
        figure, grid = plt.subplots(1, len(wanted), figsize=(5 * len(wanted), 3.6), squeeze=False, layout="constrained")
        for axes, name in zip(grid[0], wanted):
            _curve(axes, columns, coordinates[0], name, measured.get(name, []))
    elif len(coordinates) == 2:
        has_truth = any(f"{name}_truth" in columns for name in wanted)
        shown = ["mean", "std"] + (["truth", "error"] if has_truth else [])
        figure, grid = plt.subplots(
            len(wanted), len(shown), figsize=(4.5 * len(shown), 3 * len(wanted)), squeeze=False, layout="constrained"
        )
        for row, name in zip(grid, wanted):
            for axes, statistic in zip(row, shown):
                if statistic in ("mean", "std") or f"{name}_truth" in columns:
                    _map(figure, axes, columns, (coordinates[0], coordinates[1]), name, statistic)
                else:
                    axes.set_axis_off()
    else:
        raise ValueError(f"a figure over {len(coordinates)} coordinates; expected one or two, or predict() along a line")
    return figure


# ---- draws ----


def _plot_unknowns(run: Run, names: str | Sequence[str] | None) -> Figure:
    import matplotlib.pyplot as plt

    unknowns = run.info.get("unknowns", {})
    if not unknowns:
        raise ValueError("the problem has no unknowns beside its fields")
    wanted = _chosen(names, list(unknowns), "the problem has no unknown")
    figure, grid = plt.subplots(1, len(wanted), figsize=(4 * len(wanted), 3.2), squeeze=False, layout="constrained")
    with _group(run, "posterior") as draws:
        for axes, name in zip(grid[0], wanted):
            axes.hist(draws[name].values.ravel(), bins="auto", density=True, alpha=0.5)
            axes.axvline(unknowns[name]["mean"], label="mean")
            if unknowns[name].get("truth") is not None:
                axes.axvline(unknowns[name]["truth"], color="k", linestyle="--", linewidth=1, label="truth")
            axes.set(xlabel=name, yticks=[])
            axes.legend()
    return figure


def _plot_losses(run: Run, names: str | Sequence[str] | None) -> Figure:
    import matplotlib.pyplot as plt

    if names is not None:
        raise ValueError("losses are of whole draws; expected no names")
    with _group(run, "sample_stats") as statistics:
        is_of_members = "loss" in statistics
        values = statistics["loss"].values if is_of_members else -statistics["lp"].values
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for chain in values:
        left.plot(chain, "." if is_of_members else "-", markersize=3, linewidth=0.6)
        right.hist(chain, bins="auto", alpha=0.5)
    left.set(xlabel="member" if is_of_members else "draw", ylabel="loss" if is_of_members else "-log posterior")
    right.set(xlabel=left.get_ylabel(), ylabel="members" if is_of_members else "draws")
    return figure


# ---- all ----


def _chosen(names: str | Sequence[str] | None, known: list[str], refusal: str) -> list[str]:
    wanted = known if names is None else [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in known:
            raise ValueError(f"{refusal} '{name}'; expected some of {', '.join(known)}")
    return wanted


_KINDS: dict[str, Callable[[Run, str | Sequence[str] | None], Figure]] = {
    "predictions": _plot_predictions,
    "unknowns": _plot_unknowns,
    "losses": _plot_losses,
}


def plot_run(run: Run, names: str | Sequence[str] | None, kind: str) -> Figure:
    """See :meth:`rpinn.Run.plot`."""
    if kind not in _KINDS:
        raise ValueError(f"there is no figure '{kind}'; expected {', '.join(_KINDS)}")
    figure = _KINDS[kind](run, names)
    figure.suptitle(f"{run.info['problem']} by {run.info['method']}: verdict {run.verdict}")
    return figure
