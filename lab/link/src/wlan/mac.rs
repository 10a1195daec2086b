//! [`MacConfig`]: the timing of IEEE 802.11's distributed coordination function. Pure arithmetic, without
//! stations or losses.

use msctp_units::{Rate, Span};

use super::adaptation::Adaptation;

/// Length of an acknowledgement frame and of a CTS frame in bytes (IEEE 802.11-1999 §7.2.1.2 and §7.2.1.3).
const ACK_BYTES: u64 = 14;
/// Length of an RTS frame in bytes (IEEE 802.11-1999 §7.2.1.1).
const RTS_BYTES: u64 = 20;

/// Number of slots for which a station waits before an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backoff {
    /// A number drawn uniformly from 0 to the contention window. The default.
    #[default]
    Drawn,
    /// Always half the contention window. Stations then take turns, and a run has a closed form.
    Mean,
}

/// Timing of the medium access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacConfig {
    /// Rate of a data frame's bytes, in bit/s. Must not be zero.
    pub rate: Rate,
    /// Rate of ACK, RTS and CTS frames, in bit/s. Must not be zero.
    pub basic_rate: Rate,
    /// One slot of the backoff.
    pub slot: Span,
    /// Time between a frame and its acknowledgement.
    pub sifs: Span,
    /// Time for which the medium must be free before the backoff counts.
    pub difs: Span,
    /// Time of the preamble and header of the physical layer, before every frame.
    pub preamble: Span,
    /// Bytes added to a packet: MAC header, frame check sequence, LLC and SNAP.
    pub header: u32,
    /// Contention window of the first attempt, in slots.
    pub cw_min: u32,
    /// The largest contention window, in slots.
    pub cw_max: u32,
    /// Maximum number of attempts after the first, before a frame is abandoned.
    pub retries: u32,
    /// Whether an RTS and a CTS precede each data frame.
    pub rts: bool,
    /// Choice of backoffs.
    pub backoff: Backoff,
    /// Whether stations whose backoffs end at the same instant collide. Otherwise one sends first.
    pub collisions: bool,
    /// Algorithm that selects the rate of data frames. Adaptation uses the rates of 802.11b up to `rate`.
    pub adaptation: Adaptation,
}

impl MacConfig {
    /// Returns the timing of 802.11b with the long preamble (IEEE 802.11b-1999 §18.3.3).
    ///
    /// Slot 20 µs, SIFS 10 µs, DIFS 50 µs, preamble and header 192 µs, contention window 31 to 1023. Headers
    /// are 28 bytes of MAC header and check sequence, and 8 of LLC and SNAP. There are 7 attempts in all, no
    /// RTS, drawn backoff and collisions. `rate` is free; control frames use 1 Mbps, or `rate` if that is
    /// lower.
    pub fn dot11b(rate: Rate) -> Self {
        Self {
            rate,
            basic_rate: rate.min(Rate::from_mbps(1)),
            slot: Span::from_micros(20),
            sifs: Span::from_micros(10),
            difs: Span::from_micros(50),
            preamble: Span::from_micros(192),
            header: 36,
            cw_min: 31,
            cw_max: 1023,
            retries: 6,
            rts: false,
            backoff: Backoff::Drawn,
            collisions: true,
            adaptation: Adaptation::Fixed,
        }
    }

    /// Returns the contention window of the attempt with this number, from 0, in slots. It doubles each time
    /// up to [`cw_max`](Self::cw_max): 31, 63, 127.
    pub fn window(&self, attempt: u32) -> u32 {
        let doubled = (u64::from(self.cw_min) + 1).saturating_mul(1u64 << attempt.min(31)) - 1;
        u32::try_from(doubled).unwrap_or(u32::MAX).min(self.cw_max.max(self.cw_min))
    }

    /// Returns the mean backoff before the attempt with this number, from 0.
    pub fn mean_backoff(&self, attempt: u32) -> Span {
        self.slot.mul_ratio(u64::from(self.window(attempt)), 2)
    }

    /// Returns the time of a data frame that carries `wire_len` bytes, preamble included.
    pub fn frame_time(&self, wire_len: u32) -> Span {
        self.preamble + self.rate.time_for(u64::from(wire_len) + u64::from(self.header))
    }

    /// Returns the time before the data frame: RTS, SIFS, CTS, SIFS; zero without RTS.
    pub fn request_time(&self) -> Span {
        if !self.rts {
            return Span::ZERO;
        }
        self.control_time(RTS_BYTES) + self.control_time(ACK_BYTES) + self.sifs * 2
    }

    /// Returns the time from the end of the data frame to the end of the exchange: SIFS and the
    /// acknowledgement. It is the same without an acknowledgement, since the frame has reserved the medium
    /// for it.
    pub fn ack_time(&self) -> Span {
        self.sifs + self.control_time(ACK_BYTES)
    }

    /// Returns the time from the end of the backoff to the end of the exchange.
    pub fn exchange_time(&self, wire_len: u32) -> Span {
        self.request_time() + self.frame_time(wire_len) + self.ack_time()
    }

    /// Returns the time for which a collision keeps the medium busy for the station that sent `wire_len`
    /// bytes. With RTS, only RTS frames collide.
    pub(super) fn collision_time(&self, wire_len: u32) -> Span {
        if self.rts { self.request_time() } else { self.exchange_time(wire_len) }
    }

    /// Returns the time of one attempt of a station that is alone: DIFS, mean backoff, exchange. `attempt`
    /// counts from 0.
    pub fn mean_attempt_time(&self, attempt: u32, wire_len: u32) -> Span {
        self.difs + self.mean_backoff(attempt) + self.exchange_time(wire_len)
    }

    fn control_time(&self, bytes: u64) -> Span {
        self.preamble + self.basic_rate.time_for(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_doubles_up_to_the_largest() {
        let mac = MacConfig::dot11b(Rate::from_mbps(11));
        let windows: Vec<u32> = (0..8).map(|attempt| mac.window(attempt)).collect();
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
        assert_eq!(mac.window(u32::MAX), 1023);
        assert_eq!(mac.mean_backoff(0), Span::from_micros(310));
    }

    /// The time for 1500 bytes at 11 Mbps equals the sum computed by hand: 50 + 310 + 192 + 1536·8/11 + 10 +
    /// 192 + 112 µs.
    #[test]
    fn an_attempt_takes_the_time_of_802_11b() {
        let mac = MacConfig::dot11b(Rate::from_mbps(11));
        assert_eq!(mac.frame_time(1500), Span::from_nanos(192_000 + 1_117_091));
        assert_eq!(mac.ack_time(), Span::from_micros(314));
        assert_eq!(mac.mean_attempt_time(0, 1500), Span::from_nanos(1_983_091));
        // RTS 192 + 160, CTS 192 + 112, twice SIFS.
        let rts = MacConfig { rts: true, ..mac };
        assert_eq!(rts.exchange_time(1500) - mac.exchange_time(1500), Span::from_micros(676));
        // A slow radio acknowledges slowly.
        let slow = MacConfig::dot11b(Rate::from_kbps(150));
        assert_eq!(slow.ack_time(), Span::from_nanos(10_000 + 192_000 + 746_667));
    }
}
