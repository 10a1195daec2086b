//! The pump: takes what hosts send into the simulator and hands out what arrives, when it is time. One
//! thread.
//!
//! Time is kept by the models: a packet's times follow from when it was taken in and from nothing else, so
//! that a wake-up that comes late makes one packet late and not the next ones. Between wake-ups the thread
//! sleeps until the models' next event or the next packet, whichever comes first.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use msctp_sim::{OutsideHosts, Stray};
use msctp_units::Time;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use tun_rs::SyncDevice;

use crate::Clock;
use crate::arrivals::Arrivals;
use crate::lateness::Lateness;
use crate::payload::payload_len;
use crate::plan::Device;
use crate::summary::Strays;

/// An interface: its device, and the host it belongs to.
pub(crate) struct Line {
    pub(crate) tun: SyncDevice,
    pub(crate) device: Device,
    /// Number of its host in [`Pump::arrivals`].
    pub(crate) host: usize,
    /// Does lines of `ip -batch` in its host.
    pub(crate) ip: Box<dyn Fn(String) + Send>,
}

/// An action of the scenario was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// When it was due.
    pub at: Time,
    /// Its word and what it was done to.
    pub what: String,
}

/// The state of the pump's thread.
pub(crate) struct Pump {
    pub(crate) world: OutsideHosts,
    pub(crate) lines: Vec<Line>,
    pub(crate) arrivals: Vec<Arrivals>,
    pub(crate) clock: Clock,
    pub(crate) end: Time,
    pub(crate) stop: Arc<EventFd>,
    pub(crate) events: Option<Sender<Done>>,
    pub(crate) lateness: Lateness,
    pub(crate) strays: Strays,
    pub(crate) real_time: bool,
    /// When it ended.
    pub(crate) ended: Time,
    /// Scheduled actions, in order of time, that are still to be told.
    pub(crate) to_tell: std::collections::VecDeque<(Time, String)>,
}

/// So many packets are taken from one device before what has become due is handed out.
const AT_ONCE: usize = 64;

/// Real-time priority: above every ordinary program, below the kernel's own threads.
pub(crate) const PRIORITY: u8 = 10;

impl Pump {
    /// Runs until the scenario's end or until stopped; gives itself back.
    ///
    /// # Errors
    /// Those of waiting, which are our own bugs.
    pub(crate) fn run(mut self) -> Result<Self, Errno> {
        self.real_time = take_priority(PRIORITY);
        let mut buffer = vec![0; 1 << 16];
        let mut ready = vec![false; self.lines.len()];
        loop {
            let now = self.clock.now();
            self.world.run_until(now);
            self.hand_out();
            self.pass_on_news(now);
            if now >= self.end {
                break;
            }
            if self.wait(&mut ready)? {
                break;
            }
            for (number, ready) in ready.iter().enumerate() {
                if *ready {
                    self.take_in(number, &mut buffer);
                }
            }
        }
        self.ended = self.clock.now().min(self.end);
        Ok(self)
    }

    /// Sleeps until something is due or a packet is there; true when it is to stop.
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

    /// Takes packets from a device into the simulator.
    fn take_in(&mut self, number: usize, buffer: &mut [u8]) {
        for _ in 0..AT_ONCE {
            // Nothing there any more, or the device is down.
            let Ok(len) = self.lines[number].tun.recv(buffer) else { return };
            match self.world.send(self.clock.now(), number, &buffer[..len]) {
                Ok(()) => {}
                Err(Stray::Malformed) => self.strays.malformed += 1,
                Err(Stray::NoDestination) => self.strays.no_destination += 1,
                Err(Stray::NoAddress) => self.strays.no_address += 1,
            }
        }
    }

    /// Hands out what has arrived.
    fn hand_out(&mut self) {
        let Self { world, lines, arrivals, clock, lateness, strays, .. } = self;
        world.take_arrivals(|at, interface, packet| {
            let line = &lines[interface];
            if line.tun.send(packet).is_err() {
                strays.not_taken += 1;
                return;
            }
            // After it: what the host's own stack takes to receive it is part of it.
            lateness.add(clock.now().since(at));
            arrivals[line.host].add(at, payload_len(packet));
        });
    }

    /// Tells hosts of links and addresses, and watchers of actions.
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

/// Asks for real-time priority and for exact timers, for this thread; true when it was given. `priority` is
/// one of `SCHED_FIFO`, 1 to 99; the pump has 10.
#[must_use]
pub fn take_priority(priority: u8) -> bool {
    // For a thread without real-time priority the kernel bundles wake-ups that are 50 us apart.
    let _ = nix::sys::prctl::set_timerslack(1);
    let Ok(value) = priority.try_into() else { return false };
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(value), policy).is_ok()
}
