"""A handover policy of one's own in ten lines, against the schemes of five papers."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="A scheme of one's own")

with app.setup:
    import os
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
def _() -> None:
    mo.md("""
# A scheme of one's own against the papers'

A handover policy decides with which window a sender starts on a new path. This one measures the path as soon as it
exists, and starts there with the bandwidth-delay product that the measurement found free, paced at the free rate.
""")


@app.class_definition
class Measured(msctp.Policy):
    """Starts with the bandwidth-delay product that is free."""

    measures = True

    def on_path_added(self, path: int, view: msctp.schemes.View, actions: list[msctp.schemes.Action]) -> None:
        if path != view.primary:
            actions.append(msctp.schemes.StartProbing(path))

    def on_primary_switch(
        self,
        old: msctp.schemes.PathView,
        new: msctp.schemes.PathView,
        view: msctp.schemes.View,
        actions: list[msctp.schemes.Action],
    ) -> msctp.StartState | None:
        actions.append(msctp.schemes.StopProbing(new.id))
        if new.estimate is None or new.estimate.available == 0:
            return None
        window = max(new.estimate.bdp, 4 * new.pmdcs)
        return msctp.StartState(window, ssthresh=window, pacing_rate=new.estimate.available)


@app.cell
def _() -> tuple[msctp.Sweep]:
    # "python:Measured" in the file is the class above. The same seeds for every scheme: differences are paired.
    swept = msctp.sweep(FOLDER / "own_scheme.toml", quick=QUICK, schemes=[Measured])
    return (swept,)


@app.function
def draw(swept: msctp.Sweep) -> Figure:
    """Draw the share of the optimum and the longest gap of every scheme on every handover."""
    cells = swept.cells
    handovers, schemes = list(dict.fromkeys(cells["handover"])), list(dict.fromkeys(cells["scheme"]))
    figure, (used, gap) = plt.subplots(2, 1, sharex=True, figsize=style.size(2, 0.55))
    places = np.arange(len(handovers), dtype=float)
    for number, scheme in enumerate(schemes):
        of = cells["scheme"] == scheme
        x = places + 0.12 * (number - (len(schemes) - 1) / 2)
        dots = {"color": style.COLORS[number], "marker": style.MARKERS[number], "linestyle": "none"}
        used.errorbar(x, cells["used"][of] * 100, cells["used_half_width"][of] * 100, label=scheme, **dots)
        gap.errorbar(x, cells["gap_s"][of], cells["gap_s_half_width"][of], **dots)
    used.axhline(100, color="#444444", linewidth=0.6)
    used.set_ylabel("share of the optimum (%)")
    gap.set_ylabel("longest delivery gap (s)")
    gap.set_xticks(places, [str(handover) for handover in handovers])
    gap.set_xlabel("handover")
    for axes in (used, gap):
        axes.set_ylim(bottom=0)
        axes.grid(axis="x", visible=False)
    figure.legend(loc="outside upper center", ncols=len(schemes))
    return figure


@app.cell
def _(swept: msctp.Sweep) -> tuple[Figure]:
    figure = draw(swept)
    figure
    return (figure,)


@app.function
def verdict(swept: msctp.Sweep) -> str:
    """Say where the own scheme is ahead of and behind Kim & Koh's."""
    cells = swept.cells
    own = cells["scheme"] == "own"
    lead, half = cells["lead"][own], cells["lead_half_width"][own]
    handovers = [str(handover).replace("\n", ", ") for handover in cells["handover"][own]]

    def named(chosen: list[bool]) -> str:
        found = [
            f"{handover} ({100 * value:+.1f} ± {100 * width:.1f})"
            for handover, value, width, take in zip(handovers, lead, half, chosen)
            if take
        ]
        return "; ".join(found) or "none"

    ahead, behind = lead - half > 0, lead + half < 0
    return (
        f"- ahead: {named(list(ahead))}\n- behind: {named(list(behind))}\n"
        f"- no difference that {cells['lead_n'].min()} seeds show: {named(list(~ahead & ~behind))}"
    )


@app.cell
def _(swept: msctp.Sweep) -> None:
    mo.md(
        "Above: what was delivered in the 5 s after the move, as a share of what the new path left free. Data from the old"
        " path counts too, so that it can exceed 100 %. Dots are means, bars their 95 % intervals. The scheme of one's own"
        " against Kim & Koh's, which measures as well, in percentage points of the optimum with paired 95 % intervals:\n\n"
        + verdict(swept)
        + "\n\nThe links of these handovers make no reports of the radio, which Afif's scheme needs: there it is standard SCTP"
        " with the window of its paper."
    )


if __name__ == "__main__":
    app.run()
