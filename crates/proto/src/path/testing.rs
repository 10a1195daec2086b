//! Helpers of this folder's tests.

use core::net::IpAddr;

use msctp_congestion::estimator::{BandwidthEstimator, Estimate};
use msctp_units::{Rate, Span, Time};

use super::heartbeat::HeartbeatRequest;
use super::{HeartbeatInfo, PathEvent, PathId, Paths, PathsConfig, SourceUse};

pub(super) const P0: PathId = PathId::new(0);
pub(super) const P1: PathId = PathId::new(1);
pub(super) const P2: PathId = PathId::new(2);
pub(super) const P3: PathId = PathId::new(3);

pub(super) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Returns local address `n`.
pub(super) fn local(n: u8) -> IpAddr {
    IpAddr::from([10, 0, n, 1])
}

/// Returns address `n` of the peer.
pub(super) fn remote(n: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, n])
}

pub(super) fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Returns `locals` × `remotes` unconfirmed paths at time zero, without heartbeats. Ids run over the locals
/// first.
pub(super) fn paths(locals: u8, remotes: u8) -> Paths {
    paths_with(PathsConfig::default(), locals, remotes)
}

pub(super) fn paths_with(config: PathsConfig, locals: u8, remotes: u8) -> Paths {
    let mut paths = Paths::new(config, [7; 32]);
    for n in 0..locals {
        paths.add_local(local(n), SourceUse::Full, Time::ZERO).unwrap();
    }
    for n in 0..remotes {
        paths.add_remote(remote(n), Time::ZERO).unwrap();
    }
    paths
}

/// Returns the paths of [`paths`], all confirmed, with their events taken.
pub(super) fn confirmed(locals: u8, remotes: u8) -> Paths {
    confirmed_with(PathsConfig::default(), locals, remotes)
}

pub(super) fn confirmed_with(config: PathsConfig, locals: u8, remotes: u8) -> Paths {
    let mut paths = paths_with(config, locals, remotes);
    let ids: Vec<PathId> = paths.iter().map(super::Path::id).collect();
    for id in ids {
        paths.confirm(id, Time::ZERO);
    }
    events(&mut paths);
    paths
}

pub(super) fn events(paths: &mut Paths) -> Vec<PathEvent> {
    core::iter::from_fn(|| paths.poll_event()).collect()
}

/// Returns all heartbeats due now.
pub(super) fn heartbeats(paths: &mut Paths, now: Time) -> Vec<HeartbeatRequest> {
    core::iter::from_fn(|| paths.poll_heartbeat(now)).collect()
}

/// Returns the paths of all heartbeats due now.
pub(super) fn heartbeat_paths(paths: &mut Paths, now: Time) -> Vec<PathId> {
    heartbeats(paths, now)
        .iter()
        .map(|request| HeartbeatInfo::from_bytes(&request.info).unwrap().path)
        .collect()
}

/// Makes `path` exceed Path.Max.Retrans by T3-rtx expirations.
pub(super) fn fail(paths: &mut Paths, path: PathId) {
    for _ in 0..=paths.config.path_max_retrans {
        paths.on_timeout(path);
        // Only the path must fail, not the association.
        paths.assoc_error_count = 0;
    }
}

/// Sends a pair of bandwidth probes, and the next one when both are answered or a second has passed.
///
/// The capacity is the probe's size divided by the distance of the two answers.
#[derive(Debug)]
struct Pairs {
    bytes: u32,
    next_id: u64,
    sent: Vec<(u64, Time, Option<Time>)>,
    rtt_min: Span,
    estimate: Option<Estimate>,
    fresh: bool,
}

pub(super) fn pairs_of(bytes: u32) -> Box<dyn BandwidthEstimator> {
    let (sent, estimate) = (Vec::new(), None);
    Box::new(Pairs { bytes, next_id: 0, sent, rtt_min: Span::from_secs(60), estimate, fresh: false })
}

pub(super) fn pairs() -> Box<dyn BandwidthEstimator> {
    pairs_of(700)
}

impl Pairs {
    fn end(&mut self) {
        let arrivals: Vec<Time> = self.sent.iter().filter_map(|sent| sent.2).collect();
        let iteration = self.estimate.map_or(1, |estimate| estimate.iteration + 1);
        let capacity = match arrivals[..] {
            [first, second] => Rate::of(self.bytes.into(), second.since(first)),
            _ => self.estimate.map(|estimate| estimate.capacity),
        };
        let loss_ppm = 500_000 * (2 - arrivals.len() as u32);
        self.estimate = capacity.map(|capacity| Estimate {
            capacity,
            available: capacity,
            rtt_min: self.rtt_min,
            loss_ppm,
            iteration,
        });
        self.fresh = self.estimate.is_some();
        self.sent.clear();
    }
}

impl BandwidthEstimator for Pairs {
    fn probe_bytes(&self) -> u32 {
        self.bytes
    }

    fn poll_probe(&mut self, now: Time) -> Option<u64> {
        if self.sent.len() == 2 {
            return None;
        }
        self.next_id += 1;
        self.sent.push((self.next_id, now, None));
        Some(self.next_id)
    }

    fn outstanding(&self) -> usize {
        self.sent.iter().filter(|sent| sent.2.is_none()).count()
    }

    fn on_probe_ack(&mut self, now: Time, id: u64) {
        for sent in self.sent.iter_mut().filter(|sent| sent.0 == id) {
            sent.2 = Some(now);
            self.rtt_min = self.rtt_min.min(now.since(sent.1));
        }
        if self.sent.len() == 2 && self.outstanding() == 0 {
            self.end();
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.sent.len() == 2 && self.sent[1].1 + Span::from_secs(1) <= now {
            self.end();
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.sent.get(1).map_or(Time::ZERO, |sent| sent.1 + Span::from_secs(1)))
    }

    fn poll_estimate(&mut self) -> Option<Estimate> {
        if core::mem::take(&mut self.fresh) { self.estimate } else { None }
    }

    fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    fn restart(&mut self, _now: Time) {
        self.sent.clear();
    }
}
