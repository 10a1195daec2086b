//! Tests of the queue with each scheduler (RFC 8260 §3).

use super::*;
use crate::outbound::scheduler;
use proptest::prelude::*;

fn message(stream: u16, len: usize, unordered: bool) -> OutMessage {
    let data = Bytes::from(vec![1; len]);
    OutMessage { stream, ppid: 5, unordered, data, context: len as u64, ..OutMessage::default() }
}

fn queue(scheduler: &str, interleaving: bool) -> SendQueue {
    let mut queue = SendQueue::new(scheduler::create(scheduler).unwrap());
    queue.set_interleaving(interleaving);
    queue
}

/// Sends everything in packets of `per_packet` chunks of at most 100 bytes. Returns (stream, message
/// identifier, fragment) of each chunk.
fn order(queue: &mut SendQueue, per_packet: usize) -> Vec<Vec<(u16, u32, u32)>> {
    let mut packets = Vec::new();
    while !queue.is_empty() {
        queue.begin_packet();
        let chunks = core::iter::from_fn(|| queue.take(100)).take(per_packet);
        packets.push(chunks.map(|piece| (piece.stream, piece.mid, piece.fsn)).collect());
        queue.end_packet();
    }
    packets
}

/// Queues RFC 8260 figures 1 and 2: streams 0 and 2 hold a message of three chunks, stream 1 three of one.
fn figure(queue: &mut SendQueue) -> Vec<(u16, u32, u32)> {
    queue.push(message(0, 300, false), 0);
    for _ in 0..3 {
        queue.push(message(1, 100, false), 0);
    }
    queue.push(message(2, 300, false), 0);
    order(queue, 1).concat()
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6
//= type=test
//# an endpoint MUST fragment large user messages into multiple DATA chunks.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
//= type=test
//# The data sender MUST break the user message into a series of DATA chunks.
#[test]
fn rfc9260_6_9_fragments() {
    let mut queue = SendQueue::default();
    queue.push(message(0, 250, false), 0);
    queue.push(message(0, 100, false), 0);
    let pieces: Vec<_> = core::iter::from_fn(|| queue.take(100))
        .map(|p| (p.data.len(), p.flags.begin, p.flags.end, p.mid, p.fsn))
        .collect();
    let expected = [
        (100, true, false, 0, 0),
        (100, false, false, 0, 1),
        (50, false, true, 0, 2),
        (100, true, true, 1, 0),
    ];
    assert_eq!(pieces, expected);
    assert_eq!((queue.bytes(), queue.is_empty()), (0, true));
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
//= type=test
//# The Stream Sequence Number in all the outgoing streams MUST start from 0 when the association is
//# established.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
//= type=test
//# The Stream Sequence Number of an outgoing stream MUST be incremented by 1 for each ordered user message
//# sent on that outgoing stream.
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.5
//= type=test
//# For unordered user messages, the Stream Sequence Number MUST NOT be changed.
#[test]
fn rfc9260_6_5_numbers_per_stream_skip_unordered() {
    let mut queue = SendQueue::default();
    for _ in 0..=u16::MAX {
        queue.push(message(3, 1, false), 0);
    }
    queue.push(message(3, 1, true), 0);
    queue.push(message(4, 1, false), 0);
    queue.push(message(3, 1, false), 0);
    let numbers: Vec<_> =
        core::iter::from_fn(|| queue.take(9)).map(|p| (p.stream, p.flags.unordered, p.mid)).collect();
    assert_eq!(numbers[65_535..], [(3, false, 65_535), (3, true, 0), (4, false, 0), (3, false, 65_536)]);
}

#[test]
fn rfc8260_figure_1_round_robin_without_interleaving() {
    let order = figure(&mut queue("round-robin", false));
    let streams: Vec<_> = order.iter().map(|chunk| (chunk.0, chunk.1)).collect();
    assert_eq!(streams, [(0, 0), (0, 0), (0, 0), (1, 0), (2, 0), (2, 0), (2, 0), (1, 1), (1, 2)]);
}

#[test]
fn rfc8260_figure_2_round_robin_with_interleaving() {
    let order = figure(&mut queue("round-robin", true));
    let expected =
        [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 0, 1), (1, 1, 0), (2, 0, 1), (0, 0, 2), (1, 2, 0), (2, 0, 2)];
    assert_eq!(order, expected);
}

#[test]
fn rfc8260_3_1_first_come_is_not_interleaved() {
    let order = figure(&mut queue("first-come", true));
    let streams: Vec<_> = order.iter().map(|chunk| chunk.0).collect();
    assert_eq!(streams, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
}

#[test]
fn rfc8260_3_3_a_packet_holds_one_stream() {
    let mut queue = queue("round-robin-packet", false);
    for _ in 0..3 {
        queue.push(message(1, 10, false), 0);
        queue.push(message(2, 10, false), 0);
    }
    let packets: Vec<Vec<u16>> =
        order(&mut queue, 2).into_iter().map(|packet| packet.into_iter().map(|c| c.0).collect()).collect();
    assert_eq!(packets, [vec![1, 1], vec![2, 2], vec![1], vec![2]]);
}

#[test]
fn rfc8260_3_4_priorities_overtake_between_chunks_only_with_interleaving() {
    for (interleaving, expected) in [(false, [2, 2, 2, 1, 0]), (true, [2, 1, 2, 2, 0])] {
        let mut queue = queue("priority", interleaving);
        queue.set_value(0, 9);
        queue.set_value(2, 7);
        queue.push(message(0, 10, false), 0);
        queue.push(message(2, 300, false), 0);
        let mut streams = vec![queue.take(100).unwrap().stream];
        queue.push(message(1, 10, false), 0);
        streams.extend(core::iter::from_fn(|| queue.take(100)).map(|piece| piece.stream));
        assert_eq!(streams, expected, "interleaving {interleaving}");
    }
}

/// Returns the bytes sent per stream while both have messages.
fn shares(scheduler: &str, values: [u16; 2], lens: [usize; 2]) -> [u64; 2] {
    let mut queue = queue(scheduler, false);
    for stream in 0..2u16 {
        queue.set_value(stream, values[usize::from(stream)]);
        for _ in 0..2000 {
            queue.push(message(stream, lens[usize::from(stream)], false), 0);
        }
    }
    let mut bytes = [0; 2];
    for _ in 0..1000 {
        let piece = queue.take(1000).unwrap();
        bytes[usize::from(piece.stream)] += piece.data.len() as u64;
    }
    bytes
}

#[test]
fn rfc8260_3_5_and_3_6_bytes_are_shared_by_weight() {
    let [a, b] = shares("fair", [1, 9], [100, 1000]);
    assert!(a.abs_diff(b) <= 1000, "{a} and {b}");
    let [a, b] = shares("weighted-fair", [3, 1], [500, 500]);
    assert!(a.abs_diff(3 * b) <= 2000, "{a} and {b}");
    let [a, b] = shares("weighted-fair", [0, 0], [100, 1000]);
    assert!(a.abs_diff(b) <= 1000, "not set: {a} and {b}");
}

#[test]
fn a_paused_stream_finishes_its_message_and_continues_when_resumed() {
    let mut queue = queue("round-robin", false);
    queue.push(message(0, 150, false), 0);
    queue.push(message(0, 10, false), 0);
    queue.push(message(1, 10, false), 0);
    queue.take(100);
    assert!(queue.is_begun(0));
    queue.pause(0);
    let streams: Vec<_> = core::iter::from_fn(|| queue.take(100)).map(|p| p.stream).collect();
    assert_eq!(streams, [0, 1]);
    assert!(!queue.is_begun(0) && !queue.is_empty() && queue.next_len(100).is_none());
    queue.reset_numbers(0);
    queue.resume(0);
    assert_eq!(queue.take(100).map(|p| (p.stream, p.mid)), Some((0, 0)));
}

proptest! {
    /// Whatever is queued, removed or paused, each message is sent once and in its stream's order. Without
    /// interleaving it is sent whole. The queue's counters are exact.
    #[test]
    fn every_message_once_and_in_order(
        scheduler in 0..6usize,
        interleaving: bool,
        ops in prop::collection::vec((0u8..8, 0u16..4, 1usize..350), 1..120),
    ) {
        let name = scheduler::schedulers()[scheduler].name;
        let mut queue = queue(name, interleaving);
        let (mut waiting, mut begun): (Vec<(u16, u64, u64)>, Vec<u64>) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        let mut paused = [false; 4];
        let mut last = [0; 4];
        for (kind, stream, len) in ops {
            match kind {
                0..=2 => {
                    let id = queue.next_id;
                    let data = Bytes::from(vec![1; len]);
                    let new = OutMessage { stream, data, context: id, ..OutMessage::default() };
                    prop_assert_eq!(queue.push(new, 0), id);
                    waiting.push((stream, id, len as u64));
                    bytes += len as u64;
                }
                3..=4 => {
                    queue.begin_packet();
                    for _ in 0..2 {
                        let expected = queue.next_len(100);
                        let Some(piece) = queue.take(100) else { prop_assert_eq!(expected, None); break };
                        prop_assert_eq!(expected, Some(piece.data.len()));
                        bytes -= piece.data.len() as u64;
                        let id = piece.context;
                        prop_assert!(interleaving || begun.is_empty() || begun.contains(&id), "a message was broken into");
                        prop_assert_eq!(piece.flags.begin, !begun.contains(&id));
                        prop_assert!(!piece.flags.begin || id > last[usize::from(piece.stream)], "overtaken");
                        last[usize::from(piece.stream)] = id;
                        let entry = waiting.iter_mut().find(|m| m.1 == id).expect("sent twice");
                        entry.2 -= piece.data.len() as u64;
                        prop_assert_eq!(piece.flags.end, entry.2 == 0);
                        begun.retain(|&other| other != id);
                        if piece.flags.end { waiting.retain(|m| m.1 != id) } else { begun.push(id) }
                    }
                    queue.end_packet();
                }
                5 => {
                    let Some(&(stream, id, left)) = waiting.get(len % waiting.len().max(1)) else { continue };
                    let unsent = queue.remove(stream, id).expect("it waits");
                    prop_assert_eq!(unsent.message.data.len() as u64, left);
                    prop_assert_eq!(unsent.begun.is_some(), begun.contains(&id));
                    bytes -= left;
                    waiting.retain(|m| m.1 != id);
                    begun.retain(|&other| other != id);
                }
                6 => queue.set_value(stream, len as u16),
                _ => {
                    let flag = &mut paused[usize::from(stream)];
                    *flag = !*flag;
                    if *flag { queue.pause(stream) } else { queue.resume(stream) }
                }
            }
            prop_assert_eq!(queue.bytes(), bytes);
            prop_assert_eq!(queue.is_empty(), waiting.is_empty());
            for stream in 0..4 {
                prop_assert_eq!(queue.is_begun(stream), waiting.iter().any(|m| m.0 == stream && begun.contains(&m.1)));
            }
            let may_go = waiting.iter().any(|m| !paused[usize::from(m.0)] || begun.contains(&m.1));
            prop_assert_eq!(queue.next_len(100).is_some(), may_go);
        }
        for stream in 0..4 {
            queue.resume(stream);
        }
        let rest = order(&mut queue, 3).concat();
        prop_assert!(rest.len() >= waiting.len());
        prop_assert_eq!(queue.bytes(), 0);
    }
}

#[test]
fn urgent_messages_precede_all_that_were_not_begun() {
    for scheduler in scheduler::schedulers().iter().map(|info| info.name) {
        for interleaving in [false, true] {
            let mut queue = queue(scheduler, interleaving);
            queue.push(message(0, 250, false), 0);
            queue.push(message(1, 100, false), 0);
            queue.push(message(0, 100, false), 0);
            queue.begin_packet();
            let first = queue.take(100).unwrap();
            assert_eq!((first.stream, first.mid), (0, 0));
            queue.push_urgent(message(0, 150, false));
            queue.push_urgent(message(0, 50, false));
            queue.end_packet();
            assert_eq!((queue.len(), queue.len_of(0), queue.bytes()), (5, 4, 550));
            let rest = order(&mut queue, 1).concat();
            let of_begun = rest.iter().rposition(|piece| (piece.0, piece.1) == (0, 0)).unwrap();
            // With interleaving streams alternate until the message of the same stream is complete.
            assert!(interleaving || of_begun == 1, "{scheduler} {rest:?}");
            assert_eq!(rest[of_begun + 1..][..3], [(0, 1, 0), (0, 1, 1), (0, 2, 0)], "{scheduler} {rest:?}");
            assert!(rest.contains(&(1, 0, 0)) && rest.contains(&(0, 3, 0)), "{scheduler} {rest:?}");
            assert_eq!((queue.bytes(), queue.len(), queue.is_idle()), (0, 0, true));
        }
    }
}

#[test]
fn an_urgent_message_overtakes_the_begun_ones_of_other_streams_only_with_interleaving() {
    for interleaving in [false, true] {
        let mut queue = queue(scheduler::DEFAULT, interleaving);
        queue.push(message(1, 300, false), 0);
        queue.take(100).unwrap();
        queue.push_urgent(message(0, 150, false));
        let expected = if interleaving {
            [(0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 0, 2)]
        } else {
            [(1, 0, 1), (1, 0, 2), (0, 0, 0), (0, 0, 1)]
        };
        assert_eq!(order(&mut queue, 1).concat(), expected);
    }
}

#[test]
fn urgent_messages_wait_while_their_stream_is_reset_and_fail_with_it() {
    let mut queue = queue(scheduler::DEFAULT, false);
    queue.push(message(1, 100, false), 0);
    queue.push_urgent(message(0, 150, false));
    queue.pause(0);
    assert_eq!(queue.take(100).map(|piece| piece.stream), Some(1));
    assert!(queue.is_idle() && !queue.is_empty());
    queue.resume(0);
    assert!(!queue.is_begun(0));
    assert_eq!(queue.take(100).map(|piece| (piece.stream, piece.mid)), Some((0, 0)));
    assert!(queue.is_begun(0));
    queue.pause(0);
    assert_eq!(queue.take(100).map(|piece| piece.fsn), Some(1), "a begun one continues");
    queue.reset_numbers(0);
    queue.push_urgent(message(0, 10, false));
    queue.all_paused = true;
    queue.selected(&[]).into_iter().for_each(|stream| queue.resume(stream));
    assert!(queue.is_idle());
    queue.all_paused = false;
    queue.selected(&[]).into_iter().for_each(|stream| queue.resume(stream));
    assert_eq!(queue.take(100).map(|piece| piece.mid), Some(0));
    queue.push_urgent(message(2, 10, false));
    queue.push_urgent(message(0, 10, false));
    assert_eq!(queue.fail_beyond(1).len(), 1);
    assert_eq!((queue.len(), queue.bytes()), (1, 10));
    assert_eq!(queue.drain().len(), 1);
    assert!(queue.is_empty() && queue.is_idle() && queue.bytes() == 0);
}
