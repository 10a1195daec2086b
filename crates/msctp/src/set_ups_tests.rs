use msctp_proto::{Config, Endpoint, EndpointConfig, LocalAddrs, RemoteAddrs};

use super::*;

/// Returns this many handles.
fn handles(count: u16) -> Vec<Handle> {
    let core = EndpointConfig { max_associations: count.into(), ..EndpointConfig::default() };
    let mut core = Endpoint::new(core, [7; 32]).unwrap();
    let local = LocalAddrs { port: 9, addresses: vec![[192, 0, 2, 1].into()] };
    let begin = |port| {
        let remote = RemoteAddrs { port, addresses: vec![[192, 0, 2, 2].into()] };
        core.connect(Time::ZERO, Config::default(), local.clone(), remote).unwrap()
    };
    (1..=count).map(begin).collect()
}

fn source(n: u8) -> IpAddr {
    [192, 0, 2, n].into()
}

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_millis(n)
}

/// Adds a set-up with a ClientHello.
fn arrive(set_ups: &mut SetUps, handle: Handle, from: IpAddr) {
    set_ups.enter(handle, from);
    set_ups.queue(handle, false);
}

/// Takes all that may be taken now.
fn taken(set_ups: &mut SetUps, now: Time) -> Vec<Handle> {
    std::iter::from_fn(|| set_ups.take(now)).map(|next| next.handle).collect()
}

#[test]
fn sources_take_turns() {
    let handles = handles(12);
    let mut set_ups = SetUps::new(100);
    // Ten of one source, then one each of two others.
    for (n, &handle) in handles.iter().enumerate() {
        arrive(&mut set_ups, handle, source(n.saturating_sub(9) as u8));
    }
    let order = [0, 10, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(|n| handles[n]);
    assert_eq!(taken(&mut set_ups, ms(0)), order);
    assert_eq!(set_ups.next(), None);
}

#[test]
fn handshakes_in_progress_precede_new_ones() {
    let handles = handles(6);
    let mut set_ups = SetUps::new(100);
    arrive(&mut set_ups, handles[0], source(1));
    assert_eq!(set_ups.take(ms(0)), Some(Next { handle: handles[0], in_progress: false }));
    for &handle in &handles[1..] {
        arrive(&mut set_ups, handle, source(2));
    }
    set_ups.queue(handles[0], true);
    set_ups.queue(handles[0], true);
    assert!(set_ups.is_queued_in_progress(handles[0]));
    assert_eq!(set_ups.take(ms(0)), Some(Next { handle: handles[0], in_progress: true }));
    assert_eq!(taken(&mut set_ups, ms(0)), handles[1..], "once, and none is lost");
    // A peer that begins again is new.
    set_ups.queue(handles[0], true);
    set_ups.queue(handles[0], false);
    assert!(!set_ups.is_queued_in_progress(handles[0]));
    assert_eq!(set_ups.take(ms(0)), Some(Next { handle: handles[0], in_progress: false }));
    assert_eq!(set_ups.take(ms(0)), None);
}

#[test]
fn a_source_above_its_rate_waits_and_holds_up_no_other() {
    let handles = handles(40);
    let mut set_ups = SetUps::new(10);
    for &handle in &handles[..39] {
        arrive(&mut set_ups, handle, source(1));
    }
    assert_eq!(taken(&mut set_ups, ms(0)), handles[..10], "those of a second at once");
    assert_eq!(set_ups.next(), Some(ms(100)));
    arrive(&mut set_ups, handles[39], source(2));
    assert_eq!(set_ups.next(), Some(Time::ZERO), "it may be served now");
    assert_eq!(taken(&mut set_ups, ms(50)), [handles[39]]);
    // Whoever calls at `next` serves each of them, without another packet.
    let mut served = 10;
    while let Some(at) = set_ups.next() {
        assert!(at > ms(0) && at <= ms(100 * (served - 9)), "{at} after {served}");
        served += taken(&mut set_ups, at).len() as u64;
    }
    assert_eq!(served, 39);
}

#[test]
fn completed_handshakes_do_not_count() {
    let handles = handles(1000);
    let mut set_ups = SetUps::new(10);
    for &handle in &handles {
        arrive(&mut set_ups, handle, source(1));
    }
    // All at one instant, from one source: each ten that complete make room for ten.
    let mut rounds = 0;
    while set_ups.next() == Some(Time::ZERO) {
        let served = taken(&mut set_ups, ms(0));
        assert_eq!(served.len(), 10);
        served.into_iter().for_each(|handle| set_ups.leave(handle, true));
        rounds += 1;
    }
    assert_eq!((rounds, set_ups.next()), (100, None));
}

#[test]
fn handshakes_that_fail_count() {
    let handles = handles(30);
    let mut set_ups = SetUps::new(10);
    for &handle in &handles {
        arrive(&mut set_ups, handle, source(1));
        if set_ups.take(ms(0)).is_some() {
            set_ups.leave(handle, false);
        }
    }
    assert_eq!((set_ups.take(ms(0)), set_ups.next()), (None, Some(ms(100))));
    // Those that end while they wait leave nothing.
    for &handle in &handles {
        set_ups.leave(handle, false);
    }
    assert_eq!((set_ups.take(ms(100)), set_ups.next()), (None, None));
    assert!(set_ups.all.is_empty() && set_ups.new.of.is_empty() && set_ups.new.order.is_empty());
}

#[test]
fn sources_that_are_gone_take_no_memory() {
    let handle = handles(1)[0];
    let mut set_ups = SetUps::new(1);
    for n in 0..10_000_u64 {
        let prefix = u128::from(n) << 64;
        arrive(&mut set_ups, handle, std::net::Ipv6Addr::from_bits(prefix).into());
        assert!(set_ups.take(ms(20 * n)).is_some());
        set_ups.leave(handle, false);
    }
    // 50 of the last second.
    assert!(set_ups.full_at.len() <= 2 * FEW_SOURCES, "{}", set_ups.full_at.len());
}

#[test]
fn a_high_rate_lifts_the_limit() {
    let handles = handles(2000);
    let mut set_ups = SetUps::new(u32::MAX);
    for &handle in &handles {
        arrive(&mut set_ups, handle, source(1));
    }
    assert_eq!(taken(&mut set_ups, ms(0)).len(), 2000);
}
