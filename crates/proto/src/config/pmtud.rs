//! [`PmtudConfig`]: how the PMTU of each path is found (RFC 8899).

use msctp_units::Span;

use super::{MIN_PMTU, check};
use crate::ConfigError;

/// Packetization-layer path MTU discovery (RFC 8899 §6.2): each path begins at a size that nearly every network carries, and goes up to
/// what it is found to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PmtudConfig {
    /// Find out what each path carries, with `Config::pmtu` as the most it could (MAX_PLPMTU). It begins when more waits to be
    /// sent than one packet takes: an association that is idle or sends little has no use for it. True. False: `Config::pmtu` is what
    /// every path carries; where one carries less, packets are lost, or fragmented by the host, for ever.
    pub on: bool,
    /// BASE_PLPMTU, 1200 bytes, 512 to 65535: what a path is expected to carry, and what it begins with. On an IPv6 path at
    /// least 1280. More than `Config::pmtu` counts as that.
    pub base: u32,
    /// PMTU_RAISE_TIMER, 600 s: so long after a search that ended below `Config::pmtu` the next one begins.
    pub raise_interval: Span,
}

impl Default for PmtudConfig {
    /// On; RFC 8899 §5.1.1 and §5.1.2.
    fn default() -> Self {
        Self { on: true, base: 1200, raise_interval: Span::from_secs(600) }
    }
}

impl PmtudConfig {
    /// No discovery: `Config::pmtu` is what every path carries.
    pub fn off() -> Self {
        Self { on: false, ..Self::default() }
    }

    pub(super) fn validate(self) -> Result<(), ConfigError> {
        check(
            (MIN_PMTU..=super::MAX_PMTU).contains(&self.base),
            "pmtud.base",
            self.base,
            format_args!("{MIN_PMTU} to {} bytes", super::MAX_PMTU),
        )?;
        check(
            self.raise_interval >= Span::from_secs(1),
            "pmtud.raise_interval",
            self.raise_interval,
            "at least 1s",
        )
    }
}
