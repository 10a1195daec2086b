//! Applies the outcomes of address requests to the paths: the only file here that touches them.

use core::net::IpAddr;

use msctp_units::Time;

use super::{AsconfEvent, Effect};
use crate::asconf::AddressRequest;
use crate::path::{Added, AddressError, Path, Paths, SourceUse};

/// Paths added and removed by an outcome.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    /// Added paths.
    pub added: Added,
    /// Removed paths. Their chunks in flight are retransmitted on other paths.
    pub removed: Vec<Path>,
}

/// Prepares a local address for its Add-IP. It may be a source for ASCONFs only (RFC 5061 §5.3 F1), and
/// packets to it belong to the association. ¶ Called when the application adds it, so that requests can leave
/// from it even if every other link is down. Has no effect on an existing address.
///
/// # Errors
/// The address is no unicast address or there are too many.
pub(crate) fn prepare_local(paths: &mut Paths, address: IpAddr, now: Time) -> Result<Added, AddressError> {
    if paths.has_local(&address) {
        return Ok(Added::new());
    }
    //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
    //# the sender MUST NOT use the new IP address as a source for ANY SCTP packet except on carrying an
    //# ASCONF Chunk
    //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
    //# The endpoint MUST NOT source data from this new address until the ASCONF-ACK arrives
    paths.add_local(address, SourceUse::AsconfOnly, now)
}

impl AsconfEvent {
    /// Applies the outcome of this end's request to the paths.
    pub(crate) fn apply(&self, paths: &mut Paths, now: Time) -> Applied {
        let mut applied = Applied::default();
        match *self {
            // An earlier Delete or failure of the same address may have removed the prepared one. If there is
            // no room for it any more, the request leaves from another address.
            Self::Started(AddressRequest::Add(address)) => {
                applied.added = prepare_local(paths, address, now).unwrap_or_default();
            }
            // F4
            Self::Started(AddressRequest::Delete(address)) => {
                //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
                //# MUST NOT be used as a source address for any subsequent packets
                paths.set_source_use(&address, SourceUse::ReceiveOnly, now);
            }
            Self::Started(AddressRequest::KeepOnly(kept)) => {
                for other in others(paths, &kept, SourceUse::Full) {
                    paths.set_source_use(&other, SourceUse::ReceiveOnly, now);
                }
            }
            Self::Done(AddressRequest::KeepOnly(kept)) => {
                for other in others(paths, &kept, SourceUse::ReceiveOnly) {
                    applied.removed.extend(paths.remove_local(&other));
                }
            }
            Self::Rejected { request: AddressRequest::KeepOnly(kept), .. } => {
                for other in others(paths, &kept, SourceUse::ReceiveOnly) {
                    paths.set_source_use(&other, SourceUse::Full, now);
                }
            }
            // F2. It may be missing when one ASCONF deleted it and added it again.
            Self::Done(AddressRequest::Add(address)) => {
                applied.added = prepare_local(paths, address, now).unwrap_or_default();
                paths.set_source_use(&address, SourceUse::Full, now);
            }
            Self::Done(AddressRequest::Delete(address)) => applied.removed = paths.remove_local(&address),
            // F10. An address that existed before, because its Delete failed, stays.
            Self::Rejected { request: AddressRequest::Add(address), .. } => {
                if paths.local_source(&address) == Some(SourceUse::AsconfOnly) {
                    applied.removed = paths.remove_local(&address);
                }
            }
            Self::Rejected { request: AddressRequest::Delete(address), .. } => {
                if paths.local_source(&address) == Some(SourceUse::ReceiveOnly) {
                    paths.set_source_use(&address, SourceUse::Full, now);
                }
            }
            Self::Started(AddressRequest::SetPrimary(_))
            | Self::Done(AddressRequest::SetPrimary(_))
            | Self::Rejected { request: AddressRequest::SetPrimary(_), .. }
            | Self::Unsupported => {}
        }
        applied
    }
}

impl Effect {
    /// Applies the peer's request to the paths. [`Paths::take_wanted_primary`] then returns the primary that
    /// it requests.
    pub(crate) fn apply(&self, paths: &mut Paths, now: Time) -> Applied {
        let mut applied = Applied::default();
        match *self {
            Self::AddRemote(address) => {
                let added = paths.add_listed_remote(address, now);
                debug_assert!(added.is_ok(), "accepted beyond the limits: {added:?}");
                applied.added = added.unwrap_or_default();
            }
            Self::RemoveRemote(address) => applied.removed = paths.remove_remote(&address),
            Self::SetPrimary(address) => paths.want_primary(&address),
        }
        applied
    }
}

/// Returns the local addresses with this use, except one.
fn others(paths: &Paths, kept: &IpAddr, used: SourceUse) -> Vec<IpAddr> {
    let others = paths.locals().filter(|(address, source)| address != kept && *source == used);
    others.map(|(address, _)| address).collect()
}
