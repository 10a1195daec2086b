//! Copies of small messages on every network (`PathUse::Redundant`, `OutMessage::redundant`).

use crate::support;

use msctp_proto::{Config, OutMessage, PathUse};
use msctp_units::Span;
use support::{Pair, Side, a_ip, b_ip, chunk, message};

fn two_networks(paths: PathUse) -> Pair {
    let config = Config { paths, ..Config::default() };
    let mut pair =
        Pair::established_with(config.clone(), config, vec![a_ip(0), a_ip(1)], vec![b_ip(0), b_ip(1)]);
    pair.run_for(Span::from_secs(5));
    pair.log = Some(Vec::new());
    pair
}

/// Sends the messages. Returns the packets with DATA on each network, and the number of copied chunks.
fn sent(pair: &mut Pair, messages: Vec<OutMessage>) -> ([usize; 2], u64) {
    let before = pair.log_len();
    let bytes: usize = messages.iter().map(|message| message.data.len()).sum();
    let received = pair.b.bytes_received();
    messages.into_iter().for_each(|message| pair.send(Side::A, message));
    pair.run_for(Span::from_secs(1));
    assert_eq!(pair.b.bytes_received() - received, bytes, "each message is delivered once");
    let data: Vec<_> = pair.sent_since(Side::A, before);
    let on = |network: u8| {
        data.iter().filter(|flight| flight.has(chunk::DATA) && flight.at.local == a_ip(network)).count()
    };
    let copied = pair.with(Side::A, |association, _| association.stats().data_chunks_copied);
    ([on(0), on(1)], copied)
}

#[test]
fn a_message_that_fits_a_packet_is_copied_and_delivered_once() {
    let mut pair = two_networks(PathUse::Redundant);
    assert_eq!(sent(&mut pair, vec![message(0, vec![7; 500])]), ([1, 1], 1));
    let duplicates = pair.with(Side::B, |association, _| association.stats().duplicate_tsns_received);
    assert_eq!(duplicates, 1, "dropped by its TSN");
    assert_eq!(sent(&mut pair, vec![message(0, vec![7; 4000])]), ([4, 0], 1), "fragments are not copied");
}

#[test]
fn single_messages_are_copied_on_request() {
    for paths in [PathUse::One, PathUse::Aggregate] {
        let mut pair = two_networks(paths);
        let urgent = |size| OutMessage { redundant: true, ..message(0, vec![7; size]) };
        let (_, copied) = sent(&mut pair, vec![message(0, vec![7; 500])]);
        assert_eq!(copied, 0, "{paths:?}");
        let (on, copied) = sent(&mut pair, vec![urgent(500)]);
        assert_eq!((on, copied), ([1, 1], 1), "{paths:?}");
        let (on, copied) = sent(&mut pair, vec![urgent(2500)]);
        assert_eq!((on, copied), ([3, 3], 4), "its three fragments too: {paths:?}");
    }
}

/// Of 100 messages of 1,000 bytes sent at once, the other network carries an initial window per round trip.
#[test]
fn copies_take_an_initial_window_per_round_trip() {
    let mut pair = two_networks(PathUse::Redundant);
    let start = pair.now;
    let messages = (0..100).map(|_| message(0, vec![7; 1000])).collect();
    let ([first, second], _) = sent(&mut pair, messages);
    assert_eq!(first, 100);
    let srtt = pair.with(Side::A, |association, _| association.paths().find_map(|path| path.srtt).unwrap());
    let log = pair.log.as_ref().unwrap();
    let copies: Vec<_> = log.iter().filter(|f| f.has(chunk::DATA) && f.at.local == a_ip(1)).collect();
    assert_eq!(copies.len(), second);
    assert!((4..100).contains(&second), "{second} copies");
    for copy in &copies {
        // 4404 bytes and the packet that exceeds them, in two round trips that a window touches
        let window = copies.iter().filter(|other| other.sent >= copy.sent && other.sent < copy.sent + srtt);
        assert!(window.count() <= 10, "from {:?} on", copy.sent.since(start));
    }
}

#[test]
fn a_network_that_drops_everything_gets_no_copies_once_it_failed() {
    let mut pair = two_networks(PathUse::Redundant);
    pair.drop_if(|flight| flight.at.local == a_ip(1) || flight.at.remote == a_ip(1));
    pair.run_for(Span::from_secs(400));
    let ([_, second], _) = sent(&mut pair, vec![message(0, vec![7; 500])]);
    assert_eq!(second, 0);
}
