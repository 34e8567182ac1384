"""Problems: from files, texts, dictionaries, arrays and DataFrames."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from . import _native
from ._progress import ProgressArgument, Shown
from ._tables import Table, is_table, to_csv
from ._yaml import scalar, to_yaml
from ._errors import Interrupted

if TYPE_CHECKING:
    from ._posterior import Posterior
    from ._run import Run

Setting = Union[str, int, float, bool]
_MEMORY_NAME = "problem.yaml"


@dataclass(frozen=True)
class Check:
    """What ``rpinn check`` shows. ``print(check)`` prints the page; it is true where everything agrees."""

    text: str
    """For people."""
    data: dict[str, Any]
    """The same for programs: terms, counts, sigmas, errors of derivatives, warnings."""
    passed: bool
    """All derivatives agree with finite differences, and every number is finite."""

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def _setting_text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    return scalar(value, name)


def _yes_or_no(value: Any) -> Any:
    """Settings that are switched on and off are ``yes`` and ``no``, at any depth."""
    if isinstance(value, Mapping):
        return {name: _yes_or_no(item) for name, item in value.items()}
    return ("yes" if value else "no") if isinstance(value, bool) else value


def _overrides(values: Mapping[str, object], setting_only: bool) -> tuple[tuple[str, str, str, bool], ...]:
    return tuple((name, _setting_text(name, value), name, setting_only) for name, value in values.items())


class Problem:
    """An inverse problem: coordinates, fields, terms, and how it is to be solved.

    The sections are those of a problem file (``docs/problem-files.md``), as dictionaries. Expressions are texts::

        problem = rpinn.Problem(
            coordinates={"x": [-1, 1]},
            fields={"u": {"network": [50, 50]}},
            quantities={"f": "d(u, x, x)/pi^2"},
            terms={"f": {"expect": "f", "at": {"grid": 32}, "data": "-sin(pi*x)", "noise": 0.1},
                   "u": {"expect": "u", "data": {"x": x, "value": u}, "noise": 0.05}},
        )

    Wherever a section names a CSV file (``data`` of a term or of the problem, ``csv`` of ``at``, ``predict`` and ``truth``, ``given`` of
    ``gaussian``), a mapping of arrays or a DataFrame with the same columns may stand in its place; ``truth`` may be a DataFrame.

    Parameters
    ----------
    coordinates, fields, terms : the sections that every problem has.
    name : what run folders are called after.
    data : a table of all terms with columns ``term``, the coordinates, ``value`` and, if known, ``noise``; as ``--data``.
    constants, unknowns, quantities, truth, prior, predict, settings, presets, units : the further sections.

    Raises
    ------
    InputError
        With ``file`` (``problem.yaml``, or the name of a table), ``line`` and ``column`` in the text that :attr:`text` shows.
    """

    def __init__(
        self,
        *,
        coordinates: Mapping[str, Any],
        fields: Mapping[str, Any],
        terms: Mapping[str, Any],
        name: str = "problem",
        constants: Mapping[str, Any] | None = None,
        unknowns: Mapping[str, Any] | None = None,
        quantities: Mapping[str, Any] | None = None,
        truth: Any = None,
        prior: Mapping[str, Any] | None = None,
        predict: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        presets: Mapping[str, Any] | None = None,
        units: Mapping[str, Any] | None = None,
        data: Table | str | os.PathLike[str] | None = None,
    ) -> None:
        tables: dict[str, bytes] = {}

        def named(value: Any, file: str) -> Any:
            if isinstance(value, os.PathLike):
                return os.fspath(value)
            if not is_table(value):
                return value
            tables[file] = to_csv(value)
            return file

        def with_points(value: Any, file: str) -> Any:
            if isinstance(value, Mapping) and "csv" in value:
                return {**value, "csv": named(value["csv"], file)}
            return value

        written_terms: dict[str, Any] = {}
        for term, entries in terms.items():
            written = dict(entries)
            if "data" in written:
                written["data"] = named(written["data"], f"{term}.data.csv")
            if "at" in written:
                written["at"] = with_points(written["at"], f"{term}.points.csv")
            gaussian = written.get("gaussian")
            if isinstance(gaussian, Mapping) and "given" in gaussian:
                written["gaussian"] = {**gaussian, "given": named(gaussian["given"], f"{term}.given.csv")}
            written_terms[term] = written
        if hasattr(truth, "columns"):
            truth = named(truth, "truth.csv")
        elif isinstance(truth, Mapping) and "csv" in truth:
            truth = with_points(truth, "truth.csv")
        sections: dict[str, Any] = {
            "name": name,
            "coordinates": coordinates,
            "constants": constants,
            "fields": fields,
            "unknowns": unknowns,
            "quantities": quantities,
            "units": units,
            "truth": truth,
            "data": None if data is None else named(data, "data.csv"),
            "terms": written_terms,
            "prior": prior,
            "predict": None if predict is None else with_points(predict, "predict.csv"),
            "settings": _yes_or_no(settings),
            "presets": _yes_or_no(presets),
        }
        text = to_yaml({key: value for key, value in sections.items() if value is not None})
        files = ((_MEMORY_NAME, text.encode()), *tables.items())
        self._take(_MEMORY_NAME, files, None, (), None, None)

    def _take(
        self,
        name: str,
        files: tuple[tuple[str, bytes], ...],
        preset: str | None,
        overrides: tuple[tuple[str, str, str, bool], ...],
        data_file: str | None,
        truth: str | None,
    ) -> None:
        self._source: _native.Source = (name, files, preset, overrides, data_file, truth)
        self._native = _native.Problem(self._source)

    @classmethod
    def _from_source(cls, source: _native.Source) -> Problem:
        problem = cls.__new__(cls)
        problem._take(*source)
        return problem

    @classmethod
    def from_yaml(
        cls,
        source: str | os.PathLike[str],
        *,
        preset: str | None = None,
        data: Table | str | os.PathLike[str] | None = None,
        truth: str | None = None,
        constants: Mapping[str, Setting] | None = None,
        tables: Mapping[str, Table] | None = None,
        **settings: Setting,
    ) -> Problem:
        """A problem from a file, the name of a shipped problem (``"poisson-linear"``), or a text.

        Parameters
        ----------
        source : a path, a shipped name, or the YAML itself (a text with a line break).
        preset : one of the file's presets.
        data : points and values of all terms, as ``--data``: a CSV file, a mapping of arrays or a DataFrame.
        truth : YAML in place of the section ``truth``, as ``--truth``.
        constants : values of constants of the file, as ``--set``.
        tables : arrays or DataFrames in place of the CSV files of these names.
        settings : any setting by its name: ``method="nuts"``, ``seed=1``, ``prior_scale=2``.
        """
        name = os.fspath(source)
        files: list[tuple[str, bytes]] = []
        if isinstance(source, str) and "\n" in source:
            name = _MEMORY_NAME
            files.append((name, source.encode()))
        for file, table in (tables or {}).items():
            files.append((file, to_csv(table)))
        data_file: str | None = None
        if isinstance(data, (str, os.PathLike)):
            data_file = os.fspath(data)
        elif data is not None:
            data_file = "data.csv"
            files.append((data_file, to_csv(data)))
        overrides = _overrides(constants or {}, False) + _overrides(settings, True)
        return cls._from_source((name, tuple(files), preset, overrides, data_file, truth))

    def with_settings(self, **settings: Setting) -> Problem:
        """The same problem with other settings."""
        name, files, preset, overrides, data_file, truth = self._source
        kept = tuple(row for row in overrides if not (row[3] and row[0] in settings))
        return self._from_source((name, files, preset, kept + _overrides(settings, True), data_file, truth))

    # ---- what it holds ----

    @property
    def name(self) -> str:
        """What run folders are called after."""
        return self._native.name

    @property
    def text(self) -> str | None:
        """The problem as YAML where it was given as a text or as dictionaries; ``None`` where it is a file or a shipped name."""
        name, files = self._source[:2]
        found = dict(files).get(name)
        return None if found is None else found.decode()

    @property
    def coordinates(self) -> dict[str, tuple[float, float]]:
        """The domain: ``{name: (low, high)}``."""
        return {name: (low, high) for name, low, high in self._native.coordinates}

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of all terms, held-out ones too."""
        return self._native.terms

    @property
    def quantities(self) -> tuple[str, ...]:
        """What can be predicted: fields, then quantities."""
        return self._native.predictable

    @property
    def presets(self) -> tuple[str, ...]:
        return self._native.presets

    @property
    def settings(self) -> dict[str, str]:
        """All settings, as they are resolved."""
        return self._native.settings

    def __repr__(self) -> str:
        coordinates = ", ".join(f"{name} in [{low:g}, {high:g}]" for name, (low, high) in self.coordinates.items())
        return f"<rpinn.Problem {self.name}: {', '.join(self.quantities)} over {coordinates}; terms {', '.join(self.terms)}>"

    def __reduce__(self) -> tuple[object, ...]:
        return Problem._from_source, (self._source,)

    # ---- what is done with it ----

    def check(self) -> Check:
        """Compile the problem and test its derivatives, as ``rpinn check`` does. Missing data count as zeros."""
        text, passed = self._native.check(False)
        return Check(text, json.loads(self._native.check(True)[0]), passed)

    def check_prior(self, *, out: str | os.PathLike[str] | None = None, progress: ProgressArgument = False) -> str:
        """What the prior alone says, as ``rpinn check --prior``: its scale as the data choose it, and draws of it beside them.

        ``out`` is a folder that the page goes to.
        """
        with Shown(progress) as told:
            return self._native.check_prior(False, None if out is None else os.fspath(out), told)

    def plan(self) -> str:
        """What a run would do, and estimates of its time, memory and disk, as ``rpinn run --plan``."""
        return self._native.plan()

    def run(
        self,
        *,
        out: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: ProgressArgument = False,
        **settings: Setting,
    ) -> Run:
        """Sample the posterior into a run folder, as ``rpinn run``: for the same settings the draws have the same bits.

        Parameters
        ----------
        out : the folder; default ``results/NAME-METHOD``, as for the command. One that holds a run already is refused, unless ``resume``.
        resume : go on with the run in the folder; begin where it is absent or empty.
        progress : ``True`` for a bar, or a function that gets a :class:`rpinn.Progress`.
        settings : any setting by its name: ``method="rpinn"``, ``samples=200``, ``seed=1``, ``threads=2``.

        Raises
        ------
        Interrupted
            After Ctrl-C, or a ``time_limit`` that left nothing to show. What was made is saved; ``resume=True`` ends in the same bytes
            as a run that was never stopped.
        """
        from ._run import Run

        problem = self.with_settings(**settings) if settings else self
        folder = Path(out) if out is not None else Path("results") / f"{problem.name}-{problem.settings['method']}"
        message = f"interrupted; what was made so far is saved in {folder}, and resume=True goes on"
        try:
            with Shown(progress) as told:
                finished = problem._native.run(os.fspath(folder), resume, told)
        except KeyboardInterrupt:
            raise Interrupted(message, os.fspath(folder)) from None
        if not finished:
            raise Interrupted(message, os.fspath(folder))
        return Run(folder)

    def posterior(self, **settings: Setting) -> Posterior:
        """The posterior as functions of the parameters: energy, gradient, residuals, Jacobian.

        ``settings`` may name ``backend`` and ``precision``. Where the data choose the scale of the prior (the default), give
        ``prior_scale``, or take ``run.problem.posterior()`` of a finished run, which has the chosen one.
        """
        from ._posterior import Posterior

        return Posterior(self.with_settings(**settings) if settings else self)


def shipped() -> dict[str, str]:
    """The problems that come with the library: ``{name: text}``."""
    return dict(_native.shipped_problems())


def methods() -> dict[str, str]:
    """What the setting ``method`` chooses from: ``{name: what it makes}``."""
    return dict(_native.method_list())
