//! An endpoint with a wildcard address, on a host with addresses of several scopes: what it names in clear,
//! seen on the wire, and what it adds once an association is protected.

#![cfg(target_os = "linux")]

use crate::common;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use common::{in_own_network, inside, options_at, soon, until};
use msctp::{Association, Config, Endpoint, Peer, Security};
use msctp_wire::param::Padding;
use msctp_wire::{Checksum, Chunk, Init, Packet, PacketBuilder, Param, Params, Tsn, VerificationTag};
use tokio::net::UdpSocket;

const PORT: u16 = 5001;
/// Addresses of three scopes. The first two of the interface are private.
const HOST: &str = "
ip link set lo up
ip link add near type veth peer name far
ip address add 10.4.0.2/24 dev near
ip address add 10.4.0.3/24 dev near
ip address add 198.51.100.2/24 dev near
ip link set near up
ip link set far up
";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Returns the addresses that the INIT or INIT ACK of a packet names; `None` for other packets.
fn named(bytes: &[u8]) -> Option<Vec<IpAddr>> {
    let packet = Packet::parse(bytes, Checksum::Skip).unwrap();
    let params = match packet.chunks().next() {
        Some(Ok(Chunk::Init(init))) => init.params,
        Some(Ok(Chunk::InitAck(ack))) => ack.params,
        _ => return None,
    };
    let mut named: Vec<IpAddr> = params.iter().flatten().filter_map(|param| param.address()).collect();
    named.sort_unstable();
    Some(named)
}

/// Returns an INIT for `PORT` that is long enough for an answer with every address.
fn init() -> Vec<u8> {
    let padding = [Param::Padding(Padding { len: 400 })];
    let init = Init {
        initiate_tag: VerificationTag::new(7),
        a_rwnd: 65_536,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn::new(1),
        params: Params::from(&padding),
    };
    let mut bytes = Vec::new();
    let mut builder = PacketBuilder::new(&mut bytes, 9, PORT, VerificationTag::new(0), 1400);
    builder.push(&init).unwrap();
    builder.finish();
    bytes
}

#[test]
fn an_init_ack_on_the_wire_names_the_addresses_of_the_scope_called() {
    in_own_network(HOST, "scopes::inside_scopes_of_an_init_ack");
}

#[test]
#[ignore = "runs in a namespace: an_init_ack_on_the_wire_names_the_addresses_of_the_scope_called"]
fn inside_scopes_of_an_init_ack() {
    inside(async {
        let server = Endpoint::bind(&options_at(["0.0.0.0:9899".parse().unwrap()])).unwrap();
        server.listen(PORT, Security::insecure(), Config::default()).unwrap();
        let private = vec![ip("10.4.0.2"), ip("10.4.0.3")];
        for (called, shown) in [("127.0.0.1", vec![]), ("10.4.0.2", private), ("198.51.100.2", vec![])] {
            let socket = UdpSocket::bind((called, 0)).await.unwrap();
            socket.send_to(&init(), (called, 9899)).await.unwrap();
            let mut answer = vec![0; 2048];
            let len = soon(socket.recv(&mut answer)).await.unwrap();
            // A single address is the source of the packet.
            let named: Vec<IpAddr> = named(&answer[..len]).expect("an INIT ACK");
            let others = if named == [ip(called)] { vec![] } else { named };
            assert_eq!(others, shown, "called at {called}");
        }
    });
}

/// The packets that a relay passed, in both directions.
type Passed = Arc<Mutex<Vec<Vec<u8>>>>;

/// Passes packets between a client and the server. Returns the address for the client.
async fn relay(server: SocketAddr) -> (SocketAddr, Passed) {
    let socket = UdpSocket::bind("10.4.0.3:0").await.unwrap();
    let at = socket.local_addr().unwrap();
    let passed = Passed::default();
    let log = Arc::clone(&passed);
    tokio::spawn(async move {
        let (mut buffer, mut client) = (vec![0; 65_536], None);
        while let Ok((len, from)) = socket.recv_from(&mut buffer).await {
            log.lock().unwrap().push(buffer[..len].to_vec());
            if from != server {
                client = Some(from);
            }
            if let Some(to) = if from == server { client } else { Some(server) } {
                let _ = socket.send_to(&buffer[..len], to).await;
            }
        }
    });
    (at, passed)
}

/// Connects from a wildcard address to a server behind a relay. Returns the association with its ends.
async fn connect(security: Security) -> (Association, Passed, [Endpoint; 2]) {
    let server = Endpoint::bind(&options_at(["10.4.0.2:0".parse().unwrap()])).unwrap();
    server.listen(PORT, security.clone(), Config::default()).unwrap();
    let (at, passed) = relay(server.local_addresses()[0]).await;
    let client = Endpoint::bind(&options_at(["0.0.0.0:0".parse().unwrap()])).unwrap();
    let association =
        client.connect(Peer { port: PORT, ..Peer::new(at) }, security, Config::default()).await.unwrap();
    let accepted = soon(server.accept(PORT)).await.unwrap();
    association.send_bytes(0, vec![1; 100]).await.unwrap();
    assert!(soon(accepted.recv()).await.unwrap().is_some());
    (association, passed, [client, server])
}

#[test]
fn a_client_names_addresses_of_other_scopes_under_protection_only() {
    in_own_network(HOST, "scopes::inside_scopes_of_a_client");
}

#[test]
#[ignore = "runs in a namespace: a_client_names_addresses_of_other_scopes_under_protection_only"]
fn inside_scopes_of_a_client() {
    inside(async {
        let global = ip("198.51.100.2");
        let (association, passed, _ends) = connect(Security::insecure()).await;
        // Everything of the set-up was sent before the data arrived.
        let passed = std::mem::take(&mut *passed.lock().unwrap());
        let named: Vec<IpAddr> = passed.iter().filter_map(|bytes| named(bytes)).flatten().collect();
        let private = [ip("10.4.0.2"), ip("10.4.0.3")];
        assert!(named.iter().all(|address| private.contains(address)), "{named:?}");
        let is_asconf = |bytes: &Vec<u8>| {
            let packet = Packet::parse(bytes, Checksum::Skip).unwrap();
            packet.chunks().flatten().any(|chunk| matches!(chunk, Chunk::Asconf(_)))
        };
        assert!(!passed.iter().any(is_asconf));
        assert!(association.paths().iter().all(|path| path.at.local != global));

        let (association, passed, _ends) = connect(Security::pre_shared(&[7; 32]).unwrap()).await;
        until(|| association.paths().iter().any(|path| path.at.local == global)).await;
        assert!(!passed.lock().unwrap().iter().any(is_asconf), "protected");
    });
}
