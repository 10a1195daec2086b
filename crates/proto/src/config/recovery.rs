//! Options of loss recovery.

/// How lost chunks are found and Fast Recovery sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossRecovery {
    /// By counting: the third miss indication (RFC 9260 §7.2.4), else T3-rtx. The default.
    #[default]
    Rfc9260,
    /// As `Rfc9260`, with proportional rate reduction (RFC 9937): in Fast Recovery the flight comes down to the threshold
    /// in proportion to what arrives, instead of by a pause of half a window. Without effect on controllers that have no
    /// threshold.
    Prr,
    /// By time: RACK-TLP (RFC 8985) in SCTP's terms. A chunk is lost when one sent later on the same path has arrived and a
    /// reordering window has passed; a probe after two round trips finds losses at the end of the data. T3-rtx stays as the
    /// last resort.
    Rack,
    /// As `Rack`, with proportional rate reduction (RFC 8985 §9.3).
    RackPrr,
}

impl LossRecovery {
    /// Returns whether losses are found by time.
    pub(crate) fn uses_rack(self) -> bool {
        matches!(self, Self::Rack | Self::RackPrr)
    }

    /// Returns whether Fast Recovery reduces the flight in proportion.
    pub(crate) fn uses_prr(self) -> bool {
        matches!(self, Self::Prr | Self::RackPrr)
    }
}

/// What happens after a T3-rtx expiration that was spurious.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpuriousTimeouts {
    /// Nothing: expirations are not examined. The default.
    #[default]
    Ignore,
    /// It is detected and undone: F-RTO (RFC 5682) in SCTP's terms.
    Undo,
    /// As `Undo`; the round trip of the first new data then starts the RTT estimator over.
    UndoAndRestartRtt,
}
