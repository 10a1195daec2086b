"""Environments of gymnasium in which an agent learns a congestion controller or a handover policy.

>>> import msctp.gym
>>> env = msctp.gym.WindowEnv("scenarios/bulk-wlan.toml", {"link.wlan.loss": 0.01})
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

An episode is a run, which waits at each decision. In :class:`WindowEnv` the agent sets congestion windows, in
:class:`PathEnv` it chooses the primary path. :func:`controller` and :func:`policy` make a class of an agent, which
scenarios and sweeps take like any other scheme. Needs ``msctp[gym]``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Union

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ._episode import FLOOR, EpisodeEnv, Observation, period
from ._native import InputError
from ._paths import PATH_OBSERVATION, PathAgent, PathEnv, policy
from .schemes import Ack, Controller, Loss, PathConfig
from .simulation import Scenario, Value

__all__ = [
    "OBSERVATION",
    "PATH_OBSERVATION",
    "Action",
    "Agent",
    "Observation",
    "PathAgent",
    "PathEnv",
    "WindowEnv",
    "controller",
    "policy",
]

Action = NDArray[np.float32]
"""An action: one number from -1 to 1. The window is multiplied by 2 to the power of it."""

Agent = Callable[[Observation], Union[Action, float]]
"""A deterministic function from observations to actions."""

OBSERVATION = {
    "window": (1.0, 65536.0, "congestion window in packets of the path's MTU"),
    "delivered": (0.0, 1e6, "rate acknowledged since the last decision in Mbit/s of user data"),
    "rtt": (
        0.0,
        60.0,
        "mean of the round-trip times since the last decision in s; the last mean: there was none",
    ),
    "rtt_min": (0.0, 60.0, "least round-trip time of the path so far in s; 0: there was none"),
    "losses": (0.0, 1e6, "loss events found by gap blocks or ECN since the last decision"),
    "timeouts": (0.0, 1e6, "expirations of the retransmission timer since the last decision"),
    "elapsed": (0.0, 3600.0, "time since the last decision in s; 0: the path's first decision"),
}
"""The elements of an observation: least and greatest value, to which it is clipped, and meaning with unit."""

_LOW = np.array([low for low, _, _ in OBSERVATION.values()], dtype=np.float32)
_HIGH = np.array([high for _, high, _ in OBSERVATION.values()], dtype=np.float32)


@dataclass
class _Interval:
    """What happened on a path since the last decision."""

    begin: float
    acked: int = 0
    samples: int = 0
    total_rtt: float = 0.0
    losses: int = 0
    timeouts: int = 0


class _Windowed(Controller):
    """A controller whose window an agent changes once in an interval.

    A timeout sets the window to one packet (RFC 9260 §7.2.3). All else is the agent's.
    """

    interval: ClassVar[float]
    decide: ClassVar[Agent]

    def __init__(self, path: PathConfig) -> None:
        super().__init__(path)
        self.ask = type(self).decide
        self.exact = float(self.cwnd)
        self.rtt = self.rtt_min = 0.0
        self.since: _Interval | None = None

    def on_ack(self, ack: Ack) -> None:
        if ack.bytes_acked > 0:
            self.one_packet_in_flight = False
        first = self.since is None
        since = self.since = self.since or _Interval(ack.now)
        since.acked += ack.bytes_acked
        if ack.rtt is not None:
            since.samples += 1
            since.total_rtt += ack.rtt
            self.rtt_min = min(self.rtt_min or ack.rtt, ack.rtt)
        elapsed = ack.now - since.begin
        if first or elapsed >= self.interval:
            self._change(self._observe(since, elapsed))
            self.since = _Interval(ack.now)

    def on_loss(self, loss: Loss) -> None:
        since = self.since = self.since or _Interval(loss.now)
        if loss.kind == "timeout":
            since.timeouts += 1
            self.exact = float(self.pmdcs)
            self.cwnd = self.pmdcs
            self.one_packet_in_flight = True
        else:
            since.losses += 1

    def reset(self) -> None:
        super().reset()
        self.exact = float(self.cwnd)
        self.since = None

    def start(self, cwnd: int, ssthresh: int | None, pacing_rate: int | None) -> None:
        super().start(cwnd, ssthresh, pacing_rate)
        self.exact = float(self.cwnd)

    def _observe(self, since: _Interval, elapsed: float) -> Observation:
        if since.samples:
            self.rtt = since.total_rtt / since.samples
        rate = since.acked * 8e-6 / elapsed if elapsed > 0 else 0.0
        window = self.cwnd / self.pmdcs
        values = [window, rate, self.rtt, self.rtt_min, since.losses, since.timeouts, elapsed]
        return np.clip(np.array(values, dtype=np.float32), _LOW, _HIGH)

    def _change(self, observation: Observation) -> None:
        chosen = float(np.asarray(self.ask(observation), dtype=np.float64).reshape(-1)[0])
        if math.isnan(chosen):
            raise ValueError("the action is nan; want a number from -1 to 1")
        packet = float(self.pmdcs)
        self.exact = min(max(self.exact * 2.0 ** min(max(chosen, -1.0), 1.0), packet), 65536 * packet)
        self.cwnd = int(self.exact)


def controller(agent: Agent, interval: float = 0.1, name: str = "Learned") -> type[Controller]:
    """Return a controller that asks an agent, as :class:`WindowEnv` does.

    Parameters
    ----------
    agent
        A deterministic function from an observation to an action.
    interval
        Least time between two decisions for a path in seconds.
    name
        Name of the class: a scenario names it ``python:NAME``.

    Returns
    -------
    type of Controller
        The class. Runs of one sweep call ``agent`` from several threads.

    Raises
    ------
    InputError
        The interval is out of range.
    """
    return type(name, (_Windowed,), {"interval": period(interval), "decide": staticmethod(agent)})


class WindowEnv(EpisodeEnv[Action]):
    """A run of a scenario in which an agent sets congestion windows.

    Observations are described by :data:`OBSERVATION`; an action is one number from -1 to 1: the window doubles
    at 1 and halves at -1. The reward of a decision is ``elapsed * (ln(rate) - delay_weight * ln(rtt / rtt_min))``,
    with the rate in Mbit/s (at least 0.01) and the times in seconds that the next observation has. An
    episode ends with the scenario, by truncation; ``info`` then has the run's ``hash`` and ``goodput`` in bit/s.
    An agent that serves several paths decides for each at its own times, and cannot tell them apart.

    Parameters
    ----------
    path
        The scenario file.
    overrides
        Values to replace, as for :meth:`msctp.Scenario.update`.
    profile
        The profile of the scenario whose controller learns: ``sctp.PROFILE.controller``.
    interval
        Least time between two decisions for a path in seconds of virtual time. There is none while nothing is
        acknowledged.
    delay_weight
        Weight of the queueing delay.

    Raises
    ------
    InputError
        The scenario is invalid, or a number is out of range.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        overrides: Mapping[str, Value] | None = None,
        *,
        profile: str = "default",
        interval: float = 0.1,
        delay_weight: float = 0.5,
    ) -> None:
        if not 0 <= delay_weight <= 100:
            raise InputError(f"delay_weight is {delay_weight}; want 0 to 100")
        self.observation_space = spaces.Box(_LOW, _HIGH, dtype=np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._delay_weight = delay_weight
        cls: Any = controller(lambda _: 0.0, interval)
        values = {**(overrides or {}), f"sctp.{profile}.controller": f"python:{cls.__name__}"}
        super().__init__(Scenario.load(path, [cls]).update(values), cls)

    def _checked(self, action: Action) -> Action:
        chosen = np.asarray(action, dtype=np.float32)
        if chosen.size != 1 or not np.isfinite(chosen).all():
            raise InputError(f"the action is {action!r}; want one number from -1 to 1")
        return chosen

    def _reward(self, observation: Observation) -> float:
        _, delivered, rtt, rtt_min, _, _, elapsed = (float(value) for value in observation)
        delay = math.log(rtt / rtt_min) if rtt_min > 0 and rtt > rtt_min else 0.0
        return elapsed * (math.log(max(delivered, FLOOR)) - self._delay_weight * delay)
