//! Signals for commands that write files: the first lets the command complete its files, the second ends it
//! at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use msctp_terminal::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Watches for SIGINT (Ctrl-C), SIGTERM and SIGHUP.
pub(crate) struct Interrupt {
    stop: Arc<AtomicBool>,
    /// Each signal, and whether it was received.
    signals: Vec<(u8, Arc<AtomicBool>)>,
}

impl Interrupt {
    /// Registers the signal handlers.
    pub(crate) fn watch() -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let failed = |e| Failure::Run(format!("cannot watch for signals: {e}"));
        let mut signals = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let seen = Arc::new(AtomicBool::new(false));
            // In this order: the shutdown reads the flag before the first signal sets it.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop)).map_err(failed)?;
            flag::register(signal, Arc::clone(&seen)).map_err(failed)?;
            flag::register(signal, Arc::clone(&stop)).map_err(failed)?;
            signals.push((u8::try_from(signal).unwrap_or(0), seen));
        }
        Ok(Self { stop, signals })
    }

    /// Becomes true with the first signal.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// Returns the failure of interrupted work: that of the signal, if one was received.
    pub(crate) fn failure(&self, message: String) -> Failure {
        let came = self.signals.iter().find(|(_, seen)| seen.load(Ordering::Relaxed));
        match came {
            Some(&(signal, _)) => Failure::Signal(signal, message),
            None => Failure::Run(message),
        }
    }
}
