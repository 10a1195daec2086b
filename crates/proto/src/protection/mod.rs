//! The DTLS chunk (draft-ietf-tsvwg-sctp-dtls-chunk-04) in one association: its options, its negotiation, its
//! keys. The records are `msctp_protection`'s. Knows no association and no packet but its bytes.

mod binding;
mod config;
mod first;
mod held;
mod keys;
mod offer;
mod peer_check;

pub(crate) use binding::bind;
pub use config::{KeyManagement, Protection};
pub use keys::KeyAgreement;
pub(crate) use keys::{MAX_ROOM, OVERHEAD, PacketProtection, SPACE, SetUpNumbers};
pub(crate) use offer::{CookieProtection, ProtectionOffer};
pub(crate) use peer_check::{PeerCheck, Verdict};
