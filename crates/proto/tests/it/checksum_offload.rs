//! Checksums left to the layer below (`EndpointConfig::checksum_offload`).

use crate::support;

use msctp_proto::{
    Config, DatagramOutcome, Endpoint, EndpointConfig, Handle, IgnoreReason, LocalAddrs, OfferConfig,
    OutMessage, PathAddr, RemoteAddrs,
};
use msctp_units::{Span, Time};
use msctp_wire::{PacketError, write_checksum};
use support::{PORT_B, a_ip, b_ip};

/// An end with a device below it, which writes and removes checksums if the endpoint leaves them to it.
struct End {
    endpoint: Endpoint,
    offload: bool,
    handle: Option<Handle>,
    received: usize,
    /// Numbers of packets that left with a checksum from the endpoint, from the device, and without one.
    sent: [usize; 3],
}

impl End {
    fn new(checksum_offload: bool, seed: u8) -> Self {
        let config = EndpointConfig { checksum_offload, ..EndpointConfig::default() };
        let endpoint = Endpoint::new(config, [seed; 32]).unwrap();
        Self { endpoint, offload: checksum_offload, handle: None, received: 0, sent: [0; 3] }
    }

    fn receive(&mut self, now: Time, at: PathAddr, mut bytes: Vec<u8>) {
        if self.offload {
            bytes[8..12].fill(0);
        }
        match self.endpoint.handle_datagram(now, at, &mut bytes) {
            DatagramOutcome::Association(handle) | DatagramOutcome::Accepted(handle) => {
                self.handle = Some(handle);
            }
            DatagramOutcome::Replied => {}
            other => panic!("{other:?}"),
        }
        let association = self.handle.and_then(|handle| self.endpoint.association_mut(handle));
        if let Some(association) = association {
            while let Ok(Some(message)) = association.recv() {
                self.received += message.data.len();
            }
        }
    }

    fn transmit(&mut self, now: Time) -> Option<(PathAddr, Vec<u8>)> {
        let mut bytes = Vec::new();
        let transmit = self.endpoint.poll_transmit(now, &mut bytes)?;
        let empty = bytes[8..12] == [0; 4];
        assert!(!transmit.needs_checksum || self.offload && empty);
        self.sent[if transmit.needs_checksum { 1 } else { usize::from(empty) * 2 }] += 1;
        if transmit.needs_checksum {
            write_checksum(&mut bytes);
        }
        Some((PathAddr { local: transmit.at.remote, remote: transmit.at.local }, bytes))
    }
}

/// Transfers messages both ways. Returns the packets of both ends as in [`End::sent`].
fn transfer(offloads: [bool; 2], lower_layer_protects: bool) -> [[usize; 3]; 2] {
    let offer = OfferConfig { lower_layer_protects, ..OfferConfig::default() };
    let config = Config { offer, ..Config::default() };
    let mut ends = [End::new(offloads[0], 1), End::new(offloads[1], 2)];
    let mut now = Time::ZERO + Span::from_secs(1);
    ends[1].endpoint.listen(LocalAddrs { port: PORT_B, addresses: vec![b_ip(0)] }, config.clone()).unwrap();
    let local = LocalAddrs { port: 4000, addresses: vec![a_ip(0)] };
    let remote = RemoteAddrs { port: PORT_B, addresses: vec![b_ip(0)] };
    ends[0].handle = Some(ends[0].endpoint.connect(now, config, local, remote).unwrap());
    for round in 0..200 {
        now += Span::from_millis(20);
        for end in &mut ends {
            end.endpoint.handle_timeout(now);
            if round == 50 {
                let association = end.endpoint.association_mut(end.handle.unwrap()).unwrap();
                for _ in 0..20 {
                    let message = OutMessage { data: vec![7; 1000].into(), ..OutMessage::default() };
                    association.send(now, message).unwrap();
                }
            }
        }
        for from in [0, 1, 0, 1] {
            while let Some((at, bytes)) = ends[from].transmit(now) {
                ends[1 - from].receive(now, at, bytes);
            }
        }
    }
    assert_eq!(ends.each_ref().map(|end| end.received), [20_000; 2], "{offloads:?}");
    ends.map(|end| end.sent)
}

#[test]
fn the_layer_below_writes_the_checksums_and_the_peer_does_not_notice() {
    for offloads in [[true, false], [false, true], [true, true]] {
        for (sent, offload) in transfer(offloads, false).into_iter().zip(offloads) {
            let [own, device, none] = sent;
            assert!(own + device > 20 && none == 0, "{sent:?}");
            assert_eq!((own == 0, device == 0), (offload, !offload), "{sent:?}");
        }
    }
}

#[test]
fn a_checksum_that_both_ends_leave_out_stays_out() {
    // RFC 9653 §5.2: INIT, INIT ACK and COOKIE ECHO have one.
    let [[own, device, none], _] = transfer([true, true], true);
    assert!(own == 0 && (2..5).contains(&device) && none > 20, "{own} {device} {none}");
}

#[test]
fn without_the_option_a_checksum_is_verified_and_with_it_not() {
    for (offload, malformed) in [(false, true), (true, false)] {
        let mut end = End::new(offload, 1);
        let at = PathAddr { local: b_ip(0), remote: a_ip(0) };
        // A SHUTDOWN COMPLETE out of the blue.
        let mut bytes = [0x0f, 0xa0, 0x13, 0x89, 0, 0, 0, 7, 1, 2, 3, 4, 14, 0, 0, 4];
        let outcome = end.endpoint.handle_datagram(Time::ZERO, at, &mut bytes);
        let bad = matches!(
            outcome,
            DatagramOutcome::Ignored(IgnoreReason::Malformed(PacketError::BadChecksum { .. }))
        );
        assert_eq!(bad, malformed, "{outcome:?}");
    }
}
