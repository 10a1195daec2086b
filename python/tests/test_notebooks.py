"""The notebooks run, and their figures can go into a paper."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

import msctp
from msctp import style

matplotlib.use("Agg")

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.py"))
INTERVALS = {"first_steps", "learning", "own_scheme", "paper_figure"}


@pytest.fixture(autouse=True)
def _settings_stay() -> Iterator[None]:
    with matplotlib.rc_context():
        yield


def read(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a notebook."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


def labelled(axes: Axes) -> bool:
    """Return whether both axes of a panel have labels; a panel may share the axis below or to the left."""
    place = axes.get_subplotspec()
    assert place is not None
    x = axes.get_xlabel() or (axes.get_shared_x_axes().get_siblings(axes)[1:] and not place.is_last_row())
    y = axes.get_ylabel() or (axes.get_shared_y_axes().get_siblings(axes)[1:] and not place.is_first_col())
    return bool(x) and bool(y)


@pytest.mark.parametrize("seeds", [2, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_figures_have_labels(
    path: Path, seeds: int | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As its reader runs it with MSCTP_QUICK, or with fewer seeds in each cell of its sweep."""
    monkeypatch.setenv("MSCTP_QUICK", "1")
    monkeypatch.setattr(msctp, "sweep", functools.partial(msctp.sweep, seeds=seeds))
    monkeypatch.delenv("MSCTP_TRACES", raising=False)
    outputs, values = read(path, monkeypatch).app.run()
    assert len(outputs) > 3
    figures = {name: value for name, value in values.items() if isinstance(value, Figure)}
    assert figures
    bars = 0
    for name, figure in figures.items():
        figure.savefig(tmp_path / f"{name}.pdf")
        assert figure.get_size_inches()[0] in (style.COLUMN, style.PAGE), name
        for axes in figure.axes:
            assert labelled(axes), f"{name}: a panel has an axis without a label"
            assert axes.has_data(), f"{name}: a panel is empty"
            bars += sum(isinstance(drawn, ErrorbarContainer) for drawn in axes.containers)
    assert (bars > 0) == (path.stem in INTERVALS)


def test_every_notebook_is_listed() -> None:
    listed = (NOTEBOOKS[0].parent / "README.md").read_text()
    assert [path.stem for path in NOTEBOOKS if f"]({path.name})" not in listed] == []


def test_traces_are_those_of_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MSCTP_QUICK", "1")
    monkeypatch.setenv("MSCTP_TRACES", str(tmp_path))
    notebook = read(NOTEBOOKS[0].parent / "traces.py", monkeypatch)
    with pytest.raises(msctp.InputError, match=r"has no \*\.csv"):
        notebook.app.run()
    (tmp_path / "walk.csv").write_text("time,left,right\n0,8,2\n4,0,6\n8,0,6\n")
    _, values = notebook.app.run()
    runs = values["runs"][tmp_path / "walk.csv"]
    assert list(runs) == ["left alone", "right alone", "anticipate", "both at once"]
    assert runs["left alone"].metric("association.bytes") < runs["both at once"].metric("association.bytes")


def test_the_style_is_that_of_a_printed_page() -> None:
    style.use()
    assert matplotlib.rcParams["font.size"] == 8
    assert style.size(1)[0] == 3.5 and style.size(2, ratio=0.5) == (7.16, 3.58)
    wrong: Any = 3
    with pytest.raises(ValueError, match="columns is 3; want 1 or 2"):
        style.size(wrong)


def test_the_colours_differ_without_red_or_green() -> None:
    """Brettel's and Viénot's view (1999): protanopia and deuteranopia, in linear RGB."""
    views = (
        ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
        ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
    )
    colors = [matplotlib.colors.to_rgb(color) for color in style.COLORS]
    linear = [[value**2.2 for value in color] for color in colors]
    for view in views:
        seen = [
            [max(0.0, sum(row[i] * color[i] for i in range(3))) ** (1 / 2.2) for row in view]
            for color in linear
        ]
        for number, one in enumerate(seen):
            for other in seen[:number]:
                assert sum((a - b) ** 2 for a, b in zip(one, other)) ** 0.5 > 0.1
