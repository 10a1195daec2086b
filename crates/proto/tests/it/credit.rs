//! Stream credit: a stream that nobody reads does not stop the others (docs/internals/stream-credit.md).

use crate::support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use msctp_protection::{CipherSuite, Ring, Secret};
use msctp_proto::{
    AssociationState, Config, Event, KeyManagement, LocalAddrs, OutMessage, Protection, Reliability,
    SendError, StreamItem, StreamRequest,
};
use msctp_units::{Rate, Span};
use msctp_wire::{Cause, Causes, Error};
use support::{Fate, Flight, PORT_B, Pair, Side, a_ip, b_ip, chunk, message, packet};

const BUFFER: u64 = 1 << 20;
const RATE: u64 = 20_000_000;

fn protected() -> Config {
    let keys =
        KeyManagement::pre_shared(Arc::new(Ring), CipherSuite::Aes128GcmSha256, Secret::from(&[7; 32][..]));
    Config { protection: Protection::Required(Arc::new(keys.unwrap())), ..Config::default() }
}

/// Returns a pair whose end B reads nothing by itself.
fn up(config: Config) -> Pair {
    let mut pair = Pair::established(config);
    pair.b.reading = false;
    pair
}

/// A program that writes on many streams of A, and reads some at B.
struct Traffic {
    pair: Pair,
    len: usize,
    writing: BTreeSet<u16>,
    reading: BTreeSet<u16>,
    claimed: BTreeSet<u16>,
    /// Bytes read.
    read: BTreeMap<u16, u64>,
    /// Bytes accepted.
    sent: BTreeMap<u16, u64>,
    turn: usize,
    /// The first stream with credit takes all room of the send buffer.
    in_order: bool,
}

impl Traffic {
    fn new(pair: Pair, len: usize, writing: impl IntoIterator<Item = u16>, reading: &[u16]) -> Self {
        Self {
            pair,
            len,
            writing: writing.into_iter().collect(),
            reading: reading.iter().copied().collect(),
            claimed: BTreeSet::new(),
            read: BTreeMap::new(),
            sent: BTreeMap::new(),
            turn: 0,
            in_order: false,
        }
    }

    /// Writes and reads what there is room for.
    fn work(&mut self) {
        let Self { pair, len, writing, reading, claimed, read, sent, turn, in_order } = self;
        pair.with(Side::A, |a, now| {
            // One message of each stream in turn, from another one on each time.
            let first = if *in_order { 0 } else { *turn % writing.len().max(1) };
            *turn += 1;
            let mut open: Vec<u16> =
                writing.iter().skip(first).chain(writing.iter().take(first)).copied().collect();
            while !open.is_empty() {
                open.retain(|&stream| match a.send(now, message(stream, vec![stream as u8; *len])) {
                    Ok(()) => {
                        *sent.entry(stream).or_default() += *len as u64;
                        true
                    }
                    Err(error) => {
                        assert!(matches!(error, SendError::BufferFull { .. }), "{error}");
                        false
                    }
                });
            }
        });
        pair.with(Side::B, |b, _| {
            for &stream in reading.iter() {
                if claimed.insert(stream) {
                    assert!(b.claim_stream(stream));
                }
                while let Ok(Some(StreamItem::Message(message))) = b.recv_on(stream) {
                    *read.entry(stream).or_default() += message.data.len() as u64;
                }
            }
        });
    }

    fn run_for(&mut self, span: Span) {
        let end = self.pair.now + span;
        loop {
            self.work();
            if !self.pair.step(end) {
                return;
            }
        }
    }

    /// Runs, and returns the bytes read of each stream meanwhile.
    fn measure(&mut self, span: Span) -> BTreeMap<u16, u64> {
        let before = self.read.clone();
        self.run_for(span);
        self.read.iter().map(|(of, read)| (*of, read - before.get(of).unwrap_or(&0))).collect()
    }

    /// Checks that everything that was accepted arrives.
    fn finish(&mut self) {
        self.writing.clear();
        self.reading.extend(self.sent.keys());
        self.run_for(Span::from_secs(200));
        assert_eq!(self.read, self.sent);
    }
}

fn limited(config: Config) -> Pair {
    let mut pair = up(config);
    pair.rate = Some(Rate::from_bps(RATE));
    pair
}

fn total(read: &BTreeMap<u16, u64>) -> u64 {
    read.values().sum()
}

/// Bytes that the link carries of user data in this time.
fn capacity(seconds: u64) -> u64 {
    RATE / 8 * seconds * 93 / 100
}

#[test]
fn it_is_agreed_on_under_protection_only() {
    for (config, agreed) in [(protected(), true), (Config::default(), false)] {
        let mut pair = Pair::new(config.clone(), vec![support::b_ip(0)]);
        pair.log = Some(Vec::new());
        pair.connect(config, vec![support::a_ip(0)], vec![support::b_ip(0)]);
        pair.run_for(Span::from_secs(2));
        for side in [Side::A, Side::B] {
            assert_eq!(pair.with(side, |end, _| end.agreed().unwrap().stream_credit), agreed);
        }
        let init = &pair.log.as_ref().unwrap()[0];
        assert_eq!(init.bytes.contains(&0xbd) && init.bytes.contains(&0xbc), agreed);
    }
}

#[test]
fn one_of_eight_streams_that_is_never_read_does_not_slow_the_others() {
    for interleaving in [false, true] {
        let mut config = protected();
        config.streams.interleaving = interleaving;
        let mut traffic = Traffic::new(limited(config), 5000, 0..8, &[0, 1, 2, 4, 5, 6, 7]);
        traffic.run_for(Span::from_secs(5));
        for _ in 0..3 {
            let read = traffic.measure(Span::from_secs(5));
            assert!(total(&read) >= capacity(5), "{read:?}");
            let least = read.values().min().unwrap();
            assert!(*least >= total(&read) / 7 / 2, "{read:?}");
        }
        let unread = traffic.sent[&3];
        assert!(unread <= BUFFER / 32 + 5000, "{unread}");
        assert!(!traffic.pair.b.saw(|event| *event == Event::ReceiveBufferFull));
        traffic.finish();
    }
}

/// What was promised to streams in use is bounded too.
#[test]
fn all_but_one_of_the_streams_in_use_may_stop_to_be_read() {
    for (streams, in_order) in [(2, false), (8, false), (8, true)] {
        let all: Vec<u16> = (0..streams).collect();
        let config = Config { outbound_streams: streams, ..protected() };
        let mut traffic = Traffic::new(limited(config), 5000, 0..streams, &all);
        traffic.in_order = in_order;
        traffic.run_for(Span::from_secs(5));
        traffic.reading = BTreeSet::from([1]);
        traffic.run_for(Span::from_secs(5));
        let read = traffic.measure(Span::from_secs(5));
        assert!(read[&1] >= capacity(5) * 7 / 10, "{streams} streams, in order {in_order}: {read:?}");
        traffic.finish();
    }
}

#[test]
fn many_streams_that_nobody_reads_leave_room_for_one_that_is_read() {
    for len in [10, 5000] {
        let mut config = protected();
        config.outbound_streams = 100;
        let mut traffic = Traffic::new(limited(config), len, 0..100, &[7]);
        traffic.run_for(Span::from_secs(20));
        let read = traffic.measure(Span::from_secs(5));
        // A small message takes 256 bytes of the buffer.
        let enough = if len == 10 { 100_000 } else { capacity(5) / 3 };
        assert!(read[&7] >= enough, "{len}: {read:?}");
        traffic.finish();
    }
}

/// Streams begin and are never read, for as long as they take: another one still begins.
#[test]
fn further_streams_begin_beside_many_that_nobody_reads() {
    let mut config = protected();
    config.outbound_streams = 60;
    let mut traffic = Traffic::new(limited(config), 5000, 0..50, &[]);
    traffic.run_for(Span::from_secs(10));
    traffic.writing.extend([55, 56]);
    traffic.reading.extend([55, 56]);
    traffic.run_for(Span::from_secs(5));
    let read = traffic.measure(Span::from_secs(5));
    assert!(read.values().all(|read| *read >= capacity(5) / 10), "{read:?}");
    traffic.finish();
}

/// A buffer with no room for messages of several streams is used without limits.
#[test]
fn a_small_buffer_has_no_limits() {
    let config = Config { receive_buffer: 20_000, ..protected() };
    let mut traffic = Traffic::new(up(config), 1000, [0], &[]);
    traffic.run_for(Span::from_secs(5));
    assert!(traffic.sent[&0] > 20_000 && !traffic.pair.with(Side::A, |a, _| a.lacks_credit(0)));
}

#[test]
fn a_stream_alone_is_as_fast_as_without_credit() {
    let mut rates = Vec::new();
    for config in [protected(), Config::default()] {
        let mut pair = limited(config);
        pair.default_delay = Span::from_millis(60);
        let mut traffic = Traffic::new(pair, 1000, [0], &[0]);
        traffic.run_for(Span::from_secs(3));
        rates.push(total(&traffic.measure(Span::from_secs(10))));
    }
    assert!(rates[0] >= rates[1] * 95 / 100, "{rates:?}");
}

/// Fills a stream that nobody reads until no more is accepted.
fn blocked(len: usize) -> Traffic {
    let mut pair = up(protected());
    pair.log = Some(Vec::new());
    let mut traffic = Traffic::new(pair, len, [0], &[]);
    traffic.run_for(Span::from_secs(30));
    assert!(traffic.pair.with(Side::A, |a, _| a.lacks_credit(0) && a.buffered() == 0));
    traffic.pair.a.events.clear();
    traffic
}

fn is_writable(pair: &Pair) -> bool {
    pair.a.saw(|event| *event == Event::StreamWritable(0))
}

/// Each kind of chunk is lost in turn: the announcement, the questions, the answers.
#[test]
fn lost_announcements_are_asked_for() {
    for lost in 0..5 {
        let mut traffic = blocked(1000);
        let pair = &mut traffic.pair;
        // Until the peer reads, questions are backed off but go on.
        let asked = pair.log.as_ref().unwrap().iter().filter(|flight| flight.from == Side::A).count();
        pair.run_for(Span::from_secs(120));
        let more = pair.log.as_ref().unwrap().iter().filter(|flight| flight.from == Side::A).count() - asked;
        assert!((2..30).contains(&more), "{more} questions and heartbeats");
        let mut count = 0;
        pair.drop_if(move |_: &Flight| {
            count += 1;
            count <= lost
        });
        traffic.reading.insert(0);
        traffic.writing.clear();
        traffic.work();
        let pair = &mut traffic.pair;
        assert!(pair.run_until(Span::from_secs(300), |pair| is_writable(pair)), "{lost} packets lost");
        traffic.writing.insert(0);
        traffic.measure(Span::from_secs(1));
        traffic.finish();
    }
}

/// A rejected sender asks although nothing is in flight, and its timer does not depend on T3-rtx.
#[test]
fn the_first_question_follows_within_a_few_round_trips() {
    let mut traffic = Traffic::new(up(protected()), 1000, [0], &[0]);
    traffic.work();
    let from = traffic.pair.now;
    // The announcements of the first second are lost, and nothing else.
    traffic.pair.filter = Box::new(move |flight| {
        let is_announced = flight.from == Side::B && flight.sent > from && flight.bytes.len() > 80;
        if is_announced && flight.sent < from + Span::from_secs(1) { Fate::Drop } else { Fate::Pass }
    });
    traffic.run_for(Span::from_secs(2));
    let read = traffic.measure(Span::from_secs(1));
    assert!(read[&0] > BUFFER, "{read:?}");
}

#[test]
fn everything_arrives_over_lossy_reordering_networks() {
    let mut random = 1_u64;
    let mut config = protected();
    config.loss_recovery = msctp_proto::LossRecovery::Rack;
    let mut pair = up(config);
    pair.filter = Box::new(move |_| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match random >> 59 {
            0 => Fate::Drop,
            1..4 => Fate::Late(Span::from_millis(random >> 32 & 31)),
            _ => Fate::Pass,
        }
    });
    let mut traffic = Traffic::new(pair, 3000, 0..8, &[0, 1, 2]);
    let read = traffic.measure(Span::from_secs(60));
    assert!(read.values().all(|read| *read > BUFFER / 2), "{read:?}");
    traffic.pair.pass_all();
    traffic.finish();
}

#[test]
fn a_message_larger_than_the_limit_and_the_buffer_is_sent_and_parts_count_when_they_can_be_read() {
    let config = Config { receive_buffer: 64 << 10, ..protected() };
    let mut traffic = Traffic::new(up(config), 300_000, [0, 1], &[1]);
    traffic.run_for(Span::from_secs(20));
    traffic.reading.insert(0);
    let read = traffic.measure(Span::from_secs(20));
    assert!(read.values().all(|read| *read > 600_000), "{read:?}");
    traffic.finish();
}

/// Unread bytes take nothing of the window: a message that fills it is delivered in parts.
#[test]
fn a_message_larger_than_the_buffer_passes_a_stream_that_nobody_reads() {
    for interleaving in [false, true] {
        let mut config = Config { receive_buffer: 128 << 10, ..protected() };
        config.streams.interleaving = interleaving;
        let mut traffic = Traffic::new(up(config), 1000, [0], &[1]);
        traffic.run_for(Span::from_secs(5));
        assert!(traffic.sent[&0] > 1000);
        traffic.writing = BTreeSet::from([1]);
        traffic.len = 700_000;
        let read = traffic.measure(Span::from_secs(20));
        assert!(read[&1] > 1_400_000, "{read:?}");
        traffic.finish();
    }
}

/// Limits belong to the number: a reset changes nothing, whatever the last use has left.
#[test]
fn numbers_are_used_again_without_end() {
    let mut pair = up(protected());
    let mut total = 0;
    while total < 3 * BUFFER {
        pair.with(Side::A, |a, now| {
            for _ in 0..20 {
                a.send(now, message(3, vec![1; 1000])).unwrap();
            }
        });
        pair.run_for(Span::from_millis(300));
        pair.with(Side::A, |a, now| a.reconfigure(now, StreamRequest::ResetOutgoing(vec![3]))).unwrap();
        pair.run_for(Span::from_millis(300));
        pair.with(Side::B, |b, _| {
            assert!(b.claim_stream(3));
            while let Ok(Some(item)) = b.recv_on(3) {
                if let StreamItem::Message(message) = item {
                    total += message.data.len() as u64;
                }
            }
        });
        pair.with(Side::B, |b, now| assert!(b.release_stream(now, 3)));
        pair.run_for(Span::from_millis(300));
    }
}

#[test]
fn what_arrives_for_a_reader_that_is_gone_counts_as_read() {
    let mut pair = up(protected());
    pair.with(Side::B, |b, now| {
        b.claim_stream(0);
        b.release_stream(now, 0)
    });
    let mut traffic = Traffic::new(pair, 1000, [0], &[]);
    traffic.run_for(Span::from_secs(20));
    assert!(traffic.sent[&0] > 4 * BUFFER, "{:?}", traffic.sent);
}

/// Abandoned messages leave no credit behind, and take none.
#[test]
fn abandoned_messages_give_their_credit_back() {
    const BUFFER: u64 = 128 << 10;
    for unordered in [false, true] {
        let mut pair = up(Config { receive_buffer: BUFFER as u32, ..protected() });
        let mut number = 0;
        pair.filter = Box::new(move |flight| {
            number += u32::from(flight.from == Side::A);
            if flight.from == Side::A && number.is_multiple_of(10) { Fate::Drop } else { Fate::Pass }
        });
        pair.with(Side::B, |b, _| b.claim_stream(0));
        let (mut sent, mut refused, mut read) = (0_u64, 0_u64, 0_u64);
        for _ in 0..2500 {
            pair.with(Side::A, |a, now| {
                let reliability = Reliability::Retransmissions(0);
                let live = OutMessage { unordered, reliability, ..message(0, vec![1; 1000]) };
                match a.send(now, live) {
                    Ok(()) => sent += 1,
                    Err(_) => refused += 1,
                }
            });
            pair.run_for(Span::from_millis(20));
            pair.with(Side::B, |b, _| {
                while let Ok(Some(StreamItem::Message(_))) = b.recv_on(0) {
                    read += 1;
                }
            });
        }
        let abandoned = (sent - read) * 1000;
        let was_open = refused * 20 < sent && abandoned > BUFFER;
        assert!(was_open, "{sent} sent, {refused} refused, {read} read");
        // Nobody reads: what the peer holds is bounded all the same.
        pair.pass_all();
        let mut traffic = Traffic::new(pair, 1000, [0], &[]);
        traffic.run_for(Span::from_secs(30));
        assert!(traffic.sent[&0] <= BUFFER + BUFFER / 8, "{:?}", traffic.sent);
    }
}

/// A sender with a closed limit lets key management, resets and the shutdown pass.
#[test]
fn a_blocked_stream_can_be_reset_and_the_association_shut_down() {
    let mut traffic = blocked(1000);
    let pair = &mut traffic.pair;
    pair.with(Side::A, |a, now| a.reconfigure(now, StreamRequest::ResetOutgoing(vec![0]))).unwrap();
    pair.run_for(Span::from_secs(1));
    pair.with(Side::A, |a, now| a.shutdown(now));
    pair.run_for(Span::from_secs(5));
    assert!(pair.a.saw(|event| *event == Event::Closed), "{:?}", pair.a.events);
}

#[test]
fn added_streams_have_the_initial_limit() {
    let mut pair = up(protected());
    pair.with(Side::A, |a, now| a.reconfigure(now, StreamRequest::AddOutgoing(5))).unwrap();
    pair.run_for(Span::from_secs(1));
    let mut traffic = Traffic::new(pair, 1000, [12], &[]);
    traffic.run_for(Span::from_secs(3));
    let first = BUFFER / 32;
    assert!((first..first + 1000).contains(&traffic.sent[&12]), "{:?}", traffic.sent);
    traffic.finish();
}

/// An observer says that the cookie is stale, and a server with a small buffer, where streams have no limits,
/// answers the next INIT: those of the first answer are forgotten.
#[test]
fn limits_of_an_attempt_that_failed_are_forgotten() {
    let (large, small) = (protected(), Config { receive_buffer: 32 << 10, ..protected() });
    let mut pair = Pair::new(large.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.drop_if(|flight| flight.has(chunk::COOKIE_ECHO));
    pair.connect(large, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_millis(50));
    assert_eq!(pair.a.state(), Some(AssociationState::CookieEchoed));
    assert!(pair.b.endpoint.stop_listening(PORT_B));
    let local = LocalAddrs { port: PORT_B, addresses: vec![b_ip(0)] };
    pair.b.endpoint.listen(local, small).unwrap();
    pair.pass_all();
    let causes = [Cause::StaleCookie(1)];
    let stale = packet(Side::A, pair.tag_of(Side::A), &[&Error { causes: Causes::from(&causes) }]);
    pair.inject(Side::A, Pair::at(Side::A), &stale);
    pair.run_for(Span::from_secs(1));
    assert_eq!(pair.a.state(), Some(AssociationState::Established));
    pair.transfer(Side::A, 500, 1000, Span::from_secs(60));
}
