//! Algorithmic complexity attacks: packets that maximize the work per byte. Valgrind counts the instructions
//! over a flood of each kind; the test bounds them per received byte.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use msctp_proto::{AuthConfig, Config, LossRecovery, PathAddr, StreamsConfig};
use msctp_units::{Span, Time};
use msctp_wire::param::{AddressRequest, IncomingReset, OutgoingReset};
use msctp_wire::{
    Asconf, AsconfSerial, ChunkType, CorrelationId, EncodeChunk, ForwardTsn, Fragment, GapBlock, IData,
    IForwardTsn, Init, List, Mid, Param, Params, Ppid, ReConfig, ReconfigSerial, Sack, SkippedMessages,
    SkippedStream, Ssn, StreamId, Tsn, VerificationTag,
};

use crate::release;
use crate::support::chunks::data;
use crate::support::{Fate, Host, Pair, Side, a_ip, b_ip, chunk, message, packet};

/// Largest number of instructions per byte, including sealing and sending the answers. A packet of 32 bytes
/// then takes at most 64,000: some ten microseconds.
const BOUND: u64 = 2_000;
/// Largest number of outstanding chunks (gap blocks cannot report more).
const OUTSTANDING: u32 = 65_535;
/// Number of packets of a flood, if they are large or all different.
static FLOOD: LazyLock<u32> =
    LazyLock::new(|| std::env::var(SHORT).map_or(60, |packets| packets.parse().unwrap()));
/// The variable that gives the process under valgrind another number.
const SHORT: &str = "MSCTP_TEST_FLOOD";
/// Minimum bytes of a flood of small packets. The transmission of each chunk pays for acknowledging, revoking
/// and marking it once: 1.3 MB for all chunks that can be outstanding. A tenth of that reveals further work.
const FLOOD_BYTES: usize = 130_000;

/// Injects a flood. Only the instructions of this function count.
#[inline(never)]
fn strike(host: &mut Host, now: Time, at: PathAddr, packets: &[Vec<u8>]) {
    let mut out = Vec::new();
    for packet in packets {
        host.endpoint.handle_datagram(now, at, &mut packet.clone());
        while host.endpoint.poll_transmit(now, &mut out).is_some() {
            out.clear();
        }
        while host.endpoint.poll_event().is_some() {}
    }
}

/// Injects a flood into B and prints its bytes for the process that counts the instructions, which identifies
/// floods by their order.
fn flood(pair: &mut Pair, name: &str, packets: &[Vec<u8>]) {
    let now = pair.now;
    strike(&mut pair.b, now, Pair::at(Side::B), packets);
    let bytes: usize = packets.iter().map(Vec::len).sum();
    println!("flood {bytes} {name}");
}

fn sack(cum: u32, gaps: &[GapBlock], duplicates: &[Tsn]) -> Sack<'static> {
    let (gaps, duplicates) = (gaps.to_vec().leak(), duplicates.to_vec().leak());
    Sack {
        cum_tsn_ack: Tsn::new(cum),
        a_rwnd: 0,
        gap_blocks: List::from(&*gaps),
        duplicates: List::from(&*duplicates),
    }
}

const fn block(start: u16, end: u16) -> GapBlock {
    GapBlock { start, end }
}

/// Returns a pair whose B has sent as many chunks as it may.
fn sender(recovery: LossRecovery) -> (Pair, u32) {
    let config = Config {
        send_buffer: 64 << 20,
        receive_buffer: 64 << 20,
        max_burst: 0,
        initial_window: msctp_congestion::InitialWindow::Bytes(64 << 20),
        loss_recovery: recovery,
        ..Config::default()
    };
    let mut pair = Pair::established(config);
    pair.log = Some(Vec::new());
    pair.with(Side::A, |a, now| a.request_heartbeat(now, msctp_proto::PathId::new(0))).unwrap();
    pair.run_for(Span::from_millis(200));
    pair.filter = Box::new(|_| Fate::Drop);
    let log = pair.log_len();
    pair.with(Side::B, |b, now| {
        for _ in 0..OUTSTANDING + 10 {
            b.send(now, message(0, vec![1])).unwrap();
        }
    });
    let data: Vec<_> = pair.sent_since(Side::B, log).into_iter().filter(|f| f.has(chunk::DATA)).collect();
    let chunks: usize = data.iter().map(|f| f.chunks().iter().filter(|c| **c == chunk::DATA).count()).sum();
    assert_eq!(chunks as u32, OUTSTANDING);
    (pair, data[0].tsn().unwrap())
}

fn singles(from: u16, count: u16, step: u16) -> Vec<GapBlock> {
    (0..count).map(|n| block(from + n * step, from + n * step)).collect()
}

/// A flood: its name, and its SACKs for a Cumulative TSN Ack.
type Flood<'a> = (&'a str, &'a dyn Fn(u32) -> Vec<Sack<'static>>);

/// Injects floods of SACKs, one after the other, into a sender that still tolerates reneging.
fn sacks(recovery: LossRecovery, kinds: &[Flood<'_>]) {
    let (mut pair, first) = sender(recovery);
    let tag = pair.tag_of(Side::B);
    let cum = first.wrapping_sub(1);
    for (name, floods) in kinds {
        let floods = floods(cum);
        let bytes: usize = floods.iter().map(EncodeChunk::padded_len).sum::<usize>() / floods.len();
        let packets: Vec<Vec<u8>> = (0..(*FLOOD as usize).max(FLOOD_BYTES / bytes))
            .map(|n| packet(Side::B, tag, &[&floods[n % floods.len()] as &dyn EncodeChunk]))
            .collect();
        flood(&mut pair, &format!("SACK: {name}, {recovery:?}"), &packets);
    }
    assert!(pair.b.state().is_some());
    // No acknowledgement was final: acknowledged data is released, and the rest is sent.
    pair.pass_all();
    pair.now += Span::from_millis(1);
    let all = Sack { a_rwnd: 1 << 20, ..sack(first.wrapping_add(OUTSTANDING - 1), &[], &[]) };
    pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, tag, &[&all]));
    assert!(pair.with(Side::B, |b, _| b.buffered()) <= 10);
}

fn all_and_nothing(cum: u32) -> Vec<Sack<'static>> {
    vec![sack(cum, &[block(2, u16::MAX)], &[]), sack(cum, &[], &[])]
}

fn the_first_and_not(cum: u32) -> Vec<Sack<'static>> {
    vec![sack(cum, &[block(1, 65_534)], &[]), sack(cum, &[block(2, 65_534)], &[])]
}

/// Each kind of flood that reneges has its own sender, which tolerates reneging only once.
#[test]
fn flood_of_acknowledgements() {
    use LossRecovery::{Rack, Rfc9260};
    sacks(
        Rfc9260,
        &[
            ("empty, the same again", &|cum| vec![sack(cum, &[], &[])]),
            ("ends before beginnings", &|cum| vec![sack(cum, &[block(u16::MAX, 2); 360], &[])]),
            ("16,000 duplicates", &|cum| vec![sack(cum, &[], &vec![Tsn::new(cum + 1); 16_000])]),
            ("duplicates all over", &|cum| {
                let every: Vec<_> = (1..360).map(|n| Tsn::new(cum.wrapping_add(n * 180))).collect();
                vec![sack(cum, &[], &every)]
            }),
            ("all of it in one block, then nothing", &all_and_nothing),
            ("the same at one that no longer tolerates reneging", &all_and_nothing),
        ],
    );
    sacks(
        Rack,
        &[
            ("16,000 duplicates", &|cum| vec![sack(cum, &[], &vec![Tsn::new(cum + 1); 16_000])]),
            ("all of it in one block, then nothing", &all_and_nothing),
        ],
    );
    sacks(Rack, &[("the first, then not", &the_first_and_not)]);
    sacks(Rfc9260, &[("the first, then not", &the_first_and_not)]);
    sacks(
        Rfc9260,
        &[("every second one of 32,000, then the others", &|cum| {
            vec![sack(cum, &singles(2, 16_000, 2), &[]), sack(cum, &singles(3, 16_000, 2), &[])]
        })],
    );
    sacks(
        Rfc9260,
        &[("all, every second one of 32,000, nothing", &|cum| {
            vec![
                sack(cum, &[block(1, u16::MAX)], &[]),
                sack(cum, &singles(2, 16_000, 2), &[]),
                sack(cum, &[], &[]),
            ]
        })],
    );
    sacks(
        Rfc9260,
        &[("360 overlapping maximal spans, then nothing", &|cum| {
            let spans: Vec<_> = (0..360).map(|n| block(2 + n, u16::MAX - n)).collect();
            vec![sack(cum, &spans, &[]), sack(cum, &[], &[])]
        })],
    );
}

/// Returns a pair, with the TSN that B expects next from A, and B's tag.
fn receiver(interleaving: bool) -> (Pair, u32, u32) {
    let config = Config {
        outbound_streams: u16::MAX,
        receive_buffer: 64 << 20,
        auth: AuthConfig::without(),
        streams: StreamsConfig { interleaving, ..StreamsConfig::default() },
        ..Config::default()
    };
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(2));
    let init = pair.sent_since(Side::A, 0)[0].bytes.clone();
    let tsn = u32::from_be_bytes(init[28..32].try_into().unwrap());
    let tag = pair.tag_of(Side::B);
    pair.filter = Box::new(|_| Fate::Drop);
    (pair, tsn, tag)
}

fn each(tag: u32, chunks: impl Iterator<Item = impl EncodeChunk>) -> Vec<Vec<u8>> {
    chunks.map(|chunk| packet(Side::B, tag, &[&chunk])).collect()
}

#[test]
fn flood_of_data_and_forward_tsns() {
    let (mut pair, tsn, tag) = receiver(false);
    // Gaps, from the highest down and then between each other; then the same again.
    let down = each(tag, (1..2_000).rev().map(|n| data(Tsn::new(tsn.wrapping_add(n * 16)), (n * 16) as u16)));
    flood(&mut pair, "DATA: 2,000 holes, backwards", &down);
    let between = each(
        tag,
        (1..2_000).map(|n| {
            let at = (n * 911 % 2_000) * 16 + 8;
            data(Tsn::new(tsn.wrapping_add(at)), at as u16)
        }),
    );
    flood(&mut pair, "DATA: 2,000 more holes, here and there", &between);
    flood(&mut pair, "DATA: duplicates among 4,000 holes", &down);
    let streams: Vec<_> = (0..360)
        .map(|n| SkippedStream { stream: StreamId::new(n * 182), ssn: Ssn::new(u16::MAX / 2) })
        .collect();
    let forward = |by: u32, skipped: &'static [SkippedStream]| ForwardTsn {
        new_cum_tsn: Tsn::new(tsn.wrapping_add(by)),
        skipped: List::from(skipped),
    };
    let streams: &'static [SkippedStream] = streams.leak();
    flood(
        &mut pair,
        "FORWARD-TSN: one by one, 360 streams each",
        &each(tag, (1..*FLOOD).map(|n| forward(n, streams))),
    );
    let leaps = each(tag, (1..*FLOOD).map(|n| forward(n * 0x0200_0000, &[])));
    flood(&mut pair, "FORWARD-TSN: 2^25 at a time", &leaps);
    assert!(pair.b.state().is_some());
}

#[test]
fn flood_of_i_data_and_i_forward_tsns() {
    let (mut pair, tsn, tag) = receiver(true);
    // First fragments of messages that are never complete, on all streams, with gaps between them.
    let begun = each(
        tag,
        (1..4_000_u32).map(|n| IData {
            tsn: Tsn::new(tsn.wrapping_add(n * 2)),
            stream: StreamId::new((n * 16) as u16),
            mid: Mid::new(n % 7),
            fragment: Fragment::First(Ppid::new(0)),
            unordered: n % 2 == 0,
            end: false,
            immediate: false,
            payload: b"x",
        }),
    );
    flood(&mut pair, "I-DATA: 4,000 messages begun", &begun);
    let skipped = |n: u32| -> &'static [SkippedMessages] {
        (0..180_u32)
            .map(|k| SkippedMessages {
                stream: StreamId::new((n * 180 + k) as u16),
                unordered: k % 2 == 0,
                mid: Mid::new(0x7fff_0000 + n),
            })
            .collect::<Vec<_>>()
            .leak()
    };
    let forward =
        |n: u32| IForwardTsn { new_cum_tsn: Tsn::new(tsn.wrapping_add(n)), skipped: List::from(skipped(n)) };
    let floods = each(tag, (1..*FLOOD).map(forward));
    flood(&mut pair, "I-FORWARD-TSN: one by one, 180 streams each", &floods);
    flood(&mut pair, "I-FORWARD-TSN: the same again", &floods);
    let leaps = each(
        tag,
        (1..*FLOOD).map(|n| IForwardTsn {
            new_cum_tsn: Tsn::new(tsn.wrapping_add(n * 0x0200_0000)),
            skipped: List::from(&[]),
        }),
    );
    flood(&mut pair, "I-FORWARD-TSN: 2^25 at a time", &leaps);
    assert!(pair.b.state().is_some());
}

#[test]
fn flood_of_requests() {
    let (mut pair, tsn, tag) = receiver(false);
    let all: &'static [StreamId] = (0..16_000).map(StreamId::new).collect::<Vec<_>>().leak();
    let high: &'static [StreamId] = vec![StreamId::new(65_000); 16_000].leak();
    let outgoing = |n: u32, streams: &'static [StreamId]| {
        Param::OutgoingReset(OutgoingReset {
            serial: ReconfigSerial::new(tsn.wrapping_add(n)),
            response_to: ReconfigSerial::new(0),
            last_tsn: Tsn::new(tsn.wrapping_sub(1)),
            streams: List::from(streams),
        })
    };
    let re_config = |param| ReConfig { params: Params::from(&*vec![param].leak()) };
    let resets = each(tag, (0..*FLOOD).map(|n| re_config(outgoing(n, all))));
    flood(&mut pair, "RE-CONFIG: resets of 16,000 streams", &resets);
    let again = each(tag, (0..*FLOOD).map(|_| re_config(outgoing(*FLOOD - 1, high))));
    flood(&mut pair, "RE-CONFIG: the last one again", &again);
    let same = each(tag, (*FLOOD..2 * *FLOOD).map(|n| re_config(outgoing(n, high))));
    flood(&mut pair, "RE-CONFIG: one stream named 16,000 times", &same);
    let whole = each(tag, (2 * *FLOOD..3 * *FLOOD).map(|n| re_config(outgoing(n, &[]))));
    flood(&mut pair, "RE-CONFIG: all of 65,535 streams", &whole);
    let incoming = each(
        tag,
        (3 * *FLOOD..4 * *FLOOD).map(|n| {
            let serial = ReconfigSerial::new(tsn.wrapping_add(n));
            re_config(Param::IncomingReset(IncomingReset { serial, streams: List::from(all) }))
        }),
    );
    flood(&mut pair, "RE-CONFIG: asks for resets of 16,000 streams", &incoming);
    let address = |n: u32| AddressRequest {
        correlation_id: CorrelationId::new(n),
        address: std::net::Ipv4Addr::from(0x0b00_0000 + n).into(),
    };
    let adds: &'static [Param<'static>] =
        (0..4_000).map(|n| Param::AddIpAddress(address(n))).collect::<Vec<_>>().leak();
    let both: &'static [Param<'static>] = (0..4_000)
        .map(|n| match n % 3 {
            0 => Param::AddIpAddress(address(n / 3)),
            1 => Param::SetPrimaryAddress(address(n / 3)),
            _ => Param::DeleteIpAddress(address(n / 3)),
        })
        .collect::<Vec<_>>()
        .leak();
    let asconf = |n: u32, requests: &'static [Param<'static>]| Asconf {
        serial: AsconfSerial::new(tsn.wrapping_add(n)),
        address: a_ip(0),
        requests: Params::from(requests),
    };
    flood(&mut pair, "ASCONF: 4,000 addresses added", &each(tag, (0..*FLOOD).map(|n| asconf(n, adds))));
    let changes = each(tag, (*FLOOD..2 * *FLOOD).map(|n| asconf(n, both)));
    flood(&mut pair, "ASCONF: added, made primary and deleted", &changes);
    flood(
        &mut pair,
        "ASCONF: one added",
        &each(tag, (2 * *FLOOD..3 * *FLOOD).map(|n| asconf(n, &adds[n as usize..][..1]))),
    );
    flood(
        &mut pair,
        "ASCONF: the last one again",
        &each(tag, (0..*FLOOD).map(|_| asconf(3 * *FLOOD - 1, &[]))),
    );
    assert!(pair.b.state().is_some());
    // As many messages as fit the default buffer, which nobody reads.
    let (mut pair, tsn, tag) = receiver(false);
    let unread = each(tag, (0..4_000).map(|n| data(Tsn::new(tsn.wrapping_add(n)), n as u16)));
    flood(&mut pair, "DATA: 4,000 messages", &unread);
    let one: &'static [StreamId] = vec![StreamId::new(9)].leak();
    // The first one may look at each message: those paid for it.
    let ends = each(tag, (0..10 * *FLOOD).map(|n| re_config(outgoing(n, one))));
    flood(&mut pair, "RE-CONFIG: resets of a stream behind 4,000 unread messages", &ends);
    let all = each(tag, (10 * *FLOOD..11 * *FLOOD).map(|n| re_config(outgoing(n, &[]))));
    flood(&mut pair, "RE-CONFIG: resets of all streams behind them", &all);
    assert!(pair.b.state().is_some());
}

#[test]
fn flood_of_set_ups() {
    let (mut pair, _, _) = receiver(false);
    let init = |params: &'static [Param<'static>]| Init {
        initiate_tag: VerificationTag::new(7),
        a_rwnd: 65_536,
        outbound_streams: 3,
        inbound_streams: 4,
        initial_tsn: Tsn::new(1),
        params: Params::from(params),
    };
    let addresses: &'static [Param<'static>] = (0..8_000_u32)
        .map(|n| Param::Ipv4Address(std::net::Ipv4Addr::from(0x0b00_0000 + n)))
        .collect::<Vec<_>>()
        .leak();
    // 0xc...: report and continue (RFC 9260 §3.2.1).
    let unknown: &'static [Param<'static>] = (0..16_000)
        .map(|n: u16| {
            let [high, low] = (0xcf00 | n & 0xff).to_be_bytes();
            let bytes = vec![high, low, 0, 4].leak();
            Param::Unknown(msctp_wire::param::UnknownParam::new(bytes).unwrap())
        })
        .collect::<Vec<_>>()
        .leak();
    let types: &'static [ChunkType] = vec![ChunkType(0xc1); 60_000].leak();
    let lists: &'static [Param<'static>] = vec![Param::SupportedExtensions(List::from(types))].leak();
    for (name, params) in [
        ("8,000 addresses", addresses),
        ("16,000 unknown parameters", unknown),
        ("60,000 chunk types", lists),
    ] {
        // To a listener, and to an existing association.
        for (whom, port) in [("listener", 7_000), ("association", crate::support::PORT_A)] {
            let bytes = crate::support::packet_between(port, crate::support::PORT_B, 0, &[&init(params)]);
            let packets = vec![bytes; *FLOOD as usize];
            flood(&mut pair, &format!("INIT to {whom}: {name}"), &packets);
        }
    }
    assert!(pair.b.state().is_some());
}

/// Returns instructions and bytes of each flood, of `packets`, of the tests of a build of this program that
/// match; `None` if valgrind is not installed.
fn counted(program: &Path, tests: &str, packets: u32) -> Option<Vec<(String, u64, u64)>> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return None;
    }
    let folder = std::env::temp_dir().join(format!("msctp-{tests}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let out = folder.join("counts");
    let run = Command::new("valgrind")
        .env(SHORT, packets.to_string())
        .args([
            "--tool=callgrind",
            "--toggle-collect=it::attacks::bombs::strike",
            "--dump-after=it::attacks::bombs::strike",
        ])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .args([&format!("bombs::{tests}"), "--nocapture", "--test-threads=1"])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let said = String::from_utf8(run.stdout).unwrap();
    let floods = said.lines().filter_map(|line| line.split_once("flood ")).map(|(_, rest)| rest);
    let counts = floods
        .enumerate()
        .map(|(n, flood)| {
            let (bytes, name) = flood.split_once(' ').unwrap();
            let dump = std::fs::read_to_string(folder.join(format!("counts.{}", n + 1))).unwrap();
            let total = dump.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
            (name.to_owned(), total.trim().parse().unwrap(), bytes.parse().unwrap())
        })
        .collect();
    std::fs::remove_dir_all(&folder).unwrap();
    Some(counts)
}

/// Checks the work of the floods, of `packets` each, of the tests of a build of this program that match, of
/// which there are at least `least`.
fn check_work(program: &Path, tests: &str, packets: u32, least: usize) {
    let Some(counts) = counted(program, tests, packets) else {
        assert!(std::env::var_os("MSCTP_NEED_VALGRIND").is_none(), "valgrind is not installed");
        eprintln!("skipped: valgrind is not installed");
        return;
    };
    assert!(counts.len() >= least, "{counts:?}");
    println!("instructions per byte received:");
    for (name, instructions, bytes) in &counts {
        println!("{:8}  {name}", instructions / bytes);
    }
    let worst = counts.iter().filter(|(_, instructions, bytes)| *instructions > BOUND * bytes);
    let worst: Vec<_> = worst.map(|(name, ..)| name).collect();
    assert!(worst.is_empty(), "more than {BOUND} instructions per byte: {worst:#?}");
}

#[test]
fn the_work_of_a_flood_of_requests_is_bounded_per_byte() {
    check_work(&std::env::current_exe().unwrap(), "flood_of_requests", 12, 2);
}

/// Counted in a release build: a test build checks pointers at each access, half of its instructions.
#[test]
#[ignore = "builds for release, and a minute under valgrind"]
fn slow_the_work_of_a_flood_is_bounded_per_byte() {
    let program = release::build(&["test", "--no-run", "--package", "msctp-proto", "--test", "it"], "it-");
    check_work(Path::new(&program), "flood_of", 60, 20);
}
