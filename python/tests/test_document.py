"""Every example of docs/python.md runs."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

import msctp

TEXT = Path(__file__).resolve().parents[2] / "docs/python.md"
SHELL = re.compile(r"^(pip|pytest|marimo) ")
MINE = """
scenario = "scenarios/bulk-wlan.toml"
seeds = "1..3"
set = { "duration" = "1s" }
[axis.controller]
set = "sctp.default.controller"
values = [CONTROLLERS]
[metric.goodput]
of = "association.goodput"
"""
REPORT = """
scenario = "scenarios/walk.toml"
seeds = [1]
series = true
[axis.policy]
set = "sctp.server.handover_policy"
values = ["conservative", "inherit"]
[metric.gap]
of = "handover.gap"
"""
# Names in the document, and what takes less time.
SMALL = (("scenarios/compare/policies.toml", "mine.toml"), ('"kim-koh"', '"afif"'))
POLICIES = MINE.replace("sctp.default.controller", "sctp.default.handover_policy")


def examples() -> list[str]:
    """The indented blocks; those after one empty line belong together."""
    found: list[list[str]] = []
    inside = False
    for line in TEXT.read_text().splitlines():
        if line.startswith("    "):
            if not inside:
                found.append([])
            found[-1].append(line[4:])
            inside = True
        elif line or not inside:
            inside = False
        else:
            found[-1].append("")
    return ["\n".join(block).strip() for block in found]


def names(code: str) -> str:
    """A sweep that has the schemes which the example passes."""
    if "gym.controller" in code:
        return MINE.replace("CONTROLLERS", '"rfc9260", "python:Learned"')
    if "gym.policy" in code:
        return POLICIES.replace("CONTROLLERS", '"inherit", "python:Chosen"')
    if "Aimd" in code:
        return MINE.replace("CONTROLLERS", '"rfc9260", "python:Aimd"')
    return MINE.replace("CONTROLLERS", '"rfc9260", "cubic"')


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_example_of_the_document_runs(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """Not whole: a small sweep and a small paper in place of those of the document."""
    distributed: Any = pytest.importorskip("distributed")
    (tmp_path / "scenarios").symlink_to(Path("scenarios").resolve())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    Path("walk.toml").write_text(REPORT)
    command("sweep", "walk.toml")
    # One seed per cell: the examples are the same, and run in a few minutes.
    monkeypatch.setattr(msctp, "sweep", functools.partial(msctp.sweep, seeds=1, progress=False))
    monkeypatch.setattr(msctp, "reproduce", functools.partial(msctp.reproduce, seeds=1, progress=False))
    replaced = 0
    namespace: dict[str, Any] = {"__name__": "example"}
    exec("import msctp, polars", namespace)  # noqa: S102
    run, shell, clusters = 0, 0, 0
    for code in examples():
        # A line of a shell, or the start of one.
        if SHELL.match(code):
            shell += 1
            continue
        Path("mine.toml").write_text(names(code))
        for large, small in () if whole else SMALL:
            replaced += code.count(large)
            code = code.replace(large, small)
        if "SLURMCluster" in code:
            # The launchers need Slurm and Kubernetes: their lines are compiled, and the rest runs on a cluster here.
            compile(code, str(TEXT), "exec")
            code = code[code.index("from distributed import Client") :]
            with distributed.LocalCluster(
                n_workers=1, threads_per_worker=1, dashboard_address=None
            ) as cluster:
                namespace["cluster"] = cluster
                exec(compile(code, str(TEXT), "exec"), namespace)  # noqa: S102
            clusters += 1
            continue
        exec(compile(code, str(TEXT), "exec"), namespace)  # noqa: S102
        run += 1
    assert (run, shell, clusters) == (11, 3, 1)
    assert replaced == (0 if whole else len(SMALL))
    lines = namespace["plt"].gca().get_lines()
    policies = sorted(str(line.get_label()).split(",")[0] for line in lines)
    assert policies == ["conservative", "conservative", "inherit", "inherit"]
    assert all(len(line.get_xdata()) > 100 for line in lines)
    assert namespace["done"].failed == []
