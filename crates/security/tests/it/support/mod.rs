//! Two key managers with the keys that they establish, joined by queues of messages.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod play;

use std::collections::VecDeque;
use std::sync::Arc;

use msctp_protection::{
    Binding, Direction, End, HEADER_LEN, KeyContext, Opener, ReceiveUsage, Ring, Sealer, SendUsage,
    TRAILER_LEN,
};
use msctp_security::rustls::crypto::{CryptoProvider, ring};
use msctp_security::{
    Agreed, AnyPeer, CheckPeer, Error, Identity, KeyManager, Output, PeerIdentity, TlsConfig,
};
use msctp_units::{Span, Time};

/// DTLS Key Management parameters: both roles and only the server's, one method.
pub(crate) const CLIENT_PARAMETER: &[u8] = &[0x80, 0x06, 0, 10, 1, 2, 3, 4, 0x01, 192];
pub(crate) const SERVER_PARAMETER: &[u8] = &[0x80, 0x06, 0, 10, 9, 8, 7, 6, 0x02, 192];
/// Hash of an INIT and its INIT ACK.
pub(crate) const BINDING: Binding = Binding::from_bytes([0x5a; Binding::LEN]);

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

pub(crate) fn identity() -> Identity {
    Identity::generate(provider()).expect("an identity")
}

pub(crate) fn config(check: impl CheckPeer + 'static) -> Arc<TlsConfig> {
    Arc::new(identity().config(Arc::new(check)).expect("a configuration"))
}

pub(crate) fn agreed(end: End) -> Agreed<'static> {
    Agreed {
        end,
        restart: true,
        false_start: false,
        client_parameter: CLIENT_PARAMETER,
        server_parameter: SERVER_PARAMETER,
        binding: BINDING,
    }
}

/// One end of an association: its key manager and the keys that it has established.
pub(crate) struct Party {
    pub(crate) manager: KeyManager,
    pub(crate) sealer: Sealer,
    pub(crate) opener: Opener,
    pub(crate) protected: Vec<u64>,
    /// Number of times that the end began to send before the server confirmed the keys.
    pub(crate) starts: usize,
    pub(crate) peer: Option<Arc<PeerIdentity>>,
    pub(crate) required: bool,
    pub(crate) retired: Vec<(u64, Time)>,
    pub(crate) rekeys_failed: Vec<Error>,
    /// Messages in flight to the peer, each with whether it was sent protected.
    pub(crate) sent: VecDeque<(Vec<u8>, bool)>,
    pub(crate) error: Option<Error>,
}

impl Party {
    pub(crate) fn new(manager: KeyManager) -> Self {
        let mut party = Self {
            manager,
            sealer: Sealer::new(),
            opener: Opener::new(64),
            protected: Vec::new(),
            starts: 0,
            peer: None,
            required: false,
            retired: Vec::new(),
            rekeys_failed: Vec::new(),
            sent: VecDeque::new(),
            error: None,
        };
        party.drain();
        party
    }

    pub(crate) fn of(config: &Arc<TlsConfig>, end: End) -> Self {
        Self::agreed(config, agreed(end))
    }

    fn agreed(config: &Arc<TlsConfig>, agreed: Agreed<'_>) -> Self {
        let name = (agreed.end == End::Client).then(|| "server.example".try_into().expect("a name"));
        Self::new(KeyManager::new(Arc::clone(config), agreed, name, Time::ZERO).expect("a manager"))
    }

    fn drain(&mut self) {
        while let Some(output) = self.manager.poll_output() {
            match output {
                Output::Send(message) => self.sent.push_back((message, self.sealer.is_ready())),
                Output::Establish { direction: Direction::Send, context, epoch, keys } => {
                    self.sealer.establish(context, epoch, &keys, &Ring).expect("the next epoch");
                }
                Output::Establish { direction: Direction::Receive, context, epoch, keys } => {
                    self.opener.establish(context, epoch, &keys, &Ring).expect("the next epoch");
                }
                Output::FalseStart { peer } => {
                    assert!(self.sealer.is_ready() && self.opener.is_ready());
                    self.peer = Some(peer);
                    self.starts += 1;
                }
                Output::RequireProtection => self.required = true,
                Output::Retire { before, until } => {
                    self.opener.retire(before, until);
                    self.retired.push((before, until));
                }
                Output::Protected { epoch, peer } => {
                    assert!(self.sealer.is_ready() && self.opener.is_ready() && self.required);
                    self.protected.push(epoch);
                    self.peer = Some(peer);
                }
                Output::RekeyFailed(error) => self.rekeys_failed.push(error),
            }
        }
    }

    /// Calls the manager and performs its outputs.
    pub(crate) fn call(&mut self, call: impl FnOnce(&mut KeyManager) -> Result<(), Error>) {
        if let Err(error) = call(&mut self.manager) {
            self.error.get_or_insert(error);
        }
        self.drain();
    }

    pub(crate) fn receive(&mut self, now: Time, message: &[u8]) {
        self.call(|manager| manager.handle_message(now, message));
    }

    pub(crate) fn usage(&self) -> (Option<SendUsage>, Option<ReceiveUsage>) {
        let epoch = self.manager.epoch().unwrap_or(0);
        (self.sealer.usage(KeyContext::Primary), self.opener.usage(KeyContext::Primary, epoch))
    }

    /// Seals a packet.
    pub(crate) fn seal(&mut self, content: u8) -> Vec<u8> {
        let mut packet = [&[0; HEADER_LEN][..], &[content; 4], &[0; TRAILER_LEN]].concat();
        self.sealer.seal(&mut packet).expect("keys for sending");
        packet
    }

    /// Opens a packet. Returns whether it is authentic and has this content.
    pub(crate) fn opens(&mut self, mut packet: Vec<u8>, content: u8) -> bool {
        let opened = self.opener.open(&mut packet);
        opened.is_ok_and(|opened| packet[opened.chunks] == [content; 4])
    }
}

/// Both ends of an association.
pub(crate) struct Pair {
    pub(crate) client: Party,
    pub(crate) server: Party,
    pub(crate) now: Time,
}

impl Pair {
    pub(crate) fn new(client: &Arc<TlsConfig>, server: &Arc<TlsConfig>) -> Self {
        Self {
            client: Party::of(client, End::Client),
            server: Party::of(server, End::Server),
            now: Time::ZERO,
        }
    }

    /// Returns two ends that agreed on False Start.
    pub(crate) fn false_start(client: &Arc<TlsConfig>, server: &Arc<TlsConfig>) -> Self {
        let party = |config, end| Party::agreed(config, Agreed { false_start: true, ..agreed(end) });
        Self { client: party(client, End::Client), server: party(server, End::Server), now: Time::ZERO }
    }

    /// Returns two ends that accept any peer.
    pub(crate) fn any() -> Self {
        Self::new(&config(AnyPeer), &config(AnyPeer))
    }

    /// Delivers all messages in flight to the server, or to the client. Returns their number.
    pub(crate) fn deliver(&mut self, to: End) -> usize {
        let (from, to) = match to {
            End::Server => (&mut self.client, &mut self.server),
            End::Client => (&mut self.server, &mut self.client),
        };
        let messages = std::mem::take(&mut from.sent);
        for (message, _) in &messages {
            to.receive(self.now, message);
        }
        messages.len()
    }

    /// Delivers messages until none are left.
    pub(crate) fn run(&mut self) {
        for _ in 0..100 {
            if self.deliver(End::Server) + self.deliver(End::Client) == 0 {
                return;
            }
        }
        panic!("the ends never fall silent");
    }

    /// Advances the time and calls both ends' timers, and delivers what follows.
    pub(crate) fn wait(&mut self, span: Span) {
        let end = self.now + span;
        loop {
            let timeouts = [&self.client, &self.server].map(|party| party.manager.poll_timeout());
            let Some(next) = timeouts.into_iter().flatten().min().filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            let now = self.now;
            for party in [&mut self.client, &mut self.server] {
                party.call(|manager| manager.handle_timeout(now));
                party.opener.expire(now);
            }
            self.run();
        }
        self.now = end;
        for party in [&mut self.client, &mut self.server] {
            party.opener.expire(end);
        }
    }

    /// Asserts that both ends use the same keys of an epoch, in both directions.
    pub(crate) fn assert_protected(&mut self, epoch: u64) {
        assert_eq!((&self.client.error, &self.server.error), (&None, &None));
        assert_eq!(self.client.protected.last(), Some(&epoch), "client");
        assert_eq!(self.server.protected.last(), Some(&epoch), "server");
        for content in [1, 2] {
            let packet = self.client.seal(content);
            assert!(self.server.opens(packet, content), "client to server");
            let packet = self.server.seal(content);
            assert!(self.client.opens(packet, content), "server to client");
        }
    }
}
