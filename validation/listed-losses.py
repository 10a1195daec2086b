#!/usr/bin/env python3
"""The TCP cases of the reference with the same packets lost in ns-2 and here: no chance is left between the two.

    validation/listed-losses.py CASE N [KEY=VALUE ...] [ns:VARIABLE=VALUE ...]
    validation/listed-losses.py 'c_wlan_loss0.01 newreno w718' 20
    validation/listed-losses.py 'c_wlan_loss0.01 newreno w718' 20 halve_window=false

Run it where `ns` (ns-2 2.35) is installed, from the root of the repository, after `cargo build --release`. It draws N lists
of packets with the case's loss rate, runs both simulators with each, and prints the means and the mean difference with its
95 % interval. KEY=VALUE changes `[tcp-profile.default]` beyond ns-2's ways, `ns:` the agent of ns-2.
"""

import json
import os
import random
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

LAB = os.environ.get("MSCTP_LAB", "target/release/msctp-lab")
PACKETS = 200_000


def output(*arguments):
    return subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True).stdout


def command(case):
    """The arguments that run the case with ns-2's ways."""
    listed = output(LAB, "validate", "--list", "--case", case).splitlines()
    return shlex.split(next(line for line in listed if "ns-2's ways" in line).split("msctp-lab ", 1)[1])


def ns2_arguments(case, overrides):
    """The same case for listed-losses.tcl, from our overrides and the words of the case's name."""
    _, protocol, parameters = case.split(" ")

    def link(key, default):
        return overrides.get(f"link.{key}", default).replace("bps", "b")

    arguments = [
        f"proto={protocol}", f"abw={link('access.rate', '100Mbps')}", f"ad={link('access.delay', '15ms')}",
        f"bw={link('bottleneck.rate', '11Mbps')}", f"d={link('bottleneck.delay', '20ms')}", f"T={duration(overrides)}",
    ]
    words = {
        "w44": ["window=44"],
        "ns2default": ["window=20", "payload=1000", "iw=2"],
        "minrto1": ["minrto=1"],
        "iw1": ["iw=1"],
        "nodelack": ["delack=0"],
    }
    for word in parameters.split("_"):
        arguments += words.get(word, [])
    return arguments + (["delack=0"] if case.startswith("g_") else [])


def duration(overrides):
    return int(overrides.get("duration", "60s").rstrip("s"))


def lists(n, rate):
    for seed in range(n):
        draw = random.Random(seed)
        yield [packet for packet in range(PACKETS) if draw.random() < rate]


def run(case, ours, theirs, lossy, lost):
    """Acknowledged and delivered kbit/s, retransmissions, time-outs: ns-2's, ours, ns-2's, …"""
    overrides = dict(a.split("=", 1) for a in ours if "=" in a)
    with tempfile.NamedTemporaryFile("w", suffix=".losses") as file:
        file.write(" ".join(map(str, lost)))
        file.flush()
        at = [f"losses={file.name}", f"where={lossy}"] if lost else []
        script = os.path.join(os.path.dirname(__file__), "listed-losses.tcl")
        ns2 = output("ns", script, *ns2_arguments(case, overrides), *theirs, *at)
    ns2 = {word: int(number) for word, number in re.findall(r"(\w+) (\d+)", ns2)}
    at = ["--set", f"link.{lossy}.forward.loss={{packets={lost}}}"] if lost else []
    flow = json.loads(output(LAB, *ours, *at, "--json"))["tcp"][0]["to_server"]
    kbps = 8 / duration(overrides) / 1000
    acked = ns2["acked"] * (1000 if "ns2default" in case else 1460)
    retransmitted = ns2["rtx"], flow["retransmitted"]
    return acked * kbps, flow["bytes"] * kbps, *retransmitted, ns2["timeouts"], flow["timeouts"]


def main():
    case, n, *changes = sys.argv[1:]
    theirs = [c[3:].replace("=", ":") for c in changes if c.startswith("ns:")]
    theirs = [f"set={','.join(theirs)}"] if theirs else []
    ours = command(case)
    for change in changes:
        if not change.startswith("ns:"):
            ours += ["--set", f"tcp-profile.default.{change}"]
    loss = re.search(r"link\.(\w+)\.forward\.loss=([\d.]+)", " ".join(ours))
    lossy, rate = (loss[1], float(loss[2])) if loss else ("bottleneck", 0.0)
    if loss:
        at = next(i for i, argument in enumerate(ours) if "forward.loss=" in argument)
        del ours[at - 1 : at + 1]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(pool.map(lambda lost: run(case, ours, theirs, lossy, lost), lists(int(n), rate)))
    mean = [statistics.mean(column) for column in zip(*runs)]
    apart = [100 * (here / ns2 - 1) for ns2, here, *_ in runs]
    half = 1.96 * statistics.stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else 0.0
    print(
        f"{' '.join([case, *changes])}: ns-2 {mean[0]:.1f}, here {mean[1]:.1f} kbit/s, "
        f"difference {statistics.mean(apart):+.2f} ± {half:.2f} %; "
        f"sent again {mean[2]:.1f}, {mean[3]:.1f}; time-outs {mean[4]:.2f}, {mean[5]:.2f}"
    )


main()
