//! The window of every controller of the catalogue through a path's life, held against committed tables.
//!
//! A change of a table is a change of behaviour: read it, and if it is meant, accept it with `cargo insta
//! accept` or `INSTA_UPDATE=always cargo test -p msctp-lab-schemes --test it trajectory`.

mod bbr;
mod delay_bound;
mod path;
mod resume;

use std::fmt::Write;

use msctp_congestion::{Ack, Controller, ControllerConfig, IpVersion, Loss, LossKind, StartState};
use msctp_lab_schemes::catalogue::{Options, controllers};
use msctp_units::{Rate, Span, Time};

use path::PMDCS;

/// A sender that always has data, and a peer that acknowledges every second full packet.
struct Rounds {
    controller: Box<dyn Controller>,
    in_fast_recovery: bool,
    table: String,
}

impl Rounds {
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
            answered_elsewhere: false,
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

/// Round by round: each event of a controller's interface, alone.
fn life(controller: Box<dyn Controller>) -> String {
    let mut path = Rounds { controller, in_fast_recovery: false, table: String::new() };
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
    path.table
}

/// A bottleneck of 10 Mbps, 60 ms and 50 packets (the path holds 51): full use, an outage, an application
/// with little to send, idle time, a stall that only looks like a loss, a mark, a start by a policy.
fn trajectory(controller: Box<dyn Controller>) -> String {
    let link = path::Link { rate: Rate::from_mbps(10), rtt: Span::from_millis(60), queue: 50 };
    let mut path = path::Path::new(controller, link);
    let step = Span::from_millis(250);
    for quarter in 0..200u64 {
        let phase = match quarter {
            80..86 => "outage",
            104..112 => "8 packets",
            120..132 => "idle",
            148..150 => "stall",
            164 => "mark",
            180 => "start",
            _ => "",
        };
        path.dead = phase == "outage";
        path.application = match phase {
            "8 packets" => 8,
            "idle" => 0,
            _ => u64::MAX,
        };
        match (phase, quarter) {
            ("stall", 148) => path.stall(Span::from_millis(900)),
            ("mark", _) => path.mark(),
            ("start", _) => path.controller.start(&StartState {
                cwnd: 20 * PMDCS,
                ssthresh: Some(15 * PMDCS),
                pacing_rate: None,
            }),
            _ => {}
        }
        path.run_until(Time::ZERO + step * (quarter + 1));
        path.row(phase);
    }
    path.table
}

#[test]
fn every_controller_has_its_trajectories() {
    for info in controllers() {
        let make = || (info.make)(&Options::new()).make(&ControllerConfig::rfc9260(PMDCS, IpVersion::V4));
        insta::assert_snapshot!(format!("{}-life", info.name), life(make()));
        insta::assert_snapshot!(info.name, trajectory(make()));
    }
}
