"""First steps: one download that moves between networks, its rate, its window, and what seeds change."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="First steps")

with app.setup:
    import os
    from pathlib import Path

    import marimo as mo
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    import msctp
    from msctp import style

    style.use()
    FOLDER = Path(__file__).resolve().parent
    QUICK = os.environ.get("MSCTP_QUICK") == "1"


@app.cell
def _() -> None:
    mo.md("""
# First steps

A scenario is a TOML file: networks, hosts, a transport and applications. `run` simulates it, and the same seed
gives the same packets. In this one a mobile downloads over 3G and moves to a WLAN at 30 s.
""")


@app.cell
def _() -> tuple[msctp.Run, msctp.Scenario]:
    scenario = msctp.Scenario.load(FOLDER / "../../scenarios/handover.toml")
    run = scenario.run(seed=1)
    return run, scenario


@app.function
def over_time(run: msctp.Run) -> Figure:
    """Draw the download's rate and the sender's window."""
    figure, (rate, window) = plt.subplots(2, 1, sharex=True, figsize=style.size(1, 0.95))
    goodput = run.curve("association.goodput.curve")
    rate.step(goodput["x"], goodput["y"] / 1e6, where="post", marker="")
    rate.set_ylabel("goodput (Mbit/s)")
    cwnd = run.curve("path.cwnd.curve@0s..60s")
    window.plot(cwnd["x"], cwnd["y"] / 1000, color=style.COLORS[1], marker="")
    window.set_ylabel("cwnd (kB)")
    window.set_xlabel("time (s)")
    at = run.metric("handover.at")
    for axes in (rate, window):
        axes.axvline(at, color="#444444", linewidth=0.8, linestyle="--")
    rate.annotate(
        "the sender moves", (at, rate.get_ylim()[1] * 0.9), (-4, 0), textcoords="offset points", ha="right"
    )
    return figure


@app.cell
def _(run: msctp.Run) -> tuple[Figure]:
    figure = over_time(run)
    figure
    return (figure,)


@app.cell
def _(run: msctp.Run) -> None:
    mo.md(
        f"""
        The sender moved at {run.metric("handover.at"):.2f} s. The longest time between two deliveries around the move was
        {run.metric("handover.gap") * 1000:.0f} ms. In the 5 s before it the mobile received
        {run.metric("handover.before") / 1e6:.2f} Mbit/s, and in the 5 s after it {run.metric("handover.after") / 1e6:.2f} Mbit/s:
        {run.metric("handover.used"):.0%} of what the new path could have delivered. `run.hash` identifies the packets of
        the run: `{run.hash[:16]}…`, as `msctp-lab sim --hash --seed 1` prints.
        """
    )


@app.cell
def _() -> None:
    mo.md("""
## Change a value, repeat with seeds

`set` returns another scenario. Below, the WLAN loses packets, and each share of losses is run under several seeds.
A sweep does this on all cores, and gives the mean and its 95 % interval for each cell.
""")


@app.cell
def _() -> tuple[msctp.Sweep]:
    swept = msctp.sweep(FOLDER / "first_steps.toml", quick=QUICK)
    return (swept,)


@app.function
def by_loss(swept: msctp.Sweep) -> Figure:
    """Draw the rate after the move over the share of packets lost."""
    figure, axes = plt.subplots(figsize=style.size(1))
    cells = swept.cells
    loss = cells["loss"].astype(float) * 100
    axes.errorbar(loss, cells["after_bps"] / 1e6, cells["after_bps_half_width"] / 1e6)
    axes.set_xlabel("packets lost on the WLAN (%)")
    axes.set_ylabel("goodput, 5 s after (Mbit/s)")
    axes.set_ylim(bottom=0)
    return figure


@app.cell
def _(swept: msctp.Sweep) -> tuple[Figure]:
    loss_figure = by_loss(swept)
    loss_figure
    return (loss_figure,)


@app.cell
def _(swept: msctp.Sweep) -> None:
    mo.md(
        f"""
        Mean of {swept.cells["after_bps_n"].min()} seeds, and its 95 % interval. Without losses the mobile received
        {swept.cells["after_bps"][0] / 1e6:.1f} Mbit/s in the 5 s after the move, and with
        {float(swept.cells["loss"][-1]):.0%} of packets lost {swept.cells["after_bps"][-1] / 1e6:.1f} Mbit/s. The command of
        each run is in `swept.runs["command"]`; the first is

        `{swept.runs["command"][0]}`
        """
    )


if __name__ == "__main__":
    app.run()
