//! The TCP connections of the scenario: both ends with their applications and counters. May not touch links
//! or events.

use std::net::IpAddr;

use msctp_lab_tcp::Connection;
use msctp_proto::PathAddr;
use msctp_units::Time;

use crate::app::reader::Reader;
use crate::line::Received;
use crate::packet::AddressId;
use crate::scenario::{ProbeSpec, Side, TcpSpec};
use crate::series::{Bins, Deliveries, DeliverySeries, TcpTraceSeries};

/// A bulk source over TCP.
#[derive(Debug)]
pub(crate) struct TcpSource {
    pub(crate) app: u32,
    /// Total bytes to send; `None` if endless.
    pub(crate) total: Option<u64>,
    running: bool,
    /// Time at which all of `total` was delivered.
    pub(crate) completed: Option<Time>,
}

impl TcpSource {
    /// Creates a stopped source.
    pub(crate) fn new(app: u32, total: Option<u64>) -> Self {
        Self { app, total, running: false, completed: None }
    }
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct TcpEnd {
    pub(crate) local: AddressId,
    pub(crate) remote: AddressId,
    /// The connection, created at the start at the client, and at the first segment at the server.
    pub(crate) connection: Option<Box<Connection>>,
    /// Time of the earliest wake-up in the event queue; [`Time::MAX`] for none.
    wake: Time,
    pub(crate) source: Option<TcpSource>,
    pub(crate) reader: Option<(u32, Reader)>,
    pub(crate) received: Received,
    pub(crate) established: Option<Time>,
    /// Reason of the connection's end.
    pub(crate) ended: Option<String>,
    pub(crate) delivery: Option<DeliverySeries>,
    pub(crate) deliveries: Option<Deliveries>,
    pub(crate) trace: Option<TcpTraceSeries>,
}

/// A connection of the scenario.
#[derive(Debug)]
pub(crate) struct TcpLine {
    pub(crate) client_port: u16,
    /// The client's port as the server sees it, which a NAT may have translated.
    pub(crate) seen_client_port: u16,
    ends: [TcpEnd; 2],
}

impl TcpLine {
    pub(crate) fn new(
        spec: &TcpSpec,
        client_port: u16,
        address: impl Fn(IpAddr) -> AddressId,
        probes: &ProbeSpec,
    ) -> Self {
        let ends = [Side::Client, Side::Server].map(|side| TcpEnd {
            local: address(spec.address(side)),
            remote: address(spec.address(side.other())),
            connection: None,
            wake: Time::MAX,
            source: None,
            reader: None,
            received: Received::default(),
            established: None,
            ended: None,
            delivery: probes.throughput.map(|interval| DeliverySeries {
                association: spec.name.clone(),
                side: side.word(),
                total: Bins::new(interval),
                per_path: Vec::new(),
            }),
            deliveries: probes.deliveries.then(|| Deliveries::new(&spec.name, side.word())),
            trace: probes.trace.then(|| {
                let path = PathAddr { local: spec.address(side), remote: spec.address(side.other()) };
                TcpTraceSeries::new(&spec.name, side.word(), path)
            }),
        });
        Self { client_port, seen_client_port: client_port, ends }
    }

    /// Records the client's address and port as they arrive at the server.
    pub(crate) fn is_known_as(&mut self, client: AddressId, port: u16) {
        self.end_mut(Side::Server).remote = client;
        self.seen_client_port = port;
    }

    pub(crate) fn end(&self, side: Side) -> &TcpEnd {
        &self.ends[usize::from(side == Side::Server)]
    }

    pub(crate) fn end_mut(&mut self, side: Side) -> &mut TcpEnd {
        &mut self.ends[usize::from(side == Side::Server)]
    }

    pub(crate) fn into_ends(self) -> [TcpEnd; 2] {
        self.ends
    }
}

impl TcpEnd {
    /// Applies earlier calls of the applications to the new connection.
    pub(crate) fn begin(&mut self) {
        let held = self.reader.as_ref().is_some_and(|(_, reader)| reader.is_running());
        if let Some(connection) = &mut self.connection {
            connection.hold(held);
        }
        self.feed();
    }

    /// Hands over data of the source.
    fn feed(&mut self) {
        let (Some(connection), Some(source)) = (&mut self.connection, &self.source) else { return };
        if !source.running {
            return;
        }
        match source.total {
            None => connection.write(u64::MAX),
            Some(total) => {
                connection.write(total.saturating_sub(connection.written()));
                connection.close();
            }
        }
    }

    pub(crate) fn set_running(&mut self, now: Time, app: u32, start: bool) {
        if let Some(source) = self.source.as_mut().filter(|source| source.app == app) {
            source.running = start;
            if start {
                self.feed();
            } else if let Some(connection) = &mut self.connection {
                connection.stop_writing();
            }
        }
        if let Some((_, reader)) = self.reader.as_mut().filter(|(number, _)| *number == app) {
            if start {
                reader.start(now);
            } else {
                reader.stop();
            }
            if let Some(connection) = &mut self.connection {
                connection.hold(start);
            }
        }
    }

    /// Closes an end without data to send after the peer's FIN.
    pub(crate) fn peer_finished(&mut self) {
        if self.source.is_none()
            && let Some(connection) = &mut self.connection
        {
            connection.close();
        }
    }

    /// Reads up to the reader's limit. Returns the reader's next wake-up if it must be scheduled.
    pub(crate) fn read(&mut self, now: Time) -> Option<(u32, Time)> {
        let (connection, (app, reader)) = (self.connection.as_mut()?, self.reader.as_mut()?);
        while reader.is_running() && connection.readable() > 0 && reader.may_read(now) {
            let taken = connection.read(PIECE);
            reader.has_read(taken as usize);
        }
        if connection.readable() == 0 {
            return None;
        }
        reader.arm(now).map(|at| (*app, at))
    }

    /// Counts new deliveries. Returns the total if there were any.
    pub(crate) fn count(&mut self, now: Time) -> Option<u64> {
        let total = self.connection.as_ref()?.delivered();
        let new = total - self.received.bytes;
        if new == 0 {
            return None;
        }
        self.account(now, new);
        Some(total)
    }

    /// Counts bytes delivered at this end.
    pub(crate) fn account(&mut self, now: Time, bytes: u64) {
        self.received.add(now, bytes, 1);
        if let Some(series) = &mut self.delivery {
            series.add(now, bytes, None);
        }
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.add(now, bytes);
        }
    }

    /// Records that `total` bytes were delivered at the other end. Returns the application if they were the
    /// last.
    pub(crate) fn was_delivered(&mut self, now: Time, total: u64) -> Option<u32> {
        let source = self.source.as_mut()?;
        if source.completed.is_some() || source.total.is_none_or(|all| total < all) {
            return None;
        }
        source.completed = Some(now);
        Some(source.app)
    }

    /// Returns true if the source has ended, or is stopped and the other end has all that it sent.
    /// `delivered` are the bytes delivered there.
    pub(crate) fn is_done(&self, delivered: u64) -> bool {
        let sent = self.connection.as_ref().map(|connection| connection.written());
        self.source
            .as_ref()
            .is_some_and(|source| source.completed.is_some() || !source.running && sent == Some(delivered))
    }

    /// Records the trace events.
    pub(crate) fn record(&mut self, segments: bool) {
        let (Some(connection), Some(trace)) = (&mut self.connection, &mut self.trace) else { return };
        while let Some(event) = connection.poll_trace() {
            trace.add(event, segments);
        }
    }

    /// Returns the time at which a wake-up must be scheduled, if none is that early. Call it after all
    /// segments were sent.
    pub(crate) fn arm(&mut self) -> Option<Time> {
        let next = self.connection.as_ref()?.poll_timeout()?;
        if next >= self.wake {
            return None;
        }
        self.wake = next;
        Some(next)
    }

    /// Handles a wake-up.
    pub(crate) fn woken(&mut self, now: Time) {
        // A wake-up that an earlier one replaced is still in the queue.
        if self.wake <= now {
            self.wake = Time::MAX;
        }
    }
}

/// Maximum bytes that a limited reader reads at a time.
const PIECE: u64 = 1460;
