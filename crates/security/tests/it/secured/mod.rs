//! Two associations of the core whose keys come from key managers, over a scripted network.
#![allow(dead_code, reason = "each test binary uses its own part")]

#[path = "../../../../proto/tests/it/support/mod.rs"]
pub(crate) mod network;
pub(crate) use crate::support;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use msctp_protection::{Direction, Ring};
use msctp_proto::{
    AbortReason, CallError, Event, KeyAgreement, KeyManagement, LossReason, Protection, SendError,
};
use msctp_security::{
    Agreed, AnyPeer, Error, KeyManager, METHOD, METHOD_FALSE_START, Output, PPID, TlsConfig,
};
use msctp_units::{Ecn, Span};
use msctp_wire::KeyManagementId;
use msctp_wire::param::DtlsRoles;
use network::{Fate, Pair, Side, a_ip, b_ip, chunk, text_message};

pub(crate) const DTLS: u8 = 0x41;

/// The key manager of one end, and its outputs so far.
pub(crate) struct End {
    pub(crate) config: Arc<TlsConfig>,
    pub(crate) manager: Option<KeyManager>,
    /// True if the end may send user data before the peer has confirmed the keys.
    pub(crate) started: bool,
    pub(crate) epochs: Vec<u64>,
    pub(crate) error: Option<Error>,
    /// Data in clear followed the handshake.
    pub(crate) forged: bool,
}

/// Two associations and their key managers.
pub(crate) struct Secured {
    pub(crate) pair: Pair,
    /// Options of the client's association.
    pub(crate) client: msctp_proto::Config,
    pub(crate) ends: [End; 2],
    /// Lines of the log of keys.
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
}

/// Returns what a key manager takes of an agreement.
pub(crate) fn agreed(agreement: &KeyAgreement) -> Agreed<'_> {
    Agreed {
        end: agreement.end,
        restart: false,
        false_start: agreement.method.get() == METHOD_FALSE_START,
        client_parameter: &agreement.client_parameter,
        server_parameter: &agreement.server_parameter,
        binding: agreement.binding,
    }
}

impl Secured {
    /// Returns whether the server's association came up a second time.
    pub(crate) fn began_again(&self) -> bool {
        let up = |event: &&Event| matches!(event, Event::Connected { .. });
        self.pair.b.events.iter().filter(up).count() > 1
    }

    pub(crate) fn new() -> Self {
        Self::with(&[METHOD], &[METHOD])
    }

    /// Returns two ends that offer False Start.
    pub(crate) fn false_start() -> Self {
        Self::with(&[METHOD_FALSE_START, METHOD], &[METHOD_FALSE_START, METHOD])
    }

    /// Returns ends with these key management methods, the client's first.
    pub(crate) fn with(client: &[u8], server: &[u8]) -> Self {
        Self::over(&msctp_proto::Config::mobile(), client, server)
    }

    /// Returns ends with these options of the core and these key management methods, the client's first.
    pub(crate) fn over(base: &msctp_proto::Config, client: &[u8], server: &[u8]) -> Self {
        let mut secured = Self::unconnected(base, client, server);
        secured.connect();
        secured
    }

    /// Returns ends like [`over`](Self::over) before the client's INIT.
    pub(crate) fn unconnected(base: &msctp_proto::Config, client: &[u8], server: &[u8]) -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let core = |client_role, server_role| {
            let roles = DtlsRoles { client: client_role, server: server_role };
            let methods = if server_role { server } else { client };
            let methods = methods.iter().copied().map(KeyManagementId::new).collect();
            let log = Arc::clone(&lines);
            let keys = KeyManagement::external(Arc::new(Ring), methods, roles)
                .with_log(move |line| log.lock().unwrap().push(line.to_owned()));
            msctp_proto::Config { protection: Protection::Required(Arc::new(keys)), ..base.clone() }
        };
        let end = || End {
            config: support::config(AnyPeer),
            manager: None,
            started: false,
            epochs: Vec::new(),
            error: None,
            forged: false,
        };
        let mut pair = Pair::new(core(true, true), vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        Self { pair, client: core(true, false), ends: [end(), end()], lines }
    }

    /// Returns ends like [`new`](Self::new) before the client's INIT, which only offer protection.
    pub(crate) fn offered() -> Self {
        let mut secured = Self::unconnected(&msctp_proto::Config::mobile(), &[METHOD], &[METHOD]);
        let core = |server| {
            let keys = vec![KeyManagementId::new(METHOD)];
            let keys = KeyManagement::external(Arc::new(Ring), keys, DtlsRoles { client: true, server });
            msctp_proto::Config {
                protection: Protection::OrInsecure(Arc::new(keys)),
                ..secured.client.clone()
            }
        };
        secured.pair = Pair::new(core(true), vec![b_ip(0)]);
        secured.client = core(false);
        secured.pair.log = Some(Vec::new());
        secured
    }

    /// Listens at another port as well, with the server's roles.
    pub(crate) fn listen_too(&mut self, local: msctp_proto::LocalAddrs) {
        let roles = DtlsRoles { client: true, server: true };
        let keys = KeyManagement::external(Arc::new(Ring), vec![KeyManagementId::new(METHOD)], roles);
        let protection = Protection::Required(Arc::new(keys));
        let config = msctp_proto::Config { protection, ..self.client.clone() };
        self.pair.b.endpoint.listen(local, config).unwrap();
    }

    /// Begins the client's association, from one address.
    pub(crate) fn connect(&mut self) {
        self.pair.connect(self.client.clone(), vec![a_ip(0)], vec![b_ip(0)]);
    }

    /// Passes the secrets of TLS to `log`.
    pub(crate) fn log_secrets(&mut self, log: &Arc<dyn msctp_security::rustls::KeyLog>) {
        for end in &mut self.ends {
            Arc::make_mut(&mut end.config).log_secrets(log);
        }
    }

    /// Returns whether an association ended for this reason.
    pub(crate) fn lost(&self, side: Side, reason: &LossReason) -> bool {
        let host = if side == Side::A { &self.pair.a } else { &self.pair.b };
        host.saw(|event| matches!(event, Event::Lost(lost) if lost == reason))
    }

    /// Begins key management, unless that is done.
    pub(crate) fn begin(&mut self, side: Side) {
        let end = &mut self.ends[side as usize];
        if end.manager.is_some() {
            return;
        }
        let host = self.pair.host(side);
        let handle = host.handle.expect("an association");
        let agreement = host.endpoint.association(handle).and_then(|association| association.key_agreement());
        let agreement = agreement.expect("protection is required");
        let manager = KeyManager::new(Arc::clone(&end.config), agreed(&agreement), None, self.pair.now);
        end.manager = Some(manager.unwrap());
    }

    /// Passes messages and outputs between an association and its key manager.
    pub(crate) fn serve(&mut self, side: Side) {
        if self.pair.host(side).saw(|event| matches!(event, Event::Lost(_))) {
            return;
        }
        if self.pair.host(side).saw(|event| matches!(event, Event::Connected { .. })) {
            self.begin(side);
        }
        let end = &mut self.ends[side as usize];
        let Some(manager) = end.manager.as_mut().filter(|_| !end.forged) else { return };
        let now = self.pair.now;
        let mut result = Ok(());
        let host = self.pair.host(side);
        let handle = host.handle.expect("an association");
        // Nothing leaves yet: a COOKIE ECHO takes the ClientHello along.
        let message = host.endpoint.association_mut(handle).and_then(|one| one.recv_key_message());
        let again = message.is_some();
        if let Some(message) = message {
            result = manager.handle_message(now, &message.data);
        }
        assert!(!self.pair.host(side).received.iter().any(|message| message.ppid == PPID));
        if manager.poll_timeout().is_some_and(|at| at <= now) && result.is_ok() {
            result = manager.handle_timeout(now);
        }
        if let Err(error) = result {
            end.error.get_or_insert(error);
        }
        while let Some(output) = manager.poll_output() {
            if self.pair.host(side).saw(|event| matches!(event, Event::Lost(_))) {
                return;
            }
            match output {
                Output::Send(data) => {
                    // An association that closes needs no new keys.
                    let sent =
                        self.pair.with(side, |association, _| association.send_key_message(data.into()));
                    assert!(matches!(sent, Ok(()) | Err(SendError::Closed)), "{sent:?}");
                }
                Output::Establish { direction: Direction::Receive, epoch, keys, .. } => {
                    let established = self
                        .pair
                        .with(side, |association, _| association.establish_receive_keys(epoch, &keys));
                    if established == Err(CallError::ForgedData) {
                        end.forged = true;
                        self.pair
                            .with(side, |association, now| association.abort(now, &AbortReason::default()));
                        return;
                    }
                    established.unwrap();
                }
                Output::Establish { direction: Direction::Send, epoch, keys, .. } => {
                    let establish = |association: &mut msctp_proto::Association, now| {
                        association.establish_send_keys(now, epoch, &keys)
                    };
                    self.pair.with(side, establish).unwrap();
                }
                Output::RequireProtection => {
                    self.pair.with(side, |association, _| association.require_protected()).unwrap();
                }
                Output::Retire { before, until } => {
                    let retire = |association: &mut msctp_proto::Association, now| {
                        association.retire_receive_keys(now, before, until)
                    };
                    self.pair.with(side, retire).unwrap();
                }
                Output::FalseStart { .. } => end.started = true,
                Output::Protected { epoch, .. } => end.epochs.push(epoch),
                Output::RekeyFailed(error) => panic!("{error}"),
            }
        }
        if again {
            self.serve(side);
        }
    }

    pub(crate) fn run_for(&mut self, span: Span) {
        let end = self.pair.now + span;
        loop {
            let more = self.pair.step(end);
            self.serve(Side::A);
            self.serve(Side::B);
            if !more {
                return;
            }
        }
    }

    /// Runs until the client has sent its COOKIE ECHO, which carries the ClientHello (RFC 9260 §5.1). The
    /// client begins when the INIT ACK arrives.
    pub(crate) fn hello_behind_cookie(&mut self) {
        let caught = Rc::new(RefCell::new(None));
        let catch = Rc::clone(&caught);
        self.pair.filter = Box::new(move |flight| {
            if !flight.has(chunk::INIT_ACK) {
                return Fate::Pass;
            }
            *catch.borrow_mut() = Some(flight.bytes.clone());
            Fate::Drop
        });
        // It would arrive after 40 ms.
        self.run_for(Span::from_millis(40));
        self.pair.pass_all();
        let mut init_ack = caught.take().expect("an INIT ACK");
        let now = self.pair.now;
        let _ =
            self.pair.a.endpoint.handle_marked_datagram(now, Pair::at(Side::A), Ecn::NotEct, &mut init_ack);
        self.begin(Side::A);
        self.serve(Side::A);
    }

    /// Runs until the client is protected. Returns the time since the INIT in whole milliseconds, since
    /// packets of a flight are paced.
    pub(crate) fn time_to_protection(&mut self) -> Span {
        let begun = self.pair.log.as_ref().expect("a log")[0].sent;
        let limit = self.pair.now + Span::from_secs(1);
        while self.ends[0].epochs.is_empty() {
            assert!(self.pair.step(limit), "not within a second");
            self.serve(Side::A);
            self.serve(Side::B);
        }
        Span::from_millis(self.pair.now.since(begun).as_millis())
    }

    pub(crate) fn rekey(&mut self, side: Side) {
        let now = self.pair.now;
        self.ends[side as usize].manager.as_mut().expect("a manager").rekey(now).unwrap();
        self.serve(side);
        self.run_for(Span::from_secs(2));
    }

    /// Asserts that both ends are at this epoch, and that data passes both ways.
    pub(crate) fn assert_works(&mut self, epoch: u64) {
        for side in [Side::A, Side::B] {
            let end = &self.ends[side as usize];
            assert_eq!((end.error.as_ref(), end.epochs.last()), (None, Some(&epoch)), "{side:?}");
            let text = format!("epoch {epoch}");
            self.pair.send(side, text_message(&text));
            self.run_for(Span::from_secs(2));
            let received = &self.pair.host(side.other()).received;
            assert!(received.iter().any(|message| message.data == text.as_bytes()), "{side:?}");
        }
    }
}
