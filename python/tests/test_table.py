"""A table's numpy arrays and its Arrow form share their memory."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from conftest import ROOT
from test_laboratory import RATES

import msctp


@pytest.fixture(scope="module")
def run() -> msctp.Run:
    """A run with windows, round-trip times and queues."""
    return msctp.Scenario.load(ROOT / "scenarios/handover.toml").set("duration", "45s").run(seed=1)


@pytest.mark.parametrize("name", ["throughput", "window", "rtt", "queue"])
def test_arrow_has_the_values_of_numpy_without_a_copy(run: msctp.Run, name: str) -> None:
    table = run.series(name)
    arrow = pyarrow.table(table.arrow)
    assert arrow.column_names == list(table)
    assert arrow.num_rows == len(table[next(iter(table))]) > 0
    for column, values in table.items():
        chunk = arrow[column].chunk(0)
        if values.dtype.kind == "U":
            assert pyarrow.types.is_dictionary(chunk.type)
            assert chunk.to_pylist() == values.tolist()
            continue
        assert chunk.buffers()[1].address == values.__array_interface__["data"][0], column
        assert np.array_equal(chunk.is_null().to_numpy(False), np.isnan(values))
        missing = -1 if values.dtype.kind == "i" else -1.0
        assert np.array_equal(
            chunk.fill_null(missing).to_numpy(), np.where(np.isnan(values), missing, values)
        )


def test_an_unlimited_threshold_is_nan_in_numpy_and_null_in_arrow(run: msctp.Run) -> None:
    table = run.series("ssthresh")
    missing = int(np.isnan(table["ssthresh"]).sum())
    assert missing > 0
    assert pyarrow.table(table.arrow)["ssthresh"].null_count == missing


def test_polars_and_pandas_take_it(run: msctp.Run) -> None:
    table = run.series("cwnd")
    frames = [polars.DataFrame(table.arrow), pyarrow.table(table.arrow).to_pandas(), pandas.DataFrame(table)]
    if hasattr(pandas.DataFrame, "from_arrow"):  # pandas 3
        frames.append(pandas.DataFrame.from_arrow(table.arrow))
    for frame in frames:
        assert list(frame.columns) == list(table)
        assert len(frame) == len(table["cwnd"])
        assert frame["cwnd"].to_numpy().tolist() == table["cwnd"].tolist()
        assert frame["side"].to_list() == table["side"].tolist()
    schema, array = table.arrow.__arrow_c_array__()
    imported = pyarrow.RecordBatch._import_from_c_capsule(schema, array)
    assert imported == pyarrow.table(table.arrow).to_batches()[0]
    assert pyarrow.schema(table.arrow) == imported.schema


def test_the_memory_outlives_the_table(run: msctp.Run) -> None:
    table = run.series("cwnd")
    copy = table["cwnd"].copy()
    values, arrow = table["cwnd"], pyarrow.table(table.arrow)
    del table
    gc.collect()
    again = [run.series("cwnd") for _ in range(20)]
    assert np.array_equal(values, copy)
    assert np.array_equal(arrow["cwnd"].to_numpy(), copy)
    assert len(again) == 20
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1


def test_a_sweeps_tables_are_arrow_and_pickle(tmp_path: Path) -> None:
    path = tmp_path / "rates.toml"
    path.write_text(RATES.format(scenario=Path("scenarios/handover.toml").resolve()))
    done = msctp.sweep(path, quick=True)
    for table in (done.runs, done.cells):
        frame = polars.DataFrame(table.arrow)
        assert frame.columns == list(table)
        assert all(frame[name].to_list() == values.tolist() for name, values in table.items())
        again = pickle.loads(pickle.dumps(table))
        assert type(again) is msctp.Table
        assert pyarrow.table(again.arrow) == pyarrow.table(table.arrow)
    assert polars.DataFrame(done.runs.arrow).schema["rate"] == polars.String


def test_a_curve_is_a_table(run: msctp.Run) -> None:
    for name in [metric.name for metric in msctp.metrics() if metric.x]:
        try:
            curve = run.curve(name)
        except (msctp.RunError, msctp.InputError):
            continue
        assert pyarrow.table(curve.arrow).to_pydict() == {
            name: values.tolist() for name, values in curve.items()
        }
        return
    pytest.fail("the run has no curve")
