//! [`DataFault`]: protocol violations in DATA chunks. No state.

/// A DATA chunk that violates the protocol, so that the association must be aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DataFault {
    /// A DATA chunk without user data, answered by ABORT with the cause No User Data (RFC 9260 §6.2).
    #[error("DATA chunk without user data")]
    NoUserData,
    /// A message begins (B) where fragments of another one must follow (RFC 9260 §6.9).
    #[error("first fragment inside another message")]
    BeginInsideMessage,
    /// A fragment without B where no message can continue (RFC 9260 §6.9).
    #[error("fragment of a message that has no first fragment")]
    NoBegin,
    /// Fragments of one message with different stream, U flag or stream sequence number (RFC 9260 §3.3.1).
    #[error("fragments of one message differ in stream, U flag or stream sequence number")]
    FragmentsDiffer,
    /// The stream sequence number arrived twice, or is not the next one although all earlier data has arrived
    /// (RFC 9260 §6.5).
    #[error("stream sequence number skipped or repeated")]
    StreamSequence,
    /// A fragment arrived twice with different TSNs, or follows the last one (RFC 8260 §2.1).
    #[error("fragment repeated, or after the last one of its message")]
    FragmentRepeated,
    /// A message begins inside another one of its stream, which RFC 8260 §2 forbids. The receive buffer is
    /// full and has nothing to read.
    #[error("several messages of one stream at a time fill the receive buffer")]
    Unfinished,
    /// DATA arrived although I-DATA was negotiated, or the reverse (RFC 8260 §2.2.3).
    #[error("DATA and I-DATA in one association")]
    WrongChunk,
}

impl DataFault {
    /// Returns the error cause code of the ABORT (RFC 9260 §3.3.10).
    pub(crate) const fn cause(self) -> msctp_wire::CauseCode {
        match self {
            Self::NoUserData => msctp_wire::CauseCode::NO_USER_DATA,
            _ => msctp_wire::CauseCode::PROTOCOL_VIOLATION,
        }
    }
}
