//! The control messages of a measurement, as [`Service::Perf`](crate::net::service::Service).

use serde::{Deserialize, Serialize};

use super::measure::Side;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Message {
    /// The client requests a measurement.
    Start {
        milliseconds: u64,
        /// Bytes of each message.
        len: usize,
        /// The server sends.
        reverse: bool,
    },
    /// The server accepts the measurement.
    Ready,
    /// The server rejects the measurement, because another is in progress.
    Busy,
    /// The sender has sent all data.
    End,
    /// The server's result.
    Result { side: Side },
}
