"""Python schemes: ports of compiled ones give their hashes, exceptions end the run, nothing leaks."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import traceback
import weakref
from pathlib import Path
from typing import Any, ClassVar

import pytest
from conftest import growth

import msctp
from msctp import StartState
from msctp.schemes import (
    Ack,
    Action,
    Estimate,
    LinkEvent,
    Loss,
    Note,
    PathConfig,
    PathView,
    Resume,
    SetTimer,
    StartProbing,
    StopProbing,
    SwitchPrimary,
    View,
)

HANDOVER = "scenarios/handover.toml"
BULK = "scenarios/bulk-wlan.toml"


class Tens(msctp.Policy):
    """The compiled policy large-initial-window."""

    def on_link_event(self, event: LinkEvent, view: View, actions: list[Action]) -> None:
        path = view.escape(event)
        if path is not None:
            actions.append(SwitchPrimary(path))

    def on_primary_switch(
        self, old: PathView, new: PathView, view: View, actions: list[Action]
    ) -> StartState | None:
        return StartState(10 * new.pmdcs)


class KimKoh(msctp.Policy):
    """The compiled policy adaptive."""

    measures: ClassVar[bool] = True

    def __init__(self) -> None:
        self.probed: set[int] = set()

    def probe(self, path: int, view: View, actions: list[Action]) -> None:
        found = view.path(path)
        if found and found.state == "active" and path != view.primary and path not in self.probed:
            self.probed.add(path)
            actions.append(StartProbing(path))

    def stop(self, path: int, actions: list[Action]) -> None:
        if path in self.probed:
            self.probed.remove(path)
            actions.append(StopProbing(path))

    def on_path_added(self, path: int, view: View, actions: list[Action]) -> None:
        self.probe(path, view, actions)

    def on_path_removed(self, path: int, view: View, actions: list[Action]) -> None:
        self.probed.discard(path)

    def on_link_event(self, event: LinkEvent, view: View, actions: list[Action]) -> None:
        for path in view.paths:
            if path.local == event.local and event.state == "up":
                self.probe(path.id, view, actions)
            elif path.local == event.local and event.state == "down":
                self.stop(path.id, actions)
        escape = view.escape(event)
        if escape is not None:
            actions.append(SwitchPrimary(escape))

    def on_primary_switch(
        self, old: PathView, new: PathView, view: View, actions: list[Action]
    ) -> StartState | None:
        self.stop(new.id, actions)
        estimate = new.estimate
        if estimate is None:
            return StartState(min(4 * new.pmdcs, max(2 * new.pmdcs, 4404)))
        bdp = estimate.capacity * round(estimate.rtt_min * 1e9) // 8_000_000_000
        cwnd = min(old.cwnd, bdp) * min(estimate.available, estimate.capacity) // estimate.capacity
        return StartState(max(cwnd, new.pmdcs))


class Standard(msctp.Controller):
    """The compiled controller rfc9260, without spurious timeouts, idle decay and HyStart++."""

    def on_ack(self, ack: Ack) -> None:
        if ack.bytes_acked > 0:
            self.one_packet_in_flight = False
            self.pacing_rate = None
        full = ack.flight_size_before >= self.cwnd
        if self.ssthresh is None or self.cwnd <= self.ssthresh:
            if full and not ack.in_fast_recovery:
                self.cwnd += min(ack.bytes_acked, self.pmdcs)
        else:
            self.partial_bytes_acked += ack.bytes_acked + ack.duplicate_bytes
            if not full:
                self.partial_bytes_acked = min(self.partial_bytes_acked, self.cwnd)
            elif self.partial_bytes_acked >= self.cwnd:
                self.partial_bytes_acked -= self.cwnd
                self.cwnd += self.pmdcs
        if ack.nothing_outstanding:
            self.partial_bytes_acked = 0

    def on_loss(self, loss: Loss) -> None:
        self.ssthresh = max(self.cwnd // 2, 4 * self.pmdcs)
        self.partial_bytes_acked = 0
        if loss.kind == "timeout":
            self.cwnd = self.pmdcs
            self.one_packet_in_flight = True
        else:
            self.cwnd = self.ssthresh


SCHEMES: list[type[msctp.Policy | msctp.Controller]] = [Tens, KimKoh, Standard]


@pytest.mark.parametrize(("own", "compiled"), [("Tens", "large-initial-window"), ("KimKoh", "adaptive")])
def test_a_port_of_a_policy_has_its_hash(own: str, compiled: str) -> None:
    scenario = msctp.Scenario.load(HANDOVER, SCHEMES)
    key = "sctp.default.handover_policy"
    run = scenario.set(key, f"python:{own}").run(seed=2)
    assert run.hash == scenario.set(key, compiled).run(seed=2).hash
    assert run.hash != scenario.run(seed=2).hash


def test_a_port_of_a_controller_has_its_hash() -> None:
    scenario = msctp.Scenario.load(BULK, SCHEMES).update({"duration": "20s", "link.wlan.loss": 0.01})
    own = scenario.set("sctp.default.controller", "python:Standard").run(seed=3)
    assert own.hash == scenario.run(seed=3).hash
    assert own.hash != scenario.set("sctp.default.controller", "reno").run(seed=3).hash


def test_sweeps_have_python_schemes_beside_compiled_ones(tmp_path: Path) -> None:
    file = tmp_path / "policies.toml"
    file.write_text(
        f"""
scenario = "{Path(HANDOVER).resolve()}"
seeds = "1..3"
[axis.policy]
set = "sctp.default.handover_policy"
values = ["large-initial-window", "python:Tens", "python:Broken"]
[metric.goodput]
of = "association.goodput"
"""
    )

    class Broken(msctp.Policy):
        def on_primary_switch(self, *_: Any) -> StartState | None:
            raise ArithmeticError("no window")

    done = msctp.sweep(file, schemes=[*SCHEMES, Broken], threads=2)
    assert done.runs["policy"].tolist() == ["large-initial-window"] * 3 + ["python:Tens"] * 3
    goodput = done.runs["goodput_bps"].tolist()
    assert goodput[:3] == goodput[3:]
    assert len(done.failed) == 3
    for _, reason in done.failed:
        assert reason.startswith("Traceback") and reason.endswith("ArithmeticError: no window")
    with pytest.raises(msctp.InputError, match='"python:Broken" is unknown'):
        msctp.sweep(file, schemes=SCHEMES)


def test_an_exception_in_a_callback_ends_the_run_with_its_traceback() -> None:
    class Faulty(msctp.Policy):
        def on_path_added(self, path: int, view: View, actions: list[Action]) -> None:
            if view.now > 10:
                raise LookupError(f"path {path}")

    scenario = msctp.Scenario.load(HANDOVER, [Faulty])
    faulty = scenario.set("sctp.default.handover_policy", "python:Faulty")
    with pytest.raises(LookupError, match="path 1") as raised:
        faulty.run(seed=1)
    assert "in on_path_added" in "".join(traceback.format_tb(raised.value.__traceback__))
    assert scenario.run(seed=1).hash == msctp.Scenario.load(HANDOVER).run(seed=1).hash

    class Aborted(Standard):
        def on_loss(self, loss: Loss) -> None:
            raise RuntimeError("lost")

    lossy = msctp.Scenario.load(BULK, [Aborted]).update(
        {"duration": "100000s", "link.wlan.loss": 0.01, "sctp.default.controller": "python:Aborted"}
    )
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="^lost$"):
        lossy.run(seed=1)
    assert time.monotonic() - begin < 60, "the run goes on after the exception"


def test_an_exception_in_a_constructor_is_raised_when_the_scenario_is_read() -> None:
    class Unmade(Standard):
        def __init__(self, path: PathConfig) -> None:
            raise OSError("not made")

    with pytest.raises(OSError, match="not made"):
        msctp.Scenario.load(BULK, [Unmade]).set("sctp.default.controller", "python:Unmade").run()


def test_an_exception_of_one_thread_does_not_reach_another() -> None:
    class Late(Tens):
        def on_primary_switch(self, *_: Any) -> StartState | None:
            raise ValueError("late")

    scenario = msctp.Scenario.load(HANDOVER, [Tens, Late])
    raised: list[str] = []

    def fail() -> None:
        for seed in range(3):
            try:
                scenario.set("sctp.default.handover_policy", "python:Late").run(seed=seed)
            except ValueError as error:
                raised.append(str(error))

    thread = threading.Thread(target=fail)
    thread.start()
    for seed in range(3):
        scenario.set("sctp.default.handover_policy", "python:Tens").run(seed=seed)
    thread.join()
    assert raised == ["late"] * 3


@pytest.mark.parametrize(
    ("cwnd", "want"),
    [
        (1.5, "Wrong.cwnd is 1.5: want an integer of bytes"),
        (-1, "Wrong.cwnd is -1"),
        (None, "Wrong.cwnd is None"),
    ],
)
def test_a_window_of_the_wrong_type_is_named(cwnd: Any, want: str) -> None:
    class Wrong(Standard):
        def on_ack(self, ack: Ack) -> None:
            self.cwnd = cwnd

    scenario = msctp.Scenario.load(BULK, [Wrong]).set("duration", "2s")
    with pytest.raises(TypeError, match=want):
        scenario.set("sctp.default.controller", "python:Wrong").run()


@pytest.mark.parametrize(
    ("action", "want"),
    [
        (7, "an action is 7: want one of msctp.schemes"),
        (SwitchPrimary(-1), "SwitchPrimary.path is -1: want the number of a path"),
        (SetTimer(float("nan")), "at is nan: want a time in seconds"),
        (Resume(0, 0, 0.1), "Resume.bandwidth is 0: want an integer of bit/s"),
    ],
)
def test_an_action_with_a_wrong_value_is_named(action: Any, want: str) -> None:
    class Wrong(msctp.Policy):
        def on_established(self, view: View, actions: list[Action]) -> None:
            actions.append(action)

    scenario = msctp.Scenario.load(HANDOVER, [Wrong])
    with pytest.raises(TypeError, match=want):
        scenario.set("sctp.default.handover_policy", "python:Wrong").run()


def test_timers_and_estimates_reach_a_policy() -> None:
    seen: list[tuple[str, float]] = []

    class Watching(msctp.Policy):
        def on_path_added(self, path: int, view: View, actions: list[Action]) -> None:
            actions.append(Note("added", path))
            if path != view.primary:
                actions += [StartProbing(path), SetTimer(view.now + 0.25)]
                seen.append(("added", view.now))

        def on_timer(self, view: View, actions: list[Action]) -> None:
            seen.append(("timer", view.now))

        def on_estimate(self, path: int, estimate: Estimate, view: View, actions: list[Action]) -> None:
            if seen[-1][0] != "estimate":
                seen.append(("estimate", estimate.rtt_min))
                assert estimate.bdp == estimate.available * round(estimate.rtt_min * 1e9) // 8_000_000_000

    scenario = msctp.Scenario.load(HANDOVER, [Watching])
    scenario.set("sctp.default.handover_policy", "python:Watching").run(seed=1)
    times = dict(seen)
    assert times["timer"] == pytest.approx(times["added"] + 0.25, abs=1e-9)
    assert 0.07 < times["estimate"] < 0.2


def test_classes_that_are_no_schemes_are_named() -> None:
    class Half(msctp.Controller):
        def on_ack(self, ack: Ack) -> None: ...

    wrong: Any = int
    with pytest.raises(msctp.InputError, match="no scheme; want a subclass of msctp.Policy"):
        msctp.Scenario.load(BULK, [wrong])
    with pytest.raises(msctp.InputError, match="Half has no on_loss"):
        msctp.Scenario.load(BULK, [Half])
    with pytest.raises(msctp.InputError, match="two schemes are called python:Tens"):
        msctp.Scenario.load(BULK, [Tens, Tens])
    with pytest.raises(msctp.InputError, match='"python:Tenz" is unknown; did you mean "python:Tens"'):
        msctp.Scenario.load(HANDOVER, SCHEMES).set("sctp.default.handover_policy", "python:Tenz")


def test_a_thousand_runs_do_not_leak() -> None:
    living: weakref.WeakSet[msctp.Policy] = weakref.WeakSet()
    made = 0

    class Counted(Tens):
        def __init__(self) -> None:
            nonlocal made
            made += 1
            living.add(self)

        def on_round_trip(self, path: int, sample: float, view: View, actions: list[Action]) -> None:
            view.path(path)

    overrides = {"duration": "100ms", "sctp.default.handover_policy": "python:Counted"}
    scenario = msctp.Scenario.load(BULK, [Counted]).update(overrides)

    assert growth(scenario.run, 100, 1000) < 8 << 20
    assert made > 1000
    assert len(living) == 0
    reference = weakref.ref(Counted)
    del scenario, Counted
    for _ in range(3):
        gc.collect()
    assert reference() is None, "the class outlives its scenario"


def test_the_cost_of_python_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = msctp.Scenario.load(BULK, SCHEMES).set("duration", "30s")

    def seconds(controller: str) -> float:
        of = scenario.set("sctp.default.controller", controller)
        begin = time.process_time()
        of.run(seed=1)
        return time.process_time() - begin

    compiled = min(seconds("rfc9260") for _ in range(3))
    own = min(seconds("python:Standard") for _ in range(3))
    with capsys.disabled():
        print(f"\na controller in Python: {own / compiled:.2f} x the compiled run")
    assert own < 8 * compiled


def test_the_schemes_document_runs() -> None:
    """The first scheme of docs/python.md."""
    text = Path("docs/python.md").read_text()
    code = text.split("    # mine.py\n", 1)[1].split("\n\nThe", 1)[0]
    lines = "\n".join(line.removeprefix("    ") for line in code.splitlines())
    done = subprocess.run([sys.executable, "-c", lines], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0
