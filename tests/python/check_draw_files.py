"""Open the files that the examples of the library write with ArviZ, and compare leave-one-out and summaries.

Usage: check_draw_files.py CHAINS.nc GIBBS.nc
"""
import sys

import arviz
import numpy
import xarray


def opened(path):
    data = arviz.from_netcdf(path)
    if isinstance(data, xarray.DataTree):
        return data, lambda name: data[name].to_dataset()
    return data, lambda name: data[name]


def main():
    _, group = opened(sys.argv[1])
    posterior, statistics = group("posterior"), group("sample_stats")
    assert dict(posterior.sizes) == {"chain": 8, "draw": 500} and set(posterior.data_vars) == {"height", "weight"}
    assert statistics["diverging"].dtype == bool and statistics["n_steps"].dims == ("chain", "draw")
    correlation = numpy.corrcoef(posterior["height"].values.ravel(), posterior["weight"].values.ravel())[0, 1]
    assert abs(correlation - 0.8) < 0.05, correlation
    rhat = arviz.rhat(posterior)
    assert float(rhat["height"]) < 1.01 and float(rhat["weight"]) < 1.01

    data, group = opened(sys.argv[2])
    assert group("posterior").attrs["method"] == "gibbs" and data.attrs["name"] == "a normal sample"
    assert group("log_likelihood")["y"].dims == ("chain", "draw", "y_dim_0")
    numpy.testing.assert_array_equal(group("observed_data")["y"], [2.1, 1.4, 3.0, 2.6, 1.9, 2.5])
    loo = arviz.loo(data)
    elpd = float(loo.elpd_loo if hasattr(loo, "elpd_loo") else loo.elpd)
    assert -7.2 < elpd < -6.4, elpd
    print(f"draw files: arviz {arviz.__version__} opens both; elpd {elpd:.3f}")


main()
