//! `delay-bound` fills a path with a bounded queue whatever the buffer, also where packets are lost at
//! random.

use msctp_congestion::DelayBoundConfig;

use crate::trajectory::bbr::{path, run};

/// 15 ms · √2 at 10 Mbit/s are 18 packets.
#[test]
fn the_queue_is_the_target_whatever_the_buffer() {
    for buffer in [50, 500] {
        let (share, queued) = run(&mut path(DelayBoundConfig, buffer), 3, 33);
        println!("buffer of {buffer}: {share} %, {queued} packets queued");
        assert!(share >= 96, "{share} %");
        assert!(queued <= 20, "{queued} packets");
    }
}

#[test]
fn a_shallow_buffer_is_enough() {
    let mut path = path(DelayBoundConfig, 10);
    let (share, _) = run(&mut path, 3, 33);
    let lost = path.overflows * 1000 / path.delivered;
    println!("{share} %, {} of {} overflowed", path.overflows, path.delivered);
    assert!(share >= 96, "{share} %");
    assert!(lost < 20, "{lost} thousandths");
}

#[test]
fn one_percent_random_loss_costs_little() {
    let mut lossy = path(DelayBoundConfig, 100);
    lossy.loses_every = 100;
    let (share, _) = run(&mut lossy, 3, 33);
    println!("{share} %");
    assert!(share >= 93, "{share} %");
}
