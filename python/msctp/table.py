"""Columns as numpy arrays and as Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._native import Columns


class Table(dict[str, NDArray[Any]]):
    """Named columns of equal length: a dict of numpy arrays.

    Numbers are float64 or int64 (NaN: no value), texts are numpy strings. Arrays of numbers are read-only.

    Parameters
    ----------
    arrow
        The columns.
    """

    def __init__(self, arrow: Columns) -> None:
        super().__init__({name: _values(values, texts) for name, values, texts in arrow.parts()})
        self._arrow = arrow

    @property
    def arrow(self) -> Columns:
        """The same columns in the memory of the numpy arrays, through the Arrow PyCapsule interface.

        ``polars.DataFrame(table.arrow)``, ``pyarrow.table(table.arrow)`` and
        ``pandas.DataFrame.from_arrow(table.arrow)`` take it. A missing value is null. Arrays that were added
        to the dict are not in it.
        """
        return self._arrow

    def __reduce__(self) -> tuple[type[Table], tuple[Columns]]:
        return (Table, (self._arrow,))


def _values(values: NDArray[Any] | None, texts: list[str] | None) -> NDArray[Any]:
    if texts is None:
        assert values is not None
        return values
    return np.array(texts, dtype=np.str_) if values is None else np.array(texts, dtype=np.str_)[values]
