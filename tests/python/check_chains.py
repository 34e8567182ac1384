"""Open the posterior.nc of a run by NUTS with ArviZ, and compare its convergence statistics with ours.

Usage: check_chains.py RUN
"""
import csv
import sys

import arviz
import numpy
import xarray


def main():
    folder = sys.argv[1]
    data = arviz.from_netcdf(f"{folder}/posterior.nc")
    is_tree = isinstance(data, xarray.DataTree)
    group = (lambda name: data[name].to_dataset()) if is_tree else (lambda name: data[name])
    posterior, statistics = group("posterior"), group("sample_stats")
    diagnostics = xarray.open_dataset(f"{folder}/posterior.nc", group="constant_data/diagnostics")
    warmup = group("warmup_posterior")
    assert warmup.sizes["chain"] == posterior.sizes["chain"] and warmup.sizes["draw"] > 0
    assert statistics["diverging"].dtype == bool and statistics["reached_max_treedepth"].dtype == bool
    for name in ("lp", "acceptance_rate", "step_size", "tree_depth", "n_steps", "energy", "energy_error"):
        assert statistics[name].dims == ("chain", "draw"), name
    assert float(statistics["n_steps"].max()) <= 2 ** float(statistics["tree_depth"].max() + 1)

    # Parameters are stored in single precision, predictions in double: ranks of the latter are exact.
    predictions = group("predictions")
    assert predictions.sizes["draw"] == posterior.sizes["draw"], "predictions of every draw are needed here"
    for quantity in ("u", "f"):
        rhat = arviz.rhat(predictions[[quantity]])[quantity]
        bulk = arviz.ess(predictions[[quantity]], method="bulk")[quantity]
        tail = arviz.ess(predictions[[quantity]], method="tail", prob=(0.05, 0.95))[quantity]
        numpy.testing.assert_allclose(rhat, diagnostics[f"{quantity}_rhat"], rtol=1e-6)
        numpy.testing.assert_allclose(bulk, diagnostics[f"{quantity}_ess_bulk"], rtol=1e-6)
        numpy.testing.assert_allclose(tail, diagnostics[f"{quantity}_ess_tail"], rtol=1e-6)
    rhat = arviz.rhat(posterior[["u_parameters"]])["u_parameters"]
    numpy.testing.assert_allclose(rhat, diagnostics["u_parameters_rhat"], rtol=2e-2)
    assert numpy.median(numpy.abs(rhat / diagnostics["u_parameters_rhat"] - 1)) < 1e-6, "most ranks survive rounding"

    with open(f"{folder}/diagnostics.csv", encoding="ascii") as lines:
        rows = [row for row in csv.DictReader(lines) if row["group"] == "quantity" and row["name"] == "u"]
    numpy.testing.assert_allclose([float(row["rhat"]) for row in rows], diagnostics["u_rhat"], rtol=1e-12)
    energy = numpy.asarray(statistics["energy"])
    bfmi = numpy.mean(numpy.diff(energy, axis=1) ** 2, axis=1) / numpy.var(energy, axis=1, ddof=1)
    print(f"chains: arviz {arviz.__version__} finds the same R-hat and effective sizes; E-BFMI {numpy.round(bfmi, 3)}")


main()
