//! [`Sealer`]: protects the packets that an association sends.

use core::fmt;

use msctp_wire::ChunkType;

use crate::keys::{KeyMaterial, RecordKeys};
use crate::provider::Provider;
use crate::record::{
    APPLICATION_DATA, EPOCH_BITS, EpochError, FIRST_EPOCH, FLAGS, HEADER_LEN, KeyContext,
    MAX_SEQUENCE_NUMBER, RECORD_HEADER, TRAILER_LEN,
};
use crate::suite::{MAX_PLAINTEXT, TAG_LEN};

/// The reason why a packet was not protected. The packet is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// No key material has been established.
    #[error("no key material for sending has been established")]
    NoKeys,
    /// The chunks do not fit a record.
    #[error("chunks of {len} bytes cannot be protected: want a multiple of 4 from 4 to {MAX_PLAINTEXT}")]
    Length {
        /// Bytes of the chunks.
        len: usize,
    },
    /// The key has reached its limit of encryption (RFC 8446 §5.5): establish the next epoch.
    #[error("the keys of epoch {epoch} have reached their limit: establish the next epoch")]
    LimitReached {
        /// The epoch of the key.
        epoch: u64,
    },
}

/// Use of a send key (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendUsage {
    /// The epoch of the key.
    pub epoch: u64,
    /// Number of protected records.
    pub records: u64,
    /// Number of encrypted blocks of 16 bytes.
    pub blocks: u64,
    /// Number of blocks that the key may encrypt.
    pub block_limit: u64,
}

impl SendUsage {
    /// Returns whether to establish the next epoch, because half of the key's limit is used.
    #[must_use]
    pub const fn should_rekey(&self) -> bool {
        self.blocks >= self.block_limit / 2 || self.records > MAX_SEQUENCE_NUMBER / 2
    }
}

/// The keys of a context for sending.
struct SendKeys {
    epoch: u64,
    record: RecordKeys,
    /// Sequence number of the next record, which equals the number of protected records.
    next: u64,
    blocks: u64,
    block_limit: u64,
}

impl SendKeys {
    /// Takes the sequence number of a record with `len` bytes of plaintext.
    fn take(&mut self, len: usize) -> Result<u64, SealError> {
        // The tag takes a block of its own.
        let blocks = self.blocks + (len as u64 + 1).div_ceil(16) + 1;
        if self.next > MAX_SEQUENCE_NUMBER || blocks > self.block_limit {
            return Err(SealError::LimitReached { epoch: self.epoch });
        }
        self.blocks = blocks;
        self.next += 1;
        Ok(self.next - 1)
    }
}

/// The sending half of an association's chunk protection operator: protects packets.
#[derive(Default)]
pub struct Sealer {
    primary: Option<SendKeys>,
    restart: Option<SendKeys>,
    /// The epoch of the last primary key material; 0 before the first.
    last_primary: u64,
}

impl Sealer {
    /// Creates a sealer without key material.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Establishes key material and uses it from now on, in place of the context's last
    /// (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.4, §7.8).
    ///
    /// Restart keys protect packets only while there are no primary keys: establish primary keys first,
    /// unless this end restarts the association.
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
        let (slot, expected) = match context {
            KeyContext::Primary => (&mut self.primary, next_primary(self.last_primary)),
            KeyContext::Restart => {
                let lowest = self.restart.as_ref().map_or(FIRST_EPOCH, |keys| keys.epoch + 1);
                (&mut self.restart, lowest.max(epoch))
            }
        };
        if epoch != expected {
            return Err(EpochError { epoch, expected });
        }
        if context == KeyContext::Primary {
            self.last_primary = epoch;
        }
        let block_limit = keys.suite().block_limit();
        *slot = Some(SendKeys { epoch, record: keys.build(provider), next: 0, blocks: 0, block_limit });
        Ok(())
    }

    /// Destroys the key material of an epoch. Returns false if there is none
    /// (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.6).
    pub fn destroy(&mut self, context: KeyContext, epoch: u64) -> bool {
        let slot = match context {
            KeyContext::Primary => &mut self.primary,
            KeyContext::Restart => &mut self.restart,
        };
        slot.take_if(|keys| keys.epoch == epoch).is_some()
    }

    /// Follows a restart of the association: destroys the primary key material, and begins again with
    /// [`FIRST_EPOCH`] (draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.4).
    pub fn restart(&mut self) {
        self.primary = None;
        self.last_primary = 0;
    }

    /// Returns whether packets can be protected. If so, all must be (draft-ietf-tsvwg-sctp-dtls-chunk-04
    /// §5.2).
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.primary.is_some() || self.restart.is_some()
    }

    /// Returns whether the keys in use are too close to their limit for another batch of packets. Establish
    /// the next epoch before protecting more packets.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        /// Number of records in a batch, and the blocks of 64 records of maximum length.
        const BATCH: u64 = 1 << 17;
        let Some(keys) = self.primary.as_ref().or(self.restart.as_ref()) else { return false };
        keys.next > MAX_SEQUENCE_NUMBER - BATCH || keys.blocks > keys.block_limit - BATCH
    }

    /// Returns the usage of a context's key material, or `None` if there is none.
    #[must_use]
    pub fn usage(&self, context: KeyContext) -> Option<SendUsage> {
        let keys = match context {
            KeyContext::Primary => self.primary.as_ref()?,
            KeyContext::Restart => self.restart.as_ref()?,
        };
        let SendKeys { epoch, next, blocks, block_limit, .. } = *keys;
        Some(SendUsage { epoch, records: next, blocks, block_limit })
    }

    /// Protects the chunks of a packet in place.
    ///
    /// `bytes` follow the common header: [`HEADER_LEN`] bytes to be filled, the chunks with their padding,
    /// [`TRAILER_LEN`] bytes to be filled. They become one DTLS chunk. The checksum is the caller's.
    ///
    /// # Errors
    /// If there is no key material, the key may encrypt no more, or the chunks are empty, are not padded or
    /// are longer than [`MAX_PLAINTEXT`].
    pub fn seal(&mut self, bytes: &mut [u8]) -> Result<(), SealError> {
        let len = bytes.len().saturating_sub(HEADER_LEN + TRAILER_LEN);
        if len == 0 || !len.is_multiple_of(4) || len > MAX_PLAINTEXT {
            return Err(SealError::Length { len });
        }
        // §5.2: the primary context if it is configured, else the restart context.
        let (keys, restart) = match (&mut self.primary, &mut self.restart) {
            (Some(keys), _) => (keys, false),
            (None, Some(keys)) => (keys, true),
            (None, None) => return Err(SealError::NoKeys),
        };
        let number = keys.take(len)?;

        let (header, text) = bytes.split_at_mut(HEADER_LEN);
        let chunk_len = (HEADER_LEN + len + 1 + TAG_LEN) as u16;
        let [l0, l1] = chunk_len.to_be_bytes();
        let [.., n0, n1] = number.to_be_bytes();
        let flags = FLAGS | (keys.epoch as u8 & EPOCH_BITS);
        header.copy_from_slice(&[ChunkType::DTLS.0, restart.into(), l0, l1, 0, flags, n0, n1]);
        // RFC 9147 §4: the header before the sequence number is encrypted is the additional data.
        let aad: [u8; RECORD_HEADER] = [flags, n0, n1];

        text[len] = APPLICATION_DATA;
        let (text, rest) = text.split_at_mut(len + 1);
        let tag = keys.record.cipher.seal(keys.record.nonce(number), &aad, text);
        rest[..TAG_LEN].copy_from_slice(&tag);
        // §4.2: the Post-Padding is zero.
        rest[TAG_LEN..].fill(0);

        // RFC 9147 §4.2.3: at least 16 bytes of ciphertext follow the header, of which some may be tag.
        let mut sample = [0; 16];
        sample.copy_from_slice(&bytes[HEADER_LEN..HEADER_LEN + 16]);
        let mask = keys.record.cipher.mask(&sample);
        for (byte, mask) in bytes[HEADER_LEN - 2..HEADER_LEN].iter_mut().zip(mask) {
            *byte ^= mask;
        }
        Ok(())
    }

    /// Sets the sequence number of the next record.
    #[cfg(test)]
    pub(crate) fn skip_to(&mut self, number: u64) {
        let keys = self.primary.as_mut().or(self.restart.as_mut()).expect("key material");
        keys.next = number;
    }

    /// Sets the key's usage so that a few blocks are left to encrypt.
    #[cfg(test)]
    pub(crate) fn leave_blocks(&mut self, blocks: u64) {
        let keys = self.primary.as_mut().expect("key material");
        keys.blocks = keys.block_limit - blocks;
    }
}

/// Returns the epoch of the next primary key material.
pub(crate) const fn next_primary(last: u64) -> u64 {
    if last == 0 { FIRST_EPOCH } else { last + 1 }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer")
            .field("primary", &self.usage(KeyContext::Primary))
            .field("restart", &self.usage(KeyContext::Restart))
            .finish()
    }
}
