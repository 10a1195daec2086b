//! Properties of every controller of the catalogue, for any events and options.

use msctp_congestion::{
    Ack, Controller, ControllerConfig, InitialWindow, IpVersion, Loss, LossKind, StartState,
};
use msctp_lab_schemes::catalogue::{ControllerEntry, Options, controllers};
use msctp_units::{Span, Time};
use proptest::prelude::*;

/// Something that can happen, with two sizes and a time that it takes what it needs from.
#[derive(Clone, Copy, Debug)]
struct Event {
    what: u8,
    a: u64,
    b: u64,
    span: u64,
}

/// Small sizes, sizes of windows, and the largest there are.
fn size() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..10_000, 0u64..1_000_000, any::<u64>(), Just(u64::MAX)]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let span = prop_oneof![Just(0), 0u64..2_000_000_000, any::<u64>()];
    let event = (0u8..12, size(), size(), span).prop_map(|(what, a, b, span)| Event { what, a, b, span });
    proptest::collection::vec(event, 1..150)
}

/// Every option at one of its ends or its default, as the bits of `choice` say.
fn options(info: &ControllerEntry, mut choice: u32) -> Options {
    let mut options = Options::new();
    for option in info.options {
        let value = [option.default, option.least, option.most][choice as usize % 3];
        options.set(option, value).unwrap();
        choice /= 3;
    }
    options
}

fn make(info: &ControllerEntry, pmdcs: u64, choice: u32) -> Box<dyn Controller> {
    (info.make)(&options(info, choice)).make(&ControllerConfig {
        pmdcs,
        ip_version: IpVersion::V4,
        initial_window: InitialWindow::Rfc9260,
        initial_ssthresh: None,
    })
}

fn ack(now: Time, event: Event) -> Ack {
    Ack {
        now,
        bytes_acked: event.a,
        duplicate_bytes: event.b & 0xfff,
        flight_size_before: event.b,
        cum_tsn_advanced: event.what.is_multiple_of(2),
        in_fast_recovery: event.what == 3,
        nothing_outstanding: event.b == event.a,
        rtt: (event.what > 0).then(|| Span::from_nanos(event.span)),
        srtt: Some(Span::from_nanos(event.span)),
        answered_elsewhere: event.what.is_multiple_of(3),
    }
}

proptest! {
    #[test]
    fn any_sequence_of_events(
        events in events(),
        pmdcs in prop_oneof![1u64..3000, 1u64..100_000, any::<u64>()],
        choice: u32,
    ) {
        for info in controllers() {
            let mut controller = make(info, pmdcs, choice);
            let fresh = controller.window();
            let (mut now, mut pmdcs) = (Time::ZERO, pmdcs.max(1));
            for &event in &events {
                now += Span::from_nanos(event.span / 8);
                let before = controller.window();
                let loss = |kind| Loss { now, kind, flight_size: event.a };
                match event.what {
                    0..=3 => controller.on_ack(&ack(now, event)),
                    4 => controller.on_loss(&loss(LossKind::Gap)),
                    5 => controller.on_loss(&loss(LossKind::Ecn)),
                    6 => controller.on_loss(&loss(LossKind::Timeout)),
                    7 => controller.on_idle(event.a % 7),
                    8 => controller.on_spurious_timeout(now),
                    9 => controller.on_recovery_exit(now),
                    10 => {
                        pmdcs = event.a.max(1);
                        controller.on_pmtu(event.a);
                    }
                    _ => controller.start(&StartState { cwnd: event.a, ssthresh: Some(event.b), pacing_rate: None }),
                }
                let after = controller.window();
                let what = format!("{} after {event:?}: {before:?} to {after:?}", info.name);
                prop_assert!(after.cwnd >= pmdcs, "{what}");
                match event.what {
                    0..=2 => {
                        prop_assert!(after.cwnd >= before.cwnd, "an acknowledgement closes nothing: {what}");
                        prop_assert!(after.ssthresh <= before.ssthresh, "{what}");
                    }
                    // Fast recovery: RFC 9260 §7.2.1 forbids slow start, its §7.2.2 forbids nothing.
                    3 if before.cwnd <= before.ssthresh => prop_assert_eq!(after.cwnd, before.cwnd, "{}", what),
                    3 => {
                        let most = before.cwnd.saturating_add(pmdcs);
                        prop_assert!((before.cwnd..=most).contains(&after.cwnd), "{what}");
                    }
                    // The floor of the RFCs: two packets, four for SCTP.
                    4 | 5 => prop_assert!(after.cwnd <= before.cwnd.max(pmdcs.saturating_mul(4)), "{what}"),
                    6 => {
                        prop_assert_eq!(after.cwnd, pmdcs, "{}", what);
                        prop_assert!(controller.one_packet_in_flight());
                    }
                    7 => prop_assert!(after.cwnd <= before.cwnd, "{what}"),
                    8 => prop_assert!(after.cwnd >= before.cwnd, "{what}"),
                    9 => prop_assert_eq!(after, before, "{}", what),
                    _ => {}
                }
            }
            controller.reset();
            controller.on_pmtu(make(info, pmdcs, choice).window().cwnd);
            controller.reset();
            let again = controller.window();
            prop_assert_eq!(again.ssthresh, fresh.ssthresh, "{}", info.name);
        }
    }

    /// Until the first loss every acknowledgement of a used window opens it, by what was acknowledged at most
    /// and, if that is less than a packet, by a packet at most.
    #[test]
    fn slow_start_opens_with_every_acknowledgement(acks in proptest::collection::vec(1u64..3000, 1..60), choice: u32) {
        for info in controllers() {
            let mut controller = make(info, 1000, choice);
            for &bytes_acked in &acks {
                let before = controller.window().cwnd;
                controller.on_ack(&Ack {
                    now: Time::ZERO,
                    bytes_acked,
                    duplicate_bytes: 0,
                    flight_size_before: before,
                    cum_tsn_advanced: true,
                    in_fast_recovery: false,
                    nothing_outstanding: false,
                    rtt: None,
                    srtt: None,
                    answered_elsewhere: false,
                });
                let growth = controller.window().cwnd - before;
                prop_assert!((1..=bytes_acked.max(1000)).contains(&growth), "{}: {growth}", info.name);
            }
        }
    }

    /// RFC 5682 §4, RFC 4015 §3.2: the window cut by a timeout is restored, once, unless something else was
    /// lost since.
    #[test]
    fn a_spurious_timeout_is_undone(
        before in proptest::collection::vec(1u64..3000, 0..60),
        timeouts in 1usize..4,
        after in proptest::collection::vec(1u64..3000, 0..4),
        loses: bool,
        choice: u32,
    ) {
        for info in controllers() {
            let mut controller = make(info, 1000, choice);
            let acknowledge = |controller: &mut Box<dyn Controller>, bytes: u64| {
                let flight_size_before = controller.window().cwnd;
                controller.on_ack(&Ack {
                    bytes_acked: bytes,
                    flight_size_before,
                    ..ack(Time::ZERO, Event { what: 0, a: bytes, b: u64::MAX, span: 0 })
                });
            };
            controller.start(&StartState { cwnd: 40_000, ssthresh: Some(60_000), pacing_rate: None });
            before.iter().for_each(|&bytes| acknowledge(&mut controller, bytes));
            let saved = controller.window();
            let lose = |controller: &mut Box<dyn Controller>, kind| {
                let flight_size = controller.window().cwnd;
                controller.on_loss(&Loss { now: Time::ZERO, kind, flight_size });
            };
            (0..timeouts).for_each(|_| lose(&mut controller, LossKind::Timeout));
            after.iter().for_each(|&bytes| acknowledge(&mut controller, bytes));
            if loses {
                lose(&mut controller, LossKind::Gap);
            }
            let reduced = controller.window();
            controller.on_spurious_timeout(Time::ZERO);
            let expected = if loses { reduced } else { saved };
            prop_assert_eq!(controller.window(), expected, "{}", info.name);
            prop_assert!(loses || !controller.one_packet_in_flight());
            lose(&mut controller, LossKind::Gap);
            let reduced = controller.window();
            controller.on_spurious_timeout(Time::ZERO);
            prop_assert_eq!(controller.window(), reduced, "once: {}", info.name);
        }
    }
}
