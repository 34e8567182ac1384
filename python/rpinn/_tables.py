"""Arrays and DataFrames as the tables that a problem names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np

Table = Union[Mapping[str, Any], Any]
"""Columns by name: a mapping of arrays, or a DataFrame."""


def _cells(name: str, values: Any) -> list[str]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"column '{name}' has {array.ndim} dimensions; expected one")
    if array.dtype.kind in "fiub":
        # The shortest digits that give the same double again; a cell without a number is empty.
        return ["" if number != number else repr(number) for number in array.astype(np.float64).tolist()]
    cells = []
    for cell in array.tolist():
        text = str(cell)
        if "\n" in text or "\r" in text:
            raise ValueError(f"column '{name}' has a cell with a line break")
        cells.append('"' + text.replace('"', '""') + '"')
    return cells


def is_table(value: object) -> bool:
    """Is it a mapping of columns or a DataFrame, and not a text?"""
    return isinstance(value, Mapping) or (hasattr(value, "columns") and hasattr(value, "__getitem__"))


def to_csv(table: Table) -> bytes:
    """The table as CSV with a header. Numbers keep all their digits; NaN is an empty cell."""
    names: Sequence[str] = list(table.columns) if hasattr(table, "columns") else list(table)
    columns = [_cells(str(name), table[name]) for name in names]
    if not columns:
        raise ValueError("a table without columns")
    if len({len(column) for column in columns}) != 1:
        lengths = ", ".join(f"{name} {len(column)}" for name, column in zip(names, columns))
        raise ValueError(f"columns of different lengths: {lengths}")
    rows = [",".join('"' + str(name).replace('"', '""') + '"' for name in names)]
    rows.extend(",".join(row) for row in zip(*columns))
    return ("\n".join(rows) + "\n").encode()
