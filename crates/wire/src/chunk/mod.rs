//! Chunks (RFC 9260 §3.2, §3.3), one file per chunk.

mod abort;
mod asconf;
mod asconf_ack;
mod auth;
mod cookie_ack;
mod cookie_echo;
mod cwr;
mod data;
mod dtls;
mod ecne;
mod error;
mod forward_tsn;
mod heartbeat;
mod heartbeat_ack;
mod i_data;
mod i_forward_tsn;
mod init;
mod init_ack;
mod pad;
mod path_cost;
mod re_config;
mod sack;
mod set;
mod shutdown;
mod shutdown_ack;
mod shutdown_complete;
mod stream_blocked;
mod stream_credit;
#[cfg(test)]
mod testing;
mod unknown;

pub use abort::Abort;
pub use asconf::Asconf;
pub use asconf_ack::AsconfAck;
pub use auth::Auth;
pub(crate) use auth::AuthToFill;
pub use cookie_ack::CookieAck;
pub use cookie_echo::CookieEcho;
pub use cwr::Cwr;
pub use data::{Data, DataFlags};
pub use dtls::Dtls;
pub use ecne::Ecne;
pub use error::Error;
pub use forward_tsn::{ForwardTsn, SkippedStream};
pub use heartbeat::Heartbeat;
pub use heartbeat_ack::HeartbeatAck;
pub use i_data::{Fragment, IData};
pub use i_forward_tsn::{IForwardTsn, SkippedMessages};
pub use init::Init;
pub use init_ack::InitAck;
pub use pad::Pad;
pub use path_cost::PathCost;
pub use re_config::ReConfig;
pub use sack::{GapBlock, Sack};
pub use set::ChunkSet;
pub use shutdown::Shutdown;
pub use shutdown_ack::ShutdownAck;
pub use shutdown_complete::ShutdownComplete;
pub use stream_blocked::StreamBlocked;
pub use stream_credit::{StreamCredit, StreamLimit};
pub use unknown::UnknownChunk;

pub use crate::codes::ChunkType;

use core::iter::FusedIterator;

use crate::error::{ChunkError, FramingError};
use crate::tlv::{self, HEADER};

/// The T bit of ABORT and SHUTDOWN COMPLETE: the Verification Tag is reflected (RFC 9260 §3.3.7, §3.3.13).
const T_BIT: u8 = 0x01;

/// A chunk that can be encoded: every chunk struct, and [`Chunk`] itself.
pub trait EncodeChunk {
    /// Returns the Chunk Type field.
    fn chunk_type(&self) -> ChunkType;

    /// Returns the Chunk Flags field.
    fn flags(&self) -> u8 {
        0
    }

    /// Returns the length in bytes of the Chunk Value.
    fn value_len(&self) -> usize;

    /// Appends the Chunk Value, [`value_len`](Self::value_len) bytes.
    fn encode_value(&self, out: &mut Vec<u8>);

    /// Returns the Chunk Length: bytes of header and value, without padding.
    #[inline]
    fn encoded_len(&self) -> usize {
        HEADER + self.value_len()
    }

    /// Returns the length in bytes of the chunk in a packet: [`encoded_len`](Self::encoded_len) and the
    /// padding to a multiple of 4.
    #[inline]
    fn padded_len(&self) -> usize {
        tlv::padded(self.encoded_len())
    }

    /// Appends header and value without padding, to quote a chunk in an error cause.
    ///
    /// [`PacketBuilder::push`](crate::PacketBuilder::push) adds the padding. The chunk must have at most
    /// 65,535 bytes.
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        tlv::write_header(out, u16::from_be_bytes([self.chunk_type().0, self.flags()]), self.value_len());
        self.encode_value(out);
    }
}

/// Implements parsing and [`EncodeChunk`] of a chunk without flags, given its struct, type and [`layout!`].
macro_rules! chunk {
    ($chunk:ty = $typ:ident { $($layout:tt)* }) => {
        $crate::layout::layout!($chunk { $($layout)* });

        impl<'a> $chunk {
            #[inline]
            pub(super) fn parse(_flags: u8, value: &'a [u8]) -> Result<Self, $crate::error::Malformed> {
                $crate::layout::Value::parse(value)
            }
        }

        impl<'a> $crate::chunk::EncodeChunk for $chunk {
            #[inline]
            fn chunk_type(&self) -> $crate::chunk::ChunkType {
                $crate::chunk::ChunkType::$typ
            }

            #[inline]
            fn value_len(&self) -> usize {
                $crate::layout::Value::encoded_len(self)
            }

            #[inline]
            fn encode_value(&self, out: &mut Vec<u8>) {
                $crate::layout::Value::encode(self, out);
            }
        }
    };
}
use chunk;

macro_rules! chunks {
    ($($(#[$doc:meta])* $variant:ident($body:ty) = $typ:ident;)*) => {
        /// A chunk of any type.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Chunk<'a> {
            $($(#[$doc])* $variant($body),)*
            /// A chunk of unknown type; see [`UnknownChunk::action`].
            Unknown(UnknownChunk<'a>),
        }

        impl<'a> Chunk<'a> {
            /// Parses `whole`, a delimited chunk: header and value.
            #[inline]
            fn from_whole(whole: &'a [u8]) -> Result<Self, ChunkError> {
                let (typ, flags, value) = (ChunkType(whole[0]), whole[1], &whole[HEADER..]);
                let chunk = match typ {
                    $(ChunkType::$typ => <$body>::parse(flags, value).map(Chunk::$variant),)*
                    _ => Ok(Chunk::Unknown(UnknownChunk::from_whole(whole))),
                };
                chunk.map_err(|fault| ChunkError::Malformed { typ, fault })
            }

            fn body(&self) -> &dyn EncodeChunk {
                match self {
                    $(Chunk::$variant(chunk) => chunk,)*
                    Chunk::Unknown(chunk) => chunk,
                }
            }
        }

        impl EncodeChunk for Chunk<'_> {
            #[inline]
            fn chunk_type(&self) -> ChunkType {
                match self {
                    $(Chunk::$variant(chunk) => chunk.chunk_type(),)*
                    Chunk::Unknown(chunk) => chunk.chunk_type(),
                }
            }

            fn flags(&self) -> u8 {
                self.body().flags()
            }

            fn value_len(&self) -> usize {
                self.body().value_len()
            }

            fn encode_value(&self, out: &mut Vec<u8>) {
                self.body().encode_value(out);
            }
        }

        $(impl<'a> From<$body> for Chunk<'a> {
            #[inline]
            fn from(chunk: $body) -> Self {
                Chunk::$variant(chunk)
            }
        })*
    };
}

chunks! {
    /// Payload data.
    Data(Data<'a>) = DATA;
    /// Initiation.
    Init(Init<'a>) = INIT;
    /// Initiation acknowledgement.
    InitAck(InitAck<'a>) = INIT_ACK;
    /// Selective acknowledgement.
    Sack(Sack<'a>) = SACK;
    /// Heartbeat request.
    Heartbeat(Heartbeat<'a>) = HEARTBEAT;
    /// Heartbeat acknowledgement.
    HeartbeatAck(HeartbeatAck<'a>) = HEARTBEAT_ACK;
    /// Abort association.
    Abort(Abort<'a>) = ABORT;
    /// Shutdown association.
    Shutdown(Shutdown) = SHUTDOWN;
    /// Shutdown acknowledgement.
    ShutdownAck(ShutdownAck) = SHUTDOWN_ACK;
    /// Operation error.
    Error(Error<'a>) = ERROR;
    /// State cookie, returned to its author.
    CookieEcho(CookieEcho<'a>) = COOKIE_ECHO;
    /// Cookie acknowledgement.
    CookieAck(CookieAck) = COOKIE_ACK;
    /// Explicit congestion notification echo.
    Ecne(Ecne) = ECNE;
    /// Congestion window reduced.
    Cwr(Cwr) = CWR;
    /// Shutdown complete.
    ShutdownComplete(ShutdownComplete) = SHUTDOWN_COMPLETE;
    /// Authentication.
    Auth(Auth<'a>) = AUTH;
    /// Padding.
    Pad(Pad) = PAD;
    /// Forward cumulative TSN.
    ForwardTsn(ForwardTsn<'a>) = FORWARD_TSN;
    /// Address configuration change.
    Asconf(Asconf<'a>) = ASCONF;
    /// Address configuration acknowledgement.
    AsconfAck(AsconfAck<'a>) = ASCONF_ACK;
    /// Payload data, interleaved.
    IData(IData<'a>) = I_DATA;
    /// Forward cumulative TSN, with interleaving.
    IForwardTsn(IForwardTsn<'a>) = I_FORWARD_TSN;
    /// Protected chunks of a whole packet.
    Dtls(Dtls<'a>) = DTLS;
    /// Re-configuration of streams.
    ReConfig(ReConfig<'a>) = RE_CONFIG;
    /// Limits of streams.
    StreamCredit(StreamCredit<'a>) = STREAM_CREDIT;
    /// Request for limits of streams.
    StreamBlocked(StreamBlocked<'a>) = STREAM_BLOCKED;
    /// What an address costs the sender.
    PathCost(PathCost) = PATH_COST;
}

impl<'a> From<UnknownChunk<'a>> for Chunk<'a> {
    fn from(chunk: UnknownChunk<'a>) -> Self {
        Chunk::Unknown(chunk)
    }
}

impl<'a> Chunk<'a> {
    /// Parses the first chunk of `bytes`; later bytes are ignored.
    ///
    /// # Errors
    /// If the bytes are badly framed, or the value breaks the rules of its type.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ChunkError> {
        Self::from_whole(split(bytes)?.whole)
    }
}

/// Delimits the first chunk of `bytes`.
#[inline]
fn split(bytes: &[u8]) -> Result<tlv::Frame<'_>, ChunkError> {
    tlv::split(bytes).map_err(|error| {
        // A chunk's type is one byte; the flags follow it where parameters have the rest of their type.
        ChunkError::Framing(match error {
            FramingError::TruncatedHeader { .. } => error,
            FramingError::LengthTooShort { typ, length } => {
                FramingError::LengthTooShort { typ: typ >> 8, length }
            }
            FramingError::LengthTooLong { typ, length, left } => {
                FramingError::LengthTooLong { typ: typ >> 8, length, left }
            }
        })
    })
}

/// Iterator over the chunks of a packet. It yields at most one item per 4 bytes, and ends after a framing
/// error.
#[derive(Clone, Copy, Debug)]
pub struct Chunks<'a> {
    rest: &'a [u8],
}

impl<'a> Chunks<'a> {
    /// Iterates over the chunks in `bytes`, which follow a common header.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the unread bytes, beginning with the next chunk.
    ///
    /// If the next chunk is an AUTH, its HMAC covers these bytes (RFC 4895 §6.3).
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the next chunk without parsing it: its type, and its header and value without padding.
    #[inline]
    pub fn next_raw(&mut self) -> Option<Result<(ChunkType, &'a [u8]), ChunkError>> {
        if self.rest.is_empty() {
            return None;
        }
        match split(self.rest) {
            Ok(frame) => {
                self.rest = frame.rest;
                Some(Ok((ChunkType(frame.whole[0]), frame.whole)))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(error))
            }
        }
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, ChunkError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some(self.next_raw()?.and_then(|(_, whole)| Chunk::from_whole(whole)))
    }
}

impl FusedIterator for Chunks<'_> {}
