//! What the two ends of a measurement say to each other, as [`Service::Perf`](crate::net::service::Service).

use serde::{Deserialize, Serialize};

use super::measure::Side;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Message {
    /// What is to be measured.
    Start {
        milliseconds: u64,
        /// Bytes of each message.
        len: usize,
        /// The server sends.
        reverse: bool,
    },
    /// The measurement begins.
    Ready,
    /// The server measures with somebody else.
    Busy,
    /// No more data.
    End,
    /// What the server found.
    Result { side: Side },
}
