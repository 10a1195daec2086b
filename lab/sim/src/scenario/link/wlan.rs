//! The 802.11-like wireless link: shared airtime, retransmission, losses by receive power
//! (`docs/models/wlan.md`).

use std::collections::BTreeMap;

use msctp_link::wlan::{Adaptation, Backoff, MacConfig, ParetoFades, Radio};
use msctp_link::{LossConfig, QueueLimit};
use msctp_units::{Rate, Span};

use super::plain::{check_loss, loss, queue};
use super::{DirectionSpec, Layers, LinkSpec};
use crate::scenario::document::Section;
use crate::scenario::error::Problem;
use crate::scenario::keys;

/// One direction of a wireless link. Only the queue may differ between the directions.
#[derive(Clone, Debug, PartialEq)]
pub struct WlanSpec {
    /// Name of the cell, whose links share its airtime; `None` if the link has its own cell.
    pub cell: Option<String>,
    /// True if the link's two directions share airtime.
    pub shared: bool,
    /// Timing and retransmission.
    pub mac: MacConfig,
    /// Delay in addition to the propagation time.
    pub delay: Span,
    /// Queue limit, without the packet in transmission.
    pub queue: QueueLimit,
    /// Losses of single attempts, independent of the receive power.
    pub loss: LossConfig,
    /// Receive power by distance; `None` if every distance is in coverage.
    pub radio: Option<Radio>,
    /// Losses by receive power; needs a radio.
    pub fading: Option<Fading>,
}

/// Variation of the receive power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fading {
    /// Independently for each frame.
    PerFrame {
        /// Additional margin in mdB that reduces losses to a tenth.
        slope: i32,
    },
    /// In periods of bad reception.
    Pareto(ParetoFades),
}

pub(super) fn read(layers: &Layers<'_, '_, '_>) -> Result<WlanSpec, Problem> {
    let link = layers.link;
    let rate = layers.required("rate", link.rate("rate")?, "\"11Mbps\"")?;
    let mut mac = MacConfig::dot11b(rate);
    if let Some(basic_rate) = link.rate("basic_rate")? {
        mac.basic_rate = basic_rate;
    }
    if let Some(retries) = link.integer("retries", 0, 255)? {
        mac.retries = retries;
    }
    if let Some(rts) = link.flag("rts")? {
        mac.rts = rts;
    }
    let backoffs = [("drawn", Backoff::Drawn), ("mean", Backoff::Mean)];
    if let Some(backoff) = link.choice("backoff", &backoffs)? {
        mac.backoff = backoff;
    }
    let adaptations = [("fixed", Adaptation::Fixed), ("arf", Adaptation::Arf), ("aarf", Adaptation::Aarf)];
    if let Some(adaptation) = link.choice("adaptation", &adaptations)? {
        mac.adaptation = adaptation;
    }
    if let Some(collisions) = link.flag("collisions")? {
        mac.collisions = collisions;
    }
    Ok(WlanSpec {
        cell: link.text("cell")?.map(str::to_owned),
        shared: link.flag("shared")?.unwrap_or(true),
        mac,
        delay: link.span("delay")?.unwrap_or(Span::ZERO),
        queue: queue(layers.at("queue"))?,
        loss: loss(link)?.unwrap_or(LossConfig::None),
        radio: radio(link)?,
        fading: fading(link)?,
    })
}

/// Reads a number of decibels in thousandths.
fn decibels(section: &Section<'_, '_>, key: &str) -> Result<Option<i32>, Problem> {
    let Some(number) = section.number(key)? else { return Ok(None) };
    if !(-1000.0..=1000.0).contains(&number) {
        return Err(Problem::new(section.key(key), format!("{number}: want -1000 to 1000 (decibels)")));
    }
    Ok(Some((number * 1000.0).round() as i32))
}

/// Reads `radio = { coverage = 250 }`.
pub(super) fn radio(link: &Section<'_, '_>) -> Result<Option<Radio>, Problem> {
    let Some(section) = link.section("radio", &keys::RADIO.names())? else { return Ok(None) };
    let mut radio = Radio::covering(0);
    if let Some(power) = decibels(&section, "tx_power")? {
        radio.tx_power = power;
    }
    if let Some(loss) = decibels(&section, "reference_loss")? {
        radio.reference_loss = loss;
    }
    if let Some(exponent) = section.number("exponent")? {
        if !(1.0..=10.0).contains(&exponent) {
            return Err(Problem::new(section.key("exponent"), format!("{exponent}: want 1 to 10")));
        }
        radio.exponent = (exponent * 1000.0).round() as u32;
    }
    match (section.number("coverage")?, decibels(&section, "sensitivity")?) {
        (Some(metres), None) if (1.0..=1e6).contains(&metres) => {
            Ok(Some(radio.with_coverage((metres * 1000.0).round() as u64)))
        }
        (Some(metres), None) => {
            Err(Problem::new(section.key("coverage"), format!("{metres}: want 1 to 1000000 (metres)")))
        }
        (None, Some(sensitivity)) => Ok(Some(Radio { sensitivity, ..radio })),
        _ => Err(Problem::new(
            section.path(),
            "want exactly one of coverage = 250 (metres) and sensitivity = -64.4 (dBm)",
        )),
    }
}

/// Reads `fading = { slope = 10 }`, or for bad periods `{ slope = 10, shortest = "20ms", longest = "2s",
/// shape = 1.5 }`.
fn fading(link: &Section<'_, '_>) -> Result<Option<Fading>, Problem> {
    let Some(section) = link.section("fading", &keys::FADING.names())? else {
        return Ok(None);
    };
    let slope = section.required("slope", decibels(&section, "slope")?, "10")?;
    let shortest = section.span("shortest")?;
    let longest = section.span("longest")?;
    let shape = section.number("shape")?;
    let Some(shortest) = shortest else {
        if longest.is_some() || shape.is_some() {
            return section.required("shortest", None, "\"20ms\"");
        }
        return Ok(Some(Fading::PerFrame { slope }));
    };
    let longest = section.required("longest", longest, "\"2s\"")?;
    let shape = section.required("shape", shape, "1.5")?;
    Ok(Some(Fading::Pareto(ParetoFades { slope, shortest, longest, shape })))
}

impl WlanSpec {
    pub(super) fn check(&self) -> Result<(), Problem> {
        let fail = |key: &str, message: &str| Err(Problem::new(key, message));
        if self.mac.rate.is_zero() {
            return fail("rate", "a link of 0bps carries nothing: want a higher rate, or up = false");
        }
        if self.mac.basic_rate.is_zero() {
            return fail("basic_rate", "a station cannot acknowledge at 0bps: want a higher rate");
        }
        // A frame must end: below this rate, one of 64 KiB would take minutes.
        if self.mac.rate < Rate::from_bps(1000) || self.mac.basic_rate < Rate::from_bps(1000) {
            return fail("rate", "below 1kbps: want at least 1kbps");
        }
        if !self.shared && self.cell.is_some() {
            return fail("cell", "the link shares its airtime with nobody: want shared = true, or no cell");
        }
        if self.mac.adaptation != Adaptation::Fixed {
            if self.mac.rate < Rate::from_mbps(1) {
                return fail("rate", "below 1Mbps, the lowest rate of adaptation: want 1Mbps to 11Mbps");
            }
            if matches!(self.fading, Some(Fading::Pareto(_))) {
                let message = "bad periods are the same for every rate: want adaptation = \"fixed\", or fading = { slope = 10 }";
                return fail("adaptation", message);
            }
        }
        check_loss(&self.loss)?;
        let slope = match self.fading {
            None => return Ok(()),
            Some(_) if self.radio.is_none() => {
                return fail("fading", "needs the receive power: want radio = { coverage = 250 }");
            }
            Some(Fading::PerFrame { slope }) => slope,
            Some(Fading::Pareto(fades)) => {
                if fades.shortest.is_zero() || fades.shortest > fades.longest {
                    return fail("fading.shortest", "want more than 0s and at most longest");
                }
                if !(fades.shape > 0.0 && fades.shape <= 100.0) || (fades.shape - 1.0).abs() < 1e-6 {
                    return fail("fading.shape", "want more than 0, at most 100, and not 1");
                }
                fades.slope
            }
        };
        if slope <= 0 {
            return fail("fading.slope", "want more than 0 (decibels)");
        }
        Ok(())
    }

    /// Returns the parameters that both directions must share: all except the queue.
    fn without_queue(&self) -> Self {
        Self { queue: QueueLimit::Unbounded, ..self.clone() }
    }
}

/// Checks that both directions of a link have the same radio, and all links of a cell the same timing.
pub(in crate::scenario) fn check_cells(links: &[LinkSpec]) -> Result<(), Problem> {
    // The first link of each cell.
    let mut cells: BTreeMap<&str, (&LinkSpec, &WlanSpec)> = BTreeMap::new();
    for link in links {
        let fail = |key: &str, message: String| {
            Err(Problem::new(key, message).within(&format!("link.{}", link.name)))
        };
        let (forward, reverse) = match (&link.forward, &link.reverse) {
            (DirectionSpec::Wlan(forward), DirectionSpec::Wlan(reverse)) => (forward, reverse),
            (DirectionSpec::Wlan(_), _) | (_, DirectionSpec::Wlan(_)) => {
                return fail("type", "only one direction is of type wlan: want both or neither".to_owned());
            }
            _ => continue,
        };
        if forward.without_queue() != reverse.without_queue() {
            return fail("reverse", "differs from forward in more than the queue: want the same".to_owned());
        }
        let Some(cell) = &forward.cell else { continue };
        let (other, wlan) = *cells.entry(cell).or_insert((link, forward));
        if wlan.mac != forward.mac {
            let name = &other.name;
            return fail(
                "cell",
                format!(
                    "rates, retries, rts, backoff, adaptation or collisions differ from those of link \"{name}\" in the same cell \"{cell}\": want the same, or another cell"
                ),
            );
        }
    }
    Ok(())
}
