"""Progress of many runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Union

from ._native import InputError

Progress = Union[bool, Callable[[int, Union[int, None]], object], None]
"""``None``: a bar if tqdm is installed, in a notebook or on a terminal. ``True``: a bar. ``False``: nothing. A
function: it is called with the number of runs done and that of all (``None``: unknown)."""


def _bar() -> Any:
    """Return tqdm's class; None if it is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


def _seen() -> bool:
    """Return whether there is a terminal or a notebook to show a bar on."""
    return "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", bool)())


@contextmanager
def shown(progress: Progress, total: int | None) -> Iterator[Callable[[int], object] | None]:
    """Show progress.

    Parameters
    ----------
    progress
        How.
    total
        Number of runs; ``None``: unknown.

    Yields
    ------
    function or None
        Call it with the number of runs done. ``None``: nothing is shown.
    """
    if callable(progress):
        call = progress
        yield lambda done: call(done, total)
        return
    bar = _bar() if progress or (progress is None and _seen()) else None
    if progress and bar is None:
        raise InputError("progress=True needs tqdm; install it with pip install tqdm, or pass a function")
    if bar is None:
        yield None
        return
    with bar(total=total, unit="run") as open_bar:
        yield lambda done: open_bar.update(done - open_bar.n)
