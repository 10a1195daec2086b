//! [`Outbox`]: packets on their way from the core to the sockets, batched.

use std::net::{IpAddr, SocketAddr};

use msctp_proto::{Handle, Transmit};
use msctp_udp::{EcnCodepoint, Fragment};

/// Size in bytes of packets that fit every path, so that they may be batched afterwards.
const SMALL: usize = 1200;

/// Packets from the core.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) bytes: Vec<u8>,
    pub(crate) items: Vec<Item>,
    /// Whether to batch packets.
    pub(crate) offload: bool,
}

/// Packets to one destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) local: IpAddr,
    pub(crate) to: SocketAddr,
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) segment_size: Option<usize>,
    pub(crate) ecn: Option<EcnCodepoint>,
    pub(crate) fragment: Fragment,
    pub(crate) handle: Option<Handle>,
}

impl Outbox {
    /// Drops the bytes behind the last packet.
    pub(crate) fn drop_rest(&mut self) {
        self.bytes.truncate(self.items.last().map_or(0, |last| last.start + last.len));
    }

    /// Adds the packet that was appended to `bytes` at `start`.
    pub(crate) fn push(&mut self, start: usize, transmit: &Transmit, handle: Option<Handle>, udp_port: u16) {
        let item = Item {
            local: transmit.at.local,
            to: SocketAddr::new(transmit.at.remote, udp_port),
            start,
            len: transmit.len,
            segment_size: transmit.segment_size,
            ecn: EcnCodepoint::from_bits(transmit.ecn.bits()),
            fragment: match transmit {
                Transmit { probe: true, .. } => Fragment::Never,
                //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
                //# if the PMTU has been reduced, then IP fragmentation MUST be used.
                Transmit { may_fragment: true, .. } => Fragment::Anywhere,
                _ => Fragment::Here,
            },
            handle,
        };
        if !self.offload || !self.items.last_mut().is_some_and(|last| last.take_in(&item)) {
            self.items.push(item);
        }
    }
}

impl Item {
    /// Batches small packets of one length to one destination, from any association. The last packet may be
    /// shorter.
    fn take_in(&mut self, next: &Self) -> bool {
        let segment = self.segment_size.unwrap_or(self.len);
        let follows = (self.local, self.to, self.start + self.len) == (next.local, next.to, next.start);
        let alike = self.ecn == next.ecn && [self.fragment, next.fragment] == [Fragment::Here; 2];
        let fits = segment <= SMALL && next.segment_size.is_none() && next.len <= segment && alike;
        if !follows || !fits || !self.len.is_multiple_of(segment) {
            return false;
        }
        self.segment_size = Some(segment);
        self.len += next.len;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packets_of_one_length_to_one_place_go_together() {
        let to: SocketAddr = "192.0.2.1:9899".parse().unwrap();
        let local = IpAddr::from([192, 0, 2, 2]);
        let item = |start, len, to| Item {
            local,
            to,
            start,
            len,
            segment_size: None,
            ecn: None,
            fragment: Fragment::Here,
            handle: None,
        };
        let mut first = item(0, 100, to);
        assert!(first.take_in(&item(100, 100, to)));
        assert!(!first.take_in(&item(300, 100, to)), "it does not follow");
        assert!(!first.take_in(&item(200, 100, "192.0.2.3:9899".parse().unwrap())), "another place");
        assert!(!first.take_in(&item(200, 104, to)), "longer");
        assert!(first.take_in(&item(200, 60, to)));
        assert!(!first.take_in(&item(260, 60, to)), "behind a shorter one");
        assert_eq!((first.len, first.segment_size), (260, Some(100)));
        assert!(!item(0, 1400, to).take_in(&item(1400, 1400, to)), "perhaps a probe of the path's MTU");
    }
}
