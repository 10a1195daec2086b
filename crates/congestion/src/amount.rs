//! Arithmetic of the controllers that model the path: bytes, rates in bytes per second, shares in
//! thousandths.

use msctp_units::{Rate, Span};

use crate::controller::{ControllerConfig, IpVersion};

/// Bytes of a packet around its chunks: IPv4 or IPv6 header and SCTP common header. Pacing counts them, the
/// models do not.
const HEADERS: [u64; 2] = [32, 52];

/// Returns `of` thousandths of an amount, rounded down.
pub(crate) fn permille(amount: u64, of: u64) -> u64 {
    u64::try_from(u128::from(amount) * u128::from(of) / 1000).unwrap_or(u64::MAX)
}

/// Returns the bytes that `rate` (bytes per second) carries in `time`.
pub(crate) fn over(rate: u64, time: Span) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(time.as_nanos()) / 1_000_000_000).unwrap_or(u64::MAX)
}

/// Returns the rate, in bytes per second, at which `amount` bytes are sent in `time`.
pub(crate) fn per_second(amount: u64, time: Span) -> u64 {
    let rate = u128::from(amount) * 1_000_000_000 / u128::from(time.as_nanos().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Returns the bytes of chunks per second in full packets that a rate on the IP wire carries.
pub(crate) fn off_wire(rate: Rate, path: &ControllerConfig) -> u64 {
    let headers = HEADERS[usize::from(path.ip_version == IpVersion::V6)];
    let packet = u128::from(path.pmdcs.saturating_add(headers));
    let bytes = u128::from(rate.as_bps() / 8) * u128::from(path.pmdcs) / packet.max(1);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Returns the rate on the IP wire of `bytes_per_second` of chunks in full packets; never zero.
pub(crate) fn on_wire(bytes_per_second: u64, path: &ControllerConfig) -> Rate {
    let headers = HEADERS[usize::from(path.ip_version == IpVersion::V6)];
    let bytes = u128::from(bytes_per_second) * u128::from(path.pmdcs.saturating_add(headers))
        / u128::from(path.pmdcs.max(1));
    Rate::from_bps(u64::try_from(bytes * 8).unwrap_or(u64::MAX).max(8))
}
