//! `msctp perf`: measures throughput, paths and handover gaps between two hosts, as iperf3 does for TCP.

mod measure;
mod wire;

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use msctp::{Association, OutMessage, Reliability};
use msctp_qlog::Vantage;
use msctp_terminal::{Failure, print};
use msctp_units::Span;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::measure::{Interval, Meter, Report, Side, cpu_seconds, head, row};
use self::wire::Message;
use super::options::{NetArgs, PeerArgs, parse_timeout};
use super::qlog::QlogArgs;
use super::security::{ClientsArgs, Secured};
use super::server::Server;
use super::service::{CLIENT_GONE, CONTROL, DATA, END_TIMEOUT, Service, drain};
use super::{Open, block_on, failed, moves};

/// The longest measurement: a day.
const MAX_SECONDS: u64 = 86_400;

/// Maximum time to wait after a measurement for the peer's acknowledgments.
const LATE: Duration = Duration::from_secs(1);

/// Maximum time without data from a live peer during a measurement.
const SILENT: Duration = Duration::from_secs(60);

/// Measure an association's throughput and watch its paths, as iperf3 does for TCP.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp perf --server                            serve one measurement after another
  msctp perf 192.0.2.1 --time 30                 send for 30 s
  msctp perf 192.0.2.1 --reverse --len 1024      receive messages of 1 KiB
  msctp perf 192.0.2.1 --json | jq .receiver.goodput_bps

A server measures with one client at a time and rejects others as busy. Without --only-clients, --code or --psk, anyone who \
can reach its port can measure with it. Everything is encrypted unless --insecure says otherwise.

Exit codes: 0 measured, 1 failed or server busy, 2 invalid arguments, 130 Ctrl-C, 143 SIGTERM.")]
pub(crate) struct Args {
    /// Serve measurements.
    #[arg(long, conflicts_with_all = ["time", "len", "reverse", "interval", "json"])]
    server: bool,
    #[command(flatten)]
    peer: OptionalPeer,
    /// Duration of the measurement in seconds, 1 to 86400.
    #[arg(long, short, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=MAX_SECONDS))]
    time: u64,
    /// Length of each message in bytes, 1 to 1048576.
    #[arg(long, short, value_name = "BYTES", default_value_t = 16_384)]
    len: usize,
    /// Measure the direction from the server to this host.
    #[arg(long, short = 'R')]
    reverse: bool,
    /// Seconds between printed lines, 0.05 to 3600.
    #[arg(long, short, value_name = "SECONDS", default_value_t = 1.0)]
    interval: f64,
    /// Print the result as JSON, instead of the lines.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    clients: ClientsArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    qlog: QlogArgs,
}

/// The server to measure with; absent when this command is the server.
#[derive(clap::Args)]
#[group(skip)]
pub(crate) struct OptionalPeer {
    /// Server, such as 192.0.2.1, [2001:db8::1]:9899 or example.net; UDP port 9899 by default.
    #[arg(value_name = "HOST[:PORT]", required_unless_present = "server", conflicts_with = "server")]
    host: Option<String>,
    /// Time to wait for a network, and for the server's answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = parse_timeout)]
    timeout: u64,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if !(1..=1 << 20).contains(&args.len) {
        return Err(Failure::Input(format!("--len {}: want 1 to 1048576 bytes", args.len)));
    }
    if !(0.05..=3600.0).contains(&args.interval) {
        return Err(Failure::Input(format!("--interval {}: want 0.05 to 3600 seconds", args.interval)));
    }
    let Some(host) = &args.peer.host else { return block_on(async |open| serve(args, open).await) };
    args.clients.check_unused()?;
    let peer = PeerArgs::new(host, args.peer.timeout);
    block_on(async |open| {
        open.log(&args.qlog, Vantage::Client)?;
        let (_endpoint, association) = peer.connect(&args.net, open, None).await?;
        let report = measure(args, &association, peer.timeout()).await?;
        print(|out| {
            if args.json {
                serde_json::to_writer_pretty(&mut *out, &report)?;
                writeln!(out)
            } else {
                report.write(out)
            }
        })?;
        // Both ends have the result, so a failed shutdown is ignored.
        let _ = tokio::time::timeout(END_TIMEOUT, association.shutdown()).await;
        Ok(())
    })
}

async fn serve(args: &Args, open: &Open) -> Result<(), Failure> {
    open.log(&args.qlog, Vantage::Server)?;
    let server = Server::start(&args.net, &args.clients, open, Some(CLIENT_GONE), "measure with it")?;
    let mut running: Option<Running> = None;
    let mut rejected = JoinSet::new();
    loop {
        tokio::select! {
            () = over(&mut running) => running = None,
            accepted = server.accept() => {
                let association = accepted?;
                if running.is_some() {
                    rejected.spawn(reject(association));
                    while rejected.try_join_next().is_some() {}
                } else {
                    running = Some(Box::pin(serve_one(association)));
                }
            }
        }
    }
}

/// The measurement in progress.
type Running = Pin<Box<dyn Future<Output = ()>>>;

/// Runs the measurement until it ends.
async fn over(running: &mut Option<Running>) {
    match running {
        Some(running) => running.await,
        None => std::future::pending().await,
    }
}

/// Rejects a client because another measurement is in progress.
async fn reject(association: Association) {
    if Service::Perf.receive_first::<Message>(&association).await.is_ok() {
        let _ = Service::Perf.send(&association, &Message::Busy).await;
        drain(&association, "busy with another measurement").await;
    }
}

async fn serve_one(association: Association) {
    match serve_measurement(&association).await {
        Ok(()) => drain(&association, "the measurement has ended").await,
        Err(failure) => {
            eprintln!("msctp: {failure}");
            association.abort(failure.to_string());
        }
    }
}

fn unexpected(from: &str, want: &str) -> Failure {
    Failure::Run(format!("unexpected message from the {from}: want {want}"))
}

async fn serve_measurement(association: &Association) -> Result<(), Failure> {
    let Message::Start { milliseconds, len, reverse } = Service::Perf.receive_first(association).await?
    else {
        return Err(unexpected("client", "the parameters of a measurement"));
    };
    Service::Perf.send(association, &Message::Ready).await?;
    let mut quiet = |_: &Interval| {};
    let time = Duration::from_millis(milliseconds.min(MAX_SECONDS * 1000));
    let side = if reverse {
        let len = len.clamp(1, 1 << 20);
        send(association, time, len, &mut Meter::new(Duration::MAX), &mut quiet).await?
    } else {
        receive(association, time, &mut Meter::new(Duration::MAX), &mut quiet).await?
    };
    Service::Perf.send(association, &Message::Result { side }).await
}

/// Runs a measurement as the client. Returns the results of both ends.
async fn measure(args: &Args, association: &Association, patience: Duration) -> Result<Report, Failure> {
    let start = Message::Start { milliseconds: args.time * 1000, len: args.len, reverse: args.reverse };
    Service::Perf.send(association, &start).await?;
    match Service::Perf.receive_answer(association, patience).await? {
        Message::Ready => {}
        Message::Busy => {
            let why = "the server is busy with another measurement: try again later";
            return Err(Failure::Run(why.to_owned()));
        }
        _ => return Err(unexpected("server", "its consent to the measurement")),
    }
    let mut meter = Meter::new(Duration::from_secs_f64(args.interval));
    let mut intervals = Vec::new();
    let json = args.json;
    if !json {
        println!("{}", head());
    }
    let mut note = |interval: &Interval| {
        if !json {
            println!("{}", row(interval));
        }
        intervals.push(interval.clone());
    };
    let watched = association.clone();
    let watch = tokio::spawn(async move {
        moves::report_moves(&watched, |text| {
            if !json {
                eprintln!("  {text}");
            }
        })
        .await
    });
    let time = Duration::from_secs(args.time);
    let ours = if args.reverse {
        receive(association, time, &mut meter, &mut note).await?
    } else {
        send(association, time, args.len, &mut meter, &mut note).await?
    };
    let Message::Result { side: theirs } = Service::Perf.receive_answer(association, patience).await? else {
        return Err(unexpected("server", "the result of the measurement"));
    };
    watch.abort();
    let (sender, receiver) = if args.reverse { (theirs, ours) } else { (ours, theirs) };
    let secured = Secured::of(args.net.security(), association);
    Ok(Report { len: args.len, reverse: args.reverse, secured, sender, receiver, intervals })
}

/// Sends data for `time`, then the end message. Data that is not delivered by then is abandoned: a send
/// buffer may hold many seconds of it.
async fn send(
    association: &Association,
    time: Duration,
    len: usize,
    meter: &mut Meter,
    note: &mut impl FnMut(&Interval),
) -> Result<Side, Failure> {
    let acked = || association.stats().map_or(0, |stats| stats.bytes_acked);
    let data = Bytes::from(vec![0x5a; len]);
    let (begin, cpu, before) = (Instant::now(), cpu_seconds(), acked());
    loop {
        let left = time.saturating_sub(begin.elapsed());
        if left.is_zero() {
            break;
        }
        let lifetime = Span::from_nanos(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX));
        let reliability = Reliability::Lifetime(lifetime);
        let message = OutMessage { stream: DATA, data: data.clone(), reliability, ..OutMessage::default() };
        // If the send buffer is full, wake up for the next line or the end.
        if let Ok(sent) = tokio::time::timeout(left.min(meter.left()), association.send(message)).await {
            sent.map_err(|e| failed("sending")(&e))?;
        }
        if let Some(interval) = meter.tick(association, acked()) {
            note(&interval);
        }
    }
    let bytes = acked().saturating_sub(before);
    let side =
        Side { bytes, seconds: time.as_secs_f64(), cpu_seconds: cpu_seconds() - cpu, longest_gap: None };
    // Streams are not ordered with each other, so flush before the end message.
    if let Ok(flushed) = tokio::time::timeout(LATE, association.flush()).await {
        flushed.map_err(|e| failed("sending")(&e))?;
    }
    Service::Perf.send(association, &Message::End).await?;
    Ok(side)
}

/// Receives data until the end message. Counts that of `time` since the first.
async fn receive(
    association: &Association,
    time: Duration,
    meter: &mut Meter,
    note: &mut impl FnMut(&Interval),
) -> Result<Side, Failure> {
    let (mut begin, cpu) = (None, cpu_seconds());
    let (mut bytes, mut last, mut gap) = (0_u64, Instant::now(), Duration::ZERO);
    loop {
        let left = meter.left().min(SILENT.saturating_sub(last.elapsed()));
        if let Ok(message) = tokio::time::timeout(left, association.recv()).await {
            let message = message.map_err(|e| failed("receiving")(&e))?;
            let message = message.ok_or_else(|| {
                Failure::Run("the sender ended the association before the end of the measurement".to_owned())
            })?;
            if message.stream == CONTROL {
                let Message::End = Service::Perf.read(&message)? else {
                    return Err(unexpected("sender", "data or the end of the measurement"));
                };
                break;
            }
            let now = Instant::now();
            let first = *begin.get_or_insert(now);
            if now - first <= time {
                gap = gap.max(if now > first { now - last } else { Duration::ZERO });
                bytes += message.data.len() as u64;
            }
            last = now;
        } else if last.elapsed() >= SILENT {
            let why = format!("no data from the sender for {} s, the maximum", SILENT.as_secs());
            return Err(Failure::Run(why));
        }
        if let Some(interval) = meter.tick(association, bytes) {
            note(&interval);
        }
    }
    let seconds = begin.map_or(0.0, |begin| begin.elapsed().min(time).as_secs_f64());
    let longest_gap = Some(gap.as_secs_f64());
    Ok(Side { bytes, seconds, cpu_seconds: cpu_seconds() - cpu, longest_gap })
}
