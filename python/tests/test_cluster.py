"""A sweep on a Dask cluster has the table of this machine to the byte, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_laboratory import RATES

import msctp

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Four worker processes."""
    with (
        distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def rates(tmp_path: Path) -> Path:
    """A small sweep, with a scheme in Python."""
    path = tmp_path / "rates.toml"
    text = RATES.format(scenario=Path("scenarios/handover.toml").resolve())
    policy = '\n[axis.policy]\nset = "sctp.default.handover_policy"\nvalues = ["inherit", "python:Halved"]\n'
    path.write_text(text.replace("\n[metric.goodput]", policy + "\n[metric.goodput]", 1))
    return path


def schemes() -> list[type[msctp.Policy]]:
    """A class that the workers cannot import."""

    class Halved(msctp.Policy):
        def on_primary_switch(self, old: Any, new: Any, view: Any, actions: Any) -> msctp.StartState | None:
            return msctp.StartState(old.cwnd // 2)

    return [Halved]


def content(sweep: msctp.Sweep) -> list[Any]:
    tables = [
        (name, values.dtype.str, values.tobytes())
        for table in (sweep.runs, sweep.cells)
        for name, values in table.items()
    ]
    return [tables, sweep.claims, sweep.failed]


@pytest.mark.parametrize("seeds", [18, pytest.param(60, marks=pytest.mark.slow)])
def test_two_of_four_workers_are_killed_in_mid_run(client: Any, rates: Path, seeds: int) -> None:
    here = msctp.sweep(rates, schemes=schemes(), seeds=seeds, threads=1)
    killed: list[int] = []
    before = client.run(os.getpid)

    def kill(done: int, total: int | None) -> None:
        if done >= seeds // 3 and not killed:
            for pid in list(before.values())[:2]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    there = msctp.sweep(rates, schemes=schemes(), seeds=seeds, engine=client, progress=kill)
    assert len(killed) == 2, "the sweep ended before the workers were killed"
    assert content(there) == content(here)
    assert len(here.runs["seed"]) == 4 * seeds
    deadline = time.monotonic() + 30
    while set(client.run(os.getpid).values()) & set(killed):
        assert time.monotonic() < deadline, "the killed workers live"
        time.sleep(0.1)


def test_the_workers_need_no_files(client: Any, rates: Path, tmp_path: Path) -> None:
    plan = msctp._native.Plan.read(rates, {}, msctp.schemes.described(schemes()), True, 1)
    files = plan.files()
    rates.unlink()
    from msctp.cluster import Task, run

    task = Task(str(rates), files, tuple(schemes()), True, 1, msctp.__version__)
    assert len(run(client, plan, task)[0].parts()) > 0
    with pytest.raises(msctp.RunError, match=r"the worker has msctp .*, the client 9; want the same version"):
        run(client, plan, Task(str(rates), files, (), True, 1, "9"))


def test_threads_and_engine_exclude_each_other(client: Any, rates: Path) -> None:
    with pytest.raises(msctp.InputError, match="threads and engine exclude each other"):
        msctp.sweep(rates, schemes=schemes(), threads=2, engine=client)
