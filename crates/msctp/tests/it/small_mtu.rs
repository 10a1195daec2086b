//! Links that take less than 1500 bytes, with the default options: in network namespaces of their own, whose
//! loopback interface or router is given such an MTU.

#![cfg(target_os = "linux")]

use crate::common;

use std::process::Command;
use std::time::Duration;

use common::{bind, in_own_network, inside, ip_command, run, server, soon};
use msctp::{Association, Config, Endpoint, EndpointOptions, PathId, Peer, Pmtu, Security};

const PORT: u16 = 5001;
const MESSAGES: usize = 300;
const LEN: usize = 5_000;
/// Makes a path from this namespace through a router to a server, whose last link has an MTU of 1300. The
/// processes 'router' and 'server' hold the other namespaces, and end with this shell.
const ROUTED: &str = r#"
hold() {
    unshare --net sleep 100 > /dev/null 2>&1 &
    held=$!
    tries=0
    while [ "$(readlink /proc/$held/ns/net)" = "$(readlink /proc/$$/ns/net)" ] && [ $((tries += 1)) -lt 1000 ]; do
        sleep 0.01
    done
}
at() { of=$1; shift; nsenter --target "$of" --net "$@"; }
hold; router=$held
hold; server=$held
trap 'kill $router $server' EXIT
ip link add near type veth peer name near netns $router
at $router ip link add far type veth peer name far netns $server
ip address add 10.4.0.2/24 dev near && ip link set near up && ip route add default via 10.4.0.1
at $router ip address add 10.4.0.1/24 dev near && at $router ip link set near up
at $router ip address add 10.5.0.1/24 dev far && at $router ip link set far up mtu 1300
at $router sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
at $server ip address add 10.5.0.2/24 dev far && at $server ip link set far up mtu 1300
at $server ip route add default via 10.5.0.1
export MSCTP_ROUTER=$router MSCTP_SERVER=$server
"#;

/// Runs a test of this file within a namespace whose loopback interface has this MTU, in its own process.
fn within(mtu: u32, test: &str) {
    within_network(&format!("ip link set lo up mtu {mtu}"), test);
}

/// Runs a test of this file within a namespace that a script has set up, in its own process.
fn within_network(network: &str, test: &str) {
    in_own_network(network, &format!("small_mtu::{test}"));
}

fn set_mtu(mtu: u32) {
    ip_command(&format!("link set lo mtu {mtu}"));
}

/// Sends numbered messages, all of which must arrive.
async fn transfer(from: &Association, to: &Association) {
    let send = async {
        for n in 0..MESSAGES {
            let mut data = vec![n as u8; LEN];
            data[0] = (n >> 8) as u8;
            from.send_bytes(0, data).await.unwrap();
        }
    };
    let receive = async {
        for n in 0..MESSAGES {
            let message = to.recv().await.unwrap().expect("not closed");
            assert_eq!((message.data.len(), message.data[1]), (LEN, n as u8));
        }
    };
    soon(async { tokio::join!(send, receive) }).await;
}

async fn pair() -> (msctp::Endpoint, msctp::Endpoint, Association, Association) {
    let (server, peer) = server(PORT);
    let client = bind();
    let association = client.connect(peer, Security::insecure(), Config::default()).await.unwrap();
    let accepted = server.accept(PORT).await.unwrap();
    (server, client, association, accepted)
}

fn pmtu(association: &Association) -> u32 {
    association.paths().into_iter().find(|path| path.id == PathId::new(0)).unwrap().pmtu
}

#[test]
fn the_defaults_transfer_over_an_interface_of_1300_bytes() {
    within(1300, "inside_1300_bytes");
}

#[test]
#[ignore = "runs in a namespace: the_defaults_transfer_over_an_interface_of_1300_bytes"]
fn inside_1300_bytes() {
    inside(async {
        let (_server, _client, association, accepted) = pair().await;
        transfer(&association, &accepted).await;
        transfer(&accepted, &association).await;
        // 8 bytes of UDP header go off; sizes are multiples of 4.
        assert!((1280..=1292).contains(&pmtu(&association)), "{}", pmtu(&association));
    });
}

#[test]
fn an_interface_whose_mtu_falls_in_the_middle_of_a_transfer_loses_nothing() {
    within(1500, "inside_falling_mtu");
}

#[test]
#[ignore = "runs in a namespace: an_interface_whose_mtu_falls_in_the_middle_of_a_transfer_loses_nothing"]
fn inside_falling_mtu() {
    inside(async {
        let (_server, _client, association, accepted) = pair().await;
        transfer(&association, &accepted).await;
        assert!(pmtu(&association) > 1400, "{}", pmtu(&association));
        let both =
            async { tokio::join!(transfer(&association, &accepted), transfer(&accepted, &association)) };
        let falls = async {
            tokio::time::sleep(Duration::from_millis(2)).await;
            set_mtu(1000);
        };
        tokio::join!(both, falls);
        // Chunks that were cut for 1500 bytes went in fragments.
        transfer(&association, &accepted).await;
        assert!(pmtu(&association) <= 1000, "{}", pmtu(&association));
    });
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
//= type=test
//# if the PMTU has been reduced, then IP fragmentation MUST be used.
#[test]
fn a_fixed_pmtu_above_the_interfaces_is_sent_in_fragments() {
    within(1300, "inside_fixed_pmtu");
}

#[test]
#[ignore = "runs in a namespace: a_fixed_pmtu_above_the_interfaces_is_sent_in_fragments"]
fn inside_fixed_pmtu() {
    inside(async {
        let (server, peer) = server(PORT);
        let client = bind();
        let association = client
            .connect(peer, Security::insecure(), Config { pmtu: Pmtu::Fixed(1500), ..Config::default() })
            .await
            .unwrap();
        let accepted = server.accept(PORT).await.unwrap();
        transfer(&association, &accepted).await;
    });
}

#[test]
fn a_router_with_a_small_mtu_reports_it() {
    within_network(ROUTED, "inside_behind_a_router");
}

/// Returns a counter of the router's IP layer.
fn of_router(counter: &str) -> u64 {
    let router = std::env::var("MSCTP_ROUTER").unwrap();
    let read = ["--target", &router, "--net", "cat", "/proc/net/snmp"];
    let output = Command::new("nsenter").args(read).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("Ip:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let mut columns = names.split(' ').zip(values.split(' '));
    columns.find(|(name, _)| *name == counter).unwrap().1.parse().unwrap()
}

/// Runs a server in the namespace behind the router until the association ends.
#[expect(clippy::disallowed_methods, reason = "a thread can be in another network namespace")]
fn serve_behind_router() -> std::thread::JoinHandle<()> {
    let namespace = format!("/proc/{}/ns/net", std::env::var("MSCTP_SERVER").unwrap());
    std::thread::spawn(move || {
        nix::sched::setns(std::fs::File::open(namespace).unwrap(), nix::sched::CloneFlags::CLONE_NEWNET)
            .unwrap();
        run(async {
            let at = "10.5.0.2:9899".parse().unwrap();
            let server = Endpoint::bind(&EndpointOptions::new([at])).unwrap();
            server.listen(PORT, Security::insecure(), Config::default()).unwrap();
            let accepted = server.accept(PORT).await.unwrap();
            while accepted.recv().await.unwrap().is_some() {}
            server.idle().await;
        });
    })
}

#[test]
#[ignore = "runs in a namespace: a_router_with_a_small_mtu_reports_it"]
fn inside_behind_a_router() {
    if std::env::var_os("MSCTP_ROUTER").is_none() {
        return;
    }
    let server = serve_behind_router();
    run(async {
        let client = Endpoint::bind(&EndpointOptions::new(["10.4.0.2:0".parse().unwrap()])).unwrap();
        let peer = Peer { port: PORT, ..Peer::new("10.5.0.2:9899".parse().unwrap()) };
        // The server binds meanwhile.
        let association = loop {
            match client.connect(peer.clone(), Security::insecure(), Config::default()).await {
                Ok(association) => break association,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        for n in 0..MESSAGES {
            association.send_bytes(0, vec![n as u8; LEN]).await.unwrap();
        }
        // 1300 without the UDP header.
        while pmtu(&association) != 1292 {
            association.send_bytes(0, vec![0; LEN]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // The router answered the first probe of 1500 bytes. A search by lost probes takes three of a size.
        let failed = of_router("FragFails");
        assert!((1..=2).contains(&failed), "{failed} packets were too big");
        association.shutdown().await.unwrap();
    });
    server.join().unwrap();
}
