//! [`KeyManager`]: the key management of one association.

use std::collections::VecDeque;
use std::sync::Arc;

use msctp_protection::{
    Binding, Direction, End, FIRST_EPOCH, KeyContext, KeyMaterial, ReceiveUsage, SendUsage,
};
use msctp_units::{Span, Time};
use rustls::pki_types::ServerName;

use crate::code::Exchange;
use crate::config::TlsConfig;
use crate::connection::{Connection, PeerIdentity};
use crate::error::Error;
use crate::message::{Body, Hello, Message, epoch_bits, hello};

/// Time for which old keys stay once the peer is known to have the new ones: the maximum packet lifetime
/// (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §6.2.3).
const DRAIN: Span = Span::from_secs(120);
/// Pause after a failed attempt to rekey.
const RETRY: Span = Span::from_secs(10);
/// Returns the server name for a peer without one: TLS sends no name for an IP address.
fn nameless() -> ServerName<'static> {
    core::net::IpAddr::from([0, 0, 0, 0]).into()
}

/// The agreement of both ends at set-up (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed<'a> {
    /// This end's role.
    pub end: End,
    /// True if both ends support the protected restart, so that restart keys are exported as well.
    pub restart: bool,
    /// The method is [`METHOD_FALSE_START`](crate::METHOD_FALSE_START).
    pub false_start: bool,
    /// The DTLS Key Management parameter of the end with the role client, as on the wire with its header and
    /// without padding.
    pub client_parameter: &'a [u8],
    /// The DTLS Key Management parameter of the end with the role server, in the same form.
    pub server_parameter: &'a [u8],
    /// Hash of INIT and INIT ACK, on which the keys depend as well.
    pub binding: Binding,
}

impl Agreed<'_> {
    /// Returns the end of the exporter context: both parameters, the client's first, as the draft has it, and
    /// the hash.
    fn context(&self) -> Vec<u8> {
        [self.client_parameter, self.server_parameter, &self.binding.bytes()[..]].concat()
    }
}

/// An action of the association, to be performed in order.
#[derive(Debug)]
pub enum Output {
    /// Send this user message on stream 0, ordered and reliable, with [`PPID`](crate::PPID).
    Send(Vec<u8>),
    /// Establish key material (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.4, §7.5).
    Establish {
        /// Direction of the keys. Packets sent after this output are protected with keys to the peer. Packets
        /// protected with keys from the peer can be opened after it.
        direction: Direction,
        /// Context of the keys: the association or its restart.
        context: KeyContext,
        /// Epoch of the keys.
        epoch: u64,
        /// The key material.
        keys: KeyMaterial,
    },
    /// Discard packets that are not protected from now on (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.9).
    RequireProtection,
    /// Destroy the key material for receiving of the epochs before this one at that time. If an earlier
    /// output named an earlier time, that time applies.
    Retire {
        /// The oldest epoch whose keys stay.
        before: u64,
        /// Time of the destruction.
        until: Time,
    },
    /// The client may send user data, because the server will have the keys when it has processed the
    /// messages sent so far. The server may still refuse the client. *Protected* follows when the server
    /// answers.
    FalseStart {
        /// The server, which TLS has authenticated.
        peer: Arc<PeerIdentity>,
    },
    /// A new epoch protects packets, and user data may be sent.
    Protected {
        /// The epoch.
        epoch: u64,
        /// The peer, which TLS has authenticated.
        peer: Arc<PeerIdentity>,
    },
    /// The keys could not be replaced, for this reason. Another attempt follows.
    RekeyFailed(Error),
}

/// Progress of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// TLS is not complete.
    Handshake,
    /// The client waits for the server's *Protection Established*.
    AwaitProtection,
    /// The server waits for the client's proof of the one-time code.
    AwaitCode,
}

/// A handshake for the next epoch.
struct Attempt {
    /// Role of this end in TLS. In the first handshake it is the key management role.
    role: End,
    connection: Connection,
    stage: Stage,
    deadline: Time,
}

/// The key management of one association (draft-porfiri-tsvwg-sctp-dtls-handshake-01).
///
/// After each call, take the [`Output`]s by [`poll_output`](Self::poll_output) and set a timer by
/// [`poll_timeout`](Self::poll_timeout). After an error send the remaining output, a TLS alert,
/// and abort the association.
pub struct KeyManager {
    config: Arc<TlsConfig>,
    end: End,
    restart: bool,
    /// True if the client sends with the first keys before the server's *Protection Established*.
    false_start: bool,
    /// The agreement at the end of the exporter context.
    agreement: Vec<u8>,
    server_name: ServerName<'static>,
    code: Option<Exchange>,
    /// True if a proof of the code was sent or verified.
    proved: bool,
    /// The epoch in use; 0 before the first.
    epoch: u64,
    attempt: Option<Attempt>,
    /// The server's completed connection, until the client closes it. By then the client has the new keys.
    closing: Option<Connection>,
    peer: Option<Arc<PeerIdentity>>,
    /// Time at which to begin the next handshake.
    rekey_at: Option<Time>,
    /// Time before which another ClientHello of the peer is ignored, because each costs this end a signature.
    hello_at: Time,
    /// Time by which the keys in use must have been replaced.
    expires_at: Option<Time>,
    output: VecDeque<Output>,
    failed: bool,
}

impl KeyManager {
    /// Begins key management when the association is established. The client sends its first message.
    ///
    /// `server_name` is the server's name or address, against which certificates of a CA are verified. The
    /// server needs none.
    ///
    /// # Errors
    /// If rustls cannot begin a handshake.
    pub fn new(
        config: Arc<TlsConfig>,
        agreed: Agreed<'_>,
        server_name: Option<ServerName<'static>>,
        now: Time,
    ) -> Result<Self, Error> {
        Self::begin(config, agreed, server_name, None, now)
    }

    /// Begins key management like [`new`](Self::new). In addition, both ends prove that they have the same
    /// one-time code.
    ///
    /// # Errors
    /// If rustls cannot begin a handshake, or there are no random numbers.
    #[cfg(feature = "code")]
    pub fn with_code(
        config: Arc<TlsConfig>,
        agreed: Agreed<'_>,
        server_name: Option<ServerName<'static>>,
        code: &crate::code::Code,
        now: Time,
    ) -> Result<Self, Error> {
        let random = config.client.crypto_provider().secure_random;
        let exchange = Exchange::new(code, agreed.end, random)?;
        Self::begin(config, agreed, server_name, Some(exchange), now)
    }

    fn begin(
        config: Arc<TlsConfig>,
        agreed: Agreed<'_>,
        server_name: Option<ServerName<'static>>,
        code: Option<Exchange>,
        now: Time,
    ) -> Result<Self, Error> {
        let mut manager = Self {
            end: agreed.end,
            restart: agreed.restart,
            false_start: agreed.false_start,
            agreement: agreed.context(),
            server_name: server_name.unwrap_or_else(nameless),
            code,
            proved: false,
            epoch: 0,
            attempt: None,
            closing: None,
            peer: None,
            rekey_at: None,
            hello_at: now,
            expires_at: Some(now + config.timeout),
            config,
            output: VecDeque::new(),
            failed: false,
        };
        if agreed.end == End::Client {
            if let Some(code) = &manager.code {
                let share = Message::encode(FIRST_EPOCH, Body::CodeShare(code.share()));
                manager.output.push_back(Output::Send(share));
            }
            manager.start_client(now)?;
        }
        Ok(manager)
    }

    /// Returns the epoch in use; `None` before packets are protected.
    #[must_use]
    pub const fn epoch(&self) -> Option<u64> {
        if self.epoch == 0 { None } else { Some(self.epoch) }
    }

    /// Returns whether the peer is known to use the first keys, because it has opened and sent protected
    /// packets.
    ///
    /// Accept a client only then. Until then its messages might not be openable, or might be repetitions of
    /// others. The close of its TLS connection is its first protected message.
    #[must_use]
    pub const fn is_confirmed(&self) -> bool {
        self.epoch > FIRST_EPOCH || self.epoch == FIRST_EPOCH && self.closing.is_none()
    }

    /// Replaces the agreement within the same set-up, as after a stale cookie, because the keys depend on it.
    ///
    /// # Errors
    /// If this end has another role, or there are keys.
    pub fn agree_again(&mut self, agreed: Agreed<'_>) -> Result<(), Error> {
        let begun = self.attempt.as_ref().is_some_and(|attempt| attempt.stage == Stage::Handshake);
        if agreed.end != self.end || self.epoch != 0 || !begun {
            return Err(Error::Unexpected("a second key agreement after the handshake"));
        }
        (self.restart, self.false_start) = (agreed.restart, agreed.false_start);
        self.agreement = agreed.context();
        Ok(())
    }

    /// Returns whether the one-time code is used up: this end verified the peer's proof, or sent its own,
    /// with which the peer can verify one guess.
    #[must_use]
    pub const fn has_proved_code(&self) -> bool {
        self.proved
    }

    /// Returns the next thing to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.output.pop_front()
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) must be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let deadline = self.attempt.as_ref().map(|attempt| attempt.deadline);
        let rekey = self.rekey_at.filter(|_| self.attempt.is_none());
        [deadline, rekey, self.expires_at].into_iter().flatten().min().filter(|_| !self.failed)
    }

    /// Receives a user message with [`PPID`](crate::PPID).
    ///
    /// # Errors
    /// If the association must be aborted.
    pub fn handle_message(&mut self, now: Time, message: &[u8]) -> Result<(), Error> {
        self.guard(|manager| manager.receive(now, message))
    }

    /// Handles the timers that are due.
    ///
    /// # Errors
    /// If the association must be aborted: a handshake timed out, or keys are too old.
    pub fn handle_timeout(&mut self, now: Time) -> Result<(), Error> {
        self.guard(|manager| manager.time_out(now))
    }

    /// Begins to replace the keys, unless a replacement is in progress or there are none yet.
    ///
    /// # Errors
    /// If rustls cannot begin a handshake.
    pub fn rekey(&mut self, now: Time) -> Result<(), Error> {
        self.guard(|manager| {
            if manager.epoch == 0 || manager.attempt.is_some() {
                return Ok(());
            }
            manager.start_client(now)
        })
    }

    /// Handles the usage of the current epoch's keys. Begins to replace them when they approach a limit: that
    /// of the AEAD (RFC 9147 §4.5.3) or [`Rekey::bytes`](crate::Rekey::bytes).
    ///
    /// # Errors
    /// Same as [`rekey`](Self::rekey).
    pub fn handle_usage(
        &mut self,
        now: Time,
        send: Option<SendUsage>,
        receive: Option<ReceiveUsage>,
    ) -> Result<(), Error> {
        let bytes = |usage: &SendUsage| usage.blocks.saturating_mul(16) >= self.config.rekey.bytes;
        let spent =
            send.is_some_and(|usage| usage.epoch == self.epoch && (usage.should_rekey() || bytes(&usage)));
        if spent || receive.is_some_and(|usage| usage.should_rekey()) {
            self.rekey(now)?;
        }
        Ok(())
    }

    /// Runs a step, unless one has failed before.
    fn guard(&mut self, step: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        if self.failed {
            return Err(Error::Failed);
        }
        let result = step(self);
        if result.is_err() {
            self.failed = true;
            self.attempt = None;
            self.closing = None;
        }
        result
    }

    /// Returns the epoch for which the next handshake makes keys.
    const fn next_epoch(&self) -> u64 {
        if self.epoch == 0 { FIRST_EPOCH } else { self.epoch + 1 }
    }

    fn start_client(&mut self, now: Time) -> Result<(), Error> {
        // The key management server has no name for its peer, which must have the key it had before.
        let (config, name) = match self.end {
            End::Client => (&self.config.client, self.server_name.clone()),
            End::Server => (&self.config.rekeying_server, nameless()),
        };
        let connection = Connection::client(config, name)?;
        self.start(End::Client, connection, now);
        self.send_records();
        Ok(())
    }

    fn start_server(&mut self, now: Time) -> Result<(), Error> {
        let connection = Connection::server(&self.config.server)?;
        self.start(End::Server, connection, now);
        self.hello_at = now + RETRY;
        Ok(())
    }

    fn start(&mut self, role: End, connection: Connection, now: Time) {
        let deadline = now + self.config.timeout;
        self.attempt = Some(Attempt { role, connection, stage: Stage::Handshake, deadline });
    }

    /// Sends the records that TLS has produced.
    fn send_records(&mut self) {
        let Some(attempt) = &mut self.attempt else { return };
        let records = attempt.connection.take_output();
        if !records.is_empty() {
            self.send(Body::Records(&records));
        }
    }

    /// Sends a message about the next epoch.
    fn send(&mut self, body: Body<'_>) {
        let message = Message::encode(self.next_epoch(), body);
        self.output.push_back(Output::Send(message));
    }

    fn receive(&mut self, now: Time, message: &[u8]) -> Result<(), Error> {
        let Message { epoch_bits: bits, body } = Message::parse(message)?;
        if bits == epoch_bits(self.next_epoch()) {
            match body {
                Body::Records(records) => self.receive_records(now, records),
                Body::ProtectionEstablished => self.protection_established(now),
                Body::CodeShare(share) => self.receive_code_share(share),
                Body::CodeConfirmation(tag) => self.receive_code_confirmation(now, tag),
                Body::Unknown => Ok(()),
            }
        } else if self.epoch != 0 && bits == epoch_bits(self.epoch) {
            if let Body::Records(records) = body {
                self.receive_closing(now, records);
            }
            Ok(())
        } else {
            Err(Error::Unexpected("a message for another epoch"))
        }
    }

    /// Receives TLS records of the next epoch's handshake.
    fn receive_records(&mut self, now: Time, records: &[u8]) -> Result<(), Error> {
        let is_hello = hello(records) == Hello::Client;
        let retrying = self.attempt.as_ref().is_some_and(|attempt| attempt.connection.is_retrying());
        if is_hello && self.epoch != 0 && !retrying && now < self.hello_at {
            return Ok(());
        }
        match &self.attempt {
            None if is_hello => self.start_server(now)?,
            None if self.epoch == 0 => return Err(Error::Unexpected("TLS records without a ClientHello")),
            // The rest of a handshake that this end has abandoned.
            None => return Ok(()),
            Some(attempt) if is_hello && attempt.role == End::Client => {
                if self.epoch == 0 || attempt.stage != Stage::Handshake {
                    return Err(Error::Unexpected("a ClientHello from the TLS server"));
                }
                // §6.2.4: of two ClientHellos, that of the key management client counts.
                if self.end == End::Client {
                    return Ok(());
                }
                self.start_server(now)?;
            }
            // The client has timed out and begins again.
            Some(_) if is_hello && self.epoch != 0 && !retrying => self.start_server(now)?,
            Some(_) => {}
        }
        let result = self.proceed(now, records);
        self.tolerate(now, result)
    }

    /// Passes records to the handshake, and handles its progress.
    fn proceed(&mut self, now: Time, records: &[u8]) -> Result<(), Error> {
        let Some(attempt) = &mut self.attempt else { return Ok(()) };
        let received = attempt.connection.receive(records);
        let (role, stage, complete) = (attempt.role, attempt.stage, attempt.connection.is_complete());
        if received.is_err() || !complete {
            // Of a failed handshake, the alert (§7).
            self.send_records();
            return received.map(|_| ());
        }
        match (role, stage) {
            (End::Client, Stage::Handshake) => self.client_complete(),
            (End::Server, Stage::Handshake) => {
                self.check_peer()?;
                match &self.code {
                    None => return self.server_complete(now, None),
                    // The client sends its element ahead of its ClientHello.
                    Some(code) if !code.has_key() => return Err(Error::CodeMissing),
                    Some(_) => self.set_stage(Stage::AwaitCode),
                }
                Ok(())
            }
            // The client: tickets.
            _ => Ok(()),
        }
    }

    /// Abandons a handshake that failed before it gave keys, if there are keys in use (§7). Other errors
    /// remain failures.
    fn tolerate(&mut self, now: Time, result: Result<(), Error>) -> Result<(), Error> {
        let Err(error) = result else { return Ok(()) };
        let Some(attempt) = self.attempt.take_if(|attempt| attempt.stage == Stage::Handshake) else {
            return Err(error);
        };
        if self.epoch == 0 {
            return Err(error);
        }
        let retry = Some(now + RETRY);
        self.rekey_at = if attempt.role == End::Client { retry } else { self.rekey_at.max(retry) };
        self.output.push_back(Output::RekeyFailed(error));
        Ok(())
    }

    /// Completes the client's TLS handshake: receives with the new keys (§6.1 steps 7, 8; §6.2 steps 4, 5).
    fn client_complete(&mut self) -> Result<(), Error> {
        self.check_peer()?;
        let confirmation = match (&self.code, &self.attempt) {
            (Some(code), Some(attempt)) => {
                Some(code.confirmation(End::Client, &attempt.connection.export_binding()?)?)
            }
            _ => None,
        };
        self.establish(Direction::Receive)?;
        self.set_stage(Stage::AwaitProtection);
        // The server may have the new keys: the old ones serve until they expire, and no attempt replaces it.
        if let (true, Some(expires), Some(attempt)) = (self.epoch != 0, self.expires_at, &mut self.attempt) {
            attempt.deadline = expires;
        }
        self.send_records();
        if let Some(tag) = confirmation {
            self.proved = true;
            self.send(Body::CodeConfirmation(&tag));
        } else if self.starts_early()
            && let Some(peer) = &self.peer
        {
            let peer = Arc::clone(peer);
            self.establish(Direction::Send)?;
            self.output.push_back(Output::FalseStart { peer });
        }
        Ok(())
    }

    /// Returns whether the client sends with the keys of the handshake in progress before the server's
    /// *Protection Established*. It does not with a one-time code, which authenticates the server only at
    /// that message.
    const fn starts_early(&self) -> bool {
        self.false_start && self.epoch == 0 && self.code.is_none() && !self.proved
    }

    /// Uses the new keys, because the server has authenticated the client (§6.1 steps 9 to 11, §6.2 steps 6
    /// and 7).
    fn server_complete(&mut self, now: Time, confirmation: Option<&[u8]>) -> Result<(), Error> {
        self.establish(Direction::Receive)?;
        self.establish(Direction::Send)?;
        if self.epoch == 0 {
            self.output.push_back(Output::RequireProtection);
        }
        // Tickets. The client closes the connection, not the server: debug builds of rustls 0.23.46 panic if
        // an end that has closed its direction receives an invalid record.
        self.send_records();
        if let Some(tag) = confirmation {
            self.send(Body::CodeConfirmation(tag));
        }
        self.send(Body::ProtectionEstablished);
        self.closing = self.attempt.take().map(|attempt| attempt.connection);
        // §6.2.3: the client may be without the last message for as long as the association lives.
        self.finish(now, self.config.failure_time);
        Ok(())
    }

    /// Handles *Protection Established* at the client: uses the new keys (§6.1 step 12, §6.2 step 8).
    fn protection_established(&mut self, now: Time) -> Result<(), Error> {
        if self.attempt.as_ref().is_none_or(|attempt| attempt.stage != Stage::AwaitProtection) {
            return Err(Error::Unexpected("Protection Established"));
        }
        if self.code.is_some() {
            return Err(Error::CodeMissing);
        }
        if !self.starts_early() {
            self.establish(Direction::Send)?;
        }
        if self.epoch == 0 {
            self.output.push_back(Output::RequireProtection);
        }
        // The server learns from the end of this direction that this end has the keys.
        if let Some(attempt) = &mut self.attempt {
            attempt.connection.close();
        }
        self.send_records();
        self.attempt = None;
        self.finish(now, DRAIN);
        Ok(())
    }

    /// Establishes the key material of a direction for the next epoch: the primary, then the restart keys
    /// (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.4).
    fn establish(&mut self, direction: Direction) -> Result<(), Error> {
        let epoch = self.next_epoch();
        let Some(attempt) = &self.attempt else { return Ok(()) };
        let sender = match (attempt.role, direction) {
            (role, Direction::Send) => role,
            (End::Client, Direction::Receive) => End::Server,
            (End::Server, Direction::Receive) => End::Client,
        };
        let contexts = [Some(KeyContext::Primary), self.restart.then_some(KeyContext::Restart)];
        for context in contexts.into_iter().flatten() {
            let keys = attempt.connection.export_keys(sender, context, &self.agreement)?;
            self.output.push_back(Output::Establish { direction, context, epoch, keys });
        }
        Ok(())
    }

    /// Advances to the next epoch. The keys of the last one drain.
    fn finish(&mut self, now: Time, drain: Span) {
        let first = self.epoch == 0;
        self.epoch = self.next_epoch();
        self.hello_at = now;
        if !first {
            self.output.push_back(Output::Retire { before: self.epoch, until: now + drain });
        }
        let after = self.config.rekey.after;
        let late = if self.end == End::Server { after / 8 } else { Span::ZERO };
        self.rekey_at = Some(now + after + late);
        self.expires_at = Some(now + after * 2);
        if let Some(peer) = &self.peer {
            self.output.push_back(Output::Protected { epoch: self.epoch, peer: Arc::clone(peer) });
        }
    }

    /// Compares the peer with that of the set-up (§3.3).
    fn check_peer(&mut self) -> Result<(), Error> {
        let Some(attempt) = &self.attempt else { return Ok(()) };
        let peer = attempt.connection.peer()?;
        match &self.peer {
            Some(old) if old.fingerprint != peer.fingerprint => {
                return Err(Error::IdentityChanged { old: old.fingerprint, new: peer.fingerprint });
            }
            Some(_) => {}
            None => self.peer = Some(Arc::new(peer)),
        }
        Ok(())
    }

    fn set_stage(&mut self, stage: Stage) {
        if let Some(attempt) = &mut self.attempt {
            attempt.stage = stage;
        }
    }

    /// Processes the peer's SPAKE2 element. The server answers with its own, before its ServerHello.
    fn receive_code_share(&mut self, share: &[u8]) -> Result<(), Error> {
        let code = self.code.as_mut().ok_or(Error::CodeExpected)?;
        code.receive_share(share)?;
        if self.end == End::Server {
            let share = code.share().to_vec();
            self.send(Body::CodeShare(&share));
        }
        Ok(())
    }

    /// Verifies the peer's proof that it knows the code.
    fn receive_code_confirmation(&mut self, now: Time, tag: &[u8]) -> Result<(), Error> {
        let (Some(code), Some(attempt)) = (&self.code, &self.attempt) else {
            return Err(Error::Unexpected("a proof of a code"));
        };
        let binding = || attempt.connection.export_binding();
        match attempt.stage {
            Stage::AwaitCode => {
                let binding = binding()?;
                self.proved = true;
                code.verify(End::Client, &binding, tag)?;
                let tag = code.confirmation(End::Server, &binding)?;
                self.code = None;
                self.server_complete(now, Some(&tag))
            }
            Stage::AwaitProtection => {
                code.verify(End::Server, &binding()?, tag)?;
                self.code = None;
                Ok(())
            }
            Stage::Handshake => Err(Error::Unexpected("a proof of a code")),
        }
    }

    /// Processes TLS records of the handshake for the epoch in use: the client closes its direction.
    fn receive_closing(&mut self, now: Time, records: &[u8]) {
        let Some(connection) = &mut self.closing else { return };
        match connection.receive(records) {
            Ok(false) => return,
            // §6.2.3: the client has the last message, so the old keys need only drain.
            Ok(true) if self.epoch > FIRST_EPOCH => {
                self.output.push_back(Output::Retire { before: self.epoch, until: now + DRAIN });
            }
            _ => {}
        }
        self.closing = None;
    }

    fn time_out(&mut self, now: Time) -> Result<(), Error> {
        if self.expires_at.is_some_and(|expires| expires <= now) {
            return Err(if self.epoch == 0 { Error::TimedOut } else { Error::Expired });
        }
        if self.attempt.as_ref().is_some_and(|attempt| attempt.deadline <= now) {
            self.tolerate(now, Err(Error::TimedOut))?;
        }
        if self.attempt.is_none() && self.rekey_at.is_some_and(|rekey| rekey <= now) {
            self.start_client(now)?;
        }
        Ok(())
    }
}

impl core::fmt::Debug for KeyManager {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("KeyManager")
            .field("end", &self.end)
            .field("epoch", &self.epoch)
            .field("handshake", &self.attempt.as_ref().map(|attempt| (attempt.role, attempt.stage)))
            .field("peer", &self.peer.as_ref().map(|peer| peer.fingerprint))
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}
