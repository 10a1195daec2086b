//! The protocols between two commands. Each has a payload protocol identifier (RFC 9260 §3.3.1) of its own,
//! so that a command that reaches the wrong one is told at once. Control messages are JSON on [`CONTROL`].

use std::time::Duration;

use msctp::{Association, Message, OutMessage};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::text::shown;
use crate::Failure;

/// Stream of the bytes that `connect` and `serve` exchange.
pub(crate) const BYTES: u16 = 0;
/// Stream of control messages.
pub(crate) const CONTROL: u16 = 1;
/// Stream of the data that control messages are about.
pub(crate) const DATA: u16 = 2;

/// A client that says nothing for so long has no place at a server.
pub(crate) const FIRST_MESSAGE: Duration = Duration::from_secs(15);
/// How long the other end may take to read why it is turned away, or to end what is over.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// `connect` and `serve`.
    Bytes,
    /// `send` and `recv`.
    Files,
    /// `perf` and `perf --server`.
    Perf,
}

impl Service {
    /// Payload protocol identifier of its control messages. Neither value is registered with IANA.
    const fn ppid(self) -> u32 {
        match self {
            Self::Bytes => 0,
            Self::Files => u32::from_be_bytes(*b"msFI"),
            Self::Perf => u32::from_be_bytes(*b"msPE"),
        }
    }

    pub(crate) const fn client(self) -> &'static str {
        match self {
            Self::Bytes => "msctp connect",
            Self::Files => "msctp send",
            Self::Perf => "msctp perf",
        }
    }

    pub(crate) const fn server(self) -> &'static str {
        match self {
            Self::Bytes => "msctp serve",
            Self::Files => "msctp recv",
            Self::Perf => "msctp perf --server",
        }
    }

    /// The service that a message belongs to. Whatever is not ours are bytes.
    pub(crate) fn of(message: &Message) -> Self {
        let controls = [Self::Files, Self::Perf];
        let ours = |service: &Self| message.stream == CONTROL && message.ppid == service.ppid();
        controls.into_iter().find(ours).unwrap_or(Self::Bytes)
    }

    /// Ends an association whose client wants another service, and tells it so; what happened, in words.
    pub(crate) fn turn_away(self, association: &Association, wanted: Self) -> Failure {
        association.abort(format!(
            "this is `{}`; `{}` wants `{}` there",
            self.server(),
            wanted.client(),
            wanted.server()
        ));
        Failure::Run(format!(
            "turned away: a client of `{}`, and this is `{}`",
            wanted.server(),
            self.server()
        ))
    }

    /// Sends a control message.
    pub(crate) async fn say(
        self,
        association: &Association,
        message: &impl Serialize,
    ) -> Result<(), Failure> {
        let text = serde_json::to_vec(message).map_err(|e| super::failed("control message")(&e))?;
        let message =
            OutMessage { stream: CONTROL, ppid: self.ppid(), data: text.into(), ..OutMessage::default() };
        association.send(message).await.map_err(|e| super::failed("sending")(&e))
    }

    /// Reads a control message.
    pub(crate) fn read<T: DeserializeOwned>(self, message: &Message) -> Result<T, Failure> {
        if message.stream != CONTROL {
            return Err(Failure::Run(format!("the peer sent data on stream {} out of turn", message.stream)));
        }
        serde_json::from_slice(&message.data).map_err(|error| {
            let (client, server) = (self.client(), self.server());
            Failure::Run(format!("the peer is no `{client}` or `{server}`: {}", shown(&error.to_string())))
        })
    }

    /// Receives a control message.
    pub(crate) async fn hear<T: DeserializeOwned>(self, association: &Association) -> Result<T, Failure> {
        let message = association.recv().await.map_err(|e| super::failed("receiving")(&e))?;
        self.read(&message.ok_or_else(|| Failure::Run("the peer ended the association early".to_owned()))?)
    }

    /// A server's answer to a client, which it gives at once.
    pub(crate) async fn answer<T: DeserializeOwned>(
        self,
        association: &Association,
        within: Duration,
    ) -> Result<T, Failure> {
        tokio::time::timeout(within, self.hear(association)).await.unwrap_or_else(|_| {
            let seconds = within.as_secs();
            Err(Failure::Run(format!(
                "connected, but no answer for {seconds} s: is `{}` running there?",
                self.server()
            )))
        })
    }

    /// A client's first message to a server. One that belongs to another service ends the association.
    pub(crate) async fn first<T: DeserializeOwned>(self, association: &Association) -> Result<T, Failure> {
        let Ok(message) = tokio::time::timeout(FIRST_MESSAGE, association.recv()).await else {
            let seconds = FIRST_MESSAGE.as_secs();
            association.abort(format!("this is `{}`, and nothing came for {seconds} s", self.server()));
            return Err(Failure::Run(format!("turned away: a client that said nothing for {seconds} s")));
        };
        let message = message.map_err(|e| super::failed("receiving")(&e))?;
        let message = message.ok_or_else(|| Failure::Run("the client left without a word".to_owned()))?;
        match Self::of(&message) {
            wanted if wanted == self => self.read(&message),
            wanted => Err(self.turn_away(association, wanted)),
        }
    }
}

/// Waits until the peer has ended the association, reading what still comes, and aborts it after
/// [`LAST_WORDS`].
pub(crate) async fn see_off(association: &Association, why: &str) {
    let rest = async { while let Ok(Some(_)) = association.recv().await {} };
    if tokio::time::timeout(LAST_WORDS, rest).await.is_err() {
        association.abort(why.to_owned());
    }
}
