//! Mobility: which of this host's addresses associations use, and when their data moves.
//!
//! The one place where this is decided, for every host: one with sockets, a simulated one, a phone whose
//! system reports its networks. A host passes in what it knows of its links ([`LinkChange`]), and is asked
//! for sockets ([`SocketOrder`]). [`Links`] decides which addresses are used and how long a flapping link
//! waits; [`follow`] makes the requests of RFC 5061 and the switches of each association. May not touch
//! sockets or a clock.

mod follow;
mod link;
mod links;
mod options;

pub use link::{LinkChange, LinkKind, SocketOrder};
pub use options::{Mobility, Translation};

pub(crate) use follow::{follow, is_stranded, name_others};
pub(crate) use links::{Links, Step};
