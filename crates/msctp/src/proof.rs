//! How the peers of associations prove their keys: TLS key managers of all associations of an endpoint.

use std::net::{IpAddr, SocketAddr};

use msctp_proto::{Event, Handle, LossReason, RefusalReason};
use msctp_security::{Error, KeyManager, rustls};
use msctp_units::{Span, Time};

use crate::error::{code_reasons, key_reasons};
use crate::set_ups::Next;
use crate::slot::{Phase, Slot};
use crate::state::State;
use crate::tls::{PeerProtection, Rejection, is_tls};
use crate::unproven::source_of;
use crate::wakers::Wait;

/// Time for a TLS alert to leave before the ABORT.
const ALERT_TIME: Span = Span::from_millis(10);

/// Returns the reason in the ABORT that an error causes, worded for the peer.
fn reason_for_peer(error: &Error) -> String {
    let reason = match error {
        Error::Refused(_) => key_reasons::REFUSED,
        Error::IdentityChanged { .. } => key_reasons::CHANGED,
        Error::Tls(rustls::Error::InvalidCertificate(_)) => key_reasons::CERTIFICATE,
        Error::Tls(rustls::Error::NoCertificatesPresented) | Error::NoCertificate => {
            key_reasons::NO_CERTIFICATE
        }
        Error::WrongCode => code_reasons::WRONG,
        Error::CodeUsed => code_reasons::USED,
        Error::CodeMissing => code_reasons::MISSING,
        Error::CodeExpected => code_reasons::UNEXPECTED,
        Error::TimedOut => "the TLS handshake took too long",
        // In clear: rustls's text may have names of certificates.
        _ => "key management failed",
    };
    reason.to_owned()
}

impl Slot {
    /// Completes the set-up, so that the application can have the association.
    fn complete(&mut self) {
        if matches!(self.phase, Phase::Connecting) && self.streams != (0, 0) {
            self.phase = Phase::Up;
        }
        self.wakers.wake(Wait::Event);
    }
}

impl State {
    /// Completes an association's set-up as soon as data may be sent, with False Start.
    pub(crate) fn start_early(&mut self, handle: Handle) {
        let Some(slot) = self.slots.get_mut(&handle) else { return };
        let Some(keys) = slot.keys.as_deref_mut() else { return };
        keys.starts_early = true;
        if keys.is_ready() {
            slot.complete();
        }
    }

    /// Advances an association's key management after a packet, an event or a timer.
    pub(crate) fn advance_keys(&mut self, now: Time, handle: Handle) {
        let Some(slot) = self.slots.get_mut(&handle) else { return };
        let Some(keys) = slot.keys.as_deref_mut().filter(|keys| keys.failure.is_none()) else { return };
        let Some(association) = self.core.association_mut(handle) else { return };
        let (was_ready, was_protected) = (keys.is_ready(), keys.is_protected());
        let result = keys.advance(now, association);
        let timer = keys.manager.as_ref().and_then(KeyManager::poll_timeout);
        if timer != keys.timer {
            let before = std::mem::replace(&mut keys.timer, timer);
            self.keys_at.extend(timer.map(|timer| (timer, handle)));
            before.map(|before| self.keys_at.remove(&(before, handle)));
        }
        let became_ready = !was_ready && keys.is_ready();
        let became_protected = !was_protected && keys.is_protected();
        if became_ready && result.is_ok() {
            slot.complete();
        }
        match result {
            Err(error) => self.fail_keys(now, handle, error),
            Ok(()) if became_protected => self.prove(handle),
            Ok(()) => {}
        }
    }

    /// Advances an association's key management after a packet or an event. The messages of a peer that has
    /// not proved its keys wait for [`serve_set_ups`](Self::serve_set_ups).
    pub(crate) fn note_key_message(&mut self, now: Time, handle: Handle) {
        if self.slots.get(&handle).is_none_or(|slot| slot.unproven.is_none()) {
            return self.advance_keys(now, handle);
        }
        let association = self.core.association(handle);
        if association.is_some_and(msctp_proto::Association::has_key_message) {
            self.set_ups.queue(handle, self.is_in_progress(handle));
        }
    }

    /// Returns whether key management has begun with what both ends agreed on. It begins again if the peer
    /// restarts.
    fn is_in_progress(&self, handle: Handle) -> bool {
        let keys = self.slots.get(&handle).and_then(|slot| slot.keys.as_deref());
        let association = self.core.association(handle);
        keys.zip(association).is_some_and(|(keys, association)| keys.has_begun(association))
    }

    /// Handles the messages of peers that have not proved their keys, at most of this many associations.
    /// Returns their number.
    pub(crate) fn serve_set_ups(&mut self, now: Time, most: u32) -> u32 {
        let mut served = 0;
        while served < most
            && let Some(Next { handle, in_progress }) = self.set_ups.take(now)
        {
            if in_progress && !self.is_in_progress(handle) {
                // The peer has restarted since: this is a new handshake.
                self.set_ups.queue(handle, false);
                continue;
            }
            if !in_progress && let Some(deadline) = self.slots.get(&handle).and_then(|slot| slot.unproven) {
                self.unproven.begin(deadline, handle);
            }
            served += 1;
            self.advance_keys(now, handle);
            self.touch(handle);
        }
        served
    }

    /// Returns when to call [`serve_set_ups`](Self::serve_set_ups), in the past if something waits for it
    /// now.
    pub(crate) fn next_set_up(&self) -> Option<Time> {
        self.set_ups.next()
    }

    /// Records that the peer at this address set an association up and must prove its keys. Its handshake
    /// begins, also its timer, before its ClientHello arrives.
    pub(crate) fn enter_set_up(&mut self, handle: Handle, remote: IpAddr) {
        if self.slots.get(&handle).is_some_and(|slot| slot.keys.is_some()) {
            self.set_ups.enter(handle, source_of(remote));
            self.set_ups.queue(handle, false);
        }
    }

    pub(crate) fn leave_set_up(&mut self, handle: Handle, proved: bool) {
        self.set_ups.leave(handle, proved);
    }

    /// Handles the last messages of a peer whose association is over: an alert has the reason, and the last
    /// message of a handshake proves its keys.
    pub(crate) fn finish_set_up(&mut self, now: Time, handle: Handle) {
        if self.set_ups.is_queued_in_progress(handle) {
            self.advance_keys(now, handle);
        }
    }

    /// Reports a set-up that this end aborts because there are too many.
    pub(crate) fn note_evicted(&mut self, handle: Handle) {
        let remote = self.remote_of(handle);
        let Some(slot) = self.slots.get(&handle) else { return };
        // One that has failed was reported then. It only waits for its alert to leave.
        if slot.keys.as_deref().is_some_and(|keys| keys.failure.is_some()) {
            return;
        }
        if let (Some(remote), Some(listener)) = (remote, self.listeners.get(&slot.sctp_ports.0)) {
            listener.arrivals.reject(remote, Rejection::TooManySetUps);
        }
    }

    /// Reports a set-up that this end aborts because the application accepts too slowly.
    pub(crate) fn note_backlog_full(&mut self, handle: Handle) {
        let port = self.core.association(handle).map_or(0, |association| association.ports().0);
        if let (Some(remote), Some(listener)) = (self.remote_of(handle), self.listeners.get(&port)) {
            listener.arrivals.reject(remote, Rejection::BacklogFull);
        }
    }

    /// Aborts an association whose key management failed.
    pub(crate) fn fail_keys(&mut self, now: Time, handle: Handle, error: Error) {
        let remote = self.remote_of(handle);
        let Some(slot) = self.slots.get_mut(&handle) else { return };
        let port = slot.sctp_ports.0;
        let set_up = slot.unproven.is_some();
        let Some(keys) = slot.keys.as_deref_mut() else { return };
        // A set-up fails once, also if its time is over while its alert waits to leave.
        if keys.failure.is_some() {
            return;
        }
        keys.failure = Some(error.clone());
        if let Some(association) = self.core.association_mut(handle) {
            let reason = reason_for_peer(&error);
            if keys.send_alert(association) {
                // An ABORT discards what was not sent.
                let timer = now + ALERT_TIME;
                keys.abort = Some(reason);
                if let Some(before) = keys.timer.replace(timer) {
                    self.keys_at.remove(&(before, handle));
                }
                self.keys_at.insert((timer, handle));
            } else {
                association.abort(now, &reason.into());
            }
        }
        if let (true, Some(remote), Some(listener)) = (set_up, remote, self.listeners.get(&port)) {
            listener.arrivals.reject(remote, error.into());
        }
    }

    /// Reports a set-up that the core refused: at most once per second where its source may be forged.
    pub(crate) fn note_refused(&mut self, now: Time, remote: SocketAddr) {
        let Some(refused) = self.core.take_refused() else { return };
        let Some(listener) = self.listeners.get(&refused.local_port) else { return };
        let rejection = match refused.reason {
            RefusalReason::Protection { .. } if !listener.arrivals.may_report_refused(now) => return,
            RefusalReason::Protection { methods, .. } => {
                Rejection::NoCommonProtection(PeerProtection::of(&methods))
            }
            RefusalReason::TooManyOfPeer => Rejection::TooManyOfPeer,
            RefusalReason::Panicked => Rejection::Panicked,
            _ => Rejection::TooManyAssociations,
        };
        listener.arrivals.reject(remote, rejection);
    }

    /// Reports a set-up that ended because the first keys of both ends differ.
    pub(crate) fn note_keys_differ(&mut self, handle: Handle, event: &Event) {
        let rejection = match event {
            Event::Lost(LossReason::KeysDiffer) => Rejection::KeysDiffer,
            Event::Lost(LossReason::SetUpChanged) => Rejection::SetUpChanged,
            _ => return,
        };
        let remote = self.remote_of(handle);
        let Some(slot) = self.slots.get(&handle).filter(|slot| slot.unproven.is_some()) else { return };
        let port = slot.sctp_ports.0;
        if let (Some(remote), Some(listener)) = (remote, self.listeners.get(&port)) {
            listener.arrivals.reject(remote, rejection);
        }
    }

    /// Returns where an association's data goes.
    fn remote_of(&self, handle: Handle) -> Option<SocketAddr> {
        let path = self.core.association(handle)?.paths().find(|path| path.primary)?;
        Some(SocketAddr::new(path.at.remote, path.udp_port?))
    }

    /// Begins key management again after a restart. Aborts an association in clear whose peer now expects
    /// keys of TLS.
    pub(crate) fn restart_keys(&mut self, now: Time, handle: Handle) {
        let in_clear = self.slots.get(&handle).is_some_and(|slot| slot.keys.is_none());
        if let Some(association) = self.core.association_mut(handle).filter(|_| in_clear)
            && association.key_agreement().is_some_and(|agreement| is_tls(agreement.method))
        {
            association.abort(now, &"the association is in clear: set another one up".into());
        }
        self.note_key_message(now, handle);
    }

    /// Records that the server shut down under protection and never confirmed the keys. A client's shutdown
    /// cannot precede them: the server has receive keys only when its handshake is complete.
    pub(crate) fn close_keys(&mut self, handle: Handle) {
        let keys = self.slots.get_mut(&handle).and_then(|slot| slot.keys.as_deref_mut());
        if let Some(keys) = keys.filter(|keys| !keys.is_protected()) {
            keys.failure.get_or_insert(Error::Unexpected("a shutdown before the keys"));
        }
    }

    /// Advances the key managers whose timers are due.
    pub(crate) fn expire_keys(&mut self, now: Time) {
        while let Some(&(due, handle)) = self.keys_at.first()
            && due <= now
        {
            self.keys_at.pop_first();
            if let Some(keys) = self.slots.get_mut(&handle).and_then(|slot| slot.keys.as_deref_mut()) {
                keys.timer = None;
                if let (Some(reason), Some(association)) =
                    (keys.abort.take(), self.core.association_mut(handle))
                {
                    association.abort(now, &reason.into());
                }
            }
            self.advance_keys(now, handle);
        }
    }

    /// Ends the key management of an association that is over.
    pub(crate) fn end_keys(&mut self, handle: Handle) {
        let Some(keys) = self.slots.get_mut(&handle).and_then(|slot| slot.keys.as_deref_mut()) else {
            return;
        };
        keys.manager = None;
        if let Some(timer) = keys.timer.take() {
            self.keys_at.remove(&(timer, handle));
        }
    }

    /// Fails a set-up whose peer did not prove its keys in time.
    pub(crate) fn time_out_keys(&mut self, now: Time, handle: Handle) {
        self.fail_keys(now, handle, Error::TimedOut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_reads_no_text_of_rustls() {
        let error = msctp_security::rustls::Error::General("the name inside.example".to_owned());
        assert_eq!(reason_for_peer(&Error::Tls(error)), "key management failed");
        let context = rustls::CertificateError::NotValidForNameContext {
            expected: msctp_security::rustls::pki_types::ServerName::try_from("inside.example").unwrap(),
            presented: vec!["inside.example".to_owned()],
        };
        let error = rustls::Error::InvalidCertificate(context);
        assert_eq!(reason_for_peer(&Error::Tls(error)), "your certificate is not accepted here");
    }
}
