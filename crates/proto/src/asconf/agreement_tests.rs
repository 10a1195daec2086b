//! Both ends over a lossy, duplicating, reordering channel: they end with the same idea of the addresses.

use core::net::{IpAddr, Ipv4Addr};

use msctp_units::{Span, Time};
use msctp_wire::{Chunk, EncodeChunk, Param, Tsn};
use proptest::prelude::*;

use super::{Ack, AsconfEvent, AsconfIn, AsconfOut, Received, Reception, prepare_local};
use crate::addr::PathAddr;
use crate::asconf::AddressRequest;
use crate::path::{Paths, PathsConfig, SourceUse};

/// More requests than the peer has room for, so that some are refused.
const ROOM: usize = 4;
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn address(n: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, n])
}

fn request(kind: u8, n: u8) -> AddressRequest {
    match kind % 4 {
        0 => AddressRequest::Add(address(n)),
        1 => AddressRequest::Delete(address(n)),
        2 => AddressRequest::SetPrimary(address(n)),
        _ => AddressRequest::KeepOnly(address(n)),
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Queue these together.
    Request(Vec<(u8, u8)>),
    /// Send what is pending.
    Send,
    /// Deliver, drop or duplicate the ASCONF at this index of the channel.
    Asconf(usize, Fate),
    /// Deliver, drop or duplicate the ASCONF-ACK at this index of the channel.
    Ack(usize, Fate),
    /// T4-rto expires.
    Timeout,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Deliver,
    Lose,
    Duplicate,
}

/// The requesting end, the answering end, and two channels.
struct World {
    out: AsconfOut,
    near: Paths,
    incoming: AsconfIn,
    far: Paths,
    /// Packets with ASCONF: the addresses in the requesting end's view, and the chunk.
    asconfs: Vec<(PathAddr, Vec<u8>)>,
    acks: Vec<Vec<u8>>,
    now: Time,
    accepted: usize,
    settled: usize,
    /// The address last acknowledged as primary, until it is deleted.
    primary: Option<IpAddr>,
}

impl World {
    fn new() -> Self {
        let tsn = Tsn::new(u32::MAX - 3); // wraps soon
        let pair = |local, remote| {
            let mut paths = Paths::new(PathsConfig::default(), [1; 32]);
            paths.add_local(local, SourceUse::Full, Time::ZERO).unwrap();
            let added = paths.add_remote(remote, Time::ZERO).unwrap();
            paths.confirm(added[0], Time::ZERO);
            paths
        };
        Self {
            out: AsconfOut::new(tsn, &[address(0)], true),
            near: pair(address(0), SERVER),
            incoming: AsconfIn::new(tsn),
            far: pair(SERVER, address(0)),
            asconfs: Vec::new(),
            acks: Vec::new(),
            now: Time::ZERO,
            accepted: 0,
            settled: 0,
            primary: None,
        }
    }

    fn request(&mut self, requests: &[(u8, u8)]) {
        let requests: Vec<_> = requests.iter().map(|(kind, n)| request(*kind, *n)).collect();
        if self.out.request_together(&requests).is_err() {
            return;
        }
        self.accepted += requests.len();
        for request in requests {
            if let AddressRequest::Add(added) = request {
                prepare_local(&mut self.near, added, self.now).unwrap();
            }
        }
    }

    fn events(&mut self) {
        while let Some(event) = self.out.poll_event() {
            event.apply(&mut self.near, self.now);
            self.settled += usize::from(!matches!(event, AsconfEvent::Started(_)));
            match event {
                AsconfEvent::Done(AddressRequest::SetPrimary(addr)) => self.primary = Some(addr),
                AsconfEvent::Done(AddressRequest::Delete(addr)) => {
                    self.primary.take_if(|primary| *primary == addr);
                }
                AsconfEvent::Done(AddressRequest::KeepOnly(addr)) => {
                    self.primary.take_if(|primary| *primary != addr);
                }
                AsconfEvent::Unsupported => panic!("the peer supports it"),
                _ => {}
            }
        }
    }

    fn send(&mut self) {
        self.events();
        self.out.prepare(|_| true);
        self.events();
        if !self.out.is_pending() {
            return;
        }
        let path = self
            .near
            .request_path_from(self.out.required_source(), self.out.last_path())
            .expect("F5 leaves a source");
        let addr = self.near.get(path).unwrap().addr();
        let chunk = self.out.transmit(path, addr.local, self.now, Span::from_secs(1)).expect("pending");
        let mut bytes = Vec::new();
        chunk.encode(&mut bytes);
        // F6
        let Ok(Chunk::Asconf(asconf)) = Chunk::parse(&bytes) else { panic!("not an ASCONF: {bytes:?}") };
        let deletes =
            |param| matches!(param, Ok(Param::DeleteIpAddress(delete)) if delete.address == addr.local);
        assert!(!asconf.requests.iter().any(deletes), "sent from an address that it deletes");
        self.asconfs.push((addr, bytes));
    }

    fn deliver_asconf(&mut self, (addr, bytes): &(PathAddr, Vec<u8>)) {
        let Ok(Chunk::Asconf(asconf)) = Chunk::parse(bytes) else { panic!("not an ASCONF: {bytes:?}") };
        self.incoming.begin_packet();
        let addresses: Vec<_> = self.far.remotes().collect();
        let received = Received {
            source: addr.local,
            protected: false,
            addresses: &addresses,
            paths_to: &|theirs| self.far.paths_to(theirs),
            max_paths: ROOM,
            max_ack: 1200,
        };
        let listed = received.addresses.contains(&asconf.address);
        if let Reception::Processed(effects) = self.incoming.handle(&asconf, &received) {
            assert!(listed, "§4.1.1: the lookup address is part of the association");
            for effect in effects {
                for id in effect.apply(&mut self.far, self.now).added {
                    self.far.confirm(id, self.now);
                }
                if let Some(path) = self.far.take_wanted_primary() {
                    self.far.set_primary(path).unwrap();
                }
            }
            assert!((1..=ROOM).contains(&self.far.remotes().len()));
        }
        for answer in self.incoming.answers() {
            let mut bytes = Vec::new();
            answer.encode(&mut bytes);
            self.acks.push(bytes);
        }
    }

    fn deliver_ack(&mut self, bytes: &[u8]) {
        let Ok(Chunk::AsconfAck(ack)) = Chunk::parse(bytes) else { panic!("not an ASCONF-ACK: {bytes:?}") };
        assert_ne!(self.out.on_ack(&ack), Ack::Illegal);
        self.events();
    }

    fn step(&mut self, step: &Step) {
        self.now += Span::from_millis(10);
        match step {
            Step::Request(requests) => self.request(requests),
            Step::Send => self.send(),
            Step::Asconf(at, fate) if !self.asconfs.is_empty() => {
                let at = at % self.asconfs.len();
                let packet =
                    if *fate == Fate::Duplicate { self.asconfs[at].clone() } else { self.asconfs.remove(at) };
                if *fate != Fate::Lose {
                    self.deliver_asconf(&packet);
                }
            }
            Step::Ack(at, fate) if !self.acks.is_empty() => {
                let at = at % self.acks.len();
                let packet =
                    if *fate == Fate::Duplicate { self.acks[at].clone() } else { self.acks.remove(at) };
                if *fate != Fate::Lose {
                    self.deliver_ack(&packet);
                }
            }
            Step::Timeout => {
                if let Some(at) = self.out.next_timeout() {
                    self.now = self.now.max(at);
                    let last = self.out.last_path();
                    assert_eq!(self.out.handle_timeout(self.now), last);
                    assert!(self.out.is_pending());
                }
            }
            Step::Asconf(..) | Step::Ack(..) => {}
        }
    }

    /// Delivers everything once the channel works again. Late packets still arrive out of order.
    fn settle(&mut self) {
        for _ in 0..1000 {
            while !self.asconfs.is_empty() {
                self.step(&Step::Asconf(self.asconfs.len() - 1, Fate::Deliver));
            }
            while !self.acks.is_empty() {
                self.step(&Step::Ack(0, Fate::Deliver));
            }
            self.events();
            if self.out.len() == 0 {
                return;
            }
            self.step(&Step::Timeout);
            self.step(&Step::Send);
        }
        panic!("no end: {:?}", self.out);
    }
}

fn step() -> impl Strategy<Value = Step> {
    let fate = || prop_oneof![4 => Just(Fate::Deliver), 2 => Just(Fate::Lose), 1 => Just(Fate::Duplicate)];
    prop_oneof![
        3 => prop::collection::vec((0u8..4, 0u8..6), 1..4).prop_map(Step::Request),
        4 => Just(Step::Send),
        4 => (any::<usize>(), fate()).prop_map(|(at, fate)| Step::Asconf(at, fate)),
        4 => (any::<usize>(), fate()).prop_map(|(at, fate)| Step::Ack(at, fate)),
        1 => Just(Step::Timeout),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn both_ends_agree_on_the_addresses(steps in prop::collection::vec(step(), 0..80)) {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
        }
        world.settle();
        let sorted = |mut list: Vec<IpAddr>| { list.sort(); list };
        let listed = sorted(world.far.remotes().collect());
        prop_assert_eq!(&sorted(world.out.addresses().to_vec()), &listed);
        prop_assert_eq!(&sorted(world.near.locals().map(|(addr, _)| addr).collect()), &listed);
        prop_assert!(world.near.locals().all(|(_, source)| source == SourceUse::Full));
        prop_assert_eq!(world.accepted, world.settled, "each request has one outcome");
        if let Some(primary) = world.primary {
            let path = world.far.get(world.far.primary().unwrap()).unwrap();
            prop_assert_eq!(path.addr().remote, primary);
        }
    }
}
