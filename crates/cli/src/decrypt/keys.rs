//! The keys of a key log, found by the packets that they open.

use std::collections::BTreeMap;

use msctp_protection::{KeyLogEntry, Opener, Ring};
use msctp_terminal::Failure;

/// Maximum number of times that the sequence numbers, 16 bits on the wire, may have wrapped around before the
/// capture begins.
const WRAPS: u64 = 4096;
/// Maximum number of packets on which a key is tried: a wrong key opens none.
const ATTEMPTS: u32 = 64;

/// Keys by the verification tag of the packets that they open.
#[derive(Default)]
pub(super) struct Keys {
    by_tag: BTreeMap<u32, Vec<Key>>,
}

struct Key {
    entry: KeyLogEntry,
    /// The opener, created from the first packet that the key opens.
    opener: Option<Opener>,
    /// Packets tried before a key opened one.
    attempts: u32,
}

impl Keys {
    /// Parses a key log; `what` names it in errors.
    pub(super) fn parse(what: &str, text: &str) -> Result<Self, Failure> {
        let mut keys = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let entry = KeyLogEntry::parse(line);
            let entry = entry.map_err(|error| Failure::Input(format!("{what}: line {number}: {error}")))?;
            if let Some(entry) = entry {
                keys.by_tag.entry(entry.tag).or_default().push(Key { entry, opener: None, attempts: 0 });
            }
        }
        if keys.by_tag.is_empty() {
            return Err(Failure::Input(format!(
                "{what}: no line begins with SCTP_DTLS_CHUNK; want a key log"
            )));
        }
        Ok(keys)
    }

    /// Returns the chunks of a packet; `body` follows its common header. `None` if no key opens it.
    pub(super) fn open(&mut self, tag: u32, body: &[u8]) -> Option<Vec<u8>> {
        let keys = self.by_tag.get_mut(&tag)?;
        // The newest first: both ends of a log may have logged the same keys, and epochs follow each other.
        keys.iter_mut().rev().find_map(|key| key.open(body))
    }
}

impl Key {
    fn open(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        // The flags of the chunk and of its record: the R bit, and two bits of the epoch.
        let (&restart, &epoch) = (body.get(1)?, body.get(5)?);
        let is_restart = self.entry.context == msctp_protection::KeyContext::Restart;
        if (restart & 1 == 1) != is_restart || u64::from(epoch & 3) != self.entry.epoch & 3 {
            return None;
        }
        if let Some(opener) = &mut self.opener {
            return open(opener, body);
        }
        if self.attempts == ATTEMPTS {
            return None;
        }
        self.attempts += 1;
        (0..WRAPS).find_map(|wraps| {
            let mut opener = Opener::of_epoch(&self.entry, wraps << 16, &Ring);
            let chunks = open(&mut opener, body)?;
            self.opener = Some(opener);
            Some(chunks)
        })
    }
}

fn open(opener: &mut Opener, body: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = body.to_vec();
    let chunks = opener.open(&mut bytes).ok()?.chunks;
    Some(bytes[chunks].to_vec())
}
