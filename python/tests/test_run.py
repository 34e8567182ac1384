"""Runs: the bits of the command, progress, interruptions, results as frames, arrays and figures; mistakes of every method."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL

import rpinn

COMMAND = os.environ.get("RPINN_COMMAND")
METHODS = {
    "map": {},
    "rpinn": {"samples": 4},
    "ensemble": {"samples": 4},
    "nuts": {"samples": 5, "chains": 2, "warmup": 5, "max_depth": 3},
    "svgd": {"samples": 4, "iterations": 5},
    "laplace": {"samples": 5},
    "vi": {"samples": 5, "iterations": 200, "starts": 1},
}


def test_methods_are_all_here() -> None:
    assert set(METHODS) == set(rpinn.methods())


@pytest.mark.skipif(COMMAND is None, reason="RPINN_COMMAND does not name the command")
@pytest.mark.parametrize("method", METHODS)
def test_bits_are_those_of_the_command(method: str, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    settings = {"method": method, "seed": 5, **METHODS[method]}
    flags = [word for name, value in settings.items() for word in ("--" + name.replace("_", "-"), str(value))]
    assert COMMAND is not None
    subprocess.run([COMMAND, "run", "small.yaml", "--quiet", "--out", "command", *flags], cwd=tmp_path, check=True)
    rpinn.Problem.from_yaml(tmp_path / "small.yaml").run(out=tmp_path / "python", **settings)
    for file in ("posterior.nc", "predictions.csv", "run.yaml"):
        assert (tmp_path / "command" / file).read_bytes() == (tmp_path / "python" / file).read_bytes(), file


@pytest.mark.parametrize("method", METHODS)
def test_every_method_refuses_what_it_cannot_do(method: str, small: rpinn.Problem, tmp_path: Path) -> None:
    with pytest.raises(rpinn.InputError):
        small.run(out=tmp_path / "run", method=method, samples=0)
    with pytest.raises(rpinn.InputError, match="did you mean"):
        small.run(out=tmp_path / "run", method=method[:-1] + "x", samples=2)
    with pytest.raises(rpinn.InputError):
        small.run(out=tmp_path / "run", method=method, backend="abacus")
    assert not (tmp_path / "run").exists()
    small.run(out=tmp_path / "run", method=method, **METHODS[method])
    with pytest.raises(rpinn.InputError, match="run"):
        small.run(out=tmp_path / "run", method=method, **METHODS[method])  # a folder that holds a run
    with pytest.raises(rpinn.InputError):
        small.run(out=tmp_path / "run", method=method, resume=True, **{**METHODS[method], "seed": 99})  # another run


def test_progress_is_told(small: rpinn.Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[rpinn.Progress] = []
    small.run(out=tmp_path / "told", samples=6, progress=told.append)
    assert told[-1].last and (told[-1].done, told[-1].total, told[-1].unit) == (6, 6, "members")
    small.run(out=tmp_path / "bar", samples=6, progress=True)
    assert "100%|########################| 6/6 members" in capsys.readouterr().err
    small.run(out=tmp_path / "quiet", samples=6)
    assert capsys.readouterr().err == ""


def test_exceptions_of_callbacks_end_the_run(small: rpinn.Problem, tmp_path: Path) -> None:
    def fail(progress: rpinn.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        small.run(out=tmp_path / "run", samples=100, progress=fail)
    assert small.run(out=tmp_path / "run", samples=100, resume=True).info["samples"] == 100


def test_interrupted_runs_resume_to_the_same_bytes(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import os, signal, sys, rpinn
        problem = rpinn.Problem.from_yaml(sys.stdin.read())
        def stop(progress):
            if progress.done >= 20: os.kill(os.getpid(), signal.SIGINT)
        try:
            problem.run(out=sys.argv[1], samples=3000, threads=2, progress=stop)
        except rpinn.Interrupted as end:
            assert isinstance(end, KeyboardInterrupt) and end.folder == sys.argv[1] and "resume=True" in str(end)
            print("interrupted")
        """
    )
    folder = tmp_path / "stopped"
    done = subprocess.run([sys.executable, "-c", program, str(folder)], input=SMALL, capture_output=True, text=True, check=True)
    assert done.stdout == "interrupted\n", done.stderr
    assert not (folder / "posterior.nc").exists()
    with pytest.raises(rpinn.InputError):
        rpinn.open(folder)  # unfinished
    problem = rpinn.Problem.from_yaml(SMALL)
    problem.run(out=folder, samples=3000, resume=True)
    problem.run(out=tmp_path / "whole", samples=3000)
    assert (folder / "posterior.nc").read_bytes() == (tmp_path / "whole" / "posterior.nc").read_bytes()


def test_the_gil_is_released(small: rpinn.Problem, tmp_path: Path) -> None:
    ticks = 0
    over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not over.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    small.run(out=tmp_path / "run", samples=1500, threads=1)
    seconds = time.monotonic() - began
    over.set()
    thread.join()
    assert ticks > 20 * seconds, f"{ticks} ticks in {seconds} s"


def test_open_summary_and_pages(run: rpinn.Run, small: rpinn.Problem) -> None:
    again = rpinn.open(run.folder)
    assert again.info == run.info and again.verdict in ("good", "fair", "bad")
    assert "verdict" in repr(again) and "small" in str(again)
    page = again._repr_html_()
    assert "small by rpinn" in page and "report.html" in page and "<script" not in page
    assert (run.folder / "report.html").exists()
    assert run.report() == run.folder / "report.html"
    pandas = pytest.importorskip("pandas")
    frame = run.summary()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.loc["u", "rl2"] == run.info["quantities"]["u"]["rl2"]


def test_predictions(run: rpinn.Run, chains: rpinn.Run) -> None:
    made = run.predict_arrays([0.0, 0.5, 1.0])
    assert made.draws is not None and made.draws["u"].shape == (1, 40, 3)
    assert np.allclose(made.draws["slope"].mean(axis=(0, 1)), made.mean["slope"], rtol=1e-12)
    assert np.allclose(made.draws["u"].std(axis=(0, 1), ddof=1), made.std["u"], rtol=1e-10)
    columns = np.genfromtxt(run.folder / "predictions.csv", delimiter=",", names=True)
    assert np.array_equal(made.mean["u"], columns["u_mean"][:3])  # at the same points, the same bits
    assert np.array_equal(made.q975["slope"], columns["slope_q975"][:3])
    one = run.predict_arrays({"x": [0.25]}, "slope", draws=False)
    assert one.draws is None and list(one.mean) == ["slope"] and one.points["x"].tolist() == [0.25]
    of_chains = chains.predict_arrays(np.array([[0.25], [0.5]]), ["slope", "u"])
    assert of_chains.draws is not None and of_chains.draws["u"].shape == (2, 50, 2)
    xarray = pytest.importorskip("xarray")
    data = run.predict([0.0, 0.5])
    assert isinstance(data, xarray.Dataset)
    assert data["u"].dims == ("chain", "draw", "point") and data["x"].values.tolist() == [0.0, 0.5]
    assert np.array_equal(data["u_median"], run.predict_arrays([0.0, 0.5]).median["u"])


def test_mistakes_of_predictions(run: rpinn.Run) -> None:
    with pytest.raises(rpinn.InputError, match="outside the domain; expected 0 to 2"):
        run.predict([2.5])
    assert run.predict_arrays([2.5], extrapolate=True).mean["u"].shape == (1,)
    with pytest.raises(rpinn.InputError, match="did you mean 'slope'"):
        run.predict([0.5], "slop")
    with pytest.raises(rpinn.InputError, match="no points"):
        run.predict(np.empty((0, 1)))
    with pytest.raises(ValueError, match=r"expected \(P, 1\)"):
        run.predict([[0.5, 0.5]])
    with pytest.raises(ValueError, match="no 'x'"):
        run.predict({"t": [0.5]})
    with pytest.raises(rpinn.InputError):
        run.predict([np.nan])


def test_figures(run: rpinn.Run, tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = run.plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["u", "slope"]
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    has_data = importlib.util.find_spec("xarray") is not None
    assert labels == ["95 %", "mean", "truth"] + (["data"] if has_data else [])
    figure.savefig(tmp_path / "figure.png")
    assert len(run.plot("u").axes) == 1
    with pytest.raises(ValueError, match="no 'v'"):
        run.plot("v")
    flat = rpinn.Problem(
        coordinates={"x": [0, 1], "y": [0, 1]},
        fields={"u": {"network": [3]}},
        truth={"u": "x*y"},
        terms={"u": {"expect": "u", "at": {"grid": [3, 3]}, "data": "truth", "noise": 0.1}},
        predict={"grid": [5, 5], "quantities": ["u"]},
        settings={"prior_scale": 1, "samples": 40, "iterations": 5},
    ).run(out=tmp_path / "flat")
    titles = [axes.get_title() for axes in flat.plot().axes]
    assert [title for title in titles if title] == ["u_mean", "u_std", "u_truth", "u_error"]
    matplotlib.pyplot.close("all")


def test_figures_of_draws(run: rpinn.Run, chains: rpinn.Run, tmp_path: Path) -> None:
    for package in ("matplotlib", "xarray"):
        pytest.importorskip(package)
    import matplotlib.pyplot as plt

    members, draws = run.plot(kind="losses"), chains.plot(kind="losses")
    assert members.axes[0].get_ylabel() == "loss" and draws.axes[0].get_ylabel() == "-log posterior"
    (points,) = members.axes[0].get_lines()
    assert len(points.get_ydata()) == run.info["samples"]
    assert np.median(points.get_ydata()) == pytest.approx(run.info["members"]["loss_median"])
    assert len(draws.axes[0].get_lines()) == 2  # chains
    with pytest.raises(ValueError, match="no figure 'loses'; expected predictions, unknowns, losses"):
        run.plot(kind="loses")
    with pytest.raises(ValueError, match="expected no names"):
        run.plot("u", kind="losses")
    with pytest.raises(ValueError, match="no unknowns"):
        run.plot(kind="unknowns")
    with_unknown = SMALL.replace("quantities:", "unknowns: {c: {start: 1, transform: log, prior: {mean: 0, std: 1}}}\nquantities:", 1)
    fitted = rpinn.Problem.from_yaml(with_unknown.replace("+ u", "+ c*u")).run(out=tmp_path / "fitted")
    (axes,) = fitted.plot("c", kind="unknowns").axes
    assert axes.get_xlabel() == "c" and axes.get_lines()[0].get_xdata()[0] == fitted.info["unknowns"]["c"]["mean"]
    with pytest.raises(ValueError, match="no unknown 'd'; expected some of c"):
        fitted.plot("d", kind="unknowns")
    plt.close("all")


def test_arviz_opens_the_posterior(run: rpinn.Run, chains: rpinn.Run) -> None:
    pytest.importorskip("arviz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = chains.posterior
    assert dict(posterior["posterior"].sizes)["chain"] == 2
    assert "observed_data" in (posterior.groups() if callable(posterior.groups) else "".join(posterior.groups))


def test_compare_and_diagnose(run: rpinn.Run, chains: rpinn.Run) -> None:
    pytest.importorskip("pandas")
    frame = rpinn.compare(run, chains.folder)
    assert frame.loc[("u", str(run.folder)), "method"] == "rpinn"
    assert frame.loc[("slope", str(chains.folder)), "rl2"] == chains.info["quantities"]["slope"]["rl2"]
    diagnosis = chains.diagnose()
    assert "R-hat" in str(diagnosis) and isinstance(diagnosis.healthy, bool)
    assert rpinn.diagnose(run.folder).healthy == (run.verdict != "bad")


def test_missing_and_damaged_runs(run: rpinn.Run, tmp_path: Path) -> None:
    for call in (rpinn.open, rpinn.diagnose, rpinn.compare):
        with pytest.raises(rpinn.InputError):
            call(tmp_path / "absent")
    copy = tmp_path / "copy"
    shutil.copytree(run.folder, copy)
    (copy / "checkpoint.db").unlink()
    with pytest.raises(rpinn.Error):
        rpinn.open(copy).predict([0.5])


def test_faults_of_the_machine(small: rpinn.Problem, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(rpinn.Error) as caught:
        small.run(out=tmp_path / "file" / "run")  # no folder can be made there
    assert str(tmp_path / "file") in str(caught.value)


def test_warnings_are_warnings(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 12)
    problem = rpinn.Problem(
        coordinates={"x": [0, 1]},
        fields={"u": {"network": [3]}},
        terms={
            "wild": {"expect": "u", "data": {"x": x, "value": 1 + 0.3 * (-1.0) ** np.arange(12)}, "noise": {"unknown": True}},
            "flat": {"expect": "u", "at": {"grid": 12}, "data": 0, "noise": 0.001},
        },
        settings={"prior_scale": 1, "samples": 2, "scale_fields": False},
    )
    with pytest.warns(rpinn.RpinnWarning, match="the noise of term 'wild'"):
        problem.run(out=tmp_path / "run")
    with warnings.catch_warnings():
        warnings.simplefilter("error", rpinn.RpinnWarning)
        with pytest.raises(rpinn.RpinnWarning):
            problem.run(out=tmp_path / "strict")


def test_calibration(small: rpinn.Problem, tmp_path: Path) -> None:
    told: list[rpinn.Progress] = []
    calibration = rpinn.calibrate(
        small, out=tmp_path / "calibration", data_sets=3, members=39, methods=["rpinn"], progress=told.append
    )
    assert "rpinn" in str(calibration) and told
    assert (calibration.folder / "report.html").exists()
    assert calibration.data == __import__("json").loads((calibration.folder / "calibration.json").read_text())
    with pytest.raises(rpinn.InputError, match="39"):
        rpinn.calibrate(small, out=tmp_path / "few", members=5)
    with pytest.raises(ValueError, match="data_sets is 0"):
        rpinn.calibrate(small, out=tmp_path / "none", data_sets=0)
