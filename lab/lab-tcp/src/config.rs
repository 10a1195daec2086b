//! Options of a connection.

use thiserror::Error;

use msctp_congestion::classifier::ClassifierFactory;
use msctp_congestion::{
    Controller, ControllerConfig, ControllerFactory, InitialWindow, IpVersion, RenoConfig, RtoConfig,
};
use msctp_units::Span;

use crate::header::TIMESTAMPS_LEN;

/// Algorithm of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// Fast retransmit and fast recovery of RFC 5681 §3.2. The first ACK of new data ends recovery.
    Reno,
    /// RFC 6582: the acknowledgment of everything outstanding at the loss ends recovery.
    NewReno,
    /// RFC 6675, with a scoreboard of SACKed data. Falls back to [`NewReno`](Self::NewReno) if the peer sends
    /// no SACK blocks.
    #[default]
    Sack,
}

impl Algorithm {
    /// All algorithms, by the names that files use.
    pub const ALL: [(&'static str, Self); 3] =
        [("reno", Self::Reno), ("newreno", Self::NewReno), ("sack", Self::Sack)];
}

/// Maximum number of SACK blocks in an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SackLimit {
    /// As many as fit beside the other options: 3 with timestamps, 4 without (RFC 2018 §3).
    #[default]
    Fits,
    /// At most this many blocks. With 0, SACK is not offered and the sender falls back to NewReno. Blocks
    /// that do not fit are carried in the laboratory's extension ([`header`](crate::header)), on pure ACKs
    /// only.
    Blocks(u32),
    /// All blocks; those that do not fit go into the laboratory's extension.
    Unlimited,
}

/// Options of one end of a connection. The default is RFC 9293 with SACK, timestamps and window scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum segment size in bytes, 88 to 65495: path MTU − 40 for IPv4, − 60 for IPv6. Options in every
    /// segment (timestamps: 12 bytes) reduce the user data, so that 1460 bytes always make packets of 1500
    /// (RFC 6691).
    pub mss: u16,
    /// Sends the MSS option on SYN. Without it the peer uses its own.
    pub mss_option: bool,
    /// Offers timestamps (RFC 7323): 12 bytes in every segment. Each ACK of new data then gives a round-trip
    /// time.
    pub timestamps: bool,
    /// Offers window scale (RFC 7323). Without it, the window is at most 65535 bytes.
    pub window_scale: bool,
    /// Algorithm for detecting and repairing losses.
    pub recovery: Algorithm,
    /// Maximum number of SACK blocks per ACK if the recovery is SACK.
    pub sack_limit: SackLimit,
    /// Receive buffer in bytes, at least 1 MSS.
    pub receive_buffer: u64,
    /// Makes the congestion controller, which must work by acknowledgements alone
    /// ([`models_delivery`](msctp_congestion::Controller::models_delivery) is false); [`RenoConfig`] by
    /// default.
    pub controller: ControllerFactory,
    /// Window before the first ACK; `None` for that of RFC 5681 §3.1, 2 to 4 segments.
    pub initial_window: Option<InitialWindow>,
    /// Slow-start threshold before the first loss in bytes; `None` for an arbitrarily high one.
    pub initial_ssthresh: Option<u64>,
    /// Maximum number of segments per ACK. With 1, each is acknowledged (RFC 5681 §4.2: at most 2).
    pub ack_every: u32,
    /// Maximum delay of an ACK (RFC 9293 §3.8.6.3: below 500 ms).
    pub ack_delay: Span,
    /// Sends new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Nagle's algorithm (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Minimum, maximum and initial retransmission timeout, and the clock's granularity (RFC 6298).
    pub rto: RtoConfig,
    /// Restarts the retransmission timer when a fast retransmit is sent, as ns-2 and most stacks do. RFC 6298
    /// §5 restarts it only at ACKs of new data.
    pub restart_timer_on_fast_retransmit: bool,
    /// Limits Reno to one fast recovery per window of data, as in ns-2. A second loss in a window then waits
    /// for the timeout. RFC 5681 has no such rule.
    pub once_per_window: bool,
    /// Makes NewReno restart the retransmission timer at every partial ACK ("slow but steady"). Otherwise it
    /// restarts it at the first only ("impatient", RFC 6582 §3.2).
    pub slow_but_steady: bool,
    /// Makes NewReno start fast recovery also at duplicates that do not cover more than "recover". The
    /// condition is that cwnd exceeds one segment and the last ACK of new data covered at most four (RFC 6582
    /// §4.1, the optional ACK heuristic).
    pub ack_heuristic: bool,
    /// Makes a loss halve the congestion window, or the peer's if that is smaller, as in ns-2. RFC 5681 §3.1
    /// (4) requires half of FlightSize.
    pub halve_window: bool,
    /// Makes Reno and NewReno open the window at the ACK that ends fast recovery, as in ns-2. RFC 5681 §3.2
    /// (6) only sets it to ssthresh.
    pub grow_at_exit: bool,
    /// Makes SACK count the segments in flight, as ns-2's Sack1 does. It subtracts a segment for each ACK in
    /// fast recovery and two for a partial one, and declares every hole lost. RFC 6675 §4 uses the scoreboard
    /// each time.
    pub counted_pipe: bool,
    /// Undoes spurious timeouts by Forward RTO recovery. RFC 5682's basic and SACK-enhanced variants both use
    /// the acknowledgments alone (§2.1).
    pub frto: bool,
    /// Makes the round-trip time of the first new data after a spurious timeout restart the RTT estimator
    /// (Park & Jang §2.2). Needs [`frto`](Self::frto).
    pub restart_rtt_after_spurious: bool,
    /// Classifier of losses detected by duplicate ACKs, in congestion avoidance only (Park & Jang §2). After
    /// a loss classified as wireless, the segment is retransmitted and the window kept. `None`: every loss is
    /// congestion.
    pub loss_classifier: Option<ClassifierFactory>,
    /// Delays the response to a classified loss to one round trip (SRTT) after the first duplicate ACK,
    /// instead of the third: the scheme with which Park & Jang compare.
    pub delay_response: bool,
    /// Unit of the timestamp clock, more than 0 (RFC 7323 §5.4: 1 ms to 1 s).
    pub timestamp_tick: Span,
    /// Number of consecutive retransmissions of one segment after which the connection is lost (RFC 9293
    /// §3.8.3, R2).
    pub max_retransmits: u32,
    /// Time for which the end that closed first waits for late segments (RFC 9293 §3.6.1: 2 MSL).
    pub time_wait: Span,
    /// Record trace events.
    pub trace: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            mss_option: true,
            timestamps: true,
            window_scale: true,
            recovery: Algorithm::Sack,
            sack_limit: SackLimit::Fits,
            receive_buffer: 1 << 20,
            controller: RenoConfig::default().into(),
            initial_window: None,
            initial_ssthresh: None,
            ack_every: 2,
            ack_delay: Span::from_millis(200),
            limited_transmit: true,
            nagle: false,
            rto: RtoConfig::default(),
            restart_timer_on_fast_retransmit: false,
            once_per_window: false,
            slow_but_steady: false,
            ack_heuristic: false,
            halve_window: false,
            grow_at_exit: false,
            counted_pipe: false,
            frto: false,
            restart_rtt_after_spurious: false,
            loss_classifier: None,
            delay_response: false,
            timestamp_tick: Span::from_millis(1),
            max_retransmits: 15,
            time_wait: Span::from_secs(60),
            trace: false,
        }
    }
}

/// The error of an option with an invalid value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field} {value}: want {want}")]
pub struct ConfigError {
    /// The field.
    pub field: &'static str,
    /// The invalid value.
    pub value: String,
    /// The allowed values.
    pub want: String,
}

impl Config {
    /// Minimum MSS. It exceeds that of RFC 791's minimum MTU of 68 bytes, to leave room for options.
    pub const MIN_MSS: u16 = 88;

    /// Checks the ranges.
    ///
    /// # Errors
    /// A field is out of range. The error names the first.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |field, value: &dyn std::fmt::Display, want: String| {
            Err(ConfigError { field, value: value.to_string(), want })
        };
        if self.mss < Self::MIN_MSS || self.mss > 65_495 {
            return wrong("mss", &self.mss, format!("{} to 65495 bytes", Self::MIN_MSS));
        }
        if self.receive_buffer < u64::from(self.mss) || self.receive_buffer > 1 << 30 {
            return wrong(
                "receive_buffer",
                &self.receive_buffer,
                format!("{} bytes (1 MSS) to 2^30", self.mss),
            );
        }
        let controller = self.make_controller();
        // This sender does not pace, and keeps no departure times.
        if controller.models_delivery() {
            let want = "a controller that works by acknowledgements alone".to_owned();
            return wrong("controller", &controller.name(), want);
        }
        if self.ack_every == 0 {
            return wrong("ack_every", &self.ack_every, "at least 1".to_owned());
        }
        if self.ack_delay >= Span::from_millis(500) {
            return wrong("ack_delay", &self.ack_delay, "less than 500ms (RFC 9293)".to_owned());
        }
        if self.rto.max < self.rto.min {
            return wrong("rto_max", &self.rto.max, format!("at least rto_min, {}", self.rto.min));
        }
        for (field, span) in [
            ("rto_min", self.rto.min),
            ("rto_initial", self.rto.initial),
            ("timestamp_tick", self.timestamp_tick),
        ] {
            if span.is_zero() {
                return wrong(field, &span, "more than 0".to_owned());
            }
        }
        Ok(())
    }

    fn make_controller(&self) -> Box<dyn Controller> {
        self.controller.make(&ControllerConfig::rfc9260(self.mss.into(), IpVersion::V4))
    }

    /// Returns the name of the controller, such as `reno`.
    #[must_use]
    pub fn controller_name(&self) -> &'static str {
        self.make_controller().name()
    }

    /// Returns the initial window of RFC 5681 §3.1, equation (1), for this segment size.
    pub(crate) fn initial_window(&self, smss: u64) -> InitialWindow {
        self.initial_window.unwrap_or(InitialWindow::Packets(match smss {
            2191.. => 2,
            1096..=2190 => 3,
            _ => 4,
        }))
    }

    /// Returns the bytes of options in every segment after the handshake.
    pub(crate) fn steady_options(timestamps: bool) -> u64 {
        if timestamps { TIMESTAMPS_LEN as u64 } else { 0 }
    }

    /// Returns the shift with which the receive buffer can be advertised (RFC 7323 §2.3), 14 at most.
    pub(crate) fn window_shift(&self) -> u8 {
        (0..14).find(|&shift| self.receive_buffer >> shift <= 65_535).unwrap_or(14)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_errors_name_the_option() {
        assert_eq!(Config::default().validate(), Ok(()));
        let field = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.validate().unwrap_err().field
        };
        assert_eq!(field(|c| c.mss = 40), "mss");
        assert_eq!(field(|c| c.receive_buffer = 1000), "receive_buffer");
        assert_eq!(field(|c| c.controller = msctp_congestion::BbrConfig::default().into()), "controller");
        assert_eq!(field(|c| c.ack_every = 0), "ack_every");
        assert_eq!(field(|c| c.ack_delay = Span::from_secs(1)), "ack_delay");
        assert_eq!(field(|c| c.rto.max = Span::from_millis(1)), "rto_max");
        assert_eq!(field(|c| c.rto.min = Span::ZERO), "rto_min");
    }

    #[test]
    fn the_window_shift_is_the_least_that_does() {
        let shift = |buffer| Config { receive_buffer: buffer, ..Config::default() }.window_shift();
        assert_eq!((shift(65_535), shift(65_536), shift(1 << 20), shift(1 << 30)), (0, 1, 5, 14));
    }
}
