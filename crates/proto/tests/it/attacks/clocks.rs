//! Options at the ends of their ranges, and clocks that jump: no panic, no stall, no endless sending.

use msctp_proto::{AssociationState as State, Config};
use msctp_units::{Span, Time};

use crate::support::{Pair, Side, a_ip, b_ip, message, text_message};

#[test]
fn timers_saturate_at_the_end_of_time() {
    let config = Config { rto_max: Span::MAX, hb_interval: Span::from_nanos(1), ..Config::default() };
    assert_eq!(config.validate(), Ok(()));
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
    for _ in 0..2000 {
        if !pair.step(pair.now + Span::from_secs(2)) {
            break;
        }
    }
    assert_eq!(pair.a.state(), Some(State::Established));
    pair.drop_if(|_| true);
    pair.send(Side::A, text_message("x"));
    for _ in 0..5000 {
        if !pair.step(Time::MAX - Span::from_nanos(1)) {
            break;
        }
    }
}

#[test]
fn a_clock_that_goes_back_does_not_end_an_association() {
    let mut pair = Pair::established(Config::mobile());
    for n in 0..2000u64 {
        let now = pair.now;
        let back = Time::from_nanos(now.as_nanos().saturating_sub((n * 7_919_123) % 3_000_000_000));
        pair.now = back;
        if n % 5 == 0 {
            let _ = pair.with(Side::A, |a, now| a.send(now, message(0, vec![1; 900])));
        }
        pair.a.endpoint.handle_timeout(back);
        pair.b.endpoint.handle_timeout(back);
        pair.drain(Side::A);
        pair.drain(Side::B);
        pair.now = now;
        pair.run_for(Span::from_millis(5));
    }
    assert_eq!((pair.a.state(), pair.b.state()), (Some(State::Established), Some(State::Established)));
    pair.run_for(Span::from_secs(60));
    assert_eq!(pair.b.bytes_received(), 400 * 900);
}
