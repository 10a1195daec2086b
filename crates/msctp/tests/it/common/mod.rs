//! Endpoints over loopback for the tests of this folder.

#![allow(dead_code, reason = "no test uses all of it")]

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use msctp::security::{CheckPeer, Identity, Tls, provider};
use msctp::{Association, Config, Endpoint, EndpointOptions, Peer, Security};
use tokio::time::timeout;

/// A wait of this length hangs, also on a machine that does much else.
pub(crate) const HANGS: Duration = Duration::from_secs(60);
/// A whole test of this length hangs.
pub(crate) const TEST_HANGS: Duration = Duration::from_secs(240);

/// Runs a test on its own runtime, and fails if it hangs.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { timeout(TEST_HANGS, test).await.expect("the test hangs") })
}

/// Waits for what must happen, and fails if it hangs.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(HANGS, what).await.expect("it hangs")
}

/// Waits until a condition holds, and fails if it hangs.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    soon(async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Returns TLS with a new key.
pub(crate) fn tls(check: impl CheckPeer + 'static) -> Tls {
    Tls::new(&Identity::generate(provider()).unwrap(), check).unwrap()
}

/// Runs `ip` with these words.
pub(crate) fn ip_command(words: &str) {
    let status = Command::new("ip").args(words.split(' ')).status().unwrap();
    assert!(status.success(), "ip {words}");
}

/// Environment variable that is set in the process of a test that needs its own.
const INSIDE: &str = "MSCTP_OWN_PROCESS";

/// Runs an ignored test of this program in a process of its own. `shell` starts with the words of a command
/// and ends where those of the program follow; it is a script of sh.
pub(crate) fn in_own_process(shell: &str, test: &str) {
    let output = Command::new("sh")
        .args(["-c", &format!("{shell} \"$0\" --ignored --exact {test}")])
        .arg(std::env::current_exe().unwrap())
        .env(INSIDE, "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Returns the words of a command that runs another without netlink sockets; `None`, with a notice, where it
/// cannot be done.
pub(crate) fn without_netlink() -> Option<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/common/no_netlink.py");
    let works = Command::new("python3").args([script, "true"]).status();
    if works.is_ok_and(|status| status.success()) {
        return Some(format!("python3 {script}"));
    }
    eprintln!("left out: want python3, and permission to set a seccomp filter");
    None
}

/// Runs an ignored test of this program within a network namespace that a script of sh has set up, in its own
/// process. Left out where namespaces cannot be made, unless `MSCTP_NEED_NETNS` is set.
pub(crate) fn in_own_network(network: &str, test: &str) {
    let works = Command::new("unshare").args(["--net", "ip", "link", "set", "lo", "up"]).status();
    if !works.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("MSCTP_NEED_NETNS").is_none(), "want root and iproute2");
        eprintln!("left out: no permission to make network namespaces, or no iproute2: want root");
        return;
    }
    let script = format!("set -e\n{network}\n\"$@\"").replace('\'', r"'\''");
    in_own_process(&format!("unshare --net sh -c '{script}' sh"), test);
}

/// Runs the part of a test that is in its own process. Does nothing when a test runner starts all ignored
/// tests.
pub(crate) fn inside(test: impl Future<Output = ()>) {
    if std::env::var_os(INSIDE).is_some() {
        run(test);
    }
}

/// Environment variable with the number of shards of the tests' endpoints (default 1).
pub(crate) const SHARDS: &str = "MSCTP_TEST_SHARDS";

pub(crate) fn options() -> EndpointOptions {
    options_at(["127.0.0.1:0".parse().unwrap()])
}

pub(crate) fn options_at(addresses: impl IntoIterator<Item = SocketAddr>) -> EndpointOptions {
    let shards = std::env::var(SHARDS).map_or(1, |shards| shards.parse().unwrap());
    EndpointOptions { shards, ..EndpointOptions::new(addresses) }
}

pub(crate) fn bind() -> Endpoint {
    Endpoint::bind(&options()).unwrap()
}

/// Binds an endpoint that listens at `port`. Returns it with its address.
pub(crate) fn server(port: u16) -> (Endpoint, Peer) {
    let server = bind();
    server.listen(port, Security::insecure(), Config::default()).unwrap();
    let peer = Peer { port, ..Peer::new(server.local_addresses()[0]) };
    (server, peer)
}

/// Sends until the buffers of both ends are full, because the peer does not read: nothing was acknowledged
/// between two waits for room.
pub(crate) async fn fill(association: &Association) {
    let mut acked = None;
    loop {
        match timeout(Duration::from_millis(300), association.send_bytes(0, vec![7; 50_000])).await {
            Ok(sent) => sent.unwrap(),
            Err(_) => {
                let now = association.stats().unwrap().bytes_acked;
                if acked.replace(now) == Some(now) && now > 0 {
                    return;
                }
            }
        }
    }
}
