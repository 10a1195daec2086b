//! Stream schedulers (RFC 8260 §3): they choose the stream of the next message.
//!
//! A scheduler gives each stream with data to send a rank, and the queue serves the lowest rank first. A
//! choice costs O(log streams). Without interleaving (RFC 8260 §2) a message is sent to its end and the
//! scheduler is called once a message; with it, once a chunk. Schedulers may not touch messages. A new
//! scheduler is one file here and one line in `registry`.

mod first_come;
mod priority;
mod registry;
mod round_robin;
mod weighted_fair;

pub(crate) use self::first_come::FirstCome;
pub(crate) use self::priority::Priority;
pub(crate) use self::registry::{DEFAULT, create};
pub use self::registry::{SchedulerInfo, UnknownScheduler, schedulers};
pub(crate) use self::round_robin::RoundRobin;
pub(crate) use self::weighted_fair::WeightedFair;

/// Order of a stream: the lowest rank is served first, equal ranks by stream number.
pub(crate) type Rank = u64;

/// A scheduler's state of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// The application's value for the stream (RFC 8260 §4.3.3), interpreted by the scheduler. 0 until it is
    /// set.
    pub value: u16,
    /// Private state of the scheduler.
    pub finish: u64,
}

/// Assigns ranks to streams.
pub(crate) trait Scheduler: core::fmt::Debug + Send + Sync {
    /// Returns the rank of a stream that became ready, or whose value was set.
    ///
    /// `head`: number of its first message, in the order of all messages.
    fn join(&mut self, share: &mut Share, head: u64) -> Rank;

    /// Returns the new rank of the stream at `rank` after it sent `bytes` of user data (`head`: its first
    /// message).
    fn served(&mut self, share: &mut Share, rank: Rank, bytes: u64, head: u64) -> Rank;

    /// Returns the new rank of a ready stream whose first message was removed; `head` is the new first
    /// message.
    fn beheaded(&mut self, rank: Rank, head: u64) -> Rank {
        let _ = head;
        rank
    }

    /// Returns true if a packet may hold new chunks of one stream only (RFC 8260 §3.3).
    fn one_stream_per_packet(&self) -> bool {
        false
    }
}
