//! [`Emulation`]: a scenario's hosts and links, set up and running.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, TryLockError};
use std::thread::JoinHandle;

use msctp_sim::scenario::{Do, NodeKind, Scenario, ScenarioError, When};
use msctp_sim::{OutsideHosts, Simulation};
use msctp_units::Time;
use nix::errno::Errno;
use nix::sys::eventfd::EventFd;

use crate::Clock;
use crate::arrivals::{Arrivals, Change};
use crate::batch::Batch;
use crate::host::{Helpers, Host};
use crate::lateness::Lateness;
use crate::plan::{self, Mptcp};
use crate::pump::{Line, Pump};
use crate::summary::{Strays, Summary};

pub use crate::pump::Done;

/// How a scenario is emulated.
#[derive(Default)]
pub struct Options {
    /// Seed of the links' random streams; `None`: the scenario's.
    pub seed: Option<u64>,
    /// Configure the kernel's MPTCP endpoints in this mode; `None`: leave MPTCP alone.
    pub mptcp: Option<Mptcp>,
    /// UDP packets from or to this port are SCTP's (RFC 6951): links count them, and compare them with their
    /// MTU, without the UDP header, as the simulator's own; devices take 8 bytes more.
    pub encapsulation: Option<u16>,
    /// The kernel's initial TCP window in packets, for hosts that have another than the kernel's own.
    pub tcp_initial_windows: BTreeMap<String, u32>,
    /// Capture what these links deliver (none: all of them) as pcapng.
    pub capture: Option<(Vec<String>, Box<dyn Write + Send>)>,
    /// Receives each action when it is executed.
    pub events: Option<Sender<Done>>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("seed", &self.seed)
            .field("mptcp", &self.mptcp)
            .finish_non_exhaustive()
    }
}

/// Why an emulation could not be set up or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A host could not be set up.
    #[error("cannot set up host \"{host}\": {error}")]
    Host {
        /// Its name.
        host: String,
        /// The cause.
        error: io::Error,
    },
    /// Anything else.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// A running emulation of a scenario's hosts and links. Dropping it removes everything that it created.
#[derive(Debug)]
pub struct Emulation {
    // Before the hosts: the devices it holds are theirs.
    pump: Option<JoinHandle<Result<Pump, Errno>>>,
    hosts: Vec<Host>,
    stop: Arc<EventFd>,
    clock: Clock,
    helpers: Helpers,
    failed: Receiver<String>,
    scenario: Scenario,
    seed: u64,
}

impl Emulation {
    /// Sets up the hosts of a scenario from [`Scenario::with_outside_hosts`], and starts its clock.
    ///
    /// # Errors
    /// The scenario is invalid, or a system call fails. Nothing is left behind.
    pub fn start(scenario: &Scenario, options: Options) -> Result<Self, Error> {
        let mut world = OutsideHosts::new(scenario, options.seed)?;
        if let Some(port) = options.encapsulation {
            world.count_without_udp_header(port);
        }
        if let Some((links, out)) = options.capture {
            world.simulation().capture(&links, out)?;
        }
        let helpers = Helpers::default();
        let (failures, failed) = channel();
        let changes = changes(scenario);
        let (mut hosts, mut lines, mut arrivals) = (Vec::new(), Vec::new(), Vec::new());
        for node in scenario.nodes.iter().filter(|node| node.kind == NodeKind::Host) {
            let failure = |error| Error::Host { host: node.name.clone(), error };
            let host = Host::start(&node.name, &helpers).map_err(failure)?;
            let mut devices = plan::devices(&world, &node.name, options.mptcp);
            for device in &mut devices {
                device.mtu += if options.encapsulation.is_some() { UDP_HEADER } else { 0 };
                device.initial_window = options.tcp_initial_windows.get(&node.name).copied();
            }
            let tuns: Result<Vec<_>, _> = devices.iter().map(|device| host.tun(&device.name)).collect();
            let tuns = tuns.map_err(failure)?;
            host.ip(plan::set_up(&devices, options.mptcp)).map_err(failure)?;
            for (device, tun) in devices.into_iter().zip(tuns) {
                let ip = Box::new(host.ip_later(failures.clone()));
                lines.push(Line { tun, device, host: hosts.len(), ip });
            }
            arrivals.push(Arrivals::new(&node.name, &changes));
            hosts.push(host);
        }
        // As the simulator numbers them.
        lines.sort_by_key(|line| line.device.interface);
        let stop = Arc::new(EventFd::new().map_err(io::Error::from)?);
        let clock = Clock::start();
        let to_tell: VecDeque<_> = changes.into_iter().map(|change| (change.at, change.what)).collect();
        let pump = Pump {
            world,
            batch: Batch::default(),
            lines,
            arrivals,
            clock,
            end: Time::ZERO + scenario.duration,
            stop: Arc::clone(&stop),
            events: options.events,
            lateness: Lateness::new(),
            strays: Strays::default(),
            real_time: false,
            ended: Time::ZERO,
            to_tell,
        };
        let pump = std::thread::Builder::new().name("pump".to_owned()).spawn(|| pump.run())?;
        let seed = options.seed.unwrap_or(scenario.seed);
        let (pump, scenario) = (Some(pump), scenario.clone());
        Ok(Self { pump, hosts, stop, clock, helpers, failed, scenario, seed })
    }

    /// Returns the clock of the scenario.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the scenario.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns the host of this name.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.name() == name)
    }

    /// Returns all hosts, in the order of the scenario.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Tells whether the scenario has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.pump.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Returns the failures in hosts since the last call.
    pub fn failures(&self) -> impl Iterator<Item = String> + '_ {
        self.failed.try_iter()
    }

    /// Runs `reap`, which may wait for any child, while no thread here waits for a process of its own.
    pub fn while_no_helper_runs(&self, reap: impl FnOnce()) {
        match self.helpers.try_lock() {
            Ok(_guard) => reap(),
            Err(TryLockError::Poisoned(_)) => reap(),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    /// Stops the links. Returns the summary, and the simulation with its recordings.
    ///
    /// # Errors
    /// The capture cannot be completed.
    pub fn finish(mut self) -> Result<(Summary, Simulation), Error> {
        let pump = self.stop_pump().ok_or_else(|| io::Error::other("the pump has panicked"))?;
        let mut pump = pump.map_err(io::Error::from)?;
        pump.world.simulation().finish()?;
        let simulated = pump.world.simulation().summary();
        let summary = Summary {
            scenario: self.scenario.name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            seed: self.seed,
            duration: pump.ended.as_secs_f64(),
            lateness: pump.lateness.quantiles(),
            real_time: pump.real_time,
            hosts: pump.arrivals.into_iter().map(|host| host.summary(pump.ended)).collect(),
            links: simulated.links,
            cbr: simulated.cbr,
            strays: pump.strays,
        };
        Ok((summary, pump.world.into_simulation()))
    }

    fn stop_pump(&mut self) -> Option<Result<Pump, Errno>> {
        let _ = self.stop.write(1);
        self.pump.take()?.join().ok()
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        // Before the hosts' threads, which end when the last sender of jobs is gone.
        drop(self.stop_pump());
    }
}

/// RFC 768.
const UDP_HEADER: u32 = 8;

/// Returns the scheduled changes of links and addresses, in order of time.
fn changes(scenario: &Scenario) -> Vec<Change> {
    let mut changes: Vec<Change> = scenario
        .actions
        .iter()
        .filter_map(|action| {
            let When::At(at) = action.when else { return None };
            let what = match &action.what {
                Do::LinkUp { link }
                | Do::LinkDown { link }
                | Do::SetLink { link, .. }
                | Do::RadioHandover { link, .. } => link.clone(),
                Do::AddressUp { address } | Do::AddressDown { address } => address.to_string(),
                _ => return None,
            };
            Some(Change { at: Time::ZERO + at, what: format!("{} {what}", action.what.word()) })
        })
        .collect();
    changes.sort_by_key(|change| change.at);
    changes
}
