"""Lines that the library writes while it works: warnings are warnings, the rest goes to the logger ``rpinn``."""

from __future__ import annotations

import logging
import warnings

from ._errors import RpinnWarning

logger = logging.getLogger("rpinn")
_LEVELS = (logging.DEBUG, logging.INFO)
_WARNING = 2


def tell(level: int, line: str) -> None:
    """Called by the native module, in the thread that called it."""
    if level >= _WARNING:
        warnings.warn(line, RpinnWarning, stacklevel=4)
    else:
        logger.log(_LEVELS[level], "%s", line)
