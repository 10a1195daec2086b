//! Options of streams and messages: the scheduler, and which of the extensions that concern messages are offered.

use crate::ConfigError;
use crate::outbound::scheduler;

/// Options of streams and messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamsConfig {
    /// Which stream's message goes next, by its name in [`scheduler::schedulers`]; `first-come`, the default, sends
    /// messages in the order in which they were given.
    pub scheduler: String,
    /// Announce partial reliability (RFC 3758). True; with a peer that does so too, messages that are not to be fully reliable
    /// ([`Reliability`](crate::Reliability)) can be given up also after they were sent.
    pub partial_reliability: bool,
    /// Announce interleaving (RFC 8260 §2). With a peer that does so too, messages travel in I-DATA chunks, 4 bytes longer
    /// than DATA chunks, and a large message does not hold up those of other streams. False, as RFC 8260 §2.2.1 wants it.
    pub interleaving: bool,
    /// Announce stream reconfiguration (RFC 6525). True.
    pub reconfiguration: bool,
    /// The peer may reset its streams, and ask this end to reset its own (RFC 6525 §5.2.2, §5.2.3). True.
    pub peer_may_reset: bool,
    /// The peer may add streams, up to `max_inbound_streams`, and ask this end to add its own (RFC 6525 §5.2.5, §5.2.6). True.
    pub peer_may_add: bool,
    /// Set the I bit on a chunk after which a window holds back the next one (RFC 7053 §5.1). False: RFC 9260 leaves it
    /// open, and the peer's SACKs then come as they always did.
    pub sack_immediately_when_blocked: bool,
}

impl Default for StreamsConfig {
    fn default() -> Self {
        Self {
            scheduler: scheduler::FirstCome::NAME.to_owned(),
            partial_reliability: true,
            interleaving: false,
            reconfiguration: true,
            peer_may_reset: true,
            peer_may_add: true,
            sack_immediately_when_blocked: false,
        }
    }
}

impl StreamsConfig {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        scheduler::create(&self.scheduler).map(drop).map_err(|error| ConfigError {
            field: "scheduler",
            value: self.scheduler.clone(),
            want: error.to_string(),
        })
    }
}
