"""Tables V to VII of Fu and Atiquzzaman as a figure: our runs beside the paper's numbers."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="A figure of a paper")

with app.setup:
    import os
    from pathlib import Path
    from typing import Any

    import marimo as mo
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    import msctp
    from msctp import style

    style.use()
    FOLDER = Path(__file__).resolve().parent
    QUICK = os.environ.get("MSCTP_QUICK") == "1"
    WIRED = ("54kbps", "200kbps", "1500kbps")
    WIRELESS = (150, 200, 384, 1000, 2000)
    PAPER = {
        "TCP Reno": ((283, 489, 774, 971, 1010), (373, 487, 1205, 2148, 2376), (519, 717, 1224, 2660, 2715)),
        "TCP SACK": ((431, 560, 934, 973, 1046), (478, 717, 1262, 2528, 2501), (567, 727, 1816, 2750, 2796)),
        "SCTP": ((544, 796, 955, 1028, 1077), (716, 1485, 1446, 2629, 2681), (685, 1168, 1892, 2768, 2793)),
    }


@app.cell
def _() -> None:
    mo.md("""
# A figure of a paper from raw runs

Fu and Atiquzzaman, *Improving End-to-End Throughput of Mobile IP using SCTP*: a mobile sends for 200 s and changes its
Mobile IP agent twice. Tables V to VII have the segments that the correspondent received with TCP Reno, TCP SACK and
SCTP, over the rates of the wire and of the radio. The paper shows one number for each; it does not give the
parameters of its radio errors. Ours were fitted to Table V (TCP Reno) only.
""")


@app.cell
def _() -> tuple[msctp.Sweep]:
    swept = msctp.sweep(FOLDER / "paper_figure.toml", quick=QUICK)
    return (swept,)


@app.function
def ours(swept: msctp.Sweep, transport: str, wired: str) -> dict[str, NDArray[Any]]:
    """Return the cells of a transport and a rate of the wire."""
    chosen = (swept.cells["transport"] == transport) & (swept.cells["wired"] == wired)
    return {name: column[chosen] for name, column in swept.cells.items()}


@app.function
def draw(swept: msctp.Sweep) -> Figure:
    """Draw our means with 95 % intervals as lines and the paper's numbers as empty markers."""
    figure, panels = plt.subplots(1, 3, sharey=True, figsize=style.size(2, 0.36))
    places = np.arange(len(WIRELESS), dtype=float)
    for row, (wired, axes) in enumerate(zip(WIRED, panels)):
        for number, transport in enumerate(PAPER):
            color, marker = style.COLORS[number], style.MARKERS[number]
            cells = ours(swept, transport, wired)
            x = places + 0.1 * (number - 1)
            axes.errorbar(
                x,
                cells["segments"],
                cells["segments_half_width"],
                color=color,
                marker=marker,
                label=transport if row == 0 else None,
            )
            paper = PAPER[transport][row]
            axes.plot(
                x, paper, color=color, marker=marker, markerfacecolor="white", linestyle="none", zorder=3
            )
        axes.set_title(f"w = {wired.removesuffix('kbps')} kbit/s")
        axes.set_xticks(places, [str(rate) for rate in WIRELESS])
        axes.set_xlabel("r, rate of the radio (kbit/s)")
    panels[0].set_ylabel("segments received in 200 s")
    panels[0].plot(
        [], [], color="#444444", marker="o", markerfacecolor="white", linestyle="none", label="the paper"
    )
    panels[0].set_ylim(bottom=0)
    figure.legend(loc="outside upper center", ncols=len(PAPER) + 1)
    return figure


@app.cell
def _(swept: msctp.Sweep) -> tuple[Figure]:
    figure = draw(swept)
    figure
    return (figure,)


@app.function
def agreement(swept: msctp.Sweep, transport: str) -> tuple[float, int]:
    """Return the median relative error, and in how many cells our interval has the paper's number."""
    errors, inside = [], 0
    for row, wired in enumerate(WIRED):
        cells = ours(swept, transport, wired)
        paper = np.array(PAPER[transport][row])
        errors.extend(np.abs(cells["segments"] / paper - 1))
        inside += int((np.abs(cells["segments"] - paper) <= cells["segments_half_width"]).sum())
    return float(np.median(errors)), inside


@app.cell
def _(swept: msctp.Sweep) -> None:
    mo.md(
        f"Filled: the mean of {swept.cells['segments_n'].min()} seeds and its 95 % interval. Empty: the paper's number.\n\n"
        + "\n".join(
            f"- {transport}{' (fitted)' if transport == 'TCP Reno' else ''}: median relative error {error:.0%}; the paper's"
            f" number is in our interval in {inside} of {len(WIRED) * len(WIRELESS)} cells"
            for transport in PAPER
            for error, inside in [agreement(swept, transport)]
        )
        + "\n\nAn interval of means need not have the number of one run: a paper's single run scatters more than our mean."
    )


if __name__ == "__main__":
    app.run()
