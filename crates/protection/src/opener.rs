//! [`Opener`]: verifies and decrypts the packets that an association receives.

use core::fmt;
use core::ops::Range;

use msctp_units::Time;
use msctp_wire::chunk::Dtls;
use msctp_wire::{Chunk, EncodeChunk};

use crate::key_log::KeyLogEntry;
use crate::keys::{KeyMaterial, RecordKeys};
use crate::provider::Provider;
use crate::record::{
    APPLICATION_DATA, EPOCH_BITS, EpochError, FIRST_EPOCH, FLAGS, KeyContext, MAX_SEQUENCE_NUMBER,
    RECORD_HEADER, reconstruct,
};
use crate::replay::ReplayWindow;
use crate::sealer::next_primary;
use crate::suite::{MAX_PLAINTEXT, TAG_LEN};

/// Bytes that encryption may add to a plaintext: content type, padding and tag (RFC 8446 §5.2).
const MAX_EXPANSION: usize = 256;

/// The reason to discard a received packet silently (draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.2).
///
/// None of these ends the association by itself. `bytes` may have been overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The packet does not begin with a well-formed DTLS chunk.
    #[error("the packet does not begin with a well-formed DTLS chunk")]
    NotDtls,
    /// Another chunk follows the DTLS chunk.
    #[error("the DTLS chunk is bundled, but must be alone in its packet")]
    Bundled,
    /// The record's header differs from the only one that the DTLS chunk allows.
    #[error("the record begins with {flags:#010b}, must be 0b001010EE")]
    Header {
        /// First byte of the record.
        flags: u8,
    },
    /// The record is too short or too long.
    #[error("the record of {len} bytes is too short or too long")]
    Length {
        /// Bytes of the record.
        len: usize,
    },
    /// There is no key material for the record's context and epoch.
    #[error("no {context:?} key material for an epoch that ends with the bits {epoch_bits:02b}")]
    NoKeys {
        /// The context that the R bit names.
        context: KeyContext,
        /// The lowest two bits of the epoch.
        epoch_bits: u8,
    },
    /// The record is not authentic.
    #[error("the record is not authentic")]
    NotAuthentic,
    /// Too many records were [not authentic](Self::NotAuthentic), so that the key material was destroyed. If
    /// it was the last, the association must be aborted (RFC 9147 §4.5.3).
    #[error("the keys of epoch {epoch} were destroyed: too many records were not authentic")]
    LimitReached {
        /// The epoch of the key material.
        epoch: u64,
    },
    /// The record was received before, or is older than the replay window.
    #[error("record {sequence_number} was received before or is too old")]
    Replayed {
        /// Sequence number of the record.
        sequence_number: u64,
    },
    /// The record is authentic, but its content type is not that of chunks.
    #[error("the record has content type {content_type}, must be 23 (application data)")]
    ContentType {
        /// Content type of the record; 0 if it has none.
        content_type: u8,
    },
}

/// A packet that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Range of the chunks in the bytes given to [`Opener::open`].
    pub chunks: Range<usize>,
    /// The context that protected them.
    pub context: KeyContext,
    /// The epoch that protected them.
    pub epoch: u64,
    /// Sequence number of the record.
    pub sequence_number: u64,
}

/// Use of a receive key (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.10, §7.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveUsage {
    /// Number of authentic records.
    pub opened: u64,
    /// Number of records that were not authentic.
    pub failed: u64,
    /// Number of records that may fail before the key material is destroyed.
    pub failure_limit: u64,
}

impl ReceiveUsage {
    /// Returns whether to establish the next epoch, because half of the allowed failures have occurred.
    #[must_use]
    pub const fn should_rekey(&self) -> bool {
        self.failed >= self.failure_limit / 2
    }
}

/// The keys of one epoch for receiving.
struct ReceiveKeys {
    epoch: u64,
    record: RecordKeys,
    window: ReplayWindow,
    usage: ReceiveUsage,
    /// Time at which to destroy the keys.
    until: Option<Time>,
}

impl ReceiveKeys {
    fn new(epoch: u64, keys: &KeyMaterial, window: u16, provider: &dyn Provider) -> Self {
        let usage = ReceiveUsage { opened: 0, failed: 0, failure_limit: keys.suite().failure_limit() };
        let window = ReplayWindow::new(window);
        Self { epoch, record: keys.build(provider), window, usage, until: None }
    }
}

/// The key material of a context, indexed by the two epoch bits of a record. Four consecutive epochs differ
/// in them.
type Epochs = [Option<ReceiveKeys>; 4];

/// The receiving half of an association's chunk protection operator: verifies and decrypts packets.
pub struct Opener {
    primary: Epochs,
    restart: Epochs,
    /// The epoch of the last primary key material; 0 before the first.
    last_primary: u64,
    window: u16,
}

impl Opener {
    /// The smallest replay window, in records (RFC 4303 §3.4.3 prefers 64).
    pub const MIN_WINDOW: u16 = 64;
    /// The largest replay window. Beyond it, a sequence number of 16 bits would be ambiguous.
    pub const MAX_WINDOW: u16 = 1 << 15;
    /// Default replay window, for paths whose delays differ by 100 ms at 80,000 packets a second: 1 KiB for
    /// each epoch.
    pub const DEFAULT_WINDOW: u16 = 8192;

    /// Creates an opener without key material. It has a replay window of `window` records for each epoch,
    /// clamped to [`MIN_WINDOW`](Self::MIN_WINDOW) and [`MAX_WINDOW`](Self::MAX_WINDOW).
    #[must_use]
    pub fn new(window: u16) -> Self {
        Self {
            primary: Epochs::default(),
            restart: Epochs::default(),
            last_primary: 0,
            window: window.clamp(Self::MIN_WINDOW, Self::MAX_WINDOW),
        }
    }

    /// Creates an opener of one epoch, to read a capture that may begin anywhere in it. `next` is a sequence
    /// number near that of the first record.
    #[must_use]
    pub fn of_epoch(entry: &KeyLogEntry, next: u64, provider: &dyn Provider) -> Self {
        let mut opener = Self::new(Self::MAX_WINDOW);
        let KeyLogEntry { context, epoch, keys, .. } = entry;
        *opener.slot(*context, *epoch as u8) = Some(ReceiveKeys::new(*epoch, keys, opener.window, provider));
        if let Some(keys) = opener.slot(*context, *epoch as u8)
            && let Some(last) = next.checked_sub(1)
        {
            keys.window.insert(last);
        }
        opener
    }

    /// Establishes key material for an epoch (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.5).
    ///
    /// The material of up to three earlier epochs stays until it is destroyed or [retired](Self::retire).
    ///
    /// # Errors
    /// If `epoch` is not the one after the last, [`FIRST_EPOCH`] at first. Restart keys may begin later.
    pub fn establish(
        &mut self,
        context: KeyContext,
        epoch: u64,
        keys: &KeyMaterial,
        provider: &dyn Provider,
    ) -> Result<(), EpochError> {
        let expected = match context {
            KeyContext::Primary => next_primary(self.last_primary),
            KeyContext::Restart => {
                let newest = self.restart.iter().flatten().map(|keys| keys.epoch).max();
                newest.map_or(FIRST_EPOCH, |newest| newest + 1).max(epoch)
            }
        };
        if epoch != expected {
            return Err(EpochError { epoch, expected });
        }
        if context == KeyContext::Primary {
            self.last_primary = epoch;
        }
        *self.slot(context, epoch as u8) = Some(ReceiveKeys::new(epoch, keys, self.window, provider));
        Ok(())
    }

    /// Destroys the key material of an epoch. Returns false if there is none
    /// (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.7).
    pub fn destroy(&mut self, context: KeyContext, epoch: u64) -> bool {
        self.slot(context, epoch as u8).take_if(|keys| keys.epoch == epoch).is_some()
    }

    /// Sets the time at which the primary key material of all epochs before `epoch` is destroyed
    /// (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §6.2.3).
    pub fn retire(&mut self, epoch: u64, until: Time) {
        for keys in self.primary.iter_mut().flatten().filter(|keys| keys.epoch < epoch) {
            keys.until = Some(keys.until.map_or(until, |earlier| earlier.min(until)));
        }
    }

    /// Returns when [`expire`](Self::expire) has something to destroy next.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Time> {
        self.primary.iter().flatten().filter_map(|keys| keys.until).min()
    }

    /// Destroys the key material whose time has come.
    pub fn expire(&mut self, now: Time) {
        for slot in &mut self.primary {
            slot.take_if(|keys| keys.until.is_some_and(|until| until <= now));
        }
    }

    /// Follows a restart of the association: destroys the primary key material, and begins again with
    /// [`FIRST_EPOCH`] (draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.4).
    pub fn restart(&mut self) {
        self.primary = Epochs::default();
        self.last_primary = 0;
    }

    /// Returns whether packets can be opened.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.primary.iter().chain(&self.restart).any(Option::is_some)
    }

    /// Returns the usage of an epoch's key material, or `None` if there is none.
    #[must_use]
    pub fn usage(&self, context: KeyContext, epoch: u64) -> Option<ReceiveUsage> {
        let epochs = match context {
            KeyContext::Primary => &self.primary,
            KeyContext::Restart => &self.restart,
        };
        epochs.iter().flatten().find(|keys| keys.epoch == epoch).map(|keys| keys.usage)
    }

    /// Verifies and decrypts a packet in place; `bytes` follow its common header.
    ///
    /// # Errors
    /// If the packet must be discarded. Only a counter changes then: the next genuine record is opened.
    pub fn open(&mut self, bytes: &mut [u8]) -> Result<Opened, OpenError> {
        let (context, record) = find_record(bytes)?;
        let text_start = record.start + RECORD_HEADER;
        // The range was checked to hold the header, a content type and a tag.
        let [flags, e0, e1] = core::array::from_fn(|i| bytes[record.start + i]);
        if flags & !EPOCH_BITS != FLAGS {
            return Err(OpenError::Header { flags });
        }
        let epoch_bits = flags & EPOCH_BITS;
        // §5.4: without the restart context, a chunk with the R bit must be discarded.
        let slot = self.slot(context, epoch_bits);
        let Some(keys) = slot else { return Err(OpenError::NoKeys { context, epoch_bits }) };

        let text = &mut bytes[text_start..record.end];
        let mut sample = [0; 16];
        sample.copy_from_slice(&text[..16]);
        let [m0, m1] = keys.record.cipher.mask(&sample);
        let (n0, n1) = (e0 ^ m0, e1 ^ m1);
        let number = reconstruct(keys.window.next(), u16::from_be_bytes([n0, n1]));

        if number > MAX_SEQUENCE_NUMBER
            || !keys.record.cipher.open(keys.record.nonce(number), &[flags, n0, n1], text)
        {
            keys.usage.failed += 1;
            let epoch = keys.epoch;
            if keys.usage.failed < keys.usage.failure_limit {
                return Err(OpenError::NotAuthentic);
            }
            *slot = None;
            return Err(OpenError::LimitReached { epoch });
        }
        // RFC 9147 §4.5.1: not before decryption, whose time would tell the sequence number.
        if !keys.window.is_new(number) {
            return Err(OpenError::Replayed { sequence_number: number });
        }
        keys.window.insert(number);
        keys.usage.opened += 1;

        let len = content_len(text)?;
        if len > MAX_PLAINTEXT {
            return Err(OpenError::Length { len: record.len() });
        }
        let chunks = text_start..text_start + len;
        Ok(Opened { chunks, context, epoch: keys.epoch, sequence_number: number })
    }

    /// Returns the range of the chunks in `bytes`, which [`open`](Self::open) decrypted before it rejected
    /// them as [`OpenError::Replayed`]. The peer has sent them: the copy that came first may be an
    /// attacker's.
    #[must_use]
    pub fn replayed_chunks(bytes: &[u8]) -> Option<Range<usize>> {
        let (_, record) = find_record(bytes).ok()?;
        let start = record.start + RECORD_HEADER;
        let len = content_len(&bytes[start..record.end]).ok()?;
        Some(start..start + len)
    }

    /// Forgets that a packet was received, because the addresses from and to which it came made the caller
    /// discard it. Nothing protects them: the packet may be a copy that overtook the genuine one.
    pub fn forget(&mut self, opened: &Opened) {
        let slot = self.slot(opened.context, opened.epoch as u8);
        if let Some(keys) = slot.as_mut().filter(|keys| keys.epoch == opened.epoch) {
            keys.window.remove(opened.sequence_number);
        }
    }

    fn slot(&mut self, context: KeyContext, epoch_bits: u8) -> &mut Option<ReceiveKeys> {
        let epochs = match context {
            KeyContext::Primary => &mut self.primary,
            KeyContext::Restart => &mut self.restart,
        };
        &mut epochs[usize::from(epoch_bits & EPOCH_BITS)]
    }

    /// Continues as if all records before `number` had been received.
    #[cfg(test)]
    pub(crate) fn skip_to(&mut self, context: KeyContext, epoch: u64, number: u64) {
        if let Some(last) = number.checked_sub(1) {
            self.slot(context, epoch as u8).as_mut().expect("key material").window.insert(last);
        }
    }

    /// Sets the number of records that may still fail under the key material of a primary epoch.
    #[cfg(test)]
    pub(crate) fn leave_failures(&mut self, epoch: u64, failures: u64) {
        let keys = self.slot(KeyContext::Primary, epoch as u8).as_mut().expect("key material");
        keys.usage.failed = keys.usage.failure_limit - failures;
    }
}

/// Returns the length of the chunks in a decrypted record, whose tag follows them.
fn content_len(text: &[u8]) -> Result<usize, OpenError> {
    // RFC 8446 §5.4: the content type is the last byte that is not zero.
    let inner = &text[..text.len() - TAG_LEN];
    let len = inner.iter().rposition(|&byte| byte != 0).ok_or(OpenError::ContentType { content_type: 0 })?;
    if inner[len] != APPLICATION_DATA {
        return Err(OpenError::ContentType { content_type: inner[len] });
    }
    Ok(len)
}

/// Finds the record of the DTLS chunk in `bytes`, which follow a common header.
fn find_record(bytes: &[u8]) -> Result<(KeyContext, Range<usize>), OpenError> {
    let Ok(Chunk::Dtls(chunk)) = Chunk::parse(bytes) else { return Err(OpenError::NotDtls) };
    // §5.2: a packet in which the chunk is bundled must be discarded.
    if bytes.len() > chunk.padded_len() {
        return Err(OpenError::Bundled);
    }
    let len = chunk.record.len();
    // RFC 9147 §4.2.3: records with less than 16 bytes of ciphertext are as good as not authentic.
    if !(RECORD_HEADER + 1 + TAG_LEN..=RECORD_HEADER + MAX_PLAINTEXT + MAX_EXPANSION).contains(&len) {
        return Err(OpenError::Length { len });
    }
    let context = if chunk.restart { KeyContext::Restart } else { KeyContext::Primary };
    Ok((context, Dtls::RECORD_OFFSET..Dtls::RECORD_OFFSET + len))
}

impl Default for Opener {
    fn default() -> Self {
        Self::new(Self::DEFAULT_WINDOW)
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let epochs = |epochs: &Epochs| -> Vec<_> {
            epochs.iter().flatten().map(|keys| (keys.epoch, keys.usage)).collect()
        };
        f.debug_struct("Opener")
            .field("primary", &epochs(&self.primary))
            .field("restart", &epochs(&self.restart))
            .field("window", &self.window)
            .finish()
    }
}
