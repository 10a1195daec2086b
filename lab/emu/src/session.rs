//! Runs commands in the hosts of an emulation until the scenario, the main command or a signal ends it.
//!
//! Runs in the first process of a PID namespace ([`crate::contain`]), which adopts orphans and reaps them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use msctp_units::{Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use crate::Emulation;

/// A command for a host.
#[derive(Clone, Debug)]
pub struct Task {
    /// The host's name.
    pub host: String,
    /// The program and its arguments, at least the program.
    pub argv: Vec<OsString>,
    /// Reads the emulator's own standard input; else its input is empty.
    pub reads_input: bool,
}

impl Task {
    /// Returns the command in the user's notation.
    #[must_use]
    pub fn shown(&self) -> String {
        let words: Vec<_> = self.argv.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The main command has ended, or, without one, all have. The status is that of the first that failed, or
    /// success.
    Commands(ExitStatus),
    /// The scenario ended while commands were running.
    Scenario,
    /// A signal ended it.
    Interrupted,
}

/// A message to the user.
#[derive(Clone, Debug)]
pub enum Note<'t> {
    /// A command was started.
    Started(&'t Task),
    /// A command ended before the session did.
    Left(&'t Task, ExitStatus),
    /// Something failed in a host.
    Failed(String),
    /// Time has passed; the caller may print other messages.
    Tick,
}

/// Longest time between ticks, in milliseconds.
const TICK_MS: u16 = 50;

/// Time between SIGTERM and the end of the session.
const GRACE: Span = Span::from_millis(1500);

struct Session<'e> {
    emulation: &'e Emulation,
    /// Commands that were started and have not ended.
    running: BTreeMap<i32, &'e Task>,
    ended: Vec<(&'e Task, ExitStatus)>,
    wake: UnixStream,
    interrupted: Arc<AtomicBool>,
}

/// Runs `helpers` from the start and `main`, if there is one, `settle` later. Sends SIGTERM to all that still
/// run at the end. A process has at most one session at a time.
///
/// # Errors
/// A command that cannot be started, with its text.
pub fn run<'e>(
    emulation: &'e Emulation,
    helpers: &'e [Task],
    main: Option<&'e Task>,
    settle: Span,
    mut tell: impl FnMut(&Note<'_>),
) -> io::Result<Ended> {
    let mut session = Session::new(emulation)?;
    for task in helpers {
        session.start(task, &mut tell)?;
    }
    let started = emulation.clock().now() + if helpers.is_empty() { Span::ZERO } else { settle };
    let mut waiting = main;
    let ended = loop {
        if let Some(task) = waiting.take_if(|_| emulation.clock().now() >= started) {
            session.start(task, &mut tell)?;
        }
        session.reap();
        for (task, status) in session.ended.drain(..).collect::<Vec<_>>() {
            if main.is_some_and(|main| std::ptr::eq(main, task)) {
                session.stop();
                return Ok(Ended::Commands(status));
            }
            tell(&Note::Left(task, status));
            if main.is_none() && !status.success() {
                session.stop();
                return Ok(Ended::Commands(status));
            }
        }
        if session.interrupted.load(Ordering::Relaxed) {
            break Ended::Interrupted;
        }
        if emulation.is_over() {
            break Ended::Scenario;
        }
        if main.is_none() && session.running.is_empty() {
            break Ended::Commands(ExitStatus::default());
        }
        emulation.failures().for_each(|failure| tell(&Note::Failed(failure)));
        tell(&Note::Tick);
        session.sleep();
    };
    session.stop();
    Ok(ended)
}

impl<'e> Session<'e> {
    fn new(emulation: &'e Emulation) -> io::Result<Self> {
        let (wake, write) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGCHLD, SIGINT, SIGTERM, SIGHUP] {
            if signal != SIGCHLD {
                signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
            }
            signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
        }
        Ok(Self { emulation, running: BTreeMap::new(), ended: Vec::new(), wake, interrupted })
    }

    fn start(&mut self, task: &'e Task, tell: &mut impl FnMut(&Note<'_>)) -> io::Result<()> {
        let failure =
            |e: io::Error| io::Error::new(e.kind(), format!("{}: {}: {e}", task.host, task.shown()));
        let host = self.emulation.host(&task.host);
        let host = host.ok_or_else(|| failure(io::Error::other("there is no such host")))?;
        let (program, arguments) =
            task.argv.split_first().ok_or_else(|| failure(io::ErrorKind::NotFound.into()))?;
        let mut command = Command::new(program);
        command.args(arguments).env("MSCTP_HOST", &task.host).env_remove(crate::contain::PARENT);
        if !task.reads_input {
            command.stdin(Stdio::null());
        }
        let child = host.spawn(command).map_err(failure)?;
        self.running.insert(child.id() as i32, task);
        tell(&Note::Started(task));
        Ok(())
    }

    /// Reaps the processes that have ended, orphans included.
    fn reap(&mut self) {
        let Self { emulation, running, ended, .. } = self;
        emulation.while_no_helper_runs(|| {
            loop {
                let (pid, status) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                    Ok(WaitStatus::Exited(pid, code)) => (pid, ExitStatus::from_raw(code << 8)),
                    Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, ExitStatus::from_raw(signal as i32)),
                    Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return,
                    Ok(_) | Err(_) => continue,
                };
                if let Some(task) = running.remove(&pid.as_raw()) {
                    ended.push((task, status));
                }
            }
        });
    }

    /// Waits for a signal or the next tick.
    fn sleep(&mut self) {
        let _ = poll(&mut [PollFd::new(self.wake.as_fd(), PollFlags::POLLIN)], PollTimeout::from(TICK_MS));
        while self.wake.read(&mut [0; 64]).is_ok_and(|len| len > 0) {}
    }

    /// Sends SIGTERM to all running commands and waits up to [`GRACE`]. The end of the PID namespace kills
    /// the rest.
    fn stop(&mut self) {
        for &pid in self.running.keys() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        let clock = self.emulation.clock();
        let end: Time = clock.now() + GRACE;
        while !self.running.is_empty() && clock.now() < end {
            self.sleep();
            self.reap();
        }
    }
}
