//! [`ForwardQueue`]: passes datagrams that arrived at the sockets of one shard to the shard of their
//! association.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use msctp_proto::Handle;
use msctp_udp::{Datagram, EcnCodepoint, IcmpError};

/// Maximum bytes of datagrams in a queue. Datagrams beyond it are dropped, as in any queue of the network.
pub(crate) const MAX_FORWARDED: usize = 1 << 20;

/// Approximate memory of an entry besides its datagram.
const OVERHEAD: usize = 128;

/// A message from one shard to another.
#[derive(Debug)]
pub(crate) enum Forwarded {
    /// A datagram for an association of the other shard.
    Datagram { local: IpAddr, remote: SocketAddr, ecn: Option<EcnCodepoint>, bytes: Vec<u8> },
    /// An ICMP message about a packet that the other shard sent from this address.
    Icmp(IpAddr, IcmpError),
    /// The peer of this association has not proved its keys, and too many such associations exist.
    Evicted(Handle),
}

impl Forwarded {
    pub(crate) fn of(datagram: &Datagram<'_>) -> Self {
        let &Datagram { local, remote, ecn, ref bytes } = datagram;
        Self::Datagram { local, remote, ecn, bytes: bytes.to_vec() }
    }

    /// Returns the number of bytes to count. Other limits bound the number of messages without a datagram.
    fn bytes(&self) -> usize {
        match self {
            Self::Datagram { bytes, .. } => bytes.len() + OVERHEAD,
            Self::Icmp(_, message) => message.quoted.len() + OVERHEAD,
            Self::Evicted(_) => 0,
        }
    }
}

/// The queue of a shard. Its lock is held briefly, and no other lock is taken meanwhile.
#[derive(Debug, Default)]
pub(crate) struct ForwardQueue(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    entries: VecDeque<Forwarded>,
    bytes: usize,
    /// The shard's task is over.
    closed: bool,
    driver: Option<Waker>,
}

impl ForwardQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds these entries, as far as they fit, and wakes the shard's task.
    pub(crate) fn extend(&self, entries: impl IntoIterator<Item = Forwarded>) {
        let mut queue = self.lock();
        if queue.closed {
            return;
        }
        for entry in entries {
            let bytes = entry.bytes();
            if bytes == 0 || queue.bytes + bytes <= MAX_FORWARDED {
                queue.bytes += bytes;
                queue.entries.push_back(entry);
            }
        }
        let driver = queue.driver.take();
        drop(queue);
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// Moves all entries to `into`, which is empty. Later entries wake the task of `cx`.
    pub(crate) fn take(&self, cx: &Context<'_>, into: &mut VecDeque<Forwarded>) {
        let mut queue = self.lock();
        queue.bytes = 0;
        std::mem::swap(&mut queue.entries, into);
        if !queue.driver.as_ref().is_some_and(|driver| driver.will_wake(cx.waker())) {
            queue.driver = Some(cx.waker().clone());
        }
    }

    /// Drops all entries, present and future.
    pub(crate) fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        let entries = std::mem::take(&mut queue.entries);
        drop(queue);
        drop(entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_datagrams_and_has_room_once_it_is_taken() {
        let queue = ForwardQueue::default();
        let datagram = |len| Forwarded::Datagram {
            local: [127, 0, 0, 1].into(),
            remote: "127.0.0.1:9".parse().unwrap(),
            ecn: None,
            bytes: vec![0; len],
        };
        let cx = Context::from_waker(Waker::noop());
        let take = || {
            let mut taken = VecDeque::new();
            queue.take(&cx, &mut taken);
            taken.len()
        };
        let fits = MAX_FORWARDED / (1500 + OVERHEAD);
        queue.extend((0..2 * fits).map(|_| datagram(1500)));
        let mut core = msctp_proto::Endpoint::new(msctp_proto::EndpointConfig::default(), [7; 32]).unwrap();
        let local = msctp_proto::LocalAddrs { port: 9, addresses: vec![[127, 0, 0, 1].into()] };
        let remote = msctp_proto::RemoteAddrs { port: 9, addresses: vec![[127, 0, 0, 2].into()] };
        let config = msctp_proto::Config::default();
        let evicted = core.connect(msctp_units::Time::ZERO, config, local, remote).unwrap();
        queue.extend([Forwarded::Evicted(evicted)]);
        assert_eq!(take(), fits + 1, "what is no datagram is not lost");
        queue.extend([datagram(1500)]);
        assert_eq!(take(), 1);
        queue.extend([datagram(1500)]);
        queue.close();
        queue.extend([datagram(1500)]);
        assert_eq!(take(), 0);
    }
}
