//! Replays packets from files: those committed in `tests/corpus`, and the public corpora, where they are.

use std::path::Path;

use msctp_wire::{Checksum, CommonHeader, Packet};

use crate::wire::inputs::{files_below, public_corpora};
use crate::wire::support;

/// Parses each file as a packet and as chunks, because some corpora lack the common header.
fn replay(folder: &Path) -> usize {
    let files = files_below(folder);
    for path in &files {
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        support::read_packet(&bytes);
        support::round_trip(&bytes);
        if let Some(chunks) = bytes.get(12..) {
            support::round_trip(chunks);
        }
        for len in 0..bytes.len().min(2000) {
            support::read_packet(&bytes[..len]);
        }
    }
    files.len()
}

#[test]
fn committed_packets() {
    let files = replay(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"));
    assert!(files > 0, "no file in tests/corpus");
}

/// The committed packets that must not parse without an error.
const FAULTY: [&str; 4] =
    ["data-without-user-data", "length-too-long", "length-zero", "sack-counts-disagree"];

#[test]
fn committed_packets_are_what_their_names_say() {
    let files = files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"));
    for path in files {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a file name");
        let bytes = std::fs::read(&path).expect("a file just listed");
        let checksum = Packet::parse(&bytes, Checksum::Verify);
        assert_eq!(checksum.is_err(), name == "bad-checksum", "{name}");
        let packet = Packet::parse(&bytes, Checksum::Skip).expect(name);
        assert_eq!(packet.check_bundling().is_err(), name.ends_with("-bundled"), "{name}");
        assert_eq!(support::read_chunks(&bytes[CommonHeader::LEN..]) > 0, FAULTY.contains(&name), "{name}");
    }
}

#[test]
fn packets_of_the_public_corpora() {
    if let Some(folder) = public_corpora() {
        let files = replay(&folder);
        assert!(files > 0, "no file in {}", folder.display());
        println!("replayed {files} files");
    }
}
