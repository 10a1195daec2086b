"""Traces of links."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from . import _native
from .table import Table


@dataclass(frozen=True)
class Trace:
    """A recorded link, as links of ``type = "trace"`` follow it."""

    path: str
    """The file."""
    column: str | None
    """The column of a table of rates; None: the file is in Mahimahi's format."""
    opportunities: Table = field(repr=False, compare=False)
    """``time_s``: the seconds at which a packet of at most 1500 bytes may leave, in order."""
    period: float
    """Seconds after which it repeats."""
    mean_rate: int
    """Mean rate in bit/s."""


def traces(path: str | os.PathLike[str]) -> list[Trace]:
    """Read the traces of a file or a folder.

    Parameters
    ----------
    path
        A file in Mahimahi's format (a line for each opportunity, in milliseconds), a table of rates (``time``
        in seconds and networks in Mbps, separated by commas), or a folder whose ``*.trace`` and ``*.csv`` files
        are such.

    Returns
    -------
    list of Trace
        One for a Mahimahi file, one for each network of a table; of a folder those of its files by name.

    Raises
    ------
    InputError
        A file cannot be read, or is no trace; the text has the line and what is allowed.
    """
    if os.path.isdir(path):
        files = sorted(entry.path for entry in os.scandir(path) if entry.name.endswith((".trace", ".csv")))
        return [trace for file in files for trace in traces(file)]
    file = os.fspath(path)
    return [
        Trace(file, column, Table(times), period, rate)
        for column, times, period, rate in _native.traces(file)
    ]
