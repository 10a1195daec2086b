//! Somebody on the path delays packets by times that vary. Controllers and timers measure the sum.

use std::collections::VecDeque;

use msctp_units::{Rate, Span};

use crate::attacks::changed_setup::psk;
use crate::support::{Fate, Pair, Side, a_ip, b_ip};

const LEN: usize = 1000;

/// Sends for this long. Returns the messages that arrived.
fn run(pair: &mut Pair, waiting: &mut VecDeque<u32>, span: Span) -> usize {
    let (before, end) = (pair.a.received.len(), pair.now + span);
    loop {
        pair.feed(Side::B, waiting, LEN);
        if !pair.step(end) {
            return pair.a.received.len() - before;
        }
    }
}

/// A wave of up to 200 ms each second: the controller takes the delay for a queue, or its end for the round
/// trip.
#[test]
fn a_delay_that_an_attacker_varies_slows_data_down_and_no_longer_than_it_lasts() {
    let mut pair = Pair::new(psk(), vec![b_ip(0)]);
    pair.rate = Some(Rate::from_mbps(8));
    pair.connect(psk(), vec![a_ip(0)], vec![b_ip(0)]);
    let mut waiting = (0..u32::MAX).take(1 << 20).collect();
    run(&mut pair, &mut waiting, Span::from_secs(10));
    let alone = run(&mut pair, &mut waiting, Span::from_secs(20));
    pair.filter = Box::new(|flight| {
        let phase = flight.sent.since(msctp_units::Time::ZERO).as_nanos() % 1_000_000_000;
        Fate::Late(Span::from_nanos(phase.min(1_000_000_000 - phase) * 2 / 5))
    });
    let varied = run(&mut pair, &mut waiting, Span::from_secs(20));
    pair.pass_all();
    run(&mut pair, &mut waiting, Span::from_secs(10));
    let after = run(&mut pair, &mut waiting, Span::from_secs(20));
    assert!(varied < alone / 2 && varied * 40 >= alone, "{varied} of {alone} messages");
    assert!(after * 10 >= alone * 9, "{after} of {alone} messages afterwards");
}
