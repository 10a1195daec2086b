//! [`FirstKeys`]: the first keys of a key management method outside of the core, until it is known where
//! protection begins in both directions.

use msctp_protection::{End, FirstProtected, KeyMaterial, Provider};

/// Keys that were exported, and the numbers on which those in use depend.
///
/// The server knows both directions when it has the client's last message in clear. The client has yet to
/// send that message, in chunks whose number depends on the path: its keys wait for it.
#[derive(Debug, Default)]
pub(crate) struct FirstKeys {
    /// Where the peer begins to protect; known with the receive keys.
    theirs: Option<FirstProtected>,
    send: Option<KeyMaterial>,
    receive: Option<KeyMaterial>,
    /// The client's numbers, then the server's.
    fixed: Option<(FirstProtected, FirstProtected)>,
}

/// Keys in use from now on: for sending, and for receiving.
pub(crate) type Fixed = (Option<KeyMaterial>, Option<KeyMaterial>);

impl FirstKeys {
    /// Stores the receive keys, if they are the first. The peer protects what comes after `theirs`.
    pub(crate) fn add_receive(&mut self, keys: &KeyMaterial, theirs: FirstProtected) {
        self.receive = Some(keys.clone());
        self.theirs = Some(theirs);
    }

    /// Stores the send keys.
    pub(crate) fn add_send(&mut self, keys: &KeyMaterial) {
        self.send = Some(keys.clone());
    }

    /// Returns whether there are send keys that wait.
    pub(crate) const fn awaits_send(&self) -> bool {
        self.send.is_some()
    }

    /// Returns whether there are receive keys that wait.
    pub(crate) const fn awaits_receive(&self) -> bool {
        self.receive.is_some()
    }

    /// Returns whether keys wait, and this end's numbers are all that is missing.
    pub(crate) const fn is_due(&self) -> bool {
        self.theirs.is_some() && (self.send.is_some() || self.receive.is_some())
    }

    /// Returns whether it is fixed where protection begins.
    pub(crate) const fn is_fixed(&self) -> bool {
        self.fixed.is_some()
    }

    /// Takes the keys that wait, bound to where both ends begin to protect. This end has the role `end` and
    /// protects what comes after `ours`, unless that was fixed before.
    pub(crate) fn fix(&mut self, provider: &dyn Provider, end: End, ours: FirstProtected) -> Fixed {
        let Some(theirs) = self.theirs else { return (None, None) };
        let begins = match end {
            End::Client => (ours, theirs),
            End::Server => (theirs, ours),
        };
        let (client, server) = *self.fixed.get_or_insert(begins);
        let [send, receive] = [&mut self.send, &mut self.receive]
            .map(|keys| keys.take().map(|keys| keys.bound(provider, client, server)));
        (send, receive)
    }
}
