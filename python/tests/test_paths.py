"""The environment of handover policies: gymnasium's checks, moves, units, the agent as a policy."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import msctp
import msctp.gym
from msctp.gym import PATH_OBSERVATION, Observation, PathAgent, PathEnv
from msctp.simulation import Value

WALK = "scenarios/walk.toml"
NAMES = list(PATH_OBSERVATION)
# Wi-Fi is lost at 3 s, and nobody asks for LTE before the end.
LOST: dict[str, Value] = {"duration": "8s", "action.move.at": "8s", "action.out-of-reach.at": "3s"}
PROFILE = "sctp.server.handover_policy"


def environment(**more: Any) -> PathEnv:
    return PathEnv(WALK, {**LOST, "action.fade.at": "2s"}, profile="server", **more)


def row(seen: Observation, path: int) -> dict[str, float]:
    return dict(zip(NAMES, seen.reshape(-1, len(NAMES))[path - 1].tolist()))


def flee(seen: Observation) -> int:
    """Move to LTE once Wi-Fi delivers nothing."""
    wifi, lte = row(seen, 1), row(seen, 2)
    return 2 if wifi["primary"] and wifi["elapsed"] and wifi["delivered"] < 0.1 and lte["state"] == 1 else 0


def play(env: PathEnv, seed: int, agent: PathAgent) -> tuple[list[Observation], list[float], dict[str, Any]]:
    observation, _ = env.reset(seed=seed)
    seen, rewards = [observation], []
    while True:
        observation, reward, terminated, truncated, info = env.step(np.int64(agent(observation)))
        assert not terminated
        seen.append(observation)
        rewards.append(float(reward))
        if truncated:
            return seen, rewards, info


@pytest.mark.filterwarnings("error")
def test_gymnasium_accepts_the_environment() -> None:
    env = environment()
    check_env(env, skip_render_check=True)
    env.close()
    assert [thread for thread in threading.enumerate() if thread.name == "msctp.gym"] == []


def test_a_move_takes_the_data_to_the_other_path() -> None:
    env = environment()
    stayed, moved = play(env, 1, lambda _: 0), play(env, 1, flee)
    assert moved[2]["goodput"] > 1.5 * stayed[2]["goodput"]
    assert sum(moved[1]) > sum(stayed[1]) + 5
    last = moved[0][-2]
    assert row(last, 2)["primary"] == 1 and row(last, 1)["primary"] == 0
    assert row(stayed[0][10], 1)["primary"] == 1
    # Two decisions after the loss the agent is on LTE.
    decided = [row(seen, 2)["primary"] for seen in moved[0]]
    assert decided.index(1.0) * env._class.interval < 4.5


def test_observations_and_rewards_have_their_units() -> None:
    env = environment(interval=0.5)
    seen, rewards, info = play(env, 1, lambda _: 0)
    assert all(env.observation_space.contains(one) for one in seen)
    # 8 s, of which the first 0.5 s end in the first decision.
    assert len(seen) == len(rewards) + 1 and 14 <= len(rewards) <= 16
    wifi, lte = row(seen[3], 1), row(seen[3], 2)
    assert wifi["elapsed"] == 0.5 == lte["elapsed"]
    assert wifi["state"] == 1 and wifi["link"] == 1
    # 20 Mbit/s over Wi-Fi, and a round trip of 20 ms without a queue.
    assert 10 < wifi["delivered"] < 20 and lte["delivered"] == 0
    assert 0.02 <= wifi["rtt_min"] <= wifi["rtt"] < 0.3
    assert rewards[2] == pytest.approx(0.5 * np.log(wifi["delivered"]), rel=1e-5)
    # Nothing arrives at the end: the least rate of a reward.
    assert rewards[-2] == pytest.approx(0.5 * np.log(0.01), rel=1e-5)
    assert 0 < info["goodput"] < 20e6


def test_a_seed_determines_an_episode_and_an_agent_is_a_policy_with_the_same_run() -> None:
    env = environment()
    seen, rewards, info = play(env, 3, flee)
    again = play(env, 3, flee)
    assert np.array_equal(seen, again[0]) and rewards == again[1] and info == again[2]
    chosen = msctp.gym.policy(flee, name="Fleeing")
    scenario = msctp.Scenario.load(WALK, [chosen]).update(
        {**LOST, "action.fade.at": "2s", PROFILE: "python:Fleeing"}
    )
    assert scenario.run(seed=3).hash == info["hash"]


def test_moves_that_are_none_change_nothing() -> None:
    env = environment(paths=4)
    assert env.action_space == msctp.gym.PathEnv(WALK, profile="server", paths=4).action_space
    # Paths 3 and 4 are not there, and path 1 is the primary path.
    hashes = {play(env, 1, lambda _, to=to: to)[2]["hash"] for to in (0, 1, 3, 4)}  # type: ignore[misc]
    assert len(hashes) == 1


def test_wrong_values_are_named() -> None:
    with pytest.raises(msctp.InputError, match="paths is 0; want 1 to 64"):
        environment(paths=0)
    with pytest.raises(msctp.InputError, match="interval is 61"):
        environment(interval=61)
    with pytest.raises(msctp.InputError, match="sctp.sender.handover_policy"):
        PathEnv(WALK, profile="sender")
    env = environment()
    env.reset(seed=1)
    for wrong in (3, -1, 0.5):
        with pytest.raises(msctp.InputError, match=r"want an integer from 0 \(stay\) to 2"):
            env.step(wrong)  # type: ignore[arg-type]
    env.close()
    with pytest.raises(msctp.InputError, match="the episode is over"):
        env.step(np.int64(0))
    bad = msctp.gym.policy(lambda _: 7, name="Bad")
    with pytest.raises(ValueError, match="the action is 7; want 0"):
        msctp.Scenario.load(WALK, [bad]).set(PROFILE, "python:Bad").run(seed=1)
