//! What addresses cost: the application's word, and the exchange with the peer (docs/internals/path-cost.md).

use core::net::IpAddr;

use msctp_units::Time;
use msctp_wire::PathCost;

use super::Association;
use crate::addr::{PathAddr, PathId};
use crate::call_error::CallError;
use crate::config::PathUse;
use crate::cost::Cost;
use crate::trace::TraceKind;

impl Association {
    /// Says what packets to and from a local address cost this end. The policy considers it, and the peer's
    /// does too if both ends are msctp and protect their packets ([`Protection`](crate::Protection)); neither
    /// can take back what the other wants spared.
    ///
    /// # Errors
    ///
    /// There is no such address.
    pub fn set_address_cost(&mut self, now: Time, address: IpAddr, cost: Cost) -> Result<(), CallError> {
        if !self.paths.has_local(&address) {
            return Err(CallError::UnknownAddress(address));
        }
        if self.paths.set_cost(&address, cost) {
            // A HEARTBEAT says that there is news, and the peer asks on each path.
            self.paths.request_heartbeats();
            self.after_change(now);
        }
        Ok(())
    }

    /// Returns this end's addresses.
    pub(crate) fn locals(&self) -> Vec<IpAddr> {
        self.paths.locals().map(|(local, _)| local).collect()
    }

    /// Returns the peer's addresses, those of a family in which this end has none included.
    pub(crate) fn remotes(&self) -> Vec<IpAddr> {
        self.paths.remotes().collect()
    }

    /// Returns whether this end sends on several paths at once, if it has them.
    pub(crate) fn uses_several_paths(&self) -> bool {
        self.config.paths != PathUse::One
    }

    /// Returns what to tell the peer of a local address, if anything.
    pub(super) fn cost_to_tell(&self, local: &IpAddr) -> Option<PathCost> {
        if self.seals() { self.paths.cost_to_tell(local) } else { None }
    }

    /// Handles a PATH COST, which is protected.
    ///
    /// `answered` is the path whose HEARTBEAT the chunk before it answers. Only there is it known which path
    /// is meant: an attacker may deliver a packet from another address, but cannot have a HEARTBEAT answered
    /// that it does not see.
    pub(super) fn on_path_cost(
        &mut self,
        now: Time,
        at: PathAddr,
        told: &PathCost,
        answered: Option<PathId>,
    ) {
        match answered {
            Some(path) => {
                if let Some(Cost { backup, metered }) = self.paths.note_peer_cost(path, told) {
                    self.tracer.push(now, TraceKind::PathCost { path, backup, metered });
                }
            }
            None => {
                if let Some(path) = self.path_of(at).filter(|&path| self.paths.lacks_cost(path, told)) {
                    self.paths.request_heartbeat(path);
                }
            }
        }
    }
}
