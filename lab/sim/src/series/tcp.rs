//! The trace of one end of a TCP connection over time, as plain columns.

use std::io::{self, Write};

use msctp_lab_tcp::{TraceEvent, TraceKind};
use msctp_proto::PathAddr;
use msctp_units::{Span, Time};

/// The trace of one end of a TCP connection.
#[derive(Clone, Debug)]
pub struct TcpTraceSeries {
    /// Connection.
    pub connection: String,
    /// `client` or `server`.
    pub side: &'static str,
    /// Local and remote address as this end sees them, such as `10.0.0.1→10.0.1.2`.
    pub path: String,
    /// Windows: time, congestion window, slow-start threshold, bytes in flight.
    pub window: Vec<(Time, u64, u64, u64)>,
    /// Round-trip times: time, measured, smoothed, retransmission timeout.
    pub rtt: Vec<(Time, Span, Span, Span)>,
    /// Rare events: losses, timeouts, recovery, set-up and end.
    pub marks: Vec<TraceEvent>,
    /// Every segment and acknowledgment, if requested.
    pub segments: Vec<TraceEvent>,
}

impl TcpTraceSeries {
    pub(crate) fn new(connection: &str, side: &'static str, path: PathAddr) -> Self {
        Self {
            connection: connection.to_owned(),
            side,
            path: path.to_string(),
            window: Vec::new(),
            rtt: Vec::new(),
            marks: Vec::new(),
            segments: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, event: TraceEvent, segments: bool) {
        match event.kind {
            TraceKind::Window { cwnd, ssthresh, flight_size } => {
                self.window.push((event.at, cwnd, ssthresh, flight_size));
            }
            TraceKind::Rtt { sample, srtt, rto } => self.rtt.push((event.at, sample, srtt, rto)),
            TraceKind::Sent { .. }
            | TraceKind::Received { .. }
            | TraceKind::AckReceived { .. }
            | TraceKind::AckSent { .. } => {
                if segments {
                    self.segments.push(event);
                }
            }
            _ => self.marks.push(event),
        }
    }

    /// Appends the windows to the associations' CSV.
    pub(crate) fn write_window(&self, out: &mut impl Write) -> io::Result<()> {
        for &(at, cwnd, ssthresh, flight_size) in &self.window {
            let ssthresh = if ssthresh == u64::MAX { String::new() } else { ssthresh.to_string() };
            writeln!(
                out,
                "{at},{},{},{},{cwnd},{ssthresh},{flight_size}",
                self.connection, self.side, self.path
            )?;
        }
        Ok(())
    }

    /// Appends the round-trip times to the associations' CSV.
    pub(crate) fn write_rtt(&self, out: &mut impl Write) -> io::Result<()> {
        for &(at, sample, srtt, rto) in &self.rtt {
            let [sample, srtt, rto] = [sample, srtt, rto].map(|span| Time::ZERO + span);
            writeln!(out, "{at},{},{},{},{sample},{srtt},{rto}", self.connection, self.side, self.path)?;
        }
        Ok(())
    }
}
