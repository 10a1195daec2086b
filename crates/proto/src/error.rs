//! Errors of the *caller*, each with the allowed values; those of calls are in `call_error`. Errors of the
//! peer are events and counters.

use core::fmt::Display;
use core::ops::{Bound, RangeBounds};

/// An invalid configuration value: its field, the value and the allowed values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: want {want}")]
pub struct ConfigError {
    /// Name of the field of [`Config`](crate::Config) or of the argument.
    pub field: &'static str,
    /// The value given, as text.
    pub value: String,
    /// The allowed values.
    pub want: String,
}

/// Returns an error that names the field, its value and the allowed values, if `right` is false.
pub(crate) fn check(
    right: bool,
    field: &'static str,
    value: impl Display,
    want: impl Display,
) -> Result<(), ConfigError> {
    if right {
        return Ok(());
    }
    Err(ConfigError { field, value: value.to_string(), want: want.to_string() })
}

/// Checks that a value is in `range`. `unit` follows the limits in the error, such as " bytes".
pub(crate) fn within<T: PartialOrd + Display>(
    field: &'static str,
    value: T,
    range: impl RangeBounds<T>,
    unit: &str,
) -> Result<(), ConfigError> {
    if range.contains(&value) {
        return Ok(());
    }
    let want = match (range.start_bound(), range.end_bound()) {
        (Bound::Included(least), Bound::Included(most)) => format!("{least} to {most}{unit}"),
        (_, Bound::Included(most)) => format!("at most {most}{unit}"),
        (Bound::Included(limit) | Bound::Excluded(limit), _) => format!("at least {limit}{unit}"),
        (Bound::Unbounded, _) => unit.to_owned(),
    };
    check(false, field, value, want)
}

/// Why `send` rejected a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// There is no such stream.
    #[error("stream {stream}: this association has {streams} outbound streams, so want 0 to {}", .streams.saturating_sub(1))]
    InvalidStream {
        /// The stream requested.
        stream: u16,
        /// Negotiated number of outbound streams.
        streams: u16,
    },
    /// The message is empty. RFC 9260 §3.3.1: a DATA chunk carries at least one byte.
    #[error("empty message: want at least 1 byte")]
    Empty,
    /// The message is larger than the send buffer.
    #[error("message of {len} bytes: want at most {max} (send_buffer)")]
    TooLarge {
        /// Length of the message in bytes.
        len: usize,
        /// Maximum length of a message in bytes.
        max: usize,
    },
    /// The send buffer is full, or the peer's application has not read what was sent on the stream
    /// ([`Association::lacks_credit`](crate::Association::lacks_credit)).
    /// [`Event::Writable`](crate::Event::Writable) follows when there is room, or
    /// [`Event::StreamWritable`](crate::Event::StreamWritable) when the stream may go on.
    #[error("send buffer full: {free} bytes free, message has {len}; try again when there is room")]
    BufferFull {
        /// Length of the message in bytes.
        len: usize,
        /// Number of free bytes; 0 also if many small messages fill the buffer (`Config::send_buffer`).
        free: usize,
    },
    /// An ordered message on stream 0 has the payload protocol identifier of key management. That identifier
    /// is reserved for [`send_key_message`](crate::Association::send_key_message), which needs keys managed
    /// outside of the core.
    #[error("payload protocol identifier 4242 on stream 0 is that of key management: use another")]
    KeyManagement,
    /// No send keys are established yet ([`KeyManagement::external`](crate::KeyManagement)), so that the
    /// message would leave in clear.
    #[error("there are no keys yet: send after establish_send_keys")]
    NoKeys,
    /// Shutting down or closed.
    #[error("the association takes no more messages: it is shutting down or closed")]
    Closed,
}

/// The peer restarted the association: later messages belong to the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the peer restarted the association: the following messages belong to the new one")]
pub struct Restarted;
