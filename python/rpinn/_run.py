"""Finished runs."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._prediction import Prediction, make_prediction, points_array
from ._problem import Problem

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from ._study import Diagnosis


class Run:
    """A finished run, by its folder. Nothing is held open; nothing is read before it is asked for.

    ``rpinn.open(folder)`` makes one, and :meth:`rpinn.Problem.run` returns one.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        """The run directory."""
        self.info: dict[str, Any] = json.loads(_native.summary(os.fspath(folder), True))
        """``summary.json``: method, sigmas, scores of quantities, members, chains, the verdict, times and versions."""
        if "quantities" not in self.info:
            from ._errors import InputError

            raise InputError("it holds a shard, which has no results; expected a run: rpinn merge makes one", "ERROR_INPUT", str(folder))
        self._problem: Problem | None = None

    @property
    def problem(self) -> Problem:
        """The problem as it was run, with all settings, the data and the scale of the prior that was chosen: ``run.yaml``. So
        ``run.problem.posterior()`` is the posterior that the run sampled."""
        if self._problem is None:
            self._problem = Problem.from_yaml(self.folder / "run.yaml")
        return self._problem

    @property
    def verdict(self) -> str:
        """Can its bands be used? ``good``, ``fair`` or ``bad``."""
        return str(self.info["verdict"]["word"])

    def __repr__(self) -> str:
        return f"<rpinn.Run {self.folder}: {self.info['problem']} by {self.info['method']}, verdict {self.verdict}>"

    def __str__(self) -> str:
        return _native.summary(os.fspath(self.folder), False)

    def _repr_html_(self) -> str:
        findings = "".join(
            f"<li>{html.escape(str(finding['severity']))}: {html.escape(str(finding['sentence']))}</li>"
            for finding in self.info["verdict"].get("findings", [])
        )
        return (
            f"<h3>{html.escape(str(self.info['problem']))} by {html.escape(str(self.info['method']))}</h3>"
            f"<p>verdict: <b>{html.escape(self.verdict)}</b></p><ul>{findings}</ul><pre>{html.escape(str(self))}</pre>"
            f"<p><a href='{html.escape(os.fspath(self.folder / 'report.html'))}'>report.html</a></p>"
        )

    # ---- results ----

    @property
    def posterior(self) -> Any:
        """``posterior.nc`` as ArviZ opens it: InferenceData before ArviZ 1, a DataTree from 1 on. Needs the extra ``arviz``."""
        arviz: Any = import_module("arviz")
        return arviz.from_netcdf(os.fspath(self.folder / "posterior.nc"))

    def summary(self) -> pandas.DataFrame:
        """A row for each quantity (and unknown), a column for each score. Needs the extra ``pandas``."""
        import pandas

        rows = {name: dict(scores) for name, scores in self.info["quantities"].items()}
        rows.update({name: dict(values) for name, values in self.info.get("unknowns", {}).items()})
        return pandas.DataFrame.from_dict(rows, orient="index")

    def predict(
        self,
        points: Any,
        quantities: str | Sequence[str] | None = None,
        *,
        draws: bool = True,
        extrapolate: bool = False,
    ) -> Any:
        """The run anywhere, as ``rpinn predict``, with the draws themselves.

        Parameters
        ----------
        points : (P, coordinates), (P,) for one coordinate, or a mapping, DataFrame or Dataset with a column for each coordinate.
        quantities : fields and quantities by name; default: those of ``predict:``.
        draws : keep the values of every draw, which takes 8 bytes for each draw, quantity and point.
        extrapolate : allow points outside the domain.

        Returns
        -------
        An ``xarray.Dataset`` where xarray is installed (see :meth:`rpinn.Prediction.to_xarray`), else a :class:`rpinn.Prediction` of plain
        arrays. :meth:`predict_arrays` returns the latter always.
        """
        prediction = self.predict_arrays(points, quantities, draws=draws, extrapolate=extrapolate)
        return prediction.to_xarray() if find_spec("xarray") else prediction

    def predict_arrays(
        self,
        points: Any,
        quantities: str | Sequence[str] | None = None,
        *,
        draws: bool = True,
        extrapolate: bool = False,
    ) -> Prediction:
        """As :meth:`predict`, always as plain arrays."""
        coordinates = tuple(self.problem.coordinates)
        array = points_array(points, coordinates)
        names = quantities if isinstance(quantities, str) or quantities is None else ",".join(quantities)
        native = _native.predict(os.fspath(self.folder), array, len(array), len(coordinates), names, extrapolate, draws)
        return make_prediction(array, coordinates, native)

    def plot(self, names: str | Sequence[str] | None = None, *, kind: str = "predictions") -> Figure:
        """A figure of the report, by matplotlib. Needs the extra ``matplotlib``.

        Parameters
        ----------
        names : quantities, or unknowns; default: all.
        kind : ``predictions``: means and 95 % bands over one coordinate, with the data where xarray and netCDF4 or h5netcdf are installed; maps of
            mean and standard deviation over two; the truth and the error where it is known. ``unknowns``: their draws. ``losses``: of members,
            or the log posterior along chains. The last two need the extra ``arviz``.
        """
        from ._plot import plot_run

        return plot_run(self, names, kind)

    def report(self, *, out: str | os.PathLike[str] | None = None, shape: bool = False) -> Path:
        """Make ``report.html`` and its figures anew, as ``rpinn report``; returns its path."""
        folder = None if out is None else os.fspath(out)
        _native.report([os.fspath(self.folder)], folder, shape, True)
        return (self.folder if out is None else Path(out)) / "report.html"

    def diagnose(self, *, strict: bool = False, all: bool = False) -> Diagnosis:
        """Can the run be used? As ``rpinn diagnose``."""
        from ._study import diagnose

        return diagnose(self, strict=strict, all=all)


def open_run(folder: str | os.PathLike[str]) -> Run:
    """A finished run, by its directory. One that is missing, unfinished or damaged is an :class:`rpinn.InputError`."""
    return Run(folder)
