//! [`CoupledPaths`]: what a path's controller must know of the association's other paths (RFC 6356).

use msctp_units::Span;

/// The sum and the maximum of RFC 6356 §3 over the paths whose windows grow together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoupledPaths {
    /// Σ cwnd / RTT, in bytes/s.
    rate: u64,
    /// max(cwnd / RTT²), in bytes/s².
    steepest: u64,
}

impl CoupledPaths {
    /// Adds a path with `cwnd` in bytes and its smoothed round-trip time. A time below 1 µs counts as 1 µs.
    #[must_use]
    pub fn with(self, cwnd: u64, srtt: Span) -> Self {
        let per_second = |bytes: u64| {
            let rate = u128::from(bytes) * 1_000_000_000 / u128::from(srtt.as_nanos().max(1_000));
            u64::try_from(rate).unwrap_or(u64::MAX)
        };
        let rate = per_second(cwnd);
        Self { rate: self.rate.saturating_add(rate), steepest: self.steepest.max(per_second(rate)) }
    }

    /// Returns cwnd_total / alpha in bytes: (Σ cwnd / RTT)² / max(cwnd / RTT²).
    ///
    /// An acknowledgement opens a window by bytes_acked · MSS divided by it.
    pub(crate) fn shared_window(self) -> u64 {
        let window = u128::from(self.rate).pow(2) / u128::from(self.steepest.max(1));
        u64::try_from(window).unwrap_or(u64::MAX)
    }
}
