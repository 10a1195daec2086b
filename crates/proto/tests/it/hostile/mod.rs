//! Arbitrary input in every state: no panic, no hang, no unbounded answer. The fuzz target `association`
//! plays the same scripts (fuzz/README.md).

mod asconf;
mod bytes;
mod forged;
#[path = "../../../../wire/tests/it/wire/inputs.rs"]
mod inputs;
mod script;
mod session;

use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use inputs::{files_below, public_corpora};

/// Returns a script that passes these bytes, an SCTP packet's chunks, to one end in every stage of the
/// handshake.
fn as_script(stage: u8, to: u8, packet: &[u8]) -> Vec<u8> {
    let chunks = &packet[12.min(packet.len())..];
    let mut script = vec![stage, 4, to, 1, 40];
    for part in chunks.chunks(1020) {
        script.extend_from_slice(&[2, to, part.len().div_ceil(4) as u8]);
        script.extend_from_slice(part);
        script.resize(script.len().next_multiple_of(4) + 3 - 3 * usize::from(part.len() % 4 == 0), 0);
    }
    script.extend_from_slice(&[7, 200]);
    script
}

fn replay(folder: &Path) -> usize {
    let files = files_below(folder);
    for path in &files {
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        script::play(&bytes);
        for stage in 0..8 {
            for to in 0..2 {
                script::play(&as_script(stage, to, &bytes));
            }
        }
    }
    files.len()
}

/// The scripts and the parser's packets that are committed as fuzzing inputs cause no error.
#[test]
fn committed_inputs() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    assert!(replay(&tests) > 0, "no file in {}", tests.display());
    let packets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/corpus");
    assert!(replay(&packets) > 0, "no file in {}", packets.display());
}

/// Inputs of public corpora cause no error, if they are present.
#[test]
fn inputs_of_the_public_corpora() {
    let Some(folder) = public_corpora() else { return };
    assert!(replay(&folder) > 0, "no file in {}", folder.display());
}

/// The committed fuzzing inputs of `asconf` cause no error.
#[test]
fn committed_asconfs() {
    let files = files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/asconf"));
    assert!(!files.is_empty());
    for path in files {
        asconf::play(&std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    }
}

/// Valid and invalid requests cause no error, for existing addresses, missing ones and the wildcard.
fn random_asconfs(count: u64) {
    for seed in 0..count {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut bytes = Vec::new();
        for _ in 0..rng.next_u32() % 12 {
            let mut params = Vec::new();
            for id in 0..rng.next_u32() % 8 {
                let draw = rng.next_u32().to_be_bytes();
                params.extend([
                    0xc0,
                    [1, 2, 4, 1, 2, 4, 3, 5][usize::from(draw[0] & 7)],
                    0,
                    16,
                    0,
                    0,
                    0,
                    id as u8,
                ]);
                let address = [[10, 0, 0, 1], [10, 1, 0, 1], [10, 2, 0, 1], [0; 4], [198, 51, 100, 7], draw];
                params.extend([0, 5, 0, 8].iter().chain(&address[usize::from(draw[1]) % 6]));
            }
            if rng.next_u32() % 4 == 0 && !params.is_empty() {
                let at = rng.next_u32() as usize % params.len();
                params[at] = rng.next_u32() as u8;
                params.truncate(at + 1 + rng.next_u32() as usize % 40);
            }
            bytes.extend([rng.next_u32() as u8, params.len() as u8]);
            bytes.extend(params);
        }
        asconf::play(&bytes);
    }
}

#[test]
fn random_address_requests() {
    random_asconfs(1_000);
}

/// Its short form is `random_address_requests`.
#[test]
#[ignore = "half a minute"]
fn slow_many_random_address_requests() {
    random_asconfs(50_000);
}

fn random_scripts(count: u64) {
    for seed in 0..count {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut script = vec![0; (rng.next_u32() % 600) as usize];
        rng.fill_bytes(&mut script);
        // Insert existing chunk types, which random bytes rarely contain.
        for at in (1..script.len()).step_by(7) {
            script[at] &= 0x0f;
        }
        script::play(&script);
    }
}

#[test]
fn random_bytes() {
    random_scripts(3_000);
}

/// Its short form is `random_bytes`.
#[test]
#[ignore = "half a minute"]
fn slow_many_random_bytes() {
    random_scripts(500_000);
}

fn random_sessions(count: u64) {
    for seed in 0..count {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut bytes = vec![0; 200 + rng.next_u32() as usize % 1200];
        rng.fill_bytes(&mut bytes);
        session::play(&bytes);
    }
}

#[test]
fn random_mutants_of_live_sessions() {
    random_sessions(40);
}

/// Its short form is `random_mutants_of_live_sessions`.
#[test]
#[ignore = "minutes"]
fn slow_many_random_mutants_of_live_sessions() {
    random_sessions(5_000);
}
