//! Stream schedulers (RFC 8260 §3): which stream's message goes next. May not touch messages: the queue asks, a scheduler
//! gives each stream that has something to send its place in line, a number, and the lowest goes first.
//!
//! The queue keeps the line, so a choice costs O(log streams). Without interleaving (RFC 8260 §2) a message that was begun
//! goes through, and a scheduler is asked once a message; with it, once a chunk. A new scheduler is one file here and one
//! line in `registry`.

mod fair;
mod first_come;
mod priority;
mod registry;
mod round_robin;
mod round_robin_packet;
mod weighted_fair;

pub use self::fair::FairCapacity;
pub use self::first_come::FirstCome;
pub use self::priority::Priority;
pub use self::registry::{SchedulerInfo, UnknownScheduler, create, schedulers};
pub use self::round_robin::RoundRobin;
pub use self::round_robin_packet::RoundRobinPacket;
pub use self::weighted_fair::WeightedFair;

/// A place in line: the lowest goes first; among equals the lowest stream number.
pub type Rank = u64;

/// What a scheduler keeps of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The application's value for the stream (RFC 8260 §4.3.3); what it means is for the scheduler. 0 until it is set.
    pub value: u16,
    /// The scheduler's own.
    pub finish: u64,
}

/// Gives streams their places in line.
pub trait Scheduler: core::fmt::Debug + Send + Sync {
    /// A stream has something to send that had nothing before, or its value was set. `head`: number of its first message,
    /// in the order of all.
    fn join(&mut self, share: &mut Share, head: u64) -> Rank;

    /// The stream at `rank` sent `bytes` of user data; it stands in line again if it has more (`head`: its first message).
    fn served(&mut self, share: &mut Share, rank: Rank, bytes: u64, head: u64) -> Rank;

    /// The first message of a stream in line was taken out; `head` is the first now.
    fn beheaded(&mut self, rank: Rank, head: u64) -> Rank {
        let _ = head;
        rank
    }

    /// A packet holds new chunks of one stream only (RFC 8260 §3.3).
    fn one_stream_per_packet(&self) -> bool {
        false
    }
}
