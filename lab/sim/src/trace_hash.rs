//! A running hash of all delivered packets: two runs with equal hashes put the same bytes on every link at
//! the same times.

use sha2::{Digest, Sha256};

use msctp_units::{Ecn, Time};

use crate::packet::{Body, Packet};

/// SHA-256 over (time, link direction, addresses, bytes) of every delivered packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct TraceHash {
    hash: Sha256,
}

impl TraceHash {
    pub(crate) fn add(&mut self, at: Time, direction: u32, packet: &Packet) {
        self.hash.update(at.as_nanos().to_be_bytes());
        self.hash.update(direction.to_be_bytes());
        self.hash.update(packet.source.0.to_be_bytes());
        self.hash.update(packet.destination.0.to_be_bytes());
        self.hash.update(packet.wire_len.to_be_bytes());
        if let Some((source, destination)) = packet.inner {
            self.hash.update(source.0.to_be_bytes());
            self.hash.update(destination.0.to_be_bytes());
        }
        // Not-ECT adds nothing, so that runs without ECN keep the hashes of earlier versions.
        if packet.ecn != Ecn::NotEct {
            self.hash.update([packet.ecn.bits()]);
        }
        // Native SCTP adds nothing, for the same reason.
        if packet.body == Body::Sctp && packet.ports != (0, 0) {
            self.hash.update(packet.ports.0.to_be_bytes());
            self.hash.update(packet.ports.1.to_be_bytes());
        }
        match packet.body {
            // A segment's data are zeros, of the recorded length.
            Body::Sctp | Body::Udp | Body::Icmp | Body::Tcp { .. } | Body::Outside => {
                self.hash.update(&packet.bytes);
            }
            // The bytes follow from these two fields.
            Body::Cbr { app, number } => {
                self.hash.update(app.to_be_bytes());
                self.hash.update(number.to_be_bytes());
            }
        }
    }

    /// Returns the hash so far, in hexadecimal.
    pub(crate) fn hex(&self) -> String {
        self.hash.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
