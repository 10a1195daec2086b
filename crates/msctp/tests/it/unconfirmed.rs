//! A server that authenticates the client, and then shuts down under protection instead of confirming the
//! keys. It is of the core: an endpoint of this crate never does that.
#![cfg(feature = "tls")]

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::{bind, run, soon};
use msctp::protection::{DtlsRoles, KeyManagement, KeyManagementId, Protection, Ring};
use msctp::security::{AnyPeer, Error, Identity, Tls, provider};
use msctp::{Config, ConnectError, EndpointConfig, Peer};
use msctp_protection::Direction;
use msctp_proto::{Endpoint, Event, Handle, LocalAddrs, PathAddr};
use msctp_security::{Agreed, KeyManager, Output};
use msctp_units::Time;
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout};

const PORT: u16 = 9;

struct Server {
    socket: UdpSocket,
    endpoint: Endpoint,
    identity: Identity,
    keys: Option<(Handle, KeyManager)>,
    began: Instant,
}

impl Server {
    async fn bind() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        // With False Start the client has send keys, so that it seals its SHUTDOWN ACK.
        let methods = vec![KeyManagementId::TLS_FALSE_START];
        let roles = DtlsRoles { client: false, server: true };
        let keys = KeyManagement::external(Arc::new(Ring), methods, roles);
        let config = Config { protection: Protection::Required(Arc::new(keys)), ..Config::default() };
        let mut endpoint = Endpoint::new(EndpointConfig::default(), [7; 32]).unwrap();
        let local = LocalAddrs { port: PORT, addresses: vec![socket.local_addr().unwrap().ip()] };
        endpoint.listen(local, config).unwrap();
        let identity = Identity::generate(provider()).unwrap();
        Self { socket, endpoint, identity, keys: None, began: Instant::now() }
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.began.elapsed().as_nanos() as u64)
    }

    async fn serve(mut self) {
        let (mut received, mut sent, mut client) = (vec![0; 65_536], Vec::new(), None);
        let local = self.socket.local_addr().unwrap().ip();
        loop {
            let packet = timeout(Duration::from_millis(5), self.socket.recv_from(&mut received)).await;
            let now = self.now();
            if let Ok(packet) = packet {
                let (len, from) = packet.unwrap();
                let at = PathAddr { local, remote: from.ip() };
                self.endpoint.handle_datagram(now, at, &mut received[..len]);
                client = Some(from);
            }
            self.endpoint.handle_timeout(now);
            while let Some((handle, event)) = self.endpoint.poll_event() {
                if matches!(event, Event::Connected { .. }) {
                    self.begin(now, handle);
                }
            }
            self.advance(now);
            while self.endpoint.poll_transmit(now, &mut sent).is_some() {
                self.socket.send_to(&sent, client.expect("it answers")).await.unwrap();
                sent.clear();
            }
        }
    }

    fn begin(&mut self, now: Time, handle: Handle) {
        let agreement = self.endpoint.association(handle).unwrap().key_agreement().unwrap();
        let agreed = Agreed {
            end: agreement.end,
            restart: false,
            false_start: true,
            client_parameter: &agreement.client_parameter,
            server_parameter: &agreement.server_parameter,
            binding: agreement.binding,
        };
        let config = Arc::new(self.identity.config(Arc::new(AnyPeer)).unwrap());
        self.keys = Some((handle, KeyManager::new(config, agreed, None, now).unwrap()));
    }

    /// Passes messages and keys on, but nothing that the key manager sends under protection.
    fn advance(&mut self, now: Time) {
        let Some((handle, manager)) = &mut self.keys else { return };
        let Some(association) = self.endpoint.association_mut(*handle) else { return };
        while let Some(message) = association.recv_key_message() {
            // The client's close of the connection is not awaited.
            let _ = manager.handle_message(now, &message.data);
        }
        while let Some(output) = manager.poll_output() {
            match output {
                Output::Send(message) if manager.epoch().is_none() => {
                    association.send_key_message(message.into()).unwrap();
                }
                Output::Establish { direction: Direction::Receive, epoch, keys, .. } => {
                    association.establish_receive_keys(epoch, &keys).unwrap();
                }
                Output::Establish { direction: Direction::Send, epoch, keys, .. } => {
                    association.establish_send_keys(now, epoch, &keys).unwrap();
                }
                Output::RequireProtection => association.require_protected().unwrap(),
                Output::Protected { .. } => association.shutdown(now),
                _ => {}
            }
        }
    }
}

#[test]
fn a_shutdown_instead_of_the_confirmation_of_the_keys_is_an_error_of_the_set_up() {
    run(async {
        let server = Server::bind().await;
        let peer = Peer { port: PORT, ..Peer::new(server.socket.local_addr().unwrap()) };
        let serving = tokio::spawn(server.serve());
        let tls = Tls::new(&Identity::generate(provider()).unwrap(), AnyPeer).unwrap();
        let error = soon(bind().connect(peer, tls, Config::default())).await.unwrap_err();
        let ConnectError::Security(error) = error else { panic!("{error:?}") };
        assert_eq!(*error, Error::Unexpected("a shutdown before the keys"));
        serving.abort();
    });
}
