"""Measure what a scheme in Python costs: ``python python/benchmarks/schemes.py``.

Prints the CPU time that a class in Python adds to a run, in microseconds per packet of the link, for a link model and
for a controller. Each is the least of several rounds; the figures need a machine without other load.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import msctp

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python/tests"))
ROUNDS = 5


class Aimd(msctp.Controller):
    """Additive increase, multiplicative decrease."""

    def on_ack(self, ack: msctp.schemes.Ack) -> None:
        self.cwnd += min(self.pmdcs * ack.bytes_acked // self.cwnd, self.pmdcs)

    def on_loss(self, loss: msctp.schemes.Loss) -> None:
        self.cwnd = max(self.cwnd // 2, 2 * self.pmdcs)


def least(scenario: msctp.Scenario) -> tuple[float, int]:
    """Return the least CPU seconds of a run, and the packets that its link ``wlan`` was offered."""
    seconds = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        run = scenario.run(seed=1)
        seconds.append(time.process_time() - begin)
    packets = sum(link["offered"] for link in run.summary["links"] if link["name"].startswith("wlan"))
    return min(seconds), packets


def main() -> int:
    """Print the cost of each."""
    from links import Plain

    scenario = msctp.Scenario.load(ROOT / "scenarios/bulk-wlan.toml", [Plain, Aimd]).set("duration", "30s")
    compiled, packets = least(scenario)
    print(f"compiled: {1e6 * compiled / packets:.2f} us of CPU per packet, {packets} packets")
    for name, key in (("Plain", "link.wlan.type"), ("Aimd", "sctp.default.controller")):
        own, packets = least(scenario.set(key, f"python:{name}"))
        added = own - compiled
        print(
            f"{key} = python:{name}: {1e6 * added / packets:+.2f} us per packet, {own / compiled:.2f} x the run"
        )
    print(f"load average: {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
