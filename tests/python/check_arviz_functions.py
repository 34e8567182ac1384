"""Leave-one-out, predictive checks, sensitivity to the prior and concatenation by ArviZ, with no more than a file.

Usage: check_arviz_functions.py VARIABLE RUN OTHER_RUN, where VARIABLE is what the measured data are called
"""
import sys

import arviz
import matplotlib
import numpy
import xarray

matplotlib.use("Agg")


def dataset(data, name):
    return data[name].to_dataset() if isinstance(data, xarray.DataTree) else data[name]


def check_names(data, variable):
    observed, foretold = dataset(data, "observed_data"), dataset(data, "posterior_predictive")
    likelihood = dataset(data, "log_likelihood")
    assert list(observed.data_vars) == list(foretold.data_vars) == list(likelihood.data_vars) == [variable]
    assert foretold[variable].dims == likelihood[variable].dims == ("chain", "draw", f"{variable}_point")
    assert foretold[variable].shape == likelihood[variable].shape
    assert dataset(data, "log_prior")["u_parameters"].dims == ("chain", "draw")


def check_held_out(data):
    later = dataset(data, "predictions")["later"]
    assert later.dims == ("chain", "draw", "later_point")
    assert dataset(data, "predictions_constant_data")["later_observed"].dims == ("later_point",)


def check_terms(data):
    """The rows of a term, by the coordinate that has its name; the equation beside them."""
    level = dataset(data, "observed_data")["measured"]
    assert level["term"].values.tolist() == 12 * ["level"] + 9 * ["source"]
    constant = dataset(data, "constant_data")
    numpy.testing.assert_array_equal(level.where(level["term"] == "source", drop=True), constant["source_observed"])
    numpy.testing.assert_allclose(constant["ends_observed"], 3 * numpy.cos([-3, 3]))
    foretold = dataset(data, "posterior_predictive")["measured"]
    pieces = foretold.groupby("term").std(("chain", "draw", "measured_point"))
    assert pieces.sel(term="source") > 3 * pieces.sel(term="level")
    assert dataset(data, "tolerance_log_likelihood")["ends"].dims == ("chain", "draw", "ends_point")
    assert dataset(data, "tolerance_posterior_predictive")["ends"].sizes["ends_point"] == 2


def check_before_one(data, other, variable):
    """ArviZ 0.x; plot_loo_pit of it takes no file without a name"""
    arviz.plot_ppc(data)
    arviz.plot_loo_pit(data, y=variable)
    pit = numpy.asarray(arviz.loo_pit(data, y=variable))
    arviz.psens(data, component="prior")
    arviz.compare({"one": data, "other": other})
    both = arviz.concat(data, other, dim="chain")
    assert both.posterior.sizes["chain"] == both.posterior_predictive.sizes["chain"] == 2 * data.posterior.sizes["chain"]
    assert arviz.loo(both).n_samples == 2 * arviz.loo(data).n_samples
    return pit


def check_from_one(data, other, variable):
    """ArviZ 1.x, which leaves concatenation to xarray"""
    arviz.plot_ppc_dist(data)
    arviz.plot_loo_pit(data)
    arviz.psense(data)
    arviz.compare({"one": data, "other": other})
    for name in data.children:
        if "chain" not in dataset(data, name).dims:
            continue
        both = xarray.concat([dataset(data, name), dataset(other, name)], dim="chain")
        assert both.sizes["chain"] == 2 * dataset(data, name).sizes["chain"], name
    return numpy.asarray(arviz.loo_pit(data)[variable])


def main():
    variable = sys.argv[1]
    data, other = (arviz.from_netcdf(f"{folder}/posterior.nc") for folder in sys.argv[2:4])
    check_names(data, variable)
    if "later" in dataset(data, "predictions"):
        check_held_out(data)
    if variable == "measured":
        check_terms(data)
    loo = arviz.loo(data)
    assert loo.n_data_points == dataset(data, "observed_data").sizes[f"{variable}_point"]
    pit = (check_from_one if isinstance(data, xarray.DataTree) else check_before_one)(data, other, variable)
    assert ((0 <= pit) & (pit <= 1)).all() and 0.2 < pit.mean() < 0.8, pit
    elpd = loo.elpd if hasattr(loo, "elpd") else loo.elpd_loo
    print(f"arviz {arviz.__version__}: loo {float(elpd):.2f}, predictive checks and concatenation of {sys.argv[2]}")


main()
