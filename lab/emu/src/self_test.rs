//! Measures the emulator's accuracy on this machine: the times of packets between two emulated hosts, taken
//! by sender and receiver, compared with the link model.
//!
//! The measuring threads have real-time priority if it is granted: their own waits for a processor would
//! count as the emulator's delay.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use msctp_link::{Link, LinkConfig, LinkModel, QueueLimit, WhenDown};
use msctp_sim::scenario::Scenario;
use msctp_units::{Rate, Span, Time};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::socket::{setsockopt, sockopt};
use serde::Serialize;

use crate::pump::{PRIORITY, take_priority};
use crate::{Clock, Emulation, Error, Options};

/// Largest relative error of the achieved rate.
pub const RATE_WITHIN: f64 = 0.01;
/// Largest median of the added delay, in seconds.
pub const MEDIAN_WITHIN: f64 = 0.5e-3;
/// Largest 99th percentile of the added delay, in seconds.
pub const P99_WITHIN: f64 = 2e-3;

/// Tested rates, in Mbps.
pub const RATES: [u64; 6] = [1, 10, 50, 100, 300, 1000];
/// Highest rate, in Mbps, at which every machine must be accurate. Above it the test reports how far this one
/// is.
pub const REQUIRED: u64 = 100;

/// Propagation delay of the tested link.
const DELAY: Span = Span::from_millis(10);
/// Size of the IP packets in bytes, of which 28 are headers.
const PACKET: u32 = 1500;
const HEADERS: u32 = 28;
/// Receive buffer in bytes: some 10,000 packets.
const RECEIVE_BUFFER: usize = 24 << 20;
/// Load of the link while delays are measured, in percent: packets do not wait unless the sender is uneven.
const LOAD: u64 = 80;
/// Load while the rate is measured, in percent.
const OVERLOAD: u64 = 120;

/// The measurement at one rate. Times in seconds, rates in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The link's rate.
    pub rate: u64,
    /// Rate of arrivals while the sender exceeds the link's rate.
    pub achieved: f64,
    /// Packets whose delay was measured.
    pub packets: usize,
    /// Number of packets that did not arrive.
    pub lost: usize,
    /// Median of the delay beyond the model's.
    pub median: f64,
    /// 99th percentile of that delay.
    pub p99: f64,
    /// Maximum of that delay.
    pub max: f64,
    /// Processor time of emulator, sender and receiver together, in processors.
    pub cpu: f64,
    /// True if all values are within the limits.
    pub passed: bool,
    /// True if the test fails unless this point has passed: the rate is at most [`REQUIRED`].
    pub required: bool,
}

/// The result of a self-test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelfTest {
    /// One point for each rate.
    pub points: Vec<Point>,
    /// True if all required points passed.
    pub passed: bool,
    /// The highest rate up to which all points passed, in bit/s; 0 without one.
    pub accurate_to: u64,
    /// Processors of this machine.
    pub processors: usize,
    /// True if real-time priority was granted.
    pub real_time: bool,
    /// Load average of the last minute at the end (`/proc/loadavg`).
    pub load: f64,
}

/// Tests one rate after another, each with two measurements of length `each`.
///
/// # Errors
/// A host cannot be set up.
pub fn run(rates: &[u64], each: Span, mut tell: impl FnMut(&Point)) -> Result<SelfTest, Error> {
    let mut points = Vec::new();
    let mut real_time = true;
    for &mbps in rates {
        let rate = Rate::from_mbps(mbps);
        let emulation = Emulation::start(&scenario(rate)?, Options::default())?;
        let before = cpu()?;
        let started = emulation.clock().now();
        let (achieved, _) = measure(&emulation, rate.mul_ratio(OVERLOAD, 100), each)?;
        let (_, sample) = measure(&emulation, rate.mul_ratio(LOAD, 100), each)?;
        let over = emulation.clock().now().since(started).as_secs_f64();
        let used = cpu()?.saturating_sub(before).as_secs_f64() / over;
        let (summary, _) = emulation.finish()?;
        real_time &= summary.real_time;
        let point = judge(rate, achieved, &sample, used);
        tell(&point);
        points.push(point);
    }
    let load = std::fs::read_to_string("/proc/loadavg")?;
    Ok(SelfTest {
        passed: points.iter().all(|point| point.passed || !point.required),
        accurate_to: accurate_to(&points),
        points,
        processors: std::thread::available_parallelism()?.get(),
        real_time,
        load: load.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default(),
    })
}

fn scenario(rate: Rate) -> Result<Scenario, Error> {
    let text = format!(
        r#"
        name = "self-test"
        duration = "3600s"
        [[node]]
        name = "sender"
        kind = "host"
        [[node]]
        name = "receiver"
        kind = "host"
        [[link]]
        name = "link"
        a = "sender"
        b = "receiver"
        address_a = "10.0.0.1"
        address_b = "10.0.0.2"
        rate = "{}bps"
        delay = "{}ms"
        queue = {{ packets = {} }}
        "#,
        rate.as_bps(),
        DELAY.as_millis(),
        queue(rate)
    );
    Ok(Scenario::from_toml(&text, "self-test", &[])?)
}

/// Returns the queue limit of the tested link in packets: a bandwidth-delay product, so that at each rate the
/// queue holds what an uneven sender sends in the same time, and at least 50.
fn queue(rate: Rate) -> u64 {
    (rate.bytes_in(DELAY) / u64::from(PACKET)).max(50)
}

/// The delays of one measurement beyond the model's, and the number of packets sent.
struct Sample {
    added: Vec<Span>,
    sent: usize,
}

/// Sends at a rate for a time. Returns the rate of arrivals, and the delays beyond those of a link model that
/// gets the same packets at the same times.
fn measure(emulation: &Emulation, at: Rate, each: Span) -> io::Result<(f64, Sample)> {
    let clock = emulation.clock();
    let socket = |host: &str, address: &'static str| {
        let host = emulation.host(host).ok_or_else(|| io::Error::other("no such host"))?;
        host.run(move || UdpSocket::bind(address))
    };
    let (from, to) = (socket("sender", "10.0.0.1:7000")?, socket("receiver", "10.0.0.2:7000")?);
    from.connect("10.0.0.2:7000")?;
    to.set_read_timeout(Some(Duration::from_millis(100)))?;
    // What the link delivers must not be lost at the receiver's socket.
    let forced = setsockopt(&to, sockopt::RcvBufForce, &RECEIVE_BUFFER);
    // In a user namespace of its own only up to `net.core.rmem_max`.
    forced.or_else(|_| setsockopt(&to, sockopt::RcvBuf, &RECEIVE_BUFFER))?;
    let over = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&over);
    let receiver = std::thread::Builder::new().spawn(move || receive(&to, clock, &ended))?;
    let sender = std::thread::Builder::new().spawn(move || send(&from, clock, at, each))?;
    let join = |_| io::Error::other("a measuring thread has panicked");
    let sent = sender.join().map_err(join)??;
    // Wait for queued packets and those on their way.
    std::thread::park_timeout(Duration::from_nanos(1_000_000_000));
    over.store(true, Ordering::Relaxed);
    let received = receiver.join().map_err(join)??;
    let bytes = u64::from(PACKET) * received.len().saturating_sub(1) as u64;
    let (first, last) = (received.first(), received.last());
    let took = first.zip(last).map_or(0.0, |(first, last)| last.1.since(first.1).as_secs_f64());
    let rate = if took > 0.0 { bytes as f64 * 8.0 / took } else { 0.0 };
    let model = expected(emulation, &sent);
    let added = received.iter().filter_map(|&(number, at)| Some(at.since(*model.get(number)?))).collect();
    Ok((rate, Sample { added, sent: sent.len() }))
}

/// Returns when the model would deliver packets sent at these times; the time of sending for those that it
/// would drop.
fn expected(emulation: &Emulation, sent: &[Time]) -> Vec<Time> {
    let rate = emulation.scenario().links[0].forward.plain().map_or(Rate::ZERO, |plain| plain.rate);
    let config =
        LinkConfig { rate, delay: DELAY, queue: QueueLimit::Packets(queue(rate)), when_down: WhenDown::Drop };
    let mut link: Link<usize> = Link::new(config, None);
    let mut arrives = sent.to_vec();
    let mut deliver = |link: &mut Link<usize>, until: Time| {
        while let Some(at) = link.next_delivery().filter(|&at| at <= until) {
            if let Some(delivery) = link.deliver(at) {
                arrives[delivery.packet] = at;
            }
        }
    };
    for (number, &at) in sent.iter().enumerate() {
        deliver(&mut link, at);
        // A dropped packet does not arrive in the emulation either.
        drop(link.offer(at, number, PACKET));
    }
    deliver(&mut link, Time::MAX);
    arrives
}

/// Sends numbered packets at a rate. Returns the time of each.
fn send(socket: &UdpSocket, clock: Clock, rate: Rate, each: Span) -> io::Result<Vec<Time>> {
    let _ = take_priority(PRIORITY);
    let interval = rate.time_for(PACKET.into());
    let mut packet = vec![0; (PACKET - HEADERS) as usize];
    let mut sent = Vec::new();
    let start = clock.now();
    let mut next = start;
    while next < start + each {
        while clock.now() < next {
            std::thread::park_timeout(clock.until(next));
        }
        packet[..8].copy_from_slice(&(sent.len() as u64).to_be_bytes());
        sent.push(clock.now());
        socket.send(&packet)?;
        next += interval;
    }
    Ok(sent)
}

/// Returns numbers and times of the packets that arrive until `over` is true.
fn receive(socket: &UdpSocket, clock: Clock, over: &AtomicBool) -> io::Result<Vec<(usize, Time)>> {
    let _ = take_priority(PRIORITY);
    let mut buffer = [0; PACKET as usize];
    let mut received = Vec::new();
    while !over.load(Ordering::Relaxed) {
        match socket.recv(&mut buffer) {
            Ok(_) => {
                let now = clock.now();
                let number = buffer.first_chunk().map_or(0, |number| u64::from_be_bytes(*number));
                received.push((number as usize, now));
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(received)
}

fn judge(rate: Rate, achieved: f64, sample: &Sample, cpu: f64) -> Point {
    let mut added = sample.added.clone();
    added.sort_unstable();
    let quantile = |num: usize, den: usize| {
        let rank = (added.len() * num).div_ceil(den).max(1);
        added.get(rank - 1).map_or(f64::INFINITY, |span| span.as_secs_f64())
    };
    let (median, p99, max) = (quantile(1, 2), quantile(99, 100), quantile(1, 1));
    let lost = sample.sent - sample.added.len();
    let true_rate = (achieved / rate.as_bps() as f64 - 1.0).abs() <= RATE_WITHIN;
    let passed = true_rate && median <= MEDIAN_WITHIN && p99 <= P99_WITHIN && lost == 0;
    let required = rate <= Rate::from_mbps(REQUIRED);
    Point {
        rate: rate.as_bps(),
        achieved,
        packets: sample.sent,
        lost,
        median,
        p99,
        max,
        cpu,
        passed,
        required,
    }
}

/// Returns the rate of the last point before the first that has not passed.
fn accurate_to(points: &[Point]) -> u64 {
    points.iter().take_while(|point| point.passed).last().map_or(0, |point| point.rate)
}

/// Returns the processor time of this process so far.
fn cpu() -> io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let of =
        |time: nix::sys::time::TimeVal| Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1000);
    Ok(of(usage.user_time()) + of(usage.system_time()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(achieved: f64, added_us: &[u64], sent: usize) -> Point {
        let added = added_us.iter().map(|&us| Span::from_micros(us)).collect();
        judge(Rate::from_mbps(10), achieved, &Sample { added, sent }, 0.1)
    }

    #[test]
    fn the_limits_are_those_promised() {
        let good = [100; 200];
        assert!(point(10e6, &good, 200).passed);
        assert!(point(9.91e6, &good, 200).passed);
        assert!(!point(9.89e6, &good, 200).passed, "too slow");
        assert!(!point(10.11e6, &good, 200).passed, "too fast");
        assert!(!point(10e6, &good, 201).passed, "one is lost");
        assert!(!point(10e6, &[501; 200], 200).passed, "the median");
        let mut tail = good;
        tail[..2].fill(5000);
        assert!(point(10e6, &tail, 200).passed, "1 %");
        tail[..3].fill(5000);
        assert!(!point(10e6, &tail, 200).passed, "more than 1 %");
        assert!(!point(0.0, &[], 0).passed, "nothing measured");
    }

    #[test]
    fn rates_above_the_required_one_show_how_far_the_machine_is_accurate() {
        let at = |mbps: u64, passed: bool| {
            let rate = Rate::from_mbps(mbps);
            let sample =
                Sample { added: vec![Span::from_micros(100); 200], sent: 200 + usize::from(!passed) };
            judge(rate, rate.as_bps() as f64, &sample, 0.1)
        };
        assert_eq!([100, 300].map(|mbps| at(mbps, true).required), [true, false]);
        assert_eq!(accurate_to(&[at(100, true), at(300, true), at(1000, true)]), 1_000_000_000);
        assert_eq!(accurate_to(&[at(100, true), at(300, false), at(1000, true)]), 100_000_000);
        assert_eq!(accurate_to(&[at(100, false), at(300, true)]), 0);
    }
}
