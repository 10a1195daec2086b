//! Sequences that once failed, each with what was wrong.

use crate::check;
use crate::plan::{Ending, Heal, Link, Op::*, Quality, Setup, Side::*, Tuning};

/// One address at each end, all options as they are by default.
const PLAIN: Setup = Setup {
    seed: 0,
    mobile_addresses: 0b1,
    server_addresses: 0b1,
    names_all: true,
    mobile: Tuning::DEFAULT,
    server: Tuning::DEFAULT,
    heal: Heal::All,
    ending: Ending::MobileShutsDown,
};

/// The adaptive policy asked for probes before the association was up: they were due and could not be sent, and the timer
/// fired without end.
#[test]
fn probing_waits_for_the_association() {
    check(Setup { mobile_addresses: 0b11, mobile: Tuning { policy: 2, ..Tuning::DEFAULT }, ..PLAIN }, &[]);
}

/// With `wait_for_confirmation` one path that never worked held all data back for ever.
#[test]
fn a_dead_path_does_not_hold_data_back() {
    let setup = Setup {
        mobile_addresses: 0b1100,
        server_addresses: 0b10,
        server: Tuning {
            hb_interval_ms: 0,
            path_max_retrans: 2,
            wait_for_confirmation: true,
            ..Tuning::DEFAULT
        },
        ..PLAIN
    };
    check(
        setup,
        &[
            Path { mobile: 2, server: 1, to_server: Quality::GOOD, to_mobile: Quality::DEAD },
            Run { ms: 4500 },
            Send { side: Server, stream: 0, len: 1, count: 1, unordered: false },
        ],
    );
}

/// Messages for streams that the peer does not grant are reported when the association comes up; that this makes room in a
/// full send buffer was not told.
#[test]
fn failed_messages_make_room() {
    let setup = Setup {
        mobile: Tuning { send_buffer: 5000, ..Tuning::DEFAULT },
        server: Tuning { max_inbound_streams: 1, ..Tuning::DEFAULT },
        ..PLAIN
    };
    check(setup, &[Send { side: Mobile, stream: 1, len: 5000, count: 2, unordered: false }]);
}

/// A delayed SACK without a path to send it on made the timer fire without end.
#[test]
fn a_sack_waits_for_a_path() {
    check(
        PLAIN,
        &[
            Run { ms: 100 },
            Send { side: Mobile, stream: 0, len: 1, count: 1, unordered: false },
            Run { ms: 30 },
            LinkEvent { side: Server, address: 0, link: Link::Down },
            Run { ms: 3000 },
        ],
    );
}
