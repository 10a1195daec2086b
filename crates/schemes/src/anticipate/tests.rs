use super::*;
use crate::testing::{estimate, path, shown};

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// An association with paths 0 and 1, whose primary carries a rate and whose idle path is measured.
struct Bench {
    policy: Anticipate,
    paths: [PathView; 2],
    primary: u32,
    now: Time,
    unsent: u64,
    /// What trains measure in place of what the paths carry, in kbps.
    line_rate: Option<u64>,
    /// The same of long trains.
    long_rate: Option<u64>,
    trains: u32,
    moves: Vec<Time>,
    actions: Vec<Action>,
}

impl Bench {
    fn new(policy: Anticipate) -> Self {
        let rtt = Some(Span::from_millis(40));
        let paths = [0, 1].map(|n| PathView { srtt: rtt, rtt_min: rtt, ..path(n) });
        let mut bench = Self {
            policy,
            paths,
            primary: 0,
            now: Time::ZERO,
            unsent: 1 << 20,
            line_rate: None,
            long_rate: None,
            trains: 0,
            moves: Vec::new(),
            actions: Vec::new(),
        };
        bench.ask(|policy, view, actions| policy.on_established(view, actions));
        for path in 0..2 {
            bench.ask(|policy, view, actions| policy.on_path_added(PathId::new(path), view, actions));
        }
        bench
    }

    fn ask(&mut self, ask: impl FnOnce(&mut Anticipate, &View<'_>, &mut Vec<Action>)) {
        let view = View {
            now: self.now,
            primary: PathId::new(self.primary),
            peer_rwnd: 1 << 20,
            unsent: self.unsent,
            paths: &self.paths,
        };
        ask(&mut self.policy, &view, &mut self.actions);
    }

    /// For a time, the paths carry and offer these rates in kbps.
    fn run(&mut self, millis: u64, kbps: [u64; 2]) {
        let end = self.now + Span::from_millis(millis);
        while self.now < end {
            self.now += TICK;
            let at = self.primary as usize;
            self.paths[at].bytes_acked += kbps[at] * 100 / 8;
            self.ask(|policy, view, actions| policy.on_timer(view, actions));
            self.perform(kbps);
        }
    }

    fn perform(&mut self, kbps: [u64; 2]) {
        while !self.actions.is_empty() {
            for action in core::mem::take(&mut self.actions) {
                match action {
                    Action::StartProbing { path, mut estimator } => {
                        self.trains += 1;
                        let probes = core::iter::from_fn(|| estimator.poll_probe(self.now)).count() as u64;
                        let line_rate = if probes >= LONG { self.long_rate } else { self.line_rate };
                        let rate = line_rate.unwrap_or(kbps[path.number() as usize]);
                        let result = estimate(rate, rate, 40);
                        self.ask(|policy, view, actions| policy.on_estimate(path, &result, view, actions));
                    }
                    Action::SwitchPrimary { path, .. } => self.switch_to(path),
                    _ => {}
                }
            }
        }
    }

    fn switch_to(&mut self, path: PathId) {
        let old = self.paths[self.primary as usize];
        self.primary = path.number();
        self.moves.push(self.now);
        let new = self.paths[self.primary as usize];
        self.ask(|policy, view, actions| {
            assert_eq!(policy.on_primary_switch(&old, &new, view, actions), None);
        });
    }
}

#[test]
fn a_path_that_stands_still_is_left_within_half_a_second() {
    let mut bench = Bench::new(Anticipate::default());
    bench.run(5000, [20_000, 18_000]);
    assert_eq!(bench.moves, [], "the other one is no better");
    bench.run(1000, [0, 18_000]);
    assert_eq!(bench.primary, 1);
    assert!(bench.moves[0] <= ms(5500), "{:?}", bench.moves);
}

#[test]
fn a_path_whose_link_is_down_is_never_chosen() {
    let mut bench = Bench::new(Anticipate::default());
    bench.run(5000, [20_000, 60_000]);
    assert_eq!(bench.primary, 1);
    bench.paths[0].link_up = false;
    bench.paths[1].state = PathState::PotentiallyFailed;
    let lossy = PathId::new(1);
    bench.ask(|policy, view, actions| policy.on_path_state(lossy, PathState::Active, view, actions));
    bench.run(5000, [20_000, 100]);
    assert_eq!(bench.primary, 1, "{:?}", bench.moves);
    bench.paths[0].link_up = true;
    bench.run(2000, [20_000, 100]);
    assert_eq!(bench.primary, 0);
}

#[test]
fn a_better_path_is_taken_once_it_is_clearly_better() {
    let mut bench = Bench::new(Anticipate::default());
    bench.run(5000, [20_000, 27_000]);
    assert_eq!(bench.moves, [], "27 Mbps promise 21.6, not a tenth more than 20");
    bench.run(5000, [20_000, 60_000]);
    assert_eq!((bench.primary, bench.moves.len()), (1, 1));
    bench.run(20_000, [20_000, 50_000]);
    assert_eq!(bench.moves.len(), 1, "it stays there");
}

#[test]
fn a_rise_is_believed_after_two_trains() {
    let mut bench = Bench::new(Anticipate::default());
    bench.run(10_000, [20_000, 10_000]);
    bench.run(2100, [20_000, 60_000]);
    assert_eq!(bench.primary, 1, "the median of four seconds is still 10 Mbps");
}

/// A shaper with a token bucket passes trains at its line rate, whatever rate it carries.
#[test]
fn trains_that_claim_what_the_paths_do_not_carry_are_discounted() {
    let mut bench = Bench::new(Anticipate::default());
    bench.line_rate = Some(1_000_000);
    let mut on_slow = 0;
    for _ in 0..1200 {
        bench.run(100, [48_000, 16_000]);
        on_slow += u32::from(bench.primary == 1);
    }
    assert!(on_slow < 1200 / 10, "{} s of 120 on the slow path", on_slow / 10);
    assert!(bench.moves.len() < 20, "{:?}", bench.moves);
    // The discount ends: once the path carries more than the other one, data moves there.
    bench.run(90_000, [48_000, 200_000]);
    assert_eq!(bench.primary, 1);
}

#[test]
fn an_application_that_sends_little_stays() {
    let mut bench = Bench::new(Anticipate::default());
    bench.unsent = 0;
    bench.run(20_000, [1000, 90_000]);
    assert_eq!((bench.primary, bench.moves.len()), (0, 0));
}

#[test]
fn a_path_that_the_policy_did_not_choose_is_kept_for_five_seconds() {
    let mut bench = Bench::new(Anticipate::default());
    bench.run(3000, [20_000, 18_000]);
    bench.switch_to(PathId::new(1));
    bench.run(4900, [60_000, 18_000]);
    assert_eq!(bench.primary, 1);
    bench.run(2000, [60_000, 18_000]);
    assert_eq!(bench.primary, 0);
}

/// Nothing sent on the new path is acknowledged within its round trip.
#[test]
fn the_first_round_trip_after_a_move_is_no_standstill() {
    let mut bench = Bench::new(Anticipate::default());
    for path in &mut bench.paths {
        (path.srtt, path.rtt_min) = (Some(Span::from_millis(800)), Some(Span::from_millis(800)));
    }
    bench.run(10_000, [20_000, 20_000]);
    bench.switch_to(PathId::new(1));
    bench.run(900, [20_000, 0]);
    bench.run(10_000, [20_000, 20_000]);
    assert_eq!(bench.moves.len(), 1, "{:?}", bench.moves);
    // A path that carries nothing for longer is left all the same.
    bench.run(3500, [20_000, 0]);
    assert_eq!(bench.primary, 0);
}

/// Both paths have a queue of 0.4 s when something else moves the data.
#[test]
fn what_a_working_path_delivers_is_not_resent_unless_the_new_one_is_much_faster() {
    for (window, least, most) in [(30_000, 0, 0), (3_000_000, 1, 2)] {
        let mut bench = Bench::new(Anticipate::default());
        bench.run(10_000, [1000, 1000]);
        let old = &mut bench.paths[0];
        (old.srtt, old.flight_size) = (Some(Span::from_millis(440)), 55_000);
        bench.paths[1].window.cwnd = window;
        bench.switch_to(PathId::new(1));
        bench.actions.clear();
        let mut resent = 0;
        for _ in 0..4 {
            bench.now += TICK;
            bench.ask(|policy, view, actions| policy.on_timer(view, actions));
            resent += bench.actions.iter().filter(|action| matches!(action, Action::Resend { .. })).count();
            bench.actions.clear();
        }
        assert!((least..=most).contains(&resent), "{window}: {resent}");
        // What has not arrived by then is late.
        bench.now += Span::from_millis(200);
        bench.ask(|policy, view, actions| policy.on_timer(view, actions));
        assert!(bench.actions.iter().any(|action| matches!(action, Action::Resend { .. })), "{window}");
    }
}

/// A path whose round trip takes seconds is left as soon as others.
#[test]
fn a_round_trip_of_seconds_is_not_waited_for() {
    let mut bench = Bench::new(Anticipate::default());
    (bench.paths[0].srtt, bench.paths[0].rtt_min) = (Some(Span::from_secs(5)), Some(Span::from_secs(5)));
    bench.run(3500, [0, 20_000]);
    assert_eq!(bench.primary, 1);
}

#[test]
fn the_budget_bounds_the_cost_of_measuring() {
    let trains = |probe_budget: u64, seconds: u64| {
        let mut bench = Bench::new(Anticipate::default().with_probe_budget(probe_budget));
        bench.run(seconds * 1000, [20_000, 18_000]);
        bench.trains
    };
    assert_eq!(trains(0, 60), 0);
    // 8 packets of 1500 bytes and answers of 72: 12,576 bytes a train, and four trains are saved up.
    assert!((12..=14).contains(&trains(120_000, 60)), "{}", trains(120_000, 60));
    assert!((55..=61).contains(&trains(1_000_000, 60)), "{}", trains(1_000_000, 60));
}

#[test]
fn the_new_path_resumes_at_the_measured_rate() {
    let mut bench = Bench::new(Anticipate::default());
    bench.run(3000, [20_000, 18_000]);
    let (old, new) = (bench.paths[0], bench.paths[1]);
    bench.primary = 1;
    bench.ask(|policy, view, actions| {
        assert_eq!(policy.on_primary_switch(&old, &new, view, actions), None);
    });
    let measured = Measured { bandwidth: Rate::from_kbps(18_000), rtt_min: Span::from_millis(40) };
    assert_eq!(shown(&bench.actions), shown(&[Action::Resume { path: new.id, measured }]));
}

/// A link that holds packets back, as an LTE cell does for a retransmission, releases a train at once.
#[test]
fn a_train_that_arrives_at_once_moves_nothing() {
    let mut bench = Bench::new(Anticipate::default());
    // The very first train, and then one in four.
    for normal in [3700, 3000, 3000, 3000] {
        bench.run(if normal == 3700 { 200 } else { 900 }, [20_000, 22_000_000]);
        bench.run(normal, [20_000, 10_000]);
    }
    assert_eq!(bench.moves, []);
}

#[test]
fn the_timer_of_an_association_with_one_path_stops_while_nothing_is_sent() {
    let timer = |actions: &[Action]| actions.iter().any(|action| matches!(action, Action::SetTimer { .. }));
    let (mut policy, one, mut actions) = (Anticipate::default(), [path(0)], Vec::new());
    let two = [path(0), path(1)];
    let view =
        |paths, unsent| View { now: ms(100), primary: PathId::new(0), peer_rwnd: 1 << 20, unsent, paths };
    policy.on_established(&view(&one, 0), &mut actions);
    assert!(timer(&std::mem::take(&mut actions)));
    policy.on_timer(&view(&one, 1), &mut actions);
    assert!(timer(&std::mem::take(&mut actions)), "it sends");
    policy.on_timer(&view(&one, 0), &mut actions);
    assert!(!timer(&actions), "{actions:?}");
    policy.on_path_added(PathId::new(1), &view(&two, 0), &mut actions);
    assert!(timer(&std::mem::take(&mut actions)));
    policy.on_timer(&view(&two, 0), &mut actions);
    assert!(timer(&actions));
}

/// A bench whose second path is a backup.
fn with_backup() -> Bench {
    let mut bench = Bench::new(Anticipate::default());
    bench.paths[1].cost.backup = true;
    bench
}

#[test]
fn a_backup_path_carries_nothing_while_another_works_well() {
    let mut bench = with_backup();
    bench.run(60_000, [20_000, 55_000]);
    assert_eq!(bench.moves, []);
    // 20 Mbit/s are 150 MB a minute, of which trains of 12,576 bytes may take half a per cent; one in 10 s.
    assert!((2..=8).contains(&bench.trains), "{}", bench.trains);
}

#[test]
fn a_backup_path_is_taken_when_the_others_carry_too_little_for_three_seconds() {
    // Less than 2 Mbit/s, and less than a third of what the backup path was measured to give.
    for little in [1500, 6000] {
        let mut bench = with_backup();
        bench.run(25_000, [20_000, 20_000]);
        bench.run(2000, [little, 20_000]);
        assert_eq!(bench.moves, [], "{little}: not yet");
        bench.run(5000, [little, 20_000]);
        assert_eq!(bench.primary, 1, "{little}");
    }
    let mut bench = with_backup();
    bench.run(60_000, [8000, 20_000]);
    assert_eq!(bench.moves, [], "more than a third");
    bench.run(60_000, [1500, 1600]);
    assert_eq!(bench.moves, [], "no gain");
}

#[test]
fn a_path_that_stands_still_is_left_for_a_backup_within_a_second_and_a_half() {
    let mut bench = with_backup();
    bench.run(5000, [20_000, 18_000]);
    bench.run(1500, [0, 18_000]);
    assert_eq!(bench.primary, 1);
}

#[test]
fn data_returns_from_a_backup_path_when_another_gives_three_quarters() {
    let mut bench = with_backup();
    bench.run(5000, [20_000, 20_000]);
    bench.run(2000, [0, 20_000]);
    assert_eq!(bench.primary, 1);
    bench.run(20_000, [13_000, 20_000]);
    assert_eq!(bench.primary, 1, "too little");
    bench.run(5000, [16_000, 20_000]);
    assert_eq!((bench.primary, bench.moves.len()), (0, 2));
}

#[test]
fn data_that_a_backup_path_hardly_carries_returns_too() {
    let mut bench = with_backup();
    bench.run(5000, [20_000, 20_000]);
    bench.run(2000, [0, 20_000]);
    assert_eq!(bench.primary, 1);
    // An application of 0.1 Mbit/s.
    bench.unsent = 0;
    bench.run(1000, [5000, 100]);
    assert_eq!(bench.primary, 1, "the path is measured first, and stays three seconds");
    bench.run(5000, [5000, 100]);
    assert_eq!(bench.primary, 0);
}

#[test]
fn a_path_that_does_not_last_is_returned_to_ever_later() {
    let mut bench = with_backup();
    bench.run(5000, [20_000, 20_000]);
    for _ in 0..8 {
        let begin = bench.moves.len();
        bench.run(2000, [0, 20_000]);
        while bench.primary == 1 && bench.moves.len() < begin + 2 {
            bench.run(500, [20_000, 20_000]);
        }
    }
    let away: Vec<u64> = bench.moves.chunks_exact(2).map(|pair| pair[1].since(pair[0]).as_millis()).collect();
    assert!(away.windows(2).all(|pair| pair[1] >= pair[0]), "{away:?}");
    assert!(away[0] < 6000 && away[4] >= 40_000, "{away:?}");
    assert!(away.last().is_some_and(|last| *last < 70_000), "{away:?}");
}

#[test]
fn a_metered_path_is_measured_rarely() {
    let mut bench = Bench::new(Anticipate::default());
    bench.paths[1].cost.metered = true;
    bench.run(60_000, [20_000, 18_000]);
    // 60,000 bytes a minute, and what is saved up at first.
    assert!(bench.trains <= 9, "{}", bench.trains);
}

/// A token bucket passes short trains at once. A long one tells the rate, and data stays.
#[test]
fn a_backup_path_behind_a_token_bucket_is_not_entered_for_its_short_trains() {
    let mut bench = with_backup();
    bench.line_rate = Some(8_000_000_000);
    bench.long_rate = Some(20_000);
    bench.run(120_000, [20_000, 20_000]);
    assert_eq!(bench.moves, []);
    // 12,576 bytes each, of the 300 MB that the primary path carried; and four long ones.
    assert!(bench.trains <= 40, "{}", bench.trains);
}
