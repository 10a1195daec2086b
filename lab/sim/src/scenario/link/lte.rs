//! The LTE radio bearer (`docs/models/lte-rlc-am.md`).

use msctp_link::arq::BlockErrors;
use msctp_link::lte::{LteConfig, TTI};
use msctp_link::{InvalidLoss, Probability};

use super::Layers;
use super::plain::queue;
use super::radio::{impossible, invalid, probability};
use crate::scenario::error::Problem;

/// One direction of an LTE radio bearer.
#[derive(Clone, Debug, PartialEq)]
pub struct LteSpec {
    /// Options of the bearer: grant, HARQ, RLC, queue.
    pub config: LteConfig,
    /// Initial error rate of transport blocks.
    pub bler: Probability,
    /// Mean number of consecutively lost transmissions; `None` if transmissions are lost independently.
    pub mean_burst: Option<f64>,
}

pub(super) fn read(layers: &Layers<'_, '_, '_>) -> Result<LteSpec, Problem> {
    let mut config = LteConfig {
        rate: layers.required("rate", layers.at("rate").rate("rate")?, "\"1Mbps\"")?,
        queue: queue(layers.at("queue"))?,
        ..LteConfig::default()
    };
    for (key, most, field) in [
        ("harq_processes", 16, &mut config.harq_processes),
        ("max_attempts", 28, &mut config.max_attempts),
        ("pdu_header", 10_000, &mut config.pdu_header),
        ("packet_header", 10_000, &mut config.packet_header),
        ("window", 512, &mut config.window),
        ("poll_pdus", i128::from(u32::MAX), &mut config.poll_pdus),
        ("max_retx", i128::from(u32::MAX), &mut config.max_retx),
    ] {
        let least = i128::from(!key.ends_with("header"));
        if let Some(number) = layers.at(key).integer(key, least, most)? {
            *field = number;
        }
    }
    if let Some(bytes) = layers.at("poll_bytes").integer("poll_bytes", 1, i128::from(i64::MAX))? {
        config.poll_bytes = bytes;
    }
    for (key, field) in [
        ("delay", &mut config.delay),
        ("poll_retransmit", &mut config.poll_retransmit),
        ("status_prohibit", &mut config.status_prohibit),
        ("reordering", &mut config.reordering),
        ("status_delay", &mut config.status_delay),
    ] {
        if let Some(span) = layers.at(key).span(key)? {
            *field = span;
        }
    }
    for (key, field) in [
        ("combining", &mut config.combining),
        ("nack_as_ack", &mut config.nack_as_ack),
        ("status_loss", &mut config.status_loss),
    ] {
        if let Some(p) = probability(layers.at(key), key)? {
            *field = p;
        }
    }
    let bler = probability(layers.at("bler"), "bler")?.unwrap_or(Probability::ZERO);
    Ok(LteSpec { config, bler, mean_burst: layers.at("mean_burst").number("mean_burst")? })
}

impl LteSpec {
    pub(super) fn check(&self) -> Result<(), Problem> {
        let (octets, header) = (self.config.rate.bytes_in(TTI), u64::from(self.config.pdu_header));
        if octets <= header {
            return Err(Problem::new(
                "rate",
                format!(
                    "{} is {octets} octets in a millisecond, of which {header} are header: want at least {}kbps",
                    self.config.rate,
                    8 * (header + 1)
                ),
            ));
        }
        self.config.check().map_err(invalid)?;
        self.block_errors([0; 32]).map(drop).map_err(|e| impossible(&e))
    }

    /// Creates the process of block errors, which draws from a stream seeded with `seed`.
    pub(crate) fn block_errors(&self, seed: [u8; 32]) -> Result<BlockErrors, InvalidLoss> {
        BlockErrors::new(self.bler, self.mean_burst, seed)
    }
}
