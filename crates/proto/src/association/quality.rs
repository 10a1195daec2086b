//! Radio link quality: this end's links told to the peer, the peer's handed to the policy. What is told when, and what is
//! believed, is decided in `quality`.

use core::net::IpAddr;

use msctp_units::Time;
use msctp_wire::{Params, QosMeasurement};

use super::Association;
use crate::path::{Path, SourceUse};
use crate::quality::{Incoming, Limits, LinkQuality, Outgoing, Received};
use crate::{AssociationState as State, AuthPolicy, Direction, PathAddr, PathId, TraceKind};

/// Both directions.
#[derive(Debug, Default)]
pub(super) struct Quality {
    ours: Outgoing,
    pub(super) theirs: Incoming,
}

impl Association {
    /// The application told how the link below one of this end's addresses is.
    pub(super) fn set_quality(&mut self, local: IpAddr, quality: LinkQuality) {
        self.quality.ours.set(local, quality, self.quality_times());
    }

    /// How often a report is sent.
    fn quality_times(&self) -> u32 {
        self.config.quality_repeats.saturating_add(1)
    }

    /// The peer knows nothing of our links, nor we of its: the association is up, or up anew.
    pub(super) fn begin_quality(&mut self) {
        let times = self.quality_times();
        self.quality.ours.begin(times);
        self.quality.theirs.clear();
    }

    /// The peer is to send to this address of ours, or may send to it from now on.
    pub(super) fn tell_quality_again(&mut self, local: IpAddr) {
        let times = self.quality_times();
        self.quality.ours.again(local, times);
    }

    /// The address is no longer this end's.
    pub(super) fn forget_quality(&mut self, local: &IpAddr) {
        self.quality.ours.forget(local);
    }

    /// A report without AUTH is not taken where ours would not be.
    fn may_report_quality(&self) -> bool {
        let signed = self.auth.is_spoken() || self.config.auth.policy == AuthPolicy::NotRequired;
        self.state == State::Established && signed
    }

    /// Sends the reports that are due.
    pub(super) fn report_quality(&mut self, now: Time) {
        if !self.may_report_quality() {
            return;
        }
        loop {
            let (paths, interval) = (&self.paths, self.config.quality_interval);
            let can_tell = |address: &IpAddr| teller(paths, address).is_some();
            let Some(report) = self.quality.ours.poll(now, interval, can_tell) else { break };
            let Some(at) = teller(&self.paths, &report.address).map(Path::addr) else { break };
            let params = report.quality.params(report.number, report.address);
            let chunk = QosMeasurement { params: Params::from(&params[..]) };
            self.control.push(at, self.tags.peer_tag, &chunk);
            self.trace_quality(now, Direction::Out, report.address, &report.quality);
        }
    }

    /// When the next report is due.
    pub(super) fn quality_timeout(&self) -> Option<Time> {
        if !self.may_report_quality() {
            return None;
        }
        let can_tell = |address: &IpAddr| teller(&self.paths, address).is_some();
        self.quality.ours.next_timeout(self.config.quality_interval, can_tell)
    }

    /// The peer told how the link below one of its addresses is.
    pub(super) fn on_qos_measurement(&mut self, now: Time, at: PathAddr, chunk: &QosMeasurement<'_>) {
        if !matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived) {
            self.stats.unexpected_chunks += 1;
            return;
        }
        let report = Received::read(chunk);
        let address = report.address.unwrap_or(at.remote);
        let paths = &self.paths;
        self.quality.theirs.retain(|address| paths.has_remote(address));
        if !paths.has_remote(&address) || !self.quality.theirs.accept(address, &report) {
            return;
        }
        self.trace_quality(now, Direction::In, address, &report.quality);
        let to_it: Vec<PathId> =
            self.paths.iter().filter(|path| path.addr().remote == address).map(Path::id).collect();
        for path in to_it {
            self.ask_policy(now, |policy, view, actions| {
                policy.on_quality(path, &report.quality, view, actions);
            });
        }
    }

    /// What the peer last reported of the link below `remote`.
    pub fn peer_quality(&self, remote: &IpAddr) -> Option<LinkQuality> {
        self.quality.theirs.latest(remote)
    }

    /// A policy sets the window of a running path, as far as it may.
    pub(super) fn adjust_window(&mut self, now: Time, path: PathId, cwnd: u64, ssthresh: u64) {
        let rwnd = u64::try_from(self.outbound.rwnd()).unwrap_or(0);
        let growth = self.config.quality_growth;
        let Some(path) = self.paths.get_mut(path) else { return };
        let limits = Limits {
            window: path.controller.window(),
            carried: path.carried,
            receivable: path.flight_size.saturating_add(rwnd),
            growth,
            pmdcs: u64::from(path.pmdcs()),
        };
        let (cwnd, ssthresh) = limits.admit(cwnd, ssthresh);
        path.controller.adjust(cwnd, ssthresh);
        let path = path.id();
        self.tracer.push(now, TraceKind::Adjusted { path, cwnd, ssthresh });
    }

    /// A policy knows that a path has become slower.
    pub(super) fn raise_rto(&mut self, now: Time, path: PathId, rto: msctp_units::Span) {
        let Some(path) = self.paths.get_mut(path) else { return };
        path.rtt.raise_rto(rto);
        let expiry = now + path.rtt.rto();
        path.t3_rtx = path.t3_rtx.map(|at| at.max(expiry));
    }

    fn trace_quality(&mut self, now: Time, direction: Direction, address: IpAddr, quality: &LinkQuality) {
        let LinkQuality { rate, block_error_ppm, cell, .. } = *quality;
        let scheme = quality.coding_scheme.map(|scheme| scheme.down);
        let kind = TraceKind::Quality { direction, address, rate, block_error_ppm, scheme, cell };
        self.tracer.push(now, kind);
    }
}

/// The path on which the peer is told of the link below `address`: one over that link, which works since it was just
/// looked at, else the one that carries data. The peer knows the address as ours (RFC 5061 §5.3 F1), else it waits.
fn teller<'p>(paths: &'p crate::path::Paths, address: &IpAddr) -> Option<&'p Path> {
    if paths.local_source(address) != Some(SourceUse::Full) {
        return None;
    }
    let over_it = paths.iter().find(|path| path.addr().local == *address && path.is_usable());
    over_it.or_else(|| paths.data_path().and_then(|path| paths.get(path)))
}
