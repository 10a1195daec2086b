//! A plan out of a seed.

use crate::dice::Dice;
use crate::plan::{Effort, Ending, Heal, Link, MOBILE, Op, Pace, Plan, Quality, SERVER, Setup, Side, Tuning};

/// User bytes that each end sends at most: more shows nothing new and takes time.
const BYTES: u64 = 400_000;

pub(crate) fn plan(seed: u64) -> Plan {
    let mut dice = Dice::new(seed, "plan");
    let setup = setup(&mut dice, seed);
    let ops = Vec::new();
    let mut writer = Writer { dice, setup, ops, bytes: [0; 2], severity: 0, partial: 0, cuts: false };
    writer.severity = writer.dice.pick(&[0, 5, 20, 40]);
    writer.partial = writer.dice.pick(&[0, 30, 60, 100]);
    writer.cuts = writer.dice.percent(50);
    writer.all_paths();
    if writer.dice.percent(60) {
        // Most of what can be asked for needs an association that is up.
        let ms = writer.dice.between(100, 1000) as u32;
        writer.ops.push(Op::Run { ms });
    }
    for _ in 0..writer.dice.between(5, 40) {
        writer.operation();
    }
    Plan { setup: writer.setup, ops: writer.ops }
}

fn bits(dice: &mut Dice, pool: usize, at_most: u64) -> u8 {
    let wanted = dice.between(1, at_most) as u32;
    let mut bits = 0u8;
    while bits.count_ones() < wanted {
        bits |= 1 << dice.below(pool as u64);
    }
    bits
}

fn setup(dice: &mut Dice, seed: u64) -> Setup {
    loop {
        let mut setup = Setup {
            seed,
            mobile_addresses: bits(dice, MOBILE.len(), 3),
            server_addresses: bits(dice, SERVER.len(), 2),
            names_all: dice.percent(50),
            plain: dice.percent(40),
            mobile: tuning(dice),
            server: tuning(dice),
            heal: if dice.percent(30) { Heal::One } else { Heal::All },
            ending: dice.pick(&[
                Ending::MobileShutsDown,
                Ending::ServerShutsDown,
                Ending::MobileShutsDown,
                Ending::ServerShutsDown,
                Ending::BothShutDown,
                Ending::MobileAborts,
                Ending::ServerAborts,
            ]),
        };
        // What both ends have to want: mostly they agree.
        let wanted: [bool; 4] = [50, 85, 85, 90].map(|percent| dice.percent(percent));
        for tuning in [&mut setup.mobile, &mut setup.server] {
            let [interleaving, partial_reliability, reconfiguration, dynamic_addresses] =
                wanted.map(|wanted| wanted ^ dice.percent(4));
            *tuning =
                Tuning { interleaving, partial_reliability, reconfiguration, dynamic_addresses, ..*tuning };
        }
        if setup.is_possible() {
            // Where one path is to be found among dead ones it must be possible to look for it.
            if setup.heal == Heal::One {
                for tuning in [&mut setup.mobile, &mut setup.server] {
                    tuning.assoc_max_retrans = tuning.assoc_max_retrans.max(30);
                    tuning.rto_max_ms = 10_000;
                    // Retransmissions that were not needed make a dead path look alive (RFC 9260 §8.2 on the
                    // ambiguity of what was sent on two paths).
                    tuning.rto_min_ms = 1000;
                }
            }
            return setup;
        }
    }
}

fn tuning(dice: &mut Dice) -> Tuning {
    if dice.percent(15) {
        return Tuning::DEFAULT;
    }
    Tuning {
        controller: dice.below(8) as u8,
        policy: dice.below(6) as u8,
        bicast: dice.percent(40),
        rto_min_ms: dice.pick(&[200, 1000, 1000]),
        rto_max_ms: dice.pick(&[1000, 3000, 10_000, 60_000]),
        sack_delay_ms: dice.pick(&[0, 20, 200, 200, 500]),
        sack_frequency: dice.pick(&[1, 2, 2, 3, 16, 100]),
        hb_interval_ms: dice.pick(&[0, 500, 5000, 30_000]),
        path_max_retrans: dice.pick(&[0, 1, 2, 5]),
        assoc_max_retrans: dice.pick(&[4, 10, 30, 30, 100]),
        receive_buffer: dice.pick(&[1500, 4000, 20_000, 65_536, 1 << 20]),
        send_buffer: dice.pick(&[1500, 5000, 30_000, 200_000, 2 << 20]),
        pmtu: dice.pick(&[512, 576, 1280, 1500, 1500, 1500, 9000, 65_535]),
        max_burst: dice.pick(&[0, 1, 4, 4, 40]),
        max_segments: dice.pick(&[1, 1, 1, 2, 16, 64]),
        same_path: dice.percent(30),
        initial_window: dice.pick(&[0, 0, 1, 10]),
        initial_ssthresh: dice.pick(&[0, 0, 1, 3000, 65_536]),
        outbound_streams: dice.pick(&[1, 3, 10, 10, 1000]),
        max_inbound_streams: dice.pick(&[1, 5, u16::MAX, u16::MAX]),
        demands_data: {
            // The throw of an option that is gone: every seed keeps its sequence.
            dice.percent(10);
            dice.percent(20)
        },
        rack: dice.percent(40),
        scheduler: dice.below(6) as u8,
        peer_may_reset: dice.percent(90),
        peer_may_add: dice.percent(90),
        potentially_failed: dice.pick(&[0, 0, 1, 2]),
        quick_moves: dice.percent(50),
        silence_ms: dice.pick(&[0, 0, 1, 100]),
        ..grown(dice.below(100))
    }
}

/// Options that share a throw: one more would give every seed another sequence.
fn grown(throw: u64) -> Tuning {
    let buffer_growth = [0, 0, 1, 4, 64][throw as usize % 5];
    Tuning { prr: throw < 30, buffer_growth, ..Tuning::DEFAULT }
}

struct Writer {
    dice: Dice,
    setup: Setup,
    ops: Vec<Op>,
    bytes: [u64; 2],
    /// How bad the network is, 0 to 40.
    severity: u64,
    /// Percent of the messages that are not fully reliable.
    partial: u8,
    /// Networks fail and come back.
    cuts: bool,
}

impl Writer {
    fn side(&mut self) -> Side {
        self.dice.pick(&Side::BOTH)
    }

    fn quality(&mut self) -> Quality {
        let dice = &mut self.dice;
        if dice.below(100) < self.severity / 2 {
            return Quality::DEAD;
        }
        let percent = |dice: &mut Dice, severity: u64| dice.below(severity + 1) as u8;
        Quality {
            delay_ms: dice.pick(&[5, 20, 20, 60, 150]),
            jitter_ms: if dice.below(60) < self.severity { dice.pick(&[1, 10, 100, 400]) } else { 0 },
            loss: percent(dice, self.severity),
            duplicate: percent(dice, self.severity),
            corrupt: percent(dice, self.severity / 2),
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
        match self.dice.below(100) {
            0..=26 => self.send(side),
            27..=38 => self.change_streams(side),
            39..=59 => {
                let ms = self.dice.pick(&[1, 10, 50, 200, 500, 1000, 3000, 10_000, 40_000]);
                let ms = self.dice.between(1, ms) as u32;
                self.ops.push(Op::Run { ms });
            }
            60..=66 => {
                let ms = self.dice.between(1, 300) as u16;
                let pace = self.dice.pick(&[Pace::AtOnce, Pace::AtOnce, Pace::Never, Pace::OneEvery { ms }]);
                self.ops.push(Op::Read { side, pace });
            }
            67..=71 if self.cuts => {
                let (side, address) = (self.side(), self.dice.below(4) as u8);
                let dead = self.dice.percent(60);
                self.ops.push(Op::Cut { side, address, dead });
            }
            67..=75 => {
                let (mobile, server) = (self.dice.below(4) as u8, self.dice.below(3) as u8);
                self.path(mobile, server);
            }
            76..=85 => self.change_address(side),
            86..=90 => {
                let path = self.dice.below(6) as u8;
                self.ops.push(Op::SetPrimary { side, path });
            }
            91..=96 => {
                let bps = self.dice.pick(&[1, 8_000, 60_000, 2_000_000, 1_000_000_000_000]);
                let round_trip_ms = self.dice.pick(&[1, 100, 60_000]);
                let report = Link::Report { bps, round_trip_ms, cell: self.dice.below(3) as u8 };
                let links = [Link::Up, Link::Up, Link::Down, Link::Degrading, Link::PredictedDown];
                let link = if self.dice.percent(40) { report } else { self.dice.pick(&links) };
                let address = self.dice.below(4) as u8;
                self.ops.push(Op::LinkEvent { side, address, link });
            }
            // Early ends: an end with others running is what most sequences have anyhow.
            97 => {
                let side = if self.dice.percent(75) { Side::Mobile } else { Side::Server };
                self.ops.push(Op::Restart { side });
            }
            98 => self.ops.push(Op::Shutdown { side }),
            _ if self.dice.percent(50) => self.ops.push(Op::Abort { side }),
            _ => self.all_paths(),
        }
    }

    fn change_address(&mut self, side: Side) {
        // While data is under way, and is abandoned half way.
        if self.dice.percent(60) {
            self.send(side);
        }
        if self.partial > 0 && self.dice.percent(60) {
            let len = self.setup.tuning(side).send_buffer.min(20_000);
            let effort = Effort::LifetimeMs(self.dice.pick(&[10, 30, 100]));
            let unordered = self.dice.percent(25);
            self.ops.push(Op::SendPartial { side, stream: 0, len, count: 3, unordered, effort });
        }
        // A server's addresses change less often.
        let side = if self.dice.percent(50) { Side::Mobile } else { side };
        let address = self.dice.below(side.pool().len() as u64) as u8;
        self.ops.push(match self.dice.below(12) {
            0..=3 => Op::AddAddress { side, address },
            4 => Op::AddWildcard { side, address },
            5..=8 => Op::RemoveAddress { side, address },
            9 => Op::KeepOnly { side, address },
            _ => Op::RequestPrimary { side, address },
        });
    }

    fn change_streams(&mut self, side: Side) {
        // A reset waits for what was sent before it.
        if self.dice.percent(40) {
            self.send(side);
        }
        let dice = &mut self.dice;
        let (first, incoming) = (dice.pick(&[0, 0, 1, 2, 7]), dice.percent(30));
        self.ops.push(match dice.below(10) {
            0..=4 => Op::Reset { side, incoming, first, count: dice.pick(&[1, 1, 1, 3, 0]) },
            5..=7 => Op::AddStreams { side, incoming, count: dice.pick(&[0, 1, 1, 2, 3, 60_000]) },
            8 => Op::StreamValue { side, stream: first, value: dice.below(5) as u16 },
            _ => Op::Schedule { side, scheduler: dice.below(6) as u8 },
        });
    }

    fn effort(&mut self) -> Effort {
        let dice = &mut self.dice;
        match dice.below(3) {
            0 => Effort::LifetimeMs(dice.pick(&[0, 5, 50, 300, 2000, 6000, 20_000])),
            1 => Effort::Retransmissions(dice.pick(&[0, 0, 1, 3])),
            _ => Effort::Priority(dice.below(4) as u16),
        }
    }

    fn send(&mut self, side: Side) {
        let (own, peer) = (self.setup.tuning(side), self.setup.tuning(side.other()));
        let largest = u64::from(own.send_buffer.min(peer.receive_buffer).min(60_000));
        let payload = u64::from(own.pmtu) - 48;
        let dice = &mut self.dice;
        let len = match dice.below(10) {
            0..=1 => 1,
            2..=4 => dice.between(1, 200),
            5 => dice.between(payload - 4, payload + 4),
            6..=7 => dice.between(1, 5000),
            _ => dice.between(1, 60_000),
        };
        let len = len.min(largest);
        // More than the receive buffer holds comes in parts.
        let len = if dice.percent(10) { largest * 5 } else { len };
        let len = len.min(u64::from(own.send_buffer));
        let room = BYTES.saturating_sub(self.bytes[side.index()]) / len;
        let count = dice.pick(&[1, 1, 2, 10, 50, 300]).min(room.max(1));
        self.bytes[side.index()] += count * len;
        let stream = dice.pick(&[0, 0, 1, 2, 7, 999]) % own.outbound_streams;
        // One that there is only after it was added.
        let stream = if dice.percent(5) { stream + own.outbound_streams } else { stream };
        let unordered = dice.percent(25);
        let (len, count) = (len as u32, count as u32);
        let op = if dice.percent(self.partial) {
            let effort = self.effort();
            Op::SendPartial { side, stream, len, count, unordered, effort }
        } else {
            Op::Send { side, stream, len, count, unordered }
        };
        self.ops.push(op);
    }
}
