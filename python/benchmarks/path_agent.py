"""Tune a path agent and judge it on held-back seeds: ``python python/benchmarks/path_agent.py``.

Wi-Fi fades from 5 s on and is lost at 12 s (``scenarios/walk.toml``); nobody asks the sender to move. The agent has
two numbers: it leaves its path if that delivers less than ``least`` Mbit/s, or if the round-trip time exceeds
``stretch`` times the least one. A random search finds them on seeds 1 and 2. The sweep compares the agent with
policies by name on seeds from 1001, by goodput, with paired 95 % intervals.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import msctp
import msctp.gym
from msctp.simulation import Value

ROOT = Path(__file__).resolve().parents[2]
WALK = ROOT / "scenarios/walk.toml"
LOSSES = (0.0, 0.02, 0.1)
SET: dict[str, Value] = {"action.move.at": "20s"}
NAMES = list(msctp.gym.PATH_OBSERVATION)

SWEEP = """
scenario = "{walk}"
seeds = "1001..{last}"
set = {{ "action.move.at" = "20s" }}
[axis.loss]
set = "action.fade.loss"
values = {losses}
[axis.policy]
set = "sctp.server.handover_policy"
values = ["conservative", "inherit", "adaptive", "python:Tuned"]
[metric.goodput]
of = "association.goodput"
[comparison.conservative]
metric = "goodput"
against = {{ policy = "conservative" }}
as = "relative"
[comparison.adaptive]
metric = "goodput"
against = {{ policy = "adaptive" }}
as = "relative"
"""


class Agent:
    """Leaves a path that delivers too little or has too long a queue."""

    def __init__(self, least: float, stretch: float) -> None:
        self.least, self.stretch = least, stretch

    def __call__(self, seen: msctp.gym.Observation) -> int:
        rows = [dict(zip(NAMES, row)) for row in seen.reshape(2, -1).tolist()]
        at = next((number for number, row in enumerate(rows) if row["primary"]), 0)
        here, there = rows[at], rows[1 - at]
        slow = here["elapsed"] > 0 and here["delivered"] < self.least
        queued = here["rtt"] > self.stretch * here["rtt_min"] > 0
        return 2 - at if (slow or queued) and there["state"] == 1 else 0


def score(agent: Agent, environments: list[msctp.gym.PathEnv], seeds: range) -> float:
    """Return the mean return of an episode."""
    total = 0.0
    for env in environments:
        for seed in seeds:
            seen, _ = env.reset(seed=seed)
            over = False
            while not over:
                seen, reward, _, over, _ = env.step(np.int64(agent(seen)))
                total += float(reward)
    return total / (len(environments) * len(seeds))


def search(candidates: int, seeds: range) -> tuple[Agent, float]:
    """Return the best of random agents, and its mean return."""
    environments = [
        msctp.gym.PathEnv(WALK, {**SET, "action.fade.loss": loss}, profile="server") for loss in LOSSES
    ]
    rng = np.random.default_rng(1)
    agents = [Agent(10 ** rng.uniform(-2, 1), rng.uniform(1.5, 50)) for _ in range(candidates)]
    found = max(((score(agent, environments, seeds), n) for n, agent in enumerate(agents)))
    for env in environments:
        env.close()
    return agents[found[1]], found[0]


def main(candidates: int = 20, seeds: int = 10) -> msctp.Sweep:
    """Tune, judge and print."""
    agent, value = search(candidates, range(1, 3))
    print(
        f"of {candidates}: least {agent.least:.2f} Mbit/s, stretch {agent.stretch:.1f}, return {value:.1f} s"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "paths.toml"
        path.write_text(SWEEP.format(walk=WALK, last=1000 + seeds, losses=list(LOSSES)))
        swept = msctp.sweep(path, schemes=[msctp.gym.policy(agent, name="Tuned")])
    cells = swept.cells
    for row in range(len(cells["loss"])):
        line = f"loss {cells['loss'][row]:>5} {cells['policy'][row]:>13}: {cells['goodput_bps'][row] / 1e6:6.2f} Mbit/s"
        for against in ("conservative", "adaptive"):
            mean, half = cells[against][row], cells[f"{against}_half_width"][row]
            line += f"  against {against} {100 * mean:+.1f} ± {100 * half:.1f} %"
        print(line)
    return swept


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
