//! Random transfers between [`Outbound`] and [`Inbound`] over channels that lose, duplicate and reorder.

use super::*;
use crate::inbound::{Inbound, InboundConfig};
use msctp_units::Span;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// The treatment of one packet by a channel.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrives,
    Lost,
    Twice,
    /// This many packets overtake it.
    Late(u8),
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Arrives),
        2 => Just(Fate::Lost),
        1 => Just(Fate::Twice),
        1 => (1u8..20).prop_map(Fate::Late),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The application sends a message: stream, length, unordered.
    Send(u8, u16, bool),
    /// A channel (0: data, 1: SACKs) treats its oldest packet.
    Deliver(bool, Fate),
    /// Advances the clock by this many ms.
    Wait(u16),
    /// The receiver's application reads this many messages.
    Read(u8),
    /// Selects another primary path.
    Switch(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![3 => 1u16..200, 3 => 1000u16..1460, 2 => 1460u16..8000];
    prop_oneof![
        6 => (0u8..3, len, prop::bool::weighted(0.2)).prop_map(|(stream, len, u)| Step::Send(stream, len, u)),
        12 => (any::<bool>(), fate()).prop_map(|(sacks, fate)| Step::Deliver(sacks, fate)),
        3 => prop_oneof![0u16..50, 200u16..3000].prop_map(Step::Wait),
        3 => (0u8..10).prop_map(Step::Read),
        1 => (0u8..2).prop_map(Step::Switch),
    ]
}

/// Both ends and the two channels between them.
struct World {
    now: Time,
    out: Outbound,
    paths: Paths,
    inbound: Inbound,
    data: VecDeque<Vec<u8>>,
    sacks: VecDeque<Vec<u8>>,
    /// Messages sent and not delivered yet: per stream in order; unordered ones by number.
    ordered: BTreeMap<u16, VecDeque<u64>>,
    unordered: BTreeMap<u64, u16>,
    sent: u64,
}

/// Returns a payload that repeats the message's number.
fn payload(number: u64, len: usize) -> Bytes {
    number.to_be_bytes().into_iter().cycle().take(len).collect()
}

impl World {
    fn new(receive_buffer: u32, initial_tsn: u32, same_path: bool) -> Self {
        let mut config =
            Config { receive_buffer, send_buffer: 1 << 20, outbound_streams: 3, ..Config::default() };
        if same_path {
            config.retransmission_path = crate::outbound::RetransmissionPath::Same;
        }
        let mut out = Outbound::new(&OutboundConfig::from(&config), Tsn::new(initial_tsn));
        out.establish(receive_buffer, 3);
        Self {
            now: ms(1000),
            out,
            paths: paths(2),
            inbound: Inbound::new(&InboundConfig::from(&config), Tsn::new(initial_tsn), 3),
            data: VecDeque::new(),
            sacks: VecDeque::new(),
            ordered: BTreeMap::new(),
            unordered: BTreeMap::new(),
            sent: 0,
        }
    }

    fn send(&mut self, stream: u16, len: usize, unordered: bool) {
        let number = self.sent;
        let message = OutMessage {
            stream,
            ppid: number as u32,
            unordered,
            data: payload(number, len),
            context: number,
            ..OutMessage::default()
        };
        if self.out.enqueue(self.now, message, &mut self.paths).is_ok() {
            self.sent += 1;
            if unordered {
                self.unordered.insert(number, stream);
            } else {
                self.ordered.entry(stream).or_default().push_back(number);
            }
        }
    }

    /// Sends all packets that may leave.
    fn drain(&mut self) {
        while let Some(path) = self.out.next_path(self.now, &mut self.paths) {
            let limit = self.out.oversized_packet(path, &mut self.paths).unwrap_or(1480);
            let (now, out, paths) = (self.now, &mut self.out, &mut self.paths);
            let mut filled = None;
            self.data.push_back(packet_bytes(|b| filled = Some(out.fill(now, path, paths, None, b)), limit));
            assert!(!filled.unwrap().is_empty());
        }
        if self.inbound.sack_due(self.now) {
            let inbound = &mut self.inbound;
            let sack = packet_bytes(|b| assert!(inbound.encode_sack(b).is_some()), 1480);
            self.sacks.push_back(sack);
        }
        self.check();
    }

    fn check(&self) {
        self.out.assert_consistent(&self.paths);
        self.inbound.assert_consistent();
        // Acknowledged chunks were received.
        let ahead = self.inbound.cum_tsn_ack().distance_from(self.out.cum_tsn_ack());
        assert!(ahead < 1 << 31, "the sender counts more than was received");
        assert!(self.out.outstanding_chunks() as u32 >= ahead);
    }

    fn deliver(&mut self, sacks: bool, fate: Fate) {
        let channel = if sacks { &mut self.sacks } else { &mut self.data };
        let Some(packet) = channel.pop_front() else { return };
        match fate {
            Fate::Lost => return,
            Fate::Late(by) => {
                let place = channel.len().min(usize::from(by));
                channel.insert(place, packet);
                return;
            }
            Fate::Arrives => {}
            Fate::Twice => channel.push_back(packet.clone()),
        }
        if sacks { self.receive_sack(&packet) } else { self.receive_data(&packet) }
    }

    fn receive_data(&mut self, bytes: &[u8]) {
        with_data(bytes, |data| {
            self.inbound.handle_data(data).unwrap();
        });
        self.inbound.end_packet(self.now);
    }

    fn receive_sack(&mut self, bytes: &[u8]) {
        for chunk in Packet::parse(bytes, Checksum::Verify).unwrap().chunks() {
            let Chunk::Sack(sack) = chunk.unwrap() else { panic!("not a SACK") };
            let outcome = self.out.handle_sack(self.now, &sack, &mut self.paths).unwrap();
            assert!(!outcome.malformed_gap_blocks);
        }
    }

    /// Reads messages and asserts that each is whole, delivered once, and in its stream's order.
    fn read(&mut self, count: usize) -> usize {
        let mut read = 0;
        while read < count {
            let Some(message) = self.inbound.read() else { break };
            read += 1;
            let number = u64::from(message.ppid);
            assert_eq!(message.data, payload(number, message.data.len()), "bytes of message {number}");
            if message.unordered {
                assert_eq!(self.unordered.remove(&number), Some(message.stream), "unordered, once");
            } else {
                let next = self.ordered.get_mut(&message.stream).and_then(VecDeque::pop_front);
                assert_eq!(next, Some(number), "in order of stream {}", message.stream);
            }
        }
        read
    }

    fn undelivered(&self) -> usize {
        self.unordered.len() + self.ordered.values().map(VecDeque::len).sum::<usize>()
    }

    fn advance(&mut self, to: Time) {
        self.now = to;
        self.out.handle_timeout(to, &mut self.paths);
    }

    fn next_deadline(&self) -> Option<Time> {
        let timers = [self.out.next_timeout(&self.paths), self.inbound.sack_deadline()];
        timers.into_iter().flatten().min()
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Send(stream, len, unordered) => {
                self.send(u16::from(stream), usize::from(len), unordered);
            }
            Step::Deliver(sacks, fate) => self.deliver(sacks, fate),
            Step::Wait(ms) => self.advance(self.now + Span::from_millis(ms.into())),
            Step::Read(count) => {
                self.read(count.into());
            }
            Step::Switch(path) => self.paths.set_primary(PathId::new(path.into())).unwrap(),
        }
        self.drain();
    }

    /// Ends the losses, and asserts that everything arrives and is acknowledged.
    fn finish(&mut self) {
        for _ in 0..100_000 {
            self.drain();
            self.read(usize::MAX);
            self.drain();
            if self.undelivered() == 0 && self.out.is_drained() {
                return;
            }
            if !self.data.is_empty() {
                self.now += Span::from_millis(1);
                self.deliver(false, Fate::Arrives);
            } else if !self.sacks.is_empty() {
                self.now += Span::from_millis(1);
                self.deliver(true, Fate::Arrives);
            } else {
                let deadline =
                    self.next_deadline().expect("data outstanding, no packet in a channel and no timer");
                self.advance(self.now.max(deadline));
            }
        }
        panic!("not finished: {} messages undelivered, {:?}", self.undelivered(), self.out);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_message_arrives_once_in_order(
        steps in prop::collection::vec(step(), 1..250),
        receive_buffer in prop_oneof![Just(1u32 << 20), 8000u32..40_000],
        initial_tsn in prop_oneof![Just(1u32), Just(u32::MAX - 20), any::<u32>()],
        same_path: bool,
    ) {
        let mut world = World::new(receive_buffer, initial_tsn, same_path);
        for step in steps {
            world.step(step);
        }
        world.finish();
        prop_assert!(world.inbound.read().is_none());
        prop_assert_eq!(world.inbound.held_bytes(), 0);
        prop_assert_eq!(world.inbound.a_rwnd(), receive_buffer, "all of it is free again");
        prop_assert_eq!(world.out.buffered(), 0);
    }

    /// Arbitrary SACKs neither panic the sender nor corrupt its counters; the transfer then still completes.
    #[test]
    fn any_sack_leaves_the_sender_consistent(
        sends in 1usize..60,
        sacks in prop::collection::vec(
            (0u32..40, prop::collection::vec((0u16..70, 0u16..70), 0..6), any::<u16>(), 0u8..6), 0..40),
    ) {
        let mut sender = Sender::new(2).window(P0, 30).window(P1, 30);
        sender.enqueue(sends, FULL);
        for (cum, gaps, a_rwnd, action) in sacks {
            match action {
                0 => sender.paths.set_primary(P1).unwrap(),
                1 => sender.paths.set_primary(P0).unwrap(),
                2 if sender.out.next_timeout(&sender.paths).is_some() => { sender.time_out(); }
                _ => {}
            }
            sender.flush();
            sender.wait(Span::from_millis(5));
            sender.a_rwnd = a_rwnd.into();
            let last = sender.out.next_tsn().get() - 1;
            sender.sack(cum.min(last), &gaps);
        }
        sender.a_rwnd = 1 << 20;
        for _ in 0..200 {
            sender.flush();
            sender.sack(sender.out.next_tsn().get() - 1, &[]);
            if sender.out.is_drained() { break; }
            if sender.out.next_timeout(&sender.paths).is_some() { sender.time_out(); }
        }
        prop_assert!(sender.out.is_drained());
    }
}

#[test]
fn rfc9260_6_2_a_transfer_resumes_after_a_closed_window() {
    let mut world = World::new(8000, 1, false);
    for _ in 0..40 {
        world.send(0, 1000, false);
    }
    // The application does not read for a minute.
    while world.now < ms(60_000) {
        world.drain();
        if !world.data.is_empty() {
            world.deliver(false, Fate::Arrives);
        } else if !world.sacks.is_empty() {
            world.deliver(true, Fate::Arrives);
        } else {
            let deadline = world.next_deadline().expect("probing goes on");
            world.advance(deadline);
        }
    }
    assert_eq!(world.inbound.a_rwnd(), 0);
    assert!(world.inbound.held_bytes() <= 9000, "the window and one probe at most");
    // The window update is lost.
    world.read(usize::MAX);
    world.drain();
    world.deliver(true, Fate::Lost);
    world.finish();
}
