//! The application's calls on stream scheduling and negotiated options.

use super::Association;
use crate::error::SendError;
use crate::extensions::{Agreed, Extensions};
use crate::outbound::scheduler::{self, UnknownScheduler};
use crate::stats::AssociationState;

impl Association {
    /// Returns the negotiated options; `None` before the association is up.
    pub fn agreed(&self) -> Option<Agreed> {
        let tags = self.tags();
        let known = !matches!(self.state(), AssociationState::CookieWait) && tags.peer_tag != 0;
        let has = |extension| tags.extensions.has(extension);
        known.then(|| Agreed {
            outbound_streams: tags.outbound_streams,
            inbound_streams: tags.inbound_streams,
            dynamic_addresses: has(Extensions::ASCONF),
            authentication: self.auth.is_spoken(),
            protection: self.is_protected(),
            partial_reliability: tags.extensions.forwards(),
            interleaving: tags.extensions.interleaves(),
            reconfiguration: has(Extensions::RE_CONFIG),
            ecn: has(Extensions::ECN),
            stream_credit: self.uses_credit(),
        })
    }

    /// Returns the SCTP ports of this end and of the peer.
    pub fn ports(&self) -> (u16, u16) {
        (self.tags().local_port, self.tags().peer_port)
    }

    /// Chooses the stream scheduler by its name in [`schedulers`](crate::schedulers) (RFC 8260 §4.3.2). The
    /// values of streams stay; a partly sent message continues. Default: `Config::streams`.
    ///
    /// # Errors
    ///
    /// No scheduler has that name.
    pub fn set_scheduler(&mut self, name: &str) -> Result<(), UnknownScheduler> {
        self.outbound.set_scheduler(scheduler::create(name)?);
        Ok(())
    }

    /// Sets a stream's value for the scheduler (RFC 8260 §4.3.3): `priority` sends the lowest value first,
    /// and `weighted-fair` uses it as the weight. Other schedulers ignore it. The default is 0.
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`]: the stream does not exist.
    pub fn set_stream_value(&mut self, stream: u16, value: u16) -> Result<(), SendError> {
        self.outbound.set_stream_value(stream, value)
    }
}
