//! The plain link: rate, delay, queue and its discipline, losses (`docs/models/link.md`).

use msctp_link::codel::CodelConfig;
use msctp_link::{Discipline, LossConfig, ManagedConfig, Probability, QueueLimit, Reorder};
use msctp_units::{Rate, Span};

use super::Layers;
use crate::scenario::document::Section;
use crate::scenario::error::Problem;
use crate::scenario::keys;

/// One direction of a plain link with store and forward. A packet passes the queue, is transmitted
/// completely, and takes the propagation delay. Then it may be lost.
#[derive(Clone, Debug, PartialEq)]
pub struct PlainSpec {
    /// Transmission rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Queue limit, without the packet in transmission. Packets beyond it are dropped.
    pub queue: QueueLimit,
    /// Losses after transmission.
    pub loss: LossConfig,
    /// Discipline of the queue.
    pub discipline: Discipline,
    /// Maximum additional delay, uniform from zero. Packets stay in order.
    pub jitter: Span,
    /// Packets that others overtake.
    pub reorder: Option<Reorder>,
}

pub(super) fn read(layers: &Layers<'_, '_, '_>) -> Result<PlainSpec, Problem> {
    let rate = layers.required("rate", layers.at("rate").rate("rate")?, "\"11Mbps\"")?;
    let delay = layers.required("delay", layers.at("delay").span("delay")?, "\"20ms\"")?;
    let discipline = discipline(layers)?;
    let queue = match discipline {
        // It is full only if CoDel fails: RFC 8290 §5.2.3 has 10,240 packets on fast links.
        Discipline::Codel(_) | Discipline::FqCodel(_) if !layers.at("queue").has("queue") => {
            QueueLimit::Packets(1000)
        }
        _ => queue(layers.at("queue"))?,
    };
    Ok(PlainSpec {
        rate,
        delay,
        queue,
        loss: loss(layers.at("loss"))?.unwrap_or(LossConfig::None),
        discipline,
        jitter: layers.at("jitter").span("jitter")?.unwrap_or(Span::ZERO),
        reorder: reorder(layers.at("reorder"))?,
    })
}

/// Reads the queue's discipline with its parameters.
fn discipline(layers: &Layers<'_, '_, '_>) -> Result<Discipline, Problem> {
    let mut codel = CodelConfig::default();
    let target = layers.at("target").span("target")?;
    let interval = layers.at("interval").span("interval")?;
    codel.target = target.unwrap_or(codel.target);
    codel.interval = interval.unwrap_or(codel.interval);
    let words = [
        ("drop-tail", Discipline::DropTail),
        ("codel", Discipline::Codel(codel)),
        ("fq-codel", Discipline::FqCodel(codel)),
    ];
    let section = layers.at("discipline");
    let discipline = section.choice("discipline", &words)?.unwrap_or_default();
    let unused = [("target", target), ("interval", interval)].into_iter().find(|(_, value)| value.is_some());
    match (discipline, unused) {
        (Discipline::DropTail, Some((key, _))) => Err(Problem::new(
            layers.at(key).key(key),
            "drop-tail has no such parameter: want discipline = \"codel\" or \"fq-codel\" beside it",
        )),
        _ => Ok(discipline),
    }
}

fn reorder(section: &Section<'_, '_>) -> Result<Option<Reorder>, Problem> {
    let Some(inner) = section.section("reorder", &keys::REORDER.names())? else { return Ok(None) };
    let share = inner.required("share", inner.number("share")?, "0.01")?;
    let by = inner.required("by", inner.span("by")?, "\"5ms\"")?;
    let share = Probability::new("share", share).map_err(|e| {
        Problem::new(inner.key("share"), format!("{} is not allowed: want {}", e.value, e.want))
    })?;
    Ok(Some(Reorder { share, by }))
}

impl PlainSpec {
    /// Returns the options of the link that takes packets from its queue one by one; `None` if a
    /// [`Link`](msctp_link::Link) is equivalent.
    #[must_use]
    pub fn managed(&self) -> Option<ManagedConfig> {
        let &Self { rate, delay, queue, discipline, jitter, reorder, .. } = self;
        let needed = discipline != Discipline::DropTail || !jitter.is_zero() || reorder.is_some();
        needed.then_some(ManagedConfig { rate, delay, discipline, queue, jitter, reorder })
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.rate.is_zero() {
            let message = "a link of 0bps carries nothing: want a higher rate, or up = false";
            return Err(Problem::new("rate", message));
        }
        if let Discipline::Codel(codel) | Discipline::FqCodel(codel) = self.discipline
            && codel.interval < codel.target.max(Span::from_nanos(1))
        {
            return Err(Problem::new("interval", "want at least the target, and more than 0s"));
        }
        check_loss(&self.loss)
    }
}

pub(super) fn queue(section: &Section<'_, '_>) -> Result<QueueLimit, Problem> {
    if !section.has("queue") {
        return Ok(QueueLimit::Packets(50));
    }
    if !section.is_table("queue") && !section.is_string("queue") {
        let example = "want { packets = 50 }, { bytes = 75000 } or the string \"unlimited\"";
        return Err(Problem::new(
            section.key("queue"),
            format!("{} is not a queue limit: {example}", section.show("queue")),
        ));
    }
    if !section.is_table("queue") {
        let unlimited = section.choice("queue", &[("unlimited", QueueLimit::Unbounded)])?;
        return section.required("queue", unlimited, "{ packets = 50 }");
    }
    let limit = limit(section, "queue", "{ packets = 50 }")?;
    section.required("queue", limit, "{ packets = 50 }")
}

/// Reads a queue limit in packets or bytes; `None` without the key.
pub(super) fn limit(
    section: &Section<'_, '_>,
    key: &str,
    example: &str,
) -> Result<Option<QueueLimit>, Problem> {
    if !section.has(key) {
        return Ok(None);
    }
    let inner = section.section(key, &keys::LIMIT.names())?;
    let inner = section.required(key, inner, example)?;
    let packets = inner.integer("packets", 0, i128::from(u32::MAX))?.map(QueueLimit::Packets);
    let bytes = inner.integer("bytes", 0, i128::from(i64::MAX))?.map(QueueLimit::Bytes);
    match (packets, bytes) {
        (Some(limit), None) | (None, Some(limit)) => Ok(Some(limit)),
        _ => Err(Problem::new(
            section.key(key),
            "want exactly one of packets and bytes, such as { packets = 50 } or { bytes = 75000 }",
        )),
    }
}

/// Reads the losses: `loss = 0.01`, a list of packets, or a Gilbert–Elliott channel. The channel has four
/// probabilities, or the share and mean length of its bursts.
pub(in crate::scenario) fn loss(section: &Section<'_, '_>) -> Result<Option<LossConfig>, Problem> {
    if !section.has("loss") {
        return Ok(None);
    }
    if !section.is_table("loss") {
        return Ok(section
            .number("loss")?
            .map(|p| if p == 0.0 { LossConfig::None } else { LossConfig::Uniform { probability: p } }));
    }
    let inner = section.section("loss", &keys::LOSS.names())?;
    let inner = section.required("loss", inner, "0.01")?;
    if let Some(packets) = inner.integers("packets")? {
        return Ok(Some(LossConfig::Scripted { packets }));
    }
    if let Some(share) = inner.number("share")? {
        let mean_burst = inner.required("mean_burst", inner.number("mean_burst")?, "5")?;
        return LossConfig::bursts(share, mean_burst).map(Some).map_err(|e| {
            let key = if e.what == "mean_burst" { "mean_burst" } else { "share" };
            Problem::new(inner.key(key), format!("{} is not allowed: want {}", e.value, e.want))
        });
    }
    let chance = |key, default: Option<f64>| inner.required(key, inner.number(key)?.or(default), "0.1");
    Ok(Some(LossConfig::GilbertElliott {
        good_to_bad: chance("good_to_bad", None)?,
        bad_to_good: chance("bad_to_good", None)?,
        loss_good: chance("loss_good", Some(0.0))?,
        loss_bad: chance("loss_bad", Some(1.0))?,
    }))
}

/// Checks the probabilities.
pub(in crate::scenario) fn check_loss(loss: &LossConfig) -> Result<(), Problem> {
    let chance = |part: &str, p: f64| {
        if (0.0..=1.0).contains(&p) {
            return Ok(());
        }
        Err(Problem::new(format!("loss{part}"), format!("{p} is not a probability: want 0 to 1")))
    };
    match *loss {
        LossConfig::None | LossConfig::Scripted { .. } => Ok(()),
        LossConfig::Uniform { probability: p } => chance("", p),
        LossConfig::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
            chance(".good_to_bad", good_to_bad)?;
            chance(".bad_to_good", bad_to_good)?;
            chance(".loss_good", loss_good)?;
            chance(".loss_bad", loss_bad)
        }
    }
}
