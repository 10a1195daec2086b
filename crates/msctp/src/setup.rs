//! Associations before the application has them: [`Connecting`] and [`Incoming`].

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use msctp_proto::wire::CauseCode;
use msctp_proto::{AbortReason, Agreed, LossReason};

use crate::association::Association;
use crate::error::{AssociationError, ConnectError};

/// A set-up that [`Endpoint::connect`](crate::Endpoint::connect) began. Await it for the association.
///
/// Dropping it cancels the set-up: the peer gets an ABORT if it has answered.
#[must_use = "dropping it cancels the set-up"]
pub struct Connecting {
    /// `None`: the result was returned.
    begun: Option<Result<Association, ConnectError>>,
    udp_port: u16,
    /// True if this end offers protection.
    offers: bool,
    /// What begins again from another SCTP port, if this end may choose it.
    again: Option<Again>,
    early: bool,
}

/// A set-up to repeat from another random SCTP port: behind one NAT, two hosts may have the same. The peer
/// then refuses the later one (draft-tuexen-tsvwg-sctp-udp-encaps-cons-03 §4.4).
struct Again {
    begin: Box<Begin>,
    left: u8,
}

/// Begins from another random port; `None` if the endpoint is gone.
pub(crate) type Begin = dyn Fn() -> Option<Result<Association, ConnectError>> + Send + Sync;

/// Number of other ports to try: even with a tenth of them in use behind a NAT, all are in one of a million.
const OTHER_PORTS: u8 = 5;

impl Connecting {
    pub(crate) fn new(begun: Result<Association, ConnectError>, udp_port: u16, offers: bool) -> Self {
        Self { begun: Some(begun), udp_port, offers, again: None, early: false }
    }

    pub(crate) fn with_other_ports(self, begin: Box<Begin>) -> Self {
        Self { again: Some(Again { begin, left: OTHER_PORTS }), ..self }
    }

    /// Begins again from another port, if the peer refused this one. Returns whether it did.
    fn begin_again(&mut self, error: &AssociationError) -> bool {
        let taken = Some(CauseCode::RESTART_WITH_NEW_PORT.0);
        let is_taken =
            matches!(error, AssociationError::Lost(LossReason::PeerAborted { cause, .. }) if *cause == taken);
        let Some(again) = self.again.as_mut().filter(|again| is_taken && again.left > 0) else {
            return false;
        };
        again.left -= 1;
        let Some(begun) = (again.begin)() else { return false };
        #[cfg(feature = "tls")]
        if let (true, Ok(association)) = (self.early, &begun) {
            association.start_early();
        }
        self.begun = Some(begun);
        true
    }

    /// Completes as soon as data may be sent: with False Start, two round trips after the INIT instead of
    /// three ([`Tls::false_start`](crate::security::Tls::false_start)).
    ///
    /// By then the peer is authenticated, but has not checked this end's key. If it rejects the key, it
    /// delivers nothing and ends the association.
    #[cfg(feature = "tls")]
    pub fn false_start(mut self) -> Self {
        self.early = true;
        if let Some(association) = self.association() {
            association.start_early();
        }
        self
    }

    fn association(&self) -> Option<&Association> {
        self.begun.as_ref()?.as_ref().ok()
    }

    /// Returns the local addresses and UDP ports that the set-up offers to the peer. Empty if it failed at
    /// once.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.association().map(Association::local_addresses).unwrap_or_default()
    }

    /// Returns the peer's addresses, the first to be used first. Empty if the set-up failed at once.
    pub fn remote_addresses(&self) -> Vec<SocketAddr> {
        self.association().map(Association::remote_addresses).unwrap_or_default()
    }

    /// Returns the local SCTP port: [`Peer::local_port`](crate::Peer), or the chosen one. `None` if the
    /// set-up failed at once.
    pub fn local_port(&self) -> Option<u16> {
        self.association().map(Association::local_port)
    }
}

impl Future for Connecting {
    type Output = Result<Association, ConnectError>;

    /// # Panics
    ///
    /// The result was returned before.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = loop {
            let Some(association) = self.association() else { break Ok(()) };
            match ready!(association.poll_established(cx)) {
                Err(error) if self.begin_again(&error) => {}
                result => break result,
            }
        };
        let begun = self.begun.take().expect("Connecting is not polled after it was ready");
        let result = result.map_err(|error| ConnectError::of(error, self.udp_port, self.offers));
        Poll::Ready(result.and(begun))
    }
}

impl fmt::Debug for Connecting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connecting")
            .field("remote_addresses", &self.remote_addresses())
            .finish_non_exhaustive()
    }
}

/// An association that a peer set up and the application has not accepted yet, from
/// [`Endpoint::incoming`](crate::Endpoint::incoming).
///
/// An endpoint keeps no state for an INIT (RFC 9260 §5.1). It returns an `Incoming` after the COOKIE ECHO,
/// which proves that the source address is the peer's, and which the endpoint answered with COOKIE ACK. A
/// refused peer therefore sees its association come up and end with an ABORT that has the reason.
///
/// Dropping it refuses the association without a reason.
#[must_use = "dropping it refuses the association"]
pub struct Incoming {
    /// The association; `None` after it was accepted.
    association: Option<Association>,
}

impl Incoming {
    pub(crate) fn new(association: Association) -> Self {
        Self { association: Some(association) }
    }

    fn look<R: Default>(&self, f: impl FnOnce(&Association) -> R) -> R {
        self.association.as_ref().map(f).unwrap_or_default()
    }

    /// Returns the peer's addresses and UDP ports. The first is the source of its COOKIE ECHO; the others are
    /// unconfirmed until a HEARTBEAT is answered ([`Association::paths`]).
    pub fn remote_addresses(&self) -> Vec<SocketAddr> {
        self.look(Association::remote_addresses)
    }

    /// Returns the local addresses that the peer reached or was offered.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.look(Association::local_addresses)
    }

    /// Returns the peer's SCTP port.
    pub fn remote_port(&self) -> u16 {
        self.look(Association::remote_port)
    }

    /// Returns the streams and extensions that both ends support, or `None` if the association has ended.
    pub fn agreed(&self) -> Option<Agreed> {
        self.look(Association::agreed)
    }

    /// Returns the peer's key and certificates, as TLS authenticated them, or `None` without TLS
    /// ([`Tls`](crate::security::Tls)).
    #[cfg(feature = "tls")]
    pub fn peer_identity(&self) -> Option<std::sync::Arc<msctp_security::PeerIdentity>> {
        self.look(Association::peer_identity)
    }

    /// Accepts the association.
    #[must_use]
    pub fn accept(mut self) -> Association {
        self.association.take().expect("only accept takes it")
    }

    /// Refuses the association: the peer gets an ABORT with this reason (RFC 9260 §3.3.10.12), which may be
    /// empty: text, bytes or a code.
    pub fn refuse(mut self, reason: impl Into<AbortReason>) {
        if let Some(association) = self.association.take() {
            association.abort(reason);
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.look(|association| association.abort(AbortReason::default()));
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").field("remote_addresses", &self.remote_addresses()).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "setup_tests.rs"]
mod tests;
