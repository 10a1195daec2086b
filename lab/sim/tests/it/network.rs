//! Links, routers and constant-rate sources in complete runs, with results computed by hand.

use msctp_sim::scenario::Scenario;
use msctp_sim::summary::{LinkSummary, Summary};
use msctp_sim::{Series, Simulation};

/// Returns the scenario a — 10 Mbps, 5 ms — r — 1 Mbps, 10 ms — b. `more` is added at the end.
fn scenario(more: &str) -> Scenario {
    let text = format!(
        r#"
        name = "two hops"
        duration = "10s"
        [[node]]
        name = "a"
        kind = "host"
        [[node]]
        name = "r"
        kind = "router"
        [[node]]
        name = "b"
        kind = "host"
        [[link]]
        name = "left"
        a = "a"
        b = "r"
        address_a = "10.0.0.1"
        rate = "10Mbps"
        delay = "5ms"
        [[link]]
        name = "right"
        a = "r"
        b = "b"
        address_b = "10.0.1.2"
        rate = "1Mbps"
        delay = "10ms"
        queue = {{ packets = 10 }}
        {more}
        "#
    );
    Scenario::from_toml(&text, "two hops", &[]).expect("right")
}

fn cbr(rate: &str, packet: u32, more: &str) -> String {
    format!(
        r#"
        [[app]]
        name = "noise"
        type = "cbr"
        from = "10.0.0.1"
        to = "10.0.1.2"
        rate = "{rate}"
        packet = {packet}
        jitter = false
        random_phase = false
        {more}
        "#
    )
}

fn run(scenario: &Scenario) -> (Summary, Series) {
    let mut simulation = Simulation::new(scenario, None).expect("right");
    simulation.run();
    (simulation.summary(), simulation.into_series())
}

fn link<'s>(summary: &'s Summary, name: &str) -> &'s LinkSummary {
    summary.links.iter().find(|link| link.name == name).expect("there")
}

#[test]
fn packets_below_the_bottleneck_all_arrive() {
    // 1000 bytes every 16 ms from 0 on: the 625th is sent at 9.984 s; a packet takes 0.8 + 5 + 8 + 10 ms.
    let (summary, _) = run(&scenario(&cbr("500kbps", 1000, "")));
    assert_eq!(summary.cbr[0].sent, 626);
    assert_eq!(summary.cbr[0].received, 624);
    assert_eq!(summary.cbr[0].received_bytes, 624_000);
    assert_eq!(link(&summary, "right/forward").queue_drops, 0);
    assert_eq!(link(&summary, "right/reverse").offered, 0);
}

#[test]
fn above_the_bottleneck_its_rate_is_delivered_and_the_queue_is_full() {
    let text = cbr("2Mbps", 1000, "") + "\n[probes]\nqueues = \"1s\"";
    let (summary, series) = run(&scenario(&text));
    let right = link(&summary, "right/forward");
    // The first arrives after 5.8 ms of the left link; then one packet per 8 ms, with 10 ms of delay.
    assert_eq!(right.delivered, (10_000_000 - 5_800 - 10_000) / 8_000);
    assert!(right.queue_drops > 1200, "{right:?}");
    assert_eq!(right.longest_queue, 10);
    let queue = series.queues.iter().find(|q| q.direction == "right/forward").expect("there");
    assert_eq!(queue.at.len(), 11);
    assert!(queue.packets[1..].iter().all(|&n| n >= 9), "{:?}", queue.packets);
}

#[test]
fn sources_start_and_stop_by_actions() {
    let text = cbr("80kbps", 1000, "start = \"1s\"\nstop = \"2s\"");
    // Every 100 ms from 1 s on; at 2 s it is stopped before it sends.
    assert_eq!(run(&scenario(&text)).0.cbr[0].sent, 10);
    let text = cbr("80kbps", 1000, "start = \"action\"")
        + "\n[[action]]\nat = \"9s\"\ndo = \"start-app\"\napp = \"noise\"";
    assert_eq!(run(&scenario(&text)).0.cbr[0].sent, 11);
}

#[test]
fn a_link_that_is_down_drops_and_counts_everything() {
    let text = cbr("80kbps", 1000, "")
        + "\n[[action]]\nat = \"2050ms\"\ndo = \"link-down\"\nlink = \"left\""
        + "\n[[action]]\nat = \"5050ms\"\ndo = \"link-up\"\nlink = \"left\"";
    let (summary, _) = run(&scenario(&text));
    // Sent at 0, 0.1, …: those from 2.1 to 5.0 are lost, the last (10.0) has not arrived yet.
    assert_eq!(summary.cbr[0].sent, 101);
    assert_eq!(summary.cbr[0].received, 70);
    assert_eq!(link(&summary, "left/forward").down_drops, 30);
    assert_eq!(summary.actions.len(), 2);
    assert_eq!(summary.actions[0].at, Some(2.05));
    assert_eq!(summary.actions[0].subject, "left");
}

#[test]
fn a_removed_address_neither_sends_nor_receives() {
    let text = cbr("80kbps", 1000, "")
        + "\n[[action]]\nat = \"5050ms\"\ndo = \"address-down\"\naddress = \"10.0.1.2\"";
    let (summary, _) = run(&scenario(&text));
    assert_eq!((summary.cbr[0].received, summary.no_address), (51, 49));
    let text = cbr("80kbps", 1000, "")
        + "\n[[action]]\nat = \"5050ms\"\ndo = \"address-down\"\naddress = \"10.0.0.1\"";
    let (summary, _) = run(&scenario(&text));
    assert_eq!((summary.cbr[0].received, summary.no_address), (51, 50));
}

#[test]
fn rate_delay_and_loss_can_change_during_a_run() {
    let text = cbr("80kbps", 1000, "")
        + "\n[[action]]\nat = \"5050ms\"\ndo = \"set-link\"\nlink = \"right\"\ndirection = \"forward\"\nloss = 1.0";
    let (summary, _) = run(&scenario(&text));
    assert_eq!(summary.cbr[0].received, 51);
    assert_eq!(link(&summary, "right/forward").losses, 49);
    let text = cbr("800kbps", 1000, "")
        + "\n[[action]]\nat = \"5s\"\ndo = \"set-link\"\nlink = \"right\"\nrate = \"100kbps\"\ndelay = \"1ms\"";
    let (summary, _) = run(&scenario(&text));
    // 100 per second before, 12.5 per second after.
    let received = summary.cbr[0].received;
    assert!((558..=564).contains(&received), "{received}");
}

#[test]
fn packets_larger_than_the_mtu_are_dropped_and_counted() {
    let mut scenario = scenario(&cbr("80kbps", 1000, ""));
    scenario.links[1].mtu = 999;
    let (summary, _) = run(&scenario);
    assert_eq!(summary.cbr[0].received, 0);
    assert_eq!(link(&summary, "right/forward").too_big, 100);
}

#[test]
fn a_listed_packet_is_lost_and_no_other() {
    let mut scenario = scenario(&cbr("80kbps", 1000, ""));
    scenario.links[0].forward.plain_mut().unwrap().loss =
        msctp_sim::scenario::LossConfig::Scripted { packets: vec![3, 4, 50] };
    let (summary, _) = run(&scenario);
    assert_eq!(link(&summary, "left/forward").losses, 3);
    assert_eq!(summary.cbr[0].received, 97);
}
