"""A mobile with two networks, each behind a router that translates addresses (NAT), and a server with a public address."""
import json

from namespaces import Hosts, run

# The mobile's links: a number, the rate of the router's link to the mobile in both directions, the metric of the route.
LINKS = {"wlan0": (1, "50mbit", 100), "wwan0": (2, "20mbit", 600)}
NAT = "table ip nat { chain out { type nat hook postrouting priority srcnat; oifname wan masquerade; }; }"


class Routers(Hosts):
    """The hosts and the routers. Both networks work at first."""

    address = "203.0.113.9"

    def __init__(self, *names):
        super().__init__()
        run(*self.server, "ip", "address", "add", f"{self.address}/32", "dev", "lo")
        for host in (self.mobile, self.server):
            run(*host, "sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")
        self.routers = {name: self.network(name, *LINKS[name]) for name in names or LINKS}
        # The last byte of each router's public address.
        self.public = dict.fromkeys(self.routers, 2)

    def network(self, name, number, rate, metric):
        router = self.host()
        pid = router[-1]
        run(*self.mobile, "ip", "link", "add", name, "type", "veth", "peer", "name", "lan", "netns", pid)
        run(*self.server, "ip", "link", "add", f"up{number}", "type", "veth", "peer", "name", "wan", "netns", pid)
        run(*self.mobile, "ip", "address", "add", f"192.168.{number}.2/24", "dev", name)
        run(*router, "ip", "address", "add", f"192.168.{number}.1/24", "dev", "lan")
        run(*router, "ip", "address", "add", f"198.51.{number}.2/24", "dev", "wan")
        run(*self.server, "ip", "address", "add", f"198.51.{number}.1/24", "dev", f"up{number}")
        for host, link in ((self.mobile, name), (router, "lan"), (router, "wan"), (self.server, f"up{number}")):
            run(*host, "ip", "link", "set", link, "up")
        run(*router, "ip", "route", "add", "default", "via", f"198.51.{number}.1")
        run(*router, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        run(*router, "nft", NAT)
        for host, link in ((self.mobile, name), (router, "lan")):
            run(*host, "tc", "qdisc", "add", "dev", link, "root", "tbf", "rate", rate, "burst", "32kb", "latency", "100ms")
        run(*self.mobile, "ip", "route", "add", "default", "via", f"192.168.{number}.1", "dev", name, "metric", str(metric))
        return router

    def dial_again(self, name):
        """The router gets another public address, and its translations with the old one end; the mobile sees nothing of it."""
        router, number, old = self.routers[name], LINKS[name][0], self.public[name]
        self.public[name] = new = old + 1
        run(*router, "ip", "address", "del", f"198.51.{number}.{old}/24", "dev", "wan")
        run(*router, "ip", "address", "add", f"198.51.{number}.{new}/24", "dev", "wan")
        run(*router, "ip", "route", "replace", "default", "via", f"198.51.{number}.1")

    def carried(self, name):
        """Bytes that the mobile's link carried so far, in both directions."""
        (link,) = json.loads(run(*self.mobile, "ip", "-s", "-j", "link", "show", "dev", name))
        return sum(link["stats64"][way]["bytes"] for way in ("rx", "tx"))
