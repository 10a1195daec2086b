"""Two hosts of this machine, a mobile and a server, with two links between them that come and go."""
import os
import subprocess
import time

from namespaces import Hosts, run

SERVER = "10.9.0.1"
# Name of the link, its third octet and the preference of its route, its rate: the links of scripts/tour.
LINKS = {"wlan0": (1, "48mbit"), "cell0": (2, "16mbit")}
# Both links work for this long in a make-before-break move, neither in a break-before-make move. Seconds.
OVERLAP, HOLE = 2.0, 1.0
KINDS = ("make before break", "break before make")


class Network(Hosts):
    """The hosts with their links."""

    address = SERVER

    def __init__(self, mptcp=False, shaped=True):
        super().__init__()
        self.mptcp, self.shaped = mptcp, shaped
        run(*self.server, "ip", "address", "add", f"{SERVER}/32", "dev", "lo")
        # The route of a link without carrier is not used, as a mobile's network manager would have it.
        run(*self.mobile, "sysctl", "-q", "-w", "net.ipv4.conf.all.ignore_routes_with_linkdown=1")
        for namespace in (self.mobile, self.server):
            run(*namespace, "sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0",
                f"net.mptcp.enabled={int(mptcp)}")
            run(*namespace, "ip", "mptcp", "limits", "set", "subflow", "8", "add_addr_accepted", "8")
        for name, (number, rate) in LINKS.items():
            self.link(name, number, rate)
        self.works = set()
        # Begin and kind of each move.
        self.history = []
        self.up("wlan0")

    def link(self, name, number, rate):
        here, there = f"10.{number}.0.2", f"10.{number}.0.1"
        run(*self.mobile, "ip", "link", "add", name, "type", "veth", "peer", "name", name, "netns", str(self.holders[1].pid))
        run(*self.mobile, "ip", "address", "add", f"{here}/24", "dev", name)
        run(*self.server, "ip", "address", "add", f"{there}/24", "dev", name)
        for namespace in (self.mobile, self.server) if self.shaped else ():
            run(*namespace, "tc", "qdisc", "add", "dev", name, "root", "tbf", "rate", rate, "burst", "16kb", "latency", "100ms")
        run(*self.mobile, "ip", "link", "set", name, "up")
        run(*self.mobile, "ip", "route", "add", SERVER, "via", there, "dev", name, "metric", str(number))
        # What has this link's address leaves by this link.
        run(*self.mobile, "ip", "rule", "add", "from", here, "table", str(number))
        run(*self.mobile, "ip", "route", "add", SERVER, "via", there, "dev", name, "table", str(number))

    def up(self, name):
        run(*self.server, "ip", "link", "set", name, "up")
        self.works.add(name)
        if self.mptcp:
            number = LINKS[name][0]
            run(*self.mobile, "ip", "mptcp", "endpoint", "add", f"10.{number}.0.2", "dev", name, "id", str(number), "subflow")

    def down(self, name):
        run(*self.server, "ip", "link", "set", name, "down")
        self.works.discard(name)
        if self.mptcp:
            run(*self.mobile, "ip", "mptcp", "endpoint", "delete", "id", str(LINKS[name][0]))

    def move(self, make_before_break):
        """Moves to the other link; takes OVERLAP or HOLE seconds."""
        (old,) = self.works
        (new,) = set(LINKS) - self.works
        self.history.append((time.monotonic(), KINDS[0] if make_before_break else KINDS[1]))
        if make_before_break:
            self.up(new)
            time.sleep(OVERLAP)
            self.down(old)
        else:
            self.down(old)
            time.sleep(HOLE)
            self.up(new)

    def moves(self, count, period):
        """Moves `count` times, one every `period` seconds, break before make and make before break in turn."""
        begin = time.monotonic()
        for number in range(count):
            time.sleep(max(0.0, begin + (number + 0.5) * period - time.monotonic()))
            # Both kinds in both directions.
            self.move(make_before_break=number % 4 in (0, 3))
        time.sleep(max(0.0, begin + count * period - time.monotonic()))


def demand(*commands):
    missing = [command for command in commands if subprocess.run(["which", command], capture_output=True).returncode]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}; README.md names the Debian packages")
    if os.geteuid():
        raise SystemExit("network namespaces want root: run it with sudo")
