//! Sequences that once failed, each with the fault.

use crate::random_operations::check;
use crate::random_operations::plan::{
    Effort,
    Effort::LifetimeMs,
    Ending, Heal, Link,
    Op::*,
    Pace::{AllBut, Never, OneEvery},
    Quality, Setup,
    Side::*,
    Tuning,
};

/// One address at each end, all options at their defaults.
pub(crate) const PLAIN: Setup = Setup {
    seed: 0,
    mobile_addresses: 0b1,
    server_addresses: 0b1,
    names_all: true,
    plain: true,
    mobile: Tuning::DEFAULT,
    server: Tuning::DEFAULT,
    heal: Heal::All,
    ending: Ending::MobileShutsDown,
};

/// The adaptive policy requested probes before the association was up. They were due but could not be sent,
/// and the timer fired endlessly.
#[test]
fn probing_waits_for_the_association() {
    let setup = Setup { mobile_addresses: 0b11, mobile: Tuning { policy: 2, ..Tuning::DEFAULT }, ..PLAIN };
    check(setup, &[LinkEvent { side: Mobile, address: 1, link: Link::Degrading }, Run { ms: 10 }]);
}

/// A path that never worked blocked all data forever, when data waited for every path.
#[test]
fn a_dead_path_does_not_hold_data_back() {
    let setup = Setup {
        mobile_addresses: 0b1100,
        server_addresses: 0b10,
        server: Tuning { path_max_retrans: 2, ..Tuning::DEFAULT },
        heal: Heal::One,
        ..PLAIN
    };
    check(
        setup,
        &[
            Path { mobile: 3, server: 1, to_server: Quality::DEAD, to_mobile: Quality::DEAD },
            Run { ms: 4500 },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
        ],
    );
}

/// Messages for streams that the peer does not grant fail when the association comes up. No event reported
/// that this made room in a full send buffer.
#[test]
fn failed_messages_make_room() {
    let setup = Setup {
        mobile: Tuning { send_buffer: 5000, ..Tuning::DEFAULT },
        server: Tuning { max_inbound_streams: 1, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(setup, &[Send { side: Mobile, stream: 1, len: 5000, count: 2, unordered: false }]);
}

/// A delayed SACK without a path made the timer fire endlessly.
#[test]
fn a_sack_waits_for_a_path() {
    check(
        PLAIN,
        &[
            Path { mobile: 1, server: 0, to_server: Quality::DEAD, to_mobile: Quality::DEAD },
            Run { ms: 100 },
            AddAddress { side: Mobile, address: 1 },
            Run { ms: 1000 },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
            Run { ms: 500 },
            RemoveAddress { side: Mobile, address: 0 },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
            Run { ms: 3000 },
        ],
    );
}

/// RFC 9260 §5.1 C: until the COOKIE ACK, only the packet with the COOKIE ECHO may be sent. With several
/// packets per call, DATA followed in packets of its own; when the COOKIE ECHO was damaged, the server
/// answered them by an ABORT.
#[test]
fn no_data_packets_besides_the_cookie_echo() {
    let setup = Setup {
        seed: 636,
        server_addresses: 0b100,
        mobile: Tuning { pmtu: 576, max_segments: 64, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 0,
                server: 2,
                to_server: Quality { corrupt: 3, ..Quality::GOOD },
                to_mobile: Quality::GOOD,
            },
            Send { side: Mobile, stream: 0, len: 1, count: 38, unordered: false },
            Run { ms: 43 },
        ],
    );
}

/// SHUTDOWN alternated between the two address pairs that differ most, both dead, and never used the two
/// others.
#[test]
fn a_shutdown_tries_every_path() {
    let setup = Setup { mobile_addresses: 0b11, server_addresses: 0b101, heal: Heal::One, ..PLAIN };
    // The pair that differs most from the primary was never confirmed at the server: another one stays up.
    let dead = Path { mobile: 1, server: 2, to_server: Quality::DEAD, to_mobile: Quality::DEAD };
    assert!(check(setup, &[dead, Run { ms: 1500 }]).closed, "in good order");
}

/// Every packet of the peer restarted T2-shutdown. The peer, whose policy probes its paths, sent more often
/// than T2 could expire: a lost SHUTDOWN was not retransmitted.
#[test]
fn probes_do_not_hold_up_a_shutdown() {
    let setup = Setup {
        seed: 589,
        server_addresses: 0b101,
        mobile: Tuning { policy: 2, ..Tuning::DEFAULT },
        heal: Heal::One,
        ending: Ending::ServerShutsDown,
        ..PLAIN
    };
    let ops = [Run { ms: 106 }, Send { side: Server, stream: 0, len: 1, count: 1, unordered: false }];
    assert!(check(setup, &ops).closed, "in good order");
}

/// With every path inactive and heartbeats off, data was sent on one dead path forever, though the other one
/// worked.
#[test]
fn with_every_path_inactive_each_is_tried() {
    let setup = Setup {
        seed: 803,
        mobile_addresses: 0b101,
        server_addresses: 0b110,
        mobile: Tuning { policy: 2, hb_interval_ms: 0, path_max_retrans: 0, ..Tuning::DEFAULT },
        heal: Heal::One,
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 0,
                server: 2,
                to_server: Quality { corrupt: 2, ..Quality::GOOD },
                to_mobile: Quality::GOOD,
            },
            Run { ms: 129 },
            SetPrimary { side: Mobile, path: 5 },
            Send { side: Mobile, stream: 0, len: 10000, count: 1, unordered: false },
            Run { ms: 40 },
        ],
    );
}

/// The error counters of RFC 9260 §8.1 persisted over a repeated handshake. T3-rtx of DATA bundled with lost
/// COOKIE ECHOs made a peer unreachable that had just answered.
#[test]
fn a_completed_handshake_clears_the_error_counters() {
    let setup = Setup {
        seed: 14623,
        mobile: Tuning { rto_max_ms: 10_000, assoc_max_retrans: 10, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path { mobile: 0, server: 0, to_server: Quality::DEAD, to_mobile: Quality::GOOD },
            Send { side: Mobile, stream: 0, len: 1, count: 1, unordered: false },
            Run { ms: 65_047 },
        ],
    );
}

/// The window grants bytes, but held data is charged per chunk. With small messages out of order the receive
/// buffer was exhausted, and the missing chunk was dropped forever.
#[test]
fn many_small_messages_do_not_lock_the_receive_buffer() {
    let lossy = Quality { loss: 31, ..Quality::GOOD };
    let setup = Setup {
        seed: 7035,
        mobile_addresses: 0b1011,
        server_addresses: 0b11,
        server: Tuning { path_max_retrans: 0, receive_buffer: 1500, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path { mobile: 0, server: 0, to_server: Quality::DEAD, to_mobile: Quality::GOOD },
            Path { mobile: 1, server: 0, to_server: lossy, to_mobile: Quality::GOOD },
            Path { mobile: 3, server: 1, to_server: Quality::DEAD, to_mobile: Quality::GOOD },
            Run { ms: 43 },
            Send { side: Mobile, stream: 0, len: 1, count: 300, unordered: false },
            Run { ms: 1139 },
            Path { mobile: 0, server: 0, to_server: Quality::GOOD, to_mobile: Quality::DEAD },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
            Run { ms: 3000 },
        ],
    );
}

/// SHUTDOWN ACK was sent to the dead primary, however often the SHUTDOWN arrived over another path. Each
/// SHUTDOWN restarted T2, so that no other path was ever tried.
#[test]
fn a_shutdown_is_answered_to_its_source() {
    let setup = Setup {
        seed: 22322,
        mobile_addresses: 0b1010,
        server_addresses: 0b110,
        mobile: Tuning { send_buffer: 1500, pmtu: 1280, ..Tuning::DEFAULT },
        server: Tuning { rto_max_ms: 10_000, ..Tuning::DEFAULT },
        heal: Heal::One,
        ending: Ending::ServerShutsDown,
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 3,
                server: 1,
                to_server: Quality::GOOD,
                to_mobile: Quality { delay_ms: 150, loss: 6, ..Quality::GOOD },
            },
            Run { ms: 200 },
            Send { side: Mobile, stream: 0, len: 133, count: 19, unordered: false },
            SetPrimary { side: Mobile, path: 5 },
        ],
    );
}

/// The send buffer was full when the peer restarted; no event reported room in the new association.
#[test]
fn a_restart_makes_room() {
    let setup = Setup { server: Tuning { send_buffer: 30_000, ..Tuning::DEFAULT }, ..PLAIN };
    check(
        setup,
        &[
            Run { ms: 63 },
            Send { side: Server, stream: 0, len: 4500, count: 7, unordered: false },
            Restart { side: Mobile },
        ],
    );
}

/// With heartbeats off, a path that failed its first verification was never tried again (RFC 9260 §5.4:
/// verification ends when all paths are confirmed). When the mobile deleted the other address, no path could
/// carry data.
#[test]
fn verification_continues_without_heartbeats() {
    let lossy = |loss| Quality { loss, ..Quality::GOOD };
    let setup = Setup {
        seed: 18847,
        mobile_addresses: 0b1011,
        server_addresses: 0b100,
        mobile: Tuning { policy: 2, rto_min_ms: 200, ..Tuning::DEFAULT },
        server: Tuning { hb_interval_ms: 0, path_max_retrans: 0, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path { mobile: 1, server: 2, to_server: lossy(19), to_mobile: lossy(19) },
            Path {
                mobile: 0,
                server: 2,
                to_server: lossy(18),
                to_mobile: Quality { delay_ms: 5, ..Quality::GOOD },
            },
            Run { ms: 313 },
            RemoveAddress { side: Mobile, address: 0 },
            Run { ms: 40 },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
        ],
    );
}

/// T3-rtx of two paths expired at one instant: the first made the peer unreachable, the second still reported
/// its path after `Event::Lost`.
#[test]
fn no_event_follows_the_end() {
    let (good, dead) = (Quality::GOOD, Quality::DEAD);
    let lossy = |loss| Quality { loss, ..Quality::GOOD };
    let setup = Setup {
        seed: 15234,
        mobile_addresses: 0b11,
        server_addresses: 0b101,
        names_all: false,
        plain: true,
        mobile: Tuning {
            rto_max_ms: 1000,
            path_max_retrans: 2,
            assoc_max_retrans: 4,
            pmtu: 576,
            initial_window: 1,
            ..Tuning::DEFAULT
        },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path { mobile: 0, server: 0, to_server: dead, to_mobile: dead },
            Path { mobile: 0, server: 2, to_server: dead, to_mobile: good },
            Path {
                mobile: 1,
                server: 0,
                to_server: Quality { loss: 27, corrupt: 13, ..good },
                to_mobile: Quality { delay_ms: 5, jitter_ms: 0, loss: 35, duplicate: 25, corrupt: 17 },
            },
            Path { mobile: 1, server: 2, to_server: good, to_mobile: lossy(32) },
            Run { ms: 7613 },
            Run { ms: 50 },
            Run { ms: 2461 },
            SetPrimary { side: Mobile, path: 5 },
            Run { ms: 330 },
            Send { side: Mobile, stream: 0, len: 613, count: 1, unordered: false },
            Run { ms: 619 },
            Send { side: Server, stream: 0, len: 2500, count: 1, unordered: false },
            Run { ms: 2000 },
        ],
    );
}

/// The lifetime of a message that had arrived long before remained a deadline without other messages of
/// limited reliability: the timer fired endlessly.
#[test]
fn a_lifetime_ends_with_its_message() {
    let setup = Setup { server: Tuning { receive_buffer: 4000, ..Tuning::DEFAULT }, ..PLAIN };
    let effort = Effort::LifetimeMs(2000);
    check(
        setup,
        &[
            SendPartial { side: Mobile, stream: 0, len: 1, count: 1, unordered: false, effort },
            Send { side: Mobile, stream: 0, len: 4000, count: 25, unordered: false },
        ],
    );
}

/// Each end requested a reset of the other's streams, and postponed the requested reset until its own request
/// was answered: a deadlock.
#[test]
fn resets_requested_by_both_ends_are_answered() {
    check(
        PLAIN,
        &[
            Run { ms: 80 },
            Reset { side: Mobile, incoming: true, first: 0, count: 1 },
            Reset { side: Server, incoming: true, first: 7, count: 0 },
        ],
    );
}

/// A stream request always used the data path, however often it was not answered. With every path inactive
/// and heartbeats off that was the dead one forever, though the other one worked.
#[test]
fn a_stream_request_tries_every_path() {
    let setup = Setup {
        seed: 256,
        mobile_addresses: 0b110,
        server_addresses: 0b11,
        mobile: Tuning { hb_interval_ms: 0, path_max_retrans: 1, potentially_failed: 1, ..Tuning::DEFAULT },
        heal: Heal::One,
        ..PLAIN
    };
    check(
        setup,
        &[
            Path { mobile: 2, server: 1, to_server: Quality::DEAD, to_mobile: Quality::GOOD },
            Run { ms: 63 },
            Cut { side: Server, address: 3, dead: true },
            Send { side: Mobile, stream: 0, len: 1, count: 1, unordered: false },
            Run { ms: 1107 },
            Reset { side: Mobile, incoming: false, first: 0, count: 1 },
        ],
    );
}

/// In a recovery with PRR all data in flight was declared lost when its allowance was spent. With nothing in
/// flight, no acknowledgement increased it, no timer ran, and the rest was never retransmitted.
#[test]
fn prr_does_not_block_a_path_with_nothing_in_flight() {
    let setup = Setup {
        seed: 889,
        mobile_addresses: 0b11,
        server_addresses: 0b110,
        server: Tuning {
            controller: 1,
            sack_frequency: 16,
            path_max_retrans: 0,
            send_buffer: 1500,
            pmtu: 512,
            initial_window: 1,
            rack: true,
            prr: true,
            ..Tuning::DEFAULT
        },
        ..PLAIN
    };
    let rough = Quality { jitter_ms: 1, loss: 3, duplicate: 17, corrupt: 10, ..Quality::GOOD };
    check(
        setup,
        &[
            Path { mobile: 0, server: 2, to_server: Quality::GOOD, to_mobile: rough },
            Path { mobile: 1, server: 2, to_server: Quality::DEAD, to_mobile: Quality::GOOD },
            Run { ms: 87 },
            Send { side: Server, stream: 0, len: 1500, count: 2, unordered: false },
            Run { ms: 82 },
            RequestPrimary { side: Mobile, address: 0 },
            Run { ms: 21 },
            Send { side: Server, stream: 0, len: 464, count: 50, unordered: false },
            Send { side: Server, stream: 0, len: 163, count: 75, unordered: false },
            AddStreams { side: Mobile, incoming: true, count: 3 },
            Send { side: Mobile, stream: 0, len: 130, count: 50, unordered: false },
            Run { ms: 4000 },
        ],
    );
}

/// A FORWARD TSN always used the data path, however often it was not answered. With every path inactive and
/// heartbeats off that was a dead one forever, though another one worked.
#[test]
fn a_forward_tsn_tries_every_path() {
    let setup = Setup {
        seed: 9890,
        mobile_addresses: 0b1101,
        server_addresses: 0b110,
        server: Tuning { hb_interval_ms: 0, path_max_retrans: 2, same_path: true, ..Tuning::DEFAULT },
        heal: Heal::One,
        ..PLAIN
    };
    let effort = Effort::Retransmissions(1);
    check(
        setup,
        &[
            Run { ms: 85 },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
            Cut { side: Mobile, address: 2, dead: true },
            Cut { side: Server, address: 2, dead: true },
            Run { ms: 10_016 },
            SendPartial { side: Server, stream: 0, len: 1, count: 1, unordered: false, effort },
        ],
    );
}

/// The peer deleted the address over which the FORWARD TSN was sent. The timer was removed with the path, the
/// FORWARD TSN was never retransmitted, and the shutdown waited for it.
#[test]
fn a_forward_tsn_outlives_its_path() {
    let setup = Setup { seed: 293, mobile_addresses: 0b1100, server_addresses: 0b110, ..PLAIN };
    let effort = Effort::LifetimeMs(10);
    let lossy = Quality { loss: 14, ..Quality::GOOD };
    check(
        setup,
        &[
            Path { mobile: 2, server: 1, to_server: Quality::GOOD, to_mobile: lossy },
            Path { mobile: 3, server: 1, to_server: Quality::DEAD, to_mobile: Quality::GOOD },
            Run { ms: 61 },
            SendPartial { side: Server, stream: 0, len: 2500, count: 1, unordered: false, effort },
            Run { ms: 2872 },
            KeepOnly { side: Mobile, address: 3 },
            Shutdown { side: Server },
            Run { ms: 155 },
        ],
    );
}

/// A batch of packets (`max_segments`) that began with a HEARTBEAT had its length, too short for an AUTH
/// chunk. The following data was unsigned, and a peer that demands signed data dropped it each time.
#[test]
fn data_behind_a_short_packet_is_signed() {
    let setup = Setup {
        seed: 10456,
        plain: false,
        mobile: Tuning { max_segments: 16, potentially_failed: 1, ..Tuning::DEFAULT },
        server: Tuning { receive_buffer: 1500, demands_data: true, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(setup, &[Send { side: Mobile, stream: 0, len: 1, count: 7, unordered: false }]);
}

/// A message that had expired at transmission was reported only with the next received packet.
#[test]
fn a_message_that_expires_before_transmission_is_reported_at_once() {
    let lossy = Quality { loss: 100, ..Quality::GOOD };
    let setup = Setup {
        seed: 5277,
        mobile_addresses: 0b11,
        server_addresses: 0b101,
        mobile: Tuning { policy: 3, receive_buffer: 1500, ..Tuning::DEFAULT },
        server: Tuning { policy: 1, bicast: true, send_buffer: 5000, ..Tuning::DEFAULT },
        ..PLAIN
    };
    let effort = Effort::LifetimeMs(100);
    check(
        setup,
        &[
            Path { mobile: 0, server: 0, to_server: Quality::GOOD, to_mobile: lossy },
            Path {
                mobile: 0,
                server: 2,
                to_server: Quality::GOOD,
                to_mobile: Quality { delay_ms: 5, ..Quality::GOOD },
            },
            Run { ms: 1095 },
            Send { side: Server, stream: 0, len: 83, count: 10, unordered: false },
            SendPartial { side: Server, stream: 0, len: 5000, count: 1, unordered: false, effort },
        ],
    );
}

/// A wildcard request is valid only from its own address. When that network failed before the answer, all
/// later requests were blocked until it recovered.
#[test]
fn a_wildcard_of_a_dead_network_does_not_block_other_requests() {
    let setup = Setup { seed: 9065, heal: Heal::One, ..PLAIN };
    let outcome = check(
        setup,
        &[
            Run { ms: 500 },
            Path { mobile: 1, server: 0, to_server: Quality::GOOD, to_mobile: Quality::DEAD },
            AddWildcard { side: Mobile, address: 1 },
            Run { ms: 200 },
            RequestPrimary { side: Mobile, address: 0 },
        ],
    );
    assert_eq!(outcome.counts[0].address_answers, 2, "{:?}", outcome.counts);
}

/// The peer had added a stream and its answer was lost. A request to reset that stream arrived, and was
/// rejected correctly.
#[test]
fn a_stream_that_was_just_added_may_be_unknown_to_the_end_that_added_it() {
    let setup = Setup {
        seed: 11589,
        mobile_addresses: 0b1100,
        server_addresses: 0b10,
        mobile: Tuning { path_max_retrans: 0, outbound_streams: 1, rack: true, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path { mobile: 2, server: 1, to_server: Quality::DEAD, to_mobile: Quality::GOOD },
            Send { side: Mobile, stream: 0, len: 1, count: 1, unordered: false },
            Run { ms: 3127 },
            AddStreams { side: Mobile, incoming: false, count: 2 },
            Path {
                mobile: 2,
                server: 1,
                to_server: Quality::GOOD,
                to_mobile: Quality { delay_ms: 5, ..Quality::GOOD },
            },
            Run { ms: 21 },
            Reset { side: Server, incoming: true, first: 2, count: 1 },
        ],
    );
}

/// All data was acknowledged or abandoned, and the FORWARD TSN that the receiver waited for was still in
/// flight: the test checked too early.
#[test]
fn a_forward_tsn_over_a_partly_abandoned_message_arrives() {
    let setup = Setup {
        seed: 20675,
        mobile: Tuning { pmtu: 9000, ..Tuning::DEFAULT },
        server: Tuning { receive_buffer: 4000, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            SendPartial {
                side: Mobile,
                stream: 0,
                len: 5000,
                count: 1,
                unordered: false,
                effort: LifetimeMs(100),
            },
            Run { ms: 1000 },
            SendPartial {
                side: Mobile,
                stream: 0,
                len: 10000,
                count: 1,
                unordered: false,
                effort: LifetimeMs(100),
            },
        ],
    );
}

/// With chunks longer than the buffer, a chunk beyond the limit arrived while data could be read and was
/// held. The limit then rejected the next chunk, which was needed.
#[test]
fn a_chunk_beyond_twice_the_buffer_is_accepted_when_nothing_else_can_be_read() {
    let setup = Setup {
        seed: 53630,
        mobile: Tuning { rto_min_ms: 200, pmtu: 9000, rack: true, ..Tuning::DEFAULT },
        server: Tuning { receive_buffer: 4000, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Run { ms: 60 },
            Send { side: Mobile, stream: 2, len: 20000, count: 1, unordered: false },
            Read { side: Server, pace: OneEvery { ms: 234 } },
            Reset { side: Server, incoming: true, first: 2, count: 1 },
            Send { side: Mobile, stream: 0, len: 1, count: 2, unordered: false },
            Run { ms: 1000 },
        ],
    );
}

/// A FORWARD TSN was sent while T3-rtx ran for data. The data was abandoned, and T3-rtx stopped with it. The
/// lost FORWARD TSN was never retransmitted, and its association stalled.
#[test]
fn abandoned_data_does_not_stop_the_timer_of_a_forward_tsn() {
    let setup = Setup {
        seed: 17376,
        mobile_addresses: 0b1011,
        mobile: Tuning { interleaving: true, ..Tuning::DEFAULT },
        server: Tuning { interleaving: true, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 0,
                server: 0,
                to_server: Quality { delay_ms: 5, ..Quality::GOOD },
                to_mobile: Quality { delay_ms: 5, loss: 1, ..Quality::GOOD },
            },
            Run { ms: 30 },
            SendPartial {
                side: Server,
                stream: 0,
                len: 724,
                count: 10,
                unordered: false,
                effort: LifetimeMs(300),
            },
            Run { ms: 22 },
            SendPartial {
                side: Server,
                stream: 0,
                len: 1451,
                count: 1,
                unordered: false,
                effort: LifetimeMs(2000),
            },
            Cut { side: Server, address: 3, dead: true },
            Run { ms: 2000 },
        ],
    );
}

/// Between one and two buffers of incomplete messages arrived at one chunk a second, as zero window probes.
#[test]
fn messages_longer_than_the_buffer_arrive_at_the_rate_of_the_path() {
    let setup = Setup {
        seed: 53659,
        mobile: Tuning {
            rto_max_ms: 3000,
            hb_interval_ms: 0,
            pmtu: 512,
            scheduler: 3,
            interleaving: true,
            ..Tuning::DEFAULT
        },
        server: Tuning {
            rto_max_ms: 3000,
            hb_interval_ms: 500,
            receive_buffer: 65536,
            interleaving: true,
            ..Tuning::DEFAULT
        },
        ..PLAIN
    };
    check(
        setup,
        &[
            Send { side: Mobile, stream: 0, len: 300000, count: 1, unordered: false },
            Send { side: Mobile, stream: 1, len: 300000, count: 1, unordered: false },
        ],
    );
}

/// With every message abandoned before its acknowledgement, nothing restarted T3-rtx or cleared the error
/// counters, though the peer answered each FORWARD TSN: it was declared dead.
#[test]
fn abandoning_every_message_does_not_declare_the_peer_dead() {
    let setup = Setup {
        seed: 21335,
        mobile_addresses: 0b1000,
        server_addresses: 0b11,
        server: Tuning {
            rto_max_ms: 1000,
            assoc_max_retrans: 10,
            send_buffer: 1500,
            max_burst: 1,
            ..Tuning::DEFAULT
        },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 3,
                server: 1,
                to_server: Quality::GOOD,
                to_mobile: Quality { delay_ms: 150, ..Quality::GOOD },
            },
            Run { ms: 194 },
            SendPartial {
                side: Server,
                stream: 0,
                len: 1500,
                count: 133,
                unordered: false,
                effort: LifetimeMs(5),
            },
        ],
    );
}

/// The test reported a failure because a peer with a rejected restart does not answer the SHUTDOWN of its old
/// association.
#[test]
fn a_peer_with_a_rejected_restart_does_not_answer_a_shutdown() {
    let setup =
        Setup { seed: 24929, mobile_addresses: 0b110, server_addresses: 0b11, heal: Heal::One, ..PLAIN };
    check(setup, &[Run { ms: 107 }, RemoveAddress { side: Mobile, address: 2 }, Restart { side: Mobile }]);
}

/// As above, with a lost FORWARD TSN.
#[test]
fn a_forward_tsn_over_a_partly_abandoned_message_arrives_after_a_loss() {
    let setup = Setup {
        seed: 58474,
        server_addresses: 0b101,
        mobile: Tuning { pmtu: 9000, ..Tuning::DEFAULT },
        server: Tuning { receive_buffer: 1500, ..Tuning::DEFAULT },
        heal: Heal::One,
        ..PLAIN
    };
    check(
        setup,
        &[
            SendPartial {
                side: Mobile,
                stream: 0,
                len: 2500,
                count: 1,
                unordered: false,
                effort: LifetimeMs(100),
            },
            Run { ms: 1126 },
            SendPartial {
                side: Mobile,
                stream: 0,
                len: 10000,
                count: 1,
                unordered: false,
                effort: LifetimeMs(100),
            },
        ],
    );
}

/// Without heartbeats, with a dead path first in turn: the only progress was the abandonment of messages, one
/// a minute.
#[test]
fn abandoning_messages_is_progress() {
    let setup = Setup {
        seed: 55992,
        mobile_addresses: 0b1101,
        server_addresses: 0b110,
        names_all: false,
        mobile: Tuning { hb_interval_ms: 0, path_max_retrans: 0, send_buffer: 1500, ..Tuning::DEFAULT },
        heal: Heal::One,
        ..PLAIN
    };
    check(
        setup,
        &[
            SendPartial {
                side: Mobile,
                stream: 0,
                len: 1500,
                count: 67,
                unordered: false,
                effort: LifetimeMs(2000),
            },
            Path {
                mobile: 0,
                server: 2,
                to_server: Quality::GOOD,
                to_mobile: Quality { loss: 15, ..Quality::GOOD },
            },
            Path {
                mobile: 2,
                server: 1,
                to_server: Quality::GOOD,
                to_mobile: Quality { loss: 15, ..Quality::GOOD },
            },
            Run { ms: 1620 },
        ],
    );
}

/// The buffer was full of small messages after a gap: of each packet that filled it, only one message was
/// accepted.
#[test]
fn small_messages_that_fill_a_gap_are_accepted_by_the_packet() {
    let setup = Setup {
        seed: 36296,
        mobile: Tuning { receive_buffer: 1500, ..Tuning::DEFAULT },
        server: Tuning { hb_interval_ms: 0, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Run { ms: 65 },
            Send { side: Server, stream: 0, len: 2500, count: 1, unordered: false },
            Send { side: Server, stream: 0, len: 1, count: 300, unordered: false },
        ],
    );
}

/// A request was counted as waiting for a dead network when that one was answered: the test checked too
/// early.
#[test]
fn a_request_that_waits_for_a_dead_network_is_not_confused_with_another() {
    let setup =
        Setup { seed: 53542, mobile_addresses: 0b101, server_addresses: 0b11, heal: Heal::One, ..PLAIN };
    check(
        setup,
        &[Run { ms: 103 }, AddWildcard { side: Mobile, address: 1 }, AddAddress { side: Mobile, address: 3 }],
    );
}

/// As above, with few retransmissions allowed.
#[test]
fn small_messages_behind_a_gap_do_not_end_the_association() {
    let setup = Setup {
        seed: 31300,
        mobile_addresses: 0b111,
        mobile: Tuning { rto_min_ms: 200, assoc_max_retrans: 4, ..Tuning::DEFAULT },
        server: Tuning { hb_interval_ms: 500, receive_buffer: 1500, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 0,
                server: 0,
                to_server: Quality { jitter_ms: 10, ..Quality::GOOD },
                to_mobile: Quality::GOOD,
            },
            Run { ms: 1416 },
            Send { side: Mobile, stream: 0, len: 1, count: 150, unordered: false },
        ],
    );
}

/// The mobile vanished after it had deleted all its addresses but one that the server had not verified. Data
/// could not be sent, and unanswered verification heartbeats did not end the association.
#[test]
fn the_only_address_left_was_never_confirmed_and_is_dead() {
    let setup =
        Setup { seed: 109062, mobile_addresses: 0b1010, server_addresses: 0b11, heal: Heal::One, ..PLAIN };
    check(
        setup,
        &[
            Path { mobile: 1, server: 0, to_server: Quality::GOOD, to_mobile: Quality::DEAD },
            Run { ms: 1182 },
            KeepOnly { side: Mobile, address: 1 },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
            Restart { side: Mobile },
        ],
    );
}

/// The mobile had sent its SHUTDOWN and answered no heartbeats. Its only remaining address could not be
/// verified, and the server's remaining data could not be sent.
#[test]
fn an_address_is_verified_during_the_shutdown() {
    let setup = Setup {
        seed: 81545,
        mobile_addresses: 0b1011,
        server_addresses: 0b100,
        server: Tuning {
            rto_max_ms: 1000,
            hb_interval_ms: 5000,
            path_max_retrans: 1,
            quick_moves: true,
            ..Tuning::DEFAULT
        },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path { mobile: 1, server: 2, to_server: Quality::DEAD, to_mobile: Quality::GOOD },
            Run { ms: 86 },
            Shutdown { side: Mobile },
            Send { side: Server, stream: 0, len: 4688, count: 1, unordered: false },
            KeepOnly { side: Mobile, address: 1 },
            Run { ms: 21 },
        ],
    );
}

/// Many small messages closed the window, and its reopening was not reported, not even with the SHUTDOWN: the
/// mobile could not send its remaining data.
#[test]
fn a_shutdown_reports_a_reopened_window() {
    let setup = Setup {
        seed: 85220,
        mobile_addresses: 0b1010,
        mobile: Tuning { hb_interval_ms: 500, send_buffer: 5000, pmtu: 512, rack: true, ..Tuning::DEFAULT },
        server: Tuning {
            rto_min_ms: 200,
            rto_max_ms: 1000,
            hb_interval_ms: 5000,
            assoc_max_retrans: 4,
            receive_buffer: 1500,
            ..Tuning::DEFAULT
        },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path { mobile: 1, server: 0, to_server: Quality::GOOD, to_mobile: Quality::DEAD },
            Run { ms: 21 },
            Path {
                mobile: 1,
                server: 0,
                to_server: Quality { loss: 19, duplicate: 32, corrupt: 11, ..Quality::GOOD },
                to_mobile: Quality { loss: 40, duplicate: 17, ..Quality::GOOD },
            },
            Send { side: Mobile, stream: 0, len: 1, count: 50, unordered: false },
            Run { ms: 13000 },
            Shutdown { side: Server },
        ],
    );
}

/// A peer that acknowledges a FORWARD TSN is alive. This was ignored as long as further messages that may be
/// abandoned were queued.
#[test]
fn the_answer_to_a_forward_tsn_counts_with_queued_messages() {
    let setup = Setup {
        seed: 113989,
        mobile: Tuning { hb_interval_ms: 0, path_max_retrans: 0, quick_moves: true, ..Tuning::DEFAULT },
        server: Tuning { sack_frequency: 1, receive_buffer: 1500, ..Tuning::DEFAULT },
        heal: Heal::One,
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 0,
                server: 0,
                to_server: Quality { corrupt: 9, ..Quality::GOOD },
                to_mobile: Quality::GOOD,
            },
            SendPartial {
                side: Mobile,
                stream: 0,
                len: 1500,
                count: 34,
                unordered: false,
                effort: Effort::Retransmissions(0),
            },
            Run { ms: 220 },
            AddAddress { side: Mobile, address: 1 },
            Run { ms: 20 },
        ],
    );
}

/// As above, with lifetimes.
#[test]
fn the_answer_to_a_forward_tsn_counts_with_running_lifetimes() {
    let setup = Setup {
        seed: 136551,
        mobile_addresses: 0b10,
        server_addresses: 0b101,
        names_all: false,
        mobile: Tuning {
            hb_interval_ms: 0,
            path_max_retrans: 2,
            send_buffer: 5000,
            pmtu: 65535,
            ..Tuning::DEFAULT
        },
        heal: Heal::One,
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 1,
                server: 0,
                to_server: Quality::GOOD,
                to_mobile: Quality { duplicate: 11, ..Quality::GOOD },
            },
            Path {
                mobile: 1,
                server: 2,
                to_server: Quality::GOOD,
                to_mobile: Quality { loss: 8, corrupt: 9, ..Quality::GOOD },
            },
            Run { ms: 131 },
            SetPrimary { side: Mobile, path: 5 },
            Send { side: Mobile, stream: 0, len: 1, count: 300, unordered: false },
            Run { ms: 7000 },
            SendPartial {
                side: Mobile,
                stream: 0,
                len: 5000,
                count: 50,
                unordered: false,
                effort: LifetimeMs(5),
            },
        ],
    );
}

/// A request that could only leave from a dead network was not answered, no other request was sent, and the
/// association was lost although its own path worked.
#[test]
fn a_request_from_a_dead_network_does_not_end_the_association() {
    let setup = Setup {
        seed: 142563,
        mobile_addresses: 0b100,
        server_addresses: 0b10,
        mobile: Tuning { rto_max_ms: 10000, hb_interval_ms: 0, pmtu: 512, rack: true, ..Tuning::DEFAULT },
        heal: Heal::One,
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 2,
                server: 1,
                to_server: Quality { delay_ms: 150, ..Quality::GOOD },
                to_mobile: Quality::GOOD,
            },
            Run { ms: 231 },
            SendPartial {
                side: Mobile,
                stream: 0,
                len: 750,
                count: 1,
                unordered: false,
                effort: LifetimeMs(10),
            },
            AddWildcard { side: Mobile, address: 3 },
        ],
    );
}

/// The only remaining address was verified at the rate of heartbeats, long after the network had recovered
/// and packets of the mobile had arrived. The mobile meanwhile timed out.
#[test]
fn an_address_is_verified_when_a_packet_arrives_from_it() {
    let setup = Setup {
        seed: 156328,
        mobile_addresses: 0b111,
        mobile: Tuning { rto_max_ms: 3000, assoc_max_retrans: 4, potentially_failed: 1, ..Tuning::DEFAULT },
        server: Tuning { path_max_retrans: 1, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 0,
                server: 0,
                to_server: Quality::GOOD,
                to_mobile: Quality { corrupt: 16, ..Quality::GOOD },
            },
            Path { mobile: 1, server: 0, to_server: Quality::DEAD, to_mobile: Quality::GOOD },
            Send { side: Mobile, stream: 0, len: 1455, count: 1, unordered: false },
            Run { ms: 106 },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
            Run { ms: 3000 },
            Shutdown { side: Mobile },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
            Path {
                mobile: 1,
                server: 0,
                to_server: Quality { loss: 38, ..Quality::GOOD },
                to_mobile: Quality::GOOD,
            },
            KeepOnly { side: Mobile, address: 1 },
            Run { ms: 40 },
        ],
    );
}

/// With two paths at once, the data that filled the send buffer moved from one to the other and back without
/// end.
#[test]
fn data_that_fills_a_buffer_is_repeated_on_another_path_once() {
    let setup = Setup {
        seed: 259,
        mobile_addresses: 0b111,
        server_addresses: 0b11,
        mobile: Tuning { sack_delay_ms: 500, receive_buffer: 4000, ..Tuning::DEFAULT },
        server: Tuning { send_buffer: 5000, max_segments: 2, paths: 1, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(setup, &[Run { ms: 451 }, Send { side: Server, stream: 0, len: 3984, count: 7, unordered: false }]);
}

/// The COOKIE ACK went to the address over which the peer's COOKIE ECHOs were lost. Without it the peer
/// answered nothing, and was declared unreachable although its COOKIE ECHOs arrived over another path.
#[test]
fn a_peer_without_its_cookie_ack_is_not_unreachable() {
    let setup = Setup {
        seed: 9003287,
        mobile_addresses: 0b111,
        server_addresses: 0b100,
        mobile: Tuning { rto_min_ms: 200, ..Tuning::DEFAULT },
        server: Tuning {
            policy: 1,
            bicast: true,
            rto_max_ms: 1000,
            assoc_max_retrans: 10,
            send_buffer: 5000,
            pmtu: 512,
            initial_window: 1,
            ..Tuning::DEFAULT
        },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 0,
                server: 2,
                to_server: Quality::DEAD,
                to_mobile: Quality { delay_ms: 150, loss: 29, ..Quality::GOOD },
            },
            Path {
                mobile: 1,
                server: 2,
                to_server: Quality::GOOD,
                to_mobile: Quality { duplicate: 33, corrupt: 9, ..Quality::GOOD },
            },
            Run { ms: 305 },
            Run { ms: 260 },
            Run { ms: 453 },
            SendPartial {
                side: Server,
                stream: 0,
                len: 5000,
                count: 3,
                unordered: false,
                effort: LifetimeMs(100),
            },
            AddStreams { side: Server, incoming: true, count: 3 },
            Run { ms: 3683 },
        ],
    );
}

/// With several paths at once and a small receive window, each path left the last bytes to the other one.
#[test]
fn of_several_paths_one_takes_the_data() {
    let setup = Setup {
        seed: 9111027,
        mobile_addresses: 0b101,
        server_addresses: 0b110,
        mobile: Tuning { hb_interval_ms: 0, receive_buffer: 1500, send_buffer: 1500, ..Tuning::DEFAULT },
        server: Tuning { hb_interval_ms: 0, paths: 1, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 0,
                server: 2,
                to_server: Quality::GOOD,
                to_mobile: Quality { delay_ms: 150, ..Quality::GOOD },
            },
            Send { side: Mobile, stream: 0, len: 1, count: 38, unordered: false },
            Run { ms: 231 },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
        ],
    );
}

/// COOKIE ACKs were lost, and T1-cookie had backed off. The peer's data was not answered until the next
/// COOKIE ECHO, after the peer had counted too many errors.
#[test]
fn data_before_the_cookie_ack_is_answered_by_a_cookie_echo() {
    let setup = Setup {
        seed: 20000508,
        server: Tuning { rto_max_ms: 3000, assoc_max_retrans: 4, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 0,
                server: 0,
                to_server: Quality { loss: 30, ..Quality::GOOD },
                to_mobile: Quality { loss: 13, ..Quality::GOOD },
            },
            Run { ms: 7200 },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
            AddStreams { side: Server, incoming: true, count: 1 },
        ],
    );
}

/// Chunks sent before the window closed were dropped, and each retransmission counted as an error of the peer
/// although it answered with a SACK.
#[test]
fn a_peer_without_room_is_not_unreachable() {
    let setup = Setup {
        seed: 30005760,
        mobile_addresses: 0b1011,
        server_addresses: 0b101,
        names_all: false,
        mobile: Tuning {
            policy: 4,
            rto_max_ms: 10000,
            sack_delay_ms: 500,
            sack_frequency: 1,
            hb_interval_ms: 600_000,
            path_max_retrans: 1,
            receive_buffer: 20000,
            send_buffer: 1500,
            pmtu: 9000,
            max_segments: 16,
            same_path: true,
            initial_window: 1,
            rack: true,
            interleaving: true,
            quick_moves: true,
            ..Tuning::DEFAULT
        },
        server: Tuning {
            rto_max_ms: 10000,
            hb_interval_ms: 600_000,
            path_max_retrans: 0,
            receive_buffer: 1500,
            send_buffer: 30000,
            pmtu: 512,
            max_burst: 1,
            max_segments: 2,
            rack: true,
            prr: true,
            interleaving: true,
            paths: 1,
            ..Tuning::DEFAULT
        },
        heal: Heal::One,
        ..PLAIN
    };
    let slow = Quality { delay_ms: 150, ..Quality::GOOD };
    let twice = Quality { duplicate: 2, ..Quality::GOOD };
    check(
        setup,
        &[
            Path { mobile: 0, server: 0, to_server: twice, to_mobile: twice },
            Path {
                mobile: 0,
                server: 2,
                to_server: Quality { loss: 3, ..Quality::GOOD },
                to_mobile: Quality { duplicate: 5, corrupt: 2, ..slow },
            },
            Path {
                mobile: 1,
                server: 0,
                to_server: Quality { delay_ms: 5, ..twice },
                to_mobile: Quality { loss: 5, ..slow },
            },
            Path {
                mobile: 1,
                server: 2,
                to_server: Quality { delay_ms: 60, loss: 5, duplicate: 5, ..Quality::GOOD },
                to_mobile: Quality { loss: 1, duplicate: 3, corrupt: 2, ..Quality::GOOD },
            },
            Send { side: Mobile, stream: 0, len: 1500, count: 10, unordered: false },
            Send { side: Mobile, stream: 0, len: 375, count: 1, unordered: false },
            Run { ms: 1742 },
            Cut { side: Server, address: 3, dead: true },
            Send { side: Server, stream: 0, len: 30000, count: 2, unordered: false },
            Send { side: Mobile, stream: 0, len: 1, count: 13, unordered: false },
            Read { side: Server, pace: Never },
            Read { side: Mobile, pace: Never },
            Run { ms: 35000 },
            RequestPrimary { side: Mobile, address: 1 },
            Run { ms: 266_867 },
            Run { ms: 18750 },
            Run { ms: 8492 },
        ],
    );
}

/// T1-cookie had backed off to 16 s when the COOKIE ACK arrived. T3-rtx of lost data took over this RTO, and
/// the peer's T2-shutdown expired too often before.
#[test]
fn data_after_a_slow_set_up_is_retransmitted_before_the_peer_shuts_down() {
    let setup = Setup {
        seed: 30005762,
        mobile_addresses: 0b1000,
        server_addresses: 0b10,
        server: Tuning { rto_max_ms: 3000, assoc_max_retrans: 4, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 3,
                server: 1,
                to_server: Quality { loss: 36, duplicate: 1, ..Quality::GOOD },
                to_mobile: Quality { loss: 24, ..Quality::GOOD },
            },
            Run { ms: 15300 },
            Send { side: Mobile, stream: 0, len: 1250, count: 1, unordered: false },
            Shutdown { side: Server },
        ],
    );
}

/// The server was deleting the addresses of its confirmed paths when the mobile lost the association. It
/// took the ABORT that answered each HEARTBEAT over the last path for one of another endpoint, for ever.
#[test]
fn a_lost_peer_is_noticed_while_the_confirmed_addresses_are_deleted() {
    let setup = Setup {
        seed: 70004476,
        mobile_addresses: 0b1010,
        server_addresses: 0b110,
        mobile: Tuning { rto_max_ms: 3000, assoc_max_retrans: 10, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path {
                mobile: 3,
                server: 1,
                to_server: Quality::GOOD,
                to_mobile: Quality { loss: 100, ..Quality::GOOD },
            },
            Run { ms: 1087 },
            KeepOnly { side: Server, address: 1 },
            AddStreams { side: Mobile, incoming: true, count: 3 },
            Run { ms: 27000 },
        ],
    );
}

/// The mobile's data arrived over a path that the server had declared inactive. Under protection an observer
/// may have delivered it there, so that the SACKs took the data path, which was dead; and the server sent no
/// heartbeats that could have found the other one.
#[test]
fn an_inactive_path_that_receives_data_is_tested_without_heartbeats() {
    let setup = Setup {
        seed: 71000078,
        mobile_addresses: 0b1110,
        server_addresses: 0b11,
        server: Tuning {
            hb_interval_ms: 0,
            path_max_retrans: 2,
            send_buffer: 1500,
            potentially_failed: 1,
            ..Tuning::DEFAULT
        },
        plain: false,
        heal: Heal::One,
        ..PLAIN
    };
    let to_mobile = Quality { loss: 13, duplicate: 20, ..Quality::GOOD };
    let half = Quality { duplicate: 15, ..Quality::GOOD };
    check(
        setup,
        &[
            Run { ms: 1121 },
            Send { side: Server, stream: 0, len: 1, count: 7, unordered: false },
            RemoveAddress { side: Mobile, address: 2 },
            Send { side: Mobile, stream: 0, len: 1, count: 1, unordered: false },
            Path { mobile: 1, server: 0, to_server: Quality::GOOD, to_mobile },
            Path { mobile: 3, server: 1, to_server: Quality::DEAD, to_mobile: half },
            Run { ms: 4500 },
        ],
    );
}

/// The first COOKIE ECHO that arrived was older than its cookie's life. The set-up under a pre-shared key
/// ends, because data had left behind it.
#[test]
fn a_stale_cookie_ends_a_set_up_whose_data_has_left() {
    let setup =
        Setup { seed: 71001169, mobile_addresses: 0b1000, server_addresses: 0b10, plain: false, ..PLAIN };
    check(
        setup,
        &[
            Run { ms: 21 },
            Cut { side: Server, address: 1, dead: true },
            Run { ms: 32000 },
            Send { side: Mobile, stream: 0, len: 1, count: 1, unordered: false },
        ],
    );
}

/// The first use of a stream waits with its reader while others read the next.
#[test]
fn a_held_use_of_a_stream_is_read_after_the_next() {
    let setup = Setup { seed: 73001950, server: Tuning { send_buffer: 1500, ..Tuning::DEFAULT }, ..PLAIN };
    check(
        setup,
        &[
            Run { ms: 64 },
            SendPartial {
                side: Server,
                stream: 0,
                len: 1,
                count: 7,
                unordered: false,
                effort: LifetimeMs(300),
            },
            Read { side: Mobile, pace: OneEvery { ms: 275 } },
            Reset { side: Server, incoming: false, first: 2, count: 0 },
            Run { ms: 64 },
            Read { side: Mobile, pace: AllBut { stream: 0 } },
        ],
    );
}

/// What is rejected at the set-up, for want of its stream, takes no credit of the stream that is added later.
#[test]
fn a_message_for_a_stream_that_did_not_exist_takes_no_credit() {
    let setup = Setup {
        seed: 73008113,
        plain: false,
        mobile: Tuning { outbound_streams: 1, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Send { side: Mobile, stream: 1, len: 50000, count: 1, unordered: false },
            Run { ms: 81 },
            AddStreams { side: Mobile, incoming: false, count: 1 },
        ],
    );
}

/// Without heartbeats and data in flight, only the questions for credit find that the peer is gone.
#[test]
fn unanswered_questions_for_credit_end_the_association() {
    let setup = Setup {
        seed: 73004155,
        mobile_addresses: 0b1000,
        server_addresses: 0b110,
        plain: false,
        mobile: Tuning { rto_max_ms: 10000, hb_interval_ms: 5000, ..Tuning::DEFAULT },
        server: Tuning { hb_interval_ms: 0, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(
        setup,
        &[
            Run { ms: 60 },
            Send { side: Server, stream: 0, len: 50132, count: 2, unordered: false },
            Read { side: Mobile, pace: Never },
            Run { ms: 386 },
            Cut { side: Mobile, address: 3, dead: true },
            Send { side: Mobile, stream: 0, len: 1, count: 1, unordered: false },
            AddAddress { side: Mobile, address: 1 },
            Run { ms: 116_000 },
        ],
    );
}

/// A late copy of the first COOKIE ECHO makes the only association of the server.
#[test]
fn a_cookie_echo_that_arrives_after_the_end_makes_an_association_that_ends() {
    let setup = Setup {
        seed: 73011867,
        mobile_addresses: 0b1010,
        server_addresses: 0b100,
        server: Tuning { hb_interval_ms: 0, ..Tuning::DEFAULT },
        ..PLAIN
    };
    let to_server = Quality { duplicate: 31, corrupt: 12, ..Quality::GOOD };
    check(
        setup,
        &[
            Path { mobile: 1, server: 2, to_server, to_mobile: Quality::GOOD },
            Run { ms: 42 },
            Abort { side: Mobile },
        ],
    );
}

/// Chunks of a message longer than the buffer arrive on both sides of gaps: up to four buffers are held.
#[test]
fn the_next_chunk_is_taken_beside_two_buffers_behind_a_gap() {
    let setup = Setup {
        seed: 73010370,
        mobile_addresses: 0b11,
        server_addresses: 0b110,
        mobile: Tuning {
            controller: 4,
            policy: 4,
            rto_max_ms: 10000,
            hb_interval_ms: 0,
            max_segments: 16,
            initial_ssthresh: 3000,
            rack: true,
            quick_moves: true,
            paths: 1,
            silence_ms: 1,
            ..Tuning::DEFAULT
        },
        server: Tuning {
            sack_delay_ms: 0,
            hb_interval_ms: 600000,
            path_max_retrans: 1,
            receive_buffer: 20000,
            ..Tuning::DEFAULT
        },
        ..PLAIN
    };
    let quality =
        |jitter_ms, loss, duplicate, corrupt| Quality { delay_ms: 20, jitter_ms, loss, duplicate, corrupt };
    check(
        setup,
        &[
            Path { mobile: 0, server: 2, to_server: quality(0, 100, 0, 0), to_mobile: quality(0, 14, 0, 16) },
            Path {
                mobile: 1,
                server: 2,
                to_server: quality(100, 36, 40, 10),
                to_mobile: quality(0, 26, 0, 11),
            },
            Send { side: Mobile, stream: 0, len: 50000, count: 1, unordered: false },
            Run { ms: 73000 },
        ],
    );
}
