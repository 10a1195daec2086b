"""Handover policies, congestion controllers and link models as Python classes.

A scenario names the class ``Mine`` as ``python:Mine``, once it was passed to :meth:`msctp.Scenario.load` or
:func:`msctp.sweep`. The callbacks are those of the Rust traits ``HandoverPolicy``, ``Controller`` and ``LinkModel``.
Times are seconds of virtual time, sizes bytes, rates bit/s.

A scheme must be deterministic: use no clock, no global random numbers and no state outside of the instance.
An exception in a callback ends the run with that exception.
"""

from __future__ import annotations

import hashlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Union

from . import _native
from ._native import (
    Ack,
    Delivery,
    Estimate,
    InputError,
    LinkChange,
    LinkConfig,
    LinkEvent,
    Loss,
    PathConfig,
    PathView,
    View,
)

__all__ = [
    "Ack",
    "Action",
    "Adjust",
    "Conditions",
    "Controller",
    "Delivery",
    "Estimate",
    "LinkChange",
    "LinkConfig",
    "LinkEvent",
    "LinkModel",
    "Loss",
    "Lost",
    "Note",
    "PathConfig",
    "PathState",
    "PathView",
    "Policy",
    "Resend",
    "Resume",
    "Scheme",
    "SendChunk",
    "SetTimer",
    "StartBicast",
    "StartProbing",
    "StartState",
    "StopBicast",
    "StopProbing",
    "SwitchPrimary",
    "View",
]

PathState = Literal["unconfirmed", "active", "potentially-failed", "inactive"]
"""State of a path (RFC 9260 §8.2, RFC 7829)."""


@dataclass(frozen=True)
class StartState:
    """State in which a path starts after a switch."""

    cwnd: int
    """Congestion window in bytes; less than one packet counts as one."""
    ssthresh: int | None = None
    """Slow-start threshold in bytes; None: as the controller starts any path."""
    pacing_rate: int | None = None
    """Pacing rate of the first window in bit/s of IP packets; None: no pacing."""


@dataclass(frozen=True)
class StartProbing:
    """Measure a path's bandwidth (WBest with its default parameters)."""

    path: int
    """Number of the path."""


@dataclass(frozen=True)
class StopProbing:
    """End probing, and discard the path's estimate."""

    path: int
    """Number of the path."""


@dataclass(frozen=True)
class SendChunk:
    """Send one of the policy's private chunks."""

    path: int
    """Number of the path."""
    chunk_type: int
    """One of :attr:`Policy.private_chunks`."""
    value: bytes
    """Its value, without header and padding."""


@dataclass(frozen=True)
class Note:
    """Write an entry into the trace."""

    name: str
    """Name of the entry. Use few: each lives as long as the process."""
    value: int
    """Its value, at least 0."""


@dataclass(frozen=True)
class StartBicast:
    """Send a copy of each new DATA chunk for one path on another."""

    source: int
    """Number of the path whose chunks are copied."""
    target: int
    """Number of the path that gets the copies."""


@dataclass(frozen=True)
class StopBicast:
    """Stop sending copies."""


@dataclass(frozen=True)
class Adjust:
    """Set the window of a running path."""

    path: int
    """Number of the path."""
    cwnd: int
    """Congestion window in bytes."""
    ssthresh: int
    """Slow-start threshold in bytes."""


@dataclass(frozen=True)
class Resume:
    """Restart a path's controller at a measured bandwidth (RFC 9959)."""

    path: int
    """Number of the path."""
    bandwidth: int
    """Bandwidth in bit/s of IP packets, at least 1."""
    rtt_min: float
    """Round-trip time without a queue in seconds."""


@dataclass(frozen=True)
class Resend:
    """Retransmit on one path the chunks in flight on another, the oldest first."""

    source: int
    """Number of the path that was left."""
    target: int
    """Number of the path that data takes now."""


@dataclass(frozen=True)
class SwitchPrimary:
    """Make a path the primary path for what this end sends."""

    path: int
    """Number of the path."""


@dataclass(frozen=True)
class SetTimer:
    """Call :meth:`Policy.on_timer` at a time; it replaces the time set before."""

    at: float | None
    """Virtual time in seconds, at least 1 ms from now; None: turn the timer off."""


Action = Union[
    StartProbing,
    StopProbing,
    SendChunk,
    Note,
    StartBicast,
    StopBicast,
    Adjust,
    Resume,
    Resend,
    SwitchPrimary,
    SetTimer,
]
"""A request of a policy to the association."""


class Policy:
    """A handover policy: one instance per association.

    Override the callbacks that the scheme needs; the others cost nothing. A callback appends to ``actions``,
    which are carried out in order after it returned.
    """

    measures: ClassVar[bool] = False
    """The policy measures a new path before data moves there, and gains from a later switch."""
    private_chunks: ClassVar[Sequence[int]] = ()
    """Chunk types outside the RFCs that this policy exchanges with the peer's, each 0 to 255."""

    def on_established(self, view: View, actions: list[Action]) -> None:
        """Handle the set-up, or a restart of the peer."""

    def on_chunk(self, remote: str, chunk_type: int, value: bytes, view: View, actions: list[Action]) -> None:
        """Handle a private chunk from the address ``remote``; its content is untrusted."""

    def on_local_address(self, address: str, added: bool, view: View, actions: list[Action]) -> None:
        """Handle the peer's consent to the addition or deletion of an address of this end."""

    def on_primary_requested(self, local: str, view: View, actions: list[Action]) -> None:
        """Handle the application's request that the peer send to the address ``local``."""

    def on_path_added(self, path: int, view: View, actions: list[Action]) -> None:
        """Handle a path that may carry data from now on."""

    def on_path_removed(self, path: int, view: View, actions: list[Action]) -> None:
        """Handle the removal of a path; ``view`` does not have it any more."""

    def on_link_event(self, event: LinkEvent, view: View, actions: list[Action]) -> None:
        """Handle a change of the link below an address of this end."""

    def on_estimate(self, path: int, estimate: Estimate, view: View, actions: list[Action]) -> None:
        """Handle a new estimate of a path that is being probed."""

    def on_round_trip(self, path: int, sample: float, view: View, actions: list[Action]) -> None:
        """Handle a round-trip time in seconds, at most once per packet received and path."""

    def on_path_state(self, path: int, before: PathState, view: View, actions: list[Action]) -> None:
        """Handle a change of a path's state from ``before`` to the one in ``view``."""

    def on_timer(self, view: View, actions: list[Action]) -> None:
        """Handle the expiry of the timer (:class:`SetTimer`)."""

    def on_primary_switch(
        self, old: PathView, new: PathView, view: View, actions: list[Action]
    ) -> StartState | None:
        """Handle a change of the primary path, whatever its cause.

        Parameters
        ----------
        old, new
            The paths.
        view
            The association; its primary path is ``new`` already.
        actions
            Append requests here.

        Returns
        -------
        StartState or None
            The state in which ``new`` starts; None leaves its controller as it is.
        """
        return None


class Controller(ABC):
    """The congestion controller of one path.

    A subclass sets the variables in its callbacks; they are read after each.

    Parameters
    ----------
    path
        Parameters of the path.
    """

    models_delivery: ClassVar[bool] = False
    """Call :meth:`on_delivery` and :meth:`on_packet_lost`."""

    cwnd: int
    """Congestion window in bytes; less than one packet counts as one."""
    ssthresh: int | None
    """Slow-start threshold in bytes; None: unlimited."""
    partial_bytes_acked: int = 0
    """Bytes acknowledged towards the next step of congestion avoidance."""
    one_packet_in_flight: bool = False
    """At most one packet may be in flight, whatever the window (RFC 9260 §7.2.3)."""
    pacing_rate: int | None = None
    """Rate at which packets are spaced, in bit/s of IP packets; None: no pacing."""

    def __init__(self, path: PathConfig) -> None:
        self.path = path
        self.pmdcs = path.pmdcs
        self.cwnd = path.initial_cwnd
        self.ssthresh = path.initial_ssthresh

    @abstractmethod
    def on_ack(self, ack: Ack) -> None:
        """Handle a SACK that newly acknowledged data of this path, or left none of it outstanding."""

    @abstractmethod
    def on_loss(self, loss: Loss) -> None:
        """Handle a loss event."""

    def on_delivery(self, sample: Delivery) -> None:
        """Handle a delivery rate sample, before :meth:`on_ack` for the same SACK."""

    def on_packet_lost(self, now: float, size: int, in_flight: int) -> None:
        """Handle a lost packet of ``size`` bytes, sent with ``in_flight`` bytes in flight."""

    def on_recovery_exit(self, now: float) -> None:
        """Handle the end of fast recovery."""

    def on_spurious_timeout(self, now: float) -> None:
        """Undo the last timeout, which was spurious."""

    def on_idle(self, idle_rtos: int) -> None:
        """Handle further whole RTOs without data sent on this path."""

    def start(self, cwnd: int, ssthresh: int | None, pacing_rate: int | None) -> None:
        """Restart the path with the window that a policy chose.

        Parameters
        ----------
        cwnd
            Congestion window in bytes.
        ssthresh
            Slow-start threshold in bytes; None: as at any start.
        pacing_rate
            Pacing rate in bit/s until the first acknowledgement; None: no pacing.
        """
        self.reset()
        self.cwnd = cwnd
        if ssthresh is not None:
            self.ssthresh = ssthresh
        self.pacing_rate = pacing_rate

    def resume(self, bandwidth: int, rtt_min: float, bdp: int, flight_size: int) -> None:
        """Restart the path at half a measured bandwidth (RFC 9959).

        Parameters
        ----------
        bandwidth
            Bandwidth in bit/s of IP packets.
        rtt_min
            Round-trip time without a queue in seconds.
        bdp
            Their product in bytes.
        flight_size
            Bytes in flight.
        """
        self.start(bdp // 2, bdp, bandwidth // 2)

    def adjust(self, cwnd: int, ssthresh: int | None) -> None:
        """Set window and threshold (bytes) of a running path."""
        self.start(cwnd, ssthresh, self.pacing_rate)

    def reset(self) -> None:
        """Return to the initial window and threshold."""
        self.cwnd = self.path.initial_cwnd
        self.ssthresh = self.path.initial_ssthresh
        self.partial_bytes_acked = 0
        self.one_packet_in_flight = False
        self.pacing_rate = None

    def on_pmtu(self, pmdcs: int) -> None:
        """Set the largest DATA chunk in bytes that fits the path's MTU."""
        self.pmdcs = pmdcs


@dataclass(frozen=True)
class Lost:
    """A packet that leaves a link without arriving."""

    packet: int
    """Its number."""
    reason: Literal["channel", "link-down"] = "channel"
    """The loss process dropped it, or the link went down with it inside."""


@dataclass(frozen=True)
class Conditions:
    """Conditions of a radio link in one direction, as a modem reports them."""

    rate: int
    """Rate without errors in bit/s."""
    block_errors: float = 0.0
    """Share of the radio blocks in error, 0 to 1."""
    one_way: float = 0.0
    """Least time from the beginning of a block to its use at the other side, in seconds."""
    handovers: int = 0
    """Changes of cell so far."""


class LinkModel(ABC):
    """One direction of a link: one instance per direction.

    A scenario's link has it as ``type = "python:Mine"``. It may have the keys ``rate``, ``delay``, ``queue`` and
    ``loss`` of a plain link, which are in :attr:`config`; what they mean is up to the model. Actions change
    ``rate`` and ``delay``, and take the link up and down.

    Packets are numbers. Each packet that :meth:`offer` accepts must leave by :meth:`deliver` exactly once, and
    the numbers say in which order packets were offered. After each of :meth:`offer`, :meth:`deliver` and
    :meth:`change` the simulator calls :meth:`next_delivery`, and rounds the time to nanoseconds. ``now`` never
    goes back, and is in :meth:`deliver` at least what :meth:`next_delivery` returned.

    Parameters
    ----------
    config
        The link's keys.
    """

    rate: int | None
    """Transmission rate in bit/s; None: not given."""
    delay: float | None
    """Propagation delay in seconds; None: not given."""
    up: bool = True
    """The link is up. One that the scenario begins down is taken down at time 0."""

    def __init__(self, config: LinkConfig) -> None:
        self.config = config
        self.rate = config.rate
        self.delay = config.delay

    @abstractmethod
    def offer(self, now: float, packet: int, size: int) -> Literal["queue-full", "link-down"] | None:
        """Take a packet at the entrance of the link.

        Parameters
        ----------
        now
            Virtual time in seconds.
        packet
            Its number: 0 for the first packet of the direction, then 1.
        size
            Its length in bytes on the wire, IP header included.

        Returns
        -------
        str or None
            None: the packet is in the link. A text: the reason why it was dropped.
        """

    @abstractmethod
    def next_delivery(self) -> float | None:
        """Return the time in seconds at which :meth:`deliver` has work; None: nothing happens by itself."""

    @abstractmethod
    def deliver(self, now: float) -> int | Lost | None:
        """Return the next packet that has left the link by ``now``, in order of leaving.

        Returns
        -------
        int, Lost or None
            The number of a packet that arrives; a packet that is lost; None: no packet has left, and
            :meth:`next_delivery` is later now.
        """

    def change(self, now: float, change: LinkChange) -> None:
        """Change a property of the link: :attr:`rate`, :attr:`delay` or :attr:`up`.

        A model that loses its packets when it goes down must let :meth:`deliver` return each as :class:`Lost`.
        """
        if change.kind == "rate":
            self.rate = change.rate
        elif change.kind == "delay":
            self.delay = change.delay
        else:
            self.up = change.kind == "up"

    def queue_len(self, now: float) -> tuple[int, int]:
        """Return packets and bytes that wait, without the packet in transmission.

        The default counts all packets in the link. The simulator asks after each accepted packet, and where a
        link marks packets (``mark``) or a probe records queues.
        """
        raise NotImplementedError("the simulator counts the packets of a model without queue_len")

    def blocks_sent(self) -> int | None:
        """Return the radio blocks sent for the first time so far; None: the link has no blocks."""
        return None

    def resent(self) -> int:
        """Return the blocks or frames that the link layer retransmitted by itself."""
        return 0

    def conditions(self) -> Conditions | None:
        """Return the radio conditions now; None: this is no radio link."""
        return None


Scheme = Union[type[Policy], type[Controller], type[LinkModel]]
"""A class of schemes."""


@dataclass(frozen=True)
class Described:
    """A class of schemes, as the native module takes it."""

    kind: Literal["policy", "controller", "link"]
    name: str
    cls: Scheme
    methods: list[str]
    chunks: list[int]
    measures: bool


def _described(cls: Scheme) -> Described:
    if not isinstance(cls, type) or not issubclass(cls, (Policy, Controller, LinkModel)):
        want = "msctp.Policy, msctp.Controller or msctp.LinkModel"
        raise InputError(f"{cls!r} is no scheme; want a subclass of {want}")
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise InputError(f"{cls.__name__} has no {' and no '.join(missing)}; want every abstract method")
    base = next(base for base in (Policy, Controller, LinkModel) if issubclass(cls, base))
    own = [name for name in vars(base) if getattr(cls, name) is not getattr(base, name)]
    methods = [name for name in own if not name.startswith("_") and callable(getattr(cls, name))]
    name = f"python:{cls.__name__}"
    if issubclass(cls, Policy):
        chunks = list(cls.private_chunks)
        for chunk in chunks:
            if not isinstance(chunk, int) or not 0 <= chunk <= 255:
                raise InputError(f"{cls.__name__}.private_chunks has {chunk!r}; want integers from 0 to 255")
        return Described("policy", name, cls, methods, chunks, bool(cls.measures))
    if issubclass(cls, LinkModel):
        return Described("link", name, cls, methods, [], False)
    return Described("controller", name, cls, methods, [], bool(cls.models_delivery))


def described(schemes: Iterable[Scheme]) -> list[Described]:
    """Return classes as the native module takes them.

    Parameters
    ----------
    schemes
        Subclasses of :class:`Policy`, :class:`Controller` and :class:`LinkModel`.

    Returns
    -------
    list of Described
        Their names and methods.

    Raises
    ------
    InputError
        A class is no scheme, or two have one name.
    """
    found = [_described(cls) for cls in schemes]
    for number, one in enumerate(found):
        if any(one.name == other.name for other in found[:number]):
            raise InputError(f"two schemes are called {one.name}; want classes with different names")
    return found


def program(schemes: Iterable[Scheme]) -> str:
    """Return what the runs of a sweep depend on besides its files.

    Parameters
    ----------
    schemes
        Classes.

    Returns
    -------
    str
        The digest of the native module, and the sources of the classes and of their bases.

    Raises
    ------
    InputError
        Python has no source of a class, as when it was typed into the interpreter.
    """
    parts = [hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()]
    for cls in schemes:
        for base in cls.__mro__:
            if base.__module__ in (__name__, "abc", "builtins"):
                continue
            try:
                parts.append(f"{base.__qualname__}\n{inspect.getsource(base)}")
            except (OSError, TypeError):
                raise InputError(
                    f"the source of {base.__qualname__} cannot be read, so a folder cannot tell when it changes; "
                    "want a class of a file or a notebook, or no folder"
                ) from None
    return "\n".join(parts)
