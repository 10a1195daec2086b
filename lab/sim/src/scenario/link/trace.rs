//! The link that follows a trace (`docs/models/trace.md`).

use msctp_link::LossConfig;
use msctp_link::trace::{Schedule, SignalTrace, TraceConfig};
use msctp_units::Span;

use super::Layers;
use super::plain::{check_loss, loss, queue};
use crate::scenario::error::Problem;

/// One direction of a link that follows a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSpec {
    /// Options of the link: transmission opportunities, propagation delay, queue.
    pub config: TraceConfig,
    /// Losses after transmission.
    pub loss: LossConfig,
}

pub(super) fn read(layers: &Layers<'_, '_, '_>) -> Result<TraceSpec, Problem> {
    let section = layers.at("trace");
    let file = layers.required("trace", section.text("trace")?, "\"traces/lte.trace\"")?;
    let column = layers.at("column").text("column")?;
    let period = layers.at("period").span("period")?;
    if column.is_some() && period.is_some() {
        let message = "a table of rates has its period in its last line: want either column or period";
        return Err(Problem::new(layers.at("period").key("period"), message));
    }
    let fail = |why: &dyn std::fmt::Display| Problem::new(section.key("trace"), format!("{file}:{why}"));
    let text = (layers.open)(file).map_err(|why| fail(&format_args!(" {why}")))?;
    let schedule = match column {
        Some(column) => Schedule::from_rates(&text, column),
        None => Schedule::from_mahimahi(&text, period),
    };
    let signal_section = layers.at("signal");
    let signal = signal_section.text("signal")?;
    if signal.is_some() && column.is_none() {
        let message = "a Mahimahi trace has no receive power: want column beside it, and a table of rates";
        return Err(Problem::new(signal_section.key("signal"), message));
    }
    let signal = signal.map(|signal| SignalTrace::from_table(&text, signal)).transpose();
    let delay: Option<Span> = layers.at("delay").span("delay")?;
    Ok(TraceSpec {
        config: TraceConfig {
            schedule: schedule.map_err(|error| fail(&error))?,
            delay: layers.required("delay", delay, "\"20ms\"")?,
            queue: queue(layers.at("queue"))?,
            signal: signal.map_err(|error| fail(&error))?,
        },
        loss: loss(layers.at("loss"))?.unwrap_or(LossConfig::None),
    })
}

impl TraceSpec {
    pub(super) fn check(&self) -> Result<(), Problem> {
        check_loss(&self.loss)
    }
}
