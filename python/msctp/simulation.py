"""Scenarios and their runs."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Union

from . import _native
from .schemes import Scheme, described
from .table import Table

Value = Union[str, int, float, bool, Sequence[Union[str, int, float, bool]]]
"""A value of a scenario: a text as after ``--set KEY=``, a number, a truth value, or a list of them."""

SERIES = {
    "throughput": ["bit_per_s"],
    "window": ["cwnd", "ssthresh", "flight_size"],
    "rtt": ["sample_s", "srtt_s", "rto_s"],
    "estimate": ["capacity_bit_per_s", "available_bit_per_s", "min_rtt_s", "loss_ppm"],
    "queue": ["packets", "bytes"],
    "message": ["generated_s", "delivered_s"],
}
"""The time series of a run, and the columns of each."""


def _text(value: Value) -> str:
    """Return a value as after ``--set KEY=``."""
    return value if isinstance(value, str) else json.dumps(value)


class Scenario:
    """A scenario file with overrides.

    Immutable: :meth:`set` and :meth:`update` return another scenario.
    """

    def __init__(self, native: _native.Scenario) -> None:
        self._native = native

    @classmethod
    def load(cls, path: str | os.PathLike[str], schemes: Iterable[Scheme] = ()) -> Scenario:
        """Read and check a scenario file.

        Parameters
        ----------
        path
            The file (TOML). Files that it names are relative to its folder.
        schemes
            Subclasses of :class:`msctp.Policy`, :class:`msctp.Controller` and :class:`msctp.LinkModel` that the
            scenario may name: ``Mine`` as ``python:Mine``.

        Returns
        -------
        Scenario
            The scenario.

        Raises
        ------
        InputError
            The file cannot be read, or is invalid; the text has the line, the key and what is allowed.
        """
        return cls(_native.Scenario.load(path, described(schemes)))

    def set(self, key: str, value: Value) -> Scenario:
        """Replace a value, as ``msctp-lab sim --set KEY=VALUE`` does.

        Parameters
        ----------
        key
            As ``duration``, ``link.wlan.rate`` or ``action.0.at``; ``msctp-lab scenario explain`` lists the keys.
        value
            A number, a truth value, a list, or a text such as ``"2Mbps"`` or ``"150ms"``.

        Returns
        -------
        Scenario
            The scenario with the value.

        Raises
        ------
        InputError
            The scenario with the value is invalid.
        """
        return self.update({key: value})

    def update(self, overrides: Mapping[str, Value]) -> Scenario:
        """Replace several values that are valid only together.

        Parameters
        ----------
        overrides
            Keys and values as for :meth:`set`.

        Returns
        -------
        Scenario
            The scenario with the values.

        Raises
        ------
        InputError
            The scenario with the values is invalid.
        """
        more = [f"{key}={_text(value)}" for key, value in overrides.items()]
        return Scenario(self._native.with_overrides(more))

    @property
    def name(self) -> str:
        """Short name."""
        return self._native.name

    @property
    def description(self) -> str:
        """Purpose, in one sentence."""
        return self._native.description

    @property
    def duration(self) -> float:
        """Virtual time of a run in seconds."""
        return self._native.duration

    @property
    def seed(self) -> int:
        """Seed of a run that names none."""
        return self._native.seed

    @property
    def overrides(self) -> list[str]:
        """The overrides, each ``KEY=VALUE``."""
        return self._native.overrides

    def run(self, seed: int | None = None) -> Run:
        """Simulate the scenario to its end.

        Other Python threads run meanwhile, and Ctrl-C stops it. Warns of declarations that nothing uses.

        Parameters
        ----------
        seed
            Seed of every random stream; ``None``: the scenario's.

        Returns
        -------
        Run
            The results.

        Raises
        ------
        Exception
            That of a callback of a Python scheme, which ends the run.
        """
        for what in self._native.unused:
            warnings.warn(what, stacklevel=2)
        return Run(self._native.run(seed))

    def __repr__(self) -> str:
        sets = "".join(f", {override}" for override in self.overrides)
        return f"<Scenario {self._native.file}{sets}>"


class Run:
    """A run of a scenario: its summary, metrics, time series and packets."""

    def __init__(self, native: _native.Run) -> None:
        self._native = native

    @property
    def seed(self) -> int:
        """Seed of every random stream."""
        return self._native.seed

    @property
    def hash(self) -> str:
        """SHA-256 of all delivered packets and their times, as ``msctp-lab sim --hash`` prints it."""
        return self._native.hash

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The summary, as ``msctp-lab sim --hash --series DIR --json`` prints it: seconds, bytes, bit/s."""
        summary: dict[str, Any] = json.loads(self._native.summary())
        return summary

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every metric of ``msctp-lab scenario metrics`` that needs no time and has a value in this run.

        Units are those of :func:`msctp.metrics`. Some metrics need every chunk: the first use runs the
        scenario a second time to record them.
        """
        return dict(self._native.metrics())

    def metric(self, name: str) -> float:
        """Return a metric.

        Parameters
        ----------
        name
            ``NAME[:SUBJECT][@TIME]``, as ``handover.gap``, ``link.drops:wlan/forward`` or ``path.cwnd@31s``.

        Returns
        -------
        float
            The value in the unit that :func:`msctp.metrics` names.

        Raises
        ------
        InputError
            There is no such metric, subject or time.
        RunError
            The run has no value; the text says why.
        """
        return self._native.metric(name)

    def curve(self, name: str) -> Table:
        """Return a curve of the registry.

        Parameters
        ----------
        name
            As for :meth:`metric`; :func:`msctp.metrics` names curves and the unit of ``x``.

        Returns
        -------
        Table
            Columns ``x`` and ``y``.

        Raises
        ------
        InputError
            There is no such curve, subject or time.
        RunError
            The run has no such points.
        """
        return Table(self._native.curve(name))

    def series(self, name: str) -> Table:
        """Return a time series, with the columns of ``msctp-lab sim --series``.

        Parameters
        ----------
        name
            A key of :data:`msctp.SERIES`, as ``"window"``, or one of its columns, as ``"cwnd"``.

        Returns
        -------
        Table
            Columns that say what a row is of (``time_s`` in seconds, ``association``, ``side``, ``path``,
            or ``direction``, or ``app`` and ``number``), then the series' own: windows in bytes, rates in
            bit/s, times in seconds. An unlimited ssthresh, and the time of a message that was not delivered,
            are NaN.

        Raises
        ------
        InputError
            There is no such series.
        """
        return Table(self._native.series(name))

    def pcap(self, path: str | os.PathLike[str], links: Iterable[str] = ()) -> None:
        """Write the packets that links deliver, by a second run of the scenario.

        Parameters
        ----------
        path
            The file (pcapng, nanoseconds). It appears when it is complete.
        links
            Links (``wlan``) or directions (``wlan/forward``); none: all.

        Raises
        ------
        InputError
            There is no such link, or the file cannot be created.
        RunError
            The file cannot be written.
        """
        self._native.pcap(path, list(links))

    def __repr__(self) -> str:
        return f"<Run of {self.summary['scenario']}, seed {self.seed}, hash {self.hash[:12]}>"
