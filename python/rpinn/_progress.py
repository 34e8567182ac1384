"""A bar for what takes a while: one line in terminals and notebooks, no line at all elsewhere unless it is asked for."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO, Union


@dataclass(frozen=True)
class Progress:
    """How far a run is, as a function for ``progress=`` gets it."""

    unit: str
    """What ``done`` and ``total`` count: members, iterations."""
    done: int
    total: int
    failed: int
    """Members."""
    divergences: int
    """Of chains."""
    iterations: int
    """Over all members or chains."""
    loss_low: float
    """5 % of the losses so far; NaN before the first, as the next two."""
    loss_median: float
    loss_high: float
    seconds: float
    seconds_left: float
    """An estimate; NaN while there is none."""
    last: bool
    """No further report follows."""


Told = Callable[..., None]
ProgressArgument = Union[bool, Callable[[Progress], None]]
"""``True``: a bar. ``False``: nothing. A function: it is called with a :class:`Progress` some ten times a second."""


def _duration(seconds: float) -> str:
    if math.isnan(seconds):
        return "?"
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def line_of(progress: Progress, width: int = 24) -> str:
    """The bar as text: ``37%|#########               | 74/200 members [00:03<00:05, loss 103.2]``."""
    share = min(progress.done / progress.total, 1.0) if progress.total else 0.0
    notes = [f"{_duration(progress.seconds)}<{_duration(0.0 if progress.last else progress.seconds_left)}"]
    if not math.isnan(progress.loss_median):
        notes.append(f"loss {progress.loss_median:.4g}")
    if progress.divergences:
        notes.append(f"{progress.divergences} divergences")
    if progress.failed:
        notes.append(f"{progress.failed} failed")
    bar = "#" * int(share * width)
    return f"{share:4.0%}|{bar:<{width}}| {progress.done}/{progress.total} {progress.unit} [{', '.join(notes)}]"


class Bar:
    """Writes the line over itself."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        # A notebook writes over a line as a terminal does; a file gets a line every ten seconds.
        self._overwrites = stream.isatty() or type(stream).__module__.startswith("ipykernel")
        self._next = 0.0
        self._length = 0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now < self._next and not progress.last:
            return
        self._next = now + (0.1 if self._overwrites else 10)
        line = line_of(progress)
        self._stream.write("\r" + line.ljust(self._length) if self._overwrites else line + "\n")
        self._length = len(line)
        self._stream.flush()

    def close(self) -> None:
        """Leave the line as it is."""
        if self._length and self._overwrites:
            self._stream.write("\n")
            self._stream.flush()
        self._length = 0


class Shown:
    """``with Shown(progress) as told: native(..., told)``: what the native module is given, and the end of the line."""

    def __init__(self, progress: ProgressArgument) -> None:
        self._bar = Bar(sys.stderr) if progress is True else None
        self._show: Callable[[Progress], None] | None = None
        if callable(progress):
            self._show = progress
        elif self._bar is not None:
            self._show = self._bar

    def __enter__(self) -> Told | None:
        show = self._show
        if show is None:
            return None

        def told(*values: object) -> None:
            show(Progress(*values))  # type: ignore[arg-type]

        return told

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()
