//! Observers of a run: captures and the trace hash observe links, event lines associations. They do not
//! affect the run.

use std::io::{self, Write};
use std::net::IpAddr;

use msctp_proto::TraceEvent;
use msctp_qlog::Writer;
use msctp_units::Time;

use crate::capture::Capture;
use crate::event_lines::{EventLines, Source};
use crate::packet::Packet;
use crate::trace_hash::TraceHash;

/// An open capture and its link directions.
#[derive(Debug)]
struct Tap {
    capture: Capture,
    /// Interface in the file of each link direction.
    interfaces: Vec<Option<u32>>,
    /// Addresses by number.
    addresses: Vec<IpAddr>,
    /// The first error, after which nothing is written.
    failed: Option<io::Error>,
}

/// The observers of delivered packets and of the associations' events.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    hash: Option<TraceHash>,
    tap: Option<Tap>,
    events: Option<EventLines>,
    qlog: Option<Writer<Box<dyn Write + Send>>>,
}

impl Observer {
    /// Starts to hash every delivered packet.
    pub(crate) fn hash(&mut self) {
        self.hash = Some(TraceHash::default());
    }

    /// Starts to capture the directions that have an interface number.
    pub(crate) fn capture(&mut self, capture: Capture, interfaces: Vec<Option<u32>>, addresses: Vec<IpAddr>) {
        self.tap = Some(Tap { capture, interfaces, addresses, failed: None });
    }

    /// Starts to write events.
    pub(crate) fn write_events(&mut self, lines: EventLines) {
        self.events = Some(lines);
    }

    /// Starts to write events as qlog.
    pub(crate) fn write_qlog(&mut self, log: Writer<Box<dyn Write + Send>>) {
        self.qlog = Some(log);
    }

    /// Records an event of an end of an association.
    #[inline]
    pub(crate) fn event(&mut self, source: Source<'_>, event: &TraceEvent) {
        if let Some(lines) = &mut self.events {
            lines.write(source, event);
        }
        if let Some(log) = &mut self.qlog {
            log.write(&format!("{}/{}", source.association, source.side), event);
        }
    }

    /// Returns true if an observer needs the links' packets.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.hash.is_some() || self.tap.is_some()
    }

    /// Records a packet that left a link at its far end.
    #[cold]
    pub(crate) fn delivered(&mut self, now: Time, direction: usize, packet: &Packet) {
        if let Some(hash) = &mut self.hash {
            hash.add(now, direction as u32, packet);
        }
        if let Some(tap) = &mut self.tap
            && let Some(interface) = tap.interfaces[direction]
            && tap.failed.is_none()
        {
            tap.failed = tap.capture.write(now, interface, packet, &tap.addresses).err();
        }
    }

    /// Returns the trace hash so far.
    pub(crate) fn hash_so_far(&self) -> Option<String> {
        self.hash.as_ref().map(TraceHash::hex)
    }

    /// Ends the event lines.
    pub(crate) fn finish_events(&mut self) -> io::Result<()> {
        self.events.take().map_or(Ok(()), EventLines::finish)
    }

    /// Ends the qlog.
    pub(crate) fn finish_qlog(&mut self) -> io::Result<()> {
        self.qlog.take().map_or(Ok(()), Writer::finish)
    }

    /// Ends the capture.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match self.tap.take() {
            None => Ok(()),
            Some(Tap { failed: Some(error), .. }) => Err(error),
            Some(Tap { mut capture, .. }) => capture.flush(),
        }
    }
}
