"""The environment in which an agent chooses the primary path."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Union

import numpy as np
from gymnasium import spaces

from ._episode import FLOOR, EpisodeEnv, Observation, period
from ._native import InputError, LinkEvent, PathView, View
from .schemes import Action, Policy, SetTimer, SwitchPrimary
from .simulation import Scenario, Value

PathAgent = Callable[[Observation], Union[int, np.integer[Any]]]
"""A deterministic function from observations to actions: 0 stays, i moves to path i."""

PATH_OBSERVATION = {
    "state": (
        0.0,
        1.0,
        "1: the path is active; 0.5: potentially failed; 0: failed, unconfirmed or not there",
    ),
    "primary": (0.0, 1.0, "1: the path is the primary path"),
    "delivered": (0.0, 1e6, "rate acknowledged on the path since the last decision in Mbit/s of user data"),
    "rtt": (0.0, 60.0, "smoothed round-trip time in s; 0: not measured yet"),
    "rtt_min": (0.0, 60.0, "least round-trip time so far in s; 0: not measured yet"),
    "window": (0.0, 65536.0, "congestion window in packets of the path's MTU"),
    "in_flight": (0.0, 65536.0, "user data in flight in packets of the path's MTU"),
    "link": (
        0.0,
        1.0,
        "last report about the link below this end's address: 1: up, or none; 0.5: degrading or predicted down; 0: down",
    ),
    "elapsed": (
        0.0,
        3600.0,
        "time since the last decision in s, the same for all paths; 0: the first decision",
    ),
}
"""The elements of an observation for each path: least and greatest value, to which it is clipped, and meaning with
unit. An observation has those of path 1, then those of path 2, and so on."""

_LOW = [low for low, _, _ in PATH_OBSERVATION.values()]
_HIGH = [high for _, high, _ in PATH_OBSERVATION.values()]
_STATES = {"active": 1.0, "potentially-failed": 0.5}
_LINKS = {"degrading": 0.5, "predicted-down": 0.5, "down": 0.0}


class _Chosen(Policy):
    """A policy whose primary path an agent chooses once in an interval, at the end that sends data.

    A path's number is that of its pair of addresses, in the order in which they were first seen.
    """

    interval: ClassVar[float]
    decide: ClassVar[PathAgent]
    paths: ClassVar[int]

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []
        self.acked: dict[int, int] = {}
        self.links: dict[str, float] = {}
        self.decided: float | None = None

    def on_established(self, view: View, actions: list[Action]) -> None:
        actions.append(SetTimer(view.now + self.interval))

    def on_link_event(self, event: LinkEvent, view: View, actions: list[Action]) -> None:
        if event.state != "quality":
            self.links[event.local] = _LINKS.get(event.state, 1.0)

    def on_timer(self, view: View, actions: list[Action]) -> None:
        actions.append(SetTimer(view.now + self.interval))
        known = self._numbered(view)
        if self.decided is None and not any(path.bytes_acked for path in view.paths):
            return
        elapsed = 0.0 if self.decided is None else view.now - self.decided
        seen = self._observe(known, view.primary, elapsed)
        self.acked = {path.id: path.bytes_acked for path in view.paths}
        self.decided = view.now
        chosen = int(type(self).decide(seen))
        if not 0 <= chosen <= self.paths:
            raise ValueError(f"the action is {chosen}; want 0 (stay) to {self.paths}")
        path = known.get(chosen - 1)
        if path is not None and path.id != view.primary and path.state == "active":
            actions.append(SwitchPrimary(path.id))

    def _numbered(self, view: View) -> dict[int, PathView]:
        known = {}
        for path in view.paths:
            pair = (path.local, path.remote)
            if pair not in self.pairs:
                self.pairs.append(pair)
            known[self.pairs.index(pair)] = path
        return known

    def _observe(self, known: dict[int, PathView], primary: int, elapsed: float) -> Observation:
        values = [[0.0] * (len(_LOW) - 1) + [elapsed] for _ in range(self.paths)]
        for number, path in known.items():
            if number < self.paths:
                newly = path.bytes_acked - self.acked.get(path.id, 0)
                values[number] = [
                    _STATES.get(path.state, 0.0),
                    float(path.id == primary),
                    newly * 8e-6 / elapsed if elapsed > 0 else 0.0,
                    path.srtt or 0.0,
                    path.rtt_min or 0.0,
                    path.cwnd / path.pmdcs,
                    path.flight_size / path.pmdcs,
                    self.links.get(path.local, 1.0),
                    elapsed,
                ]
        return np.clip(np.array(values, dtype=np.float32), _LOW, _HIGH).astype(np.float32).reshape(-1)


def policy(agent: PathAgent, interval: float = 0.25, paths: int = 2, name: str = "Chosen") -> type[Policy]:
    """Return a handover policy that asks an agent, as :class:`PathEnv` does.

    Parameters
    ----------
    agent
        A deterministic function from an observation to an action.
    interval
        Time between two decisions in seconds.
    paths
        Number of paths in an observation, 1 to 64.
    name
        Name of the class: a scenario names it ``python:NAME``.

    Returns
    -------
    type of Policy
        The class. Runs of one sweep call ``agent`` from several threads.

    Raises
    ------
    InputError
        A number is out of range.
    """
    if not 1 <= paths <= 64:
        raise InputError(f"paths is {paths}; want 1 to 64")
    values = {"interval": period(interval), "decide": staticmethod(agent), "paths": int(paths)}
    return type(name, (_Chosen,), values)


class PathEnv(EpisodeEnv[np.int64]):
    """A run of a scenario in which an agent chooses the primary path of the end that sends data.

    An observation has the elements of :data:`PATH_OBSERVATION` for each path: ``seen.reshape(paths, -1)`` has a row
    per path. Path i is the i-th pair of addresses that the sender could use; pairs beyond ``paths`` are neither shown
    nor chosen. An action is 0, to stay, or i, to move to path i; a move to a path that is not there, not active or the
    primary path already does nothing. A new primary path keeps the window of its controller.

    Decisions are ``interval`` apart in virtual time, from the first acknowledged data on, also while nothing arrives.
    The reward of a decision is ``elapsed * ln(rate)``, with the rate acknowledged on all paths in Mbit/s (at least
    0.01) that the next observation has. An episode ends with the scenario, by truncation; ``info`` then has the run's
    ``hash`` and ``goodput`` in bit/s.

    Parameters
    ----------
    path
        The scenario file.
    overrides
        Values to replace, as for :meth:`msctp.Scenario.update`.
    profile
        The profile of the scenario whose policy learns: ``sctp.PROFILE.handover_policy``. If both ends have it and
        send data, the agent decides for each in turn, and cannot tell them apart.
    interval
        Time between two decisions in seconds of virtual time.
    paths
        Number of paths in an observation, 1 to 64.

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
        interval: float = 0.25,
        paths: int = 2,
    ) -> None:
        cls: Any = policy(lambda _: 0, interval, paths)
        low, high = (np.array(bound * paths, dtype=np.float32) for bound in (_LOW, _HIGH))
        self.observation_space = spaces.Box(low, high, dtype=np.float32)
        self.action_space = spaces.Discrete(paths + 1)
        self._paths = paths
        values = {**(overrides or {}), f"sctp.{profile}.handover_policy": f"python:{cls.__name__}"}
        super().__init__(Scenario.load(path, [cls]).update(values), cls)

    def _checked(self, action: np.int64) -> np.int64:
        if not self.action_space.contains(action):
            raise InputError(f"the action is {action!r}; want an integer from 0 (stay) to {self._paths}")
        return action

    def _reward(self, observation: Observation) -> float:
        rows = observation.reshape(self._paths, -1)
        names = list(PATH_OBSERVATION)
        rate = float(rows[:, names.index("delivered")].sum())
        return float(rows[0, names.index("elapsed")]) * math.log(max(rate, FLOOR))
