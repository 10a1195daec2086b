"""The ways by which the programs reach the server: where each has ssh, the web server and the UDP echo."""
import os
import subprocess
import time
from dataclasses import dataclass, field

from namespaces import run
from network import Network
from services import ECHO, SSH, WEB

NAMES = {
    "tcp": "TCP",
    "mptcp": "MPTCP (kernel)",
    "wireguard": "WireGuard (wireguard-go)",
    "forward": "msctp forward",
    "tunnel": "msctp tunnel",
}


@dataclass
class Transport:
    """One way, set up in namespaces of its own."""

    network: Network
    # The host at which the mobile's programs find the server; the server's own address unless the transport has another.
    host: str = None
    # What precedes every program, at both ends.
    prefix: list = field(default_factory=list)
    # Port of the SOCKS proxy at the mobile that carries datagrams.
    socks: int = None
    processes: list = field(default_factory=list)
    logs: list = field(default_factory=list)

    def __post_init__(self):
        self.host = self.network.address

    def start(self, namespace, *command, log, env=None):
        self.logs.append(log)
        with open(log, "wb") as file:
            self.processes.append(subprocess.Popen(
                [*namespace, *command], stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env, start_new_session=True))

    def ready(self):
        """Waits until the server's ssh can be reached; says what the transport said if it cannot."""
        def reached():
            return not subprocess.run(
                [*self.network.mobile, *self.prefix, "bash", "-c", f"exec 3<>/dev/tcp/{self.host}/{SSH} && read -t 2 -u 3"],
                capture_output=True).returncode
        try:
            until(reached)
        except TimeoutError:
            said = [open(log, errors="replace").read().strip() for log in self.logs]
            raise SystemExit("\n".join(["the server cannot be reached", *said])) from None

    def end(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.network.end()


def open_transport(name, msctp, folder, network=None):
    """Sets up a way to the server, on a network of its own unless one is given."""
    transport = Transport(network or Network(mptcp=name == "mptcp"))
    {"tcp": lambda *_: None, "mptcp": mptcp, "wireguard": wireguard, "forward": forward, "tunnel": tunnel}[name](
        transport, msctp, folder)
    return transport


def mptcp(transport, _msctp, _folder):
    transport.prefix = ["mptcpize", "run"]


def wireguard(transport, _msctp, folder):
    network = transport.network
    keys = {}
    for end in ("wgm", "wgs"):
        private = run("wg", "genkey").strip()
        path = os.path.join(folder, end)
        with open(path, "w") as file:
            file.write(private)
        keys[end] = (path, subprocess.run(["wg", "pubkey"], input=private, capture_output=True, text=True, check=True).stdout.strip())
    ends = (("wgm", network.mobile, "10.10.0.2/24", "wgs"), ("wgs", network.server, "10.10.0.1/24", "wgm"))
    for end, namespace, address, peer in ends:
        transport.start(namespace, "wireguard-go", "--foreground", end, log=f"{folder}/{end}.log")
        until(lambda end=end: os.path.exists(f"/var/run/wireguard/{end}.sock"))
        settings = ["listen-port", "51820", "private-key", keys[end][0], "peer", keys[peer][1], "allowed-ips", "10.10.0.0/24"]
        if end == "wgm":
            settings += ["endpoint", f"{network.address}:51820", "persistent-keepalive", "25"]
        run(*namespace, "wg", "set", end, *settings)
        run(*namespace, "ip", "address", "add", address, "dev", end)
        run(*namespace, "ip", "link", "set", end, "up")
    transport.host = "10.10.0.1"


def forward(transport, msctp, folder):
    network = transport.network
    allow = [word for port in (SSH, WEB, ECHO) for word in ("--allow", f"127.0.0.1:{port}")]
    transport.start(network.server, msctp, "serve", "--bind", network.address, *allow, log=f"{folder}/serve.log", env=home(folder, "serve"))
    local = [word for port in (SSH, WEB) for word in ("-L", f"{port}:127.0.0.1:{port}")]
    time.sleep(1)
    transport.start(network.mobile, msctp, "forward", *local, "-D", "1080", network.address, log=f"{folder}/forward.log", env=home(folder, "forward"))
    transport.host, transport.socks = "127.0.0.1", 1080


def tunnel(transport, msctp, folder):
    network = transport.network
    transport.start(network.server, msctp, "serve", "--bind", network.address, "--tunnel", "10.7.0.1/24",
                    log=f"{folder}/serve.log", env=home(folder, "serve"))
    time.sleep(1)
    transport.start(network.mobile, msctp, "tunnel", network.address, "--route", "10.7.0.1/32", log=f"{folder}/tunnel.log", env=home(folder, "tunnel"))
    transport.host = "10.7.0.1"


def home(folder, name):
    """An environment whose keys and known hosts are of this run only."""
    path = os.path.join(folder, f"home-{name}")
    os.makedirs(path, exist_ok=True)
    return {**os.environ, "HOME": path, "XDG_CONFIG_HOME": path, "XDG_DATA_HOME": path, "XDG_STATE_HOME": path}


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)
