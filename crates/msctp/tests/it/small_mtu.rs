//! Interfaces that take less than 1500 bytes, with the default options: in a network namespace of their own,
//! whose loopback interface is given such an MTU. Left out where namespaces cannot be made, unless
//! `MSCTP_NEED_NETNS` is set.

#![cfg(target_os = "linux")]

use crate::common;

use std::process::Command;
use std::time::Duration;

use common::{bind, in_own_process, inside, server, soon};
use msctp::{Association, Config, PathId, Pmtu};

const PORT: u16 = 5001;
const MESSAGES: usize = 300;
const LEN: usize = 5_000;
/// Runs a test of this file within a namespace, in its own process.
fn within(mtu: u32, test: &str) {
    let works = Command::new("unshare").args(["--net", "ip", "link", "set", "lo", "up"]).status();
    if !works.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("MSCTP_NEED_NETNS").is_none(), "want root and iproute2");
        eprintln!("left out: no permission to make network namespaces, or no iproute2: want root");
        return;
    }
    let set_up = format!("ip link set lo up mtu {mtu} && exec \"$@\"");
    in_own_process(&format!("unshare --net sh -c '{set_up}' sh"), &format!("small_mtu::{test}"));
}

fn set_mtu(mtu: u32) {
    let status = Command::new("ip").args(["link", "set", "lo", "mtu", &mtu.to_string()]).status().unwrap();
    assert!(status.success());
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
    let association = client.connect(peer, Config::default()).await.unwrap();
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
        let association =
            client.connect(peer, Config { pmtu: Pmtu::Fixed(1500), ..Config::default() }).await.unwrap();
        let accepted = server.accept(PORT).await.unwrap();
        transfer(&association, &accepted).await;
    });
}
