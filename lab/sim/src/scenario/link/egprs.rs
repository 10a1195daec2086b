//! The EGPRS radio link (`docs/models/egprs.md`).

use msctp_link::arq::BlockErrors;
use msctp_link::egprs::EgprsConfig;
use msctp_link::{InvalidLoss, Probability};

use super::plain::queue;
use super::radio::{impossible, invalid, probability};
use super::{CodingSpec, Layers};
use crate::scenario::error::Problem;

/// One direction of an EGPRS radio link.
#[derive(Clone, Debug, PartialEq)]
pub struct EgprsSpec {
    /// Options of the link: coding scheme at the start, timeslots, delay, ARQ, flow, queue.
    pub config: EgprsConfig,
    /// Share of blocks lost at the start.
    pub bler: Probability,
    /// Mean number of consecutively lost blocks; `None` if blocks are lost independently.
    pub mean_burst: Option<f64>,
}

pub(super) fn read(layers: &Layers<'_, '_, '_>) -> Result<EgprsSpec, Problem> {
    let mut config = EgprsConfig::default();
    let mut bler = probability(layers.at("bler"), "bler")?;
    let scheme = layers.at("scheme").parsed("scheme", "\"CS4\"")?;
    match CodingSpec::read(layers.link)?.map(|coding| coding.start()) {
        None => config.scheme = layers.required("scheme", scheme, "\"CS4\", or coding = { … }")?,
        Some(start) => {
            for key in ["scheme", "bler"] {
                let at = layers.at(key);
                if at.has(key) {
                    let message = "coding sets the initial conditions: remove this key";
                    return Err(Problem::new(at.key(key), message));
                }
            }
            (config.scheme, bler) = (start.scheme, Some(start.bler));
        }
    }
    for (key, most, field) in [
        ("pdchs", 8, &mut config.pdchs),
        ("window", 1024, &mut config.window),
        ("poll_period", i128::from(u32::MAX), &mut config.poll_period),
        ("frame_overhead", 10_000, &mut config.frame_overhead),
    ] {
        if let Some(number) = layers.at(key).integer(key, i128::from(key != "frame_overhead"), most)? {
            *field = number;
        }
    }
    for (key, field) in [
        ("delay", &mut config.delay),
        ("rrbp", &mut config.rrbp),
        ("establishment", &mut config.establishment),
        ("release", &mut config.release),
    ] {
        if let Some(span) = layers.at(key).span(key)? {
            *field = span;
        }
    }
    if let Some(loss) = probability(layers.at("report_loss"), "report_loss")? {
        config.report_loss = loss;
    }
    config.queue = queue(layers.at("queue"))?;
    let mean_burst = layers.at("mean_burst").number("mean_burst")?;
    Ok(EgprsSpec { config, bler: bler.unwrap_or(Probability::ZERO), mean_burst })
}

impl EgprsSpec {
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.config.check().map_err(invalid)?;
        self.block_errors([0; 32]).map(drop).map_err(|e| impossible(&e))
    }

    /// Checks that blocks can be lost with probability `bler` in bursts of this length.
    pub(super) fn check_share(&self, bler: Probability) -> Result<(), Problem> {
        let spec = Self { bler, ..self.clone() };
        spec.block_errors([0; 32]).map(drop).map_err(|e| impossible(&e))
    }

    /// Creates the process of block errors, which draws from a stream seeded with `seed`.
    pub(crate) fn block_errors(&self, seed: [u8; 32]) -> Result<BlockErrors, InvalidLoss> {
        BlockErrors::new(self.bler, self.mean_burst, seed)
    }
}
