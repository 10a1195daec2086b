//! Options of streams and messages: the scheduler, and which of the extensions that concern messages are
//! offered.

use crate::error::ConfigError;
use crate::outbound::scheduler;
use crate::reconfig::Reconfiguration;

/// Options of streams and messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamsConfig {
    /// Stream scheduler, by its name in [`scheduler::schedulers`]. The default, `first-come`, sends messages
    /// in the order of the calls.
    pub scheduler: String,
    /// Announces partial reliability (RFC 3758). Default: true. With a peer that also announces it, messages
    /// with a limited [`Reliability`](crate::Reliability) can also be abandoned after they were sent.
    pub partial_reliability: bool,
    /// Announces interleaving (RFC 8260 §2). Default: false, as RFC 8260 §2.2.1 requires. With a peer that
    /// also announces it, messages use I-DATA chunks, which are 4 bytes longer than DATA chunks. A large
    /// message then does not block those of other streams.
    pub interleaving: bool,
    /// Whether streams can be reset and added, and whether the peer may request it (RFC 6525). Default:
    /// [`Accept`].
    ///
    /// [`Accept`]: Reconfiguration::Accept
    pub reconfiguration: Reconfiguration,
}

impl Default for StreamsConfig {
    fn default() -> Self {
        Self {
            scheduler: scheduler::DEFAULT.to_owned(),
            partial_reliability: true,
            interleaving: false,
            reconfiguration: Reconfiguration::Accept,
        }
    }
}

impl StreamsConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        scheduler::create(&self.scheduler).map(drop).map_err(|error| ConfigError {
            field: "scheduler",
            value: self.scheduler.clone(),
            want: error.want(),
        })
    }
}
