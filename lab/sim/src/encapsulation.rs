//! SCTP over UDP at one host (RFC 6951): the ports of each association's peer. May not touch links or events.

use std::collections::BTreeMap;

use msctp_proto::{DatagramOutcome, ENCAPSULATION_PORT, Endpoint, Handle, PathAddr, RemotePorts, Transmit};

/// Origin of the current packet if no port was learned from it. Responses are sent there.
#[derive(Clone, Copy, Debug)]
struct Stray {
    /// `None`: an answer without an association.
    handle: Option<Handle>,
    at: PathAddr,
    port: u16,
    /// True if the packet was verified as the peer's. Others get only [`Transmit::answers_unverified`]
    /// packets.
    verified: bool,
}

/// The UDP ports of a host's peers.
#[derive(Debug, Default)]
pub(crate) struct Encapsulation {
    associations: BTreeMap<Handle, RemotePorts>,
    stray: Option<Stray>,
}

impl Encapsulation {
    /// Adds an association that this host begins.
    pub(crate) fn connect(&mut self, handle: Handle) {
        self.associations.insert(handle, RemotePorts::new(ENCAPSULATION_PORT));
    }

    /// Learns the source port of a datagram from its outcome (RFC 6951 §5.4).
    pub(crate) fn received(
        &mut self,
        endpoint: &Endpoint,
        outcome: DatagramOutcome,
        at: PathAddr,
        port: u16,
    ) {
        let stray = |handle, verified| Some(Stray { handle, at, port, verified });
        self.stray = match outcome {
            DatagramOutcome::Association(handle) | DatagramOutcome::Accepted(handle) => {
                let ports = self.associations.entry(handle).or_insert_with(|| RemotePorts::new(port));
                let mut is_path = true;
                ports.learn(at.local, at.remote, port, || {
                    is_path = endpoint.association(handle).is_some_and(|a| a.path_between(at).is_some());
                    is_path
                });
                if is_path { None } else { stray(Some(handle), true) }
            }
            DatagramOutcome::Unverified(handle) => stray(Some(handle), false),
            DatagramOutcome::Replied => stray(None, true),
            DatagramOutcome::Ignored(_) => None,
        };
    }

    /// Ends the handling of the current packet.
    pub(crate) fn settled(&mut self) {
        self.stray = None;
    }

    /// Returns the destination port of a packet; `None` if its association is gone.
    pub(crate) fn port(&self, handle: Option<Handle>, transmit: &Transmit) -> Option<u16> {
        let at = transmit.at;
        match self.stray {
            Some(stray)
                if (stray.verified || transmit.answers_unverified)
                    && handle == stray.handle
                    && at == stray.at =>
            {
                Some(stray.port)
            }
            _ => self.associations.get(&handle?).map(|ports| ports.port(at.local, at.remote)),
        }
    }
}
