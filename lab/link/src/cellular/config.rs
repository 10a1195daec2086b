//! Parameters of a [`CellularCell`](super::CellularCell).

use msctp_units::Span;

use super::quality::Quality;
use crate::loss::LossProcess;
use msctp_queue::QueueLimit;

/// Transmission time interval: the scheduler's grain.
pub const TTI: Span = Span::from_millis(1);

/// Order in which the scheduler serves users with packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// Serves the user with the largest ratio of its rate in this TTI to its average throughput. The default.
    #[default]
    ProportionalFair,
    /// Users take turns.
    RoundRobin,
    /// Serves the user with the largest rate in this TTI.
    MaxRate,
}

/// Parameters of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellularConfig {
    /// Order of service, in both directions.
    pub scheduler: Scheduler,
    /// Time constant of proportional fairness' average throughput; at least one [`TTI`].
    pub average: Span,
}

impl Default for CellularConfig {
    /// Returns proportional fairness with a time constant of a second. It equals the 1,000 slots of Jalali,
    /// Padovani and Pankaj, whose slots take 1.67 ms.
    fn default() -> Self {
        Self { scheduler: Scheduler::ProportionalFair, average: Span::from_secs(1) }
    }
}

/// One direction of a user's link.
#[derive(Debug)]
pub struct PortConfig {
    /// Delay from the end of the TTI that carries a packet's last byte to its arrival.
    pub delay: Span,
    /// Limit of the user's queue, without a partly sent packet.
    pub queue: QueueLimit,
    /// The rate at which the whole resource carries this user's bytes.
    pub quality: Quality,
    /// Coherence time, for which Rayleigh fading is constant; `None` for no fading.
    pub coherence: Option<Span>,
    /// Losses after transmission.
    pub loss: Option<Box<dyn LossProcess>>,
}
