"""Environments of gymnasium in which an agent learns a congestion controller.

>>> import msctp.gym
>>> env = msctp.gym.WindowEnv("scenarios/bulk-wlan.toml", {"link.wlan.loss": 0.01})
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

An episode is a run. The agent changes a path's window once in an interval of virtual time, while the run waits.
:func:`controller` makes a class of an agent, which scenarios and sweeps take as any other. Needs ``msctp[gym]``.
"""

from __future__ import annotations

import math
import os
import queue
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, SupportsFloat, Union

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ._native import InputError
from .schemes import Ack, Controller, Loss, PathConfig
from .simulation import Run, Scenario, Value

__all__ = ["OBSERVATION", "Action", "Agent", "Observation", "WindowEnv", "controller"]

Observation = NDArray[np.float32]
"""What an agent sees: the values of :data:`OBSERVATION`."""

Action = NDArray[np.float32]
"""One number from -1 to 1: the binary logarithm of the factor by which the window changes."""

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
_FLOOR = 0.01
"""Least rate in Mbit/s in a reward, whose logarithm is bounded by it."""


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


def _period(interval: float) -> float:
    if not 0.001 <= interval <= 60:
        raise InputError(f"interval is {interval}; want 0.001 to 60 seconds")
    return float(interval)


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
    return type(name, (_Windowed,), {"interval": _period(interval), "decide": staticmethod(agent)})


class _Closed(BaseException):
    """Ends a run whose environment was closed."""


class _Episode:
    """A run on a thread of its own, which waits at each decision."""

    def __init__(self) -> None:
        self.asked: queue.SimpleQueue[Observation | Run | BaseException] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[Action | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None

    def decide(self, observation: Observation) -> Action:
        """Hand an observation over and wait for the action; called on the run's thread."""
        if threading.current_thread() is not self.thread:
            raise RuntimeError("an environment's controller ran outside of an episode")
        self.asked.put(observation)
        action = self.answers.get()
        if action is None:
            raise _Closed
        return action

    def begin(self, scenario: Scenario, seed: int) -> None:
        """Start the run."""

        def work() -> None:
            try:
                self.asked.put(scenario.run(seed))
            except BaseException as error:  # noqa: BLE001 - raised on the caller's thread
                self.asked.put(error)

        self.thread = threading.Thread(target=work, name="msctp.gym", daemon=True)
        self.thread.start()

    def close(self) -> None:
        """End the run, if it goes on, and wait for its thread."""
        if self.thread is not None:
            self.answers.put(None)
            self.thread.join()
            self.thread = None


class WindowEnv(gymnasium.Env[Observation, Action]):
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
        self._class: Any = controller(lambda _: 0.0, interval)
        values = {**(overrides or {}), f"sctp.{profile}.controller": f"python:{self._class.__name__}"}
        self._scenario = Scenario.load(path, [self._class]).update(values)
        self._episode = _Episode()
        self._observation = _LOW
        self._over = True
        self._finish = weakref.finalize(self, _Episode.close, self._episode)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a run and return the first observation.

        Parameters
        ----------
        seed
            Seed of the run. Episodes after it draw their seeds from it.
        options
            Not used.

        Returns
        -------
        tuple
            The observation, and an empty dict.

        Raises
        ------
        InputError
            The run acknowledges no data.
        """
        super().reset(seed=seed)
        self.close()
        self._episode = _Episode()
        self._finish = weakref.finalize(self, _Episode.close, self._episode)
        self._class.decide = staticmethod(self._episode.decide)
        drawn = int(self.np_random.integers(1 << 32)) if seed is None else seed
        self._episode.begin(self._scenario, drawn)
        found = self._next()
        if isinstance(found, Run):
            raise InputError(f"{self._scenario.name} acknowledges no data under the learning controller")
        self._over = False
        self._observation = found
        return found.copy(), {}

    def step(self, action: Action) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Change the window, and run to the next decision.

        Parameters
        ----------
        action
            One number from -1 to 1; others are clipped.

        Returns
        -------
        tuple
            The observation, the reward, False, whether the run has ended, and its results.

        Raises
        ------
        InputError
            There is no episode: it has ended, or has not begun.
        """
        if self._over:
            raise InputError("the episode is over; call reset first")
        chosen = np.asarray(action, dtype=np.float32)
        if chosen.size != 1 or not np.isfinite(chosen).all():
            raise InputError(f"the action is {action!r}; want one number from -1 to 1")
        self._episode.answers.put(chosen)
        found = self._next()
        if isinstance(found, Run):
            self._over = True
            results = {"hash": found.hash, "goodput": found.metric("association.goodput")}
            return self._observation.copy(), 0.0, False, True, results
        self._observation = found
        return found.copy(), self._reward(found), False, False, {}

    def close(self) -> None:
        """End the run, if one goes on, and its thread."""
        self._over = True
        self._finish()

    def _next(self) -> Observation | Run:
        """Wait for the next decision or the end of the run."""
        found = self._episode.asked.get()
        if isinstance(found, BaseException):
            self.close()
            raise found
        return found

    def _reward(self, observation: Observation) -> float:
        _, delivered, rtt, rtt_min, _, _, elapsed = (float(value) for value in observation)
        delay = math.log(rtt / rtt_min) if rtt_min > 0 and rtt > rtt_min else 0.0
        return elapsed * (math.log(max(delivered, _FLOOR)) - self._delay_weight * delay)
