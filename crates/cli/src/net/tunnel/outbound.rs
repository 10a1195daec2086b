//! [`Outbound`]: packets towards an association, queued until it has room.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use msctp::{Association, OutMessage, Reliability, Span, Time};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::PACKET;
use super::queue::FairQueue;
use crate::net::service::DATA;

/// Lifetime of a packet in the association, within which a lost one is retransmitted. After it, the
/// application retransmits sooner.
const LIFETIME: Span = Span::from_millis(500);

/// Minimum number of unsent bytes in the association: several polling intervals of a path.
const ROOM: u64 = 32 << 10;

/// Interval at which to poll for room in the association.
const LOOK: Duration = Duration::from_millis(1);

/// Milliseconds of data to keep queued in the association: several polling intervals.
const AHEAD: u64 = 4;

pub(super) struct Outbound {
    association: Association,
    queue: Mutex<FairQueue>,
    filled: Notify,
    begin: Instant,
}

impl Outbound {
    pub(super) fn new(association: Association, seed: u64) -> Arc<Self> {
        let queue = Mutex::new(FairQueue::new(seed));
        Arc::new(Self { association, queue, filled: Notify::new(), begin: Instant::now() })
    }

    pub(super) fn association(&self) -> &Association {
        &self.association
    }

    fn queue(&self) -> MutexGuard<'_, FairQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        Time::ZERO + Span::from_nanos(u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Queues a packet.
    pub(super) fn push(&self, packet: Vec<u8>) {
        self.queue().push(self.now(), packet);
        self.filled.notify_one();
    }

    /// Passes packets to the association only as it has room, so that they wait in the fair queue.
    pub(super) async fn run(&self) {
        loop {
            if self.queue().is_empty() {
                self.filled.notified().await;
            }
            let mut room = self.room();
            while room > 0 {
                let packet = self.queue().pop(self.now());
                let Some(packet) = packet else { break };
                room = room.saturating_sub(packet.len() as u64);
                let message = OutMessage {
                    stream: DATA,
                    ppid: PACKET,
                    data: Bytes::from(packet),
                    unordered: true,
                    reliability: Reliability::Lifetime(LIFETIME),
                    ..OutMessage::default()
                };
                // Without room it is dropped; an association that is over is noticed by its reader.
                let _ = self.association.try_send(&message);
            }
            if !self.queue().is_empty() {
                tokio::time::sleep(LOOK).await;
            }
        }
    }

    /// Returns the number of bytes to pass to the association now: its data for `AHEAD` ms, less its unsent
    /// bytes.
    fn room(&self) -> u64 {
        let paths = self.association.paths();
        let in_flight: u64 = paths.iter().map(|path| path.flight_size).sum();
        let rates = paths.iter().filter_map(|path| path.pacing_rate);
        let rate: u64 = rates.map(|rate| rate.as_bps() / 8 / 1_000 * AHEAD).max().unwrap_or(0);
        let unsent = self.association.buffered().saturating_sub(in_flight);
        rate.max(ROOM).saturating_sub(unsent)
    }
}
