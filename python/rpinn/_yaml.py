"""Problems from Python values as the YAML that the library reads: mappings, lists, texts and numbers, nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def scalar(value: object, where: str) -> str:
    """A number, a text or a truth value, as one would write it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, str):
        return value
    raise TypeError(f"{where} is of type {type(value).__name__}; expected a number, a text, a list or a mapping")


def _value(value: Any, where: str) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(str(key))}: {_value(item, f'{where}.{key}')}" for key, item in value.items()) + "}"
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_value(item, f"{where}[{i}]") for i, item in enumerate(value)) + "]"
    text = scalar(value, where)
    return _quoted(text) if isinstance(value, str) else text


def to_yaml(sections: Mapping[str, Any]) -> str:
    """A line for each section, and one for each entry of those with entries."""
    lines = []
    for name, section in sections.items():
        if isinstance(section, Mapping) and section:
            lines.append(f"{name}:")
            lines.extend(f"  {_quoted(str(key))}: {_value(value, f'{name}.{key}')}" for key, value in section.items())
        else:
            lines.append(f"{name}: {_value(section, name)}")
    return "\n".join(lines) + "\n"
