"""Link models in Python: the run of a compiled one, errors with their cause, memory, cost."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any, Literal

import pytest
from conftest import growth
from links import Plain

import msctp
from msctp.schemes import Conditions, LinkChange, Lost
from msctp.simulation import Value

HANDOVER = "scenarios/handover.toml"
BULK = "scenarios/bulk-wlan.toml"


def of(cls: type[msctp.LinkModel], **more: Value) -> msctp.Scenario:
    """The bulk transfer over a link of this class for two seconds."""
    scenario = msctp.Scenario.load(BULK, [cls])
    return scenario.update({"duration": "2s", "link.wlan.type": f"python:{cls.__name__}", **more})


@pytest.mark.parametrize("seed", [1, 2])
def test_a_port_of_the_plain_link_has_its_packets_and_counters(seed: int) -> None:
    lossy: dict[str, Value] = {
        "link.wlan.loss": 0.01,
        "link.wlan.queue": "{ packets = 5 }",
        "link.3g.loss": "{ share = 0.02, mean_burst = 3 }",
    }
    # Wi-Fi goes down with packets inside.
    lost: dict[str, Value] = {"link.wifi.queue": "{ packets = 30 }"}
    for file, values, names, counter in (
        (HANDOVER, lossy, ("wlan", "3g"), "losses"),
        ("scenarios/wifi-lte.toml", lost, ("wifi",), "down_drops"),
    ):
        compiled = msctp.Scenario.load(file, [Plain]).update(values)
        own = compiled.update({f"link.{name}.type": "python:Plain" for name in names})
        one, other = compiled.run(seed=seed), own.run(seed=seed)
        assert other.hash == one.hash == own.run(seed=seed).hash
        links = one.summary["links"]
        assert sum(link[counter] for link in links) > 0 and sum(link["queue_drops"] for link in links) > 0
        assert other.summary["links"] == links


def test_a_sweep_has_own_links_beside_compiled_ones(tmp_path: Path) -> None:
    file = tmp_path / "links.toml"
    file.write_text(
        f"""
scenario = "{Path(BULK).resolve()}"
seeds = "1..3"
set = {{ "duration" = "2s", "link.wlan.loss" = 0.01 }}
[axis.link]
set = "link.wlan.type"
values = ["plain", "python:Plain"]
[metric.goodput]
of = "association.goodput"
[comparison.gain]
metric = "goodput"
against = {{ link = "plain" }}
as = "relative"
"""
    )
    done = msctp.sweep(file, schemes=[Plain])
    assert done.failed == []
    goodput = done.runs["goodput_bps"]
    assert goodput[:3].tolist() == goodput[3:].tolist() and len(set(goodput[:3].tolist())) == 3
    assert msctp.sweep(file, schemes=[Plain], threads=1).runs["goodput_bps"].tolist() == goodput.tolist()


class Direct(msctp.LinkModel):
    """Delivers each packet 10 ms after it was offered."""

    def __init__(self, config: msctp.schemes.LinkConfig) -> None:
        super().__init__(config)
        self.inside: list[tuple[float, int]] = []

    def offer(self, now: float, packet: int, size: int) -> Literal["queue-full", "link-down"] | None:
        self.inside.append((now + 0.01, packet))
        return None

    def next_delivery(self) -> float | None:
        return self.inside[0][0] if self.inside else None

    def deliver(self, now: float) -> int | Lost | None:
        at, packet = self.inside.pop(0)
        assert at <= now, "too early"
        return packet


def test_times_that_are_no_whole_nanoseconds_are_not_too_early() -> None:
    class Third(Direct):
        def offer(self, now: float, packet: int, size: int) -> Literal["queue-full", "link-down"] | None:
            self.inside.append((now + 0.01 + 1 / 3e9 * (packet % 7), packet))
            self.inside.sort()
            return None

    run = of(Third).run(seed=1)
    assert run.hash == of(Third).run(seed=1).hash
    assert run.metric("association.goodput") > 1e6


def test_a_model_gets_the_links_keys_and_changes() -> None:
    seen: list[Any] = []

    class Watched(Direct):
        def __init__(self, config: msctp.schemes.LinkConfig) -> None:
            super().__init__(config)
            seen.append((config.name, config.direction, config.rate, config.delay, config.queue_packets))
            assert config.queue_bytes is None and 0 <= config.seed < 1 << 64

        def change(self, now: float, change: LinkChange) -> None:
            super().change(now, change)
            seen.append((now, change.kind, self.rate, self.delay, self.up))

        def conditions(self) -> Conditions | None:
            return Conditions(rate=5_000_000, block_errors=0.25, one_way=0.01)

        def resent(self) -> int:
            return 7

    plain = msctp.Scenario.load("scenarios/walk.toml", [Watched])
    with pytest.raises(
        msctp.InputError, match='"wifi" is of type python:Watched: only rate, delay can be set'
    ):
        plain.set("link.wifi.type", "python:Watched")
    text = Path("scenarios/walk.toml").read_text().replace("loss = 0\n", 'rate = "1Mbps"\n')
    run = _of_text(text, Watched).update(
        {"link.wifi.type": "python:Watched", "link.wifi.forward.rate": "3Mbps"}
    )
    seen.clear()
    summary = run.run(seed=1).summary
    assert seen[:2] == [
        ("wifi", "forward", 3_000_000, 0.005, 100),
        ("wifi", "reverse", 20_000_000, 0.005, 100),
    ]
    assert (5.0, "rate", 1_000_000, 0.005, True) in seen
    assert (12.0, "down", 1_000_000, 0.005, False) in seen
    assert {link["resent"] for link in summary["links"] if link["name"].startswith("wifi")} == {7}


def _of_text(text: str, cls: type[msctp.LinkModel]) -> msctp.Scenario:
    path = Path("target/own-link.toml")
    path.write_text(text)
    try:
        return msctp.Scenario.load(path, [cls])
    finally:
        path.unlink()


@pytest.mark.parametrize(
    ("method", "result", "error", "want"),
    [
        ("offer", "lost", TypeError, "the result of offer is 'lost': want None .queued., \"queue-full\""),
        ("next_delivery", "soon", TypeError, "the result of next_delivery is 'soon': want a time in seconds"),
        ("next_delivery", -1.0, TypeError, "the result of next_delivery is -1.0"),
        ("deliver", 1.5, TypeError, "the result of deliver is 1.5: want None, the number of a packet"),
        ("deliver", 99, RuntimeError, "deliver returned packet 99, which is not in the link"),
        ("deliver", None, RuntimeError, "deliver returned None at .* s, and next_delivery is still"),
        ("queue_len", 3, TypeError, "the result of queue_len is 3: want .packets, bytes."),
    ],
)
def test_a_wrong_result_is_named(method: str, result: Any, error: type[Exception], want: str) -> None:
    wrong = type("Wrong", (Direct,), {method: lambda *_: result})
    with pytest.raises(error, match=want):
        of(wrong).run(seed=1)


def test_a_packet_cannot_be_delivered_twice() -> None:
    class Twice(Direct):
        def deliver(self, now: float) -> int | Lost | None:
            return self.inside[0][1]

    with pytest.raises(RuntimeError, match="returned packet 0, which is not in the link: want each accepted"):
        of(Twice).run(seed=1)


def test_an_exception_ends_the_run_and_a_class_without_its_methods_is_named() -> None:
    class Broken(Direct):
        def offer(self, now: float, packet: int, size: int) -> Literal["queue-full", "link-down"] | None:
            raise OSError("no carrier")

    with pytest.raises(OSError, match="^no carrier$"):
        of(Broken).run(seed=1)

    class Half(msctp.LinkModel):
        def next_delivery(self) -> float | None:
            return None

    with pytest.raises(msctp.InputError, match="Half has no deliver and no offer"):
        msctp.Scenario.load(BULK, [Half])
    with pytest.raises(msctp.InputError, match='"python:Plane" is unknown; did you mean "python:Plain"'):
        msctp.Scenario.load(BULK, [Plain]).set("link.wlan.type", "python:Plane")


def test_a_thousand_models_do_not_leak() -> None:
    living: weakref.WeakSet[msctp.LinkModel] = weakref.WeakSet()
    made = 0

    class Counted(Direct):
        def __init__(self, config: msctp.schemes.LinkConfig) -> None:
            nonlocal made
            super().__init__(config)
            made += 1
            living.add(self)

    scenario = of(Counted, duration="100ms")

    assert growth(scenario.run, 100, 1000) < 8 << 20
    assert made > 2000 and len(living) == 0
    reference = weakref.ref(Counted)
    del scenario, Counted
    for _ in range(3):
        gc.collect()
    assert reference() is None, "the class outlives its scenario"
