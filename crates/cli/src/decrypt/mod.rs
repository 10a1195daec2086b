//! `msctp decrypt`: decrypts the DTLS chunks of a capture with logged keys.

mod keys;
mod packet;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;

use msctp_terminal::input::record;
use msctp_terminal::output::Output;
use msctp_terminal::system::{cannot_read, read_text};
use msctp_terminal::{Failure, counted, print};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use pcap_file::{DataLink, PcapError};

use self::keys::Keys;

/// Decrypt the SCTP packets of a capture with the keys of a key log.
///
/// Reads pcap and pcapng, and writes pcapng with IP packets: decrypted ones with the chunks that were
/// protected, all others unchanged.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp decrypt capture.pcapng --keys keys.log --out plain.pcapng
  msctp decrypt eth0.pcap --keys keys.log --out plain.pcapng && tshark -r plain.pcapng

A line of the key log has the keys of one direction and epoch: SCTP_DTLS_CHUNK, the verification tag, \
primary or restart, the epoch, the cipher suite, and three keys. Other lines are ignored.

Exit codes: 0 written, 1 cannot read or write a file, 2 invalid arguments or key log.")]
pub(crate) struct Args {
    /// Capture to read, pcap or pcapng.
    #[arg(value_name = "CAPTURE")]
    capture: PathBuf,
    /// File with the keys.
    #[arg(long, value_name = "LOG")]
    keys: PathBuf,
    /// Capture to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Packets by result.
#[derive(Debug, Default)]
struct Counts {
    decrypted: u64,
    /// Packets with a DTLS chunk that no key opens.
    sealed: u64,
    /// Without a DTLS chunk.
    plain: u64,
    /// No IP packets.
    other: u64,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let what = format!("--keys {}", args.keys.display());
    let mut keys = Keys::parse(&what, &read_text(&what, &args.keys)?)?;
    let file = open(&args.capture)?;
    let output = Output::open("--out", &args.out)?;
    let writer = PcapNgWriter::new(output.writer()?).map_err(|error| output.failure(&io_error(error)))?;
    let mut decryption = Decryption { writer, keys: &mut keys, counts: Counts::default(), output: &output };
    decryption.copy(args, file)?;
    let Decryption { mut writer, counts, .. } = decryption;
    io::Write::flush(writer.get_mut()).map_err(|error| output.failure(&error))?;
    output.commit()?;
    print(|out| {
        let Counts { decrypted, sealed, plain, other } = counts;
        writeln!(
            out,
            "{} decrypted, {sealed} without a key, {plain} in clear",
            counted(decrypted, "packet")
        )?;
        if other > 0 {
            writeln!(out, "{} skipped: not IP packets", counted(other, "frame"))?;
        }
        Ok(())
    })
}

/// Opens the capture.
fn open(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| Failure::Input(cannot_read(path.display(), &error)))?;
    record(path.display(), path);
    Ok(file)
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

/// The copy of a capture, decrypted.
struct Decryption<'a, W: io::Write> {
    writer: PcapNgWriter<W>,
    keys: &'a mut Keys,
    counts: Counts,
    output: &'a Output,
}

impl<W: io::Write> Decryption<'_, W> {
    fn copy(&mut self, args: &Args, mut file: File) -> Result<(), Failure> {
        let unreadable = |error| {
            Failure::Run(cannot_read(args.capture.display(), &io_error(error)) + "; want pcap or pcapng")
        };
        let mut magic = [0; 4];
        let begun = file.read_exact(&mut magic).and_then(|()| file.rewind());
        begun.map_err(|error| unreadable(PcapError::IoError(error)))?;
        let file = BufReader::new(file);
        if magic != [0x0a, 0x0d, 0x0d, 0x0a] {
            let mut reader = PcapReader::new(file).map_err(unreadable)?;
            let link = reader.header().datalink;
            self.interface(&InterfaceDescriptionOption::IfTsResol(9))?;
            while let Some(packet) = reader.next_packet() {
                let packet = packet.map_err(unreadable)?;
                self.packet(0, link, packet.timestamp, &packet.data)?;
            }
            return Ok(());
        }
        let mut reader = PcapNgReader::new(file).map_err(unreadable)?;
        let mut links = Vec::new();
        while let Some(block) = reader.next_block() {
            match block.map_err(unreadable)? {
                Block::InterfaceDescription(interface) => {
                    links.push(interface.linktype);
                    let resolution = interface.options.iter().find_map(|option| match option {
                        InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
                        _ => None,
                    });
                    // pcap-file passes time stamps on as numbers of any unit; the default is µs.
                    self.interface(&InterfaceDescriptionOption::IfTsResol(resolution.unwrap_or(6)))?;
                }
                Block::EnhancedPacket(packet) => {
                    let link = links.get(packet.interface_id as usize).copied();
                    let link =
                        link.ok_or_else(|| unreadable(PcapError::InvalidInterfaceId(packet.interface_id)))?;
                    self.packet(packet.interface_id, link, packet.timestamp, &packet.data)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes the description of an interface.
    fn interface(&mut self, resolution: &InterfaceDescriptionOption<'static>) -> Result<(), Failure> {
        self.write(InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![resolution.clone()],
        })
    }

    /// Writes a packet, decrypted if that is possible.
    fn packet(&mut self, interface: u32, link: DataLink, at: Duration, frame: &[u8]) -> Result<(), Failure> {
        let Some(ip) = packet::ip(link, frame) else {
            self.counts.other += 1;
            return Ok(());
        };
        let data = match packet::protected(ip) {
            None => {
                self.counts.plain += 1;
                Cow::Borrowed(ip)
            }
            Some(protected) => match self.keys.open(protected.tag, protected.body) {
                Some(chunks) => {
                    self.counts.decrypted += 1;
                    Cow::Owned(protected.with_chunks(&chunks))
                }
                None => {
                    self.counts.sealed += 1;
                    Cow::Borrowed(ip)
                }
            },
        };
        let original_len = data.len() as u32;
        self.write(EnhancedPacketBlock {
            interface_id: interface,
            timestamp: at,
            original_len,
            data,
            options: Vec::new(),
        })
    }

    fn write<'b, B: pcap_file::pcapng::PcapNgBlock<'b>>(&mut self, block: B) -> Result<(), Failure> {
        let written = self.writer.write_pcapng_block(block);
        written.map(drop).map_err(|error| self.output.failure(&io_error(error)))
    }
}
