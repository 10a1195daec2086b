//! The pump: one thread that passes the hosts' packets to the simulator and delivers them when they are due.
//!
//! The models compute a packet's times from the time of its arrival here alone. A late wake-up therefore
//! delays one packet and not the next ones. Between wake-ups the thread sleeps until the models' next event
//! or the next packet, whichever comes first.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use msctp_sim::{OutsideHosts, Stray};
use msctp_tun::{Reads, Tun};
use msctp_units::{Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

use crate::Clock;
use crate::arrivals::Arrivals;
use crate::batch::{Batch, SEGMENTS};
use crate::lateness::Lateness;
use crate::payload::payload_len;
use crate::plan::Device;
use crate::summary::Strays;

/// An interface: its device, and the host it belongs to.
pub(crate) struct Line {
    pub(crate) tun: Tun,
    pub(crate) device: Device,
    /// Number of its host in [`Pump::arrivals`].
    pub(crate) host: usize,
    /// Runs lines of `ip -batch` in its host.
    pub(crate) ip: Box<dyn Fn(String) + Send>,
}

/// An action of the scenario was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Time at which it was due.
    pub at: Time,
    /// The action and its subject.
    pub what: String,
}

/// The state of the pump's thread.
pub(crate) struct Pump {
    pub(crate) world: OutsideHosts,
    pub(crate) batch: Batch,
    pub(crate) lines: Vec<Line>,
    pub(crate) arrivals: Vec<Arrivals>,
    pub(crate) clock: Clock,
    pub(crate) end: Time,
    pub(crate) stop: Arc<EventFd>,
    pub(crate) events: Option<Sender<Done>>,
    pub(crate) lateness: Lateness,
    pub(crate) strays: Strays,
    pub(crate) real_time: bool,
    /// Time of its end.
    pub(crate) ended: Time,
    /// Scheduled actions that were not reported yet, in order of time.
    pub(crate) to_tell: std::collections::VecDeque<(Time, String)>,
}

/// Packets read from one device before due packets are delivered.
const AT_ONCE: usize = 64;

/// Time to sleep after a wake-up that followed another one within this time, as network cards space their
/// interrupts: above some 100 Mbps a wake-up costs more than a packet. The packets of this time are read and
/// written together, and are late by at most this time.
const SPACING: Span = Span::from_micros(50);

/// Real-time priority of the pump: above ordinary programs, below the kernel's own threads.
pub(crate) const PRIORITY: u8 = 10;

impl Pump {
    /// Runs until the scenario's end or a stop. Returns itself.
    ///
    /// # Errors
    /// `ppoll` fails, which is a bug.
    pub(crate) fn run(mut self) -> Result<Self, Errno> {
        self.real_time = take_priority(PRIORITY);
        let mtu = self.lines.iter().map(|line| line.device.mtu).max().unwrap_or_default();
        let mut reads = Reads::new(SEGMENTS, mtu as usize);
        let mut ready = vec![false; self.lines.len()];
        let mut before = Time::ZERO;
        loop {
            let now = self.clock.now();
            let soon = now.since(before) < SPACING;
            before = now;
            self.world.run_until(now);
            self.hand_out();
            self.pass_on_news(now);
            if now >= self.end {
                break;
            }
            if soon {
                self.pause(now + SPACING)?;
            }
            if self.wait(&mut ready)? {
                break;
            }
            for (number, ready) in ready.iter().enumerate() {
                if *ready {
                    self.take_in(number, &mut reads);
                }
            }
        }
        self.ended = self.clock.now().min(self.end);
        Ok(self)
    }

    /// Sleeps until an event is due or a packet is there. Returns true on a stop.
    fn wait(&mut self, ready: &mut [bool]) -> Result<bool, Errno> {
        let next = self.world.next_wake().unwrap_or(Time::MAX).min(self.end);
        let mut polled: Vec<PollFd<'_>> =
            self.lines.iter().map(|line| PollFd::new(line.tun.as_fd(), PollFlags::POLLIN)).collect();
        polled.push(PollFd::new(self.stop.as_fd(), PollFlags::POLLIN));
        let timeout = TimeSpec::from_duration(self.clock.until(next));
        match ppoll(&mut polled, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e),
        }
        let is_ready =
            |fd: &PollFd<'_>| fd.revents().is_some_and(|events| events.contains(PollFlags::POLLIN));
        for (ready, fd) in ready.iter_mut().zip(&polled) {
            *ready = is_ready(fd);
        }
        Ok(polled.last().is_some_and(is_ready))
    }

    /// Sleeps until a time; a signal ends the sleep early.
    fn pause(&self, until: Time) -> Result<(), Errno> {
        match ppoll(&mut [], Some(TimeSpec::from_duration(self.clock.until(until))), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Passes packets from a device to the simulator. The segments of a large packet have one arrival time.
    fn take_in(&mut self, number: usize, reads: &mut Reads) {
        let Self { world, lines, clock, strays, .. } = self;
        let mut taken = 0;
        while taken < AT_ONCE {
            match lines[number].tun.read(reads) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::InvalidData => strays.malformed += 1,
                // The queue is empty, or the device is down.
                Err(_) => return,
            }
            let now = clock.now();
            taken += reads.packets().len().max(1);
            for packet in reads.packets() {
                match world.send(now, number, packet) {
                    Ok(()) => {}
                    Err(Stray::Malformed) => strays.malformed += 1,
                    Err(Stray::NoDestination) => strays.no_destination += 1,
                    Err(Stray::NoAddress) => strays.no_address += 1,
                }
            }
        }
    }

    /// Delivers the packets that are due.
    fn hand_out(&mut self) {
        let Self { world, lines, arrivals, clock, lateness, strays, batch, .. } = self;
        let mut write = |batch: &mut Batch| {
            let line = &lines[batch.interface];
            let (taken, marks) = batch.write(&line.tun);
            // After the write: the time that the host's stack takes to receive a packet counts as lateness.
            let now = clock.now();
            for (at, payload) in marks {
                if taken {
                    lateness.add(now.since(at));
                    arrivals[line.host].add(at, payload);
                } else {
                    strays.not_taken += 1;
                }
            }
        };
        world.take_arrivals(|at, interface, packet| {
            if !batch.takes(interface, packet) {
                write(batch);
            }
            batch.push(interface, packet, at, payload_len(packet));
        });
        write(batch);
    }

    /// Notifies hosts of changes of links and addresses, and reports actions.
    fn pass_on_news(&mut self, now: Time) {
        while let Some(news) = self.world.poll_news() {
            let line = &mut self.lines[news.interface];
            (line.ip)(line.device.heard(news.what));
        }
        while let Some((at, what)) = self.to_tell.pop_front_if(|(at, _)| *at <= now) {
            if let Some(events) = &self.events {
                let _ = events.send(Done { at, what });
            }
        }
    }
}

/// Requests real-time priority and exact timers for this thread. Returns whether the priority was granted.
/// `priority` is one of `SCHED_FIFO`, 1 to 99; the pump has 10.
#[must_use]
pub fn take_priority(priority: u8) -> bool {
    // For a thread without real-time priority the kernel bundles wake-ups that are 50 us apart.
    let _ = nix::sys::prctl::set_timerslack(1);
    let Ok(value) = priority.try_into() else { return false };
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(value), policy).is_ok()
}
