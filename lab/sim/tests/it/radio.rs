//! Radio links in complete runs: the committed scenarios, changing conditions, and the reports that hosts
//! receive.

use msctp_lab_schemes::policies::note;
use msctp_proto::TraceKind;
use msctp_sim::scenario::Scenario;
use msctp_sim::summary::Summary;
use msctp_sim::{Series, Simulation};

const EGPRS: &str = include_str!("../../../../scenarios/egprs.toml");
const LTE: &str = include_str!("../../../../scenarios/lte.toml");

fn scenario(text: &str, set: &[&str]) -> Scenario {
    let set: Vec<String> = set.iter().map(|&pair| pair.to_owned()).collect();
    Scenario::from_toml(text, "radio", &set).unwrap_or_else(|e| panic!("{e}"))
}

fn run(scenario: &Scenario) -> (Summary, Series) {
    let mut simulation = Simulation::new(scenario, None).expect("right");
    simulation.hash_trace();
    simulation.run();
    (simulation.summary(), simulation.into_series())
}

/// Returns the bytes of messages delivered to the client per second, from `from` to `to` seconds.
fn rate(series: &Series, from: u64, to: u64) -> f64 {
    let total = &series.delivery.iter().find(|d| d.side == "client").expect("recorded").total;
    let bin = |s: u64| (s * 1_000_000_000 / total.interval.as_nanos()) as usize;
    let bytes: u64 = total.sums.iter().take(bin(to)).skip(bin(from)).sum();
    bytes as f64 / (to - from) as f64
}

/// With a full window the download has the radio's rate: the scheme's octets · 3 PDCHs · (1 − BLER). Messages
/// have 1452 octets of it in packets of 1500 and 11 more. CS4 has 58.8 kbit/s, below Gb's 64 kbit/s.
#[test]
fn the_download_follows_the_coding() {
    let (_, series) = run(&scenario(EGPRS, &[]));
    let expected = |kbps: f64, bler: f64| kbps * 3.0 * (1.0 - bler) * 125.0 * 1452.0 / 1511.0;
    for (from, to, kbps, bler) in [
        (50, 200, 20.0, 0.01),
        (220, 400, 14.4, 0.015),
        (420, 600, 12.0, 0.1),
        (630, 700, 8.0, 0.15),
        (720, 800, 14.4, 0.015),
    ] {
        let (measured, most) = (rate(&series, from, to), expected(kbps, bler));
        println!("{from} to {to} s: {measured:.0} of {most:.0} bytes/s");
        assert!(measured < most * 1.03, "{from}: {measured} of {most}");
        // Losses on Gi and the recovery of the window after them leave some of it unused.
        assert!(measured > most * 0.7, "{from}: {measured} of {most}");
    }
}

/// Returns the server's reports of the mobile's link: second, kbit/s, errors per million, scheme, cell
/// changes.
fn reports(series: &Series) -> Vec<(u64, u64, u32, u8, u64)> {
    let server = series.traces.iter().find(|t| t.side == "server").expect("recorded");
    let mut told: Vec<(u64, u64, u32, u8, u64)> = Vec::new();
    for mark in &server.marks {
        let TraceKind::PolicyNote { name, value, .. } = mark.kind else { continue };
        if name == note::RECEIVED {
            told.push((mark.at.as_nanos() / 1_000_000_000, 0, 0, 0, 0));
        }
        let Some(report) = told.last_mut() else { continue };
        match name {
            note::RATE => report.1 = value / 1000,
            note::BLOCK_ERRORS => report.2 = value as u32,
            note::SCHEME => report.3 = value as u8,
            note::CELL => report.4 = value & 0xffff_ffff,
            _ => {}
        }
    }
    told
}

/// Reports arrive at the set-up and at each change, after the delay of half a second to the server.
#[test]
fn the_server_receives_reports_of_the_mobiles_link() {
    let (_, series) = run(&scenario(EGPRS, &[]));
    let told = reports(&series);
    let changes = [
        (0, 60, 10_000, 4, 0),
        (200, 43, 15_000, 3, 0),
        (400, 36, 100_000, 2, 0),
        (600, 24, 150_000, 1, 0),
        (700, 43, 15_000, 3, 1),
    ];
    assert_eq!(told.len(), changes.len(), "{told:?}");
    for (told, change) in told.iter().zip(changes) {
        assert!((change.0..change.0 + 10).contains(&told.0), "{told:?}");
        assert_eq!((told.1, told.2, told.3, told.4), (change.1, change.2, change.3, change.4));
    }
    let (_, series) = run(&scenario(EGPRS, &["duration=20s", "link.cell.report_quality=false"]));
    assert_eq!(reports(&series), []);
}

/// The rate is 1 Mbps less 5 % or 20 % and headers. SCTP retransmits nothing, not even at the cell change.
#[test]
fn lte_hides_the_losses_of_the_channel() {
    let (summary, series) = run(&scenario(LTE, &[]));
    let most = |loss: f64| 125_000.0 * (1.0 - loss) * 122.0 / 125.0 * 1452.0 / 1504.0;
    for (from, to, loss) in [(4, 10, 0.05), (12, 20, 0.2), (23, 30, 0.05)] {
        let measured = rate(&series, from, to);
        println!("{from} to {to} s: {measured:.0} of {:.0} bytes/s", most(loss));
        assert!(measured < most(loss) * 1.03 && measured > most(loss) * 0.8, "{from}: {measured}");
    }
    assert!(summary.actions.iter().all(|action| action.refused.is_none()), "{:?}", summary.actions);
    let cell = summary.links.iter().find(|l| l.name.starts_with("cell")).expect("there");
    assert_eq!((cell.losses, cell.down_drops), (0, 0));
    let download = &summary.associations[0].to_client;
    assert_eq!((download.retransmitted, download.timeouts), (0, 0));
    assert_eq!(reports(&series).last().map(|r| (r.1, r.2, r.4)), Some((1000, 50_000, 1)));
}

/// With one HARQ attempt and one retransmission, SCTP detects losses.
#[test]
fn lte_with_few_attempts_does_not_hide_losses() {
    let (summary, _) = run(&scenario(LTE, &["link.cell.max_retx=1", "link.cell.max_attempts=1"]));
    assert!(summary.links.iter().any(|l| l.losses > 0) && summary.associations[0].to_client.bytes > 0);
}

/// The chain in the scenario's comment parses, only degrades, and ends in another cell.
#[test]
fn the_random_run_is_read_from_the_scenarios_comment() {
    let comment: String = EGPRS
        .lines()
        .skip_while(|line| !line.starts_with("#   coding = {"))
        .take_while(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#'))
        .collect();
    let start = EGPRS.find("[link.coding]").expect("there");
    let end = EGPRS.find("[sctp.default]").expect("there");
    let text = format!("{}{comment}\n\n{}", &EGPRS[..start], &EGPRS[end..]);
    let (_, series) = run(&scenario(&text, &["duration=4000s"]));
    let told = reports(&series);
    assert_eq!((told[0].3, told[0].4), (4, 0));
    let (last, before) = told.split_last().expect("some");
    assert!(before.windows(2).all(|two| two[1].3 < two[0].3), "{told:?}");
    assert_eq!((last.3, last.4), (3, 1), "{told:?}");
}

#[test]
fn the_same_seed_repeats_the_run() {
    let hash = |set: &[&str]| run(&scenario(EGPRS, set)).0.trace_hash;
    let short = ["duration=20s"];
    assert_eq!(hash(&short), hash(&short));
    assert_ne!(hash(&short), hash(&["duration=20s", "seed=2"]));
}
