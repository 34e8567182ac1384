"""Draws of a small posterior by emcee's ensemble of walkers, all of them in one call."""

import emcee
import numpy as np

import rpinn

problem = rpinn.Problem(
    coordinates={"t": [0, 4]},
    fields={"u": {"network": [2]}},
    unknowns={"rate": {"start": 1, "transform": "log", "prior": {"mean": 0, "std": 0.5}}},
    terms={
        "measured": {"expect": "u", "at": {"grid": 9}, "data": "exp(-0.7*t)", "perturb": True, "noise": 0.05},
        "decay": {"expect": "d(u, t) + rate*u", "at": {"grid": 9}, "data": 0, "noise": 0.1},
    },
    settings={"prior_scale": 2},
)
posterior = problem.posterior()
walkers = np.stack([posterior.start("prior", member) for member in range(4 * posterior.num_parameters)])
np.random.seed(1)
sampler = emcee.EnsembleSampler(len(walkers), posterior.num_parameters, posterior.log_density, vectorize=True)
sampler.run_mcmc(walkers, 2000)
rate = np.exp(sampler.get_chain(discard=1000)[..., -1])  # the unknown comes last, as its logarithm
print(f"rate {rate.mean():.2f} +- {rate.std():.2f}, acceptance {sampler.acceptance_fraction.mean():.2f}")
