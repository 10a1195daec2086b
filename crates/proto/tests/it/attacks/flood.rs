//! A flood of INITs: the listener keeps no state of any (RFC 9260 §5.1.3), so that its memory does not depend
//! on their number.

use core::net::IpAddr;

use msctp_proto::{Config, DatagramOutcome, Endpoint, EndpointConfig, LocalAddrs, PathAddr};
use msctp_units::{Span, Time};
use msctp_wire::{Init, Params, Tsn, VerificationTag};

use crate::support::{PORT_A, PORT_B, b_ip, packet_between};

/// Returns the resident memory of this process in bytes; `None` if the system does not report it.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kib| kib * 1024)
}

/// Sends this many INITs, each from another address and with another tag. With `reading` off, the answers are
/// not polled.
fn flood(count: u32, reading: bool) {
    let config = EndpointConfig::default();
    let replies = config.max_pending_replies;
    let mut endpoint = Endpoint::new(config, [3; 32]).unwrap();
    endpoint.listen(LocalAddrs { port: PORT_B, addresses: vec![b_ip(0)] }, Config::default()).unwrap();
    let mut out = Vec::new();
    let mut send = |endpoint: &mut Endpoint, n: u32| {
        // At the limit of answers (`EndpointConfig::max_replies_per_second`).
        let now = Time::ZERO + Span::from_micros(100) * u64::from(n);
        let init = Init {
            initiate_tag: VerificationTag::new(n | 1),
            a_rwnd: 100_000,
            outbound_streams: 1,
            inbound_streams: 1,
            initial_tsn: Tsn::new(n),
            params: Params::EMPTY,
        };
        let at = PathAddr { local: b_ip(0), remote: IpAddr::from((0x0b00_0000 + n).to_be_bytes()) };
        let mut bytes = packet_between(PORT_A, PORT_B, 0, &[&init]);
        let outcome = endpoint.handle_datagram(now, at, &mut bytes);
        let mut answers = 0;
        while reading && endpoint.poll_transmit(now, &mut out).is_some() {
            answers += 1;
            out.clear();
        }
        assert_eq!(answers, u32::from(reading), "one INIT ACK for an INIT");
        outcome
    };
    // The first of them cause all permanent allocations.
    let warm = count / 10;
    for n in 0..warm {
        send(&mut endpoint, n);
    }
    // Other tests of this process also allocate: only the long run is significant.
    let measures = count >= 1_000_000;
    let before = resident().filter(|_| measures);
    let mut refused = 0;
    for n in warm..count {
        refused += u32::from(matches!(send(&mut endpoint, n), DatagramOutcome::Ignored(_)));
    }
    assert_eq!(endpoint.len(), 0, "no association without a valid cookie");
    assert_eq!(endpoint.poll_timeout(), None, "no timer runs");
    assert_eq!(refused, if reading { 0 } else { count - warm }, "{replies} answers queued at most");
    if let (Some(before), Some(after)) = (before, resident()) {
        let grown = after.saturating_sub(before);
        assert!(grown < 1 << 20, "{grown} bytes more after {count} packets");
    }
}

#[test]
fn ten_thousand_inits_leave_no_state() {
    flood(10_000, true);
    flood(10_000, false);
}

/// Its short form is `ten_thousand_inits_leave_no_state`.
#[test]
#[ignore = "a million packets; scripts/test slow runs it"]
fn slow_a_million_inits_leave_no_state() {
    flood(1_000_000, true);
    flood(1_000_000, false);
}
