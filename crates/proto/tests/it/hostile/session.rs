//! A live session with structurally mutated packets: right tag, right checksum, and signed again if AUTH is
//! on (null key), so that mutants reach code after authentication. Combines all extensions, policies and
//! controllers. Shared by the tests here and the fuzz target `session`.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use msctp_lab_schemes::catalogue::{Options, controllers};
use msctp_lab_schemes::policies::{PolicyConfig, policies, policy};
use msctp_protection::{CipherSuite, Ring, Secret};
use msctp_proto::{
    Config, KeyManagement, LocalAddrs, PathAddr, PathUse, Protection, RemoteAddrs, StreamRequest,
    StreamsConfig,
};
use msctp_units::{Ecn, Span};
use msctp_wire::{Checksum, Chunk, Packet, Param, Tlv};
use sha2::Sha256;

use super::bytes::Bytes;
use crate::support::{Flight, PORT_A, PORT_B, Pair, Side, a_ip, b_ip, chunk, ip, message, reseal};

/// Largest answer to one mutant in bytes: the sender's whole window.
const MAX_ANSWER: usize = 600_000;
/// Largest numbers of steps in a session, mutants in a step and changes to a mutant.
const MAX_STEPS: usize = 40;
const MUTANTS: u8 = 6;
const CHANGES: u8 = 4;
/// Largest length of a mutant in bytes.
const MAX_LEN: usize = 9000;

fn config(n: u8) -> Config {
    let n = usize::from(n);
    let base = if n % 2 == 0 { Config::mobile() } else { Config::default() };
    let (policies, controllers) = (policies(), controllers());
    Config {
        ecn: n % 3 == 0,
        streams: StreamsConfig { interleaving: n % 4 < 2, ..StreamsConfig::default() },
        handover_policy: policy(policies[(n / 2) % policies.len()].name, &PolicyConfig::default()).unwrap(),
        controller: (controllers[(n / 3) % controllers.len()].make)(&Options::new()),
        receive_buffer: 40_000,
        paths: if n % 8 == 6 { PathUse::Aggregate } else { PathUse::One },
        protection: if n % 8 == 5 { protection() } else { Protection::Insecure },
        trace: n % 5 == 0,
        max_segments: 1 + (n as u32 % 4) * 3,
        ..base
    }
}

/// Chooses protection, so that mutants reach the set-up, and the checks of packets in clear and of records.
fn protection() -> Protection {
    let key = Secret::from(&[7; 32][..]);
    let keys = KeyManagement::pre_shared(Arc::new(Ring), CipherSuite::Aes128GcmSha256, key).unwrap();
    Protection::Required(Arc::new(keys))
}

/// Returns the key of the association whose set-up is in the log (RFC 4895 §6.1); empty without one.
fn key_of(log: &[Flight]) -> Option<Vec<u8>> {
    let vector = |chunk_type: u8| {
        let flight = log.iter().rev().find(|flight| flight.has(chunk_type))?;
        let packet = Packet::parse(&flight.bytes, Checksum::Verify).ok()?;
        let params = match packet.chunks().next() {
            Some(Ok(Chunk::Init(init))) => init.params,
            Some(Ok(Chunk::InitAck(ack))) => ack.params,
            _ => return None,
        };
        let mut vector = Vec::new();
        let of_auth = |param: &Param<'_>| (0x8002..=0x8004).contains(&param.typ().0);
        params.iter().flatten().filter(of_auth).for_each(|param| Tlv::encode(&param, &mut vector));
        Some(vector)
    };
    let mut both = [vector(chunk::INIT)?, vector(chunk::INIT_ACK)?];
    both.sort_by(|a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
    Some(both.concat())
}

/// Signs a packet that begins with an AUTH chunk of HMAC-SHA256, and writes the checksum.
fn seal(bytes: &mut [u8], key: &[u8]) {
    if bytes.len() >= 52 && bytes[12] == 15 && bytes[14..16] == [0, 40] {
        bytes[20..52].fill(0);
        let mac = Hmac::<Sha256>::new_from_slice(key).expect("any length").chain_update(&bytes[12..]);
        bytes[20..52].copy_from_slice(&mac.finalize().into_bytes());
    }
    reseal(bytes);
}

/// Plays a session.
///
/// # Panics
/// An end panics, or answers a mutant without bound.
pub(crate) fn play(bytes: &[u8]) {
    let mut choices = Bytes(bytes);
    let Some(kind) = choices.byte() else { return };
    let mut session = Session::new(config(kind));
    for _ in 0..MAX_STEPS {
        if session.step(&mut choices).is_none() {
            break;
        }
    }
    session.pair.run_for(Span::from_secs(30));
}

struct Session {
    pair: Pair,
    config: Config,
    key: Vec<u8>,
    corpus: Vec<Flight>,
}

/// Returns a number below `limit` from two bytes.
fn below(choices: &mut Bytes<'_>, limit: usize) -> Option<usize> {
    let number = u16::from_be_bytes([choices.byte()?, choices.byte()?]);
    Some(usize::from(number) % limit.max(1))
}

impl Session {
    fn new(config: Config) -> Self {
        let mut pair = Pair::new(config.clone(), vec![b_ip(0), b_ip(1)]);
        pair.log = Some(Vec::new());
        pair.connect(config.clone(), vec![a_ip(0)], vec![b_ip(0)]);
        pair.run_for(Span::from_millis(300));
        let corpus = pair.log.clone().unwrap_or_default();
        Self { key: key_of(&corpus).unwrap_or_default(), pair, config, corpus }
    }

    fn step(&mut self, choices: &mut Bytes<'_>) -> Option<()> {
        self.call(choices)?;
        let wait = below(choices, 60_000)?;
        let before = self.pair.log_len();
        self.pair.run_for(Span::from_micros(wait as u64));
        let fresh: Vec<Flight> = self.pair.log.as_ref()?[before..].iter().rev().take(6).cloned().collect();
        self.corpus.extend(fresh);
        if self.corpus.len() > 300 {
            self.corpus.drain(20..120);
        }
        for _ in 0..choices.byte()? % MUTANTS {
            self.strike(choices)?;
        }
        if self.pair.a.state().is_none() || self.pair.b.state().is_none() {
            self.reconnect();
        }
        Some(())
    }

    /// Makes a random call of the application.
    fn call(&mut self, choices: &mut Bytes<'_>) -> Option<()> {
        let (what, which) = (choices.byte()?, choices.byte()?);
        let side = if what & 1 == 0 { Side::A } else { Side::B };
        if self.pair.host(side).state().is_none() {
            return Some(());
        }
        let network = which % 4;
        // Each call may be rejected.
        self.pair.with(side, |end, now| match (what >> 1) % 12 {
            0..=5 => {
                let mut message = message(u16::from(which % 4), vec![1; 1 + usize::from(which) * 30]);
                message.unordered = what & 0x80 != 0;
                drop(end.send(now, message));
            }
            6 if side == Side::A => drop(end.add_local_address(now, a_ip(network))),
            7 if side == Side::A => drop(end.remove_local_address(now, a_ip(network))),
            8 if side == Side::A => drop(end.request_peer_primary(now, a_ip(network))),
            9 => drop(end.reconfigure(now, StreamRequest::ResetOutgoing(vec![u16::from(network)]))),
            10 => drop(end.reconfigure(now, StreamRequest::AddOutgoing(1))),
            _ => {}
        });
        Some(())
    }

    /// Mutates a packet and injects it.
    fn strike(&mut self, choices: &mut Bytes<'_>) -> Option<()> {
        let flight = self.corpus[below(choices, self.corpus.len())?].clone();
        let (changes, how) = (choices.byte()? % CHANGES, choices.byte()?);
        let mut bytes = flight.bytes;
        for _ in 0..changes {
            self.change(&mut bytes, choices)?;
        }
        bytes.truncate(MAX_LEN);
        // The current tag.
        let tags = self.pair.log.as_ref()?.iter().rev();
        let current = tags.filter(|sent| sent.from == flight.from).map(Flight::tag).find(|tag| *tag != 0);
        if bytes[4..8] != [0; 4]
            && how & 7 != 0
            && let Some(tag) = current
        {
            bytes[4..8].copy_from_slice(&tag.to_be_bytes());
        }
        seal(&mut bytes, &self.key);
        let mut at = PathAddr { local: flight.at.remote, remote: flight.at.local };
        if how & 0x38 == 0 {
            at.remote = ip(77, how >> 6);
        }
        let ecn = if how >> 6 == 1 { Ecn::Ce } else { Ecn::NotEct };
        let (to, before) = (flight.from.other(), self.pair.log_len());
        self.pair.inject_marked(to, at, ecn, &bytes);
        let answer: usize = self.pair.sent_since(to, before).iter().map(|sent| sent.bytes.len()).sum();
        assert!(answer < MAX_ANSWER, "{answer} bytes in answer to {}", bytes.len());
        Some(())
    }

    /// Changes a byte, a bit, a word, the length, or the rest of a packet.
    fn change(&self, bytes: &mut Vec<u8>, choices: &mut Bytes<'_>) -> Option<()> {
        let at = 12 + below(choices, bytes.len().saturating_sub(12))?;
        let (how, with) = (choices.byte()?, choices.byte()?);
        let word = at & !3;
        let has_word = word + 4 <= bytes.len();
        match how % 7 {
            0 if at < bytes.len() => bytes[at] = with,
            1 if at < bytes.len() => bytes[at] ^= 1 << (with % 8),
            2 if has_word => {
                let edges = [[0; 4], [0xff; 4], [0x7f, 0xff, 0xff, 0xff], [0x80, 0, 0, 0]];
                bytes[word..word + 4].copy_from_slice(&edges[usize::from(with % 4)]);
            }
            3 if has_word => {
                let old = u32::from_be_bytes(bytes[word..word + 4].try_into().expect("four bytes"));
                let new = old.wrapping_add(u32::from(with % 9)).wrapping_sub(4);
                bytes[word..word + 4].copy_from_slice(&new.to_be_bytes());
            }
            4 => bytes.truncate(word.max(16)),
            5 => {
                let other = &self.corpus[usize::from(with) % self.corpus.len()];
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                bytes.extend_from_slice(&other.bytes[12..]);
            }
            _ => bytes.extend_from_within(word.min(bytes.len())..),
        }
        Some(())
    }

    fn reconnect(&mut self) {
        self.pair.run_for(Span::from_secs(1));
        if self.pair.a.state().is_some() {
            return;
        }
        let local = LocalAddrs { port: PORT_A, addresses: vec![a_ip(0)] };
        let remote = RemoteAddrs { port: PORT_B, addresses: vec![b_ip(0)] };
        let (now, config) = (self.pair.now, self.config.clone());
        // B may still have the old association, for which A has lost the state.
        let Ok(handle) = self.pair.a.endpoint.connect(now, config, local, remote) else { return };
        self.pair.a.handle = Some(handle);
        let from = self.pair.log_len();
        self.pair.drain(Side::A);
        self.pair.run_for(Span::from_millis(400));
        let set_up = self.pair.log.as_ref().and_then(|log| key_of(&log[from..]));
        self.key = set_up.unwrap_or_else(|| core::mem::take(&mut self.key));
    }
}
