//! A host's thread: its endpoints, its TCP connections and their applications, all in one runtime in the
//! host's namespace.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use msctp::{ENCAPSULATION_PORT, Endpoint, EndpointOptions};
use msctp_emu::take_priority;
use msctp_sim::real_stacks::{Call, SctpJob, Step, TcpJob};
use msctp_sim::scenario::Side;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use crate::alarm::PRIORITY;
use crate::sctp::{Door, SctpEnd};
use crate::stage::Stage;
use crate::{sctp, tcp};

/// Disables the metrics that the kernel's TCP keeps between connections.
const NO_MEMORY: (&str, &str) = ("tcp_no_metrics_save", "1");

/// The jobs of a host.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    pub(crate) sctp: Vec<SctpJob>,
    pub(crate) tcp: Vec<TcpJob>,
}

/// Runs a host's jobs until the end, in the host's namespace.
pub(crate) fn run(jobs: Jobs, stage: &Stage) {
    let _ = take_priority(PRIORITY);
    let done = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| e.to_string())
        .and_then(|runtime| LocalSet::new().block_on(&runtime, play(jobs, stage)));
    if let Err(why) = done {
        stage.fail(why);
    }
}

async fn play(jobs: Jobs, stage: &Stage) -> Result<(), String> {
    let Jobs { sctp, tcp } = jobs;
    set_up_tcp(&tcp)?;
    let mut ends = Vec::new();
    if !sctp.is_empty() {
        ends = begin_sctp(sctp, stage)?;
    }
    for job in tcp {
        tokio::task::spawn_local(tcp::run(job, stage.clone()));
    }
    stage.alarm().until(stage.end).await;
    ends.iter().for_each(|end| end.leave());
    Ok(())
}

/// Binds the endpoints of a host: one for outgoing associations, one for incoming ones.
fn begin_sctp(jobs: Vec<SctpJob>, stage: &Stage) -> Result<Vec<Rc<SctpEnd>>, String> {
    let mut ends = Vec::new();
    let (clients, servers): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.side == Side::Client);
    if !clients.is_empty() {
        let endpoint = bind(&clients, 0)?;
        for job in clients {
            let (caller, door) = oneshot::channel();
            let end = SctpEnd::new(&job, endpoint.clone(), stage);
            let door = Door { arrives: door, call: Some((caller, endpoint.clone())) };
            tokio::task::spawn_local(sctp::run(Rc::clone(&end), job, door));
            ends.push(end);
        }
    }
    if !servers.is_empty() {
        let endpoint = bind(&servers, ENCAPSULATION_PORT)?;
        let mut waiting: BTreeMap<u16, Vec<(Vec<IpAddr>, oneshot::Sender<_>)>> = BTreeMap::new();
        for job in servers {
            let (host, port) = (&job.host, job.ports.1);
            if job.steps.iter().any(|(_, step)| matches!(step, Step::Call { call: Call::AddAddress(_), .. }))
            {
                return Err(format!("{host}: a server cannot add addresses on real sockets"));
            }
            if !waiting.contains_key(&port) {
                let (security, config) = sctp::secured(sctp::config(&job));
                endpoint.listen(port, security, config).map_err(|e| format!("{host}: {e}"))?;
            }
            let (caller, door) = oneshot::channel();
            waiting.entry(port).or_default().push((job.peer.clone(), caller));
            let end = SctpEnd::new(&job, endpoint.clone(), stage);
            let door = Door { arrives: door, call: None };
            tokio::task::spawn_local(sctp::run(Rc::clone(&end), job, door));
            ends.push(end);
        }
        for (port, waiting) in waiting {
            tokio::task::spawn_local(answer(endpoint.clone(), port, waiting));
        }
    }
    Ok(ends)
}

/// Binds an endpoint with a socket for every address that its associations have or will have.
fn bind(jobs: &[SctpJob], port: u16) -> Result<Endpoint, String> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for job in jobs {
        let added = job.steps.iter().filter_map(|(_, step)| match step {
            Step::Call { call: Call::AddAddress(address), .. } => Some(*address),
            _ => None,
        });
        for address in job.own.iter().copied().chain(added) {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    let options = EndpointOptions::new(addresses.into_iter().map(|address| SocketAddr::new(address, port)));
    Endpoint::bind(&options).map_err(|e| format!("{}: {e}", jobs[0].host))
}

/// Passes accepted associations to their tasks, by the address of the client.
async fn answer(
    endpoint: Endpoint,
    port: u16,
    mut waiting: Vec<(Vec<IpAddr>, oneshot::Sender<msctp::Association>)>,
) {
    while let Some(association) = endpoint.accept(port).await {
        let from: Vec<IpAddr> = association.paths().iter().map(|path| path.at.remote).collect();
        let whose = waiting.iter().position(|(peer, _)| peer.iter().any(|address| from.contains(address)));
        if let Some(number) = whose {
            // Its task has ended only if the run was cancelled.
            let _ = waiting.remove(number).1.send(association);
        }
    }
}

/// Configures the kernel's TCP in this namespace as the profiles require.
fn set_up_tcp(jobs: &[TcpJob]) -> Result<(), String> {
    let Some(first) = jobs.first() else { return Ok(()) };
    let mut settings = tcp::settings(&first.config);
    if let Some(other) = jobs.iter().find(|job| tcp::settings(&job.config) != settings) {
        return Err(format!(
            "tcp \"{}\" and \"{}\" have one host and so one kernel: want the same recovery, timestamps and receive_buffer",
            first.spec.name, other.spec.name
        ));
    }
    settings.push((NO_MEMORY.0, NO_MEMORY.1.to_owned()));
    for (name, value) in settings {
        let path = format!("/proc/sys/net/ipv4/{name}");
        std::fs::write(&path, value).map_err(|e| format!("{path}: {e}"))?;
    }
    Ok(())
}
