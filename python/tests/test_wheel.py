"""The package as it is installed."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

import rpinn
from rpinn import _native


def test_bundled_libraries_are_those_in_use() -> None:
    """A wheel brings what it links; one that was built here, and not repaired, uses the system's."""
    bundled = Path(_native.__file__).parent.parent / "rpinn.libs"
    if not bundled.is_dir():
        pytest.skip("not a wheel with libraries of its own")
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
    for library in ("openblas", "netcdf", "hdf5", "sqlite3", "yaml", "png"):
        found = [path for path in mapped if f"lib{library}" in path and ("rpinn" in path or "numpy" not in path)]
        assert any(path.startswith(str(bundled)) for path in found), (library, found)


def test_version_and_types() -> None:
    assert metadata.version("rpinn") == rpinn.__version__
    assert (Path(rpinn.__file__).parent / "py.typed").exists()
    assert [name for name in metadata.requires("rpinn") or [] if "extra" not in name] == ["numpy>=1.23"]
    assert set(rpinn.__all__) <= set(dir(rpinn))
    for name in rpinn.__all__:
        assert name == "__version__" or getattr(rpinn, name).__doc__, name
