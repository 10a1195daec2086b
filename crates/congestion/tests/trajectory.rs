//! The window of RFC 9260's controller through a path's life, held against a committed table.
//!
//! A change of the table is a change of behaviour: read it, and if it is meant, write it anew with
//! `MSCTP_BLESS=1 cargo test -p msctp-congestion --test trajectory`.

use std::fmt::Write;

use msctp_congestion::{Ack, ControllerConfig, IpVersion, Loss, LossKind, create};
use msctp_congestion::{Controller, StartState};
use msctp_units::Time;

const PMDCS: u64 = 1468;

/// A sender that always has data, and a peer that acknowledges every second full packet.
struct Path {
    controller: Box<dyn Controller>,
    in_fast_recovery: bool,
    table: String,
}

impl Path {
    fn ack(&mut self, bytes_acked: u64, nothing_outstanding: bool) {
        self.controller.on_ack(&Ack {
            now: Time::ZERO,
            bytes_acked,
            duplicate_bytes: 0,
            // §6.1 rule B: the sender fills the window and exceeds it by less than one packet.
            flight_size_before: self.controller.window().cwnd.next_multiple_of(PMDCS),
            cum_tsn_advanced: true,
            in_fast_recovery: self.in_fast_recovery,
            nothing_outstanding,
            rtt: None,
            srtt: None,
        });
    }

    /// One round trip: everything in flight is acknowledged.
    fn round(&mut self) {
        let mut flight = self.controller.window().cwnd.next_multiple_of(PMDCS);
        while flight > 0 {
            let acked = flight.min(2 * PMDCS);
            self.ack(acked, false);
            flight -= acked;
        }
        self.row("round");
    }

    fn loss(&mut self, kind: LossKind, what: &str) {
        self.controller.on_loss(&Loss { now: Time::ZERO, kind, flight_size: self.controller.window().cwnd });
        self.row(what);
    }

    fn idle(&mut self, rtos: u64) {
        self.controller.on_idle(rtos);
        self.row(&format!("idle {rtos} RTO"));
    }

    fn row(&mut self, what: &str) {
        let window = self.controller.window();
        let ssthresh = match window.ssthresh {
            u64::MAX => "high".to_owned(),
            bytes => bytes.to_string(),
        };
        let (cwnd, pba) = (window.cwnd, window.partial_bytes_acked);
        writeln!(self.table, "{what:<22} {cwnd:>8} {ssthresh:>8} {pba:>8}").unwrap();
    }
}

#[test]
fn rfc9260_through_a_paths_life() {
    let controller = create("rfc9260", &ControllerConfig::rfc9260(PMDCS, IpVersion::V4)).unwrap();
    let mut path = Path { controller, in_fast_recovery: false, table: String::new() };
    writeln!(path.table, "{:<22} {:>8} {:>8} {:>8}", "after", "cwnd", "ssthresh", "pba").unwrap();
    path.row("start");
    for _ in 0..8 {
        path.round();
    }
    path.loss(LossKind::Gap, "gap loss");
    path.in_fast_recovery = true;
    path.round();
    path.in_fast_recovery = false;
    path.controller.on_recovery_exit(Time::ZERO);
    path.row("recovery exit");
    for _ in 0..5 {
        path.round();
    }
    path.loss(LossKind::Ecn, "ECN");
    path.round();
    path.loss(LossKind::Timeout, "T3-rtx");
    path.loss(LossKind::Timeout, "T3-rtx again");
    for _ in 0..7 {
        path.round();
    }
    path.ack(PMDCS, true);
    path.row("all acknowledged");
    path.idle(1);
    path.idle(9);
    for _ in 0..3 {
        path.round();
    }
    path.controller.start(&StartState { cwnd: 30_000, ssthresh: Some(20_000), pacing_rate: None });
    path.row("start by a policy");
    path.idle(4);
    for _ in 0..3 {
        path.round();
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trajectory_rfc9260.txt");
    if std::env::var_os("MSCTP_BLESS").is_some() {
        std::fs::write(file, &path.table).unwrap();
    }
    let committed = std::fs::read_to_string(file).unwrap();
    assert_eq!(path.table, committed, "see the head of this file");
}
