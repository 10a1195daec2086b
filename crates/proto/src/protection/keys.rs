//! [`PacketProtection`]: seals and opens the packets of one association, and changes its keys.

use core::fmt;
use std::sync::Arc;

use msctp_protection::{
    Binding, Direction, End, EpochError, FIRST_EPOCH, FirstProtected, HEADER_LEN, KeyContext, KeyLogEntry,
    KeyMaterial, MAX_PLAINTEXT, Negotiated, NegotiationError, OpenError, Opened, Opener, PreShared,
    ReceiveUsage, SealError, Sealer, SendUsage, SetUp, TRAILER_LEN,
};
use msctp_units::{Ecn, Span, Time};
use msctp_wire::{ChunkType, CommonHeader, KeyManagementId};

use super::config::{KeyManagement, Method};
use super::first::FirstKeys;
use super::held::{HeldPacket, HeldPackets};
use super::offer::{CookieProtection, ProtectionOffer};
use super::peer_check::PeerCheck;
use crate::addr::{PathAddr, PathId};

/// Bytes before and after the chunks of a protected packet.
pub(crate) const SPACE: (usize, usize) = (HEADER_LEN, TRAILER_LEN);
/// Bytes that protection adds to each packet.
pub(crate) const OVERHEAD: usize = HEADER_LEN + TRAILER_LEN;
/// Maximum length of a protected packet in bytes.
pub(crate) const MAX_ROOM: usize = CommonHeader::LEN + OVERHEAD + MAX_PLAINTEXT;
/// Time for which packets in flight under the keys of the previous epoch are opened.
const DRAIN: Span = Span::from_secs(60);

/// Role, method and parameters that both ends agreed on, for a key management method outside of the core
/// (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAgreement {
    /// This end's role.
    pub end: End,
    /// The key management method.
    pub method: KeyManagementId,
    /// DTLS Key Management parameter of the client, with its header and without padding.
    pub client_parameter: Vec<u8>,
    /// DTLS Key Management parameter of the server.
    pub server_parameter: Vec<u8>,
    /// Hash of INIT and INIT ACK, on which the keys of the method must depend as well.
    pub binding: Binding,
}

/// What makes the keys of a set-up unique: tag and initial TSN of both ends, and the hash of all that INIT
/// and INIT ACK say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetUpNumbers {
    pub(crate) ours: (u32, u32),
    pub(crate) theirs: (u32, u32),
    pub(crate) binding: Binding,
}

/// Inputs of the keys of a set-up: the negotiation's result, the peer's offer, and the numbers.
#[derive(Debug, PartialEq, Eq)]
struct Agreed {
    negotiated: Negotiated,
    theirs: ProtectionOffer,
    numbers: SetUpNumbers,
}

/// The epochs of pre-shared keys in both directions.
#[derive(Debug)]
struct Schedule {
    /// The schedule at the epoch in use for sending.
    send: PreShared,
    /// The schedule for receiving, one epoch ahead of the last one that the peer used.
    receive: PreShared,
}

/// The chunk protection operator of an association.
pub(crate) struct PacketProtection {
    keys: Arc<KeyManagement>,
    /// Parameter of this end's INIT or INIT ACK.
    ours: ProtectionOffer,
    agreed: Option<Agreed>,
    /// True if both ends agreed in an earlier attempt at this set-up.
    agreed_before: bool,
    sealer: Sealer,
    opener: Opener,
    schedule: Option<Schedule>,
    /// Keys from outside, until it is known where protection begins.
    first: FirstKeys,
    /// Packets in clear are discarded.
    enforced: bool,
    /// True if a packet of the peer was opened.
    proven: bool,
    /// Packets that arrived before the first receive keys.
    held: HeldPackets,
    /// Number of packets that the first keys could not decrypt, before the first that they decrypted.
    unopened: u32,
    /// Chunks of the handover policy that wait for the first keys.
    pub(crate) policy_chunks: Vec<(PathId, ChunkType, Vec<u8>)>,
    /// True if an ABORT in clear makes this end check whether the peer lost its keys.
    checks_peer: bool,
    /// The check in progress.
    pub(crate) peer_check: Option<PeerCheck>,
}

impl PacketProtection {
    pub(crate) fn new(keys: Arc<KeyManagement>, tie_breaker: u32) -> Self {
        let ours = ProtectionOffer::ours(&keys, tie_breaker);
        Self {
            keys,
            ours,
            agreed: None,
            agreed_before: false,
            sealer: Sealer::new(),
            opener: Opener::default(),
            schedule: None,
            first: FirstKeys::default(),
            enforced: false,
            proven: false,
            held: HeldPackets::default(),
            unopened: 0,
            policy_chunks: Vec::new(),
            checks_peer: true,
            peer_check: None,
        }
    }

    /// Ignores ABORTs in clear from now on, because this end accepted the association.
    ///
    /// The peer may be without a network for minutes. An observer of the network that the peer left could
    /// then end the association. A peer that lost its keys connects again, and its old association ends by
    /// the idle timeout.
    pub(crate) fn ignore_clear_aborts(&mut self) {
        self.checks_peer = false;
    }

    /// Returns whether an ABORT in clear makes this end check the peer.
    pub(crate) fn checks_peer(&self) -> bool {
        self.checks_peer && self.enforced
    }

    /// Returns the parameter of this end's INIT or INIT ACK.
    pub(crate) fn ours(&self) -> &ProtectionOffer {
        &self.ours
    }

    /// Restarts the negotiation with another tie breaker, for another INIT.
    ///
    /// The keys of a set-up are used once: with an INIT ACK of an earlier attempt the same nonces would
    /// encrypt other packets.
    pub(crate) fn begin_anew(&mut self, tie_breaker: u32) {
        let agreed_before = self.has_agreed();
        *self = Self { agreed_before, ..Self::new(Arc::clone(&self.keys), tie_breaker) };
    }

    /// Agrees on role and method with the peer's parameter, and derives pre-shared keys. `ours` is the
    /// parameter of this end's INIT ACK, if it differs from that of its INIT.
    ///
    /// # Errors
    ///
    /// The parameters are not compatible, and the association stays in clear.
    pub(crate) fn agree(
        &mut self,
        ours: Option<&ProtectionOffer>,
        theirs: Option<&ProtectionOffer>,
        numbers: SetUpNumbers,
    ) -> Result<(), NegotiationError> {
        if let Some(ours) = ours {
            self.ours = ours.clone();
        }
        let agreed = self.ours.negotiate(theirs).and_then(|negotiated| {
            let theirs = theirs.ok_or(NegotiationError::MissingSupport)?.clone();
            Ok(Agreed { negotiated, theirs, numbers })
        });
        // The keys in use stay: their nonces must not repeat.
        if agreed.is_ok() && self.agreed.as_ref() == agreed.as_ref().ok() {
            return Ok(());
        }
        (self.sealer, self.opener) = (Sealer::new(), Opener::default());
        (self.enforced, self.proven, self.unopened) = (false, false, 0);
        self.held = HeldPackets::default();
        (self.agreed, self.schedule, self.first) = (None, None, FirstKeys::default());
        let agreed = agreed?;
        self.schedule = self.derive(&agreed);
        self.agreed = Some(agreed);
        if self.schedule.is_some() {
            self.begin_schedule();
        }
        Ok(())
    }

    /// Returns whether the cookie of a collision may be accepted. It must have the parameter of the current
    /// INIT, which changes after a stale cookie, and must not end an agreement.
    pub(crate) fn may_collide(&self, cookie: Option<&CookieProtection>) -> bool {
        cookie.is_none_or(|both| both.ours == self.ours)
            && (!self.has_agreed() || self.ours.negotiate(cookie.map(|both| &both.theirs)).is_ok())
    }

    /// Returns whether a restart with the peer's parameter may be accepted. It must not end an agreement,
    /// which anyone who sees the set-up could otherwise do.
    ///
    /// It must not begin the handshake of the key management client again either: its peer has not asked for
    /// the association, and sends no INIT when it has lost it.
    pub(crate) fn may_restart(&self, theirs: Option<&ProtectionOffer>) -> bool {
        let answer = || ProtectionOffer::ours(&self.keys, ProtectionOffer::other_tie_breaker(theirs, 0));
        let is_server = || answer().negotiate(theirs).is_ok_and(|negotiated| negotiated.end == End::Server);
        self.agreed.is_none() || self.is_end(End::Server) && is_server()
    }

    /// Derives the first epoch of pre-shared keys; `None` with another method.
    fn derive(&self, agreed: &Agreed) -> Option<Schedule> {
        let Method::PreShared { suite, key } = &self.keys.method else { return None };
        let SetUpNumbers { ours, theirs, binding } = agreed.numbers;
        let ours = SetUp { parameter: self.ours.bytes(), tag: ours.0, initial_tsn: ours.1 };
        let theirs = SetUp { parameter: agreed.theirs.bytes(), tag: theirs.0, initial_tsn: theirs.1 };
        let end = agreed.negotiated.end;
        let (client, server) = if end == End::Client { (ours, theirs) } else { (theirs, ours) };
        let send = PreShared::new(&*self.keys.provider, *suite, key, end, client, server, binding).ok()?;
        Some(Schedule { receive: send.clone(), send })
    }

    /// Establishes the first epoch for sending, and the first two for receiving.
    fn begin_schedule(&mut self) {
        let provider = Arc::clone(&self.keys.provider);
        self.establish_next_receive();
        if let Some(schedule) = &self.schedule {
            let keys = schedule.send.keys(&*provider, KeyContext::Primary, Direction::Send);
            let established = self.establish_send(FIRST_EPOCH, &keys);
            debug_assert_eq!(established, Ok(()));
            if let Some(schedule) = &mut self.schedule {
                schedule.receive.advance(&*provider);
            }
        }
        self.establish_next_receive();
        self.enforced = true;
    }

    /// Establishes the next receive keys of the schedule.
    fn establish_next_receive(&mut self) {
        if let Some(Schedule { receive, .. }) = &self.schedule {
            let keys = receive.keys(&*self.keys.provider, KeyContext::Primary, Direction::Receive);
            let established = self.establish_receive(receive.epoch(), &keys);
            debug_assert_eq!(established, Ok(()));
        }
    }

    /// Protects packets with the next epoch of pre-shared keys from now on.
    fn advance_send(&mut self) {
        let provider = Arc::clone(&self.keys.provider);
        let Some(Schedule { send, .. }) = &mut self.schedule else { return };
        send.advance(&*provider);
        let keys = send.keys(&*provider, KeyContext::Primary, Direction::Send);
        let epoch = send.epoch();
        let established = self.establish_send(epoch, &keys);
        debug_assert_eq!(established, Ok(()));
    }

    /// Follows the peer to an epoch that it uses for the first time.
    fn follow(&mut self, now: Time, epoch: u64) {
        let provider = Arc::clone(&self.keys.provider);
        let Some(Schedule { send, receive }) = &mut self.schedule else { return };
        if epoch < receive.epoch() {
            return;
        }
        receive.advance(&*provider);
        let behind = send.epoch() < epoch;
        self.opener.retire(epoch, now + DRAIN);
        self.establish_next_receive();
        if behind {
            self.advance_send();
        }
    }

    /// Changes the keys of both directions. Returns false if the keys are not pre-shared, or the peer has not
    /// followed the last change yet.
    pub(crate) fn rekey(&mut self) -> bool {
        let may = self.schedule.as_ref().is_some_and(|keys| keys.send.epoch() < keys.receive.epoch());
        if may {
            self.advance_send();
        }
        may
    }

    /// Changes the keys if they are half used up. Returns false if they are used up, so that nothing more can
    /// be protected.
    pub(crate) fn prepare_to_seal(&mut self) -> bool {
        if self.sealer.usage(KeyContext::Primary).is_some_and(|usage| usage.should_rekey()) {
            self.rekey();
        }
        !self.sealer.is_exhausted()
    }

    /// Returns role, method and parameters, once agreed.
    pub(crate) fn agreement(&self) -> Option<KeyAgreement> {
        let Agreed { negotiated, theirs, numbers } = self.agreed.as_ref()?;
        let (ours, theirs) = (self.ours.bytes().to_vec(), theirs.bytes().to_vec());
        let (client_parameter, server_parameter) =
            if negotiated.end == End::Client { (ours, theirs) } else { (theirs, ours) };
        let Negotiated { end, method, .. } = *negotiated;
        Some(KeyAgreement { end, method, client_parameter, server_parameter, binding: numbers.binding })
    }

    /// Returns whether protection was agreed on in this attempt at the set-up or an earlier one. The peer has
    /// keys then: an attempt without them was changed on the way.
    pub(crate) fn has_agreed(&self) -> bool {
        self.agreed_before || self.agreed.is_some()
    }

    /// Returns whether protection was agreed on.
    pub(crate) fn is_agreed(&self) -> bool {
        self.agreed.is_some()
    }

    /// Returns whether a peer with this parameter, whose INIT crossed this end's, answers it as the server.
    pub(crate) fn is_client_to(&self, theirs: Option<&ProtectionOffer>) -> bool {
        self.ours.negotiate(theirs).is_ok_and(|negotiated| negotiated.end == End::Client)
    }

    /// Returns whether packets are sealed.
    #[inline]
    pub(crate) fn seals(&self) -> bool {
        self.sealer.is_ready()
    }

    /// Returns whether packets in clear are discarded.
    pub(crate) fn is_enforced(&self) -> bool {
        self.enforced
    }

    /// Discards packets in clear from now on.
    pub(crate) fn enforce(&mut self) {
        self.enforced = true;
    }

    /// Returns whether packets are protected for which the peer may lack the first keys: those of a key
    /// management client with keys from outside, until a packet of the peer was opened.
    #[inline]
    pub(crate) fn awaits_proof(&self) -> bool {
        !self.proven && self.is_external() && self.is_end(End::Client) && self.has_send_keys()
    }

    /// Returns whether protected packets may arrive before the first receive keys. They may at the server,
    /// whose keys arrive with the client's last message.
    pub(crate) fn awaits_receive_keys(&self) -> bool {
        self.is_external() && self.is_end(End::Server) && !self.enforced && !self.opens()
    }

    fn is_end(&self, end: End) -> bool {
        self.agreed.as_ref().is_some_and(|agreed| agreed.negotiated.end == end)
    }

    /// Stores a protected packet until there are receive keys, if there is room.
    pub(crate) fn hold(&mut self, at: PathAddr, ecn: Ecn, bytes: &[u8]) {
        self.held.push(at, ecn, bytes);
    }

    /// Takes the stored packets.
    pub(crate) fn take_held(&mut self) -> Vec<HeldPacket> {
        self.held.take()
    }

    /// Records that a packet of the peer was opened: packets in clear are discarded from now on. Returns true
    /// for the first one.
    pub(crate) fn note_proven(&mut self) -> bool {
        self.enforced = true;
        !core::mem::replace(&mut self.proven, true)
    }

    /// Counts a packet that could not be opened. Returns their number before the first that was opened, and 0
    /// afterwards. With keys from outside, only packets that are not authentic count.
    pub(crate) fn count_unopened(&mut self, error: &OpenError) -> u32 {
        let counts = self.schedule.is_some()
            || self.first.is_fixed()
                && matches!(error, OpenError::NotAuthentic | OpenError::LimitReached { .. });
        self.unopened += u32::from(counts && !self.proven);
        self.unopened_in_set_up()
    }

    /// Returns the number of packets that could not be opened before the first that was.
    pub(crate) fn unopened_in_set_up(&self) -> u32 {
        if self.proven { 0 } else { self.unopened }
    }

    /// Protects a packet; `bytes` follow the common header.
    pub(crate) fn seal(&mut self, bytes: &mut [u8]) -> Result<(), SealError> {
        self.sealer.seal(bytes)
    }

    /// Opens a packet in place; `bytes` follow the common header.
    pub(crate) fn open(&mut self, now: Time, bytes: &mut [u8]) -> Result<Opened, OpenError> {
        let opened = self.opener.open(bytes)?;
        if self.schedule.as_ref().is_some_and(|keys| opened.epoch >= keys.receive.epoch()) {
            self.follow(now, opened.epoch);
        }
        if self.opener.usage(opened.context, opened.epoch).is_some_and(|usage| usage.should_rekey()) {
            self.rekey();
        }
        Ok(opened)
    }

    /// Forgets that a packet was received, so that another copy of it is opened.
    pub(crate) fn forget(&mut self, opened: &Opened) {
        self.opener.forget(opened);
    }

    /// Returns whether there are receive keys.
    pub(crate) fn opens(&self) -> bool {
        self.opener.is_ready() || self.first.awaits_receive()
    }

    /// Returns whether there are send keys. They may wait for key management's last message in clear.
    pub(crate) fn has_send_keys(&self) -> bool {
        self.seals() || self.first.awaits_send()
    }

    /// Returns whether send keys wait until this end has sent its last message in clear.
    #[inline]
    pub(crate) fn awaits_last_clear(&self) -> bool {
        self.first.awaits_send()
    }

    /// Returns whether the first receive keys wait until this end has sent its last message in clear.
    #[inline]
    pub(crate) fn awaits_numbers(&self) -> bool {
        self.first.awaits_receive()
    }

    /// Returns whether the peer has proved that it has the keys.
    pub(crate) fn is_proven(&self) -> bool {
        self.proven
    }

    /// Returns when keys of an earlier epoch are destroyed.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.opener.next_expiry()
    }

    /// Destroys the keys of earlier epochs that are due.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.opener.expire(now);
    }

    /// Establishes send keys from outside. The first ones wait until it is known where protection begins; at
    /// the server that is `ours`.
    pub(crate) fn add_send(
        &mut self,
        epoch: u64,
        keys: &KeyMaterial,
        ours: FirstProtected,
    ) -> Result<(), EpochError> {
        if epoch != FIRST_EPOCH || self.seals() || self.first.awaits_send() {
            return self.establish_send(epoch, keys);
        }
        self.first.add_send(keys);
        if self.first.is_fixed() { self.fix(ours) } else { self.fix_at_server(ours) }
    }

    /// Establishes receive keys like [`add_send`](Self::add_send). The peer begins to protect at `theirs`.
    pub(crate) fn add_receive(
        &mut self,
        epoch: u64,
        keys: &KeyMaterial,
        [ours, theirs]: [FirstProtected; 2],
    ) -> Result<(), EpochError> {
        if epoch != FIRST_EPOCH || self.opens() {
            return self.establish_receive(epoch, keys);
        }
        self.first.add_receive(keys, theirs);
        self.fix_at_server(ours)
    }

    /// The server has sent its last message in clear when it has keys: the client's answers it.
    fn fix_at_server(&mut self, ours: FirstProtected) -> Result<(), EpochError> {
        if self.is_end(End::Server) { self.fix(ours) } else { Ok(()) }
    }

    /// Establishes the first keys, if they wait for this end's last message in clear. It protects what comes
    /// after `ours`.
    pub(crate) fn fix(&mut self, ours: FirstProtected) -> Result<(), EpochError> {
        let Some(end) = self.agreed.as_ref().map(|agreed| agreed.negotiated.end) else { return Ok(()) };
        if !self.first.is_due() {
            return Ok(());
        }
        let (send, receive) = self.first.fix(&*self.keys.provider, end, ours);
        if let Some(keys) = receive {
            self.establish_receive(FIRST_EPOCH, &keys)?;
        }
        if let Some(keys) = send {
            self.establish_send(FIRST_EPOCH, &keys)?;
        }
        Ok(())
    }

    /// Establishes send keys and logs them.
    pub(crate) fn establish_send(&mut self, epoch: u64, keys: &KeyMaterial) -> Result<(), EpochError> {
        self.sealer.establish(KeyContext::Primary, epoch, keys, &*self.keys.provider)?;
        self.log(|numbers| numbers.theirs.0, epoch, keys);
        Ok(())
    }

    /// Establishes receive keys and logs them.
    pub(crate) fn establish_receive(&mut self, epoch: u64, keys: &KeyMaterial) -> Result<(), EpochError> {
        self.opener.establish(KeyContext::Primary, epoch, keys, &*self.keys.provider)?;
        self.log(|numbers| numbers.ours.0, epoch, keys);
        Ok(())
    }

    /// Logs key material of packets with this verification tag.
    fn log(&self, tag: impl Fn(&SetUpNumbers) -> u32, epoch: u64, keys: &KeyMaterial) {
        if let (Some(log), Some(agreed)) = (&self.keys.log, &self.agreed) {
            let (tag, keys) = (tag(&agreed.numbers), keys.clone());
            log(&KeyLogEntry { tag, context: KeyContext::Primary, epoch, keys }.line());
        }
    }

    /// Sets the time at which the receive keys of all epochs before `epoch` are destroyed.
    pub(crate) fn retire_receive(&mut self, epoch: u64, until: Time) {
        self.opener.retire(epoch, until);
    }

    /// Returns whether the keys come from outside.
    pub(crate) fn is_external(&self) -> bool {
        self.keys.is_external()
    }

    /// Returns the usage of the send keys.
    pub(crate) fn send_usage(&self) -> Option<SendUsage> {
        self.sealer.usage(KeyContext::Primary)
    }

    /// Returns the usage of the receive keys of an epoch.
    pub(crate) fn receive_usage(&self, epoch: u64) -> Option<ReceiveUsage> {
        self.opener.usage(KeyContext::Primary, epoch)
    }
}

impl fmt::Debug for PacketProtection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacketProtection")
            .field("keys", &self.keys)
            .field("sealer", &self.sealer)
            .field("opener", &self.opener)
            .field("enforced", &self.enforced)
            .field("proven", &self.proven)
            .finish_non_exhaustive()
    }
}
