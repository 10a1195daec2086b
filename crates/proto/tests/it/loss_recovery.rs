//! Loss recovery between two ends: counting (RFC 9260) and RACK-TLP (RFC 8985) on the same network.

use crate::support;

use msctp_proto::{AssociationStats, Config, LossRecovery, PathStats, Pmtu};
use msctp_units::{Rate, Span};
use support::{Fate, Pair, Side, chunk};

const RTT: Span = Span::from_millis(40);

fn config(loss_recovery: LossRecovery) -> Config {
    // Packets of one length make the number of overtaking packets known.
    Config { loss_recovery, pmtu: Pmtu::Fixed(1500), ..Config::default() }
}

fn pair(loss_recovery: LossRecovery) -> Pair {
    let mut pair = Pair::established(config(loss_recovery));
    pair.rate = Some(Rate::from_mbps(20));
    pair
}

fn stats(pair: &mut Pair) -> (AssociationStats, PathStats) {
    pair.with(Side::A, |association, _| (association.stats(), association.paths().next().expect("a path")))
}

/// Delays every fifth packet by this much; the transmission of one takes 0.6 ms.
fn reorder(pair: &mut Pair, late: Span) {
    let mut count = 0;
    pair.filter = Box::new(move |flight| {
        if flight.from != Side::A || !flight.has(chunk::DATA) {
            return Fate::Pass;
        }
        count += 1;
        if count % 5 == 0 { Fate::Late(late) } else { Fate::Pass }
    });
}

#[test]
fn rack_retransmits_nothing_on_a_reordering_link_once_it_has_adapted() {
    let again = [LossRecovery::Rfc9260, LossRecovery::RackPrr].map(|loss_recovery| {
        let mut pair = pair(loss_recovery);
        // Overtaken by one or two packets: neither recovery declares a loss.
        reorder(&mut pair, Span::from_micros(700));
        pair.transfer(Side::A, 200, 1400, Span::from_secs(60));
        assert_eq!(stats(&mut pair).0.data_chunks_retransmitted, 0, "{loss_recovery:?}");
        // Overtaken by five, well within the quarter of a round trip that RACK then waits (RFC 8985 §6.2 step
        // 4).
        reorder(&mut pair, Span::from_millis(3));
        pair.transfer(Side::A, 2000, 1400, Span::from_secs(60));
        stats(&mut pair).0.data_chunks_retransmitted
    });
    assert!(again[0] > 20, "counting declares late packets lost: {again:?}");
    assert_eq!(again[1], 0, "{again:?}");
}

/// Loses the last packets of a transfer; returns the time to their repair and the path's counters.
fn time_to_repair_tail(loss_recovery: LossRecovery, lost: usize) -> (Span, PathStats) {
    let mut pair = pair(loss_recovery);
    pair.transfer(Side::A, 200, 1400, Span::from_secs(60));
    // Delayed SACKs have been sent.
    pair.run_for(Span::from_secs(1));
    let begin = pair.now;
    let mut count = 0;
    pair.drop_if(move |flight| {
        let data = flight.from == Side::A && flight.has(chunk::DATA);
        count += usize::from(data);
        data && (10 - lost..10).contains(&(count - 1))
    });
    pair.transfer(Side::A, 10, 1400, Span::from_secs(60));
    (pair.now.since(begin), stats(&mut pair).1)
}

#[test]
fn a_lost_tail_is_repaired_in_two_round_trips_instead_of_an_rto() {
    for lost in [1, 2, 4] {
        let (counting, path) = time_to_repair_tail(LossRecovery::Rfc9260, lost);
        assert!(counting >= Span::from_secs(1) && path.timeouts == 1, "{lost} lost: {counting}, {path:?}");
        let (rack, path) = time_to_repair_tail(LossRecovery::RackPrr, lost);
        assert_eq!((path.timeouts, path.loss_probes), (0, 1), "{lost} lost: {path:?}");
        // Half a round trip to the receiver, two until the probe is sent, half to the receiver, and one for
        // the losses that only its SACK reveals. The last chunk before the tail may be acknowledged after the
        // delay of 200 ms.
        let most = RTT * 4 + Span::from_millis(220);
        assert!(rack <= most, "{lost} lost: {rack} instead of {counting}");
    }
}

#[test]
fn a_lost_retransmission_needs_no_timeout() {
    let mut pair = pair(LossRecovery::RackPrr);
    pair.transfer(Side::A, 200, 1400, Span::from_secs(60));
    let (mut first, mut again) = (None, 0);
    pair.drop_if(move |flight| {
        if flight.from != Side::A || !flight.has(chunk::DATA) || again == 2 {
            return false;
        }
        let lost = *first.get_or_insert(flight.tsn()) == flight.tsn();
        again += i32::from(lost);
        lost
    });
    pair.transfer(Side::A, 400, 1400, Span::from_secs(60));
    let (stats, path) = stats(&mut pair);
    assert_eq!((path.timeouts, stats.data_chunks_retransmitted), (0, 2));
}
