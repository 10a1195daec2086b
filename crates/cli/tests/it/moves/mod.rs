//! A file moves while the links under it come and go, in network namespaces. As root; without it the tests
//! say so and are left out, unless MSCTP_NEED_NETNS=1.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "real links move in real time")]

mod doctor;
mod fair;
mod fallback;
mod forward;
mod nat;
pub(crate) mod net;
mod soak;
mod tunnel;
mod worlds;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::client::Forward;
use crate::process::{self, Errors, Server, finish, stderr, wait_for};
use net::{Host, Net, SERVER};

/// Time to connect that ends only what hangs.
const TIMEOUT: [&str; 2] = ["--timeout", "600"];

/// A change of the links.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// The new link comes up, and the old one goes down after both worked for a while.
    MakeBeforeBreak,
    /// The old link goes down, and the new one comes up later.
    BreakBeforeMake,
}

impl Move {
    /// Moves from one link to another. `far` is the address of their other ends. Returns the time at which
    /// the new link was up.
    fn make(self, far: &Host, current: &str, other: &str, moments: &mut Moments) -> Instant {
        match self {
            Self::MakeBeforeBreak => {
                net::carrier(far, other, true);
                let came = Instant::now();
                std::thread::sleep(Duration::from_millis(700) + moments.next(500));
                net::carrier(far, current, false);
                came
            }
            Self::BreakBeforeMake => {
                net::carrier(far, current, false);
                std::thread::sleep(Duration::from_millis(100) + moments.next(900));
                net::carrier(far, other, true);
                Instant::now()
            }
        }
    }
}

/// A deterministic sequence of numbers, from which the times of link changes come.
struct Moments(u64);

impl Moments {
    /// Returns a number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        // Knuth's MMIX generator.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Milliseconds below `limit`.
    fn next(&mut self, limit: u64) -> Duration {
        Duration::from_millis(self.below(limit))
    }
}

/// Returns a number from the environment, for longer runs or other seeds.
fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: want a whole number")))
}

/// Creates the folder of a test, with one for received files.
fn folder(name: &str) -> PathBuf {
    let folder = process::folder(name);
    fs::create_dir(folder.join("out")).expect("a folder");
    folder
}

fn spawn(host: &Host, args: &[&str]) -> Child {
    host.msctp(args).spawn().expect("nsenter runs")
}

fn serve(host: &Host, args: &[&str]) -> Server {
    Server::start_as(host.msctp(args))
}

/// Ends the process with the test.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns bytes that differ.
fn contents(len: u32) -> Vec<u8> {
    (0..len).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Waits until the receiver writes into its folder: a set-up takes its time on a busy machine, and moves
/// nothing.
fn wait_until_it_arrives(out: &Path) {
    let has_begun = || fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
    wait_for("the file arrives", has_begun);
}

/// Sends `len` bytes from the mobile while the links change. Returns the reports of sender and receiver.
fn transfer(name: &str, len: u32, moves: &[Move], seed: u64) -> (serde_json::Value, serde_json::Value) {
    let (net, folder) = (Net::new(), folder(name));
    let (file, out) = (folder.join("file"), folder.join("out"));
    let bytes = contents(len);
    fs::write(&file, &bytes).expect("written");
    net.carrier("cell0", true);
    let receiver = ["recv", "--once", "--json", "--bind", SERVER, "--out", out.to_str().expect("UTF-8")];
    let receiver = serve(&net.server, &receiver);
    // `--retry 0`: the association itself survives.
    let args = ["send", file.to_str().expect("UTF-8"), SERVER, "--json", "--retry", "0"];
    let mut sender = spawn(&net.mobile, &args);
    wait_until_it_arrives(&out);
    let (mut current, mut other) = ("cell0", "wlan0");
    let mut moments = Moments(seed);
    for kind in moves {
        assert!(sender.try_wait().expect("its state").is_none(), "the file is too small for these moves");
        // A larger file is moved as often, all along.
        let pause = Duration::from_millis(500) + moments.next(700);
        std::thread::sleep(pause * len.div_ceil(100_000_000));
        kind.make(&net.server, current, other, &mut moments);
        std::mem::swap(&mut current, &mut other);
    }
    // The rest of the file is to arrive, and no more.
    net.unlimited();
    let (sent, text) = finish_well(sender);
    let (code, received, errors) = receiver.output();
    assert_eq!(code, Some(0), "{errors}");
    assert!(fs::read(out.join("file")).expect("it arrived") == bytes, "another file arrived");
    let json = |text: &str| -> serde_json::Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text} {errors}"))
    };
    let (sent, received) = (json(&sent), json(&received));
    eprintln!("{name}: {sent} {received}\n{text}");
    (sent, received)
}

/// Returns standard output and standard error of a program that exited with code 0.
fn finish_well(child: Child) -> (String, String) {
    let ended = finish(child);
    let [out, errors] = [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert_eq!(ended.status.code(), Some(0), "{errors}");
    (out, errors)
}

#[test]
fn a_file_survives_a_make_before_break_and_a_break_before_make() {
    if net::missing().is_some() {
        return;
    }
    let (sent, received) =
        transfer("moves-two", 60_000_000, &[Move::MakeBeforeBreak, Move::BreakBeforeMake], 1);
    assert_eq!(sent["retries"], 0, "{sent}");
    assert!(sent["switches"].as_u64() >= Some(2), "{sent}");
    assert!(received["longest_gap"].as_f64() < Some(60.0), "{received}");
}

/// Starts a receiver of a file at every address of the server. Returns it with the file and the target.
fn wildcard_receiver(name: &str, net: &Net) -> (Server, PathBuf, PathBuf) {
    let folder = folder(name);
    let (file, out) = (folder.join("file"), folder.join("out"));
    fs::write(&file, "contents").expect("written");
    let receiver = serve(&net.server, &["recv", "--once", "--out", out.to_str().expect("UTF-8")]);
    (receiver, file, out.join("file"))
}

/// Sends a file from the mobile.
fn send(net: &Net, file: &Path, to: &str) -> Child {
    spawn(&net.mobile, &["send", file.to_str().expect("UTF-8"), to, TIMEOUT[0], TIMEOUT[1]])
}

#[test]
fn alone_perf_ends_at_its_time_however_much_the_send_buffer_holds() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    net.carrier("cell0", true);
    let _server = serve(&net.server, &["perf", "--server", "--bind", SERVER]);
    for direction in [&[][..], &["--reverse"]] {
        let begin = Instant::now();
        let client = spawn(&net.mobile, &[&["perf", SERVER, "--time", "2", "--json"], direction].concat());
        let (out, _) = finish_well(client);
        let took = begin.elapsed();
        // The send buffer holds 8 s of the link's rate.
        assert!(took < Duration::from_secs(2 + 8 / 2), "{took:?}: {out}");
        let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        for side in ["sender", "receiver"] {
            let rate = report[side]["goodput_bps"].as_f64();
            assert!(rate > Some(8e6) && rate < Some(16.5e6), "{side}: {report}");
        }
    }
}

#[test]
fn a_send_without_a_network_waits_for_one() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    let (_receiver, file, arrived) = wildcard_receiver("moves-no-network", &net);
    let mut sender = send(&net, &file, SERVER);
    let errors = Errors::of(&mut sender);
    errors.line_with("waiting for a network for up to 600 s");
    assert!(sender.try_wait().expect("its state").is_none(), "it waits");
    net.carrier("cell0", true);
    finish_well(sender);
    assert_eq!(fs::read(arrived).expect("it arrived"), b"contents");
    // The wait for a network is bounded.
    net.carrier("cell0", false);
    let late = finish(spawn(&net.mobile, &["connect", SERVER, "--timeout", "1"]));
    assert_eq!(late.status.code(), Some(1), "{}", stderr(&late));
}

#[test]
fn an_outage_of_every_network_is_reported() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    let (_receiver, file, arrived) = wildcard_receiver("moves-outage", &net);
    fs::write(&file, vec![7; 30_000_000]).expect("written");
    net.carrier("cell0", true);
    let mut sender = send(&net, &file, SERVER);
    let errors = Errors::of(&mut sender);
    let out = arrived.parent().expect("a folder");
    wait_for("it receives", || fs::read_dir(out).expect("a folder").next().is_some());
    net.carrier("cell0", false);
    errors.line_with("nothing received for 3 s: waiting for a network, or for the peer");
    net.carrier("cell0", true);
    net.unlimited();
    finish_well(sender);
    assert!(fs::read(arrived).expect("it arrived") == vec![7; 30_000_000]);
}

/// With TLS the core rejects requests to add addresses until the keys are installed.
#[test]
fn an_encrypted_association_uses_every_network_that_was_there_before_it() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    for name in ["cell0", "wlan0"] {
        net.carrier(name, true);
        net::wait_for_carrier(&net.mobile, name);
    }
    net.mobile.run("ip link set lo up");
    let _server = serve(&net.server, &["serve", "--allow", "127.0.0.1:9"]);
    let forward = ["forward", SERVER, "-L", "0:127.0.0.1:9", TIMEOUT[0], TIMEOUT[1]];
    let forward = Forward::of(&mut net.mobile.msctp(&forward));
    let mut missing = vec!["10.1.0.2", "10.2.0.2"];
    while !missing.is_empty() {
        let line = forward.errors.line_with(" works");
        missing.retain(|local| !line.starts_with(local));
    }
}

#[test]
fn a_wildcard_listener_takes_an_address_that_came_later() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    let (_receiver, file, arrived) = wildcard_receiver("moves-wildcard", &net);
    // The server's end of the link and its address come up.
    net.carrier("cell0", true);
    finish_well(send(&net, &file, "10.2.0.1"));
    assert_eq!(fs::read(arrived).expect("it arrived"), b"contents");
}

#[test]
fn a_wildcard_listener_keeps_an_address_that_another_interface_loses() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    let (_receiver, file, arrived) = wildcard_receiver("moves-same-address", &net);
    net.carrier("cell0", true);
    net.server.run(&format!("ip address add {SERVER}/32 dev cell0"));
    net.server.run(&format!("ip address del {SERVER}/32 dev cell0"));
    // The kernel reports the changes in order: a listener that has this address knows of those before it.
    net.server.run("ip address add 10.9.0.3/32 dev lo");
    wait_for("it listens at a later address", || net.server.output("ss -Huan").contains("10.9.0.3:9899"));
    finish_well(send(&net, &file, SERVER));
    assert_eq!(fs::read(arrived).expect("it arrived"), b"contents");
}

#[test]
fn the_doctor_blames_the_name_servers_that_do_not_answer() {
    if net::missing().is_some() {
        return;
    }
    let net = Net::new();
    net.carrier("cell0", true);
    // Queries are lost behind the server.
    net.mobile.run("ip route add default via 10.2.0.1 dev cell0");
    let args = ["doctor", "example.net", "--timeout", "2"];
    let output = finish(spawn(&net.mobile, &args));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("FAILED  server: example.net: ") && text.contains("name"), "{text}");
    assert!(!text.contains("firewall") && !text.contains("no answer"), "{text}");
}

/// Sends a file through ten handovers of both kinds, in both directions. The short form is
/// [`a_file_survives_a_make_before_break_and_a_break_before_make`]. `MSCTP_MB` sets its size in
/// megabytes (100), `MSCTP_SEED` the times of the handovers.
#[test]
#[ignore = "slow: about a minute of real time"]
fn slow_a_file_survives_ten_handovers() {
    if net::missing().is_some() {
        return;
    }
    let moves: Vec<Move> = [Move::MakeBeforeBreak, Move::BreakBeforeMake, Move::BreakBeforeMake]
        .into_iter()
        .cycle()
        .take(9)
        .chain([Move::MakeBeforeBreak])
        .collect();
    let len = setting("MSCTP_MB").unwrap_or(100) * 1_000_000;
    let len = u32::try_from(len).expect("MSCTP_MB: want less than 4294");
    let (sent, received) = transfer("moves-ten", len, &moves, setting("MSCTP_SEED").unwrap_or(7));
    assert_eq!(sent["retries"], 0, "{sent}");
    assert!(received["longest_gap"].as_f64() < Some(5.0), "{received}");
    // A link that is pulled again before the kernel has told of it (it lets up to a second pass) carries
    // nothing.
    assert!(sent["switches"].as_u64() >= Some(6), "{sent}");
}
