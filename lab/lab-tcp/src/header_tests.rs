use etherparse::{TcpHeader, TcpOptionElement};
use proptest::prelude::*;

use super::*;

fn bytes(header: &Header, blocks: &[Block]) -> Vec<u8> {
    let mut out = Vec::new();
    write(header, blocks, &mut out);
    out
}

const TIMESTAMPS: Option<Timestamps> = Some(Timestamps { value: 0x0102_0304, echo: 7 });

#[test]
fn lengths_are_those_of_real_packets() {
    let plain = Header::default();
    let stamped = Header { timestamps: TIMESTAMPS, ..plain };
    assert_eq!(bytes(&plain, &[]).len(), 20, "40 bytes with the IPv4 header");
    assert_eq!(bytes(&stamped, &[]).len(), 32, "52 bytes");
    assert_eq!((blocks_that_fit(&plain), blocks_that_fit(&stamped)), (4, 3));
    assert_eq!(bytes(&plain, &[(1, 2); 4]).len(), 56);
    assert_eq!(bytes(&stamped, &[(1, 2); 3]).len(), 60);
}

#[test]
fn blocks_beyond_the_options_go_behind_the_header() {
    let header = Header { timestamps: TIMESTAMPS, ..Header::default() };
    let blocks: Vec<Block> = (0..8).map(|n| (10 * n, 10 * n + 5)).collect();
    let bytes = bytes(&header, &blocks);
    assert_eq!((real_len(&bytes), bytes.len()), (Ok(60), 60 + 5 * 8));
    assert_eq!(wire_len(&header, 8), 100);
    assert_eq!(parse(&bytes).unwrap().blocks().collect::<Vec<_>>(), blocks);
    assert_eq!(parse(&bytes[..93]).unwrap_err(), HeaderError::Extension { len: 33 });
}

#[test]
fn another_implementation_reads_the_same() {
    let header = Header {
        source_port: 1,
        destination_port: 2,
        sequence: 3,
        acknowledgment: 4,
        flags: Flags::SYN.and(Flags::ACK),
        window: 5,
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: TIMESTAMPS,
    };
    let bytes = bytes(&header, &[]);
    let (theirs, rest) = TcpHeader::from_slice(&bytes).unwrap();
    assert!(rest.is_empty() && theirs.syn && theirs.ack && !theirs.fin && !theirs.rst && !theirs.psh);
    assert_eq!((theirs.source_port, theirs.destination_port), (1, 2));
    assert_eq!((theirs.sequence_number, theirs.acknowledgment_number, theirs.window_size), (3, 4, 5));
    let options: Vec<_> = theirs.options_iterator().map(Result::unwrap).collect();
    let wanted = [
        TcpOptionElement::MaximumSegmentSize(1460),
        TcpOptionElement::SelectiveAcknowledgementPermitted,
        TcpOptionElement::Timestamp(0x0102_0304, 7),
        TcpOptionElement::WindowScale(7),
    ];
    assert!(wanted.iter().all(|option| options.contains(option)), "{options:?}");
    let mut out = Vec::new();
    write(
        &Header { flags: Flags::ACK, timestamps: TIMESTAMPS, ..Header::default() },
        &[(9, 10), (20, 30)],
        &mut out,
    );
    let (theirs, _) = TcpHeader::from_slice(&out).unwrap();
    let sack = TcpOptionElement::SelectiveAcknowledgement((9, 10), [Some((20, 30)), None, None]);
    assert!(theirs.options_iterator().any(|option| option.unwrap() == sack));
}

#[test]
fn invalid_headers_are_rejected_with_the_fault() {
    assert_eq!(parse(&[0; 19]).unwrap_err(), HeaderError::Offset { words: 0 });
    assert_eq!(parse(&[0; 5]).unwrap_err(), HeaderError::TooShort { got: 5, want: 20 });
    let mut short = bytes(&Header::default(), &[]);
    short[12] = 6 << 4;
    assert_eq!(parse(&short).unwrap_err(), HeaderError::TooShort { got: 20, want: 24 });
    short.extend_from_slice(&[2, 3, 0, 0]);
    assert_eq!(parse(&short).unwrap_err(), HeaderError::Option { kind: 2, len: 3 });
    short[20..].copy_from_slice(&[77, 9, 0, 0]);
    assert_eq!(parse(&short).unwrap_err(), HeaderError::Option { kind: 77, len: 9 });
    short[20..].copy_from_slice(&[77, 4, 0, 0]);
    assert!(parse(&short).is_ok(), "unknown options are skipped");
}

proptest! {
    #[test]
    fn headers_round_trip(
        ports in any::<(u16, u16)>(),
        numbers in any::<(u32, u32, u16)>(),
        flags in 0_u8..32,
        mss in any::<Option<u16>>(),
        window_scale in any::<Option<u8>>(),
        sack_permitted in any::<bool>(),
        stamps in any::<Option<(u32, u32)>>(),
        blocks in prop::collection::vec(any::<Block>(), 0..12),
    ) {
        let header = Header {
            source_port: ports.0,
            destination_port: ports.1,
            sequence: numbers.0,
            acknowledgment: numbers.1,
            flags: Flags(flags),
            window: numbers.2,
            mss,
            window_scale,
            sack_permitted,
            timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
        };
        let bytes = bytes(&header, &blocks);
        prop_assert_eq!(bytes.len(), wire_len(&header, blocks.len()));
        prop_assert!(real_len(&bytes).unwrap() <= MAX_LEN);
        let parsed = parse(&bytes).unwrap();
        prop_assert_eq!(parsed.header, header);
        prop_assert_eq!(parsed.blocks().collect::<Vec<_>>(), blocks);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(parsed) = parse(&bytes) {
            prop_assert!(parsed.blocks().count() <= bytes.len() / 8);
        }
    }
}
