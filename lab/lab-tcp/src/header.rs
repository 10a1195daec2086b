//! The TCP header (RFC 9293 §3.1) with the options of RFC 2018 and RFC 7323. No state, no time.
//!
//! A segment's header is at most 60 bytes long, as its data offset says. If a laboratory run requires more
//! SACK blocks than fit, the *laboratory's extension* follows it: further blocks of 8 bytes each. The
//! extension counts in the length on the wire. No real TCP supports it; captures omit it and note that.

use thiserror::Error;

/// Bytes of a header without options.
pub const BASE_LEN: usize = 20;
/// Bytes of the longest real header.
pub const MAX_LEN: usize = 60;
/// Length in bytes of the timestamps option with the two bytes that align it.
pub const TIMESTAMPS_LEN: usize = 12;

/// FIN, SYN, RST, PSH and ACK bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push function (PSH).
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x10);

    /// Returns whether all bits of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Timestamps option (RFC 7323 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr, the echoed value; significant if ACK is set.
    pub echo: u32,
}

/// A header without its SACK blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// The next sequence number expected; significant if ACK is set.
    pub acknowledgment: u32,
    /// Control bits.
    pub flags: Flags,
    /// Window field as on the wire, not scaled.
    pub window: u16,
    /// Maximum segment size option, bytes (RFC 9293 §3.7.1).
    pub mss: Option<u16>,
    /// Window scale option: shift count (RFC 7323 §2).
    pub window_scale: Option<u8>,
    /// SACK-permitted option (RFC 2018 §2).
    pub sack_permitted: bool,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
}

/// A SACK block: its first sequence number, and the one after its last (RFC 2018 §3).
pub type Block = (u32, u32);

/// The bytes are no TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// There are fewer bytes than the fields or the data offset require.
    #[error("{got} bytes are too short for a TCP header of {want}")]
    TooShort {
        /// Number of bytes.
        got: usize,
        /// Required number of bytes.
        want: usize,
    },
    /// The data offset is below 5 words.
    #[error("data offset {words} words: want 5 to 15")]
    Offset {
        /// The field.
        words: u8,
    },
    /// An option's length is impossible.
    #[error("option {kind} with length {len}")]
    Option {
        /// Option kind.
        kind: u8,
        /// Length that the option claims.
        len: u8,
    },
    /// The bytes after the header are not whole SACK blocks.
    #[error("{len} bytes after the header: want a multiple of 8")]
    Extension {
        /// Number of bytes.
        len: usize,
    },
}

/// Returns the number of SACK blocks that fit into the real header beside the other options of `header`
/// (RFC 2018 §3).
#[must_use]
pub fn blocks_that_fit(header: &Header) -> usize {
    let free = MAX_LEN - BASE_LEN - options_len(header);
    // Two bytes that align, kind, length, and 8 bytes for each block.
    free.saturating_sub(4) / 8
}

/// Returns the bytes of the options other than SACK blocks, aligned to words.
fn options_len(header: &Header) -> usize {
    let mut len = 0;
    len += if header.mss.is_some() { 4 } else { 0 };
    len += if header.sack_permitted { 4 } else { 0 };
    len += if header.timestamps.is_some() { TIMESTAMPS_LEN } else { 0 };
    len += if header.window_scale.is_some() { 4 } else { 0 };
    len
}

/// Returns the length of `header` on the wire with `blocks` SACK blocks. It includes the laboratory's
/// extension but not the IP header.
#[must_use]
pub fn wire_len(header: &Header, blocks: usize) -> usize {
    let alignment = if blocks > 0 && blocks_that_fit(header) > 0 { 4 } else { 0 };
    BASE_LEN + options_len(header) + alignment + 8 * blocks
}

const NOP: u8 = 1;

/// Appends the header with its SACK blocks. Those that do not fit are written to the laboratory's extension.
/// The checksum and the urgent pointer are zero.
pub fn write(header: &Header, blocks: &[Block], out: &mut Vec<u8>) {
    let start = out.len();
    let inside = &blocks[..blocks.len().min(blocks_that_fit(header))];
    let len = wire_len(header, inside.len());
    out.extend_from_slice(&header.source_port.to_be_bytes());
    out.extend_from_slice(&header.destination_port.to_be_bytes());
    out.extend_from_slice(&header.sequence.to_be_bytes());
    out.extend_from_slice(&header.acknowledgment.to_be_bytes());
    out.push((len / 4) as u8 * 16);
    out.push(header.flags.0);
    out.extend_from_slice(&header.window.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    if let Some(mss) = header.mss {
        out.extend_from_slice(&[2, 4]);
        out.extend_from_slice(&mss.to_be_bytes());
    }
    if header.sack_permitted {
        out.extend_from_slice(&[NOP, NOP, 4, 2]);
    }
    if let Some(timestamps) = header.timestamps {
        out.extend_from_slice(&[NOP, NOP, 8, 10]);
        out.extend_from_slice(&timestamps.value.to_be_bytes());
        out.extend_from_slice(&timestamps.echo.to_be_bytes());
    }
    if let Some(shift) = header.window_scale {
        out.extend_from_slice(&[NOP, 3, 3, shift]);
    }
    if !inside.is_empty() {
        out.extend_from_slice(&[NOP, NOP, 5, 2 + 8 * inside.len() as u8]);
    }
    for (first, behind) in blocks {
        out.extend_from_slice(&first.to_be_bytes());
        out.extend_from_slice(&behind.to_be_bytes());
    }
    debug_assert_eq!(out.len() - start, len + 8 * (blocks.len() - inside.len()));
}

/// Returns the length of the real header at the beginning of these bytes, the laboratory's extension not
/// included.
///
/// # Errors
/// There are too few bytes, or the data offset is too small.
pub fn real_len(bytes: &[u8]) -> Result<usize, HeaderError> {
    let short = |want| HeaderError::TooShort { got: bytes.len(), want };
    let words = bytes.get(12).ok_or(short(BASE_LEN))? >> 4;
    if words < 5 {
        return Err(HeaderError::Offset { words });
    }
    let len = usize::from(words) * 4;
    if bytes.len() < len { Err(short(len)) } else { Ok(len) }
}

/// A parsed header, whose SACK blocks remain in the bytes.
#[derive(Clone, Copy, Debug)]
pub struct Parsed<'b> {
    /// The fields.
    pub header: Header,
    inside: &'b [u8],
    extension: &'b [u8],
}

impl Parsed<'_> {
    /// Returns the SACK blocks in order, including those of the extension.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        let all = self.inside.chunks_exact(8).chain(self.extension.chunks_exact(8));
        all.map(|block| (be32(block, 0), be32(block, 4)))
    }
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Parses a header and the laboratory's extension after it. Unknown options are skipped.
///
/// # Errors
/// The bytes are not a header.
pub fn parse(bytes: &[u8]) -> Result<Parsed<'_>, HeaderError> {
    let len = real_len(bytes)?;
    let (real, extension) = bytes.split_at(len);
    if !extension.len().is_multiple_of(8) {
        return Err(HeaderError::Extension { len: extension.len() });
    }
    let header = Header {
        source_port: be16(real, 0),
        destination_port: be16(real, 2),
        sequence: be32(real, 4),
        acknowledgment: be32(real, 8),
        flags: Flags(real[13]),
        window: be16(real, 14),
        ..Header::default()
    };
    let mut parsed = Parsed { header, inside: &[], extension };
    let mut options = &real[BASE_LEN..];
    while let &[kind, ref rest @ ..] = options {
        match kind {
            0 => break,
            NOP => options = rest,
            _ => {
                let &[len, ..] = rest else { return Err(HeaderError::Option { kind, len: 0 }) };
                let whole = usize::from(len);
                if whole < 2 || whole > options.len() {
                    return Err(HeaderError::Option { kind, len });
                }
                option(&mut parsed, kind, len, &options[2..whole])?;
                options = &options[whole..];
            }
        }
    }
    Ok(parsed)
}

fn option<'b>(parsed: &mut Parsed<'b>, kind: u8, len: u8, value: &'b [u8]) -> Result<(), HeaderError> {
    match (kind, value.len()) {
        (2, 2) => parsed.header.mss = Some(be16(value, 0)),
        (3, 1) => parsed.header.window_scale = Some(value[0]),
        (4, 0) => parsed.header.sack_permitted = true,
        (5, n) if n.is_multiple_of(8) => parsed.inside = value,
        (8, 8) => {
            parsed.header.timestamps = Some(Timestamps { value: be32(value, 0), echo: be32(value, 4) });
        }
        (2..=5 | 8, _) => return Err(HeaderError::Option { kind, len }),
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
#[path = "header_tests.rs"]
mod tests;
