//! UDP encapsulation (RFC 6951): the peer's UDP port of each path, and the validation of another one.
//!
//! In clear, each packet with the right verification tag teaches its source port (§5.4). No key protects the
//! port: an observer that delivers a copy of a protected packet first, from a port of its own, would receive
//! this end's packets. A protected packet therefore only makes its port a *candidate*. Both the candidate and
//! the port in use get a HEARTBEAT, and the candidate replaces a port that does not answer (RFC 9000 §8.2,
//! §9.3.3). Everything else goes to the port in use meanwhile.
//!
//! The nonce is the proof, and not the port that an answer comes from: copies of the answer overtake it too.
//! For the same reason a replayed packet also makes its port a candidate. It was opened, so the peer has sent
//! it, and it may be the genuine one.

use msctp_units::{Span, Time};
use msctp_wire::cause::EncapsulationPorts;
use msctp_wire::{EncodeChunk, Heartbeat, Param, Params};
use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use super::{Around, Association};
use crate::addr::{PathAddr, PathId};
use crate::path::{HeartbeatInfo, Path, Purpose, ip_header};
use crate::remote_ports::RemotePorts;

/// Number of candidates of a path that are stored, the latest. Others are asked once for each packet, so that
/// an observer with many ports does not hide the peer's.
const MAX_CANDIDATES: usize = 4;

/// Number of HEARTBEATs, an RTO apart, that a port may leave unanswered.
const ROUNDS: u8 = 2;

/// Number of HEARTBEATs to the port that was in use, if packets still come from there.
const RETURNS: u8 = 8;

/// Number of T3-rtx expirations without a delivery after which answers to HEARTBEATs do not keep a port in
/// use: one follows the loss of a few packets.
const STUCK_AFTER: u32 = 2;

/// Shortest time that the port in use has to answer after a candidate did.
const LEAST_GRACE: Span = Span::from_millis(10);

/// The UDP ports of an association's peer.
#[derive(Debug)]
pub(super) struct Encapsulation {
    ports: RemotePorts,
    /// Source port of the packet that is being handled.
    source: u16,
    /// True if that port is learned without validation.
    learns: bool,
    /// Checks that run, at most one for each path.
    checks: Vec<PortCheck>,
    /// What was delivered on each path that has had a check.
    deliveries: Vec<Delivery>,
}

/// The delivery of data on a path when it was last known to make progress.
#[derive(Debug)]
struct Delivery {
    path: PathId,
    acked: u64,
    timeouts: u32,
}

/// A UDP port that was sent a HEARTBEAT.
#[derive(Debug)]
struct Asked {
    port: u16,
    /// Bytes that may still be sent there.
    credit: u32,
}

/// The check whether the peer receives at another port of a path.
#[derive(Debug)]
struct PortCheck {
    path: PathId,
    at: PathAddr,
    /// The nonces follow from it.
    secret: [u8; 32],
    /// The port in use when the check began.
    old: Asked,
    candidates: SmallVec<[Asked; 1]>,
    rounds: u8,
    /// A packet came from the old port since it was asked last, although another is in use.
    heard: bool,
    /// True if the old port answers and delivers no data: another one that answers replaces it.
    stuck: bool,
    phase: Phase,
    /// The end of the phase.
    due: Time,
}

/// The phase of a [`PortCheck`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No port has answered. HEARTBEATs are repeated at its end.
    Asking,
    /// This candidate has answered. The old port may still answer.
    Answered(u16),
    /// A candidate is in use. The old port was asked again, and returns if it answers. As long as packets
    /// come from it, it is asked anew: its answers may be lost, and a NAT that has forgotten a port passes
    /// none.
    Changed,
    /// The old port has answered. No other check begins before the end of the phase, so that copies cause at
    /// most one in an RTO.
    Resting,
}

impl Encapsulation {
    fn port(&self, at: PathAddr) -> u16 {
        self.ports.port(at.local, at.remote)
    }

    fn learn(&mut self, at: PathAddr, port: u16, is_path: bool) {
        self.ports.learn(at.local, at.remote, port, is_path);
    }

    /// Returns the time at which a phase ends.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.checks.iter().map(|check| check.due).min()
    }
}

impl PortCheck {
    /// Returns the nonce of the HEARTBEATs to a port. The peer can answer from each, stored or not.
    fn nonce(&self, port: u16) -> u64 {
        let hash = Sha256::new().chain_update(self.secret).chain_update(port.to_be_bytes()).finalize();
        hash.iter().take(8).fold(0, |nonce, byte| nonce << 8 | u64::from(*byte))
    }
}

impl Asked {
    /// Takes the bytes of a packet off the credit. Returns false if they exceed it.
    fn charge(&mut self, bytes: usize) -> bool {
        let left = self.credit.checked_sub(bytes as u32);
        self.credit = left.unwrap_or(self.credit);
        left.is_some()
    }

    fn allow(&mut self, credit: u32) {
        self.credit = self.credit.saturating_add(credit);
    }
}

impl Association {
    /// Sends the packets of this association of an endpoint over UDP (RFC 6951), to this port of the peer
    /// until another one is learned. Pass its packets to
    /// [`handle_encapsulated_datagram`](crate::Endpoint::handle_encapsulated_datagram).
    pub fn encapsulate(&mut self, udp_port: u16) {
        let ports = RemotePorts::new(udp_port);
        let encapsulation = Encapsulation {
            ports,
            source: udp_port,
            learns: false,
            checks: Vec::new(),
            deliveries: Vec::new(),
        };
        self.around = Some(Box::new(Around::Udp(encapsulation)));
    }

    #[inline]
    pub(super) fn encapsulation(&self) -> Option<&Encapsulation> {
        match self.around.as_deref() {
            Some(Around::Udp(encapsulation)) => Some(encapsulation),
            _ => None,
        }
    }

    #[inline]
    fn encapsulation_mut(&mut self) -> Option<&mut Encapsulation> {
        match self.around.as_deref_mut() {
            Some(Around::Udp(encapsulation)) => Some(encapsulation),
            _ => None,
        }
    }

    /// Returns the UDP port to which packets with these addresses go; `None` without encapsulation.
    #[inline]
    pub(super) fn udp_port(&self, at: PathAddr) -> Option<u16> {
        self.encapsulation().map(|encapsulation| encapsulation.port(at))
    }

    /// Sets the source port of the next packet. Returns whether the port must be learned if the peer sent the
    /// packet, which is protected if it is `sealed`.
    pub(crate) fn begin_source(&mut self, at: PathAddr, port: u16, sealed: bool) -> bool {
        let Some(encapsulation) = self.encapsulation_mut() else { return false };
        (encapsulation.source, encapsulation.learns) = (port, false);
        if encapsulation.ports.is_last(at.local, at.remote, port) {
            return false;
        }
        let unknown = !encapsulation.ports.knows(at.local, at.remote);
        let learns = match sealed {
            // Nothing else is known of an address that this packet adds, and little goes there (RFC 9260
            // §5.4). An address that is listed already may never send, so that a copy from there would teach
            // the only port.
            true => unknown && !self.paths.has_remote(&at.remote),
            // A repeated COOKIE ECHO proves no port.
            false => !self.is_enforced(),
        };
        if let Some(encapsulation) = self.encapsulation_mut() {
            encapsulation.learns = learns;
        }
        learns
    }

    /// Learns the source port of a packet that the peer sent (RFC 6951 §5.4), if there is such a path: an
    /// attacker who has observed one packet can send from any number of addresses.
    pub(crate) fn learn_source(&mut self, at: PathAddr) {
        let is_path = self.path_of(at).is_some();
        if let Some(encapsulation) = self.encapsulation_mut() {
            encapsulation.learn(at, encapsulation.source, is_path);
        }
    }

    /// Returns the UDP port of the packet that is being handled.
    pub(super) fn source_port(&self) -> Option<u16> {
        self.encapsulation().map(|encapsulation| encapsulation.source)
    }

    /// Returns the UDP ports of the peer and of the packet that is being handled, if they differ: behind a
    /// NAT another host may have the peer's address and SCTP port.
    pub(super) fn other_source_port(&self, at: PathAddr) -> Option<EncapsulationPorts> {
        let encapsulation = self.encapsulation()?;
        let (current, new) = (encapsulation.port(at), encapsulation.source);
        (!encapsulation.ports.has(at.remote, new)).then_some(EncapsulationPorts { current, new })
    }

    /// Uses this port on a path from now on.
    pub(super) fn set_source_port(&mut self, at: PathAddr, port: u16) {
        if let Some(encapsulation) = self.encapsulation_mut() {
            encapsulation.learn(at, port, true);
        }
    }

    /// Forgets what packets in clear have taught, when the first protected one has come: anyone who saw the
    /// set-up may have sent them. The port is that which the application called, or from which the peer's
    /// COOKIE ECHO came.
    pub(super) fn forget_ports_in_clear(&mut self) {
        if let Some(encapsulation) = self.encapsulation_mut() {
            encapsulation.ports.forget_all();
        }
    }

    /// Takes the port in use for the source of the next packet, which was held and whose port is not known.
    pub(super) fn begin_held(&mut self, at: PathAddr) {
        if let Some(encapsulation) = self.encapsulation_mut() {
            (encapsulation.source, encapsulation.learns) = (encapsulation.port(at), false);
        }
    }

    /// Forgets the port of a path that was removed.
    pub(super) fn forget_port(&mut self, at: PathAddr) {
        if let Some(encapsulation) = self.encapsulation_mut() {
            encapsulation.ports.forget(at.local, at.remote);
            encapsulation.checks.retain(|check| check.at != at);
        }
        let paths = &self.paths;
        if let Some(Around::Udp(encapsulation)) = self.around.as_deref_mut() {
            encapsulation.deliveries.retain(|one| paths.get(one.path).is_some());
        }
    }

    /// Returns whether data on a path has only timed out since it was last delivered there, or since another
    /// port was last validated.
    fn delivers_nothing(&mut self, id: PathId) -> bool {
        let Some(path) = self.paths.get(id) else { return false };
        // RFC 9260 §6.1 A: a peer without room answers, and acknowledges nothing.
        let timeouts = path.unanswered_timeouts;
        let now = Delivery { path: id, acked: path.bytes_acked, timeouts };
        let Some(Around::Udp(encapsulation)) = self.around.as_deref_mut() else { return false };
        let Some(before) = encapsulation.deliveries.iter_mut().find(|one| one.path == id) else {
            encapsulation.deliveries.push(now);
            return false;
        };
        if now.acked != before.acked {
            *before = now;
            return false;
        }
        now.timeouts >= before.timeouts + STUCK_AFTER
    }

    fn path(&self, at: PathAddr) -> Option<&Path> {
        self.paths.get(self.path_of(at)?)
    }

    /// Makes the source port of a packet a candidate if it is not in use. The packet was opened, and may be a
    /// replay.
    #[inline]
    pub(super) fn note_source(&mut self, now: Time, at: PathAddr) {
        if let Some(encapsulation) = self.encapsulation()
            && !encapsulation.learns
            && !encapsulation.ports.is_last(at.local, at.remote, encapsulation.source)
            && encapsulation.port(at) != encapsulation.source
        {
            self.note_candidate(now, at, encapsulation.source);
        }
    }

    #[cold]
    fn note_candidate(&mut self, now: Time, at: PathAddr, port: u16) {
        let Some(path) = self.path(at).filter(|path| path.may_heartbeat() && self.seals()) else { return };
        // The port in use may be dead.
        let (id, rto) = (path.id(), path.rto_without_back_off());
        // The packet that is being handled: `begin_credit`
        let credit = self.output.credit;
        let mut check = match self.take_check(id) {
            Some(check) => check,
            None => {
                let Some(in_use) = self.udp_port(at) else { return };
                let mut check = PortCheck {
                    path: id,
                    at,
                    secret: self.rng.next_seed(),
                    old: Asked { port: in_use, credit: u32::MAX },
                    candidates: SmallVec::new(),
                    rounds: 1,
                    heard: false,
                    stuck: false,
                    phase: Phase::Asking,
                    due: now + rto,
                };
                self.delivers_nothing(id);
                // First, so that it answers first.
                self.ask_old(now, &mut check);
                check
            }
        };
        match check.phase {
            Phase::Changed => check.heard |= port == check.old.port,
            Phase::Resting => {}
            Phase::Asking | Phase::Answered(_) => {
                if let Some(known) = check.candidates.iter_mut().find(|known| known.port == port) {
                    known.allow(credit);
                } else {
                    let mut candidate = Asked { port, credit };
                    self.ask_port(now, (id, at), &mut candidate, check.nonce(port));
                    if check.candidates.len() == MAX_CANDIDATES {
                        check.candidates.remove(0);
                    }
                    check.candidates.push(candidate);
                }
            }
        }
        self.put_check(check);
    }

    fn ask_old(&mut self, now: Time, check: &mut PortCheck) {
        let nonce = check.nonce(check.old.port);
        self.ask_port(now, (check.path, check.at), &mut check.old, nonce);
    }

    fn take_check(&mut self, path: PathId) -> Option<PortCheck> {
        let checks = &mut self.encapsulation_mut()?.checks;
        let index = checks.iter().position(|check| check.path == path)?;
        Some(checks.swap_remove(index))
    }

    fn put_check(&mut self, check: PortCheck) {
        if let Some(encapsulation) = self.encapsulation_mut() {
            encapsulation.checks.push(check);
        }
    }

    /// Queues a HEARTBEAT to a port, within its credit and that of an address that is not confirmed.
    fn ask_port(&mut self, now: Time, (path, at): (PathId, PathAddr), asked: &mut Asked, nonce: u64) {
        let purpose = Purpose::Port(asked.port);
        let info = HeartbeatInfo { path, purpose, sent: now, nonce }.to_bytes();
        let params = [Param::HeartbeatInfo(&info)];
        self.push_to_port(at, asked, &Heartbeat { params: Params::from(&params) });
    }

    fn push_to_port(&mut self, at: PathAddr, asked: &mut Asked, chunk: &impl EncodeChunk) {
        // As if each chunk were a packet of its own: some are.
        let bytes = ip_header(&at.remote) as usize + self.least_packet() + chunk.padded_len();
        let unconfirmed = !self.paths.remote_is_confirmed(&at.remote);
        if unconfirmed && self.output.credit < bytes as u32 || !asked.charge(bytes) {
            self.faults.replies_withheld += 1;
            return;
        }
        if unconfirmed {
            self.output.credit -= bytes as u32;
        }
        self.control.push_to_port(at, self.tags.peer_tag, asked.port, chunk);
    }

    /// Returns whether the packet that is being handled came from a candidate of its path.
    pub(super) fn is_candidate(&self, at: PathAddr) -> bool {
        self.encapsulation().is_some_and(|encapsulation| {
            let mut checks = encapsulation.checks.iter().filter(|check| check.at == at);
            checks.any(|check| check.candidates.iter().any(|one| one.port == encapsulation.source))
        })
    }

    /// Sends the answer to a HEARTBEAT or an ASCONF that came from a candidate there too: the peer sees no
    /// error of its path while its port is being validated, and may send nothing but ASCONFs from an address
    /// that is not added yet (RFC 5061 §5.3 F1), so that nothing else could validate it.
    pub(super) fn answer_candidate(&mut self, at: PathAddr, answer: &impl EncodeChunk) {
        let Some(source) = self.encapsulation().map(|encapsulation| encapsulation.source) else {
            return;
        };
        let Some(mut check) = self.path_of(at).and_then(|path| self.take_check(path)) else { return };
        if let Some(candidate) = check.candidates.iter_mut().find(|candidate| candidate.port == source) {
            self.push_to_port(at, candidate, answer);
        }
        self.put_check(check);
    }

    /// Handles a HEARTBEAT ACK that names a port. Returns false if it is none of a check's HEARTBEATs.
    pub(super) fn on_port_answer(&mut self, now: Time, info: &HeartbeatInfo) -> bool {
        let Purpose::Port(port) = info.purpose else { return false };
        let Some(mut check) = self.take_check(info.path) else { return false };
        let known = info.nonce == check.nonce(port);
        let rto = self.paths.get(check.path).map_or(Span::ZERO, Path::rto_without_back_off);
        // The peer may return another time.
        let rtt = now.since(info.sent).min(rto);
        let asks = matches!(check.phase, Phase::Asking | Phase::Answered(_));
        if known && port == check.old.port && asks && self.delivers_nothing(check.path) {
            // An observer may pass only HEARTBEATs on.
            check.stuck = true;
        } else if known && port == check.old.port {
            if check.phase == Phase::Changed && !check.stuck {
                self.change_port(now, &check, port);
            }
            self.paths.prove(check.path, now);
            if check.phase != Phase::Resting {
                (check.phase, check.due) = (Phase::Resting, now + rto);
                check.candidates.clear();
            }
        } else if known && check.phase == Phase::Asking {
            // The old port was asked at the same time or before. The old port's answer may stand in a queue
            // that the other's does not: behind one router the peer may have two networks.
            let usual = self.paths.get(check.path).and_then(|path| path.rtt.srtt()).unwrap_or_default();
            let grace = (usual + usual / 4).saturating_sub(rtt).max(rtt / 4).max(LEAST_GRACE);
            (check.phase, check.due) = (Phase::Answered(port), now + grace);
        }
        self.put_check(check);
        known
    }

    /// Uses a port from now on.
    ///
    /// What was sent to the other one is repeated: data, and the SACK of what the peer sent. The window
    /// stays, as only the port changes (RFC 9000 §9.4).
    fn change_port(&mut self, now: Time, check: &PortCheck, port: u16) {
        if let Some(encapsulation) = self.encapsulation_mut() {
            encapsulation.learn(check.at, port, true);
            // The other port gets its time.
            encapsulation.deliveries.retain(|one| one.path != check.path);
        }
        self.delivers_nothing(check.path);
        self.paths.prove(check.path, now);
        self.inbound.repeat_sack();
        self.outbound.on_port_changed(now, check.path, &mut self.paths);
    }

    /// Ends the phases of checks that are due.
    pub(super) fn ports_timeout(&mut self, now: Time) {
        while let Some(path) = self.encapsulation().and_then(|encapsulation| {
            encapsulation.checks.iter().find(|check| check.due <= now).map(|check| check.path)
        }) {
            let Some(mut check) = self.take_check(path) else { return };
            let rto = self.paths.get(path).map_or(Span::ZERO, Path::rto_without_back_off);
            check.due = now + rto;
            match check.phase {
                Phase::Asking if check.rounds < ROUNDS && !rto.is_zero() => {
                    check.rounds += 1;
                    self.ask_old(now, &mut check);
                    for mut candidate in core::mem::take(&mut check.candidates) {
                        let nonce = check.nonce(candidate.port);
                        self.ask_port(now, (path, check.at), &mut candidate, nonce);
                        check.candidates.push(candidate);
                    }
                }
                Phase::Answered(port) => {
                    self.change_port(now, &check, port);
                    (check.phase, check.rounds) = (Phase::Changed, 1);
                    self.ask_old(now, &mut check);
                }
                Phase::Changed if check.rounds < if check.heard { RETURNS } else { ROUNDS } => {
                    (check.heard, check.rounds) = (false, check.rounds + 1);
                    self.ask_old(now, &mut check);
                }
                Phase::Asking | Phase::Changed | Phase::Resting => continue,
            }
            self.put_check(check);
        }
    }
}
