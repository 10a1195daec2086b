//! [`Discovery`]: what an IP packet may measure on one path, found out by probes (RFC 8899 §5.2). Knows no packets and no
//! other path; the probes themselves are in `pmtu`.
//!
//! BASE and ERROR differ from SEARCHING in their bounds alone, so that one search serves all three: first the largest
//! size, which is right on most paths, then halving.

use msctp_units::{Span, Time};

/// MAX_PROBES: so many probes of one size are lost before the size is given up (RFC 8899 §5.1.2).
const MAX_PROBES: u32 = 3;
/// Sizes are multiples of this, as packets with padding are.
const STEP: u32 = 4;

/// The phases of RFC 8899 §5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// BASE: does the path carry BASE_PLPMTU?
    Base,
    /// SEARCHING for more.
    Searching,
    /// SEARCH_COMPLETE.
    Complete,
    /// ERROR: it does not carry BASE_PLPMTU; what less does it carry?
    Error,
}

/// The sizes of one path in bytes, multiples of [`STEP`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// MIN_PLPMTU.
    pub(super) min: u32,
    /// BASE_PLPMTU.
    pub(super) base: u32,
    /// MAX_PLPMTU.
    pub(super) max: u32,
}

impl Sizes {
    pub(super) fn new(ipv6: bool, base: u32, max: u32) -> Self {
        let max = max / STEP * STEP;
        // RFC 8899 §5.1.2: 1280 bytes for IPv6. For IPv4 it allows 68; less than 576 no SCTP packet of ours is cut to.
        let min = if ipv6 { 1280 } else { 576 }.min(max);
        Self { min, base: (base / STEP * STEP).clamp(min, max), max }
    }
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    size: u32,
    lost_at: Time,
}

/// The discovery of one path.
#[derive(Debug)]
pub(super) struct Discovery {
    sizes: Sizes,
    raise_interval: Span,
    phase: Phase,
    /// PLPMTU (RFC 8899 §5.1.3): what packets may measure now.
    plpmtu: u32,
    /// The least size known not to pass, or the first above MAX_PLPMTU.
    fails: u32,
    /// The largest size that might pass was not tried yet.
    try_top: bool,
    pmtu_probe: Option<Outstanding>,
    /// Probes of the present size lost in a row.
    losses: u32,
    /// Signs of a black hole in a row: time-outs of data, and lost probes of the present PLPMTU (RFC 8899 §4.3).
    suspicions: u32,
    /// When the next search begins.
    raise_at: Option<Time>,
}

impl Discovery {
    pub(super) fn new(sizes: Sizes, raise_interval: Span) -> Self {
        Self {
            sizes,
            raise_interval,
            phase: Phase::Base,
            plpmtu: sizes.base,
            fails: sizes.max + STEP,
            try_top: true,
            pmtu_probe: None,
            losses: 0,
            suspicions: 0,
            raise_at: None,
        }
    }

    /// PLPMTU in bytes.
    pub(super) fn plpmtu(&self) -> u32 {
        self.plpmtu
    }

    #[cfg(test)]
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// The size that the next probe is to have, if one is to be sent now.
    pub(super) fn poll(&mut self, now: Time, lost_after: Span) -> Option<u32> {
        if self.pmtu_probe.is_some() {
            return None;
        }
        if self.raise_at.is_some_and(|at| at <= now) {
            self.raise();
        }
        let size = self.wanted()?;
        self.pmtu_probe = Some(Outstanding { size, lost_at: now + lost_after });
        Some(size)
    }

    /// RFC 8899 §5.3.1
    fn wanted(&self) -> Option<u32> {
        if self.suspicions > 0 {
            return Some(self.plpmtu);
        }
        match self.phase {
            Phase::Base => Some(self.sizes.base),
            Phase::Complete => None,
            Phase::Searching | Phase::Error if self.try_top => Some(self.fails - STEP),
            // RFC 8899 §5.3.2 leaves the choice of sizes open.
            Phase::Searching | Phase::Error => Some((self.plpmtu + self.fails) / 2 / STEP * STEP),
        }
    }

    /// When [`poll`](Self::poll) or [`handle_timeout`](Self::handle_timeout) have something to do; in the past if they do now.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        match self.pmtu_probe {
            Some(probe) => Some(probe.lost_at),
            None if self.wanted().is_some() => Some(Time::ZERO),
            None => self.raise_at,
        }
    }

    /// PROBE_TIMER may have expired (RFC 8899 §5.1.1).
    pub(super) fn handle_timeout(&mut self, now: Time) {
        let Some(probe) = self.pmtu_probe.take_if(|probe| probe.lost_at <= now) else { return };
        if probe.size <= self.plpmtu && self.phase != Phase::Base {
            return self.suspect();
        }
        self.losses += 1;
        if self.losses >= MAX_PROBES {
            self.too_big(now, probe.size);
        }
    }

    /// A probe of this size was answered (RFC 8899 §4.2).
    pub(super) fn on_ack(&mut self, now: Time, size: u32) {
        self.pmtu_probe.take_if(|probe| probe.size == size);
        self.losses = 0;
        if size >= self.plpmtu {
            self.suspicions = 0;
        }
        if self.phase == Phase::Base {
            self.begin(Phase::Searching);
        }
        self.plpmtu = self.plpmtu.max(size);
        // What passed once passes: it was lost for another reason (RFC 8899 §5.3.3).
        self.fails = self.fails.max(size + STEP);
        if self.phase == Phase::Error && self.plpmtu >= self.sizes.base {
            self.phase = Phase::Searching;
        }
        self.settle(now);
    }

    /// Data on the path timed out, or something else that says that packets of the present size may vanish (RFC 8899 §4.3).
    pub(super) fn suspect(&mut self) {
        if self.phase == Phase::Base || self.plpmtu <= self.sizes.min {
            return;
        }
        self.suspicions += 1;
        if self.suspicions >= MAX_PROBES {
            // RFC 8899 §5.2: back to BASE, or, from below it, to ERROR
            self.fails = self.plpmtu;
            if self.plpmtu >= self.sizes.base {
                self.restart();
            } else {
                self.plpmtu = self.sizes.min;
                self.begin(Phase::Error);
            }
        }
    }

    /// A Packet Too Big message says that packets of `mtu` bytes pass, and none larger (RFC 8899 §4.6.2). The caller has
    /// validated it. True if it changed anything.
    pub(super) fn on_packet_too_big(&mut self, now: Time, mtu: u32) -> bool {
        let mtu = mtu / STEP * STEP;
        let tried = self.pmtu_probe.map_or(self.plpmtu, |probe| probe.size.max(self.plpmtu));
        // "PL_PTB_SIZE > PROBED_SIZE" or below MIN_PLPMTU: inconsistent, ignored
        if mtu >= tried || mtu < self.sizes.min {
            return false;
        }
        self.pmtu_probe = None;
        self.losses = 0;
        self.fails = mtu + STEP;
        if mtu < self.sizes.base {
            self.plpmtu = self.sizes.min;
            self.begin(Phase::Error);
        } else if mtu < self.plpmtu {
            self.restart();
        } else if self.phase == Phase::Base {
            return true;
        } else {
            self.try_top = true;
        }
        self.settle(now);
        true
    }

    /// This host's interface does not take packets of `size` bytes: they were never sent. True if that was news.
    pub(super) fn on_refused(&mut self, now: Time, size: u32) -> bool {
        let refused = size.next_multiple_of(STEP);
        if refused >= self.fails || refused <= self.sizes.min {
            return false;
        }
        self.fails = refused;
        self.losses = 0;
        self.pmtu_probe.take_if(|probe| probe.size >= refused);
        if refused <= self.sizes.base {
            self.plpmtu = self.sizes.min;
            self.begin(Phase::Error);
        } else if refused <= self.plpmtu {
            self.restart();
        }
        // It may be much less than that: halves find it sooner than steps.
        self.try_top = false;
        self.settle(now);
        true
    }

    /// The path may be another one than before: everything is found out anew.
    fn restart(&mut self) {
        self.plpmtu = self.sizes.base;
        self.fails = self.fails.max(self.sizes.base + STEP);
        self.begin(Phase::Base);
    }

    fn begin(&mut self, phase: Phase) {
        self.phase = phase;
        self.try_top = true;
        self.losses = 0;
        self.suspicions = 0;
        self.raise_at = None;
    }

    /// PMTU_RAISE_TIMER expired.
    fn raise(&mut self) {
        self.fails = self.sizes.max + STEP;
        self.begin(if self.plpmtu < self.sizes.base { Phase::Error } else { Phase::Searching });
    }

    fn too_big(&mut self, now: Time, size: u32) {
        self.losses = 0;
        if self.phase == Phase::Base {
            self.plpmtu = self.sizes.min;
            self.fails = size;
            self.begin(Phase::Error);
        } else {
            self.fails = size;
        }
        self.try_top = false;
        self.settle(now);
    }

    /// The search ends when no size is left to be tried.
    fn settle(&mut self, now: Time) {
        let over = self.fails <= self.plpmtu + STEP;
        if over && matches!(self.phase, Phase::Searching | Phase::Error) {
            self.phase = Phase::Complete;
            self.raise_at = (self.plpmtu < self.sizes.max).then(|| now + self.raise_interval);
        }
    }
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
