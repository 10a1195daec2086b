//! `msctp forward` and `msctp serve --allow` over the loopback interface, as processes.
#![expect(clippy::disallowed_methods, reason = "real connections in real time")]

use crate::client::{Forward, connect};
use crate::library::security;
use crate::process::{HANGS, Server, end, finish, folder, msctp, own_port, run, signal, stderr, wait_for};
use crate::targets::{echo, target};

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Answers with the number of bytes when the client's direction has ended.
fn count() -> SocketAddr {
    target(|mut stream| {
        let len = std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        stream.write_all(len.to_string().as_bytes()).unwrap();
    })
}

fn reset(stream: &TcpStream) {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO)).unwrap();
}

fn serve(rules: &[&str]) -> Server {
    let allow = rules.iter().flat_map(|rule| ["--allow", rule]);
    Server::start(&["serve", "--bind", "127.0.0.1:0"].into_iter().chain(allow).collect::<Vec<_>>())
}

/// Connects with small buffers in the kernel. With the loopback's segments of 64 kB they would hold more than
/// 1.3 MB.
#[cfg(target_os = "linux")]
fn connect_with_small_buffers(at: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(65_536).unwrap();
    socket.set_tcp_mss(1448).unwrap();
    socket.connect(&at.into()).unwrap();
    socket.into()
}

fn local(target: SocketAddr) -> String {
    format!("0:{target}")
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Writes all bytes and ends the direction, while it reads to the end.
fn exchange(stream: &TcpStream, data: &[u8]) -> Vec<u8> {
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut writer = stream;
            writer.write_all(data).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
        });
        let (mut got, mut reader) = (Vec::new(), stream);
        reader.read_to_end(&mut got).unwrap();
        got
    })
}

#[test]
fn connections_carry_their_bytes_and_each_direction_ends_by_itself() {
    let (echo, count) = (echo(), count());
    let server = serve(&[&echo.to_string(), &count.to_string()]);
    let forward = Forward::start(&server.at, &["-L", &local(echo), "-L", &local(count)]);
    let data = bytes(3_000_000);
    thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| assert!(exchange(&connect(forward.at[0]), &data) == data));
        }
        // The answer comes when the end has arrived.
        scope.spawn(|| assert_eq!(exchange(&connect(forward.at[1]), &data), b"3000000"));
        scope.spawn(|| assert_eq!(exchange(&connect(forward.at[1]), b""), b"0"));
    });
}

/// A client keeps its association for this time without a connection.
fn stays_connected(idle: Duration) {
    let echo = echo();
    let server = serve(&[&echo.to_string()]);
    let mut forward = Forward::start(&server.at, &["-L", &local(echo)]);
    thread::sleep(idle);
    assert_eq!(exchange(&forward.connect(0), b"ping"), b"ping");
    forward.child.kill().unwrap();
    let mut rest = String::new();
    forward.errors.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("association lost"), "{rest}");
}

#[test]
fn a_client_without_connections_stays_connected() {
    stays_connected(Duration::from_secs(1));
}

/// A server ends clients that send nothing for 15 s after they connected.
#[test]
#[ignore = "slow: waits 17 seconds"]
fn slow_a_client_without_connections_stays_connected() {
    stays_connected(Duration::from_secs(17));
}

#[test]
fn a_reset_is_a_reset_at_the_other_end() {
    let ((sender, resets), (has_read, read)) = (channel(), channel());
    let target = target(move |mut stream| {
        let mut first = [0; 5];
        stream.read_exact(&mut first).unwrap();
        has_read.send(()).unwrap();
        if &first == b"reset" {
            reset(&stream);
        } else {
            sender.send(stream.read(&mut first).map_err(|error| error.kind())).unwrap();
        }
    });
    let server = serve(&[&target.to_string()]);
    let forward = Forward::start(&server.at, &["-L", &local(target)]);
    let mut stream = forward.connect(0);
    stream.write_all(b"reset").unwrap();
    assert_eq!(stream.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let mut stream = forward.connect(0);
    stream.write_all(b"other").unwrap();
    assert!((0..2).all(|_| read.recv_timeout(HANGS).is_ok()), "both targets have read");
    reset(&stream);
    drop(stream);
    let seen = resets.recv_timeout(HANGS).unwrap();
    assert_eq!(seen, Err(ErrorKind::ConnectionReset));
}

#[test]
fn a_target_that_reads_nothing_stops_only_its_own_connections() {
    let (echo, stuck) = (echo(), target(|_stream| thread::sleep(Duration::from_secs(300))));
    let server = serve(&["127.0.0.1:*"]);
    let forward = Forward::start(&server.at, &["-L", &local(echo), "-L", &local(stuck)]);
    let data = bytes(32 << 20);
    let blocked: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = forward.connect(1);
            stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
            // Socket buffers and one window take some of it.
            assert!(stream.write_all(&data).is_err(), "back-pressure");
            stream
        })
        .collect();
    assert!(exchange(&forward.connect(0), &data[..5_000_000]) == data[..5_000_000]);
    drop(blocked);
}

#[test]
fn targets_outside_the_rules_are_refused_with_the_reason() {
    let (echo, folder) = (echo(), folder("forward-rules"));
    let closed = own_port();
    let rules = folder.join("rules");
    let text = format!(
        "# test\ndeny 127.0.0.9:*\nallow 127.0.0.0/8:{},{}\nallow *:22\n",
        echo.port(),
        closed.port()
    );
    fs::write(&rules, text).unwrap();
    let server = Server::start(&["serve", "--bind", "127.0.0.1:0", "--rules", rules.to_str().unwrap()]);
    let refused = |target: &str| {
        let output = run(&["forward", "-W", target, &server.at]);
        assert_eq!(output.status.code(), Some(1), "{target}");
        stderr(&output)
    };
    for target in [
        format!("127.0.0.9:{}", echo.port()),
        format!("127.0.0.1:{}", echo.port() ^ 1),
        "[::1]:80".to_owned(),
        "localhost:81".to_owned(),
        // Not resolved: no rule could allow it.
        "no-such-host.invalid:81".to_owned(),
    ] {
        let want = format!("msctp: {target}: forbidden by the server's rules: no rule allows it\n");
        assert_eq!(refused(&target), want);
    }
    // Wildcards do not lead to the server itself, by no name or form of its address.
    for own in ["localhost:22", "127.0.0.1:22", "[::ffff:127.0.0.1]:22", "0.0.0.0:22", "[::]:22"] {
        assert!(
            refused(own).contains("only a rule for that address allows it, such as `allow 127.0.0.1:80`"),
            "{own}"
        );
    }
    assert_eq!(refused(&closed.to_string()), format!("msctp: {closed}: connection refused\n"));
    assert!(refused("no-such-host.invalid:22").contains("unknown host: "));
    // The address that is allowed, in another form.
    let forward = Forward::start(&server.at, &["-L", &format!("0:[::ffff:127.0.0.1]:{}", echo.port())]);
    assert_eq!(exchange(&forward.connect(0), b"allowed"), b"allowed");
    let forward = Forward::start(&server.at, &["-L", "0:127.0.0.1:1"]);
    assert_eq!(forward.connect(0).read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    forward.errors.line_with("to 127.0.0.1:1: forbidden by the server's rules: no rule allows it");
}

/// Starts a server that refuses every connection with this text. Returns its address.
fn refusing(text: &'static str) -> SocketAddr {
    use msctp_forward::frame::{self, End, Open, Reason};
    let (sender, at) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let any = "127.0.0.1:0".parse().unwrap();
            let endpoint = msctp::Endpoint::bind(&msctp::EndpointOptions::new([any])).unwrap();
            endpoint.listen(msctp::DEFAULT_PORT, security(), msctp::Config::mobile()).unwrap();
            sender.send(endpoint.local_addresses()[0]).unwrap();
            let association = endpoint.accept(msctp::DEFAULT_PORT).await.unwrap();
            while let Ok(Some(message)) = association.recv().await {
                if message.ppid == frame::OPEN {
                    let connection = Open::decode(&message.data).unwrap().connection;
                    let data = End::new(Reason::Forbidden, text).encode(connection);
                    let (stream, ppid) = (message.stream, frame::END);
                    let end = msctp::OutMessage { stream, ppid, data, ..msctp::OutMessage::default() };
                    association.send(end).await.unwrap();
                }
            }
        });
    });
    at.recv().unwrap()
}

#[test]
fn a_servers_text_cannot_control_the_terminal() {
    let server = refusing("\u{1b}]0;mine\u{7}\u{202e}").to_string();
    let output = run(&["forward", "-W", "a:1", &server]);
    let want = "msctp: a:1: forbidden by the server's rules: \\u{1b}]0;mine\\u{7}\\u{202e}\n";
    assert_eq!((stderr(&output).as_str(), output.status.code()), (want, Some(1)));
    let forward = Forward::start(&refusing("\u{1b}[31m").to_string(), &["-L", "0:a:1"]);
    let _stream = forward.connect(0);
    forward.errors.line_with("to a:1: forbidden by the server's rules: \\u{1b}[31m");
}

#[test]
fn standard_input_and_output_are_a_connection() {
    let count = count();
    let server = serve(&[&count.to_string()]);
    let mut child =
        msctp(&["forward", "-W", &count.to_string(), &server.at]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&bytes(2_000_000)).unwrap();
    let output = finish(child);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"2000000"[..]), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_target_that_resets_after_its_end_is_a_failure() {
    let target = target(|stream| {
        stream.shutdown(Shutdown::Write).unwrap();
        // A server that is held up for longer reads the reset alone, which is the same failure.
        thread::sleep(Duration::from_millis(300));
        reset(&stream);
    });
    let server = serve(&[&target.to_string()]);
    let mut child =
        msctp(&["forward", "-W", &target.to_string(), &server.at]).stdin(Stdio::piped()).spawn().unwrap();
    // Its own direction goes on.
    let input = child.stdin.take();
    let output = finish(child);
    drop(input);
    assert_eq!(stderr(&output), format!("msctp: {target}: connection reset\n"));
    assert_eq!(output.status.code(), Some(1));
}

/// Reconnects to a server that ended, with encryption, or to one that was killed, without.
fn survives_a_restart(killed: bool) {
    let (echo, clear) = (echo(), if killed { &["--insecure"][..] } else { &[] });
    let target = echo.to_string();
    let begin = |at: &str| Server::start(&[&["serve", "--bind", at, "--allow", &target], clear].concat());
    let at = own_port().to_string();
    let server = begin(&at);
    let forward = Forward::start(&server.at, &[&["-L", &local(echo)], clear].concat());
    let mut stream = forward.connect(0);
    stream.write_all(b"x").unwrap();
    stream.read_exact(&mut [0; 1]).unwrap();
    if !killed {
        signal(&server.child, "TERM");
        server.output();
    } else {
        drop(server);
    }
    // The old association gets an ABORT, from the old server or, in clear only, from the new one.
    let _server = begin(&at);
    if killed {
        stream.write_all(b"y").unwrap();
    }
    // A write after the RST would take its error, and the read after that would return the end.
    assert_eq!(stream.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    forward.errors.line_with("association lost: ");
    // It waits for the association.
    assert_eq!(exchange(&forward.connect(0), b"again"), b"again");
    forward.errors.line_with("connected to ");
}

#[test]
fn the_server_listens_for_a_client_where_its_rules_say_so() {
    let (echo, folder) = (echo(), folder("forward-remote"));
    let [open, other, at] = [0; 3].map(|_| own_port());
    let rules = folder.join("rules");
    fs::write(&rules, format!("allow *:*\nlisten 127.0.0.1:{}\n", open.port())).unwrap();
    let begin = |at: &str| Server::start(&["serve", "--bind", at, "--rules", rules.to_str().unwrap()]);
    let at = at.to_string();
    let server = begin(&at);
    let remote = |at: SocketAddr| format!("{}:{echo}", at.port());
    let mut forward = Forward::start(&at, &["-R", &remote(open), "-R", &remote(other), "-R", "1:a:1"]);
    let refused = [0; 2].map(|_| forward.errors.line_with("the server does not listen: "));
    for at in [other.to_string(), "127.0.0.1:1".to_owned()] {
        let why = format!("no rule of the server's --rules file allows `listen {at}`");
        assert!(refused.iter().any(|line| line.ends_with(&why)), "{refused:?}");
    }
    let listening = |forward: &mut Forward| {
        wait_for("the server listens", || {
            assert!(forward.child.try_wait().unwrap().is_none(), "it runs");
            TcpStream::connect(open).is_ok()
        });
        connect(open)
    };
    let data = bytes(2_000_000);
    assert!(exchange(&listening(&mut forward), &data) == data);
    assert!(TcpStream::connect(other).is_err(), "no rule for it");
    // The port is requested anew from a server that was restarted; the connection that was up is reset.
    let mut stream = listening(&mut forward);
    stream.write_all(b"x").unwrap();
    stream.read_exact(&mut [0; 1]).unwrap();
    signal(&server.child, "TERM");
    server.output();
    assert_eq!(stream.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let _server = begin(&at);
    assert_eq!(exchange(&listening(&mut forward), b"again"), b"again");
}

#[test]
fn a_listener_whose_port_is_in_use_is_requested_again() {
    let (echo, folder) = (echo(), folder("forward-remote-again"));
    let rules = folder.join("rules");
    fs::write(&rules, "listen 127.0.0.1:*\n").unwrap();
    let server = Server::start(&["serve", "--bind", "127.0.0.1:0", "--rules", rules.to_str().unwrap()]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let forward = Forward::start(&server.at, &["-R", &format!("{}:{echo}", at.port())]);
    let refused = forward.errors.line_with("the server does not listen: ");
    assert!(refused.ends_with("Address already in use"), "{refused}");
    drop(taken);
    forward.errors.line_with(&format!(": listening at {at}"));
    assert_eq!(exchange(&connect(at), b"now"), b"now");
}

#[test]
fn a_listener_at_the_limit_of_connections_closes_when_the_server_drains() {
    let (echo, folder) = (echo(), folder("forward-remote-drain"));
    let rules = folder.join("rules");
    fs::write(&rules, "listen 127.0.0.1:*\n").unwrap();
    let rules = rules.to_str().unwrap();
    let args = ["--rules", rules, "--max-connections", "1", "--drain", "3600"];
    let server = Server::start(&[&["serve", "--bind", "127.0.0.1:0"], &args[..]].concat());
    let free = own_port();
    let forward = Forward::start(&server.at, &["-R", &format!("{}:{echo}", free.port())]);
    forward.errors.line_with(&format!(": listening at {free}"));
    let mut first = connect(free);
    first.write_all(b"x").unwrap();
    first.read_exact(&mut [0; 1]).unwrap();
    let mut second = connect(free);
    signal(&server.child, "TERM");
    assert_eq!(second.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    // The connection that waited is reset an instant before its listener closes.
    wait_for("the listener closes", || TcpStream::connect(free).is_err());
    first.write_all(b"y").unwrap();
    first.read_exact(&mut [0; 1]).unwrap();
}

#[test]
fn a_killed_clients_port_goes_to_the_same_client_and_to_no_other() {
    let (echo, folder) = (echo(), folder("forward-remote-killed"));
    let rules = folder.join("rules");
    fs::write(&rules, "listen 127.0.0.1:*\n").unwrap();
    let server = Server::start(&["serve", "--bind", "127.0.0.1:0", "--rules", rules.to_str().unwrap()]);
    let free = own_port();
    let remote = format!("{}:{echo}", free.port());
    let args = ["-R", &remote];
    let listening = format!(": listening at {free}");
    let first = Forward::start(&server.at, &args);
    first.errors.line_with(&listening);
    // Alive, it keeps its port, even towards its own key.
    let second = Forward::start(&server.at, &args);
    second.errors.line_with("Address already in use");
    assert_eq!(exchange(&connect(free), b"first"), b"first");
    drop(second);
    drop(first);
    let mut other = msctp(&["forward", &server.at, args[0], args[1]]);
    other.env("XDG_CONFIG_HOME", folder.join("config"));
    let other = Forward::of(&mut other);
    other.errors.line_with("Address already in use");
    // The server keeps the association of a client that is gone for ten minutes, a wait that would hang.
    let third = Forward::start(&server.at, &args);
    third.errors.line_with(&listening);
    assert_eq!(exchange(&connect(free), b"third"), b"third");
}

/// A connection that is cut must not look complete at either end.
#[test]
fn connections_are_reset_when_either_end_of_the_association_ends() {
    for (client_ends, how) in [(false, "TERM"), (true, "TERM"), (true, "KILL")] {
        let ((sender, seen), (has_read, read)) = (channel(), channel());
        let target = target(move |mut stream| {
            stream.write_all(b"x").unwrap();
            stream.read_exact(&mut [0; 1]).unwrap();
            has_read.send(()).unwrap();
            sender.send(stream.read(&mut [0; 1]).map_err(|error| error.kind())).unwrap();
        });
        let server = serve(&[&target.to_string()]);
        let forward = Forward::start(&server.at, &["-L", &local(target)]);
        let mut stream = forward.connect(0);
        stream.write_all(b"x").unwrap();
        stream.read_exact(&mut [0; 1]).unwrap();
        read.recv_timeout(HANGS).unwrap();
        signal(if client_ends { &forward.child } else { &server.child }, how);
        let here = stream.read(&mut [0; 1]).map_err(|error| error.kind());
        assert_eq!(here, Err(ErrorKind::ConnectionReset), "{how}, by the client: {client_ends}");
        // A client that was killed says nothing: the server keeps its connection for ten minutes.
        if how != "KILL" {
            let there = seen.recv_timeout(HANGS).unwrap();
            assert_eq!(there, Err(ErrorKind::ConnectionReset), "{how}, by the client: {client_ends}");
        }
    }
}

#[test]
fn a_used_up_code_is_named_when_the_server_has_a_new_one() {
    let echo = echo();
    let begin = |at: &str, code: &str| {
        Server::start(&["serve", "--bind", at, "--allow", &echo.to_string(), "--code", code])
    };
    let at = own_port().to_string();
    let server = begin(&at, "the-first-one");
    let forward = Forward::start(&server.at, &["-L", &local(echo), "--code", "the-first-one"]);
    signal(&server.child, "TERM");
    server.output();
    let _server = begin(&at, "the-second-one");
    // Before that, the port may be closed.
    let why = "a code is required here; the first association used the code of --code";
    let line = forward.errors.line_with(why);
    let (_, pause) = line.split_once("; trying again in ").expect("another attempt");
    assert!(line.starts_with("cannot connect: ") && pause.ends_with(" s"), "{line}");
}

#[test]
fn new_connections_work_after_the_server_restarts() {
    survives_a_restart(false);
}

#[test]
fn new_connections_work_after_the_server_was_killed_in_clear() {
    survives_a_restart(true);
}

#[test]
fn events_are_json_lines() {
    let count = count();
    let server = serve(&[&count.to_string()]);
    let mut child = msctp(&["forward", &server.at, "--json", "-L", &local(count), "-L", "0:127.0.0.1:1"])
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut next = |name: &str| loop {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let event: serde_json::Value = serde_json::from_str(&line).unwrap();
        if event["event"] == name {
            return event;
        }
        assert_eq!(event["event"], "path", "{event}, before {name}");
    };
    let mut at = || next("listening")["at"].as_str().unwrap().parse::<SocketAddr>().unwrap();
    let (good, bad) = (at(), at());
    assert_eq!(next("connected")["server"], server.at.as_str());
    assert_eq!(exchange(&connect(good), b"12345"), b"5");
    let opened = next("opened");
    assert_eq!(opened["target"], count.to_string());
    let closed = next("closed");
    assert_eq!(
        (&closed["client"], &closed["sent"], &closed["received"]),
        (&opened["client"], &5.into(), &1.into())
    );
    let _ = connect(bad).read(&mut [0; 1]);
    next("opened");
    assert_eq!(next("failed")["why"], "forbidden by the server's rules: no rule allows it");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn wrong_use_gives_one_clear_error() {
    let folder = folder("forward-errors");
    let rules = folder.join("rules");
    fs::write(&rules, "allow localhost:22\npermit all\n").unwrap();
    let rules = rules.to_str().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = format!("{}:a:80", taken.local_addr().unwrap().port());
    let in_rules = format!("{rules}:2: \"permit\" is not a rule: want allow HOST:PORTS, deny");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["forward", "127.0.0.1"], 2, "-D <[BIND:]PORT>|"),
        (
            &["forward", "127.0.0.1", "-D", "0", "--timeout", "-1"],
            2,
            "'-1' for '--timeout <SECONDS>': want 1 to 86400 seconds",
        ),
        (&["serve", "--bind", "127.0.0.1", "--only", "wlan"], 2, "cannot be used with"),
        (&["forward", "127.0.0.1", "-D", "0", "--fixed", "--prefer", "wlan"], 2, "cannot be used with"),
        (&["forward", "127.0.0.1", "-L", "80:x"], 2, "want [BIND:]PORT:HOST:HOSTPORT"),
        (&["forward", "127.0.0.1", "-W", "x:0"], 2, "\"0\" is not a port: want 1 to 65535"),
        (&["forward", "127.0.0.1", "-W", "x:1", "-L", "1:x:1"], 2, "cannot be used with"),
        (&["forward", "127.0.0.1:9", "-L", &busy], 1, "cannot listen: Address already in use"),
        (&["serve", "--allow", "localhost"], 2, "--allow \"localhost\": no port; want HOST:PORTS"),
        (&["serve", "--rules", rules], 2, &in_rules),
        (&["serve", "--rules", "/no/such/file"], 2, "cannot read --rules /no/such/file: No such file"),
        (&["serve", "--allow", "localhost:22", "--keep"], 2, "cannot be used with"),
        (&["serve", "--allow", "localhost:22", "--max-connections", "0"], 2, "want 1 to 8191"),
        (&["serve", "--max-connections", "9"], 2, "--max-connections 9: want it with --allow or --rules"),
        (&["serve", "--json"], 2, "--json: want it with --allow or --rules"),
        (&["forward", "no-such-host.invalid", "-D", "0"], 1, "no-such-host.invalid"),
    ];
    for (args, code, message) in cases {
        let output = run(args);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(*code), "{args:?}: {errors}");
        assert!(errors.contains(message) && !errors.contains("panicked"), "{args:?}: {errors}");
    }
    // Another service names itself in the error.
    let recv = Server::start(&["recv", "--out", folder.to_str().unwrap(), "--bind", "127.0.0.1:0"]);
    let output = run(&["forward", "-W", "127.0.0.1:1", &recv.at]);
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("this is `msctp recv`; `msctp forward` wants `msctp serve --allow` there"),
        "{errors}"
    );
    let server = serve(&["127.0.0.1:1"]);
    let mut other = msctp(&["connect", &server.at]).stdin(Stdio::piped()).spawn().unwrap();
    other.stdin.take().unwrap().write_all(b"anything").unwrap();
    let output = finish(other);
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("this is `msctp serve --allow`; `msctp connect` wants `msctp serve` there"),
        "{errors}"
    );
}

#[test]
fn a_signal_ends_it_and_the_server_is_notified_at_once() {
    let echo = echo();
    let server = serve(&[&echo.to_string()]);
    let mut forward = Forward::start(&server.at, &["-L", &local(echo)]);
    let mut stream = forward.connect(0);
    stream.write_all(b"x").unwrap();
    stream.read_exact(&mut [0; 1]).unwrap();
    signal(&forward.child, "INT");
    assert_eq!(end(&mut forward.child).code(), Some(130));
    let line = server.errors.line_with("association lost: 127.0.0.1");
    assert!(line.contains("interrupted"), "not only a timeout: {line}");
}

/// Answers any HTTP request with `hello`.
fn web() -> SocketAddr {
    target(|stream| {
        let mut lines = BufReader::new(&stream).lines();
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
        let _ = (&stream).write_all(answer);
    })
}

/// Writes a request and reads an answer of this length.
fn ask(mut stream: &TcpStream, request: &[u8], len: usize) -> Vec<u8> {
    let mut answer = vec![0; len];
    stream.write_all(request).unwrap();
    stream.read_exact(&mut answer).unwrap();
    answer
}

#[test]
fn a_proxy_takes_socks5_and_http_on_one_port() {
    let (echo, web) = (echo(), web());
    let server = serve(&["localhost:*", "127.0.0.1:*"]);
    let forward = Forward::start(&server.at, &["-D", "0"]);
    let [high, low] = echo.port().to_be_bytes();
    // Requests by address and by name, with data right behind them.
    let by_address = [&[5, 1, 0, 1, 127, 0, 0, 1, high, low][..], b"early"].concat();
    let by_name = [&[5, 1, 0, 3, 9][..], b"localhost", &[high, low], b"early"].concat();
    for request in [by_address, by_name] {
        let client = forward.connect(0);
        assert_eq!(ask(&client, &[5, 1, 0], 2), [5, 0]);
        assert_eq!(ask(&client, &request, 15), b"\x05\0\0\x01\0\0\0\0\0\0early");
        assert_eq!(exchange(&client, b"and late"), b"and late");
    }
    let connect = |to: &str| format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n");
    let made = "HTTP/1.1 200 Connection established\r\n\r\n";
    let client = forward.connect(0);
    let request = connect(&echo.to_string()) + "early";
    assert_eq!(ask(&client, request.as_bytes(), made.len() + 5), format!("{made}early").as_bytes());
    assert_eq!(exchange(&client, b"and late"), b"and late");
    // The answer for an unreachable target gives the reason as HTTP does.
    let closed = own_port();
    for (to, status) in [("192.0.2.1:80", "403 "), (&closed.to_string(), "502 ")] {
        let answer = ask(&forward.connect(0), connect(to).as_bytes(), 13);
        assert_eq!(answer, format!("HTTP/1.1 {status}").as_bytes());
    }
    let client = forward.connect(0);
    ask(&client, &[5, 1, 0], 2);
    assert_eq!(ask(&client, &[5, 1, 0, 1, 192, 0, 2, 1, 0, 80], 2), [5, 2]);
    assert_eq!(ask(&forward.connect(0), b"GET / HTTP/1.1\r\n\r\n", 12), b"HTTP/1.1 405");
    // Another program's requests.
    let proxy = forward.at[0];
    for proxy in
        [["--socks5-hostname".to_owned(), proxy.to_string()], ["-x".to_owned(), format!("http://{proxy}")]]
    {
        let url = format!("http://localhost:{}/", web.port());
        let mut curl = std::process::Command::new("curl");
        curl.args(["-sS", "--proxytunnel", "--max-time", "120", "--noproxy", ""]).args(&proxy).arg(url);
        match curl.output() {
            Ok(output) => assert_eq!(output.stdout, b"hello", "{}", stderr(&output)),
            Err(error) => eprintln!("left out: curl: {error}"),
        }
    }
}

#[test]
fn a_proxy_relays_datagrams_to_targets_that_the_rules_allow() {
    use std::net::UdpSocket;
    let echo = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = echo.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while let Ok((len, from)) = echo.recv_from(&mut buffer) {
            let _ = echo.send_to(&buffer[..len], from);
        }
    });
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let forbidden = UdpSocket::bind("127.0.0.1:0").unwrap();
    forbidden.set_nonblocking(true).unwrap();
    let server = serve(&[&at.to_string(), &format!("localhost:{}", at.port())]);
    let forward = Forward::start(&server.at, &["-D", "0"]);
    // A proxy's answer: the relay's address, or none because there are too many.
    let request = || {
        let client = forward.connect(0);
        assert_eq!(ask(&client, &[5, 1, 0], 2), [5, 0]);
        match ask(&client, &[5, 3, 0, 1, 0, 0, 0, 0, 0, 0], 10)[..] {
            [5, 0, 0, 1, _, _, _, _, high, low] => {
                let relay = SocketAddr::from(([127, 0, 0, 1], u16::from_be_bytes([high, low])));
                Some((client, relay))
            }
            [5, 1, ..] => None,
            ref other => panic!("{other:?}"),
        }
    };
    let associate = || request().expect("a relay");
    let (client, relay) = associate();
    let program = UdpSocket::bind("127.0.0.1:0").unwrap();
    program.set_read_timeout(Some(HANGS)).unwrap();
    let port = |at: SocketAddr| at.port().to_be_bytes();
    let by_address =
        |to: SocketAddr, data: &[u8]| [&[0, 0, 0, 1, 127, 0, 0, 1], &port(to)[..], data].concat();
    // An invalid datagram of another program does not take the association.
    stranger.send_to(b"x", relay).unwrap();
    let mut buffer = vec![0; 65_536];
    let mut receive = || {
        let (len, from) = program.recv_from(&mut buffer).unwrap();
        assert_eq!(from, relay);
        buffer[..len].to_vec()
    };
    for data in [&b"first"[..], &bytes(60_000)] {
        program.send_to(&by_address(at, data), relay).unwrap();
        assert!(receive() == by_address(at, data));
    }
    // By name; the answer has the address.
    let named = [&[0, 0, 0, 3, 9], &b"localhost"[..], &port(at), b"named"].concat();
    program.send_to(&named, relay).unwrap();
    assert_eq!(receive(), by_address(at, b"named"));
    // Dropped: a fragment, a target without a rule, a datagram of another program.
    let mut fragment = by_address(at, b"fragment");
    fragment[2] = 1;
    program.send_to(&fragment, relay).unwrap();
    program.send_to(&by_address(forbidden.local_addr().unwrap(), b"no"), relay).unwrap();
    stranger.send_to(&by_address(at, b"stranger"), relay).unwrap();
    program.send_to(&by_address(at, b"last"), relay).unwrap();
    assert_eq!(receive(), by_address(at, b"last"));
    let line = server.errors.line_with("no rule allows it");
    assert!(line.contains(&format!(" to UDP {}: ", forbidden.local_addr().unwrap())), "{line}");
    assert!(forbidden.recv_from(&mut [0; 9]).is_err(), "no rule allows it");
    // Each takes sockets of the server, so their number is limited.
    let more: Vec<_> = (1..64).map(|_| associate()).collect();
    assert!(request().is_none());
    drop(more);
    // It ends with the TCP connection; another one begins anew.
    drop(client);
    let mut another = None;
    wait_for("another begins anew", || {
        another = request();
        another.is_some()
    });
    let (_client, relay) = another.expect("it began");
    stranger.send_to(&by_address(at, b"mine"), relay).unwrap();
    stranger.set_read_timeout(Some(HANGS)).unwrap();
    let (len, _) = stranger.recv_from(&mut buffer).unwrap();
    assert_eq!(buffer[..len], by_address(at, b"mine"));
}

/// Returns the resident memory of a process in bytes.
#[cfg(target_os = "linux")]
fn resident(child: &Child) -> i64 {
    let text = fs::read_to_string(format!("/proc/{}/statm", child.id())).unwrap();
    text.split(' ').nth(1).unwrap().parse::<i64>().unwrap() * 4096
}

#[test]
#[cfg(target_os = "linux")]
fn thousands_of_connections_opened_and_closed_leave_the_memory_flat() {
    let echo = echo();
    let server = serve(&[&echo.to_string()]);
    let forward = Forward::start(&server.at, &["-L", &local(echo)]);
    let open = |count: u32| {
        for _ in 0..count {
            // The server takes 500 a second.
            thread::sleep(Duration::from_millis(2));
            assert_eq!(exchange(&forward.connect(0), b"x"), b"x");
        }
        [resident(&server.child), resident(&forward.child)]
    };
    let before = open(500);
    let after = open(2000);
    for (before, after) in before.into_iter().zip(after) {
        // A kilobyte kept of each would be twice that.
        assert!(after - before < 1 << 20, "{before} bytes, then {after}");
    }
}

/// Lets connections carry [`EACH`] bytes on average. Fails if the share of one differs from the mean by more
/// than this.
#[cfg(target_os = "linux")]
fn share_the_rate(connections: usize, per_cent: u64) {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let source = target(|mut stream| while stream.write_all(&[7; 65_536]).is_ok() {});
    let server = serve(&[&source.to_string()]);
    let forward = Forward::start(&server.at, &["-L", &local(source)]);
    let mut counts: Vec<Arc<AtomicU64>> = Vec::new();
    while counts.len() < connections {
        // The server resets a connection while 128 others wait for their target.
        if counts.iter().filter(|count| count.load(Ordering::Relaxed) == 0).count() >= 64 {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        let (count, mut stream) = (Arc::<AtomicU64>::default(), connect_with_small_buffers(forward.at[0]));
        let counted = Arc::clone(&count);
        thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while let Ok(len) = stream.read(&mut buffer) {
                counted.fetch_add(len as u64, Ordering::Relaxed);
            }
        });
        counts.push(count);
    }
    let read = || counts.iter().map(|count| count.load(Ordering::Relaxed)).collect::<Vec<_>>();
    let wait = |enough: &dyn Fn(&[u64]) -> bool| {
        let begin = Instant::now();
        loop {
            let counts = read();
            if enough(&counts) {
                return counts;
            }
            assert!(begin.elapsed() < Duration::from_secs(300), "{counts:?}");
            thread::sleep(Duration::from_millis(20));
        }
    };
    // All have begun.
    let before = wait(&|counts| counts.iter().all(|&count| count > 200_000));
    let sum: u64 = before.iter().sum();
    let after = wait(&|counts| counts.iter().sum::<u64>() > sum + connections as u64 * EACH);
    let mut shares: Vec<u64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    shares.sort_unstable();
    let mean = shares.iter().sum::<u64>() / connections as u64;
    eprintln!("mean {mean}, least {}, most {}", shares[0], shares[connections - 1]);
    let within = mean * (100 - per_cent)..=mean * (100 + per_cent);
    assert!(shares.iter().all(|share| within.contains(&(share * 100))), "{shares:?}");
}

/// Bytes of each connection. A reader that was late when the count began catches up what its buffers hold:
/// less than 5 %.
#[cfg(target_os = "linux")]
const EACH: u64 = 5_000_000;

/// Readers that a busy machine holds up differ by more than 10 %.
#[test]
#[cfg(target_os = "linux")]
fn twenty_connections_share_the_rate_within_thirty_per_cent() {
    share_the_rate(20, 30);
}

#[test]
#[cfg(target_os = "linux")]
#[ignore = "slow: two and a half gigabytes"]
fn slow_five_hundred_connections_share_the_rate_within_ten_per_cent() {
    share_the_rate(500, 10);
}
