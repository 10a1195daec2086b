//! SCTP over UDP at one host (RFC 6951): where answers to the current packet go. May not touch links or
//! events.

use msctp_proto::{DatagramOutcome, Endpoint, Handle, PathAddr, Transmit};

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

/// The origin of the packet that a host handles.
#[derive(Debug, Default)]
pub(crate) struct Encapsulation {
    stray: Option<Stray>,
}

impl Encapsulation {
    /// Takes the origin of a datagram from its outcome.
    pub(crate) fn received(
        &mut self,
        endpoint: &Endpoint,
        outcome: DatagramOutcome,
        at: PathAddr,
        port: u16,
    ) {
        let stray = |handle, verified| Some(Stray { handle, at, port, verified });
        self.stray = match outcome {
            DatagramOutcome::Association(handle) => {
                let is_path = endpoint.association(handle).is_some_and(|a| a.path_between(at).is_some());
                if is_path { None } else { stray(Some(handle), true) }
            }
            DatagramOutcome::Unverified(handle) => stray(Some(handle), false),
            DatagramOutcome::Replied => stray(None, true),
            DatagramOutcome::Accepted(_) | DatagramOutcome::Ignored(_) => None,
        };
    }

    /// Ends the handling of the current packet.
    pub(crate) fn settled(&mut self) {
        self.stray = None;
    }

    /// Returns the destination port of a packet; `None` if the packet that it answers is gone.
    pub(crate) fn port(&self, handle: Option<Handle>, transmit: &Transmit) -> Option<u16> {
        match self.stray {
            Some(stray)
                if (stray.verified || transmit.answers_unverified)
                    && handle == stray.handle
                    && transmit.at == stray.at =>
            {
                Some(stray.port)
            }
            _ => transmit.udp_port,
        }
    }
}
