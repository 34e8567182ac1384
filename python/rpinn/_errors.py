"""What the library fails with, as exceptions."""

from __future__ import annotations

from typing import NoReturn


class Error(Exception):
    """Anything that the library fails with.

    Attributes
    ----------
    message : what was found, what was expected, and a suggestion.
    status : the name of the C status, such as ``"ERROR_INPUT"``.
    file : the file that caused it, or ``None``.
    line, column : 1-based, the column in bytes; ``None`` where they are not known.
    """

    def __init__(
        self,
        message: str,
        status: str = "",
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        place = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.status = status
        self.file = file
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.status, self.file, self.line, self.column)


class InputError(Error, ValueError):
    """A problem, a table, a setting or an argument that makes no sense. Nothing was started."""


class Unsupported(InputError):
    """Something that this build or this machine does not offer."""


class Fault(Error, RuntimeError):
    """The machine failed: a full disk, no memory, a lost device. Finished work is safe."""


class OutOfMemory(Fault, MemoryError):
    """There is not enough memory."""


class Interrupted(KeyboardInterrupt):
    """A run was ended before its time. What was made is saved in ``folder``; ``resume=True`` goes on from there."""

    def __init__(self, message: str, folder: str | None = None) -> None:
        super().__init__(message)
        self.folder = folder


class RpinnWarning(UserWarning):
    """What the library warns of."""


_classes: dict[str, type[Error]] = {
    "ERROR_INPUT": InputError,
    "ERROR_UNSUPPORTED": Unsupported,
    "ERROR_MEMORY": OutOfMemory,
}


def raise_failure(status: str, message: str, file: str, line: int, column: int) -> NoReturn:
    """Called by the native module: raise what a status of C stands for."""
    if status == "ERROR_INTERRUPTED":
        raise Interrupted(message)
    raise _classes.get(status, Fault)(message, status, file or None, line or None, column or None)
