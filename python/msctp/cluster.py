"""Sweeps on a Dask cluster.

A run is a pure function of the files, the schemes, the options, its number and the version of msctp. A worker
that is lost costs its runs alone: Dask runs them again on another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._native import Folder, Plan, RunError, __version__
from .schemes import Scheme, described

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Task:
    """Everything that the runs of a sweep depend on."""

    path: str
    files: dict[str, str] = field(repr=False)
    schemes: tuple[Scheme, ...]
    quick: bool
    seeds: int | None
    version: str

    def plan(self) -> Plan:
        """Return the sweep, read from the task's files alone."""
        if self.version != __version__:
            raise RunError(
                f"the worker has msctp {__version__}, the client {self.version}; want the same version on both"
            )
        return Plan.read(self.path, self.files, described(self.schemes), self.quick, self.seeds)


_plans: dict[int, tuple[Task, Plan]] = {}
"""The plan that a worker process read last, by the identity of its task."""


def _run(number: int, task: Task) -> bytes:
    """Run one run on a worker."""
    known = _plans.get(id(task))
    if known is None or known[0] is not task:
        known = (task, task.plan())
        _plans.clear()
        _plans[id(task)] = known
    return known[1].run_one(number)


def _same(task: Task) -> Task:
    """Return the task: a result that Dask can compute again when the worker that has it is lost."""
    return task


def run(
    engine: Client,
    plan: Plan,
    task: Task,
    folder: Folder | None = None,
    progress: Callable[[int], object] | None = None,
) -> Any:
    """Run a sweep on a cluster.

    Parameters
    ----------
    engine
        The cluster's client.
    plan
        The sweep.
    task
        What its runs depend on.
    folder
        Results of runs that need not be run, and where the others' are written as they arrive.
    progress
        Called with the number of runs done.

    Returns
    -------
    tuple
        The results, as the native module returns them.
    """
    from distributed import as_completed

    results = {number: folder.load(number) if folder else None for number in range(len(plan))}
    missing = [number for number, result in results.items() if result is None]
    shared = engine.submit(_same, task, pure=False)
    runs = engine.map(_run, missing, task=shared, pure=False)
    numbers = dict(zip((run.key for run in runs), missing))
    done = len(plan) - len(missing)
    try:
        if progress and done:
            progress(done)
        for run, result in as_completed(runs, with_results=True):
            number = numbers[run.key]
            results[number] = result
            if folder:
                folder.keep(number, result)
            run.release()
            done += 1
            if progress:
                progress(done)
        return plan.collect([result for result in results.values() if result is not None])
    finally:
        engine.cancel(runs)
