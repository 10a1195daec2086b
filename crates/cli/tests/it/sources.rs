//! The log of a server under a flood from one source, in network namespaces: it stays short, and names the
//! failures of another source. As root; without it the tests say so and are left out, unless
//! MSCTP_NEED_NETNS=1.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "real connections in real time")]

use crate::client::Forward;
use crate::library::security;
use crate::moves::net::{self, Host};
use crate::process::{HANGS, Server, folder};

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The server's address, that of the flood, and that of another client.
const SERVER: &str = "10.3.0.1";
const FLOOD: &str = "10.3.0.2";
const OTHER: &str = "10.3.0.3";

/// How long a flood lasts, and the pause between the failures of the other client.
const TIME: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(500);

/// Failures of a source that a server reports in each second.
const REPORTED: usize = 20;

/// A server and the host of the clients, which has both their addresses.
struct Hosts {
    server: Host,
    clients: Host,
}

impl Hosts {
    fn new() -> Self {
        let hosts = Self { server: Host::new(), clients: Host::new() };
        let peer = hosts.server.id();
        hosts.clients.run(&format!("ip link add eth0 type veth peer name eth0 netns {peer}"));
        for (host, addresses) in [(&hosts.server, &[SERVER][..]), (&hosts.clients, &[FLOOD, OTHER])] {
            for address in addresses {
                host.run(&format!("ip address add {address}/24 dev eth0"));
            }
            host.run("ip link set lo up");
            host.run("ip link set eth0 up");
        }
        hosts
    }

    fn serve(&self, args: &[&str]) -> Server {
        Server::start_as(self.server.msctp(&[args, &["--bind", SERVER]].concat()))
    }
}

/// What a flood leaves behind.
struct Flooded {
    server: Server,
    /// When the server's log began.
    begin: Instant,
    /// Number of the other client's failures.
    others: usize,
}

/// Waits until the log has each failure of `kind` of the other client, and ends the server. Checks the log:
/// the flood's lines are as many as its source may have, and `omitted` follows the number of those left out.
fn check(Flooded { mut server, begin, others }: Flooded, kind: &str, omitted: &str) {
    let (mut log, mut of_other) = (Vec::new(), 0);
    while of_other < others {
        let mut line = String::new();
        let len = server.errors.read_line(&mut line).unwrap_or_default();
        assert!(len > 0, "{of_other} of {others} failures of the other client in {log:#?}");
        of_other += usize::from(line.contains(OTHER) && line.contains(kind));
        log.push(line);
    }
    server.child.kill().unwrap();
    let time = begin.elapsed();
    let mut rest = String::new();
    server.errors.read_to_string(&mut rest).unwrap();
    log.extend(rest.lines().map(str::to_owned));
    let count =
        |texts: &[&str]| log.iter().filter(|line| texts.iter().all(|text| line.contains(text))).count();
    let (flood, other) = (count(&[FLOOD, kind]), count(&[OTHER, kind]));
    // Each begun second.
    let most = REPORTED * (time.as_secs() as usize + 2);
    eprintln!(
        "{kind}: {flood} lines of the flood in {time:?}, at most {most}; {other} of {others} of the other"
    );
    let some: Vec<&String> = log.iter().take(40).collect();
    assert!(flood <= most, "{flood} lines of the flood in {time:?}: {some:#?}");
    assert!(flood >= REPORTED, "no flood: {some:#?}");
    assert_eq!(other, others, "each failure of the other client: {some:#?}");
    assert!(count(&[FLOOD, omitted]) > 0, "the number of those left out: {some:#?}");
    assert!(log.len() <= 2 * most + others + 10, "{} lines in all", log.len());
}

fn forward(hosts: &Hosts, from: &str, server: &str, target: &str) -> Forward {
    let args = ["forward", server, "--bind", &format!("{from}:0"), "-L", &format!("0:{target}")];
    Forward::of(&mut hosts.clients.msctp(&args))
}

#[test]
fn alone_a_flood_of_failing_connections_leaves_the_log_to_others() {
    if net::missing().is_some() {
        return;
    }
    let hosts = Hosts::new();
    // No rule allows what the clients request.
    let server = hosts.serve(&["serve", "--allow", "10.3.0.1:1"]);
    let begin = Instant::now();
    let target = "10.3.0.1:2";
    // Two clients of a source share its count.
    let floods = [FLOOD, FLOOD].map(|from| forward(&hosts, from, &server.at, target));
    let other = forward(&hosts, OTHER, &server.at, target);
    let (made, end) = (AtomicU32::new(0), AtomicBool::new(false));
    let failures = thread::scope(|scope| {
        for flood in &floods {
            let (at, hosts, made, end) = (flood.at[0], &hosts, &made, &end);
            scope.spawn(move || {
                hosts.clients.within(|| {
                    while !end.load(Ordering::Relaxed) {
                        // The client limits nothing, and the server 500 a second.
                        drop(TcpStream::connect(at));
                        made.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(4));
                    }
                });
            });
        }
        let mut failures = 0;
        while begin.elapsed() < TIME || made.load(Ordering::Relaxed) < 200 && begin.elapsed() < HANGS {
            hosts.clients.within(|| drop(TcpStream::connect(other.at[0])));
            failures += 1;
            thread::sleep(PAUSE);
        }
        end.store(true, Ordering::Relaxed);
        failures
    });
    assert!(made.load(Ordering::Relaxed) >= 200, "{made:?} connections");
    let flooded = Flooded { server, begin, others: failures };
    check(flooded, "forbidden", "further connections failed within a second");
}

/// Sets associations up, one after another, until the time is over. Calls `then` with each that was set up.
/// Returns the number of attempts.
fn associate(
    hosts: &Hosts,
    from: &str,
    server: &str,
    (time, pause): (Duration, Duration),
    then: impl AsyncFn(&msctp::Association) + Send + Sync,
) -> usize {
    let (local, begin) = (SocketAddr::new(from.parse().unwrap(), 0), Instant::now());
    hosts.clients.within(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let endpoint = msctp::Endpoint::bind(&msctp::EndpointOptions::new([local])).unwrap();
            let mut attempts = 0;
            while begin.elapsed() < time {
                attempts += 1;
                if let Ok(association) = endpoint
                    .connect(msctp::Peer::new(server.parse().unwrap()), security(), msctp::Config::mobile())
                    .await
                {
                    then(&association).await;
                    association.abort("it goes");
                }
                tokio::time::sleep(pause).await;
            }
            // The last ABORT leaves.
            endpoint.idle().await;
            attempts
        })
    })
}

/// Runs a flood of associations from one source, and some from another.
fn flood(hosts: &Hosts, server: Server, then: impl AsyncFn(&msctp::Association) + Send + Sync) -> Flooded {
    let (begin, at, then) = (Instant::now(), &server.at, &then);
    let (floods, others) = thread::scope(|scope| {
        let floods: Vec<_> = (0..3)
            .map(|_| scope.spawn(move || associate(hosts, FLOOD, at, (TIME, Duration::ZERO), then)))
            .collect();
        let others = associate(hosts, OTHER, at, (TIME, PAUSE), then);
        (floods.into_iter().map(|flood| flood.join().unwrap()).sum::<usize>(), others)
    });
    eprintln!("{floods} associations of the flood, {others} of the other source");
    Flooded { server, begin, others }
}

#[test]
fn alone_a_flood_of_rejected_keys_leaves_the_log_to_others() {
    if net::missing().is_some() {
        return;
    }
    let (hosts, keys) = (Hosts::new(), folder("sources-rejected").join("keys"));
    fs::write(&keys, "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n").unwrap();
    let server = hosts.serve(&["serve", "--allow", "10.3.0.1:1", "--only-clients", keys.to_str().unwrap()]);
    // The set-up succeeds at the client, which waits for the end that follows.
    let flooded = flood(&hosts, server, async |association| {
        let _ = tokio::time::timeout(HANGS, association.closed()).await;
    });
    check(flooded, ": rejected: ", "further lines about this source");
}

#[test]
fn alone_a_flood_of_clients_that_come_and_go_leaves_the_log_to_others() {
    if net::missing().is_some() {
        return;
    }
    let hosts = Hosts::new();
    let server = hosts.serve(&["serve", "--allow", "10.3.0.1:1"]);
    let flooded = flood(&hosts, server, async |_| ());
    check(flooded, "association lost", "further clients of its source came or went");
}

#[test]
fn alone_a_flood_of_refused_files_leaves_the_log_to_others() {
    if net::missing().is_some() {
        return;
    }
    let (hosts, out) = (Hosts::new(), folder("sources-files"));
    let server = hosts.serve(&["recv", "--out", out.to_str().unwrap()]);
    let offer = format!(r#"{{"kind":"offer","name":".profile","size":4,"sha256":"{}"}}"#, "0".repeat(64));
    let flooded = flood(&hosts, server, async |association| {
        let (stream, ppid, data) = (1, u32::from_be_bytes(*b"msFI"), offer.clone().into());
        let message = msctp::OutMessage { stream, ppid, data, ..msctp::OutMessage::default() };
        association.send(message).await.unwrap();
        let answer = tokio::time::timeout(HANGS, association.recv()).await;
        assert!(answer.is_ok(), "it refuses");
    });
    check(flooded, "no hidden files", "further transfers failed within a second");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
}
