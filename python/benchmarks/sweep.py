"""Compare a sweep of 1,220 runs from Python with the command's: ``python python/benchmarks/sweep.py``.

Prints the CPU seconds of both, and exits with 1 if Python needs more than 1.1 times as many. CPU seconds, since
the load of a shared machine moves elapsed ones. Both must be of the same profile: for a release
build ``cargo build --release``, ``pip install ./python`` and ``MSCTP_COMMAND=target/release/msctp-lab``.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST = 1.1
ROUNDS = 3

SWEEP = """
title = "Rates of the new network"
scenario = "{scenario}"
seeds = "1..610"
set = {{ "duration" = "45s" }}

[axis.rate]
set = "link.wlan.rate"
values = ["1Mbps", "2Mbps"]

[metric.goodput]
of = "association.goodput"
"""

PYTHON = "import sys, msctp; print(len(msctp.sweep(sys.argv[1]).runs['seed']))"


def cpu(*command: str) -> tuple[float, str]:
    """Return the CPU seconds of a command, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stdout


def main() -> int:
    """Compare the least of several rounds."""
    lab = os.environ.get("MSCTP_COMMAND", str(ROOT / "target/debug/msctp-lab"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sweep.toml"
        path.write_text(SWEEP.format(scenario=ROOT / "scenarios/handover.toml"))
        python, command = [], []
        for number in range(ROUNDS):
            seconds, runs = cpu(sys.executable, "-c", PYTHON, str(path))
            assert runs.strip() == "1220", runs
            python.append(seconds)
            command.append(cpu(lab, "sweep", str(path), "--json", "--out", f"{folder}/{number}")[0])
    ratio = min(python) / min(command)
    print(
        f"1220 runs: Python {min(python):.1f} s of CPU, the command {min(command):.1f} s, ratio {ratio:.3f}"
    )
    print(f"load average: {os.getloadavg()[0]:.1f}")
    return int(ratio > MOST)


if __name__ == "__main__":
    sys.exit(main())
