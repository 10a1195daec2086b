//! `msctp send`: a file to `msctp recv`, going on where an earlier attempt stopped.

use std::fs::File;
use std::io::{IsTerminal, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use msctp::Association;
use serde::Serialize;

use super::options::{NetArgs, PeerArgs};
use super::transfer::{Control, DATA, Hash, PIECE};
use super::{block_on, failed, moves};
use crate::Failure;
use crate::running::print;

/// Send a file to `msctp recv`. It survives changes of the network; interrupted, the same command goes on where it stopped.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp send film.mkv 192.0.2.1
  msctp send film.mkv example.net:9899 --policy inherit --prefer wlan,wwan

Exit codes: 0 the file is there and its hash is right, 1 it is not, 2 wrong arguments.")]
pub(crate) struct Args {
    /// The file.
    file: PathBuf,
    #[command(flatten)]
    peer: PeerArgs,
    #[command(flatten)]
    net: NetArgs,
    /// Connect again so many times when the association is lost.
    #[arg(long, value_name = "TIMES", default_value_t = 3)]
    retry: u32,
    /// Print what happened as JSON.
    #[arg(long)]
    json: bool,
    /// Say nothing of paths and progress.
    #[arg(long, short)]
    quiet: bool,
}

/// What happened.
#[derive(Default, Serialize)]
struct Summary {
    bytes: u64,
    /// Sent this time; less when the receiver had a part already.
    sent: u64,
    seconds: f64,
    /// Times that data took another path.
    switches: u32,
    /// Associations lost and set up again.
    retries: u32,
    sha256: String,
}

struct Offer<'a> {
    path: &'a Path,
    name: String,
    size: u64,
    sha256: String,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let shown = args.file.display();
    // What cannot work is said before the file is read.
    args.net.config()?;
    let name = args.file.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Failure::Input(format!("{shown}: want a file with a plain name")))?;
    let (hash, size) = Hash::of_file(&args.file).map_err(|e| Failure::Input(format!("{shown}: {e}")))?;
    let offer = Offer { path: &args.file, name: name.to_owned(), size, sha256: hash.text() };
    block_on(async {
        let bar = progress(args.quiet, size);
        let mut summary = Summary { bytes: size, sha256: offer.sha256.clone(), ..Summary::default() };
        let begin = tokio::time::Instant::now();
        loop {
            match attempt(args, &offer, &bar, &mut summary).await {
                Ok(()) => break,
                Err(Lost::ForGood(failure)) => return Err(failure),
                Err(Lost::Again(failure)) if summary.retries >= args.retry => return Err(failure),
                Err(Lost::Again(Failure::Run(why) | Failure::Input(why))) => {
                    summary.retries += 1;
                    bar.suspend(|| eprintln!("{why}; once more"));
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
        bar.finish_and_clear();
        summary.seconds = begin.elapsed().as_secs_f64();
        report(args, &summary)
    })
}

fn report(args: &Args, summary: &Summary) -> Result<(), Failure> {
    let rate = summary.sent as f64 * 8.0 / summary.seconds.max(1e-9) / 1e6;
    print(|out| {
        if args.json {
            serde_json::to_writer_pretty(&mut *out, summary)?;
            return writeln!(out);
        }
        writeln!(
            out,
            "{} bytes in {:.1} s, {rate:.1} Mbps, {} path changes; SHA-256 {} is right",
            summary.sent, summary.seconds, summary.switches, summary.sha256
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
    /// The association was lost: another may do.
    Again(Failure),
    /// The peer does not want it, or nobody is there.
    ForGood(Failure),
}

async fn attempt(
    args: &Args,
    offer: &Offer<'_>,
    bar: &ProgressBar,
    summary: &mut Summary,
) -> Result<(), Lost> {
    // Nobody there: at first the caller's to mend, later perhaps the network's.
    let nobody = |failure| if summary.retries == 0 { Lost::ForGood(failure) } else { Lost::Again(failure) };
    let (_endpoint, association) = args.peer.connect(&args.net).await.map_err(nobody)?;
    let watched = association.clone();
    let (quiet, shown) = (args.quiet, bar.clone());
    let watch = tokio::spawn(async move {
        moves::tell(&watched, |text| {
            if !quiet {
                shown.suspend(|| eprintln!("{text}"));
            }
        })
        .await
    });
    let result = deliver(&association, offer, bar, summary).await;
    if result.is_err() {
        association.abort("the transfer failed");
    }
    let ended = association.shutdown().await;
    summary.switches += watch.await.unwrap_or(0);
    // The file is there: how the association ends changes nothing.
    drop(ended);
    result
}

async fn deliver(
    association: &Association,
    offer: &Offer<'_>,
    bar: &ProgressBar,
    summary: &mut Summary,
) -> Result<(), Lost> {
    let first = Control::Offer { name: offer.name.clone(), size: offer.size, sha256: offer.sha256.clone() };
    first.send(association).await.map_err(Lost::Again)?;
    let offset = match Control::receive(association).await.map_err(Lost::Again)? {
        Control::From { offset } if offset <= offer.size => offset,
        Control::Refused { why } => return Err(Lost::ForGood(Failure::Run(format!("refused: {why}")))),
        other => return Err(Lost::ForGood(Failure::Run(format!("the receiver said {other:?}")))),
    };
    let unreadable =
        |error: &dyn std::error::Error| Lost::ForGood(failed(&offer.path.display().to_string())(error));
    let mut file = File::open(offer.path).map_err(|e| unreadable(&e))?;
    file.seek(SeekFrom::Start(offset)).map_err(|e| unreadable(&e))?;
    bar.set_position(offset);
    let mut left = offer.size - offset;
    while left > 0 {
        let mut piece = vec![0; left.min(PIECE as u64) as usize];
        file.read_exact(&mut piece).map_err(|e| unreadable(&e))?;
        left -= piece.len() as u64;
        summary.sent += piece.len() as u64;
        let data = Bytes::from(piece);
        let len = data.len() as u64;
        association.send_bytes(DATA, data).await.map_err(|e| Lost::Again(failed("sending")(&e)))?;
        bar.inc(len);
    }
    match Control::receive(association).await.map_err(Lost::Again)? {
        Control::Done => Ok(()),
        Control::Refused { why } => Err(Lost::ForGood(Failure::Run(format!("refused: {why}")))),
        other => Err(Lost::ForGood(Failure::Run(format!("the receiver said {other:?}")))),
    }
}
