//! Link models: rate, delay, queue, loss. Sans-IO, one direction each, for any packet type.
//!
//! A [`LinkModel`] takes packets with [`offer`](LinkModel::offer) and gives them back with
//! [`deliver`](LinkModel::deliver) when they arrive at the other end or are lost on the way. It never
//! looks inside a packet; how long it is on the wire comes with it. [`Link`] is the plain point-to-point
//! link, [`ManagedLink`] one with CoDel, FQ-CoDel, jitter or reordering, [`wlan`] a wireless hop whose
//! stations share the airtime, [`cellular`] a cell whose users share a scheduler, [`egprs`] and [`lte`]
//! radio links that retransmit lost blocks, [`trace`] one that follows a recording; scope and limits of
//! each are in `docs/models/`.

pub mod arq;
pub mod cellular;
mod coding_scheme;
pub mod egprs;
mod fate;
mod link;
mod loss;
pub mod lte;
mod managed;
mod marking;
mod medium;
mod model;
mod queue;
mod stats;
pub mod trace;
pub mod wlan;

pub use fate::{Delivery, DropReason, LossReason, Offer, Outcome};
pub use link::{Link, LinkConfig, WhenDown};
pub use loss::{GilbertElliott, InvalidLoss, LossConfig, LossProcess, Probability, Scripted, Uniform};
pub use managed::{Discipline, ManagedConfig, ManagedLink, Reorder};
pub use marking::{Judgement, Marking};
pub use medium::{Medium, PortId};
pub use model::{Carries, Change, Class, Conditions, LinkModel, Unsupported};
pub use msctp_queue::{QueueLen, QueueLimit, codel, fair_queue};
pub use stats::{Count, LinkStats};
