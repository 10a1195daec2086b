"""Traces are those that the simulator follows, with its errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pytest
from conftest import Command

import msctp

SCENARIO = """
name = "trace"
description = "A link that follows a trace."
duration = "10s"

[[node]]
name = "a"
kind = "host"
[[node]]
name = "b"
kind = "host"
[[link]]
name = "way"
type = "trace"
a = "a"
b = "b"
address_a = "10.0.0.1"
address_b = "10.0.0.2"
trace = "{file}"
delay = "1ms"
"""


def test_a_mahimahi_file_is_one_trace(tmp_path: Path) -> None:
    path = tmp_path / "up.trace"
    path.write_text("# a comment\n1\n1\n4\n")
    (trace,) = msctp.traces(path)
    assert trace.column is None
    assert trace.opportunities["time_s"].tolist() == [0.001, 0.001, 0.004]
    assert trace.period == 0.004
    assert trace.mean_rate == 3 * 1500 * 8 * 250
    assert pyarrow.table(trace.opportunities.arrow)["time_s"].to_pylist() == [0.001, 0.001, 0.004]


def test_a_table_of_rates_is_a_trace_for_each_network(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("# measured\ntime, wifi, cellular\n0, 12, 1.2\n10, 0, 1.2\n20, 0, 0\n")
    wifi, cellular = msctp.traces(path)
    assert [wifi.column, cellular.column] == ["wifi", "cellular"]
    assert wifi.period == cellular.period == 20
    assert wifi.mean_rate == pytest.approx(6e6, rel=0.01)
    assert cellular.mean_rate == pytest.approx(1.2e6, rel=0.01)
    assert wifi.opportunities["time_s"].max() <= 10
    assert np.all(np.diff(wifi.opportunities["time_s"]) >= 0)


def test_a_folder_is_its_files() -> None:
    found = [(Path(trace.path).name, trace.column) for trace in msctp.traces("scenarios/traces")]
    assert ("sample-uplink.trace", None) in found
    assert len([name for name, _ in found if name == "sample-two-networks.csv"]) == 2
    assert found == sorted(found, key=lambda one: one[0])


@pytest.mark.parametrize("text", ["1\n5\n3\n", "1\nx\n", "", "-1\n"])
def test_errors_are_the_commands(command: Command, tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.trace"
    path.write_text(text)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO.format(file=path.name))
    with pytest.raises(msctp.InputError) as raised:
        msctp.traces(path)
    prefix, sentence = str(raised.value).split(f"{path}:", 1)
    assert prefix == ""
    assert command.refuse("sim", str(scenario)).endswith(f"bad.trace:{sentence}")


def test_an_unreadable_file_and_a_table_without_networks_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(msctp.InputError, match=r"cannot read .*nowhere\.trace"):
        msctp.traces(tmp_path / "nowhere.trace")
    path = tmp_path / "no.csv"
    path.write_text("time\n0\n")
    with pytest.raises(
        msctp.InputError, match=r"no\.csv:1: the table has no networks; want time and their names"
    ):
        msctp.traces(path)
