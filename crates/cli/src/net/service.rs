//! [`Service`]: the protocols between two commands. Each has its own payload protocol identifier (RFC 9260
//! §3.3.1), so that a server rejects a client of another service at once. Control messages are JSON on
//! [`CONTROL`].

use std::time::Duration;

use msctp::{Association, Message, OutMessage};
use msctp_terminal::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::text::escape;

/// Stream of the bytes that `connect` and `serve` exchange.
pub(crate) const BYTES: u16 = 0;
/// Stream of control messages.
pub(crate) const CONTROL: u16 = 1;
/// Stream of the data that the control messages describe.
pub(crate) const DATA: u16 = 2;

/// Time for which a server waits for a client's first message.
pub(crate) const FIRST_TIMEOUT: Duration = Duration::from_secs(15);
/// Idle timeout of `recv` and `perf --server`, after which a killed client is detected. It is shorter than
/// the endpoint's, because such a client keeps others waiting. HEARTBEATs keep an idle association alive.
pub(crate) const CLIENT_GONE: Duration = Duration::from_secs(15);
/// Time to wait until the peer has read the last message and ended the association.
pub(crate) const END_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// `connect` and `serve`.
    Bytes,
    /// `send` and `recv`.
    Files,
    /// `perf` and `perf --server`.
    Perf,
    /// `forward` and `serve --allow`.
    Forward,
    /// `tunnel` and `serve --tunnel`.
    Tunnel,
}

impl Service {
    /// Returns the payload protocol identifier of control messages. Neither value is registered with IANA.
    const fn ppid(self) -> u32 {
        match self {
            Self::Bytes => 0,
            Self::Files => u32::from_be_bytes(*b"msFI"),
            Self::Perf => u32::from_be_bytes(*b"msPE"),
            Self::Forward => msctp_forward::frame::kind(b'J'),
            Self::Tunnel => u32::from_be_bytes(*b"msTU"),
        }
    }

    pub(crate) const fn client(self) -> &'static str {
        match self {
            Self::Bytes => "msctp connect",
            Self::Files => "msctp send",
            Self::Perf => "msctp perf",
            Self::Forward => "msctp forward",
            Self::Tunnel => "msctp tunnel",
        }
    }

    pub(crate) const fn server(self) -> &'static str {
        match self {
            Self::Bytes => "msctp serve",
            Self::Files => "msctp recv",
            Self::Perf => "msctp perf --server",
            Self::Forward => "msctp serve --allow",
            Self::Tunnel => "msctp serve --tunnel",
        }
    }

    /// Returns the service of a message; `Bytes` for other implementations.
    pub(crate) fn of(message: &Message) -> Self {
        if msctp_forward::frame::is_ours(message.ppid) {
            return Self::Forward;
        }
        let controls = [Self::Files, Self::Perf, Self::Tunnel];
        controls.into_iter().find(|service| service.is_control(message)).unwrap_or(Self::Bytes)
    }

    /// Returns whether a message is a control message of this service.
    pub(crate) fn is_control(self, message: &Message) -> bool {
        message.stream == CONTROL && message.ppid == self.ppid()
    }

    /// Aborts the association of a client of another service, with the reason. Returns the failure to log.
    pub(crate) fn reject(self, association: &Association, wanted: Self) -> Failure {
        association.abort(format!(
            "this is `{}`; `{}` wants `{}` there",
            self.server(),
            wanted.client(),
            wanted.server()
        ));
        Failure::Run(format!("rejected: it is `{}`, which wants `{}`", wanted.client(), wanted.server()))
    }

    /// Aborts the association of a client that sent nothing for [`FIRST_TIMEOUT`]. Only `msctp connect` may
    /// wait for its user.
    pub(crate) fn abort_silent(self, association: &Association) {
        let (seconds, other) = (FIRST_TIMEOUT.as_secs(), Self::Bytes);
        association.abort(format!(
            "this is `{}`, and it received nothing for {seconds} s; `{}` wants `{}` there",
            self.server(),
            other.client(),
            other.server()
        ));
    }

    /// Sends a control message.
    pub(crate) async fn send(
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
            return Err(Failure::Run(format!("the peer sent unexpected data on stream {}", message.stream)));
        }
        serde_json::from_slice(&message.data).map_err(|error| {
            let (client, server) = (self.client(), self.server());
            Failure::Run(format!(
                "the peer is neither `{client}` nor `{server}`: {}",
                escape(&error.to_string())
            ))
        })
    }

    /// Receives a control message.
    pub(crate) async fn receive<T: DeserializeOwned>(self, association: &Association) -> Result<T, Failure> {
        let message = association.recv().await.map_err(|e| super::failed("receiving")(&e))?;
        self.read(&message.ok_or_else(|| Failure::Run("the peer ended the association early".to_owned()))?)
    }

    /// Receives the server's answer, which it sends at once.
    pub(crate) async fn receive_answer<T: DeserializeOwned>(
        self,
        association: &Association,
        within: Duration,
    ) -> Result<T, Failure> {
        tokio::time::timeout(within, self.receive(association)).await.unwrap_or_else(|_| {
            let seconds = within.as_secs();
            Err(Failure::Run(format!(
                "connected, but no answer for {seconds} s: is `{}` running there?",
                self.server()
            )))
        })
    }

    /// Receives a client's first message. Rejects a client of another service.
    pub(crate) async fn receive_first<T: DeserializeOwned>(
        self,
        association: &Association,
    ) -> Result<T, Failure> {
        let Ok(message) = tokio::time::timeout(FIRST_TIMEOUT, association.recv()).await else {
            self.abort_silent(association);
            let seconds = FIRST_TIMEOUT.as_secs();
            return Err(Failure::Run(format!("rejected: the client sent nothing for {seconds} s")));
        };
        let message = message.map_err(|e| super::failed("receiving")(&e))?;
        let message = message.ok_or_else(|| {
            Failure::Run("the client ended the association before its first message".to_owned())
        })?;
        match Self::of(&message) {
            wanted if wanted == self => self.read(&message),
            wanted => Err(self.reject(association, wanted)),
        }
    }
}

/// Waits until the peer has ended the association, discarding further messages, and aborts it after
/// [`END_TIMEOUT`].
pub(crate) async fn drain(association: &Association, why: &str) {
    let rest = async { while let Ok(Some(_)) = association.recv().await {} };
    if tokio::time::timeout(END_TIMEOUT, rest).await.is_err() {
        association.abort(why.to_owned());
    }
}
