//! The three-way handshake (RFC 9293 §3.5): sends SYN and SYN-ACK until answered, and negotiates their
//! options.

use msctp_congestion::{RtoConfig, RttEstimator};
use msctp_units::{Span, Time};

use crate::config::Config;
use crate::event::Event;
use crate::header::Header;
use crate::sender::{Agreed, GaveUp, Sender};
use crate::trace::TraceKind;

use super::{Connection, Phase};

/// This end's unacknowledged SYN.
#[derive(Debug)]
pub(super) struct Handshake {
    pub(super) rtt: RttEstimator,
    /// A SYN must be sent.
    pub(super) due: bool,
    /// Time at which the first SYN was, or will be, sent.
    first: Time,
    sent: u32,
    retry_at: Option<Time>,
    agreed: Option<Agreed>,
}

impl Handshake {
    pub(super) fn new(now: Time, rtt: RttEstimator, due: bool) -> Self {
        Self { rtt, due, first: now, sent: 0, retry_at: None, agreed: None }
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.retry_at
    }

    pub(super) fn on_timeout(&mut self, now: Time, max_retransmits: u32) -> Result<(), GaveUp> {
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
            if self.sent > max_retransmits {
                return Err(GaveUp);
            }
            self.rtt.back_off();
            self.due = true;
        }
        Ok(())
    }

    pub(super) fn sent(&mut self, now: Time) {
        if self.sent == 0 {
            self.first = now;
        }
        self.due = false;
        self.sent += 1;
        self.retry_at = Some(now + self.rtt.rto());
    }

    /// Returns the RTT estimator after the answer to this end's SYN.
    fn answered(&self, now: Time, rto: RtoConfig) -> RttEstimator {
        if self.sent > 1 {
            // RFC 6298 §5 (5.7): at least 3 s when a SYN was retransmitted; Karn: nothing was measured.
            return RttEstimator::new(RtoConfig { initial: rto.initial.max(Span::from_secs(3)), ..rto });
        }
        let mut rtt = self.rtt.clone();
        rtt.on_measurement(now.since(self.first));
        rtt
    }
}

impl Connection {
    /// Negotiates the options of both SYNs.
    pub(super) fn agree(&mut self, syn: &Header) {
        let config = &self.config;
        self.irs = syn.sequence;
        self.timestamps = config.timestamps && syn.timestamps.is_some();
        self.ts_recent = syn.timestamps.map_or(0, |timestamps| timestamps.value);
        if let (true, Some(shift)) = (config.window_scale, syn.window_scale) {
            // RFC 7323 §2.3
            self.scaling = true;
            self.peer_shift = shift.min(14);
            self.own_shift = config.window_shift();
        }
        self.sack = offers_sack(config) && syn.sack_permitted;
        // RFC 6691: the option does not count other options, segments do. Without one the peer uses our own.
        let mss = u64::from(config.mss.min(syn.mss.unwrap_or(config.mss)).max(Config::MIN_MSS));
        self.handshake.agreed = Some(Agreed {
            smss: mss - Config::steady_options(self.timestamps),
            // RFC 7323 §2.2: not scaled in a SYN
            window: u64::from(syn.window),
            timestamps: self.timestamps,
            sack: self.sack,
            iss: self.iss,
        });
        self.receiver.synchronize();
    }

    /// Opens the connection, because this end's SYN was acknowledged.
    pub(super) fn open(&mut self, now: Time) {
        let Some(agreed) = self.handshake.agreed else { return };
        let rtt = self.handshake.answered(now, self.config.rto);
        self.phase = Phase::Open;
        self.sender = Some(Sender::new(now, &self.config, agreed, rtt));
        self.update_sender();
        self.events.push_back(Event::Connected);
        self.trace.add(now, TraceKind::Connected);
    }
}

/// Returns whether this end's SYN offers SACK.
pub(super) fn offers_sack(config: &Config) -> bool {
    config.recovery == crate::Algorithm::Sack && config.sack_limit != crate::SackLimit::Blocks(0)
}
