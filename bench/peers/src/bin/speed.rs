//! Measures the CPU time per byte of both ends together. See README.md.

use msctp_bench_peers::pair::{End, MESSAGE, Pair};
use msctp_bench_peers::{msctp, peers};
use rustix::time::{ClockId, clock_gettime};

/// Transfers a number of messages over a warmed-up association of a stack.
type Transfer = Box<dyn FnMut(u64)>;

fn warm<E: End + 'static>(mut pair: Pair<E>) -> Transfer {
    pair.connect(1);
    pair.transfer(20_000);
    Box::new(move |messages| pair.transfer(messages))
}

/// Returns the CPU time of this thread, ns. `/proc/thread-self/schedstat` advances only with the scheduler's tick.
fn cpu_nanos() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn nanos_per_byte(transfer: &mut Transfer, messages: u64) -> f64 {
    let start = cpu_nanos();
    transfer(messages);
    (cpu_nanos() - start) as f64 / (messages * MESSAGE as u64) as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let rounds = arguments.next().unwrap_or(21).max(1) as usize;
    let messages = (arguments.next().unwrap_or(64) << 20) / MESSAGE as u64;
    let mut stacks: Vec<(&str, Transfer, Vec<f64>)> = vec![
        ("msctp", warm(msctp::pair(1)), Vec::new()),
        ("msctp, 64 segments", warm(msctp::pair(64)), Vec::new()),
        ("rtc-sctp", warm(peers::rtc::pair()), Vec::new()),
        ("sctp-proto", warm(peers::proto::pair()), Vec::new()),
    ];
    for _ in 0..rounds {
        for (_, transfer, nanos) in &mut stacks {
            nanos.push(nanos_per_byte(transfer, messages));
        }
    }
    let table: Vec<_> = stacks
        .iter_mut()
        .map(|(name, _, nanos)| {
            let median = median(nanos);
            (*name, median, nanos[0], nanos[nanos.len() - 1])
        })
        .collect();
    println!("{MESSAGE}-byte messages, both ends, {rounds} rounds in turn, CPU time");
    println!("\n| stack | ns per byte (least–most) | ns per message | rtc-sctp = 1 |\n|---|---|---:|---:|");
    let rtc = table[2].1;
    for (name, median, least, most) in table {
        let message = median * MESSAGE as f64;
        println!("| {name} | {median:.3} ({least:.3}–{most:.3}) | {message:.0} | {:.2} |", median / rtc);
    }
}
