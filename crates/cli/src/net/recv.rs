//! `msctp recv`: files from `msctp send`.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use msctp::{Association, Endpoint};
use serde::Serialize;
use tokio::time::Instant;

use super::options::NetArgs;
use super::serve::announce;
use super::transfer::{Control, DATA, Hash, plain_name};
use super::{block_on, failed};
use crate::Failure;
use crate::running::print;

/// Receive files from `msctp send` into a folder. A file appears under its name when its hash is right.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp recv                          into this folder, one file after another, until Ctrl-C
  msctp recv --out downloads --once   one file

Exit codes: 0 received (with --once), 1 a transfer failed (with --once) or the port is taken, 2 wrong arguments.")]
pub(crate) struct Args {
    /// The folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// End after the first file.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    net: NetArgs,
    /// Print what came as JSON, one line for each file.
    #[arg(long)]
    json: bool,
}

/// A file that came.
#[derive(Serialize)]
struct Received {
    file: PathBuf,
    bytes: u64,
    /// Of these, what an earlier attempt had brought.
    resumed: u64,
    seconds: f64,
    /// The longest time in which no data arrived, in seconds.
    longest_gap: f64,
    sha256: String,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if !args.out.is_dir() {
        return Err(Failure::Input(format!("{}: want a folder that is there", args.out.display())));
    }
    // Before somebody sends, not after.
    if let Err(error) = can_write(&args.out) {
        return Err(Failure::Input(format!("{}: cannot write there: {error}", args.out.display())));
    }
    block_on(async {
        let endpoint = args.net.server()?;
        announce(&endpoint, args.net.sctp_port());
        let (results, mut finished) = tokio::sync::mpsc::channel(16);
        let accepting =
            tokio::spawn(accept(endpoint.clone(), args.net.sctp_port(), args.out.clone(), results));
        while let Some(result) = finished.recv().await {
            match result {
                Ok(received) => {
                    report(args, &received)?;
                    if args.once {
                        accepting.abort();
                        endpoint.stop_listening(args.net.sctp_port());
                        endpoint.idle().await;
                        return Ok(());
                    }
                }
                // A sender that comes again goes on where this one stopped, so even with --once this is not the end.
                Err(Failure::Run(why) | Failure::Input(why)) => eprintln!("msctp: {why}"),
            }
        }
        Err(Failure::Run("the endpoint is gone".to_owned()))
    })
}

/// Writes an empty file into a folder and takes it away again.
fn can_write(folder: &Path) -> std::io::Result<()> {
    let file = folder.join(format!(".msctp-{}", std::process::id()));
    std::fs::File::create(&file)?;
    std::fs::remove_file(file)
}

/// Transfers under way, by the file's hash.
type Running = Arc<Mutex<BTreeMap<String, (Association, Arc<tokio::sync::Mutex<()>>)>>>;

/// Takes associations, each in a task of its own: one whose sender is gone must not keep it waiting when it comes again.
async fn accept(
    endpoint: Endpoint,
    sctp_port: u16,
    out: PathBuf,
    results: tokio::sync::mpsc::Sender<Result<Received, Failure>>,
) {
    let running = Running::default();
    while let Some(association) = endpoint.accept(sctp_port).await {
        let (running, out, results) = (Arc::clone(&running), out.clone(), results.clone());
        tokio::spawn(async move {
            let result = take(&association, &out, &running).await;
            // Nobody waits any more when one file was enough.
            let _ = results.send(result).await;
        });
    }
}

fn report(args: &Args, received: &Received) -> Result<(), Failure> {
    let new = received.bytes - received.resumed;
    let rate = new as f64 * 8.0 / received.seconds.max(1e-9) / 1e6;
    print(|out| {
        if args.json {
            serde_json::to_writer(&mut *out, received)?;
            return writeln!(out);
        }
        writeln!(
            out,
            "{}: {} bytes, {rate:.1} Mbps, longest gap {:.3} s, SHA-256 {}",
            received.file.display(),
            received.bytes,
            received.longest_gap,
            received.sha256
        )
    })
}

/// One file.
async fn take(association: &Association, out: &Path, running: &Running) -> Result<Received, Failure> {
    let Control::Offer { name, size, sha256 } = Control::receive(association).await? else {
        return refuse(association, "an offer comes first").await;
    };
    let hex = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Some(name) = plain_name(&name).filter(|_| hex) else {
        return refuse(association, "not a plain file name with its SHA-256").await;
    };
    let file = out.join(name);
    if file.exists() && Hash::of_file(&file).map(|(hash, _)| hash.text()).ok().as_ref() != Some(&sha256) {
        return refuse(association, "another file of that name is there").await;
    }
    let turn = Arc::new(tokio::sync::Mutex::new(()));
    let _ours = Arc::clone(&turn).lock_owned().await;
    let earlier = running
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(sha256.clone(), (association.clone(), turn));
    if let Some((earlier, turn)) = earlier {
        // The sender came again: what is left of its last attempt ends first.
        earlier.abort("replaced by a new attempt");
        let _ended = turn.lock().await;
    }
    let part = out.join(format!(".{}.part", &sha256[..32]));
    let begin = Instant::now();
    let (resumed, longest_gap) = if file.exists() {
        (size, Duration::ZERO)
    } else {
        match fill(association, &part, size, &sha256).await {
            Ok(filled) => filled,
            Err(Fault::Lost(failure)) => return Err(failure),
            Err(Fault::Here(why)) => return refuse(association, &why).await,
        }
    };
    if resumed == size && file.exists() {
        Control::From { offset: size }.send(association).await?;
    } else if let Err(error) = std::fs::rename(&part, &file) {
        return refuse(association, &format!("{}: {error}", file.display())).await;
    }
    Control::Done.send(association).await?;
    let seconds = begin.elapsed().as_secs_f64();
    // The sender shuts down when it has read that.
    association.closed().await.map_err(|e| failed("after the file")(&e))?;
    let longest_gap = longest_gap.as_secs_f64();
    Ok(Received { file, bytes: size, resumed, seconds, longest_gap, sha256 })
}

async fn refuse(association: &Association, why: &str) -> Result<Received, Failure> {
    Control::Refused { why: why.to_owned() }.send(association).await?;
    // The sender ends it when it has read why.
    let _ = association.closed().await;
    Err(Failure::Run(format!("refused: {why}")))
}

enum Fault {
    /// The association.
    Lost(Failure),
    /// The sender should know.
    Here(String),
}

/// Completes the part of the file that is there; how long it was, and the longest gap.
async fn fill(
    association: &Association,
    part: &Path,
    size: u64,
    sha256: &str,
) -> Result<(u64, Duration), Fault> {
    let here = |error: std::io::Error| Fault::Here(format!("{}: {error}", part.display()));
    let (mut hash, mut len) =
        if part.exists() { Hash::of_file(part).map_err(here)? } else { Default::default() };
    if len > size {
        std::fs::remove_file(part).map_err(here)?;
        (hash, len) = Default::default();
    }
    let mut file: File = OpenOptions::new().create(true).append(true).open(part).map_err(here)?;
    let resumed = len;
    Control::From { offset: len }.send(association).await.map_err(Fault::Lost)?;
    let (mut last, mut longest_gap) = (None, Duration::ZERO);
    while len < size {
        let message = association.recv().await.map_err(|e| Fault::Lost(failed("receiving")(&e)))?;
        let message =
            message.ok_or_else(|| Fault::Lost(Failure::Run("the sender ended the transfer".to_owned())))?;
        if message.stream != DATA || message.data.len() as u64 > size - len {
            return Err(Fault::Here("more or other data than was offered".to_owned()));
        }
        let now = Instant::now();
        longest_gap = last.map_or(longest_gap, |last| longest_gap.max(now - last));
        last = Some(now);
        file.write_all(&message.data).map_err(here)?;
        hash.update(&message.data);
        len += message.data.len() as u64;
    }
    if hash.text() != sha256 {
        std::fs::remove_file(part).map_err(here)?;
        return Err(Fault::Here("the hash is wrong: send it again from the start".to_owned()));
    }
    Ok((resumed, longest_gap))
}
