//! SCTP on the wire: packets, chunks, parameters, error causes and the CRC32c.
//!
//! Stateless and sans-IO. Parsing is total: every input gives a value or a typed error, in time linear in
//! its length and without allocation. One type serves both directions: the parser returns a view into the
//! input, and a builder takes the same struct made from slices.
//!
//! ```
//! use msctp_wire::{Checksum, Chunk, Data, DataFlags, Packet, PacketBuilder};
//! use msctp_wire::{Ppid, Ssn, StreamId, Tsn, VerificationTag};
//!
//! let data = Data {
//!     tsn: Tsn::new(7),
//!     stream: StreamId::new(1),
//!     ssn: Ssn::new(0),
//!     ppid: Ppid::new(0),
//!     flags: DataFlags::UNFRAGMENTED,
//!     payload: b"hello",
//! };
//! let mut out = Vec::new();
//! let mut packet = PacketBuilder::new(&mut out, 5000, 5001, VerificationTag::new(0xabcd), 1500);
//! packet.push(&data)?;
//! packet.finish();
//!
//! let packet = Packet::parse(&out, Checksum::Verify)?;
//! assert_eq!(packet.header.dst_port, 5001);
//! assert_eq!(packet.chunks().next(), Some(Ok(Chunk::Data(data))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
pub mod cause;
pub mod checksum;
pub mod chunk;
mod codes;
mod error;
mod ids;
mod layout;
mod list;
mod packet;
pub mod param;
mod read;
mod serial;
mod tlv;
mod tlv_enum;
mod unknown;

pub use builder::{AuthPlan, AuthSlot, Full, PacketBuilder};
pub use cause::{Cause, CauseCode, Causes};
pub use checksum::{crc32c, write_checksum};
pub use chunk::{
    Abort, Asconf, AsconfAck, Auth, Chunk, ChunkSet, ChunkType, Chunks, CookieAck, CookieEcho, Cwr, Data,
    DataFlags, Dtls, Ecne, EncodeChunk, Error, ForwardTsn, Fragment, GapBlock, Heartbeat, HeartbeatAck,
    IData, IForwardTsn, Init, InitAck, Pad, PathCost, ReConfig, Sack, Shutdown, ShutdownAck,
    ShutdownComplete, SkippedMessages, SkippedStream, StreamBlocked, StreamCredit, StreamLimit, UnknownChunk,
};
pub use error::{BundlingError, CauseError, ChunkError, FramingError, Malformed, PacketError, ParamError};
pub use ids::{CorrelationId, HmacId, KeyManagementId, Ppid, StreamId, VerificationTag};
pub use list::{Item, List, ListIter};
pub use packet::{Checksum, CommonHeader, Packet};
pub use param::{Param, ParamType, Params};
pub use serial::{AsconfSerial, Mid, ReconfigSerial, Ssn, Tsn};
pub use tlv::{Tlv, TlvList, TlvListIter};
pub use unknown::UnknownAction;
