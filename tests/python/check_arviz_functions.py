"""Leave-one-out, predictive checks, sensitivity to the prior and concatenation by ArviZ, with no more than a file.

Usage: check_arviz_functions.py RUN OTHER_RUN
"""
import sys

import arviz
import matplotlib
import numpy
import xarray

matplotlib.use("Agg")


def dataset(data, name):
    return data[name].to_dataset() if isinstance(data, xarray.DataTree) else data[name]


def check_names(data):
    observed, foretold = dataset(data, "observed_data"), dataset(data, "posterior_predictive")
    likelihood = dataset(data, "log_likelihood")
    assert list(observed.data_vars) == list(foretold.data_vars) == list(likelihood.data_vars) == ["level"]
    assert foretold["level"].dims == likelihood["level"].dims == ("chain", "draw", "level_point")
    assert foretold["level"].shape == likelihood["level"].shape
    later = dataset(data, "predictions")["later"]
    assert later.dims == ("chain", "draw", "later_point")
    assert dataset(data, "predictions_constant_data")["later_observed"].dims == ("later_point",)
    assert dataset(data, "log_prior")["u_parameters"].dims == ("chain", "draw")


def check_before_one(data, other):
    """ArviZ 0.x"""
    arviz.plot_ppc(data)
    arviz.plot_loo_pit(data, y="level")
    pit = numpy.asarray(arviz.loo_pit(data, y="level"))
    arviz.psens(data, component="prior")
    both = arviz.concat(data, other, dim="chain")
    assert both.posterior.sizes["chain"] == both.posterior_predictive.sizes["chain"] == 2
    return pit


def check_from_one(data, other):
    """ArviZ 1.x, which leaves concatenation to xarray"""
    arviz.plot_ppc_dist(data)
    arviz.plot_loo_pit(data)
    arviz.psense(data)
    for name in ("posterior", "posterior_predictive", "log_likelihood", "log_prior", "predictions"):
        both = xarray.concat([dataset(data, name), dataset(other, name)], dim="chain")
        assert both.sizes["chain"] == 2, name
    return numpy.asarray(arviz.loo_pit(data)["level"])


def main():
    data, other = (arviz.from_netcdf(f"{folder}/posterior.nc") for folder in sys.argv[1:3])
    check_names(data)
    loo = arviz.loo(data)
    assert loo.n_data_points == dataset(data, "observed_data").sizes["level_point"]
    pit = (check_from_one if isinstance(data, xarray.DataTree) else check_before_one)(data, other)
    assert ((0 <= pit) & (pit <= 1)).all() and 0.2 < pit.mean() < 0.8, pit
    elpd = loo.elpd if hasattr(loo, "elpd") else loo.elpd_loo
    print(f"arviz {arviz.__version__}: loo {float(elpd):.2f}, predictive checks and concatenation of our files")


main()
