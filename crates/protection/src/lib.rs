//! The protection of SCTP packets by the DTLS chunk (draft-ietf-tsvwg-sctp-dtls-chunk-04): DTLS 1.3 records,
//! sealed and opened in place.
//!
//! A [`Sealer`] and an [`Opener`] are the two halves of an association's chunk protection operator. They hold
//! key material by epoch, number and check records, and count what each key has done. They use no socket,
//! no clock and no random number, and allocate nothing per packet. The cryptography is a [`Provider`]: of the
//! features `ring` (default) and `aws-lc-rs`, or your own.
//!
#![cfg_attr(feature = "ring", doc = "```")]
#![cfg_attr(not(feature = "ring"), doc = "```ignore")]
//! use msctp_protection::{Ring, CipherSuite, FIRST_EPOCH, HEADER_LEN, KeyContext, KeyMaterial};
//! use msctp_protection::{Opener, Sealer, Secret, TRAILER_LEN};
//!
//! let secret = Secret::from(&[7; 32][..]);
//! let keys = KeyMaterial::from_traffic_secret(&Ring, CipherSuite::Aes128GcmSha256, &secret);
//! let (mut sealer, mut opener) = (Sealer::new(), Opener::default());
//! opener.establish(KeyContext::Primary, FIRST_EPOCH, &keys, &Ring)?;
//! sealer.establish(KeyContext::Primary, FIRST_EPOCH, &keys, &Ring)?;
//!
//! // What follows the common header: space, the chunks of the packet, space.
//! let chunks = [11, 0, 0, 4];
//! let mut bytes = [&[0; HEADER_LEN][..], &chunks, &[0; TRAILER_LEN]].concat();
//! sealer.seal(&mut bytes)?;
//! assert_eq!(bytes[0], 0x41);
//!
//! let opened = opener.open(&mut bytes)?;
//! assert_eq!(bytes[opened.chunks], chunks);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod binding;
mod key_log;
mod keys;
mod negotiation;
mod opener;
mod provider;
mod psk;
mod record;
mod replay;
mod sealer;
mod secret;
mod suite;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

pub use binding::{Binding, FirstProtected};
pub use key_log::{KeyLogEntry, KeyLogError};
pub use keys::{KeyLengthError, KeyMaterial};
pub use negotiation::{End, Negotiated, NegotiationError, negotiate};
pub use opener::{OpenError, Opened, Opener, ReceiveUsage};
#[cfg(feature = "aws-lc-rs")]
pub use provider::AwsLcRs;
#[cfg(feature = "ring")]
pub use provider::Ring;
pub use provider::{Provider, RecordCipher};
pub use psk::{Direction, PreShared, PskError, SetUp};
pub use record::{EpochError, FIRST_EPOCH, HEADER_LEN, KeyContext, TRAILER_LEN};
pub use sealer::{SealError, Sealer, SendUsage};
pub use secret::Secret;
pub use suite::{CipherSuite, Hash, MAX_PLAINTEXT, NONCE_LEN, TAG_LEN};
