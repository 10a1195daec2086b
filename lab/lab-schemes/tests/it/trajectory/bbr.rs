//! BBR uses a path's bandwidth with hardly a queue (draft-ietf-ccwg-bbr §1, §3), whatever the
//! buffer; more than a loss-based controller where packets are lost at random; more bandwidth is found within
//! seconds.

use msctp_congestion::{BbrConfig, ControllerConfig, ControllerFactory, IpVersion, RenoConfig};
use msctp_units::{Rate, Span, Time};

use crate::trajectory::path::{Link, PMDCS, Path};

const RTT: Span = Span::from_millis(60);

pub(crate) fn path(controller: impl Into<ControllerFactory>, queue: u64) -> Path {
    let controller = controller.into().make(&ControllerConfig::rfc9260(PMDCS, IpVersion::V4));
    Path::new(controller, Link { rate: Rate::from_mbps(10), rtt: RTT, queue })
}

fn seconds(s: u64) -> Time {
    Time::ZERO + Span::from_secs(s)
}

/// The part of what 10 Mbps carry that arrived between two times, in per cent; the mean queue, in packets.
pub(crate) fn run(path: &mut Path, from: u64, to: u64) -> (u64, u64) {
    path.run_until(seconds(from));
    let before = path.delivered;
    let (mut queued, mut looks) = (0, 0);
    while path.now < seconds(to) {
        path.run_until(path.now + Span::from_millis(7));
        queued += path.queued();
        looks += 1;
    }
    let carried = Rate::from_mbps(10).bytes_in(Span::from_secs(to - from));
    ((path.delivered - before) * PMDCS * 100 / carried, queued / looks)
}

#[test]
fn a_deep_buffer_stays_empty_and_the_link_full() {
    let mut bbr = path(BbrConfig::default(), 500);
    let (share, queued) = run(&mut bbr, 3, 33);
    println!("bbr: {share} %, {queued} packets queued");
    assert!(share >= 90, "{share} %");
    assert!(queued <= 25, "half a bandwidth-delay product: {queued}");
    let (share, queued) = run(&mut path(ControllerFactory::default(), 500), 3, 33);
    println!("rfc9260: {share} %, {queued} packets queued");
    assert!(queued > 100, "a window fills any buffer: {queued}");
}

#[test]
fn a_shallow_buffer_is_enough() {
    let mut bbr = path(BbrConfig::default(), 10);
    let (share, _) = run(&mut bbr, 3, 33);
    let lost = bbr.overflows * 100 / bbr.delivered;
    println!("{share} %, {} of {} overflowed", bbr.overflows, bbr.delivered);
    assert!(share >= 85, "{share} %");
    assert!(lost < 3, "{lost} %");
}

/// Each loss outside of a probe lowers the rate to what just arrived, until the next probe (§5.5.10.3): it
/// costs a fifth here, and a controller that halves its window four fifths.
#[test]
fn one_percent_random_loss_keeps_the_rate() {
    let mut bbr = path(BbrConfig::default(), 100);
    bbr.loses_every = 100;
    let (share, _) = run(&mut bbr, 3, 33);
    let mut reno = path(RenoConfig::default(), 100);
    reno.loses_every = 100;
    let (reno, _) = run(&mut reno, 3, 33);
    println!("bbr {share} %, reno {reno} %");
    assert!(share >= 3 * reno, "{share} %, reno {reno} %");
}

/// §5.3.3: the next probe comes in 2 to 3 s, and doubles what is in flight while the rate grows.
#[test]
fn new_bandwidth_is_found() {
    let mut bbr = path(BbrConfig::default(), 100);
    bbr.run_until(seconds(10));
    bbr.set_rate(Rate::from_mbps(40));
    let (share, _) = run(&mut bbr, 16, 26);
    println!("{share} % of a quarter");
    assert!(share >= 340, "of 400 %: {share}");
}

#[test]
fn less_bandwidth_is_noticed_at_once() {
    let mut bbr = path(BbrConfig::default(), 1000);
    bbr.run_until(seconds(10));
    bbr.set_rate(Rate::from_mbps(2));
    let (share, _) = run(&mut bbr, 11, 14);
    assert!((17..=20).contains(&share), "of 20 %: {share}");
    // The queue then hides the round trip; each ProbeRTT finds it shorter (§5.3.4).
    let (share, queued) = run(&mut bbr, 45, 55);
    println!("{share} %, {queued} packets queued");
    assert!(share >= 17 && queued <= 30, "{share} % of 20, {queued} packets queued");
}
