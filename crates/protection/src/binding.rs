//! [`Binding`] and [`FirstProtected`]: what both ends must have seen alike before protection began, as inputs
//! of their keys.
//!
//! INIT, INIT ACK and the messages of a key management method are in clear. An end that received others than
//! its peer sent derives other keys, so that no packet of the peer can be opened. The drafts bind the DTLS
//! Key Management parameters only: `docs/internals/draft-notes.md` says what that allows.

use core::fmt;

use sha2::{Digest, Sha256};

/// SHA-256 of the SCTP ports, and of INIT and INIT ACK without their State Cookie: tags, initial TSNs,
/// numbers of streams, windows, extensions and addresses.
///
/// Each end hashes what it sent and what it received. The server has the value in its State Cookie, because
/// it keeps no state before the COOKIE ECHO (RFC 9260 §5.1.3).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Binding([u8; Self::LEN]);

impl Binding {
    /// Length in bytes. An attacker chooses parts of both chunks, so that a shorter hash would be found by
    /// collision.
    pub const LEN: usize = 32;

    /// Hashes the ports of the end that sent the INIT and of the other, an INIT and its INIT ACK. Each is a
    /// chunk with its header, Chunk Flags of 0 and zero bytes as padding to a multiple of four, which Chunk
    /// Length does not count. The INIT ACK has no State Cookie.
    ///
    /// The ports are in every packet in clear, also in protected ones: an attacker on the path that changes
    /// them leads a client to another application of its peer.
    #[must_use]
    pub fn new((from, to): (u16, u16), init: &[u8], init_ack: &[u8]) -> Self {
        let ports = [from.to_be_bytes(), to.to_be_bytes()].concat();
        // The Chunk Length of the INIT delimits it: no two pairs of chunks give the same bytes.
        Self(Sha256::new().chain_update(ports).chain_update(init).chain_update(init_ack).finalize().into())
    }

    /// Returns the value with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Returns its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl fmt::Debug for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Binding(")?;
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("…)")
    }
}

/// The numbers at which protection begins in one direction. They are one end's initial values plus what it
/// sent in clear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstProtected {
    /// TSN of the first DATA or I-DATA chunk that the end protects.
    pub tsn: u32,
    /// Number of ordered messages that the end sent on stream 0 in clear, whose numbers begin at 0.
    pub messages: u32,
}

impl FirstProtected {
    /// Returns the numbers of both directions as the context of the first keys: the client's, then the
    /// server's, each with the TSN first.
    pub(crate) fn context(client: Self, server: Self) -> [u8; 16] {
        let mut context = [0; 16];
        let words = [client.tsn, client.messages, server.tsn, server.messages];
        for (bytes, word) in context.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        context
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_both_chunks_and_ports_counts() {
        let (init, ack) = ([1, 0, 0, 8, 1, 2, 3, 4], [2, 0, 0, 8, 5, 6, 7, 8]);
        let ports = (0x1234, 0x5678);
        let binding = Binding::new(ports, &init, &ack);
        assert_eq!(binding, Binding::from_bytes(*binding.bytes()));
        for bit in 0..64 {
            let (mut other_init, mut other_ack) = (init, ack);
            other_init[bit / 8] ^= 1 << (bit % 8);
            other_ack[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Binding::new(ports, &other_init, &ack), binding, "bit {bit} of the INIT");
            assert_ne!(Binding::new(ports, &init, &other_ack), binding, "bit {bit} of the INIT ACK");
        }
        for ports in (0..16).flat_map(|bit| [(ports.0 ^ 1 << bit, ports.1), (ports.0, ports.1 ^ 1 << bit)]) {
            assert_ne!(Binding::new(ports, &init, &ack), binding, "{ports:04x?}");
        }
        assert_ne!(Binding::new((ports.1, ports.0), &init, &ack), binding);
        assert_ne!(Binding::new(ports, &ack, &init), binding);
        assert_eq!(format!("{binding:?}").len(), "Binding(01234567…)".len());
    }

    #[test]
    fn the_context_has_all_four_numbers_in_order() {
        let client = FirstProtected { tsn: 0x0102_0304, messages: 5 };
        let server = FirstProtected { tsn: 0x1112_1314, messages: 6 };
        let context = FirstProtected::context(client, server);
        assert_eq!(context, [1, 2, 3, 4, 0, 0, 0, 5, 0x11, 0x12, 0x13, 0x14, 0, 0, 0, 6]);
    }
}
