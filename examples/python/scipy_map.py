"""The most probable parameters by SciPy: the energy with L-BFGS, and the same as least squares with the prior as further rows."""

import numpy as np
from scipy.optimize import least_squares, minimize

import rpinn

problem = rpinn.Problem(
    coordinates={"x": [-1, 1]},
    fields={"u": {"network": [12]}},
    terms={
        "f": {"expect": "d(u, x, x)", "at": {"grid": 16}, "data": "-pi^2*sin(pi*x)", "perturb": True, "noise": 0.3},
        "b": {"expect": "u", "at": {"boundary": "all"}, "data": 0, "noise": 0.1},
    },
    settings={"prior_scale": 3, "precision": "double"},
)
posterior = problem.posterior()
start = posterior.start("prior")

found = minimize(posterior.energy_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": 3000, "maxfun": 4000})
print(f"L-BFGS: energy {found.fun:.3f} after {found.nfev} calls, {found.message}")

# E = 1/2 |r|^2 + 1/2 |P theta|^2: the prior's rows are P theta, and P follows from its energy along each axis.
axes = np.eye(posterior.num_parameters)
root = np.sqrt(2 * posterior.term_energies(axes)["prior"])


def rows(theta):
    return np.concatenate([posterior.residuals(theta), root * theta])


def jacobian(theta):
    return np.vstack([posterior.jacobian(theta), np.diag(root)])


squares = least_squares(rows, start, jac=jacobian, method="lm")
print(f"Levenberg-Marquardt: energy {squares.cost:.3f} after {squares.nfev} calls")
assert np.isclose(squares.cost, posterior.energy(squares.x), rtol=1e-8)
assert max(squares.cost, found.fun) < posterior.energy(start) / 10
