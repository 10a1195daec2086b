//! `msctp recv`: receives files from `msctp send`.

mod store;
mod turns;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use msctp::Association;
use msctp_qlog::Vantage;
use msctp_terminal::system::{cannot_write, os_error};
use msctp_terminal::{Failure, counted, print};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::store::{Part, Store, There};
use self::turns::{NoTurn, Turn, Turns};
use super::failures::Failures;
use super::options::NetArgs;
use super::qlog::QlogArgs;
use super::security::{ClientsArgs, Secured, SecurityArgs};
use super::server::Server;
use super::service::{CLIENT_GONE, DATA, END_TIMEOUT, Service, drain};
use super::sources::Sources;
use super::status::StatusArgs;
use super::text::escape;
use super::transfer::{Control, check_name};
use super::{block_on, failed};

/// Receive files from `msctp send` into a folder.
///
/// A file appears under its name when it is complete and its hash is right. Existing files are never
/// replaced.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp recv                          receive into this folder until Ctrl-C
  msctp recv --out downloads --once   receive one file
  msctp recv --code                   from one sender, who has the code that it prints

An interrupted transfer is kept in the folder as .HASH.KEY.part, with the sender's key, and the same `msctp send` resumes it.

Everything is encrypted, and the receiver prints the fingerprint of its key. Without --only-clients, --code or --psk, anyone who can \
reach the port can send files.

Exit codes: 0 received (with --once), 1 folder not writable (with --once) or port in use, 2 invalid arguments, 130 Ctrl-C, \
143 SIGTERM.")]
pub(crate) struct Args {
    /// Store files in this folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Exit after the first complete file.
    #[arg(long)]
    once: bool,
    /// Print each received file as a line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    clients: ClientsArgs,
    #[command(flatten)]
    status: StatusArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    qlog: QlogArgs,
}

/// A received file.
#[derive(Serialize)]
struct Received {
    file: PathBuf,
    bytes: u64,
    /// Bytes of these from earlier attempts.
    resumed: u64,
    seconds: f64,
    /// The longest delivery gap, in seconds.
    longest_gap: f64,
    sha256: String,
    #[serde(flatten)]
    secured: Option<Secured>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if !args.out.is_dir() {
        return Err(Failure::Input(format!("--out {}: want a folder that exists", args.out.display())));
    }
    let store = Store::new(&args.out);
    // Reported before a sender connects.
    if let Err(error) = store.check_writable() {
        return Err(Failure::Input(cannot_write(format!("--out {}", args.out.display()), &error)));
    }
    block_on(async |open| {
        open.log(&args.qlog, Vantage::Server)?;
        args.status.serve(open, "recv", args.net.security()).await?;
        let server = Server::start(&args.net, &args.clients, open, Some(CLIENT_GONE), "send files here")?;
        let (results, mut finished) = mpsc::channel(16);
        // Dropping it at the end cancels all transfers.
        let mut accepting = JoinSet::new();
        let security = args.net.security().clone();
        accepting.spawn(accept(server.clone(), security, store, results));
        while let Some((from, result, failures)) = finished.recv().await {
            match result {
                Ok(received) => {
                    report(args, &received)?;
                    if args.once {
                        end(&server).await;
                        return Ok(());
                    }
                }
                Err(Fault::Ended(failure)) => return Err(failure),
                Err(Fault::Storage(why)) if args.once => {
                    end(&server).await;
                    return Err(Failure::Run(why));
                }
                // The sender may reconnect and resume, so even --once waits for it.
                Err(fault) => {
                    let (reported, omitted) = failures.map_or((true, 0), |failures| failures.count());
                    if omitted > 0 {
                        eprintln!("msctp: {from}: {omitted} further transfers failed within a second");
                    }
                    if reported {
                        eprintln!("msctp: {from}: {fault}");
                    }
                }
            }
        }
        Err(Failure::Run("the endpoint has ended".to_owned()))
    })
}

/// Waits until the sender has read the result.
async fn end(server: &Server) {
    server.stop();
    let _ = tokio::time::timeout(END_TIMEOUT, server.endpoint().idle()).await;
}

/// The peer of an association, its result, and the failures of its source.
type Outcome = (String, Result<Received, Fault>, Option<Arc<Failures>>);

/// Maximum number of senders, and of those from one IPv4 address or IPv6 /64 prefix.
const SENDERS: usize = 1024;
const SENDERS_OF_SOURCE: usize = SENDERS / 4;

/// Accepts associations and serves each in its own task, so that a sender that reconnects does not wait for
/// its dead association.
async fn accept(server: Server, security: SecurityArgs, store: Store, results: mpsc::Sender<Outcome>) {
    let turns = Turns::default();
    let sources = Sources::new(SENDERS, SENDERS_OF_SOURCE);
    let mut tasks = JoinSet::new();
    loop {
        let incoming = match server.incoming().await {
            Ok(incoming) => incoming,
            Err(failure) => {
                let _ = results.send((String::new(), Err(Fault::Ended(failure)), None)).await;
                return;
            }
        };
        let from = server.source(incoming.remote_addresses().first());
        let Ok(place) = sources.take(from, Failures::default) else {
            server.monitor().note_refused("too many senders");
            incoming.refuse("this receiver has the maximum number of senders: try again later");
            continue;
        };
        let association = incoming.accept();
        let secured = Secured::of(&security, &association);
        let monitor = server.monitor().clone();
        let (turns, store, results) = (turns.clone(), store.clone(), results.clone());
        tasks.spawn(async move {
            let from =
                association.paths().first().map_or("peer".to_owned(), |path| path.at.remote.to_string());
            let result = take(&association, &store, &turns).await;
            let result = result.map(|received| Received { secured: Some(secured), ..received });
            if matches!(result, Err(Fault::Refused(_))) {
                monitor.note_refused("file");
            }
            let last = match &result {
                Ok(_) => "the file is there".to_owned(),
                Err(fault) => fault.to_string(),
            };
            if matches!(result, Err(Fault::Refused(_) | Fault::Storage(_))) {
                let _ = Service::Files.send(&association, &Control::Refused { why: last.clone() }).await;
            }
            // The receiver is gone if one file was enough.
            let _ = results.send((from, result, Some(Arc::clone(place.shared())))).await;
            drain(&association, &last).await;
            place.end().await;
        });
        while tasks.try_join_next().is_some() {}
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
        let resumed = match received.resumed {
            0 => String::new(),
            resumed => format!(" ({resumed} of them from an earlier attempt)"),
        };
        writeln!(
            out,
            "{}: {}{resumed}, {rate:.1} Mbps, longest gap {:.3} s, SHA-256 {}",
            escape(&received.file.display().to_string()),
            counted(received.bytes, "byte"),
            received.longest_gap,
            received.sha256
        )
    })
}

/// Why a file was not received.
#[derive(Debug)]
enum Fault {
    /// No more senders are accepted.
    Ended(Failure),
    /// The association was lost, or the peer does not follow the protocol.
    Lost(Failure),
    /// The receiver rejects the offer, and sends the reason.
    Refused(String),
    /// The folder is not writable; the receiver sends the reason.
    Storage(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ended(failure) | Self::Lost(failure) => failure.fmt(f),
            Self::Refused(why) | Self::Storage(why) => f.write_str(why),
        }
    }
}

/// An offered file.
struct Offer {
    /// Name of the file, escaped for printing.
    name: String,
    file: PathBuf,
    size: u64,
    sha256: String,
    part: PathBuf,
}

/// Receives one file.
async fn take(association: &Association, store: &Store, turns: &Turns) -> Result<Received, Fault> {
    let Control::Offer { name, size, sha256 } =
        Service::Files.receive_first(association).await.map_err(Fault::Lost)?
    else {
        return Err(Fault::Refused("unexpected first message: want the offer of a file".to_owned()));
    };
    check_name(&name).map_err(|why| Fault::Refused(format!("{}: {why}", escape(&name))))?;
    let hex = sha256.len() == 64 && sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !hex {
        let why = "the offer has no SHA-256 of 64 hexadecimal digits";
        return Err(Fault::Refused(format!("{}: {why}", escape(&name))));
    }
    let part = store.part(&sha256, association.peer_identity().map(|peer| peer.fingerprint));
    let offer = Offer { file: store.file(&name), name: escape(&name), size, sha256, part };
    let begin = Instant::now();
    if store.must_hash(&offer.file, size) {
        wait(association, "comparing the offer with the existing file of that name").await?;
    }
    let mut there = compare(store, &offer).await?;
    let mut filled = (size, Duration::ZERO);
    if there == There::Nothing {
        if turns.is_taken(&offer.part) {
            wait(association, "another sender is sending the same file").await?;
        }
        let turn = turns.take(&offer.part, association).await.map_err(|why| match why {
            NoTurn::Full => Fault::Refused("too many senders of the same file: try again later".to_owned()),
            NoTurn::Over(Err(error)) => Fault::Lost(failed("receiving")(&error)),
            NoTurn::Over(Ok(())) => Fault::Lost(Failure::Run("the sender ended the transfer".to_owned())),
        })?;
        // That sender may have completed it.
        there = compare(store, &offer).await?;
        if there == There::Nothing {
            filled = fill(association, store, turn, &offer).await?;
        }
    }
    if there == There::Same {
        sync(store, &offer).await?;
        send(association, &Control::From { offset: size }).await?;
    }
    send(association, &Control::Done).await?;
    let (resumed, longest_gap) = filled;
    let seconds = begin.elapsed().as_secs_f64();
    let longest_gap = longest_gap.as_secs_f64();
    Ok(Received {
        file: offer.file,
        bytes: size,
        resumed,
        seconds,
        longest_gap,
        sha256: offer.sha256,
        secured: None,
    })
}

async fn send(association: &Association, control: &Control) -> Result<(), Fault> {
    Service::Files.send(association, control).await.map_err(Fault::Lost)
}

/// Tells the sender to wait for the answer.
async fn wait(association: &Association, why: &str) -> Result<(), Fault> {
    send(association, &Control::Wait { why: why.to_owned() }).await
}

/// Compares the offer with an existing file of its name. Rejects the offer if that is another file.
async fn compare(store: &Store, offer: &Offer) -> Result<There, Fault> {
    match store.compare(&offer.file, offer.size, &offer.sha256).await {
        There::Other => {
            Err(Fault::Refused(format!("another file has this name: rename one of them ({})", offer.name)))
        }
        there => Ok(there),
    }
}

/// Writes the existing file to the disk: its sender may delete its own copy.
async fn sync(store: &Store, offer: &Offer) -> Result<(), Fault> {
    let (store, file) = (store.clone(), offer.file.clone());
    let synced = blocking(move || store.sync(&file)).await;
    synced.map_err(|error| Fault::Storage(cannot_write(&offer.name, &error)))
}

/// Completes the part and renames it. Returns the length that the part had before, and the longest gap.
async fn fill(
    association: &Association,
    store: &Store,
    turn: Turn,
    offer: &Offer,
) -> Result<(u64, Duration), Fault> {
    let path = offer.part.clone();
    if std::fs::metadata(&path).is_ok_and(|part| part.is_file() && part.len() > 0) {
        wait(association, "hashing the part from an earlier attempt").await?;
    }
    let (turn, size, opened) = (Arc::new(turn), offer.size, path.clone());
    let hashing = Arc::clone(&turn);
    let part = blocking(move || Part::open(opened, size, || hashing.progress())).await;
    let mut part = part.map_err(|error| Fault::Storage(cannot_write(path.display(), &error)))?;
    let mut resumed = part.len;
    let mut longest_gap = write(association, &turn, &mut part, offer).await?;
    if part.hash.text() != offer.sha256 && resumed > 0 {
        // The earlier attempt had other bytes.
        resumed = 0;
        part.clear().map_err(|error| Fault::Storage(cannot_write(path.display(), &error)))?;
        longest_gap = write(association, &turn, &mut part, offer).await?;
    }
    let discard = |why: String| {
        let _ = std::fs::remove_file(&part.path);
        Fault::Refused(why)
    };
    if part.hash.text() != offer.sha256 {
        let why = "the SHA-256 of the received file is wrong: run the same command again, which starts from the \
                   beginning";
        return Err(discard(why.to_owned()));
    }
    match publish(store, &turn, &part, offer).await {
        Ok(()) => Ok((resumed, longest_gap)),
        // Another transfer took the name.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match store.compare(&offer.file, offer.size, &offer.sha256).await {
                There::Same => {
                    sync(store, offer).await?;
                    let _ = std::fs::remove_file(&part.path);
                    Ok((resumed, longest_gap))
                }
                _ => Err(discard(format!(
                    "another file took this name during the transfer: rename one of them ({})",
                    offer.name
                ))),
            }
        }
        Err(error) => Err(Fault::Storage(format!(
            "cannot rename the complete file to {}: {}; it is in {}",
            offer.name,
            os_error(&error),
            part.path.display()
        ))),
    }
}

/// Runs file operations on a thread of their own, so that no other transfer waits.
async fn blocking<T: Send + 'static>(run: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(run).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// Interval at which a transfer whose file is written to the disk records progress.
const WRITING: Duration = Duration::from_secs(1);

/// Writes the part to the disk and renames it. A transfer whose disk is slow does not count as stalled.
async fn publish(store: &Store, turn: &Turn, part: &Part, offer: &Offer) -> io::Result<()> {
    let (store, path, file) = (store.clone(), part.path.clone(), offer.file.clone());
    let mut published = std::pin::pin!(blocking(move || store.publish(&path, &file)));
    loop {
        turn.progress();
        if let Ok(result) = tokio::time::timeout(WRITING, &mut published).await {
            return result;
        }
    }
}

/// Requests and appends what the part lacks, and removes it if it stays empty. Returns the longest gap.
async fn write(
    association: &Association,
    turn: &Turn,
    part: &mut Part,
    offer: &Offer,
) -> Result<Duration, Fault> {
    let result = append(association, turn, part, offer).await;
    if result.is_err() {
        part.remove_if_empty();
    }
    result
}

/// Requests and appends what the part lacks. Returns the longest gap.
async fn append(
    association: &Association,
    turn: &Turn,
    part: &mut Part,
    offer: &Offer,
) -> Result<Duration, Fault> {
    let kept = |len: u64, path: &Path| match len {
        0 => String::new(),
        len => format!("; {len} of {} are kept in {}", counted(offer.size, "byte"), path.display()),
    };
    let lost = |why: &str, part: &Part| {
        let goes_on = if part.len > 0 { ": the same `msctp send`, without --code, resumes it" } else { "" };
        Fault::Lost(Failure::Run(format!("{}: {why}{}{goes_on}", offer.name, kept(part.len, &part.path))))
    };
    send(association, &Control::From { offset: part.len }).await?;
    let (mut last, mut longest_gap) = (None, Duration::ZERO);
    while part.len < offer.size {
        let message =
            association.recv().await.map_err(|e| lost(&failed("receiving")(&e).to_string(), part))?;
        let message = message.ok_or_else(|| lost("the sender ended the transfer", part))?;
        if message.stream != DATA || message.data.len() as u64 > offer.size - part.len {
            let why = "unexpected data: more than the offer has, or on another stream";
            return Err(Fault::Refused(why.to_owned()));
        }
        let now = Instant::now();
        longest_gap = last.map_or(longest_gap, |last| longest_gap.max(now - last));
        last = Some(now);
        if let Err(error) = part.file.write_all(&message.data) {
            // The hash does not include a partly written message.
            let _ = part.file.set_len(part.len);
            return Err(Fault::Storage(format!(
                "cannot write {}: {}{}: make room and send it again, or delete that file",
                offer.name,
                os_error(&error),
                kept(part.len, &part.path)
            )));
        }
        part.hash.update(&message.data);
        part.len += message.data.len() as u64;
        turn.progress();
    }
    Ok(longest_gap)
}
