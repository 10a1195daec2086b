//! Encryption by the commands: known hosts, codes, accepted clients, what is in clear, key logs.
#![expect(clippy::disallowed_methods, reason = "real associations in real time")]

use crate::process;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use process::{HANGS, Server, finish, folder, msctp, stderr};

const LOOPBACK: [&str; 2] = ["--bind", "127.0.0.1:0"];
const TEXT: &str = "nobody else may read this line";

/// A user with a key and known hosts of their own.
struct User(PathBuf);

impl User {
    fn new(name: &str) -> Self {
        Self(folder(&format!("security-{name}")))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = msctp(args);
        command.env("XDG_CONFIG_HOME", &self.0);
        command
    }

    fn serve(&self, args: &[&str]) -> Server {
        let mut server = Server::start_as(self.command(&[args, &LOOPBACK].concat()));
        server.end_input();
        server
    }

    /// Connects, sends the text, and waits for the end.
    fn connect(&self, server: &Server, args: &[&str]) -> Output {
        let mut command = self.command(&[&["connect", &server.at, "--timeout", "600"], args].concat());
        let mut client = command.stdin(Stdio::piped()).spawn().unwrap();
        // A client that failed reads nothing.
        let _ = client.stdin.take().unwrap().write_all(TEXT.as_bytes());
        finish(client)
    }

    fn fingerprint(&self) -> String {
        let output = self.command(&["identity"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
    }

    fn known_hosts(&self) -> String {
        fs::read_to_string(self.0.join("msctp/known_hosts")).unwrap_or_default()
    }
}

fn line(server: &mut Server) -> String {
    let mut line = String::new();
    server.errors.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

fn fails(output: &Output, message: &str) {
    assert_eq!(output.status.code(), Some(1), "{}", stderr(output));
    assert!(stderr(output).contains(message), "{}", stderr(output));
}

#[test]
fn a_host_is_trusted_the_first_time_and_a_changed_key_is_refused() {
    let (alice, bob, mallory) = (User::new("alice"), User::new("bob"), User::new("mallory"));
    let mut server = bob.serve(&["serve", "--keep"]);
    let key = line(&mut server).strip_prefix("key ").unwrap().to_owned();
    assert_eq!(key, bob.fingerprint());
    let first = alice.connect(&server, &[]);
    assert!(first.status.success(), "{}", stderr(&first));
    let told = format!("{} is new: its key {key} is now in ", server.at);
    let said = String::from_utf8_lossy(&first.stderr);
    assert!(said.contains(&told), "{said}");
    assert_eq!(alice.known_hosts(), format!("{} {key}\n", server.at));
    let again = alice.connect(&server, &[]);
    assert!(again.status.success());
    assert!(!String::from_utf8_lossy(&again.stderr).contains("is new"));
    // Somebody else at that address.
    let at = server.at.clone();
    drop(server);
    let other = Server::start_as(mallory.command(&["serve", "--keep", "--bind", &at]));
    let refused = alice.connect(&other, &[]);
    fails(&refused, &format!("the key of {at} has changed: "));
    assert!(
        stderr(&refused).contains(&format!("run `msctp identity --forget {at}`")),
        "{}",
        stderr(&refused)
    );
    assert!(alice.command(&["identity", "--forget", &at]).status().unwrap().success());
    let accepted = alice.connect(&other, &[]);
    assert!(accepted.status.success(), "{}", stderr(&accepted));
    assert_eq!(alice.known_hosts(), format!("{at} {}\n", mallory.fingerprint()));
}

#[test]
fn a_server_accepts_only_named_clients() {
    let (alice, bob, carol) = (User::new("named"), User::new("only"), User::new("stranger"));
    let list = bob.0.join("clients");
    fs::write(&list, format!("# friends\n\n{} alice\n", alice.fingerprint())).unwrap();
    let mut server = bob.serve(&["serve", "--keep", "--only-clients", list.to_str().unwrap()]);
    line(&mut server);
    assert!(alice.connect(&server, &[]).status.success());
    fails(&carol.connect(&server, &[]), "your key is not accepted here");
    let said = line(&mut server);
    assert!(said.contains(&format!("rejected: the peer's key is {}", carol.fingerprint())), "{said}");
    for (given, message) in [
        (
            "SHA256:short",
            "--only-clients: \"SHA256:short\" is not a fingerprint: want SHA256: and 43 characters",
        ),
        ("/no/such/file", "--only-clients /no/such/file"),
    ] {
        let output = bob.command(&["serve", "--only-clients", given]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

#[test]
fn a_code_serves_one_client_and_a_wrong_one_burns_it() {
    let (alice, bob, carol) = (User::new("code-alice"), User::new("code-bob"), User::new("code-carol"));
    let mut server = bob.serve(&["serve", "--keep", "--code"]);
    line(&mut server);
    let code = |said: &str| said.rsplit(' ').next().unwrap().to_owned();
    let first = line(&mut server);
    assert!(first.starts_with("code, for one client: "), "{first}");
    fails(&carol.connect(&server, &[]), "a code is required here");
    assert!(
        line(&mut server)
            .ends_with("rejected: the peer does not use a code: want one at both ends or at neither")
    );
    fails(&carol.connect(&server, &["--code", "babab-babab"]), "wrong code: it is used up");
    assert!(line(&mut server).contains("rejected: the peer has a different code"));
    let second = line(&mut server);
    assert!(second.starts_with("a client had a wrong code; the new code is: "), "{second}");
    assert_ne!(code(&first), code(&second));
    fails(&alice.connect(&server, &["--code", &code(&first)]), "wrong code: it is used up");
    line(&mut server);
    let third = code(&line(&mut server));
    let right = alice.connect(&server, &["--code", &third.to_uppercase()]);
    assert!(right.status.success(), "{}", stderr(&right));
    assert!(line(&mut server).contains(&format!("with the key {}", alice.fingerprint())));
    // Its user may come again, nobody else, and the code is of no more use. It proved the server's key.
    assert!(alice.known_hosts().contains(&bob.fingerprint()), "{}", alice.known_hosts());
    let again = alice.connect(&server, &[]);
    assert!(again.status.success() && !stderr(&again).contains("is new"), "{}", stderr(&again));
    fails(&carol.connect(&server, &[]), "your key is not accepted here");
    line(&mut server);
    fails(&carol.connect(&server, &["--code", &third]), "no code is expected here");
    // Somebody guesses.
    let server = bob.serve(&["serve", "--keep", "--code"]);
    for _ in 0..5 {
        fails(&carol.connect(&server, &["--code", "babab-babab"]), "wrong code: it is used up");
    }
    let (exit, _, errors) = server.output();
    assert_eq!(exit, Some(1));
    assert!(errors.contains("5 clients had a wrong code"), "{errors}");
    // A code that was given cannot be replaced.
    let server = bob.serve(&["serve", "--keep", "--code", "agreed-on"]);
    fails(&carol.connect(&server, &["--code", "guessed"]), "wrong code: it is used up");
    let (exit, _, errors) = server.output();
    assert_eq!(exit, Some(1));
    assert!(
        errors.contains("--code: a client had a wrong code, which invalidates this one: agree on a new code"),
        "{errors}"
    );
    let short = bob.command(&["serve", "--code", "foo"]).output().unwrap();
    assert_eq!(short.status.code(), Some(2));
    assert!(stderr(&short).contains("--code: 3 characters, which is easily guessed"), "{}", stderr(&short));
    let none = alice.command(&["connect", "127.0.0.1", "--code"]).output().unwrap();
    assert!(stderr(&none).contains("--code: want the PHRASE that the server prints"), "{}", stderr(&none));
}

#[test]
fn clear_and_encrypted_ends_refuse_each_other() {
    let user = User::new("clear");
    let psk = user.0.join("psk");
    fs::write(&psk, "0123456789abcdef0123456789abcdef").unwrap();
    fs::set_permissions(&psk, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let psk: &[&str] = &["--psk", psk.to_str().unwrap()];
    let insecure: &[&str] = &["--insecure"];
    for (there, here) in [(insecure, &[][..]), (&[], insecure), (psk, &[]), (&[], psk)] {
        let mut server = user.serve(&[&["serve", "--keep"][..], there].concat());
        let refused = user.connect(&server, here);
        fails(&refused, &format!("{}: the ends cannot agree on encryption: this end ", server.at));
        let other = match there {
            ["--insecure"] => "and the other end has --insecure",
            _ if here == insecure => "and the other end encrypts",
            ["--psk", _] => "and the other end has --psk",
            _ => "and the other end has no --psk",
        };
        assert!(stderr(&refused).contains(other), "{other}: {}", stderr(&refused));
        let rejected = loop {
            let line = line(&mut server);
            assert!(!line.is_empty(), "the server says that it rejected the client");
            if line.contains("rejected: ") {
                break line;
            }
        };
        assert!(
            rejected.contains("cannot agree on encryption: the peer offers ")
                && rejected.contains("; this end "),
            "{rejected}"
        );
        assert!(stderr(&refused).contains(
            "or an offer was changed on the way; want the same of --psk, --code or none of them at both ends"
        ));
    }
    let mut server = user.serve(&["serve", "--keep", "--insecure"]);
    assert_eq!(line(&mut server), "--insecure: nothing is encrypted");
    assert!(user.connect(&server, insecure).status.success());
    for (args, message) in [
        (&["--insecure", "--code", "x"][..], "cannot be used with"),
        (&["--insecure", "--psk", "x"], "cannot be used with"),
        (&["--code", "x", "--psk", "x"], "cannot be used with"),
        (&["--insecure", "--keylog", "x"], "cannot be used with"),
        (&["--key", "x"], "--insecure"),
    ] {
        let output = user.command(&[&["connect", "127.0.0.1"], args].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn a_key_log_that_cannot_be_written_is_reported_once_and_ends_nothing() {
    let user = User::new("full");
    let server = user.serve(&["serve"]);
    let output = user.connect(&server, &["--keylog", "/dev/full"]);
    let errors = stderr(&output);
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors.matches("warning: cannot write --keylog /dev/full").count(), 1, "{errors}");
    assert_eq!(server.output().1, TEXT);
}

#[test]
fn json_names_the_security() {
    let user = User::new("json");
    let file = user.0.join("file");
    fs::write(&file, TEXT).unwrap();
    for (args, name) in [(&[][..], "tls"), (&["--insecure"], "none"), (&["--code", "agreed-on"], "code")] {
        let out = user.0.join(format!("out-{name}"));
        fs::create_dir(&out).unwrap();
        let receive = ["recv", "--once", "--json", "--out", out.to_str().unwrap()];
        let server = user.serve(&[&receive, args].concat());
        let mut send =
            user.command(&[&["send", file.to_str().unwrap(), &server.at, "--json"], args].concat());
        let sent = send.output().unwrap();
        assert!(sent.status.success(), "{}", stderr(&sent));
        let (exit, received, errors) = server.output();
        assert_eq!(exit, Some(0), "{errors}");
        for text in [String::from_utf8(sent.stdout).unwrap(), received] {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["security"], name);
            let key = if name == "none" { serde_json::Value::Null } else { user.fingerprint().into() };
            assert_eq!(value["peer_key"], key);
        }
    }
}

/// A packet: source, destination, bytes.
type Packet = (SocketAddr, SocketAddr, Vec<u8>);

/// Forwards packets between a client and `server`, and keeps copies.
fn relay(server: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<Packet>>>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    let packets: Arc<Mutex<Vec<_>>> = Arc::default();
    let copies = Arc::clone(&packets);
    std::thread::spawn(move || {
        socket.set_read_timeout(Some(HANGS)).unwrap();
        let (mut client, mut buffer) = (None, vec![0; 65_536]);
        while let Ok((len, from)) = socket.recv_from(&mut buffer) {
            if from != server {
                client = Some(from);
            }
            let to = if from == server { client.unwrap() } else { server };
            copies.lock().unwrap().push((from, to, buffer[..len].to_vec()));
            let _ = socket.send_to(&buffer[..len], to);
        }
    });
    (at, packets)
}

/// Writes packets of UDP over IPv4 to a file.
fn write_pcap(path: &std::path::Path, packets: &[Packet]) {
    use pcap_file::DataLink;
    use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
    let header = PcapHeader { datalink: DataLink::RAW, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(fs::File::create(path).unwrap(), header).unwrap();
    for (i, (_, to, payload)) in packets.iter().enumerate() {
        // One port by which decoders know SCTP over UDP.
        let builder =
            etherparse::PacketBuilder::ipv4([127, 0, 0, 1], [127, 0, 0, 1], 64).udp(9899, to.port());
        let mut bytes = Vec::new();
        builder.write(&mut bytes, payload).unwrap();
        let len = u32::try_from(bytes.len()).unwrap();
        writer.write_packet(&PcapPacket::new(Duration::from_millis(i as u64), len, &bytes)).unwrap();
    }
}

#[test]
fn a_key_log_decrypts_a_capture_that_shows_nothing_without_it() {
    let user = User::new("keylog");
    let (log, tls_log) = (user.0.join("keys"), user.0.join("tls-keys"));
    let server = user.serve(&["serve"]);
    let (at, packets) = relay(server.at.parse().unwrap());
    let args = ["connect", &at.to_string(), "--keylog", log.to_str().unwrap()];
    let mut client =
        user.command(&args).env("SSLKEYLOGFILE", &tls_log).stdin(Stdio::piped()).spawn().unwrap();
    client.stdin.take().unwrap().write_all(TEXT.as_bytes()).unwrap();
    let output = finish(client);
    assert!(output.status.success(), "{}", stderr(&output));
    let (_, received, _) = server.output();
    assert_eq!(received, TEXT);
    let contains = |bytes: &[u8]| bytes.windows(TEXT.len()).any(|window| window == TEXT.as_bytes());
    let packets = packets.lock().unwrap().clone();
    assert!(packets.len() > 8 && !packets.iter().any(|(_, _, bytes)| contains(bytes)));
    let keys = fs::read_to_string(&log).unwrap();
    assert!(
        keys.lines().count() == 2 && keys.lines().all(|line| line.starts_with("SCTP_DTLS_CHUNK ")),
        "{keys}"
    );
    assert!(fs::read_to_string(&tls_log).unwrap().contains("EXPORTER_SECRET "));
    let (sealed, opened) = (user.0.join("sealed.pcap"), user.0.join("opened.pcap"));
    write_pcap(&sealed, &packets);
    let paths = [&sealed, &log, &opened].map(|path| path.to_str().unwrap());
    let decrypt = ["decrypt", paths[0], "--keys", paths[1], "--out", paths[2]];
    let output = user.command(&decrypt).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let mut bytes = Vec::new();
    fs::File::open(&opened).unwrap().read_to_end(&mut bytes).unwrap();
    assert!(contains(&bytes), "{}", String::from_utf8_lossy(&output.stdout));
    tshark_reads(&opened);
}

/// Searches the text with tshark, if that is installed.
fn tshark_reads(capture: &std::path::Path) {
    let filter = format!("sctp.data_payload_proto_id && frame contains \"{TEXT}\"");
    let output = Command::new("tshark").args(["-r", capture.to_str().unwrap(), "-Y", &filter]).output();
    match output {
        Ok(output) => assert!(!output.stdout.is_empty(), "{}", stderr(&output)),
        Err(error) => {
            assert!(std::env::var_os("MSCTP_NEED_TSHARK").is_none(), "{error}");
            eprintln!("left out: wants tshark");
        }
    }
}
