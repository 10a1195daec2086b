use super::*;
use crate::scenario_file::scenario_file;
use crate::world::{Simulator, World};

/// Runs a scenario with the probes of these metrics and returns their values.
fn values(
    file: crate::scenario_file::ScenarioFile,
    set: &[&str],
    texts: &[&str],
) -> Vec<Result<f64, String>> {
    let wanted: Vec<Wanted> = texts.iter().map(|text| Wanted::parse(text).unwrap()).collect();
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    let mut scenario = Scenario::from_toml(file.text, file.path, &set).unwrap();
    for wanted in &wanted {
        wanted.check(&scenario).unwrap();
        wanted.enable(&mut scenario);
    }
    let (summary, series) = Simulator.carry_out(&scenario, 1).unwrap();
    let results = Results { scenario: &scenario, summary: &summary, series: &series };
    wanted.iter().map(|wanted| wanted.value(&results)).collect()
}

#[test]
fn names_are_unique_and_every_meaning_is_a_phrase() {
    for (number, metric) in METRICS.iter().enumerate() {
        assert!(METRICS[..number].iter().all(|other| other.name != metric.name), "{}", metric.name);
        assert!(!metric.meaning.ends_with('.') && !metric.meaning.contains("  "), "{}", metric.meaning);
        assert!(!metric.unit.symbol().is_empty());
    }
}

#[test]
fn every_metric_has_a_value_in_a_run_that_has_its_subject() {
    let moves: Vec<String> = METRICS
        .iter()
        .filter(|metric| {
            use Subject::{Association, Link, OneLink, Run};
            matches!(metric.subject, Association | Link | OneLink | Run)
        })
        .filter(|metric| {
            ![
                "association.completed",
                "path.ssthresh",
                "path.estimate",
                "handover.reported_bdp",
                "link.blocks.stall",
            ]
            .contains(&metric.name)
        })
        .filter(|metric| !metric.is_curve())
        .map(|metric| {
            let subject = if metric.subject == Subject::OneLink { ":wlan" } else { "" };
            format!("{}{subject}{}", metric.name, if metric.when == When::Instant { "@35s" } else { "" })
        })
        .collect();
    let moves: Vec<&str> = moves.iter().map(String::as_str).collect();
    // 30 s after the handover must lie in the run.
    let found = values(scenario_file!("handover.toml"), &["duration=61s"], &moves);
    for (text, value) in moves.iter().zip(found) {
        assert!(value.as_ref().is_ok_and(|value| value.is_finite()), "{text}: {value:?}");
    }
    let videos = ["app.transfer.mean", "app.transfer.p95", "app.transfer.max", "app.undelivered"];
    let video = values(scenario_file!("video-lifetime.toml"), &[], &videos);
    assert!(video.iter().all(Result::is_ok), "{video:?}");
    let tcp = ["tcp.goodput", "tcp.bytes", "tcp.gap", "tcp.segments", "tcp.retransmitted", "tcp.timeouts"];
    let tcp = values(scenario_file!("tcp.toml"), &[], &tcp);
    assert!(tcp.iter().all(Result::is_ok), "{tcp:?}");
}

#[test]
fn values_agree_with_the_summary_and_with_each_other() {
    let texts = [
        "handover.at",
        "handover.after",
        "association.goodput@30s..35s",
        "association.goodput",
        "association.bytes",
        "handover.share",
        "handover.before",
        "link.drops:3g",
        "link.drops:3g/forward",
        "link.drops:3g/reverse",
        "handover.count",
        "handover.count@40s..",
    ];
    let values = values(scenario_file!("handover.toml"), &[], &texts);
    let values: Vec<f64> = values.into_iter().map(Result::unwrap).collect();
    let [at, after, range, goodput, bytes, share, before, both, forward, reverse, count, later] = values[..]
    else {
        panic!("{values:?}")
    };
    assert!((30.0..31.0).contains(&at), "{at}");
    assert!((after - range).abs() / after < 0.2, "{after} {range}");
    assert!((goodput - bytes * 8.0 / 60.0).abs() < 1.0, "{goodput} {bytes}");
    assert!((share - after / before).abs() < 1e-9 && share > 1.0, "{share}");
    assert_eq!(both, forward + reverse);
    assert_eq!((count, later), (1.0, 0.0));
}

#[test]
fn the_optimum_is_what_the_new_path_leaves_free() {
    let texts =
        ["handover.optimum", "handover.used", "handover.optimum.30s", "handover.used.30s", "handover.after"];
    let values = values(scenario_file!("compare/two-paths.toml"), &["duration=61s"], &texts);
    let values: Vec<f64> = values.into_iter().map(Result::unwrap).collect();
    let [optimum, used, long, used_long, after] = values[..] else { panic!("{values:?}") };
    // 10 Mbps, 1452 user bytes of each 1500; a first packet takes 22.212 ms.
    let user = 10e6 * 1452.0 / 1500.0;
    assert!((optimum - user * (5.0 - 0.022_212) / 5.0).abs() < 10.0, "{optimum}");
    assert!((long - user * (30.0 - 0.022_212) / 30.0).abs() < 10.0, "{long}");
    assert!((used - after / optimum).abs() < 1e-9, "{used} {after} {optimum}");
    assert!(used > 0.5 && used < used_long && used_long <= 1.0, "{used} {used_long}");
}

/// The bytes around a handover do not depend on the throughput series, and a window must lie in the run.
#[test]
fn a_rate_counts_the_bytes_of_its_whole_window() {
    let texts = ["handover.after", "handover.before", "association.goodput@10.013s..14.5s"];
    let rates = |probe: &str| {
        let probe = format!("probes.throughput={probe}");
        values(scenario_file!("walk.toml"), &[&probe], &texts)
            .into_iter()
            .map(Result::unwrap)
            .collect::<Vec<_>>()
    };
    assert_eq!(rates("100ms"), rates("7s"));
    let cut = ["handover.after", "handover.optimum", "handover.used", "handover.gap"];
    let cut = values(scenario_file!("walk.toml"), &["duration=14s"], &cut);
    for short in &cut[..3] {
        assert!(
            short.as_ref().unwrap_err().contains("the run ends at 14.000 s, before the window [10."),
            "{cut:?}"
        );
    }
    assert!(cut[3].is_ok(), "{cut:?}");
    let early = values(scenario_file!("walk.toml"), &["action.move.at=3s"], &["handover.before"]);
    assert!(early[0].as_ref().unwrap_err().contains("before 5s had passed"), "{early:?}");
}

#[test]
fn the_optimum_behind_a_nat_is_refused() {
    let texts = ["handover.optimum@19s..21s"];
    let found = values(scenario_file!("three-interfaces-nat.toml"), &[], &texts).remove(0);
    assert!(found.as_ref().unwrap_err().contains("is the address of a NAT"), "{found:?}");
}

#[test]
fn a_gap_after_a_handover_may_last_until_the_end() {
    let file = scenario_file!("walk.toml");
    let dies = "\n[[action]]\nname = \"dies\"\nat = \"10.6s\"\ndo = \"link-down\"\nlink = \"lte\"\n";
    let text = Box::leak((file.text.to_owned() + dies).into_boxed_str());
    let file = crate::scenario_file::ScenarioFile { text, ..file };
    let texts = ["handover.gap", "association.gap"];
    let dead = values(file, &["action.out-of-reach.at=10.5s"], &texts);
    let dead: Vec<f64> = dead.into_iter().map(Result::unwrap).collect();
    assert!(dead[0] > 9.0 && dead[0] == dead[1], "{dead:?}");
}

#[test]
fn a_path_to_which_data_returns_begins_with_its_window_of_then() {
    let file = scenario_file!("walk.toml");
    let back = "\n[[action]]\nname = \"back\"\nat = \"10.6s\"\ndo = \"request-primary\"\n\
                association = \"download\"\naddress = \"10.0.1.2\"\n";
    let text: &'static str = Box::leak((file.text.to_owned() + back).into_boxed_str());
    let file = || crate::scenario_file::ScenarioFile { text, ..scenario_file!("walk.toml") };
    let texts = ["handover.at@10300ms..", "handover.cwnd@10300ms..", "handover.slow_start@10300ms.."];
    let [at, cwnd, slow] = values(file(), &[], &texts).try_into().unwrap();
    let (at, cwnd, slow): (f64, f64, f64) = (at.unwrap(), cwnd.unwrap(), slow.unwrap());
    let then = [format!("path.cwnd@{at}s"), format!("path.ssthresh@{at}s"), "path.cwnd.min".to_owned()];
    let then: Vec<&str> = then.iter().map(String::as_str).collect();
    let [window, ssthresh, least] = values(file(), &[], &then).try_into().unwrap();
    let (window, ssthresh): (f64, f64) = (window.unwrap(), ssthresh.unwrap());
    assert!(window > 20_000.0 && window > ssthresh, "{window} {ssthresh}");
    assert_eq!([cwnd, slow], [window, 0.0]);
    assert!(least.unwrap() > 0.0, "before the association is established there is no window");
}

#[test]
fn the_window_is_that_of_the_primary_path_at_the_instant() {
    let texts = ["path.cwnd@29s", "path.cwnd@30.2s", "path.srtt@29s", "path.srtt@35s"];
    let values: Vec<f64> =
        values(scenario_file!("handover.toml"), &[], &texts).into_iter().map(Result::unwrap).collect();
    assert!(values[1] < values[0], "slow start on the new path: {values:?}");
    assert!(values[2] > 0.25 && values[3] < values[2], "the WLAN's round trip is shorter: {values:?}");
}

#[test]
fn a_run_without_the_event_says_so() {
    let still = values(
        scenario_file!("handover.toml"),
        &[
            "duration=15s",
            "action.0.at=14s",
            "action.1.at=14s",
            "action.2.at=14s",
            "action.3.at=14s",
            "action.4.at=14s",
        ],
        &["handover.gap@1s..13s", "association.completed"],
    );
    assert_eq!(
        still,
        [
            Err("handover.gap@1s..13s: no association handed over in this time".to_owned()),
            Err("association.completed: a transfer is not complete".to_owned()),
        ]
    );
}

#[test]
fn a_wrong_metric_is_named_with_the_remedy() {
    let fault = |text: &str| Wanted::parse(text).unwrap_err();
    assert_eq!(
        fault("handover.gpa"),
        "there is no metric \"handover.gpa\"; did you mean \"handover.gap\"?; msctp-lab scenario metrics lists them"
    );
    assert_eq!(fault("path.cwnd"), "path.cwnd needs a time: want path.cwnd@31s");
    assert_eq!(fault("link.drops@3s"), "link.drops covers the whole run: want link.drops without \"@3s\"");
    assert_eq!(
        fault("handover.gap@3s"),
        "handover.gap@3s is an instant: want a range, such as handover.gap@30s..40s"
    );
    assert_eq!(fault("run.events:x"), "run.events has no subject: want run.events without \":x\"");
    assert!(fault("path.cwnd@3").starts_with("path.cwnd@: \"3\" is not a time"));
    assert!(fault("handover.gap@9s..8s").contains("ends before it begins"));

    let file = scenario_file!("handover.toml");
    let scenario = Scenario::from_toml(file.text, file.path, &[]).unwrap();
    let check = |text: &str| Wanted::parse(text).unwrap().check(&scenario).unwrap_err();
    assert_eq!(
        check("link.drops:wlna"),
        "link.drops:wlna: the scenario has no link \"wlna\"; did you mean \"wlan\"?"
    );
    assert_eq!(check("tcp.gap"), "tcp.gap: the scenario has no tcp connection");
    assert_eq!(check("path.cwnd@61s"), "path.cwnd@61s: 61s is after the end of the run: want at most 60s");
    assert_eq!(Wanted::parse("path.cwnd:download@31000ms").unwrap().to_string(), "path.cwnd:download@31s");
}

#[test]
fn curves_have_a_point_for_each_message_interval_or_tenth_of_a_second_of_their_range() {
    let curves = |file: crate::scenario_file::ScenarioFile, texts: &[&str]| {
        let wanted: Vec<Wanted> = texts.iter().map(|text| Wanted::parse(text).unwrap()).collect();
        let mut scenario = Scenario::from_toml(file.text, file.path, &[]).unwrap();
        wanted.iter().for_each(|wanted| wanted.enable(&mut scenario));
        let (summary, series) = Simulator.carry_out(&scenario, 1).unwrap();
        let results = Results { scenario: &scenario, summary: &summary, series: &series };
        assert!(wanted[0].value(&results).unwrap_err().contains("is a curve, not a number"));
        wanted.iter().map(|wanted| wanted.curve(&results).unwrap()).collect::<Vec<_>>()
    };
    let moves =
        curves(scenario_file!("handover.toml"), &["path.cwnd.curve@30s..32s", "association.goodput.curve"]);
    assert_eq!((moves[0].len(), moves[0][0].0), (20, 30.0));
    assert!(moves[0].iter().all(|(_, cwnd)| *cwnd > 0.0));
    // Half an interval after the first instant of each.
    assert!((moves[1][0].0 - moves[1][1].0 / 3.0).abs() < 1e-9);
    let ends =
        curves(scenario_file!("handover.toml"), &["association.delivered.curve@30s..40s", "path.cwnd.curve"]);
    let (first, last) = (ends[0][0], ends[0][ends[0].len() - 1]);
    assert_eq!((first, last.0, ends[0].len()), ((30.0, 0.0), 40.0, 11));
    let file = scenario_file!("handover.toml");
    let rate = values(file, &[], &["association.goodput@30s..40s"])[0].clone().unwrap();
    assert!((last.1 - rate * 10.0 / 8.0).abs() < 1.0, "{} {rate}", last.1);
    let probed = scenario_file!("kim-koh/3g-to-wlan.toml");
    let estimates = curves(probed, &["path.estimate.curve"]).remove(0);
    assert!(estimates[0].1.is_nan() && estimates[100].1 > 1e6, "{estimates:?}");
    let found = values(
        probed,
        &[],
        &["path.estimate@20s..30s", "handover.cwnd", "path.cwnd.min@31s..60s", "path.cwnd.mean@31s..60s"],
    );
    let found: Vec<f64> = found.into_iter().map(Result::unwrap).collect();
    assert!(found[0] > 1e6 && found[1] > 1e4 && found[2] > 0.0 && found[2] < found[3], "{found:?}");
    let video = curves(scenario_file!("video-lifetime.toml"), &["app.transfer.curve@5s..6s"]);
    assert!(video[0].len() > 10 && video[0].iter().all(|(_, time)| *time > 0.0), "{video:?}");
    let tcp = curves(scenario_file!("tcp.toml"), &["tcp.goodput.curve"]);
    assert!(tcp[0].iter().any(|(_, rate)| *rate > 0.0));
}

#[test]
fn a_flow_has_the_events_of_its_sender_over_tcp_and_over_sctp() {
    let texts = |flow: &str| {
        [
            "bytes",
            "ended",
            "duplicate.first",
            "duplicate.third",
            "duplicate.rtt",
            "retransmission",
            "retransmitted",
        ]
        .map(|name| format!("flow.{name}:{flow}"))
    };
    for (flow, set) in [
        ("transfer", &[][..]),
        ("sctp-transfer", &["association.sctp-transfer.start=0s", "tcp.transfer.start=10s"]),
    ] {
        let texts = texts(flow);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let values = values(scenario_file!("park-jang/microscope.toml"), set, &texts);
        let values: Vec<f64> = values.into_iter().map(Result::unwrap).collect();
        let [bytes, ended, first, third, rtt, again, retransmitted] = values[..] else {
            panic!("{values:?}")
        };
        assert!(bytes > 100_000.0 && ended == 0.0, "{flow}: {bytes} {ended}");
        assert!(
            first < third && third <= again && again < first + 2.0 * rtt,
            "{flow}: {first} {third} {again} {rtt}"
        );
        assert_eq!(retransmitted, 1.0, "{flow}: the one that was lost");
    }
    let handover =
        ["timeouts", "spurious_timeouts", "restarts", "restart.rtt", "restart.least", "restart.deviation"];
    let handover = handover.map(|name| format!("flow.{name}:transfer"));
    let handover: Vec<&str> = handover.iter().map(String::as_str).collect();
    let set = ["tcp-profile.sender.frto=true", "tcp-profile.sender.restart_rtt_after_spurious=true"];
    let values = values(scenario_file!("park-jang/handover.toml"), &set, &handover);
    let values: Vec<f64> = values.into_iter().map(Result::unwrap).collect();
    let [timeouts, spurious, restarts, rtt, least, deviation] = values[..] else { panic!("{values:?}") };
    assert_eq!([timeouts, spurious, restarts], [1.0; 3], "two seconds of silence");
    assert!(
        rtt > 0.04 && (least - rtt).abs() < 1e-6 && (deviation - rtt / 2.0).abs() < 1e-6,
        "{rtt} {least} {deviation}"
    );
}

#[test]
fn a_radio_link_that_reports_has_blocks_and_a_window_by_its_formula() {
    let set = ["sctp.server.handover_policy=qos-measurement", "link.cell.report_quality=true"];
    let texts = [
        "handover.reported_bdp",
        "handover.old.cwnd",
        "handover.cwnd",
        "handover.old.slow_start",
        "handover.slow_start",
        "association.reports_sent",
        "association.reports_accepted",
        "association.errors",
        "link.blocks.stall:cell/forward",
        "flow.stall",
        "flow.acknowledged@899s",
        "association.bytes",
    ];
    let values = values(scenario_file!("afif/deterministic.toml"), &set, &texts);
    let values: Vec<f64> = values.into_iter().map(Result::unwrap).collect();
    let [bdp, old, first, was_slow, slow, sent, accepted, errors, blocks, stall, acknowledged, bytes] =
        values[..]
    else {
        panic!("{values:?}")
    };
    assert_eq!(first, bdp.min(old).max(1468.0), "{bdp} {old}");
    assert_eq!([was_slow, slow, sent, accepted, errors], [0.0, 0.0, 5.0, 5.0, 0.0]);
    // Samples are a second apart.
    assert!((1.0..20.0).contains(&blocks) && (0.5..20.0).contains(&stall), "{blocks} {stall}");
    let delivered = bytes / 1452.0;
    assert!((acknowledged - delivered).abs() < 50.0, "{acknowledged} {delivered}");
}
