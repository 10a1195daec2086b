//! `msctp send`: sends a file to `msctp recv`, and resumes an interrupted transfer.

use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use msctp::{Association, AssociationState};
use msctp_qlog::Vantage;
use msctp_terminal::input::record;
use msctp_terminal::system::{cannot_read, os_error};
use msctp_terminal::{Failure, counted, print};
use serde::Serialize;

use super::options::{NetArgs, PeerArgs};
use super::qlog::QlogArgs;
use super::security::Secured;
use super::service::{CLIENT_GONE, DATA, END_TIMEOUT, Service};
use super::text::escape;
use super::transfer::{Control, Hash, PIECE, check_name};
use super::{Open, block_on, failed, moves};

/// Send a file to `msctp recv` across network changes.
///
/// An interrupted transfer resumes when the same command runs again, without --code: the code is used up, and
/// the receiver's key is known.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp send film.mkv 192.0.2.1
  msctp send film.mkv 192.0.2.1 --code lusab-babad        the code that `msctp recv --code` printed
  msctp send film.mkv example.net:9899 --policy conservative --prefer wlan,wwan

Everything is encrypted. The receiver's key is remembered when it is new, and must stay the same; see `msctp identity`.

Exit codes: 0 the receiver has the file and its hash is right, 1 failed, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// Regular file to send; its name may not begin with a dot.
    file: PathBuf,
    #[command(flatten)]
    peer: PeerArgs,
    /// Reconnect up to N times when the association is lost.
    #[arg(long, value_name = "N", default_value_t = 5)]
    retry: u32,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    /// Print neither progress nor path changes.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    qlog: QlogArgs,
}

/// The result of a transfer.
#[derive(Default, Serialize)]
struct Summary {
    bytes: u64,
    /// Bytes that the receiver had from earlier attempts.
    resumed: u64,
    /// Bytes that this command sent: `bytes` - `resumed`.
    sent: u64,
    seconds: f64,
    /// Changes of the primary path.
    switches: u32,
    /// Number of lost associations that were set up again.
    retries: u32,
    sha256: String,
    /// The last association's.
    #[serde(flatten)]
    secured: Option<Secured>,
}

struct Offer<'a> {
    path: &'a Path,
    name: String,
    size: u64,
    sha256: String,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let shown = args.file.display();
    // Invalid options are reported before the file is read.
    args.net.config()?;
    check_regular(&args.file)?;
    let name = args.file.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Failure::Input(format!("{shown}: the name is not UTF-8: rename it")))?;
    check_name(name).map_err(|why| Failure::Input(format!("{shown}: {why}")))?;
    let unreadable = |error| Failure::Input(cannot_read(&shown, &error));
    let (hash, size) = Hash::of_file(&args.file, || ()).map_err(unreadable)?;
    record(&shown, &args.file);
    let offer = Offer { path: &args.file, name: name.to_owned(), size, sha256: hash.text() };
    block_on(async |open| {
        open.log(&args.qlog, Vantage::Client)?;
        let bar = progress(args.quiet, size);
        let mut summary = Summary { bytes: size, sha256: offer.sha256.clone(), ..Summary::default() };
        let begin = tokio::time::Instant::now();
        loop {
            match attempt(args, &offer, open, &bar, &mut summary).await {
                Ok(()) => break,
                Err(Lost::ForGood(failure)) => return Err(failure),
                Err(Lost::Again(failure)) if summary.retries >= args.retry => return Err(failure),
                Err(Lost::Again(failure)) => {
                    summary.retries += 1;
                    let again = format!("{failure}; reconnecting ({} of {})", summary.retries, args.retry);
                    bar.suspend(|| eprintln!("{again}"));
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
        bar.finish_and_clear();
        summary.seconds = begin.elapsed().as_secs_f64();
        report(args, &summary)
    })
}

/// Rejects anything but a regular file: a pipe or a device may have no end.
fn check_regular(file: &Path) -> Result<(), Failure> {
    let shown = file.display();
    let kind =
        std::fs::metadata(file).map_err(|error| Failure::Input(cannot_read(&shown, &error)))?.file_type();
    let (what, instead) = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => {
            ("a folder", format!("`tar c {shown} | msctp connect HOST` sends one to `msctp serve`"))
        }
        () => {
            let what = match () {
                () if kind.is_fifo() => "a named pipe",
                () if kind.is_socket() => "a socket",
                () => "a device",
            };
            (what, format!("`msctp connect HOST < {shown}` sends its bytes to `msctp serve`"))
        }
    };
    Err(Failure::Input(format!("{shown} is {what}; send takes regular files: {instead}")))
}

fn report(args: &Args, summary: &Summary) -> Result<(), Failure> {
    let rate = summary.sent as f64 * 8.0 / summary.seconds.max(1e-9) / 1e6;
    print(|out| {
        if args.json {
            serde_json::to_writer_pretty(&mut *out, summary)?;
            return writeln!(out);
        }
        if summary.resumed > 0 && summary.sent == 0 {
            let bytes = counted(summary.bytes, "byte");
            return writeln!(out, "{bytes}: the receiver has the file already; SHA-256 {}", summary.sha256);
        }
        let resumed = match summary.resumed {
            0 => String::new(),
            resumed => format!(" ({resumed} of them from an earlier attempt)"),
        };
        writeln!(
            out,
            "{}{resumed} in {:.1} s, {rate:.1} Mbps, {}; SHA-256 {} is right",
            counted(summary.bytes, "byte"),
            summary.seconds,
            counted(summary.switches.into(), "path change"),
            summary.sha256
        )
    })
}

fn progress(quiet: bool, size: u64) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(size);
    if let Ok(style) = ProgressStyle::with_template(
        "{bar:32} {decimal_bytes}/{decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} to go",
    ) {
        bar.set_style(style);
    }
    bar
}

/// Why an attempt failed.
enum Lost {
    /// The association was lost, and another attempt may succeed.
    Again(Failure),
    /// The peer rejects the file, or does not answer.
    ForGood(Failure),
}

async fn attempt(
    args: &Args,
    offer: &Offer<'_>,
    open: &Open,
    bar: &ProgressBar,
    summary: &mut Summary,
) -> Result<(), Lost> {
    // No answer: at first a wrong address, later perhaps an outage.
    let nobody = |failure| if summary.retries == 0 { Lost::ForGood(failure) } else { Lost::Again(failure) };
    // After such an outage the receiver has ended the association, and cannot say so if it is encrypted.
    let idle_timeout = Some(CLIENT_GONE);
    let (_endpoint, association) = args.peer.connect(&args.net, open, idle_timeout).await.map_err(nobody)?;
    summary.secured = Some(Secured::of(args.net.security(), &association));
    let watched = association.clone();
    let (quiet, shown) = (args.quiet, bar.clone());
    let watch = tokio::spawn(async move {
        moves::report_moves(&watched, |text| {
            if !quiet {
                shown.suspend(|| eprintln!("{text}"));
            }
        })
        .await
    });
    let result = deliver(args, &association, offer, bar, summary).await;
    if result.is_err() {
        association.abort("the transfer failed");
    }
    // The result is known, so a failed shutdown is ignored.
    let _ = tokio::time::timeout(END_TIMEOUT, association.shutdown()).await;
    association.abort("the peer did not answer the shutdown");
    summary.switches += watch.await.unwrap_or(0);
    result
}

async fn deliver(
    args: &Args,
    association: &Association,
    offer: &Offer<'_>,
    bar: &ProgressBar,
    summary: &mut Summary,
) -> Result<(), Lost> {
    let offset = begin(args, association, offer, bar).await?;
    if summary.retries == 0 {
        summary.resumed = offset;
        summary.sent = offer.size - offset;
    }
    match send_and_hear(association, offer, offset, bar).await? {
        // What the receiver had was not the beginning of the file.
        Control::From { offset: 0 } if offset > 0 => {
            summary.resumed = 0;
            summary.sent += offer.size;
            match send_and_hear(association, offer, 0, bar).await? {
                Control::Done => Ok(()),
                other => Err(unexpected(&other)),
            }
        }
        Control::Done => Ok(()),
        other => Err(unexpected(&other)),
    }
}

/// Sends the file from `offset` on. Returns the receiver's answer, which may refuse before all is sent.
async fn send_and_hear(
    association: &Association,
    offer: &Offer<'_>,
    offset: u64,
    bar: &ProgressBar,
) -> Result<Control, Lost> {
    let mut answer = std::pin::pin!(Service::Files.receive(association));
    let answer = tokio::select! {
        biased;
        answer = &mut answer => answer,
        sent = send(association, offer, offset, bar) => {
            sent?;
            answer.await
        }
    };
    answer.map_err(Lost::Again)
}

/// Offers the file. Returns the offset that the receiver requests.
async fn begin(
    args: &Args,
    association: &Association,
    offer: &Offer<'_>,
    bar: &ProgressBar,
) -> Result<u64, Lost> {
    let first = Control::Offer { name: offer.name.clone(), size: offer.size, sha256: offer.sha256.clone() };
    Service::Files.send(association, &first).await.map_err(Lost::Again)?;
    let mut answer =
        Service::Files.receive_answer(association, args.peer.timeout()).await.map_err(|failure| {
            // An abort by a receiver, or another service, at this point rejects the file.
            let wanted = association.state() == AssociationState::Established;
            if wanted { Lost::Again(failure) } else { Lost::ForGood(failure) }
        })?;
    loop {
        match answer {
            Control::From { offset } if offset <= offer.size => return Ok(offset),
            Control::Wait { why } => {
                if !args.quiet {
                    bar.suspend(|| eprintln!("the receiver says: {}; waiting", escape(&why)));
                }
                answer = Service::Files.receive(association).await.map_err(Lost::Again)?;
            }
            other => return Err(unexpected(&other)),
        }
    }
}

/// Returns the failure of an unexpected answer: the receiver rejected the file, or broke the protocol.
fn unexpected(control: &Control) -> Lost {
    Lost::ForGood(Failure::Run(match control {
        Control::Refused { why } => format!("refused: {}", escape(why)),
        other => format!("unexpected message from the receiver: {other:?}"),
    }))
}

/// Sends the file from `offset` on.
async fn send(
    association: &Association,
    offer: &Offer<'_>,
    offset: u64,
    bar: &ProgressBar,
) -> Result<(), Lost> {
    let shown = offer.path.display();
    let unreadable = |at: u64, error: &std::io::Error| {
        Lost::ForGood(Failure::Run(match error.kind() {
            ErrorKind::UnexpectedEof => {
                format!(
                    "{shown}: shorter than its {} bytes at the start: it changed; send it again",
                    offer.size
                )
            }
            _ => format!("{shown}: cannot read at byte {at}: {}", os_error(error)),
        }))
    };
    let mut file = File::open(offer.path).map_err(|e| unreadable(0, &e))?;
    file.seek(SeekFrom::Start(offset)).map_err(|e| unreadable(offset, &e))?;
    bar.set_position(offset);
    let mut at = offset;
    while at < offer.size {
        let mut piece = vec![0; (offer.size - at).min(PIECE as u64) as usize];
        file.read_exact(&mut piece).map_err(|e| unreadable(at, &e))?;
        let len = piece.len() as u64;
        let sent = association.send_bytes(DATA, Bytes::from(piece)).await;
        sent.map_err(|e| Lost::Again(failed("sending")(&e)))?;
        at += len;
        bar.inc(len);
    }
    Ok(())
}
