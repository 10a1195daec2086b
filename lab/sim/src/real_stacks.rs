//! [`RealStackRun`]: a scenario whose associations, TCP connections and applications run on real stacks in
//! the emulator's hosts. It provides the jobs of each end ([`RealStackRun::take_sctp`],
//! [`RealStackRun::take_tcp`]) and records the reported events ([`RealStackRun::record`]). Summary and series
//! come from the code that a run in virtual time uses, and so does a qlog ([`RealStackRun::write_qlog`]).
//!
//! The applications are the simulator's own. May not touch clocks or sockets: the caller supplies the time.

use std::io::{self, Write};
use std::net::IpAddr;

use msctp_lab_schemes::classifiers::Tally;
use msctp_proto::{AssociationStats, Config, OutMessage, PathAddr, PathStats, PrimaryCause, TraceEvent};
use msctp_units::{Span, Time};

use crate::action::Act;
use crate::app::source::Source;
use crate::event::Target;
use crate::event_lines::Source as TraceSource;
use crate::line::{Handover, Last};
use crate::scenario::{AppKind, Scenario, ScenarioError, Side, TcpSpec, When};
use crate::series::Series;
use crate::simulation::{App, Simulation};
use crate::summary::{CbrSummary, LinkSummary, Summary};

pub use crate::line::path_to;

pub use crate::action::Call;

/// An application that sends messages over an association. The caller supplies the time.
#[derive(Debug)]
pub struct Sender {
    app: u32,
    source: Source,
}

impl Sender {
    /// Returns the application's number in the scenario.
    #[must_use]
    pub fn app(&self) -> u32 {
        self.app
    }

    /// Starts or stops the source at `now`.
    pub fn set_running(&mut self, now: Time, start: bool) {
        self.source.set_running(now, start);
    }

    /// Returns the time at which to call [`generate`](Self::generate) for the next message; `None` for never.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.source.due()
    }

    /// Generates the message that is due at `due`.
    pub fn generate(&mut self, due: Time) {
        self.source.generate(due);
    }

    /// Returns the next message to send, if there is one. Its payload protocol identifier is the
    /// application's number.
    #[must_use]
    pub fn next(&self) -> Option<OutMessage> {
        self.source.next(self.app)
    }

    /// Records that the association accepted the offered message of `len` bytes.
    pub fn accepted(&mut self, len: usize) {
        self.source.accepted(len);
    }
}

/// The job of one end of an association.
#[derive(Debug)]
pub struct SctpJob {
    /// Number of the association.
    pub association: usize,
    /// The side of the association that this end is.
    pub side: Side,
    /// The host's name.
    pub host: String,
    /// The end's own addresses at the start.
    pub own: Vec<IpAddr>,
    /// The peer's addresses at the start.
    pub peer: Vec<IpAddr>,
    /// The SCTP ports of client and server.
    pub ports: (u16, u16),
    /// The end's options.
    pub config: Config,
    /// The applications that send.
    pub senders: Vec<Sender>,
    /// Steps of the end, in order of time. A client's first one is [`Call::Connect`].
    pub steps: Vec<(Time, Step)>,
}

/// The job of one end of a TCP connection.
#[derive(Debug)]
pub struct TcpJob {
    /// Number of the connection.
    pub connection: usize,
    /// Which end.
    pub side: Side,
    /// The connection.
    pub spec: TcpSpec,
    /// The client's port.
    pub client_port: u16,
    /// The end's options, in the form of the laboratory's TCP.
    pub config: msctp_lab_tcp::Config,
    /// The sending application, and its total number of bytes (`None` if endless).
    pub sender: Option<(u32, Option<u64>)>,
    /// Starts and stops of the application.
    pub steps: Vec<(Time, Step)>,
}

/// A task of an end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// A call on the association, for the action of this number.
    Call {
        /// Number of the action, for [`StackEvent::Acted`].
        action: usize,
        /// The call.
        call: Call,
    },
    /// The link below a local address goes up or down.
    Link {
        /// The address.
        local: IpAddr,
        /// True if the link goes up.
        up: bool,
    },
    /// An application starts or stops.
    App {
        /// Number of the application.
        app: u32,
        /// True if the application starts.
        start: bool,
    },
}

/// A reported event.
#[derive(Clone, Debug)]
pub enum StackEvent {
    /// The client considers the association up.
    Established {
        /// Number of the association.
        association: usize,
    },
    /// A message of a video was generated.
    Generated {
        /// Number of the application.
        app: u32,
    },
    /// An application that sends over an association was started or stopped.
    Running {
        /// Number of the application.
        app: u32,
        /// True if the application was started.
        start: bool,
    },
    /// A message was delivered to one end's application.
    Delivered {
        /// Number of the association.
        association: usize,
        /// The end.
        side: Side,
        /// Number of the application that sent it.
        app: u32,
        /// First bytes of the message (the message number of a video).
        head: [u8; 4],
        /// Length of the message in bytes.
        len: usize,
    },
    /// One end's primary path changed.
    Primary {
        /// Number of the association.
        association: usize,
        /// The end.
        side: Side,
        /// The path.
        to: PathAddr,
        /// The cause of the change.
        cause: PrimaryCause,
    },
    /// An event of the association's trace.
    Trace {
        /// Number of the association.
        association: usize,
        /// The end.
        side: Side,
        /// The event, in the scenario's time.
        event: Box<TraceEvent>,
    },
    /// The counters of one end, at its end.
    Left {
        /// Number of the association.
        association: usize,
        /// The end.
        side: Side,
        /// Counters of the association.
        stats: Box<AssociationStats>,
        /// Paths of the association.
        paths: Vec<PathStats>,
        /// The reason, if the association ended before the run.
        why: Option<String>,
    },
    /// One end of a TCP connection is up.
    TcpEstablished {
        /// Number of the connection.
        connection: usize,
        /// The end.
        side: Side,
    },
    /// Bytes were delivered at an end of a TCP connection.
    TcpDelivered {
        /// Number of the connection.
        connection: usize,
        /// The end.
        side: Side,
        /// Number of bytes.
        bytes: u64,
    },
    /// One end of a TCP connection ended.
    TcpEnded {
        /// Number of the connection.
        connection: usize,
        /// The end.
        side: Side,
        /// The reason.
        why: String,
    },
    /// An action was executed or rejected.
    Acted {
        /// Number of the action.
        action: usize,
        /// The reason of the rejection.
        refused: Option<String>,
    },
}

/// A scenario that runs on real stacks: the jobs of its ends, and the record of the run.
#[derive(Debug)]
pub struct RealStackRun {
    simulation: Simulation,
    sctp: Vec<SctpJob>,
    tcp: Vec<TcpJob>,
}

impl RealStackRun {
    /// Prepares a run. `seed` replaces the scenario's own.
    ///
    /// # Errors
    /// The scenario is invalid, or has parts that run in virtual time only: event-driven actions, limited
    /// readers.
    pub fn new(scenario: &Scenario, seed: Option<u64>) -> Result<Self, ScenarioError> {
        refuse(scenario)?;
        let mut simulation = Simulation::new(scenario, seed)?;
        let mut sctp: Vec<SctpJob> = Vec::new();
        let mut tcp: Vec<TcpJob> = Vec::new();
        for side in [Side::Client, Side::Server] {
            sctp.extend(
                (0..scenario.associations.len()).map(|number| sctp_job(&mut simulation, number, side)),
            );
            tcp.extend((0..scenario.tcp.len()).map(|number| tcp_job(&simulation, number, side)));
        }
        while let Some((at, target)) = simulation.events.pop(simulation.end) {
            let Target::Action(number) = target else { continue };
            let action = &mut simulation.plan.actions[number as usize];
            match action.act {
                Act::Association { association, side, call } => {
                    let job = sctp.iter_mut().find(|job| (job.association, job.side) == (association, side));
                    if let Some(job) = job {
                        job.steps.push((at, Step::Call { action: number as usize, call }));
                    }
                }
                Act::App { app, start } => {
                    let step = (at, Step::App { app: app as u32, start });
                    match simulation.apps[app] {
                        App::Bulk { association, from } | App::Video { association, from } => {
                            let own = |job: &&mut SctpJob| (job.association, job.side) == (association, from);
                            sctp.iter_mut().find(own).into_iter().for_each(|job| job.steps.push(step));
                        }
                        App::Tcp { connection, side } => {
                            let own = |job: &&mut TcpJob| (job.connection, job.side) == (connection, side);
                            tcp.iter_mut().find(own).into_iter().for_each(|job| job.steps.push(step));
                        }
                        // These run inside the emulator.
                        App::Cbr(_) | App::Reader { .. } => {}
                    }
                }
                // The emulator applies changes of links and addresses; hosts are notified of links.
                Act::LinkState { link, up } => {
                    action.done.get_or_insert(at);
                    for interface in simulation.interfaces.iter().filter(|interface| interface.link == link) {
                        let host = &scenario.nodes[interface.node].name;
                        let step = (at, Step::Link { local: interface.address, up });
                        sctp.iter_mut().filter(|job| job.host == *host).for_each(|job| job.steps.push(step));
                    }
                }
                Act::SetLink { .. }
                | Act::Address { .. }
                | Act::Coding { .. }
                | Act::Middlebox { .. }
                | Act::Watch => {
                    action.done.get_or_insert(at);
                }
            }
        }
        Ok(Self { simulation, sctp, tcp })
    }

    /// Takes the jobs of the associations' ends.
    pub fn take_sctp(&mut self) -> Vec<SctpJob> {
        std::mem::take(&mut self.sctp)
    }

    /// Takes the jobs of the TCP connections' ends.
    pub fn take_tcp(&mut self) -> Vec<TcpJob> {
        std::mem::take(&mut self.tcp)
    }

    /// Starts to write the recorded traces as a qlog file with this title (docs/events.md). The scenario must
    /// set `probes.trace`.
    pub fn write_qlog(&mut self, title: &str, out: Box<dyn Write + Send>) {
        self.simulation.write_qlog(title, out);
    }

    /// Ends the qlog. Call it after the last event.
    ///
    /// # Errors
    /// The first error met in writing.
    pub fn finish_qlog(&mut self) -> io::Result<()> {
        self.simulation.finish_qlog()
    }

    /// Records an event at `at`, which must not be before that of the last call.
    pub fn record(&mut self, at: Time, what: StackEvent) {
        let Simulation { now, lines, tcp, plan, scenario, apps, observer, .. } = &mut self.simulation;
        debug_assert!(at >= *now, "time went back");
        *now = at;
        match what {
            StackEvent::Established { association } => {
                lines[association].established.get_or_insert(at);
            }
            StackEvent::Generated { app } | StackEvent::Running { app, .. } => {
                let (App::Bulk { association, from } | App::Video { association, from }) = apps[app as usize]
                else {
                    return;
                };
                let mut sources = lines[association].end_mut(from).sources.iter_mut();
                let source = sources.find(|(number, _)| *number == app).map(|(_, source)| source);
                match (what, source) {
                    (StackEvent::Running { start, .. }, Some(source)) => source.set_running(at, start),
                    (_, Some(Source::Video(video))) => video.was_generated(at),
                    _ => {}
                }
            }
            StackEvent::Delivered { association, side, app, head, len } => {
                lines[association].was_given(at, side, app, &head, len);
            }
            StackEvent::Primary { association, side, to, cause } => {
                let handover = Handover { at, to, cause, gap: Span::ZERO };
                lines[association].end_mut(side).handovers.push(handover);
            }
            StackEvent::Trace { association, side, event } => {
                let name = &scenario.associations[association].name;
                let source = TraceSource { number: association, association: name, side: side.word() };
                observer.event(source, &event);
                if let Some(trace) = &mut lines[association].end_mut(side).trace {
                    trace.add(*event, scenario.probes.chunks);
                }
            }
            StackEvent::Left { association, side, stats, paths, why } => {
                // The cause of a loss in a real network is unknown.
                let verdicts = Tally {
                    unknown_as_wireless: stats.verdicts.wireless,
                    unknown_as_congestion: stats.verdicts.congestion,
                    ..Tally::default()
                };
                lines[association].end_mut(side).ended = Some(Last { stats: *stats, paths, verdicts, why });
            }
            StackEvent::TcpEstablished { connection, side } => {
                tcp[connection].end_mut(side).established.get_or_insert(at);
            }
            StackEvent::TcpDelivered { connection, side, bytes } => {
                let line = &mut tcp[connection];
                line.end_mut(side).account(at, bytes);
                let total = line.end(side).received.bytes;
                line.end_mut(side.other()).was_delivered(at, total);
            }
            StackEvent::TcpEnded { connection, side, why } => {
                tcp[connection].end_mut(side).ended.get_or_insert(why);
            }
            StackEvent::Acted { action, refused } => {
                let action = &mut plan.actions[action];
                // The peer's answer follows the call.
                action.done.get_or_insert(at);
                action.refused = action.refused.take().or(refused);
            }
        }
    }

    /// Completes the record at `end`. Takes over the emulator's counters of links and constant-rate sources.
    #[must_use]
    pub fn finish(mut self, end: Time, links: Vec<LinkSummary>, cbr: Vec<CbrSummary>) -> (Summary, Series) {
        let simulation = &mut self.simulation;
        simulation.now = end;
        for action in &mut simulation.plan.actions {
            action.done = action.done.filter(|at| *at <= end);
        }
        let packets = links.iter().map(|link| link.delivered).sum();
        let summary = Summary { links, cbr, packets, ..simulation.summary() };
        (summary, self.simulation.into_series())
    }
}

fn sctp_job(simulation: &mut Simulation, number: usize, side: Side) -> SctpJob {
    let Simulation { scenario, lines, ports, seed, .. } = simulation;
    let spec = &scenario.associations[number];
    let (host, profile) = match side {
        Side::Client => (&spec.client, &spec.client_profile),
        Side::Server => (&spec.server, &spec.server_profile),
    };
    let (own, peer) = match side {
        Side::Client => (&spec.client_addresses, &spec.server_addresses),
        Side::Server => (&spec.server_addresses, &spec.client_addresses),
    };
    // The record has its own sources, which follow those of the hosts.
    let sources = lines[number].end(side).sources.iter();
    let senders = sources.map(|(app, _)| Sender {
        app: *app,
        source: crate::construct::source(&scenario.apps[*app as usize], *seed).expect("it has one already"),
    });
    SctpJob {
        association: number,
        side,
        host: host.clone(),
        own: own.clone(),
        peer: peer.clone(),
        ports: ports[number],
        config: scenario.config(profile.as_deref()),
        senders: senders.collect(),
        steps: Vec::new(),
    }
}

fn tcp_job(simulation: &Simulation, number: usize, side: Side) -> TcpJob {
    let (spec, line) = (&simulation.scenario.tcp[number], &simulation.tcp[number]);
    let profile = match side {
        Side::Client => &spec.client_profile,
        Side::Server => &spec.server_profile,
    };
    TcpJob {
        connection: number,
        side,
        spec: spec.clone(),
        client_port: line.client_port,
        config: simulation.scenario.tcp_config(profile.as_deref(), spec.client_address.is_ipv6()),
        sender: line.end(side).source.as_ref().map(|source| (source.app, source.total)),
        steps: Vec::new(),
    }
}

/// Rejects the parts of a scenario that real stacks cannot run.
fn refuse(scenario: &Scenario) -> Result<(), ScenarioError> {
    let refused = |key: String, message: &str| {
        Err(ScenarioError { file: None, line: None, key, message: message.to_owned() })
    };
    for app in &scenario.apps {
        if matches!(app.kind, AppKind::Reader { .. } | AppKind::TcpReader { .. }) {
            let message = "an application on a real stack cannot limit its reading rate: remove this reader";
            return refused(format!("app.{}.type", app.name), message);
        }
    }
    for (number, action) in scenario.actions.iter().enumerate() {
        if matches!(action.when, When::After { .. }) {
            let message = "real stacks cannot trigger an action by an event: want a time, at = \"20s\"";
            return refused(format!("action.{number}.after"), message);
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "real_stacks_tests.rs"]
mod tests;
