//! Connections of `msctp forward` survive moves, and keystrokes do not wait for a download.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::net::{self, Net, SERVER};
use super::{Guard, Moments, Move, spawn};

/// Bytes of the download: 8 s at the slower link's rate.
const LEN: usize = 16_000_000;

/// Listens in the server's namespace; `serve` gets each connection.
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
