"""The simulator and the laboratory of msctp, a mobile SCTP transport.

>>> import msctp
>>> run = msctp.Scenario.load("scenarios/handover.toml").set("link.wlan.rate", "2Mbps").run(seed=1)
>>> gap = run.metric("handover.gap")  # seconds

A run is deterministic: the same scenario, overrides and seed give the same packets, and so the same hash, as
``msctp-lab sim`` on any machine.
"""

from . import schemes
from ._native import InputError, RunError, __version__
from .laboratory import Claim, Metric, Reproduction, Sweep, metrics, reproduce, sweep
from .schemes import Controller, LinkModel, Policy, StartState
from .simulation import SERIES, Run, Scenario
from .table import Table
from .trace import Trace, traces

__all__ = [
    "SERIES",
    "Claim",
    "Controller",
    "InputError",
    "LinkModel",
    "Metric",
    "Policy",
    "Reproduction",
    "Run",
    "RunError",
    "Scenario",
    "StartState",
    "Sweep",
    "Table",
    "Trace",
    "__version__",
    "metrics",
    "reproduce",
    "schemes",
    "sweep",
    "traces",
]
