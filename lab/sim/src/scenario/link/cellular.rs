//! The cellular link: a user of a cell whose scheduler shares the resource (`docs/models/cellular.md`).

use std::collections::BTreeMap;

use msctp_link::cellular::{CellularConfig, Quality, Scheduler, Shannon, Signal, TTI};
use msctp_link::wlan::{Distance, Radio};
use msctp_link::{LossConfig, QueueLimit};
use msctp_units::{Rate, Span};

use super::plain::{check_loss, loss, queue};
use super::{DirectionSpec, Layers, LinkDirection, LinkSpec, wlan};
use crate::scenario::error::Problem;

/// One direction of a cellular link. `a` is the base station, so that the downlink is `forward`.
#[derive(Clone, Debug, PartialEq)]
pub struct CellularSpec {
    /// Name of the cell, whose links share its resource; `None` if the link has its own cell.
    pub cell: Option<String>,
    /// The scheduler.
    pub config: CellularConfig,
    /// The user's rate.
    pub channel: CellularChannel,
    /// Time for which Rayleigh fading is constant; `None` for no fading.
    pub coherence: Option<Span>,
    /// One-way delay after transmission.
    pub delay: Span,
    /// Limit of the user's queue.
    pub queue: QueueLimit,
    /// Losses after transmission.
    pub loss: LossConfig,
}

/// The rate of a user that has the whole resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellularChannel {
    /// A fixed rate.
    Rate(Rate),
    /// A rate that follows the signal.
    Signal {
        /// Receive power by distance.
        radio: Radio,
        /// Bandwidth in Hz.
        bandwidth_hz: u64,
    },
}

pub(super) fn read(layers: &Layers<'_, '_, '_>) -> Result<CellularSpec, Problem> {
    let link = layers.link;
    let mut config = CellularConfig::default();
    let schedulers = [
        ("proportional-fair", Scheduler::ProportionalFair),
        ("round-robin", Scheduler::RoundRobin),
        ("max-rate", Scheduler::MaxRate),
    ];
    if let Some(scheduler) = link.choice("scheduler", &schedulers)? {
        config.scheduler = scheduler;
    }
    if let Some(average) = link.span("average")? {
        config.average = average;
    }
    Ok(CellularSpec {
        cell: link.text("cell")?.map(str::to_owned),
        config,
        channel: channel(layers)?,
        coherence: link.span("coherence")?,
        delay: layers.at("delay").span("delay")?.unwrap_or(Span::from_millis(5)),
        queue: queue(layers.at("queue"))?,
        loss: loss(layers.at("loss"))?.unwrap_or(LossConfig::None),
    })
}

fn channel(layers: &Layers<'_, '_, '_>) -> Result<CellularChannel, Problem> {
    let rate = layers.at("rate").rate("rate")?;
    let section = layers.at("bandwidth");
    let bandwidth = section.number("bandwidth")?;
    match (rate, wlan::radio(layers.link)?, bandwidth) {
        (Some(rate), None, None) => Ok(CellularChannel::Rate(rate)),
        (None, Some(radio), Some(mhz)) if (0.1..=1000.0).contains(&mhz) => {
            Ok(CellularChannel::Signal { radio, bandwidth_hz: (mhz * 1e6).round() as u64 })
        }
        (None, Some(_), Some(mhz)) => {
            Err(Problem::new(section.key("bandwidth"), format!("{mhz}: want 0.1 to 1000 (MHz)")))
        }
        _ => Err(Problem::new(
            layers.link.key("rate"),
            "want exactly one of rate = \"20Mbps\", and radio = { coverage = 500 } with bandwidth = 10 (MHz)",
        )),
    }
}

impl CellularSpec {
    /// Returns the rate of a user at a distance from the base station.
    pub(crate) fn quality(&self, distance: impl Distance + 'static, way: LinkDirection) -> Quality {
        match self.channel {
            CellularChannel::Rate(rate) => Quality::Rate(rate),
            CellularChannel::Signal { radio, bandwidth_hz } => Quality::Signal(Signal {
                radio,
                distance: Box::new(distance),
                bandwidth_hz,
                shannon: match way {
                    LinkDirection::Forward => Shannon::DOWNLINK,
                    LinkDirection::Reverse => Shannon::UPLINK,
                },
            }),
        }
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        let fail = |key: &str, message: &str| Err(Problem::new(key, message));
        if let CellularChannel::Rate(rate) = self.channel
            && rate.bytes_in(TTI) == 0
        {
            return fail("rate", "a rate below 8kbps carries no byte in a millisecond: want at least 8kbps");
        }
        if self.config.average < TTI {
            return fail("average", "want at least 1ms, the interval of the scheduler");
        }
        if self.coherence.is_some_and(|time| time < TTI) {
            return fail("coherence", "want at least 1ms, the interval of the scheduler");
        }
        check_loss(&self.loss)
    }
}

/// Checks that both directions of a link are cellular, and that the links of a cell have one base station
/// and one scheduler.
pub(in crate::scenario) fn check_cells(links: &[LinkSpec]) -> Result<(), Problem> {
    // The first link of each cell.
    let mut cells: BTreeMap<&str, (&LinkSpec, CellularConfig)> = BTreeMap::new();
    for link in links {
        let fail = |key: &str, message: String| {
            Err(Problem::new(key, message).within(&format!("link.{}", link.name)))
        };
        let DirectionSpec::Cellular(spec) = &link.forward else { continue };
        let (Some(cell), config) = (&spec.cell, spec.config) else { continue };
        let (other, first) = *cells.entry(cell).or_insert((link, config));
        if other.a != link.a {
            return fail(
                "a",
                format!(
                    "\"{}\" is not the base station of cell \"{cell}\": want \"{}\", as link \"{}\" has",
                    link.a, other.a, other.name
                ),
            );
        }
        if first != config {
            return fail(
                "cell",
                format!(
                    "scheduler or average differ from those of link \"{}\" in the same cell \"{cell}\": want the same, or \
                     another cell",
                    other.name
                ),
            );
        }
    }
    Ok(())
}
