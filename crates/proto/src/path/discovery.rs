//! [`Discovery`]: finds the largest IP packet of one path with PMTU probes (RFC 8899 §5.2).
//!
//! The PMTU probes are in `pmtu`. This file does not depend on packets or other paths.
//!
//! BASE and ERROR differ from SEARCHING in their bounds only, so one search serves all three. It tries the
//! largest size first, which is right on most paths, then bisects.

use msctp_units::{Span, Time};

/// MAX_PROBES: number of lost probes of one size after which the size is abandoned (RFC 8899 §5.1.2).
const MAX_PROBES: u32 = 3;
/// Unit of sizes in bytes, since packets are padded to it.
const STEP: u32 = 4;

/// The phases of RFC 8899 §5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// BASE: tests BASE_PLPMTU.
    Base,
    /// SEARCHING for a larger size.
    Searching,
    /// SEARCH_COMPLETE.
    Complete,
    /// ERROR: packets of BASE_PLPMTU do not pass, and a smaller size is searched.
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
        // RFC 8899 §5.1.2: 1280 bytes for IPv6. For IPv4 it allows 68; our SCTP packets are never cut below
        // 576.
        let min = if ipv6 { 1280 } else { 576 }.min(max);
        Self { min, base: (base / STEP * STEP).clamp(min, max), max }
    }
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    size: u32,
    lost_at: Time,
}

/// The PMTU discovery of one path.
#[derive(Debug)]
pub(super) struct Discovery {
    sizes: Sizes,
    raise_interval: Span,
    phase: Phase,
    /// PLPMTU (RFC 8899 §5.1.3), the current limit of packets.
    plpmtu: u32,
    /// The smallest size known not to pass, or the first size above MAX_PLPMTU.
    fails: u32,
    /// True if the largest size that might pass is untested.
    try_top: bool,
    pmtu_probe: Option<Outstanding>,
    /// Consecutive lost probes of the current size.
    losses: u32,
    /// Number of consecutive signs of a black hole: timeouts of data, and lost probes of the current PLPMTU
    /// (RFC 8899 §4.3).
    suspicions: u32,
    /// The time of the next search.
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

    /// Returns PLPMTU in bytes.
    pub(super) fn plpmtu(&self) -> u32 {
        self.plpmtu
    }

    #[cfg(test)]
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the size of the next PMTU probe, if one is due.
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

    /// Returns the size to test next (RFC 8899 §5.3.1).
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

    /// Returns the time at which [`poll`](Self::poll) or [`handle_timeout`](Self::handle_timeout) is due. The
    /// time is in the past if one is due now.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        match self.pmtu_probe {
            Some(probe) => Some(probe.lost_at),
            None if self.wanted().is_some() => Some(Time::ZERO),
            None => self.raise_at,
        }
    }

    /// Handles the expiration of PROBE_TIMER (RFC 8899 §5.1.1).
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

    /// Handles the acknowledgement of a PMTU probe (RFC 8899 §4.2).
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
        // A size that passed once passes: its loss had another reason (RFC 8899 §5.3.3).
        self.fails = self.fails.max(size + STEP);
        if self.phase == Phase::Error && self.plpmtu >= self.sizes.base {
            self.phase = Phase::Searching;
        }
        self.settle(now);
    }

    /// Handles a sign that packets of the current size are lost, such as a timeout of data (RFC 8899 §4.3).
    pub(super) fn suspect(&mut self) {
        if self.phase == Phase::Base || self.plpmtu <= self.sizes.min {
            return;
        }
        self.suspicions += 1;
        if self.suspicions >= MAX_PROBES {
            // RFC 8899 §5.2: back to BASE, or, from below it, to ERROR
            if self.plpmtu >= self.sizes.base {
                // An outage of the whole network looks the same: this size is the first to be tested again.
                self.fails = self.plpmtu + STEP;
                self.restart();
            } else {
                self.fails = self.plpmtu;
                self.plpmtu = self.sizes.min;
                self.begin(Phase::Error);
            }
        }
    }

    /// Handles a validated Packet Too Big message, which reports that packets of at most `mtu` bytes pass
    /// (RFC 8899 §4.6.2).
    ///
    /// Returns true if it changed the state.
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

    /// Records that the local interface rejects packets of `size` bytes. Returns true if it changed the
    /// state.
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
        // The limit may be much lower: bisection finds it sooner than steps.
        self.try_top = false;
        self.settle(now);
        true
    }

    /// Restarts discovery, because the path may have changed.
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

    /// Handles the expiration of PMTU_RAISE_TIMER.
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

    /// Ends the search when no size is left to test.
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
