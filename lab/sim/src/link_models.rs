//! Link models of a run with their random streams.

use std::fmt::Display;

use msctp_link::cellular::PortConfig;
use msctp_link::egprs::EgprsLink;
use msctp_link::lte::LteLink;
use msctp_link::{LinkModel, LossConfig, LossProcess, ManagedConfig, ManagedLink};

use crate::mobility::Between;
use crate::packet::PacketId;
use crate::random::component_seed;
use crate::scenario::{DirectionSpec, EgprsSpec, LinkDirection, LinkSpec, LteSpec, OwnLink, OwnSpec};

/// Panic message of constructors whose options the scenario has checked.
pub(crate) const CHECKED: &str = "the scenario's checks let nothing else through";

/// Creates a direction of an EGPRS link. Draws from the streams `LABEL/blocks` and `LABEL/reports`.
pub(crate) fn egprs(spec: &EgprsSpec, label: impl Display, seed: u64) -> Box<dyn LinkModel<PacketId>> {
    let stream = |part| component_seed(seed, &format!("{label}/{part}"));
    let errors = spec.block_errors(stream("blocks")).expect(CHECKED);
    Box::new(EgprsLink::new(spec.config, errors, stream("reports")).expect(CHECKED))
}

/// Creates a direction of an LTE bearer. Draws from the streams `LABEL/blocks`, `LABEL/harq` and
/// `LABEL/statuses`.
pub(crate) fn lte(spec: &LteSpec, label: impl Display, seed: u64) -> Box<dyn LinkModel<PacketId>> {
    let stream = |part| component_seed(seed, &format!("{label}/{part}"));
    let errors = spec.block_errors(stream("blocks")).expect(CHECKED);
    Box::new(LteLink::new(spec.config, errors, stream("harq"), stream("statuses")).expect(CHECKED))
}

/// Returns the two directions of a cellular link; `None` for links of other types. Losses draw from the
/// streams `link/NAME/DIRECTION/loss`.
pub(crate) fn cellular(link: &LinkSpec, distance: &Between, seed: u64) -> Option<[PortConfig; 2]> {
    let port = |spec: &DirectionSpec, way: LinkDirection| {
        let DirectionSpec::Cellular(spec) = spec else { return None };
        let label = format!("link/{}/{}", link.name, way.word());
        Some(PortConfig {
            delay: spec.delay,
            queue: spec.queue,
            quality: spec.quality(distance.clone(), way),
            coherence: spec.coherence,
            loss: loss_process(&spec.loss, label, seed),
        })
    };
    Some([port(&link.forward, LinkDirection::Forward)?, port(&link.reverse, LinkDirection::Reverse)?])
}

/// Creates a direction with the caller's model. The model's stream is `LABEL/model`.
pub(crate) fn own(spec: &OwnSpec, label: impl Display, seed: u64) -> Box<dyn LinkModel<PacketId>> {
    spec.factory.make(OwnLink {
        label: label.to_string(),
        rate: spec.rate,
        delay: spec.delay,
        queue: spec.queue,
        loss: loss_process(&spec.loss, &label, seed),
        seed: component_seed(seed, &format!("{label}/model")),
    })
}

/// Creates a direction with a managed queue. Draws from the streams `LABEL/loss` and `LABEL/queue`.
pub(crate) fn managed(
    config: ManagedConfig,
    loss: &LossConfig,
    label: impl Display,
    seed: u64,
) -> Box<dyn LinkModel<PacketId>> {
    let stream = component_seed(seed, &format!("{label}/queue"));
    Box::new(ManagedLink::new(config, loss_process(loss, label, seed), stream))
}

/// Creates the loss process of a direction, at the start of the stream `LABEL/loss`.
pub(crate) fn loss_process(
    loss: &LossConfig,
    label: impl Display,
    seed: u64,
) -> Option<Box<dyn LossProcess>> {
    if *loss == LossConfig::None {
        return None;
    }
    let stream = component_seed(seed, &format!("{label}/loss"));
    loss.build(stream).expect(CHECKED)
}
