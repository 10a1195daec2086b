//! Connections of `msctp forward` survive moves, and keystrokes do not wait for a download.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{ChildStderr, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::net::{self, Net, SERVER};
use super::{Guard, Moments, Move, spawn};

/// Bytes of the download: 8 s at the slower link's rate.
const LEN: usize = 16_000_000;

/// Listens in the server's namespace, and passes each connection to `serve`.
fn target(net: &Net, serve: impl Fn(TcpStream) + Clone + Send + 'static) -> String {
    let listener = net.server.within(|| TcpListener::bind("127.0.0.1:0").expect("bound"));
    let at = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream.expect("accepted")));
        }
    });
    at
}

#[test]
fn a_download_and_a_session_survive_moves_and_the_session_stays_quick() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    net.mobile.run("ip link set lo up");
    net.carrier("cell0", true);
    let byte = |n: usize| (n as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0];
    let download = target(&net, move |mut stream| {
        let data: Vec<u8> = (0..LEN).map(byte).collect();
        let _ = stream.write_all(&data);
    });
    let session = target(&net, |stream| {
        let _ = stream.set_nodelay(true);
        let _ = std::io::copy(&mut &stream, &mut &stream);
    });
    let mut server = Guard(spawn(&net.server, &["serve", "--bind", SERVER, "--allow", "127.0.0.1:*"]));
    let mut errors = BufReader::new(server.0.stderr.take().expect("piped"));
    errors.read_line(&mut String::new()).expect("it listens");
    let (first, second) = (format!("0:{download}"), format!("0:{session}"));
    let mut forward = Guard(spawn(&net.mobile, &["forward", "-L", &first, "-L", &second, SERVER]));
    let mut lines = BufReader::new(forward.0.stderr.take().expect("piped")).lines();
    let mut connect = || {
        let mut lines = lines.by_ref().map(|line| line.expect("UTF-8"));
        let line = lines.find(|line| !line.contains(" is new: ")).expect("a line");
        let (_, at) = line.split_once(": listening at ").unwrap_or_else(|| panic!("{line}"));
        net.mobile.within(|| TcpStream::connect(at).expect("connected"))
    };
    let (mut download, mut session) = (connect(), connect());
    session.set_nodelay(true).expect("set");
    session.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    let reader = thread::spawn(move || {
        let mut got = Vec::with_capacity(LEN);
        download.read_to_end(&mut got).expect("the end");
        got
    });
    let mut key = |within: &str| {
        let begin = Instant::now();
        session.write_all(b"k").expect(within);
        session.read_exact(&mut [0; 1]).expect(within);
        begin.elapsed()
    };
    thread::sleep(Duration::from_secs(1));
    let mut times: Vec<Duration> = (0..50)
        .map(|_| {
            thread::sleep(Duration::from_millis(20));
            key("beside the download")
        })
        .collect();
    times.sort_unstable();
    // The download alone fills a send buffer of 4 MiB: 2 s at this rate.
    eprintln!("session beside the download: median {:?}, longest {:?}", times[25], times[49]);
    assert!(times[25] < Duration::from_millis(150), "{times:?}");
    let mut moments = Moments(3);
    for (kind, from, to) in
        [(Move::MakeBeforeBreak, "cell0", "wlan0"), (Move::BreakBeforeMake, "wlan0", "cell0")]
    {
        kind.make(&net.server, from, to, &mut moments);
        key("after a move");
    }
    let got = reader.join().expect("no panic");
    assert!(got.len() == LEN && got.iter().enumerate().all(|(n, is)| *is == byte(n)), "{} bytes", got.len());
    key("after the download");
}

/// A bulk connection delays an interactive one by at most 20 ms on a path of 20 Mbps.
#[test]
fn a_download_delays_a_session_by_less_than_20_ms_at_20_mbps() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    net.mobile.run("ip link set lo up");
    for host in [&net.mobile, &net.server] {
        host.run("tc qdisc replace dev cell0 root tbf rate 20mbit burst 16kb latency 100ms");
    }
    net.carrier("cell0", true);
    let download = target(&net, |mut stream| while stream.write_all(&[7; 16_384]).is_ok() {});
    let session = target(&net, |stream| {
        let _ = stream.set_nodelay(true);
        let _ = std::io::copy(&mut &stream, &mut &stream);
    });
    let mut server = Guard(spawn(&net.server, &["serve", "--bind", SERVER, "--allow", "127.0.0.1:*"]));
    let mut errors = BufReader::new(server.0.stderr.take().expect("piped"));
    errors.read_line(&mut String::new()).expect("it listens");
    let (first, second) = (format!("0:{download}"), format!("0:{session}"));
    let mut forward = Guard(spawn(&net.mobile, &["forward", "-L", &first, "-L", &second, SERVER]));
    let mut lines = BufReader::new(forward.0.stderr.take().expect("piped")).lines();
    let mut at = || listening(&mut lines);
    let (download, session) = (at(), at());
    let connect = |at: SocketAddr| net.mobile.within(move || TcpStream::connect(at).expect("connected"));
    let mut session = connect(session);
    session.set_nodelay(true).expect("set");
    session.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    let mut delays = || {
        let mut times: Vec<Duration> = (0..100)
            .map(|_| {
                thread::sleep(Duration::from_millis(20));
                let begin = Instant::now();
                session.write_all(b"k").expect("written");
                session.read_exact(&mut [0; 1]).expect("echoed");
                begin.elapsed()
            })
            .collect();
        times.sort_unstable();
        (times[49], times[94])
    };
    let received = Arc::new(AtomicU64::new(0));
    // A busy machine may delay either measurement.
    let is_quick = (0..3).any(|_| {
        let alone = delays();
        let mut download = connect(download);
        let (count, over) = (Arc::clone(&received), download.try_clone().expect("another handle"));
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(len @ 1..) = download.read(&mut buffer) {
                count.fetch_add(len as u64, Ordering::Relaxed);
            }
        });
        thread::sleep(Duration::from_secs(3));
        let (before, begin) = (received.load(Ordering::Relaxed), Instant::now());
        let beside = delays();
        let rate = (received.load(Ordering::Relaxed) - before) as f64 * 8.0 / begin.elapsed().as_secs_f64();
        eprintln!("session: median, p95 {alone:?} alone, {beside:?} beside {:.1} Mbit/s", rate / 1e6);
        assert!(rate > 14e6, "the download fills the path: {rate} bit/s");
        over.shutdown(Shutdown::Both).expect("shut down");
        thread::sleep(Duration::from_millis(500));
        let added = Duration::from_millis(20);
        beside.0 < alone.0 + added && beside.1 < alone.1 + added
    });
    assert!(is_quick, "a download adds more than 20 ms to the session's round trips");
}

#[test]
fn a_flood_of_datagrams_from_a_target_leaves_connections_their_share() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    net.mobile.run("ip link set lo up");
    net.carrier("cell0", true);
    let download = target(&net, |mut stream| while stream.write_all(&[7; 16_384]).is_ok() {});
    let flood = net.server.within(|| UdpSocket::bind("127.0.0.1:0").expect("bound"));
    let port = flood.local_addr().expect("an address").port();
    let over = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&over);
    thread::spawn(move || {
        let (_, from) = flood.recv_from(&mut [0; 2048]).expect("a datagram");
        // 40 Mbit/s.
        while !ended.load(Ordering::Relaxed) {
            for _ in 0..21 {
                let _ = flood.send_to(&[3; 1200], from);
            }
            thread::sleep(Duration::from_millis(5));
        }
    });
    let mut server = Guard(spawn(&net.server, &["serve", "--bind", SERVER, "--allow", "127.0.0.1:*"]));
    let mut errors = BufReader::new(server.0.stderr.take().expect("piped"));
    errors.read_line(&mut String::new()).expect("it listens");
    let args = ["forward", "-L", &format!("0:{download}"), "-D", "0", SERVER];
    let mut forward = Guard(spawn(&net.mobile, &args));
    let mut lines = BufReader::new(forward.0.stderr.take().expect("piped")).lines();
    let mut at = || listening(&mut lines);
    let (download_at, proxy_at) = (at(), at());
    let mut proxy = net.mobile.within(|| TcpStream::connect(proxy_at).expect("connected"));
    let relay = associate(&mut proxy);
    let program = net.mobile.within(|| UdpSocket::bind("127.0.0.1:0").expect("bound"));
    let mut download = net.mobile.within(|| TcpStream::connect(download_at).expect("connected"));
    let downloaded = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&downloaded);
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(len @ 1..) = download.read(&mut buffer) {
            count.fetch_add(len as u64, Ordering::Relaxed);
        }
    });
    thread::sleep(Duration::from_secs(1));
    let question = [&[0, 0, 0, 1, 127, 0, 0, 1], &port.to_be_bytes()[..], b"begin"].concat();
    program.send_to(&question, relay).expect("sent");
    thread::sleep(Duration::from_secs(2));
    let before = downloaded.load(Ordering::Relaxed);
    program.set_nonblocking(true).expect("set");
    let mut received = 0;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(5) {
        received += std::iter::from_fn(|| program.recv(&mut [0; 2048]).ok()).count() * 1200;
        thread::sleep(Duration::from_millis(5));
    }
    over.store(true, Ordering::Relaxed);
    let share = (downloaded.load(Ordering::Relaxed) - before) * 8 / 5;
    let datagrams = received * 8 / 5;
    eprintln!("the download: {share} bit/s of 16 Mbit/s beside {datagrams} bit/s of datagrams");
    assert!(share > 4_000_000 && datagrams > 2_000_000, "{share} bit/s beside {datagrams}");
}

/// Returns the address that the command prints when it listens.
fn listening(lines: &mut Lines<BufReader<ChildStderr>>) -> SocketAddr {
    let mut lines = lines.map(|line| line.expect("UTF-8"));
    let line = lines.find(|line| line.contains(": listening at ")).expect("a line");
    line.split_once(": listening at ").expect("its address").1.parse().expect("an address")
}

/// Requests a UDP association of a SOCKS5 proxy. Returns the address for datagrams.
fn associate(proxy: &mut TcpStream) -> SocketAddr {
    proxy.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    proxy.write_all(&[5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0]).expect("written");
    let mut answer = [0; 12];
    proxy.read_exact(&mut answer).expect("an answer");
    SocketAddr::from(([127, 0, 0, 1], u16::from_be_bytes([answer[10], answer[11]])))
}

#[test]
fn datagrams_and_connections_share_the_rate() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    net.mobile.run("ip link set lo up");
    net.carrier("cell0", true);
    let uploaded = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&uploaded);
    let sink = target(&net, move |mut stream| {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(len @ 1..) = stream.read(&mut buffer) {
            count.fetch_add(len as u64, Ordering::Relaxed);
        }
    });
    let echo = net.server.within(|| UdpSocket::bind("127.0.0.1:0").expect("bound"));
    let port = echo.local_addr().expect("an address").port();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((len, from)) = echo.recv_from(&mut buffer) {
            // The flood is not echoed.
            if len < 1000 {
                let _ = echo.send_to(&buffer[..len], from);
            }
        }
    });
    let mut server = Guard(spawn(&net.server, &["serve", "--bind", SERVER, "--allow", "127.0.0.1:*"]));
    let mut errors = BufReader::new(server.0.stderr.take().expect("piped"));
    errors.read_line(&mut String::new()).expect("it listens");
    let args = ["forward", "-L", &format!("0:{sink}"), "-D", "0", SERVER];
    let mut forward = Guard(spawn(&net.mobile, &args));
    let mut lines = BufReader::new(forward.0.stderr.take().expect("piped")).lines();
    let mut at = || listening(&mut lines);
    let (upload_at, proxy_at) = (at(), at());
    let over = Arc::new(AtomicBool::new(false));
    let mut upload = net.mobile.within(|| TcpStream::connect(upload_at).expect("connected"));
    let ended = Arc::clone(&over);
    thread::spawn(move || while !ended.load(Ordering::Relaxed) && upload.write_all(&[1; 4096]).is_ok() {});
    let mut proxy = net.mobile.within(|| TcpStream::connect(proxy_at).expect("connected"));
    let relay = associate(&mut proxy);
    let program = net.mobile.within(|| UdpSocket::bind("127.0.0.1:0").expect("bound"));
    program.connect(relay).expect("connected");
    program.set_nonblocking(true).expect("set");
    let wrap = |data: &[u8]| [&[0, 0, 0, 1, 127, 0, 0, 1], &port.to_be_bytes()[..], data].concat();
    let answers = || std::iter::from_fn(|| program.recv(&mut [0; 2048]).ok()).count();
    thread::sleep(Duration::from_secs(2));
    // A call beside the upload.
    let mut echoed = 0;
    for _ in 0..150 {
        program.send(&wrap(&[2; 200])).expect("sent");
        thread::sleep(Duration::from_millis(20));
        echoed += answers();
    }
    thread::sleep(Duration::from_secs(1));
    echoed += answers();
    // The upload beside a flood of twice the rate.
    let before = uploaded.load(Ordering::Relaxed);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(4) {
        for _ in 0..20 {
            let _ = program.send(&wrap(&[3; 1200]));
        }
        thread::sleep(Duration::from_millis(5));
    }
    let share = (uploaded.load(Ordering::Relaxed) - before) * 8 / 4;
    over.store(true, Ordering::Relaxed);
    eprintln!("echoed {echoed} of 150; the upload beside the flood: {share} bit/s of 16 Mbit/s");
    assert!(echoed >= 135, "{echoed} of 150");
    assert!(share > 4_000_000, "{share} bit/s");
}

/// Bytes that fit into the first window of a connection.
const FEW: usize = 60_000;

/// Starts a target that ends its direction at once, and a server that lets clients reach it. Returns the
/// target, the server with its open standard error, and what the target receives in all.
fn sink(net: &Net) -> (String, (Guard, BufReader<ChildStderr>), Receiver<usize>) {
    net.mobile.run("ip link set lo up");
    net.carrier("cell0", true);
    let (sender, received) = channel();
    let target = target(net, move |mut stream| {
        stream.shutdown(Shutdown::Write).expect("shut down");
        let len = stream.read_to_end(&mut Vec::new());
        let _ = sender.send(len.unwrap_or(0));
    });
    let mut server = Guard(spawn(&net.server, &["serve", "--bind", SERVER, "--allow", "127.0.0.1:*"]));
    let mut errors = BufReader::new(server.0.stderr.take().expect("piped"));
    errors.read_line(&mut String::new()).expect("it listens");
    (target, (server, errors), received)
}

#[test]
fn standard_input_arrives_after_an_outage_at_its_end() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    let (target, _server, received) = sink(&net);
    let mut command = net.mobile.command(super::MSCTP, &["forward", "-W", &target, SERVER]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut forward = Guard(command.spawn().expect("nsenter runs"));
    let mut input = forward.0.stdin.take().expect("piped");
    input.write_all(b"a").expect("written");
    // The target's end comes over the link.
    thread::sleep(Duration::from_secs(3));
    net.carrier("cell0", false);
    input.write_all(&[7; FEW]).expect("written");
    drop(input);
    thread::sleep(Duration::from_secs(8));
    assert!(forward.0.try_wait().expect("its state").is_none(), "it ended with unacknowledged data");
    net.carrier("cell0", true);
    assert_eq!(received.recv_timeout(Duration::from_secs(60)), Ok(FEW + 1));
    assert!(forward.0.wait().expect("its state").success());
}

#[test]
fn a_drain_delivers_data_for_as_long_as_it_may() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    let (target, _server, received) = sink(&net);
    let args = ["forward", "-L", &format!("0:{target}"), "--drain", "60", SERVER];
    let mut forward = Guard(spawn(&net.mobile, &args));
    let mut lines = BufReader::new(forward.0.stderr.take().expect("piped")).lines();
    let at = listening(&mut lines);
    let mut stream = net.mobile.within(|| TcpStream::connect(at).expect("connected"));
    stream.write_all(b"a").expect("written");
    assert_eq!(stream.read(&mut [0; 1]).expect("the target's end"), 0);
    net.carrier("cell0", false);
    stream.write_all(&[7; FEW]).expect("written");
    drop(stream);
    thread::sleep(Duration::from_secs(1));
    net.mobile.run(&format!("kill -TERM {}", forward.0.id()));
    thread::sleep(Duration::from_secs(8));
    assert!(forward.0.try_wait().expect("its state").is_none(), "it ended with unacknowledged data");
    net.carrier("cell0", true);
    assert_eq!(received.recv_timeout(Duration::from_secs(60)), Ok(FEW + 1));
    assert_eq!(forward.0.wait().expect("its state").code(), Some(143));
}
