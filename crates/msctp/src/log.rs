//! [`Log`]: an association's span and events for the crate `tracing`. Empty without the feature `tracing`.

use msctp_proto::{Endpoint as Core, Event, Handle};

/// The target of all spans and events, whichever module they are in.
#[cfg(feature = "tracing")]
const TARGET: &str = "msctp";

/// Reports a set-up that this end rejected. A flood may cause any number: level DEBUG.
#[cfg(feature = "tls")]
pub(crate) fn rejected(remote: std::net::SocketAddr, error: &crate::tls::Rejection) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: TARGET, %remote, %error, "set-up rejected");
    #[cfg(not(feature = "tracing"))]
    let _ = (remote, error);
}

/// Reports that the endpoint does not learn of changes of the host's interfaces.
pub(crate) fn not_followed(error: &std::io::Error) {
    #[cfg(feature = "tracing")]
    tracing::warn!(
        target: TARGET,
        %error,
        "cannot follow this host's interfaces: associations move only by add_address and remove_address"
    );
    #[cfg(not(feature = "tracing"))]
    let _ = error;
}

/// The span of an association.
#[derive(Debug)]
pub(crate) struct Log(#[cfg(feature = "tracing")] tracing::Span);

#[cfg(not(feature = "tracing"))]
impl Log {
    pub(crate) fn none() -> Self {
        Self()
    }

    pub(crate) fn begin(_core: &Core, _handle: Handle, _number: u64, _connects: bool) -> Self {
        Self()
    }

    pub(crate) fn event(&self, _core: &Core, _handle: Handle, _event: &Event) {}
}

#[cfg(feature = "tracing")]
impl Log {
    /// Creates the log of an association whose span has not begun.
    pub(crate) fn none() -> Self {
        Self(tracing::Span::none())
    }

    /// Opens the span of an association. `number` is that of traces; `connects` is true if this end began it,
    /// and then the span is within the caller's.
    pub(crate) fn begin(core: &Core, handle: Handle, number: u64, connects: bool) -> Self {
        let Some(association) = core.association(handle) else { return Self::none() };
        let (local_port, remote_port) = association.ports();
        let remote = association.paths().find(|path| path.primary).map(|path| path.at.remote);
        let remote = remote.map(tracing::field::display);
        macro_rules! span {
            ($($parent:tt)*) => {
                tracing::info_span!(
                    target: TARGET, $($parent)* "association", number, local_port, remote_port, remote, connects
                )
            };
        }
        let span = if connects { span!() } else { span!(parent: None,) };
        span.in_scope(|| tracing::debug!(target: TARGET, "set-up begins"));
        Self(span)
    }

    /// Reports an event of the core.
    pub(crate) fn event(&self, core: &Core, handle: Handle, event: &Event) {
        use tracing::{debug, info, warn};
        if self.0.is_disabled() {
            return;
        }
        let _inside = self.0.enter();
        let at = |id| {
            let association = core.association(handle)?;
            association.paths().find(|path| path.id == id).map(|path| path.at)
        };
        let local = |id| at(id).map(|at| tracing::field::display(at.local));
        let remote = |id| at(id).map(|at| tracing::field::display(at.remote));
        match event {
            Event::Connected { outbound_streams, inbound_streams } => {
                info!(target: TARGET, outbound_streams, inbound_streams, "association up");
            }
            Event::Restarted => warn!(target: TARGET, "the peer restarted the association"),
            Event::ReceiveBufferFull => {
                warn!(target: TARGET, "the receive buffer is full of unread data: the peer cannot send on any stream");
            }
            Event::PathAdded { path, at } => {
                debug!(target: TARGET, %path, local = %at.local, remote = %at.remote, "path added");
            }
            Event::PathRemoved { path, at } => {
                debug!(target: TARGET, %path, local = %at.local, remote = %at.remote, "path removed");
            }
            Event::PathState { path, state } => {
                info!(target: TARGET, %path, %state, local = local(*path), remote = remote(*path), "path state");
            }
            Event::PathMtu { path, pmtu } => debug!(target: TARGET, %path, pmtu, "path MTU"),
            Event::PrimaryChanged { path, cause } => {
                info!(target: TARGET, %path, %cause, local = local(*path), remote = remote(*path), "primary path changed");
            }
            Event::AddressChange { request, accepted } => {
                info!(target: TARGET, ?request, accepted, "the peer answered an address change");
            }
            Event::Authentication(event) => debug!(target: TARGET, ?event, "authentication"),
            Event::PeerError { cause } => debug!(target: TARGET, cause, "the peer sent an ERROR chunk"),
            Event::PeerShutdown => debug!(target: TARGET, "the peer shuts down"),
            Event::Closed => info!(target: TARGET, "association closed"),
            Event::Lost(msctp_proto::LossReason::Aborted) => {
                info!(target: TARGET, "association aborted by this end");
            }
            Event::Lost(reason) => {
                let reason = crate::AssociationError::Lost(reason.clone());
                warn!(target: TARGET, %reason, "association lost");
            }
            // One for each message or for each time a queue fills or empties.
            Event::Readable
            | Event::StreamReadable(_)
            | Event::Writable
            | Event::StreamWritable(_)
            | Event::SendFailed(_) => {}
            Event::KeyMessage => {}
            other => debug!(target: TARGET, event = ?other, "event"),
        }
    }
}

#[cfg(all(test, not(feature = "tracing")))]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_a_log_takes_no_memory() {
        assert_eq!(size_of::<Log>(), 0);
    }
}
