//! What the tests of this folder share.

use core::net::IpAddr;

use msctp_units::{Span, Time};

use super::{HeartbeatInfo, HeartbeatRequest, PathEvent, PathId, Paths, PathsConfig, SourceUse};

pub(super) const P0: PathId = PathId::new(0);
pub(super) const P1: PathId = PathId::new(1);
pub(super) const P2: PathId = PathId::new(2);
pub(super) const P3: PathId = PathId::new(3);

pub(super) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Address `n` of this end.
pub(super) fn local(n: u8) -> IpAddr {
    IpAddr::from([10, 0, n, 1])
}

/// Address `n` of the peer.
pub(super) fn remote(n: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, n])
}

pub(super) fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// `locals` × `remotes` paths at time zero, none confirmed, heartbeats not started. Ids run over the locals first.
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

/// As [`paths`], all confirmed, events taken.
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

/// All heartbeats that want to leave now.
pub(super) fn heartbeats(paths: &mut Paths, now: Time) -> Vec<HeartbeatRequest> {
    core::iter::from_fn(|| paths.poll_heartbeat(now)).collect()
}

/// The paths of all heartbeats that want to leave now.
pub(super) fn heartbeat_paths(paths: &mut Paths, now: Time) -> Vec<PathId> {
    heartbeats(paths, now)
        .iter()
        .map(|request| HeartbeatInfo::from_bytes(&request.info).unwrap().path)
        .collect()
}

/// Lets `path` exceed Path.Max.Retrans by T3-rtx expirations.
pub(super) fn fail(paths: &mut Paths, path: PathId) {
    for _ in 0..=paths.config().path_max_retrans {
        paths.on_timeout(path);
        // Only the path is to fail, not the association.
        paths.assoc_error_count = 0;
    }
}
