//! [`Monitor`]: reads the status of this process from its endpoints.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use msctp::{Association, Endpoint, PathStats, Span, Time};
use tokio::sync::watch;
use tokio::time::Instant;

use super::document::{AssociationStatus, Document, MoveStatus, PathStatus, VERSION};

/// Minimum time over which rates are measured.
const SHORTEST: Duration = Duration::from_millis(500);

/// Maximum time over which rates are measured.
const LONGEST: Duration = Duration::from_secs(10);

/// Number of byte-count samples to keep.
const SAMPLES: usize = 16;

/// Counts the connections that an association carries.
pub(crate) trait Connections: Send + Sync {
    /// Returns the association.
    fn association(&self) -> &Association;
    /// Returns the number of connections.
    fn count(&self) -> usize;
}

/// The status of this process. Clones share it.
#[derive(Clone)]
pub(crate) struct Monitor(Arc<Mutex<State>>);

struct State {
    begin: Instant,
    command: &'static str,
    security: &'static str,
    endpoints: Vec<Endpoint>,
    association_count: u64,
    refused: BTreeMap<&'static str, u64>,
    carriers: Vec<Weak<dyn Connections>>,
    samples: VecDeque<Sample>,
    draining: watch::Sender<bool>,
}

/// Identifies a path by its endpoint, its association and its own number.
type PathName = (usize, u64, u32);

/// The byte counts of each path at one time.
struct Sample {
    at: Instant,
    bytes: BTreeMap<PathName, (u64, u64)>,
}

impl Default for Monitor {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State {
            begin: Instant::now(),
            command: "",
            security: "",
            endpoints: Vec::new(),
            association_count: 0,
            refused: BTreeMap::new(),
            carriers: Vec::new(),
            samples: VecDeque::new(),
            draining: watch::Sender::new(false),
        })))
    }
}

impl Monitor {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names the command and how it encrypts.
    pub(crate) fn describe(&self, command: &'static str, security: &'static str) {
        let mut state = self.lock();
        (state.command, state.security) = (command, security);
    }

    /// Adds an endpoint.
    pub(crate) fn add(&self, endpoint: &Endpoint) {
        self.lock().endpoints.push(endpoint.clone());
    }

    /// Returns the endpoints.
    pub(crate) fn endpoints(&self) -> Vec<Endpoint> {
        self.lock().endpoints.clone()
    }

    /// Removes and returns the endpoints.
    pub(crate) fn take_endpoints(&self) -> Vec<Endpoint> {
        std::mem::take(&mut self.lock().endpoints)
    }

    /// Counts an established association.
    pub(crate) fn note_association(&self) {
        self.lock().association_count += 1;
    }

    /// Counts a rejection by its reason.
    pub(crate) fn note_refused(&self, reason: &'static str) {
        self.note_refusals(reason, 1);
    }

    /// Counts this many refusals of one reason.
    pub(crate) fn note_refusals(&self, reason: &'static str, count: u64) {
        *self.lock().refused.entry(reason).or_default() += count;
    }

    /// Adds an association that carries connections.
    pub(crate) fn add_carrier(&self, carrier: Weak<dyn Connections>) {
        let mut state = self.lock();
        state.carriers.retain(|carrier| carrier.strong_count() > 0);
        state.carriers.push(carrier);
    }

    /// Returns the number of connections of all associations.
    pub(crate) fn connections(&self) -> usize {
        let carriers: Vec<_> = self.lock().carriers.iter().filter_map(Weak::upgrade).collect();
        carriers.iter().map(|carrier| carrier.count()).sum()
    }

    /// Lets no new connections begin.
    pub(crate) fn start_draining(&self) {
        self.lock().draining.send_replace(true);
    }

    /// Returns whether no new connections may begin.
    pub(crate) fn is_draining(&self) -> bool {
        *self.lock().draining.borrow()
    }

    /// Waits until the process drains.
    pub(crate) async fn draining(&self) {
        let mut draining = self.lock().draining.subscribe();
        // The sender is as old as the process.
        let _ = draining.wait_for(|draining| *draining).await;
    }

    /// Returns the status, with rates over at least [`SHORTEST`]. Waits for that time if there is no old
    /// sample, or a path is new.
    pub(crate) async fn document(&self) -> Document {
        self.sample();
        let is_known = self.lock().has_rates();
        if !is_known {
            tokio::time::sleep(SHORTEST).await;
        }
        self.snapshot()
    }

    /// Remembers the byte counts.
    fn sample(&self) {
        let bytes = |path: &PathStats| (path.bytes_sent, path.bytes_received);
        let mut state = self.lock();
        let at = Instant::now();
        if state.samples.back().is_some_and(|last| at - last.at < SHORTEST / 4) {
            return;
        }
        let mut sample = Sample { at, bytes: BTreeMap::new() };
        for (place, endpoint) in state.endpoints.iter().enumerate() {
            for association in endpoint.associations() {
                let number = association.number();
                let paths = association.paths();
                let named = paths.iter().map(|path| ((place, number, path.id.number()), bytes(path)));
                sample.bytes.extend(named);
            }
        }
        if state.samples.len() == SAMPLES {
            state.samples.pop_front();
        }
        state.samples.push_back(sample);
    }

    /// Returns the status now.
    pub(crate) fn snapshot(&self) -> Document {
        let state = self.lock();
        let (mut local, mut associations) = (Vec::new(), Vec::new());
        let carriers: Vec<_> = state.carriers.iter().filter_map(Weak::upgrade).collect();
        let sample = state.since(Instant::now());
        for (place, endpoint) in state.endpoints.iter().enumerate() {
            local.extend(endpoint.local_addresses().iter().map(ToString::to_string));
            for association in endpoint.associations() {
                let carrier = carriers.iter().find(|carrier| *carrier.association() == association);
                let connections = carrier.map(|carrier| carrier.count());
                let rates = |path: u32| {
                    let (sample, name) = (sample?, (place, association.number(), path));
                    let (sent, received) = *sample.bytes.get(&name)?;
                    Some((sample.at.elapsed().as_secs_f64(), sent, received))
                };
                let id = format!("{}.{}", place + 1, association.number());
                associations.push(read(id, &association, endpoint.now(), connections, rates));
            }
        }
        Document {
            version: VERSION,
            msctp_version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            command: state.command.to_owned(),
            uptime_seconds: state.begin.elapsed().as_secs_f64(),
            security: state.security.to_owned(),
            local,
            association_count: state.association_count,
            associations,
            refused: state.refused.iter().map(|(&reason, &count)| (reason.to_owned(), count)).collect(),
        }
    }
}

impl State {
    /// Returns whether a rate is known for each path of the newest sample.
    fn has_rates(&self) -> bool {
        let before = self.since(Instant::now());
        let newest = self.samples.back();
        let paths = newest.into_iter().flat_map(|sample| sample.bytes.keys());
        before.is_some_and(|before| paths.into_iter().all(|path| before.bytes.contains_key(path)))
    }

    /// Returns the newest sample that is old enough for a rate.
    fn since(&self, now: Instant) -> Option<&Sample> {
        let fits = |sample: &&Sample| (SHORTEST..=LONGEST).contains(&(now - sample.at));
        self.samples.iter().rev().find(fits)
    }
}

fn seconds(span: Span) -> f64 {
    span.as_secs_f64()
}

/// Reads an association. `rates` returns the seconds since a sample, and the bytes that a path had sent and
/// received then.
fn read(
    id: String,
    association: &Association,
    now: Time,
    connections: Option<usize>,
    rates: impl Fn(u32) -> Option<(f64, u64, u64)>,
) -> AssociationStatus {
    let (history, stats) = (association.history(), association.stats().unwrap_or_default());
    let (streams_outbound, streams_inbound) = association.streams();
    let mut paths = association.paths();
    paths.sort_by_key(|path| (!path.primary, path.id));
    let port = |local| association.local_addresses().into_iter().find(|at| at.ip() == local);
    let path_status = |path: &PathStats| {
        let local = port(path.at.local).map_or(path.at.local.to_string(), |at| at.to_string());
        let remote = association.remote_udp_port(path.id);
        let remote = remote
            .map_or(path.at.remote.to_string(), |port| SocketAddr::new(path.at.remote, port).to_string());
        let rate = rates(path.id.number());
        let bps = |now: u64, before: u64, over: f64| now.saturating_sub(before) as f64 * 8.0 / over;
        PathStatus {
            id: path.id.number(),
            local,
            remote,
            state: path.state.to_string(),
            primary: path.primary,
            backup: path.cost.backup,
            metered: path.cost.metered,
            srtt_ms: path.srtt.map(|srtt| seconds(srtt) * 1e3),
            min_rtt_ms: path.min_rtt.map(|rtt| seconds(rtt) * 1e3),
            rto_ms: seconds(path.rto) * 1e3,
            cwnd_bytes: path.cwnd,
            flight_bytes: path.flight_size,
            pmtu_bytes: path.pmtu,
            pacing_bps: path.pacing_rate.map(|rate| rate.as_bps()),
            sent_bps: rate.map(|(over, sent, _)| bps(path.bytes_sent, sent, over)),
            received_bps: rate.map(|(over, _, received)| bps(path.bytes_received, received, over)),
            sent_bytes: path.bytes_sent,
            received_bytes: path.bytes_received,
            sent_packets: path.packets_sent,
            received_packets: path.packets_received,
            lost_chunks: path.chunks_lost,
            retransmitted_chunks: path.chunks_retransmitted,
            timeouts: path.timeouts,
        }
    };
    let moves = history.moves.iter().map(|moved| MoveStatus {
        ago_seconds: seconds(now.since(moved.at)),
        local: moved.to.local.to_string(),
        remote: moved.to.remote.to_string(),
        cause: moved.cause.word().to_owned(),
        reason: moved.cause.to_string(),
        gap_seconds: seconds(moved.gap),
    });
    AssociationStatus {
        id,
        state: association.state().to_string(),
        peer: association.remote_addresses().iter().map(ToString::to_string).collect(),
        peer_key: association.peer_identity().map(|peer| peer.fingerprint.to_string()),
        age_seconds: history.up_at.map_or(0.0, |up| seconds(now.since(up))),
        streams_outbound,
        streams_inbound,
        connections,
        acked_bytes: stats.bytes_acked,
        delivered_bytes: stats.bytes_delivered,
        buffered_bytes: association.buffered(),
        move_count: history.move_count,
        moves: moves.collect(),
        paths: paths.iter().map(path_status).collect(),
    }
}
