//! Dynamic addresses (RFC 5061): requests of ours, one outstanding at a time, and the peer's, answered and cached.
//!
//! [`AsconfOut`] and [`AsconfIn`] are pure bookkeeping of serial numbers, address lists and answers. They may not touch
//! paths: what has to change there comes out as [`AsconfEvent`]s and [`Effect`]s, whose `apply` does it.

mod apply;
mod incoming;
mod outgoing;

#[cfg(test)]
mod agreement_tests;

pub use apply::{Applied, prepare_local};
pub use incoming::{AsconfIn, Effect, Received, Reception};
pub use outgoing::{Ack, AsconfEvent, AsconfOut, MAX_BUNDLED, MAX_WAITING, Rejection};

use msctp_wire::ChunkType;

/// Whether ASCONF, ASCONF-ACK and QoS_Measurement must come authenticated (RFC 4895).
///
/// This is the one place where authentication is decided. RFC 5061 §4.1.1, §4.1.2 and §5.2 D5 want [`Required`]. An
/// association without AUTH can only use [`NotRequired`], as Linux does with `addip_noauth_enable`: anyone who knows the
/// verification tag can then move it.
///
/// [`Required`]: AuthPolicy::Required
/// [`NotRequired`]: AuthPolicy::NotRequired
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthPolicy {
    /// Unauthenticated ones are silently discarded, with the rest of their packet.
    Required,
    /// All are taken.
    #[default]
    NotRequired,
}

impl AuthPolicy {
    /// True for the chunks this policy is about: those of RFC 5061 (§4.1.1, §4.1.2), and the one that moves the window.
    pub fn covers(self, typ: ChunkType) -> bool {
        matches!(typ, ChunkType::ASCONF | ChunkType::ASCONF_ACK | ChunkType::QOS_MEASUREMENT)
    }

    /// True when a chunk may be processed; `authenticated`: a valid AUTH chunk that covers it came before it in the packet.
    pub fn admits(self, authenticated: bool) -> bool {
        self == Self::NotRequired || authenticated
    }
}

#[cfg(test)]
mod tests {
    use super::AuthPolicy::{NotRequired, Required};

    #[test]
    fn only_a_policy_that_requires_it_asks_for_authentication() {
        assert!(Required.admits(true) && !Required.admits(false));
        assert!(NotRequired.admits(true) && NotRequired.admits(false));
        let covered: Vec<u8> = (0..=255).filter(|&typ| Required.covers(msctp_wire::ChunkType(typ))).collect();
        assert_eq!(covered, [0x80, 0xbe, 0xc1]);
    }
}
