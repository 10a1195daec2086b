//! Thousands of connections of `msctp forward` share the rate of a path.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::net::{self, Host, Net, SERVER};
use crate::client::Forward;
use crate::process::{Server, by};

/// Environment variable of the test's own process, whose limit of open files it has raised.
const INSIDE: &str = "MSCTP_OWN_PROCESS";

/// Rate of the path. At a lower rate, a round of the streams takes longer; at a higher one, the processor is
/// the bottleneck.
const RATE: &str = "300mbit";

/// Bytes that each connection carries on average during the count: 15 full frames.
const EACH: u64 = 250_000;

/// Runs a future in its own thread in a host's namespace.
fn run(host: &Host, future: impl Future<Output = ()> + Send + 'static) {
    let inside = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(future);
    };
    host.within(|| thread::spawn(inside));
}

/// Starts a target on the server's loopback interface that sends without end.
fn source(net: &Net) -> SocketAddr {
    let listener = net.server.within(|| std::net::TcpListener::bind("127.0.0.1:0").expect("bound"));
    listener.set_nonblocking(true).expect("set");
    // With the loopback's segments of 64 kB a window below half of the largest one stops the sender until its
    // persist timer, whose backoff grew to 14 s while the connection waited for its turn.
    socket2::SockRef::from(&listener).set_tcp_mss(1448).expect("set");
    let at = listener.local_addr().expect("an address");
    run(&net.server, async move {
        let listener = TcpListener::from_std(listener).expect("a listener");
        loop {
            let (mut stream, _) = listener.accept().await.expect("accepted");
            // With the system's default the connections would take all memory that it has for TCP.
            socket2::SockRef::from(&stream).set_send_buffer_size(32 << 10).expect("set");
            tokio::spawn(async move { while stream.write_all(&[7; 16 << 10]).await.is_ok() {} });
        }
    });
    at
}

/// Reads a connection to its end, and counts its bytes.
async fn count(stream: TcpStream, count: Arc<AtomicU64>) {
    let mut buffer = vec![0; 16 << 10];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut buffer) {
            Ok(0) => return,
            Ok(len) => drop(count.fetch_add(len as u64, Ordering::Relaxed)),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            // The client ends with the test.
            Err(_) => return,
        }
    }
}

/// Opens the connections in turn.
async fn open(at: SocketAddr, counts: Arc<[Arc<AtomicU64>]>) {
    for (opened, one) in counts.iter().enumerate() {
        let pending =
            || counts[..opened].iter().filter(|count| count.load(Ordering::Relaxed) == 0).count() >= 64;
        // The server takes 500 a second, and 128 whose target has not answered.
        while pending() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let socket = TcpSocket::new_v4().expect("a socket");
        // The kernel's buffers hold little beside what is counted: with the loopback's segments of 64 kB the
        // sender's would hold more than 1.3 MB.
        socket.set_recv_buffer_size(16 << 10).expect("set");
        socket2::SockRef::from(&socket).set_tcp_mss(1448).expect("set");
        let stream = socket.connect(at).await.expect("connected");
        tokio::spawn(count(stream, Arc::clone(one)));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    std::future::pending::<()>().await;
}

/// Lets connections carry [`EACH`] bytes on average. Fails if the share of one differs from the mean by more
/// than this.
fn share_the_rate(connections: usize, per_cent: u64) {
    let net = Net::new();
    net.mobile.run("ip link set lo up");
    for host in [&net.mobile, &net.server] {
        host.run(&format!("tc qdisc replace dev cell0 root tbf rate {RATE} burst 64kb latency 50ms"));
    }
    net.carrier("cell0", true);
    let source = source(&net).to_string();
    let allow = ["serve", "--bind", SERVER, "--allow", &source, "--max-connections", "8000"];
    let _server = Server::start_as(net.server.msctp(&allow));
    let client = Forward::of(&mut net.mobile.msctp(&["forward", "-L", &format!("0:{source}"), SERVER]));
    let counts: Arc<[Arc<AtomicU64>]> = (0..connections).map(|_| Arc::default()).collect();
    run(&net.mobile, open(client.at[0], Arc::clone(&counts)));
    let begin = Instant::now();
    let wait = |enough: &dyn Fn(&[u64]) -> bool| loop {
        let now: Vec<u64> = counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        if enough(&now) {
            return now;
        }
        let (least, sum) = (now.iter().min(), now.iter().sum::<u64>());
        assert!(begin.elapsed() < Duration::from_secs(200), "{least:?} bytes at least, {sum} in all");
        thread::sleep(Duration::from_millis(10));
    };
    // The first bytes of each precede those of the others.
    let before = wait(&|counts| counts.iter().all(|&count| count > 65_536));
    let (sum, filled) = (before.iter().sum::<u64>(), begin.elapsed());
    let after = wait(&|counts| counts.iter().sum::<u64>() > sum + connections as u64 * EACH);
    let took = begin.elapsed() - filled;
    let mut shares: Vec<u64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    shares.sort_unstable();
    let mean = shares.iter().sum::<u64>() / connections as u64;
    let (least, most) = (shares[0], shares[connections - 1]);
    let [p1, p99] = [shares[connections / 100], shares[connections - connections / 100 - 1]];
    eprintln!(
        "mean {mean}, least {least}, 1 % {p1}, 99 % {p99}, most {most}; {filled:.1?} to begin, then {took:.1?}"
    );
    let within = mean * (100 - per_cent)..=mean * (100 + per_cent);
    let all = [least, most].iter().all(|share| within.contains(&(share * 100)));
    assert!(all, "of {mean} bytes: {least} to {most}");
}

/// Readers that a busy machine holds up differ by more than 10 %.
#[test]
fn hundreds_of_connections_share_the_rate_of_a_path_within_thirty_per_cent() {
    if net::missing().is_none() {
        share_the_rate(300, 30);
    }
}

#[test]
#[ignore = "slow: a minute"]
fn slow_five_thousand_connections_share_the_rate_within_ten_per_cent() {
    if std::env::var_os(INSIDE).is_some() {
        return share_the_rate(5_000, 10);
    }
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    if net::missing().is_some() {
        return;
    }
    if hard < 20_000 {
        assert!(std::env::var_os("MSCTP_NEED_FILES").is_none(), "want a hard limit of 20000 files");
        return eprintln!("left out: the hard limit of open files is {hard}: want 20000");
    }
    // The limit is the process's: this one keeps its own.
    let mut test = Command::new(std::env::current_exe().expect("the path of this test"));
    let name = "moves::fair::slow_five_thousand_connections_share_the_rate_within_ten_per_cent";
    test.args(["--ignored", "--exact", "--nocapture", name]).env(INSIDE, "1");
    let output = by(&["prlimit", "--nofile=20000:"], &test).output().expect("prlimit runs");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    eprintln!("{}", text[1]);
    assert!(output.status.success() && text[0].contains("1 passed"), "{text:?}");
}
