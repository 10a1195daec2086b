//! Captures our sockets as pcapng: every datagram with IP and UDP headers, so that the capture is complete
//! when a check ends.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use etherparse::PacketBuilder;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};

/// Hop limit of the synthetic IP headers; the datagrams in them are real.
const TTL: u8 = 64;

/// An open file.
pub struct Capture {
    writer: PcapNgWriter<BufWriter<File>>,
    frames: u64,
}

impl Capture {
    /// Begins a file.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let mut writer = PcapNgWriter::new(BufWriter::new(File::create(path)?)).map_err(io::Error::other)?;
        writer
            .write_pcapng_block(InterfaceDescriptionBlock {
                linktype: DataLink::RAW,
                snaplen: 0,
                options: vec![InterfaceDescriptionOption::IfTsResol(9)],
            })
            .map_err(io::Error::other)?;
        Ok(Self { writer, frames: 0 })
    }

    /// Writes one datagram.
    pub fn write(&mut self, at: Duration, from: SocketAddr, to: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        let builder = match (from.ip(), to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => PacketBuilder::ipv4(from.octets(), to.octets(), TTL),
            (IpAddr::V6(from), IpAddr::V6(to)) => PacketBuilder::ipv6(from.octets(), to.octets(), TTL),
            _ => return Err(io::Error::other("a datagram between two families")),
        };
        let mut frame = Vec::with_capacity(bytes.len() + 48);
        builder.udp(from.port(), to.port()).write(&mut frame, bytes).map_err(io::Error::other)?;
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: at,
            original_len: frame.len() as u32,
            data: Cow::Owned(frame),
            options: Vec::new(),
        };
        self.frames += 1;
        self.writer.write_pcapng_block(block).map(drop).map_err(io::Error::other)
    }

    /// Completes the file and returns its number of frames.
    pub fn finish(mut self) -> io::Result<u64> {
        self.writer.get_mut().flush()?;
        Ok(self.frames)
    }
}
