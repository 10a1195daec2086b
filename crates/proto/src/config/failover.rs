//! [`FailoverConfig`]: when data leaves a path that may have failed, and when it leaves for good (RFC 7829).

use msctp_units::Span;

use super::check;
use crate::ConfigError;

/// How soon a path that stops answering is left. The default is RFC 9260's: when it is inactive, and only for as long. The thresholds of RFC 7829 §7.2, for all
/// paths of an association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailoverConfig {
    /// PotentiallyFailed.Max.Retrans, 0 to 255 (RFC 7829 §3.2): a path with more errors in a row is potentially failed: new
    /// data takes an active path if there is one, and the path gets a HEARTBEAT every RTO until it answers or is inactive.
    /// RFC 7829 §6 recommends 0: the first time-out. `None`, the default, knows no such state, as RFC 9260. At or above
    /// `Config::path_max_retrans` it has no effect.
    pub potentially_failed_threshold: Option<u32>,
    /// Primary.Switchover.Max.Retrans, 0 to 255 (RFC 7829 §5): with more errors in a row the primary hands its place to the
    /// path that carries the data, and does not get it back when it works again. `None`, the default: it does get it back.
    /// Not below the threshold at which data leaves the primary.
    pub primary_switchover_threshold: Option<u32>,
    /// A path with a stream of data on it that shows no sign of life any more is asked, and another one is, long before its T3-rtx
    /// expires: when nothing has come over it, and nothing sent there was acknowledged, for so long at least, three times as long as
    /// usual lately, and longer than the round trip explains. They are asked after a quarter of that time at the earliest, and half as long
    /// again as usual. If the other path answers and this one is still silent, that counts as an expiration of its T3-rtx. Wants `potentially_failed_threshold` 0, or only what is sent again goes elsewhere. At least 1 ms.
    /// `None`, the default, as RFC 9260 has it: T3-rtx alone says so, RTO.Min after the last acknowledgement at the earliest.
    pub silence: Option<Span>,
}

impl FailoverConfig {
    pub(super) fn validate(self, path_max_retrans: u32) -> Result<(), ConfigError> {
        if let Some(threshold) = self.potentially_failed_threshold {
            check(threshold <= 255, "potentially_failed_threshold", threshold, "0 to 255 errors")?;
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
            check(silence >= Span::from_millis(1), "silence", silence, "at least 1ms")?;
        }
        Ok(())
    }
}
