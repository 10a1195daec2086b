//! One drive under one sender: the scenario, and what is measured of it.

use std::fmt::Write;

use msctp_sim::scenario::Scenario;
use msctp_sim::{Series, Summary};
use msctp_units::{Span, Time};
use serde::{Deserialize, Serialize};

use super::drive::{BIN, Drive, STANDSTILL};
use crate::world::{Simulator, World};

/// The sender, and the networks that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sender {
    /// One network, with the mobile profile.
    Single { network: usize },
    /// One network, with the mobile profile and CUBIC.
    SingleCubic { network: usize },
    /// Both networks under the handover policy of this index in the registry.
    Both { policy: usize, first: usize },
    /// Both networks at once (`paths = "aggregate"`), with the mobile profile.
    Aggregate,
}

/// The data that the server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// As fast as possible.
    Bulk,
    /// A video of 20 Mbps: 60 messages a second.
    Video,
}

/// The results of one sender on one drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Run {
    /// User bytes delivered.
    pub(super) bytes: u64,
    /// Longest time without a delivery, in seconds.
    pub(super) gap: f64,
    /// Share of the time below 1 Mbps, in intervals of 0.5 s.
    pub(super) below: f64,
    /// Bytes of IP packets towards the mobile, over each network.
    pub(super) on: [u64; 2],
    /// The 95th percentile of the time in which the longer of the two queues empties, in seconds.
    pub(super) queueing: f64,
    /// User bytes delivered in each interval of 0.5 s.
    pub(super) delivered: Vec<u64>,
    /// The 95th percentile of the message delay of a video of 20 Mbps, in seconds. A message that was not
    /// delivered counts with the time until the end of the drive.
    pub(super) video: f64,
}

/// Returns the scenario of a drive: the mobile downloads from a server with one address over the drive's
/// networks.
///
/// The links have half of the drive's ping as delay each way and queues of 500 packets; the uplink has the
/// downlink's rate. `controller` replaces that of the profile.
fn scenario(drive: &Drive, sender: Sender, controller: Option<&str>, load: Load) -> String {
    let own = controller.map(|name| format!("controller = \"{name}\"\n")).unwrap_or_default();
    let (networks, options): (Vec<usize>, String) = match sender {
        Sender::Single { network } => (vec![network], own),
        Sender::SingleCubic { network } => (vec![network], "controller = \"cubic\"\n".to_owned()),
        Sender::Both { policy, first } => {
            let name = msctp_lab_schemes::policies::policies()[policy].name;
            (vec![first, 1 - first], format!("{own}handover_policy = \"{name}\"\n"))
        }
        Sender::Aggregate => (vec![0, 1], format!("{own}paths = \"aggregate\"\n")),
    };
    let probes = match load {
        Load::Bulk => "throughput = \"500ms\"\nqueues = \"100ms\"",
        Load::Video => "messages = true",
    };
    let seconds = drive.duration();
    let mut text = format!(
        "name = \"drive\"\nduration = \"{}ms\"\nseed = 1\n\n\
         [probes]\n{probes}\n\n\
         [sctp.sender]\nprofile = \"mobile\"\npmtu_discovery = false\n{options}\n",
        (seconds * 1000.0).round()
    );
    for (name, kind) in [("mobile", "host"), ("server", "host"), ("r", "router")] {
        let _ = writeln!(text, "[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
    }
    text.push_str(
        "[[link]]\nname = \"core\"\na = \"server\"\nb = \"r\"\naddress_a = \"10.0.0.1\"\n\
         rate = \"100Gbps\"\ndelay = \"10us\"\n\n",
    );
    for &network in &networks {
        let _ = writeln!(
            text,
            "[[link]]\nname = \"{name}\"\ntype = \"trace\"\na = \"r\"\nb = \"mobile\"\naddress_b = \"{}\"\n\
             trace = \"drive\"\ncolumn = \"{name}\"\ndelay = \"{}us\"\nqueue = {{ packets = 500 }}\n",
            address(network),
            drive.delays[network].as_nanos() / 1000,
            name = drive.networks[network],
        );
    }
    let addresses: Vec<String> = networks.iter().map(|&n| format!("\"{}\"", address(n))).collect();
    let app = match load {
        Load::Bulk => "type = \"bulk\"",
        Load::Video => "type = \"video\"\nsize = 41667\ninterval = \"16667us\"",
    };
    let _ = writeln!(
        text,
        "[[association]]\nname = \"download\"\nclient = \"mobile\"\nserver = \"server\"\nsctp = \"sender\"\n\
         client_addresses = [{}]\nserver_addresses = [\"10.0.0.1\"]\n\n\
         [[app]]\nname = \"app\"\n{app}\nassociation = \"download\"\nfrom = \"server\"",
        addresses.join(", ")
    );
    text
}

fn address(network: usize) -> String {
    format!("10.0.{}.2", network + 1)
}

/// Simulates a drive: a bulk transfer, then a video.
///
/// # Errors
/// The scenario is invalid, or the association ended.
pub(super) fn run(drive: &Drive, sender: Sender, controller: Option<&str>) -> Result<Run, String> {
    let open = |_: &str| Ok(drive.table.clone());
    let simulate = |load| {
        let text = scenario(drive, sender, controller, load);
        let scenario = Scenario::from_toml_and_files(&text, "drive.toml", &[], &open)
            .map_err(|error| error.to_string())?;
        let (summary, series) = Simulator.carry_out(&scenario, 1)?;
        match summary.associations.first().and_then(|association| association.ended.clone()) {
            Some(why) => Err(format!("the association ended: {why}")),
            None => Ok((summary, series)),
        }
    };
    let (_, video) = simulate(Load::Video)?;
    let (summary, series) = simulate(Load::Bulk)?;
    measure(drive, &summary, &series, late(&video, summary.duration))
}

/// Returns the 95th percentile of the message delay. A message that was not delivered counts until `end`.
fn late(series: &Series, end: f64) -> f64 {
    let end = Time::ZERO + Span::from_nanos((end * 1e9) as u64);
    let messages = series.messages.iter().flat_map(|app| app.generated.iter().zip(&app.delivered));
    let mut times: Vec<f64> = messages
        .map(|(generated, delivered)| delivered.unwrap_or(end).since(*generated).as_secs_f64())
        .collect();
    super::percentile(&mut times, 95)
}

fn measure(drive: &Drive, summary: &Summary, series: &Series, video: f64) -> Result<Run, String> {
    let flow = &summary.associations.first().ok_or("no association")?.to_client;
    let delivered = series.delivery.iter().find(|delivery| delivery.side == "client");
    let bins = delivered.map(|delivery| delivery.total.sums.clone()).unwrap_or_default();
    let below = bins.iter().filter(|&&bytes| (bytes as f64) * 8.0 < STANDSTILL * BIN).count();
    let on = [0, 1].map(|network| {
        let name = format!("{}/forward", drive.networks[network]);
        summary.links.iter().find(|link| link.name == name).map_or(0, |link| link.delivered_bytes)
    });
    Ok(Run {
        bytes: flow.bytes,
        gap: flow.longest_gap.max(summary.duration - flow.last.unwrap_or(0.0)),
        below: below as f64 / bins.len().max(1) as f64,
        on,
        queueing: queueing(drive, series),
        delivered: bins,
        video,
    })
}

fn queueing(drive: &Drive, series: &Series) -> f64 {
    let mut samples: Vec<f64> = Vec::new();
    for network in 0..2 {
        let name = format!("{}/forward", drive.networks[network]);
        let Some(queue) = series.queues.iter().find(|queue| queue.direction == name) else { continue };
        for (number, (at, &bytes)) in queue.at.iter().zip(&queue.bytes).enumerate() {
            let delay = drive.drain(network, at.since(Time::ZERO).as_secs_f64(), bytes);
            match samples.get_mut(number) {
                Some(sample) => *sample = sample.max(delay),
                None => samples.push(delay),
            }
        }
    }
    super::percentile(&mut samples, 95)
}
