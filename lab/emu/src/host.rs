//! [`Host`]: a network namespace without a name, held by the thread that made it.
//!
//! All work in the namespace is a job for that thread, because devices, sockets and processes belong to the
//! namespace of the thread that creates them. The namespace ends with its thread, processes and sockets.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use msctp_tun::Tun;
use nix::sched::{CloneFlags, unshare};

type Job = Box<dyn FnOnce() + Send>;

/// Held while a thread here waits for a helper process: the reaper of orphans must not reap that process.
pub(crate) type Helpers = Arc<Mutex<()>>;

/// A host of the scenario.
#[derive(Debug)]
pub struct Host {
    name: String,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    helpers: Helpers,
}

/// Settings of the namespace: no reverse path filter, no routes over links that are down, no IPv6 addresses
/// but the scenario's.
const SETTINGS: &[(&str, &str)] = &[
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv4/conf/all/ignore_routes_with_linkdown", "1"),
    ("ipv4/conf/default/ignore_routes_with_linkdown", "1"),
    ("ipv6/conf/all/ignore_routes_with_linkdown", "1"),
    ("ipv6/conf/default/ignore_routes_with_linkdown", "1"),
    ("ipv6/conf/default/accept_ra", "0"),
    ("ipv6/conf/default/router_solicitations", "0"),
    // No link-local addresses.
    ("ipv6/conf/default/addr_gen_mode", "1"),
];

impl Host {
    /// Creates the namespace.
    pub(crate) fn start(name: &str, helpers: &Helpers) -> io::Result<Self> {
        let (jobs, todo) = channel::<Job>();
        let (made, was_made) = channel();
        let thread = std::thread::Builder::new().name(format!("host {name}")).spawn(move || {
            let result = enter();
            let failed = result.is_err();
            if made.send(result).is_err() || failed {
                return;
            }
            for job in todo {
                job();
            }
        })?;
        was_made.recv().map_err(io::Error::other)??;
        let name = name.to_owned();
        Ok(Self { name, jobs: Some(jobs), thread: Some(thread), helpers: Arc::clone(helpers) })
    }

    /// Returns the host's name in the scenario.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs a job in the host's namespace and waits for it. Sockets created there stay there, whichever
    /// thread uses them.
    ///
    /// # Panics
    /// If the job panics.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = channel();
        self.post(move || drop(done.send(job())));
        result.recv().expect("the job has panicked")
    }

    /// Starts a command in the host's namespace.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn spawn(&self, mut command: Command) -> io::Result<Child> {
        self.run(move || command.spawn())
    }

    /// Queues a job for the host's namespace, after earlier ones.
    pub(crate) fn post(&self, job: impl FnOnce() + Send + 'static) {
        if let Some(jobs) = &self.jobs {
            // The thread ends when this host does, not before.
            let _ = jobs.send(Box::new(job));
        }
    }

    /// Returns a function that runs lines of `ip -batch` later, from any thread; `failed` receives the
    /// errors.
    pub(crate) fn ip_later(&self, failed: Sender<String>) -> impl Fn(String) + Send + use<> {
        let (jobs, helpers, name) = (self.jobs.clone(), Arc::clone(&self.helpers), self.name.clone());
        move |lines| {
            let (helpers, failed, name) = (Arc::clone(&helpers), failed.clone(), name.clone());
            let job: Job = Box::new(move || {
                if let Err(e) = ip(&lines, &helpers) {
                    let _ = failed.send(format!("{name}: {e}"));
                }
            });
            if let Some(jobs) = &jobs {
                let _ = jobs.send(job);
            }
        }
    }

    /// Runs lines of `ip -batch` in the namespace.
    pub(crate) fn ip(&self, lines: String) -> io::Result<()> {
        let helpers = Arc::clone(&self.helpers);
        self.run(move || ip(&lines, &helpers))
    }

    /// Creates a TUN device.
    pub(crate) fn tun(&self, name: &str) -> io::Result<Tun> {
        let name = name.to_owned();
        self.run(move || Tun::create(&name))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Moves this thread into a network namespace of its own.
fn enter() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    for (key, value) in SETTINGS {
        let path = format!("/proc/sys/net/{key}");
        match std::fs::write(&path, value) {
            // A kernel without IPv6.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            other => other.map_err(|e| io::Error::new(e.kind(), format!("{path}: {e}")))?,
        }
    }
    Ok(())
}

fn ip(lines: &str, helpers: &Helpers) -> io::Result<()> {
    // Other commands take the family from an address; a rule is IPv4's without the option.
    let (rules, others): (Vec<_>, Vec<_>) =
        lines.lines().partition(|line| line.starts_with("rule ") && line.contains(':'));
    let _guard = helpers.lock().unwrap_or_else(PoisonError::into_inner);
    batch(&["-batch", "-"], &others)?;
    batch(&["-6", "-batch", "-"], &rules)
}

/// Runs lines of `ip`, one command each.
fn batch(options: &[&str], lines: &[&str]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let lines = lines.join("\n") + "\n";
    let mut child = Command::new("ip")
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(lines.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("ip: {} in\n{lines}", said.trim())))
}
