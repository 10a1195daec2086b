//! Radio link quality reported by QoS_Measurement (Afif et al.): sent on changes, skipped by a peer that
//! does not know it, obeyed by the policy, and useless to a lying peer.

#[path = "../../../../crates/proto/tests/it/support/mod.rs"]
mod support;

use msctp_congestion::InitialWindow;
use msctp_lab_schemes::policies::{PolicyConfig, note, policy};
use msctp_lab_schemes::quality::{INTERVAL, QOS_MEASUREMENT, Report};
use msctp_proto::handover::{CodingScheme, LinkEvent, LinkQuality, LinkState};
use msctp_proto::{AddressRequest, AuthConfig, CallError, Config, Event, PathId, TraceEvent, TraceKind};
use msctp_units::{Rate, Span, Time};
use msctp_wire::UnknownChunk;
use support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, packet};

const QOS: u8 = 0xbe;

/// Without authentication, so that the tests can forge.
fn traced() -> Config {
    Config { trace: true, auth: AuthConfig::without(), ..Config::default() }
}

fn following() -> Config {
    let policy = policy("qos-measurement", &PolicyConfig::default()).unwrap();
    Config { handover_policy: policy, ..traced() }
}

fn kbps(rate: u64) -> LinkQuality {
    LinkQuality { rate: Some(Rate::from_kbps(rate)), ..LinkQuality::default() }
}

fn gbps(rate: u64) -> LinkQuality {
    kbps(rate * 1_000_000)
}

fn report(pair: &mut Pair, network: u8, quality: LinkQuality) {
    let event = LinkEvent { local: a_ip(network), state: LinkState::Quality(quality) };
    pair.with(Side::A, |a, now| a.link_event(now, event)).unwrap();
}

/// Returns the last report about A's address in `network` that B accepted, from B's trace.
fn known(pair: &mut Pair, network: u8) -> Option<LinkQuality> {
    pair.run_for(Span::ZERO);
    let mut last = None;
    for event in &pair.b.trace {
        let TraceKind::PolicyNote { name, address, value } = event.kind else { continue };
        if address != Some(a_ip(network)) {
            continue;
        }
        if name == note::RECEIVED {
            last = Some(LinkQuality::default());
        }
        let Some(quality) = &mut last else { continue };
        match name {
            note::RATE => quality.rate = Some(Rate::from_bps(value)),
            note::BLOCK_ERRORS => quality.block_error_ppm = Some(value as u32),
            note::SCHEME => {
                quality.coding_scheme =
                    Some(CodingScheme { technology: CodingScheme::GPRS, down: value as u8, up: 1 });
            }
            note::CELL => quality.cell = Some(value),
            note::ROUND_TRIP => quality.round_trip = Some(Span::from_nanos(value)),
            note::ONE_WAY => quality.one_way = Some(Span::from_nanos(value)),
            _ => {}
        }
    }
    last
}

/// Reports that B took.
fn taken(pair: &Pair) -> usize {
    let is_one = |e: &&TraceEvent| matches!(e.kind, TraceKind::PolicyNote { name: note::RECEIVED, .. });
    pair.b.trace.iter().filter(is_one).count()
}

/// One network, A the mobile, B sends and follows reports.
fn download() -> Pair {
    Pair::established_with(following(), following(), vec![a_ip(0)], vec![b_ip(0)])
}

fn reports_sent(pair: &Pair) -> Vec<&Flight> {
    pair.log.as_ref().unwrap().iter().filter(|flight| flight.has(QOS)).collect()
}

#[test]
fn a_report_from_before_the_set_up_is_sent_after_it() {
    let mut pair = Pair::new(following(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(following(), vec![a_ip(0)], vec![b_ip(0)]);
    let quality = LinkQuality {
        coding_scheme: Some(CodingScheme { technology: CodingScheme::GPRS, down: 4, up: 1 }),
        block_error_ppm: Some(10_000),
        round_trip: Some(Span::from_millis(200)),
        one_way: Some(Span::from_micros(90_001)),
        cell: Some(1),
        ..kbps(60)
    };
    report(&mut pair, 0, kbps(1));
    report(&mut pair, 0, quality);
    pair.run_for(Span::from_secs(2));
    assert_eq!(known(&mut pair, 0), Some(quality));
    assert_eq!(reports_sent(&pair).len(), 1);
}

#[test]
fn reports_are_spaced_and_the_latest_wins() {
    let mut pair = download();
    pair.log = Some(Vec::new());
    for rate in [60, 60, 43, 36, 24] {
        report(&mut pair, 0, kbps(rate));
    }
    pair.run_for(Span::from_millis(199));
    assert_eq!(known(&mut pair, 0), Some(kbps(60)));
    pair.run_for(Span::from_secs(10));
    assert_eq!(known(&mut pair, 0), Some(kbps(24)));
    let times: Vec<Time> = reports_sent(&pair).iter().map(|flight| flight.sent).collect();
    assert_eq!(times.len(), 2);
    assert_eq!(times[1].since(times[0]), INTERVAL);
}

#[test]
fn impossible_reports_return_an_error_to_the_caller() {
    let mut pair = download();
    let event = |address, quality| LinkEvent { local: address, state: LinkState::Quality(quality) };
    let bad = LinkQuality { rate: Some(Rate::ZERO), ..LinkQuality::default() };
    let error = pair.with(Side::A, |a, now| a.link_event(now, event(a_ip(0), bad))).unwrap_err();
    assert!(error.to_string().starts_with("rate of the link quality is out of range"), "{error}");
    let error = pair.with(Side::A, |a, now| a.link_event(now, event(a_ip(7), kbps(1)))).unwrap_err();
    assert_eq!(error, CallError::UnknownAddress(a_ip(7)));
}

/// All packets of an association in which A reports twice under a transfer from B.
fn packets_of(mut pair: Pair, rename: Option<u8>) -> Vec<(Time, Side, Vec<u8>)> {
    pair.log = Some(Vec::new());
    if let Some(typ) = rename {
        pair.filter = Box::new(move |flight| {
            rename_reports(&mut flight.bytes, typ);
            Fate::Pass
        });
    }
    report(&mut pair, 0, kbps(60));
    pair.transfer(Side::B, 200, 1000, Span::from_secs(60));
    report(&mut pair, 0, kbps(10));
    pair.transfer(Side::B, 200, 1000, Span::from_secs(60));
    let unknown = pair.with(Side::B, |b, _| b.stats().unknown_chunks);
    assert_eq!(unknown, 2);
    assert_eq!(known(&mut pair, 0), None);
    assert!(!pair.a.saw(|event| matches!(event, Event::PeerError { .. })));
    let from_b = pair.log.unwrap().into_iter().filter(|flight| flight.from == Side::B);
    from_b.map(|flight| (flight.sent, flight.from, flight.bytes)).collect()
}

/// Gives the QoS_Measurement chunks of a packet another type.
fn rename_reports(bytes: &mut [u8], typ: u8) {
    let mut at = 12;
    while at + 4 <= bytes.len() {
        if bytes[at] == QOS {
            bytes[at] = typ;
        }
        at += usize::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]])).max(4).next_multiple_of(4);
    }
    bytes[8..12].fill(0);
    let checksum = msctp_wire::checksum::crc32c(bytes);
    bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
}

/// AF5: a peer that does not know the chunk does, to the byte, what RFC 9260 §3.2 has for any chunk whose
/// type begins with the bits 10: it skips it, does not report it, and continues with the packet.
#[test]
fn a_peer_that_does_not_know_the_chunk_is_a_standard_peer() {
    let pair = |b| Pair::established_with(following(), b, vec![a_ip(0)], vec![b_ip(0)]);
    let ignorant = packets_of(pair(traced()), None);
    assert!(ignorant.len() > 200);
    // 0xa7 is assigned to nothing and known to no one here.
    assert!(ignorant == packets_of(pair(following()), Some(0xa7)), "as any other unknown chunk");
}

#[test]
fn the_senders_window_follows_the_coding_scheme() {
    let mut pair = download();
    report(&mut pair, 0, kbps(60));
    pair.transfer(Side::B, 100, 1000, Span::from_secs(60));
    let window = |pair: &mut Pair| pair.with(Side::B, |b, _| b.paths().next().unwrap().cwnd);
    let before = window(&mut pair);
    assert!(before > 20_000, "{before}");
    report(&mut pair, 0, kbps(30));
    pair.run_for(Span::from_millis(100));
    assert_eq!(window(&mut pair), before / 2);
    report(&mut pair, 0, kbps(60));
    pair.run_for(Span::from_millis(500));
    // The bytes in flight at the last SACKs are a little less than the window they opened.
    let given_back = window(&mut pair);
    assert!((before * 3 / 4..=before).contains(&given_back), "{given_back} of {before}: what was carried");
    report(&mut pair, 0, kbps(600));
    pair.run_for(Span::from_millis(500));
    assert_eq!(window(&mut pair), given_back, "and no more");
    let adjusted = |e: &&TraceEvent| matches!(e.kind, TraceKind::Adjusted { .. });
    assert_eq!(pair.b.trace.iter().filter(adjusted).count(), 3);
}

#[test]
fn at_a_handover_the_window_is_the_new_cells_bdp() {
    let mut pair = download();
    report(&mut pair, 0, kbps(800));
    pair.transfer(Side::B, 200, 1000, Span::from_secs(60));
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    // 100 kbit/s · 400 ms = 5000 bytes, and it has not been told when the address is new.
    let cell = LinkQuality { round_trip: Some(Span::from_millis(400)), cell: Some(2), ..kbps(100) };
    report(&mut pair, 1, cell);
    let added = Event::AddressChange { request: AddressRequest::Add(a_ip(1)), accepted: true };
    assert!(pair.run_until(Span::from_secs(10), |pair| pair.a.saw(|event| *event == added)));
    pair.run_for(Span::from_secs(1));
    assert_eq!(known(&mut pair, 1), Some(cell), "told when the peer knows the address");
    pair.with(Side::A, |a, now| a.request_peer_primary(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(1));
    let new = pair.path(Side::B, b_ip(0), a_ip(1));
    let start = pair.b.trace.iter().find_map(|e| match e.kind {
        TraceKind::StartState { path, cwnd, ssthresh } => Some((path, cwnd, ssthresh)),
        _ => None,
    });
    assert_eq!(start, Some((new, 5000, u64::MAX)), "and still in slow start");
}

/// A QoS_Measurement as A would send it.
fn forged(pair: &mut Pair, report: &Report, times: usize) {
    let tag = pair.tag_of(Side::B);
    let value = report.encode();
    let mut bytes = vec![QOS_MEASUREMENT.0, 0];
    bytes.extend((value.len() as u16 + 4).to_be_bytes());
    bytes.extend(value);
    let chunk = UnknownChunk::new(&bytes).unwrap();
    let chunks: Vec<&dyn msctp_wire::EncodeChunk> = (0..times).map(|_| &chunk as _).collect();
    let bytes = packet(Side::B, tag, &chunks);
    pair.inject(Side::B, Pair::at(Side::B), &bytes);
}

fn logged() -> Pair {
    let mut pair = download();
    pair.log = Some(Vec::new());
    pair.transfer(Side::A, 1, 100, Span::from_secs(10));
    pair
}

#[test]
fn reports_of_strangers_and_old_ones_are_ignored() {
    let mut pair = logged();
    let quality = |pair: &mut Pair| known(pair, 0).and_then(|quality| quality.rate).map(Rate::as_bps);
    let rate = |number, bps| {
        let quality = LinkQuality { rate: Some(Rate::from_bps(bps)), ..LinkQuality::default() };
        Report { number: Some(number), address: None, quality }
    };
    forged(&mut pair, &Report { address: Some(a_ip(9)), ..rate(1, 1) }, 1);
    assert_eq!((known(&mut pair, 9), taken(&pair)), (None, 0));
    forged(&mut pair, &rate(5, 1000), 1);
    assert_eq!(quality(&mut pair), Some(1000), "no address: the packet's source");
    forged(&mut pair, &rate(4, 2000), 1);
    assert_eq!(quality(&mut pair), Some(1000));
    forged(&mut pair, &rate(6, u64::MAX), 1);
    assert_eq!((known(&mut pair, 0), quality(&mut pair)), (Some(LinkQuality::default()), None));
}

#[test]
fn the_reports_accepted_from_one_packet_are_bounded() {
    let mut pair = logged();
    let quality = LinkQuality { rate: Some(Rate::from_bps(1000)), ..LinkQuality::default() };
    forged(&mut pair, &Report { quality, ..Report::default() }, 100);
    assert_eq!(taken(&pair), 4);
}

#[test]
fn only_signed_reports_are_taken_where_the_chunk_is_listed() {
    let auth = || AuthConfig { chunks: vec![QOS_MEASUREMENT.0], ..AuthConfig::default() };
    let config = || Config { auth: auth(), ..following() };
    let mut pair = Pair::established_with(config(), config(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    report(&mut pair, 0, kbps(60));
    pair.transfer(Side::A, 1, 100, Span::from_secs(10));
    assert_eq!(known(&mut pair, 0), Some(kbps(60)));
    forged(&mut pair, &Report { number: Some(9), address: None, quality: kbps(1) }, 1);
    assert_eq!((known(&mut pair, 0), taken(&pair)), (Some(kbps(60)), 1));
    assert_eq!(pair.with(Side::B, |b, _| b.stats().unauthenticated_chunks), 1);
}

#[test]
fn without_authentication_on_either_side_no_address_changes() {
    let strict = AuthConfig { policy: msctp_proto::AuthPolicy::Off, ..AuthConfig::default() };
    let b = Config { auth: strict, ..traced() };
    let mut pair = Pair::established_with(traced(), b, vec![a_ip(0)], vec![b_ip(0)]);
    let refused = pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1)));
    assert_eq!(refused, Err(CallError::PeerLacksAsconf));
}

/// The report of A at its `n`th chance.
type Lie = fn(u64) -> Option<LinkQuality>;

/// B sends as fast as it may for 60 s over 2 Mbit/s, where every 150th packet with data is lost; A reports
/// every 200 ms.
fn robbed(lie: Lie) -> Pair {
    let config = Config { initial_window: InitialWindow::Packets(2), ..following() };
    let mut pair = Pair::established_with(traced(), config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.rate = Some(Rate::from_mbps(2));
    let mut data = 0u32;
    pair.drop_if(move |flight| {
        data += u32::from(flight.from == Side::B && flight.has(chunk::DATA));
        flight.from == Side::B && flight.has(chunk::DATA) && data.is_multiple_of(150)
    });
    let mut waiting = (0..u32::MAX).take(100_000).collect();
    for n in 0..300 {
        if let Some(quality) = lie(n) {
            report(&mut pair, 0, quality);
        }
        let end = pair.now + Span::from_millis(200);
        pair.run_until(Span::from_millis(200), |pair| {
            pair.feed(Side::B, &mut waiting, 1000);
            pair.now >= end
        });
    }
    pair
}

/// At every moment B's window is at most the largest since the last loss; only acknowledgements may add to
/// that.
fn check_windows(trace: &[TraceEvent]) -> usize {
    let (mut largest, mut now, mut raised) = (0, 0, 0);
    for event in trace {
        match event.kind {
            TraceKind::Window { path, cwnd, .. } if path == PathId::new(0) => {
                now = cwnd;
                largest = largest.max(cwnd);
            }
            TraceKind::T3Timeout { .. } | TraceKind::FastRetransmit { .. } => largest = 0,
            TraceKind::Adjusted { cwnd, .. } => {
                assert!(cwnd <= largest.max(now), "{cwnd} > {largest} at {:?}", event.at);
                raised += usize::from(cwnd > now);
                now = cwnd;
            }
            _ => {}
        }
    }
    raised
}

/// The lying peer: neither an absurd nor a swinging report gets it more than no report.
#[test]
fn a_peer_that_lies_gains_nothing() {
    let honest = robbed(|_| None);
    let fair = honest.a.bytes_received();
    assert!(fair > 1_000_000, "{fair}");
    let lies: [(&str, Lie); 4] = [
        ("absurd", |n| Some(gbps(1 + n))),
        ("swinging", |n| Some(if n.is_multiple_of(2) { kbps(1) } else { gbps(1000) })),
        ("swinging slowly", |n| Some(if n / 10 % 2 == 0 { kbps(1000) } else { gbps(1) })),
        ("another cell each time", |n| {
            let round_trip = Some(Span::from_secs(60));
            Some(LinkQuality { cell: Some(n), round_trip, ..gbps(1) })
        }),
    ];
    for (name, lie) in lies {
        let pair = robbed(lie);
        let raised = check_windows(&pair.b.trace);
        let robbed = pair.a.bytes_received();
        println!("{name}: {robbed} bytes against {fair}, {raised} times raised");
        assert!(robbed <= fair, "{name}: {robbed} bytes against {fair}");
    }
}
