//! Checks that data transfer never stops without a timer. For debug builds; changes nothing.

use super::Outbound;
use crate::path::{Path, Paths};

/// Data for which no timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untimed {
    /// Chunks are in flight on a path without T3-rtx (RFC 9260 §6.3.2 R1).
    InFlight,
    /// Chunks are marked for retransmission, nothing is in flight, and no timer of data transfer runs.
    Marked,
    /// New data may be sent, nothing is in flight, and no timer of data transfer runs. With a closed window
    /// that is the zero window probe (§6.1 A).
    Unsent,
    /// Messages were rejected until the peer raises the limit of a stream, and no timer asks for it.
    Credit,
    /// The peer does not know of abandoned chunks, and no T3-rtx runs (RFC 3758 §3.5 C5).
    Forward,
}

impl Outbound {
    /// Returns data for which no timer runs. Valid after [`next_path`](Self::next_path) returned `None`, in a
    /// state that allows DATA.
    pub(crate) fn untimed(&self, paths: &Paths) -> Option<Untimed> {
        let in_flight = |path: &Path| path.flight_size > 0;
        if paths.iter().any(|path| in_flight(path) && path.t3_rtx.is_none()) {
            return Some(Untimed::InFlight);
        }
        if self.lacks_credit_timer() {
            return Some(Untimed::Credit);
        }
        // Paths that may not carry data are verified (RFC 9260 §5.4) or wait for the answer to an ASCONF.
        let data_path = paths.data_path().and_then(|path| paths.get(path));
        if paths.iter().any(in_flight)
            || self.next_timeout(paths).is_some()
            || !data_path.is_some_and(Path::may_carry_packet)
        {
            return None;
        }
        if paths.iter().any(|path| path.flow.marked > 0) {
            Some(Untimed::Marked)
        } else if !self.queue.is_idle() {
            Some(Untimed::Unsent)
        } else {
            self.lacks_forward_tsn().then_some(Untimed::Forward)
        }
    }
}
