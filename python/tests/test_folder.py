"""A sweep with a folder resumes, and says how far it is."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from test_laboratory import RATES

import msctp


class Halved(msctp.Policy):
    """The policy of the tests."""

    def on_primary_switch(self, old: Any, new: Any, view: Any, actions: Any) -> msctp.StartState | None:
        return msctp.StartState(old.cwnd // 2)


@pytest.fixture
def rates(tmp_path: Path) -> Path:
    """A sweep of 8 runs."""
    path = tmp_path / "rates.toml"
    path.write_text(RATES.format(scenario=Path("scenarios/handover.toml").resolve()))
    return path


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two worker processes."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def content(sweep: msctp.Sweep) -> list[Any]:
    tables = [
        (name, values.dtype.str, values.tobytes())
        for table in (sweep.runs, sweep.cells)
        for name, values in table.items()
    ]
    return [tables, sweep.claims, sweep.failed]


def partitions(folder: Path) -> dict[Path, tuple[bytes, int]]:
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.iterdir())}


def test_a_folder_resumes_and_replaces_damaged_partitions(rates: Path, tmp_path: Path) -> None:
    alone = msctp.sweep(rates)
    folder = tmp_path / "runs"
    assert content(msctp.sweep(rates, folder=folder)) == content(alone)
    first = partitions(folder)
    assert len(first) == len(alone.runs["seed"]) == 8
    missing, truncated, changed, zero, *kept = first
    missing.unlink()
    truncated.write_bytes(truncated.read_bytes()[:-20])
    damaged = bytearray(changed.read_bytes())
    damaged[6] ^= 1  # in the data of the first page
    changed.write_bytes(damaged)
    zero.write_bytes(b"")
    done: list[tuple[int, int | None]] = []
    assert content(msctp.sweep(rates, folder=folder, progress=lambda *at: done.append(at))) == content(alone)
    again = partitions(folder)
    assert {path: bytes for path, (bytes, _) in again.items()} == {
        path: bytes for path, (bytes, _) in first.items()
    }
    assert {path for path in again if again[path][1] == first[path][1]} == set(kept)
    assert done[-1] == (8, 8)


def test_the_partitions_are_the_rows_of_the_table(rates: Path, tmp_path: Path) -> None:
    runs = msctp.sweep(rates, folder=tmp_path / "runs").runs
    frame = polars.read_parquet(tmp_path / "runs/*.parquet").sort("rate", "seed")
    assert frame.columns == list(runs)
    order = np.lexsort((runs["seed"], runs["rate"]))
    for name, values in runs.items():
        assert frame[name].to_list() == values[order].tolist()


def test_more_seeds_reuse_the_first_ones(rates: Path, tmp_path: Path) -> None:
    msctp.sweep(rates, folder=tmp_path / "runs", seeds=2)
    before = partitions(tmp_path / "runs")
    assert content(msctp.sweep(rates, folder=tmp_path / "runs")) == content(msctp.sweep(rates))
    after = partitions(tmp_path / "runs")
    assert len(after) == 8
    assert all(after[path] == before[path] for path in before)


def test_the_partitions_of_something_else_are_rejected(rates: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    msctp.sweep(rates, folder=folder, seeds=1)
    with pytest.raises(msctp.InputError, match=r"run-.*\.parquet is of another sweep, of other schemes"):
        msctp.sweep(rates, folder=folder, seeds=1, schemes=[Halved])
    rates.write_text(rates.read_text().replace('"45s"', '"46s"'))
    with pytest.raises(msctp.InputError, match=rf"folder {folder}: .* want another folder"):
        msctp.sweep(rates, folder=folder, seeds=1)
    with pytest.raises(msctp.InputError, match=rf"folder {rates}: "):
        msctp.sweep(rates, folder=rates)
    methods = {"__module__": "typed", "on_ack": lambda self, ack: None, "on_loss": lambda self, loss: None}
    with pytest.raises(msctp.InputError, match="the source of Typed cannot be read"):
        msctp.sweep(rates, folder=folder, schemes=[type("Typed", (msctp.Controller,), methods)])


def test_a_result_that_cannot_be_written_ends_the_sweep(rates: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"

    def move(done: int, total: int | None) -> None:
        if folder.exists():
            folder.rename(tmp_path / "moved")

    with pytest.raises(msctp.RunError, match=rf"cannot write {folder}/run-.*\.parquet: "):
        msctp.sweep(rates, folder=folder, seeds=200, threads=1, progress=move)


def test_a_cluster_fills_the_folder_and_resumes_from_it(client: Any, rates: Path, tmp_path: Path) -> None:
    here = msctp.sweep(rates, folder=tmp_path / "here")
    folder = tmp_path / "there"
    assert content(msctp.sweep(rates, engine=client, folder=folder)) == content(here)
    files = partitions(folder)
    assert {path.name: bytes for path, (bytes, _) in files.items()} == {
        path.name: bytes for path, (bytes, _) in partitions(tmp_path / "here").items()
    }
    missing = next(iter(files))
    missing.unlink()
    done: list[int] = []
    again = msctp.sweep(rates, engine=client, folder=folder, progress=lambda at, _: done.append(at))
    assert content(again) == content(here)
    assert done == [7, 8]
    assert [path for path, file in partitions(folder).items() if file != files[path]] == [missing]


def test_ctrl_c_stops_a_sweep_and_keeps_what_is_complete(rates: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    at: list[float] = []

    def interrupt() -> None:
        while not folder.exists() or len(list(folder.glob("*.parquet"))) < 5:
            time.sleep(0.01)
        at.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        msctp.sweep(rates, folder=folder, seeds=2000)
    stopped = time.monotonic() - at[0]
    thread.join()
    assert stopped < 15, "on a busy machine; the runs kept show that it stopped"
    kept = partitions(folder)
    assert 5 <= len(kept) < 4000
    assert all(path.suffix == ".parquet" for path in kept), "no incomplete file is left"
    seeds = 8
    done = msctp.sweep(rates, folder=folder, seeds=seeds)
    assert content(done) == content(msctp.sweep(rates, seeds=seeds))
    assert all(file == partitions(folder)[path] for path, file in kept.items())


def test_progress_is_a_bar_or_a_function(
    rates: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    msctp.sweep(rates, seeds=1)
    assert capsys.readouterr().err == "", "no terminal, no bar"
    msctp.sweep(rates, seeds=1, progress=True)
    assert "2/2" in capsys.readouterr().err
    monkeypatch.setattr(io.TextIOBase, "isatty", lambda _: True, raising=False)
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    msctp.sweep(rates, seeds=1, progress=False)
    assert capsys.readouterr().err == ""
    done: list[tuple[int, int | None]] = []
    msctp.reproduce("afif", quick=True, seeds=1, progress=lambda *at: done.append(at))
    assert done == sorted(done)
    assert done[-1][0] > 0
    assert done[-1][1] is None
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(msctp.InputError, match="progress=True needs tqdm"):
        msctp.sweep(rates, seeds=1, progress=True)


def test_an_exception_of_the_function_ends_the_sweep(rates: Path) -> None:
    def fail(done: int, total: int | None) -> None:
        raise KeyError(done)

    with pytest.raises(KeyError):
        msctp.sweep(rates, seeds=200, progress=fail)
