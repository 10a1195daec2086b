//! Checks the extensions' chunks with Wireshark's dissector: I-DATA, FORWARD TSN, I-FORWARD-TSN, RE-CONFIG,
//! AUTH, ASCONF, PAD, ECNE, CWR, and packets without a checksum. Its fields are compared with our own
//! parser's, and its names of the chunks with ours.
//!
//! Skipped if tshark is not installed, unless `MSCTP_NEED_TSHARK` is set.

use crate::support;
#[path = "../../../cli/tests/it/tshark/dissect.rs"]
mod tshark;

use std::path::{Path, PathBuf};

use msctp_proto::{Config, OfferConfig, OutMessage, Reliability, StreamRequest, StreamsConfig};
use msctp_units::{Ecn, Span};
use msctp_wire::{Checksum, Chunk, EncodeChunk, Fragment, Packet, Param};

use support::{Fate, Pair, Side, a_ip, b_ip, chunk, message};
use tshark::{complaints, dissect};

/// Writes the sent packets as a capture of bare SCTP packets (LINKTYPE_SCTP, 248).
fn capture(pair: &Pair, name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut out = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 248_u32] {
        out.extend(word.to_le_bytes());
    }
    for flight in pair.log.iter().flatten() {
        let (us, len) = (flight.sent.as_nanos() / 1000, flight.bytes.len() as u32);
        for word in [(us / 1_000_000) as u32, (us % 1_000_000) as u32, len, len] {
            out.extend(word.to_le_bytes());
        }
        out.extend(&flight.bytes);
    }
    std::fs::write(&file, out).expect("writable");
    file
}

/// Checks that the dissector reports no error and names these chunks. Returns `None` without tshark.
fn read_without_complaint(file: &Path, names: &[&str]) -> Option<()> {
    let wrong = complaints(file)?;
    assert_eq!(wrong, [""; 0], "frame|ip|checksum|malformed|severity|chunks");
    let summaries = dissect(file, &["_ws.col.Info"])?;
    let words = |line: &String| line.split([' ', ',', '(']).map(str::to_owned).collect::<Vec<_>>();
    let words: Vec<String> = summaries.iter().flat_map(words).collect();
    for name in names {
        assert!(words.iter().any(|word| word == name), "no {name}: {summaries:?}");
    }
    Some(())
}

/// Returns the fields of each packet by this stack's parser, chunk by chunk, in the dissector's form: values
/// separated by commas, and `|` between the fields.
fn ours(pair: &Pair, fields: impl Fn(&Chunk<'_>) -> Option<Vec<Vec<String>>>, count: usize) -> Vec<String> {
    let of_packet = |bytes: &[u8]| {
        let packet = Packet::parse(bytes, Checksum::ZeroOrRight).expect("ours");
        let mut columns = vec![Vec::new(); count];
        for found in packet.chunks().flatten().filter_map(|chunk| fields(&chunk)) {
            columns.iter_mut().zip(found).for_each(|(column, values)| column.extend(values));
        }
        columns.iter().map(|column| column.join(",")).collect::<Vec<_>>().join("|")
    };
    pair.log.iter().flatten().map(|flight| of_packet(&flight.bytes)).collect()
}

/// Checks that both parsers find the same values in these fields, in this many frames.
fn agree(
    pair: &Pair,
    file: &Path,
    fields: &[&str],
    least: usize,
    find: impl Fn(&Chunk<'_>) -> Option<Vec<Vec<String>>>,
) {
    let theirs = dissect(file, fields).expect("asked before");
    let ours = ours(pair, find, fields.len());
    assert_eq!(ours.len(), theirs.len());
    for (frame, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "frame {}: {fields:?}", frame + 1);
    }
    let some = ours.iter().filter(|line| line.chars().any(|c| c != '|')).count();
    assert!(some >= least, "{fields:?} in {some} frames");
}

/// Formats the values of one field.
fn values<T: ToString>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}

/// Returns two ends that lose A's packets for a while, so that messages are abandoned, some after partial
/// transmission.
fn with_messages_given_up(interleaving: bool) -> Pair {
    let streams = StreamsConfig { interleaving, ..StreamsConfig::default() };
    let mut pair = Pair::established(Config { streams, ..Config::default() });
    pair.log = Some(Vec::new());
    for stream in 0..4 {
        pair.send(Side::A, message(stream, vec![stream as u8; 5000]));
    }
    pair.run_for(Span::from_secs(1));
    pair.filter = Box::new(|flight| if flight.from == Side::A { Fate::Drop } else { Fate::Pass });
    for n in 0..6 {
        let reliability = Reliability::Lifetime(Span::from_millis(50));
        pair.send(Side::A, OutMessage { reliability, unordered: n == 5, ..message(n % 3 + 1, vec![1; 600]) });
    }
    pair.run_for(Span::from_millis(200));
    pair.pass_all();
    pair.run_for(Span::from_secs(10));
    pair
}

#[test]
fn forward_tsn_re_config_and_auth_are_dissected_as_written() {
    let mut pair = with_messages_given_up(false);
    for request in [
        StreamRequest::ResetOutgoing(vec![1, 2]),
        StreamRequest::ResetIncoming(vec![3]),
        StreamRequest::AddOutgoing(5),
        StreamRequest::AddIncoming(4),
    ] {
        pair.with(Side::A, |a, now| a.reconfigure(now, request)).expect("agreed on");
    }
    pair.run_for(Span::from_secs(5));
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).expect("agreed on");
    pair.run_for(Span::from_secs(5));
    let file = capture(&pair, "forward-reconfig-auth.pcap");
    let names = ["DATA", "SACK", "FORWARD_TSN", "RE_CONFIG", "AUTH", "ASCONF", "ASCONF_ACK"];
    let Some(()) = read_without_complaint(&file, &names) else { return };
    agree(&pair, &file, &["sctp.chunk_type"], 20, |chunk| Some(vec![values([chunk.chunk_type().0])]));
    let forward = ["sctp.forward_tsn_tsn", "sctp.forward_tsn_sid", "sctp.forward_tsn_ssn"];
    agree(&pair, &file, &forward, 1, |chunk| match chunk {
        Chunk::ForwardTsn(forward) => Some(vec![
            values([forward.new_cum_tsn.get()]),
            values(forward.skipped.iter().map(|s| s.stream.get())),
            values(forward.skipped.iter().map(|s| s.ssn.get())),
        ]),
        _ => None,
    });
    let requests = [
        "sctp.parameter_reconfig_request_sequence_number",
        "sctp.parameter_reconfig_sid",
        "sctp.parameter_add_outgoing_streams_number",
        "sctp.parameter_add_incoming_streams_number",
    ];
    agree(&pair, &file, &requests, 4, |chunk| {
        let Chunk::ReConfig(chunk) = chunk else { return None };
        let mut found = vec![Vec::new(); 4];
        for param in chunk.params.iter().flatten() {
            match param {
                Param::OutgoingReset(reset) => {
                    found[0].extend(values([reset.serial.get()]));
                    found[1].extend(values(reset.streams.iter().map(|s| s.get())));
                }
                Param::IncomingReset(reset) => {
                    found[0].extend(values([reset.serial.get()]));
                    found[1].extend(values(reset.streams.iter().map(|s| s.get())));
                }
                Param::AddOutgoingStreams(add) => {
                    found[0].extend(values([add.serial.get()]));
                    found[2].extend(values([add.streams]));
                }
                Param::AddIncomingStreams(add) => {
                    found[0].extend(values([add.serial.get()]));
                    found[3].extend(values([add.streams]));
                }
                _ => {}
            }
        }
        Some(found)
    });
    agree(&pair, &file, &["sctp.parameter_reconfig_response_result"], 4, |chunk| {
        let Chunk::ReConfig(chunk) = chunk else { return None };
        let result = |param| match param {
            Param::ReconfigResponse(response) => Some(response.result),
            _ => None,
        };
        Some(vec![values(chunk.params.iter().flatten().filter_map(result))])
    });
    agree(&pair, &file, &["sctp.shared_key_id", "sctp.hmac"], 2, |chunk| match chunk {
        Chunk::Auth(auth) => {
            let hmac: String = auth.hmac.iter().map(|byte| format!("{byte:02x}")).collect();
            Some(vec![values([auth.shared_key_id]), vec![hmac]])
        }
        _ => None,
    });
}

#[test]
fn i_data_and_i_forward_tsn_are_dissected_as_written() {
    let pair = with_messages_given_up(true);
    let file = capture(&pair, "interleaving.pcap");
    let Some(()) = read_without_complaint(&file, &["I_DATA", "I_FORWARD_TSN"]) else { return };
    agree(&pair, &file, &["sctp.data_sid", "sctp.data_mid", "sctp.data_fsn"], 10, |chunk| match chunk {
        Chunk::IData(data) => Some(vec![
            vec![format!("0x{:04x}", data.stream.get())],
            values([data.mid.get()]),
            match data.fragment {
                Fragment::First(_) => Vec::new(),
                Fragment::Later(fsn) => values([fsn]),
            },
        ]),
        _ => None,
    });
    let forward = ["sctp.i_forward_tsn_tsn", "sctp.i_forward_tsn_sid", "sctp.forward_tsn_mid"];
    agree(&pair, &file, &forward, 1, |chunk| match chunk {
        Chunk::IForwardTsn(forward) => Some(vec![
            values([forward.new_cum_tsn.get()]),
            values(forward.skipped.iter().map(|s| s.stream.get())),
            values(forward.skipped.iter().map(|s| s.mid.get())),
        ]),
        _ => None,
    });
}

/// The length of each PAD chunk is the padding of a PMTU probe (RFC 8899 §4.3, RFC 4820 §3).
#[test]
fn pmtu_probes_are_dissected_as_written() {
    let config = Config::mobile();
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config, vec![a_ip(0)], vec![b_ip(0)]);
    // Either end probes the PMTU when it has more than one packet of data.
    for side in [Side::A, Side::B] {
        pair.transfer(side, 2, 1000, Span::from_secs(10));
    }
    let file = capture(&pair, "probes.pcap");
    let Some(()) = read_without_complaint(&file, &["HEARTBEAT", "PAD"]) else { return };
    agree(&pair, &file, &["sctp.padding_data"], 2, |chunk| match chunk {
        Chunk::Pad(pad) => Some(vec![vec!["00".repeat(usize::from(pad.padding_len))]]),
        _ => None,
    });
}

/// RFC 4960 Appendix A: the first marked packet is reported in an ECNE, which is repeated until a CWR answers
/// it.
#[test]
fn ecne_and_cwr_are_dissected_as_written() {
    let mut pair = Pair::established(Config { ecn: true, ..Config::default() });
    pair.log = Some(Vec::new());
    pair.filter = Box::new(|flight| {
        if flight.from == Side::A && flight.ecn == Ecn::Ect0 && flight.tsn().is_some_and(|tsn| tsn % 20 == 0)
        {
            flight.ecn = Ecn::Ce;
        }
        Fate::Pass
    });
    pair.transfer(Side::A, 100, 1000, Span::from_secs(20));
    pair.run_for(Span::from_secs(1));
    let file = capture(&pair, "ecn.pcap");
    let Some(()) = read_without_complaint(&file, &["ECNE", "CWR"]) else { return };
    agree(&pair, &file, &["sctp.ecne_lowest_tsn"], 3, |chunk| match chunk {
        Chunk::Ecne(ecne) => Some(vec![values([ecne.lowest_tsn.get()])]),
        _ => None,
    });
    agree(&pair, &file, &["sctp.cwr_lowest_tsn"], 3, |chunk| match chunk {
        Chunk::Cwr(cwr) => Some(vec![values([cwr.lowest_tsn.get()])]),
        _ => None,
    });
}

#[test]
fn packets_without_a_checksum_are_dissected() {
    // RFC 9653.
    let offer = OfferConfig { lower_layer_protects: true, ..OfferConfig::default() };
    let mut pair = Pair::new(Config { offer, ..Config::default() }, vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(Config { offer, ..Config::default() }, vec![a_ip(0)], vec![b_ip(0)]);
    pair.transfer(Side::A, 50, 1000, Span::from_secs(10));
    let file = capture(&pair, "zero-checksum.pcap");
    let Some(frames) = dissect(&file, &["sctp.checksum", "sctp.chunk_type", "sctp.parameter_type"]) else {
        return;
    };
    let malformed = dissect(&file, &["_ws.malformed"]).expect("asked before");
    assert!(malformed.iter().all(String::is_empty), "{malformed:?}");
    let zero = frames.iter().filter(|line| line.starts_with("0x00000000|")).count();
    assert!(zero >= 50, "{zero} of {} frames", frames.len());
    let with = |kind: u8| frames.iter().filter(move |line| line.split('|').nth(1) == Some(&kind.to_string()));
    for set_up in with(chunk::INIT) {
        assert!(!set_up.starts_with("0x00000000"), "a checksum and the parameter: {set_up}");
        assert!(set_up.contains("0x8001"), "{set_up}");
    }
    assert_eq!((with(chunk::INIT).count(), with(chunk::INIT_ACK).count()), (1, 1));
}
