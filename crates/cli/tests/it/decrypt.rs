//! `msctp decrypt`: captures with DTLS chunks, read by tshark when they are decrypted.

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use etherparse::{IpNumber, Ipv4Header, PacketBuilder};
use msctp_protection::{
    CipherSuite, FIRST_EPOCH, HEADER_LEN, KeyContext, KeyLogEntry, KeyMaterial, Ring, Sealer, Secret,
    TRAILER_LEN,
};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, TsResolution};

use crate::PROGRAM;
use crate::process::temporary;
use crate::tshark;

/// One direction of an association, with the keys of two epochs.
struct Direction {
    tag: u32,
    suite: CipherSuite,
    epoch: u64,
    sealer: Sealer,
    log: String,
}

impl Direction {
    fn new(tag: u32, suite: CipherSuite) -> Self {
        let mut direction =
            Self { tag, suite, epoch: FIRST_EPOCH - 1, sealer: Sealer::new(), log: "# keys\n".to_owned() };
        direction.next_epoch();
        direction
    }

    fn next_epoch(&mut self) {
        self.epoch += 1;
        let secret = [self.tag as u8 ^ self.epoch as u8; 48];
        let secret = Secret::from(&secret[..self.suite.hash().len()]);
        let keys = KeyMaterial::from_traffic_secret(&Ring, self.suite, &secret);
        self.sealer.establish(KeyContext::Primary, self.epoch, &keys, &Ring).unwrap();
        let entry = KeyLogEntry { tag: self.tag, context: KeyContext::Primary, epoch: self.epoch, keys };
        self.log += &format!("{}\n", *entry.line());
    }

    /// Returns an SCTP packet with one DATA chunk, sealed.
    fn packet(&mut self, tsn: u32) -> Vec<u8> {
        let mut body = [&[0; HEADER_LEN][..], &data(tsn), &[0; TRAILER_LEN]].concat();
        self.sealer.seal(&mut body).unwrap();
        sctp(self.tag, &body)
    }
}

/// Returns a DATA chunk.
fn data(tsn: u32) -> Vec<u8> {
    [&[0, 3, 0, 24][..], &tsn.to_be_bytes(), &[0, 1, 0, 0, 0, 0, 0, 0], b"met here"].concat()
}

/// Returns a packet with a common header.
fn sctp(tag: u32, body: &[u8]) -> Vec<u8> {
    let mut packet = [&[0x13, 0x88, 0x13, 0x89][..], &tag.to_be_bytes(), &[0; 4], body].concat();
    let checksum = msctp_wire::crc32c(&packet).to_le_bytes();
    packet[8..12].copy_from_slice(&checksum);
    packet
}

fn in_ipv4(sctp: &[u8]) -> Vec<u8> {
    let mut header =
        Ipv4Header::new(sctp.len() as u16, 64, IpNumber::SCTP, [192, 0, 2, 1], [192, 0, 2, 2]).unwrap();
    header.header_checksum = header.calc_header_checksum();
    [&header.to_bytes()[..], sctp].concat()
}

fn in_udp(sctp: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([192, 0, 2, 1], [192, 0, 2, 2], 64).udp(9899, 9899);
    builder.write(&mut packet, sctp).unwrap();
    packet
}

fn in_udp_over_ipv6(sctp: &[u8]) -> Vec<u8> {
    let address = |last| [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let mut packet = Vec::new();
    PacketBuilder::ipv6(address(1), address(2), 64).udp(9899, 9899).write(&mut packet, sctp).unwrap();
    packet
}

/// Returns an Ethernet frame with a VLAN tag.
fn in_ethernet(packet: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &[0x81, 0, 0, 7, 0x08, 0], packet].concat()
}

fn path(name: &str) -> PathBuf {
    temporary(&format!("decrypt-{name}"))
}

fn decrypt(capture: &Path, keys: &Path, out: &Path) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("decrypt").arg(capture).arg("--keys").arg(keys).arg("--out").arg(out).output().unwrap()
}

/// Checks a decrypted capture with tshark: TSN and payload of each packet, and that all of it is well-formed.
fn check(out: &Path, expected: &[&str]) {
    let columns = ["sctp.data_tsn_raw", "sctp.chunk_type"];
    let Some(lines) = tshark::dissect(out, &columns) else { return };
    assert_eq!(lines, expected);
    assert_eq!(tshark::complaints(out), Some(Vec::new()));
}

#[test]
fn a_capture_of_ip_packets_is_decrypted() {
    let [capture, keys, out] = ["raw.pcapng", "raw.keys", "raw-plain.pcapng"].map(path);
    let mut one = Direction::new(0xaaaa_0001, CipherSuite::Aes128GcmSha256);
    let mut two = Direction::new(0xbbbb_0002, CipherSuite::Chacha20Poly1305Sha256);
    let mut packets = vec![
        in_ipv4(&one.packet(1)),
        in_udp(&two.packet(2)),
        in_udp_over_ipv6(&one.packet(3)),
        // In clear.
        in_ipv4(&sctp(5, &data(9))),
    ];
    one.next_epoch();
    packets.push(in_ipv4(&one.packet(4)));
    // No key is logged for these.
    let sealed = Direction::new(0xcccc_0003, CipherSuite::Aes256GcmSha384).packet(5);
    packets.push(in_ipv4(&sealed));
    std::fs::write(&keys, format!("{}CLIENT_RANDOM 00 11\n{}", one.log, two.log)).unwrap();

    let mut writer = PcapNgWriter::new(File::create(&capture).unwrap()).unwrap();
    writer
        .write_pcapng_block(InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![InterfaceDescriptionOption::IfTsResol(9)],
        })
        .unwrap();
    for (i, packet) in packets.iter().enumerate() {
        writer
            .write_pcapng_block(EnhancedPacketBlock {
                interface_id: 0,
                timestamp: Duration::from_millis(1500 * i as u64),
                original_len: packet.len() as u32,
                data: Cow::Borrowed(packet),
                options: Vec::new(),
            })
            .unwrap();
    }
    drop(writer);

    let done = decrypt(&capture, &keys, &out);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8_lossy(&done.stdout);
    assert_eq!(text, "4 packets decrypted, 1 without a key, 1 in clear\n");
    if let Some(lines) =
        tshark::dissect(&out, &["frame.time_relative", "sctp.data_tsn_raw", "sctp.chunk_type"])
    {
        let expected = ["0|1|0", "1.5|2|0", "3|3|0", "4.5|9|0", "6|4|0", "7.5||65"];
        let trimmed = lines.iter().map(|line| {
            let (time, rest) = line.split_once('|').unwrap();
            format!("{}|{rest}", time.parse::<f64>().unwrap())
        });
        assert_eq!(trimmed.collect::<Vec<_>>(), expected);
        // Only the packet that stayed sealed is unknown to tshark.
        let complaints = tshark::complaints(&out).unwrap();
        assert!(complaints.len() == 1 && complaints[0].starts_with("6|"), "{complaints:?}");
    }
}

#[test]
fn a_capture_of_frames_is_decrypted() {
    let [capture, keys, out] = ["frames.pcap", "frames.keys", "frames-plain.pcapng"].map(path);
    let mut one = Direction::new(0xaaaa_0001, CipherSuite::Aes256GcmSha384);
    std::fs::write(&keys, &one.log).unwrap();
    let header = PcapHeader {
        version_major: 2,
        version_minor: 4,
        ts_correction: 0,
        ts_accuracy: 0,
        snaplen: 65535,
        datalink: DataLink::ETHERNET,
        ts_resolution: TsResolution::MicroSecond,
        endianness: Endianness::Little,
    };
    let mut writer = PcapWriter::with_header(File::create(&capture).unwrap(), header).unwrap();
    let arp = [&[2; 12][..], &[0x08, 0x06], &[0; 28]].concat();
    for (i, frame) in
        [in_ethernet(&in_udp(&one.packet(7))), arp, in_ethernet(&in_ipv4(&one.packet(8)))].iter().enumerate()
    {
        let at = Duration::from_secs(i as u64);
        writer.write_packet(&PcapPacket::new(at, frame.len() as u32, frame)).unwrap();
    }
    drop(writer);
    let done = decrypt(&capture, &keys, &out);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8_lossy(&done.stdout);
    assert_eq!(text, "2 packets decrypted, 0 without a key, 0 in clear\n1 frame skipped: not IP packets\n");
    check(&out, &["7|0", "8|0"]);
}

#[test]
fn errors_name_the_file_and_the_remedy() {
    let [capture, keys, out] = ["bad.pcap", "bad.keys", "bad-plain.pcapng"].map(path);
    let _ = std::fs::remove_file(&out);
    let fails = |code: i32, message: &str| {
        let done = decrypt(&capture, &keys, &out);
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(error.contains(message), "{error}");
        assert_eq!(done.status.code(), Some(code), "{error}");
        assert!(!out.exists());
    };
    std::fs::write(&capture, b"no capture at all").unwrap();
    std::fs::write(&keys, "CLIENT_RANDOM 00 11\n").unwrap();
    fails(2, "no line begins with SCTP_DTLS_CHUNK; want a key log");
    std::fs::write(&keys, "\nSCTP_DTLS_CHUNK 1 2 3\n").unwrap();
    fails(2, "bad.keys: line 2: the number of words is invalid: want eight");
    std::fs::write(&keys, Direction::new(1, CipherSuite::Aes128GcmSha256).log).unwrap();
    fails(1, "want pcap or pcapng");
}
