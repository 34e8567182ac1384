"""Judgements on runs and draws, runs side by side, and calibration."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _native
from ._errors import Interrupted
from ._problem import Problem
from ._progress import ProgressArgument, Shown
from ._run import Run

if TYPE_CHECKING:
    import pandas

RunLike = Union[Run, str, "os.PathLike[str]"]


def _folder(run: RunLike) -> str:
    return os.fspath(run.folder if isinstance(run, Run) else run)


# ---- diagnose ----


@dataclass(frozen=True)
class Diagnosis:
    """Can draws be used? ``print(diagnosis)`` prints the table and what was found; it is true where nothing speaks against them."""

    text: str
    """For people."""
    data: dict[str, Any]
    """For programs, with all scalars."""
    healthy: bool

    def __bool__(self) -> bool:
        return self.healthy

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def _stacked(draws: Any, names: Sequence[str] | None) -> tuple[Any, Sequence[str] | None]:
    """Draws as (chains, draws, parameters), and the names of the parameters."""
    if not isinstance(draws, Mapping):
        array = np.asarray(draws, dtype=np.float64)
        return (array[..., np.newaxis] if array.ndim == 2 else array), names
    if names is not None:
        raise ValueError("names are given twice; expected them by the mapping of draws alone")
    columns, found = [], []
    for name, values in draws.items():
        array = np.asarray(values, dtype=np.float64)
        if array.ndim < 2:
            raise ValueError(f"draws of '{name}' have the shape {array.shape}; expected (chains, draws, ...)")
        flat = array.reshape(*array.shape[:2], -1)
        columns.append(flat)
        found += [name] if array.ndim == 2 else [f"{name}[{','.join(map(str, i))}]" for i in np.ndindex(array.shape[2:])]
    return np.concatenate(columns, axis=2), found


def diagnose(
    draws: RunLike | ArrayLike | Mapping[str, ArrayLike] | Sequence[RunLike],
    *,
    names: Sequence[str] | None = None,
    strict: bool = False,
    all: bool = False,
) -> Diagnosis:
    """R-hat, effective sizes, and what speaks against draws, as ``rpinn diagnose``.

    Parameters
    ----------
    draws : a run or its folder; chains that CmdStan wrote, as a list of CSV files; an array (chains, draws) or (chains, draws, N); or
        a mapping ``{name: (chains, draws, ...)}``.
    names : of the N parameters of an array; default ``theta[0]``, ...
    strict : of runs alone: parameters of networks count too, not only what is predicted.
    all : rows for all scalars in the text, and not only for the worst 20.
    """
    if isinstance(draws, (Run, str, os.PathLike)):
        if names is not None:
            raise ValueError("a run has names of its own; expected none")
        folder = _folder(draws)
        text, healthy = _native.diagnose_run(folder, False, all, strict)
        return Diagnosis(text, json.loads(_native.diagnose_run(folder, True, all, strict)[0]), healthy)
    if strict:
        raise ValueError("strict is for runs")
    if isinstance(draws, Sequence) and draws and isinstance(draws[0], (str, os.PathLike)):
        files = [os.fspath(file) for file in draws]  # type: ignore[arg-type]
        text, healthy = _native.diagnose_csv(files, False, all)
        return Diagnosis(text, json.loads(_native.diagnose_csv(files, True, all)[0]), healthy)
    values, found = _stacked(draws, names)
    if values.ndim != 3:
        raise ValueError(f"draws have {values.ndim} dimensions; expected (chains, draws) or (chains, draws, N)")
    values = np.ascontiguousarray(values)
    chains, length, count = values.shape
    text, healthy = _native.diagnose_draws(values, chains, length, count, found, False, all)
    told = _native.diagnose_draws(values, chains, length, count, found, True, all)[0]
    return Diagnosis(text, json.loads(told), healthy)


# ---- compare ----


def compare(*runs: RunLike) -> pandas.DataFrame:
    """Finished runs side by side, as ``rpinn compare``: rows (quantity, run), a column for each score. Needs the extra ``pandas``."""
    import pandas

    found = json.loads(_native.compare([_folder(run) for run in runs], True))
    rows = {
        (quantity, row["run"]): {key: value for key, value in row.items() if key != "run"}
        for section in ("quantities", "tests")
        for quantity, scored in found[section].items()
        for row in scored
    }
    frame = pandas.DataFrame(list(rows.values()), index=pandas.MultiIndex.from_tuples(rows, names=["quantity", "run"]))
    methods = {row["run"]: row["method"] for row in found["runs"]}
    frame.insert(0, "method", [methods[run] for _, run in rows])
    return frame


# ---- calibrate ----


@dataclass(frozen=True)
class Calibration:
    """Do intervals hold? ``print(calibration)`` prints the tables of ``calibration.md``."""

    text: str
    data: dict[str, Any]
    """``calibration.json``."""
    folder: Path
    """With ``report.html``, ``calibration.csv`` and the scores."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def calibrate(
    problem: Problem | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    source: str | None = None,
    data_sets: int | None = None,
    folds: int | None = None,
    blocks: bool = False,
    redraw: str | None = None,
    methods: str | Sequence[str] | None = None,
    members: int | None = None,
    jobs: int = 1,
    keep_runs: bool = False,
    progress: ProgressArgument = False,
) -> Calibration:
    """How often the truth lies where runs say, over many data sets, as ``rpinn calibrate``; what is scored in ``out`` is not made again.

    Parameters
    ----------
    problem : a problem, a shipped name or a file.
    out : the folder; default ``results/NAME-calibration``, as for the command.
    source : ``"truth"``, ``"prior"`` or ``"data"``, as ``--from``; default: truth where there is one, else data.
    data_sets, folds, blocks, redraw, methods, members, jobs, keep_runs : as the options of the command of these names.
    progress : of the run under way.

    Raises
    ------
    Interrupted
        After Ctrl-C; the same call goes on.
    """
    if not isinstance(problem, Problem):
        problem = Problem.from_yaml(problem)
    for name, value in (("data_sets", data_sets), ("folds", folds), ("jobs", jobs), ("members", members)):
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}; expected 1 or more")
    folder = Path(out) if out is not None else Path("results") / f"{problem.name}-calibration"
    folder.mkdir(parents=True, exist_ok=True)
    listed = methods if methods is None or isinstance(methods, str) else ",".join(methods)
    message = f"interrupted; the scores so far are in {folder}, and the same call goes on"
    try:
        with Shown(progress) as told:
            finished, text, found = _native.calibrate(
                problem._source,
                os.fspath(folder),
                source,
                data_sets or 0,
                folds or 0,
                blocks,
                redraw,
                listed,
                None if members is None else str(members),
                jobs,
                keep_runs,
                told,
                None,
            )
    except KeyboardInterrupt:
        raise Interrupted(message, os.fspath(folder)) from None
    if not finished or text is None or found is None:
        raise Interrupted(message, os.fspath(folder))
    return Calibration(text, json.loads(found), folder)
