//! WBest over a model FIFO link: expectations from the paper's equations, not from the code.

use std::collections::VecDeque;

use super::*;

/// A FIFO link with cross traffic of equal packets at equal intervals, and a reverse path that only delays.
struct Path {
    rate: Rate,
    one_way: Span,
    cross_bytes: u64,
    cross_every: Option<Span>,
    next_cross: Time,
    busy_until: Time,
    /// Drops the probe with this running number.
    drop: fn(u64) -> bool,
    sent: u64,
    answers: VecDeque<(Time, u64)>,
}

impl Path {
    fn new(rate: Rate, one_way: Span) -> Self {
        Self {
            rate,
            one_way,
            cross_bytes: 0,
            cross_every: None,
            next_cross: Time::ZERO,
            busy_until: Time::ZERO,
            drop: |_| false,
            sent: 0,
            answers: VecDeque::new(),
        }
    }

    fn with_cross(mut self, bytes: u64, load: Rate) -> Self {
        self.cross_bytes = bytes;
        self.cross_every = Some(load.time_for(bytes));
        self.next_cross = Time::from_nanos(12_345);
        self
    }

    fn serve(&mut self, at: Time, bytes: u64) -> Time {
        self.busy_until = self.busy_until.max(at) + self.rate.time_for(bytes);
        self.busy_until
    }

    fn send(&mut self, now: Time, probe: Probe) {
        while let Some(every) = self.cross_every
            && self.next_cross <= now
        {
            let at = self.next_cross;
            self.next_cross += every;
            self.serve(at, self.cross_bytes);
        }
        let number = self.sent;
        self.sent += 1;
        if !(self.drop)(number) {
            let departs = self.serve(now, probe.bytes.into());
            self.answers.push_back((departs + self.one_way * 2, probe.id));
        }
    }
}

/// Runs until `end`; gives the estimates with their times.
fn run(wbest: &mut WBest, path: &mut Path, end: Time) -> Vec<(Time, Estimate)> {
    let mut estimates = Vec::new();
    let mut now = Time::ZERO;
    while now < end {
        while let Some(probe) = wbest.poll_probe(now) {
            path.send(now, probe);
        }
        let timeout = wbest.poll_timeout().unwrap();
        match path.answers.front() {
            Some(&(at, id)) if at <= timeout => {
                path.answers.pop_front();
                now = now.max(at);
                wbest.on_probe_ack(now, id);
            }
            _ => {
                now = now.max(timeout);
                wbest.handle_timeout(now);
            }
        }
        estimates.extend(wbest.poll_estimate().map(|estimate| (now, estimate)));
    }
    estimates
}

fn measure(config: WBestConfig, mut path: Path, secs: u64) -> Vec<Estimate> {
    let mut wbest = WBest::new(config, Time::ZERO).unwrap();
    let end = Time::ZERO + Span::from_secs(secs);
    run(&mut wbest, &mut path, end).into_iter().map(|(_, estimate)| estimate).collect()
}

fn close(value: Rate, expected: Rate, percent: u64) -> bool {
    value.as_bps().abs_diff(expected.as_bps()) * 100 <= expected.as_bps() * percent
}

const WLAN: Rate = Rate::from_mbps(11);
const THREE_G: Rate = Rate::from_kbps(384);

#[test]
fn an_idle_link_gives_its_capacity_and_its_round_trip() {
    for (rate, one_way, pairs, train) in
        [(WLAN, Span::from_millis(35), 6, 30), (THREE_G, Span::from_millis(115), 4, 12)]
    {
        let config = WBestConfig { pairs, train, initial_capacity: Some(rate), ..WBestConfig::default() };
        let estimates = measure(config, Path::new(rate, one_way), 10);
        // one round trip per pair, one and the train's own length for the train
        let iteration = (one_way * 2 + rate.time_for(1400)) * u64::from(pairs)
            + one_way * 2
            + rate.time_for(700) * u64::from(train);
        let expected = Span::from_secs(10).as_nanos() / iteration.as_nanos();
        assert!((estimates.len() as u64).abs_diff(expected) <= 1, "{} of {expected}", estimates.len());
        for (k, estimate) in estimates.iter().enumerate() {
            assert!(close(estimate.capacity, rate, 1), "{estimate:?}");
            assert!(close(estimate.available, rate, 1), "{estimate:?}");
            assert_eq!(estimate.rtt_min, one_way * 2 + rate.time_for(700));
            assert_eq!((estimate.loss_ppm, estimate.iteration), (0, k as u64 + 1));
        }
    }
}

/// A train at rate C into a FIFO link of capacity C that also carries X leaves at R = C²/(C + X): then
/// C·(2 − C/R) = C − X exactly.
#[test]
fn cross_traffic_is_taken_off_the_capacity() {
    // Cross packets as small as this one disturb a pair by at most a few percent, so that C stays true.
    for (load, expected) in [(2, 9), (4, 7), (6, 5)] {
        let path = Path::new(WLAN, Span::from_millis(35)).with_cross(40, Rate::from_mbps(load));
        let config = WBestConfig { pairs: 1, ..WBestConfig::default() };
        // The pair's own dispersion: back to back, only cross packets that arrived before it stand ahead of
        // it.
        let estimates = measure(config, path, 5);
        assert!(estimates.len() > 20);
        for estimate in &estimates {
            assert!(close(estimate.capacity, WLAN, 1), "{load}: {estimate:?}");
            assert!(close(estimate.available, Rate::from_mbps(expected), 5), "{load}: {estimate:?}");
        }
    }
}

/// The paper's two links and background of packets as large as the probes and larger: a train sees the
/// background to within one of its packets, C stays the capacity. Overload leaves nothing.
#[test]
fn the_papers_links_under_background() {
    for (rate, one_way_ms, pairs, train, loads_kbps) in
        [(WLAN, 35, 6, 30, [2_000, 4_000, 6_000, 8_800]), (THREE_G, 115, 4, 12, [100, 200, 300, 345])]
    {
        let config = WBestConfig { pairs, train, initial_capacity: Some(rate), ..WBestConfig::default() };
        let idle = || Path::new(rate, Span::from_millis(one_way_ms));
        for (load, bytes) in loads_kbps.into_iter().flat_map(|load| [(load, 200), (load, 1000)]) {
            let load = Rate::from_kbps(load);
            let estimates = measure(config, idle().with_cross(bytes, load), 20);
            // the first few still remember B(0)
            let settled = &estimates[3..];
            let mean = settled.iter().map(|e| e.available.as_bps()).sum::<u64>() / settled.len() as u64;
            let one_packet = rate.mul_ratio(bytes, u64::from(train - 1) * 700).as_bps();
            let error = mean.abs_diff(rate.saturating_sub(load).as_bps());
            assert!(error <= one_packet + rate.as_bps() / 100, "{rate} {load} {bytes}: {mean}");
            assert!(settled.iter().all(|e| close(e.capacity, rate, 1)), "{rate} {load} {bytes}");
        }
        // Background of twice the capacity: R = C/3, and B = 0 without a B(0) to remember.
        let overload = idle().with_cross(1000, rate.mul_ratio(2, 1));
        let estimates = measure(WBestConfig { initial_capacity: None, ..config }, overload, 20);
        assert!(!estimates.is_empty());
        for estimate in estimates {
            assert!(estimate.available <= estimate.capacity.mul_ratio(1, 10), "{estimate:?}");
        }
    }
}

#[test]
fn the_equation_at_worked_values() {
    let t = |us| Some((Span::from_micros(us), 1));
    let c = Rate::from_kbps(5_600); // 700 B in 1 ms
    assert_eq!(available(c, 700, t(1000)), c, "R = C");
    assert_eq!(available(c, 700, t(1500)), Rate::from_kbps(2_800), "R = 2/3 C");
    assert_eq!(available(c, 700, t(2000)), Rate::ZERO, "R = C/2");
    assert_eq!(available(c, 700, t(2500)), Rate::ZERO, "R < C/2");
    assert_eq!(available(c, 700, t(800)), c, "R > C");
    assert_eq!(available(c, 700, t(0)), c, "all at one instant");
    assert_eq!(available(c, 700, None), Rate::ZERO);
    assert_eq!(available(Rate::from_bps(u64::MAX), 1, Some((Span::MAX, 1))), Rate::ZERO, "no overflow");
    assert_eq!(
        available(c, 700, Some((Span::from_micros(4500), 3))),
        Rate::from_kbps(2_800),
        "mean of three"
    );
}

#[test]
fn the_median_of_an_even_number_is_the_mean_of_the_middle_two() {
    let rates = |list: &[u64]| list.iter().copied().map(Rate::from_bps).collect::<Vec<_>>();
    assert_eq!(median(&mut rates(&[9, 1, 5])), Some(Rate::from_bps(5)));
    assert_eq!(median(&mut rates(&[9, 1, 4, 6])), Some(Rate::from_bps(5)));
    assert_eq!(median(&mut []), None);
}

/// Drives one estimator by hand, answering as told.
struct Manual {
    wbest: WBest,
    now: Time,
}

impl Manual {
    fn new(config: WBestConfig) -> Self {
        Self { wbest: WBest::new(config, Time::ZERO).unwrap(), now: Time::ZERO }
    }

    fn ms(&mut self, ms: u64) -> &mut Self {
        self.now += Span::from_millis(ms);
        self
    }

    fn probes(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.wbest.poll_probe(self.now)).map(|probe| probe.id).collect()
    }

    fn answer(&mut self, id: u64) {
        self.wbest.on_probe_ack(self.now, id);
    }

    /// Sends the train as the estimator wants it; answers probe i at i·`spacing` after `rtt`, unless lost.
    fn train(&mut self, rtt_ms: u64, spacing_ms: u64, lost: impl Fn(usize) -> bool) -> Estimate {
        let mut sent = Vec::new();
        let mut first = None;
        let size = usize::from(self.wbest.config.train.min(self.wbest.config.max_outstanding));
        while sent.len() < size {
            self.now = self.now.max(self.wbest.poll_timeout().unwrap());
            first.get_or_insert(self.now);
            sent.extend(self.probes());
        }
        assert_eq!(self.probes(), []);
        for (i, &id) in sent.iter().enumerate().filter(|&(i, _)| !lost(i)) {
            self.now = first.unwrap() + Span::from_millis(rtt_ms + spacing_ms * i as u64);
            self.answer(id);
        }
        if let Some(estimate) = self.wbest.poll_estimate() {
            return estimate;
        }
        self.now = self.wbest.poll_timeout().unwrap();
        self.wbest.handle_timeout(self.now);
        self.wbest.poll_estimate().expect("the train ends at its timeout")
    }
}

/// One pair of dispersion 1 ms at L = 700 B: C = 5.6 Mbps; then a train of `train`.
fn one_pair(train: u16) -> WBestConfig {
    WBestConfig { pairs: 1, train, ..WBestConfig::default() }
}

fn pair_1ms(manual: &mut Manual) {
    let pair = manual.probes();
    assert_eq!(pair.len(), 2);
    manual.ms(70).answer(pair[0]);
    manual.ms(1).answer(pair[1]);
}

#[test]
fn pairs_go_back_to_back_and_one_at_a_time() {
    let mut manual = Manual::new(WBestConfig { pairs: 2, ..WBestConfig::default() });
    assert_eq!(manual.wbest.poll_timeout(), Some(Time::ZERO));
    assert_eq!(manual.probes(), [0, 1]);
    manual.ms(70).answer(0);
    assert_eq!(manual.probes(), [], "the pair is not over");
    manual.ms(1).answer(1);
    assert_eq!(manual.wbest.poll_timeout(), Some(manual.now), "the next pair is due at once");
    assert_eq!(manual.probes(), [2, 3]);
}

#[test]
fn the_train_goes_at_rate_c() {
    let mut manual = Manual::new(one_pair(5));
    pair_1ms(&mut manual);
    let start = manual.now;
    for i in 0..5u64 {
        let due = start + Span::from_millis(i);
        assert_eq!(manual.wbest.poll_timeout(), Some(due));
        manual.now = due;
        assert_eq!(manual.probes(), [2 + i]);
    }
    assert_eq!(manual.wbest.outstanding(), 5);
}

#[test]
fn losses_in_the_train_count_once() {
    // T = 1.5 ms would be R = 2/3·C; here 1 ms between neighbours, two of ten lost: B = C·(1 − 0.2)
    let mut manual = Manual::new(one_pair(10));
    pair_1ms(&mut manual);
    let estimate = manual.train(70, 1, |i| i == 3 || i == 6);
    assert_eq!(estimate.capacity, Rate::from_kbps(5_600));
    assert_eq!((estimate.available, estimate.loss_ppm), (Rate::from_kbps(4_480), 200_000));
    assert_eq!(estimate.rtt_min, Span::from_millis(70));
}

#[test]
fn a_train_whose_last_probes_are_lost_ends_by_timeout() {
    let mut manual = Manual::new(one_pair(10));
    pair_1ms(&mut manual);
    let estimate = manual.train(70, 2, |i| i >= 5);
    assert_eq!((estimate.available, estimate.loss_ppm), (Rate::ZERO, 500_000), "R = C/2");
    assert!(!manual.probes().is_empty(), "and the next iteration begins");
}

#[test]
fn trains_of_few_answers() {
    for (lost, expected_kbps) in [
        ((|_| true) as fn(usize) -> bool, 0),
        (|i| i != 4, 0),
        // only the 1st and the 5th of ten: mean T = 4 ms / 4 = 1 ms, R = C, p = 0.8
        (|i| i != 0 && i != 4, 1_120),
    ] {
        let mut manual = Manual::new(one_pair(10));
        pair_1ms(&mut manual);
        let estimate = manual.train(70, 1, lost);
        assert_eq!(estimate.available, Rate::from_kbps(expected_kbps));
    }
}

#[test]
fn smoothing_follows_the_paper() {
    let config = WBestConfig { initial_capacity: Some(Rate::from_kbps(10_000)), ..one_pair(10) };
    let mut manual = Manual::new(config);
    // B(1) = 0.7·5600 + 0.3·10000 = 6920
    pair_1ms(&mut manual);
    assert_eq!(manual.train(70, 1, |_| false).available, Rate::from_kbps(6_920));
    // B(2) = 0.7·0 + 0.3·6920 = 2076
    pair_1ms(&mut manual);
    let second = manual.train(70, 2, |_| false);
    assert_eq!((second.available, second.iteration), (Rate::from_kbps(2_076), 2));
    // without B(0) the first stands as measured
    let mut manual = Manual::new(one_pair(10));
    pair_1ms(&mut manual);
    assert_eq!(manual.train(70, 1, |_| false).available, Rate::from_kbps(5_600));
}

#[test]
fn unusable_pairs_do_not_count() {
    // three pairs: reordered, at one instant, good
    let mut manual = Manual::new(WBestConfig { pairs: 3, ..one_pair(4) });
    let pair = manual.probes();
    manual.ms(70).answer(pair[1]);
    manual.ms(1).answer(pair[0]); // too late: the pair ended with its last probe
    let pair = manual.probes();
    assert_eq!(pair.len(), 2);
    manual.ms(70).answer(pair[0]);
    manual.answer(pair[1]);
    pair_1ms(&mut manual);
    assert_eq!(manual.train(70, 1, |_| false).capacity, Rate::from_kbps(5_600));
}

#[test]
fn a_pair_that_did_not_leave_back_to_back_does_not_count() {
    let mut manual = Manual::new(one_pair(4));
    let first = manual.wbest.poll_probe(manual.now).unwrap().id;
    let second = manual.ms(5).probes()[0];
    manual.ms(70).answer(first);
    manual.ms(5).answer(second);
    assert_eq!(manual.wbest.failed_iterations(), 1);
    assert_eq!(manual.wbest.estimate(), None);
}

#[test]
fn a_dead_path_is_probed_at_the_response_timeout_and_gives_no_estimate() {
    let mut path = Path { drop: |_| true, ..Path::new(WLAN, Span::from_millis(35)) };
    let mut wbest = WBest::new(WBestConfig::default(), Time::ZERO).unwrap();
    let estimates = run(&mut wbest, &mut path, Time::ZERO + Span::from_secs(60));
    assert_eq!(estimates, []);
    assert_eq!((wbest.estimate(), wbest.failed_iterations()), (None, 5), "6 pairs · 2 s each");
    assert_eq!(path.sent, 60, "a pair every 2 s, and no more");
}

#[test]
fn the_last_estimate_stands_while_pairs_are_lost() {
    let mut path = Path { drop: |number| number >= 42, ..Path::new(WLAN, Span::from_millis(35)) };
    let mut wbest = WBest::new(WBestConfig::default(), Time::ZERO).unwrap();
    let estimates = run(&mut wbest, &mut path, Time::ZERO + Span::from_secs(20));
    assert_eq!(estimates.len(), 1);
    assert_eq!(wbest.estimate(), Some(estimates[0].1));
    assert!(wbest.failed_iterations() >= 1);
}

#[test]
fn the_interval_separates_iterations() {
    let config = WBestConfig { interval: Span::from_secs(1), ..one_pair(4) };
    let mut manual = Manual::new(config);
    pair_1ms(&mut manual);
    manual.train(70, 1, |_| false);
    assert_eq!(manual.wbest.poll_timeout(), Some(manual.now + Span::from_secs(1)));
    assert_eq!(manual.ms(999).probes(), []);
    assert_eq!(manual.ms(1).probes().len(), 2);
}

#[test]
fn a_train_stops_at_max_outstanding() {
    let mut manual = Manual::new(WBestConfig { max_outstanding: 6, ..one_pair(30) });
    pair_1ms(&mut manual);
    let estimate = manual.ms(100).train(70, 1, |_| false);
    assert_eq!((estimate.available, estimate.loss_ppm), (Rate::from_kbps(5_600), 0), "six of six answered");
}

#[test]
fn unknown_late_and_repeated_answers_change_nothing() {
    let mut manual = Manual::new(one_pair(4));
    manual.answer(0);
    manual.answer(u64::MAX);
    pair_1ms(&mut manual);
    for id in [0, 1, 2, 99, u64::MAX] {
        manual.answer(id);
    }
    let estimate = manual.train(70, 1, |_| false);
    assert_eq!((estimate.available, estimate.rtt_min), (Rate::from_kbps(5_600), Span::from_millis(70)));
    manual.answer(2);
    assert_eq!(manual.wbest.poll_estimate(), None, "one estimate per iteration");
}

#[test]
fn bad_parameters_are_named() {
    let ok = WBestConfig::default();
    assert_eq!(ok.validate(), Ok(()));
    for (config, field) in [
        (WBestConfig { pairs: 0, ..ok }, "pairs"),
        (WBestConfig { train: 1, ..ok }, "train"),
        (WBestConfig { probe_bytes: 0, ..ok }, "probe_bytes"),
        (WBestConfig { smoothing: (0, 10), ..ok }, "smoothing (numerator)"),
        (WBestConfig { smoothing: (11, 10), ..ok }, "smoothing (denominator)"),
        (WBestConfig { response_timeout: Span::ZERO, ..ok }, "response_timeout"),
        (WBestConfig { max_outstanding: 1, ..ok }, "max_outstanding"),
    ] {
        let error = WBest::new(config, Time::ZERO).unwrap_err();
        assert_eq!(error.field, field);
        assert!(error.to_string().contains(field), "{error}");
    }
}

proptest::proptest! {
    /// Any answers at any times, in any order: no panic, bounded memory, B within every C so far and B(0).
    #[test]
    fn any_answers_at_any_time(
        steps in proptest::collection::vec((0u64..200, 0u64..3_000_000, 0u8..4), 1..400),
    ) {
        let config = WBestConfig { train: 5, pairs: 2, initial_capacity: Some(WLAN), ..WBestConfig::default() };
        let mut wbest = WBest::new(config, Time::ZERO).unwrap();
        let mut now = Time::ZERO;
        let mut bound = WLAN;
        for (id, ns, what) in steps {
            now += Span::from_nanos(ns);
            match what {
                0 => wbest.on_probe_ack(now, id),
                1 => wbest.handle_timeout(now),
                2 => {
                    now = now.max(wbest.poll_timeout().unwrap());
                    wbest.handle_timeout(now);
                }
                _ => while wbest.poll_probe(now).is_some() {},
            }
            proptest::prop_assert!(wbest.outstanding() <= 5);
            if let Some(estimate) = wbest.poll_estimate() {
                bound = bound.max(estimate.capacity);
                proptest::prop_assert!(estimate.available <= bound);
                proptest::prop_assert!(estimate.loss_ppm <= 1_000_000);
            }
        }
    }
}
