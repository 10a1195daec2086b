"""A run from Python is the command's: the same hash, summary, metrics, series, packets and errors."""

import csv
import hashlib
import json
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import Command, growth

import msctp

HANDOVER = "scenarios/handover.toml"


def short(path: str = HANDOVER) -> msctp.Scenario:
    return msctp.Scenario.load(path)


@pytest.fixture(scope="module")
def run() -> msctp.Run:
    return msctp.Scenario.load(Path(__file__).resolve().parents[2] / HANDOVER).run(seed=3)


def test_hash_and_summary_are_the_commands(command: Command, tmp_path: Path) -> None:
    run = short().set("link.wlan.rate", "2Mbps").run(seed=7)
    asked = ["sim", HANDOVER, "--set", "link.wlan.rate=2Mbps", "--seed", "7", "--hash", "--json"]
    assert run.hash == json.loads(command(*asked))["trace_hash"]
    assert len(run.hash) == 64
    # With the series `events` counts the samples of the queues too.
    assert run.summary == json.loads(command(*asked, "--series", str(tmp_path)))
    assert run.seed == 7


def test_seeds_and_values_change_the_hash(run: msctp.Run) -> None:
    again = short().run(seed=3)
    assert again.hash == run.hash
    assert short().run(seed=4).hash != run.hash
    assert short().set("link.wlan.delay", "77ms").run(seed=3).hash != run.hash
    scenario = short()
    assert scenario.run().seed == scenario.seed


def test_metrics_are_those_of_the_registry(command: Command, run: msctp.Run) -> None:
    listed = json.loads(command("scenario", "metrics", "--json"))
    assert [vars(metric) for metric in msctp.metrics()] == listed
    asked = [name for name in run.metrics for name in ("--metric", name)] + ["--metric", "path.cwnd@31s"]
    printed = json.loads(command("sim", HANDOVER, "--seed", "3", "--json", *asked))
    assert printed == {**run.metrics, "path.cwnd@31s": run.metric("path.cwnd@31s")}
    assert {"handover.gap", "association.goodput"} <= printed.keys()


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (HANDOVER, ["throughput", "window", "rtt", "estimate", "queue", "message"]),
        ("scenarios/tcp.toml", ["throughput", "window", "rtt"]),
        ("scenarios/video-lifetime.toml", ["message", "queue"]),
        ("scenarios/kim-koh/estimation-wlan.toml", ["estimate"]),
    ],
)
def test_series_are_those_of_the_command(
    command: Command, tmp_path: Path, path: str, names: "list[str]"
) -> None:
    run = short(path).run()
    command("sim", path, "--series", str(tmp_path))
    for name in names:
        with (tmp_path / f"{name}.csv").open() as file:
            rows = list(csv.reader(file))
        table = run.series(name)
        assert list(table) == rows[0]
        assert set(table) >= set(msctp.SERIES[name])
        if path != HANDOVER:
            assert len(rows) > 1, name
        for number, (column, values) in enumerate(table.items()):
            texts = [row[number] for row in rows[1:]]
            if values.dtype.kind == "U":
                assert values.tolist() == texts, column
            else:
                wanted = [float(text) if text else np.nan for text in texts]
                np.testing.assert_array_equal(values, wanted, err_msg=f"{name} {column}")


def test_a_column_is_a_series_too(run: msctp.Run) -> None:
    cwnd, window = run.series("cwnd"), run.series("window")
    assert list(cwnd) == ["time_s", "association", "side", "path", "cwnd"]
    np.testing.assert_array_equal(cwnd["cwnd"], window["cwnd"])
    assert len(cwnd["cwnd"]) > 100
    for name, columns in msctp.SERIES.items():
        for column in columns:
            assert list(run.series(column))[-1] == column, name


def test_a_curve_has_points(run: msctp.Run) -> None:
    curves = [metric.name for metric in msctp.metrics() if metric.x]
    found = 0
    for name in curves:
        try:
            points = run.curve(name)
        except (msctp.RunError, msctp.InputError):
            continue
        found += len(points["x"]) == len(points["y"]) > 0
    assert found > 0


def test_pcap_is_the_commands(command: Command, run: msctp.Run, tmp_path: Path) -> None:
    run.pcap(tmp_path / "python.pcapng", links=["wlan"])
    command("sim", HANDOVER, "--seed", "3", "--pcap", str(tmp_path / "command.pcapng"), "--pcap-link", "wlan")
    digests = [
        hashlib.sha256((tmp_path / f"{of}.pcapng").read_bytes()).hexdigest() for of in ("python", "command")
    ]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    "override",
    [
        ("link.wlan.rat", "2Mbps"),
        ("link.wlna.rate", "2Mbps"),
        ("link.wlan.rate", "2parsec"),
        ("duration", "0s"),
        ("sctp.default.handover_policy", "adaptiv"),
    ],
)
def test_errors_are_the_commands_sentences(command: Command, override: "tuple[str, str]") -> None:
    key, value = override
    with pytest.raises(msctp.InputError) as refused:
        short().set(key, value)
    assert str(refused.value) == command.refuse("sim", HANDOVER, "--set", f"{key}={value}")


def test_a_missing_file_is_named_as_by_the_command(command: Command) -> None:
    with pytest.raises(msctp.InputError) as refused:
        short("nowhere.toml")
    assert str(refused.value) == command.refuse("sim", "nowhere.toml")


def test_unknown_names_are_input_errors(command: Command, run: msctp.Run, tmp_path: Path) -> None:
    with pytest.raises(msctp.InputError) as refused:
        run.metric("handover.gab")
    assert f"--metric: {refused.value}" == command.refuse("sim", HANDOVER, "--metric", "handover.gab")
    with pytest.raises(msctp.InputError, match='there is no series "cwmd"; did you mean "cwnd"'):
        run.series("cwmd")
    with pytest.raises(msctp.InputError, match='links: there is no link "wlna"'):
        run.pcap(tmp_path / "x.pcapng", links=["wlna"])
    assert list(tmp_path.iterdir()) == [], "no incomplete file stays"
    with pytest.raises(msctp.InputError, match="cannot write"):
        run.pcap(tmp_path / "nowhere" / "x.pcapng")


def test_values_that_are_no_text() -> None:
    scenario = short().update({"duration": "50s", "seed": 9})
    assert (scenario.seed, scenario.duration) == (9, 50.0)
    assert scenario.overrides == ["duration=50s", "seed=9"]
    assert short().seed != 9, "the scenario itself is unchanged"


def test_ctrl_c_stops_a_run_and_other_threads_go_on() -> None:
    # Hours of virtual time: it ends by the signal alone.
    scenario = short("scenarios/bulk-wlan.toml").set("duration", "100000s")
    ticks = 0
    done = threading.Event()

    def work() -> None:
        nonlocal ticks
        while not done.wait(0.02):
            ticks += 1
            if ticks == 10:
                signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=work)
    begin = time.monotonic()
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            scenario.run(seed=1)
    finally:
        done.set()
        thread.join()
    assert ticks >= 10, "the run holds the interpreter's lock"
    assert time.monotonic() - begin < 60


def test_a_run_frees_its_memory() -> None:
    scenario = short("scenarios/bulk-wlan.toml").set("duration", "1s")

    assert growth(lambda seed: scenario.run(seed=seed).series("window"), 20, 100) < 20 << 20
