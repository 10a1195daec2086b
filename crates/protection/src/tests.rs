//! Sealing and opening: replay, reordering, epochs, limits, restart, and records that are not genuine.

use msctp_units::Time;
use proptest::prelude::*;

use crate::key_log::KeyLogEntry;
use crate::keys::KeyMaterial;
use crate::opener::{OpenError, Opener};
use crate::provider::{Provider, all};
use crate::record::{EpochError, FIRST_EPOCH, HEADER_LEN, KeyContext, TRAILER_LEN};
use crate::sealer::{SealError, Sealer};
use crate::secret::Secret;
use crate::suite::{CipherSuite, MAX_PLAINTEXT};

const PRIMARY: KeyContext = KeyContext::Primary;
const RESTART: KeyContext = KeyContext::Restart;

fn provider() -> &'static dyn Provider {
    all()[0].1
}

fn keys(suite: CipherSuite, seed: u8) -> KeyMaterial {
    KeyMaterial::from_traffic_secret(provider(), suite, &Secret::from(&[seed; 48][..suite.hash().len()]))
}

/// A sealer and an opener that share the keys of the first epoch.
struct Pair {
    sealer: Sealer,
    opener: Opener,
}

impl Pair {
    fn new() -> Self {
        let mut pair = Self { sealer: Sealer::new(), opener: Opener::default() };
        pair.establish(PRIMARY, FIRST_EPOCH).unwrap();
        pair
    }

    /// Establishes keys at both ends that depend on context and epoch.
    fn establish(&mut self, context: KeyContext, epoch: u64) -> Result<(), EpochError> {
        let keys = keys(CipherSuite::Aes128GcmSha256, epoch as u8 + 100 * u8::from(context == RESTART));
        self.opener.establish(context, epoch, &keys, provider())?;
        self.sealer.establish(context, epoch, &keys, provider())
    }

    fn seal(&mut self, chunks: &[u8]) -> Vec<u8> {
        let mut bytes = framed(chunks);
        self.sealer.seal(&mut bytes).unwrap();
        bytes
    }

    /// Opens a copy of the packet. Returns its chunks.
    fn open(&mut self, packet: &[u8]) -> Result<Vec<u8>, OpenError> {
        let mut bytes = packet.to_vec();
        self.opener.open(&mut bytes).map(|opened| bytes[opened.chunks].to_vec())
    }
}

fn framed(chunks: &[u8]) -> Vec<u8> {
    [&[0; HEADER_LEN][..], chunks, &[0; TRAILER_LEN]].concat()
}

#[test]
fn every_suite_and_size_round_trips() {
    for (name, provider) in all() {
        for suite in CipherSuite::ALL {
            let keys = KeyMaterial::from_traffic_secret(
                provider,
                suite,
                &Secret::from(&[9; 48][..suite.hash().len()]),
            );
            let (mut sealer, mut opener) = (Sealer::new(), Opener::default());
            sealer.establish(PRIMARY, FIRST_EPOCH, &keys, provider).unwrap();
            opener.establish(PRIMARY, FIRST_EPOCH, &keys, provider).unwrap();
            for len in [4, 8, 16, 20, 1200, MAX_PLAINTEXT] {
                let chunks: Vec<u8> = (0..len).map(|i| i as u8).collect();
                let mut bytes = framed(&chunks);
                sealer.seal(&mut bytes).unwrap();
                assert!(len < 16 || !bytes.windows(16).any(|bytes| bytes == &chunks[..16]), "in clear");
                let opened = opener.open(&mut bytes).unwrap();
                assert_eq!(&bytes[opened.chunks], chunks, "{name} {suite} {len}");
            }
        }
    }
}

#[test]
fn chunks_of_a_wrong_length_are_rejected_and_take_no_number() {
    let mut pair = Pair::new();
    for len in [0, 1, 2, 3, 5, MAX_PLAINTEXT + 4] {
        let mut bytes = framed(&vec![0; len]);
        assert_eq!(pair.sealer.seal(&mut bytes), Err(SealError::Length { len }));
        assert!(bytes.iter().all(|byte| *byte == 0), "unchanged");
    }
    assert_eq!(pair.sealer.seal(&mut [0; 5]), Err(SealError::Length { len: 0 }));
    assert_eq!(pair.sealer.usage(PRIMARY).unwrap().records, 0);
    assert_eq!(Sealer::new().seal(&mut framed(&[0; 4])), Err(SealError::NoKeys));
}

#[test]
fn a_replayed_record_is_rejected_in_every_order() {
    let mut pair = Pair::new();
    let sent: Vec<Vec<u8>> = (0..100u8).map(|i| pair.seal(&[i; 4])).collect();
    for i in (0..100).rev() {
        assert_eq!(pair.open(&sent[i]).unwrap(), [i as u8; 4]);
        let replayed = OpenError::Replayed { sequence_number: i as u64 };
        assert_eq!(pair.open(&sent[i]), Err(replayed));
    }
    assert_eq!(pair.opener.usage(PRIMARY, FIRST_EPOCH).unwrap().opened, 100);
}

#[test]
fn a_record_older_than_the_window_is_rejected() {
    let mut pair = Pair::new();
    pair.opener = Opener::new(0);
    let keys = keys(CipherSuite::Aes128GcmSha256, FIRST_EPOCH as u8);
    pair.opener.establish(PRIMARY, FIRST_EPOCH, &keys, provider()).unwrap();
    let sent: Vec<Vec<u8>> = (0..66).map(|_| pair.seal(&[1; 4])).collect();
    pair.open(&sent[65]).unwrap();
    assert_eq!(pair.open(&sent[1]), Err(OpenError::Replayed { sequence_number: 1 }));
    assert!(pair.open(&sent[2]).is_ok(), "the smallest window is {}", Opener::MIN_WINDOW);
}

#[test]
fn sequence_numbers_beyond_16_bits_are_reconstructed() {
    let mut pair = Pair::new();
    let mut late = Vec::new();
    for step in [0u64, 30_000, 60_000, 65_535, 65_536, 90_000, 120_000, 150_000] {
        pair.sealer.skip_to(step);
        let packet = pair.seal(&[2; 8]);
        late.push(pair.seal(&[3; 8]));
        assert!(pair.open(&packet).is_ok(), "{step}");
    }
    assert!(pair.open(late.last().unwrap()).is_ok());
    // 120,001 is reconstructed rightly but is older than the window; 0 would be taken for 131,072 or so.
    assert!(matches!(pair.open(&late[6]), Err(OpenError::Replayed { sequence_number: 120_001 })));
    assert_eq!(pair.open(&late[0]), Err(OpenError::NotAuthentic));
}

#[test]
fn no_sequence_number_repeats_at_the_end_of_48_bits() {
    let mut pair = Pair::new();
    let last = (1 << 48) - 1;
    pair.sealer.skip_to(last);
    pair.opener.skip_to(PRIMARY, FIRST_EPOCH, last);
    let packet = pair.seal(&[1; 4]);
    assert!(pair.open(&packet).is_ok());
    let error = pair.sealer.seal(&mut framed(&[1; 4]));
    assert_eq!(error, Err(SealError::LimitReached { epoch: FIRST_EPOCH }));
}

#[test]
fn epochs_overlap_until_their_drain_time() {
    let mut pair = Pair::new();
    let old = [pair.seal(&[1; 4]), pair.seal(&[2; 4])];
    pair.establish(PRIMARY, 4).unwrap();
    let new = pair.seal(&[3; 4]);
    assert_ne!(old[0][5] & 3, new[5] & 3, "the epoch bits");
    assert_eq!(pair.open(&new).unwrap(), [3; 4]);
    assert_eq!(pair.open(&old[0]).unwrap(), [1; 4]);

    assert_eq!(pair.opener.next_expiry(), None);
    let until = Time::from_nanos(120_000_000_000);
    pair.opener.retire(4, until);
    pair.opener.retire(4, Time::from_nanos(300_000_000_000));
    assert_eq!(pair.opener.next_expiry(), Some(until), "the earlier time holds");
    pair.opener.expire(Time::from_nanos(119_000_000_000));
    assert!(pair.opener.usage(PRIMARY, 3).is_some());
    pair.opener.expire(until);
    assert_eq!(pair.open(&old[1]), Err(OpenError::NoKeys { context: PRIMARY, epoch_bits: 3 }));
    let new = pair.seal(&[4; 4]);
    assert!(pair.open(&new).is_ok());
    assert_eq!(pair.opener.next_expiry(), None);
}

#[test]
fn epochs_follow_each_other_from_3() {
    let mut pair = Pair { sealer: Sealer::new(), opener: Opener::default() };
    assert!(!pair.sealer.is_ready() && !pair.opener.is_ready());
    for wrong in [0, 2, 4] {
        assert_eq!(pair.establish(PRIMARY, wrong), Err(EpochError { epoch: wrong, expected: 3 }));
    }
    for epoch in 3..12 {
        pair.establish(PRIMARY, epoch).unwrap();
        let packet = pair.seal(&[1; 4]);
        assert!(pair.open(&packet).is_ok(), "{epoch}");
        assert_eq!(pair.establish(PRIMARY, epoch), Err(EpochError { epoch, expected: epoch + 1 }));
    }
    assert!(pair.opener.usage(PRIMARY, 7).is_none(), "epoch 11 took its place");
    assert!(pair.opener.destroy(PRIMARY, 10) && !pair.opener.destroy(PRIMARY, 10));
    assert!(pair.sealer.destroy(PRIMARY, 11) && !pair.sealer.is_ready());
}

#[test]
fn restart_keys_protect_only_without_primary_keys() {
    let mut pair = Pair::new();
    pair.establish(RESTART, 3).unwrap();
    let packet = pair.seal(&[1; 4]);
    assert_eq!(packet[1], 0, "no R bit");
    assert!(pair.open(&packet).is_ok());

    pair.sealer.restart();
    let packet = pair.seal(&[2; 4]);
    assert_eq!(packet[1], 1, "R bit");
    assert_eq!(pair.open(&packet).unwrap(), [2; 4]);
    assert_eq!(pair.open(&packet), Err(OpenError::Replayed { sequence_number: 0 }));
    pair.opener.restart();
    assert!(pair.opener.usage(PRIMARY, 3).is_none(), "the primary keys are gone");
    // After the restart primary keys begin again with epoch 3.
    pair.establish(PRIMARY, 3).unwrap();
    let packet = pair.seal(&[3; 4]);
    assert_eq!((packet[1], pair.open(&packet).unwrap()), (0, vec![3; 4]));
    assert_eq!(pair.establish(RESTART, 3), Err(EpochError { epoch: 3, expected: 4 }));
}

#[test]
fn without_restart_keys_the_r_bit_is_refused() {
    let mut pair = Pair::new();
    let mut packet = pair.seal(&[1; 4]);
    packet[1] = 1;
    assert_eq!(pair.open(&packet), Err(OpenError::NoKeys { context: RESTART, epoch_bits: 3 }));
    packet[1] = 0;
    assert!(pair.open(&packet).is_ok());
}

#[test]
fn a_bundled_dtls_chunk_is_rejected() {
    let mut pair = Pair::new();
    let packet = pair.seal(&[1; 4]);
    assert_eq!(pair.open(&[&packet[..], &[11, 0, 0, 4]].concat()), Err(OpenError::Bundled));
    assert_eq!(pair.open(&[11, 0, 0, 4]), Err(OpenError::NotDtls));
    assert_eq!(pair.open(&[]), Err(OpenError::NotDtls));
    assert!(pair.open(&packet[..packet.len() - 3]).is_ok(), "the last padding may be missing");
}

#[test]
fn other_forms_of_the_record_header_are_rejected() {
    let mut pair = Pair::new();
    let packet = pair.seal(&[1; 4]);
    // A connection ID, a sequence number of 8 bits, a length, and what is no DTLSCiphertext.
    for flip in [0b0001_0000, 0b0000_1000, 0b0000_0100, 0b0010_0000, 0b1000_0000] {
        let mut other = packet.clone();
        other[5] ^= flip;
        assert_eq!(pair.open(&other), Err(OpenError::Header { flags: packet[5] ^ flip }));
    }
}

#[test]
fn every_truncation_and_every_flipped_bit_is_rejected_without_effect() {
    let mut pair = Pair::new();
    pair.establish(RESTART, 3).unwrap();
    let packet = pair.seal(&[5; 12]);
    let end = packet.len() - 3;
    for len in 0..end {
        assert!(pair.open(&packet[..len]).is_err(), "{len} bytes");
        // The Length field agrees with the bytes that are left.
        if len > 4 {
            let mut short = packet[..len].to_vec();
            short[3] = len as u8;
            assert!(pair.open(&short).is_err(), "{len} bytes");
        }
    }
    for bit in 0..packet.len() * 8 {
        let mut flipped = packet.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        // Reserved flags, Pre-Padding and Post-Padding are ignored.
        let ignored = (9..16).contains(&(bit ^ 7)) || bit / 8 == 4 || bit / 8 >= end;
        if !ignored && (bit / 8 != 1 || bit % 8 == 0) {
            assert!(pair.open(&flipped).is_err(), "bit {bit}");
        }
    }
    assert_eq!(pair.opener.usage(PRIMARY, FIRST_EPOCH).unwrap().opened, 0);
    assert_eq!(pair.open(&packet).unwrap(), [5; 12]);
}

#[test]
fn a_genuine_record_of_another_content_type_is_discarded() {
    let (provider, keys) = (provider(), keys(CipherSuite::Aes128GcmSha256, 3));
    let record = keys.build(provider);
    for (number, inner, content_type) in
        [(0u8, &[1, 2, 3, 4, 21, 0, 0][..], 21), (1, &[0; 6][..], 0), (2, &[22][..], 22)]
    {
        let (mut text, flags) = (inner.to_vec(), 0b0010_1011);
        let aad = [flags, 0, number];
        let tag = record.cipher.seal(record.nonce(number.into()), &aad, &mut text);
        text.extend_from_slice(&tag);
        let mask = record.cipher.mask(text[..16].try_into().unwrap());
        let len = (8 + text.len()) as u8;
        let packet = [&[0x41, 0, 0, len, 0, flags, mask[0], number ^ mask[1]], &text[..]].concat();
        let mut pair = Pair::new();
        assert_eq!(pair.open(&packet), Err(OpenError::ContentType { content_type }), "{inner:?}");
        assert_eq!(pair.open(&packet), Err(OpenError::Replayed { sequence_number: number.into() }));
    }
}

#[test]
fn padding_of_the_record_is_removed() {
    let (provider, keys) = (provider(), keys(CipherSuite::Aes128GcmSha256, 3));
    let record = keys.build(provider);
    let mut text = vec![11, 0, 0, 4, 23, 0, 0, 0, 0];
    let tag = record.cipher.seal(record.nonce(0), &[0b0010_1011, 0, 0], &mut text);
    text.extend_from_slice(&tag);
    let mask = record.cipher.mask(text[..16].try_into().unwrap());
    let len = (8 + text.len()) as u8;
    let packet = [&[0x41, 0, 0, len, 0, 0b0010_1011, mask[0], mask[1]], &text[..]].concat();
    assert_eq!(Pair::new().open(&packet).unwrap(), [11, 0, 0, 4]);
}

#[test]
fn a_key_encrypts_no_more_than_its_limit() {
    let mut pair = Pair::new();
    assert!(!pair.sealer.usage(PRIMARY).unwrap().should_rekey());
    // A packet of 12 bytes: 13 of plaintext are a block, the tag is another.
    pair.sealer.leave_blocks(5);
    assert!(pair.sealer.usage(PRIMARY).unwrap().should_rekey());
    for _ in 0..2 {
        let packet = pair.seal(&[1; 12]);
        assert!(pair.open(&packet).is_ok());
    }
    let mut bytes = framed(&[1; 12]);
    assert_eq!(pair.sealer.seal(&mut bytes), Err(SealError::LimitReached { epoch: 3 }));
    assert_eq!(bytes, framed(&[1; 12]), "unchanged");
    pair.establish(PRIMARY, 4).unwrap();
    assert!(pair.sealer.seal(&mut bytes).is_ok());
}

#[test]
fn aes_gcm_may_encrypt_2_to_the_24_5_full_size_records() {
    let records = (2f64.powf(24.5)) as u64;
    let mut pair = Pair::new();
    pair.sealer.leave_blocks(0);
    let limit = pair.sealer.usage(PRIMARY).unwrap().block_limit;
    // A full-size record has 1,025 blocks of plaintext with its content type, and one of tag.
    assert_eq!(limit / 1026, records);
    assert!(limit / 77 > 1 << 28, "as RFC 9001 allows for packets of a path's size");
}

#[test]
fn a_key_that_too_many_records_failed_under_is_destroyed() {
    let mut pair = Pair::new();
    let genuine = pair.seal(&[1; 4]);
    let mut forged = genuine.clone();
    forged[9] ^= 1;
    pair.opener.leave_failures(3, 2);
    assert_eq!(pair.open(&forged), Err(OpenError::NotAuthentic));
    assert!(pair.opener.usage(PRIMARY, 3).unwrap().should_rekey());
    assert!(pair.open(&genuine).is_ok());
    assert_eq!(pair.open(&forged), Err(OpenError::LimitReached { epoch: 3 }));
    assert_eq!(pair.open(&forged), Err(OpenError::NoKeys { context: PRIMARY, epoch_bits: 3 }));
    assert!(!pair.opener.is_ready());
}

#[test]
fn debug_shows_counters_and_no_keys() {
    let pair = Pair::new();
    let text = format!("{:?} {:?}", pair.sealer, pair.opener);
    assert!(
        text.contains("epoch: 3")
            && text.contains("failed: 0")
            && !text.contains("iv:")
            && !text.contains("cipher"),
        "{text}"
    );
}

proptest! {
    /// Packets that are lost, reordered and repeated across epochs arrive at most once, unchanged.
    #[test]
    fn a_reordering_network(
        steps in prop::collection::vec((0u8..8, any::<prop::sample::Index>()), 1..200),
    ) {
        let mut pair = Pair::new();
        let (mut sent, mut received) = (Vec::new(), std::collections::BTreeSet::new());
        let mut epoch = FIRST_EPOCH;
        for (i, (step, which)) in steps.into_iter().enumerate() {
            match step {
                0 if i % 16 == 0 => {
                    epoch += 1;
                    pair.establish(PRIMARY, epoch).unwrap();
                }
                0..4 => {
                    let chunks = (i as u32).to_be_bytes();
                    sent.push((epoch, chunks, pair.seal(&chunks)));
                }
                _ if sent.is_empty() => {}
                _ => {
                    let (of, chunks, packet) = sent[which.index(sent.len())].clone();
                    let alive = of + 4 > epoch;
                    match pair.open(&packet) {
                        Ok(opened) => {
                            prop_assert!(alive && received.insert(chunks));
                            prop_assert_eq!(opened, chunks);
                        }
                        Err(OpenError::Replayed { .. }) => prop_assert!(received.contains(&chunks)),
                        Err(error) => prop_assert!(!alive, "{}", error),
                    }
                }
            }
        }
    }
}

/// A capture may begin in the middle of any epoch.
#[test]
fn an_opener_of_one_epoch_reads_from_the_middle() {
    let suite = CipherSuite::Aes128GcmSha256;
    let mut pair = Pair::new();
    pair.establish(PRIMARY, FIRST_EPOCH + 1).unwrap();
    pair.establish(PRIMARY, FIRST_EPOCH + 2).unwrap();
    pair.sealer.skip_to(1_000_000);
    let mut packet = pair.seal(&[7; 4]);
    let epoch = FIRST_EPOCH + 2;
    let entry = KeyLogEntry { tag: 1, context: PRIMARY, epoch, keys: keys(suite, epoch as u8) };
    assert_eq!(
        Opener::of_epoch(&entry, 0, provider()).open(&mut packet.clone()),
        Err(OpenError::NotAuthentic)
    );
    let opened = Opener::of_epoch(&entry, 15 << 16, provider()).open(&mut packet).unwrap();
    assert_eq!((&packet[opened.chunks], opened.epoch), (&[7; 4][..], epoch));
}
