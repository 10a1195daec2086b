//! [`Association`]: calls that the core answers at once. Paths and addresses, streams, keys.

use std::net::IpAddr;

use msctp_proto::handover::LinkEvent;
use msctp_proto::{Cost, EcnStats, PathId, SharedKey, StreamRequest};

use crate::association::Association;
use crate::error::CallError;

/// # Paths and addresses
impl Association {
    /// Sends new data over this path from now on.
    ///
    /// # Errors
    ///
    /// There is no such path, or it is not confirmed.
    pub fn set_primary(&self, path: PathId) -> Result<(), CallError> {
        self.call(|association, now| association.set_primary(now, path))
    }

    /// Requests that the peer send its data to this local address (RFC 5061 §4.2.4).
    ///
    /// # Errors
    ///
    /// The peer does not support dynamic addresses, or the address is not local.
    pub fn request_peer_primary(&self, local: IpAddr) -> Result<(), CallError> {
        self.call(|association, now| association.request_peer_primary(now, local))
    }

    /// Adds a local address for which the endpoint has a socket (RFC 5061 §4.2.1).
    ///
    /// # Errors
    ///
    /// The endpoint has no socket for the address, the peer does not support it, or the address cannot be
    /// added.
    pub fn add_local_address(&self, local: IpAddr) -> Result<(), CallError> {
        if self.shared.lock().socket_of(local).is_none() {
            return Err(CallError::NoSocket(local));
        }
        self.call(|association, now| association.add_local_address(now, local))
    }

    /// Deletes a local address (RFC 5061 §4.2.2).
    ///
    /// # Errors
    ///
    /// The peer does not support dynamic addresses, or it is the last address.
    pub fn remove_local_address(&self, local: IpAddr) -> Result<(), CallError> {
        self.call(|association, now| association.remove_local_address(now, local))
    }

    /// Reports the state or quality of a link to the handover policy. A mobile endpoint detects by itself
    /// whether links are up.
    ///
    /// # Errors
    ///
    /// The address is not local.
    pub fn link_event(&self, event: LinkEvent) -> Result<(), CallError> {
        self.call(|association, now| association.link_event(now, event))
    }

    /// Says what packets to and from a local address cost this host: whether data goes there only while no
    /// other address works well, and whether it pays by the byte. Both ends' policies obey; the peer learns
    /// it if packets are protected. A mobile endpoint says so by itself, by its links
    /// ([`Mobility::backup`](crate::Mobility::backup), [`Mobility::metered`](crate::Mobility::metered)); this
    /// overrides it until the link's cost changes.
    ///
    /// # Errors
    ///
    /// The address is not local.
    pub fn set_address_cost(&self, local: IpAddr, cost: Cost) -> Result<(), CallError> {
        self.call(|association, now| association.set_address_cost(now, local, cost))
    }

    /// Sends a HEARTBEAT over this path now.
    ///
    /// # Errors
    ///
    /// There is no such path.
    pub fn request_heartbeat(&self, path: PathId) -> Result<(), CallError> {
        self.call(|association, now| association.request_heartbeat(now, path))
    }
}

/// # Streams
///
/// A scheduler decides which stream's message is sent next (RFC 8260 §3). The names, for `Config::streams`
/// and [`set_scheduler`](Association::set_scheduler):
///
/// | name | order |
/// |---|---|
/// | `first-come` | as the messages were sent; the default |
/// | `round-robin` | streams take turns, a message each |
/// | `round-robin-packet` | streams take turns, a packet each |
/// | `priority` | the stream of the lowest value first |
/// | `fair` | streams get equal numbers of bytes |
/// | `weighted-fair` | streams get bytes in proportion to their values |
///
/// Without interleaving (`Config::streams`, RFC 8260 §2) a message that was begun is finished first.
impl Association {
    /// Chooses the scheduler of this end by its name (RFC 8260 §4.3.2). The values of streams are kept.
    ///
    /// # Errors
    ///
    /// No scheduler has that name ([`CallError::Scheduler`]), or the association has ended.
    pub fn set_scheduler(&self, name: &str) -> Result<(), CallError> {
        let mut unknown = Ok(());
        self.call(|association, _| {
            unknown = association.set_scheduler(name);
            Ok(())
        })?;
        Ok(unknown?)
    }

    /// Sets a stream's priority or weight for the scheduler (RFC 8260 §4.3.3). With `priority` the lowest
    /// value is sent first; with `weighted-fair` it is the stream's weight; others ignore it. The default is
    /// 0.
    ///
    /// # Errors
    ///
    /// There is no such outbound stream, or the association has ended.
    pub fn set_stream_value(&self, stream: u16, value: u16) -> Result<(), CallError> {
        self.call(|association, _| {
            let streams = association.agreed().map_or(0, |agreed| agreed.outbound_streams);
            let unknown = |_| msctp_proto::CallError::UnknownStream { stream, streams };
            association.set_stream_value(stream, value).map_err(unknown)
        })
    }

    /// Resets streams or adds some (RFC 6525 §5.1). One request is outstanding at a time, and further ones
    /// are queued. [`Event::Streams`](crate::Event::Streams) reports the peer's answer;
    /// [`streams`](Self::streams) then has the new numbers.
    ///
    /// To end a stream that is read and written as bytes, use [`Stream::finish`](crate::Stream::finish).
    ///
    /// # Errors
    ///
    /// The association is not up, the peer does not support it, there is no such stream, too many are named,
    /// or too many requests wait.
    pub fn reconfigure(&self, request: StreamRequest) -> Result<(), CallError> {
        self.call(|association, now| association.reconfigure(now, request))
    }
}

/// # Shared keys
///
/// `Config::auth` has the keys that an association begins with. To change a key while it is up: both ends
/// [set](Association::set_auth_key) the new one; then each [activates](Association::activate_auth_key) it,
/// and [deletes](Association::delete_auth_key) the old one when the peer signs with the new one
/// ([`AuthEvent::NewKey`](crate::AuthEvent::NewKey)).
impl Association {
    /// Sets a shared key, replacing any with its identifier (RFC 4895).
    ///
    /// Verification uses it immediately, signing after its [activation](Self::activate_auth_key). Both ends
    /// must set it.
    ///
    /// # Errors
    ///
    /// The maximum number of keys is set, or the association has ended.
    pub fn set_auth_key(&self, key: SharedKey) -> Result<(), CallError> {
        self.call(|association, _| association.set_auth_key(key))
    }

    /// Signs with this key from now on.
    ///
    /// # Errors
    ///
    /// The key was not set or was deactivated, or the association has ended.
    pub fn activate_auth_key(&self, id: u16) -> Result<(), CallError> {
        self.call(|association, _| association.activate_auth_key(id))
    }

    /// Stops signing with this key. Chunks that the peer signed with it still verify.
    /// [`AuthEvent::FreeKey`](crate::AuthEvent::FreeKey) reports that no packet signed with it is in flight.
    ///
    /// # Errors
    ///
    /// The key is the active one or was not set, or the association has ended.
    pub fn deactivate_auth_key(&self, id: u16) -> Result<(), CallError> {
        self.call(|association, _| association.deactivate_auth_key(id))
    }

    /// Deletes a key. Chunks that the peer signs with it are then discarded.
    ///
    /// # Errors
    ///
    /// The key is the active one or was not set, or the association has ended.
    pub fn delete_auth_key(&self, id: u16) -> Result<(), CallError> {
        self.call(|association, _| association.delete_auth_key(id))
    }

    /// Returns the counters of explicit congestion notification (`Config::ecn`), or `None` after the
    /// association has ended.
    pub fn ecn_stats(&self) -> Option<EcnStats> {
        self.look(msctp_proto::Association::ecn_stats)
    }
}
