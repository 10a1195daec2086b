//! The timer table of an association: each timer with its deadline and its handler.

use msctp_units::Time;

use super::Association;
use super::encapsulation::Encapsulation;
use crate::stats::AssociationState as State;
use crate::timer_table::{earlier, timer_table};

timer_table! {
    /// A timer of an association.
    Timer {
        /// T1-init or T1-cookie (RFC 9260 §5.1).
        SetUp,
        /// T2-shutdown and T5-shutdown-guard (RFC 9260 §9.2).
        Shutdown,
        /// The idle timeout (`Config::idle_timeout`), the HEARTBEATs before it and that after data.
        Idle,
        /// T3-rtx and the other timers of data transfer: `outbound::timeout` has their table.
        Data,
        /// HEARTBEATs and probes of the paths (RFC 9260 §8.3, RFC 8899 §5.1.1).
        Paths,
        /// The validation of the peer's UDP ports (RFC 6951 §5.4).
        Ports,
        /// T4-rto of an ASCONF (RFC 5061 §5.1).
        AddressRequest,
        /// The time at which `mobility` decides again.
        Moves,
        /// The timer of a RE-CONFIG (RFC 6525 §5.1.1).
        StreamRequest,
        /// The handover policy's timer.
        Policy,
        /// Destruction of an earlier epoch's keys (`Config::protection`).
        Keys,
        /// The check of a peer that may have lost its keys.
        PeerCheck,
        /// The question for limits of streams.
        Credit,
        /// The delayed SACK (RFC 9260 §6.2).
        DelayedSack,
    }
}

impl Timer {
    /// Returns true if packets do not move the timer. `Output::watch_timeout` holds the earliest of these.
    const fn is_upkeep(self) -> bool {
        matches!(
            self,
            Self::Idle
                | Self::Paths
                | Self::Ports
                | Self::AddressRequest
                | Self::Moves
                | Self::StreamRequest
                | Self::Policy
                | Self::Keys
                | Self::PeerCheck
                | Self::Credit
        )
    }
}

impl Association {
    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) must be called next; `None` if no
    /// timer runs. A time in the past is due at once. Linear in the number of paths.
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.state == State::Closed {
            return None;
        }
        let upkeep = if self.output.upkeep_due { self.upkeep_timeout() } else { self.output.watch_timeout };
        earlier(upkeep, Timer::earliest(|timer| if timer.is_upkeep() { None } else { self.deadline(timer) }))
    }

    /// Returns the earliest deadline of the timers that packets do not move.
    pub(super) fn upkeep_timeout(&self) -> Option<Time> {
        Timer::earliest(|timer| if timer.is_upkeep() { self.deadline(timer) } else { None })
    }

    /// Returns the time at which a timer expires; `None` if it does not run.
    #[inline(always)]
    fn deadline(&self, timer: Timer) -> Option<Time> {
        match timer {
            Timer::SetUp | Timer::Shutdown if self.state == State::Established => None,
            Timer::SetUp => self.set_up.next_timeout(),
            Timer::Shutdown => earlier(self.closing.t2, self.closing.t5),
            Timer::Idle => self.liveness.next_timeout(),
            Timer::Data => self.outbound.next_timeout(&self.paths),
            Timer::Paths if !self.watches_paths() => None,
            Timer::Paths => self.paths.next_timeout(),
            Timer::Ports => self.encapsulation().and_then(Encapsulation::next_timeout),
            Timer::AddressRequest => self.readdressing.ours.next_timeout(),
            Timer::Moves => self.moves.as_ref().and_then(|moves| moves.again),
            Timer::StreamRequest => self.reconfig.next_timeout(),
            Timer::Policy => self.handover.timer,
            Timer::Keys => self.protection.as_ref().and_then(|protection| protection.next_timeout()),
            Timer::PeerCheck => self.peer_check_timeout(),
            Timer::Credit => self.credit_timeout(),
            Timer::DelayedSack => self.sack_deadline(),
        }
    }

    /// Handles a timer if it is due.
    #[inline(always)]
    fn handle_timer(&mut self, now: Time, timer: Timer) {
        match timer {
            Timer::SetUp => self.set_up_timeout(now),
            Timer::Shutdown => self.shutdown_timeout(now),
            Timer::Idle => self.liveness_timeout(now),
            Timer::Data => self.outbound.handle_timeout(now, &mut self.paths),
            Timer::Paths if !self.watches_paths() => {}
            Timer::Paths => self.paths.handle_timeout(now),
            Timer::Ports => self.ports_timeout(now),
            Timer::AddressRequest => self.readdressing_timeout(now),
            Timer::Moves => self.moves_timeout(now),
            Timer::StreamRequest => self.reconfig_timeout(now),
            Timer::Policy => self.policy_timeout(now),
            Timer::Keys => {
                if let Some(protection) = &mut self.protection {
                    protection.handle_timeout(now);
                }
            }
            Timer::PeerCheck => self.continue_peer_check(now),
            Timer::Credit => self.ask_for_credit(now),
            // `poll_transmit` sends it.
            Timer::DelayedSack => {}
        }
    }

    /// Returns whether HEARTBEATs and probes are sent: from ESTABLISHED until the SHUTDOWN or SHUTDOWN ACK
    /// (RFC 9260 §8.3).
    pub(super) fn watches_paths(&self) -> bool {
        matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived)
    }

    /// Handles every timer that is due. Has no effect if none is.
    pub fn handle_timeout(&mut self, now: Time) {
        Timer::for_each(|timer| {
            if self.state != State::Closed {
                self.handle_timer(now, timer);
            }
        });
        if self.state != State::Closed {
            self.after_change(now);
        }
    }
}
