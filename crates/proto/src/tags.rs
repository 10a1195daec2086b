//! [`Tags`]: what the set-up fixed for an association, in its state and in its cookie.

use msctp_wire::Tsn;

use crate::extensions::Extensions;
use crate::rng::Rng;

/// Ports, tags and initial TSN of both ends, and the negotiated options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tags {
    pub(crate) local_port: u16,
    pub(crate) peer_port: u16,
    /// Verification tag of received packets.
    pub(crate) local_tag: u32,
    /// Verification tag of sent packets; 0 while unknown, since a peer's tag is never 0.
    pub(crate) peer_tag: u32,
    /// Tie-Tags (RFC 9260 §5.2.2): random numbers that link a restarted peer to this association without
    /// revealing its tags. In a cookie that was made without an association, both are 0.
    pub(crate) local_tie_tag: u32,
    pub(crate) peer_tie_tag: u32,
    /// First TSN that this end sends.
    pub(crate) local_initial_tsn: Tsn,
    /// Number of streams on which this end may send: min(its OS, the peer's MIS) (RFC 9260 §5.1.1).
    pub(crate) outbound_streams: u16,
    /// Number of streams on which the peer may send: min(the peer's OS, this end's MIS).
    pub(crate) inbound_streams: u16,
    /// Extensions that both ends announced.
    pub(crate) extensions: Extensions,
}

impl Tags {
    /// Creates the state, when only the peer's port is known.
    pub(crate) fn new(local_port: u16, peer_port: u16, local_tag: u32, local_initial_tsn: Tsn) -> Self {
        Self {
            local_port,
            peer_port,
            local_tag,
            peer_tag: 0,
            local_tie_tag: 0,
            peer_tie_tag: 0,
            local_initial_tsn,
            outbound_streams: 0,
            inbound_streams: 0,
            extensions: Extensions::NONE,
        }
    }

    /// Returns the tags with new Tie-Tags, for the association that a cookie sets up.
    pub(crate) fn with_new_ties(&self, rng: &mut Rng) -> Self {
        Self { local_tie_tag: rng.next_tag(), peer_tie_tag: rng.next_tag(), ..self.clone() }
    }
}
