"""The examples run: those with other packages where these can be imported, the notebook, and the pieces of docs/python.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {"scipy_map": ["scipy"], "emcee_draws": ["emcee"], "blackjax_nuts": ["jax", "blackjax"]}


def run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "Agg"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_all_examples_are_known() -> None:
    assert {path.stem for path in (ROOT / "examples" / "python").glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, tmp_path: Path) -> None:
    for package in EXAMPLES[name]:
        pytest.importorskip(package)
    printed = run([str(ROOT / "examples" / "python" / f"{name}.py")], tmp_path)
    if name == "emcee_draws":
        found = re.match(r"rate ([0-9.]+) \+- ([0-9.]+)", printed)
        assert found and abs(float(found[1]) - 0.7) < 4 * float(found[2]) < 1
    if name == "scipy_map":
        assert "Levenberg-Marquardt: energy" in printed


def test_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell, in a fresh kernel; the first one that makes a figure has fewer than ten lines, from installing on."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    for package in ("matplotlib", "pandas", "xarray"):
        pytest.importorskip(package)
    monkeypatch.delenv("MPLBACKEND", raising=False)  # figures are shown in the notebook
    notebook = nbformat.read(ROOT / "examples" / "tutorial.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    first = next(i for i, cell in enumerate(cells) if any("image/png" in output.get("data", {}) for output in cell.outputs))
    lines = [line for cell in cells[: first + 1] for line in cell.source.splitlines() if line.strip()]
    assert 1 + len(lines) < 10, "pip install . and what follows it"
    assert any("verdict" in output["data"].get("text/html", "") for cell in cells for output in cell.outputs if "data" in output)


def test_notebook_is_kept_without_outputs() -> None:
    notebook = json.loads((ROOT / "examples" / "tutorial.ipynb").read_text())
    assert all(not cell.get("outputs") for cell in notebook["cells"])


def test_guide(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pieces = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    assert len(pieces) == 3
    for number, piece in enumerate(pieces):
        file = tmp_path / f"piece{number}.py"
        file.write_text(piece)
        printed = run([str(file)], tmp_path)
        assert number != 1 or "rod" in printed
    assert (tmp_path / "poisson.png").stat().st_size > 10000
