//! Endpoints that do not learn of the host's addresses, and programs that tell them: wildcards in a sandbox
//! that refuses netlink sockets, own sockets, addresses that come and go, no network, a peer that is silent.

#![cfg(target_os = "linux")]

use crate::common;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use common::{
    in_own_network, in_own_process, inside, ip_command, options_at, run, soon, until, without_netlink,
};
use msctp::{
    Association, BindError, Config, ConnectError, Endpoint, EndpointOptions, Mobility, Peer, Security,
};
use tokio::time::timeout;

const PORT: u16 = 7;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn at(text: &str) -> EndpointOptions {
    options_at([text.parse().unwrap()])
}

fn mobile(options: EndpointOptions) -> EndpointOptions {
    EndpointOptions { shards: 1, ..options }.mobile(Mobility::default())
}

fn bind(options: &EndpointOptions) -> Endpoint {
    let endpoint = Endpoint::bind(options).unwrap_or_else(|error| panic!("{:?}: {error}", options.bind));
    endpoint.listen(PORT, Security::insecure(), Config::mobile()).unwrap();
    endpoint
}

/// Connects to an endpoint at this address of its host.
async fn connect(client: &Endpoint, server: &Endpoint, ip: IpAddr) -> (Association, Association) {
    let udp_port = server.local_addresses()[0].port();
    let peer = Peer { port: PORT, ..Peer::new(SocketAddr::new(ip, udp_port)) };
    let association = soon(client.connect(peer, Security::insecure(), Config::mobile())).await.unwrap();
    (association, soon(server.accept(PORT)).await.unwrap())
}

async fn deliver(from: &Association, to: &Association, len: usize) {
    let sent: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
    let (accepted, got) = soon(async { tokio::join!(from.send_bytes(0, sent.clone()), to.recv()) }).await;
    accepted.unwrap();
    assert!(got.unwrap().unwrap().data == sent);
}

async fn exchange(here: &Association, there: &Association) {
    deliver(here, there, 200_000).await;
    deliver(there, here, 200_000).await;
}

/// Returns the local address that carries an association's data.
fn primary(association: &Association) -> IpAddr {
    association.paths().iter().find(|path| path.primary).unwrap().at.local
}

/// Runs a part of this file without netlink sockets.
fn in_sandbox(test: &str) {
    if let Some(sandbox) = without_netlink() {
        in_own_process(&sandbox, &format!("sandbox::{test}"));
    }
}

/// Runs a part of this file in a network of its own, with netlink sockets and without.
fn in_networks(network: &str, test: &str) {
    in_own_network(network, &format!("sandbox::{test}"));
    if let Some(sandbox) = without_netlink() {
        in_own_network(&format!("{network}\nset -- {sandbox} \"$@\""), &format!("sandbox::{test}"));
    }
}

#[test]
fn a_wildcard_is_bound_and_works_where_netlink_is_refused() {
    in_sandbox("inside_wildcards");
}

#[test]
#[ignore = "runs in a sandbox: a_wildcard_is_bound_and_works_where_netlink_is_refused"]
fn inside_wildcards() {
    inside(async {
        let has_ipv6 = UdpSocket::bind("[::1]:0").is_ok();
        let free = UdpSocket::bind("0.0.0.0:0").unwrap().local_addr().unwrap().port();
        let cases =
            [("0.0.0.0:0", "127.0.0.1"), (&format!("0.0.0.0:{free}"), "127.0.0.1"), ("[::]:0", "::1")];
        for (address, loopback) in cases.into_iter().filter(|(_, ip)| has_ipv6 || !ip.contains(':')) {
            let sharded = EndpointOptions { shards: 3, ..at(address) };
            for options in [at(address), mobile(at(address)), sharded] {
                let server = bind(&options);
                assert!(!server.follows_interfaces());
                let bound = server.local_addresses();
                let families = if address.contains("[::]") { 2 } else { 1 };
                assert_eq!(bound.len(), families);
                assert!(bound.iter().all(|at| at.ip().is_unspecified() && at.port() == bound[0].port()));
                assert_ne!(bound[0].port(), 0);
                if address.ends_with(&free.to_string()) {
                    assert_eq!(bound[0].port(), free);
                }
                let any = if loopback.contains(':') { "[::]:0" } else { "0.0.0.0:0" };
                // As a client too, and to one that knows its address.
                for client in [bind(&at(any)), bind(&mobile(at(any)))] {
                    let (association, accepted) = connect(&client, &server, ip(loopback)).await;
                    exchange(&association, &accepted).await;
                    let local = association.local_addresses();
                    assert_eq!(local, [SocketAddr::new(ip(loopback), client.local_addresses()[0].port())]);
                    assert_eq!(accepted.remote_addresses(), local);
                    association.shutdown().await.unwrap();
                }
                server.close().await.unwrap();
            }
        }
        // Both families at one port, named and not, and a name beside a wildcard.
        let both = options_at(["0.0.0.0:0", "[::]:0"].map(|at| at.parse().unwrap()));
        if has_ipv6 {
            let ports = bind(&both).local_addresses();
            assert_eq!((ports.len(), ports[0].port()), (2, ports[1].port()));
            let (server, client) = (bind(&at("[::]:0")), bind(&at("[::]:0")));
            for called in ["127.0.0.1", "::1"] {
                let (association, accepted) = connect(&client, &server, ip(called)).await;
                exchange(&association, &accepted).await;
            }
        }
        let named = [format!("127.0.0.1:{free}"), format!("0.0.0.0:{free}")].map(|at| at.parse().unwrap());
        let server = bind(&options_at(named));
        // The kernel's reason is the error's.
        let error = Endpoint::bind(&at(&format!("0.0.0.0:{free}"))).unwrap_err().to_string();
        assert!(error.contains(&format!("0.0.0.0:{free}: the port is in use")), "{error}");
        drop(server);
        let only = Mobility { only: vec!["wlan".to_owned()], ..Mobility::default() };
        for options in [
            EndpointOptions { except: vec!["tun".to_owned()], ..at("0.0.0.0:0") },
            EndpointOptions { shards: 1, ..at("0.0.0.0:0") }.mobile(only),
        ] {
            let error = Endpoint::bind(&options).unwrap_err();
            assert!(matches!(error, BindError::System { .. }), "{error:?}");
            assert!(error.to_string().contains("not supported"), "{error}");
        }
    });
}

/// Number of the family IPv6 (Linux).
const AF_INET6: u32 = 10;

#[test]
fn the_wildcard_of_both_families_works_with_one() {
    if let Some(sandbox) = without_netlink() {
        in_own_process(&format!("REFUSE_TOO={AF_INET6} {sandbox}"), "sandbox::inside_one_family");
    }
}

#[test]
#[ignore = "runs in a sandbox: the_wildcard_of_both_families_works_with_one"]
fn inside_one_family() {
    inside(async {
        assert!(UdpSocket::bind("[::]:0").is_err(), "refused here");
        let (server, client) = (bind(&at("[::]:0")), bind(&mobile(at("[::]:0"))));
        let bound = server.local_addresses();
        assert!(bound.len() == 1 && bound[0].is_ipv4(), "{bound:?}");
        let (association, accepted) = connect(&client, &server, ip("127.0.0.1")).await;
        exchange(&association, &accepted).await;
        // What is wrong otherwise is still said.
        let taken = at(&format!("[::]:{}", bound[0].port()));
        let error = Endpoint::bind(&taken).unwrap_err().to_string();
        assert!(error.contains("the port is in use"), "{error}");
    });
}

#[test]
fn a_wildcard_answers_from_the_address_that_was_called() {
    in_sandbox("inside_called");
}

#[test]
#[ignore = "runs in a sandbox: a_wildcard_answers_from_the_address_that_was_called"]
fn inside_called() {
    inside(async {
        let (server, client) = (bind(&at("0.0.0.0:0")), bind(&at("127.0.0.1:0")));
        let port = server.local_addresses()[0].port();
        // The kernel would answer from 127.0.0.1.
        for called in ["127.0.0.7", "127.0.0.1", "127.0.0.8"] {
            let (association, accepted) = connect(&client, &server, ip(called)).await;
            exchange(&association, &accepted).await;
            let place = [SocketAddr::new(ip(called), port)];
            assert_eq!(
                (association.remote_addresses(), accepted.local_addresses()),
                (place.to_vec(), place.to_vec())
            );
            association.shutdown().await.unwrap();
        }
        // A removed address is silent, although the socket of all addresses is open.
        server.remove_address(ip("127.0.0.7"));
        let peer = Peer { port: PORT, ..Peer::new(SocketAddr::new(ip("127.0.0.7"), port)) };
        let silent =
            timeout(Duration::from_millis(500), client.connect(peer, Security::insecure(), Config::mobile()))
                .await;
        assert!(silent.is_err(), "{silent:?}");
        server.add_address(ip("127.0.0.7")).unwrap();
        let (association, accepted) = connect(&client, &server, ip("127.0.0.7")).await;
        exchange(&association, &accepted).await;
    });
}

/// Sends numbered messages until `moves` is done, and checks that each arrives once and in order.
async fn while_data_flows(from: &Association, to: &Association, moves: impl Future<Output = ()>) {
    let done = std::cell::Cell::new(false);
    let send = async {
        let mut count = 0_u32;
        while !done.get() {
            let mut message = vec![0; 5000];
            message[..4].copy_from_slice(&count.to_be_bytes());
            from.send_bytes(1, message).await.unwrap();
            count += 1;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        from.send_bytes(1, "end").await.unwrap();
        count
    };
    let receive = async {
        let mut count = 0_u32;
        loop {
            let message = to.recv().await.unwrap().unwrap();
            if message.data == "end" {
                return count;
            }
            assert_eq!(message.data[..4], count.to_be_bytes());
            count += 1;
        }
    };
    let moves = async {
        moves.await;
        done.set(true);
    };
    let (sent, received, ()) = soon(async { tokio::join!(send, receive, moves) }).await;
    assert!(sent == received && sent > 0, "{sent} sent, {received} received");
}

/// Moves an association of a mobile client among addresses of the loopback interface. The server has
/// 127.0.0.9.
async fn move_around(client: &Endpoint, server: &Endpoint) {
    let (association, accepted) = connect(client, server, ip("127.0.0.9")).await;
    let first = primary(&association);
    for (from, to) in [(&association, &accepted), (&accepted, &association)] {
        while_data_flows(from, to, async {
            // Make before break, and to a socket of the program.
            let local = client.add_address(ip("127.0.0.3")).unwrap();
            assert!(client.local_addresses().contains(&local), "at once");
            assert_eq!(client.add_address(ip("127.0.0.3")).unwrap(), local, "it is in use");
            until(|| accepted.remote_addresses().contains(&local)).await;
            if !client.follows_interfaces() {
                assert_eq!(primary(&association), first, "it works, and nothing prefers the other");
            }
            client.remove_address(first);
            until(|| primary(&association) == ip("127.0.0.3")).await;
            until(|| accepted.remote_addresses() == [local]).await;
            let socket = UdpSocket::bind("127.0.0.4:0").unwrap();
            let local = client.add_socket(socket.try_clone().unwrap()).unwrap();
            assert_eq!(local, socket.local_addr().unwrap());
            client.remove_address(ip("127.0.0.3"));
            until(|| primary(&association) == ip("127.0.0.4")).await;
            until(|| accepted.remote_addresses() == [local]).await;
            // Break before make, and back.
            client.remove_address(ip("127.0.0.4"));
            until(|| !client.local_addresses().contains(&local)).await;
            let local = client.add_address(first).unwrap();
            until(|| primary(&association) == first).await;
            until(|| accepted.remote_addresses() == [local]).await;
        })
        .await;
    }
    exchange(&association, &accepted).await;
    association.shutdown().await.unwrap();
    // New associations have the address that is left.
    let (association, accepted) = connect(client, server, ip("127.0.0.9")).await;
    assert_eq!(primary(&association), first);
    exchange(&association, &accepted).await;
}

#[test]
fn a_program_moves_the_associations_of_a_mobile_endpoint() {
    run(async {
        let (server, client) = (bind(&at("127.0.0.9:0")), bind(&mobile(at("127.0.0.2:0"))));
        move_around(&client, &server).await;
    });
}

#[test]
fn a_program_moves_associations_where_netlink_is_refused() {
    in_sandbox("inside_moves");
}

#[test]
#[ignore = "runs in a sandbox: a_program_moves_associations_where_netlink_is_refused"]
fn inside_moves() {
    inside(async {
        let server = bind(&at("0.0.0.0:0"));
        for address in ["0.0.0.0:0", "127.0.0.1:0"] {
            let client = bind(&mobile(at(address)));
            move_around(&client, &server).await;
            let error = client.add_address(ip("192.0.2.77")).unwrap_err().to_string();
            assert!(error.contains("this host has no such address"), "{error}");
            client.close().await.unwrap();
            let error = client.add_address(ip("127.0.0.2")).unwrap_err().to_string();
            assert_eq!(error, "endpoint = closed: want an endpoint that is not closed: bind another");
        }
    });
}

#[test]
fn a_server_uses_addresses_and_sockets_that_the_program_adds() {
    run(async {
        for shards in [1, 3] {
            let server = bind(&EndpointOptions { shards, ..at("127.0.0.1:0") });
            let port = server.local_addresses()[0].port();
            let client = bind(&at("127.0.0.1:0"));
            let (before, accepted) = connect(&client, &server, ip("127.0.0.1")).await;
            assert!(accepted.add_local_address(ip("127.0.0.4")).is_err(), "there is no socket");
            let added = server.add_address(ip("127.0.0.4")).unwrap();
            assert_eq!(added, SocketAddr::new(ip("127.0.0.4"), port));
            accepted.add_local_address(ip("127.0.0.4")).unwrap();
            until(|| before.remote_addresses().contains(&added)).await;
            let own = server.add_socket(UdpSocket::bind("127.0.0.5:0").unwrap()).unwrap();
            server.remove_address(ip("127.0.0.1"));
            assert_eq!(server.local_addresses(), [added, own]);
            let mut associations = Vec::new();
            // Several, so that all shards send through the one socket.
            for called in [added, own].into_iter().cycle().take(16) {
                let peer = Peer { port: PORT, ..Peer::new(called) };
                let association =
                    soon(client.connect(peer, Security::insecure(), Config::mobile())).await.unwrap();
                let accepted = soon(server.accept(PORT)).await.unwrap();
                exchange(&association, &accepted).await;
                associations.push((association, accepted));
            }
            assert!(UdpSocket::bind(("127.0.0.1", port)).is_ok(), "its socket is closed");
            let unbound = UdpSocket::bind("0.0.0.0:0").unwrap();
            let error = server.add_socket(unbound).unwrap_err().to_string();
            assert!(error.ends_with("want a socket that is bound to one address of this host"), "{error}");
            let error = server.add_address(ip("0.0.0.0")).unwrap_err().to_string();
            assert_eq!(error, "address = 0.0.0.0: want one address of this host");
        }
    });
}

#[test]
fn a_host_without_a_network_says_so_at_once() {
    in_networks("ip link set lo up", "inside_no_network");
}

#[test]
#[ignore = "runs in a namespace: a_host_without_a_network_says_so_at_once"]
fn inside_no_network() {
    inside(async {
        let only = Mobility { only: vec!["nosuch".to_owned()], ..Mobility::default() };
        let only = EndpointOptions { shards: 1, ..at("0.0.0.0:0") }.mobile(only);
        for options in [at("0.0.0.0:0"), mobile(at("0.0.0.0:0")), only] {
            let endpoint = match Endpoint::bind(&options) {
                Err(BindError::System { .. }) if options.mobility.is_some() => continue,
                endpoint => endpoint.unwrap(),
            };
            let peer: SocketAddr = "198.51.100.1:9899".parse().unwrap();
            let error =
                soon(endpoint.connect(peer, Security::insecure(), Config::mobile())).await.unwrap_err();
            assert!(matches!(error, ConnectError::NoNetwork), "{error:?}");
        }
        let named = Endpoint::bind(&at("127.0.0.1:0")).unwrap();
        let peer: SocketAddr = "198.51.100.1:9899".parse().unwrap();
        let error = soon(named.connect(peer, Security::insecure(), Config::mobile())).await.unwrap_err();
        assert!(matches!(error, ConnectError::NoLocalAddress(_)), "{error:?}");
    });
}

#[test]
fn a_mobile_host_whose_link_is_down_says_so_at_once() {
    let network = "ip link set lo up
ip link add near type veth peer name far
ip address add 198.51.100.2/24 dev near
ip link set near up
ip link set far up";
    in_own_network(network, "sandbox::inside_link_down");
}

#[test]
#[ignore = "runs in a namespace: a_mobile_host_whose_link_is_down_says_so_at_once"]
fn inside_link_down() {
    inside(async {
        let endpoint = Endpoint::bind(&mobile(at("0.0.0.0:0"))).unwrap();
        assert!(endpoint.follows_interfaces());
        let peer: SocketAddr = "198.51.100.1:9899".parse().unwrap();
        let attempt = || {
            timeout(
                Duration::from_millis(300),
                endpoint.connect(peer, Security::insecure(), Config::mobile()),
            )
        };
        assert!(attempt().await.is_err(), "nobody answers, and there is a network");
        ip_command("link set near down");
        let error = soon(async {
            loop {
                if let Ok(connected) = attempt().await {
                    return connected.unwrap_err();
                }
            }
        });
        let error = error.await;
        assert!(matches!(error, ConnectError::NoNetwork), "{error:?}");
        ip_command("link set near up");
        soon(async {
            while attempt().await.is_ok() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    });
}

#[test]
fn a_wildcard_waits_for_its_first_address() {
    in_own_network("true", "sandbox::inside_first_address");
}

#[test]
#[ignore = "runs in a namespace: a_wildcard_waits_for_its_first_address"]
fn inside_first_address() {
    inside(async {
        let only = Mobility { only: vec!["nosuch".to_owned()], ..Mobility::default() };
        let none = bind(&EndpointOptions { shards: 1, ..at("0.0.0.0:0") }.mobile(only));
        let (fixed, moving) = (bind(&at("0.0.0.0:0")), bind(&mobile(at("0.0.0.0:9899"))));
        let peer: SocketAddr = "198.51.100.3:9899".parse().unwrap();
        for endpoint in [&none, &fixed, &moving] {
            assert_eq!(endpoint.local_addresses(), []);
            let error =
                soon(endpoint.connect(peer, Security::insecure(), Config::mobile())).await.unwrap_err();
            assert!(matches!(error, ConnectError::NoNetwork), "{error:?}");
        }
        ip_command("link set lo up");
        ip_command("link add near type veth peer name far");
        ip_command("address add 198.51.100.2/24 dev near");
        ip_command("address add 198.51.100.3/24 dev near");
        ip_command("link set near up");
        ip_command("link set far up");
        let has =
            |endpoint: &Endpoint, address| endpoint.local_addresses().iter().any(|at| at.ip() == ip(address));
        until(|| [&fixed, &moving].iter().all(|of| has(of, "198.51.100.2") && has(of, "198.51.100.3"))).await;
        for (endpoint, port) in [(&fixed, None), (&moving, Some(9899))] {
            let bound = endpoint.local_addresses();
            let first = bound[0].port();
            assert!(
                bound.iter().all(|at| at.port() == first && port.is_none_or(|port| port == first)),
                "{bound:?}"
            );
        }
        assert_eq!(none.local_addresses(), [], "loopback is none of its interfaces");
    });
}

#[test]
fn a_silent_peer_is_given_up_after_the_time_for_set_ups() {
    run(async {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let peer = silent.local_addr().unwrap();
        let limited =
            |connect_timeout| Endpoint::bind(&EndpointOptions { connect_timeout, ..at("127.0.0.1:0") });
        let endpoint = limited(Some(Duration::from_millis(300))).unwrap();
        // Without it the set-up takes four minutes.
        let error = soon(endpoint.connect(peer, Security::insecure(), Config::default())).await.unwrap_err();
        assert!(matches!(error, ConnectError::Timeout), "{error:?}");
        endpoint.idle().await;
        let patient = limited(None).unwrap();
        let waits =
            timeout(Duration::from_secs(1), patient.connect(peer, Security::insecure(), Config::default()))
                .await;
        assert!(waits.is_err(), "{waits:?}");
        // The time for set-ups does not end an association.
        let server = bind(&at("127.0.0.1:0"));
        let (association, accepted) = connect(&endpoint, &server, ip("127.0.0.1")).await;
        tokio::time::sleep(Duration::from_millis(600)).await;
        exchange(&association, &accepted).await;
    });
}
