"""Episodes of environments: a run that waits while an agent decides."""

from __future__ import annotations

import queue
import threading
import weakref
from abc import abstractmethod
from typing import Any, Generic, SupportsFloat, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ._native import InputError
from .simulation import Run, Scenario

Observation = NDArray[np.float32]
"""What an agent sees."""

A = TypeVar("A")
"""An action."""

FLOOR = 0.01
"""Least rate in Mbit/s in a reward, whose logarithm is bounded by it."""


class _Closed(BaseException):
    """Ends a run whose environment was closed."""


class Episode(Generic[A]):
    """A run on a thread of its own, which waits at each decision."""

    def __init__(self) -> None:
        self.asked: queue.SimpleQueue[Observation | Run | BaseException] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[A | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None

    def decide(self, observation: Observation) -> A:
        """Hand an observation over and wait for the action; called on the run's thread."""
        if threading.current_thread() is not self.thread:
            raise RuntimeError("an environment's scheme ran outside of an episode")
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


class EpisodeEnv(gymnasium.Env[Observation, A]):
    """An environment whose episodes are runs of a scenario.

    Parameters
    ----------
    scenario
        The scenario, which names the scheme.
    scheme
        The class of the scheme: its ``decide`` is that of the episode.
    """

    def __init__(self, scenario: Scenario, scheme: Any) -> None:
        self._scenario = scenario
        self._class = scheme
        self._observation: Observation = np.zeros(0, dtype=np.float32)
        self._over = True
        self._begin()

    def _begin(self) -> None:
        self._episode: Episode[A] = Episode()
        self._finish = weakref.finalize(self, Episode.close, self._episode)

    @abstractmethod
    def _checked(self, action: A) -> A:
        """Return the action that the scheme gets; raise InputError for one that is none."""

    @abstractmethod
    def _reward(self, observation: Observation) -> float:
        """Return the reward of the decision before an observation."""

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
        self._begin()
        self._class.decide = staticmethod(self._episode.decide)
        drawn = int(self.np_random.integers(1 << 32)) if seed is None else seed
        self._episode.begin(self._scenario, drawn)
        found = self._next()
        if isinstance(found, Run):
            raise InputError(f"{self._scenario.name} acknowledges no data under the learning scheme")
        self._over = False
        self._observation = found
        return found.copy(), {}

    def step(self, action: A) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Carry an action out, and run to the next decision.

        Parameters
        ----------
        action
            One of ``action_space``.

        Returns
        -------
        tuple
            The observation, the reward, False, whether the run has ended, and its results.

        Raises
        ------
        InputError
            There is no episode: it has ended, or has not begun. Or the action is none.
        """
        if self._over:
            raise InputError("the episode is over; call reset first")
        self._episode.answers.put(self._checked(action))
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


def period(interval: float) -> float:
    """Return the time between two decisions in seconds, checked."""
    if not 0.001 <= interval <= 60:
        raise InputError(f"interval is {interval}; want 0.001 to 60 seconds")
    return float(interval)
