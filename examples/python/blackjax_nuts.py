"""BlackJAX's NUTS on a posterior: JAX asks for energy and gradient through pure_callback."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

import rpinn

jax.config.update("jax_enable_x64", True)

problem = rpinn.Problem(
    coordinates={"x": [0, 1]},
    fields={"u": {"network": [3]}},
    terms={"measured": {"expect": "u", "at": {"grid": 8}, "data": "x^2", "perturb": True, "noise": 0.1}},
    settings={"prior_scale": 1, "precision": "double"},
)
posterior = problem.posterior()
shape = jax.ShapeDtypeStruct((), jnp.float64), jax.ShapeDtypeStruct((posterior.num_parameters,), jnp.float64)


def both(theta):
    value, gradient = posterior.log_density_and_gradient(np.asarray(theta))
    return np.float64(value), gradient


@jax.custom_vjp
def log_density(theta):
    return jax.pure_callback(both, shape, theta, vmap_method="sequential")[0]


def forward(theta):
    return jax.pure_callback(both, shape, theta, vmap_method="sequential")


def backward(gradient, bar):
    return (bar * gradient,)


log_density.defvjp(forward, backward)

start = jnp.asarray(posterior.start("prior"))
assert np.allclose(jax.grad(log_density)(start), -posterior.gradient(np.asarray(start)))
(state, parameters), _ = blackjax.window_adaptation(blackjax.nuts, log_density).run(jax.random.key(1), start, num_steps=200)
step = jax.jit(blackjax.nuts(log_density, **parameters).step)
densities = []
for key in jax.random.split(jax.random.key(2), 100):
    state, info = step(key, state)
    densities.append(float(state.logdensity))
print(f"log density {np.mean(densities):.2f}, of {len(densities)} draws")
assert np.isclose(densities[-1], posterior.log_density(np.asarray(state.position)))
