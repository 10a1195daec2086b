//! What the two ends of a measurement say to each other: JSON on stream 0; the data is on stream 1.

use msctp::{Association, OutMessage};
use serde::{Deserialize, Serialize};

use super::measure::Side;
use crate::Failure;
use crate::net::failed;

/// Stream of what is said.
pub(super) const CONTROL: u16 = 0;
/// Stream of the data.
pub(super) const DATA: u16 = 1;

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
    /// No more data.
    End,
    /// What the server found.
    Result { side: Side },
}

impl Message {
    pub(super) async fn send(&self, association: &Association) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).map_err(|e| failed("message")(&e))?;
        let message = OutMessage {
            stream: CONTROL,
            ppid: 0,
            unordered: false,
            data: text.into(),
            ..OutMessage::default()
        };
        association.send(message).await.map_err(|e| failed("sending")(&e))
    }

    pub(super) fn read(message: &msctp::Message) -> Result<Self, Failure> {
        if message.stream != CONTROL {
            return Err(Failure::Run("data where none belongs".to_owned()));
        }
        serde_json::from_slice(&message.data)
            .map_err(|error| Failure::Run(format!("the peer is no `msctp perf`: {error}")))
    }
}

pub(super) async fn receive(association: &Association) -> Result<Message, Failure> {
    let message = association.recv().await.map_err(|e| failed("receiving")(&e))?;
    Message::read(&message.ok_or_else(|| Failure::Run("the peer ended the measurement".to_owned()))?)
}
