//! The capture of a set-up in docs/internals and its vectors, for other implementations: the keys follow from
//! the packets in clear and TLS's exporter secret alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hmac::Hmac;
use msctp_protection::{
    CipherSuite, FIRST_EPOCH, FirstProtected, KeyContext, KeyLogEntry, KeyMaterial, Opener, Ring, Secret,
};
use msctp_proto::Config;
use msctp_security::{EXPORTER_LABEL, METHOD};
use msctp_units::Span;
use sha2::{Digest, Sha256, Sha384};

use crate::other_stacks::export;
use crate::secured::network::{Side, chunk, text_message};
use crate::secured::{DTLS, Secured};

const TEXTS: [&str; 2] = ["from the client", "from the server"];
/// Bytes of an IPv4 header without options.
const IP: usize = 20;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/internals").join(name)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// Collects the secrets of TLS.
#[derive(Debug)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl msctp_security::rustls::KeyLog for Lines {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        self.0.lock().unwrap().push(format!("{label} {} {}", hex(client_random), hex(secret)));
    }
}

/// Appends a block of pcapng.
fn block(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let len = 12 + body.len().next_multiple_of(4) as u32;
    out.extend(kind.to_le_bytes());
    out.extend(len.to_le_bytes());
    out.extend(body);
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend(len.to_le_bytes());
}

/// Returns an IPv4 packet around an SCTP packet of the client (10.0.0.1) or the server (10.0.0.2).
fn ipv4(from: Side, sctp: &[u8]) -> Vec<u8> {
    let (src, dst) = if from == Side::A { (1, 2) } else { (2, 1) };
    let len = (IP + sctp.len()) as u16;
    let mut header = vec![0x45, 0];
    header.extend(len.to_be_bytes());
    header.extend([0, 0, 0x40, 0, 64, 132, 0, 0, 10, 0, 0, src, 10, 0, 0, dst]);
    let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum = words.sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [&header, sctp].concat()
}

/// Reads the SCTP packets of a capture, each with its sender.
fn packets(capture: &[u8]) -> Vec<(Side, Vec<u8>)> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().unwrap());
    let (mut rest, mut all) = (capture, Vec::new());
    while !rest.is_empty() {
        let (one, others) = rest.split_at(word(&rest[4..]) as usize);
        if word(one) == 6 {
            let packet = &one[28..28 + word(&one[20..]) as usize];
            let from = if packet[15] == 1 { Side::A } else { Side::B };
            all.push((from, packet[IP..].to_vec()));
        }
        rest = others;
    }
    all
}

/// Splits bytes into chunks or parameters, each with its padding.
fn items(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut rest, mut all) = (bytes, Vec::new());
    while rest.len() >= 4 {
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]])).next_multiple_of(4);
        let (one, others) = rest.split_at(len.min(rest.len()));
        all.push(one);
        rest = others;
    }
    all
}

/// Returns INIT or INIT ACK as the hash takes it, and its DTLS Key Management parameter without padding.
fn hashed(packets: &[(Side, Vec<u8>)], kind: u8) -> (Vec<u8>, Vec<u8>) {
    let packet = &packets.iter().find(|(_, packet)| packet[12] == kind).expect("in the capture").1;
    let chunk = items(&packet[12..])[0];
    let params = items(&chunk[20..]);
    let offer = params.iter().find(|param| param[..2] == [0x80, 0x06]).expect("protection is offered");
    let offer = offer[..usize::from(u16::from_be_bytes([offer[2], offer[3]]))].to_vec();
    let cookie = |param: &&&[u8]| kind == chunk::INIT_ACK && param[..2] == [0, 7];
    let kept: Vec<u8> = params.iter().filter(|param| !cookie(param)).copied().flatten().copied().collect();
    let mut out = [&chunk[..20], &kept].concat();
    let len = out.len() as u16;
    out[1] = 0;
    out[2..4].copy_from_slice(&len.to_be_bytes());
    (out, offer)
}

/// Returns where an end begins to protect: behind its last DATA in clear.
fn first_protected(packets: &[(Side, Vec<u8>)], side: Side, initial: u32) -> FirstProtected {
    let mut begun = BTreeMap::new();
    for (_, packet) in packets.iter().filter(|(from, _)| *from == side) {
        for data in items(&packet[12..]).into_iter().filter(|chunk| chunk[0] == chunk::DATA) {
            let tsn = u32::from_be_bytes(data[4..8].try_into().unwrap());
            begun.insert(tsn.wrapping_sub(initial), data[1] & 2 != 0);
        }
    }
    let messages = begun.values().filter(|begins| **begins).count() as u32;
    FirstProtected { tsn: initial.wrapping_add(begun.len() as u32), messages }
}

/// Derives everything from the packets in clear and the exporter secret, as lines `name value`; and the keys
/// of the client's and the server's packets.
fn derived(packets: &[(Side, Vec<u8>)], secret: &[u8], suite: CipherSuite) -> (String, [KeyMaterial; 2]) {
    let (init, client) = hashed(packets, chunk::INIT);
    let (init_ack, server) = hashed(packets, chunk::INIT_ACK);
    let ports = packets[0].1[..4].to_vec();
    let binding = Sha256::new().chain_update(&ports).chain_update(&init).chain_update(&init_ack).finalize();
    let initial = |chunk: &[u8]| u32::from_be_bytes(chunk[16..20].try_into().unwrap());
    let begins = [(Side::A, &init), (Side::B, &init_ack)]
        .map(|(side, chunk)| first_protected(packets, side, initial(chunk)));
    let mut text = String::new();
    let mut say = |name: &str, value: String| {
        let _ = writeln!(text, "{name} {value}");
    };
    say("suite", format!("{:04x}", suite.code()));
    say("ports", hex(&ports));
    say("init", hex(&init));
    say("init_ack", hex(&init_ack));
    say("binding", hex(&binding));
    say("client_parameter", hex(&client));
    say("server_parameter", hex(&server));
    say("exporter_label", EXPORTER_LABEL.to_owned());
    say("exporter_secret", hex(secret));
    for (end, begin) in ["client", "server"].into_iter().zip(begins) {
        say(&format!("{end}_first_protected"), format!("tsn {} messages {}", begin.tsn, begin.messages));
    }
    let keys = [(0, "client"), (1, "server")].map(|(direction, end)| {
        let export = |kind: u8, name: &str, len: usize| {
            let context = [&[direction, 0, kind], &client[..], &server, &binding].concat();
            let exported = if suite == CipherSuite::Aes256GcmSha384 {
                export::<Hmac<Sha384>, Sha384>(secret, &context, len)
            } else {
                export::<Hmac<Sha256>, Sha256>(secret, &context, len)
            };
            (format!("{end}_exported_{name}"), exported)
        };
        let parts = [(0, "key", suite.key_len()), (1, "sn_key", suite.key_len()), (2, "iv", 12)]
            .map(|(kind, name, len)| export(kind, name, len));
        let [key, sn_key, iv] = parts.map(|(name, exported)| {
            say(&name, hex(&exported));
            Secret::from(&exported[..])
        });
        let exported = KeyMaterial::new(suite, key, sn_key, iv).expect("the lengths of the suite");
        let keys = exported.bound(&Ring, begins[0], begins[1]);
        let line =
            KeyLogEntry { tag: 0, context: KeyContext::Primary, epoch: FIRST_EPOCH, keys: keys.clone() };
        let line = line.line();
        for (name, value) in ["key", "sn_key", "iv"].into_iter().zip(line.split(' ').skip(5)) {
            say(&format!("{end}_{name}"), value.to_owned());
        }
        keys
    });
    (text, keys)
}

/// Returns the exporter secret and the entries of a file of keys.
fn secrets(keys: &str) -> (Vec<u8>, Vec<KeyLogEntry>) {
    let exporter = keys.lines().find(|line| line.starts_with("EXPORTER_SECRET ")).expect("TLS's secret");
    let entries = keys.lines().filter_map(|line| KeyLogEntry::parse(line).unwrap()).collect();
    (unhex(exporter.split(' ').nth(2).unwrap()), entries)
}

/// Opens the packets of one end, and asserts that its text is in them.
fn assert_opens(packets: &[(Side, Vec<u8>)], side: Side, keys: &KeyMaterial) {
    let mut opener = Opener::default();
    opener.establish(KeyContext::Primary, FIRST_EPOCH, keys, &Ring).unwrap();
    let sealed = packets.iter().filter(|(from, packet)| *from == side && packet[12] == DTLS);
    let clear: Vec<Vec<u8>> = sealed
        .map(|(_, packet)| {
            let mut record = packet[12..].to_vec();
            let opened = opener.open(&mut record).expect("these are the keys");
            record[opened.chunks].to_vec()
        })
        .collect();
    let text = TEXTS[side as usize].as_bytes();
    assert!(clear.iter().any(|chunks| chunks.windows(text.len()).any(|window| window == text)), "{side:?}");
}

#[test]
fn the_keys_of_the_capture_follow_from_its_packets_and_the_exporter_secret() {
    let packets = packets(&fs::read(file("set-up.pcapng")).unwrap());
    let (secret, entries) = secrets(&fs::read_to_string(file("set-up.keys")).unwrap());
    let (text, keys) = derived(&packets, &secret, entries[0].keys.suite());
    let vectors = fs::read_to_string(file("set-up-vectors.txt")).unwrap();
    let vectors: String =
        vectors.lines().filter(|line| !line.starts_with('#')).flat_map(|line| [line, "\n"]).collect();
    assert_eq!(vectors, text);
    for (side, keys) in [Side::A, Side::B].into_iter().zip(&keys) {
        assert_opens(&packets, side, keys);
        // The lines of the log are those of `msctp decrypt`.
        let tag = packets.iter().find(|(from, packet)| *from == side && packet[12] == DTLS).unwrap();
        let tag = u32::from_be_bytes(tag.1[4..8].try_into().unwrap());
        let logged = entries.iter().find(|entry| entry.tag == tag && entry.epoch == FIRST_EPOCH).unwrap();
        assert_opens(&packets, side, &logged.keys);
    }
}

#[test]
#[ignore = "writes docs/internals/set-up.*: see docs/internals/draft-notes.md"]
fn write_the_capture() {
    let mut secured = Secured::unconnected(&Config::mobile(), &[METHOD], &[METHOD]);
    let lines = Arc::clone(&secured.lines);
    let log: Arc<dyn msctp_security::rustls::KeyLog> = Arc::new(Lines(Arc::clone(&lines)));
    secured.log_secrets(&log);
    secured.connect();
    secured.run_for(Span::from_secs(1));
    for side in [Side::A, Side::B] {
        secured.pair.send(side, text_message(TEXTS[side as usize]));
        secured.run_for(Span::from_secs(1));
    }
    let mut capture = Vec::new();
    block(
        &mut capture,
        0x0a0d_0d0a,
        &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat(),
    );
    // LINKTYPE_RAW.
    block(&mut capture, 1, &[101, 0, 0, 0, 0, 0, 0, 0]);
    for flight in secured.pair.log.as_ref().unwrap() {
        let packet = ipv4(flight.from, &flight.bytes);
        let us = flight.sent.as_nanos() / 1000;
        let head = [0, (us >> 32) as u32, us as u32, packet.len() as u32, packet.len() as u32];
        block(&mut capture, 6, &[&head.map(u32::to_le_bytes).concat(), &packet[..]].concat());
    }
    let mut keys: Vec<String> = lines.lock().unwrap().clone();
    keys.sort();
    keys.dedup();
    let keys = keys.join("\n") + "\n";
    let (secret, entries) = secrets(&keys);
    let (text, _) = derived(&packets(&capture), &secret, entries[0].keys.suite());
    let vectors =
        format!("# What docs/internals/draft-notes.md describes, for the set-up in set-up.pcapng.\n{text}");
    fs::write(file("set-up.pcapng"), capture).unwrap();
    fs::write(file("set-up.keys"), keys).unwrap();
    fs::write(file("set-up-vectors.txt"), vectors).unwrap();
}
