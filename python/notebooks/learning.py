"""A congestion controller tuned in an environment of gymnasium, and judged on seeds that it has not seen."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="Learning")

with app.setup:
    import os
    from pathlib import Path

    import marimo as mo
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    import msctp
    import msctp.gym
    from msctp import style

    style.use()
    FOLDER = Path(__file__).resolve().parent
    QUICK = os.environ.get("MSCTP_QUICK") == "1"
    LOSSES = (0.0, 0.005, 0.02)


@app.cell
def _() -> None:
    mo.md(
        """
        # Learning a controller

        `msctp.gym.WindowEnv` is an environment of gymnasium: an episode is a run, and every 100 ms of virtual time the agent
        changes the congestion window by a factor from 1/2 to 2. The agent below has four numbers: how strongly it reacts to
        the queueing delay, which delay it aims at, how fast it grows at most, and how much it yields to a loss. A random
        search finds them.
        """
    )


@app.class_definition
class Agent:
    """Steers the round-trip time to a multiple of the least one.

    Parameters
    ----------
    gain, target, limit, cut
        Change of the window (its binary logarithm) per unit of the ratio; the ratio aimed at; the fastest growth; the
        change after an interval with losses.
    """

    def __init__(self, gain: float, target: float, limit: float, cut: float) -> None:
        self.gain, self.target, self.limit, self.cut = gain, target, limit, cut

    def __call__(self, seen: msctp.gym.Observation) -> float:
        window, _, rtt, rtt_min, losses, _, _ = (float(value) for value in seen)
        if window < 4:
            return 1.0  # The SACK of a lone packet is delayed by up to 200 ms, which is no queue.
        ratio = rtt / rtt_min if rtt_min > 0 else 1.0
        return min(self.gain * (self.target - ratio), self.limit) - (self.cut if losses else 0.0)


@app.function
def score(agent: Agent, environments: list[msctp.gym.WindowEnv], seeds: range) -> float:
    """Return the mean return of an episode."""
    total = 0.0
    for env in environments:
        for seed in seeds:
            seen, _ = env.reset(seed=seed)
            over = False
            while not over:
                action = np.clip(np.array([agent(seen)], dtype=np.float32), -1, 1)
                seen, reward, _, over, _ = env.step(action)
                total += float(reward)
    return total / (len(environments) * len(seeds))


@app.function
def search(candidates: int, seeds: range) -> tuple[Agent, NDArray[np.float64]]:
    """Return the best agent, and the return of every candidate: the first half is random, the second near the best."""
    environments = [
        msctp.gym.WindowEnv(
            FOLDER / "../../scenarios/bulk-wlan.toml",
            {"duration": "20s", "link.wlan.loss": loss},
            delay_weight=1.0,
        )
        for loss in LOSSES
    ]
    rng = np.random.default_rng(1)
    low, high = np.array([0.1, 1.02, 0.02, 0.0]), np.array([10.0, 2.0, 1.0, 1.0])
    best, values, best_value = low, [], -np.inf
    for number in range(candidates):
        near = best + rng.normal(size=4) * (high - low) * 0.1
        found = rng.uniform(low, high) if number < candidates / 2 else np.clip(near, low, high)
        values.append(score(Agent(*found), environments, seeds))
        if values[-1] > best_value:
            best, best_value = found, values[-1]
    for env in environments:
        env.close()
    return Agent(*best), np.array(values)


@app.cell
def _() -> tuple[Agent, NDArray[np.float64]]:
    agent, returns = search(12, range(1, 2)) if QUICK else search(100, range(1, 3))
    return agent, returns


@app.function
def progress(returns: NDArray[np.float64]) -> Figure:
    """Draw the return of each candidate and the best so far."""
    figure, axes = plt.subplots(figsize=style.size(1))
    number = np.arange(1, len(returns) + 1)
    axes.plot(number, returns, linestyle="none", color=style.COLORS[4], label="candidate")
    axes.step(
        number, np.maximum.accumulate(returns), where="post", marker="", color=style.COLORS[0], label="best"
    )
    axes.set_xlabel("candidate (number)")
    axes.set_ylabel("mean return (s)")
    axes.legend(loc="lower right")
    return figure


@app.cell
def _(returns: NDArray[np.float64]) -> tuple[Figure]:
    search_figure = progress(returns)
    search_figure
    return (search_figure,)


@app.cell
def _(agent: Agent) -> tuple[msctp.Sweep]:
    # "python:Tuned" in the file is a controller that asks the agent.
    tuned = msctp.gym.controller(agent, name="Tuned")
    swept = msctp.sweep(FOLDER / "learning.toml", quick=QUICK, schemes=[tuned])
    return (swept,)


@app.function
def beside(swept: msctp.Sweep) -> Figure:
    """Draw goodput and round-trip times of each controller over the share of packets lost."""
    cells = swept.cells
    figure, panels = plt.subplots(1, 2, figsize=style.size(2, 0.36))
    for number, name in enumerate(dict.fromkeys(cells["controller"])):
        of = cells["controller"] == name
        for axes, metric, scale in ((panels[0], "goodput_bps", 1e-6), (panels[1], "rtt_s", 1e3)):
            axes.errorbar(
                np.arange(len(LOSSES)) + 0.06 * (number - 1.5),
                cells[metric][of] * scale,
                cells[metric + "_half_width"][of] * scale,
                color=style.COLORS[number],
                marker=style.MARKERS[number],
                label=str(name).removeprefix("python:") if metric == "rtt_s" else None,
            )
    panels[0].set_ylabel("goodput (Mbit/s)")
    panels[1].set_ylabel("95th percentile of the RTT (ms)")
    for axes in panels:
        axes.set_xticks(range(len(LOSSES)), [f"{100 * loss:g}" for loss in LOSSES])
        axes.set_xlabel("packets lost (%)")
        axes.set_ylim(bottom=0)
    figure.legend(loc="outside upper center", ncols=4)
    return figure


@app.cell
def _(swept: msctp.Sweep) -> tuple[Figure]:
    figure = beside(swept)
    figure
    return (figure,)


@app.function
def verdict(swept: msctp.Sweep, comparison: str, scheme: str) -> str:
    """Say whether the agent beats a scheme, from the paired differences."""
    cells = swept.cells
    of = cells["controller"] == "python:Tuned"
    lines = []
    beaten = 0
    for loss, lead, half in zip(
        cells["loss"][of], cells[comparison][of], cells[f"{comparison}_half_width"][of]
    ):
        beaten += int(lead - half > 0)
        said = "more" if lead - half > 0 else "less" if lead + half < 0 else "no difference shown"
        lines.append(f"    - {100 * float(loss):g} % lost: {said} ({100 * lead:+.0f} ± {100 * half:.0f} %)")
    return f"- It has more power than `{scheme}` in {beaten} of {len(lines)} settings:\n" + "\n".join(lines)


@app.cell
def _(agent: Agent, returns: NDArray[np.float64], swept: msctp.Sweep) -> None:
    mo.md(
        f"After {len(returns)} candidates the agent changes the logarithm of its window by {agent.gain:.2f} per unit of the ratio of"
        f" round-trip times, at most by {agent.limit:.2f}, aims at a ratio of {agent.target:.2f}, and yields {agent.cut:.2f} to a loss. It was judged on {swept.cells['lead_n'].min()} seeds that the"
        " search had not seen, by the power of a sender: goodput divided by the round-trip time that 95 % of the samples stay"
        " below. Relative differences are paired, with 95 % intervals:\n\n"
        + verdict(swept, "lead", "cubic")
        + "\n"
        + verdict(swept, "lead_bound", "delay-bound")
        + "\n\nThe agent was alone on its path, in the search and here: this says nothing about its fairness."
    )


if __name__ == "__main__":
    app.run()
