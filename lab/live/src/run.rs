//! [`run`] carries out a scenario in real time.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{fmt, thread};

use msctp::ENCAPSULATION_PORT;
use msctp::congestion::InitialWindow;
use msctp_emu::Emulation;
use msctp_sim::real_stacks::{StackEvent, TcpJob};
use msctp_sim::scenario::{Scenario, ScenarioError, Side};
use msctp_sim::{RealStackRun, Series, Summary};
use msctp_units::Time;

use crate::host::{self, Jobs};
use crate::stage::{Note, Stage};

/// Interval at which to check whether the run is over or cancelled.
const TICK: Duration = Duration::from_millis(20);

/// Options of a run.
pub struct Options<'a> {
    /// Seed of the links' random streams; `None` for the scenario's.
    pub seed: Option<u64>,
    /// Captures the packets that these links deliver as pcapng; an empty list stands for all links.
    pub capture: Option<(Vec<String>, Box<dyn Write + Send>)>,
    /// Write the associations' events as a qlog file with this title (docs/events.md). The scenario must set
    /// `probes.trace`.
    pub qlog: Option<(String, Box<dyn Write + Send>)>,
    /// Cancels the run when it becomes true.
    pub cancel: &'a AtomicBool,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// Errors of a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario is invalid, or cannot run on real stacks.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The emulation failed.
    #[error(transparent)]
    Emulator(#[from] msctp_emu::Error),
    /// The qlog could not be written.
    #[error("cannot write the qlog: {0}")]
    Qlog(io::Error),
    /// A host failed to execute the scenario.
    #[error("{0}")]
    Host(String),
    /// The run was cancelled.
    #[error("interrupted")]
    Interrupted,
}

/// The results of a run.
#[derive(Debug)]
pub struct Live {
    /// Summary in the form of a simulation's. Values that only a simulation knows are zero.
    pub summary: Summary,
    /// The time series of a simulation.
    pub series: Series,
    /// The emulator's summary, with the packets' lateness.
    pub emulation: msctp_emu::Summary,
}

/// Runs a scenario in real time. The emulator provides links, routers, mobility and constant-rate sources.
/// The `msctp` crate provides the associations, and the kernel TCP. [`msctp_emu::need::check`] checks the
/// requirements. Several runs may execute at the same time.
///
/// # Errors
/// An [`Error`]. No process or namespace is left behind.
pub fn run(scenario: &Scenario, options: Options<'_>) -> Result<Live, Error> {
    let links = scenario.with_outside_hosts()?.scenario;
    let mut books = RealStackRun::new(scenario, options.seed)?;
    let (sctp, tcp) = (books.take_sctp(), books.take_tcp());
    if let Some((title, out)) = options.qlog {
        books.write_qlog(&title, out);
    }
    let emulator = msctp_emu::Options {
        seed: options.seed,
        capture: options.capture,
        encapsulation: Some(ENCAPSULATION_PORT),
        tcp_initial_windows: initial_windows(&tcp),
        ..msctp_emu::Options::default()
    };
    let mut jobs: BTreeMap<String, Jobs> = BTreeMap::new();
    for job in sctp {
        jobs.entry(job.host.clone()).or_default().sctp.push(job);
    }
    for job in tcp {
        jobs.entry(job.spec.node(job.side).to_owned()).or_default().tcp.push(job);
    }
    let emulation = Emulation::start(&links, emulator)?;
    let end = Time::ZERO + scenario.duration;
    let (notes, heard) = channel();
    let stage = Stage::new(emulation.clock(), end, notes).map_err(msctp_emu::Error::from)?;
    let mut threads = Vec::new();
    for (name, jobs) in jobs {
        let Some(host) = emulation.host(&name) else { continue };
        let (stage, name) = (stage.clone(), format!("stack {name}"));
        // A thread that is started in the host's namespace stays there.
        let thread =
            host.run(move || thread::Builder::new().name(name).spawn(move || host::run(jobs, &stage)));
        threads.push(thread.map_err(msctp_emu::Error::from)?);
    }
    drop(stage);
    let mut told: Vec<(Time, StackEvent)> = Vec::new();
    loop {
        for note in heard.try_iter() {
            match note {
                Note::StackEvent(at, what) => told.push((at, what)),
                Note::Failed(why) => return Err(Error::Host(why)),
            }
        }
        if let Some(failure) = emulation.failures().next() {
            return Err(Error::Host(failure));
        }
        if options.cancel.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        if emulation.is_over() {
            break;
        }
        thread::park_timeout(TICK);
    }
    for thread in threads {
        thread.join().map_err(|_| Error::Host("a host's thread has panicked".to_owned()))?;
    }
    told.extend(heard.try_iter().filter_map(|note| match note {
        Note::StackEvent(at, what) => Some((at, what)),
        Note::Failed(_) => None,
    }));
    let (emulation, _) = emulation.finish()?;
    // Tasks report one after another. The sort is stable, so that a task's reports of one moment stay in
    // order.
    told.sort_by_key(|(at, _)| *at);
    for (at, what) in told {
        let counters = matches!(what, StackEvent::Left { .. });
        if at <= end || counters {
            books.record(at.min(end), what);
        }
    }
    books.finish_qlog().map_err(Error::Qlog)?;
    let (summary, series) = books.finish(end, emulation.links.clone(), emulation.cbr.clone());
    Ok(Live { summary, series, emulation })
}

/// Returns TCP's initial windows by host, where profiles give them in packets.
fn initial_windows(jobs: &[TcpJob]) -> BTreeMap<String, u32> {
    let mut windows = BTreeMap::new();
    for job in jobs {
        let packets = match job.config.initial_window {
            Some(InitialWindow::Packets(packets)) => Some(packets),
            Some(InitialWindow::Bytes(bytes)) => Some((bytes / u64::from(job.config.mss)).max(1)),
            // The kernel has its own (RFC 6928).
            Some(InitialWindow::Rfc9260) | None => None,
        };
        let host = match job.side {
            Side::Client => &job.spec.client,
            Side::Server => &job.spec.server,
        };
        windows.extend(packets.map(|packets| (host.clone(), packets as u32)));
    }
    windows
}
