//! The user messages of key management (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |T|   Epoch     |   TLS records (T = 0), or a control message   /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::error::Error;

/// The payload protocol identifier of key management messages (draft-ietf-tsvwg-sctp-dtls-chunk-04 §9.5).
pub const PPID: u32 = 4242;
/// The identifier of this key management method in the DTLS Key Management parameter. It is not the draft's
/// 192, because the keys also depend on the hash of INIT and INIT ACK.
pub const METHOD: u8 = 225;
/// The identifier of the same method with False Start: the client sends user data after its Finished, without
/// waiting for *Protection Established*. msctp defines it, not the draft, and IANA has not assigned it.
pub const METHOD_FALSE_START: u8 = 226;
/// Maximum bytes of TLS records from the peer in one handshake, certificate chains included.
pub const MAX_HANDSHAKE_BYTES: usize = 64 * 1024;

/// The T bit: a control message.
const CONTROL: u8 = 0x80;
const EPOCH: u8 = 0x7f;

/// Control message *Protection Established*.
const PROTECTION_ESTABLISHED: u8 = 0x01;
/// Control message of the one-time code with a SPAKE2 element. msctp defines it, not the draft.
const CODE_SHARE: u8 = 0xf1;
/// Control message of the one-time code with the proof that an end knows it. msctp defines it, not the draft.
const CODE_CONFIRMATION: u8 = 0xf2;

/// The content of a key management message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    /// Complete TLS records.
    Records(&'a [u8]),
    /// The server protects all packets from now on.
    ProtectionEstablished,
    /// A SPAKE2 element.
    CodeShare(&'a [u8]),
    /// Proof of the code.
    CodeConfirmation(&'a [u8]),
    /// A control message of another type, which is ignored so that types can be added.
    Unknown,
}

/// A key management message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// The lowest seven bits of the epoch to whose keys the message belongs.
    pub(crate) epoch_bits: u8,
    pub(crate) body: Body<'a>,
}

/// Returns the bits of an epoch that a message carries.
pub(crate) const fn epoch_bits(epoch: u64) -> u8 {
    epoch as u8 & EPOCH
}

impl<'a> Message<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let (&first, payload) = bytes.split_first().ok_or(Error::Malformed("it is empty"))?;
        let epoch_bits = first & EPOCH;
        if first & CONTROL == 0 {
            if payload.is_empty() {
                return Err(Error::Malformed("it has no TLS record"));
            }
            return Ok(Self { epoch_bits, body: Body::Records(payload) });
        }
        let (&kind, data) = payload.split_first().ok_or(Error::Malformed("it has no control type"))?;
        let body = match kind {
            PROTECTION_ESTABLISHED => Body::ProtectionEstablished,
            CODE_SHARE => Body::CodeShare(data),
            CODE_CONFIRMATION => Body::CodeConfirmation(data),
            _ => Body::Unknown,
        };
        Ok(Self { epoch_bits, body })
    }

    /// Encodes the message of an epoch.
    pub(crate) fn encode(epoch: u64, body: Body<'_>) -> Vec<u8> {
        let first = epoch_bits(epoch);
        match body {
            Body::Records(records) => [&[first], records].concat(),
            Body::ProtectionEstablished => vec![first | CONTROL, PROTECTION_ESTABLISHED],
            Body::CodeShare(data) => [&[first | CONTROL, CODE_SHARE], data].concat(),
            Body::CodeConfirmation(data) => [&[first | CONTROL, CODE_CONFIRMATION], data].concat(),
            Body::Unknown => vec![first | CONTROL, 0],
        }
    }
}

/// The first handshake message of plaintext TLS records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hello {
    Client,
    /// A ServerHello that requests another ClientHello (RFC 8446 §4.1.4).
    Retry,
    Other,
}

/// Returns which hello records begin with.
pub(crate) fn hello(records: &[u8]) -> Hello {
    /// Content type, version and length of a record; type and length of a handshake message.
    const RECORD: usize = 5;
    const HANDSHAKE: usize = 4;
    /// First bytes of the Random of a HelloRetryRequest (RFC 8446 §4.1.3).
    const RETRY: [u8; 8] = [0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11];
    let random = RECORD + HANDSHAKE + 2;
    match (records.first(), records.get(RECORD)) {
        (Some(22), Some(1)) => Hello::Client,
        (Some(22), Some(2)) if records.get(random..random + RETRY.len()) == Some(&RETRY) => Hello::Retry,
        _ => Hello::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back() {
        let bodies = [
            Body::Records(&[22, 3, 3]),
            Body::ProtectionEstablished,
            Body::CodeShare(&[1, 2]),
            Body::CodeConfirmation(&[3]),
            Body::Unknown,
        ];
        for body in bodies {
            for epoch in [3, 127, 128, 1 << 40] {
                let bytes = Message::encode(epoch, body);
                assert_eq!(Message::parse(&bytes), Ok(Message { epoch_bits: (epoch % 128) as u8, body }));
            }
        }
    }

    /// Checks the bytes of draft-porfiri-tsvwg-sctp-dtls-handshake-01 §4 and §4.1.1.
    #[test]
    fn the_drafts_bytes() {
        assert_eq!(Message::encode(3, Body::ProtectionEstablished), [0x83, 0x01]);
        assert_eq!(Message::encode(130, Body::Records(&[22])), [0x02, 22]);
    }

    #[test]
    fn short_messages_are_malformed() {
        for bytes in [&[][..], &[3], &[0x83]] {
            assert!(matches!(Message::parse(bytes), Err(Error::Malformed(_))), "{bytes:?}");
        }
    }
}
