//! Key managers against other TLS stacks: a plain connection of rustls, and OpenSSL's `s_server` and
//! `s_client`, whose keys are computed here from the secret that they log.
//!
//! The tests with OpenSSL are skipped where it is not installed.
#![expect(clippy::disallowed_methods, reason = "waits for another process")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use msctp_protection::{
    CipherSuite, End, FIRST_EPOCH, Hash, KeyContext, KeyMaterial, Opener, Ring, Sealer, Secret,
};
use msctp_security::AnyPeer;
use msctp_units::Time;
use sha2::{Digest, Sha256, Sha384};

use crate::support;

use support::{BINDING, CLIENT_PARAMETER, Party, SERVER_PARAMETER, config, provider};

const LABEL: &str = "EXPORTER_TLS_FOR_DTLS_IN_SCTP";

/// Builds the exporter context of primary keys byte by byte (draft-porfiri-tsvwg-sctp-dtls-handshake-01
/// §5.2).
fn context(direction: u8, key_type: u8) -> Vec<u8> {
    [&[direction, 0, key_type], CLIENT_PARAMETER, SERVER_PARAMETER, BINDING.bytes()].concat()
}

/// Collects key material from an exporter.
fn key_material(suite: CipherSuite, export: impl Fn(&[u8], usize) -> Vec<u8>, direction: u8) -> KeyMaterial {
    let part = |key_type, len| Secret::from(&export(&context(direction, key_type), len)[..]);
    KeyMaterial::new(suite, part(0, suite.key_len()), part(1, suite.key_len()), part(2, 12)).expect("lengths")
}

/// Asserts that the other stack's keys equal those of this end, in both directions.
fn assert_same_keys(
    ours: &mut Party,
    end: End,
    suite: CipherSuite,
    export: impl Fn(&[u8], usize) -> Vec<u8>,
) {
    let (from_us, from_them) = if end == End::Client { (0, 1) } else { (1, 0) };
    let mut opener = Opener::default();
    let keys = key_material(suite, &export, from_us);
    opener.establish(KeyContext::Primary, FIRST_EPOCH, &keys, &Ring).unwrap();
    let mut packet = ours.seal(1);
    // The first record may have been a message of key management, which this test does not seal.
    let opened = opener.open(&mut packet).expect("sealed by the same keys");
    assert_eq!(packet[opened.chunks], [1; 4]);

    let mut sealer = Sealer::new();
    let keys = key_material(suite, &export, from_them);
    sealer.establish(KeyContext::Primary, FIRST_EPOCH, &keys, &Ring).unwrap();
    let mut packet = [&[0; 8][..], &[2; 4], &[0; 20]].concat();
    sealer.seal(&mut packet).unwrap();
    assert!(ours.opens(packet, 2), "the same keys open");
}

/// Returns the TLS records that this end sends, without the surrounding messages.
fn records(party: &mut Party) -> Vec<u8> {
    let messages = std::mem::take(&mut party.sent);
    messages
        .into_iter()
        .filter(|(m, _)| m[0] == FIRST_EPOCH as u8)
        .flat_map(|(m, _)| m[1..].to_vec())
        .collect()
}

fn receive(party: &mut Party, records: &[u8]) {
    party.receive(Time::ZERO, &[&[FIRST_EPOCH as u8], records].concat());
}

/// Returns the server's message that it protects packets.
fn protection_established(party: &mut Party) {
    party.receive(Time::ZERO, &[0x83, 0x01]);
}

#[test]
fn a_plain_rustls_server_has_the_same_keys() {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::default().self_signed(&key).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let server = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let mut server = rustls::ServerConnection::new(Arc::new(server)).unwrap();
    let mut client = Party::of(&config(AnyPeer), End::Client);
    for _ in 0..2 {
        let mut records = &records(&mut client)[..];
        while !records.is_empty() {
            server.read_tls(&mut records).unwrap();
            server.process_new_packets().unwrap();
        }
        let mut flight = Vec::new();
        server.write_tls(&mut flight).unwrap();
        receive(&mut client, &flight);
    }
    protection_established(&mut client);
    assert_eq!(client.error, None);
    let suite = server.negotiated_cipher_suite().unwrap().suite();
    let suite = CipherSuite::from_code(suite.into()).unwrap();
    assert_same_keys(&mut client, End::Client, suite, |context, len| {
        server.export_keying_material(vec![0; len], LABEL.as_bytes(), Some(context)).unwrap()
    });
}

/// Computes HKDF-Expand-Label (RFC 8446 §7.1) of one block, with HMAC alone.
fn expand_label<M: Mac + KeyInit>(secret: &[u8], label: &str, context: &[u8], len: usize) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let mut mac = <M as KeyInit>::new_from_slice(secret).unwrap();
    mac.update(&(len as u16).to_be_bytes());
    for part in [label.as_bytes(), context] {
        mac.update(&[part.len() as u8]);
        mac.update(part);
    }
    mac.update(&[1]);
    mac.finalize().into_bytes()[..len].to_vec()
}

/// Computes the exporter of RFC 8446 §7.5.
pub(crate) fn export<M: Mac + KeyInit, D: Digest>(secret: &[u8], context: &[u8], len: usize) -> Vec<u8> {
    let derived = expand_label::<M>(secret, LABEL, &D::digest([]), <D as Digest>::output_size());
    expand_label::<M>(&derived, "exporter", &D::digest(context), len)
}

/// A running program, killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prepares OpenSSL with a key, a certificate and a file for secrets. Returns `None` if it is not installed.
fn openssl(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("openssl-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let made = Command::new("openssl")
        .current_dir(&folder)
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-keyout", "key.pem", "-out", "certificate.pem", "-subj", "/CN=openssl", "-days", "2"])
        .output();
    match made {
        Ok(made) if made.status.success() => Some(folder),
        Ok(made) => panic!("openssl req: {}", String::from_utf8_lossy(&made.stderr)),
        Err(_) => {
            eprintln!("openssl is not installed: not checked");
            None
        }
    }
}

/// Starts `openssl COMMAND` with TLS 1.3 and one cipher suite.
fn start(folder: &Path, suite: CipherSuite, command: &[&str]) -> Running {
    let child = Command::new("openssl")
        .current_dir(folder)
        .args(command)
        .args(["-tls1_3", "-ciphersuites", &suite.to_string(), "-keylogfile", "secrets"])
        .args(["-cert", "certificate.pem", "-key", "key.pem"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    Running(child.expect("openssl starts"))
}

/// Reads a TLS record.
fn read_record(stream: &mut TcpStream) -> Vec<u8> {
    let mut record = vec![0; 5];
    stream.read_exact(&mut record).expect("a record's header");
    let mut content = vec![0; usize::from(u16::from_be_bytes([record[3], record[4]]))];
    stream.read_exact(&mut content).expect("a record");
    record.append(&mut content);
    record
}

/// Runs this end over a TCP connection until it is done.
fn converse(party: &mut Party, stream: &mut TcpStream, done: impl Fn(&Party) -> bool) {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    loop {
        stream.write_all(&records(party)).unwrap();
        assert_eq!(party.error, None);
        if done(party) {
            return;
        }
        let record = read_record(stream);
        receive(party, &record);
    }
}

/// Returns the exporter secret that OpenSSL logged.
fn exporter_secret(folder: &Path) -> Vec<u8> {
    for _ in 0..200 {
        let log = fs::read_to_string(folder.join("secrets")).unwrap_or_default();
        let line = log.lines().find(|line| line.starts_with("EXPORTER_SECRET "));
        if let Some(secret) = line.and_then(|line| line.split(' ').nth(2)) {
            let digit = |i: usize| u8::from_str_radix(&secret[2 * i..2 * i + 2], 16).expect("hexadecimal");
            return (0..secret.len() / 2).map(digit).collect();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("OpenSSL logged no exporter secret");
}

fn assert_openssl_has_the_same_keys(party: &mut Party, end: End, suite: CipherSuite, folder: &Path) {
    let secret = exporter_secret(folder);
    assert_same_keys(party, end, suite, |context, len| match suite.hash() {
        Hash::Sha256 => export::<Hmac<Sha256>, Sha256>(&secret, context, len),
        Hash::Sha384 => export::<Hmac<Sha384>, Sha384>(&secret, context, len),
    });
}

#[test]
fn openssls_server_has_the_same_keys() {
    for suite in CipherSuite::ALL {
        let Some(folder) = openssl(&format!("server-{:x}", suite.code())) else { return };
        let accept = ["s_server", "-accept", "127.0.0.1:0", "-Verify", "1", "-naccept", "1"];
        let mut server = start(&folder, suite, &accept);
        let lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
        let address =
            lines.map_while(Result::ok).find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned));
        let mut stream = TcpStream::connect(address.expect("an address")).unwrap();

        let mut client = Party::of(&config(AnyPeer), End::Client);
        converse(&mut client, &mut stream, |client| client.opener.is_ready());
        protection_established(&mut client);
        assert_eq!(client.error, None);
        assert_openssl_has_the_same_keys(&mut client, End::Client, suite, &folder);
    }
}

#[test]
fn openssls_client_has_the_same_keys() {
    for suite in CipherSuite::ALL {
        let Some(folder) = openssl(&format!("client-{:x}", suite.code())) else { return };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let _client = start(&folder, suite, &["s_client", "-connect", &address]);
        let (mut stream, _) = listener.accept().unwrap();

        let mut server = Party::of(&config(AnyPeer), End::Server);
        converse(&mut server, &mut stream, |server| !server.protected.is_empty());
        assert_openssl_has_the_same_keys(&mut server, End::Server, suite, &folder);
    }
}
