"""A matplotlib style for figures in papers.

>>> from msctp import style
>>> style.use()
>>> figure, axes = plt.subplots(figsize=style.size(columns=1))

Text has 8 pt when a figure is printed at its size, in one column or across two of a page of IEEE or ACM. The colours
are those of Okabe and Ito (2008), which readers with any kind of colour vision can tell apart. Needs ``msctp[notebooks]``.
"""

from __future__ import annotations

from typing import Any, Literal

import matplotlib.style
from cycler import cycler

__all__ = ["COLORS", "COLUMN", "MARKERS", "PAGE", "RC", "size", "use"]

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Blue, vermilion, green, purple, sky blue, orange, black."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""A marker for each colour: a figure must not need its colours."""

COLUMN = 3.5
"""Width of one column in inches."""

PAGE = 7.16
"""Width of two columns in inches."""

RC: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#444444",
    "axes.grid": True,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.prop_cycle": cycler(color=COLORS, marker=MARKERS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 8,
    "errorbar.capsize": 1.5,
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "figure.facecolor": "white",
    "figure.figsize": (COLUMN, 2.2),
    "font.size": 8,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.4,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "savefig.dpi": 300,
    "svg.hashsalt": "msctp",
    "xtick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.labelsize": 7,
    "ytick.major.width": 0.6,
}
"""The settings. ``matplotlib.style.context(RC)`` applies them to one figure."""


def use() -> None:
    """Apply the style to all figures made from now on."""
    matplotlib.style.use(RC)


def size(columns: Literal[1, 2] = 1, ratio: float = 0.62) -> tuple[float, float]:
    """Return the size of a figure.

    Parameters
    ----------
    columns
        Columns of the page that the figure spans.
    ratio
        Height as a share of the width.

    Returns
    -------
    tuple of float
        Width and height in inches.
    """
    if columns not in (1, 2):
        raise ValueError(f"columns is {columns!r}; want 1 or 2")
    width = COLUMN if columns == 1 else PAGE
    return width, width * ratio
