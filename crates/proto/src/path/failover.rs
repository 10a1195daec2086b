//! [`FailoverConfig`]: when data leaves a path that may have failed, and when it leaves for good (RFC 7829).

use msctp_units::Span;

use crate::error::{ConfigError, check, within};

/// Thresholds at which data leaves a path that stops answering (RFC 7829 §7.2), for all paths of an
/// association.
///
/// By default data leaves a path while it is inactive (RFC 9260).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailoverConfig {
    /// PotentiallyFailed.Max.Retrans, 0 to 255 (RFC 7829 §3.2). A path with more consecutive errors is
    /// potentially failed.
    ///
    /// New data then takes an active path if there is one, and the path gets a HEARTBEAT every RTO until it
    /// answers or is inactive. RFC 7829 §6 recommends 0, the first timeout. With 0, a path that loses packets
    /// and acknowledged data within half an RTO before T3-rtx expires is not potentially failed. `None`,
    /// the default, disables the state, as in RFC 9260. A value of `Config::path_max_retrans` or more has no
    /// effect.
    pub potentially_failed_threshold: Option<u32>,
    /// Primary.Switchover.Max.Retrans, 0 to 255 (RFC 7829 §5). With more consecutive errors, the path that
    /// carries the data becomes the primary permanently. `None`, the default: data returns to the primary
    /// when it works again. Must not be below the threshold at which data leaves the primary.
    pub primary_switchover_threshold: Option<u32>,
    /// Minimum silence after which a path with a stream of data counts as timed out, before its T3-rtx
    /// expires. At least 1 ms. With `None`, the default of RFC 9260, only T3-rtx detects a failure, at least
    /// RTO.Min after the last acknowledgement.
    ///
    /// A path is silent if no packet arrived over it, and no data sent there was acknowledged. The silence
    /// must exceed this time, three times the usual interval, and the time that the round trip explains. The
    /// path and another one are probed earlier: after a quarter of that time, and 1.5 times the usual
    /// interval. If the other path answers and this one does not, its T3-rtx counts as expired. Needs a
    /// `potentially_failed_threshold` of 0, or only retransmissions move to the other path.
    pub silence: Option<Span>,
}

impl FailoverConfig {
    pub(crate) fn validate(self, path_max_retrans: u32) -> Result<(), ConfigError> {
        if let Some(threshold) = self.potentially_failed_threshold {
            within("potentially_failed_threshold", threshold, 0..=255, " errors")?;
        }
        let leaves =
            self.potentially_failed_threshold.map_or(path_max_retrans, |pf| pf.min(path_max_retrans));
        if let Some(threshold) = self.primary_switchover_threshold {
            check(
                (leaves..=255.max(leaves)).contains(&threshold),
                "primary_switchover_threshold",
                threshold,
                format_args!("{leaves} (where data leaves the primary) to 255 errors"),
            )?;
        }
        if let Some(silence) = self.silence {
            within("silence", silence, Span::from_millis(1).., "")?;
        }
        Ok(())
    }
}
