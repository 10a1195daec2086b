use proptest::prelude::*;

use super::*;

const TIMER: Span = Span::from_secs(1);

fn sizes() -> Sizes {
    Sizes::new(false, 1200, 1500)
}

fn at(secs: u64) -> Time {
    Time::ZERO + Span::from_secs(secs)
}

/// A path that passes packets of up to `mtu` bytes. Answers and losses arrive `TIMER` after the PMTU probe.
struct Run {
    discovery: Discovery,
    now: Time,
    probes: Vec<u32>,
}

impl Run {
    fn new(sizes: Sizes) -> Self {
        Self { discovery: Discovery::new(sizes, Span::from_secs(600)), now: at(1), probes: Vec::new() }
    }

    /// Runs until the search ends, or for at most `limit` PMTU probes.
    fn search(&mut self, mtu: u32, limit: usize) -> &mut Self {
        for _ in 0..limit {
            let Some(size) = self.discovery.poll(self.now, TIMER) else { break };
            self.probes.push(size);
            self.now += TIMER;
            if size <= mtu {
                self.discovery.on_ack(self.now, size);
            }
            self.discovery.handle_timeout(self.now);
        }
        self
    }
}

#[test]
fn a_path_that_carries_the_maximum_takes_two_probes() {
    // RFC 8899 §5.2: BASE, SEARCHING, SEARCH_COMPLETE
    let mut run = Run::new(sizes());
    assert_eq!((run.discovery.phase(), run.discovery.plpmtu()), (Phase::Base, 1200));
    run.search(1500, 99);
    assert_eq!(run.probes, [1200, 1500]);
    assert_eq!((run.discovery.phase(), run.discovery.plpmtu()), (Phase::Complete, 1500));
    assert_eq!(run.discovery.next_timeout(), None, "nothing to raise");
}

#[test]
fn a_size_is_abandoned_after_three_lost_probes_and_the_search_halves() {
    let mut run = Run::new(sizes());
    run.search(1400, 99);
    assert_eq!(run.probes[..5], [1200, 1500, 1500, 1500, 1348]);
    assert_eq!((run.discovery.phase(), run.discovery.plpmtu()), (Phase::Complete, 1400));
    assert_eq!(run.discovery.next_timeout(), Some(run.now + Span::from_secs(600)), "PMTU_RAISE_TIMER");
    run.now += Span::from_secs(600);
    run.search(1500, 1);
    assert_eq!(run.discovery.plpmtu(), 1500, "the path became wider");
}

#[test]
fn a_path_below_the_base_is_an_error_that_is_lived_with() {
    let mut run = Run::new(sizes());
    run.search(900, 3);
    assert_eq!((run.discovery.phase(), run.discovery.plpmtu()), (Phase::Error, 576));
    run.search(900, 99);
    assert_eq!((run.discovery.phase(), run.discovery.plpmtu()), (Phase::Complete, 900));
    run.now += Span::from_secs(600);
    run.search(1500, 99);
    assert_eq!((run.discovery.phase(), run.discovery.plpmtu()), (Phase::Complete, 1500));
}

#[test]
fn three_signs_of_a_black_hole_lead_back_to_the_base_and_an_answer_clears_them() {
    // RFC 8899 §4.3
    let mut run = Run::new(sizes());
    run.search(1500, 99);
    run.discovery.suspect();
    assert_eq!(run.discovery.poll(run.now, TIMER), Some(1500), "does the present size pass?");
    run.discovery.on_ack(run.now, 1500);
    assert_eq!(run.discovery.next_timeout(), None);
    run.discovery.suspect();
    let before = run.probes.len();
    run.search(1280, 2);
    assert_eq!(run.probes[before..], [1500, 1500]);
    assert_eq!((run.discovery.phase(), run.discovery.plpmtu()), (Phase::Base, 1200));
    run.search(1280, 99);
    assert_eq!((run.discovery.phase(), run.discovery.plpmtu()), (Phase::Complete, 1280));
}

#[test]
fn an_outage_of_the_whole_network_leaves_the_size_as_it_was() {
    let mut run = Run::new(sizes());
    run.search(1500, 99);
    for _ in 0..MAX_PROBES {
        run.discovery.suspect();
    }
    assert_eq!(run.discovery.plpmtu(), 1200);
    let before = run.probes.len();
    run.search(1500, 99);
    assert_eq!((run.discovery.phase(), run.discovery.plpmtu()), (Phase::Complete, 1500));
    assert_eq!(run.probes[before..], [1200, 1500]);
}

#[test]
fn packet_too_big_is_accepted_up_to_the_probed_size() {
    // RFC 8899 §4.6.2
    let mut run = Run::new(sizes());
    run.search(1500, 1);
    assert_eq!(run.discovery.poll(run.now, TIMER), Some(1500));
    for nonsense in [500, 1500, 9000] {
        assert!(!run.discovery.on_packet_too_big(run.now, nonsense), "{nonsense}");
    }
    assert!(run.discovery.on_packet_too_big(run.now, 1400));
    run.search(1400, 99);
    assert_eq!((run.probes.as_slice(), run.discovery.plpmtu()), (&[1200, 1400][..], 1400));
    assert!(run.discovery.on_packet_too_big(run.now, 1280), "less than the present size");
    assert_eq!(run.discovery.plpmtu(), 1200);
    run.search(1280, 99);
    assert_eq!(run.discovery.plpmtu(), 1280);
    assert!(run.discovery.on_packet_too_big(run.now, 1000), "less than the base");
    assert_eq!(run.discovery.plpmtu(), 576);
    run.search(1000, 99);
    assert_eq!(run.discovery.plpmtu(), 1000);
}

proptest! {
    /// Every search ends, with the largest size that passes.
    #[test]
    fn every_search_ends_with_the_largest_size_that_passes(
        mtu in 576u32..2000, base in 512u32..2000, max in 600u32..9000, ipv6: bool,
    ) {
        let sizes = Sizes::new(ipv6, base, max);
        prop_assume!(mtu >= sizes.min);
        let mut run = Run::new(sizes);
        run.search(mtu, 200);
        prop_assert_eq!(run.discovery.phase(), Phase::Complete);
        prop_assert_eq!(run.discovery.plpmtu(), (mtu / 4 * 4).min(sizes.max));
    }

    /// After random losses, messages and signs, all sizes are within bounds, and no probe exceeds the size to
    /// test.
    #[test]
    fn no_sequence_of_events_makes_the_search_inconsistent(events in prop::collection::vec((0u8..5, 400u32..1800), 0..200)) {
        let sizes = sizes();
        let mut discovery = Discovery::new(sizes, Span::from_secs(600));
        let mut now = at(1);
        for (kind, size) in events {
            now += Span::from_millis(300);
            match kind {
                0 => discovery.suspect(),
                1 => drop(discovery.on_packet_too_big(now, size)),
                2 => now += Span::from_secs(700),
                _ => {}
            }
            discovery.handle_timeout(now);
            if let Some(probe) = discovery.poll(now, TIMER) {
                prop_assert!((sizes.min..=sizes.max).contains(&probe) && probe % 4 == 0, "{}", probe);
                if kind == 3 {
                    discovery.on_ack(now, probe);
                }
            }
            prop_assert!((sizes.min..=sizes.max).contains(&discovery.plpmtu()));
        }
    }
}

#[test]
fn a_size_that_the_interface_refuses_needs_no_timer_and_no_second_probe() {
    for (mtu, found) in [(1300, 1296..=1300), (1000, 996..=1000), (600, 592..=600)] {
        let mut run = Run::new(sizes());
        run.search(1500, 99);
        let begin = run.now;
        // First data of the current size is rejected, then probes are.
        let mut sizes = 0;
        assert!(run.discovery.on_refused(run.now, run.discovery.plpmtu()));
        assert!(run.discovery.plpmtu() <= 1200, "at once");
        while run.discovery.plpmtu() > mtu {
            assert!(run.discovery.on_refused(run.now, run.discovery.plpmtu()));
        }
        while let Some(size) = run.discovery.poll(run.now, TIMER) {
            sizes += 1;
            if size <= mtu {
                run.discovery.on_ack(run.now, size);
            } else {
                run.discovery.on_refused(run.now, size);
            }
        }
        assert!(found.contains(&run.discovery.plpmtu()), "{} of {mtu}", run.discovery.plpmtu());
        assert!(sizes < 24 && run.now == begin, "{sizes} probes");
        assert!(!run.discovery.on_refused(run.now, 1500), "no news");
        assert!(!run.discovery.on_refused(run.now, 500), "less than is ever sent");
    }
}
