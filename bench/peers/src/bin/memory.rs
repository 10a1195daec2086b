//! Measures allocations per message in steady state, and memory per idle association. See README.md.

use std::alloc::System;

use msctp_bench_peers::pair::{End, Pair};
use msctp_bench_peers::{msctp, peers};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const MESSAGES: u64 = 200_000;
const ASSOCIATIONS: usize = 10_000;

/// Returns allocations and reallocations per message, and their bytes.
fn steady<E: End>(mut pair: Pair<E>) -> (f64, f64) {
    pair.connect(1);
    pair.transfer(20_000);
    let region = Region::new(ALLOCATOR);
    pair.transfer(MESSAGES);
    let change = region.change();
    let per_message = |count: usize| count as f64 / MESSAGES as f64;
    (per_message(change.allocations + change.reallocations), per_message(change.bytes_allocated))
}

/// Returns the bytes held per association and end, after the handshake.
fn idle<E: End>(mut pair: Pair<E>) -> f64 {
    // Allocate the endpoints' and wires' own memory first.
    pair.connect(1);
    let region = Region::new(ALLOCATOR);
    pair.connect(ASSOCIATIONS);
    let change = region.change();
    (change.bytes_allocated as f64 - change.bytes_deallocated as f64) / (2 * ASSOCIATIONS) as f64
}

fn row((name, (count, bytes), idle): (&str, (f64, f64), f64)) {
    println!("| {name} | {count:.4} | {bytes:.0} | {idle:.0} |");
}

fn main() {
    println!(
        "\nallocations per {}-byte message in steady state, both ends, over {MESSAGES}; bytes held per idle association and end, over {ASSOCIATIONS}",
        msctp_bench_peers::pair::MESSAGE
    );
    println!(
        "\n| stack | allocations per message | bytes of them | bytes per idle association and end |\n|---|---:|---:|---:|"
    );
    row(("msctp", steady(msctp::pair(1)), idle(msctp::pair(1))));
    row(("msctp, 64 segments", steady(msctp::pair(64)), idle(msctp::pair(64))));
    row(("rtc-sctp", steady(peers::rtc::pair()), idle(peers::rtc::pair())));
    row(("sctp-proto", steady(peers::proto::pair()), idle(peers::proto::pair())));
}
