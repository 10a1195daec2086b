//! Reads a capture with tshark: faults, and the chunks in each direction.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

/// Severity from which an expert note reports an error.
const ERROR: u32 = 0x0080_0000;

/// Type of the parameter (RFC 9653 §4) as tshark prints it.
const ZERO_CHECKSUM_ACCEPTABLE: &str = "0x8001";

/// Chunk types (RFC 9260 §3.2, RFC 4895, RFC 5061, RFC 3758, RFC 6525, RFC 8260).
pub const DATA: u8 = 0;
pub const INIT: u8 = 1;
pub const INIT_ACK: u8 = 2;
pub const SACK: u8 = 3;
pub const HEARTBEAT: u8 = 4;
pub const HEARTBEAT_ACK: u8 = 5;
pub const ABORT: u8 = 6;
pub const SHUTDOWN: u8 = 7;
pub const SHUTDOWN_ACK: u8 = 8;
pub const COOKIE_ECHO: u8 = 10;
pub const COOKIE_ACK: u8 = 11;
pub const SHUTDOWN_COMPLETE: u8 = 14;
pub const AUTH: u8 = 15;
pub const I_DATA: u8 = 64;
pub const ASCONF_ACK: u8 = 128;
pub const RE_CONFIG: u8 = 130;
pub const FORWARD_TSN: u8 = 192;
pub const ASCONF: u8 = 193;
pub const I_FORWARD_TSN: u8 = 194;

/// A packet.
#[derive(Debug)]
pub struct Frame {
    pub number: u64,
    /// We sent it.
    pub ours: bool,
    pub source: IpAddr,
    pub destination: IpAddr,
    /// Chunk types in order.
    pub chunks: Vec<u8>,
    /// Codes of error causes in order.
    pub causes: Vec<u16>,
}

/// A capture as tshark reads it.
#[derive(Debug, Default)]
pub struct Frames(pub Vec<Frame>);

impl Frames {
    /// Reads a capture. `ours`: whether an address is ours.
    ///
    /// # Errors
    ///
    /// A frame is malformed, is not SCTP, has an expert note of an error, or has a wrong checksum. A missing
    /// checksum is an error unless its receiver accepts it (RFC 9653).
    pub fn read(file: &Path, ours: impl Fn(IpAddr) -> bool) -> Result<Self, String> {
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(file).args(["-T", "fields", "-E", "separator=|"]);
        tshark.args(["-o", "udp.check_checksum:TRUE", "-o", "sctp.checksum:CRC 32c"]);
        for field in [
            "frame.number",
            "ip.src",
            "ipv6.src",
            "ip.dst",
            "ipv6.dst",
            "udp.checksum.status",
            "sctp.checksum.status",
            "_ws.malformed",
            "_ws.expert.severity",
            "sctp.chunk_type",
            "sctp.cause_code",
            "sctp.checksum",
            "sctp.parameter_type",
        ] {
            tshark.args(["-e", field]);
        }
        let output = tshark.output().map_err(|e| format!("tshark: {e}"))?;
        if !output.status.success() {
            return Err(format!("tshark: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let mut takes_zero = BTreeSet::new();
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(|line| frame_of(line, &ours, &mut takes_zero))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Returns the frames from us (or from the peer) with a chunk of this type.
    pub fn with(&self, ours: bool, chunk: u8) -> impl Iterator<Item = &Frame> {
        self.0.iter().filter(move |frame| frame.ours == ours && frame.chunks.contains(&chunk))
    }

    /// Checks that we sent all chunk types of `sent`, and the peer all of `received`.
    pub fn have(&self, sent: &[u8], received: &[u8]) -> Result<(), String> {
        for (ours, chunks) in [(true, sent), (false, received)] {
            for &chunk in chunks {
                if self.with(ours, chunk).next().is_none() {
                    let who = if ours { "we" } else { "the peer" };
                    return Err(format!("{who} sent no chunk of type {chunk}"));
                }
            }
        }
        Ok(())
    }

    /// Checks that neither end sent a chunk of these types.
    pub fn lack(&self, chunks: &[u8]) -> Result<(), String> {
        match self.0.iter().find(|frame| frame.chunks.iter().any(|chunk| chunks.contains(chunk))) {
            Some(frame) => {
                Err(format!("frame {}: a chunk that should not be: {:?}", frame.number, frame.chunks))
            }
            None => Ok(()),
        }
    }

    /// Checks that we (or the peer) sent an error cause with this code.
    pub fn cause(&self, ours: bool, code: u16) -> Result<(), String> {
        let there = self.0.iter().any(|frame| frame.ours == ours && frame.causes.contains(&code));
        if there { Ok(()) } else { Err(format!("no error cause {code:#06x}")) }
    }

    /// Checks that every chunk of this type follows an AUTH chunk in its packet (RFC 4895 §6.2).
    pub fn signed(&self, chunk: u8) -> Result<(), String> {
        let unsigned = |frame: &&Frame| {
            let at = frame.chunks.iter().position(|&typ| typ == chunk);
            at.is_some_and(|at| !frame.chunks[..at].contains(&AUTH))
        };
        match self.0.iter().find(unsigned) {
            Some(frame) => Err(format!("frame {}: no AUTH before chunk type {chunk}", frame.number)),
            None => Ok(()),
        }
    }
}

/// Parses a frame. `takes_zero`: the ends that have declared to accept packets without a checksum.
fn frame_of(
    line: &str,
    ours: &impl Fn(IpAddr) -> bool,
    takes_zero: &mut BTreeSet<IpAddr>,
) -> Result<Frame, String> {
    let columns: Vec<&str> = line.split('|').collect();
    let [number, src4, src6, dst4, dst6, udp, sctp, malformed, severity, chunks, causes, checksum, params] =
        columns[..]
    else {
        return Err(format!("tshark gave {line:?}"));
    };
    let wrong = |what: &str| Err(format!("frame {number}: {what} ({line})"));
    let address = |v4: &str, v6: &str| if v4.is_empty() { v6 } else { v4 }.parse::<IpAddr>();
    let (Ok(source), Ok(destination)) = (address(src4, src6), address(dst4, dst6)) else {
        return wrong("no IP");
    };
    if params.split(',').any(|param| param == ZERO_CHECKSUM_ACCEPTABLE) {
        takes_zero.insert(source);
    }
    // RFC 9653 §5.2: not beside INIT and COOKIE ECHO
    let needs_checksum =
        [INIT, COOKIE_ECHO].iter().any(|typ| chunks.split(',').any(|c| c == typ.to_string()));
    let left_out = checksum == "0x00000000" && takes_zero.contains(&destination) && !needs_checksum;
    // 1: good.
    if udp != "1" || sctp != "1" && !left_out {
        return wrong("a checksum is not good");
    }
    // tshark's word for the missing checksum is one error.
    let severity = if left_out && sctp == "0" {
        severity.replacen(&ERROR.to_string(), "", 1)
    } else {
        severity.to_owned()
    };
    if !malformed.is_empty() || severity.split(',').any(|s| s.parse().is_ok_and(|s: u32| s >= ERROR)) {
        return wrong("malformed");
    }
    let chunks: Result<Vec<u8>, _> = chunks.split(',').map(str::parse).collect();
    let causes =
        causes.split(',').filter_map(|code| u16::from_str_radix(code.strip_prefix("0x")?, 16).ok()).collect();
    let (Ok(number), Ok(chunks)) = (number.parse(), chunks) else {
        return wrong("not SCTP");
    };
    Ok(Frame { number, ours: ours(source), source, destination, chunks, causes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Frame, String> {
        frame_of(line, &|ip| ip == IpAddr::from([10, 1, 0, 1]), &mut BTreeSet::new())
    }

    #[test]
    fn a_checksum_may_be_left_out_for_who_said_so() {
        let mut takes_zero = BTreeSet::new();
        let mut read = |line: &str| frame_of(line, &|_| false, &mut takes_zero).map(|frame| frame.number);
        let init_ack = |number: u8| format!("{number}|10.1.0.2||10.1.0.1||1|0||8388608|2||0x00000000|0x0007");
        assert!(read(&init_ack(1)).is_err(), "nobody said so");
        assert_eq!(read("2|10.1.0.1||10.1.0.2||1|1|||1||0x89ab6f01|0x8008,0x8001"), Ok(2));
        assert_eq!(read(&init_ack(3)), Ok(3));
        assert!(read("4|10.1.0.1||10.1.0.2||1|0||8388608|10||0x00000000|").is_err(), "the peer did not");
        assert!(read("5|10.1.0.2||10.1.0.1||1|0||8388608|10||0x00000000|").is_err(), "beside COOKIE ECHO");
        assert!(read("6|10.1.0.2||10.1.0.1||1|0||8388608|0||0x01234567|").is_err(), "another checksum");
        assert!(read("7|10.1.0.2||10.1.0.1||1|0||8388608,8388608|0||0x00000000|").is_err(), "another error");
    }

    #[test]
    fn a_good_frame_is_read_and_each_fault_is_found() {
        let frame = read("7|10.1.0.1||10.1.0.2||1|1|||15,193|0x00a2|0x12345678|").unwrap();
        assert_eq!(frame.causes, [0xa2]);
        assert_eq!((frame.number, frame.ours, &frame.chunks[..]), (7, true, &[AUTH, ASCONF][..]));
        for fault in [
            "7|10.1.0.1||10.1.0.2||0|1|||0||0x12345678|",
            "7|10.1.0.1||10.1.0.2||1|0|||0||0x12345678|",
            "7|10.1.0.1||10.1.0.2||1||||||0x12345678|",
            "7|10.1.0.1||10.1.0.2||1|1|Malformed||0||0x12345678|",
            "7|10.1.0.1||10.1.0.2||1|1||2097152,8388608|0||0x12345678|",
            "7|10.1.0.1||10.1.0.2||1|1|||||0x12345678|",
        ] {
            assert!(read(fault).is_err(), "{fault}");
        }
    }

    #[test]
    fn what_is_not_signed_and_what_is_missing_is_found() {
        let frames = Frames(vec![
            read("1|10.1.0.1||10.1.0.2||1|1|||15,193||0x12345678|").unwrap(),
            read("2|10.1.0.2||10.1.0.1||1|1|||3,128||0x12345678|").unwrap(),
        ]);
        assert_eq!(frames.signed(ASCONF), Ok(()));
        assert!(frames.signed(ASCONF_ACK).is_err());
        assert_eq!(frames.have(&[ASCONF], &[SACK, ASCONF_ACK]), Ok(()));
        assert!(frames.have(&[SACK], &[]).is_err() && frames.have(&[], &[ASCONF]).is_err());
        assert!(frames.lack(&[SACK]).is_err() && frames.lack(&[DATA]).is_ok());
    }
}
