"""A plain link as a Python class."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

import msctp
from msctp.schemes import LinkChange, Lost


@dataclass
class Entry:
    """A packet in the link, with times in nanoseconds."""

    packet: int
    size: int
    departs: int
    arrives: int
    lost: bool = False


class Plain(msctp.LinkModel):
    """The compiled plain link, as far as it does not change its rate or delay: one with the same counters."""

    def __init__(self, config: msctp.schemes.LinkConfig) -> None:
        super().__init__(config)
        assert config.rate is not None and config.delay is not None
        self.bps = config.rate
        self.propagation = round(config.delay * 1e9)
        self.inside: deque[Entry] = deque()

    def waiting(self, now: int) -> list[Entry]:
        return [entry for entry in self.inside if entry.departs > now]

    def offer(self, now: float, packet: int, size: int) -> Literal["queue-full", "link-down"] | None:
        if not self.up:
            return "link-down"
        at = round(now * 1e9)
        waiting = self.waiting(at)
        if waiting:
            packets, limit = len(waiting) - 1, self.config.queue_packets
            if limit is not None and packets >= limit:
                return "queue-full"
        free = max(self.inside[-1].departs, at) if self.inside else at
        departs = free + (2 * size * 8_000_000_000 + self.bps) // (2 * self.bps)
        self.inside.append(Entry(packet, size, departs, departs + self.propagation))
        return None

    def next_delivery(self) -> float | None:
        return self.inside[0].arrives / 1e9 if self.inside else None

    def deliver(self, now: float) -> int | Lost | None:
        if not self.inside or self.inside[0].arrives > round(now * 1e9):
            return None
        entry = self.inside.popleft()
        if entry.lost:
            return Lost(entry.packet, "link-down")
        return Lost(entry.packet) if self.config.loses(entry.departs / 1e9, entry.size) else entry.packet

    def change(self, now: float, change: LinkChange) -> None:
        super().change(now, change)
        if change.kind == "down":
            for entry in self.inside:
                if entry.arrives > round(now * 1e9):
                    entry.lost = True
                    entry.arrives = round(now * 1e9)
                    entry.departs = min(entry.departs, entry.arrives)

    def queue_len(self, now: float) -> tuple[int, int]:
        waiting = self.waiting(round(now * 1e9))[1:]
        return len(waiting), sum(entry.size for entry in waiting)
