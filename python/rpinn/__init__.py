"""Bayesian inversion of PDEs with physics-informed networks: the C library rpinn.

::

    import rpinn
    run = rpinn.Problem.from_yaml("poisson-linear").run(method="rpinn", samples=200, progress=True)
    run.plot()

The page ``docs/python.md`` has all of it.
"""

from ._errors import Error, Fault, InputError, Interrupted, OutOfMemory, RpinnWarning, Unsupported
from ._native import version as __version__
from ._posterior import Posterior
from ._prediction import Prediction
from ._problem import Check, Problem, methods, shipped
from ._progress import Progress
from ._run import Run
from ._run import open_run as open
from ._samplers import Draws, Particles, nuts, svgd
from ._study import Calibration, Diagnosis, calibrate, compare, diagnose

__all__ = [
    "Calibration",
    "Check",
    "Diagnosis",
    "Draws",
    "Error",
    "Fault",
    "InputError",
    "Interrupted",
    "OutOfMemory",
    "Particles",
    "Posterior",
    "Prediction",
    "Problem",
    "Progress",
    "RpinnWarning",
    "Run",
    "Unsupported",
    "__version__",
    "calibrate",
    "compare",
    "diagnose",
    "methods",
    "nuts",
    "open",
    "shipped",
    "svgd",
]
