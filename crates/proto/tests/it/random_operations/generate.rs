//! Generates a plan from a seed.

use crate::random_operations::plan::{
    Effort, Ending, Heal, Link, MOBILE, Op, Pace, Plan, Quality, SERVER, Setup, Side, Tuning,
};
use crate::random_operations::rng::TestRng;

/// Maximum number of user bytes that each end sends. More bytes find no further faults and take time.
const BYTES: u64 = 400_000;

pub(crate) fn plan(seed: u64) -> Plan {
    let mut rng = TestRng::new(seed, "plan");
    let setup = setup(&mut rng, seed);
    let ops = Vec::new();
    let mut writer = Writer { rng, setup, ops, bytes: [0; 2], severity: 0, partial: 0, cuts: false };
    writer.severity = writer.rng.pick(&[0, 5, 20, 40]);
    writer.partial = writer.rng.pick(&[0, 30, 60, 100]);
    writer.cuts = writer.rng.percent(50);
    writer.all_paths();
    if writer.rng.percent(60) {
        // Most operations need an established association.
        let ms = writer.rng.between(100, 1000) as u32;
        writer.ops.push(Op::Run { ms });
    }
    for _ in 0..writer.rng.between(5, 40) {
        writer.operation();
    }
    Plan { setup: writer.setup, ops: writer.ops }
}

fn bits(rng: &mut TestRng, pool: usize, at_most: u64) -> u8 {
    let wanted = rng.between(1, at_most) as u32;
    let mut bits = 0u8;
    while bits.count_ones() < wanted {
        bits |= 1 << rng.below(pool as u64);
    }
    bits
}

fn setup(rng: &mut TestRng, seed: u64) -> Setup {
    loop {
        let mut setup = Setup {
            seed,
            mobile_addresses: bits(rng, MOBILE.len(), 3),
            server_addresses: bits(rng, SERVER.len(), 2),
            names_all: rng.percent(50),
            plain: rng.percent(40),
            mobile: tuning(rng),
            server: tuning(rng),
            heal: if rng.percent(30) { Heal::One } else { Heal::All },
            ending: rng.pick(&[
                Ending::MobileShutsDown,
                Ending::ServerShutsDown,
                Ending::MobileShutsDown,
                Ending::ServerShutsDown,
                Ending::BothShutDown,
                Ending::MobileAborts,
                Ending::ServerAborts,
            ]),
        };
        // Options that both ends must have: mostly they agree.
        let wanted: [bool; 4] = [50, 85, 85, 90].map(|percent| rng.percent(percent));
        for tuning in [&mut setup.mobile, &mut setup.server] {
            let [interleaving, partial_reliability, reconfiguration, dynamic_addresses] =
                wanted.map(|wanted| wanted ^ rng.percent(4));
            *tuning =
                Tuning { interleaving, partial_reliability, reconfiguration, dynamic_addresses, ..*tuning };
        }
        if setup.is_possible() {
            // If only one path works in the end, finding it must be possible.
            if setup.heal == Heal::One {
                for tuning in [&mut setup.mobile, &mut setup.server] {
                    tuning.assoc_max_retrans = tuning.assoc_max_retrans.max(30);
                    tuning.rto_max_ms = 10_000;
                    // Spurious retransmissions make a dead path appear alive (RFC 9260 §8.2 on the ambiguity
                    // of chunks sent on two paths).
                    tuning.rto_min_ms = 1000;
                }
            }
            return setup;
        }
    }
}

fn tuning(rng: &mut TestRng) -> Tuning {
    if rng.percent(15) {
        return Tuning::DEFAULT;
    }
    Tuning {
        controller: rng.below(8) as u8,
        policy: rng.below(6) as u8,
        bicast: rng.percent(60),
        rto_min_ms: rng.pick(&[200, 1000, 1000]),
        rto_max_ms: rng.pick(&[1000, 3000, 10_000, 60_000]),
        sack_delay_ms: rng.pick(&[0, 20, 200, 200, 500]),
        sack_frequency: rng.pick(&[1, 2, 2, 3, 16, 100]),
        hb_interval_ms: rng.pick(&[0, 0, 0, 500, 5000, 30_000, 600_000]),
        path_max_retrans: rng.pick(&[0, 1, 2, 5]),
        assoc_max_retrans: rng.pick(&[4, 10, 30, 30, 100]),
        receive_buffer: rng.pick(&[1500, 1500, 1500, 4000, 20_000, 65_536, 1 << 20]),
        send_buffer: rng.pick(&[1500, 1500, 5000, 30_000, 200_000, 2 << 20]),
        pmtu: rng.pick(&[512, 576, 1280, 1500, 1500, 1500, 9000, 65_535]),
        max_burst: rng.pick(&[0, 1, 4, 4, 40]),
        max_segments: rng.pick(&[1, 1, 1, 2, 16, 64]),
        same_path: rng.percent(30),
        initial_window: rng.pick(&[0, 0, 1, 10]),
        initial_ssthresh: rng.pick(&[0, 0, 1, 3000, 65_536]),
        outbound_streams: rng.pick(&[1, 3, 10, 10, 1000]),
        max_inbound_streams: rng.pick(&[1, 5, u16::MAX, u16::MAX]),
        demands_data: {
            // Keep the draw of a removed option: every seed keeps its sequence.
            rng.percent(10);
            rng.percent(20)
        },
        rack: rng.percent(40),
        scheduler: rng.below(6) as u8,
        peer_may_reset: rng.percent(90),
        peer_may_add: rng.percent(90),
        potentially_failed: rng.pick(&[0, 0, 1, 2]),
        quick_moves: rng.percent(50),
        silence_ms: rng.pick(&[0, 0, 1, 100]),
        ..grown(rng.below(100))
    }
}

/// Chooses options that share a draw: another draw would change the sequence of every seed.
fn grown(throw: u64) -> Tuning {
    // One path, several at once, copies of each message.
    let paths = [0, 0, 1, 1, 2][throw as usize % 5];
    Tuning { prr: throw < 30, paths, ..Tuning::DEFAULT }
}

struct Writer {
    rng: TestRng,
    setup: Setup,
    ops: Vec<Op>,
    bytes: [u64; 2],
    /// Severity of the network's faults, 0 to 40.
    severity: u64,
    /// Percentage of messages that are not fully reliable.
    partial: u8,
    /// Networks fail and recover.
    cuts: bool,
}

impl Writer {
    fn side(&mut self) -> Side {
        self.rng.pick(&Side::BOTH)
    }

    fn quality(&mut self) -> Quality {
        let rng = &mut self.rng;
        if rng.below(100) < self.severity / 2 {
            return Quality::DEAD;
        }
        let percent = |rng: &mut TestRng, severity: u64| rng.below(severity + 1) as u8;
        Quality {
            delay_ms: rng.pick(&[5, 20, 20, 60, 150]),
            jitter_ms: if rng.below(60) < self.severity { rng.pick(&[1, 10, 100, 400]) } else { 0 },
            loss: percent(rng, self.severity),
            duplicate: percent(rng, self.severity),
            corrupt: percent(rng, self.severity / 2),
        }
    }

    fn path(&mut self, mobile: u8, server: u8) {
        let (to_server, to_mobile) = (self.quality(), self.quality());
        self.ops.push(Op::Path { mobile, server, to_server, to_mobile });
    }

    fn all_paths(&mut self) {
        for (mobile, local) in MOBILE.iter().enumerate() {
            for (server, remote) in SERVER.iter().enumerate() {
                if local.is_ipv4() == remote.is_ipv4() {
                    self.path(mobile as u8, server as u8);
                }
            }
        }
    }

    fn operation(&mut self) {
        let side = self.side();
        match self.rng.below(100) {
            0..=26 => self.send(side),
            27..=38 => self.change_streams(side),
            39..=59 => {
                let ms = self.rng.pick(&[1, 10, 50, 200, 500, 1000, 3000, 10_000, 40_000, 400_000]);
                let ms = self.rng.between(1, ms) as u32;
                self.ops.push(Op::Run { ms });
            }
            60..=66 => {
                let ms = self.rng.between(1, 300) as u16;
                // Without a draw: another one would change the sequence of every seed.
                let none =
                    if ms.is_multiple_of(3) { Pace::Never } else { Pace::AllBut { stream: ms % 3 - 1 } };
                let pace = self.rng.pick(&[Pace::AtOnce, Pace::AtOnce, none, Pace::OneEvery { ms }]);
                self.ops.push(Op::Read { side, pace });
            }
            67..=71 if self.cuts => {
                let (side, address) = (self.side(), self.rng.below(4) as u8);
                let dead = self.rng.percent(60);
                self.ops.push(Op::Cut { side, address, dead });
            }
            67..=75 => {
                let (mobile, server) = (self.rng.below(4) as u8, self.rng.below(3) as u8);
                self.path(mobile, server);
            }
            76..=85 => self.change_address(side),
            86..=90 => {
                let path = self.rng.below(6) as u8;
                self.ops.push(Op::SetPrimary { side, path });
            }
            91..=96 => {
                let bps = self.rng.pick(&[1, 8_000, 60_000, 2_000_000, 1_000_000_000_000]);
                let round_trip_ms = self.rng.pick(&[1, 100, 60_000]);
                let report = Link::Report { bps, round_trip_ms, cell: self.rng.below(3) as u8 };
                let links = [Link::Up, Link::Up, Link::Down, Link::Degrading, Link::PredictedDown];
                let link = if self.rng.percent(40) { report } else { self.rng.pick(&links) };
                let address = self.rng.below(4) as u8;
                self.ops.push(Op::LinkEvent { side, address, link });
            }
            // Early ends with other operations running: most sequences end like this anyway.
            97 => {
                let side = if self.rng.percent(75) { Side::Mobile } else { Side::Server };
                self.ops.push(Op::Restart { side });
            }
            98 => self.ops.push(Op::Shutdown { side }),
            _ if self.rng.percent(50) => self.ops.push(Op::Abort { side }),
            _ => self.all_paths(),
        }
    }

    fn change_address(&mut self, side: Side) {
        // While data is outstanding, and is abandoned after partial transmission.
        if self.rng.percent(60) {
            self.send(side);
        }
        if self.partial > 0 && self.rng.percent(60) {
            let len = self.setup.tuning(side).send_buffer.min(20_000);
            let effort = Effort::LifetimeMs(self.rng.pick(&[10, 30, 100]));
            let unordered = self.rng.percent(25);
            self.ops.push(Op::SendPartial { side, stream: 0, len, count: 3, unordered, effort });
        }
        // A server's addresses change less often.
        let side = if self.rng.percent(50) { Side::Mobile } else { side };
        let address = self.rng.below(side.pool().len() as u64) as u8;
        self.ops.push(match self.rng.below(12) {
            0..=3 => Op::AddAddress { side, address },
            4 => Op::AddWildcard { side, address },
            5..=8 => Op::RemoveAddress { side, address },
            9 => Op::KeepOnly { side, address },
            _ => Op::RequestPrimary { side, address },
        });
    }

    fn change_streams(&mut self, side: Side) {
        // A reset waits for messages sent before it.
        if self.rng.percent(40) {
            self.send(side);
        }
        let rng = &mut self.rng;
        let (first, incoming) = (rng.pick(&[0, 0, 1, 2, 7]), rng.percent(30));
        self.ops.push(match rng.below(10) {
            0..=4 => Op::Reset { side, incoming, first, count: rng.pick(&[1, 1, 1, 3, 0]) },
            5..=7 => Op::AddStreams { side, incoming, count: rng.pick(&[0, 1, 1, 2, 3, 60_000]) },
            8 => Op::StreamValue { side, stream: first, value: rng.below(5) as u16 },
            _ => Op::Schedule { side, scheduler: rng.below(6) as u8 },
        });
    }

    fn effort(&mut self) -> Effort {
        let rng = &mut self.rng;
        match rng.below(3) {
            0 => Effort::LifetimeMs(rng.pick(&[0, 5, 50, 300, 2000, 6000, 20_000])),
            1 => Effort::Retransmissions(rng.pick(&[0, 0, 1, 3])),
            _ => Effort::Priority(rng.below(4) as u16),
        }
    }

    fn send(&mut self, side: Side) {
        let (own, peer) = (self.setup.tuning(side), self.setup.tuning(side.other()));
        let largest = u64::from(own.send_buffer.min(peer.receive_buffer).min(60_000));
        let payload = u64::from(own.pmtu) - 48;
        let rng = &mut self.rng;
        let len = match rng.below(10) {
            0..=1 => 1,
            2..=4 => rng.between(1, 200),
            5 => rng.between(payload - 4, payload + 4),
            6..=7 => rng.between(1, 5000),
            _ => rng.between(1, 60_000),
        };
        let len = len.min(largest);
        // A message larger than the receive buffer is delivered in parts.
        let len = if rng.percent(10) { largest * 5 } else { len };
        let len = len.min(u64::from(own.send_buffer));
        let room = BYTES.saturating_sub(self.bytes[side.index()]) / len;
        let count = rng.pick(&[1, 1, 2, 10, 50, 300]).min(room.max(1));
        self.bytes[side.index()] += count * len;
        let stream = rng.pick(&[0, 0, 1, 2, 7, 999]) % own.outbound_streams;
        // A stream that exists only after it was added.
        let stream = if rng.percent(5) { stream + own.outbound_streams } else { stream };
        let unordered = rng.percent(25);
        let (len, count) = (len as u32, count as u32);
        let op = if rng.percent(self.partial) {
            let effort = self.effort();
            Op::SendPartial { side, stream, len, count, unordered, effort }
        } else {
            Op::Send { side, stream, len, count, unordered }
        };
        self.ops.push(op);
    }
}
