//! Networks as hosts meet them: a card that leads nowhere, a router with another public address.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use super::nat::{self, Translated};
use super::net::{self, Host, Net, SERVER};
use super::{contents, finish_well, folder, serve, spawn, wait_until_it_arrives};
use crate::process::{self, Server, wait_for};

/// Makes a card with an address and a carrier, behind which nobody answers. Its name and its address precede
/// the others: associations began there, and nowhere else.
fn card_to_nowhere(host: &Host) {
    host.run("ip link add eth0 type veth peer name nowhere");
    host.run("ip address add 10.0.0.5/24 dev eth0");
    for name in ["nowhere", "eth0"] {
        host.run(&format!("ip link set {name} up"));
    }
}

/// A file on its way from a mobile to a server, over one association: it is long enough on a busy machine.
struct Transfer {
    sender: Child,
    receiver: Server,
    bytes: Vec<u8>,
    arrived: PathBuf,
}

impl Transfer {
    /// Waits until it has begun.
    fn begin(hosts: [&Host; 2], to: &str, folder: &Path) -> Self {
        Self::begin_with(hosts, to, folder, &[])
    }

    /// As [`begin`](Self::begin), with further options of the sender.
    fn begin_with(hosts: [&Host; 2], to: &str, folder: &Path, options: &[&str]) -> Self {
        Self::begin_at(hosts, (&["--bind", to], to), folder, options)
    }

    /// As [`begin_with`](Self::begin_with), with the receiver's addresses.
    fn begin_at(
        [mobile, server]: [&Host; 2],
        (bind, to): (&[&str], &str),
        folder: &Path,
        options: &[&str],
    ) -> Self {
        let (file, out) = (folder.join("file"), folder.join("out"));
        let bytes = contents(40_000_000);
        fs::write(&file, &bytes).expect("written");
        let receiver = ["recv", "--once", "--out", out.to_str().expect("UTF-8")];
        let receiver = serve(server, &[&receiver, bind].concat());
        let sender = ["send", file.to_str().expect("UTF-8"), to, "--retry", "0", "--timeout", "600"];
        let sender = spawn(mobile, &[&sender, options].concat());
        wait_until_it_arrives(&out);
        Self { sender, receiver, bytes, arrived: out.join("file") }
    }

    fn goes_on(&mut self) {
        assert!(self.sender.try_wait().expect("its state").is_none(), "the file is too small for this");
    }

    fn end(self) {
        finish_well(self.sender);
        let (code, _, errors) = self.receiver.output();
        assert_eq!(code, Some(0), "{errors}");
        assert!(fs::read(self.arrived).expect("it arrived") == self.bytes, "another file arrived");
    }
}

#[test]
fn a_card_that_leads_nowhere_prevents_no_connection() {
    if net::missing().is_some() {
        return;
    }
    let (net, folder) = (Net::new(), folder("moves-nowhere"));
    card_to_nowhere(&net.mobile);
    net.carrier("wlan0", true);
    net::wait_for_carrier(&net.mobile, "wlan0");
    let (file, out) = (folder.join("file"), folder.join("out"));
    fs::write(&file, "contents").expect("written");
    let receiver = ["recv", "--once", "--bind", SERVER, "--out", out.to_str().expect("UTF-8")];
    let receiver = serve(&net.server, &receiver);
    // Its own limit of 15 s is the check.
    finish_well(spawn(&net.mobile, &["send", file.to_str().expect("UTF-8"), SERVER]));
    let (code, _, errors) = receiver.output();
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(fs::read(out.join("file")).expect("it arrived"), b"contents");
}

/// The same private address stays, so that nothing on the host changes: the association itself survives.
#[test]
fn a_router_with_another_public_address_ends_no_transfer() {
    if net::missing().is_some() {
        return;
    }
    let (net, folder) = (Translated::new(u64::MAX), folder("moves-readdressed"));
    net::carrier(&net.near, "wlan0", true);
    net::wait_for_carrier(&net.mobile, "wlan0");
    let mut transfer = Transfer::begin([&net.mobile, &net.server], nat::SERVER, &folder);
    for index in 0..2 {
        std::thread::sleep(Duration::from_millis(500));
        transfer.goes_on();
        net.readdress(0, index);
    }
    transfer.end();
}

/// After a few timeouts the chunks in flight may exceed the path's PMTU, and leave without "don't fragment"
/// (RFC 9260 §6.9). A forged Packet Too Big message sets the kernel's PMTU, as this route does: packets that
/// pass whole would leave in fragments, which many networks drop.
#[test]
fn an_outage_and_a_kernel_with_a_small_pmtu_stop_no_transfer_where_fragments_do_not_pass() {
    if net::missing_or_filter().is_some() {
        return;
    }
    let (net, folder) = (Net::new(), folder("moves-fragments"));
    net.carrier("wlan0", true);
    net::wait_for_carrier(&net.mobile, "wlan0");
    net.mobile.run(&format!("ip route replace {SERVER} dev wlan0 mtu 1300"));
    for line in [
        "nft add table ip t",
        "nft add chain ip t in { type filter hook prerouting priority -450 ; }",
        "nft add rule ip t in ip frag-off & 0x3fff != 0 drop",
        "nft add chain ip t outage { type filter hook prerouting priority -440 ; }",
    ] {
        net.server.run(line);
    }
    let mut transfer = Transfer::begin([&net.mobile, &net.server], SERVER, &folder);
    transfer.goes_on();
    net.server.run("nft add rule ip t outage udp dport 1-65535 drop");
    // Longer than three timeouts of a path that does not answer.
    std::thread::sleep(Duration::from_secs(6));
    net.server.run("nft flush chain ip t outage");
    transfer.end();
}

/// A client speaks of its own networks, and the server, whose policy decides about downloads, obeys.
#[test]
fn a_server_learns_which_network_of_a_client_is_a_backup() {
    if net::missing().is_some() {
        return;
    }
    let (net, folder) = (Net::new(), folder("moves-backup"));
    for link in ["wlan0", "cell0"] {
        net.carrier(link, true);
        net::wait_for_carrier(&net.mobile, link);
    }
    let options = ["--backup", "cell"];
    let transfer = Transfer::begin_with([&net.mobile, &net.server], SERVER, &folder, &options);
    let process = transfer.receiver.child.id().to_string();
    let backups = || -> Option<Vec<(String, bool)>> {
        let status = net.server.msctp(&["status", &process, "--json"]).output().ok()?;
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).ok()?;
        let paths = status["associations"][0]["paths"].as_array()?;
        let path =
            |path: &serde_json::Value| Some((path["remote"].as_str()?.to_owned(), path["backup"].as_bool()?));
        paths.iter().map(path).collect()
    };
    let is = |paths: &[(String, bool)], ip: &str, backup: bool| {
        paths.iter().any(|(remote, is)| remote.starts_with(ip) && *is == backup)
    };
    wait_for("the server knows", || {
        backups().is_some_and(|paths| is(&paths, "10.2.0.2:", true) && is(&paths, "10.1.0.2:", false))
    });
    transfer.end();
}

/// Each network has one family, as many mobile networks do. The server is bound to no address by name: it
/// tells the others under protection.
#[test]
fn a_transfer_moves_between_ipv4_and_ipv6() {
    if net::missing().is_some() {
        return;
    }
    let v6 = "fd09::1";
    for (first, second, to) in [("wlan0", "cell0", SERVER), ("cell0", "wlan0", v6)] {
        let (net, folder) = (Net::new(), folder(&format!("moves-families-{first}")));
        net.mobile.run("ip address flush dev cell0");
        net.mobile.run("ip -6 address add fd02::2/64 dev cell0 nodad");
        net.server.run("ip -6 address add fd02::1/64 dev cell0 nodad");
        net.server.run(&format!("ip -6 address add {v6}/128 dev lo nodad"));
        net.mobile.run(&format!("ip -6 route add {v6} via fd02::1 dev cell0"));
        net.carrier(first, true);
        net::wait_for_carrier(&net.mobile, first);
        let mut transfer = Transfer::begin_at([&net.mobile, &net.server], (&[], to), &folder, &[]);
        net.carrier(second, true);
        net::wait_for_carrier(&net.mobile, second);
        std::thread::sleep(Duration::from_millis(500));
        transfer.goes_on();
        net.carrier(first, false);
        transfer.end();
    }
}

/// A name's first address leads nowhere, as that of a host without IPv6 behind a provider with IPv6.
#[test]
fn a_name_with_a_dead_address_connects_at_another() {
    if net::missing().is_some() {
        return;
    }
    let (net, folder) = (Net::new(), folder("moves-name"));
    net.mobile.run("ip -6 address add fd01::2/64 dev wlan0 nodad");
    net.mobile.run("ip -6 route add fd09::/16 via fd01::1 dev wlan0");
    net.carrier("wlan0", true);
    net::wait_for_carrier(&net.mobile, "wlan0");
    let (file, out, hosts) = (folder.join("file"), folder.join("out"), folder.join("hosts"));
    fs::write(&file, "contents").expect("written");
    fs::write(&hosts, format!("fd09::9 server.test\n{SERVER} server.test\n")).expect("written");
    let receiver = ["recv", "--once", "--bind", SERVER, "--out", out.to_str().expect("UTF-8")];
    let receiver = serve(&net.server, &receiver);
    let [file, hosts] = [&file, &hosts].map(|path| path.to_str().expect("UTF-8"));
    let renamed = ["unshare", "--mount", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\"", hosts];
    let mobile = net.mobile.id().to_string();
    let before = [&["nsenter", "--net", "--target", &mobile][..], &renamed].concat();
    // Its own limit of 15 s is the check.
    finish_well(
        process::by(&before, &process::msctp(&["send", file, "server.test"])).spawn().expect("it runs"),
    );
    let (code, _, errors) = receiver.output();
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(fs::read(out.join("file")).expect("it arrived"), b"contents");
}
