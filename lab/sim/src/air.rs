//! [`Air`]: the cells of a scenario's wireless and cellular links, which directions of links are their ports,
//! and their wake-ups.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use msctp_congestion::classifier::Cause;
use msctp_link::cellular::CellularCell;
use msctp_link::wlan::{Cell, Channel, RadioLinkConfig, StationId, WlanLink};
use msctp_link::{
    Change, Delivery, LinkModel, LinkStats, LossProcess, Medium, Offer, Outcome, PortId, QueueLen,
    Unsupported,
};
use msctp_units::Time;

use crate::link_models::{self, loss_process};
use crate::losses::{self, Lost};
use crate::mobility::{Between, Track};
use crate::packet::{PacketId, PacketPool};
use crate::random;
use crate::scenario::{DirectionSpec, Fading, LinkSpec, Scenario, WlanSpec};

/// A direction of a link that is a port of a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AirPort {
    pub(crate) cell: u32,
    port: PortId,
}

/// The model of a cell.
#[derive(Debug)]
enum Shared {
    Wlan(Box<Cell<PacketId>>),
    Cellular(CellularCell<PacketId>),
}

/// A cell of the simulation.
#[derive(Debug)]
struct AirCell {
    cell: Shared,
    /// Link directions that are the cell's ports, by port.
    hops: Vec<u32>,
    /// Time of the earliest wake-up in the event queue; [`Time::MAX`] for none.
    wake: Time,
}

/// All cells.
#[derive(Debug, Default)]
pub(crate) struct Air {
    cells: Vec<AirCell>,
    /// The port of each link direction.
    ports: BTreeMap<usize, AirPort>,
}

/// Creates the channel of a wireless link, which draws from the streams `LABEL/loss` and `LABEL/fading`.
fn channel(spec: &WlanSpec, distance: Between, label: impl fmt::Display, seed: u64) -> Channel {
    let mut channel = Channel::clear(Box::new(distance)).with_loss(loss_process(&spec.loss, &label, seed));
    if let Some(radio) = spec.radio {
        channel = channel.with_radio(radio);
    }
    let stream = random::component_seed(seed, &format!("{label}/fading"));
    match spec.fading {
        None => channel,
        Some(Fading::PerFrame { slope }) => channel.with_fading_per_frame(slope, stream),
        Some(Fading::Pareto(fades)) => channel.with_fades(fades, stream),
    }
}

/// Returns the position of each node over time.
pub(crate) fn tracks(scenario: &Scenario) -> BTreeMap<&str, Arc<Track>> {
    let track = |node: &crate::scenario::NodeSpec| Arc::new(Track::new(node.position, &node.waypoints));
    scenario.nodes.iter().map(|node| (node.name.as_str(), track(node))).collect()
}

/// Creates a wireless direction with its own airtime.
pub(crate) fn unshared(
    spec: &WlanSpec,
    distance: Between,
    label: impl fmt::Display,
    seed: u64,
) -> Box<dyn LinkModel<PacketId>> {
    let channel = channel(spec, distance, &label, seed);
    let stream = random::component_seed(seed, &format!("{label}/backoff"));
    Box::new(WlanLink::new(spec.mac, spec.delay, spec.queue, channel, stream))
}

impl Shared {
    fn medium(&self) -> &dyn Medium<PacketId> {
        match self {
            Self::Wlan(cell) => cell.as_ref(),
            Self::Cellular(cell) => cell,
        }
    }

    fn medium_mut(&mut self) -> &mut dyn Medium<PacketId> {
        match self {
            Self::Wlan(cell) => cell.as_mut(),
            Self::Cellular(cell) => cell,
        }
    }
}

/// Key of a cell: type and name. A link without a named cell has its own cell.
type CellKey<'s> = (&'static str, bool, &'s str);

impl Air {
    /// Creates the cells of a scenario. Backoffs are drawn from the stream `cell/NAME/backoff`, the fading of
    /// cellular links from `cell/NAME/fading`; NAME is the link's if it has its own cell.
    pub(crate) fn new(scenario: &Scenario, tracks: &BTreeMap<&str, Arc<Track>>, seed: u64) -> Self {
        let mut air = Self::default();
        let mut cells: BTreeMap<CellKey<'_>, usize> = BTreeMap::new();
        let mut stations: BTreeMap<(usize, &str), StationId> = BTreeMap::new();
        for (number, link) in scenario.links.iter().enumerate() {
            let (kind, named) = match (&link.forward, &link.reverse) {
                (DirectionSpec::Wlan(forward), DirectionSpec::Wlan(_)) if forward.shared => {
                    ("wlan", &forward.cell)
                }
                (DirectionSpec::Cellular(forward), DirectionSpec::Cellular(_)) => ("cellular", &forward.cell),
                _ => continue,
            };
            let name = named.as_ref().unwrap_or(&link.name);
            let stream = |part: &str| random::component_seed(seed, &format!("cell/{name}/{part}"));
            let key = (kind, named.is_some(), name.as_str());
            let cell = *cells.entry(key).or_insert_with(|| {
                let cell = match &link.forward {
                    DirectionSpec::Cellular(spec) => {
                        Shared::Cellular(CellularCell::new(spec.config, stream("fading")))
                    }
                    DirectionSpec::Wlan(spec) => {
                        Shared::Wlan(Box::new(Cell::new(spec.mac, stream("backoff"))))
                    }
                    _ => unreachable!("only links of cells come here"),
                };
                air.cells.push(AirCell { cell, hops: Vec::new(), wake: Time::MAX });
                air.cells.len() - 1
            });
            let it = &mut air.cells[cell];
            let ports = match &mut it.cell {
                Shared::Wlan(wlan) => {
                    let ends = [link.a.as_str(), link.b.as_str()];
                    let ends =
                        ends.map(|node| *stations.entry((cell, node)).or_insert_with(|| wlan.add_station()));
                    radio_link(link, ends, tracks, seed).map(|config| wlan.add_link(config))
                }
                Shared::Cellular(cellular) => link_models::cellular(link, &between(link, tracks), seed)
                    .map(|ends| cellular.add_link(ends)),
            };
            for (way, port) in ports.into_iter().flatten().enumerate() {
                let hop = 2 * number + way;
                it.hops.push(hop as u32);
                air.ports.insert(hop, AirPort { cell: cell as u32, port });
            }
        }
        air
    }

    /// Returns the port of a direction of a link, if it is one.
    pub(crate) fn port(&self, hop: usize) -> Option<AirPort> {
        self.ports.get(&hop).copied()
    }

    fn cell(&self, port: AirPort) -> &dyn Medium<PacketId> {
        self.cells[port.cell as usize].cell.medium()
    }

    fn cell_mut(&mut self, port: AirPort) -> &mut dyn Medium<PacketId> {
        self.cells[port.cell as usize].cell.medium_mut()
    }

    pub(crate) fn offer(&mut self, now: Time, port: AirPort, id: PacketId, wire_len: u32) -> Offer<PacketId> {
        self.cell_mut(port).offer(now, port.port, id, wire_len)
    }

    pub(crate) fn is_up(&self, port: AirPort) -> bool {
        self.cell(port).is_up(port.port)
    }

    pub(crate) fn queue_len(&self, port: AirPort) -> QueueLen {
        self.cell(port).queue_len(port.port)
    }

    /// Returns the number of retransmitted frames in the port's cell.
    pub(crate) fn resent(&self, port: AirPort) -> u64 {
        self.cell(port).resent()
    }

    pub(crate) fn stats(&self, port: AirPort) -> &LinkStats {
        self.cell(port).stats(port.port)
    }

    /// Returns the receive power at the far end in mdBm; `None` if it is too weak or the link is down.
    pub(crate) fn receive_power(&self, now: Time, port: AirPort) -> Option<i32> {
        self.cell(port).receive_power(now, port.port)
    }

    /// Replaces the loss process. On a wireless link it loses single attempts in both directions, on a
    /// cellular link packets of the direction.
    pub(crate) fn set_loss(&mut self, port: AirPort, loss: Option<Box<dyn LossProcess>>) {
        self.cell_mut(port).set_loss(port.port, loss);
    }

    /// Changes one direction. In a wireless cell, up, down and the delay apply to both directions, and the
    /// rate applies to the cell.
    pub(crate) fn change(&mut self, now: Time, port: AirPort, change: Change) -> Result<(), Unsupported> {
        self.cell_mut(port).change(now, port.port, change)
    }

    /// Returns the next packet that has left a cell by `now`, with its link direction. Appends lost packets
    /// to `lost`.
    pub(crate) fn take(
        &mut self,
        now: Time,
        cell: u32,
        pool: &mut PacketPool,
        lost: &mut Lost,
    ) -> Option<(usize, PacketId)> {
        let it = &mut self.cells[cell as usize];
        while let Some((port, Delivery { packet, outcome, .. })) = it.cell.medium_mut().deliver(now) {
            match outcome {
                Outcome::Arrived | Outcome::Marked => return Some((it.hops[port.index()] as usize, packet)),
                Outcome::Lost(reason) => lost.lose(pool, packet, Some(losses::lost(reason, Cause::Wireless))),
            }
        }
        None
    }

    /// Returns the time at which to schedule the cell's next wake-up; `None` if one is scheduled by then.
    pub(crate) fn arm(&mut self, cell: u32) -> Option<Time> {
        let it = &mut self.cells[cell as usize];
        let next = it.cell.medium().next_delivery()?;
        if next >= it.wake {
            return None;
        }
        it.wake = next;
        Some(next)
    }

    /// Returns the time at which to schedule the next wake-up, after one was handled.
    pub(crate) fn rearm(&mut self, now: Time, cell: u32) -> Option<Time> {
        let it = &mut self.cells[cell as usize];
        if it.wake <= now {
            it.wake = Time::MAX;
        }
        self.arm(cell)
    }
}

/// Returns the parameters of a wireless link between two stations; `None` for links of other types.
fn radio_link(
    link: &LinkSpec,
    [a, b]: [StationId; 2],
    tracks: &BTreeMap<&str, Arc<Track>>,
    seed: u64,
) -> Option<RadioLinkConfig> {
    let (DirectionSpec::Wlan(forward), DirectionSpec::Wlan(reverse)) = (&link.forward, &link.reverse) else {
        return None;
    };
    let channel = channel(forward, between(link, tracks), format_args!("link/{}", link.name), seed);
    Some(RadioLinkConfig { a, b, delay: forward.delay, queues: [forward.queue, reverse.queue], channel })
}

/// Returns the distance between a link's ends.
pub(crate) fn between(link: &LinkSpec, tracks: &BTreeMap<&str, Arc<Track>>) -> Between {
    Between(Arc::clone(&tracks[link.a.as_str()]), Arc::clone(&tracks[link.b.as_str()]))
}
