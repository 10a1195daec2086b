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

/// How losses are told apart on several paths. With one path the options make no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossDetection {
    /// Count a miss indication only from a SACK that newly acknowledges a higher TSN *last sent on the same path*. Ours,
    /// on by default; RFC 9260 §7.2.4 compares TSNs over all paths. When the primary changes to a faster path, chunks
    /// there overtake those still under way on the old one, which the RFC's rule takes for losses: spurious
    /// retransmissions and a halved window on a path that lost nothing. It is stricter than the RFC, as §7 allows.
    pub per_path_miss_indications: bool,
    /// Each path enters and leaves Fast Recovery by itself. Ours, on by default; RFC 9260 §7.2.4 (6) has one Fast
    /// Recovery for the association, during which a loss on another path goes unanswered. A path has its own window
    /// (§7.2) and its own bottleneck.
    pub per_path_recovery: bool,
}

impl LossDetection {
    /// Both to the letter of RFC 9260 §7.2.4: TSNs are compared over all paths, and one Fast Recovery is the association's.
    pub const RFC9260: Self = Self { per_path_miss_indications: false, per_path_recovery: false };
}

impl Default for LossDetection {
    fn default() -> Self {
        Self { per_path_miss_indications: true, per_path_recovery: true }
    }
}

/// Loss recovery beyond RFC 9260; by default nothing of it but that paths are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryConfig {
    /// How lost chunks are found.
    pub loss_recovery: LossRecovery,
    /// How losses are told apart on several paths, by [`LossRecovery::Rfc9260`]; RACK looks at each path by itself in any case.
    pub loss_detection: LossDetection,
    /// In Fast Recovery the flight comes down to the threshold in proportion to what arrives (PRR, RFC 9937; RFC 8985 §9.3) instead of by a
    /// pause of half a window. False. Without effect on controllers that have no threshold.
    pub prr: bool,
}
