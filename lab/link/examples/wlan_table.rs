//! The validation tables of `docs/models/wlan.md`: the wireless hop beside its closed forms.
//!
//!     cargo run --release -p msctp-link --example wlan_table

use msctp_link::wlan::{Backoff, Channel, Fixed, MacConfig, WlanLink};
use msctp_link::{LinkModel, LossConfig, Offer, Outcome, QueueLimit};
use msctp_units::{Rate, Span, Time};

/// Frames in each row.
const FRAMES: u32 = 100_000;

/// Result of a saturated link.
struct Run {
    /// Seconds from the first offer to the last arrival.
    secs: f64,
    arrived: u32,
    /// Mean time in seconds from the head of the queue to the departure from the link.
    mean_delay: f64,
}

fn run(mac: MacConfig, loss: f64, len: u32) -> Run {
    let loss = LossConfig::Uniform { probability: loss }.build([5; 32]).expect("a probability");
    let channel = Channel::clear(Box::new(Fixed(0))).with_loss(loss);
    let mut link = WlanLink::new(mac, Span::ZERO, QueueLimit::Unbounded, channel, [6; 32]);
    let (mut now, mut arrived, mut delays) = (Time::ZERO, 0, 0.0);
    for number in 0..FRAMES {
        let offered = now;
        assert_eq!(link.offer(now, number, len), Offer::Queued);
        let delivery = loop {
            now = link.next_delivery().expect("a frame is inside");
            if let Some(delivery) = link.deliver(now) {
                break delivery;
            }
        };
        arrived += u32::from(delivery.outcome == Outcome::Arrived);
        delays += now.since(offered).as_secs_f64();
        // The next one is offered when the exchange is over.
        now += mac.ack_time();
    }
    Run { secs: now.as_secs_f64(), arrived, mean_delay: delays / f64::from(FRAMES) }
}

fn main() {
    println!("| rate | bytes | backoff | closed form, packets/s | measured | difference |");
    println!("|---|---|---|---|---|---|");
    for (kbps, len) in [(150, 1000), (384, 1000), (1000, 1000), (2000, 1000), (11_000, 1500), (11_000, 40)] {
        for backoff in [Backoff::Mean, Backoff::Drawn] {
            let mac = MacConfig { backoff, ..MacConfig::dot11b(Rate::from_kbps(kbps)) };
            let measured = f64::from(FRAMES) / run(mac, 0.0, len).secs;
            let want = 1.0 / mac.mean_attempt_time(0, len).as_secs_f64();
            println!(
                "| {} | {len} | {backoff:?} | {want:.3} | {measured:.3} | {:+.3} % |",
                mac.rate,
                100.0 * (measured / want - 1.0)
            );
        }
    }
    println!("\n| p | retries | closed form, lost | measured | closed form, mean delay | measured |");
    println!("|---|---|---|---|---|---|");
    for (p, retries) in [(0.01, 0), (0.1, 1), (0.3, 2), (0.3, 6), (0.5, 3), (0.5, 6)] {
        let mac = MacConfig { retries, backoff: Backoff::Mean, ..MacConfig::dot11b(Rate::from_mbps(2)) };
        let run = run(mac, p, 1000);
        let lost = 1.0 - f64::from(run.arrived) / f64::from(FRAMES);
        // An attempt takes place if all before it failed; the last has no acknowledgement to wait for.
        let attempts: f64 =
            (0..=retries).map(|k| p.powi(k as i32) * mac.mean_attempt_time(k, 1000).as_secs_f64()).sum();
        let delay = attempts - mac.ack_time().as_secs_f64();
        println!(
            "| {p} | {retries} | {:.5} | {lost:.5} | {:.4} ms | {:.4} ms |",
            p.powi(retries as i32 + 1),
            1e3 * delay,
            1e3 * run.mean_delay
        );
    }
}
