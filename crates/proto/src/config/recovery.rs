//! Options of loss recovery.

/// How lost chunks are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossRecovery {
    /// By counting: the third miss indication (RFC 9260 §7.2.4), else T3-rtx. The default.
    #[default]
    Rfc9260,
    /// By time: RACK-TLP (RFC 8985) in SCTP's terms. A chunk is lost when one sent later on the same path has arrived and a
    /// reordering window has passed; a probe after two round trips finds losses at the end of the data. T3-rtx stays as the
    /// last resort.
    Rack,
}

/// Loss recovery beyond RFC 9260; by default nothing of it but that paths are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryConfig {
    /// How lost chunks are found.
    pub loss_recovery: LossRecovery,
    /// In Fast Recovery the flight comes down to the threshold in proportion to what arrives (PRR, RFC 9937; RFC 8985 §9.3) instead of by a
    /// pause of half a window. False. Without effect on controllers that have no threshold.
    pub prr: bool,
}
