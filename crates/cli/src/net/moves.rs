//! Reports an association's path changes to the user.

use std::time::Duration;

use msctp::{AddressRequest, Association, Event, PathAddr, PathState, PathStats};
use tokio::time::Instant;

/// Interval at which the count of received packets is polled.
const LOOK: Duration = Duration::from_millis(500);

/// Time without a received packet, while data is outstanding, after which a notice is printed. The transport
/// needs longer to declare a path inactive.
const SILENCE: Duration = Duration::from_secs(3);

/// Minimum time between two such notices: a network that passes a packet now and then is no news.
const NOTICES: Duration = Duration::from_secs(30);

/// Interval over which the path that the peer's data takes is told, and the least bytes that tell it.
const ARRIVALS: Duration = Duration::from_secs(1);
const LEAST_BYTES: u64 = 30_000;

/// Reports every path change until the association ends. Returns the number of changes of the primary path.
pub(crate) async fn report_moves(association: &Association, say: impl Fn(String)) -> u32 {
    let (mut switches, mut last, mut silence) = (0, None, Silence::default());
    let mut arrivals = Arrivals::new();
    loop {
        let event = tokio::time::timeout(LOOK, association.event()).await;
        if let Some(at) = arrivals.look(association) {
            say(format!("data comes over {at}: the peer chose it"));
        }
        let event = match event {
            Ok(Some(event)) => event,
            Ok(None) => break,
            Err(_) => {
                if silence.begins(association) {
                    let seconds = SILENCE.as_secs();
                    say(format!("nothing received for {seconds} s: waiting for a network, or for the peer"));
                }
                continue;
            }
        };
        let at = |id| association.paths().into_iter().find(|path| path.id == id).map(|path| path.at);
        match event {
            // After the loss of a link, the event may confirm a path that carries the data already.
            Event::PrimaryChanged { path, cause } if last != Some(path) => {
                last = Some(path);
                switches += 1;
                if let Some(at) = at(path) {
                    say(format!("data goes over {at}: {cause}"));
                }
            }
            Event::PathState { path, state: PathState::Active } => {
                if let Some(at) = at(path) {
                    say(format!("{at} works"));
                }
            }
            Event::PathState { path, state: PathState::Inactive } => {
                if let Some(at) = at(path) {
                    say(format!("{at} does not answer"));
                }
            }
            Event::AddressChange { request: AddressRequest::Delete(ip), accepted: true } => {
                say(format!("{ip} removed"));
            }
            _ => {}
        }
    }
    switches
}

/// Tells over which path the peer's data comes. The peer decides it, and says nothing.
struct Arrivals {
    looked: Instant,
    /// The paths at that time.
    before: Vec<PathStats>,
    over: Option<PathAddr>,
}

impl Arrivals {
    fn new() -> Self {
        Self { looked: Instant::now(), before: Vec::new(), over: None }
    }

    /// Returns the path to which the peer's data has just moved. An end that sends more than it receives gets
    /// acknowledgements.
    fn look(&mut self, association: &Association) -> Option<PathAddr> {
        if self.looked.elapsed() < ARRIVALS {
            return None;
        }
        let before = std::mem::replace(&mut self.before, association.paths());
        self.looked = Instant::now();
        let mut new = Vec::new();
        for path in &self.before {
            let old = before.iter().find(|old| old.id == path.id)?;
            let received = path.bytes_received.saturating_sub(old.bytes_received);
            new.push((received, path.bytes_sent.saturating_sub(old.bytes_sent), path.at));
        }
        let (received, sent) = new.iter().fold((0, 0), |sum, path| (sum.0 + path.0, sum.1 + path.1));
        let (most, _, at) = new.into_iter().max_by_key(|(received, ..)| *received)?;
        if received < LEAST_BYTES.max(sent) || most * 3 < received * 2 {
            return None;
        }
        let moved = self.over.is_some_and(|over| over != at);
        self.over = Some(at);
        moved.then_some(at)
    }
}

/// Detects that the peer has become silent.
#[derive(Default)]
struct Silence {
    /// Number of packets received, and the time at which that number was first seen.
    last: Option<(u64, Instant)>,
    reported: Option<Instant>,
}

impl Silence {
    /// Returns whether a silence of [`SILENCE`] has just begun.
    fn begins(&mut self, association: &Association) -> bool {
        let received = association.paths().iter().map(|path| path.packets_received).sum();
        match self.last {
            Some((last, since)) if last == received && association.buffered() > 0 => {
                let due = since.elapsed() >= SILENCE
                    && self.reported.is_none_or(|at| at < since && at.elapsed() >= NOTICES);
                if due {
                    self.reported = Some(Instant::now());
                }
                due
            }
            _ => {
                self.last = Some((received, Instant::now()));
                false
            }
        }
    }
}
