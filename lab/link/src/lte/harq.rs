//! [`Harq`]: the sender's HARQ processes (3GPP TS 36.321 §5.3.2, §5.4.2). A process that received a NACK
//! retransmits its transport block one round trip later. It sees no RLC.

use msctp_units::Time;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use super::{LteConfig, LteStats, TTI};
use crate::arq::{BlockErrors, Part};

/// Content of a transport block: a PDU or a part of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransportBlock {
    pub(super) number: u64,
    pub(super) part: Part,
    pub(super) poll: bool,
    pub(super) octets: u32,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    block: TransportBlock,
    /// Transmissions so far.
    attempts: u32,
}

/// The processes, each with the transport block that it will retransmit.
#[derive(Debug)]
pub(super) struct Harq {
    processes: Vec<Option<Pending>>,
    rng: ChaCha8Rng,
}

impl Harq {
    /// Creates idle processes. Soft combining and misread answers draw from a stream seeded with `seed`.
    pub(super) fn new(processes: u32, seed: [u8; 32]) -> Self {
        Self { processes: vec![None; processes as usize], rng: ChaCha8Rng::from_seed(seed) }
    }

    /// Returns the process whose turn is at `at`.
    fn turn(&self, at: Time) -> usize {
        (at.as_nanos() / TTI.as_nanos() % self.processes.len() as u64) as usize
    }

    /// Returns whether a retransmitted transport block occupies the TTI at `at`.
    pub(super) fn is_taken(&self, at: Time) -> bool {
        self.processes[self.turn(at)].is_some()
    }

    /// Returns the first occupied TTI at or after `from`.
    pub(super) fn next_taken(&self, from: Time) -> Option<Time> {
        (0..self.processes.len() as u64).map(|n| from + TTI * n).find(|&at| self.is_taken(at))
    }

    /// Sends the pending transport block of the TTI's process, or else `new`. Returns the transport block if
    /// it is decoded.
    pub(super) fn send(
        &mut self,
        at: Time,
        new: Option<TransportBlock>,
        config: &LteConfig,
        errors: &mut BlockErrors,
        stats: &mut LteStats,
    ) -> Option<TransportBlock> {
        let process = self.turn(at);
        let pending = match self.processes[process].take() {
            Some(pending) => pending,
            None => {
                stats.transport_blocks += 1;
                Pending { block: new?, attempts: 0 }
            }
        };
        let mut lost = errors.takes(at + TTI, pending.block.octets);
        for _ in 0..pending.attempts {
            lost &= config.combining.draw(&mut self.rng);
        }
        stats.attempts += 1;
        if !lost {
            stats.decoded[pending.attempts as usize] += 1;
            return Some(pending.block);
        }
        let attempts = pending.attempts + 1;
        if attempts < config.max_attempts && !config.nack_as_ack.draw(&mut self.rng) {
            self.processes[process] = Some(Pending { attempts, ..pending });
        } else {
            stats.harq_failures += 1;
        }
        None
    }

    /// Removes all transport blocks.
    pub(super) fn clear(&mut self) {
        self.processes.fill(None);
    }
}
