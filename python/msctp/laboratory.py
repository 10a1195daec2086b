"""Metrics, sweeps and reproductions of papers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _native
from .progress import Progress, shown
from .schemes import Scheme, described, program
from .table import Table

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Metric:
    """A metric of the registry."""

    name: str
    """As ``handover.gap``."""
    unit: str
    """Symbol of its unit: ``s``, ``B``, ``bit/s``, ``1`` for a ratio, or what it counts."""
    subject: str
    """What a ``:SUBJECT`` names; empty: the metric has none."""
    subject_required: bool
    """Whether the metric has no value without a subject."""
    time: str
    """Its ``@TIME``: ``never``, ``instant`` (required) or ``range`` (optional)."""
    x: str
    """The x axis of a curve; empty: the metric is a number."""
    meaning: str
    """Its meaning, and how it is computed."""


def metrics() -> list[Metric]:
    """Return the registry of metrics, as ``msctp-lab scenario metrics`` lists it.

    Returns
    -------
    list of Metric
        The metrics, by what they describe.
    """
    return [Metric(**entry) for entry in json.loads(_native.metrics())]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper or a sweep, and its grade."""

    id: str
    """As ``KK1``."""
    statement: str
    """The claim in short."""
    figure: str
    """The figure that it is about; empty: none."""
    grade: str
    """``reproduced`` (a sweep's own claim: it holds), ``unresolved`` (the runs do not decide), ``no-effect``,
    ``contradicted`` or ``out-of-reach`` (not judged)."""
    effect: dict[str, Any] | None
    """The effect that decides it, with its 95 % interval, seeds and unit; None: there is none."""
    measured: str
    """What was measured, under the primary conditions."""
    judgements: list[dict[str, Any]]
    """Each set of conditions with its own checks and grade, the primary one first."""
    box: dict[str, Any] | None
    """The share of what the paper leaves open where it is reproduced, with its 95 % interval, and the parameter
    that decides; None: no atlas lies beside the report."""
    again: dict[str, Any] | None
    """Its grade with as many other seeds; None: not judged with them. Where it is another one, ``grade`` is
    ``unresolved``."""
    period: dict[str, Any] | None
    """Its grade with the stacks of the paper's time; None: not judged with them."""
    findings: list[str]
    """Why it is not reproduced, or what its grade rests on; empty for the claims of a sweep of one's own."""


def _claims(text: str) -> list[Claim]:
    return [
        Claim(**{name: value for name, value in claim.items() if name != "paper"})
        for claim in json.loads(text)
    ]


@dataclass(frozen=True, repr=False)
class Sweep:
    """The results of a sweep."""

    runs: Table
    """Every complete run: the axes' values, the seed, the metrics, and the command that repeats it."""
    cells: Table
    """Every cell: the axes' values; of each metric and comparison the mean, the half-width of its 95 %
    interval (``_half_width``) and the number of values (``_n``)."""
    claims: list[Claim]
    """The claims."""
    failed: list[tuple[str, str]]
    """Runs that failed, with the reason."""

    def __repr__(self) -> str:
        runs = len(next(iter(self.runs.values()), ()))
        return f"<Sweep of {runs} runs, {len(self.failed)} failed, {len(self.claims)} claims>"


def sweep(
    path: str | os.PathLike[str],
    *,
    schemes: Iterable[Scheme] = (),
    quick: bool = False,
    seeds: int | None = None,
    threads: int | None = None,
    engine: Client | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Sweep:
    """Run a sweep file on all cores or a cluster, as ``msctp-lab sweep`` does.

    Ctrl-C stops it at once, and a folder keeps the runs that are complete.

    Parameters
    ----------
    path
        The sweep file (TOML).
    schemes
        Subclasses of :class:`msctp.Policy`, :class:`msctp.Controller` and :class:`msctp.LinkModel` that the
        file and its scenarios may name: ``Mine`` as ``python:Mine``. A run whose scheme raises an exception is
        in ``failed``, with the traceback.
    quick
        Run the part that the file's ``[quick]`` names, else the first 3 seeds.
    seeds
        Number of seeds, from 1 on; ``None``: the file's.
    threads
        Number of threads; ``None``: one per core. It does not change the result.
    engine
        Client of a Dask cluster that runs the sweep; ``None``: this machine. It does not change the result.
        The workers need msctp of the same version, and no files. A run is run again when its worker is lost.
    folder
        Folder for the results: a Parquet file for each complete run, with its row of ``runs``. Runs whose file
        is there are not run again; one whose file is damaged is. The files of another sweep, of schemes whose
        source has changed or of another build of msctp are rejected. ``None``: no files.
    progress
        ``None``: a progress bar if tqdm is installed, in a notebook or on a terminal; ``True``: a bar;
        ``False``: nothing; a function: it is called with the number of runs done and that of all.

    Returns
    -------
    Sweep
        The results.

    Raises
    ------
    InputError
        The file, a scenario of it or the folder is invalid.
    RunError
        A result cannot be written.
    """
    classes = tuple(schemes)
    plan = _native.Plan.read(path, {}, described(classes), quick, seeds)
    if engine is not None and threads is not None:
        raise _native.InputError("threads and engine exclude each other; want one of them")
    kept = None if folder is None else plan.folder(folder, program(classes))
    with shown(progress, len(plan)) as show:
        if engine is None:
            runs, cells, claims, failed = plan.run(threads, kept, show)
        else:
            from . import cluster

            task = cluster.Task(os.fspath(path), plan.files(), classes, quick, seeds, _native.__version__)
            runs, cells, claims, failed = cluster.run(engine, plan, task, kept, show)
    return Sweep(Table(runs), Table(cells), _claims(claims), failed)


@dataclass(frozen=True, repr=False)
class Reproduction:
    """The results of a paper's reproduction."""

    title: str
    """Title of the report."""
    claims: list[Claim]
    """The paper's claims."""
    runs: int
    """Number of complete runs."""
    failed: list[tuple[str, str]]
    """Runs that failed, with the reason."""

    def __repr__(self) -> str:
        return f"<Reproduction of {self.title!r}: {self.runs} runs, {len(self.claims)} claims>"


def reproduce(
    paper: str,
    *,
    quick: bool = False,
    seeds: int | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Reproduction:
    """Reproduce a paper, as ``msctp-lab reproduce`` does.

    Ctrl-C stops it at once. Results are not stored for resuming.

    Parameters
    ----------
    paper
        As ``kim-koh``; ``msctp-lab reproduce --help`` lists them.
    quick
        Run the part that takes under a minute.
    seeds
        Number of seeds, from 1 on; ``None``: the paper's.
    threads
        Number of threads; ``None``: one per core. It does not change the result.
    progress
        As for :func:`sweep`; the number of all runs is not known.

    Returns
    -------
    Reproduction
        The results.

    Raises
    ------
    InputError
        There is no such paper.
    """
    with shown(progress, None) as show:
        claims, title, runs, failed = _native.reproduce(paper, quick, seeds, threads, show)
    return Reproduction(title, _claims(claims), runs, failed)
