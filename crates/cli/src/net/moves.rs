//! Reports an association's path changes to the user.

use std::time::Duration;

use msctp::{AddressRequest, Association, Event, PathState};
use tokio::time::Instant;

/// Interval at which the count of received packets is polled.
const LOOK: Duration = Duration::from_millis(500);

/// Time without a received packet, while data is outstanding, after which a notice is printed. The transport
/// needs longer to declare a path inactive.
const SILENCE: Duration = Duration::from_secs(3);

/// Reports every path change until the association ends. Returns the number of changes of the primary path.
pub(crate) async fn report_moves(association: &Association, say: impl Fn(String)) -> u32 {
    let (mut switches, mut last, mut silence) = (0, None, Silence::default());
    loop {
        let event = match tokio::time::timeout(LOOK, association.event()).await {
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

/// Detects that the peer has become silent.
#[derive(Default)]
struct Silence {
    /// Number of packets received, and the time at which that number was first seen.
    last: Option<(u64, Instant)>,
    reported: bool,
}

impl Silence {
    /// Returns whether a silence of [`SILENCE`] has just begun.
    fn begins(&mut self, association: &Association) -> bool {
        let received = association.paths().iter().map(|path| path.packets_received).sum();
        match self.last {
            Some((last, since)) if last == received && association.buffered() > 0 => {
                since.elapsed() >= SILENCE && !std::mem::replace(&mut self.reported, true)
            }
            _ => {
                *self = Self { last: Some((received, Instant::now())), reported: false };
                false
            }
        }
    }
}
