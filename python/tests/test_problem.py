"""Problems: from texts, files, dictionaries, arrays and DataFrames; what they hold; mistakes with their places."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL

import rpinn


def test_shipped_file_and_text_are_one(tmp_path: Path) -> None:
    text = rpinn.shipped()["poisson-linear"]
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    problems = [rpinn.Problem.from_yaml(source, prior_scale=2) for source in ("poisson-linear", file, str(file), text)]
    theta = problems[0].posterior().start()
    assert len({problem.posterior().energy(theta) for problem in problems}) == 1
    assert problems[0].coordinates == {"x": (-1.0, 1.0)}
    assert problems[0].quantities == ("u", "f") and problems[0].terms == ("f", "b")
    assert "paper" in problems[0].presets
    assert problems[0].settings["prior_scale"] == "2"
    assert problems[0].text is None and problems[3].text == text


def test_dictionaries_are_the_file(small: rpinn.Problem) -> None:
    same = rpinn.Problem(
        name="small",
        coordinates={"x": [0, 2]},
        fields={"u": {"network": [4]}},
        quantities={"slope": "d(u, x)"},
        truth={"u": "sin(x)"},
        terms={
            "level": {"expect": "u", "at": {"grid": 6}, "data": "truth", "noise": 0.1},
            "law": {"expect": "d(u, x, x) + u", "at": {"grid": np.int64(5)}, "data": 0, "noise": np.float64(0.2)},
        },
        predict={"grid": 5, "quantities": ["u", "slope"]},
        settings={"prior_scale": 1.5, "precision": "double", "samples": 40, "iterations": 20, "seed": 3},
    )
    theta = small.posterior().start("normal")
    assert same.posterior().energy(theta) == small.posterior().energy(theta)


def test_arrays_and_frames_are_tables(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    x, u = np.linspace(0.1, 1.9, 7), np.cos(np.linspace(0.1, 1.9, 7)) / 3
    table = {"x": x, "value": u}
    file = tmp_path / "level.csv"
    file.write_text("x,value\n" + "".join(f"{a!r},{b!r}\n" for a, b in zip(x.tolist(), u.tolist())))

    def problem(data: object) -> rpinn.Problem:
        return rpinn.Problem(
            coordinates={"x": [0, 2]},
            fields={"u": {"network": [4]}},
            terms={"level": {"expect": "u", "data": data, "noise": 0.1}},
            settings={"prior_scale": 1, "precision": "double", "scale_fields": False},
        )

    posteriors = [problem(data).posterior() for data in (table, pandas.DataFrame(table), str(file), file)]
    theta = posteriors[0].start()
    assert len({posterior.energy(theta) for posterior in posteriors}) == 1
    # Rows are (u - value)/noise: the values came through with all their digits.
    moved = problem({"x": x, "value": u + 0.125}).posterior()
    assert np.allclose(posteriors[0].residuals(theta) - moved.residuals(theta), 1.25, rtol=0, atol=1e-12)


def test_data_of_all_terms(small: rpinn.Problem) -> None:
    data = {"term": ["level", "law", "level"], "x": [0.5, 1.0, 1.5], "value": [1.0, 0.0, 2.0], "noise": [np.nan] * 3}
    problem = rpinn.Problem.from_yaml(SMALL, data=data)
    assert problem.posterior().num_rows == 3
    assert small.posterior().num_rows == 11


def test_tables_in_place_of_files() -> None:
    text = SMALL.replace("at: {grid: 6}, data: truth", "data: measured.csv")
    problem = rpinn.Problem.from_yaml(text, tables={"measured.csv": {"x": [1.0], "value": [0.5]}})
    assert problem.posterior().num_rows == 6


def test_check_shows_what_the_command_shows(small: rpinn.Problem) -> None:
    check = small.check()
    assert check and check.passed
    assert check.data["problem"] == "small" and check.data["terms"]["level"]["points"] == 6
    assert "level" in str(check) and "<pre>" in check._repr_html_()
    assert "scale" in small.with_settings(prior_scale="loo", iterations=50).check_prior()
    assert "40 members" in small.plan()


def test_settings_and_constants() -> None:
    problem = rpinn.Problem.from_yaml("poisson-linear", constants={"sigma": 0.25}, prior_scale=2, seed=7)
    assert problem.posterior().sigmas == {"f": 0.25, "b": 0.25}
    other = problem.with_settings(seed=8, scale_fields=False)
    assert (problem.settings["seed"], other.settings["seed"]) == ("7", "8")
    assert other.settings["scale_fields"] == "no"
    assert other.posterior().sigmas == {"f": 0.25, "b": 0.25}
    assert rpinn.Problem.from_yaml("poisson-linear", preset="paper").settings["likelihood"] == "paper"


def test_mistakes_have_places(tmp_path: Path) -> None:
    with pytest.raises(rpinn.InputError) as caught:
        rpinn.Problem.from_yaml(SMALL.replace("fields:", "feilds:"))
    error = caught.value
    assert (error.file, error.line, error.column) == ("problem.yaml", 4, 1)
    assert "did you mean 'fields'" in error.message and str(error).startswith("problem.yaml:4:1: ")
    assert isinstance(error, ValueError) and error.status == "ERROR_INPUT"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line) == (str(error), 4)

    file = tmp_path / "bad.yaml"
    file.write_text(SMALL.replace("sin(x)", "sin(y)"))
    with pytest.raises(rpinn.InputError) as caught:
        rpinn.Problem.from_yaml(file).check()
    assert caught.value.file == str(file) and caught.value.line == 6

    with pytest.raises(rpinn.InputError) as caught:
        rpinn.Problem.from_yaml(SMALL, data={"term": ["level", "lwa"], "x": [1.0, 1.0], "value": [1.0, 1.0]}).posterior()
    assert (caught.value.file, caught.value.line) == ("data.csv", 3) and "did you mean 'law'" in caught.value.message

    with pytest.raises(rpinn.InputError, match="did you mean 'poisson-linear'"):
        rpinn.Problem.from_yaml("poisson-linaer")
    with pytest.raises(rpinn.InputError, match="did you mean 'samples'"):
        rpinn.Problem.from_yaml(SMALL, sampels=3)
    with pytest.raises(rpinn.InputError, match="preset"):
        rpinn.Problem.from_yaml(SMALL, preset="none")
    with pytest.raises(rpinn.InputError):
        rpinn.Problem.from_yaml(tmp_path / "absent.yaml")
    with pytest.raises(TypeError, match=r"terms\.level\.noise"):
        rpinn.Problem(coordinates={"x": [0, 1]}, fields={"u": {}}, terms={"level": {"noise": object()}})
    with pytest.raises(ValueError, match="different lengths: x 1, value 2"):
        rpinn.Problem.from_yaml(SMALL, data={"x": [1.0], "value": [1.0, 2.0]})
    with pytest.raises(ValueError, match="two|2 dimensions"):
        rpinn.Problem.from_yaml(SMALL, data={"x": [[1.0]], "value": [1.0]})


def test_quotes_survive() -> None:
    problem = rpinn.Problem(
        name='a "quoted" name',
        coordinates={"y": [0, 1]},
        fields={"n": {"network": [2]}},
        terms={"no": {"expect": "n", "at": {"grid": 2}, "data": "min(y, 0.5)", "noise": 0.1}},
        settings={"prior_scale": 1},
    )
    assert problem.name == 'a "quoted" name' and problem.terms == ("no",) and problem.quantities == ("n",)
    assert "no" in repr(problem)


def test_problems_can_be_sent(small: rpinn.Problem) -> None:
    same = pickle.loads(pickle.dumps(small.with_settings(seed=11)))
    assert same.settings["seed"] == "11"
    assert np.array_equal(same.posterior().start(), small.with_settings(seed=11).posterior().start())
