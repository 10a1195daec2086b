"""The environment: gymnasium's checks, determinism, threads, and agents as controllers."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import msctp
import msctp.gym
from msctp.gym import Observation, WindowEnv
from msctp.simulation import Value

BULK = "scenarios/bulk-wlan.toml"
SHORT: dict[str, Value] = {"duration": "3s", "link.wlan.loss": 0.01}


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "msctp.gym"]


def gentle(observation: Observation) -> float:
    """Grow while the queue is short, else shrink."""
    queue = observation[2] / max(float(observation[3]), 1e-6)
    return 0.3 if queue < 1.1 else -0.2


def play(env: WindowEnv, seed: int | None) -> tuple[list[Observation], list[float], dict[str, Any]]:
    """Play an episode with the agent above."""
    observation, _ = env.reset(seed=seed)
    seen, rewards = [observation], []
    while True:
        observation, reward, terminated, truncated, info = env.step(
            np.array([gentle(observation)], dtype=np.float32)
        )
        assert not terminated
        seen.append(observation)
        rewards.append(float(reward))
        if truncated:
            return seen, rewards, info


@pytest.mark.filterwarnings("error")
def test_gymnasium_accepts_the_environment() -> None:
    env = WindowEnv(BULK, SHORT)
    # The greatest values of some elements are far from what occurs; gymnasium has no remark on these spaces.
    check_env(env, skip_render_check=True)
    env.close()
    assert threads() == []


def test_a_seed_determines_an_episode() -> None:
    env = WindowEnv(BULK, SHORT)
    seen, rewards, info = play(env, 3)
    again = play(env, 3)
    assert np.array_equal(seen, again[0]) and rewards == again[1] and info == again[2]
    following = play(env, None)[2]["hash"]
    other = play(env, 4)[2]["hash"]
    assert len({info["hash"], following, other}) == 3
    play(env, 3)
    assert play(env, None)[2]["hash"] == following


def test_observations_and_rewards_have_their_units() -> None:
    env = WindowEnv(BULK, {"duration": "10s"}, interval=0.2, delay_weight=0.25)
    seen, rewards, info = play(env, 1)
    assert len(seen) == len(rewards) + 1 and 30 < len(rewards) <= 50
    assert all(env.observation_space.contains(one) for one in seen)
    window, delivered, rtt, rtt_min, losses, timeouts, elapsed = seen[-2].tolist()
    # 11 Mbit/s, of which headers take some percent, and 70 ms without a queue.
    assert 8 < delivered < 11 and 0.07 < rtt_min < 0.075 and rtt_min <= rtt < 0.2
    assert 8e6 < info["goodput"] < 11e6
    assert losses == timeouts == 0 and 0.2 <= elapsed < 0.25
    # Little's law: the window is in flight for a round trip.
    assert window * 1452 * 8e-6 / rtt == pytest.approx(delivered, rel=0.35)
    assert rewards[-2] == pytest.approx(
        elapsed * (np.log(delivered) - 0.25 * np.log(rtt / rtt_min)), rel=1e-4
    )


def test_an_action_scales_the_window() -> None:
    env = WindowEnv(BULK, {"duration": "5s"})
    before, _ = env.reset(seed=1)
    for action, factor in ((1.0, 2.0), (0.5, 2**0.5), (-1.0, 0.5), (0.0, 1.0), (7.0, 2.0)):
        after, *_ = env.step(np.array([action], dtype=np.float32))
        assert after[0] / before[0] == pytest.approx(factor, rel=1e-3)
        before = after
    env.close()


def test_an_agent_is_a_controller_with_the_same_run(tmp_path: Path) -> None:
    env = WindowEnv(BULK, SHORT)
    learned = msctp.gym.controller(gentle)
    scenario = msctp.Scenario.load(BULK, [learned]).update(
        {**SHORT, "sctp.default.controller": "python:Learned"}
    )
    assert scenario.run(seed=5).hash == play(env, 5)[2]["hash"]
    file = tmp_path / "agents.toml"
    file.write_text(
        f"""
scenario = "{Path(BULK).resolve()}"
seeds = "1..2"
set = {{ "duration" = "3s" }}
[axis.controller]
set = "sctp.default.controller"
values = ["rfc9260", "python:Learned"]
[metric.goodput]
of = "association.goodput"
"""
    )
    assert msctp.sweep(file, schemes=[learned]).failed == []


def test_an_environment_that_is_closed_or_dropped_in_mid_run_leaves_no_thread() -> None:
    env = WindowEnv(BULK, {"duration": "100000s"})
    for number in range(20):
        env.reset(seed=number)
        env.step(np.zeros(1, dtype=np.float32))
    assert len(threads()) == 1
    env.close()
    assert threads() == []
    with pytest.raises(msctp.InputError, match="the episode is over; call reset first"):
        env.step(np.zeros(1, dtype=np.float32))
    env.reset(seed=1)
    assert len(threads()) == 1
    del env
    gc.collect()
    assert threads() == []


def test_environments_run_side_by_side() -> None:
    one, other = WindowEnv(BULK, SHORT), WindowEnv(BULK, SHORT)
    alone = play(one, 2)[2]
    one.reset(seed=2)
    assert play(other, 2)[2] == alone
    one.close()


def test_wrong_values_are_named() -> None:
    with pytest.raises(msctp.InputError, match="interval is 0; want 0.001 to 60 seconds"):
        WindowEnv(BULK, interval=0)
    with pytest.raises(msctp.InputError, match="delay_weight is -1; want 0 to 100"):
        WindowEnv(BULK, delay_weight=-1)
    with pytest.raises(msctp.InputError, match="sctp.sender.controller"):
        WindowEnv(BULK, profile="sender")
    env = WindowEnv(BULK, SHORT)
    env.reset(seed=1)
    with pytest.raises(msctp.InputError, match="want one number from -1 to 1"):
        env.step(np.array([np.nan], dtype=np.float32))
    env.close()
    with pytest.raises(msctp.InputError, match="acknowledges no data"):
        WindowEnv(BULK, {"duration": "30ms"}).reset(seed=1)
    learned = msctp.gym.controller(lambda _: float("nan"))
    scenario = msctp.Scenario.load(BULK, [learned]).set("sctp.default.controller", "python:Learned")
    with pytest.raises(ValueError, match="the action is nan"):
        scenario.run(seed=1)
