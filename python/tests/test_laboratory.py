"""Sweeps and reproductions are the command's."""

import json
import shlex
import signal
import threading
import time
from pathlib import Path

import polars
import pytest
from conftest import Command

import msctp
from msctp._native import Plan

RATES = """
title = "Rates of the new network"
scenario = "{scenario}"
seeds = "1..4"
set = {{ "duration" = "45s" }}

[axis.rate]
set = "link.wlan.rate"
values = ["1Mbps", "8Mbps"]

[metric.goodput]
of = "association.goodput"

[metric.gap]
of = "handover.gap"

[comparison.gain]
metric = "goodput"
against = {{ rate = "1Mbps" }}
as = "relative"

[[claim]]
id = "C1"
says = "A faster network carries more."
metric = "goodput"
a = {{ rate = "8Mbps" }}
above = {{ rate = "1Mbps" }}
"""


@pytest.fixture
def rates(tmp_path: Path) -> str:
    """A small sweep."""
    path = tmp_path / "rates.toml"
    path.write_text(RATES.format(scenario=Path("scenarios/handover.toml").resolve()))
    return str(path)


def test_a_sweep_is_the_commands(command: Command, rates: str, tmp_path: Path) -> None:
    done = msctp.sweep(rates, quick=True, threads=2)
    printed = json.loads(command("sweep", rates, "--quick", "--json", "--out", str(tmp_path / "out")))
    claims = [{key: value for key, value in claim.items() if key != "paper"} for claim in printed["claims"]]
    assert [vars(claim) for claim in done.claims] == claims
    assert [claim.grade for claim in done.claims] == ["reproduced"]
    assert done.failed == []
    assert done.cells["rate"].tolist() == [cell["rate"] for cell in printed["cells"]] == ["1Mbps", "8Mbps"]
    for column, quantity in [("goodput_bps", "goodput"), ("gap_s", "gap"), ("gain", "gain")]:
        for row, cell in enumerate(printed["cells"]):
            mean = [done.cells[column + part][row] for part in ("", "_half_width", "_n")]
            assert mean == [cell[quantity]["mean"], cell[quantity]["half_width"], cell[quantity]["n"]]
    assert done.runs["seed"].tolist() == [1, 2, 3, 1, 2, 3]
    mean = done.runs["goodput_bps"][:3].mean()
    assert mean == pytest.approx(done.cells["goodput_bps"][0])


def test_the_series_of_a_report_are_those_of_its_runs(command: Command, rates: str, tmp_path: Path) -> None:
    text = Path(rates).read_text().replace('"1..4"', "[1, 7]\nseries = true")
    Path(rates).write_text(text)
    command("sweep", rates, "--out", str(tmp_path / "report"))
    data = tmp_path / "report/data"
    series = polars.read_parquet(data / "series.parquet")
    commands = polars.read_parquet(data / "runs.parquet")["command"]
    assert series["run"].unique().sort().to_list() == list(range(len(commands))) == [0, 1, 2, 3]
    for run, line in enumerate(commands):
        out = tmp_path / f"run-{run}"
        command(*shlex.split(line)[1:], "--out", str(out))
        alone = polars.read_parquet(out / "series.parquet")
        assert series.filter(polars.col("run") == run).drop("run").equals(alone)


def test_a_sweeps_run_is_a_run(rates: str) -> None:
    runs = msctp.sweep(rates, seeds=1).runs
    scenario = msctp.Scenario.load("scenarios/handover.toml")
    for rate, goodput in zip(runs["rate"].tolist(), runs["goodput_bps"]):
        sets = {"duration": "45s", "link.wlan.rate": rate}
        assert scenario.update(sets).run(seed=1).metric("association.goodput") == goodput


@pytest.mark.parametrize("paper", ["afif", pytest.param("kim-koh", marks=pytest.mark.slow)])
def test_a_papers_claims_are_the_commands(command: Command, tmp_path: Path, paper: str) -> None:
    done = msctp.reproduce(paper, quick=True, seeds=1)
    printed = json.loads(
        command("reproduce", paper, "--quick", "--seeds", "1", "--json", "--out", str(tmp_path))
    )
    assert [{**vars(claim), "paper": paper} for claim in done.claims] == printed
    assert done.runs > 0
    assert done.failed == []


def test_unknown_papers_and_files_are_named() -> None:
    with pytest.raises(msctp.InputError, match='there is no paper "kim-ko"; did you mean "kim-koh"'):
        msctp.reproduce("kim-ko")
    with pytest.raises(msctp.InputError, match="cannot read nowhere.toml"):
        msctp.sweep("nowhere.toml")


LONG = """
scenario = "{scenario}"
seeds = "1..20000"
set = {{ "duration" = "1s" }}
[axis.rate]
set = "link.wlan.rate"
values = ["1Mbps"]
[metric.goodput]
of = "association.goodput"
"""


def test_the_keys_of_twenty_thousand_runs_are_listed_once(tmp_path: Path) -> None:
    """Loading each run's partition took 20,000 × 20,000 names: minutes. Listed once, it takes seconds at most."""
    path = tmp_path / "long.toml"
    path.write_text(LONG.format(scenario=Path("scenarios/bulk-wlan.toml").resolve()))
    plan = Plan.read(path, {}, [], False, None)
    folder = plan.folder(tmp_path / "runs", "test")
    begin = time.process_time()
    assert len(plan) == 20_000
    assert [folder.load(number) for number in range(len(plan))] == [None] * 20_000
    assert time.process_time() - begin < 20
    with pytest.raises(msctp.RunError, match="there is no run 20000; want a number below 20000"):
        folder.load(20_000)


@pytest.mark.parametrize("paper", ["kim-koh", "fu-atiquzzaman", "afif"])
def test_ctrl_c_stops_a_reproduction_in_its_runs(paper: str) -> None:
    """The runs that have started stop too; the bound is loose for a busy machine."""
    timer = threading.Timer(1, signal.raise_signal, [signal.SIGINT])
    begin = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            msctp.reproduce(paper)
    finally:
        timer.cancel()
    assert time.monotonic() - begin < 15
