"""Open the sample files that `test_posterior_file FOLDER` writes with ArviZ and xarray, and compare.

Usage: check_posterior_file.py FOLDER
"""
import math
import sys

import arviz
import numpy
import xarray


def number(kind, chain, draw, i):
    """What the test writes as number i of a row; see tests/test_posterior_file.c."""
    return math.sin(ord(kind) + 1000 * chain + 17 * draw + 0.37 * i)


def expected(kind, num_chains, draws, first, count):
    return numpy.array([[[number(kind, c, d, first + i) for i in range(count)] for d in draws]
                        for c in range(num_chains)])


def check_line(groups):
    posterior, stats = groups["posterior"], groups["sample_stats"]
    likelihood, predictions = groups["tolerance_log_likelihood"], groups["predictions"]
    assert dict(posterior.sizes) == {"chain": 2, "draw": 7, "u_parameter": 10, "v_parameter": 13}, posterior.sizes
    assert posterior["u_parameters"].dims == ("chain", "draw", "u_parameter")
    numpy.testing.assert_allclose(posterior["u_parameters"], expected("p", 2, range(7), 0, 10), rtol=1e-14)
    numpy.testing.assert_allclose(posterior["draw_"], expected("p", 2, range(7), 24, 1)[:, :, 0], rtol=1e-14)
    numpy.testing.assert_allclose(numpy.log(posterior["rate"]), groups["unconstrained_posterior"]["rate"],
                                  rtol=1e-12)
    assert posterior.attrs["inference_library"] == "rpinn" and posterior.attrs["method"] == "rpinn"
    assert stats["converged"].dtype == bool
    assert stats["converged"].values.tolist() == [[d % 2 == 0 for d in range(7)]] * 2
    assert stats["member"].dtype == numpy.int64 and stats["member"].values[1, 3] == 106
    assert posterior["draw"].values.tolist() == list(range(7)) and posterior["draw"].dtype == numpy.int64
    numpy.testing.assert_allclose(likelihood["a"], expected("l", 2, range(7), 0, 4), rtol=1e-14)
    assert set(likelihood.data_vars) == {"a", "a_point_", "chain_"}
    assert predictions["u"].dims == ("chain", "draw", "x")
    assert predictions["draw"].values.tolist() == [0, 3, 6]
    assert predictions["x"].values.tolist() == [0.5, -1, 1]
    numpy.testing.assert_allclose(predictions["v"], expected("q", 2, [0, 3, 6], 3, 3), rtol=1e-14)
    numpy.testing.assert_allclose(groups["predictions_constant_data"]["u_truth"], [0.25, 1, 1])
    for name in ("log_likelihood", "observed_data"):  # nothing is measured; ArviZ 0 passes over empty groups
        assert name not in groups or not groups[name].data_vars, name
    assert groups["constant_data"]["a_observed"].dims == ("a_point",)
    assert groups["constant_data"]["a_sigma"].dims == ()
    assert groups["constant_data"]["a_x"].sizes == {"a_point": 4}


def check_plane(groups):
    predictions = groups["predictions"]
    assert predictions["u"].dims == ("chain", "draw", "y", "x")
    assert float(predictions["u"].sel(chain=1, draw=3, x=2, y=-1)) == number("q", 1, 3, 2)
    assert float(groups["predictions_constant_data"]["u_truth"].sel(x=1, y=1)) == 11


def groups_of_tree(tree):
    return {name: node.to_dataset() for name, node in tree.children.items()}


def check(path, check_groups):
    for engine in ("h5netcdf", "netcdf4"):
        with xarray.open_datatree(path, engine=engine) as tree:
            assert not tree.to_dataset().variables, "the root holds attributes only"
            check_groups(groups_of_tree(tree))
    data = arviz.from_netcdf(path)
    if isinstance(data, xarray.DataTree):
        check_groups(groups_of_tree(data))
    else:
        check_groups({name: data[name] for name in data.groups()})
    return data


def main():
    folder = sys.argv[1]
    data = check(f"{folder}/line.nc", check_line)
    check(f"{folder}/plane.nc", check_plane)
    summary = arviz.summary(data, var_names=["rate"])
    assert "rate" in summary.index, summary
    print(f"posterior files: arviz {arviz.__version__} and xarray {xarray.__version__} read them")


main()
