//! Two processes, each on its own processor, and their CPU time and memory.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::Pid;

/// Result of one transfer.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// User bytes that arrived.
    pub bytes: u64,
    /// Seconds from the first to the last of them.
    pub seconds: f64,
    /// CPU seconds of the sending process and of the receiving one, from beginning to end.
    pub sender: f64,
    pub receiver: f64,
}

/// CPU seconds of all finished children.
fn finished() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|e| format!("getrusage: {e}"))?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// A process, killed when this is dropped.
pub struct Process {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    /// Starts a process on the `index`th processor that this one may use.
    pub fn start(program: &[String], arguments: &[String], index: usize) -> Result<Self, String> {
        let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", program.join(" "));
        let child = Command::new(&program[0])
            .args(&program[1..])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|e| failed(&e))?;
        pin(Pid::from_raw(child.id() as i32), index).map_err(|e| failed(&e))?;
        let out = child.stdout.take().ok_or("no output")?;
        Ok(Self { child, out: BufReader::new(out) })
    }

    /// Lets it continue.
    pub fn go_on(&mut self) -> Result<(), String> {
        let stdin = self.child.stdin.as_mut().ok_or("no input")?;
        writeln!(stdin).map_err(|e| e.to_string())
    }

    /// Returns its current memory in bytes.
    pub fn memory(&self) -> Result<u64, String> {
        memory_of(self.child.id())
    }

    /// Returns the CPU seconds of its first thread so far.
    pub fn cpu(&self) -> Result<f64, String> {
        let file = format!("/proc/{}/schedstat", self.child.id());
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
        let nanos: u64 = text.split(' ').next().and_then(|n| n.parse().ok()).ok_or("no time in schedstat")?;
        Ok(nanos as f64 / 1e9)
    }

    /// Reads lines until one begins with `word`; returns the rest of that line.
    pub fn expect(&mut self, word: &str) -> Result<String, String> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.out.read_line(&mut line).map_err(|e| e.to_string())? == 0 {
                return Err(format!("it ended without saying `{word}`"));
            }
            if let Some(rest) = line.trim_end().strip_prefix(word) {
                return Ok(rest.trim().to_owned());
            }
        }
    }

    /// Waits at most `limit` for its end; returns its CPU seconds.
    pub fn end(mut self, limit: Duration) -> Result<f64, String> {
        let before = finished()?;
        let begin = Instant::now();
        let status = loop {
            match self.child.try_wait().map_err(|e| e.to_string())? {
                Some(status) => break status,
                None if begin.elapsed() > limit => return Err("it does not end".to_owned()),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let mut rest = String::new();
        let _ = self.out.read_to_string(&mut rest);
        if status.success() { Ok(finished()? - before) } else { Err(status.to_string()) }
    }
}

/// Pins a process to a processor. Threads that it creates later inherit that.
fn pin(pid: Pid, index: usize) -> nix::Result<()> {
    let ours = sched_getaffinity(Pid::from_raw(0))?;
    let allowed: Vec<usize> = (0..CpuSet::count()).filter(|&cpu| ours.is_set(cpu).unwrap_or(false)).collect();
    let mut set = CpuSet::new();
    set.set(allowed[index % allowed.len()])?;
    sched_setaffinity(pid, &set)
}

/// Returns the resident memory of a process in bytes.
pub fn memory_of(process: u32) -> Result<u64, String> {
    let file = format!("/proc/{process}/statm");
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    let pages: u64 = text.split(' ').nth(1).and_then(|n| n.parse().ok()).ok_or("no memory in statm")?;
    Ok(pages * 4096)
}
