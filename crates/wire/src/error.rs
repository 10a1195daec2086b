//! Parse errors by level: packet, chunk, parameter, error cause.
//!
//! After a *framing* error the next item cannot be located, and iteration ends. A *malformed* item is well
//! framed, but its value breaks the rules of its type; later items are still parsed.

use crate::codes::{CauseCode, ChunkType, ParamType};
use crate::serial::Tsn;

/// The reason why bytes are not an SCTP packet (RFC 9260 §3.1, §6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// Shorter than the common header.
    #[error("packet of {len} bytes is shorter than the 12-byte common header")]
    TooShort {
        /// Length of the input in bytes.
        len: usize,
    },
    /// The source or destination port is 0, which must not be used (RFC 9260 §3.1).
    #[error("ports {src_port} -> {dst_port}: port 0 must not be used")]
    ZeroPort {
        /// Source port.
        src_port: u16,
        /// Destination port.
        dst_port: u16,
    },
    /// The Checksum field does not hold the CRC32c of the packet (RFC 9260 §6.8).
    #[error("checksum field holds {found:#010x}, the CRC32c of the packet is {computed:#010x}")]
    BadChecksum {
        /// Value of the Checksum field.
        found: u32,
        /// The correct value.
        computed: u32,
    },
}

/// A framing error: the next chunk, parameter or cause cannot be delimited (RFC 9260 §3.2, §3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// Fewer bytes are left than the 4 of a header.
    #[error("{left} bytes left, a header takes 4")]
    TruncatedHeader {
        /// Number of bytes left.
        left: usize,
    },
    /// The Length field is smaller than the header that it includes.
    #[error("type {typ:#x} has length {length}, which must count the 4-byte header")]
    LengthTooShort {
        /// Type field.
        typ: u16,
        /// Length field.
        length: u16,
    },
    /// The Length field exceeds the end of the container.
    #[error("type {typ:#x} has length {length}, but only {left} bytes are left")]
    LengthTooLong {
        /// Type field.
        typ: u16,
        /// Length field.
        length: u16,
        /// Number of bytes left, from the start of the item.
        left: usize,
    },
}

/// An error in the value of a well-framed item. Lengths are those of the value, without the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The length differs from the fixed size of the value.
    #[error("value is {len} bytes, must be {expected}")]
    WrongLength {
        /// Length of the value in bytes.
        len: usize,
        /// The only right length.
        expected: usize,
    },
    /// The fixed fields do not fit.
    #[error("value is {len} bytes, must be at least {min}")]
    TooShort {
        /// Length of the value in bytes.
        len: usize,
        /// Smallest right length.
        min: usize,
    },
    /// The value is a list whose last entry is incomplete.
    #[error("list is {len} bytes, must be a multiple of {unit}")]
    NotWhole {
        /// Length of the list in bytes.
        len: usize,
        /// Length of one entry in bytes.
        unit: usize,
    },
    /// Counts inside the value do not agree with its length.
    #[error("value is {len} bytes, its counts say {announced}")]
    CountMismatch {
        /// Length of the value in bytes.
        len: usize,
        /// Length according to the counts (saturating).
        announced: usize,
    },
    /// A DATA chunk without user data; answered with an ABORT that names the TSN (RFC 9260 §6.2, §3.3.10.9).
    #[error("DATA chunk with TSN {tsn} has no user data")]
    NoUserData {
        /// TSN of the chunk.
        tsn: Tsn,
    },
    /// An IPv4 or IPv6 Address parameter is missing (RFC 5061 §4.1.1, §4.2).
    #[error("an address parameter (type 5 or 6) must be here, found type {found}")]
    NotAnAddress {
        /// Type of the parameter that was found instead.
        found: ParamType,
    },
    /// The address parameter inside the value has the wrong size for its family.
    #[error("address parameter of type {typ} has a value of {len} bytes: want 4 (IPv4) or 16 (IPv6)")]
    BadAddress {
        /// IPv4 Address or IPv6 Address.
        typ: ParamType,
        /// Length of the parameter's value in bytes.
        len: usize,
    },
    /// A parameter inside the value is badly framed.
    #[error("inner parameter: {0}")]
    Inner(#[from] FramingError),
}

/// The reason why a chunk of a packet cannot be returned as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// The chunk cannot be delimited, so that nothing after it can be parsed.
    #[error("chunk: {0}")]
    Framing(#[from] FramingError),
    /// The chunk is delimited but violates the rules of its type. The chunks after it can be parsed.
    #[error("{typ} chunk: {fault}")]
    Malformed {
        /// Type of the chunk.
        typ: ChunkType,
        /// The fault.
        fault: Malformed,
    },
}

/// Error of parsing a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// The parameter cannot be delimited, so that nothing after it can be parsed.
    #[error("parameter: {0}")]
    Framing(#[from] FramingError),
    /// The parameter is delimited but violates the rules of its type. The parameters after it can be parsed.
    #[error("parameter {typ}: {fault}")]
    Malformed {
        /// Type of the parameter.
        typ: ParamType,
        /// The fault.
        fault: Malformed,
    },
}

/// Error of parsing an error cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CauseError {
    /// The cause cannot be delimited, so that nothing after it can be parsed.
    #[error("error cause: {0}")]
    Framing(#[from] FramingError),
    /// The cause is delimited but violates the rules of its code. The causes after it can be parsed.
    #[error("error cause {code}: {fault}")]
    Malformed {
        /// Cause code.
        code: CauseCode,
        /// The fault.
        fault: Malformed,
    },
}

/// The error of a chunk that shares its packet with others although it must be alone (RFC 9260 §3, §6.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{typ} chunk is bundled, but must be alone in its packet")]
pub struct BundlingError {
    /// Type of the chunk: INIT, INIT ACK, SHUTDOWN COMPLETE or DTLS.
    pub typ: ChunkType,
}
