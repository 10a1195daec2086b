//! Contains all processes of an emulation, so that nothing is left behind however the command ends.
//!
//! The command starts itself again as the first process of a PID namespace and waits for it. All processes
//! in hosts are descendants of that inner process; when it ends, the kernel kills them all, and the hosts'
//! network namespaces, which have no names, end with them. The inner process is killed by the kernel when the
//! outer one ends, `kill -9` included (`PR_SET_PDEATHSIG`).

use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Environment variable of the inner process that identifies its parent.
pub(crate) const PARENT: &str = "MSCTP_EMULATION_PARENT";

/// Which of the two processes this is.
#[derive(Debug)]
pub enum Role {
    /// The first process of its PID namespace, which runs the emulation.
    Inner,
    /// The process that the user started, after the inner one ended with this outcome.
    Outer(Outcome),
}

/// How the inner process ended.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Its status.
    pub status: ExitStatus,
    /// The first signal that the outer process received.
    pub signal: Option<i32>,
}

/// Starts this program again in a PID namespace, with the same arguments, and waits for its end. In that
/// second process, arranges that it ends with the first. Call it from the main thread, before there are
/// others.
///
/// # Errors
/// Those of making the namespace or starting the program.
pub fn enter() -> io::Result<Role> {
    match std::env::var(PARENT) {
        Ok(parent) if getpid() == Pid::from_raw(1) => {
            set_pdeathsig(Signal::SIGKILL)?;
            // The parent may have ended before the call.
            if identity(parent.split_whitespace().next().unwrap_or_default())? != parent {
                return Err(io::Error::other("the process that started this one has ended"));
            }
            Ok(Role::Inner)
        }
        _ => outer().map(Role::Outer),
    }
}

fn outer() -> io::Result<Outcome> {
    let own = identity(&getpid().to_string())?;
    // First, so that no signal is missed; they come without a thread, which could not be started after the
    // next line.
    let mut signals = Signals::new([SIGCHLD, SIGINT, SIGTERM, SIGHUP])?;
    unshare(CloneFlags::CLONE_NEWPID)?;
    let mut inner: Child = Command::new("/proc/self/exe")
        .arg0("msctp")
        .args(std::env::args_os().skip(1))
        .env(PARENT, own)
        .spawn()?;
    let pid = Pid::from_raw(inner.id() as i32);
    let mut first = None;
    for signal in signals.forever() {
        if signal != SIGCHLD {
            first.get_or_insert(signal);
            // A terminal has signalled the inner process already; a second signal does no harm.
            let _ = kill(pid, Signal::SIGTERM);
        }
        if let Some(status) = inner.try_wait()? {
            return Ok(Outcome { status, signal: first });
        }
    }
    Ok(Outcome { status: inner.wait()?, signal: first })
}

/// Identifies a process by its number and start time, which together are unique.
fn identity(pid: &str) -> io::Result<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in brackets, may have spaces in it: the 22nd field is the 20th after it.
    let started = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19));
    Ok(format!("{pid} {}", started.unwrap_or_default()))
}

/// Returns the exit code for the way the inner process ended: 128 plus the signal's number if one ended it.
#[must_use]
pub fn code(outcome: Outcome) -> u8 {
    let Outcome { status, signal } = outcome;
    let signal = signal.filter(|_| !status.success()).or(status.signal());
    let code = signal.map(|signal| 128 + signal).or(status.code());
    u8::try_from(code.unwrap_or(1)).unwrap_or(1)
}
