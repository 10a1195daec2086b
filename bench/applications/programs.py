"""The programs at the mobile, and what each delivered when."""
import os
import re
import socket
import struct
import subprocess
import threading
import time

from network import KINDS
from services import ECHO, SSH, VIDEO_RATE, WEB

SSH_OPTIONS = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
               "-o", "ConnectTimeout=20"]


class Arrivals:
    """Times at which something was delivered, in seconds, and how many bytes in all."""

    def __init__(self):
        self.last = time.monotonic()
        self.begin = None
        # Begin and end of each gap worth a mention.
        self.gaps = []
        self.bytes = 0
        self.count = 0
        self.broke = None

    def add(self, amount=0):
        now = time.monotonic()
        if self.begin is None:
            self.begin = now
        else:
            self.gap(now)
        self.last = now
        self.bytes += amount
        self.count += 1

    def gap(self, end):
        if end - self.last > 0.01:
            self.gaps.append((self.last, end))

    def finish(self, moves, end):
        """What arrived until `end`, and the longest gap that began at a move of each kind."""
        if self.begin is None:
            return {"broke": self.broke or "nothing arrived"}
        self.gap(end)
        longest = dict.fromkeys(KINDS, 0.0)
        for begin, over in self.gaps:
            # A gap begins with the last delivery, which can precede the move.
            before = [kind for moved, kind in moves if moved <= begin + 0.3]
            if before:
                longest[before[-1]] = max(longest[before[-1]], over - begin)
        result = {"longest_gap_s": {kind: round(gap, 3) for kind, gap in longest.items()},
                  "goodput_bps": round(self.bytes * 8 / (end - self.begin))}
        if self.broke:
            result["broke"] = self.broke
        return result


class Program:
    """A program in the mobile's namespace whose output tells its deliveries."""

    def __init__(self, transport, *command):
        self.moves = transport.network.history
        self.arrivals = Arrivals()
        self.process = subprocess.Popen([*transport.network.mobile, *transport.prefix, *command], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.ending = False
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while chunk := os.read(self.process.stdout.fileno(), 65_536):
            self.take(chunk)
        if not self.ending:
            said = self.process.stderr.read().decode(errors="replace").strip().splitlines()
            self.arrivals.broke = said[-1] if said else "it ended"

    def take(self, chunk):
        self.arrivals.add(len(chunk))

    def finish(self):
        self.ending = True
        end = time.monotonic()
        self.process.kill()
        self.process.wait()
        self.reader.join()
        return self.arrivals.finish(self.moves, self.until(end))

    def until(self, end):
        """Until when deliveries were due."""
        return end


def shell(transport, folder):
    """An OpenSSH session with `top`, five screens a second."""
    return Program(transport, "ssh", "-tt", "-p", str(SSH), "-i", f"{folder}/key", *SSH_OPTIONS, f"root@{transport.host}",
                   "TERM=dumb exec timeout 120 top -b -d 0.2")


def download(transport, _folder):
    """curl loads a file from nginx over HTTP/2 and TLS."""
    return Program(transport, "curl", "--silent", "--show-error", "--insecure", "--http2", "--output", "-",
                   f"https://{transport.host}:{WEB}/large")


class Video(Program):
    """ffmpeg plays an HLS stream in real time, without a buffer of its own: deliveries are steps of the playing time."""

    def __init__(self, transport, _folder):
        self.played = 0
        self.rest = ""
        super().__init__(transport, "ffmpeg", "-loglevel", "error", "-re", "-tls_verify", "0", "-i", f"https://{transport.host}:{WEB}/video.m3u8",
                         "-c", "copy", "-f", "null", "-stats_period", "0.05", "-progress", "pipe:1", "-")

    def take(self, chunk):
        lines = (self.rest + chunk.decode()).split("\n")
        self.rest = lines.pop()
        for line in lines:
            if (found := re.match(r"out_time_us=(\d+)", line)) and int(found[1]) > self.played:
                self.arrivals.add((int(found[1]) - self.played) * VIDEO_RATE // 8_000_000)
                self.played = int(found[1])


class Echo:
    """A game's datagrams: 60 of 100 bytes a second, each answered by the server."""

    RATE, LEN = 60, 100

    def __init__(self, transport, _folder):
        self.moves = transport.network.history
        self.arrivals, self.sent, self.delays = Arrivals(), 0, []
        self.socket, self.header, self.target = in_namespace(transport.network.holders[0].pid, lambda: self.connect(transport))
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.send, self.receive)]
        for thread in self.threads:
            thread.start()

    def connect(self, transport):
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.settimeout(0.2)
        if transport.socks is None:
            return datagrams, b"", (transport.host, ECHO)
        # RFC 1928: no authentication; UDP ASSOCIATE; each datagram has a header with its target.
        self.control = socket.create_connection(("127.0.0.1", transport.socks), timeout=10)
        self.control.sendall(b"\x05\x01\x00")
        self.control.recv(2)
        self.control.sendall(b"\x05\x03\x00\x01" + bytes(6))
        answer = self.control.recv(64)
        if answer[1]:
            raise SystemExit(f"the proxy refuses UDP ASSOCIATE: {answer[1]}")
        relay = ("127.0.0.1", struct.unpack("!H", answer[8:10])[0])
        return datagrams, b"\x00\x00\x00\x01" + socket.inet_aton("127.0.0.1") + struct.pack("!H", ECHO), relay

    def send(self):
        begin = time.monotonic()
        while not self.stop.is_set():
            payload = struct.pack("!dI", time.monotonic(), self.sent).ljust(self.LEN, b"\0")
            try:
                self.socket.sendto(self.header + payload, self.target)
            except OSError:
                pass  # no route now
            self.sent += 1
            time.sleep(max(0.0, begin + self.sent / self.RATE - time.monotonic()))

    def receive(self):
        while not self.stop.is_set():
            try:
                datagram = self.socket.recv(2048)
            except OSError:
                continue
            sent, _ = struct.unpack("!dI", datagram[len(self.header):len(self.header) + 12])
            self.delays.append(time.monotonic() - sent)
            self.arrivals.add(self.LEN)

    def finish(self):
        end = time.monotonic()
        self.stop.set()
        for thread in self.threads:
            thread.join()
        self.delays.sort()
        extra = {"answered_share": round(self.arrivals.count / self.sent, 4)}
        if self.delays:
            extra["within_100_ms_share"] = round(sum(delay <= 0.1 for delay in self.delays) / self.sent, 4)
            extra["median_round_trip_s"] = round(self.delays[len(self.delays) // 2], 4)
        return {**self.arrivals.finish(self.moves, end), **extra}


def in_namespace(pid, work):
    """What `work` returns in the network namespace of a process: sockets stay in the one that they were made in."""
    with open("/proc/self/ns/net") as here, open(f"/proc/{pid}/ns/net") as there:
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(there.fileno(), 0x40000000):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            return work()
        finally:
            libc.setns(here.fileno(), 0)


class Copy(Program):
    """scp copies a file of the server; deliveries are steps of the copy's length."""

    def __init__(self, transport, folder):
        self.copy = f"{folder}/copy"
        self.whole = os.path.getsize(f"{folder}/film")
        if os.path.exists(self.copy):
            os.remove(self.copy)
        super().__init__(transport, "scp", "-q", "-P", str(SSH), "-i", f"{folder}/key", *SSH_OPTIONS,
                         f"root@{transport.host}:{folder}/film", self.copy)

    def read(self):
        watch, have = threading.Thread(target=super().read, daemon=True), 0
        watch.start()
        while True:
            ended = self.process.poll() is not None
            length = os.path.getsize(self.copy) if os.path.exists(self.copy) else 0
            if length > have:
                self.arrivals.add(length - have)
                have = length
            if ended:
                break
            time.sleep(0.005)
        watch.join()
        self.arrivals.broke = None if have == self.whole else self.arrivals.broke

    def done(self):
        return self.process.poll() is not None

    def until(self, end):
        return self.arrivals.last if self.arrivals.bytes == self.whole else end

    def finish(self):
        result = super().finish()
        if self.arrivals.bytes < self.whole:
            result.setdefault("broke", f"{self.arrivals.bytes * 100 // self.whole} % copied")
        return result
