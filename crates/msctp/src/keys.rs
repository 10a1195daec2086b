//! [`Keys`]: the key management of an association whose keys come from TLS. Passes messages, times and keys
//! between the core and the key manager.

use std::sync::Arc;

use msctp_protection::{Direction, End};
use msctp_proto::{Association, CallError, ConfigError, KeyAgreement, Protection};
use msctp_security::{Agreed, Error, KeyManager, METHOD_FALSE_START, Output, PeerIdentity};
use msctp_units::{Span, Time};

use crate::error::AssociationError;
use crate::tls::Context;
pub(crate) use crate::tls::for_role;

/// Interval between checks of how much the keys have protected. At 20 Gbps it covers 2.5 GB, a fraction of
/// AES-GCM's limit.
const USAGE_INTERVAL: Span = Span::from_secs(1);

/// The key management of an association.
#[derive(Debug)]
pub(crate) struct Keys {
    context: Arc<Context>,
    /// The key manager; `None` while the peer's parameters are unknown, and after the association has ended.
    pub(crate) manager: Option<KeyManager>,
    /// The agreement with which the manager was created.
    agreement: Option<KeyAgreement>,
    peer: Option<Arc<PeerIdentity>>,
    /// True if user data may be sent, with False Start before the peer has confirmed the keys.
    may_send: bool,
    /// True if the application takes the association as soon as data may be sent.
    pub(crate) starts_early: bool,
    /// True if the peer protects its packets with the first keys.
    confirmed: bool,
    /// True if a packet of the peer was opened.
    opened: bool,
    pub(crate) failure: Option<Error>,
    /// Time of the manager's next timeout, as in `State::keys_at`.
    pub(crate) timer: Option<Time>,
    usage_at: Time,
    /// True if this association has used up the one-time code.
    pub(crate) proved: bool,
    /// The reason of the ABORT that follows the TLS alert.
    pub(crate) abort: Option<String>,
}

impl Keys {
    /// Creates the key management that an association's options require.
    pub(crate) fn of(protection: &Protection) -> Option<Box<Self>> {
        let context = Context::of(protection)?;
        Some(Box::new(Self {
            context,
            manager: None,
            agreement: None,
            peer: None,
            may_send: false,
            starts_early: false,
            confirmed: false,
            opened: false,
            failure: None,
            timer: None,
            usage_at: Time::ZERO,
            proved: false,
            abort: None,
        }))
    }

    /// Rejects keys that nothing in this crate would establish: their data would wait for ever.
    pub(crate) fn check(protection: &Protection) -> Result<(), ConfigError> {
        let external = protection.keys().filter(|keys| keys.is_external());
        if external.is_none() || Context::of(protection).is_some() {
            return Ok(());
        }
        let want = "pre-shared keys or those of `Tls`: nothing else establishes keys here".to_owned();
        Err(ConfigError { field: "protection", value: format!("{external:?}"), want })
    }

    /// Returns whether the application can have the association.
    pub(crate) const fn is_ready(&self) -> bool {
        self.confirmed || self.starts_early && self.may_send
    }

    /// Returns whether both ends protect what they send and the peer is authenticated.
    pub(crate) const fn is_protected(&self) -> bool {
        self.confirmed
    }

    /// Records that a packet of the peer was opened.
    pub(crate) const fn note_opened(&mut self) {
        self.opened = true;
    }

    pub(crate) const fn peer(&self) -> Option<&Arc<PeerIdentity>> {
        self.peer.as_ref()
    }

    /// Returns the error that ended the association, if key management raised it.
    pub(crate) fn failure(&self) -> Option<AssociationError> {
        self.failure.clone().map(|error| AssociationError::Security(Arc::new(error)))
    }

    /// Queues the TLS alert of a failed handshake (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §7). Returns
    /// whether there is one.
    ///
    /// Errors outside TLS, such as a rejected key, have no alert as precise as the ABORT.
    pub(crate) fn send_alert(&mut self, association: &mut Association) -> bool {
        let (Some(manager), Some(Error::Tls(_))) = (&mut self.manager, &self.failure) else { return false };
        let mut sent = false;
        while let Some(output) = manager.poll_output() {
            if let Output::Send(message) = output {
                sent |= association.send_key_message(message.into()).is_ok();
            }
        }
        sent
    }

    /// Returns whether key management has begun with what both ends now agree on.
    pub(crate) fn has_begun(&self, association: &Association) -> bool {
        self.manager.is_some() && association.key_agreement() == self.agreement
    }

    /// Advances key management: begins once the peer's parameters are known, then handles messages and
    /// timers.
    pub(crate) fn advance(&mut self, now: Time, association: &mut Association) -> Result<(), Error> {
        if association.key_agreement() != self.agreement {
            self.begin(now, association)?;
        }
        while let Some(message) = association.recv_key_message() {
            if !message.begin || !message.end {
                return Err(Error::Malformed("it is longer than the receive buffer"));
            }
            self.handle_message(now, &message.data)?;
            self.apply(now, association)?;
        }
        let Some(manager) = &mut self.manager else { return Ok(()) };
        if manager.poll_timeout().is_some_and(|due| due <= now) {
            manager.handle_timeout(now)?;
        }
        if let Some(epoch) = manager.epoch()
            && self.usage_at <= now
        {
            self.usage_at = now + USAGE_INTERVAL;
            let receive = association.receive_key_usage(epoch);
            manager.handle_usage(now, association.send_key_usage(), receive)?;
        }
        self.apply(now, association)
    }

    /// Begins when both ends have agreed on TLS. Begins again when their agreement changes, because the peer
    /// restarted or the set-up continued with another cookie.
    fn begin(&mut self, now: Time, association: &Association) -> Result<(), Error> {
        self.agreement = association.key_agreement();
        let Some(agreement) = &self.agreement else { return Ok(()) };
        if self.proved {
            return Err(Error::CodeUsed);
        }
        let agreed = Agreed {
            end: agreement.end,
            restart: false,
            false_start: agreement.method.get() == METHOD_FALSE_START,
            client_parameter: &agreement.client_parameter,
            server_parameter: &agreement.server_parameter,
            binding: agreement.binding,
        };
        // The ClientHello still waits to be acknowledged.
        if let Some(manager) = self.manager.as_mut().filter(|_| agreement.end == End::Client) {
            return manager.agree_again(agreed);
        }
        let (config, name) = (Arc::clone(&self.context.config), self.context.server_name.clone());
        self.manager = Some(match &self.context.code {
            None => KeyManager::new(config, agreed, name, now)?,
            Some(code) if *code.lock() => return Err(Error::CodeUsed),
            Some(code) => KeyManager::with_code(config, agreed, name, &code.code, now)?,
        });
        Ok(())
    }

    fn handle_message(&mut self, now: Time, message: &[u8]) -> Result<(), Error> {
        let Some(manager) = &mut self.manager else { return Ok(()) };
        let Some(code) = self.context.code.as_ref().filter(|_| !self.proved) else {
            return manager.handle_message(now, message);
        };
        let mut used = code.lock();
        if *used {
            return Err(Error::CodeUsed);
        }
        let result = manager.handle_message(now, message);
        if manager.has_proved_code() {
            (*used, self.proved) = (true, true);
        }
        result
    }

    /// Applies the key manager's requests.
    fn apply(&mut self, now: Time, association: &mut Association) -> Result<(), Error> {
        while let Some(output) = self.manager.as_mut().and_then(KeyManager::poll_output) {
            let done = match output {
                Output::Send(message) => {
                    // An association that closes needs no new keys.
                    let _ = association.send_key_message(message.into());
                    Ok(())
                }
                Output::Establish { direction: Direction::Receive, epoch, keys, .. } => {
                    association.establish_receive_keys(epoch, &keys)
                }
                Output::Establish { direction: Direction::Send, epoch, keys, .. } => {
                    association.establish_send_keys(now, epoch, &keys)
                }
                Output::RequireProtection => association.require_protected(),
                Output::Retire { before, until } => association.retire_receive_keys(now, before, until),
                Output::FalseStart { peer } | Output::Protected { peer, .. } => {
                    (self.peer, self.may_send) = (Some(peer), self.end() == Some(End::Client));
                    Ok(())
                }
                // Another attempt follows.
                Output::RekeyFailed(_) => Ok(()),
            };
            done.map_err(|error| match error {
                CallError::ForgedData => Error::Unexpected("data in clear behind the TLS handshake"),
                _ => Error::Failed,
            })?;
        }
        let confirmed =
            |manager: &KeyManager| manager.is_confirmed() || self.opened && manager.epoch().is_some();
        self.confirmed |= self.manager.as_ref().is_some_and(confirmed);
        Ok(())
    }

    fn end(&self) -> Option<End> {
        self.agreement.as_ref().map(|agreement| agreement.end)
    }
}
