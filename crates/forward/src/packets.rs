//! Packets over a byte stream, for networks that drop UDP: a client's [`PREFACE`], then each packet behind
//! its length in two bytes.

use bytes::{Buf, BytesMut};

/// The first bytes of a client.
pub const PREFACE: &[u8; 7] = b"msctp/1";

/// Bytes before each packet: its length in network byte order.
pub const HEADER: usize = 2;

/// Largest number of bytes of a packet.
pub const MAX_PACKET: usize = u16::MAX as usize;

/// A framing error of the peer, for which the caller closes the connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FramingError {
    /// The first bytes are not the preface.
    #[error("the first bytes are not {:?}: the client speaks another protocol", "msctp/1")]
    Preface,
    /// A packet has no bytes.
    #[error("a packet of 0 bytes; want 1 to {MAX_PACKET}")]
    Empty,
}

/// Returns the header of a packet, or `None` if it has no byte or more than [`MAX_PACKET`].
pub fn header(packet: &[u8]) -> Option<[u8; HEADER]> {
    let len = u16::try_from(packet.len()).ok().filter(|&len| len > 0)?;
    Some(len.to_be_bytes())
}

/// Splits a byte stream into packets.
///
/// The caller appends received bytes to [`buffer`](Self::buffer) and takes all packets after each read, so
/// that the decoder holds at most one packet and a read.
#[derive(Debug)]
pub struct Packets {
    buffer: BytesMut,
    /// True if the preface was read, or is not expected.
    begun: bool,
}

impl Packets {
    /// Creates the decoder of a client's bytes, which begin with the preface.
    pub fn of_client() -> Self {
        Self { buffer: BytesMut::new(), begun: false }
    }

    /// Creates the decoder of a server's bytes.
    pub fn of_server() -> Self {
        Self { buffer: BytesMut::new(), begun: true }
    }

    /// Returns the buffer to append received bytes to.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Reads the preface, if it is expected and complete. Returns whether packets follow.
    ///
    /// # Errors
    ///
    /// The first bytes are not the preface.
    pub fn begin(&mut self) -> Result<bool, FramingError> {
        if !self.begun {
            let len = self.buffer.len().min(PREFACE.len());
            if self.buffer[..len] != PREFACE[..len] {
                return Err(FramingError::Preface);
            }
            if len == PREFACE.len() {
                self.buffer.advance(len);
                self.begun = true;
            }
        }
        Ok(self.begun)
    }

    /// Returns whether a part of a packet was received.
    pub fn is_partial(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Returns the next packet; `None` until more bytes are received.
    ///
    /// # Errors
    ///
    /// The peer broke the framing. No later call returns a packet.
    pub fn next_packet(&mut self) -> Result<Option<BytesMut>, FramingError> {
        if !self.begin()? {
            return Ok(None);
        }
        let Some(header) = self.buffer.first_chunk::<HEADER>() else { return Ok(None) };
        let len = usize::from(u16::from_be_bytes(*header));
        if len == 0 {
            return Err(FramingError::Empty);
        }
        if self.buffer.len() < HEADER + len {
            self.buffer.reserve(HEADER + len - self.buffer.len());
            return Ok(None);
        }
        self.buffer.advance(HEADER);
        Ok(Some(self.buffer.split_to(len)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Decodes a stream that arrives in pieces whose lengths cycle through these.
    fn decode(mut decoder: Packets, stream: &[u8], pieces: &[usize]) -> Result<Vec<Vec<u8>>, FramingError> {
        let (mut rest, mut packets) = (stream, Vec::new());
        for &len in pieces.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, tail) = rest.split_at(len.clamp(1, rest.len()));
            rest = tail;
            decoder.buffer().extend_from_slice(piece);
            while let Some(packet) = decoder.next_packet()? {
                packets.push(packet.to_vec());
            }
        }
        Ok(packets)
    }

    proptest! {
        #[test]
        fn packets_arrive_whole_however_the_stream_is_cut(
            sent in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..3000), 0..20),
            pieces in prop::collection::vec(1_usize..4000, 1..20),
        ) {
            let mut stream = PREFACE.to_vec();
            for packet in &sent {
                stream.extend(header(packet).unwrap());
                stream.extend(packet);
            }
            prop_assert_eq!(&decode(Packets::of_client(), &stream, &pieces), &Ok(sent.clone()));
            prop_assert_eq!(decode(Packets::of_server(), &stream[PREFACE.len()..], &pieces), Ok(sent));
        }
    }

    #[test]
    fn another_protocol_is_noticed_at_its_first_byte() {
        assert_eq!(decode(Packets::of_client(), b"G", &[1]), Err(FramingError::Preface));
        assert_eq!(decode(Packets::of_client(), b"msctp/2", &[1]), Err(FramingError::Preface));
        assert_eq!(decode(Packets::of_client(), b"msctp/1\0\0", &[3]), Err(FramingError::Empty));
        assert_eq!(header(&[]), None);
        assert_eq!((header(&[0; MAX_PACKET]), header(&[0; MAX_PACKET + 1])), (Some([255, 255]), None));
    }
}
