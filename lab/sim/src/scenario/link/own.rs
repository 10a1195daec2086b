//! A link whose model is the caller's ([`Schemes::with_link`](crate::scenario::Schemes::with_link)).

use std::fmt;
use std::sync::Arc;

use msctp_link::{LinkModel, LossConfig, LossProcess, QueueLimit};
use msctp_units::{Rate, Span};

use super::Layers;
use super::plain::{check_loss, loss, queue};
use crate::packet_id::PacketId;
use crate::scenario::error::Problem;

/// Input of a caller's link model: the keys of a plain link, none of which is required.
#[derive(Debug)]
pub struct OwnLink {
    /// Name of the direction, such as `link/wlan/forward`.
    pub label: String,
    /// The key `rate`.
    pub rate: Option<Rate>,
    /// The key `delay`.
    pub delay: Option<Span>,
    /// The key `queue`, or its default.
    pub queue: QueueLimit,
    /// The process of the key `loss`, at the start of its random stream; `None` without losses.
    pub loss: Option<Box<dyn LossProcess>>,
    /// Seed of the model's own random stream.
    pub seed: [u8; 32],
}

type Make = dyn Fn(OwnLink) -> Box<dyn LinkModel<PacketId>> + Send + Sync;

/// Makes the link model of one direction.
#[derive(Clone)]
pub struct LinkFactory(Arc<Make>);

impl LinkFactory {
    /// Creates a factory from a function that makes a model in the state up and empty.
    pub fn new(make: impl Fn(OwnLink) -> Box<dyn LinkModel<PacketId>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// Makes the model of one direction.
    pub(crate) fn make(&self, from: OwnLink) -> Box<dyn LinkModel<PacketId>> {
        (self.0)(from)
    }
}

/// Clones are equal.
impl PartialEq for LinkFactory {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for LinkFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkFactory").finish_non_exhaustive()
    }
}

/// One direction of a link with a caller's model.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnSpec {
    /// Name of the model, which is the word of the key `type`.
    pub name: String,
    /// Makes the model.
    pub factory: LinkFactory,
    /// Transmission rate; `None`: not given.
    pub rate: Option<Rate>,
    /// Propagation delay; `None`: not given.
    pub delay: Option<Span>,
    /// Queue limit.
    pub queue: QueueLimit,
    /// Losses.
    pub loss: LossConfig,
}

pub(super) fn read(
    layers: &Layers<'_, '_, '_>,
    (name, factory): (&str, &LinkFactory),
) -> Result<OwnSpec, Problem> {
    Ok(OwnSpec {
        name: name.to_owned(),
        factory: factory.clone(),
        rate: layers.at("rate").rate("rate")?,
        delay: layers.at("delay").span("delay")?,
        queue: queue(layers.at("queue"))?,
        loss: loss(layers.at("loss"))?.unwrap_or(LossConfig::None),
    })
}

impl OwnSpec {
    pub(super) fn check(&self) -> Result<(), Problem> {
        check_loss(&self.loss)
    }
}
