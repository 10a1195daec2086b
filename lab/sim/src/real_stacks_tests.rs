use super::*;

const TEXT: &str = r#"
    duration = "3s"
    [[node]]
    name = "mn"
    kind = "host"
    [[node]]
    name = "cn"
    kind = "host"
    [[link]]
    name = "one"
    a = "cn"
    b = "mn"
    address_a = "10.0.0.1"
    address_b = "10.0.1.2"
    rate = "2Mbps"
    delay = "10ms"
    [[link]]
    name = "two"
    a = "cn"
    b = "mn"
    address_a = "10.0.0.2"
    address_b = "10.0.2.2"
    rate = "2Mbps"
    delay = "10ms"
    [[association]]
    name = "session"
    client = "mn"
    server = "cn"
    client_addresses = ["10.0.1.2"]
    server_addresses = ["10.0.0.1", "10.0.0.2"]
    start = "100ms"
    [[app]]
    name = "video"
    type = "video"
    association = "session"
    from = "server"
    size = 3000
    interval = "40ms"
    start = "500ms"
    stop = "2s"
    [[tcp]]
    name = "flow"
    client = "cn"
    server = "mn"
    client_address = "10.0.0.1"
    server_address = "10.0.1.2"
    [[app]]
    name = "file"
    type = "bulk"
    tcp = "flow"
    from = "client"
    start = "700ms"
    [[action]]
    at = "1s"
    do = "add-address"
    association = "session"
    address = "10.0.2.2"
    [[action]]
    at = "1500ms"
    do = "set-primary"
    association = "session"
    address = "10.0.2.2"
    [[action]]
    at = "2500ms"
    do = "link-down"
    link = "one"
    [probes]
    throughput = "100ms"
    messages = true
"#;

fn scenario() -> Scenario {
    Scenario::from_toml(TEXT, "t", &[]).expect("right")
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

#[test]
fn every_end_gets_its_own_steps_in_order_of_time() {
    let mut books = RealStackRun::new(&scenario(), None).unwrap();
    let jobs = books.take_sctp();
    let of = |side| jobs.iter().find(|job| job.side == side).unwrap();
    let (client, server) = (of(Side::Client), of(Side::Server));
    assert_eq!((client.host.as_str(), server.host.as_str()), ("mn", "cn"));
    assert_eq!(
        (client.own.len(), client.peer.len(), client.senders.len(), server.senders.len()),
        (1, 2, 0, 1)
    );
    let (one, two): (IpAddr, IpAddr) = ("10.0.1.2".parse().unwrap(), "10.0.2.2".parse().unwrap());
    let calls = |job: &SctpJob| {
        let call = |(at, step): &(Time, Step)| match step {
            Step::Call { call, .. } => Some((*at, *call)),
            _ => None,
        };
        job.steps.iter().filter_map(call).collect::<Vec<_>>()
    };
    assert_eq!(calls(client), [(at(100), Call::Connect), (at(1000), Call::AddAddress(two))]);
    assert_eq!(calls(server), [(at(1500), Call::SetPrimary { to: two, from: None })]);
    assert_eq!(server.steps[0], (at(500), Step::App { app: 0, start: true }));
    // Both ends have an interface on the link that goes down.
    assert_eq!(client.steps.last(), Some(&(at(2500), Step::Link { local: one, up: false })));
    assert!(matches!(server.steps.last(), Some((_, Step::Link { up: false, .. }))));
    assert!(jobs.iter().all(|job| job.steps.is_sorted_by_key(|(at, _)| *at)));
    let tcp = books.take_tcp();
    let sends: Vec<_> = tcp.iter().map(|job| (job.side, job.sender, job.steps.len())).collect();
    assert_eq!(sends, [(Side::Client, Some((1, None)), 1), (Side::Server, None, 0)]);
}

/// The recorded events of a run in virtual time give that run's summary.
#[test]
fn the_record_of_a_simulations_events_gives_its_summary() {
    let mut simulation = Simulation::new(&scenario(), None).unwrap();
    simulation.run();
    let (summary, end) = (simulation.summary(), simulation.end());
    let series = simulation.into_series();
    let mut told = vec![
        (at(500), StackEvent::Running { app: 0, start: true }),
        (at(2000), StackEvent::Running { app: 0, start: false }),
        (Time::ZERO + span(summary.associations[0].established), StackEvent::Established { association: 0 }),
    ];
    for (number, generated) in series.messages[0].generated.iter().enumerate() {
        told.push((*generated, StackEvent::Generated { app: 0 }));
        let head = (number as u32).to_be_bytes();
        let given = StackEvent::Delivered { association: 0, side: Side::Client, app: 0, head, len: 3000 };
        told.extend(series.messages[0].delivered[number].map(|at| (at, given)));
    }
    told.sort_by_key(|(at, _)| *at);
    let mut books = RealStackRun::new(&scenario(), None).unwrap();
    told.into_iter().for_each(|(at, what)| books.record(at, what));
    let (told, told_series) = books.finish(end, summary.links.clone(), summary.cbr.clone());
    // Only the source knows the number of messages queued above the association.
    let longest_wait = summary.video[0].longest_wait;
    assert_eq!(crate::summary::VideoSummary { longest_wait, ..told.video[0].clone() }, summary.video[0]);
    assert_eq!(told.associations[0].established, summary.associations[0].established);
    let flow = |summary: &Summary| {
        let flow = &summary.associations[0].to_client;
        (flow.bytes, flow.messages, flow.goodput, flow.longest_gap_at, flow.completed)
    };
    assert_eq!(flow(&told), flow(&summary));
    let client = |series: &Series| series.delivery.iter().find(|d| d.side == "client").unwrap().total.clone();
    assert_eq!(client(&told_series), client(&series));
    assert_eq!(told_series.messages[0].delivered, series.messages[0].delivered);
    assert_eq!(told.links, summary.links);
    let done = |summary: &Summary| summary.actions.iter().map(|action| action.at).collect::<Vec<_>>();
    assert_eq!(done(&told), [None, None, Some(2.5)], "nobody told of the others");
    assert_eq!(done(&summary), [Some(1.0), Some(1.5), Some(2.5)]);
}

/// A file whose content the test can read.
#[derive(Clone, Default)]
struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn recorded_traces_are_written_as_qlog() {
    use msctp_proto::{AssociationState, TraceKind};
    let mut books = RealStackRun::new(&scenario(), None).unwrap();
    let file = Shared::default();
    books.write_qlog("both ends", Box::new(file.clone()));
    for (ms, side) in [(100, Side::Client), (150, Side::Server)] {
        let kind = TraceKind::State { from: AssociationState::Closed, to: AssociationState::Established };
        let event = Box::new(TraceEvent { at: at(ms), kind });
        books.record(at(ms), StackEvent::Trace { association: 0, side, event });
    }
    books.finish_qlog().unwrap();
    let text = String::from_utf8(file.0.lock().unwrap().clone()).unwrap();
    let records: Vec<serde_json::Value> =
        text.split('\u{1e}').skip(1).map(|record| serde_json::from_str(record).unwrap()).collect();
    assert_eq!(records[0]["title"], "both ends");
    let events = records[1..].iter().map(|event| (event["time"].as_f64(), event["group_id"].as_str()));
    assert_eq!(
        events.collect::<Vec<_>>(),
        [(Some(100.0), Some("session/client")), (Some(150.0), Some("session/server"))]
    );
}

fn span(seconds: Option<f64>) -> Span {
    Span::from_nanos((seconds.unwrap() * 1e9).round() as u64)
}

#[test]
fn parts_that_need_virtual_time_are_rejected_by_name() {
    let with = |more: &str| Scenario::from_toml(&format!("{TEXT}\n{more}"), "t", &[]).expect("right");
    let mut waiting = scenario();
    waiting.actions[0].when = When::After {
        happening: crate::scenario::Happening::Established { association: "session".to_owned() },
        delay: Span::ZERO,
        repeat: false,
    };
    let error = RealStackRun::new(&waiting, None).unwrap_err();
    assert_eq!(error.key, "action.0.after");
    let reader = with(
        r#"
        [[app]]
        name = "slow"
        type = "reader"
        association = "session"
        at = "client"
        rate = "1Mbps"
    "#,
    );
    assert_eq!(RealStackRun::new(&reader, None).unwrap_err().key, "app.slow.type");
}
