"""Downloads over recorded networks: one network alone, a policy that moves, both at once."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="Real traces")

with app.setup:
    import csv
    import os
    import warnings
    from pathlib import Path

    import marimo as mo
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.figure import Figure

    import msctp
    from msctp import style

    style.use()
    FOLDER = Path(__file__).resolve().parent
    QUICK = os.environ.get("MSCTP_QUICK") == "1"


@app.cell
def _() -> tuple[list[Path]]:
    given = os.environ.get("MSCTP_TRACES")
    sample = FOLDER / "../../scenarios/traces/sample-two-networks.csv"
    files = sorted(Path(given).glob("*.csv")) if given else [sample]
    if not files:
        raise msctp.InputError(
            f"MSCTP_TRACES is {given}, which has no *.csv; want tables as docs/models/trace.md describes"
        )
    if QUICK:
        files = files[:3]
    mo.md(
        f"""
        # Real traces

        A mobile with two networks downloads for as long as a recording of both lasts. Recordings:
        {f"the first {len(files)} of" if QUICK and given else "those of"} {f"`{given}`" if given else "the repository's sample, which is made up"}.
        Set the environment variable `MSCTP_TRACES` to a folder of your own: each CSV has a column `time` in seconds and a column
        in Mbit/s for each network, of which the first two are used (docs/models/trace.md).
        """
    )
    return (files,)


@app.function
def networks(file: Path) -> tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """Return the columns of a table, and its rows of numbers."""
    with file.open() as lines:
        rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    return rows[0][:3], np.array([[float(value) for value in row[:3]] for row in rows[1:]])


@app.function
def senders(names: list[str]) -> dict[str, dict[str, msctp.simulation.Value]]:
    """Return the overrides of each sender."""
    profile = "sctp.server."
    delay = {profile + "controller": "delay-bound"}
    return {
        f"{names[1]} alone": {"association.download.client_addresses": ["10.0.1.2"], **delay},
        f"{names[2]} alone": {"association.download.client_addresses": ["10.0.2.2"], **delay},
        "anticipate": {profile + "handover_policy": "anticipate", **delay},
        "both at once": {profile + "paths": "aggregate", **delay},
    }


@app.function
def downloads(file: Path) -> dict[str, msctp.Run]:
    """Run every sender over a recording."""
    names, rows = networks(file)
    scenario = msctp.Scenario.load(FOLDER / "traces.toml").update(
        {
            "link.first.trace": str(file.resolve()),
            "link.first.column": names[1],
            "link.second.trace": str(file.resolve()),
            "link.second.column": names[2],
            "duration": f"{rows[-1, 0]}s",
        }
    )
    with warnings.catch_warnings():
        # A sender that has one network does not use the other.
        warnings.simplefilter("ignore")
        return {name: scenario.update(overrides).run(seed=1) for name, overrides in senders(names).items()}


@app.cell
def _(files: list[Path]) -> tuple[dict[Path, dict[str, msctp.Run]]]:
    runs = {file: downloads(file) for file in files}
    return (runs,)


@app.function
def by_second(run: msctp.Run) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the goodput of each whole second in Mbit/s."""
    curve = run.curve("association.goodput.curve")
    seconds = np.floor(curve["x"]).astype(int)
    counted = np.bincount(seconds)
    means = np.bincount(seconds, weights=curve["y"])[counted > 0] / counted[counted > 0] / 1e6
    return means.astype(np.float64)


@app.function
def over_time(file: Path, runs: dict[str, msctp.Run]) -> Figure:
    """Draw the rates of the networks, and the goodput of the senders that use both."""
    figure, panels = plt.subplots(3, 1, sharex=True, sharey=True, figsize=style.size(2, 0.62))
    names, rows = networks(file)
    for number, name in enumerate(names[1:]):
        panels[0].step(
            rows[:, 0], rows[:, number + 1], where="post", marker="", label=name, color=style.COLORS[number]
        )
    panels[0].set_title(f"rates of the recording {file.name}")
    for number, (axes, name) in enumerate(zip(panels[1:], ("anticipate", "both at once"))):
        goodput = by_second(runs[name])
        axes.step(np.arange(len(goodput)), goodput, where="post", marker="", color=style.COLORS[number + 2])
        axes.set_title(f"goodput, {name}")
    panels[0].legend(loc="upper right", ncols=2)
    for axes in panels:
        axes.set_ylabel("Mbit/s")
    panels[-1].set_xlabel("time (s)")
    return figure


@app.function
def distribution(runs: dict[Path, dict[str, msctp.Run]]) -> Figure:
    """Draw in which share of the seconds a sender had at most a rate."""
    figure, axes = plt.subplots(figsize=style.size(1))
    # Recordings may call their networks differently: senders are matched by their places.
    for number in range(4):
        name = list(next(iter(runs.values())))[number]
        seconds = np.sort(np.concatenate([by_second(list(of.values())[number]) for of in runs.values()]))
        share = np.arange(1, len(seconds) + 1) / len(seconds) * 100
        axes.step(
            seconds, share, where="post", marker="", label=name, linestyle=("-", "--", "-", "-.")[number]
        )
    axes.set_xlabel("goodput of a second (Mbit/s)")
    axes.set_ylabel("seconds with at most that (%)")
    axes.set_ylim(0, 100)
    axes.set_xlim(left=0)
    axes.legend(loc="lower right")
    return figure


@app.cell
def _(files: list[Path], runs: dict[Path, dict[str, msctp.Run]]) -> tuple[Figure]:
    figure = over_time(files[0], runs[files[0]])
    figure
    return (figure,)


@app.cell
def _(runs: dict[Path, dict[str, msctp.Run]]) -> tuple[Figure]:
    distribution_figure = distribution(runs)
    distribution_figure
    return (distribution_figure,)


@app.cell
def _(runs: dict[Path, dict[str, msctp.Run]]) -> None:
    table = [
        {
            "recording": file.name,
            "sender": name,
            "goodput (Mbit/s)": round(run.metric("association.goodput") / 1e6, 2),
            "moves": int(run.metric("handover.count")),
            "longest gap (s)": round(run.metric("association.gap"), 2),
            "95 % of round trips at most (ms)": round(run.metric("path.rtt.p95") * 1000),
        }
        for file, of in runs.items()
        for name, run in of.items()
    ]
    mo.vstack(
        [mo.md(f"{len(runs)} recording(s), one run each: no interval."), mo.ui.table(table, selection=None)]
    )


if __name__ == "__main__":
    app.run()
